/* CPU timers of the virtual kernel: when they fire, what the thread receives, and what they cost. */
#include "tests/sim/support/stage.h"

static void notes_time_and_rest(struct sim_thread *self, void *ctx)
{
    (void)ctx;
    assert_ptr_equal(self, sim_self());
    note(sim_now());
    note(self->compute_left_ns);
}

static void notes_time(struct sim_thread *self, void *ctx)
{
    (void)self;
    (void)ctx;
    note(sim_now());
}

static void counts(struct sim_thread *self, void *count)
{
    (void)self;
    ++*(uint64_t *)count;
}

static struct sim_cpu_timer each(uint64_t period_ns, void (*fn)(struct sim_thread *self, void *ctx), void *ctx)
{
    return (struct sim_cpu_timer){.period_ns = period_ns, .fn = fn, .ctx = ctx};
}

static void set_own(struct sim_cpu_timer timer)
{
    assert_int_equal(sim_cpu_timer(sim_self(), &timer), STROBE_OK);
}

/* ---- exact timers */

static void computes_in_pieces(void *arg)
{
    (void)arg;
    set_own(each(10 * US, notes_time_and_rest, NULL));
    sim_compute(25 * US);
    note(sim_now());
    sim_compute(4 * US);
    sim_compute(4 * US);
    note(sim_now());
}

static void a_timer_fires_in_the_middle_of_a_compute(void **state)
{
    (void)state;
    stage_cores(1);
    struct sim_thread *t = enter("a", computes_in_pieces, NULL);
    play(SIM_END_DONE);
    const uint64_t expected[] = {10000, 15000, 20000, 5000, 25000, 30000, 3000, 33000};
    assert_int_equal(note_count, 8);
    assert_memory_equal(notes, expected, sizeof expected);
    assert_int_equal(sim_cpu_timer_stats(t).fired, 3);
    assert_int_equal(sim_cpu_timer_stats(t).missed, 0);
    stage_close();
}

static void sleeps_and_computes(void *arg)
{
    (void)arg;
    set_own(each(10 * US, notes_time, NULL));
    sim_compute(6 * US);
    sim_sleep_until(100 * US);
    sim_compute(6 * US);
}

static void a_timer_stands_still_while_its_thread_sleeps(void **state)
{
    (void)state;
    stage_cores(1);
    enter("a", sleeps_and_computes, NULL);
    play(SIM_END_DONE);
    assert_int_equal(note_count, 1);
    assert_int_equal(notes[0], 104 * US);
    stage_close();
}

static void computes_40_ms(void *count)
{
    if (count)
        set_own(each(MS, counts, count));
    sim_compute(40 * MS);
}

static void threads_that_share_a_core_are_called_by_their_own_time(void **state)
{
    (void)state;
    uint64_t count[3] = {0};
    stage_cores(1);
    for (int i = 0; i < 3; i++)
        enter("a", computes_40_ms, &count[i]);
    enter("other", computes_40_ms, NULL);
    play(SIM_END_DONE);
    assert_int_equal(sim_now(), 160 * MS);
    for (int i = 0; i < 3; i++)
        assert_int_equal(count[i], 40);
    stage_close();
}

/* ---- costs of the timer's function */

static void charges_and_computes(struct sim_thread *self, void *ctx)
{
    (void)self;
    (void)ctx;
    note(sim_now());
    sim_charge(500);
    sim_compute(300);
}

static void computes_with_a_costly_timer(void *arg)
{
    struct sim_cpu_timer timer = each(10 * US, charges_and_computes, arg);
    timer.cost_ns = 200;
    set_own(timer);
    sim_compute(20 * US);
    note(sim_now());
    sim_charge(9 * US);
    sim_sleep_until(1); /* computes the charged time first */
    note(sim_now());
}

static void charges(struct sim_thread *self, void *ctx)
{
    (void)self;
    (void)ctx;
    sim_charge(500);
}

static void computes_25_with_charges_each_10(void *arg)
{
    (void)arg;
    set_own(each(10 * US, charges, NULL));
    sim_compute(25 * US);
    note(sim_now());
}

static void what_a_call_charges_at_its_end_is_computed_with_the_rest(void **state)
{
    (void)state;
    stage_cores(1);
    enter("a", computes_25_with_charges_each_10, NULL);
    play(SIM_END_DONE);
    assert_int_equal(notes[0], 26000);
    stage_close();
}

