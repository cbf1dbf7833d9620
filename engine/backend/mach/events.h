/* The app's events that become the engine's: hooks by group (enum strobe_mach_use). Each file has a list of rebindings,
 * or a start and an end of its own. For engine/backend/mach only.
 *
 *   MALLOC     malloc_logger                        point ALLOC, counted for each thread; point FREE
 *   LOCKS      pthread mutex, rwlock, condition     point, where nobody has to wait; else scope MUTEX, RWLOCK, COND,
 *              os_unfair_lock                       waits for the lock; releases are points UNLOCK, wakers
 *              pthread_join                         scope THREAD, waits for the thread; its end is the waker
 *   DISPATCH   sync, barrier_sync, once             scope MUTEX until the work begins, waits for the queue or token
 *              async                                a new message where the work runs; point UNLOCK where it is given
 *              semaphore, Mach's semaphores         point or scope SEM; wakers
 *              group_wait, group_leave              point or scope COND; wakers
 *   IO         files, sockets, polls, sleeps        scope READ, WRITE, OPEN, CLOSE, SYNC, NET, POLL, SLEEP
 *              mach_msg that receives only          scope POLL, and then a new message of the thread; what only the
 *              mach_msg that sends (and receives)   scope IPC; wakers        main thread does, see events_loop.c
 *   TIME       clock_gettime, gettimeofday          point CLOCK
 *   SERIES     (no hook but mach_msg)               counters, hitches and hangs; events_loop.c
 *   (always)   the introspection hook               points THREAD; who begins and ends
 *
 * mach_absolute_time is no hook: apps read it so often, in so few cycles, that a hook would cost more than it tells.
 *
 * What is waited for is named by the address of the lock, queue, token, semaphore or group; Mach's semaphores and
 * messages by their port's name (STROBE_MACH_PORT).
 *
 * A thread finds its state by a pthread key, which takes nothing from the heap, and not by a thread-local variable:
 * these are gone before a thread does its last. Every hook calls the function itself whatever happens, keeps errno, and
 * does nothing on a thread that is in the engine already. */
#ifndef STROBE_BACKEND_MACH_EVENTS_H
#define STROBE_BACKEND_MACH_EVENTS_H

#include "engine/backend/mach/host_mach.h"
#include "engine/backend/mach/mach.h"
#include "engine/backend/mach/rebind.h"
#include "engine/base/error.h"
#include "engine/base/hint.h"
#include "engine/capture/blocking.h"
#include "engine/capture/guard.h"
#include "engine/capture/sample.h"

#include <errno.h>
#include <pthread_np.h>

#define STROBE_MACH_OBJECT(p)  ((uint64_t)(uintptr_t)(p))
#define STROBE_MACH_PORT(name) (UINT64_C(1) << 63 | (name))

enum { STROBE_MACH_WRITTEN = 4 };

/* What a thread keeps for its hooks between two of them. Its own. */
struct strobe_mach_local {
    uint64_t written[STROBE_MACH_WRITTEN]; /* rwlocks that it has for writing; 0 = a free place */
};

/* All of a capture in a process. */
struct strobe_mach {
    struct strobe_mach_host host;
    struct strobe_engine engine;
    struct strobe_mach_threads *threads;
    struct strobe_mach_local *local; /* one for each of the engine's threads */
    strobe_a64 *claims;              /* who has registered which thread; events_threads.c */
    uint32_t claims_mask;
    strobe_a32 registering; /* threads that are about to register */
    uint32_t capture;       /* number of the present one in this process, from 1 */
    struct strobe_mach_status status;
};
extern struct strobe_mach strobe_mach;

/* A group's part. `rebindings` end with a symbol NULL. start: false with one phrase in `error`. Either may be NULL. */
struct strobe_mach_feature {
    enum strobe_mach_use use;
    const struct strobe_rebinding *rebindings;
    bool (*start)(struct strobe_error *error);
    void (*end)(void);
};
extern const struct strobe_mach_feature strobe_mach_feature_malloc, strobe_mach_feature_locks,
    strobe_mach_feature_dispatch, strobe_mach_feature_io, strobe_mach_feature_loop, strobe_mach_feature_time;

/* ---- threads (events_threads.c) */

/* Bytes of zeroed memory for strobe_mach.claims, with room for all of a session's threads; *mask as it is to be. */
size_t strobe_mach_claims_bytes(uint32_t threads_max, uint32_t *mask);

/* The key: false: there is none, so there can be no capture. Then, and until the end, the introspection hook. Start and
 * end. */
bool strobe_mach_threads_begin(void);

/* Registers the calling thread before the sampler could: its first event would be untracked while the sampler enters
 * it. Start, before the sampler's thread is made. */
