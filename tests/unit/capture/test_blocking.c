/* Wakers of waits: interleavings given step by step, random histories with known wakers, and real threads. In the first
 * two, one thread plays all threads: each step names the thread that takes it. */
#include "tests/unit/support/waits.h"

#include <pthread.h>
#include <stdlib.h>

/* ---- one lock */

static void the_thread_that_releases_a_lock_is_the_waker_with_its_stack_and_the_time_S75(void **state)
{
    (void)state;
    struct strobe_record wake = {0};
    uint64_t begin = rig.now;
    waits(1, LOCK, STROBE_KIND_MUTEX);
    time_passes(3 * MS);
    rig_stack(&rig, 5, 0x7000);
    releases(2, LOCK, STROBE_RELEASE_LOCK);
    rig_stack(&rig, 5, 0x5000);
    time_passes(MS);
    gets(1, LOCK);
    assert_int_equal(waker(1, 0, &wake), 2);
    assert_int_equal(wake.ticks, begin + 3 * MS);
    assert_int_equal(wake.duration, MS);
    assert_int_equal(wake.arg, LOCK);
    uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint32_t count;
    strobe_stack_frames(&rig.engine.session.stacks, wake.stack, frames, STROBE_STACK_DEPTH_MAX, &count);
    assert_int_equal(count, 5);
    assert_int_equal(frames[4], 0x7000);
    assert_int_equal(rig_records(&rig, items, ITEMS), 3); /* the waker's sample, the scope, the WAKE record */
}

static void the_last_release_before_the_waiter_got_the_lock_is_the_waker_S70(void **state)
{
    (void)state;
    waits(0, LOCK, STROBE_KIND_MUTEX);
    for (uint32_t t = 1; t <= 3; t++) {
        time_passes(MS);
        releases(t, LOCK, STROBE_RELEASE_LOCK); /* thread t + 1 overtakes the waiter */
    }
    time_passes(MS);
    gets(0, LOCK);
    releases(4, LOCK, STROBE_RELEASE_LOCK);
    assert_int_equal(waker(0, 0, NULL), 3);
    assert_int_equal(waker(0, 1, NULL), NO_RECORD);
}

static void a_lock_taken_without_waiting_leaves_no_record(void **state)
{
    (void)state;
    releases(1, LOCK, STROBE_RELEASE_LOCK);
    waits(0, LOCK, STROBE_KIND_MUTEX);
    time_passes(MS);
    gets(0, LOCK);
    assert_int_equal(waker(0, 0, NULL), NO_RECORD);
}

static void a_release_from_before_the_wait_is_not_taken_for_it_S72(void **state)
{
    (void)state;
    waits(3, LOCK, STROBE_KIND_MUTEX);
    time_passes(MS);
    releases(1, LOCK, STROBE_RELEASE_LOCK);
    gets(3, LOCK);
    /* The lock is destroyed; its address is used again. */
    waits(0, LOCK, STROBE_KIND_MUTEX);
    time_passes(MS);
    gets(0, LOCK);
    assert_int_equal(waker(0, 0, NULL), NO_RECORD);
    assert_int_equal(waker(3, 0, NULL), 1);
}

static void locks_of_one_bucket_are_distinguished_S72(void **state)
{
    (void)state;
    uint64_t other = collides_with(LOCK);
    waits(0, LOCK, STROBE_KIND_MUTEX);
    waits(1, other, STROBE_KIND_MUTEX);
    time_passes(MS);
    releases(2, LOCK, STROBE_RELEASE_LOCK);
    releases(3, other, STROBE_RELEASE_LOCK);
    releases(4, collides_with(other), STROBE_RELEASE_LOCK);
    gets(0, LOCK);
    gets(1, other);
    assert_int_equal(waker(0, 0, NULL), 2);
    assert_int_equal(waker(1, 0, NULL), 3);
    assert_int_equal(strobe_load_relaxed(&thread[4]->entry->account[STROBE_KIND_UNLOCK].sampled), 1); /* its first */
}

