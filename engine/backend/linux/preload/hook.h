/* The parts of every hook: a point beside the real call, or a scope around it. See common/hook_scope.h.
 *
 * A hook calls its real function, and reports its event with STROBE_HERE, the place that called the hook. While capture
 * is off, and on a thread that cannot be registered, a hook only calls the real function. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_HOOK_H
#define STROBE_BACKEND_LINUX_PRELOAD_HOOK_H

#include "engine/backend/common/hook_scope.h"
#include "engine/backend/linux/preload/preload.h"
#include "engine/backend/linux/preload/real.h"
#include "engine/capture/guard.h"

#define HOOK __attribute__((visibility("default")))

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

/* A scope that ends with its function. */
#define SCOPE(kind, arg)                                                                                               \
    struct strobe_hook_scope scope_ STROBE_SCOPED =                                                                    \
        strobe_hook_open(strobe_hook_thread(strobe_switched()), kind, arg, STROBE_HERE);                               \
    (void)scope_

/* A scope around a wait for `what`. When the call returns, the hook reports the outcome with strobe_hook_woken. */
#define WAIT(kind, what)                                                                                               \
    SCOPE(kind, what);                                                                                                 \
    strobe_hook_waits(&scope_, what)

/* Right before a release of `what`. Right after it, the hook calls strobe_hook_release_end. */
#define RELEASE(what, how) strobe_hook_release_begin(strobe_hook_thread(strobe_switched()), what, how, STROBE_HERE)

/* Aborts in the suspended window. A hook of a function that may wait for a lock calls this first. */
static inline void strobe_hook_forbidden(const char *name)
{
    if (strobe_unlikely(strobe_guard_forbids()))
        strobe_preload_offender(name);
}

#endif
