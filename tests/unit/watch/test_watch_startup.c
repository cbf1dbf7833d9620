/* Startup: cold, warm, splash, services; each rule that upstream gets wrong. */
#include "engine/watch/startup.h"
#include "tests/unit/support/watch_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STARTUP STROBE_FINDING_STARTUP
enum { LAUNCH = 100, RECEIVER = 113, SERVICE = 114, RELAUNCH = 126, TRANSACTION = 159, BOOT_MS = 100000 };

static void notify_event(enum strobe_watch_what what, double ms, uint32_t code, const char *text)
{
    struct strobe_watch_event e = {
        .what = what, .time_ns = (uint64_t)((BOOT_MS + ms) * 1e6), .code = code, .text = text};
    watch_notify(&rig, &e);
}

static void begin(void)
{
    notify_event(STROBE_WATCH_APP_BEGIN, 0, 0, "");
}

static void component(double ms, uint32_t code, const char *text)
{
    notify_event(STROBE_WATCH_COMPONENT, ms, code, text);
}

static void activity(double ms, enum strobe_activity what, const char *class)
{
    notify_event(STROBE_WATCH_ACTIVITY, ms, what, class);
}

static void created(double ms, const char *class)
{
    activity(ms, STROBE_ACTIVITY_CREATED, class);
}

static void focused(double ms, const char *class)
{
    activity(ms, STROBE_ACTIVITY_FOCUSED, class);
}

static void destroyed(double ms, const char *class)
{
    activity(ms, STROBE_ACTIVITY_DESTROYED, class);
}

static void end(double ms)
{
    notify_event(STROBE_WATCH_END, ms, 0, "");
}

static const struct strobe_finding *only(void)
{
    assert_int_equal(watch_count(&rig, STARTUP), 1);
    return watch_found(&rig, STARTUP, 0);
}

static bool has(const struct strobe_finding *f, const char *key)
{
    return !isnan(strobe_finding_value(f, key));
}

static void is(const struct strobe_finding *f, const char *key, double value)
{
    assert_true(fabs(watch_value(f, key) - value) < 1e-6);
}

static void a_cold_start_lasts_from_the_app_to_the_first_focus(void **state)
{
    (void)state;
    begin();
    component(400, LAUNCH, "");
    created(420, "a.Main");
    focused(900, "a.Main");
    end(2000);
    const struct strobe_finding *f = only();
    is(f, "application_ms", 400);
    is(f, "application_code", LAUNCH);
    is(f, "first_screen_ms", 900);
    is(f, "cold_ms", 900);
    is(f, "slow", 0);
    assert_string_equal(f->scene, "a.Main");
    assert_string_equal(f->stack, "");
    assert_int_equal(f->end_ns - f->begin_ns, 900000000);
}

/* Issue 37: message 159 of Android 9 was not known, so no startup was reported. */
static void each_message_that_launches_counts(void **state)
{
    static const struct {
        uint32_t code;
        const char *text;
    } of[] = {{LAUNCH, ""}, {RELAUNCH, ""}, {TRANSACTION, "android.app.servertransaction.LaunchActivityItem"}};
    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        watch_rig_again(&rig);
        begin();
        component(300, of[i].code, of[i].text);
        created(310, "a.Main");
        focused(500, "a.Main");
        is(only(), "application_ms", 300);
        is(only(), "cold_ms", 500);
    }
}

static void a_transaction_without_a_launch_and_other_messages_are_passed_over(void **state)
{
    (void)state;
    begin();
    component(100, TRANSACTION, "android.app.servertransaction.PauseActivityItem");
    component(120, 101, "");
    component(300, LAUNCH, "");
    component(350, SERVICE, "");
    focused(500, "a.Main");
    is(only(), "application_ms", 300);
    is(only(), "application_code", LAUNCH);
}

static void a_service_or_a_receiver_starts_with_its_application(void **state)
{
    (void)state;
    for (uint32_t code = RECEIVER; code <= SERVICE; code++) {
        watch_rig_again(&rig);
        begin();
        component(300, code, "");
        end(60000);
        is(only(), "cold_ms", 300);
        is(only(), "application_ms", 300);
        assert_false(has(only(), "first_screen_ms"));
        assert_string_equal(only()->scene, "");
    }
}

static void an_activity_of_a_process_made_for_a_service_has_no_cold_start(void **state)
{
    (void)state;
    begin();
    component(300, SERVICE, "");
    created(50000, "a.Main");
    focused(51000, "a.Main");
    end(60000);
    is(only(), "cold_ms", 300);
    assert_false(has(only(), "first_screen_ms"));
}