static void a_release_without_a_waiter_is_an_ordinary_event(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++)
        releases(1, LOCK, STROBE_RELEASE_LOCK);
    const struct strobe_account *a = &thread[1]->entry->account[STROBE_KIND_UNLOCK];
    assert_int_equal(strobe_load_relaxed(&a->requests), 10);
    assert_int_equal(strobe_load_relaxed(&a->gated), 9);
}

static void a_release_that_ends_a_short_wait_passes_the_gate_and_is_known_all_the_same(void **state)
{
    (void)state;
    releases(1, LOCK, STROBE_RELEASE_LOCK); /* passes the gate as the first event */
    const struct strobe_account *a = &thread[1]->entry->account[STROBE_KIND_UNLOCK];
    waits(0, LOCK, STROBE_KIND_MUTEX);
    releases(1, LOCK, STROBE_RELEASE_LOCK);
    assert_int_equal(strobe_load_relaxed(&a->sampled), 1);
    time_passes(MS);
    gets(0, LOCK); /* the lock was held by other threads meanwhile */
    struct strobe_record r;
    assert_int_equal(waker(0, 0, &r), 1);
    assert_int_equal(r.stack, 0);
}

static void stacks_are_taken_for_long_waits_two_an_interval_at_most(void **state)
{
    (void)state;
    const struct strobe_account *a = &thread[1]->entry->account[STROBE_KIND_UNLOCK];
    waits(0, LOCK, STROBE_KIND_MUTEX);
    time_passes(MS);
    for (int i = 0; i < 100; i++) {
        releases(1, LOCK, STROBE_RELEASE_LOCK);
        time_passes(MS / 100);
    }
    assert_in_range(strobe_load_relaxed(&a->sampled), 2, 3); /* the gate may pass one more */
    gets(0, LOCK);
    struct strobe_record r;
    assert_int_equal(waker(0, 0, &r), 1);
}

/* The engine reads the host's clock while it handles the ordinary event. At that moment a thread begins to wait. */
static bool arms;
static uint64_t ticks_with_arrival(void *ctx)
{
    (void)ctx;
    if (arms) {
        arms = false;
        waits(0, LOCK, STROBE_KIND_MUTEX);
    }
    return rig.now;
}

static void a_wait_that_begins_while_the_release_is_reported_is_seen_S73(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < THREADS; i++)
        thread[i]->ticks = ticks_with_arrival;
    arms = true;
    releases(1, LOCK, STROBE_RELEASE_LOCK);
    assert_int_equal(depth[0], 1);
    time_passes(MS);
    gets(0, LOCK);
    assert_int_equal(waker(0, 0, NULL), 1);
}

/* ---- readers and writers */

static void a_readers_release_ends_a_writers_wait_and_no_readers(void **state)
{
    (void)state;
    waits(0, LOCK, STROBE_KIND_RWLOCK); /* a writer; 1 and 2 read */
    time_passes(MS);
    releases(1, LOCK, STROBE_RELEASE_SHARED);
    time_passes(MS);
    releases(2, LOCK, STROBE_RELEASE_SHARED);
    gets(0, LOCK);
    assert_int_equal(waker(0, 0, NULL), 2);
    waits(3, LOCK, STROBE_KIND_RWLOCK); /* a reader and a writer wait; writer 0 has the lock */
    waits(4, LOCK, STROBE_KIND_RWLOCK);
    time_passes(MS);
    releases(0, LOCK, STROBE_RELEASE_LOCK);
    time_passes(MS);
    releases(5, LOCK, STROBE_RELEASE_SHARED); /* another reader had the lock in between */
    goes_on(3, LOCK, STROBE_WAKE_RELEASED, true);
    time_passes(MS);
    releases(3, LOCK, STROBE_RELEASE_SHARED);
    gets(4, LOCK);
    assert_int_equal(waker(3, 0, NULL), 0);
    assert_int_equal(waker(4, 0, NULL), 3);
}

