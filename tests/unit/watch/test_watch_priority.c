/* The main thread's priority and timer slack. */
#include "engine/watch/priority.h"
#include "tests/unit/support/watch_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { NICE, SLACK };

static void set(double ms, uint32_t what, int64_t value)
{
    struct strobe_watch_event e = {
        .what = STROBE_WATCH_PRIORITY, .time_ns = (uint64_t)(ms * 1e6), .code = what, .value = value, .text = ""};
    watch_notify(&rig, &e);
}

static const struct strobe_finding *nth(size_t n, size_t of)
{
    assert_int_equal(watch_count(&rig, STROBE_FINDING_PRIORITY), of);
    return watch_found(&rig, STROBE_FINDING_PRIORITY, n);
}

static void a_changed_nice_value_is_reported_with_the_old_value(void **state)
{
    (void)state;
    set(10, NICE, 10);
    assert_true(watch_value(nth(0, 1), "nice_before") == 0);
    assert_true(watch_value(nth(0, 1), "nice_after") == 10);
    assert_true(watch_value(nth(0, 1), "lowered") == 1);
    assert_int_equal(nth(0, 1)->begin_ns, 10000000);
    set(20, NICE, -10);
    assert_true(watch_value(nth(1, 2), "nice_before") == 10);
    assert_true(watch_value(nth(1, 2), "lowered") == 0);
}

static void the_same_nice_value_again_is_nothing(void **state)
{
    (void)state;
    set(10, NICE, 0);
    set(20, NICE, 5);
    set(30, NICE, 5);
    assert_int_equal(watch_count(&rig, STROBE_FINDING_PRIORITY), 1);
}

static void a_timer_slack_of_more_than_fifty_microseconds_is_reported(void **state)
{
    (void)state;
    set(10, SLACK, 50000);
    set(20, SLACK, 1);
    assert_int_equal(watch_count(&rig, STROBE_FINDING_PRIORITY), 0);
    set(30, SLACK, 50001);
    assert_true(watch_value(nth(0, 1), "slack_before_us") == 0.001);
    assert_true(watch_value(nth(0, 1), "slack_after_us") == 50.001);
    assert_true(watch_value(nth(0, 1), "lowered") == 1);
    set(40, SLACK, 50001);
    assert_int_equal(watch_count(&rig, STROBE_FINDING_PRIORITY), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_changed_nice_value_is_reported_with_the_old_value, watch_rig_start,
                                        watch_rig_stop),
        cmocka_unit_test_setup_teardown(the_same_nice_value_again_is_nothing, watch_rig_start, watch_rig_stop),
        cmocka_unit_test_setup_teardown(a_timer_slack_of_more_than_fifty_microseconds_is_reported, watch_rig_start,
                                        watch_rig_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
