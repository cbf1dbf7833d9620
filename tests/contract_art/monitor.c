#include "tests/contract_art/support/contract.h"
#include "tests/contract_art/support/java.h"

#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define ILLEGAL     "java/lang/IllegalMonitorStateException"
#define INTERRUPTED "java/lang/InterruptedException"

enum { WAITERS = 4, ENTRIES = 20000 };

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* State that the threads of a case share. */
struct scene {
    struct contract *c;
    strobe_jobject lock;
    int64_t ms; /* timeout of a wait */
    _Atomic int at, woken, order[WAITERS];
    _Atomic bool go;
    int count; /* guarded by lock */
    bool thrown, held;
};

struct actor {
    struct scene *s;
    int index;
    struct java_thread thread;
};

static struct scene scene_of(struct contract *c)
{
    return (struct scene){.c = c, .lock = java_new(c->art.env, "java/lang/Object")};
}

/* ---- entering ---- */

static void a_monitor_is_entered_as_often_as_it_is_left(struct contract *c)
{
    struct strobe_jni *env = c->art.env;
    strobe_jobject o = java_new(env, "java/lang/Object");
    for (int i = 0; i < 1000; i++)
        java_enter(env, o);
    for (int i = 0; i < 1000; i++) {
        if (!CHECK(c, java_holds(env, o), "entry %d of 1000 left", i))
            return;
        java_exit(env, o);
    }
    CHECK(c, !java_holds(env, o), "it is held after as many exits");
}

static void leaves_what_it_did_not_enter(struct strobe_jni *env, void *arg)
{
    struct scene *s = arg;
    CHECK(s->c, !java_holds(env, s->lock), "a thread that never entered");
    java_exit(env, s->lock);
    s->thrown = java_thrown(env, ILLEGAL);
    java_notify(env, s->lock, false);
    s->thrown &= java_thrown(env, ILLEGAL);
    java_notify(env, s->lock, true);
    s->thrown &= java_thrown(env, ILLEGAL);
    java_wait(env, s->lock, 1);
    s->thrown &= java_thrown(env, ILLEGAL);
}

static void who_has_not_entered_can_neither_leave_nor_wait_nor_notify(struct contract *c)
{
    struct scene s = scene_of(c);
    struct java_thread t;
    leaves_what_it_did_not_enter(c->art.env, &s);
    CHECK(c, s.thrown, "of nobody's: no %s", ILLEGAL);
    java_enter(c->art.env, s.lock);
    java_thread_start(&t, c->art.vm, leaves_what_it_did_not_enter, &s);
    java_thread_join(&t);
    CHECK(c, s.thrown, "of another's: no %s", ILLEGAL);
    java_wait(c->art.env, s.lock, 1); /* inflates it */
    java_thread_start(&t, c->art.vm, leaves_what_it_did_not_enter, &s);
    java_thread_join(&t);
    CHECK(c, s.thrown, "of another's monitor: no %s", ILLEGAL);
    java_exit(c->art.env, s.lock);
    CHECK(c, !java_holds(c->art.env, s.lock), "held after all");
}

static void counts_inside(struct strobe_jni *env, void *arg)
{
    struct scene *s = arg;
    for (int i = 0; i < ENTRIES; i++) {
        java_enter(env, s->lock);
        s->count++;
        java_exit(env, s->lock);
    }
}

static void a_monitor_lets_one_in_at_a_time(struct contract *c)
{
    struct scene s = scene_of(c);
    struct java_thread t[WAITERS];
    for (int i = 0; i < WAITERS; i++)
        java_thread_start(&t[i], c->art.vm, counts_inside, &s);
    for (int i = 0; i < WAITERS; i++)
        java_thread_join(&t[i]);
    CHECK(c, s.count == WAITERS * ENTRIES, "%d of %d counts", s.count, WAITERS * ENTRIES);
}

static void enters_when_it_can(struct strobe_jni *env, void *arg)
{
    struct scene *s = arg;
    java_enter(env, s->lock);
    s->at = s->go ? 1 : -1;
    s->held = java_holds(env, s->lock);
    java_exit(env, s->lock);
}