/* ---- conditions, semaphores, parks */

static void each_of_two_waiters_records_the_notify_that_resumed_it_S71(void **state)
{
    (void)state;
    waits(0, LOCK, STROBE_KIND_COND);
    waits(1, LOCK, STROBE_KIND_COND);
    time_passes(MS);
    releases(2, LOCK, STROBE_RELEASE_ONE);
    gets(1, LOCK); /* not the longest waiter */
    time_passes(MS);
    releases(3, LOCK, STROBE_RELEASE_ONE);
    gets(0, LOCK);
    assert_int_equal(waker(1, 0, NULL), 2);
    assert_int_equal(waker(0, 0, NULL), 3);
}

static void notifies_close_together_go_to_the_waiters_in_their_order_S71(void **state)
{
    (void)state;
    for (uint32_t t = 0; t < 4; t++)
        waits(t, LOCK, STROBE_KIND_COND);
    for (uint32_t t = 0; t < 4; t++)
        releases(8 + t, LOCK, STROBE_RELEASE_ONE);
    time_passes(MS);
    for (uint32_t t = 4; t-- > 0;)
        gets(t, LOCK);
    for (uint32_t t = 0; t < 4; t++)
        assert_int_equal(waker(t, 0, NULL), 8 + t);
}

static void a_notify_without_a_waiter_ends_no_later_wait(void **state)
{
    (void)state;
    waits(0, LOCK, STROBE_KIND_COND);
    time_passes(MS);
    releases(1, LOCK, STROBE_RELEASE_ONE);
    releases(2, LOCK, STROBE_RELEASE_ONE); /* no thread waits */
    gets(0, LOCK);
    waits(3, LOCK, STROBE_KIND_COND);
    time_passes(MS);
    gets(3, LOCK); /* a spurious wake-up */
    assert_int_equal(waker(0, 0, NULL), 1);
    assert_int_equal(waker(3, 0, NULL), NO_RECORD);
}

static void notify_all_wakes_all_waiters_and_no_later_ones(void **state)
{
    (void)state;
    for (uint32_t t = 0; t < 10; t++)
        waits(t, LOCK, STROBE_KIND_COND);
    time_passes(MS);
    releases(12, LOCK, STROBE_RELEASE_ALL);
    waits(11, LOCK, STROBE_KIND_COND);
    time_passes(MS);
    for (uint32_t t = 0; t < 10; t++)
        gets(t, LOCK);
    gets(11, LOCK);
    for (uint32_t t = 0; t < 10; t++)
        assert_int_equal(waker(t, 0, NULL), 12);
    assert_int_equal(waker(11, 0, NULL), NO_RECORD);
}

/* The notes of a bucket are written in turn to all its entries, so a later release may lie before an earlier one. */
static void the_first_release_for_all_waiters_since_the_begin_is_the_waker_in_any_entry(void **state)
{
    static const enum strobe_release hows[] = {STROBE_RELEASE_ALL, STROBE_RELEASE_TARGET};
    (void)state;
    for (int i = 0; i < 2; i++) {
        uint64_t what = i ? collides_with(LOCK) : LOCK;
        for (int turn = 0; turn < STROBE_BLOCK_RELEASES; turn++) { /* so the notes lie in every entry */
            waits(0, what, STROBE_KIND_COND);
            time_passes(MS);
            releases(1, what, hows[i]);
            waits(2, what, STROBE_KIND_COND);
            time_passes(MS);
            releases(3, what, hows[i]);
            gets(0, what);
            gets(2, what);
            waits(4, what, STROBE_KIND_COND); /* makes it three notes a turn */
            releases(5, what, hows[i]);
            gets(4, what);
        }
    }
    for (uint32_t i = 0; i < 2 * STROBE_BLOCK_RELEASES; i++) {
        assert_int_equal(waker(0, i, NULL), 1);
        assert_int_equal(waker(2, i, NULL), 3);
    }
}

