/* The virtual kernel in fair mode: time, cores, and the shares that threads get of them. */
#include "sim/kernel/fiber.h"
#include "tests/sim/support/stage.h"

static void computes(void *ns)
{
    sim_compute(*(const uint64_t *)ns);
    note(sim_now());
}

/* ---- time */

static void computes_and_is_charged(void *arg)
{
    (void)arg;
    sim_compute(5 * US);
    note(sim_now());
    sim_charge(300);
    note(sim_now());
    note(sim_cpu_ns(sim_self()));
    sim_compute(200);
    note(sim_now());
    sim_charge(70);
    sim_sleep_until(10 * US);
    note(sim_now());
    note(sim_cpu_ns(sim_self()));
    sim_charge(30);
}

static void a_compute_takes_its_time_and_what_was_charged_before(void **state)
{
    (void)state;
    stage_cores(1);
    struct sim_thread *t = enter("a", computes_and_is_charged, NULL);
    play(SIM_END_DONE);
    const uint64_t expected[] = {5000, 5300, 5300, 5500, 10000, 5570};
    assert_memory_equal(notes, expected, sizeof expected);
    assert_int_equal(sim_now(), 10030);
    assert_int_equal(sim_cpu_ns(t), 5600);
    stage_close();
    assert_null(sim_self());
    assert_int_equal(sim_now(), 0);
}

static void charges_then_unlocks(void *lock)
{
    sim_mutex_lock(lock);
    sim_compute(3 * US);
    sim_charge(2 * US);
    sim_mutex_unlock(lock);
    note(sim_now());
}

static void locks(void *lock)
{
    sim_compute(US);
    sim_mutex_lock(lock);
    note(sim_now());
}

static void effects_on_other_threads_come_after_the_charged_time(void **state)
{
    (void)state;
    struct sim_mutex m = {.name = "m"};
    stage_cores(2);
    enter("a", charges_then_unlocks, &m);
    enter("b", locks, &m);
    play(SIM_END_DONE);
    assert_int_equal(notes[0], 5 * US);
    assert_int_equal(notes[1], 5 * US);
    stage_close();
}

static void calls_back(void *value)
{
    assert_null(sim_self());
    note(*(const uint64_t *)value);
    note(sim_now());
}

static void callbacks_come_in_order_of_time_then_of_asking(void **state)
{
    (void)state;
    static const uint64_t names[] = {1, 2, 3}, ns = 50 * US;
    stage_cores(1);
    assert_int_equal(sim_at(kernel, 30 * US, calls_back, (void *)&names[0]), STROBE_OK);
    assert_int_equal(sim_at(kernel, 20 * US, calls_back, (void *)&names[1]), STROBE_OK);
    assert_int_equal(sim_at(kernel, 20 * US, calls_back, (void *)&names[2]), STROBE_OK);
    enter("a", computes, (void *)&ns);
    play(SIM_END_DONE);
    const uint64_t expected[] = {2, 20 * US, 3, 20 * US, 1, 30 * US, 50 * US};
    assert_memory_equal(notes, expected, sizeof expected);
    stage_close();
}

static void ends_the_run(void *ctx)
{
    (void)ctx;
    sim_kernel_end(kernel);
}

static void a_run_ends_where_it_is_asked_to_or_must(void **state)
{
    (void)state;
    uint64_t ns = 10 * MS;
    stage_open(&(struct sim_kernel_options){.cores = 1, .limit_ns = 7 * MS});
    enter("a", computes, &ns);
    play(SIM_END_LIMIT);
    assert_string_equal(error.text, "limit reached at 0.007000 s");
    assert_int_equal(sim_now(), 7 * MS);
    stage_close();

    stage_cores(1);
    assert_int_equal(sim_at(kernel, 5 * MS, ends_the_run, NULL), STROBE_OK);
    enter("a", computes, &ns);
    play(SIM_END_ASKED);
    assert_int_equal(sim_now(), 5 * MS);
    stage_close();

    stage_cores(1);
    play(SIM_END_DONE);
    assert_int_equal(sim_now(), 0);
    stage_close();
    assert_int_equal(note_count, 0);
}

static void sleeps_again_and_again(void *arg)
{
    (void)arg;
    for (uint64_t at = MS;; at += MS)
        sim_sleep_until(at);
}

