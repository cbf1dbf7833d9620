/* Hooks of the app's calls, by group (enum strobe_mach_use), and the events that they report. Each group has a list of
 * rebindings, or a start and an end function. For engine/backend/mach only.
 *
 *   MALLOC     malloc_logger                        point ALLOC, counted for each thread; point FREE
 *              __syscall_logger (mmap, munmap,      point ALLOC, not counted as an allocation of the heap; point FREE
 *              vm_allocate and kin), mprotect
 *   LOCKS      pthread mutex, rwlock, condition     point MUTEX, RWLOCK when the lock is free; else a scope that waits
 *              os_unfair_lock, __ulock_wait and     for the lock. Scope COND. Releases are points UNLOCK; wakers
 *              kin
 *              pthread_join                         scope THREAD, waits for the thread; its end is the waker
 *   DISPATCH   sync, barrier_sync, once             scope MUTEX until the work begins, waits for the queue or token
 *              async                                a new message where the work runs; point UNLOCK at the submission
 *              semaphore, Mach's semaphores         point or scope SEM; wakers
 *              group_wait, group_leave              point or scope COND; wakers
 *   IO         files, sockets, polls, sleeps        scope READ, WRITE, OPEN, CLOSE, SYNC, NET, POLL, SLEEP
 *   TIME       clock_gettime, gettimeofday          point CLOCK
 *   SERIES     mach_msg that receives only          scope POLL, then a new message of the thread
 *              mach_msg that sends (and receives)   scope IPC; wakers
 *              (no hook)                            counters, hitches and hangs; events_loop.c
 *   (always)   the introspection hook               points THREAD at the start and the end of a thread
 *              pthread_setname_np                   the thread's name
 *
 * mach_absolute_time has no hook: apps call it very often and it costs a few cycles, so a hook would distort the app's
 * timing.
 *
 * The object that a thread waits for is identified by the address of the lock, queue, token, semaphore or group. A Mach
 * semaphore or message port is identified by its name (STROBE_MACH_PORT).
 *
 * A thread finds its state by a pthread key, which needs no heap memory. A thread-local variable would be destroyed
 * before the thread's last events. Every hook calls the hooked function in all cases and preserves errno. On a thread
 * that is inside the engine already, its event is only counted as re-entrant. */
#ifndef STROBE_BACKEND_MACH_EVENTS_H
#define STROBE_BACKEND_MACH_EVENTS_H

#include "engine/backend/common/hook_scope.h"
#include "engine/backend/mach/host_mach.h"
#include "engine/backend/mach/mach.h"
#include "engine/backend/mach/rebind.h"
#include "engine/base/error.h"
#include "engine/capture/guard.h"

#include <errno.h>
#include <mach/mach_time.h>
#include <pthread_np.h>

#define STROBE_MACH_OBJECT(p)  ((uint64_t)(uintptr_t)(p))
#define STROBE_MACH_PORT(name) (UINT64_C(1) << 63 | (name))

enum { STROBE_MACH_WRITTEN = 4 };

/* State of a thread between two of its hooks. Only the thread accesses it. */
struct strobe_mach_local {
    uint64_t written[STROBE_MACH_WRITTEN]; /* rwlocks that the thread holds for writing; 0 = a free entry */
};

/* The state of a capture in this process. */
struct strobe_mach {
    struct strobe_mach_host host;
    struct strobe_engine engine;
    struct strobe_mach_threads *threads;
    struct strobe_mach_local *local; /* one for each of the engine's threads */
    strobe_a64 *claims;              /* registrations of threads; events_threads.c */
    uint32_t claims_mask;
    strobe_a32 registering; /* number of threads that register or sign off now */
    struct strobe_mach_status status;
};
extern struct strobe_mach strobe_mach;

/* A group of hooks. The entry after the last of `rebindings` has symbol NULL. `start` returns false with a phrase in
 * `error` when the group cannot be installed. `rebindings`, `start` and `end` may be NULL. Start and end only. */
