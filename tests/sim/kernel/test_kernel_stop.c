/* Stopping virtual threads in each state, by signal and immediately, in time and too late; and killing them (S-40). */
#include "tests/sim/support/stage.h"

static const uint64_t SIGNAL_NS = 4000;

static struct sim_mutex m;
static struct sim_sem s;
static struct sim_thread *target;
static enum strobe_status status;

static void fresh(uint32_t cores)
{
    m = (struct sim_mutex){.name = "m"};
    s = (struct sim_sem){.name = "s"};
    stage_open(&(struct sim_kernel_options){.cores = cores, .signal_ns = SIGNAL_NS, .limit_ns = UINT64_MAX});
}

static void computes_100_us(void *arg)
{
    (void)arg;
    sim_compute(100 * US);
    note(sim_now());
}

/* Stops the target at 10 us and continues it 20 us after it stopped. */
static void stops_by_signal(void *arg)
{
    (void)arg;
    sim_sleep_until(10 * US);
    status = sim_stop(target, SIM_STOP_SIGNAL, MS);
    note(sim_now());
    note(target->state);
    note(target->compute_left_ns);
    note(sim_stopped_count(kernel));
    sim_compute(20 * US);
    assert_int_equal(sim_continue(target), STROBE_OK);
    assert_int_equal(sim_continue(target), STROBE_NO_ENTRY);
    assert_int_equal(sim_stopped_count(kernel), 0);
}

static void stops_at_once(void *arg)
{
    (void)arg;
    sim_sleep_until(10 * US);
    status = sim_stop(target, SIM_STOP_AT_ONCE, 0);
    note(sim_now());
    note(target->state);
    note(target->compute_left_ns);
    note(sim_stopped_count(kernel));
    sim_compute(20 * US);
    assert_int_equal(sim_continue(target), STROBE_OK);
}

static void expect_notes(const uint64_t *expected, size_t bytes)
{
    assert_int_equal(note_count, bytes / sizeof *expected);
    assert_memory_equal(notes, expected, bytes);
}

static void a_running_thread_stops_when_the_signal_has_come(void **state)
{
    (void)state;
    fresh(2);
    target = enter("target", computes_100_us, NULL);
    enter("stopper", stops_by_signal, NULL);
    play(SIM_END_DONE);
    assert_int_equal(status, STROBE_OK);
    const uint64_t expected[] = {14 * US, SIM_READY, 86 * US, 1, 120 * US};
    expect_notes(expected, sizeof expected);
    assert_int_equal(target->held_ns, 20 * US);
    assert_int_equal(sim_cpu_ns(target), 100 * US);
    stage_close();
}

static void a_running_thread_stops_at_once(void **state)
{
    (void)state;
    fresh(2);
    target = enter("target", computes_100_us, NULL);
    enter("stopper", stops_at_once, NULL);
    play(SIM_END_DONE);
    const uint64_t expected[] = {10 * US, SIM_READY, 90 * US, 1, 120 * US};
    expect_notes(expected, sizeof expected);
    assert_int_equal(target->held_ns, 20 * US);
    stage_close();
}

static void pays_debt_then_computes(void *arg)
{
    (void)arg;
    sim_charge(30 * US);
    sim_compute(100 * US);
    note(sim_now());
}

static void what_was_charged_is_computed_before_the_compute(void **state)
{
    (void)state;
    fresh(2);
    target = enter("target", pays_debt_then_computes, NULL);
    enter("stopper", stops_at_once, NULL);
    play(SIM_END_DONE);
    const uint64_t expected[] = {10 * US, SIM_READY, 100 * US, 1, 150 * US};
    expect_notes(expected, sizeof expected);
    stage_close();
}

/* ---- a target that waits for a core
 *
 * There are two cores. Realtime threads occupy both from 8 us to 40 us: one from 5 to 40, the stopper from 8 to 10, and
 * a third from 10 to 45. */

static void is_realtime_from_5_to_40(void *arg)
{
    (void)arg;
    sim_sleep_until(5 * US);
    sim_compute(35 * US);
}

static void is_realtime_from_10_to_45(void *arg)
{
    (void)arg;
    sim_sleep_until(9 * US);
    sim_compute(35 * US);
}

static void enter_realtime(void (*entry)(void *arg))
{
    const struct sim_thread_options options = {.name = "realtime", .realtime = true, .entry = entry};
    assert_non_null(sim_thread_start(kernel, &options));
}

