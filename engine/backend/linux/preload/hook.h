/* What every hook does: a point beside the real call, or a scope around it. See capture/sample.h.
 *
 * A hook function begins with its real function, and reports with HERE, the place it was called from. Hooks on a
 * thread that has no state (yet), or while capture is off, do nothing but call through. */
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

/* The calling thread's state, when its event is to be taken. */
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

/* A scope that ends however its function is left: return, cancellation, exception. */
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

/* In the child of a fork that happened inside the call, the switch is off and the scope is nobody's. */
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

/* The same around a wait for `what`: how it ended is to be said by strobe_hook_woken, if it returns. */
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

/* Right before a release of `what`: not 0 when somebody waits for it, and the event has been taken with that. */
static STROBE_ALWAYS_INLINE uint64_t strobe_hook_hands_over(uint64_t what, enum strobe_release how,
                                                            struct strobe_site site)
{
    struct strobe_thread *t = strobe_local.thread;
    return t && strobe_switched() != STROBE_OFF ? strobe_hand_over(t, what, how, site) : 0;
}

/* Right after it, with what strobe_hook_hands_over has returned. */
static STROBE_ALWAYS_INLINE void strobe_hook_released(uint64_t what, uint64_t begin_ticks, struct strobe_site site)
{
    if (!strobe_unlikely(begin_ticks))
        strobe_hook_point(STROBE_KIND_UNLOCK, what, site);
    else if (strobe_local.thread && strobe_switched() != STROBE_OFF)
        strobe_release_end(strobe_local.thread, what, begin_ticks, site);
}

/* To be called first by hooks of functions that may wait for a lock: aborts in the suspended window. */
static inline void strobe_hook_forbidden(const char *name)
{
    if (strobe_unlikely(strobe_guard_forbids()))
        strobe_preload_offender(name);
}

#endif
