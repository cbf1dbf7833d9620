/* Each kind of wait in the virtual kernel: when it ends, which thread ends it, and deadlocks. */
#include "tests/sim/support/stage.h"

static struct sim_mutex m, m2;
static struct sim_rwlock rw;
static struct sim_cond c;
static struct sim_sem s;

static void fresh(uint32_t cores)
{
    m = (struct sim_mutex){.name = "L1"};
    m2 = (struct sim_mutex){.name = "L2"};
    rw = (struct sim_rwlock){.name = "RW"};
    c = (struct sim_cond){.name = "C"};
    s = (struct sim_sem){.name = "S"};
    stage_cores(cores);
}

static void wait_until(uint64_t time_ns)
{
    sim_sleep_until(time_ns);
    assert_int_equal(sim_now(), time_ns);
}

/* Checks the result of the running thread's last wait. */
static void expect_woken(enum sim_wake is, enum sim_wake how, const struct sim_thread *waker, uint64_t woken_ns)
{
    assert_int_equal(is, how);
    assert_ptr_equal(sim_self()->waker, waker);
    assert_int_equal(sim_self()->woken_ns, woken_ns);
}

/* ---- mutexes */

static void holds_till_10(void *arg)
{
    (void)arg;
    assert_int_equal(sim_mutex_lock(&m), SIM_WAKE_NONE);
    wait_until(10 * US);
    sim_mutex_unlock(&m);
}

static void waits_till_10(void *holder)
{
    wait_until(1 * US);
    assert_false(sim_mutex_trylock(&m));
    expect_woken(sim_mutex_lock(&m), SIM_WAKE_THREAD, holder, 10 * US);
    assert_int_equal(sim_now(), 10 * US);
    assert_int_equal(sim_self()->voluntary_switches, 2);
    sim_mutex_unlock(&m);
}

static void a_waiter_receives_its_releaser_and_the_time_of_release(void **state)
{
    (void)state;
    fresh(2);
    struct sim_thread *holder = enter("holder", holds_till_10, NULL);
    enter("waiter", waits_till_10, holder);
    play(SIM_END_DONE);
    assert_null(m.owner);
    stage_close();
}

/* The holder releases the mutex and takes it again at the same time, before the waiter runs, whose core is free. */
static void releases_and_takes_again(void *arg)
{
    (void)arg;
    sim_mutex_lock(&m);
    sim_compute(10 * US);
    sim_mutex_unlock(&m);
    assert_int_equal(sim_mutex_lock(&m), SIM_WAKE_NONE);
    sim_compute(5 * US);
    wait_until(30 * US);
    sim_mutex_unlock(&m);
    sim_compute(MS);
}

static void is_overtaken(void *overtaker)
{
    wait_until(1 * US);
    expect_woken(sim_mutex_lock(&m), SIM_WAKE_THREAD, overtaker, 30 * US);
    assert_int_equal(sim_self()->voluntary_switches, 3);
    sim_mutex_unlock(&m);
}

static void a_waiter_overtaken_on_its_way_waits_again(void **state)
{
    (void)state;
    fresh(2);
    struct sim_thread *t = enter("overtaker", releases_and_takes_again, NULL);
    enter("waiter", is_overtaken, t);
    play(SIM_END_DONE);
    stage_close();
}

/* Takes the mutex again before the waiter that its release woke runs, and releases it again. */
static void releases_twice(void *arg)
{
    (void)arg;
    sim_mutex_lock(&m);
    sim_compute(10 * US);
    sim_mutex_unlock(&m);
    assert_int_equal(sim_mutex_lock(&m), SIM_WAKE_NONE);
    sim_compute(1 * US);
    sim_mutex_unlock(&m);
}

static void holds_for_5(void *arg)
{
    sim_sleep_until((uint64_t)(uintptr_t)arg * US);
    assert_int_equal(sim_mutex_lock(&m), SIM_WAKE_THREAD);
    note(sim_now());
    note(sim_self()->voluntary_switches);
    sim_compute(5 * US);
    sim_mutex_unlock(&m);
}

