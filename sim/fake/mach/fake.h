/* The fake Mach: the answers of XNU and libSystem to the calls of engine/backend/sdk/mach/include, on threads of this
 * machine.
 *
 *   ports.c      the task's port names: rights, counts, dead names; a name's index is used again, its generation not
 *   thread.c     task_threads, thread_suspend, _resume, _get_state, _info, _policy_set; run states like the kernel's: a
 *                thread in the kernel runs on after a suspend until it comes out, or waits there
 *   vm.c         vm_read_overwrite and the like
 *   task.c       task_info
 *   clock.c      mach_absolute_time (units of 125/3 ns, as on arm64 devices), mach_wait_until
 *   message.c    mach_msg within the task, semaphores
 *   libsystem.c  malloc_logger, waits; lock.c os_unfair_lock; dispatch.c; pthread_np.c, with the introspection hook
 *   dyld.c       images: add and remove callbacks
 *   image.c      the app's own image, whose calls go through pointers that hooks can replace (app.h)
 *   fault.c      makes the n-th call of a name, or of all names, fail with a code
 *   pthreads.c   the implementation over real threads: stops by a signal and a handshake
 *   guard/       a library of its own that comes before: aborts forbidden calls while a thread is held suspended
 *
 * Over virtual threads, sim/player/virtual installs its own system in place of pthreads.c (system.h). The fake is one
 * library, libfakemach.so. An engine built for this machine (libstrobe-mach.so) is linked with it, as it is with
 * libSystem on Darwin.
 *
 * tests/contract_mach checks the rules. It also runs on GNU Mach and in the emulator's host. */
#ifndef STROBE_SIM_FAKE_MACH_FAKE_H
#define STROBE_SIM_FAKE_MACH_FAKE_H

#include "sim/fake/mach/contract.h"

#include <pthread.h>
#include <stdbool.h>

#define FAKE_MACH_API __attribute__((visibility("default")))

/* The two kernels report a suspended thread differently. XNU (the default) waits until the thread is off its processor,
 * and reports a stopped thread as WAITING, because it waits to be resumed. GNU Mach waits until the thread is out of
 * the kernel, unless it waits there, and reports both as STOPPED. Set before the first other call. */
enum fake_mach_kernels { FAKE_MACH_XNU, FAKE_MACH_GNU };
FAKE_MACH_API void fake_mach_kernel(enum fake_mach_kernels kernel);

/* ---- faults, by name of the call, for tests */

/* The nth call of this name (from 1, by any thread, counted from now) returns `code` and does nothing. times = how many
 * calls in a row. It is no error when there are fewer calls. */
FAKE_MACH_API void fake_mach_fail(const char *call, uint64_t nth, uint64_t times, kern_return_t code);
FAKE_MACH_API void fake_mach_fail_none(void);

/* Returns the number of calls so far of a name; NULL: of all names. */
FAKE_MACH_API uint64_t fake_mach_calls(const char *call);

/* Numbers the calls of all names: the nth fails, whatever it is (for loops of n = 1, 2, 3, ...). The second function
 * returns in *what the name of the call that failed, or NULL when there were fewer. */
FAKE_MACH_API void fake_mach_fail_any(uint64_t nth, kern_return_t code);
FAKE_MACH_API const char *fake_mach_failed(void);

/* ---- libSystem functions that the lab's app calls */

/* Creates a thread and notifies the introspection hook. */
FAKE_MACH_API int fake_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                                      void *arg);

/* ---- state of the kernel, for checks from outside */

FAKE_MACH_API uint32_t fake_mach_names(void);     /* port names that the task has, without its own */
FAKE_MACH_API int64_t fake_mach_rights(void);     /* user references of them, without libpthread's one for each thread;
                                                     below 0: more were released than it had */
FAKE_MACH_API uint32_t fake_mach_holds(void);     /* suspensions by the caller that are in effect now */
FAKE_MACH_API uint64_t fake_mach_held(void);      /* the thread_id of a thread that the caller holds suspended; 0:
                                                     none */
FAKE_MACH_API uint32_t fake_mach_suspended(void); /* threads with a suspend count */

/* Sets what THREAD_BASIC_INFO reports of every thread from now on: a run state (0: the real one), and flags. For
 * tests. */
FAKE_MACH_API void fake_mach_say(integer_t run_state, integer_t flags);

/* The calling thread is in the kernel until the same call with false. A suspend does not stop it there; it stops when
 * it comes out. It counts as RUNNING, or, with `waits`, as WAITING while it does not run. For tests. */
FAKE_MACH_API void fake_mach_in_kernel(bool in, bool waits);

#endif