static void enter_crowd(void (*stops)(void *arg))
{
    enter_realtime(is_realtime_from_5_to_40);
    enter_realtime(stops);
    enter_realtime(is_realtime_from_10_to_45);
}

static void stops_by_signal_from_line(void *arg)
{
    sim_sleep_until(8 * US);
    sim_compute(2 * US);
    stops_by_signal(arg);
}

static void a_ready_thread_is_signalled_when_it_comes_on_a_core(void **state)
{
    (void)state;
    fresh(2);
    enter_crowd(stops_by_signal_from_line);
    target = enter("target", computes_100_us, NULL);
    play(SIM_END_DONE);
    assert_int_equal(status, STROBE_OK);
    const uint64_t expected[] = {40 * US, SIM_READY, 92 * US, 1, 152 * US};
    expect_notes(expected, sizeof expected);
    assert_int_equal(target->held_ns, 20 * US);
    stage_close();
}

static void stops_at_once_from_line(void *arg)
{
    sim_sleep_until(8 * US);
    sim_compute(2 * US);
    stops_at_once(arg);
}

static void a_ready_thread_stops_immediately(void **state)
{
    (void)state;
    fresh(2);
    enter_crowd(stops_at_once_from_line);
    target = enter("target", computes_100_us, NULL);
    play(SIM_END_DONE);
    const uint64_t expected[] = {10 * US, SIM_READY, 92 * US, 1, 132 * US};
    expect_notes(expected, sizeof expected);
    assert_int_equal(target->held_ns, 20 * US);
    stage_close();
}

/* ---- a target that is blocked */

static void sleeps(void *arg)
{
    (void)arg;
    enum sim_wake how = sim_sleep_until(50 * US);
    note(how);
    note(sim_now());
}

static void a_signal_ends_a_wait_that_may_be_interrupted(void **state)
{
    (void)state;
    fresh(2);
    target = enter("target", sleeps, NULL);
    enter("stopper", stops_by_signal, NULL);
    play(SIM_END_DONE);
    const uint64_t expected[] = {14 * US, SIM_READY, 0, 1, SIM_WAKE_INTERRUPT, 34 * US};
    expect_notes(expected, sizeof expected);
    assert_int_equal(target->held_ns, 20 * US);
    stage_close();
}

static void a_stop_at_once_leaves_a_wait_alone(void **state)
{
    (void)state;
    fresh(2);
    target = enter("target", sleeps, NULL);
    enter("stopper", stops_at_once, NULL);
    play(SIM_END_DONE);
    const uint64_t expected[] = {10 * US, SIM_BLOCKED, 0, 1, SIM_WAKE_TIMEOUT, 50 * US};
    expect_notes(expected, sizeof expected);
    assert_int_equal(target->held_ns, 0);
    stage_close();
}

static void sleeps_till_20(void *arg)
{
    (void)arg;
    enum sim_wake how = sim_sleep_until(20 * US);
    note(how);
    note(sim_self()->woken_ns);
    note(sim_now());
}

static void a_wait_that_ends_during_a_stop_continues_at_the_resume(void **state)
{
    (void)state;
    fresh(2);
    target = enter("target", sleeps_till_20, NULL);
    enter("stopper", stops_at_once, NULL);
    play(SIM_END_DONE);
    const uint64_t expected[] = {10 * US, SIM_BLOCKED, 0, 1, SIM_WAKE_TIMEOUT, 20 * US, 30 * US};
    expect_notes(expected, sizeof expected);
    assert_int_equal(target->held_ns, 10 * US);
    stage_close();
}

static void waits_for_a_lock(void *arg)
{
    (void)arg;
    sim_compute(US);
    note(sim_mutex_lock(&m));
    note(sim_self()->woken_ns);
    note(sim_now());
}

static void holds_till_50(void *arg)
{
    (void)arg;
    sim_mutex_lock(&m);
    sim_sleep_until(50 * US);
    sim_mutex_unlock(&m);
}

static void holds_till_20(void *arg)
{
    (void)arg;
    sim_mutex_lock(&m);
    sim_sleep_until(20 * US);
    sim_mutex_unlock(&m);
}

