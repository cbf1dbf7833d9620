/* RuntimeCallbacks: lists of objects whose virtual functions are called at certain events
 * ("runtime/runtime_callbacks.h", "runtime/thread.h", Android Open Source Project). A caller that adds an object keeps
 * it valid as long as it may be called. */
#include "sim/fake/art/fake.h"

#include <stdatomic.h>
#include <string.h>

enum { CALLBACKS_MAX = 16 };

/* Indexes in their vtables. */
enum { THREAD_START = 2, THREAD_DEATH = 3 };
enum { MONITOR_LOCKING = 0, MONITOR_LOCKED = 1, MONITOR_WAIT_START = 2, MONITOR_WAIT_FINISHED = 3 };
enum { PARK_START = 0, PARK_FINISHED = 1 };

struct list {
    void *at[CALLBACKS_MAX];
    uint32_t count;
};
struct callbacks {
    struct list thread, monitor, park;
    atomic_flag busy;
};

struct callbacks *fake_art_callbacks(void *runtime) FAKE_EXPORT("_ZN3art7Runtime19GetRuntimeCallbacksEv");
void fake_art_add_thread_callback(struct callbacks *c, void *callback)
    FAKE_EXPORT("_ZN3art16RuntimeCallbacks26AddThreadLifecycleCallbackEPNS_23ThreadLifecycleCallbackE");
void fake_art_remove_thread_callback(struct callbacks *c, void *callback)
    FAKE_EXPORT("_ZN3art16RuntimeCallbacks29RemoveThreadLifecycleCallbackEPNS_23ThreadLifecycleCallbackE");
void fake_art_add_monitor_callback(struct callbacks *c, void *callback)
    FAKE_EXPORT("_ZN3art16RuntimeCallbacks18AddMonitorCallbackEPNS_15MonitorCallbackE");
void fake_art_remove_monitor_callback(struct callbacks *c, void *callback)
    FAKE_EXPORT("_ZN3art16RuntimeCallbacks21RemoveMonitorCallbackEPNS_15MonitorCallbackE");
void fake_art_add_park_callback(struct callbacks *c, void *callback)
    FAKE_EXPORT("_ZN3art16RuntimeCallbacks15AddParkCallbackEPNS_12ParkCallbackE");
void fake_art_remove_park_callback(struct callbacks *c, void *callback)
    FAKE_EXPORT("_ZN3art16RuntimeCallbacks18RemoveParkCallbackEPNS_12ParkCallbackE");

static struct callbacks the_callbacks = {.busy = ATOMIC_FLAG_INIT};

struct callbacks *fake_art_callbacks(void *runtime)
{
    (void)runtime;
    return &the_callbacks;
}

static void callbacks_enter(struct callbacks *c)
{
    while (atomic_flag_test_and_set_explicit(&c->busy, memory_order_acquire))
        fake_yield();
}

static void callbacks_leave(struct callbacks *c)
{
    atomic_flag_clear_explicit(&c->busy, memory_order_release);
}

static void callbacks_add(struct callbacks *c, struct list *l, void *callback)
{
    callbacks_enter(c);
    FAKE_CHECK(l->count < CALLBACKS_MAX);
    l->at[l->count++] = callback;
    callbacks_leave(c);
}

static void callbacks_remove(struct callbacks *c, struct list *l, const void *callback)
{
    callbacks_enter(c);
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->at[i] != callback)
            continue;
        l->count--;
        memmove(&l->at[i], &l->at[i + 1], (l->count - i) * sizeof l->at[0]);
        break;
    }
    callbacks_leave(c);
}

void fake_art_add_thread_callback(struct callbacks *c, void *callback)
{
    callbacks_add(c, &c->thread, callback);
}
void fake_art_remove_thread_callback(struct callbacks *c, void *callback)
{
    callbacks_remove(c, &c->thread, callback);
}
void fake_art_add_monitor_callback(struct callbacks *c, void *callback)
{
    callbacks_add(c, &c->monitor, callback);
}
void fake_art_remove_monitor_callback(struct callbacks *c, void *callback)
{
    callbacks_remove(c, &c->monitor, callback);
}
void fake_art_add_park_callback(struct callbacks *c, void *callback)
{
    callbacks_add(c, &c->park, callback);
}
void fake_art_remove_park_callback(struct callbacks *c, void *callback)
{
    callbacks_remove(c, &c->park, callback);
}

/* Copies a list, so that no callback is called while the list is locked. */
static struct list callbacks_copy(const struct list *l)
{
    callbacks_enter(&the_callbacks);
    struct list all = *l;
    callbacks_leave(&the_callbacks);
    return all;
}

#define NOTIFY(which, place, type, ...)                                                                                \
    do {                                                                                                               \
        struct list all = callbacks_copy(&the_callbacks.which);                                                        \
        for (uint32_t i = 0; i < all.count; i++)                                                                       \
            ((void(*) type)(uintptr_t)(*(void ***)all.at[i])[place])(all.at[i], __VA_ARGS__);                          \
    } while (0)

/* Dbg::PostThreadStart and PostThreadDeath without a debugger. Before level 26 threads call them; later a callback
 * does. */
__attribute__((noinline)) void fake_post_thread_start(struct fake_thread *self)
{
    FAKE_CHECK(self);
}

__attribute__((noinline)) void fake_post_thread_death(struct fake_thread *self)
{
    FAKE_CHECK(self);
}

void fake_notify_thread_start(struct fake_thread *self)
{
    if (fake_level < 26)
        fake_post_thread_start(self);
    NOTIFY(thread, THREAD_START, (void *, struct fake_thread *), self);
}

void fake_notify_thread_death(struct fake_thread *self)
{
    if (fake_level < 26)
        fake_post_thread_death(self);
    NOTIFY(thread, THREAD_DEATH, (void *, struct fake_thread *), self);
}

void fake_notify_locking(struct fake_monitor *m)
{
    NOTIFY(monitor, MONITOR_LOCKING, (void *, struct fake_monitor *), m);
}

void fake_notify_locked(struct fake_monitor *m)
{
    NOTIFY(monitor, MONITOR_LOCKED, (void *, struct fake_monitor *), m);
}

void fake_notify_wait_start(fake_ref *object, int64_t ms)
{
    NOTIFY(monitor, MONITOR_WAIT_START, (void *, fake_ref *, int64_t), object, ms);
}

void fake_notify_wait_finished(struct fake_monitor *m, bool timed_out)
{
    NOTIFY(monitor, MONITOR_WAIT_FINISHED, (void *, struct fake_monitor *, bool), m, timed_out);
}

void fake_notify_park_start(bool is_absolute, int64_t time)
{
    NOTIFY(park, PARK_START, (void *, bool, int64_t), is_absolute, time);
}

void fake_notify_park_finished(bool timed_out)
{
    NOTIFY(park, PARK_FINISHED, (void *, bool), timed_out);
}
