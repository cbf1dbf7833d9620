/* Idle handlers and touches that lag, and the functions that all watchers share: the scene, the order of time. */
#include "tests/unit/support/watch_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define IDLE  STROBE_FINDING_IDLE_LAG
#define TOUCH STROBE_FINDING_TOUCH_LAG

static void idle(double begin_ms, double end_ms, const char *handler)
{
    watch_notify_ms(&rig, STROBE_WATCH_IDLE_BEGIN, begin_ms, handler);
    watch_notify_ms(&rig, STROBE_WATCH_IDLE_END, end_ms, handler);
}

static void received(double ms, int64_t fd, uint32_t bytes)
{
    struct strobe_watch_event e = {
        .what = STROBE_WATCH_TOUCH_BEGIN, .time_ns = (uint64_t)(ms * 1e6), .value = fd, .code = bytes, .text = ""};
    watch_notify(&rig, &e);
}

static void sent(double ms, int64_t fd)
{
    struct strobe_watch_event e = {
        .what = STROBE_WATCH_TOUCH_END, .time_ns = (uint64_t)(ms * 1e6), .value = fd, .text = ""};
    watch_notify(&rig, &e);
}

static void every_finding_has_a_name(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < STROBE_FINDING_KINDS; kind++)
        assert_true(strobe_finding_name[kind] && *strobe_finding_name[kind]);
}

static void an_idle_handler_lags_from_two_seconds_on(void **state)
{
    (void)state;
    idle(100, 2099.999999, "Quick");
    assert_int_equal(watch_count(&rig, IDLE), 0);
    idle(3000, 5000, "Slow");
    assert_int_equal(watch_count(&rig, IDLE), 1);
    const struct strobe_finding *f = watch_found(&rig, IDLE, 0);
    assert_string_equal(f->blame, "Slow");
    assert_string_equal(f->unseen, "the capture has no call within it");
    assert_true(f->begin_ns == 3000000000 && f->end_ns == 5000000000);
    assert_true(watch_value(f, "cost_ms") == 2000 && watch_value(f, "unfinished") == 0);
}

static void an_idle_handler_within_another_is_measured_by_itself(void **state)
{
    (void)state;
    watch_notify_ms(&rig, STROBE_WATCH_IDLE_BEGIN, 0, "Outer");
    idle(1000, 3500, "Inner");
    watch_notify_ms(&rig, STROBE_WATCH_IDLE_END, 3600, "Outer");
    assert_int_equal(watch_count(&rig, IDLE), 2);
    assert_string_equal(watch_found(&rig, IDLE, 0)->blame, "Inner");
    assert_true(watch_value(watch_found(&rig, IDLE, 0), "cost_ms") == 2500);
    assert_true(watch_value(watch_found(&rig, IDLE, 1), "cost_ms") == 3600);
}

static void an_idle_handler_that_never_ends_is_reported_at_the_end(void **state)
{
    (void)state;
    watch_notify_ms(&rig, STROBE_WATCH_IDLE_END, 1, "never begun");
    watch_notify_ms(&rig, STROBE_WATCH_IDLE_BEGIN, 500, "Stuck");
    watch_end(&rig, 9500);
    assert_int_equal(watch_count(&rig, IDLE), 1);
    assert_true(watch_value(watch_found(&rig, IDLE, 0), "cost_ms") == 9000);
    assert_true(watch_value(watch_found(&rig, IDLE, 0), "unfinished") == 1);
}

static void only_the_main_threads_idle_handlers_count(void **state)
{
    struct strobe_watch_event e = {.what = STROBE_WATCH_IDLE_BEGIN, .thread = 3, .text = "Other"};
    (void)state;
    watch_notify(&rig, &e);
    watch_end(&rig, 9000);
    assert_int_equal(rig.count, 0);
}

/* Upstream compares whole seconds of the wall clock, so a touch from 0.999 to 2.000 s took two seconds. */
static void upstream_takes_a_touch_of_1001_ms_across_seconds_for_two_seconds(void **state)
{
    (void)state;
    assert_true((int)2.000 - (int)0.999 >= 2);
    received(999, 7, 64);
    sent(2000, 7);
    assert_int_equal(watch_count(&rig, TOUCH), 0);
    received(10000, 7, 64);
    sent(12000, 7);
    assert_int_equal(watch_count(&rig, TOUCH), 1);
    const struct strobe_finding *f = watch_found(&rig, TOUCH, 0);
    assert_true(watch_value(f, "cost_ms") == 2000 && watch_value(f, "fd") == 7);
}

static void a_touch_is_more_than_50_bytes(void **state)
{
    (void)state;
    received(0, 7, 50);
    sent(3000, 7);
    assert_int_equal(rig.count, 0);
    received(4000, 7, 51);
    sent(6500, 7);
    received(20000, 7, 0);
    sent(22500, 7);
    assert_int_equal(watch_count(&rig, TOUCH), 2);
}