static void a_signal_leaves_the_wait_for_a_lock_as_it_is(void **state)
{
    (void)state;
    fresh(4);
    enter("holder", holds_till_50, NULL);
    target = enter("target", waits_for_a_lock, NULL);
    enter("stopper", stops_by_signal, NULL);
    play(SIM_END_DONE);
    const uint64_t expected[] = {14 * US, SIM_BLOCKED, 0, 1, SIM_WAKE_THREAD, 50 * US, 50 * US};
    expect_notes(expected, sizeof expected);
    assert_int_equal(target->held_ns, 0);
    stage_close();

    fresh(4);
    enter("holder", holds_till_20, NULL);
    target = enter("target", waits_for_a_lock, NULL);
    enter("stopper", stops_by_signal, NULL);
    play(SIM_END_DONE);
    const uint64_t late[] = {14 * US, SIM_BLOCKED, 0, 1, SIM_WAKE_THREAD, 20 * US, 34 * US};
    expect_notes(late, sizeof late);
    assert_int_equal(target->held_ns, 14 * US);
    stage_close();
}

/* ---- stops that come too late, targets that ended */

static void gives_up_early(void *arg)
{
    (void)arg;
    sim_sleep_until(10 * US);
    status = sim_stop(target, SIM_STOP_SIGNAL, SIGNAL_NS / 2);
    note(sim_now());
    note(sim_stopped_count(kernel));
}

static void a_stop_that_comes_too_late_is_withdrawn(void **state)
{
    (void)state;
    fresh(2);
    target = enter("target", computes_100_us, NULL);
    enter("stopper", gives_up_early, NULL);
    play(SIM_END_DONE);
    assert_int_equal(status, STROBE_LATE);
    const uint64_t expected[] = {12 * US, 0, 100 * US};
    expect_notes(expected, sizeof expected);
    assert_int_equal(target->held_ns, 0);
    stage_close();
}

static void stops_twice(void *arg)
{
    (void)arg;
    sim_sleep_until(10 * US);
    note(sim_stop(target, SIM_STOP_AT_ONCE, MS));
    note(sim_stop(target, SIM_STOP_AT_ONCE, MS));
    note(sim_stop(target, SIM_STOP_SIGNAL, MS));
    note(sim_continue(target));
    note(sim_continue(target));
}

static void a_stopped_thread_is_not_stopped_again(void **state)
{
    (void)state;
    fresh(2);
    target = enter("target", computes_100_us, NULL);
    enter("stopper", stops_twice, NULL);
    play(SIM_END_DONE);
    const uint64_t expected[] = {STROBE_OK, STROBE_LATE, STROBE_LATE, STROBE_OK, STROBE_NO_ENTRY, 100 * US};
    expect_notes(expected, sizeof expected);
    stage_close();
}

/* When the stopper gives up, the signal has woken the target, which still waits for a core behind realtime threads. */
static void gives_up_late(void *arg)
{
    (void)arg;
    sim_sleep_until(8 * US);
    sim_compute(2 * US);
    status = sim_stop(target, SIM_STOP_SIGNAL, 3 * SIGNAL_NS);
    note(sim_self()->woken_ns);
}

static void a_stop_that_was_given_up_leaves_its_target_alone(void **state)
{
    (void)state;
    fresh(2);
    enter("holder", holds_till_50, NULL);
    target = enter("target", waits_for_a_lock, NULL);
    enter_crowd(gives_up_late);
    play(SIM_END_DONE);
    assert_int_equal(status, STROBE_LATE);
    const uint64_t expected[] = {22 * US, SIM_WAKE_THREAD, 50 * US, 50 * US};
    expect_notes(expected, sizeof expected);
    stage_close();
}

static void ends_at_12(void *arg)
{
    (void)arg;
    sim_compute(12 * US);
}

static void finds_it_gone(void *arg)
{
    (void)arg;
    sim_sleep_until(10 * US);
    note(sim_stop(target, SIM_STOP_SIGNAL, MS));
    note(sim_now());
    note(sim_stop(target, SIM_STOP_SIGNAL, MS));
    note(sim_stop(target, SIM_STOP_AT_ONCE, MS));
    note(sim_continue(target));
}

static void a_thread_that_ends_first_is_gone(void **state)
{
    (void)state;
    fresh(2);
    target = enter("target", ends_at_12, NULL);
    enter("stopper", finds_it_gone, NULL);
    play(SIM_END_DONE);
    const uint64_t expected[] = {STROBE_GONE, 12 * US, STROBE_GONE, STROBE_GONE, STROBE_NO_ENTRY};
    expect_notes(expected, sizeof expected);
    stage_close();
}

