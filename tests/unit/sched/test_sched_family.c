/* Scheduling events of several processes come out by time and by program. */
#include "engine/cmd/record/sched_family.h"
#include "engine/trace/session/reader.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define BEGIN STROBE_BUILD_BEGIN_NS

static struct strobe_sched_family family;
static struct strobe_reader *reader;

static int begin_family(void **state)
{
    (void)state;
    family = (struct strobe_sched_family){.file = -1};
    return strobe_sched_family_create_file(&family, temp_dir_path("events")) != STROBE_OK;
}

static int end_family(void **state)
{
    (void)state;
    strobe_sched_family_close(&family);
    return 0;
}

static void add(uint32_t kind, uint32_t pid, uint64_t at, uint32_t tid, uint8_t what, uint8_t how)
{
    const struct strobe_sched_note n = {
        .event = {.time_ns = BEGIN + at, .tid = tid, .what = what, .state = how}, .pid = pid, .kind = kind};
    strobe_sched_family_add(&family, &n);
}

static void seen_in(uint32_t pid, uint64_t at, uint32_t tid)
{
    add(STROBE_SCHED_SEEN, pid, at, tid, STROBE_SCHED_IN, 0);
}

static void seen_out(uint32_t pid, uint64_t at, uint32_t tid)
{
    add(STROBE_SCHED_SEEN, pid, at, tid, STROBE_SCHED_OUT, STROBE_SCHED_SLEEPING);
}

static void forked(uint32_t pid, uint64_t at, uint32_t tid)
{
    add(STROBE_SCHED_FORKED, pid, at, tid, STROBE_SCHED_WAKE, 0);
}

/* Appends the events of the program that `pid` executes at that time to a session, and opens it. */
static void open_events(uint32_t pid, uint64_t at)
{
    const char *path = temp_dir_path("s.strobe");
    struct strobe_config config = strobe_build_config();
    struct strobe_error error = {""};
    struct strobe_build b;
    strobe_build_begin(&b, path, &config);
    strobe_build_thread(&b, pid, "main");
    strobe_build_end(&b, 1000);
    struct strobe_sched_program *program = strobe_sched_family_find(&family, pid, BEGIN + at);
    const struct strobe_sched_head head = {.source = STROBE_SCHED_BY_TRACEPOINTS};
    assert_int_equal(strobe_sched_family_append(&family, program, &head, path, 0, UINT64_MAX), STROBE_OK);
    assert_int_equal(strobe_reader_open(path, &reader, &error), STROBE_OK);
    assert_int_equal(reader->sched.damaged, 0);
}

static size_t count_events(uint32_t pid, uint64_t at)
{
    open_events(pid, at);
    size_t count = reader->sched.count;
    strobe_reader_close(reader);
    return count;
}

/* Compares the events with `expected`: a letter for each event, and its time. */
static void assert_events(uint32_t pid, uint64_t at, const char *expected)
{
    static const char letters[] = {
        [STROBE_SCHED_IN] = 'i', [STROBE_SCHED_OUT] = 'o', [STROBE_SCHED_WAKE] = 'w', [STROBE_SCHED_END] = 'e'};
    char found[512] = "";
    open_events(pid, at);
    for (size_t i = 0; i < reader->sched.count; i++) {
        const struct strobe_sched_event *e = &reader->sched.events[i];
        size_t used = strlen(found);
        snprintf(found + used, sizeof found - used, "%s%c%d", i ? " " : "", letters[e->what],
                 (int)(e->time_ns - BEGIN));
    }
    strobe_reader_close(reader);
    assert_string_equal(found, expected);
}

static void events_of_several_processors_come_by_time(void **state)
{
    (void)state;
    seen_in(5, 10, 5);
    seen_in(5, 30, 5);
    seen_out(5, 20, 5); /* from the buffer of another processor */
    strobe_sched_family_pass(&family, BEGIN + 25);
    seen_out(5, 40, 5);
    strobe_sched_family_finish(&family);
    assert_events(5, 10, "i10 o20 i30 o40");
}

