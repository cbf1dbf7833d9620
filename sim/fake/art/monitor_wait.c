/* Object.wait, notify, notifyAll.
 *
 * A waiting thread is in its monitor's wait set and sleeps on its own condition. From level 29 on, a notification moves
 * it into the wake set, and each release of the monitor wakes one thread of that set. Before, the notification wakes it
 * at once. It then takes the monitor like any other thread ("runtime/monitor.cc", Android Open Source Project). */
#include "sim/fake/art/monitor.h"

#include <stdatomic.h>

/* ThreadState values that Monitor::Wait gets; the same numbers at all levels ("runtime/thread_state.h"). */
enum { STATE_TIMED_WAITING = 68, STATE_SLEEPING = 69, STATE_WAITING = 71 };

void fake_art_monitor_wait(struct fake_monitor *m, struct fake_thread *self, int64_t ms, int32_t ns,
                           bool interrupt_throws, uint8_t why)
    FAKE_EXPORT("_ZN3art7Monitor4WaitEPNS_6ThreadElibNS_11ThreadStateE");
void fake_art_object_wait(struct fake_thread *self, struct fake_object *o, int64_t ms, int32_t ns,
                          bool interrupt_throws, uint8_t why)
    FAKE_EXPORT("_ZN3art7Monitor4WaitEPNS_6ThreadENS_6ObjPtrINS_6mirror6ObjectEEElibNS_11ThreadStateE");
void fake_art_object_notify(struct fake_thread *self, struct fake_object *o, bool all)
    FAKE_EXPORT("_ZN3art7Monitor8DoNotifyEPNS_6ThreadENS_6ObjPtrINS_6mirror6ObjectEEEb");
void fake_art_monitor_notify(struct fake_monitor *m, struct fake_thread *self)
    FAKE_EXPORT("_ZN3art7Monitor6NotifyEPNS_6ThreadE");
void fake_art_monitor_notify_all(struct fake_monitor *m, struct fake_thread *self)
    FAKE_EXPORT("_ZN3art7Monitor9NotifyAllEPNS_6ThreadE");

static void not_locked(struct fake_thread *self, const char *message)
{
    fake_throw(self, "Ljava/lang/IllegalMonitorStateException;", message);
}

static struct fake_thread **wait_set_end(struct fake_thread **set)
{
    while (*set)
        set = &fake_thread_parts(*set)->wait_next;
    return set;
}

static bool wait_set_remove(struct fake_thread **set, struct fake_thread *t)
{
    for (; *set; set = &fake_thread_parts(*set)->wait_next) {
        if (*set != t)
            continue;
        *set = fake_thread_parts(t)->wait_next;
        fake_thread_parts(t)->wait_next = NULL;
        return true;
    }
    return false;
}

static uint64_t deadline_of(int64_t ms, int32_t ns)
{
    uint64_t now = fake_now_ns();
    return (uint64_t)ms > (UINT64_MAX - now) / 1000000 - 1 ? UINT64_MAX : now + (uint64_t)ms * 1000000 + (uint64_t)ns;
}

/* Releases the monitor and sleeps, not RUNNABLE. Returns true when the time was over. */
static bool monitor_sleep_in(struct fake_monitor *m, struct fake_thread *self, uint64_t deadline_ns, bool *interrupted)
{
    struct fake_parts *parts = fake_thread_parts(self);
    bool timed_out = false;
    fake_mutex_lock(&m->guard);
    fake_mutex_lock(&parts->wait_mutex);
    *wait_set_end(&m->waiting) = self;
    parts->wait_monitor = m;
    parts->woken = false;
    fake_mutex_unlock(&parts->wait_mutex);
    m->count = 0;
    fake_monitor_release(m);
    fake_mutex_lock(&parts->wait_mutex);
    while (!parts->woken && !fake_interrupted(self, false) && !timed_out) {
        fake_thread_note_wait(self);
        timed_out = !fake_cond_wait(&parts->wait_cond, &parts->wait_mutex, deadline_ns);
    }
    timed_out = timed_out && !parts->woken;
    *interrupted = fake_interrupted(self, false);
    parts->wait_monitor = NULL;
    fake_mutex_unlock(&parts->wait_mutex);
    return timed_out;
}

