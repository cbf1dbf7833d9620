/* Waits in a session: threads wait in Java's monitors, and the session must have the waits, their durations and their
 * wakers. */
#include "tests/contract_art/support/stage.h"

#include <string.h>
#include <time.h>

/* ---- monitors ---- */

static void hold_for_a_while(struct strobe_jni *env, struct stage *s)
{
    java_enter(env, s->lock);
    s->cue = 1;
    stage_await(s, 2);
    stage_pause(STAGE_PAUSE_MS);
    java_exit(env, s->lock);
}

static uint64_t last_exit_ticks; /* a time before the last of three exits, and after the others */

/* The engine's ticks on Android are nanoseconds of the monotonic clock. */
static uint64_t now_ticks(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void hold_three_times(struct strobe_jni *env, struct stage *s)
{
    for (int i = 0; i < 3; i++)
        java_enter(env, s->lock);
    s->cue = 1;
    stage_await(s, 2);
    for (int i = 0; i < 3; i++) {
        stage_pause(STAGE_PAUSE_MS);
        last_exit_ticks = now_ticks();
        java_exit(env, s->lock);
    }
}

static void enter_once(struct strobe_jni *env, struct stage *s)
{
    stage_await(s, 1);
    s->cue = 2;
    java_enter(env, s->lock);
    java_exit(env, s->lock);
}

static void who_leaves_a_monitor_is_the_waker_of_who_enters_it(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "holder", hold_for_a_while);
    stage_enters(&s, "waiter", enter_once);
    stage_closes(&s);
    stage_expect_waker(&s, "waiter", STROBE_KIND_MONITOR, "holder");
    CHECK(c,
          !strcmp(capture_frame(&s.k, stage_look(&s, "waiter", STROBE_KIND_MONITOR).scope.stack, 1),
                  "void Main.deep(int)"),
          "a stack of the wait");
    capture_drop(&s.k);
}

static void the_last_of_three_exits_is_the_one_that_wakes(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "holder", hold_three_times);
    stage_enters(&s, "waiter", enter_once);
    stage_closes(&s);
    stage_expect_waker(&s, "waiter", STROBE_KIND_MONITOR, "holder");
    struct stage_found f = stage_look(&s, "waiter", STROBE_KIND_MONITOR);
    CHECK(c, f.wake.ticks >= last_exit_ticks, "a release %llu ns before the last exit",
          (unsigned long long)(last_exit_ticks - f.wake.ticks));
    capture_drop(&s.k);
}

static void hold_next(struct strobe_jni *env, struct stage *s)
{
    stage_await(s, 1);
    s->cue = 2;
    java_enter(env, s->lock);
    s->cue = 3;
    stage_pause(2 * STAGE_PAUSE_MS);
    java_exit(env, s->lock);
}

static void enter_last(struct strobe_jni *env, struct stage *s)
{
    stage_await(s, 3);
    java_enter(env, s->lock);
    java_exit(env, s->lock);
}

static void of_a_chain_of_holders_each_is_the_waker_of_the_next(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "first", hold_for_a_while);
    stage_enters(&s, "second", hold_next);
    stage_enters(&s, "third", enter_last);
    stage_closes(&s);
    stage_expect_waker(&s, "third", STROBE_KIND_MONITOR, "second");
    capture_drop(&s.k);
}

/* ---- waits ---- */

static void wait_for_notify(struct strobe_jni *env, struct stage *s)
{
    java_enter(env, s->lock);
    s->cue++;
    java_wait(env, s->lock, 0);
    java_exit(env, s->lock);
}

static void notify_once(struct strobe_jni *env, struct stage *s)
{
    stage_await(s, 1);
    stage_pause(STAGE_PAUSE_MS);
    java_enter(env, s->lock);
    java_notify(env, s->lock, false);
    java_exit(env, s->lock);
}

static void notify_and_hold(struct strobe_jni *env, struct stage *s)
{
    stage_await(s, 1);
    stage_pause(STAGE_PAUSE_MS);
    java_enter(env, s->lock);
    java_notify(env, s->lock, true);
    java_exit(env, s->lock); /* this wakes the waiter */
    java_enter(env, s->lock);
    stage_pause(STAGE_PATIENCE_MS);
    java_exit(env, s->lock);
}

static void who_notifies_is_the_waker_of_who_waits(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "waiter", wait_for_notify);
    stage_enters(&s, "notifier", notify_once);
    stage_closes(&s);
    stage_expect_waker(&s, "waiter", STROBE_KIND_COND, "notifier");
    capture_drop(&s.k);
}

static void wait_with_patience(struct strobe_jni *env, struct stage *s)
{
    java_enter(env, s->lock);
    s->cue++;
    java_wait(env, s->lock, STAGE_PATIENCE_MS);
    java_exit(env, s->lock);
}

/* The waiter is notified in time, but the monitor is free only long after the timeout. */
static void a_wait_that_was_notified_in_time_has_its_waker_however_long_the_monitor_is_held(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "waiter", wait_with_patience);
    stage_enters(&s, "notifier", notify_and_hold);
    stage_closes(&s);
    stage_expect_waker(&s, "waiter", STROBE_KIND_COND, "notifier");
    capture_drop(&s.k);
}

