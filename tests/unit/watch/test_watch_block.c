/* The iOS monitor of the main run loop: its grid of checks, point stack, annealing, limit. */
#include "engine/watch/block.h"
#include "tests/unit/support/watch_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define BLOCK STROBE_FINDING_BLOCK
enum { LEAF = 100, SAMPLE_MS = 50 };

static void process(double ms)
{
    watch_notify_ms(&rig, STROBE_WATCH_PROCESS, ms, "App");
}

static void loop(double ms, enum strobe_loop_activity code)
{
    struct strobe_watch_event e = {
        .what = STROBE_WATCH_LOOP, .time_ns = (uint64_t)(ms * 1e6), .code = code, .text = ""};
    watch_notify(&rig, &e);
}

/* A stack of three frames. The innermost frame and its caller are reported. */
static void sample(double ms, uint64_t leaf, uint64_t caller)
{
    uint64_t frames[] = {leaf, caller, 1};
    static const char *const leaves[] = {"-[A a]", "-[B b]", "-[C c]", "-[D d]"};
    const char *names[] = {leaves[leaf % 4], "-[V caller]", "main"};
    struct strobe_watch_stack s = {frames, 3, names};
    struct strobe_watch_event e = {
        .what = STROBE_WATCH_SAMPLE, .time_ns = (uint64_t)(ms * 1e6), .text = "", .stack = &s};
    watch_notify(&rig, &e);
}

/* Samples of one stack, up to but not at end_ms. */
static void samples(double begin_ms, double end_ms, uint64_t leaf)
{
    for (double ms = begin_ms; ms < end_ms; ms += SAMPLE_MS)
        sample(ms, leaf, 2);
}

static void tick(double ms)
{
    watch_notify_ms(&rig, STROBE_WATCH_TICK, ms, "");
}

static size_t blocks(void)
{
    return watch_count(&rig, BLOCK);
}

static double block_ms(size_t n)
{
    return watch_value(watch_found(&rig, BLOCK, n), "block_ms");
}

static void a_turn_of_more_than_two_seconds_is_a_block_at_the_next_check(void **state)
{
    (void)state;
    process(0);
    loop(500, STROBE_LOOP_AFTER_WAITING);
    samples(500, 4000, LEAF);
    loop(4000, STROBE_LOOP_BEFORE_WAITING);
    assert_int_equal(blocks(), 1);
    const struct strobe_finding *f = watch_found(&rig, BLOCK, 0);
    assert_int_equal(f->begin_ns, 500000000);
    assert_int_equal(f->end_ns, 3000000000);
    assert_true(block_ms(0) == 2500);
    assert_true(watch_value(f, "samples") == 20);
    assert_true(watch_value(f, "dump_type") == 2001);
    assert_string_equal(f->blame, "-[A a]");
    assert_string_equal(f->stack, "0,main,20,1000\n1,-[V caller],20,1000\n2,-[A a],20,1000\n");
}

static void a_turn_of_exactly_two_seconds_is_no_block(void **state)
{
    (void)state;
    process(0);
    loop(1000, STROBE_LOOP_AFTER_WAITING);
    samples(1000, 3001, LEAF);
    loop(3001, STROBE_LOOP_BEFORE_WAITING);
    tick(9000);
    assert_int_equal(blocks(), 0);
}

/* Turns between 2 and 3 s are seen or not, depending on the times of the checks. */
static void a_turn_that_ends_before_a_check_is_not_seen(void **state)
{
    (void)state;
    process(0);
    loop(1100, STROBE_LOOP_AFTER_WAITING);
    samples(1100, 3990, LEAF);
    loop(3990, STROBE_LOOP_BEFORE_WAITING);
    tick(9000);
    assert_int_equal(blocks(), 0);
    loop(10100, STROBE_LOOP_AFTER_WAITING);
    samples(10100, 13010, LEAF);
    loop(13010, STROBE_LOOP_BEFORE_WAITING);
    assert_int_equal(blocks(), 1);
}