static void late_events_come_by_time(void **state)
{
    (void)state;
    seen_in(5, 10, 5);
    seen_out(5, 20, 5);
    add(STROBE_SCHED_SEEN, 0, 30, 5, STROBE_SCHED_WAKE, 0);
    forked(5, 30, 7);
    seen_in(5, 40, 7);
    forked(6, 12, 6);
    forked(6, 13, 8);
    seen_in(6, 40, 6);
    strobe_sched_family_pass(&family, BEGIN + 50);
    seen_in(6, 21, 8);
    seen_out(6, 35, 6); /* its thread has a later event */
    forked(5, 38, 9);
    strobe_sched_family_pass(&family, BEGIN + 50);
    seen_in(5, 30, 5); /* the first thread has run since it was woken */
    seen_out(5, 35, 5);
    strobe_sched_family_pass(&family, BEGIN + 50);
    seen_out(5, 60, 7);
    strobe_sched_family_finish(&family);
    assert_int_equal(family.late_count, 4);
    assert_events(5, 10, "i10 o20 w30 w30 i30 o35 w38 i40 o60");
    assert_events(6, 40, "w12 w13 i21 i40");
}

/* Each thread's run is known after the next thread's, for more events than are copied at once. */
static void any_number_of_late_events_come_by_time(void **state)
{
    (void)state;
    enum { PAIRS = 3000 };
    forked(5, 0, 7);
    seen_in(5, 1, 5);
    for (uint64_t i = 1; i <= PAIRS; i++) {
        seen_out(5, 10 * i, 5);
        seen_in(5, 10 * i + 3, 5);
        strobe_sched_family_pass(&family, BEGIN + 10 * i + 5);
        seen_in(5, 10 * i + 1, 7);
        seen_out(5, 10 * i + 2, 7);
    }
    strobe_sched_family_finish(&family);
    assert_int_equal(family.late_count, 2 * PAIRS);
    assert_int_equal(count_events(5, 1), 4 * PAIRS + 2);
}

static void each_process_has_the_events_of_its_threads(void **state)
{
    (void)state;
    seen_in(5, 10, 5);
    forked(6, 12, 6);
    forked(5, 13, 7);
    seen_in(6, 20, 6);
    seen_in(5, 21, 7);
    seen_out(6, 30, 6);
    seen_out(5, 31, 5);
    strobe_sched_family_finish(&family);
    assert_events(5, 10, "i10 w13 i21 o31");
    assert_events(6, 12, "w12 i20 o30");
}

static void an_executed_program_begins_where_the_one_before_ends(void **state)
{
    (void)state;
    seen_in(5, 10, 5);
    forked(5, 12, 7);
    seen_in(5, 13, 7);
    add(STROBE_SCHED_EXECUTED, 5, 20, 5, STROBE_SCHED_IN, 0);
    seen_out(5, 30, 5);
    strobe_sched_family_finish(&family);
    assert_events(5, 10, "i10 w12 i13 e20 e20");
    assert_events(5, 25, "i20 o30");
}

static void a_pid_used_again_is_another_program(void **state)
{
    (void)state;
    forked(6, 10, 6);
    seen_in(6, 11, 6);
    add(STROBE_SCHED_SEEN, 6, 12, 6, STROBE_SCHED_END, 0);
    forked(6, 50, 6);
    seen_in(6, 51, 6);
    strobe_sched_family_finish(&family);
    assert_events(6, 10, "w10 i11 e12");
    assert_events(6, 60, "w50 i51");
}

static void an_id_used_again_ends_the_thread_whose_end_was_lost(void **state)
{
    (void)state;
    forked(5, 10, 6);
    seen_in(5, 11, 6);
    forked(5, 20, 6);
    seen_in(5, 21, 6);
    seen_in(7, 30, 6);
    strobe_sched_family_finish(&family);
    assert_events(5, 10, "w10 i11 e20 w20 i21 e30");
    assert_events(7, 30, "i30");
}

static void a_runnable_thread_is_not_woken_after_a_run_that_was_lost(void **state)
{
    (void)state;
    seen_in(5, 10, 5);
    seen_out(5, 20, 5);
    add(STROBE_SCHED_SEEN, 0, 30, 5, STROBE_SCHED_WAKE, 0);
    add(STROBE_SCHED_SEEN, 5, 40, 5, STROBE_SCHED_OUT, STROBE_SCHED_SLEEPING);
    add(STROBE_SCHED_SEEN, 0, 50, 5, STROBE_SCHED_WAKE, 0);
    seen_in(5, 60, 5);
    strobe_sched_family_finish(&family);
    assert_events(5, 10, "i10 o20 w30 i60");
}

