/* The sampler's pace: the number of intervals between two passes, and the events that end its rest between them. */
#include "tests/unit/support/ticking.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Intervals between the last pass and the next. */
static uint64_t intervals_to_next_pass(void)
{
    uint64_t before = sampler.grid_ticks;
    strobe_sampler_go_on(&sampler, 0);
    return (sampler.grid_ticks - before) / sampler.interval_ticks;
}

/* Plays passes in each of which the thread has a tick. Returns the intervals to the next pass. */
static uint64_t intervals_after_passes_over_ticks(int passes)
{
    uint64_t intervals = 0;
    for (int i = 0; i < passes; i++) {
        tick(0, 1000);
        pass(1, 1000);
        intervals = intervals_to_next_pass();
    }
    return intervals;
}

static void passes_are_rarer_while_each_thread_that_runs_ticks(void **state)
{
    (void)state;
    assert_int_equal(intervals_after_passes_over_ticks(4), 1);
    assert_int_equal(intervals_after_passes_over_ticks(16), 4);
    ticking.engine.config.async_interval_ns = 10 * MS;
    assert_int_equal(intervals_to_next_pass(), 1); /* 4 ms at most */
}

static void passes_are_rarer_while_threads_wait_in_calls(void **state)
{
    (void)state;
    uint64_t intervals = 0;
    uint32_t token = strobe_scope_begin(ticking.thread, STROBE_KIND_READ, 0, here());
    for (int i = 0; i < 16; i++) {
        pass(1, 0);
        intervals = intervals_to_next_pass();
    }
    strobe_scope_end(ticking.thread, token, here());
    assert_int_equal(intervals, 4);
}

static void a_thread_that_uses_cpu_time_without_ticks_is_passed_over_in_each_interval(void **state)
{
    (void)state;
    intervals_after_passes_over_ticks(20);
    pass(4, 4000); /* the thread is known to have ticked before */
    intervals_to_next_pass();
    pass(4, 4000);
    assert_int_equal(intervals_to_next_pass(), 1);
}

/* A thread in system calls has no ticks. The sampler does not stop it while it is in a hooked call. */
static void passes_are_rarer_while_ticks_are_missing_in_calls(void **state)
{
    (void)state;
    uint64_t intervals = 0;
    intervals_after_passes_over_ticks(20);
    for (int i = 0; i < 16; i++) {
        uint32_t token = strobe_scope_begin(ticking.thread, STROBE_KIND_READ, 0, here());
        pass(4, 400);
        intervals = intervals_to_next_pass();
        strobe_scope_end(ticking.thread, token, here());
    }
    assert_int_equal(intervals, 4);
    pass(4, 400);
    assert_int_equal(intervals_to_next_pass(), 1);
}

static void a_new_thread_is_passed_over_in_each_interval(void **state)
{
    (void)state;
    intervals_after_passes_over_ticks(20);
    assert_non_null(strobe_thread_attach(&ticking.engine, 2001, false, "new", &(struct strobe_stack_bounds){0}));
    tick(0, 1000);
    pass(1, 1000);
    assert_int_equal(intervals_to_next_pass(), 1);
}

static void passes_come_every_second_interval_while_threads_wait_for_a_processor(void **state)
{
    (void)state;
    ring_says = STROBE_OK;
    intervals_after_passes_over_ticks(20);
    for (int i = 0; i < 3 && !asked.rings; i++)
        pass(1, 0);
    assert_int_equal(asked.rings, 1);
    assert_int_equal(intervals_to_next_pass(), 2);
    assert_int_equal(intervals_after_passes_over_ticks(20), 4);
}

static void passes_are_not_rarer_where_no_clock_can_tick(void **state)
{
    (void)state;
    uint64_t intervals = 0;
    ticking.host.clock_keep = NULL;
    for (int i = 0; i < 16; i++) {
        pass(1, 0);
        intervals = intervals_to_next_pass();
    }
    assert_int_equal(intervals, 1);
}

/* ---- rests */

/* Brings the sampler to rest. */
static void begin_to_rest(void)
{
    intervals_after_passes_over_ticks(20);
    assert_true(strobe_sampler_deadline(&sampler) > ticking.now + 2 * sampler.interval_ticks);
}

static void a_new_thread_ends_the_rest_of_the_sampler_at_the_next_deadline_of_its_grid(void **state)
{
    (void)state;
    begin_to_rest();
    uint64_t end_of_rest = strobe_sampler_deadline(&sampler);
    comes_at = end_of_rest - 5 * sampler.interval_ticks / 2;
    uint64_t deadline = strobe_sampler_sleep(&sampler);
    assert_int_equal(rouses, 1);
    assert_int_equal(deadline, end_of_rest - 2 * sampler.interval_ticks);
    assert_int_equal(ticking.now, deadline);
    strobe_sampler_pass(&sampler, ticking.now);
    assert_int_equal(intervals_to_next_pass(), 1);
}

static void a_rest_in_which_no_thread_comes_lasts_to_its_deadline(void **state)
{
    (void)state;
    begin_to_rest();
    uint64_t end_of_rest = strobe_sampler_deadline(&sampler);
    assert_int_equal(strobe_sampler_sleep(&sampler), end_of_rest);
    assert_int_equal(ticking.now, end_of_rest);
    assert_int_equal(rests, 1);
    assert_int_equal(rouses, 0);
}

/* The thread attaches after the pass, which did not see it, and before the rest. */
static void the_sampler_does_not_rest_when_a_thread_has_come_since_its_pass_began(void **state)
{
    (void)state;
    intervals_after_passes_over_ticks(20);
    tick(0, 1000);
    pass(1, 1000);
    assert_non_null(strobe_thread_attach(&ticking.engine, 2001, false, "new", &(struct strobe_stack_bounds){0}));
    assert_int_equal(rouses, 0);
    assert_int_equal(intervals_to_next_pass(), 1);
    strobe_sampler_sleep(&sampler);
    assert_int_equal(rests, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TICKING(passes_are_rarer_while_each_thread_that_runs_ticks),
        TICKING(passes_are_rarer_while_threads_wait_in_calls),
        TICKING(a_thread_that_uses_cpu_time_without_ticks_is_passed_over_in_each_interval),
        TICKING(passes_are_rarer_while_ticks_are_missing_in_calls),
        TICKING(a_new_thread_is_passed_over_in_each_interval),
        TICKING(a_new_thread_ends_the_rest_of_the_sampler_at_the_next_deadline_of_its_grid),
        TICKING(a_rest_in_which_no_thread_comes_lasts_to_its_deadline),
        TICKING(the_sampler_does_not_rest_when_a_thread_has_come_since_its_pass_began),
        TICKING(passes_come_every_second_interval_while_threads_wait_for_a_processor),
        TICKING(passes_are_not_rarer_where_no_clock_can_tick),
    };
    return cmocka_run_group_tests_name("the sampler's pace", tests, NULL, NULL);
}