static void what_a_call_costs_is_time_of_its_thread(void **state)
{
    (void)state;
    stage_cores(1);
    struct sim_thread *t = enter("a", computes_with_a_costly_timer, NULL);
    play(SIM_END_DONE);
    assert_int_equal(notes[0], 10200); /* after the cost of the signal */
    assert_int_equal(notes[1], 20200); /* the time of the function counts towards the next period */
    assert_int_equal(notes[2], 22000);
    assert_int_equal(notes[3], 30200); /* within the charged time */
    assert_int_equal(notes[4], 32000);
    assert_int_equal(sim_cpu_ns(t), 32000);
    stage_close();
}

static void takes_longer_than_a_period(struct sim_thread *self, void *ctx)
{
    (void)self;
    (void)ctx;
    note(sim_now());
    sim_compute(25 * US);
}

static void computes_with_a_slow_timer(void *arg)
{
    set_own(each(10 * US, takes_longer_than_a_period, arg));
    sim_compute(19 * US);
}

static void what_falls_due_during_a_call_is_lost_and_counted(void **state)
{
    (void)state;
    stage_cores(1);
    struct sim_thread *t = enter("a", computes_with_a_slow_timer, NULL);
    play(SIM_END_DONE);
    assert_int_equal(note_count, 2);
    assert_int_equal(notes[0], 10 * US);
    assert_int_equal(notes[1], 40 * US);
    assert_int_equal(sim_cpu_timer_stats(t).fired, 2);
    assert_int_equal(sim_cpu_timer_stats(t).missed, 4);
    assert_int_equal(sim_now(), 69 * US);
    stage_close();
}

/* ---- timers at the kernel's ticks */

static void computes_10_ms_at_ticks(void *arg)
{
    struct sim_cpu_timer timer = each(MS, notes_time_and_rest, arg);
    timer.mode = SIM_CPU_TIMER_TICK;
    set_own(timer);
    sim_compute(10 * MS);
}

static void a_timer_at_ticks_fires_at_ticks_only(void **state)
{
    (void)state;
    stage_cores(1);
    struct sim_thread *t = enter("a", computes_10_ms_at_ticks, NULL);
    play(SIM_END_DONE);
    const uint64_t expected[] = {4 * MS, 6 * MS, 8 * MS, 2 * MS};
    assert_int_equal(note_count, 4);
    assert_memory_equal(notes, expected, sizeof expected);
    assert_int_equal(sim_cpu_timer_stats(t).fired, 2);
    assert_int_equal(sim_cpu_timer_stats(t).missed, 6);
    stage_close();
}

static void computes_between_ticks(void *arg)
{
    struct sim_cpu_timer timer = each(MS, counts, arg);
    timer.mode = SIM_CPU_TIMER_TICK;
    timer.tick_ns = 4 * MS;
    set_own(timer);
    for (int i = 0; i < 10; i++) {
        sim_sleep_until((uint64_t)i * 4 * MS + 500 * US);
        sim_compute(3 * MS);
    }
}

static void a_timer_at_ticks_misses_a_thread_that_runs_between_them(void **state)
{
    (void)state;
    uint64_t count = 0;
    stage_cores(1);
    enter("a", computes_between_ticks, &count);
    play(SIM_END_DONE);
    assert_int_equal(count, 0);
    stage_close();
}

/* ---- system calls */

static void calls_the_kernel(void *way)
{
    struct sim_cpu_timer timer = each(4 * MS, notes_time, NULL);
    timer.mode = *(const enum sim_cpu_timer_mode *)way;
    set_own(timer);
    sim_compute(3 * MS);
    sim_compute_in_kernel(2 * MS);
    sim_compute(4 * MS);
}

static void a_system_call_hides_an_exact_timer_and_delays_one_at_ticks(void **state)
{
    (void)state;
    enum sim_cpu_timer_mode way = SIM_CPU_TIMER_EXACT;
    stage_cores(1);
    struct sim_thread *t = enter("a", calls_the_kernel, &way);
    play(SIM_END_DONE);
    assert_int_equal(note_count, 1);
    assert_int_equal(notes[0], 8 * MS);
    assert_int_equal(sim_cpu_timer_stats(t).missed, 1);
    stage_close();

    way = SIM_CPU_TIMER_TICK;
    stage_cores(1);
    t = enter("a", calls_the_kernel, &way);
    play(SIM_END_DONE);
    assert_int_equal(note_count, 2);
    assert_int_equal(notes[0], 5 * MS);
    assert_int_equal(notes[1], 8 * MS);
    assert_int_equal(sim_cpu_timer_stats(t).missed, 0);
    stage_close();
}