static void a_release_wakes_no_thread_while_a_woken_waiter_is_on_its_way(void **state)
{
    (void)state;
    struct sim_kernel_options options = {.seed = 1, .cores = 3, .limit_ns = UINT64_MAX};
    for (int span = 0; span < SIM_WAIT_SPANS; span++)
        for (int point = 0; point < SIM_LATENESS_POINTS; point++)
            options.machine.wake.at[span].ns[point] = 3 * US;
    fresh(3);
    stage_close();
    stage_open(&options);
    enter(NULL, releases_twice, NULL);
    enter(NULL, holds_for_5, (void *)(uintptr_t)1);
    enter(NULL, holds_for_5, (void *)(uintptr_t)2);
    play(SIM_END_DONE);
    /* The release at 11 us does not wake the second waiter. The first waiter's release does. */
    const uint64_t expected[] = {13 * US, 2, 21 * US, 2};
    assert_memory_equal(notes, expected, sizeof expected);
    stage_close();
}

static void ends_in_a_moment(void *arg)
{
    (void)arg;
    sim_sleep_until(1 * US);
    sim_mutex_lock(&m);
    fail_msg("it was to be killed on its way");
}

static void releases_and_kills_whom_it_woke(void *victim)
{
    sim_mutex_lock(&m);
    sim_compute(10 * US);
    sim_mutex_unlock(&m);
    sim_mutex_lock(&m);
    sim_kill(*(struct sim_thread **)victim);
    sim_compute(1 * US);
    sim_mutex_unlock(&m);
}

static void a_waiter_that_is_killed_on_its_way_leaves_the_mutex_to_the_next(void **state)
{
    (void)state;
    static struct sim_thread *victim;
    fresh(3);
    enter(NULL, releases_and_kills_whom_it_woke, &victim);
    victim = enter("victim", ends_in_a_moment, NULL);
    enter(NULL, holds_for_5, (void *)(uintptr_t)2);
    play(SIM_END_DONE);
    assert_int_equal(notes[0], 11 * US);
    stage_close();
}

static void locks_at(void *at)
{
    wait_until(*(const uint64_t *)at);
    sim_mutex_lock(&m);
    note(*(const uint64_t *)at);
    wait_until(sim_now() + 5 * US);
    sim_mutex_unlock(&m);
}

static void the_longest_waiter_is_woken_first(void **state)
{
    (void)state;
    static const uint64_t at[] = {4000, 2000, 3000, 1000};
    fresh(4);
    enter(NULL, holds_till_10, NULL);
    for (int i = 0; i < 4; i++)
        enter(NULL, locks_at, (void *)&at[i]);
    play(SIM_END_DONE);
    const uint64_t expected[] = {1000, 2000, 3000, 4000};
    assert_memory_equal(notes, expected, sizeof expected);
    assert_int_equal(sim_now(), 30 * US);
    stage_close();
}

static void locks_three_times(void *arg)
{
    (void)arg;
    m.recursive = true;
    for (int i = 0; i < 2; i++)
        assert_int_equal(sim_mutex_lock(&m), SIM_WAKE_NONE);
    assert_true(sim_mutex_trylock(&m));
    wait_until(5 * US);
    sim_mutex_unlock(&m);
    sim_mutex_unlock(&m);
    wait_until(10 * US);
    sim_mutex_unlock(&m);
}

static void a_recursive_mutex_is_free_when_all_its_locks_are(void **state)
{
    (void)state;
    fresh(2);
    struct sim_thread *t = enter(NULL, locks_three_times, NULL);
    enter(NULL, waits_till_10, t);
    play(SIM_END_DONE);
    stage_close();
}

/* ---- read-write locks */

static void reads_till(void *until)
{
    assert_int_equal(sim_rwlock_read(&rw), SIM_WAKE_NONE);
    wait_until(*(const uint64_t *)until);
    sim_rwlock_unlock(&rw);
}

static void writes_from_20_to_30(void *last_reader)
{
    wait_until(1 * US);
    expect_woken(sim_rwlock_write(&rw), SIM_WAKE_THREAD, last_reader, 20 * US);
    assert_int_equal(sim_now(), 20 * US);
    assert_int_equal(sim_self()->voluntary_switches, 2); /* a reader that leaves others behind wakes no writer */
    assert_int_equal(rw.readers, 0);
    wait_until(30 * US);
    sim_rwlock_unlock(&rw);
}

static void reads_from_30(void *writer)
{
    wait_until(22 * US);
    expect_woken(sim_rwlock_read(&rw), SIM_WAKE_THREAD, writer, 30 * US);
    assert_int_equal(sim_now(), 30 * US);
    wait_until(40 * US);
    assert_int_equal(rw.readers, 2);
    sim_sleep_until(41 * US);
    sim_rwlock_unlock(&rw);
}