/* Upstream ignores a begin whose seconds or microseconds are zero. */
static void a_turn_that_begins_at_a_full_second_is_seen(void **state)
{
    (void)state;
    process(0);
    loop(1000, STROBE_LOOP_AFTER_WAITING);
    samples(1000, 4500, LEAF);
    loop(4500, STROBE_LOOP_BEFORE_WAITING);
    assert_int_equal(blocks(), 1);
    assert_true(block_ms(0) == 3000);
    watch_rig_again(&rig);
    process(0);
    loop(0, STROBE_LOOP_AFTER_WAITING);
    samples(0, 3500, LEAF);
    assert_int_equal(blocks(), 1);
}

static void waiting_is_no_block(void **state)
{
    (void)state;
    process(0);
    loop(100, STROBE_LOOP_AFTER_WAITING);
    loop(200, STROBE_LOOP_BEFORE_WAITING);
    samples(200, 9000, LEAF);
    loop(9000, STROBE_LOOP_EXIT);
    tick(20000);
    assert_int_equal(blocks(), 0);
}

/* Issue 288: for a loop that never waits, the begin was never updated, and its block grew. */
static void turns_of_a_loop_that_never_waits_are_turns(void **state)
{
    (void)state;
    process(0);
    for (double ms = 100; ms < 9000; ms += 300) {
        loop(ms, STROBE_LOOP_BEFORE_TIMERS);
        loop(ms + 1, STROBE_LOOP_BEFORE_SOURCES);
        samples(ms, ms + 300, LEAF);
    }
    assert_int_equal(blocks(), 0);
}

static void before_sources_begins_no_turn_within_one(void **state)
{
    (void)state;
    process(0);
    loop(100, STROBE_LOOP_BEFORE_TIMERS);
    samples(100, 1500, LEAF);
    loop(1500, STROBE_LOOP_BEFORE_SOURCES);
    samples(1500, 3500, LEAF);
    tick(3500);
    assert_int_equal(blocks(), 1);
    assert_true(block_ms(0) == 2900);
}

/* ---- repeats */

static void of_one_stack_checks_come_after_2_3_5_and_8_periods(void **state)
{
    (void)state;
    process(0);
    loop(500, STROBE_LOOP_AFTER_WAITING);
    samples(500, 60000, LEAF);
    assert_int_equal(blocks(), 1);
    /* Checks are at 3, 4 (then after 2), 6 (3), 9 (5), 14 (8), 22 (13) and 35 s. A new stack shows which check
     * reported. */
    watch_rig_again(&rig);
    process(0);
    loop(500, STROBE_LOOP_AFTER_WAITING);
    samples(500, 14500, LEAF);
    samples(14500, 60000, LEAF + 1);
    assert_int_equal(blocks(), 2);
    assert_true(block_ms(0) == 2500);
    assert_true(block_ms(1) == 21500);
}

static void a_check_without_a_block_forgets_the_stack_and_the_delay(void **state)
{
    (void)state;
    process(0);
    for (int i = 0; i < 3; i++) {
        double ms = 500 + i * 10000;
        loop(ms, STROBE_LOOP_AFTER_WAITING);
        samples(ms, ms + 3000, LEAF);
        loop(ms + 3000, STROBE_LOOP_BEFORE_WAITING);
    }
    tick(40000);
    assert_int_equal(blocks(), 3);
}

static void equal_leaves_of_other_callers_are_other_stacks(void **state)
{
    (void)state;
    process(0);
    loop(500, STROBE_LOOP_AFTER_WAITING);
    samples(500, 3050, LEAF);
    for (double ms = 3050; ms < 4500; ms += SAMPLE_MS)
        sample(ms, LEAF, 3);
    tick(4500);
    assert_int_equal(blocks(), 2);
}