static void after_a_splash_the_next_activity_ends_the_cold_start(void **state)
{
    (void)state;
    rig.options.splash = "a.Splash;a.Other";
    begin();
    component(200, LAUNCH, "");
    created(210, "a.Splash");
    focused(400, "a.Splash");
    focused(450, "a.Splash");
    assert_int_equal(watch_count(&rig, STARTUP), 0);
    created(1000, "a.Main");
    focused(1500, "a.Main");
    is(only(), "first_screen_ms", 400);
    is(only(), "cold_ms", 1500);
    assert_string_equal(only()->scene, "a.Main");
}

static void an_app_that_shows_another_activity_than_its_splash_first_is_started(void **state)
{
    (void)state;
    rig.options.splash = "a.Splash";
    begin();
    component(200, LAUNCH, "");
    focused(400, "a.Main");
    is(only(), "cold_ms", 400);
}

/* Issues 238 and 294: null was dereferenced, and "" gave a set with the empty name. */
static void the_empty_and_the_missing_splash_list_hold_nothing(void **state)
{
    static const char *const lists[] = {NULL, "", ";", ";;"};
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        watch_rig_again(&rig);
        rig.options.splash = lists[i];
        begin();
        component(200, LAUNCH, "");
        focused(400, "");
        is(only(), "cold_ms", 400);
    }
}

/* Issue 800: as long as the reason for the process is not known, upstream forgets which activity gains the focus. */
static void a_focus_before_any_component_is_known_counts(void **state)
{
    (void)state;
    begin();
    created(300, "a.Main");
    focused(700, "a.Main");
    end(1000);
    is(only(), "cold_ms", 700);
    assert_false(has(only(), "application_ms"));
    assert_non_null(strstr(only()->unseen, "why the application was created"));
}

/* Issue 84: without the end of the application, its duration was minus the whole wall clock. */
static void an_application_whose_end_was_not_seen_has_no_duration(void **state)
{
    (void)state;
    begin();
    focused(700, "a.Main");
    assert_false(has(only(), "application_ms"));
    for (size_t i = 0; i < only()->value_count; i++)
        assert_true(only()->values[i].value >= 0);
}

/* Upstream takes an unknown creation time for 0, the boot. On a device that is up for 30 s or longer, the report is
 * then lost. */
static void an_activity_whose_creation_was_not_seen_is_started_in_time(void **state)
{
    (void)state;
    begin();
    component(200, LAUNCH, "");
    focused(700, "a.Main");
    is(only(), "cold_ms", 700);
}

static void a_start_of_thirty_seconds_is_not_reported(void **state)
{
    (void)state;
    begin();
    component(200, LAUNCH, "");
    created(300, "a.Main");
    focused(30300, "a.Main");
    assert_int_equal(watch_count(&rig, STARTUP), 0);
    watch_rig_again(&rig);
    begin();
    component(200, LAUNCH, "");
    created(300, "a.Main");
    focused(30299, "a.Main");
    is(only(), "cold_ms", 30299);
}

/* A start of length zero counts. In upstream, 0 means that the start has not happened, so it begins again. */
static void a_cold_start_of_length_zero_is_reported(void **state)
{
    (void)state;
    begin();
    component(0, SERVICE, "");
    focused(0, "a.Main");
    destroyed(100, "a.Main");
    created(5000, "a.Main");
    focused(5300, "a.Main");
    assert_int_equal(watch_count(&rig, STARTUP), 2);
    is(watch_found(&rig, STARTUP, 0), "cold_ms", 0);
    is(watch_found(&rig, STARTUP, 1), "warm_ms", 300);
}

static void started(void)
{
    begin();
    component(200, LAUNCH, "");
    created(210, "a.Main");
    focused(400, "a.Main");
}

static void an_activity_created_when_there_is_none_is_a_warm_start(void **state)
{
    (void)state;
    started();
    destroyed(3000, "a.Main");
    created(8000, "a.Main");
    focused(8250, "a.Main");
    focused(9000, "a.Main");
    end(10000);
    assert_int_equal(watch_count(&rig, STARTUP), 2);
    const struct strobe_finding *f = watch_found(&rig, STARTUP, 1);
    is(f, "warm_ms", 250);
    assert_false(has(f, "cold_ms") || has(f, "application_ms"));
    assert_string_equal(f->key, "warm");
}

static void an_activity_beside_another_is_no_start(void **state)
{
    (void)state;
    started();
    created(8000, "a.Second");
    focused(8250, "a.Second");
    destroyed(9000, "a.Second");
    created(9500, "a.Second");
    focused(9600, "a.Second");
    assert_int_equal(watch_count(&rig, STARTUP), 1);
}

