/* The parts of every hook: a point beside the real call, or a scope around it. See capture/sample.h.
 *
 * A hook calls its real function, and reports its event with HERE, the place that called the hook. While capture is
 * off, and on a thread that cannot be registered, a hook only calls the real function. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_HOOK_H
#define STROBE_BACKEND_LINUX_PRELOAD_HOOK_H

#include "engine/backend/linux/preload/preload.h"
#include "engine/backend/linux/preload/real.h"
#include "engine/base/hint.h"
#include "engine/capture/blocking.h"
#include "engine/capture/guard.h"
#include "engine/capture/sample.h"

#define HOOK __attribute__((visibility("default")))
#define HERE                                                                                                           \
    (struct strobe_site)                                                                                               \
    {                                                                                                                  \
        (uint64_t)(uintptr_t) __builtin_frame_address(0), (uint64_t)(uintptr_t)__builtin_return_address(0)             \
    }

/* Returns the calling thread's state, or NULL when its event is not recorded. Registers the thread when it has no state
 * yet. */
static inline struct strobe_thread *strobe_hook_thread(uint32_t on)
{
    struct strobe_thread *t = strobe_local.thread;
    if (strobe_unlikely(on == STROBE_OFF))
        return NULL;
    if (strobe_unlikely(!t))
        return strobe_preload_attach_unknown();
    return t;
}

static STROBE_ALWAYS_INLINE void strobe_hook_point(enum strobe_kind kind, uint64_t arg, struct strobe_site site)
{
    uint32_t on = strobe_switched();
    struct strobe_thread *t = strobe_hook_thread(on);
    if (t)
        strobe_point(t, on, kind, arg, site);
}

/* A scope that ends with its function: by return, cancellation or exception. */
struct strobe_hook_scope {
    struct strobe_thread *thread;
    uint32_t token;
    struct strobe_site site;
};

static inline struct strobe_hook_scope strobe_hook_open(enum strobe_kind kind, uint64_t arg, struct strobe_site site)
{
    struct strobe_hook_scope s = {strobe_hook_thread(strobe_switched()), 0, site};
    if (s.thread)
        s.token = strobe_scope_begin(s.thread, kind, arg, site);
    return s;
}

/* When the call forked, the child's thread has no state any more, and the scope is ignored there. When capture has been
 * turned off meanwhile, the scope ends by strobe_scope_left. */
static inline void strobe_hook_close(struct strobe_hook_scope *s)
{
    if (!s->token || s->thread != strobe_local.thread)
        return;
    if (strobe_switched() != STROBE_OFF)
        strobe_scope_end(s->thread, s->token, s->site);
    else
        strobe_scope_left(s->thread);
}

#define SCOPE(kind, arg)                                                                                               \
    struct strobe_hook_scope scope_ __attribute__((cleanup(strobe_hook_close))) = strobe_hook_open(kind, arg, HERE);   \
    (void)scope_

/* A scope around a wait for `what`. When the call returns, the hook reports the outcome with strobe_hook_woken. */
#define WAIT(kind, what)                                                                                               \
    SCOPE(kind, what);                                                                                                 \
    strobe_hook_waits(&scope_, what)

static inline void strobe_hook_waits(const struct strobe_hook_scope *s, uint64_t what)
{
    if (s->token)
        strobe_wait_begin(s->thread, what);
}

static inline void strobe_hook_woken(const struct strobe_hook_scope *s, uint64_t what, enum strobe_wake how,
                                     bool shared)
{
    if (s->token && s->thread == strobe_local.thread && strobe_switched() != STROBE_OFF)
        strobe_wait_end(s->thread, what, how, shared);
}

/* Right before a release of `what`. Returns a value other than 0 when a thread waits for `what`. The release's event is
 * then recorded already. */
static STROBE_ALWAYS_INLINE uint64_t strobe_hook_hands_over(uint64_t what, enum strobe_release how,
                                                            struct strobe_site site)
{
    struct strobe_thread *t = strobe_local.thread;
    return t && strobe_switched() != STROBE_OFF ? strobe_hand_over(t, what, how, site) : 0;
}

/* Right after the release. `begin_ticks` is the result of strobe_hook_hands_over. */
static STROBE_ALWAYS_INLINE void strobe_hook_released(uint64_t what, uint64_t begin_ticks, struct strobe_site site)
{
    if (!strobe_unlikely(begin_ticks))
        strobe_hook_point(STROBE_KIND_UNLOCK, what, site);
    else if (strobe_local.thread && strobe_switched() != STROBE_OFF)
        strobe_release_end(strobe_local.thread, what, begin_ticks, site);
}

/* Aborts in the suspended window. A hook of a function that may wait for a lock calls this first. */
static inline void strobe_hook_forbidden(const char *name)
{
    if (strobe_unlikely(strobe_guard_forbids()))
        strobe_preload_offender(name);
}

#endif