/* ---- kills */

static void kills_at_10(void *arg)
{
    (void)arg;
    sim_sleep_until(10 * US);
    sim_kill(target);
    sim_kill(target);
    assert_int_equal(target->state, SIM_ENDED);
    note(sim_now());
}

static void takes_and_computes(void *arg)
{
    (void)arg;
    sim_mutex_lock(&m);
    sim_compute(100 * US);
}

static void joins_it(void *arg)
{
    (void)arg;
    assert_int_equal(sim_join(target), SIM_WAKE_THREAD);
    note(sim_now());
    note(m.owner == target);
}

static void a_killed_thread_runs_no_more_and_keeps_its_locks(void **state)
{
    (void)state;
    void (*const entries[])(void *) = {takes_and_computes, holds_till_50};
    for (int i = 0; i < 2; i++) {
        fresh(2);
        target = enter("target", entries[i], NULL);
        enter("killer", kills_at_10, NULL);
        enter("joiner", joins_it, NULL);
        play(SIM_END_DONE);
        const uint64_t expected[] = {10 * US, 10 * US, 1};
        expect_notes(expected, sizeof expected);
        assert_int_equal(sim_cpu_ns(target), i == 0 ? 10 * US : 0);
        stage_close();
    }
}

static void kills_whom_it_stopped(void *arg)
{
    (void)arg;
    sim_sleep_until(10 * US);
    assert_int_equal(sim_stop(target, SIM_STOP_AT_ONCE, 0), STROBE_OK);
    sim_compute(5 * US);
    sim_kill(target);
    note(sim_stopped_count(kernel));
    note(target->held_ns);
}

static void a_stopped_thread_can_be_killed(void **state)
{
    (void)state;
    fresh(2);
    target = enter("target", computes_100_us, NULL);
    enter("killer", kills_whom_it_stopped, NULL);
    play(SIM_END_DONE);
    const uint64_t expected[] = {0, 5 * US};
    expect_notes(expected, sizeof expected);
    stage_close();
}

static struct sim_thread *stopper;

static void kills_the_stopper(void *arg)
{
    (void)arg;
    sim_sleep_until(12 * US);
    sim_kill(stopper);
}

static void a_killed_stopper_stops_no_thread(void **state)
{
    (void)state;
    fresh(4);
    target = enter("target", computes_100_us, NULL);
    stopper = enter("stopper", stops_by_signal, NULL);
    enter("killer", kills_the_stopper, NULL);
    play(SIM_END_DONE);
    assert_int_equal(note_count, 1);
    assert_int_equal(notes[0], 100 * US);
    stage_close();
}

static void releases_and_kills(void *arg)
{
    (void)arg;
    sim_mutex_lock(&m);
    sim_sleep_until(10 * US);
    sim_mutex_unlock(&m);
    sim_kill(target);
}

static void a_lock_passes_on_when_its_next_owner_is_killed(void **state)
{
    (void)state;
    fresh(4);
    enter("holder", releases_and_kills, NULL);
    target = enter("target", waits_for_a_lock, NULL);
    enter("next", waits_for_a_lock, NULL);
    play(SIM_END_DONE);
    const uint64_t expected[] = {SIM_WAKE_THREAD, 10 * US, 10 * US};
    expect_notes(expected, sizeof expected);
    stage_close();
}

static void kills_outright(void *thread)
{
    sim_kill(*(struct sim_thread **)thread);
}

static void a_callback_may_kill_the_running_thread(void **state)
{
    (void)state;
    fresh(1);
    target = enter("target", computes_100_us, NULL);
    assert_int_equal(sim_at(kernel, 30 * US, kills_outright, &target), STROBE_OK);
    play(SIM_END_DONE);
    assert_int_equal(sim_now(), 30 * US);
    stage_close();
}

/* ---- cycles of waits that include stops */

static struct sim_mutex zone, other_lock;
static struct sim_thread *second;

static void fresh_locks(uint32_t cores)
{
    fresh(cores);
    zone = (struct sim_mutex){.name = "malloc zone"};
    other_lock = (struct sim_mutex){.name = "L2"};
}

static void allocates(void *arg)
{
    (void)arg;
    sim_mutex_lock(&zone);
    sim_compute(20 * US);
    sim_mutex_unlock(&zone);
    note(sim_now());
}

static void stop_target_at(uint64_t at)
{
    sim_sleep_until(at);
    assert_int_equal(sim_stop(target, SIM_STOP_AT_ONCE, 0), STROBE_OK);
}

