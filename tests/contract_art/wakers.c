/* Wakers in cases where a release could be mistaken for another thread's (properties S-70 to S-77). waits.c has the
 * plain cases of S-70, S-71, S-75 and S-77, which do not involve the main thread. */
#include "tests/contract_art/support/stage.h"
#include "tests/contract_art/support/workload.h"

#include <stdatomic.h>
#include <string.h>

enum { ROUNDS = 4, HURRIES = 200 };

/* ---- a lock that was thin: its first waiter makes it fat (A-17) ---- */

static strobe_jobject thin;

static void hold_thin(struct strobe_jni *env, struct stage *s)
{
    thin = java_new(env, "java/lang/Object");
    java_enter(env, thin);
    s->cue = 1;
    stage_await(s, 2);
    java_thread_asleep(&s->actor[1].thread); /* the waiter yields its processor several times before it waits */
    stage_pause(STAGE_PAUSE_MS);
    java_exit(env, thin);
}

static void enter_thin(struct strobe_jni *env, struct stage *s)
{
    stage_await(s, 1);
    s->cue = 2;
    java_enter(env, thin);
    java_exit(env, thin);
}

static void who_held_a_thin_lock_is_the_waker_of_who_made_it_fat(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "holder", hold_thin);
    stage_enters(&s, "waiter", enter_thin);
    stage_closes(&s);
    stage_expect_waker(&s, "waiter", STROBE_KIND_MONITOR, "holder");
    capture_drop(&s.k);
}

/* ---- S-72: monitors are freed with their objects, and their memory is reused ---- */

/* Two threads take turns: one holds the monitor of a new object, and the other one waits to enter it. */
static strobe_jobject passing;

static void take_turns(struct strobe_jni *env, struct stage *s, int me)
{
    for (int i = 0, cue = 0; i < ROUNDS; i++, cue += 3) {
        stage_await(s, cue);
        if (i % 2 == me) {
            passing = java_new(env, "java/lang/Object");
            java_enter(env, passing);
            java_wait(env, passing, 1); /* makes the monitor fat */
            s->cue = cue + 1;
            stage_await(s, cue + 2);
            stage_pause(STAGE_PAUSE_MS);
            java_exit(env, passing);
        } else {
            stage_await(s, cue + 1);
            s->cue = cue + 2;
            java_enter(env, passing);
            java_exit(env, passing);
            java_drop(env, passing);
            contract_collect(s->c);
            s->cue = cue + 3;
        }
    }
}

static void turns_first(struct strobe_jni *env, struct stage *s)
{
    take_turns(env, s, 0);
}

static void turns_second(struct strobe_jni *env, struct stage *s)
{
    take_turns(env, s, 1);
    strobe_jobject last = java_new(env, "java/lang/Object");
    java_enter(env, last);
    java_wait(env, last, STAGE_PAUSE_MS);
    java_exit(env, last);
}

struct turns {
    const struct stage *s;
    uint32_t first, second;
    int right, wrong;
};

static void look_at_turn(void *ctx, const struct strobe_record *r)
{
    struct turns *t = ctx;
    if (r->kind != STROBE_KIND_WAKE || !r->cpu_span_ns || (r->thread != t->first && r->thread != t->second))
        return;
    bool right = r->cpu_span_ns == (r->thread == t->first ? t->second : t->first) + 1;
    t->right += right;
    t->wrong += !right;
}

static void a_monitor_where_another_was_has_its_own_wakers(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "first", turns_first);
    stage_enters(&s, "second", turns_second);
    stage_closes(&s);
    struct turns t = {.s = &s, .first = capture_thread(&s.k, "first"), .second = capture_thread(&s.k, "second")};
    capture_visit(&s.k, look_at_turn, &t);
    CHECK(c, t.right >= ROUNDS && t.wrong == 0, "%d wakers are the other, %d are not", t.right, t.wrong);
    stage_expect_nobody(&s, "second", STROBE_KIND_COND);
    capture_drop(&s.k);
}

/* ---- S-73: releases at every time during a wait ---- */

