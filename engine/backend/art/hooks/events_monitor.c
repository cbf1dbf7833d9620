/* Entry of monitors: the fat ones, for which a thread waits or has waited.
 *
 * Where the runtime itself reports contention (MonitorCallback), the scope begins and ends with its report, and the
 * entry of a free monitor costs nothing. The runtime does not report the entry after a wait; it is hooked. Without
 * callbacks each entry is a scope. If the monitor is known to be free or the thread's own, the entry is a point
 * instead. (When another thread takes the monitor after this check, the wait for it is not recorded.)
 *
 * Leaving a monitor reports the release. A thread that leaves one of several nested entries does not release the
 * monitor, but the hook cannot distinguish this. The last release before the waiter owns the monitor is the one that
 * counts (STROBE_RELEASE_LOCK), and that is the real one. */
#include "engine/backend/art/monitor.h"
#include "engine/base/error.h"

static struct strobe_hook lock_hook, lock_for_wait_hook, unlock_hook;

static uint64_t monitor_entry_of(const void *monitor)
{
    return (uint64_t)(uintptr_t)monitor;
}

/* ---- entering ---- */

static bool monitor_is_free(const void *monitor, const void *self)
{
    uint16_t at = strobe_art_monitor.owner_offset;
    return at && (strobe_art_may_own(monitor, self) || strobe_art_may_own(monitor, NULL));
}

static STROBE_ALWAYS_INLINE void monitor_enter_scope(const struct strobe_hook *hook, void *monitor, void *self,
                                                     struct strobe_site site)
{
    uint64_t entry = monitor_entry_of(monitor);
    struct strobe_hook_scope s = strobe_art_open(STROBE_KIND_MONITOR, entry, site);
    strobe_hook_waits(&s, entry);
    ((void (*)(void *, void *))hook->original)(monitor, self);
    strobe_hook_woken(&s, entry, STROBE_WAKE_RELEASED, false);
    strobe_hook_close(&s);
}

static void on_monitor_lock(void *monitor, void *self)
{
    if (!monitor_is_free(monitor, self)) {
        monitor_enter_scope(&lock_hook, monitor, self, STROBE_HERE);
        return;
    }
    ((void (*)(void *, void *))lock_hook.original)(monitor, self);
    uint32_t on = strobe_switched();
    struct strobe_thread *t = strobe_art_thread(on);
    if (t)
        strobe_point(t, on, STROBE_KIND_MONITOR, monitor_entry_of(monitor), STROBE_HERE);
}

static void on_monitor_lock_for_wait(void *monitor, void *self)
{
    monitor_enter_scope(&lock_for_wait_hook, monitor, self, STROBE_HERE);
}

/* ---- leaving ---- */

static bool on_monitor_unlock(void *monitor, void *self)
{
    if (strobe_art_may_own(monitor, self))
        strobe_art_releases(monitor_entry_of(monitor), STROBE_RELEASE_LOCK, STROBE_HERE);
    return ((bool (*)(void *, void *))unlock_hook.original)(monitor, self);
}

/* ---- the runtime's callbacks */

static void on_monitor_contended(void *callback, void *monitor)
{
    (void)callback;
    struct strobe_hook_scope s = strobe_art_open(STROBE_KIND_MONITOR, monitor_entry_of(monitor), STROBE_HERE);
    strobe_hook_waits(&s, monitor_entry_of(monitor));
}

/* The scope is the thread's innermost one: no hooked function runs in between. */
static void on_monitor_entered(void *callback, void *monitor)
{
    (void)callback;
    uint64_t entry = monitor_entry_of(monitor);
    struct strobe_thread *t = strobe_art_thread(strobe_switched());
    uint32_t token = t ? t->scope_count : 0;
    if (!token || t->scope[token - 1].kind != STROBE_KIND_MONITOR || t->scope[token - 1].arg != entry)
        return;
    strobe_wait_end(t, entry, STROBE_WAKE_RELEASED, false);
    strobe_scope_end(t, token, STROBE_HERE);
}

static void on_monitor_wait_begin(void *callback, void *object, int64_t timeout_ms)
{
    (void)callback, (void)object, (void)timeout_ms;
}

static void on_monitor_wait_end(void *callback, void *monitor, bool timed_out)
{
    (void)callback, (void)monitor, (void)timed_out;
}

static void monitor_keep_callback(void *object)
{
    (void)object;
}

/* art::MonitorCallback: ContendedLocking, ContendedLocked, ObjectWaitStart, WaitFinished, two destructors. */
static void *const vtable[] = {(void *)on_monitor_contended,  (void *)on_monitor_entered,
                               (void *)on_monitor_wait_begin, (void *)on_monitor_wait_end,
                               (void *)monitor_keep_callback, (void *)monitor_keep_callback};
static struct {
    void *const *vtable;
} callback = {vtable};
static bool called_back;

static bool monitor_has_callbacks(void)
{
    return strobe_art.runtime.callbacks && strobe_art.libart.address[STROBE_ART_ADD_MONITOR_CALLBACK] &&
           strobe_art.libart.address[STROBE_ART_REMOVE_MONITOR_CALLBACK];
}

static void monitor_call_callbacks(enum strobe_art_symbol symbol)
{
    ((void (*)(void *, void *))(uintptr_t)strobe_art.libart.address[symbol])(strobe_art.runtime.callbacks, &callback);
}

static void monitor_ask(void)
{
    if (!monitor_has_callbacks())
        strobe_art_ask_hook(&lock_hook, STROBE_ART_MONITOR_LOCK, (void *)on_monitor_lock);
    strobe_art_ask_hook(&unlock_hook, STROBE_ART_MONITOR_UNLOCK, (void *)on_monitor_unlock);
    strobe_art_ask_hook(&lock_for_wait_hook, STROBE_ART_MONITOR_LOCK_FOR_WAIT, (void *)on_monitor_lock_for_wait);
}

static void monitor_end(void)
{
    if (called_back)
        monitor_call_callbacks(STROBE_ART_REMOVE_MONITOR_CALLBACK);
    called_back = false;
    strobe_art_drop_hook(&lock_hook);
    strobe_art_drop_hook(&lock_for_wait_hook);
    strobe_art_drop_hook(&unlock_hook);
}

static bool monitor_start(struct strobe_jni *env, struct strobe_error *error)
{
    (void)env;
    strobe_art_monitor_learn();
    called_back = monitor_has_callbacks();
    if (called_back)
        monitor_call_callbacks(STROBE_ART_ADD_MONITOR_CALLBACK);
    bool reports = called_back || strobe_art_is_hooked(&lock_hook, STROBE_ART_MONITOR_LOCK, error);
    if (!reports)
        monitor_end();
    else if (!strobe_art_is_hooked(&unlock_hook, STROBE_ART_MONITOR_UNLOCK, error))
        strobe_art_drop_hook(&lock_for_wait_hook); /* there are no wakers, and no entries after waits */
    return reports;
}

const struct strobe_art_feature strobe_art_feature_monitor = {STROBE_ART_MONITOR, monitor_ask, monitor_start,
                                                              monitor_end};