static void who_finds_a_monitor_taken_sleeps_until_it_is_left(struct contract *c)
{
    struct scene s = scene_of(c);
    struct java_thread t;
    for (int round = 0; round < 3; round++) { /* thin, then fat */
        s.at = 0;
        s.go = false;
        java_enter(c->art.env, s.lock);
        java_enter(c->art.env, s.lock);
        java_thread_start(&t, c->art.vm, enters_when_it_can, &s);
        java_thread_asleep(&t);
        java_exit(c->art.env, s.lock);
        usleep(5000);
        CHECK(c, s.at == 0, "round %d: it came in while the monitor was entered once more", round);
        s.go = true;
        java_exit(c->art.env, s.lock);
        java_thread_join(&t);
        CHECK(c, s.at == 1 && s.held, "round %d: at %d, held %d", round, s.at, s.held);
    }
}

/* ---- waiting ---- */

static void waits(struct strobe_jni *env, void *arg)
{
    struct actor *a = arg;
    struct scene *s = a->s;
    java_enter(env, s->lock);
    s->at++;
    java_wait(env, s->lock, s->ms);
    s->thrown |= java_thrown(env, INTERRUPTED);
    s->held = java_holds(env, s->lock);
    s->order[s->woken++] = a->index;
    java_exit(env, s->lock);
}

/* Starts `count` threads that wait, and returns when all are in the wait set, in the order of their indexes. */
static void wait_all(struct scene *s, struct actor *a, int count)
{
    for (int i = 0; i < count; i++) {
        a[i] = (struct actor){.s = s, .index = i};
        java_thread_start(&a[i].thread, s->c->art.vm, waits, &a[i]);
        while (s->at <= i)
            usleep(500);
        java_enter(s->c->art.env, s->lock); /* succeeds only after the thread has released the monitor by its wait */
        java_exit(s->c->art.env, s->lock);
    }
}

static void notify_wakes_one_and_the_longest_waiting_first(struct contract *c)
{
    struct scene s = scene_of(c);
    struct actor a[WAITERS];
    wait_all(&s, a, WAITERS);
    for (int i = 0; i < WAITERS; i++) {
        java_enter(c->art.env, s.lock);
        java_notify(c->art.env, s.lock, false);
        usleep(2000);
        CHECK(c, s.woken == i, "%d awake while the notifier holds the monitor, after %d", s.woken, i);
        java_exit(c->art.env, s.lock);
        java_thread_join(&a[i].thread);
        usleep(2000);
        CHECK(c, s.woken == i + 1 && s.order[i] == i, "%d awake after %d notifications, last %d", s.woken, i + 1,
              s.order[i]);
    }
}

/* A thread whose wait has timed out is still in the wait set while it waits to enter the monitor again. Until Android 9
 * a notification skips such a thread. */
static void a_notification_that_meets_one_whose_time_is_up_is_lost_since_10(struct contract *c)
{
    enum { WAKES_LATE_SINCE = 29 };
    struct scene s = scene_of(c);
    struct actor a[2];
    int expected = c->art.api < WAKES_LATE_SINCE ? 2 : 1;
    s.ms = 400;
    wait_all(&s, a, 1);
    s.ms = 0;
    a[1] = (struct actor){.s = &s, .index = 1};
    java_thread_start(&a[1].thread, c->art.vm, waits, &a[1]);
    while (s.at < 2)
        usleep(500);
    java_enter(c->art.env, s.lock);
    usleep(500000);
    java_notify(c->art.env, s.lock, false);
    java_exit(c->art.env, s.lock);
    java_thread_join(&a[0].thread);
    for (int i = 0; i < 100 && s.woken < expected; i++)
        usleep(10000);
    usleep(20000);
    CHECK(c, s.woken == expected, "%d awake, expected %d", s.woken, expected);
    java_enter(c->art.env, s.lock);
    java_notify(c->art.env, s.lock, true);
    java_exit(c->art.env, s.lock);
    java_thread_join(&a[1].thread);
}

static void notify_all_wakes_all_that_wait(struct contract *c)
{
    struct scene s = scene_of(c);
    struct actor a[WAITERS];
    wait_all(&s, a, WAITERS);
    java_enter(c->art.env, s.lock);
    java_notify(c->art.env, s.lock, true);
    usleep(5000);
    CHECK(c, s.woken == 0, "%d awake while the notifier holds the monitor", s.woken);
    java_exit(c->art.env, s.lock);
    for (int i = 0; i < WAITERS; i++)
        java_thread_join(&a[i].thread);
    CHECK(c, s.woken == WAITERS && s.held, "%d awake", s.woken);
}

