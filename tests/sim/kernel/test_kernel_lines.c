/* The fair schedule with one run queue per core (sim/kernel/lines.c): which thread runs next, and on which core. */
#include "tests/sim/support/stage.h"

static const uint64_t TURN = 1400000, TICK = 4000000;

static void stage_weighing_lines(uint32_t cores, uint64_t limit_ns, bool weighs_wakeups)
{
    stage_open(
        &(struct sim_kernel_options){.seed = 1,
                                     .cores = cores,
                                     .slice_ns = TICK,
                                     .limit_ns = limit_ns,
                                     .weighs_wakeups = weighs_wakeups,
                                     .machine = {.turn_ns = TURN, .wake_call = {{1000, 1000, 1000, 1000, 1000}}}});
}

static void stage_lines(uint32_t cores, uint64_t limit_ns)
{
    stage_weighing_lines(cores, limit_ns, false);
}

static uint64_t core_of_self(void)
{
    uint64_t core = 0;
    while (on_core[core] != sim_self())
        core++;
    return core;
}

static void computes_for_ever(void *unused)
{
    (void)unused;
    for (;;)
        sim_compute(100 * US);
}

static void computes(void *ns)
{
    sim_compute(*(const uint64_t *)ns);
    note(sim_now());
}

/* ---- shares of a core */

static void threads_share_a_core_by_their_weights_and_change_at_ticks(void **state)
{
    (void)state;
    static const int nice[] = {0, 5, -5, 19};
    static const double weight[] = {1024, 335, 3121, 15};
    struct sim_thread *t[4];
    uint64_t switches = 0;
    stage_lines(1, 20000 * MS);
    for (uint32_t i = 0; i < 4; i++)
        t[i] = sim_thread_start(kernel, &(struct sim_thread_options){.nice = nice[i], .entry = computes_for_ever});
    play(SIM_END_LIMIT);
    for (uint32_t i = 0; i < 4; i++) {
        double share = 20e9 * weight[i] / (1024 + 335 + 3121 + 15), has = (double)sim_cpu_ns(t[i]);
        assert_true(has > share * 0.96 - 8e6 && has < share * 1.04 + 8e6);
        switches += t[i]->involuntary_switches;
    }
    assert_in_range(switches, 100, 20000 * MS / TICK);
    stage_close();
}

static void two_threads_take_turns_at_each_tick(void **state)
{
    (void)state;
    uint64_t ns = 10 * MS;
    stage_lines(1, FOREVER);
    enter("a", computes, &ns);
    enter("b", computes, &ns);
    play(SIM_END_DONE);
    const uint64_t expected[] = {18 * MS, 20 * MS}; /* a: 0 to 4, 8 to 12, 16 to 18 */
    assert_memory_equal(notes, expected, sizeof expected);
    stage_close();
}

/* ---- readings of CPU clocks */

/* The first turn of a new thread is half as long as its later ones. */
#define FIRST_TURN (TURN / 2)

static void computes_then_reads_its_clock(void *ns)
{
    sim_compute(*(const uint64_t *)ns);
    note(sim_read_cpu_ns(sim_self()));
    note(sim_now());
}

/* Returns when a thread goes on that has computed for `ns` and then reads its clock, beside another thread. */
static uint64_t goes_on_after_reading(uint64_t ns)
{
    uint64_t long_ns = 10 * MS;
    stage_lines(1, FOREVER);
    enter("reader", computes_then_reads_its_clock, &ns);
    enter("other", computes, &long_ns);
    play(SIM_END_DONE);
    assert_int_equal(notes[0], ns);
    stage_close();
    return notes[1];
}

static void a_thread_that_reads_its_clock_gives_way_when_its_turn_is_over(void **state)
{
    (void)state;
    assert_int_equal(goes_on_after_reading(FIRST_TURN - US), FIRST_TURN - US);
    assert_int_equal(goes_on_after_reading(FIRST_TURN + US), TICK); /* the tick ends the other thread's turn */
}

static void reads_its_clock(struct sim_thread *self, void *unused)
{
    (void)unused;
    sim_read_cpu_ns(self);
}