/* Issues 628 and 675: an activity created before the watcher made the live count negative, and no start was warm. */
static void an_activity_that_was_never_seen_created_does_not_make_the_live_count_negative(void **state)
{
    (void)state;
    begin();
    component(10, LAUNCH, "");
    destroyed(20, "a.Old");
    destroyed(30, "a.Older");
    created(40, "a.Main");
    focused(100, "a.Main");
    destroyed(200, "a.Main");
    created(300, "a.Main");
    focused(350, "a.Main");
    assert_int_equal(watch_count(&rig, STARTUP), 2);
    is(watch_found(&rig, STARTUP, 1), "warm_ms", 50);
}

static void call(double ms, enum strobe_watch_what what, const char *text)
{
    notify_event(what, ms, 0, text);
}

/* Issue 590: a slow warm start had no stack, because its begin was never marked. */
static void a_slow_start_blames_the_calls_of_its_time(void **state)
{
    (void)state;
    rig.options.cold_ns = 300000000;
    rig.options.warm_ns = 200000000;
    begin();
    call(0, STROBE_WATCH_CALL_BEGIN, "Main.main");
    component(100, LAUNCH, "");
    created(110, "a.Main");
    call(110, STROBE_WATCH_CALL_BEGIN, "a.Main.onCreate");
    call(380, STROBE_WATCH_CALL_END, "a.Main.onCreate");
    focused(400, "a.Main");
    is(only(), "slow", 1);
    assert_string_equal(only()->stack, "0,Main.main,1,400\n1,a.Main.onCreate,1,270\n");
    assert_string_equal(only()->blame, "a.Main.onCreate");
    call(500, STROBE_WATCH_CALL_BEGIN, "Between.one");
    call(600, STROBE_WATCH_CALL_END, "Between.one");
    destroyed(1000, "a.Main");
    created(2000, "a.Main");
    for (int i = 0; i < 3; i++) {
        call(2000 + i * 50, STROBE_WATCH_CALL_BEGIN, "Warm.inflate");
        call(2050 + i * 50, STROBE_WATCH_CALL_END, "Warm.inflate");
    }
    focused(2200, "a.Main");
    const struct strobe_finding *f = watch_found(&rig, STARTUP, 1);
    is(f, "slow", 1);
    assert_string_equal(f->stack, "0,Warm.inflate,3,150\n");
    assert_string_equal(f->blame, "Warm.inflate");
}

static void a_start_is_slow_from_its_threshold_on(void **state)
{
    (void)state;
    rig.options.cold_ns = 400000000;
    started();
    is(only(), "slow", 1);
    watch_rig_again(&rig);
    rig.options.cold_ns = 400000001;
    started();
    is(only(), "slow", 0);
}

static void before_the_app_begins_nothing_starts(void **state)
{
    (void)state;
    component(10, LAUNCH, "");
    focused(20, "a.Main");
    end(30);
    assert_int_equal(watch_count(&rig, STARTUP), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, watch_rig_start, watch_rig_stop)
    const struct CMUnitTest tests[] = {
        TEST(a_cold_start_lasts_from_the_app_to_the_first_focus),
        TEST(each_message_that_launches_counts),
        TEST(a_transaction_without_a_launch_and_other_messages_are_passed_over),
        TEST(a_service_or_a_receiver_starts_with_its_application),
        TEST(an_activity_of_a_process_made_for_a_service_has_no_cold_start),
        TEST(after_a_splash_the_next_activity_ends_the_cold_start),
        TEST(an_app_that_shows_another_activity_than_its_splash_first_is_started),
        TEST(the_empty_and_the_missing_splash_list_hold_nothing),
        TEST(a_focus_before_any_component_is_known_counts),
        TEST(an_application_whose_end_was_not_seen_has_no_duration),
        TEST(an_activity_whose_creation_was_not_seen_is_started_in_time),
        TEST(a_start_of_thirty_seconds_is_not_reported),
        TEST(a_cold_start_of_length_zero_is_reported),
        TEST(an_activity_created_when_there_is_none_is_a_warm_start),
        TEST(an_activity_beside_another_is_no_start),
        TEST(an_activity_that_was_never_seen_created_does_not_make_the_live_count_negative),
        TEST(a_slow_start_blames_the_calls_of_its_time),
        TEST(a_start_is_slow_from_its_threshold_on),
        TEST(before_the_app_begins_nothing_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