static void hurry(struct strobe_jni *env, struct stage *s)
{
    s->cue++;
    stage_await(s, 3);
    java_static(env, "Main", "contend", "(I)V", &(union strobe_jvalue){.i = HURRIES});
}

struct hurried {
    const struct stage *s;
    int wakes, odd;
};

static void look_at_hurry(void *ctx, const struct strobe_record *r)
{
    struct hurried *h = ctx;
    if (r->kind != STROBE_KIND_WAKE || !r->cpu_span_ns)
        return;
    uint32_t waker = r->cpu_span_ns - 1;
    const char *name = waker < strobe_session_thread_count(&h->s->k.session) ? h->s->k.session.threads[waker].name : "";
    h->wakes++;
    h->odd += waker == r->thread || strncmp(name, "hurry", 5) != 0;
}

static void no_waker_is_one_that_could_not_have_been(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "hurry1", hurry);
    stage_enters(&s, "hurry2", hurry);
    stage_enters(&s, "hurry3", hurry);
    stage_closes(&s);
    struct hurried h = {.s = &s};
    capture_visit(&s.k, look_at_hurry, &h);
    CHECK(c, h.odd == 0, "%d of %d wakers do not contend, or waited", h.odd, h.wakes);
    capture_drop(&s.k);
}

/* ---- S-74: a wait within a wait ---- */

/* Waits. The wait times out while another thread holds the monitor. */
static void wait_for_a_moment(struct strobe_jni *env, struct stage *s)
{
    java_enter(env, s->lock);
    s->cue = 1;
    java_wait(env, s->lock, STAGE_PATIENCE_MS);
    java_exit(env, s->lock);
}

static void hold_meanwhile(struct strobe_jni *env, struct stage *s)
{
    stage_await(s, 1);
    java_enter(env, s->lock);
    stage_await_wait(s, "waiter", STROBE_KIND_MONITOR);
    stage_pause(STAGE_PAUSE_MS);
    java_exit(env, s->lock);
}

static void who_timed_out_and_waits_to_enter_has_a_waker_of_that_alone(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "waiter", wait_for_a_moment);
    stage_enters(&s, "holder", hold_meanwhile);
    stage_closes(&s);
    stage_expect_nobody(&s, "waiter", STROBE_KIND_COND);
    stage_expect_waker(&s, "waiter", STROBE_KIND_MONITOR, "holder");
    struct strobe_record wait = stage_look(&s, "waiter", STROBE_KIND_COND).scope;
    struct strobe_record entry = stage_look(&s, "waiter", STROBE_KIND_MONITOR).scope;
    CHECK(c, entry.ticks >= wait.ticks && entry.ticks + entry.duration <= wait.ticks + wait.duration,
          "the entry is within the wait");
    capture_drop(&s.k);
}

/* ---- S-75, S-76: workers that block workers, while others take other locks ---- */

static void hold_lock(struct strobe_jni *env, struct stage *s)
{
    java_enter(env, s->lock);
    s->cue++;
    stage_await(s, 4);
    stage_pause(STAGE_PAUSE_MS);
    java_exit(env, s->lock);
}

static void hold_other(struct strobe_jni *env, struct stage *s)
{
    java_enter(env, s->other);
    s->cue++;
    stage_await(s, 4);
    stage_pause(2 * STAGE_PAUSE_MS);
    java_exit(env, s->other);
}

static void want_lock(struct strobe_jni *env, struct stage *s)
{
    stage_await(s, 2);
    s->cue++;
    java_enter(env, s->lock);
    java_exit(env, s->lock);
    s->cue++;
}

static void want_other(struct strobe_jni *env, struct stage *s)
{
    stage_await(s, 2);
    s->cue++;
    java_enter(env, s->other);
    java_exit(env, s->other);
    s->cue++;
}

