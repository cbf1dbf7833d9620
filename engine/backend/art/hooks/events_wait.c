/* Waits in monitors (Object.wait) and their notifiers, and sleeps (Thread.sleep). monitor.h defines the identities of
 * waits.
 *
 * A waiting thread first releases the monitor, which is an ordinary release. It then waits to be notified. At last it
 * enters the monitor again, which is a wait for the monitor's entry (events_monitor.c). The call does not report
 * whether the wait timed out. A thread that was notified in time may wait long for the monitor or for a processor, so
 * the time of the notification decides.
 *
 * A sleep is a wait in a monitor of the thread's own, which no thread notifies. The runtime distinguishes it by the
 * thread's state. */
#include "engine/backend/art/monitor.h"

static struct strobe_hook wait_hook, do_notify_hook, notify_hook, notify_all_hook, native_wait_hook, native_sleep_hook;

/* art::ThreadState::kSleeping, the same from 7.0 to 16 ("runtime/thread_state.h"): an int before 12, a byte since. */
enum { STATE_SLEEPING = 69, STATE_MASK = 0xff };

/* ---- waiting ---- */

static bool wait_exception_pending(void)
{
    struct strobe_jni *env = strobe_jvm_env(strobe_art.vm);
    return env && ((uint8_t(*)(struct strobe_jni *))(uintptr_t)strobe_jni_at(env, STROBE_JNI_EXCEPTION_CHECK))(env);
}

static uint64_t wait_timeout_ns(int64_t ms, int32_t ns)
{
    if (ms < 0 || ns < 0)
        return 0; /* the runtime refuses it */
    return ms < INT64_MAX / 1000000 - 1 ? (uint64_t)ms * 1000000 + (uint64_t)ns : 0;
}

/* Ends the scope's wait, which began at `began`, in ticks. */
static void end_monitor_wait(const struct strobe_hook_scope *s, uint64_t what, uint64_t began, int64_t ms, int32_t ns)
{
    uint64_t timeout = strobe_ticks_of_ns(&strobe_art.host.linux.host, wait_timeout_ns(ms, ns));
    if (wait_exception_pending())
        strobe_hook_woken(s, what, STROBE_WAKE_INTERRUPTED, false);
    else
        strobe_hook_woken_timed(s, what, timeout ? began + timeout : UINT64_MAX);
}

typedef void monitor_wait(void *monitor, void *self, int64_t ms, int32_t ns, bool interruptible, uint32_t why);

static void wait_as_sleep(void *monitor, void *self, int64_t ms, int32_t ns, bool interruptible, uint32_t why)
{
    struct strobe_hook_scope s = strobe_art_open(STROBE_KIND_SLEEP, 0, STROBE_HERE);
    ((monitor_wait *)wait_hook.original)(monitor, self, ms, ns, interruptible, why);
    strobe_hook_close(&s);
}

static void on_monitor_wait(void *monitor, void *self, int64_t ms, int32_t ns, bool interruptible, uint32_t why)
{
    monitor_wait *original = (monitor_wait *)wait_hook.original;
    if (!strobe_art_may_own(monitor, self)) {
        original(monitor, self, ms, ns, interruptible, why); /* the original throws */
        return;
    }
    if ((why & STATE_MASK) == STATE_SLEEPING) {
        wait_as_sleep(monitor, self, ms, ns, interruptible, why);
        return;
    }
    uint64_t what = strobe_art_wait_set(monitor), began = strobe_art_now();
    struct strobe_hook_scope s = strobe_art_open(STROBE_KIND_COND, what, STROBE_HERE);
    strobe_hook_waits(&s, what);
    strobe_art_releases((uint64_t)(uintptr_t)monitor, STROBE_RELEASE_LOCK, STROBE_HERE);
    original(monitor, self, ms, ns, interruptible, why);
    if (strobe_hook_is_open(&s))
        end_monitor_wait(&s, what, began, ms, ns);
    strobe_hook_close(&s);
}

/* ---- notifying ---- */

static void wait_release(uint64_t what, bool all, struct strobe_site site)
{
    if (what)
        strobe_art_releases(what, all ? STROBE_RELEASE_ALL : STROBE_RELEASE_ONE, site);
}

/* Monitor::DoNotify(Thread *self, Object *, bool all): all notifications pass through it. The functions that it calls
 * are often inlined in it. Where they are not, their hooks must not report the notification again. */