static void computes_with_ticks(void *ns)
{
    struct sim_cpu_timer timer = {.mode = SIM_CPU_TIMER_EXACT, .period_ns = MS, .fn = reads_its_clock};
    assert_int_equal(sim_cpu_timer(sim_self(), &timer), STROBE_OK);
    sim_compute(*(const uint64_t *)ns);
    note(sim_cpu_ns(sim_self()));
}

/* The reader gives way in its timer's function, in the middle of a compute. */
static void a_compute_has_its_length_although_its_thread_gives_way_in_a_tick(void **state)
{
    (void)state;
    uint64_t long_ns = 10 * MS;
    stage_lines(1, FOREVER);
    enter("reader", computes_with_ticks, &long_ns);
    enter("other", computes, &long_ns);
    play(SIM_END_DONE);
    assert_int_equal(notes[0], 19 * MS); /* the other thread's end */
    assert_int_equal(notes[1], 10 * MS);
    stage_close();
}

static void notes_rest_and_reads_its_clock(struct sim_thread *self, void *unused)
{
    (void)unused;
    note(self->compute_left_ns);
    sim_read_cpu_ns(self);
}

static struct sim_thread *rung_thread;
enum { RUNG = 1, COMPUTED };

/* Its tick comes when its turn is over, `rest_ns` before its compute ends. */
static void computes_with_one_tick(void *rest_ns)
{
    struct sim_cpu_timer timer = {.period_ns = FIRST_TURN + US, .fn = notes_rest_and_reads_its_clock};
    assert_int_equal(sim_cpu_timer(sim_self(), &timer), STROBE_OK);
    sim_compute(FIRST_TURN + US + *(const uint64_t *)rest_ns);
    note(COMPUTED);
}

static void rings_when_it_gets_the_core(void *unused)
{
    (void)unused;
    assert_int_equal(sim_cpu_timer_ring(rung_thread), STROBE_OK);
    note(RUNG);
}

/* The thread gives way in its timer's function: the request is kept until the function has returned. */
static void a_request_during_a_tick_calls_its_function_again_at_the_same_place(void **state)
{
    (void)state;
    for (uint64_t rest_ns = 0; rest_ns <= 100 * US; rest_ns += 100 * US) {
        stage_lines(1, FOREVER);
        rung_thread = enter("rung", computes_with_one_tick, &rest_ns);
        enter("other", rings_when_it_gets_the_core, NULL);
        play(SIM_END_DONE);
        const uint64_t expected[] = {rest_ns, RUNG, rest_ns, COMPUTED};
        assert_int_equal(note_count, 4);
        assert_memory_equal(notes, expected, sizeof expected);
        stage_close();
    }
}

static struct sim_thread *read_thread;

static void computes_then_reads_another_clock(void *ns)
{
    sim_compute(*(const uint64_t *)ns);
    sim_read_cpu_ns(read_thread);
    sim_compute(10 * MS);
}

/* Returns when a thread has computed for 100 us that waits for the core of another thread, whose clock is read at `ns`
 * by a thread on another core. */
static uint64_t ends_beside_read_thread(uint64_t ns)
{
    uint64_t long_ns = 10 * MS, short_ns = 100 * US;
    stage_lines(2, FOREVER);
    read_thread = enter("read", computes, &long_ns);
    enter("reader", computes_then_reads_another_clock, &ns);
    enter("waiting", computes, &short_ns);
    play(SIM_END_DONE);
    stage_close();
    return notes[0];
}

static void a_thread_whose_clock_is_read_after_its_turn_gives_way_at_once(void **state)
{
    (void)state;
    assert_int_equal(ends_beside_read_thread(FIRST_TURN - US), TICK + 100 * US);
    assert_int_equal(ends_beside_read_thread(FIRST_TURN + US), FIRST_TURN + 101 * US);
}

/* ---- wake-ups */

static struct sim_sem posted;

static void waits_then_notes(void *unused)
{
    (void)unused;
    sim_sem_wait(&posted, FOREVER);
    note(1);
    note(sim_now());
    sim_compute(100 * US);
}

static void computes_then_posts(void *ns)
{
    sim_compute(*(const uint64_t *)ns);
    sim_sem_post(&posted);
    sim_leave_kernel();
    note(2);
    note(sim_now());
}