static void each_of_two_waiters_has_its_own_waker_while_others_take_other_locks(struct contract *c)
{
    struct stage s;
    struct strobe_jni *env = c->art.env;
    strobe_jobject third = java_new(env, "java/lang/Object");
    java_enter(env, third);
    java_wait(env, third, 1);
    java_exit(env, third);
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "holder1", hold_lock);
    stage_enters(&s, "holder2", hold_other);
    stage_enters(&s, "waiter1", want_lock);
    stage_enters(&s, "waiter2", want_other);
    while (s.cue < 6) {
        java_enter(env, third);
        java_exit(env, third);
        stage_pause(1);
    }
    stage_closes(&s);
    stage_expect_waker(&s, "waiter1", STROBE_KIND_MONITOR, "holder1");
    stage_expect_waker(&s, "waiter2", STROBE_KIND_MONITOR, "holder2");
    capture_drop(&s.k);
}

/* ---- S-77 ---- */

static void wait_for_ever(struct strobe_jni *env, struct stage *s)
{
    java_enter(env, s->lock);
    s->cue++;
    java_wait(env, s->lock, 0);
    java_exit(env, s->lock);
}

/* The time is over long after the notification, also on a busy machine. */
static void wait_for_a_while(struct strobe_jni *env, struct stage *s)
{
    stage_await(s, 1);
    java_enter(env, s->lock);
    s->cue++;
    java_wait(env, s->lock, 12 * STAGE_PAUSE_MS);
    java_exit(env, s->lock);
}

static void notify_one(struct strobe_jni *env, struct stage *s)
{
    stage_await(s, 2);
    stage_pause(STAGE_PAUSE_MS);
    java_enter(env, s->lock);
    java_notify(env, s->lock, false);
    java_exit(env, s->lock);
}

static void who_timed_out_has_not_the_notifier_that_woke_another(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "patient", wait_for_ever);
    stage_enters(&s, "hasty", wait_for_a_while);
    stage_enters(&s, "notifier", notify_one);
    stage_closes(&s);
    stage_expect_waker(&s, "patient", STROBE_KIND_COND, "notifier");
    stage_expect_nobody(&s, "hasty", STROBE_KIND_COND);
    capture_drop(&s.k);
}

static void park_for_ever(struct strobe_jni *env, struct stage *s)
{
    s->cue = 1;
    java_virtual(env, java_new(env, "sun/misc/Unsafe"), "park", "(ZJ)V", (union strobe_jvalue[]){{.z = 0}, {.j = 0}});
}

static void interrupt_parker(struct strobe_jni *env, struct stage *s)
{
    stage_await(s, 1);
    stage_pause(STAGE_PAUSE_MS);
    java_virtual(env, s->actor[0].thread.peer, "interrupt0", "()V", NULL);
}

/* An interrupt makes the permit available, as an unpark does. The interrupting thread is the waker of the park. */
static void who_interrupts_is_the_waker_of_who_parks(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "parker", park_for_ever);
    stage_enters(&s, "interrupter", interrupt_parker);
    stage_closes(&s);
    if (c->libart.address[STROBE_ART_PARK_THREAD])
        stage_expect_waker(&s, "parker", STROBE_KIND_PARK, "interrupter");
    else
        CHECK(c, stage_look(&s, "parker", STROBE_KIND_PARK).wakes == 0, "a waker from nowhere");
    capture_drop(&s.k);
}

const struct contract_case contract_cases_wakers[] = {
    {"who_held_a_thin_lock_is_the_waker_of_who_made_it_fat", who_held_a_thin_lock_is_the_waker_of_who_made_it_fat, 0},
    {"a_monitor_where_another_was_has_its_own_wakers", a_monitor_where_another_was_has_its_own_wakers, 0},
    {"no_waker_is_one_that_could_not_have_been", no_waker_is_one_that_could_not_have_been, 0},
    {"who_timed_out_and_waits_to_enter_has_a_waker_of_that_alone",
     who_timed_out_and_waits_to_enter_has_a_waker_of_that_alone, 0},
    {"each_of_two_waiters_has_its_own_waker_while_others_take_other_locks",
     each_of_two_waiters_has_its_own_waker_while_others_take_other_locks, 0},
    {"who_timed_out_has_not_the_notifier_that_woke_another", who_timed_out_has_not_the_notifier_that_woke_another, 0},
    {"who_interrupts_is_the_waker_of_who_parks", who_interrupts_is_the_waker_of_who_parks, 0},
    {0},
};