static void a_touch_lasts_from_the_first_unanswered_one(void **state)
{
    (void)state;
    received(0, 7, 64);
    received(1500, 7, 64);
    sent(2500, 7);
    sent(9000, 7);
    assert_int_equal(watch_count(&rig, TOUCH), 1);
    assert_true(watch_value(watch_found(&rig, TOUCH, 0), "cost_ms") == 2500);
}

static void another_descriptor_served_ends_the_wait(void **state)
{
    (void)state;
    received(0, 7, 64);
    received(2200, 8, 64);
    assert_int_equal(watch_count(&rig, TOUCH), 1);
    assert_true(watch_value(watch_found(&rig, TOUCH, 0), "fd") == 7);
    sent(2300, 8);
    assert_int_equal(watch_count(&rig, TOUCH), 1);
    received(10000, 7, 64);
    sent(10100, 8);
    sent(19000, 7);
    assert_int_equal(watch_count(&rig, TOUCH), 1);
}

static void touches_are_reported_four_seconds_apart_and_none_is_lost_from_the_count(void **state)
{
    (void)state;
    received(0, 7, 64);
    sent(2000, 7);
    received(2100, 7, 64);
    sent(5999, 7);
    assert_int_equal(watch_count(&rig, TOUCH), 1);
    received(6100, 7, 64);
    sent(8200, 7);
    assert_int_equal(watch_count(&rig, TOUCH), 2);
    assert_true(watch_value(watch_found(&rig, TOUCH, 1), "held_back") == 1);
    received(10000, 7, 64);
    sent(12200, 7);
    assert_true(watch_value(watch_found(&rig, TOUCH, 2), "held_back") == 0);
}

static void a_touch_that_is_never_answered_says_so(void **state)
{
    (void)state;
    received(100, 7, 64);
    watch_end(&rig, 4100);
    const struct strobe_finding *f = watch_found(&rig, TOUCH, 0);
    assert_true(watch_value(f, "unfinished") == 1 && watch_value(f, "cost_ms") == 4000);
    assert_string_equal(f->unseen, "its answer was not captured");
}

static void a_finding_has_the_scene_in_front_and_says_what_could_not_be_seen(void **state)
{
    struct strobe_watch_event gone = {
        .what = STROBE_WATCH_ACTIVITY, .code = STROBE_ACTIVITY_DESTROYED, .time_ns = 7000000000, .text = "Main"};
    (void)state;
    rig.view = (struct strobe_watch_view){.sampled = true, .resolution_ns = 10000000, .unseen_below_ns = 20000000};
    idle(0, 2000, "First");
    watch_focus(&rig, 2500, "Main");
    idle(3000, 6000, "Second");
    watch_notify(&rig, &gone);
    idle(7000, 9000, "Third");
    assert_string_equal(watch_found(&rig, IDLE, 0)->scene, "");
    assert_string_equal(watch_found(&rig, IDLE, 1)->scene, "Main");
    assert_string_equal(watch_found(&rig, IDLE, 2)->scene, "");
    assert_string_equal(watch_found(&rig, IDLE, 1)->unseen,
                        "no sample shows a call within it; calls shorter than 20 ms may be missing; "
                        "times are within 10 ms");
}

static void a_time_that_goes_back_counts_as_the_last_one(void **state)
{
    (void)state;
    watch_notify_ms(&rig, STROBE_WATCH_TICK, 5000, "");
    idle(1000, 6000, "Early");
    assert_int_equal(rig.count, 0);
    idle(7000, 9000, "Late");
    assert_int_equal(watch_count(&rig, IDLE), 1);
}

static void a_threshold_of_zero_finds_nothing(void **state)
{
    (void)state;
    rig.options.idle_lag_ns = rig.options.touch_lag_ns = 0;
    idle(0, 60000, "Slow");
    received(60000, 7, 64);
    sent(99000, 7);
    assert_int_equal(rig.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, watch_rig_start, watch_rig_stop)
        TEST(every_finding_has_a_name),
        TEST(an_idle_handler_lags_from_two_seconds_on),
        TEST(an_idle_handler_within_another_is_measured_by_itself),
        TEST(an_idle_handler_that_never_ends_is_reported_at_the_end),
        TEST(only_the_main_threads_idle_handlers_count),
        TEST(upstream_takes_a_touch_of_1001_ms_across_seconds_for_two_seconds),
        TEST(a_touch_is_more_than_50_bytes),
        TEST(a_touch_lasts_from_the_first_unanswered_one),
        TEST(another_descriptor_served_ends_the_wait),
        TEST(touches_are_reported_four_seconds_apart_and_none_is_lost_from_the_count),
        TEST(a_touch_that_is_never_answered_says_so),
        TEST(a_finding_has_the_scene_in_front_and_says_what_could_not_be_seen),
        TEST(a_time_that_goes_back_counts_as_the_last_one),
        TEST(a_threshold_of_zero_finds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