static void a_woken_thread_that_is_due_has_the_core_before_its_wakers_call_returns(void **state)
{
    (void)state;
    uint64_t ns = 2 * MS;
    posted = (struct sim_sem){.name = "posted"};
    stage_lines(1, FOREVER);
    enter("waits", waits_then_notes, NULL);
    enter("posts", computes_then_posts, &ns);
    play(SIM_END_DONE);
    assert_int_equal(notes[0], 1);
    assert_in_range(notes[1], 2 * MS, 2 * MS + 10 * US);
    assert_int_equal(notes[2], 2);
    assert_in_range(notes[3], notes[1] + 100 * US, notes[1] + 110 * US);
    stage_close();
}

static void sleeps_then_notes(void *until)
{
    sim_sleep_until(*(const uint64_t *)until);
    note(sim_now());
}

/* When the thread wakes up, another thread has the core, whose turn lasts. */
static uint64_t wakes_up_beside_a_turn(int nice, bool weighs_wakeups)
{
    uint64_t at = 5 * MS + 300 * US, ns = 20 * MS;
    stage_weighing_lines(1, FOREVER, weighs_wakeups);
    sim_thread_start(kernel, &(struct sim_thread_options){.nice = nice, .entry = sleeps_then_notes, .arg = &at});
    enter("computes", computes, &ns);
    play(SIM_END_DONE);
    uint64_t late_ns = notes[0] - at;
    stage_close();
    return late_ns;
}

static void a_heavy_thread_ends_the_turn_of_a_light_one_where_wakeups_are_weighed(void **state)
{
    (void)state;
    assert_int_equal(wakes_up_beside_a_turn(-20, true), 0);
    assert_true(wakes_up_beside_a_turn(-20, false) > 500 * US);
    assert_true(wakes_up_beside_a_turn(0, true) > 500 * US);
}

static void becomes_realtime_then_sleeps(void *until)
{
    sim_become_realtime();
    sleeps_then_notes(until);
}

static void a_thread_that_becomes_realtime_has_a_core_as_soon_as_it_wakes_up(void **state)
{
    uint64_t at = 5 * MS + 300 * US, ns = 20 * MS;
    (void)state;
    stage_lines(1, FOREVER);
    enter("realtime", becomes_realtime_then_sleeps, &at);
    enter("computes", computes, &ns);
    play(SIM_END_DONE);
    assert_int_equal(notes[0], at);
    stage_close();
}

static void runs_long_then_sleeps(void *ns)
{
    sim_compute(*(const uint64_t *)ns);
    sim_sleep_until(10 * MS + 50 * US);
    note(sim_now());
}

/* "long" and "other" share core 0. When "long" goes to sleep, at 10 ms, it has run for 6 ms and "other" for 4 ms. Core
 * 1 is idle when "long" wakes up. */
static void a_thread_that_had_more_than_its_due_waits_in_its_cores_line_even_if_another_core_is_idle(void **state)
{
    (void)state;
    uint64_t had = 6 * MS, beside = 10 * MS + 20 * US, other = 20 * MS;
    stage_lines(2, FOREVER);
    enter("long", runs_long_then_sleeps, &had);
    enter("beside", computes, &beside);
    enter("other", computes, &other);
    play(SIM_END_DONE);
    assert_int_equal(notes[0], beside);
    assert_int_equal(notes[1], 12 * MS); /* at the next tick, not at the wake-up */
    stage_close();
}

/* ---- which core */

static void an_idle_core_takes_a_thread_that_waits_in_another_line(void **state)
{
    (void)state;
    uint64_t ns[] = {20 * MS, 5 * MS, 20 * MS};
    stage_lines(2, FOREVER);
    enter("a", computes, &ns[0]);
    enter("short", computes, &ns[1]);
    enter("b", computes, &ns[2]); /* shares a's core: both are as loaded */
    play(SIM_END_DONE);
    assert_int_equal(notes[0], 5 * MS);
    assert_in_range(notes[2], 22 * MS, 28 * MS); /* would be 40 ms on one core */
    stage_close();
}

static uint64_t slept_from;

static void sleeps_then_notes_its_core(void *unused)
{
    (void)unused;
    sim_compute(slept_from);
    sim_sleep_until(slept_from + 3 * MS);
    note(core_of_self());
}

static void starts_another(void *ns)
{
    sim_compute(slept_from + 500 * US);
    enter("long", computes, ns); /* on core 0, which is idle */
}