static void allocates_in_the_window(void *arg)
{
    (void)arg;
    stop_target_at(10 * US);
    sim_mutex_lock(&zone);
    sim_mutex_unlock(&zone);
    sim_continue(target);
}

static void a_thread_that_waits_for_one_it_stopped_is_a_deadlock_immediately(void **state)
{
    (void)state;
    fresh_locks(2);
    target = enter("worker-1", allocates, NULL);
    enter("sampler", allocates_in_the_window, NULL);
    enter("other", sleeps_till_20, NULL);
    play(SIM_END_DEADLOCK);
    assert_string_equal(error.text, "deadlock: sampler waits for malloc zone held by worker-1, "
                                    "worker-1 is stopped by sampler");
    assert_int_equal(sim_now(), 10 * US);
    stage_close();
}

static void allocates_under_a_lock(void *arg)
{
    (void)arg;
    sim_mutex_lock(&other_lock);
    sim_compute(2 * US);
    sim_mutex_lock(&zone);
}

static void locks_in_the_window(void *arg)
{
    (void)arg;
    stop_target_at(10 * US);
    sim_mutex_lock(&other_lock);
}

static void circles_of_three_are_found_through_stops(void **state)
{
    (void)state;
    fresh_locks(2);
    target = enter("worker-1", allocates, NULL);
    enter("worker-2", allocates_under_a_lock, NULL);
    enter("sampler", locks_in_the_window, NULL);
    play(SIM_END_DEADLOCK);
    assert_string_equal(error.text, "deadlock: sampler waits for L2 held by worker-2, "
                                    "worker-2 waits for malloc zone held by worker-1, worker-1 is stopped by sampler");
    stage_close();
}

/* worker-1 waits for a lock and is stopped. It continues only after both end; the stop never ends. */
static void a_stopped_waiter_waits_for_its_stopper_and_for_the_owner(void **state)
{
    (void)state;
    fresh_locks(2);
    enter("main", allocates, NULL);
    target = enter("worker-1", allocates_under_a_lock, NULL);
    enter("sampler", locks_in_the_window, NULL);
    play(SIM_END_DEADLOCK);
    assert_string_equal(error.text, "deadlock: sampler waits for L2 held by worker-1, worker-1 is stopped by sampler");
    stage_close();
}

static void stops_and_locks_what_is_free(void *arg)
{
    (void)arg;
    stop_target_at(10 * US);
    sim_mutex_lock(&other_lock);
    sim_mutex_unlock(&other_lock);
    sim_compute(5 * US);
    sim_continue(target);
}

static void allocates_at_12(void *arg)
{
    (void)arg;
    sim_sleep_until(12 * US);
    sim_mutex_lock(&zone);
    note(sim_now());
    sim_mutex_unlock(&zone);
}

static void releases_at_15(void *arg)
{
    (void)arg;
    sim_mutex_lock(&other_lock);
    sim_sleep_until(15 * US);
    assert_int_equal(sim_continue(target), STROBE_OK);
    sim_mutex_unlock(&other_lock);
}

static void a_wait_for_a_thread_that_will_run_is_no_deadlock(void **state)
{
    (void)state;
    fresh_locks(2);
    target = enter("worker-1", allocates, NULL);
    enter("worker-2", allocates_at_12, NULL);
    enter("sampler", stops_and_locks_what_is_free, NULL);
    play(SIM_END_DONE);
    const uint64_t continued[] = {25 * US, 25 * US};
    expect_notes(continued, sizeof continued);
    stage_close();

    fresh_locks(2);
    target = enter("worker-1", allocates, NULL);
    enter("helper", releases_at_15, NULL);
    enter("sampler", locks_in_the_window, NULL);
    play(SIM_END_DONE);
    const uint64_t by_a_third[] = {25 * US};
    expect_notes(by_a_third, sizeof by_a_third);
    stage_close();
}

static void hands_over_in_the_window(void *arg)
{
    stop_target_at(10 * US);
    sim_held_by(target, arg ? second : NULL);
    sim_mutex_lock(&zone);
    sim_mutex_unlock(&zone);
}

static void releases_at_12(void *arg)
{
    (void)arg;
    sim_sleep_until(12 * US);
    assert_int_equal(sim_continue(target), STROBE_OK);
}

