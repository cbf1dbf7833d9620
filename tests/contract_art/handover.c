/* Monitors with hooked functions: the order of the calls from which the engine finds wakers. */
#include "engine/backend/art/detour/detour.h"
#include "tests/contract_art/support/contract.h"
#include "tests/contract_art/support/java.h"
#include "tests/contract_art/support/workload.h"

#include <stdatomic.h>
#include <unistd.h>

enum { EVENTS = 64 };
enum what { LOCK = 1, LOCKED, AGAIN, AGAIN_DONE, UNLOCK, WAIT, WAITED, NOTIFY };

static struct event {
    _Atomic int what, tid;
    void *_Atomic monitor;
} events[EVENTS];
static _Atomic int event_count;
static void (*real_lock)(void *, void *), (*real_again)(void *, void *), (*real_notify)(void *, void *, bool);
static bool (*real_unlock)(void *, void *);
static void (*real_wait)(void *, void *, int64_t, int32_t, bool, int);

static void note(enum what what, void *monitor)
{
    int i = event_count++;
    if (i >= EVENTS)
        return;
    events[i].tid = gettid();
    events[i].monitor = monitor;
    events[i].what = (int)what;
}

static void on_lock(void *monitor, void *self)
{
    note(LOCK, monitor);
    real_lock(monitor, self);
    note(LOCKED, monitor);
}

static void on_again(void *monitor, void *self)
{
    note(AGAIN, monitor);
    real_again(monitor, self);
    note(AGAIN_DONE, monitor);
}

static bool on_unlock(void *monitor, void *self)
{
    note(UNLOCK, monitor);
    return real_unlock(monitor, self);
}

static void on_wait(void *monitor, void *self, int64_t ms, int32_t ns, bool throws, int why)
{
    note(WAIT, monitor);
    real_wait(monitor, self, ms, ns, throws, why);
    note(WAITED, monitor);
}

/* Hook of the DoNotify function, which takes the object. The functions Notify and NotifyAll of the monitor are inlined
 * into it. */
static void on_notify(void *self, void *object, bool all)
{
    note(NOTIFY, object);
    real_notify(self, object, all);
}

static bool hook(struct contract *c, enum strobe_art_symbol what, void *replacement, void *original)
{
    void *handle;
    uintptr_t target = c->libart.address[what];
    return target && strobe_detours.install(strobe_detours.ctx, (void *)target, replacement, original, &handle) == 0;
}

static bool hook_all(struct contract *c)
{
    bool one_lock = c->libart.address[STROBE_ART_MONITOR_LOCK_FOR_WAIT] == 0;
    bool done = hook(c, STROBE_ART_MONITOR_LOCK, (void *)on_lock, &real_lock) &&
                (one_lock || hook(c, STROBE_ART_MONITOR_LOCK_FOR_WAIT, (void *)on_again, &real_again)) &&
                hook(c, STROBE_ART_MONITOR_UNLOCK, (void *)on_unlock, &real_unlock) &&
                hook(c, STROBE_ART_MONITOR_WAIT, (void *)on_wait, &real_wait) &&
                hook(c, STROBE_ART_MONITOR_DO_NOTIFY, (void *)on_notify, &real_notify);
    return CHECK(c, done, "a function of Monitor is not to be hooked");
}

/* Returns the index of the first event `what` from `from` on, by thread `tid` (0 = any); -1 when there is none. */
static int find(int from, enum what what, int tid)
{
    for (int i = from; i >= 0 && i < event_count && i < EVENTS; i++)
        if (events[i].what == (int)what && (!tid || events[i].tid == tid))
            return i;
    return -1;
}

/* As find, for the lock after a wait. At levels with a single Lock function it finds that one. */
static int find_again(const struct contract *c, int from, bool done, int tid)
{
    bool one_lock = c->libart.address[STROBE_ART_MONITOR_LOCK_FOR_WAIT] == 0;
    return find(from, one_lock ? (done ? LOCKED : LOCK) : done ? AGAIN_DONE : AGAIN, tid);
}

struct scene {
    strobe_jobject lock;
    _Atomic bool go, entered;
};

static void enters(struct strobe_jni *env, void *arg)
{
    struct scene *s = arg;
    while (!s->go)
        usleep(500);
    java_enter(env, s->lock);
    s->entered = true;
    java_exit(env, s->lock);
}

static void who_enters_a_taken_monitor_goes_through_lock_and_is_let_in_by_unlock(struct contract *c)
{
    struct scene s = {.lock = java_new(c->art.env, "java/lang/Object")};
    struct java_thread t;
    if (!hook_all(c))
        return;
    java_enter(c->art.env, s.lock);
    java_thread_start(&t, c->art.vm, enters, &s);
    event_count = 0;
    s.go = true;
    java_thread_asleep(&t);
    int tid = (int)t.tid, lock = find(0, LOCK, tid);
    CHECK(c, lock >= 0 && find(0, LOCKED, tid) < 0, "no Lock under way");
    java_exit(c->art.env, s.lock);
    java_thread_join(&t);
    int unlock = find(0, UNLOCK, gettid()), locked = find(0, LOCKED, tid), left = find(0, UNLOCK, tid);
    CHECK(c, unlock > lock && locked > unlock && left > locked, "Lock %d, Unlock %d, its end %d, its own Unlock %d",
          lock, unlock, locked, left);
    CHECK(c, unlock >= 0 && lock >= 0 && events[lock].monitor == events[unlock].monitor, "two monitors");
}

static void waits(struct strobe_jni *env, void *arg)
{
    struct scene *s = arg;
    while (!s->go)
        usleep(500);
    java_enter(env, s->lock);
    s->entered = true;
    java_wait(env, s->lock, 0);
    java_exit(env, s->lock);
}