static void a_wait_that_timed_out_has_no_waker(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "waiter", wait_with_patience);
    stage_closes(&s);
    stage_expect_nobody(&s, "waiter", STROBE_KIND_COND);
    capture_drop(&s.k);
}

static void wait_to_be_interrupted(struct strobe_jni *env, struct stage *s)
{
    wait_for_notify(env, s);
    CHECK(s->c, java_thrown(env, "java/lang/InterruptedException"), "the interrupt");
}

static void a_wait_that_was_interrupted_has_no_waker(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    struct stage_actor *waiter = stage_enters(&s, "waiter", wait_to_be_interrupted);
    stage_await(&s, 1);
    stage_pause(STAGE_PAUSE_MS);
    java_virtual(c->art.env, waiter->thread.peer, "interrupt0", "()V", NULL);
    stage_closes(&s);
    stage_expect_nobody(&s, "waiter", STROBE_KIND_COND);
    capture_drop(&s.k);
}

static void notify_second(struct strobe_jni *env, struct stage *s)
{
    stage_await(s, 2);
    stage_pause(3 * STAGE_PAUSE_MS);
    java_enter(env, s->lock);
    java_notify(env, s->lock, false);
    java_exit(env, s->lock);
}

static void notify_first(struct strobe_jni *env, struct stage *s)
{
    stage_await(s, 2);
    notify_once(env, s);
}

/* The runtime wakes the thread that has waited longest. */
static void of_two_waiters_each_has_the_notifier_that_woke_it(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "waiter1", wait_for_notify);
    stage_await(&s, 1);
    stage_pause(5);
    stage_enters(&s, "waiter2", wait_for_notify);
    stage_enters(&s, "notifier1", notify_first);
    stage_enters(&s, "notifier2", notify_second);
    stage_closes(&s);
    stage_expect_waker(&s, "waiter1", STROBE_KIND_COND, "notifier1");
    stage_expect_waker(&s, "waiter2", STROBE_KIND_COND, "notifier2");
    capture_drop(&s.k);
}

static void notify_all(struct strobe_jni *env, struct stage *s)
{
    stage_await(s, 2);
    stage_pause(STAGE_PAUSE_MS);
    java_enter(env, s->lock);
    java_notify(env, s->lock, true);
    java_exit(env, s->lock);
}

static void who_notifies_all_is_the_waker_of_all(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "waiter1", wait_for_notify);
    stage_enters(&s, "waiter2", wait_for_notify);
    stage_enters(&s, "notifier", notify_all);
    stage_closes(&s);
    stage_expect_waker(&s, "waiter1", STROBE_KIND_COND, "notifier");
    stage_expect_waker(&s, "waiter2", STROBE_KIND_COND, "notifier");
    capture_drop(&s.k);
}

/* The hook returns during another capture than the one in which it was called. */
static void a_wait_that_outlasts_its_capture_is_no_event_of_the_next(struct contract *c)
{
    struct stage s;
    struct strobe_config config;
    struct strobe_jni *env = c->art.env;
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "waiter", wait_for_notify);
    stage_await(&s, 1);
    stage_pause(STAGE_PAUSE_MS);
    capture_end(&s.k);
    capture_drop(&s.k);
    capture_config(&config);
    if (!capture_begin(c, &config, &s.k))
        return;
    java_enter(env, s.lock);
    java_notify(env, s.lock, true);
    java_exit(env, s.lock);
    stage_closes(&s);
    CHECK(c, capture_requests(&s.k, STROBE_KIND_COND) == 0, "%llu waits",
          (unsigned long long)capture_requests(&s.k, STROBE_KIND_COND));
    capture_drop(&s.k);
}

/* ---- sleeps ---- */

/* Sleeps as Thread.sleep(long) does, with its own lock. */
static void sleep_for_100_ms(struct strobe_jni *env, struct stage *s)
{
    java_enter(env, s->other);
    java_static(env, "java/lang/Thread", "sleep", "(Ljava/lang/Object;JI)V",
                (union strobe_jvalue[]){{.l = s->other}, {.j = 100}, {.i = 0}});
    java_exit(env, s->other);
}

static void count_scope(void *ctx, const struct strobe_record *r)
{
    struct stage_found *f = ctx;
    f->scopes += r->thread == f->thread && r->kind == f->kind;
}

static void a_sleep_is_no_wait_and_has_no_waker(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "sleeper", sleep_for_100_ms);
    stage_closes(&s);
    struct stage_found slept = stage_look(&s, "sleeper", STROBE_KIND_SLEEP);
    struct stage_found waited = {.s = &s, .thread = slept.thread, .kind = STROBE_KIND_COND};
    capture_visit(&s.k, count_scope, &waited);
    CHECK(c, slept.scopes == 1 && slept.wakes == 0, "%d sleeps, %d wakes", slept.scopes, slept.wakes);
    CHECK(c, waited.scopes == 0, "%d waits", waited.scopes);
    capture_drop(&s.k);
}