static void an_event_older_than_its_threads_last_moves_no_thread(void **state)
{
    (void)state;
    seen_in(5, 20, 6);
    strobe_sched_family_pass(&family, BEGIN + 25);
    seen_in(7, 10, 6);
    seen_out(5, 30, 6);
    strobe_sched_family_finish(&family);
    assert_events(5, 20, "i20 o30");
    assert_null(strobe_sched_family_find(&family, 7, BEGIN + 40));
}

static void the_end_of_a_thread_without_events_is_left_out(void **state)
{
    (void)state;
    seen_in(5, 10, 5);
    add(STROBE_SCHED_SEEN, 5, 20, 6, STROBE_SCHED_END, 0);
    strobe_sched_family_finish(&family);
    assert_events(5, 10, "i10");
}

static void an_event_that_comes_twice_is_kept_once(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        seen_in(5, 10, 5);
        seen_out(5, 20, 5);
    }
    add(STROBE_SCHED_SEEN, 0, 30, 5, STROBE_SCHED_WAKE, 0);
    add(STROBE_SCHED_SEEN, 0, 30, 5, STROBE_SCHED_WAKE, 0);
    strobe_sched_family_finish(&family);
    assert_events(5, 10, "i10 o20 w30");
}

static void a_found_state_counts_only_before_the_first_event(void **state)
{
    (void)state;
    add(STROBE_SCHED_FOUND, 5, 10, 5, STROBE_SCHED_OUT, STROBE_SCHED_SLEEPING);
    seen_in(5, 20, 5);
    seen_in(5, 20, 6);
    add(STROBE_SCHED_FOUND, 5, 25, 6, STROBE_SCHED_OUT, STROBE_SCHED_SLEEPING);
    strobe_sched_family_finish(&family);
    assert_events(5, 10, "o10 i20 i20");
}

static void other_processes_are_left_out_without_follow(void **state)
{
    (void)state;
    family.only_pid = 5;
    seen_in(5, 10, 5);
    forked(6, 12, 6);
    seen_in(6, 13, 6);
    strobe_sched_family_finish(&family);
    assert_events(5, 10, "i10");
    assert_null(strobe_sched_family_find(&family, 6, BEGIN + 13));
}

/* More events than a program's block has room for, and another program between them. */
static void long_recordings_keep_every_event(void **state)
{
    (void)state;
    enum { PAIRS = 5000 };
    for (uint64_t i = 0; i < PAIRS; i++) {
        seen_in(5, 10 * i + 1, 5);
        seen_out(5, 10 * i + 2, 5);
        seen_in(6, 10 * i + 3, 6);
        seen_out(6, 10 * i + 4, 6);
        if (i % 100 == 0)
            strobe_sched_family_pass(&family, BEGIN + 10 * i);
    }
    strobe_sched_family_finish(&family);
    assert_int_equal(family.kept, 4 * PAIRS);
    assert_int_equal(family.written, 4 * PAIRS);
    uint64_t of_first = 0;
    for (size_t i = 0; i < family.run_count; i++)
        of_first += family.runs[i].owner == family.runs[0].owner ? family.runs[i].count : 0;
    assert_int_equal(of_first, 2 * PAIRS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_family, end_family)
    const struct CMUnitTest tests[] = {
        TEST(events_of_several_processors_come_by_time),
        TEST(late_events_come_by_time),
        TEST(any_number_of_late_events_come_by_time),
        TEST(each_process_has_the_events_of_its_threads),
        TEST(an_executed_program_begins_where_the_one_before_ends),
        TEST(a_pid_used_again_is_another_program),
        TEST(an_id_used_again_ends_the_thread_whose_end_was_lost),
        TEST(a_runnable_thread_is_not_woken_after_a_run_that_was_lost),
        TEST(an_event_older_than_its_threads_last_moves_no_thread),
        TEST(the_end_of_a_thread_without_events_is_left_out),
        TEST(an_event_that_comes_twice_is_kept_once),
        TEST(a_found_state_counts_only_before_the_first_event),
        TEST(other_processes_are_left_out_without_follow),
        TEST(long_recordings_keep_every_event),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