/* ---- timers set by other threads */

static struct sim_thread *target;

static void computes_30_us(void *arg)
{
    (void)arg;
    sim_compute(30 * US);
}

static void sets_and_ends_it(void *arg)
{
    struct sim_cpu_timer timer = each(8 * US, notes_time, arg);
    sim_compute(5 * US);
    assert_int_equal(sim_cpu_timer(target, &timer), STROBE_OK);
    sim_compute(17 * US);
    timer.period_ns = 0;
    assert_int_equal(sim_cpu_timer(target, &timer), STROBE_OK);
    sim_compute(20 * US);
    assert_int_equal(sim_cpu_timer(target, &timer), STROBE_GONE);
}

static void a_thread_s_timer_can_be_set_and_ended_by_another_while_it_computes(void **state)
{
    (void)state;
    stage_cores(2);
    target = enter("target", computes_30_us, NULL);
    enter("other", sets_and_ends_it, NULL);
    play(SIM_END_DONE);
    assert_int_equal(note_count, 2);
    assert_int_equal(notes[0], 13 * US);
    assert_int_equal(notes[1], 21 * US);
    stage_close();
}

/* ---- with other features of the kernel */

static void notes_if_it_is_its_own(struct sim_thread *self, void *ctx)
{
    assert_ptr_equal(self, sim_self());
    note(sim_cpu_ns(self) - (uintptr_t)ctx);
    sim_charge(100);
}

static void works_and_locks(void *lock)
{
    set_own(each(200 * US, notes_if_it_is_its_own, NULL));
    for (int i = 0; i < 5; i++) {
        sim_compute(150 * US);
        sim_mutex_lock(lock);
        sim_compute(50 * US);
        sim_compute_in_kernel(20 * US);
        sim_mutex_unlock(lock);
    }
}

static void stops_others(void *arg)
{
    (void)arg;
    for (uint64_t i = 1; i < 20; i++) {
        sim_sleep_until(i * 70 * US);
        if (sim_stop(target, i % 2 ? SIM_STOP_SIGNAL : SIM_STOP_AT_ONCE, 50 * US) != STROBE_OK)
            continue;
        sim_compute(5 * US);
        sim_continue(target);
    }
}

static uint64_t play_seed(uint64_t seed)
{
    struct sim_mutex lock = {.name = "m"};
    stage_open(
        &(struct sim_kernel_options){.seed = seed, .cores = 2, .schedule = SIM_ADVERSARIAL, .limit_ns = UINT64_MAX});
    struct sim_thread *threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = enter("w", works_and_locks, &lock);
    target = threads[0];
    enter("s", stops_others, NULL);
    play(SIM_END_DONE);
    for (int i = 0; i < 3; i++) {
        struct sim_cpu_timer_stats stats = sim_cpu_timer_stats(threads[i]);
        assert_int_equal(stats.fired + stats.missed, sim_cpu_ns(threads[i]) / (200 * US));
    }
    uint64_t hash = log_hash;
    stage_close();
    return hash;
}

static void whatever_happens_each_period_is_called_or_counted(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= stage_rounds(300); seed++)
        assert_int_equal(play_seed(seed), play_seed(seed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timer_fires_in_the_middle_of_a_compute),
        cmocka_unit_test(a_timer_stands_still_while_its_thread_sleeps),
        cmocka_unit_test(threads_that_share_a_core_are_called_by_their_own_time),
        cmocka_unit_test(what_a_call_charges_at_its_end_is_computed_with_the_rest),
        cmocka_unit_test(what_a_call_costs_is_time_of_its_thread),
        cmocka_unit_test(what_falls_due_during_a_call_is_lost_and_counted),
        cmocka_unit_test(a_timer_at_ticks_fires_at_ticks_only),
        cmocka_unit_test(a_timer_at_ticks_misses_a_thread_that_runs_between_them),
        cmocka_unit_test(a_system_call_hides_an_exact_timer_and_delays_one_at_ticks),
        cmocka_unit_test(a_thread_s_timer_can_be_set_and_ended_by_another_while_it_computes),
        cmocka_unit_test(whatever_happens_each_period_is_called_or_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