static void on_monitor_do_notify(void *self, void *object, bool all)
{
    struct strobe_thread *t = strobe_art_thread(strobe_switched());
    struct strobe_art_local *l = t ? strobe_art_local_of(t) : NULL;
    uint64_t what = strobe_art_wait_set_of_object(object);
    wait_release(what, all, STROBE_HERE);
    if (l)
        l->notifying = what != 0;
    ((void (*)(void *, void *, bool))do_notify_hook.original)(self, object, all);
    if (l)
        l->notifying = 0;
}

static STROBE_ALWAYS_INLINE void wait_notify_once(void *monitor, void *self, bool all, struct strobe_site site)
{
    struct strobe_thread *t = strobe_art_thread(strobe_switched());
    if (t && !strobe_art_local_of(t)->notifying && strobe_art_may_own(monitor, self))
        wait_release(strobe_art_wait_set(monitor), all, site);
}

static void on_monitor_notify(void *monitor, void *self)
{
    wait_notify_once(monitor, self, false, STROBE_HERE);
    ((void (*)(void *, void *))notify_hook.original)(monitor, self);
}

static void on_monitor_notify_all(void *monitor, void *self)
{
    wait_notify_once(monitor, self, true, STROBE_HERE);
    ((void (*)(void *, void *))notify_all_hook.original)(monitor, self);
}

/* ---- without an inline hooker: the native functions, which do not show the Monitor */

static void on_native_wait(struct strobe_jni *env, strobe_jobject object, int64_t ms, int32_t ns)
{
    struct strobe_hook_scope s = strobe_art_open(STROBE_KIND_COND, 0, STROBE_HERE);
    ((void (*)(struct strobe_jni *, strobe_jobject, int64_t, int32_t))native_wait_hook.original)(env, object, ms, ns);
    strobe_hook_close(&s);
}

static void on_native_sleep(struct strobe_jni *env, strobe_jclass class, strobe_jobject lock, int64_t ms, int32_t ns)
{
    struct strobe_hook_scope s = strobe_art_open(STROBE_KIND_SLEEP, 0, STROBE_HERE);
    ((void (*)(struct strobe_jni *, strobe_jclass, strobe_jobject, int64_t, int32_t))native_sleep_hook.original)(
        env, class, lock, ms, ns);
    strobe_hook_close(&s);
}

static bool wait_start_native(struct strobe_jni *env, struct strobe_error *error)
{
    strobe_art_hook_native(&native_sleep_hook, env, "java/lang/Thread", "sleep", "(Ljava/lang/Object;JI)V", true,
                           (void *)on_native_sleep, error);
    return strobe_art_hook_native(&native_wait_hook, env, "java/lang/Object", "wait", "(JI)V", false,
                                  (void *)on_native_wait, error);
}

/* Any of the notifying functions may be inlined in its caller. Without all of them waits have no wakers. */
static void wait_ask(void)
{
    strobe_art_ask_hook(&wait_hook, STROBE_ART_MONITOR_WAIT, (void *)on_monitor_wait);
    strobe_art_ask_hook(&do_notify_hook, STROBE_ART_MONITOR_DO_NOTIFY, (void *)on_monitor_do_notify);
    strobe_art_ask_hook(&notify_hook, STROBE_ART_MONITOR_NOTIFY, (void *)on_monitor_notify);
    strobe_art_ask_hook(&notify_all_hook, STROBE_ART_MONITOR_NOTIFY_ALL, (void *)on_monitor_notify_all);
}

static void wait_feature_end(void)
{
    strobe_art_drop_hook(&wait_hook);
    strobe_art_drop_hook(&do_notify_hook);
    strobe_art_drop_hook(&notify_hook);
    strobe_art_drop_hook(&notify_all_hook);
    strobe_hook_remove(&native_wait_hook);
    strobe_hook_remove(&native_sleep_hook);
}

static bool wait_feature_start(struct strobe_jni *env, struct strobe_error *error)
{
    if (strobe_art_is_hooked(&wait_hook, STROBE_ART_MONITOR_WAIT, error))
        return true;
    wait_feature_end();
    return wait_start_native(env, error);
}

const struct strobe_art_feature strobe_art_feature_wait = {STROBE_ART_WAIT, wait_ask, wait_feature_start,
                                                           wait_feature_end};