static void a_stack_of_one_frame_is_not_reported(void **state)
{
    uint64_t frame = LEAF;
    struct strobe_watch_stack s = {&frame, 1, NULL};
    (void)state;
    process(0);
    loop(500, STROBE_LOOP_AFTER_WAITING);
    for (uint64_t ms = 500; ms < 9000; ms += SAMPLE_MS) {
        struct strobe_watch_event e = {.what = STROBE_WATCH_SAMPLE, .time_ns = ms * 1000000, .text = "", .stack = &s};
        watch_notify(&rig, &e);
    }
    assert_int_equal(blocks(), 0);
    watch_rig_again(&rig);
    process(0);
    loop(500, STROBE_LOOP_AFTER_WAITING);
    tick(UINT32_MAX);
    assert_int_equal(blocks(), 0);
}

static void stacks_differ_in_frames_beyond_the_three_hundredth(void **state)
{
    enum { DEEP = 400 };
    static uint64_t frames[DEEP];
    struct strobe_watch_stack s = {frames, DEEP, NULL};
    (void)state;
    for (uint32_t i = 0; i < DEEP; i++)
        frames[i] = i + 1;
    process(0);
    loop(500, STROBE_LOOP_AFTER_WAITING);
    for (uint64_t ms = 500; ms < 4500; ms += SAMPLE_MS) {
        struct strobe_watch_event e = {.what = STROBE_WATCH_SAMPLE, .time_ns = ms * 1000000, .text = "", .stack = &s};
        frames[DEEP - 1] = ms <= 3000 ? DEEP : DEEP + 1;
        watch_notify(&rig, &e);
    }
    assert_int_equal(blocks(), 2);
}

/* ---- point stack */

static void the_stack_seen_most_often_in_a_row_is_to_blame(void **state)
{
    (void)state;
    process(0);
    loop(500, STROBE_LOOP_AFTER_WAITING);
    samples(500, 2000, LEAF);
    samples(2000, 2200, LEAF + 1); /* 4 */
    samples(2200, 2700, LEAF + 2); /* 10 in a row */
    samples(2700, 3000, LEAF + 3); /* 6 */
    tick(3500);
    assert_int_equal(blocks(), 1);
    const struct strobe_finding *f = watch_found(&rig, BLOCK, 0);
    assert_string_equal(f->blame, "-[C c]");
    assert_true(watch_value(f, "repeat") == 9);
    assert_string_equal(f->stack, "0,main,20,1000\n1,-[V caller],20,1000\n2,-[C c],10,500\n");
}

/* A pause between two samples, while the loop waits, is no repeat. */
static void repeats_end_where_samples_pause(void **state)
{
    (void)state;
    process(0);
    loop(100, STROBE_LOOP_AFTER_WAITING);
    samples(100, 400, LEAF);
    loop(400, STROBE_LOOP_BEFORE_WAITING);
    loop(500, STROBE_LOOP_AFTER_WAITING);
    samples(500, 3050, LEAF);
    tick(3500);
    assert_int_equal(blocks(), 1);
    assert_true(watch_value(watch_found(&rig, BLOCK, 0), "repeat") == 50);
}

static void of_equal_repeats_the_latest_is_to_blame(void **state)
{
    (void)state;
    process(0);
    loop(500, STROBE_LOOP_AFTER_WAITING);
    samples(500, 2000, LEAF + 3);
    samples(2000, 2500, LEAF);
    samples(2500, 3000, LEAF + 1);
    tick(3500);
    assert_int_equal(blocks(), 1);
    assert_string_equal(watch_found(&rig, BLOCK, 0)->blame, "-[B b]");
}

static void samples_that_come_more_often_are_thinned_to_fifty_milliseconds(void **state)
{
    (void)state;
    process(0);
    loop(500, STROBE_LOOP_AFTER_WAITING);
    for (double ms = 500; ms < 3500; ms += 5)
        sample(ms, ms < 2400 ? LEAF : LEAF + 1, 2);
    assert_int_equal(blocks(), 1);
    const struct strobe_finding *f = watch_found(&rig, BLOCK, 0);
    assert_true(watch_value(f, "repeat") == 37);
    assert_string_equal(f->stack, "0,main,20,1000\n1,-[V caller],20,1000\n2,-[A a],7,350\n");
}