static void the_first_unpark_wakes_and_what_follows_is_no_news(void **state)
{
    (void)state;
    waits(0, LOCK, STROBE_KIND_PARK);
    time_passes(MS);
    for (uint32_t i = 0; i < 40; i++)
        releases(1 + i % 10, LOCK, STROBE_RELEASE_TARGET);
    assert_in_range(strobe_load_relaxed(&rig.engine.blocking->block[strobe_block_index(LOCK)].tickets), 2, 2);
    gets(0, LOCK);
    assert_int_equal(waker(0, 0, NULL), 1);
}

static void a_timeout_or_interrupt_has_no_waker_whoever_notified_before_S77(void **state)
{
    (void)state;
    struct strobe_record wake = {0};
    waits(0, LOCK, STROBE_KIND_COND);
    waits(1, LOCK, STROBE_KIND_COND);
    time_passes(MS);
    releases(2, LOCK, STROBE_RELEASE_ONE);
    goes_on(0, LOCK, STROBE_WAKE_TIMEOUT, false);
    gets(1, LOCK); /* takes the notification meant for thread 0 */
    waits(3, LOCK, STROBE_KIND_COND);
    time_passes(MS);
    goes_on(3, LOCK, STROBE_WAKE_INTERRUPTED, false);
    assert_int_equal(waker(0, 0, &wake), NOBODY);
    assert_int_equal(wake.duration, 0);
    assert_int_equal(wake.ticks, rig.now - MS);
    assert_int_equal(waker(1, 0, NULL), 2);
    assert_int_equal(waker(3, 0, NULL), NOBODY);
}

static void a_release_before_the_timeout_ended_the_wait_however_late_the_thread_got_a_processor_S77(void **state)
{
    (void)state;
    waits(0, LOCK, STROBE_KIND_PARK);
    time_passes(MS);
    uint64_t released = rig.now, deadline = released + MS;
    releases(1, LOCK, STROBE_RELEASE_TARGET);
    time_passes(5 * MS);
    goes_on_timed(0, LOCK, deadline);
    assert_int_equal(waker(0, 0, NULL), 1);
}

static void a_release_after_the_timeout_did_not_end_the_wait_S77(void **state)
{
    (void)state;
    waits(0, LOCK, STROBE_KIND_PARK);
    uint64_t deadline = rig.now + MS;
    time_passes(3 * MS);
    releases(1, LOCK, STROBE_RELEASE_TARGET);
    time_passes(MS);
    goes_on_timed(0, LOCK, deadline);
    assert_int_equal(waker(0, 0, NULL), NOBODY);
}

static void a_wait_that_ends_before_its_timeout_without_a_release_says_nothing_of_a_waker_S77(void **state)
{
    (void)state;
    waits(0, LOCK, STROBE_KIND_PARK);
    time_passes(MS);
    goes_on_timed(0, LOCK, rig.now + MS);
    assert_int_equal(waker(0, 0, NULL), NO_RECORD);
}

static void a_spurious_wake_claims_nothing_from_before_S77(void **state)
{
    (void)state;
    waits(0, LOCK, STROBE_KIND_COND);
    time_passes(MS);
    releases(1, LOCK, STROBE_RELEASE_ONE);
    gets(0, LOCK);
    waits(0, LOCK, STROBE_KIND_COND);
    time_passes(MS);
    gets(0, LOCK);
    assert_int_equal(waker(0, 0, NULL), 1);
    assert_int_equal(waker(0, 1, NULL), NO_RECORD);
}

/* ---- nesting, short waits, threads that go away */

static void waits_nest_and_each_has_its_waker_S74(void **state)
{
    (void)state;
    waits(0, LOCK, STROBE_KIND_LOAD);
    time_passes(MS);
    waits(0, OTHER, STROBE_KIND_MUTEX);
    time_passes(MS);
    releases(1, OTHER, STROBE_RELEASE_LOCK);
    gets(0, OTHER);
    time_passes(MS);
    releases(2, LOCK, STROBE_RELEASE_ALL);
    gets(0, LOCK);
    assert_int_equal(waker(0, 0, NULL), 1);
    assert_int_equal(waker(0, 1, NULL), 2);
}