static void a_stop_that_was_handed_over_belongs_to_the_other_thread(void **state)
{
    (void)state;
    for (uintptr_t known = 0; known < 2; known++) {
        fresh_locks(2);
        target = enter("worker-1", allocates, NULL);
        second = enter("watchdog", releases_at_12, NULL);
        enter("sampler", hands_over_in_the_window, (void *)known);
        play(SIM_END_DONE);
        stage_close();
    }
}

static void hands_over_at_15(void *arg)
{
    (void)arg;
    stop_target_at(10 * US);
    sim_sleep_until(15 * US);
    sim_held_by(target, second);
    sim_compute(US);
    note(sim_now());
}

static void a_hand_over_may_close_a_circle(void **state)
{
    (void)state;
    fresh_locks(2);
    target = enter("worker-1", allocates, NULL);
    second = enter("watchdog", allocates_at_12, NULL);
    enter("sampler", hands_over_at_15, NULL);
    play(SIM_END_DEADLOCK);
    assert_string_equal(error.text, "deadlock: worker-1 is stopped by watchdog, "
                                    "watchdog waits for malloc zone held by worker-1");
    assert_int_equal(note_count, 0);
    stage_close();
}

static void waits_for_post(void *patience_ns)
{
    sim_mutex_lock(&zone);
    sim_sem_wait(&s, *(uint64_t *)patience_ns);
    sim_mutex_unlock(&zone);
}

static void allocates_before_it_posts(void *arg)
{
    (void)arg;
    sim_sleep_until(10 * US);
    sim_mutex_lock(&zone);
    sim_sem_post(&s);
}

static void a_wait_without_timeout_waits_for_the_only_thread_that_posts(void **state)
{
    (void)state;
    uint64_t ever = FOREVER, a_while = 20 * US;
    fresh_locks(2);
    enter("worker-1", waits_for_post, &ever);
    s.giver = enter("sampler", allocates_before_it_posts, NULL);
    play(SIM_END_DEADLOCK);
    assert_string_equal(error.text, "deadlock: sampler waits for malloc zone held by worker-1, "
                                    "worker-1 waits for s from sampler");
    stage_close();

    fresh_locks(2);
    enter("worker-1", waits_for_post, &a_while);
    s.giver = enter("sampler", allocates_before_it_posts, NULL);
    play(SIM_END_DONE);
    stage_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_running_thread_stops_when_the_signal_has_come),
        cmocka_unit_test(a_running_thread_stops_at_once),
        cmocka_unit_test(what_was_charged_is_computed_before_the_compute),
        cmocka_unit_test(a_ready_thread_is_signalled_when_it_comes_on_a_core),
        cmocka_unit_test(a_ready_thread_stops_immediately),
        cmocka_unit_test(a_signal_ends_a_wait_that_may_be_interrupted),
        cmocka_unit_test(a_stop_at_once_leaves_a_wait_alone),
        cmocka_unit_test(a_wait_that_ends_during_a_stop_continues_at_the_resume),
        cmocka_unit_test(a_signal_leaves_the_wait_for_a_lock_as_it_is),
        cmocka_unit_test(a_stop_that_comes_too_late_is_withdrawn),
        cmocka_unit_test(a_stop_that_was_given_up_leaves_its_target_alone),
        cmocka_unit_test(a_stopped_thread_is_not_stopped_again),
        cmocka_unit_test(a_thread_that_ends_first_is_gone),
        cmocka_unit_test(a_killed_thread_runs_no_more_and_keeps_its_locks),
        cmocka_unit_test(a_stopped_thread_can_be_killed),
        cmocka_unit_test(a_killed_stopper_stops_no_thread),
        cmocka_unit_test(a_lock_passes_on_when_its_next_owner_is_killed),
        cmocka_unit_test(a_callback_may_kill_the_running_thread),
        cmocka_unit_test(a_thread_that_waits_for_one_it_stopped_is_a_deadlock_immediately),
        cmocka_unit_test(circles_of_three_are_found_through_stops),
        cmocka_unit_test(a_stopped_waiter_waits_for_its_stopper_and_for_the_owner),
        cmocka_unit_test(a_wait_for_a_thread_that_will_run_is_no_deadlock),
        cmocka_unit_test(a_stop_that_was_handed_over_belongs_to_the_other_thread),
        cmocka_unit_test(a_hand_over_may_close_a_circle),
        cmocka_unit_test(a_wait_without_timeout_waits_for_the_only_thread_that_posts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