static void readers_share_writers_do_not(void **state)
{
    (void)state;
    uint64_t early = 10 * US, late = 20 * US;
    fresh(4);
    enter(NULL, reads_till, &early);
    struct sim_thread *last = enter(NULL, reads_till, &late);
    struct sim_thread *writer = enter(NULL, writes_from_20_to_30, last);
    enter(NULL, reads_from_30, writer);
    enter(NULL, reads_from_30, writer);
    play(SIM_END_DONE);
    assert_int_equal(sim_now(), 41 * US);
    stage_close();
}

static void tries_while_others_have_it(void *arg)
{
    (void)arg;
    assert_true(sim_rwlock_try_write(&rw));
    assert_false(sim_rwlock_try_read(&rw));
    assert_false(sim_rwlock_try_write(&rw));
    sim_rwlock_unlock(&rw);
    assert_true(sim_rwlock_try_read(&rw));
    assert_true(sim_rwlock_try_read(&rw));
    assert_false(sim_rwlock_try_write(&rw));
    sim_rwlock_unlock(&rw);
    assert_false(sim_rwlock_try_write(&rw));
    sim_rwlock_unlock(&rw);
    assert_true(sim_rwlock_try_write(&rw));
    sim_rwlock_unlock(&rw);
}

static void a_try_takes_a_readers_lock_only_when_a_wait_would_not_be_needed(void **state)
{
    (void)state;
    fresh(1);
    enter(NULL, tries_while_others_have_it, NULL);
    play(SIM_END_DONE);
    assert_int_equal(sim_now(), 0);
    stage_close();
}

static void writes_till_10(void *arg)
{
    (void)arg;
    sim_rwlock_write(&rw);
    wait_until(10 * US);
    sim_rwlock_unlock(&rw);
}

static void reads_for_1_from_10(void *writer)
{
    wait_until(1 * US);
    expect_woken(sim_rwlock_read(&rw), SIM_WAKE_THREAD, writer, 10 * US);
    sim_compute(1 * US);
    sim_rwlock_unlock(&rw);
}

static void readers_that_were_quicker_are_no_wakers(void **state)
{
    (void)state;
    fresh(1);
    struct sim_thread *writer = enter(NULL, writes_till_10, NULL);
    enter(NULL, reads_for_1_from_10, writer);
    enter(NULL, reads_for_1_from_10, writer);
    play(SIM_END_DONE);
    assert_int_equal(sim_now(), 12 * US);
    stage_close();
}

/* ---- conditions */

static void waits_for_notify_at_10(void *notifier)
{
    sim_mutex_lock(&m);
    expect_woken(sim_cond_wait(&c, &m, FOREVER), SIM_WAKE_THREAD, notifier, 10 * US);
    assert_ptr_equal(m.owner, sim_self());
    note(sim_self()->serial);
    note(sim_now());
    sim_mutex_unlock(&m);
}

static void waits_for_notify_at_10_and_the_mutex_till_20(void *notifier)
{
    sim_mutex_lock(&m);
    expect_woken(sim_cond_wait(&c, &m, FOREVER), SIM_WAKE_THREAD, notifier, 10 * US);
    assert_int_equal(sim_now(), 20 * US);
    sim_mutex_unlock(&m);
}

static void notifies_at_10(void *arg)
{
    (void)arg;
    wait_until(10 * US);
    assert_int_equal(sim_cond_notify(&c), 1);
}

static void holds_from_5_till_20(void *arg)
{
    (void)arg;
    wait_until(5 * US);
    sim_mutex_lock(&m);
    wait_until(20 * US);
    sim_mutex_unlock(&m);
}

static void a_thread_that_held_the_mutex_meanwhile_is_no_waker(void **state)
{
    (void)state;
    fresh(2);
    struct sim_thread *notifier = enter("notifier", notifies_at_10, NULL);
    enter("holder", holds_from_5_till_20, NULL);
    enter("waiter", waits_for_notify_at_10_and_the_mutex_till_20, notifier);
    play(SIM_END_DONE);
    stage_close();
}