/* Returns the core on which the sleeper wakes up. It slept on core 0, where another thread computes by then. Core 1 is
 * idle at that time. Before, both cores were busy for `busy_ns`. */
static uint64_t core_of_sleeper(uint64_t busy_ns)
{
    uint64_t ns = 10 * MS;
    slept_from = busy_ns;
    stage_open(&(struct sim_kernel_options){
        .seed = 1, .cores = 2, .slice_ns = TICK, .limit_ns = UINT64_MAX, .machine = {.turn_ns = TURN}});
    enter("sleeper", sleeps_then_notes_its_core, NULL);
    enter("starter", starts_another, &ns);
    play(SIM_END_DONE);
    stage_close();
    return notes[0];
}

static void a_woken_thread_goes_to_an_idle_core_unless_most_were_busy(void **state)
{
    (void)state;
    assert_int_equal(core_of_sleeper(100 * US), 1);
    assert_int_equal(core_of_sleeper(100 * MS), 0);
}

/* ---- balance between busy cores */

static uint64_t core_changes;

/* Computes, and sleeps for a part of the time, until the limit. */
static void counts_its_cores(void *sleeps_ns)
{
    uint64_t core = core_of_self();
    for (;;) {
        sim_compute(20 * MS - *(const uint64_t *)sleeps_ns);
        core_changes += core_of_self() != core;
        core = core_of_self();
        if (*(const uint64_t *)sleeps_ns)
            sim_sleep_until(sim_now() + *(const uint64_t *)sleeps_ns);
    }
}

static void three_threads_share_two_cores_equally(void **state)
{
    (void)state;
    struct sim_thread *t[3];
    stage_lines(2, 6000 * MS);
    for (uint32_t i = 0; i < 3; i++)
        t[i] = enter("thread", computes_for_ever, NULL);
    play(SIM_END_LIMIT);
    for (uint32_t i = 0; i < 3; i++)
        assert_in_range(sim_cpu_ns(t[i]), 3700 * MS, 4300 * MS); /* without a change: 6000, 3000, 3000 */
    stage_close();
}

/* Returns how often four threads change cores. The fourth one sleeps for a part of the time. */
static uint64_t changes_of_four(uint64_t sleeps_ns)
{
    uint64_t none = 0;
    core_changes = 0;
    stage_lines(2, 3000 * MS);
    for (uint32_t i = 0; i < 4; i++)
        enter("thread", counts_its_cores, i < 3 ? &none : &sleeps_ns);
    play(SIM_END_LIMIT);
    stage_close();
    return core_changes;
}

static void threads_change_cores_only_when_the_loads_of_the_cores_differ_clearly(void **state)
{
    (void)state;
    assert_int_equal(changes_of_four(0), 0);
    assert_int_equal(changes_of_four(2 * MS), 0);
    assert_in_range(changes_of_four(16 * MS), 20, 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_a_core_by_their_weights_and_change_at_ticks),
        cmocka_unit_test(two_threads_take_turns_at_each_tick),
        cmocka_unit_test(a_thread_that_reads_its_clock_gives_way_when_its_turn_is_over),
        cmocka_unit_test(a_compute_has_its_length_although_its_thread_gives_way_in_a_tick),
        cmocka_unit_test(a_request_during_a_tick_calls_its_function_again_at_the_same_place),
        cmocka_unit_test(a_thread_whose_clock_is_read_after_its_turn_gives_way_at_once),
        cmocka_unit_test(a_woken_thread_that_is_due_has_the_core_before_its_wakers_call_returns),
        cmocka_unit_test(a_heavy_thread_ends_the_turn_of_a_light_one_where_wakeups_are_weighed),
        cmocka_unit_test(a_thread_that_becomes_realtime_has_a_core_as_soon_as_it_wakes_up),
        cmocka_unit_test(a_thread_that_had_more_than_its_due_waits_in_its_cores_line_even_if_another_core_is_idle),
        cmocka_unit_test(an_idle_core_takes_a_thread_that_waits_in_another_line),
        cmocka_unit_test(a_woken_thread_goes_to_an_idle_core_unless_most_were_busy),
        cmocka_unit_test(three_threads_share_two_cores_equally),
        cmocka_unit_test(threads_change_cores_only_when_the_loads_of_the_cores_differ_clearly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