static void a_run_waits_for_no_daemon(void **state)
{
    (void)state;
    uint64_t ns = 3500 * US;
    stage_cores(2);
    sim_thread_start(kernel, &(struct sim_thread_options){.daemon = true, .entry = sleeps_again_and_again});
    enter("a", computes, &ns);
    play(SIM_END_DONE);
    assert_int_equal(sim_now(), ns);
    stage_close();
}

/* ---- cores */

static void two_threads_share_a_core_by_slices(void **state)
{
    (void)state;
    uint64_t ns = 30 * MS;
    stage_cores(1);
    enter("a", computes, &ns);
    struct sim_thread *b = enter("b", computes, &ns);
    play(SIM_END_DONE);
    assert_int_equal(notes[0], 57 * MS);
    assert_int_equal(notes[1], 60 * MS);
    assert_int_equal(b->involuntary_switches, 9);
    assert_int_equal(b->voluntary_switches, 0);
    stage_close();
}

static void never_ends(void *arg)
{
    for (;;)
        sim_compute(*(const uint64_t *)arg);
}

/* Threads compute in pieces of several lengths; two of them sleep between the pieces. The shares of the threads that
 * never sleep differ by at most one or two slices. */
static void hogs_get_equal_shares_whatever_their_pieces(void **state)
{
    (void)state;
    static const uint64_t pieces[] = {700, 90 * US, 11 * MS, 3 * MS, 1000 * MS};
    struct sim_thread *t[5];
    for (uint32_t cores = 1; cores <= 4; cores++) {
        stage_open(&(struct sim_kernel_options){.cores = cores, .limit_ns = 1000 * MS});
        for (uint32_t i = 0; i < 5; i++)
            t[i] = enter(NULL, never_ends, (void *)&pieces[i]);
        play(SIM_END_LIMIT);
        for (uint32_t i = 0; i < 5; i++) {
            uint64_t share = 1000 * MS * cores / 5, has = sim_cpu_ns(t[i]);
            assert_true(has > share - 7 * MS && has < share + 7 * MS);
        }
        stage_close();
    }
}

static void nicer_threads_get_as_much_less_as_linux_gives_them(void **state)
{
    (void)state;
    static const int nice[] = {0, 5, -5, 19};
    static const double weight[] = {1024, 335, 3121, 15};
    uint64_t piece = 100 * US;
    struct sim_thread *t[4];
    stage_open(&(struct sim_kernel_options){.cores = 1, .limit_ns = 20000 * MS});
    for (uint32_t i = 0; i < 4; i++)
        t[i] =
            sim_thread_start(kernel, &(struct sim_thread_options){.nice = nice[i], .entry = never_ends, .arg = &piece});
    play(SIM_END_LIMIT);
    for (uint32_t i = 0; i < 4; i++) {
        double share = 20e9 * weight[i] / (1024 + 335 + 3121 + 15), has = (double)sim_cpu_ns(t[i]);
        assert_true(has > share * 0.96 - 4e6 && has < share * 1.04 + 4e6);
    }
    stage_close();
}

static void renices_then_never_ends(void *nice)
{
    static const uint64_t piece = 100 * US;
    sim_renice(sim_self(), *(const int *)nice);
    never_ends((void *)(uintptr_t)&piece);
}

static void a_thread_that_becomes_nicer_gets_less_time_from_then_on(void **state)
{
    (void)state;
    static const int nice[] = {0, 5};
    struct sim_thread *t[2];
    stage_open(&(struct sim_kernel_options){.cores = 1, .limit_ns = 10000 * MS});
    for (uint32_t i = 0; i < 2; i++)
        t[i] = enter(NULL, renices_then_never_ends, (void *)(uintptr_t)&nice[i]);
    play(SIM_END_LIMIT);
    double share = 10e9 * 335 / (1024 + 335), has = (double)sim_cpu_ns(t[1]);
    assert_true(has > share * 0.96 && has < share * 1.04);
    assert_true(sim_cpu_ns(t[0]) > 7000 * MS);
    stage_close();
}

static void is_on_its_stack(void *arg)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), low;
    size_t bytes;
    (void)arg;
    low = (uintptr_t)sim_stack(&bytes);
    note(here > low && here < low + bytes);
    note(bytes);
}