static void notifies_at_10_and_holds_till_15(void *arg)
{
    (void)arg;
    wait_until(10 * US);
    sim_mutex_lock(&m);
    assert_int_equal(sim_cond_notify(&c), 1);
    wait_until(15 * US);
    sim_mutex_unlock(&m);
}

static void the_waker_of_a_notified_thread_is_the_notifier_not_the_unlocker(void **state)
{
    (void)state;
    fresh(2);
    struct sim_thread *t = enter("notifier", notifies_at_10_and_holds_till_15, NULL);
    enter("waiter", waits_for_notify_at_10, t);
    play(SIM_END_DONE);
    assert_int_equal(notes[1], 15 * US);
    stage_close();
}

static void notifies_all_at_10(void *arg)
{
    (void)arg;
    wait_until(10 * US);
    assert_int_equal(sim_cond_notify_all(&c), 3);
    assert_int_equal(sim_cond_notify_all(&c), 0);
    assert_int_equal(sim_cond_notify(&c), 0);
}

static void notify_all_wakes_all_in_order(void **state)
{
    (void)state;
    fresh(4);
    struct sim_thread *t = enter("notifier", notifies_all_at_10, NULL);
    for (int i = 0; i < 3; i++)
        enter("waiter", waits_for_notify_at_10, t);
    play(SIM_END_DONE);
    const uint64_t expected[] = {1, 10 * US, 2, 10 * US, 3, 10 * US};
    assert_memory_equal(notes, expected, sizeof expected);
    stage_close();
}

static void waits_with_timeouts(void *arg)
{
    (void)arg;
    m.recursive = true;
    sim_mutex_lock(&m);
    sim_mutex_lock(&m);
    sim_compute(US);
    expect_woken(sim_cond_wait(&c, &m, 9 * US), SIM_WAKE_TIMEOUT, NULL, 10 * US);
    assert_int_equal(sim_now(), 10 * US);
    assert_int_equal(m.depth, 2);
    expect_woken(sim_sem_wait(&s, 5 * US), SIM_WAKE_TIMEOUT, NULL, 15 * US);
    expect_woken(sim_park(5 * US), SIM_WAKE_TIMEOUT, NULL, 20 * US);
    expect_woken(sim_sleep_until(25 * US), SIM_WAKE_TIMEOUT, NULL, 25 * US);
    expect_woken(sim_io(5 * US), SIM_WAKE_DEVICE, NULL, 30 * US);
    assert_int_equal(sim_now(), 30 * US);
    assert_int_equal(sim_sleep_until(30 * US), SIM_WAKE_NONE);
}

static void waits_for_each_cause(void *arg)
{
    (void)arg;
    sim_mutex_lock(&m);
    wait_until(10 * US);
    sim_io(10 * US);
    sim_cond_wait(&c, &m, 10 * US);
    sim_compute(10 * US);
}

/* The states of the thread every 10 us, in the middle of each wait. */
static void sees_each_cause(void *other)
{
    static const enum sim_blocked_by expected[] = {SIM_BLOCKED_BY_TIME, SIM_BLOCKED_BY_DEVICE, SIM_BLOCKED_BY_THREAD,
                                                   SIM_BLOCKED_BY_NOTHING, SIM_BLOCKED_BY_NOTHING};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        wait_until((5 + 10 * i) * US);
        assert_int_equal(sim_blocked_by(other), expected[i]);
    }
}

static void the_cause_of_a_wait_is_known(void **state)
{
    (void)state;
    fresh(2);
    struct sim_thread *other = enter("waiter", waits_for_each_cause, NULL);
    enter("observer", sees_each_cause, other);
    play(SIM_END_DONE);
    stage_close();
}

static void timeouts_are_exact_and_have_no_waker(void **state)
{
    (void)state;
    fresh(1);
    enter(NULL, waits_with_timeouts, NULL);
    play(SIM_END_DONE);
    assert_null(c.waiters.first);
    assert_null(s.waiters.first);
    stage_close();
}

/* ---- semaphores, parks, joins, interrupts */

static void takes_three(void *poster)
{
    assert_int_equal(sim_sem_wait(&s, 0), SIM_WAKE_NONE);
    expect_woken(sim_sem_wait(&s, FOREVER), SIM_WAKE_THREAD, poster, 10 * US);
    expect_woken(sim_sem_wait(&s, FOREVER), SIM_WAKE_DEVICE, NULL, 12 * US);
}