void fake_art_monitor_wait(struct fake_monitor *m, struct fake_thread *self, int64_t ms, int32_t ns,
                           bool interrupt_throws, uint8_t why)
{
    if (atomic_load(&m->owner) != self) {
        not_locked(self, "object not locked by thread before wait()");
        return;
    }
    if (why == STATE_TIMED_WAITING && !ms && !ns)
        why = STATE_WAITING;
    if (ms < 0 || ns < 0 || ns > 999999) {
        fake_throw(self, "Ljava/lang/IllegalArgumentException;", "timeout arguments out of range");
        return;
    }
    struct fake_parts *parts = fake_thread_parts(self);
    uint32_t count = m->count;
    bool interrupted, timed = why != STATE_WAITING;
    parts->waits = m->object;
    atomic_fetch_add(&m->users, 1);
    fake_to_native(self, why == STATE_SLEEPING ? FAKE_SLEEPING : timed ? FAKE_TIMED_WAITING : FAKE_WAITING);
    bool timed_out = monitor_sleep_in(m, self, timed ? deadline_of(ms, ns) : UINT64_MAX, &interrupted);
    fake_to_runnable(self);
    if (interrupted && interrupt_throws) {
        fake_interrupted(self, true);
        fake_throw(self, "Ljava/lang/InterruptedException;", NULL);
    }
    fake_notify_wait_finished(m, timed_out);
    fake_monitor_lock_again(m, self);
    fake_mutex_lock(&m->guard);
    m->count = count;
    if (!wait_set_remove(&m->waiting, self))
        wait_set_remove(&m->notified, self);
    fake_mutex_unlock(&m->guard);
    parts->waits = 0;
    atomic_fetch_sub(&m->users, 1);
}

/* Returns the monitor of an object that self has locked, or NULL with IllegalMonitorStateException pending. */
static struct fake_monitor *owned_monitor(struct fake_thread *self, struct fake_object *o, const char *message)
{
    for (;;) {
        uint32_t owner;
        struct fake_monitor *m = fake_monitor_of(o, &owner);
        if (owner != fake_thread_id(self)) {
            not_locked(self, message);
            return NULL;
        }
        if (m)
            return m;
        fake_monitor_inflate(self, o);
    }
}

void fake_art_object_wait(struct fake_thread *self, struct fake_object *o, int64_t ms, int32_t ns,
                          bool interrupt_throws, uint8_t why)
{
    fake_ref handle = fake_ref_of(o);
    fake_notify_wait_start(&handle, ms);
    if (fake_exception(self))
        return;
    struct fake_monitor *m = owned_monitor(self, o, "object not locked by thread before wait()");
    if (m)
        fake_art_monitor_wait(m, self, ms, ns, interrupt_throws, why);
}
FAKE_EXPORT_ALSO(fake_art_object_wait,
                 "_ZN3art7Monitor4WaitEPNS_6ThreadENS_6ObjPtrINS_6mirror6ObjectEEElibNS_11ThreadStateE",
                 "_ZN3art7Monitor4WaitEPNS_6ThreadEPNS_6mirror6ObjectElibNS_11ThreadStateE");