static void a_thread_receives_the_bounds_of_its_stack(void **state)
{
    (void)state;
    stage_cores(1);
    enter("a", is_on_its_stack, NULL);
    play(SIM_END_DONE);
    assert_int_equal(notes[0], 1);
    assert_true(notes[1] >= SIM_FIBER_STACK_BYTES);
    stage_close();
}

static void sleeps_then_notes(void *until)
{
    sim_sleep_until(*(const uint64_t *)until);
    note(sim_now());
    sim_compute(100 * US);
    note(sim_now());
}

static void a_realtime_thread_preempts_at_once_and_runs_through(void **state)
{
    (void)state;
    uint64_t until = 5500 * US, ns = 20 * MS;
    stage_cores(1);
    enter("a", computes, &ns);
    enter("b", computes, &ns);
    sim_thread_start(kernel, &(struct sim_thread_options){.realtime = true, .entry = sleeps_then_notes, .arg = &until});
    play(SIM_END_DONE);
    assert_int_equal(notes[0], until);
    assert_int_equal(notes[1], until + 100 * US);
    stage_close();
}

static void a_woken_thread_preempts_one_that_ran_long_but_not_one_that_just_began(void **state)
{
    (void)state;
    uint64_t until = 10300 * US, early = 500 * US, ns = 20 * MS;
    stage_cores(1);
    enter("a", computes, &ns);
    enter("b", sleeps_then_notes, &until);
    play(SIM_END_DONE);
    assert_int_equal(notes[0], until);
    stage_close();

    stage_cores(1);
    enter("a", computes, &ns);
    enter("b", sleeps_then_notes, &early);
    play(SIM_END_DONE);
    assert_int_equal(notes[0], 3 * MS);
    stage_close();
}

static void sleeps_then_never_ends(void *until)
{
    static const uint64_t piece = 1 * MS;
    sim_sleep_until(*(const uint64_t *)until);
    never_ends((void *)&piece);
}

static void a_long_sleeper_gets_no_time_that_it_did_not_use(void **state)
{
    (void)state;
    uint64_t until = 500 * MS, piece = 1 * MS;
    stage_open(&(struct sim_kernel_options){.cores = 1, .limit_ns = 600 * MS});
    enter("hog", never_ends, &piece);
    struct sim_thread *sleeper = enter("sleeper", sleeps_then_never_ends, &until);
    play(SIM_END_LIMIT);
    assert_in_range(sim_cpu_ns(sleeper), 43 * MS, 57 * MS);
    stage_close();
}

static struct sim_thread *charged;

static void stops_charges_and_notes(void *arg)
{
    (void)arg;
    sim_compute(3 * US);
    assert_false(sim_charge_stopped(charged, US));
    assert_int_equal(sim_stop(charged, SIM_STOP_AT_ONCE, FOREVER), STROBE_OK);
    assert_true(sim_charge_stopped(charged, 2 * US));
    note(charged->compute_left_ns);
    assert_int_equal(sim_continue(charged), STROBE_OK);
    sim_compute(4 * US);
    assert_int_equal(sim_stop(charged, SIM_STOP_AT_ONCE, FOREVER), STROBE_OK);
    note(charged->compute_left_ns);
    assert_int_equal(sim_continue(charged), STROBE_OK);
}

static void computes_10(void *arg)
{
    (void)arg;
    sim_compute(10 * US);
    note(sim_now());
}

static void what_a_stopped_thread_is_charged_it_uses_before_it_goes_on(void **state)
{
    (void)state;
    stage_cores(2);
    charged = enter("charged", computes_10, NULL);
    enter("stopper", stops_charges_and_notes, NULL);
    play(SIM_END_DONE);
    const uint64_t expected[] = {7 * US, 5 * US, 12 * US};
    assert_int_equal(note_count, 3);
    assert_memory_equal(notes, expected, sizeof expected);
    assert_int_equal(sim_cpu_ns(charged), 12 * US);
    stage_close();
}

/* ---- machines with wake-up delays */

static struct sim_lateness always(uint64_t ns)
{
    struct sim_lateness l;
    for (int i = 0; i < SIM_LATENESS_POINTS; i++)
        l.ns[i] = ns;
    return l;
}

static struct sim_span_lateness at_any_length(uint64_t ns)
{
    struct sim_span_lateness l;
    for (int i = 0; i < SIM_WAIT_SPANS; i++)
        l.at[i] = always(ns);
    return l;
}

static struct sim_thread *sleeper;