static void a_notification_of_nobody_is_not_kept(struct contract *c)
{
    struct strobe_jni *env = c->art.env;
    strobe_jobject o = java_new(env, "java/lang/Object");
    java_enter(env, o);
    java_notify(env, o, false);
    java_notify(env, o, true);
    int64_t begin = now_ms();
    java_wait(env, o, 50);
    CHECK(c, now_ms() - begin >= 50, "the wait lasted %d ms", (int)(now_ms() - begin));
    java_exit(env, o);
}

static void a_timed_wait_lasts_its_time_and_keeps_its_entries(struct contract *c)
{
    struct strobe_jni *env = c->art.env;
    strobe_jobject o = java_new(env, "java/lang/Object");
    for (int i = 0; i < 3; i++)
        java_enter(env, o);
    int64_t begin = now_ms();
    java_wait(env, o, 100);
    int64_t lasted = now_ms() - begin;
    CHECK(c, lasted >= 100 && lasted < 5000, "the wait lasted %d ms", (int)lasted);
    for (int i = 0; i < 3; i++) {
        CHECK(c, java_holds(env, o), "entry %d is lost", i);
        java_exit(env, o);
    }
    CHECK(c, !java_holds(env, o), "more entries than there were");
}

static void a_wait_of_a_negative_time_is_refused(struct contract *c)
{
    strobe_jobject o = java_new(c->art.env, "java/lang/Object");
    java_enter(c->art.env, o);
    java_virtual(c->art.env, o, "wait", "(JI)V", (union strobe_jvalue[]){{.j = -1}, {.i = 0}});
    CHECK(c, java_thrown(c->art.env, "java/lang/IllegalArgumentException"), "-1 ms");
    java_virtual(c->art.env, o, "wait", "(JI)V", (union strobe_jvalue[]){{.j = 1}, {.i = 1000000}});
    CHECK(c, java_thrown(c->art.env, "java/lang/IllegalArgumentException"), "1000000 ns");
    CHECK(c, java_holds(c->art.env, o), "it is no longer held");
}

static void interrupt(struct contract *c, const struct java_thread *t)
{
    java_virtual(c->art.env, t->peer, "interrupt0", "()V", NULL);
}

static void an_interrupted_wait_throws_with_the_monitor_held(struct contract *c)
{
    struct scene s = scene_of(c);
    struct actor a[2];
    wait_all(&s, a, 2);
    interrupt(c, &a[1].thread);
    java_thread_join(&a[1].thread);
    CHECK(c, s.thrown && s.held && s.woken == 1 && s.order[0] == 1, "thrown %d held %d woken %d", s.thrown, s.held,
          s.woken);
    s.thrown = false;
    java_enter(c->art.env, s.lock);
    java_notify(c->art.env, s.lock, false);
    java_exit(c->art.env, s.lock);
    java_thread_join(&a[0].thread);
    CHECK(c, !s.thrown && s.woken == 2, "the other's notification is lost, or an interruption: %d", s.thrown);
}

static void waits_interrupted_before(struct strobe_jni *env, void *arg)
{
    struct scene *s = arg;
    while (!s->go)
        usleep(500);
    java_enter(env, s->lock);
    java_wait(env, s->lock, 0);
    s->thrown = java_thrown(env, INTERRUPTED);
    s->at = java_static(env, "java/lang/Thread", "interrupted", "()Z", NULL).i;
    java_exit(env, s->lock);
}

static void a_thread_interrupted_before_does_not_wait(struct contract *c)
{
    struct scene s = scene_of(c);
    struct java_thread t;
    java_thread_start(&t, c->art.vm, waits_interrupted_before, &s);
    interrupt(c, &t);
    s.go = true;
    java_thread_join(&t);
    CHECK(c, s.thrown && s.at == 0, "thrown %d, still interrupted %d", s.thrown, s.at);
}

/* ---- callbacks ---- */

enum { LOCKING = 1, LOCKED, WAIT_START, WAIT_FINISHED, TIMED_OUT };

/* A MonitorCallback: the events of one thread, in order. */
struct listener {
    void *const *vtable;
    _Atomic int tid, count, events[16];
    void *_Atomic monitor;
};

static void record_event(struct listener *l, int what, void *monitor)
{
    if (gettid() != l->tid || l->count >= 16)
        return;
    l->events[l->count++] = what;
    if (monitor)
        l->monitor = monitor;
}

static void on_locking(struct listener *l, void *monitor)
{
    record_event(l, LOCKING, monitor);
}
static void on_locked(struct listener *l, void *monitor)
{
    record_event(l, monitor == l->monitor ? LOCKED : -1, NULL);
}