static void a_waiter_that_is_itself_waited_for_has_its_own_waker_S75_S76(void **state)
{
    (void)state;
    waits(0, LOCK, STROBE_KIND_MUTEX); /* main waits for 1, which waits for 2; threads 3 and 4 use another lock */
    waits(1, OTHER, STROBE_KIND_MUTEX);
    waits(3, OTHER + 64, STROBE_KIND_MUTEX);
    time_passes(MS);
    releases(4, OTHER + 64, STROBE_RELEASE_LOCK);
    releases(2, OTHER, STROBE_RELEASE_LOCK);
    gets(3, OTHER + 64);
    gets(1, OTHER);
    releases(1, LOCK, STROBE_RELEASE_LOCK);
    gets(0, LOCK);
    assert_int_equal(waker(0, 0, NULL), 1);
    assert_int_equal(waker(1, 0, NULL), 2);
    assert_int_equal(waker(3, 0, NULL), 4);
}

static void word_of_a_wait_too_short_to_be_recorded_is_counted_as_gated(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) { /* the gate is open for the first one */
        waits(0, LOCK, STROBE_KIND_MUTEX);
        time_passes(5 * US);
        releases(1, LOCK, STROBE_RELEASE_LOCK);
        gets(0, LOCK);
    }
    struct rig_account a = rig_account(&rig, STROBE_KIND_WAKE);
    assert_int_equal(a.requests, 2);
    assert_int_equal(a.sampled, 1);
    assert_int_equal(a.gated, 1);
}

static void a_wait_left_by_a_jump_or_a_cancellation_is_taken_back(void **state)
{
    (void)state;
    waits(0, LOCK, STROBE_KIND_MUTEX);
    strobe_scope_end(thread[0], token[0][--depth[0]], site_of(0)); /* cancelled: no wait_end */
    assert_nobody_waits();
    waits(0, LOCK, STROBE_KIND_MUTEX);
    waits(0, OTHER, STROBE_KIND_MUTEX);
    depth[0]--; /* jumped out of the inner one */
    time_passes(MS);
    releases(1, LOCK, STROBE_RELEASE_LOCK);
    gets(0, LOCK);
    assert_int_equal(waker(0, 0, NULL), 1);
    assert_nobody_waits();
}

static void a_thread_that_signs_off_or_is_retired_waits_no_more(void **state)
{
    (void)state;
    static struct strobe_sampler sampler;
    waits(5, LOCK, STROBE_KIND_COND);
    strobe_thread_detach(thread[5]);
    strobe_local = (struct strobe_local){.thread = rig.thread};
    assert_nobody_waits();
    waits(6, OTHER, STROBE_KIND_COND);
    strobe_sampler_init(&sampler, &rig.engine, 1);
    rig.clock_says = STROBE_GONE;
    time_passes(400 * MS);
    for (int pass = 0; pass < 2; pass++) { /* the first pass finds the thread in the call */
        strobe_sampler_pass(&sampler, rig.now);
        thread[6]->sampled.scope_ticks = 0;
        time_passes(400 * MS);
    }
    assert_int_equal(strobe_load_relaxed(&thread[6]->entry->state), STROBE_THREAD_ENDED);
}

static void waits_beyond_the_nested_scopes_are_left_alone(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < STROBE_SCOPES_MAX; i++)
        waits(0, LOCK + 64 * i, STROBE_KIND_LOAD);
    assert_int_equal(strobe_scope_begin(thread[0], STROBE_KIND_MUTEX, OTHER, site_of(0)), 0);
    strobe_wait_begin(thread[0], OTHER);
    time_passes(MS);
    releases(1, OTHER, STROBE_RELEASE_LOCK);
    strobe_wait_end(thread[0], OTHER, STROBE_WAKE_RELEASED, false);
    for (uint32_t i = STROBE_SCOPES_MAX; i-- > 0;)
        gets(0, LOCK + 64 * i);
    assert_int_equal(waker(0, 0, NULL), NO_RECORD);
}