static void notify_one(struct fake_monitor *m, struct fake_thread *self)
{
    if (atomic_load(&m->owner) != self) {
        not_locked(self, "object not locked by thread before monitor_notify()");
        return;
    }
    fake_mutex_lock(&m->guard);
    bool notified = false;
    while (m->waiting && !notified) {
        struct fake_thread *t = m->waiting;
        struct fake_parts *parts = fake_thread_parts(t);
        m->waiting = parts->wait_next;
        if (fake_monitor_wakes_late()) { /* moves also a thread whose time is over, so that no thread is woken */
            parts->wait_next = m->notified;
            m->notified = t;
            break;
        }
        parts->wait_next = NULL;
        fake_mutex_lock(&parts->wait_mutex);
        notified = parts->wait_monitor == m;
        if (notified) {
            parts->woken = true;
            fake_cond_signal(&parts->wait_cond);
        }
        fake_mutex_unlock(&parts->wait_mutex);
    }
    fake_mutex_unlock(&m->guard);
}

static void monitor_notify_all(struct fake_monitor *m, struct fake_thread *self)
{
    if (atomic_load(&m->owner) != self) {
        not_locked(self, "object not locked by thread before notifyAll()");
        return;
    }
    fake_mutex_lock(&m->guard);
    if (fake_monitor_wakes_late()) {
        *wait_set_end(&m->notified) = m->waiting;
        m->waiting = NULL;
        fake_mutex_unlock(&m->guard);
        return;
    }
    while (m->waiting) {
        struct fake_parts *parts = fake_thread_parts(m->waiting);
        m->waiting = parts->wait_next;
        parts->wait_next = NULL;
        fake_mutex_lock(&parts->wait_mutex);
        parts->woken = true;
        fake_cond_signal(&parts->wait_cond);
        fake_mutex_unlock(&parts->wait_mutex);
    }
    fake_mutex_unlock(&m->guard);
}

void fake_art_monitor_notify(struct fake_monitor *m, struct fake_thread *self)
{
    notify_one(m, self);
}
void fake_art_monitor_notify_all(struct fake_monitor *m, struct fake_thread *self)
{
    monitor_notify_all(m, self);
}

/* Compilers inline short versions into their caller, so a hook of this function sees no call, as in Debian's builds. */
static void monitor_notify(struct fake_monitor *m, struct fake_thread *self, bool all)
{
    if (fake_monitor_wakes_late())
        (all ? monitor_notify_all : notify_one)(m, self);
    else
        (all ? fake_art_monitor_notify_all : fake_art_monitor_notify)(m, self);
}

void fake_art_object_notify(struct fake_thread *self, struct fake_object *o, bool all)
{
    uint32_t owner;
    struct fake_monitor *m = fake_monitor_of(o, &owner);
    if (owner != fake_thread_id(self))
        not_locked(self, all ? "object not locked by thread before notifyAll()"
                             : "object not locked by thread before monitor_notify()");
    else if (m) /* no thread waits for a thin lock */
        monitor_notify(m, self, all);
}
FAKE_EXPORT_ALSO(fake_art_object_notify, "_ZN3art7Monitor8DoNotifyEPNS_6ThreadENS_6ObjPtrINS_6mirror6ObjectEEEb",
                 "_ZN3art7Monitor8DoNotifyEPNS_6ThreadEPNS_6mirror6ObjectEb");

void fake_monitor_wait(struct fake_thread *self, struct fake_object *o, int64_t ms, int32_t ns)
{
    fake_art_object_wait(self, o, ms, ns, true, STATE_TIMED_WAITING);
}

void fake_monitor_sleep(struct fake_thread *self, struct fake_object *lock, int64_t ms, int32_t ns)
{
    fake_art_object_wait(self, lock, ms, ns, true, STATE_SLEEPING);
}

void fake_monitor_notify(struct fake_thread *self, struct fake_object *o, bool all)
{
    fake_art_object_notify(self, o, all);
}

void fake_monitor_interrupt(struct fake_thread *t)
{
    struct fake_parts *parts = fake_thread_parts(t);
    fake_mutex_lock(&parts->wait_mutex);
    if (parts->wait_monitor)
        fake_cond_signal(&parts->wait_cond);
    fake_mutex_unlock(&parts->wait_mutex);
}