static void on_wait_start(struct listener *l, void *object, int64_t ms)
{
    record_event(l, object && ms >= 0 ? WAIT_START : -1, NULL);
}

static void on_wait_finished(struct listener *l, void *monitor, bool timed_out)
{
    record_event(l, timed_out ? TIMED_OUT : WAIT_FINISHED, monitor);
}

static void on_destroy(struct listener *l)
{
    (void)l;
}

static void *const listener_calls[] = {(void *)on_locking,       (void *)on_locked,  (void *)on_wait_start,
                                       (void *)on_wait_finished, (void *)on_destroy, (void *)on_destroy};

static void call_callbacks(struct contract *c, enum strobe_art_symbol what, struct listener *l)
{
    void *runtime = *(void **)(uintptr_t)c->libart.address[STROBE_ART_RUNTIME_INSTANCE];
    void *callbacks = ((void *(*)(void *))(uintptr_t)c->libart.address[STROBE_ART_CALLBACKS_GET])(runtime);
    ((void (*)(void *, struct listener *))(uintptr_t)c->libart.address[what])(callbacks, l);
}

static bool events_are(const struct listener *l, const int *expected, int count)
{
    bool same = l->count == count;
    for (int i = 0; i < count && same; i++)
        same = l->events[i] == expected[i];
    if (!same)
        for (int i = 0; i < l->count; i++)
            fprintf(stderr, "event %d\n", l->events[i]);
    return same;
}

static void enters_then_waits(struct strobe_jni *env, void *arg)
{
    struct scene *s = arg;
    while (!s->go)
        usleep(500);
    java_enter(env, s->lock);
    s->at = 1;
    java_wait(env, s->lock, 20);
    java_wait(env, s->lock, 0);
    java_exit(env, s->lock);
}

/* A contended entry, a wait that times out, a wait that is notified. */
static void callbacks_report_contention_and_waits_on_the_thread_itself(struct contract *c)
{
    static const int all[] = {LOCKING, LOCKED, WAIT_START, TIMED_OUT, WAIT_START, WAIT_FINISHED};
    struct scene s = scene_of(c);
    struct listener l = {.vtable = listener_calls};
    struct java_thread t;
    if (!c->libart.address[STROBE_ART_ADD_MONITOR_CALLBACK]) {
        CHECK(c, c->art.api < 28, "level %d has no callbacks", c->art.api);
        return;
    }
    call_callbacks(c, STROBE_ART_ADD_MONITOR_CALLBACK, &l);
    java_enter(c->art.env, s.lock);
    java_thread_start(&t, c->art.vm, enters_then_waits, &s);
    l.tid = (int)t.tid;
    s.go = true;
    java_thread_asleep(&t);
    CHECK(c, l.count == 1, "%d events while it waits to enter", l.count);
    java_exit(c->art.env, s.lock);
    while (l.count < 5)
        usleep(500);
    java_enter(c->art.env, s.lock);
    java_notify(c->art.env, s.lock, false);
    java_exit(c->art.env, s.lock);
    java_thread_join(&t);
    CHECK(c, events_are(&l, all, 6), "%d events", l.count);
    call_callbacks(c, STROBE_ART_REMOVE_MONITOR_CALLBACK, &l);
    l.tid = gettid();
    java_enter(c->art.env, s.lock);
    java_wait(c->art.env, s.lock, 1);
    java_exit(c->art.env, s.lock);
    CHECK(c, l.count == 6, "%d events after removal", l.count);
}

static _Thread_local int contentions;

static void on_contention(struct listener *l, void *monitor)
{
    (void)l, (void)monitor;
    contentions++;
}

static long sleeps_so_far(void)
{
    struct rusage u;
    getrusage(RUSAGE_THREAD, &u);
    return u.ru_nvcsw;
}

/* Enters the monitor repeatedly, and counts the entries in which the thread slept without an event. */
static void enters_often(struct strobe_jni *env, void *arg)
{
    struct scene *s = arg;
    int unseen = 0;
    for (int i = 0; i < ENTRIES; i++) {
        int before = contentions;
        long slept = sleeps_so_far();
        java_enter(env, s->lock);
        unseen += sleeps_so_far() != slept && contentions == before;
        java_notify(env, s->lock, false);
        java_exit(env, s->lock);
    }
    s->woken += unseen;
}