/* ---- random histories against the truth */

enum { LOCKS = 24, CONDS = 8, OBJECTS = LOCKS + CONDS };

/* A model, played one step at a time: locks may be overtaken, conditions wake the longest waiter. */
struct model {
    uint64_t random, now;
    int owner[LOCKS];        /* thread that has the lock */
    int waits_for[THREADS];  /* object; -1 = none */
    uint64_t order[THREADS]; /* when it began to wait */
    int woken_by[THREADS];   /* for a condition: the thread that woke it, until it returns; NOBODY */
    int last_release[LOCKS];
    uint64_t truths, right, wrong, missed;
};

static uint64_t object(uint32_t i)
{
    /* Some objects share a bucket, some share the low bits of their addresses. */
    static uint64_t what[OBJECTS];
    if (!what[0])
        for (uint32_t k = 0; k < OBJECTS; k++)
            what[k] = k % 3 == 2 ? collides_with(what[k - 1]) : 0x7f0000 + k * 0x1000;
    return what[i];
}

static void check_waker(struct model *m, uint32_t t, int truth)
{
    const struct strobe_wait *w = &thread[t]->scope[thread[t]->scope_count].wait; /* of the scope just ended */
    struct strobe_scope ended = {.wait = *w};
    struct strobe_record r;
    int said = strobe_wait_record(&ended, UINT64_MAX, &r) ? (int)r.cpu_span_ns - 1 : NO_RECORD;
    m->truths++;
    m->right += said == truth;
    m->missed += said == NO_RECORD;
    m->wrong += said != NO_RECORD && said != truth;
}

/* A lock that thread t has, or any lock. */
static uint32_t some_lock(struct model *m, uint32_t t, bool *has_one)
{
    uint32_t first = strobe_trial_below(&m->random, LOCKS);
    *has_one = false;
    for (uint32_t i = 0; i < LOCKS && !*has_one; i++)
        *has_one = m->owner[(first + i) % LOCKS] == (int)t;
    if (*has_one && strobe_trial_below(&m->random, 2))
        while (m->owner[first] != (int)t)
            first = (first + 1) % LOCKS;
    return first;
}

/* A thread that has a lock does not wait, so there is no deadlock. */
static void lock_step(struct model *m, uint32_t t)
{
    bool has_one;
    uint32_t lock = some_lock(m, t, &has_one);
    if (m->owner[lock] == (int)t) {
        releases(t, object(lock), STROBE_RELEASE_LOCK);
        m->owner[lock] = NOBODY;
        m->last_release[lock] = (int)t;
    } else if (m->owner[lock] == NOBODY) {
        m->owner[lock] = (int)t; /* overtakes the waiters */
    } else if (!has_one) {
        waits(t, object(lock), STROBE_KIND_MUTEX);
        m->waits_for[t] = (int)lock;
    }
}

static void cond_step(struct model *m, uint32_t t)
{
    uint32_t cond = LOCKS + strobe_trial_below(&m->random, CONDS);
    bool has_one;
    some_lock(m, t, &has_one);
    if (!has_one && strobe_trial_below(&m->random, 2) && t < THREADS / 2) { /* the other threads notify */
        waits(t, object(cond), STROBE_KIND_COND);
        m->waits_for[t] = (int)cond;
        m->order[t] = m->now;
        m->woken_by[t] = NOBODY;
        return;
    }
    bool all = strobe_trial_below(&m->random, 4) == 0;
    releases(t, object(cond), all ? STROBE_RELEASE_ALL : STROBE_RELEASE_ONE);
    for (;;) {
        int longest = NOBODY;
        for (int i = 0; i < THREADS; i++)
            if (m->waits_for[i] == (int)cond && m->woken_by[i] == NOBODY &&
                (longest == NOBODY || m->order[i] < m->order[longest]))
                longest = i;
        if (longest == NOBODY)
            return;
        m->woken_by[longest] = (int)t;
        if (!all)
            return;
    }
}

