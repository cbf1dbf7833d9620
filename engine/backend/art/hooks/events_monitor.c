/* Entry of monitors: the fat ones, that somebody has waited for or waits for.
 *
 * Where the runtime tells of contention itself (MonitorCallback), the scope begins and ends with that, and entering a
 * free monitor costs nothing. It does not tell of the entry after a wait, which is hooked. Elsewhere each entry is a
 * scope, unless it is known that the monitor has no owner or is the thread's own already: then a point. (A monitor that
 * another takes between that look and the runtime's own is waited for unseen.)
 *
 * Leaving tells who hands over. Who leaves one of several entries does not, but that is not told apart: the last
 * release before the waiter has the monitor is the one that counts (STROBE_RELEASE_LOCK), and that is the real one. */
#include "engine/backend/art/monitor.h"
#include "engine/base/error.h"

static struct strobe_hook lock_hook, lock_for_wait_hook, unlock_hook;

static uint64_t entry_of(const void *monitor)
{
    return (uint64_t)(uintptr_t)monitor;
}

/* ---- entering ---- */

static bool is_free(const void *monitor, const void *self)
{
    uint16_t at = strobe_art_monitor.owner_offset;
    return at && (strobe_art_may_own(monitor, self) || strobe_art_may_own(monitor, NULL));
}

static STROBE_ALWAYS_INLINE void enter(const struct strobe_hook *hook, void *monitor, void *self,
                                       struct strobe_site site)
{
    uint64_t entry = entry_of(monitor);
    struct strobe_art_scope s = strobe_art_open(STROBE_KIND_MONITOR, entry, site);
    strobe_art_waits(&s, entry);
    ((void (*)(void *, void *))hook->original)(monitor, self);
    strobe_art_woken(&s, entry, STROBE_WAKE_RELEASED);
    strobe_art_close(&s);
}

/* From here on the thread waits for the entry, if it was in a wait. */
static void wait_is_over(void)
{
    struct strobe_thread *t = strobe_art_thread(strobe_switched());
    if (t)
        strobe_art_wait_is_over(t);
}

static void lock(void *monitor, void *self)
{
    wait_is_over(); /* before 9 the entry after a wait is one like others */
    if (!is_free(monitor, self)) {
        enter(&lock_hook, monitor, self, STROBE_ART_HERE);
        return;
    }
    ((void (*)(void *, void *))lock_hook.original)(monitor, self);
    uint32_t on = strobe_switched();
    struct strobe_thread *t = strobe_art_thread(on);
    if (t)
        strobe_point(t, on, STROBE_KIND_MONITOR, entry_of(monitor), STROBE_ART_HERE);
}

static void lock_for_wait(void *monitor, void *self)
{
    wait_is_over();
    enter(&lock_for_wait_hook, monitor, self, STROBE_ART_HERE);
}

/* ---- leaving ---- */

static bool unlock(void *monitor, void *self)
{
    if (strobe_art_may_own(monitor, self))
        strobe_art_releases(entry_of(monitor), STROBE_RELEASE_LOCK, STROBE_ART_HERE);
    return ((bool (*)(void *, void *))unlock_hook.original)(monitor, self);
}

/* ---- the runtime's own word ---- */

static void contended(void *callback, void *monitor)
{
    (void)callback;
    struct strobe_art_scope s = strobe_art_open(STROBE_KIND_MONITOR, entry_of(monitor), STROBE_ART_HERE);
    strobe_art_waits(&s, entry_of(monitor));
}

/* Its scope is the innermost: nothing that is hooked happens in between. */
static void entered(void *callback, void *monitor)
{
    (void)callback;
    uint64_t entry = entry_of(monitor);
    struct strobe_thread *t = strobe_art_thread(strobe_switched());
    uint32_t token = t ? t->scope_count : 0;
    if (!token || t->scope[token - 1].kind != STROBE_KIND_MONITOR || t->scope[token - 1].arg != entry)
        return;
    strobe_wait_end(t, entry, STROBE_WAKE_RELEASED, false);
    strobe_scope_end(t, token, STROBE_ART_HERE);
}

static void wait_begins(void *callback, void *object, int64_t timeout_ms)
{
    (void)callback, (void)object, (void)timeout_ms;
}

static void wait_ends(void *callback, void *monitor, bool timed_out)
{
    (void)callback, (void)monitor, (void)timed_out;
}

static void keep(void *object)
{
    (void)object;
}

/* art::MonitorCallback: ContendedLocking, ContendedLocked, ObjectWaitStart, WaitFinished, two destructors. */
static void *const vtable[] = {(void *)contended, (void *)entered, (void *)wait_begins,
                               (void *)wait_ends, (void *)keep,    (void *)keep};
static struct {
    void *const *vtable;
} callback = {vtable};
static bool called_back;

static bool has_callbacks(void)
{
    return strobe_art.runtime.callbacks && strobe_art.libart.address[STROBE_ART_ADD_MONITOR_CALLBACK] &&
           strobe_art.libart.address[STROBE_ART_REMOVE_MONITOR_CALLBACK];
}

static void call_callbacks(enum strobe_art_symbol symbol)
{
    ((void (*)(void *, void *))(uintptr_t)strobe_art.libart.address[symbol])(strobe_art.runtime.callbacks, &callback);
}

static void end(void)
{
    if (called_back)
        call_callbacks(STROBE_ART_REMOVE_MONITOR_CALLBACK);
    called_back = false;
    strobe_hook_remove(&lock_hook);
    strobe_hook_remove(&lock_for_wait_hook);
    strobe_hook_remove(&unlock_hook);
}

static bool start(struct strobe_jni *env, struct strobe_error *error)
{
    (void)env;
    strobe_art_monitor_learn();
    called_back = has_callbacks();
    if (called_back)
        call_callbacks(STROBE_ART_ADD_MONITOR_CALLBACK);
    bool tells = called_back || strobe_art_hook(&lock_hook, STROBE_ART_MONITOR_LOCK, (void *)lock, error);
    if (tells) /* without these there are no wakers, and no entries after waits */
        (void)(strobe_art_hook(&unlock_hook, STROBE_ART_MONITOR_UNLOCK, (void *)unlock, error) &&
               strobe_art_hook(&lock_for_wait_hook, STROBE_ART_MONITOR_LOCK_FOR_WAIT, (void *)lock_for_wait, error));
    return tells;
}

const struct strobe_art_feature strobe_art_feature_monitor = {STROBE_ART_MONITOR, start, end};