static void sleeps_waits_and_parks(void *arg)
{
    (void)arg;
    sim_sleep_until(10 * US);
    note(sim_now());
    sim_io(10 * US);
    note(sim_now());
    sim_park(UINT64_MAX);
    note(sim_now());
}

static void unparks_at_40(void *arg)
{
    (void)arg;
    sim_compute(40 * US);
    sim_unpark(sleeper);
    sim_compute(10 * US);
}

static void ends_of_waits_are_as_late_as_the_machine(void **state)
{
    (void)state;
    struct sim_kernel_options options = {.seed = 1, .cores = 2, .limit_ns = UINT64_MAX};
    options.machine = (struct sim_machine){
        .sleep = at_any_length(5 * US), .device = at_any_length(2 * US), .wake = at_any_length(700)};
    stage_open(&options);
    sleeper = enter("sleeper", sleeps_waits_and_parks, NULL);
    enter("other", unparks_at_40, NULL);
    play(SIM_END_DONE);
    assert_int_equal(notes[0], 15 * US);
    assert_int_equal(notes[1], 27 * US);
    assert_int_equal(notes[2], 40 * US + 700);
    stage_close();
}

static void parks_and_computes(void *arg)
{
    (void)arg;
    sim_park(UINT64_MAX);
    sim_compute(10 * US);
    note(sim_now());
}

static void unparks_and_notes(void *ns)
{
    sim_compute(*(const uint64_t *)ns);
    sim_unpark(sleeper);
    note(sim_now());
}

/* The core of the woken thread is idle from the start of the run. */
static void a_wake_up_costs_both_threads_what_the_idle_time_of_the_core_says(void **state)
{
    static const uint64_t idle_ns[] = {10 * US, 25 * US, 40 * US};
    static const uint64_t wake_ns[] = {1 * US, 2 * US, 3 * US}, wait_ns[] = {4 * US, 6 * US, 8 * US};
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct sim_kernel_options options = {.seed = 1, .cores = 2, .limit_ns = UINT64_MAX};
        options.machine.wake_call = (struct sim_span_cost){{1 * US, 3 * US, 3 * US, 3 * US, 3 * US}};
        options.machine.wait_call = (struct sim_span_cost){{4 * US, 8 * US, 8 * US, 8 * US, 8 * US}};
        stage_open(&options);
        uint64_t ns = idle_ns[i];
        note_count = 0;
        sleeper = enter("sleeper", parks_and_computes, NULL);
        struct sim_thread *other = enter("other", unparks_and_notes, &ns);
        play(SIM_END_DONE);
        assert_int_equal(notes[0], ns + wake_ns[i]);
        assert_int_equal(sim_cpu_ns(other), ns + wake_ns[i]);
        assert_int_equal(notes[1], ns + wait_ns[i] + 10 * US);
        assert_int_equal(sim_cpu_ns(sleeper), wait_ns[i] + 10 * US);
        stage_close();
    }
}

static void notes_its_begin_and_computes(void *arg)
{
    (void)arg;
    note(sim_now());
    sim_compute(10 * US);
}

static void starts_and_joins(void *arg)
{
    (void)arg;
    sim_compute(40 * US);
    struct sim_thread *t = enter("started", notes_its_begin_and_computes, NULL);
    sim_compute(0);
    note(sim_now());
    sim_join(t);
    note(sim_now());
    note(sim_cpu_ns(t));
}

/* The core of the started thread is idle from the start of the run. */
static void a_thread_that_another_starts_costs_both_and_comes_as_late_as_one_that_is_woken(void **state)
{
    (void)state;
    struct sim_kernel_options options = {.seed = 1, .cores = 2, .limit_ns = UINT64_MAX};
    options.machine = (struct sim_machine){.wake = at_any_length(7 * US),
                                           .start_own_ns = 20 * US,
                                           .end_own_ns = 5 * US,
                                           .wake_call = {{3 * US, 3 * US, 3 * US, 3 * US, 3 * US}}};
    stage_open(&options);
    struct sim_thread *starter = enter("starter", starts_and_joins, NULL);
    play(SIM_END_DONE);
    const uint64_t expected[] = {43 * US, 67 * US, 89 * US, 35 * US};
    assert_memory_equal(notes, expected, sizeof expected);
    assert_int_equal(sim_cpu_ns(starter), 43 * US); /* the start of this first thread is free */
    stage_close();
}

