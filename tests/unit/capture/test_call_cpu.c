/* The CPU time at the begin and at the end of calls: when it follows, from what, and when the clock must be read. */
#include "engine/capture/call_cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { US = 1000 };

static struct strobe_call_cpu calls;
static struct strobe_host host;
static uint64_t now, cpu_ns, readings;

static int start(void **state)
{
    (void)state;
    memset(&calls, 0, sizeof calls);
    host = (struct strobe_host){.ticks_per_second = 1000000000u};
    now = 1000 * US;
    cpu_ns = 500 * US;
    readings = 0;
    return 0;
}

static enum strobe_status keep_clock(void *ctx, uint32_t index, uint32_t tid, uint64_t period_ns, uint32_t taken)
{
    (void)ctx, (void)index, (void)tid, (void)period_ns, (void)taken;
    return STROBE_OK;
}

/* A call begins `after_us` after the last event; the thread has run for `ran_us` of that. Returns the CPU time of the
 * begin in us. */
static uint64_t begin_us(uint64_t after_us, uint64_t ran_us)
{
    uint64_t known;
    now += after_us * US;
    cpu_ns += ran_us * US;
    if (strobe_call_cpu_begins(&calls, &host, now, &known))
        return known / US;
    readings++;
    strobe_call_cpu_read(&calls, STROBE_KIND_NONE, now, cpu_ns);
    return cpu_ns / US;
}

/* The call ends after `lasted_us`; the thread has run for `ran_us` of that. */
static uint64_t end_us(uint32_t kind, uint64_t lasted_us, uint64_t ran_us)
{
    uint64_t known;
    now += lasted_us * US;
    cpu_ns += ran_us * US;
    if (strobe_call_cpu_ends(&calls, &host, kind, now, &known))
        return known / US;
    readings++;
    strobe_call_cpu_read(&calls, kind, now, cpu_ns);
    return cpu_ns / US;
}

/* One call of the kind, at both ends of which the clock is read. */
static void measure(uint32_t kind, uint64_t lasted_us, uint64_t ran_us)
{
    begin_us(1000, 1000);
    end_us(kind, lasted_us, ran_us);
    assert_int_equal(readings, 2);
    readings = 0;
}

static void the_first_call_of_a_kind_is_read_at_both_ends(void **state)
{
    (void)state;
    assert_int_equal(begin_us(1000, 100), 600);
    assert_int_equal(end_us(STROBE_KIND_COND, 5000, 3), 603);
    assert_int_equal(readings, 2);
}

static void a_thread_has_run_between_two_calls_that_are_close(void **state)
{
    (void)state;
    measure(STROBE_KIND_COND, 5000, 3);
    uint64_t before_us = cpu_ns / US;
    assert_int_equal(begin_us(200, 60), before_us + 200);
    assert_int_equal(readings, 0);
}

static void a_thread_that_slept_between_two_calls_for_longer_is_read(void **state)
{
    (void)state;
    measure(STROBE_KIND_COND, 5000, 3);
    uint64_t before_us = cpu_ns / US;
    assert_int_equal(begin_us(201, 0), before_us);
    assert_int_equal(readings, 1);
}

static void a_wait_has_used_what_waits_used_lately_however_long_it_was(void **state)
{
    (void)state;
    measure(STROBE_KIND_COND, 5000, 7);
    uint64_t before_us = cpu_ns / US;
    begin_us(10, 10);
    assert_int_equal(end_us(STROBE_KIND_COND, 900000, 9), before_us + 10 + 7);
    assert_int_equal(readings, 0);
}

static void a_call_has_used_at_most_its_time(void **state)
{
    (void)state;
    measure(STROBE_KIND_COND, 5000, 18);
    uint64_t before_us = cpu_ns / US;
    begin_us(10, 10);
    assert_int_equal(end_us(STROBE_KIND_COND, 4, 4), before_us + 10 + 4);
}

/* The begins add 10 us each, the ends 20 us: 180 us after the sixth call, and 190 us at the begin of the seventh. */
static void the_clock_is_read_before_the_possible_errors_exceed_what_is_shown(void **state)
{
    (void)state;
    measure(STROBE_KIND_MUTEX, 5000, 3);
    for (int i = 0; i < 6; i++) {
        begin_us(10, 10);
        end_us(STROBE_KIND_MUTEX, 5000, 3);
    }
    begin_us(10, 10);
    assert_int_equal(readings, 0);
    uint64_t read_us = end_us(STROBE_KIND_MUTEX, 5000, 3);
    assert_int_equal(read_us, cpu_ns / US);
    assert_int_equal(readings, 1);
}

/* Each time between calls adds 25 us of possible errors, each wait 20 us. */
static void a_thread_that_has_kept_its_processor_is_read_less_often(void **state)
{
    (void)state;
    measure(STROBE_KIND_MUTEX, 5000, 3);
    begin_us(201, 152);
    end_us(STROBE_KIND_MUTEX, 5000, 3);
    assert_int_equal(readings, 1);
    for (int i = 0; i < 4; i++) {
        begin_us(100, 100);
        end_us(STROBE_KIND_MUTEX, 5000, 3);
    }
    assert_int_equal(readings, 1);
    begin_us(100, 100);
    assert_int_equal(readings, 2);
}