struct strobe_mach_feature {
    enum strobe_mach_use use;
    const struct strobe_rebinding *rebindings;
    bool (*start)(struct strobe_error *error);
    void (*end)(void);
};
extern const struct strobe_mach_feature strobe_mach_feature_malloc, strobe_mach_feature_locks,
    strobe_mach_feature_dispatch, strobe_mach_feature_io, strobe_mach_feature_loop, strobe_mach_feature_time;

/* ---- threads (events_threads.c) */

/* Returns the bytes of zeroed memory that strobe_mach.claims needs for `threads_max` threads. Stores the table's index
 * mask in *mask. Any context. */
size_t strobe_mach_claims_bytes(uint32_t threads_max, uint32_t *mask);

/* Creates the pthread key, once in a process. Returns false when the process has no free key. Start only. */
bool strobe_mach_threads_begin(void);

/* Registers the calling thread. The thread's first event would be untracked if the sampler registered it at the same
 * time. Start, before the sampler's thread is made. */
void strobe_mach_threads_enter(void);

/* Hooks that are installed in any case: of the names of threads. */
extern const struct strobe_rebinding strobe_mach_thread_rebindings[];

/* Install and remove the introspection hook. Start; end. */
void strobe_mach_threads_watch(void);
void strobe_mach_threads_end(void);

/* Declares the calling thread as one of the engine's own, for good. Such a thread is never traced or stopped: its hooks
 * only call the hooked functions. Returns its id. Returns 0 when the system does not return the id; a scan could then
 * take the thread for one of the app's. */
uint32_t strobe_mach_thread_is_own(void);

/* Stops tracing of the calling thread until strobe_mach_become, which takes the value that strobe_mach_become_own
 * returned. Start and end. */
void *strobe_mach_become_own(void);
void strobe_mach_become(void *what_it_was);

/* Returns the calling thread's state, and registers the thread when it is new. The hook reports its event to that
 * state. `call` is the name of the hooked function, for the message of an abort when the call is forbidden (guard.h).
 * Returns NULL, and the hook reports nothing, in these cases:
 *
 *   - the capture is off
 *   - the thread is one of the engine's own
 *   - the thread is registering itself
 *   - the thread cannot be registered; the function then counts an untracked event
 *
 * Any thread. */
struct strobe_thread *strobe_mach_thread(uint32_t on, const char *call);

/* Registers a thread that a scan has found, on behalf of that thread. A strobe_mach_found_fn. Sampler, between
 * passes. */
void strobe_mach_thread_found(void *ctx, const struct strobe_mach_found *found);

/* Reads the names of the live threads again and releases all ports. End only, with the engine quiet. */
void strobe_mach_threads_leave(void);

/* ---- the loop and series (events_loop.c) */

struct strobe_sampler;

/* Writes counters, hitches and hangs when an interval has passed, or in any case when `last` is true. Sampler, between
 * passes; with `last`, at the end. */
void strobe_mach_series(struct strobe_sampler *sampler, bool last);

/* ---- parts of hooks ---- */

static inline void strobe_mach_point(struct strobe_thread *t, enum strobe_kind kind, uint64_t arg,
                                     struct strobe_site site)
{
    uint32_t on = strobe_switched();
    if (on != STROBE_OFF)
        strobe_point_called(t, on, kind, arg, site);
}

/* Opens a scope of the calling thread around a hooked `call`. */
static inline struct strobe_hook_scope strobe_mach_open(enum strobe_kind kind, uint64_t arg, struct strobe_site site,
                                                        const char *call)
{
    return strobe_hook_open(strobe_mach_thread(strobe_switched(), call), kind, arg, site);
}

static inline struct strobe_mach_local *strobe_mach_local_of(const struct strobe_thread *t)
{
    return &strobe_mach.local[t->index];
}

static inline uint64_t strobe_mach_now(void)
{
    return mach_absolute_time();
}

/* Prints the forbidden `call` that was made while a thread is suspended, with its stack, and aborts the process. */
_Noreturn void strobe_mach_offender(const char *call);

#endif