static void computes_and_notes_its_end(void *ns)
{
    sim_compute(*(const uint64_t *)ns);
    note(sim_now());
}

static void starts_later(void *ns)
{
    enter("late", computes_and_notes_its_end, ns);
}

static void computes_sleeps_and_computes(void *arg)
{
    (void)arg;
    sim_compute(1 * US);
    sim_sleep_until(10 * US);
    sim_compute(5 * US);
    note(sim_now());
}

static void a_realtime_thread_takes_its_own_core_and_the_displaced_thread_waits_for_it(void **state)
{
    (void)state;
    uint64_t ns = 20 * US;
    const struct sim_thread_options first = {.name = "rt", .realtime = true, .entry = computes_sleeps_and_computes};
    stage_cores(2);
    assert_non_null(sim_thread_start(kernel, &first));
    uint64_t idles = 1 * US;
    enter("brief", computes_and_notes_its_end, &idles);
    sim_at(kernel, 2 * US, starts_later, &ns);
    play(SIM_END_DONE);
    assert_int_equal(notes[0], 1 * US);  /* brief: the other core is idle from here */
    assert_int_equal(notes[1], 15 * US); /* realtime */
    assert_int_equal(notes[2], 27 * US); /* 2 + 20, and the 5 for which it was displaced */
    stage_close();
}

static void a_switch_costs_the_core_but_no_thread(void **state)
{
    (void)state;
    uint64_t ns = 6 * MS;
    stage_open(&(struct sim_kernel_options){.cores = 1, .switch_ns = 2 * US, .limit_ns = UINT64_MAX});
    struct sim_thread *a = enter("a", computes, &ns), *b = enter("b", computes, &ns);
    play(SIM_END_DONE);
    assert_int_equal(sim_cpu_ns(a), ns);
    assert_int_equal(sim_cpu_ns(b), ns);
    assert_int_equal(sim_kernel_stats(kernel).switches, 4);
    assert_int_equal(sim_now(), 2 * ns + 4 * 2 * US);
    stage_close();
}

static void yields_in_turn(void *name)
{
    for (int i = 0; i < 3; i++) {
        note(*(const uint64_t *)name);
        sim_yield();
    }
}

static void a_yield_goes_to_the_end_of_the_line(void **state)
{
    (void)state;
    static const uint64_t names[] = {1, 2, 3};
    stage_cores(1);
    for (int i = 0; i < 3; i++)
        enter(NULL, yields_in_turn, (void *)&names[i]);
    play(SIM_END_DONE);
    const uint64_t expected[] = {1, 2, 3, 1, 2, 3, 1, 2, 3};
    assert_memory_equal(notes, expected, sizeof expected);
    stage_close();
}

/* ---- threads */

static uint32_t ran;

static void counts(void *arg)
{
    (void)arg;
    sim_compute(3 * US);
    ran++;
}

static void starts_many(void *arg)
{
    (void)arg;
    for (int i = 0; i < 5000; i++) {
        struct sim_thread *t = enter(NULL, counts, NULL);
        if (i % 2)
            sim_join(t);
    }
}

static void starts_a_crowd(void *arg)
{
    struct sim_sem *gate = arg;
    for (int i = 0; i < 5000; i++)
        enter(NULL, counts, NULL);
    sim_sleep_until(1000 * MS);
    sim_sem_post(gate);
}

static void thousands_of_threads_come_and_go_or_stay(void **state)
{
    (void)state;
    struct sim_sem gate = {.name = "gate"};
    ran = 0;
    stage_cores(4);
    enter("main", starts_many, NULL);
    play(SIM_END_DONE);
    assert_int_equal(ran, 5000);
    stage_close();

    stage_cores(4);
    enter("main", starts_a_crowd, &gate);
    play(SIM_END_DONE);
    assert_int_equal(ran, 10000);
    assert_int_equal(gate.count, 1);
    stage_close();
}

static void ends(void *arg)
{
    (void)arg;
}

static void starts_heirs(void *arg)
{
    (void)arg;
    struct sim_thread *a = enter("a", ends, NULL);
    sim_join(a);
    struct sim_thread *b = sim_thread_start(kernel, &(struct sim_thread_options){.tid = a->tid, .entry = ends});
    struct sim_thread *c = sim_thread_start(kernel, &(struct sim_thread_options){.tid = 70, .entry = ends});
    struct sim_thread *d = enter("d", ends, NULL);
    note(a->tid);
    note(b->tid);
    note(c->tid);
    note(d->tid);
    note(d->serial);
}