/* ---- limit */

static void block_number(unsigned n, double begin_ms)
{
    loop(begin_ms, STROBE_LOOP_AFTER_WAITING);
    samples(begin_ms, begin_ms + 3000, LEAF + n);
    loop(begin_ms + 3000, STROBE_LOOP_BEFORE_WAITING);
}

static void at_most_a_hundred_are_reported_a_day(void **state)
{
    (void)state;
    process(0);
    for (unsigned i = 0; i < 101; i++)
        block_number(i, 500 + i * 5000.0);
    assert_int_equal(blocks(), 100);
    block_number(0, 86400000 - 10000.0);
    assert_int_equal(blocks(), 100);
    block_number(0, 86400000 + 500.0);
    assert_int_equal(blocks(), 101);
}

static void behind_others_a_block_is_of_another_type(void **state)
{
    (void)state;
    process(0);
    struct strobe_watch_event e = {.what = STROBE_WATCH_FOREGROUND, .time_ns = 1, .text = ""};
    watch_notify(&rig, &e);
    block_number(0, 500);
    assert_int_equal(blocks(), 1);
    assert_true(watch_value(watch_found(&rig, BLOCK, 0), "dump_type") == 2002);
}

/* Issue 567: 1 s of work and 0.3 s of rest are not a block by default. With half of both settings they are. */
static void lower_settings_see_shorter_blocks(void **state)
{
    (void)state;
    for (int low = 0; low < 2; low++) {
        watch_rig_again(&rig);
        rig.options.block_ns = low ? 800000000 : 2000000000;
        process(0);
        for (double ms = 100; ms < 20000; ms += 1300) {
            loop(ms, STROBE_LOOP_AFTER_WAITING);
            samples(ms, ms + 1000, LEAF);
            loop(ms + 1000, STROBE_LOOP_BEFORE_WAITING);
        }
        assert_int_equal(blocks() > 0, low);
    }
}

static void a_long_silence_costs_no_time(void **state)
{
    (void)state;
    process(0);
    tick(1e12);
    loop(1e12, STROBE_LOOP_AFTER_WAITING);
    tick(1.8e13);
    assert_int_equal(blocks(), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, watch_rig_start, watch_rig_stop)
    const struct CMUnitTest tests[] = {
        TEST(a_turn_of_more_than_two_seconds_is_a_block_at_the_next_check),
        TEST(a_turn_of_exactly_two_seconds_is_no_block),
        TEST(a_turn_that_ends_before_a_check_is_not_seen),
        TEST(a_turn_that_begins_at_a_full_second_is_seen),
        TEST(waiting_is_no_block),
        TEST(turns_of_a_loop_that_never_waits_are_turns),
        TEST(before_sources_begins_no_turn_within_one),
        TEST(of_one_stack_checks_come_after_2_3_5_and_8_periods),
        TEST(a_check_without_a_block_forgets_the_stack_and_the_delay),
        TEST(equal_leaves_of_other_callers_are_other_stacks),
        TEST(a_stack_of_one_frame_is_not_reported),
        TEST(stacks_differ_in_frames_beyond_the_three_hundredth),
        TEST(the_stack_seen_most_often_in_a_row_is_to_blame),
        TEST(repeats_end_where_samples_pause),
        TEST(of_equal_repeats_the_latest_is_to_blame),
        TEST(samples_that_come_more_often_are_thinned_to_fifty_milliseconds),
        TEST(at_most_a_hundred_are_reported_a_day),
        TEST(behind_others_a_block_is_of_another_type),
        TEST(lower_settings_see_shorter_blocks),
        TEST(a_long_silence_costs_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