static void a_thread_that_has_lost_its_processor_is_read_as_soon_as_it_may_have_lost_it_again(void **state)
{
    (void)state;
    measure(STROBE_KIND_MUTEX, 5000, 3);
    begin_us(201, 201);
    begin_us(201, 150);
    assert_int_equal(readings, 2);
    begin_us(100, 100);
    assert_int_equal(readings, 2);
    begin_us(101, 101);
    assert_int_equal(readings, 3);
}

static void a_thread_that_has_kept_its_processor_is_read_after_a_long_time_between_calls(void **state)
{
    (void)state;
    measure(STROBE_KIND_MUTEX, 5000, 3);
    begin_us(201, 201);
    begin_us(200, 200);
    assert_int_equal(readings, 1);
    begin_us(201, 201);
    assert_int_equal(readings, 2);
}

static void a_call_in_which_the_thread_worked_may_have_used_all_of_its_time(void **state)
{
    (void)state;
    measure(STROBE_KIND_WRITE, 300, 290);
    begin_us(10, 10);
    end_us(STROBE_KIND_WRITE, 190, 3);
    assert_int_equal(readings, 0);
    begin_us(1, 1);
    assert_int_equal(readings, 1);
    uint64_t read_us = end_us(STROBE_KIND_WRITE, 201, 3);
    assert_int_equal(read_us, cpu_ns / US);
    assert_int_equal(readings, 2);
}

static void a_call_of_a_kind_that_sleeps_may_have_used_a_quarter(void **state)
{
    (void)state;
    measure(STROBE_KIND_READ, 400, 99);
    begin_us(0, 0);
    end_us(STROBE_KIND_READ, 800, 20);
    assert_int_equal(readings, 0);
    begin_us(0, 0);
    end_us(STROBE_KIND_READ, 4, 4);
    assert_int_equal(readings, 1);
}

static void a_kind_of_call_that_begins_to_work_is_not_taken_for_one_that_sleeps(void **state)
{
    (void)state;
    measure(STROBE_KIND_READ, 400, 20);
    begin_us(0, 0);
    end_us(STROBE_KIND_READ, 900, 900); /* read: 225 us are possible */
    begin_us(0, 0);
    end_us(STROBE_KIND_READ, 300, 300);
    assert_int_equal(readings, 2);
}

static void what_calls_use_is_learned_per_call_of_those_since_the_last_reading(void **state)
{
    (void)state;
    measure(STROBE_KIND_READ, 400, 20);
    for (int i = 0; i < 4; i++) {
        begin_us(0, 0);
        end_us(STROBE_KIND_READ, 240, 40);
    }
    assert_int_equal(readings, 1); /* 240 us are possible: four calls have used 160 us */
    uint64_t before_us = cpu_ns / US;
    begin_us(0, 0);
    assert_int_equal(end_us(STROBE_KIND_READ, 240, 40), before_us + (20 + 40) / 2);
}

static void nothing_follows_where_cpu_clocks_tick_or_the_clock_was_set_back(void **state)
{
    (void)state;
    measure(STROBE_KIND_COND, 5000, 3);
    now -= US;
    begin_us(0, 0);
    assert_int_equal(readings, 1);
    host.clock_keep = keep_clock;
    begin_us(1, 1);
    end_us(STROBE_KIND_COND, 5000, 3);
    assert_int_equal(readings, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_first_call_of_a_kind_is_read_at_both_ends, start),
        cmocka_unit_test_setup(a_thread_has_run_between_two_calls_that_are_close, start),
        cmocka_unit_test_setup(a_thread_that_slept_between_two_calls_for_longer_is_read, start),
        cmocka_unit_test_setup(a_wait_has_used_what_waits_used_lately_however_long_it_was, start),
        cmocka_unit_test_setup(a_call_has_used_at_most_its_time, start),
        cmocka_unit_test_setup(the_clock_is_read_before_the_possible_errors_exceed_what_is_shown, start),
        cmocka_unit_test_setup(a_thread_that_has_kept_its_processor_is_read_less_often, start),
        cmocka_unit_test_setup(a_thread_that_has_lost_its_processor_is_read_as_soon_as_it_may_have_lost_it_again,
                               start),
        cmocka_unit_test_setup(a_thread_that_has_kept_its_processor_is_read_after_a_long_time_between_calls, start),
        cmocka_unit_test_setup(a_call_in_which_the_thread_worked_may_have_used_all_of_its_time, start),
        cmocka_unit_test_setup(a_call_of_a_kind_that_sleeps_may_have_used_a_quarter, start),
        cmocka_unit_test_setup(a_kind_of_call_that_begins_to_work_is_not_taken_for_one_that_sleeps, start),
        cmocka_unit_test_setup(what_calls_use_is_learned_per_call_of_those_since_the_last_reading, start),
        cmocka_unit_test_setup(nothing_follows_where_cpu_clocks_tick_or_the_clock_was_set_back, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
