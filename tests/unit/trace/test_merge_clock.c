/* Clocks of ftrace text: each way by which its times are aligned, and which of them comes first. */
#include "engine/trace/merge/merge_clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BOOT_MINUS_MONO = 700 };

static struct strobe_merge_reference reference;
static struct strobe_merge_timing timing;
static struct strobe_merge_alignment alignment;

static int set_up(void **state)
{
    (void)state;
    reference = (struct strobe_merge_reference){0};
    timing = (struct strobe_merge_timing){.clock = "", .first_ns = 1000, .last_ns = 2000};
    strobe_merge_reference_add_clocks(&reference, 10000, 10000 - BOOT_MINUS_MONO, 10000 + 5000000);
    strobe_merge_reference_add_time(&reference, 10500);
    strobe_merge_reference_add_time(&reference, 10000);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    strobe_merge_reference_free(&reference);
    free(timing.sections);
    return 0;
}

static void aligns(int64_t offset, uint64_t error, const char *how)
{
    assert_true(strobe_merge_align(&reference, &timing, &alignment));
    assert_int_equal(alignment.offset_ns, offset);
    assert_int_equal(alignment.error_ns, error);
    assert_non_null(strstr(alignment.how, how));
}

static void hear(uint64_t time_ns, const char *marker)
{
    strobe_merge_read_clock_marker(&timing, time_ns, marker, strlen(marker));
}

static void text_alone_keeps_its_times(void **state)
{
    (void)state;
    reference.last_ns = 0;
    timing.clock = "mono";
    hear(1500, "trace_event_clock_sync: parent_ts=5.0");
    aligns(0, STROBE_MERGE_UNKNOWN, "no other input has a clock");
}

static void a_stated_clock_comes_first(void **state)
{
    (void)state;
    hear(1500, "trace_event_clock_sync: parent_ts=5.0");
    timing.clock = "boot";
    aligns(0, 1000, "boottime, as the file states");
    timing.clock = "mono";
    aligns(BOOT_MINUS_MONO, 1000, "monotonic, as the file states");
    timing.clock = "local";
    aligns(5000000000 - 1500 + BOOT_MINUS_MONO, 1000000, "by its markers of it");
}

static void markers_of_monotonic_are_written_after_their_clock_was_read(void **state)
{
    (void)state;
    hear(1500, "trace_event_clock_sync: parent_ts=0.000005");
    hear(1600, "trace_event_clock_sync: parent_ts=0.0000050");
    hear(1700, "trace_event_clock_sync: parent_ts=0.000005300");
    aligns(5300 - 1700 + BOOT_MINUS_MONO, 200 + 1000, "by its markers of it");
}

static void markers_of_the_date_need_a_date_of_another_input(void **state)
{
    (void)state;
    hear(1500, "trace_event_clock_sync: realtime_ts=5");
    aligns(5000000 - 1500 - 5000000, 2000000, "by its markers of the date");
    reference.real_ns = 0;
    assert_false(strobe_merge_align(&reference, &timing, &alignment));
    hear(1500, "trace_event_clock_sync: parent_ts=0.00001");
    aligns(10000 - 1500 + BOOT_MINUS_MONO, 1000000, "by its markers of it");
}

static void other_markers_state_no_clock(void **state)
{
    (void)state;
    hear(1500, "B|5|trace_event_clock_sync: parent_ts=5");
    hear(1500, "trace_event_clock_sync: parent_ts=x");
    hear(1500, "trace_event_clock_sync: parent_ts=99999999999");
    hear(1500, "trace_event_clock_sync: realtime_ts=");
    hear(1500, "trace_event_clock_sync: name=x");
    assert_int_equal(timing.parents + timing.dates, 0);
}

static void times_that_overlap_are_taken_as_boottime_or_monotonic(void **state)
{
    (void)state;
    assert_false(strobe_merge_align(&reference, &timing, &alignment));
    timing.first_ns = 9000, timing.last_ns = 10000;
    aligns(0, STROBE_MERGE_UNKNOWN, "taken as boottime");
    timing.last_ns = 9999;
    aligns(BOOT_MINUS_MONO, STROBE_MERGE_UNKNOWN, "taken as monotonic");
    reference.mono_ns = 0;
    assert_false(strobe_merge_align(&reference, &timing, &alignment));
}

static void add(struct strobe_merge_section **sections, size_t *count, uint32_t tid, uint32_t name, uint64_t begin_ns)
{
    *sections = realloc(*sections, (*count + 1) * sizeof **sections);
    (*sections)[(*count)++] = (struct strobe_merge_section){tid, name, begin_ns};
}

#define KNOW(tid, name, ns) add(&reference.sections, &reference.section_count, tid, name, ns)
#define HEAR(tid, name, ns) add(&timing.sections, &timing.section_count, tid, name, ns)

static void sections_in_both_align_by_the_median(void **state)
{
    (void)state;
    KNOW(5, 1, 10900), KNOW(5, 1, 10100), KNOW(5, 2, 10500), KNOW(6, 1, 10600), KNOW(7, 1, 10000);
    HEAR(5, 2, 1490), HEAR(5, 1, 1100), HEAR(6, 1, 1580), HEAR(5, 1, 1903), HEAR(4, 1, 1), HEAR(7, 1, 9),
        HEAR(7, 1, 10);
    aligns(9010, 23, "by sections that are in both"); /* differences 8997 9000 9010 9020 */
}

static void sections_of_another_number_or_thread_align_nothing(void **state)
{
    (void)state;
    KNOW(5, 1, 10900), KNOW(5, 1, 10100), KNOW(6, 1, 10);
    HEAR(5, 1, 1100), HEAR(7, 1, 1);
    assert_false(strobe_merge_align(&reference, &timing, &alignment));
}

static void waits_show_the_error(void **state)
{
    struct strobe_sched_states states = {0};
    struct strobe_merge_wait waits[20];
    size_t count;
    (void)state;
    strobe_sched_states_watch(&states, 5);
    for (uint64_t i = 0; i < 20; i++) {
        strobe_sched_states_switch(&states, i * 1000, 1, STROBE_SCHED_SLEEPING, 5);
        strobe_sched_states_switch(&states, i * 1000 + 500, 5, STROBE_SCHED_SLEEPING, 1);
        waits[i] = (struct strobe_merge_wait){i < 17 ? 5 : 6, i * 1000 + 10 + i};
    }
    assert_int_equal(strobe_sched_states_finish(&states), 1);
    reference.waits = waits;
    reference.wait_count = 20;
    assert_int_equal(strobe_merge_error_by_waits(&reference, &states, &count), 18);
    assert_int_equal(count, 17);
    reference.wait_count = 7;
    assert_int_equal(strobe_merge_error_by_waits(&reference, &states, &count), STROBE_MERGE_UNKNOWN);
    reference.waits = NULL;
    reference.wait_count = 0;
    strobe_sched_states_free(&states);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_alone_keeps_its_times, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stated_clock_comes_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(markers_of_monotonic_are_written_after_their_clock_was_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(markers_of_the_date_need_a_date_of_another_input, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_markers_state_no_clock, set_up, tear_down),
        cmocka_unit_test_setup_teardown(times_that_overlap_are_taken_as_boottime_or_monotonic, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sections_in_both_align_by_the_median, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sections_of_another_number_or_thread_align_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(waits_show_the_error, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
