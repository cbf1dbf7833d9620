/* The fake Mach: what XNU and libSystem answer to the calls of engine/backend/sdk/mach/include, on threads of this
 * machine.
 *
 *   ports.c      the task's port names: rights, counts, dead names; a name's number is used again, its generation not
 *   thread.c     task_threads, thread_suspend, _resume, _get_state, _info, _policy_set; run states as the kernel's are:
 *                a thread in the kernel runs on after a suspend until it comes out, or waits there
 *   vm.c         vm_read_overwrite and kin
 *   task.c       task_info
 *   clock.c      mach_absolute_time (units of 125/3 ns, as on arm64 devices), mach_wait_until
 *   message.c    mach_msg within the task, semaphores
 *   libsystem.c  malloc_logger, waits; lock.c os_unfair_lock; dispatch.c; pthread_np.c, with the introspection hook
 *   dyld.c       images: add and remove callbacks
 *   image.c      the app's own image, whose calls go through pointers to be rebound (app.h)
 *   fault.c      the n-th call of a name, or of all, fails with a code
 *   pthreads.c   all of it over real threads: stops by a signal and a hand-shake
 *   guard/       a library of its own, which comes before: ends who calls what it may not while a thread stands
 *
 * Over virtual threads sim/player/virtual puts a system of its own in the place of pthreads.c (system.h). It is one
 * library, libfakemach.so, that an engine built for this machine is linked with (libstrobe-mach.so), as libSystem is on
 * Darwin.
 *
 * Rules are kept in tests/contract_mach, which also runs on GNU Mach and in the emulator's host. */
#ifndef STROBE_SIM_FAKE_MACH_FAKE_H
#define STROBE_SIM_FAKE_MACH_FAKE_H

#include "sim/fake/mach/contract.h"

#include <pthread.h>
#include <stdbool.h>

#define FAKE_MACH_API __attribute__((visibility("default")))

/* Two kernels tell differently of a thread that was suspended. XNU (the default) waits until it is off its processor,
 * and calls one that stands WAITING, for it waits to be resumed; GNU Mach waits until it is out of the kernel, unless
 * it waits there, and calls both STOPPED. Before the first other call. */
enum fake_mach_kernels { FAKE_MACH_XNU, FAKE_MACH_GNU };
FAKE_MACH_API void fake_mach_kernel(enum fake_mach_kernels kernel);

/* ---- faults, by name of the call, for tests */

/* The nth call (from 1, of this name, by any thread, counted from now) answers `code` and does nothing; times = how
 * many in a row. A name that nobody calls that often is not an error. */
FAKE_MACH_API void fake_mach_fail(const char *call, uint64_t nth, uint64_t times, kern_return_t code);
FAKE_MACH_API void fake_mach_fail_none(void);

/* Calls so far of a name; of all names: NULL. */
FAKE_MACH_API uint64_t fake_mach_calls(const char *call);

/* Numbers the calls of all names: the nth of them fails, whatever it is (for loops of n = 1, 2, 3, ...). Returns
 * through *what the name that it hit, NULL when there were fewer. */
FAKE_MACH_API void fake_mach_fail_any(uint64_t nth, kern_return_t code);
FAKE_MACH_API const char *fake_mach_failed(void);

/* ---- libSystem, as the lab's app calls it */

/* A thread of which the introspection hook is told. */
FAKE_MACH_API int fake_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                                      void *arg);

/* ---- what can be seen of the kernel from outside */

FAKE_MACH_API uint32_t fake_mach_names(void);     /* port names that the task has, its own apart */
FAKE_MACH_API int64_t fake_mach_rights(void);     /* user references of them, but for libpthread's one for each
                                                     thread; below 0: more given back than had */
FAKE_MACH_API uint32_t fake_mach_holds(void);     /* suspensions by the caller that others stand by */
FAKE_MACH_API uint64_t fake_mach_held(void);      /* the thread_id of one of these; 0: none */
FAKE_MACH_API uint32_t fake_mach_suspended(void); /* threads with a suspend count */

/* What THREAD_BASIC_INFO says of every thread from now on: a run state (0: as it is), and flags. For tests. */
FAKE_MACH_API void fake_mach_say(integer_t run_state, integer_t flags);

/* The calling thread is in the kernel until the same with false: a suspend does not stop it there, it stops when it
 * comes out. It counts as RUNNING, or with `waits`, while it does not run, as WAITING. For tests. */
FAKE_MACH_API void fake_mach_in_kernel(bool in, bool waits);

#endif