static void waiting_step(struct model *m, uint32_t t)
{
    uint32_t what = (uint32_t)m->waits_for[t];
    int truth;
    if (what < LOCKS ? m->owner[what] != NOBODY : m->woken_by[t] == NOBODY)
        return;
    if (what < LOCKS) {
        m->owner[what] = (int)t;
        truth = m->last_release[what];
    } else {
        truth = m->woken_by[t];
    }
    m->waits_for[t] = -1;
    gets(t, object(what));
    check_waker(m, t, truth);
}

static void play(struct model *m, uint32_t steps)
{
    for (uint32_t i = 0; i < LOCKS; i++)
        m->owner[i] = m->last_release[i] = NOBODY;
    for (uint32_t t = 0; t < THREADS; t++)
        m->waits_for[t] = -1;
    for (; steps; steps--) {
        uint32_t t = strobe_trial_below(&m->random, THREADS);
        m->now++;
        time_passes(200 * US);
        if (m->waits_for[t] >= 0)
            waiting_step(m, t);
        else if (strobe_trial_below(&m->random, 4))
            lock_step(m, t);
        else
            cond_step(m, t);
    }
    for (uint32_t t = 0; t < THREADS; t++)
        if (m->waits_for[t] >= 0)
            goes_on(t, object((uint32_t)m->waits_for[t]), STROBE_WAKE_NONE, false);
}

static void wakers_of_random_histories_are_the_true_ones(void **state)
{
    (void)state;
    struct model m = {.random = strobe_trial_seed("test_blocking")};
    play(&m, strobe_trial_rounds(60000));
    assert_true(m.truths > 100);
    assert_int_equal(m.wrong, 0);
    /* A note that a crowded bucket lost costs one waker. Few are lost. */
    assert_in_range(m.missed, 0, m.truths / 200 + 2);
}

/* ---- real threads */

struct contest {
    pthread_mutex_t mutex[3];
    strobe_a32 holder[3]; /* number of the thread that released last; accessed under the mutex */
    strobe_a32 truths, right, wrong, missed;
    double until;
};

static void contend(void *arg, uint32_t index)
{
    struct contest *c = arg;
    struct strobe_thread *t = thread[index];
    uint64_t random = index + 1;
    strobe_local = (struct strobe_local){.thread = t};
    uint64_t frame = rig.thread->stack_low + (1 << 19);
    struct strobe_site site = {frame, 0};
    do {
        for (int i = 0; i < 200; i++) {
            uint32_t k = strobe_trial_below(&random, 3);
            uint64_t what = (uint64_t)(uintptr_t)&c->mutex[k];
            bool waited = pthread_mutex_trylock(&c->mutex[k]) != 0;
            uint32_t before = 0;
            if (waited) {
                uint32_t tok = strobe_scope_begin(t, STROBE_KIND_MUTEX, what, site);
                strobe_wait_begin(t, what);
                pthread_mutex_lock(&c->mutex[k]);
                before = strobe_load_relaxed(&c->holder[k]);
                strobe_wait_end(t, what, STROBE_WAKE_RELEASED, false);
                struct strobe_record r;
                bool recorded = strobe_wait_record(&t->scope[tok - 1], UINT64_MAX, &r);
                strobe_add_relaxed(!recorded ? &c->missed : r.cpu_span_ns == before ? &c->right : &c->wrong, 1);
                strobe_add_relaxed(&c->truths, 1);
                strobe_scope_end(t, tok, site);
            }
            if (strobe_trial_below(&random, 16) == 0)
                sched_yield();
            strobe_store_relaxed(&c->holder[k], t->index + 1);
            strobe_release(t, strobe_switched(), what, STROBE_RELEASE_LOCK, site);
            pthread_mutex_unlock(&c->mutex[k]);
        }
    } while (strobe_trial_now() < c->until);
    strobe_local = (struct strobe_local){0};
}

