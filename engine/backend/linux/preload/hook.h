/* What hooks of the preloaded library use, also those that it shares with Android (common/libc/hook.h). A hook has the
 * name of its function, which the dynamic linker then finds first. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_HOOK_H
#define STROBE_BACKEND_LINUX_PRELOAD_HOOK_H

#include "engine/backend/common/libc/hook.h"
#include "engine/backend/linux/attach/cond_waits.h"
#include "engine/backend/linux/preload/preload.h"
#include "engine/backend/linux/preload/real.h"
#include "engine/backend/linux/preload/visits.h"
#include "engine/capture/guard.h"

#define HOOK(type, name)            __attribute__((visibility("default"))) type name
#define ORIGINAL(name)              strobe_real()->name
#define HOOK_THREAD(on)             strobe_hook_thread(on)
#define HOOK_SCOPE(kind, arg, site) strobe_hook_open(strobe_hook_thread(strobe_switched()), kind, arg, site)
#define HOOK_FORBIDDEN(name)        strobe_hook_forbidden(name)

/* Returns the calling thread's state, or NULL when its event is not recorded. Registers the thread when it has no state
 * yet. */
static inline struct strobe_thread *strobe_hook_thread(uint32_t on)
{
    struct strobe_thread *t = strobe_preload_thread();
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

/* Aborts in the suspended window. A hook of a function that may wait for a lock calls this first. */
static inline void strobe_hook_forbidden(const char *name)
{
    if (strobe_unlikely(strobe_guard_forbids()))
        strobe_preload_offender(name);
}

#endif