/* ---- parks ---- */

static void park(struct strobe_jni *env, int64_t ns)
{
    strobe_jobject unsafe = java_new(env, "sun/misc/Unsafe");
    java_virtual(env, unsafe, "park", "(ZJ)V", (union strobe_jvalue[]){{.z = 0}, {.j = ns}});
}

static void park_for_ever(struct strobe_jni *env, struct stage *s)
{
    s->cue = 1;
    park(env, 0);
}

static void park_for_50_ms(struct strobe_jni *env, struct stage *s)
{
    (void)s;
    park(env, 50 * 1000 * 1000);
}

static void unpark(struct strobe_jni *env, struct stage *s)
{
    stage_await(s, 1);
    stage_pause(STAGE_PAUSE_MS);
    strobe_jobject unsafe = java_new(env, "sun/misc/Unsafe");
    java_virtual(env, unsafe, "unpark", "(Ljava/lang/Object;)V",
                 (union strobe_jvalue[]){{.l = s->actor[0].thread.peer}});
}

static void who_unparks_is_the_waker_of_who_parks(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "parker", park_for_ever);
    stage_enters(&s, "unparker", unpark);
    stage_closes(&s);
    stage_expect_waker(&s, "parker", STROBE_KIND_PARK, "unparker");
    capture_drop(&s.k);
}

static void a_park_that_timed_out_has_no_waker(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "parker", park_for_50_ms);
    stage_closes(&s);
    stage_expect_nobody(&s, "parker", STROBE_KIND_PARK);
    capture_drop(&s.k);
}

/* ---- collections ---- */

enum { COLLECTIONS = 30, COLLECTION = 2 }; /* COLLECTION: the engine's identity for a wait for a collection */

static void collect(struct strobe_jni *env, struct stage *s)
{
    (void)env;
    for (int i = 0; i < COLLECTIONS; i++)
        contract_collect(s->c);
}

struct collected {
    const struct stage *s;
    int scopes, woken, by_itself;
};

static void count_collections(void *ctx, const struct strobe_record *r)
{
    struct collected *n = ctx;
    n->scopes += r->kind == STROBE_KIND_GC;
    if (r->kind != STROBE_KIND_WAKE || r->arg != COLLECTION || !r->cpu_span_ns)
        return;
    n->woken++;
    n->by_itself += r->cpu_span_ns == r->thread + 1;
}

static void who_collects_is_the_waker_of_those_who_wait_for_that(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "collector1", collect);
    stage_enters(&s, "collector2", collect);
    stage_enters(&s, "collector3", collect);
    stage_closes(&s);
    struct collected n = {.s = &s};
    capture_visit(&s.k, count_collections, &n);
    CHECK(c, n.scopes >= 3 * COLLECTIONS, "%d scopes of collections", n.scopes);
    CHECK(c, n.by_itself == 0, "%d woken by themselves", n.by_itself);
    CHECK(c, n.woken > 0 || !c->libart.address[STROBE_ART_GC_FINISH], "%d waits with a waker", n.woken);
    capture_drop(&s.k);
}

const struct contract_case contract_cases_waits[] = {
    {"who_leaves_a_monitor_is_the_waker_of_who_enters_it", who_leaves_a_monitor_is_the_waker_of_who_enters_it, 0},
    {"the_last_of_three_exits_is_the_one_that_wakes", the_last_of_three_exits_is_the_one_that_wakes, 0},
    {"of_a_chain_of_holders_each_is_the_waker_of_the_next", of_a_chain_of_holders_each_is_the_waker_of_the_next, 0},
    {"who_notifies_is_the_waker_of_who_waits", who_notifies_is_the_waker_of_who_waits, 0},
    {"a_wait_that_was_notified_in_time_has_its_waker_however_long_the_monitor_is_held",
     a_wait_that_was_notified_in_time_has_its_waker_however_long_the_monitor_is_held, 0},
    {"a_wait_that_timed_out_has_no_waker", a_wait_that_timed_out_has_no_waker, 0},
    {"a_wait_that_was_interrupted_has_no_waker", a_wait_that_was_interrupted_has_no_waker, 0},
    {"of_two_waiters_each_has_the_notifier_that_woke_it", of_two_waiters_each_has_the_notifier_that_woke_it, 0},
    {"who_notifies_all_is_the_waker_of_all", who_notifies_all_is_the_waker_of_all, 0},
    {"a_wait_that_outlasts_its_capture_is_no_event_of_the_next",
     a_wait_that_outlasts_its_capture_is_no_event_of_the_next, 0},
    {"a_sleep_is_no_wait_and_has_no_waker", a_sleep_is_no_wait_and_has_no_waker, 0},
    {"who_unparks_is_the_waker_of_who_parks", who_unparks_is_the_waker_of_who_parks, 0},
    {"a_park_that_timed_out_has_no_waker", a_park_that_timed_out_has_no_waker, 0},
    {"who_collects_is_the_waker_of_those_who_wait_for_that", who_collects_is_the_waker_of_those_who_wait_for_that, 0},
    {0},
};