void strobe_mach_threads_enter(void);
void strobe_mach_threads_watch(void);
void strobe_mach_threads_end(void);

/* The calling thread is the engine's own, and never traced: its hooks call through. Returns its id; 0: the system does
 * not tell it, so a look could take the thread for one of the app's. Or for a while, and then again what it was. */
uint32_t strobe_mach_thread_is_own(void);
void *strobe_mach_become_own(void);
void strobe_mach_become(void *what_it_was);

/* The calling thread's state when its event is to be taken: it registers here when it is new. NULL when capture is off,
 * the thread is ours, or there is no room for it, which is counted as an untracked event. `call`: what was called, to
 * be named where that is forbidden (guard.h). */
struct strobe_thread *strobe_mach_thread(uint32_t on, const char *call);

/* Registers a thread that has met no hook, on its behalf. A strobe_mach_found_fn. Sampler, between passes. */
void strobe_mach_thread_found(void *ctx, const struct strobe_mach_found *found);

/* Names threads once more, and gives back their ports. At the end, with the engine quiet. */
void strobe_mach_threads_leave(void);

/* ---- the loop and series (events_loop.c) */

struct strobe_sampler;

/* Writes values, hitches and hangs when it is time. Sampler, between passes; `last`: at the end, whatever the time. */
void strobe_mach_series(struct strobe_sampler *sampler, bool last);

/* ---- what hooks are made of ---- */

#define STROBE_MACH_HERE                                                                                               \
    (struct strobe_site)                                                                                               \
    {                                                                                                                  \
        (uint64_t)(uintptr_t) __builtin_frame_address(0), (uint64_t)(uintptr_t)__builtin_return_address(0)             \
    }

static inline void strobe_mach_point(struct strobe_thread *t, enum strobe_kind kind, uint64_t arg,
                                     struct strobe_site site)
{
    uint32_t on = strobe_switched();
    if (on != STROBE_OFF)
        strobe_point_called(t, on, kind, arg, site);
}

/* A scope around a function. */
struct strobe_mach_scope {
    struct strobe_thread *thread;
    uint32_t token, capture;
    struct strobe_site site;
};

static inline struct strobe_mach_scope strobe_mach_open_on(struct strobe_thread *t, enum strobe_kind kind, uint64_t arg,
                                                           struct strobe_site site)
{
    struct strobe_mach_scope s = {t, 0, strobe_mach.capture, site};
    if (t)
        s.token = strobe_scope_begin(t, kind, arg, site);
    return s;
}

static inline struct strobe_mach_scope strobe_mach_open(enum strobe_kind kind, uint64_t arg, struct strobe_site site,
                                                        const char *call)
{
    return strobe_mach_open_on(strobe_mach_thread(strobe_switched(), call), kind, arg, site);
}

/* True while the capture lasts in which the scope was opened. In the child of a fork that is over. */
static inline bool strobe_mach_is_open(const struct strobe_mach_scope *s)
{
    return s->token && strobe_switched() != STROBE_OFF && strobe_mach.capture == s->capture;
}

static inline void strobe_mach_close(const struct strobe_mach_scope *s)
{
    if (strobe_mach_is_open(s))
        strobe_scope_end(s->thread, s->token, s->site);
    else if (s->token && strobe_mach.capture == s->capture)
        strobe_scope_left(s->thread);
}

static inline void strobe_mach_waits(const struct strobe_mach_scope *s, uint64_t what)
{
    if (s->token)
        strobe_wait_begin(s->thread, what);
}

static inline void strobe_mach_woken(const struct strobe_mach_scope *s, uint64_t what, enum strobe_wake how,
                                     bool shared)
{
    if (strobe_mach_is_open(s))
        strobe_wait_end(s->thread, what, how, shared);
}

/* Right before a release: true when somebody waits for it, and the event has been taken with that. Else the event is
 * the caller's to tell, after the release, by strobe_mach_released. */
static STROBE_ALWAYS_INLINE bool strobe_mach_releases(struct strobe_thread *t, uint64_t what, enum strobe_release how,
                                                      struct strobe_site site)
{
    return t && strobe_hand_over(t, what, how, site);
}

static inline void strobe_mach_released(struct strobe_thread *t, bool told, uint64_t what, struct strobe_site site)
{
    if (t && !told)
        strobe_mach_point(t, STROBE_KIND_UNLOCK, what, site);
}

static inline struct strobe_mach_local *strobe_mach_local_of(const struct strobe_thread *t)
{
    return &strobe_mach.local[t->index];
}

static inline uint64_t strobe_mach_now(void)
{
    const struct strobe_host *h = &strobe_mach.host.host;
    return h->ticks(h->ctx);
}

/* Says which call was made while a thread is suspended, and from where, and ends the process. */
_Noreturn void strobe_mach_offender(const char *call);

#endif