/* This includes the case that the monitor is free again before the waiter is awake. */
static void a_wait_is_ended_by_notify_and_takes_its_monitor_again(struct contract *c)
{
    struct scene s = {.lock = java_new(c->art.env, "java/lang/Object")};
    struct java_thread t;
    if (!hook_all(c))
        return;
    for (int all = 0; all < 2; all++) {
        s.go = s.entered = false;
        java_thread_start(&t, c->art.vm, waits, &s);
        event_count = 0;
        s.go = true;
        while (!s.entered)
            usleep(500);
        java_thread_asleep(&t);
        java_enter(c->art.env, s.lock);
        java_notify(c->art.env, s.lock, all);
        java_exit(c->art.env, s.lock);
        java_thread_join(&t);
        int tid = (int)t.tid, wait = find(0, WAIT, tid);
        int notified = find(wait, NOTIFY, gettid());
        int again = find_again(c, notified, false, tid), has = find_again(c, again, true, tid);
        int end = find(has, WAITED, tid);
        CHECK(c, wait >= 0 && notified > wait && again > notified && has > again && end > has,
              "Wait %d, notified %d, Lock %d, its end %d, the wait's %d", wait, notified, again, has, end);
        CHECK(c, end >= 0 && events[again].monitor == events[wait].monitor, "more than one monitor");
    }
}

static void uncontended_entries_of_thin_locks_lock_no_monitor(struct contract *c)
{
    strobe_jobject o = java_new(c->art.env, "java/lang/Object");
    if (!hook_all(c))
        return;
    event_count = 0;
    for (int i = 0; i < 10; i++)
        java_enter(c->art.env, o);
    for (int i = 0; i < 10; i++)
        java_exit(c->art.env, o);
    CHECK(c, event_count == 0, "%d events", event_count);
}

/* ---- all operations at once ---- */

enum { PLAYERS = 4, LOCKS = 3, ROUNDS = 20000 };

struct crowd {
    struct contract *c;
    struct strobe_art_runtime runtime;
    strobe_jobject lock[LOCKS];
    int count[LOCKS]; /* guarded by the lock of the same index */
    _Atomic int playing;
    _Atomic uint32_t id[PLAYERS]; /* thin-lock ids */
};

struct player {
    struct crowd *crowd;
    int index;
    struct java_thread thread;
};

static void plays(struct strobe_jni *env, void *arg)
{
    struct player *p = arg;
    struct crowd *w = p->crowd;
    const char *self = strobe_art_current(&w->c->libart);
    w->id[p->index] = *(const uint32_t *)(const void *)(self + w->runtime.thread_ids_offset);
    for (int i = 0; i < ROUNDS; i++) {
        int at = (i + p->index) % LOCKS;
        java_enter(env, w->lock[at]);
        w->count[at]++;
        if (i % 50 == 0)
            java_wait(env, w->lock[at], 1);
        else if (i % 10 == 0)
            java_notify(env, w->lock[at], i % 20 == 0);
        if (i % 100 == 0)
            java_static(env, "Main", "alloc", "(I)V", &(union strobe_jvalue){.i = 500});
        w->count[at]++;
        java_exit(env, w->lock[at]);
    }
    w->playing--;
}

static void suspend_one(struct crowd *w, int round)
{
    uint32_t id = w->id[round % PLAYERS];
    void *stopped = id ? strobe_art_suspend(&w->c->libart, w->runtime.thread_list, id) : NULL;
    if (stopped)
        strobe_art_resume(&w->c->libart, w->runtime.thread_list, stopped);
}

/* Inflation, deflation, suspension by id, collections and waits at the same time must not deadlock. */
static void monitors_hold_while_threads_are_suspended_and_garbage_is_collected(struct contract *c)
{
    struct crowd w = {.c = c, .runtime = workload_runtime(c), .playing = PLAYERS};
    struct player p[PLAYERS];
    int sum = 0, stops = 0;
    for (int i = 0; i < LOCKS; i++)
        w.lock[i] = java_new(c->art.env, "java/lang/Object");
    for (int i = 0; i < PLAYERS; i++) {
        p[i] = (struct player){.crowd = &w, .index = i};
        java_thread_start(&p[i].thread, c->art.vm, plays, &p[i]);
    }
    for (; w.playing; stops++) {
        suspend_one(&w, stops);
        if (stops % 8 == 0)
            contract_collect(c);
        workload_pause(1); /* without a pause, suspensions would starve the threads even on idle processors */
    }
    for (int i = 0; i < PLAYERS; i++)
        java_thread_join(&p[i].thread);
    for (int i = 0; i < LOCKS; i++)
        sum += w.count[i];
    CHECK(c, sum == 2 * PLAYERS * ROUNDS, "%d of %d counts, %d suspensions", sum, 2 * PLAYERS * ROUNDS, stops);
}

const struct contract_case contract_cases_handover[] = {
    {"who_enters_a_taken_monitor_goes_through_lock_and_is_let_in_by_unlock",
     who_enters_a_taken_monitor_goes_through_lock_and_is_let_in_by_unlock, 0},
    {"a_wait_is_ended_by_notify_and_takes_its_monitor_again", a_wait_is_ended_by_notify_and_takes_its_monitor_again, 0},
    {"monitors_hold_while_threads_are_suspended_and_garbage_is_collected",
     monitors_hold_while_threads_are_suspended_and_garbage_is_collected, CONTRACT_HEAVY},
    {"uncontended_entries_of_thin_locks_lock_no_monitor", uncontended_entries_of_thin_locks_lock_no_monitor, 0},
    {0},
};