/* The rig's own counter of ticks is for one thread only. */
static uint64_t ticks_of_all(void *ctx)
{
    (void)ctx;
    return (uint64_t)(strobe_trial_now() * 1e9);
}

static void settle_nothing(void *ctx, uint32_t tid)
{
    (void)ctx, (void)tid;
}

static void real_threads_never_record_a_wrong_waker(void **state)
{
    (void)state;
    static struct contest c;
    c = (struct contest){.until = strobe_trial_now() + strobe_trial_seconds(0.3)};
    for (int i = 0; i < 3; i++)
        pthread_mutex_init(&c.mutex[i], NULL);
    rig.host.ticks = ticks_of_all;
    rig.host.settle = settle_nothing;
    for (uint32_t i = 0; i < THREADS; i++)
        thread[i]->ticks = ticks_of_all;
    strobe_trial_crowd(8, contend, &c);
    print_message("%u waits, %u wakers right, %u without a record\n", strobe_load_relaxed(&c.truths),
                  strobe_load_relaxed(&c.right), strobe_load_relaxed(&c.missed));
    assert_int_equal(strobe_load_relaxed(&c.wrong), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_thread_that_releases_a_lock_is_the_waker_with_its_stack_and_the_time_S75),
        CASE(the_last_release_before_the_waiter_got_the_lock_is_the_waker_S70),
        CASE(a_lock_taken_without_waiting_leaves_no_record),
        CASE(a_release_from_before_the_wait_is_not_taken_for_it_S72),
        CASE(locks_of_one_bucket_are_distinguished_S72),
        CASE(a_release_without_a_waiter_is_an_ordinary_event),
        CASE(a_release_that_ends_a_short_wait_passes_the_gate_and_is_known_all_the_same),
        CASE(stacks_are_taken_for_long_waits_two_an_interval_at_most),
        CASE(a_wait_that_begins_while_the_release_is_reported_is_seen_S73),
        CASE(a_readers_release_ends_a_writers_wait_and_no_readers),
        CASE(each_of_two_waiters_records_the_notify_that_resumed_it_S71),
        CASE(notifies_close_together_go_to_the_waiters_in_their_order_S71),
        CASE(a_notify_without_a_waiter_ends_no_later_wait),
        CASE(notify_all_wakes_all_waiters_and_no_later_ones),
        CASE(the_first_release_for_all_waiters_since_the_begin_is_the_waker_in_any_entry),
        CASE(the_first_unpark_wakes_and_what_follows_is_no_news),
        CASE(a_timeout_or_interrupt_has_no_waker_whoever_notified_before_S77),
        CASE(a_release_before_the_timeout_ended_the_wait_however_late_the_thread_got_a_processor_S77),
        CASE(a_release_after_the_timeout_did_not_end_the_wait_S77),
        CASE(a_wait_that_ends_before_its_timeout_without_a_release_says_nothing_of_a_waker_S77),
        CASE(a_spurious_wake_claims_nothing_from_before_S77),
        CASE(waits_nest_and_each_has_its_waker_S74),
        CASE(a_waiter_that_is_itself_waited_for_has_its_own_waker_S75_S76),
        CASE(word_of_a_wait_too_short_to_be_recorded_is_counted_as_gated),
        CASE(a_wait_left_by_a_jump_or_a_cancellation_is_taken_back),
        CASE(a_thread_that_signs_off_or_is_retired_waits_no_more),
        CASE(waits_beyond_the_nested_scopes_are_left_alone),
        CASE(wakers_of_random_histories_are_the_true_ones),
        CASE(real_threads_never_record_a_wrong_waker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