static void posts_at_10(void *arg)
{
    (void)arg;
    wait_until(10 * US);
    sim_sem_post(&s);
}

static void posts(void *sem)
{
    sim_sem_post(sem);
}

static void waits_with_a_deadline_then_without(void *poster)
{
    expect_woken(sim_sem_wait(&s, 50 * US), SIM_WAKE_THREAD, poster, 10 * US);
    expect_woken(sim_sem_wait(&s, FOREVER), SIM_WAKE_THREAD, poster, 100 * US);
}

static void posts_at_10_and_100(void *arg)
{
    (void)arg;
    wait_until(10 * US);
    sim_sem_post(&s);
    wait_until(100 * US);
    sim_sem_post(&s);
}

static void a_deadline_ends_with_its_wait(void **state)
{
    (void)state;
    fresh(2);
    struct sim_thread *poster = enter("poster", posts_at_10_and_100, NULL);
    enter("waiter", waits_with_a_deadline_then_without, poster);
    play(SIM_END_DONE);
    stage_close();
}

static void a_semaphore_hands_over_and_distinguishes_threads_from_devices(void **state)
{
    (void)state;
    fresh(1);
    s.count = 1;
    assert_int_equal(sim_at(kernel, 12 * US, posts, &s), STROBE_OK);
    struct sim_thread *t = enter(NULL, posts_at_10, NULL);
    enter(NULL, takes_three, t);
    play(SIM_END_DONE);
    assert_int_equal(s.count, 0);
    stage_close();
}

static struct sim_thread *parked;

static void parks(void *unparker)
{
    wait_until(2 * US);
    assert_int_equal(sim_park(FOREVER), SIM_WAKE_NONE);
    expect_woken(sim_park(FOREVER), SIM_WAKE_THREAD, unparker, 10 * US);
}

static void unparks(void *arg)
{
    (void)arg;
    sim_unpark(parked);
    sim_unpark(parked);
    wait_until(10 * US);
    sim_unpark(parked);
}

static void a_thread_has_one_permit(void **state)
{
    (void)state;
    fresh(2);
    struct sim_thread *t = enter(NULL, unparks, NULL);
    parked = enter(NULL, parks, t);
    play(SIM_END_DONE);
    stage_close();
}

static void joins(void *thread)
{
    expect_woken(sim_join(thread), SIM_WAKE_THREAD, thread, 10 * US);
    assert_int_equal(sim_join(thread), SIM_WAKE_NONE);
}

static void ends_at_10(void *arg)
{
    (void)arg;
    wait_until(8 * US);
    sim_charge(2 * US);
}

static void a_join_ends_with_the_thread(void **state)
{
    (void)state;
    fresh(2);
    struct sim_thread *t = enter(NULL, ends_at_10, NULL);
    enter(NULL, joins, t);
    enter(NULL, joins, t);
    play(SIM_END_DONE);
    stage_close();
}

static void is_interrupted(void *arg)
{
    (void)arg;
    expect_woken(sim_sleep_until(FOREVER), SIM_WAKE_INTERRUPT, NULL, 1 * US);
    expect_woken(sim_park(FOREVER), SIM_WAKE_INTERRUPT, NULL, 2 * US);
    expect_woken(sim_sem_wait(&s, FOREVER), SIM_WAKE_INTERRUPT, NULL, 3 * US);
    sim_mutex_lock(&m);
    expect_woken(sim_cond_wait(&c, &m, FOREVER), SIM_WAKE_INTERRUPT, NULL, 4 * US);
    expect_woken(sim_io(1500), SIM_WAKE_DEVICE, NULL, 5500);
}

static void interrupts(void *thread)
{
    for (uint64_t at = US; at <= 6 * US; at += US) {
        wait_until(at);
        sim_interrupt(thread);
    }
}

static void interrupts_end_what_may_be_interrupted(void **state)
{
    (void)state;
    fresh(2);
    struct sim_thread *t = enter(NULL, is_interrupted, NULL);
    enter(NULL, interrupts, t);
    play(SIM_END_DONE);
    assert_null(s.waiters.first);
    stage_close();
}

/* ---- deadlocks */

static void locks_two(void *order)
{
    struct sim_mutex **both = order;
    sim_mutex_lock(both[0]);
    sim_compute(US);
    sim_mutex_lock(both[1]);
}

static void naps(void *arg)
{
    (void)arg;
    for (;;)
        sim_sleep_until(sim_now() + MS);
}