static void a_tid_may_be_used_again_a_serial_is_not(void **state)
{
    (void)state;
    stage_cores(1);
    enter("main", starts_heirs, NULL);
    play(SIM_END_DONE);
    const uint64_t expected[] = {2, 2, 70, 71, 4};
    assert_memory_equal(notes, expected, sizeof expected);
    stage_close();
}

/* ---- the place where a thread was switched away from */

#if defined(__x86_64__) || defined(__aarch64__)

static uint64_t called_from;

static __attribute__((noinline)) void called(const uint64_t *ns)
{
    called_from = (uint64_t)(uintptr_t)__builtin_return_address(0);
    sim_compute(*ns);
    note(sim_now());
}

static void calls(void *ns)
{
    called(ns);
    note(sim_now());
}

/* True when a frame with this return address is on the stack, found by walking frame records from `at`. */
static bool is_below(const struct sim_fiber_place *at, uint64_t return_address)
{
    for (const uint64_t *record = (const uint64_t *)(uintptr_t)at->fp; record; record = (void *)(uintptr_t)record[0])
        if (record[1] == return_address)
            return true;
    return false;
}

static struct sim_thread *watched;

static void looks_for_it(void *ns)
{
    struct sim_fiber_place place;
    assert_false(sim_place(sim_self(), &place));
    sim_compute(*(const uint64_t *)ns / 2);
    assert_true(sim_place(watched, &place));
    assert_true(place.sp <= place.fp && is_below(&place, called_from));
    sim_join(watched);
    assert_false(sim_place(watched, &place));
}

static void the_stack_of_a_thread_switched_away_from_can_be_read(void **state)
{
    (void)state;
    stage_cores(2);
    watched = enter("watched", calls, (void *)(uintptr_t)&MS);
    enter("watcher", looks_for_it, (void *)(uintptr_t)&MS);
    play(SIM_END_DONE);
    stage_close();
}

#else

static void the_stack_of_a_thread_switched_away_from_can_be_read(void **state)
{
    (void)state;
    skip();
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_compute_takes_its_time_and_what_was_charged_before),
        cmocka_unit_test(the_stack_of_a_thread_switched_away_from_can_be_read),
        cmocka_unit_test(effects_on_other_threads_come_after_the_charged_time),
        cmocka_unit_test(callbacks_come_in_order_of_time_then_of_asking),
        cmocka_unit_test(a_run_ends_where_it_is_asked_to_or_must),
        cmocka_unit_test(a_run_waits_for_no_daemon),
        cmocka_unit_test(two_threads_share_a_core_by_slices),
        cmocka_unit_test(hogs_get_equal_shares_whatever_their_pieces),
        cmocka_unit_test(a_thread_that_becomes_nicer_gets_less_time_from_then_on),
        cmocka_unit_test(a_thread_receives_the_bounds_of_its_stack),
        cmocka_unit_test(nicer_threads_get_as_much_less_as_linux_gives_them),
        cmocka_unit_test(a_realtime_thread_preempts_at_once_and_runs_through),
        cmocka_unit_test(a_woken_thread_preempts_one_that_ran_long_but_not_one_that_just_began),
        cmocka_unit_test(a_long_sleeper_gets_no_time_that_it_did_not_use),
        cmocka_unit_test(what_a_stopped_thread_is_charged_it_uses_before_it_goes_on),
        cmocka_unit_test(ends_of_waits_are_as_late_as_the_machine),
        cmocka_unit_test(a_wake_up_costs_both_threads_what_the_idle_time_of_the_core_says),
        cmocka_unit_test(a_thread_that_another_starts_costs_both_and_comes_as_late_as_one_that_is_woken),
        cmocka_unit_test(a_realtime_thread_takes_its_own_core_and_the_displaced_thread_waits_for_it),
        cmocka_unit_test(a_switch_costs_the_core_but_no_thread),
        cmocka_unit_test(a_yield_goes_to_the_end_of_the_line),
        cmocka_unit_test(thousands_of_threads_come_and_go_or_stay),
        cmocka_unit_test(a_tid_may_be_used_again_a_serial_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