static void a_thread_that_sleeps_to_enter_a_monitor_is_reported(struct contract *c)
{
    enum { ENTERING = 4 };
    static void *const calls[] = {(void *)on_contention, (void *)on_destroy, (void *)on_destroy,
                                  (void *)on_destroy,    (void *)on_destroy, (void *)on_destroy};
    struct scene s = scene_of(c);
    struct listener l = {.vtable = calls};
    struct java_thread t[ENTERING];
    if (!c->libart.address[STROBE_ART_ADD_MONITOR_CALLBACK])
        return;
    java_enter(c->art.env, s.lock);
    java_wait(c->art.env, s.lock, 1); /* inflates it */
    java_exit(c->art.env, s.lock);
    call_callbacks(c, STROBE_ART_ADD_MONITOR_CALLBACK, &l);
    for (int i = 0; i < ENTERING; i++)
        java_thread_start(&t[i], c->art.vm, enters_often, &s);
    for (int i = 0; i < ENTERING; i++)
        java_thread_join(&t[i]);
    /* A few entries may sleep for another reason, such as a page fault. */
    CHECK(c, s.woken <= ENTERING * ENTRIES / 1000, "%d of %d entries slept unseen", s.woken, ENTERING * ENTRIES);
}

/* ---- collections ---- */

static int32_t hash_of(struct contract *c, strobe_jobject o)
{
    return java_static(c->art.env, "java/lang/Object", "identityHashCodeNative", "(Ljava/lang/Object;)I",
                       &(union strobe_jvalue){.l = o})
        .i;
}

static void an_objects_identity_outlives_monitors_and_collections(struct contract *c)
{
    struct scene s = scene_of(c);
    strobe_jobject other = java_new(c->art.env, "java/lang/Object");
    struct java_thread t;
    int32_t hash = hash_of(c, s.lock);
    CHECK(c, hash == hash_of(c, s.lock) && hash != 0, "%d, then %d", hash, hash_of(c, s.lock));
    CHECK(c, hash != hash_of(c, other), "two objects have %d", hash);
    for (int round = 0; round < 3; round++) {
        java_enter(c->art.env, s.lock);
        s.go = true;
        java_thread_start(&t, c->art.vm, enters_when_it_can, &s);
        java_thread_asleep(&t);
        CHECK(c, hash == hash_of(c, s.lock), "%d with a monitor", hash_of(c, s.lock));
        java_exit(c->art.env, s.lock);
        java_thread_join(&t);
        contract_collect(c);
        CHECK(c, hash == hash_of(c, s.lock), "%d after a collection", hash_of(c, s.lock));
    }
}

const struct contract_case contract_cases_monitor[] = {
    {"a_monitor_is_entered_as_often_as_it_is_left", a_monitor_is_entered_as_often_as_it_is_left, 0},
    {"who_has_not_entered_can_neither_leave_nor_wait_nor_notify",
     who_has_not_entered_can_neither_leave_nor_wait_nor_notify, 0},
    {"a_monitor_lets_one_in_at_a_time", a_monitor_lets_one_in_at_a_time, 0},
    {"who_finds_a_monitor_taken_sleeps_until_it_is_left", who_finds_a_monitor_taken_sleeps_until_it_is_left, 0},
    {"notify_wakes_one_and_the_longest_waiting_first", notify_wakes_one_and_the_longest_waiting_first, 0},
    {"a_notification_that_meets_one_whose_time_is_up_is_lost_since_10",
     a_notification_that_meets_one_whose_time_is_up_is_lost_since_10, 0},
    {"notify_all_wakes_all_that_wait", notify_all_wakes_all_that_wait, 0},
    {"a_notification_of_nobody_is_not_kept", a_notification_of_nobody_is_not_kept, 0},
    {"a_timed_wait_lasts_its_time_and_keeps_its_entries", a_timed_wait_lasts_its_time_and_keeps_its_entries, 0},
    {"a_wait_of_a_negative_time_is_refused", a_wait_of_a_negative_time_is_refused, 0},
    {"an_interrupted_wait_throws_with_the_monitor_held", an_interrupted_wait_throws_with_the_monitor_held, 0},
    {"a_thread_interrupted_before_does_not_wait", a_thread_interrupted_before_does_not_wait, 0},
    {"an_objects_identity_outlives_monitors_and_collections", an_objects_identity_outlives_monitors_and_collections, 0},
    {"callbacks_report_contention_and_waits_on_the_thread_itself",
     callbacks_report_contention_and_waits_on_the_thread_itself, 0},
    {"a_thread_that_sleeps_to_enter_a_monitor_is_reported", a_thread_that_sleeps_to_enter_a_monitor_is_reported, 0},
    {0},
};