static void a_cycle_of_owners_is_named_though_others_go_on(void **state)
{
    (void)state;
    struct sim_mutex *there[] = {&m, &m2}, *back[] = {&m2, &m};
    fresh(2);
    enter("main", locks_two, there);
    enter("worker-1", locks_two, back);
    enter("other", naps, NULL);
    play(SIM_END_DEADLOCK);
    assert_string_equal(error.text, "deadlock: worker-1 waits for L1 held by main, main waits for L2 held by worker-1");
    assert_int_equal(sim_now(), US);
    stage_close();
}

static void locks_itself_out(void *arg)
{
    (void)arg;
    sim_mutex_lock(&m);
    sim_mutex_lock(&m);
}

static void writes_then_joins(void *thread)
{
    sim_rwlock_write(&rw);
    sim_join(thread);
}

static void reads_later(void *arg)
{
    (void)arg;
    sim_compute(US);
    sim_rwlock_read(&rw);
}

static void cycles_go_through_joins_writers_and_oneself(void **state)
{
    (void)state;
    fresh(1);
    enter("main", locks_itself_out, NULL);
    play(SIM_END_DEADLOCK);
    assert_string_equal(error.text, "deadlock: main waits for L1 held by main");
    stage_close();

    fresh(2);
    struct sim_thread *t = enter("reader", reads_later, NULL);
    enter("main", writes_then_joins, t);
    play(SIM_END_DEADLOCK);
    assert_string_equal(error.text, "deadlock: reader waits for RW held by main, main waits for the end of reader");
    stage_close();
}

static void waits_for_nobody(void *arg)
{
    (void)arg;
    sim_mutex_lock(&m);
    sim_cond_wait(&c, &m, FOREVER);
}

static void locks_and_leaves(void *arg)
{
    (void)arg;
    sim_mutex_lock(&m2);
}

static void locks_what_was_left(void *arg)
{
    (void)arg;
    sim_compute(US);
    sim_mutex_lock(&m2);
}

static void when_nothing_can_run_all_waits_are_reported(void **state)
{
    (void)state;
    fresh(2);
    enter("main", waits_for_nobody, NULL);
    enter("gone", locks_and_leaves, NULL);
    enter(NULL, locks_what_was_left, NULL);
    play(SIM_END_DEADLOCK);
    assert_string_equal(error.text, "deadlock: nothing can move: main waits for C, "
                                    "thread 3 waits for L2 held by gone, which has ended");
    stage_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_waiter_receives_its_releaser_and_the_time_of_release),
        cmocka_unit_test(a_waiter_overtaken_on_its_way_waits_again),
        cmocka_unit_test(a_release_wakes_no_thread_while_a_woken_waiter_is_on_its_way),
        cmocka_unit_test(a_waiter_that_is_killed_on_its_way_leaves_the_mutex_to_the_next),
        cmocka_unit_test(the_longest_waiter_is_woken_first),
        cmocka_unit_test(a_recursive_mutex_is_free_when_all_its_locks_are),
        cmocka_unit_test(readers_share_writers_do_not),
        cmocka_unit_test(a_try_takes_a_readers_lock_only_when_a_wait_would_not_be_needed),
        cmocka_unit_test(readers_that_were_quicker_are_no_wakers),
        cmocka_unit_test(a_thread_that_held_the_mutex_meanwhile_is_no_waker),
        cmocka_unit_test(the_waker_of_a_notified_thread_is_the_notifier_not_the_unlocker),
        cmocka_unit_test(notify_all_wakes_all_in_order),
        cmocka_unit_test(the_cause_of_a_wait_is_known),
        cmocka_unit_test(timeouts_are_exact_and_have_no_waker),
        cmocka_unit_test(a_deadline_ends_with_its_wait),
        cmocka_unit_test(a_semaphore_hands_over_and_distinguishes_threads_from_devices),
        cmocka_unit_test(a_thread_has_one_permit),
        cmocka_unit_test(a_join_ends_with_the_thread),
        cmocka_unit_test(interrupts_end_what_may_be_interrupted),
        cmocka_unit_test(a_cycle_of_owners_is_named_though_others_go_on),
        cmocka_unit_test(cycles_go_through_joins_writers_and_oneself),
        cmocka_unit_test(when_nothing_can_run_all_waits_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
