/* The scheduling that a session holds: its section, its part of a report and of a Perfetto trace. */
#include "engine/trace/export/perfetto_sched.h"
#include "engine/trace/report/report_sched.h"
#include "engine/trace/session/reader.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define BEGIN STROBE_BUILD_BEGIN_NS
#define MS    1000000ull

#define IN(t, who, on)                                                                                                 \
    {                                                                                                                  \
        BEGIN + (t)*MS, who, 0, on, STROBE_SCHED_IN, 0, 0                                                              \
    }
#define OUT(t, who, on, how)                                                                                           \
    {                                                                                                                  \
        BEGIN + (t)*MS, who, 0, on, STROBE_SCHED_OUT, STROBE_SCHED_##how, 0                                            \
    }
#define WAKE(t, who, by, flag)                                                                                         \
    {                                                                                                                  \
        BEGIN + (t)*MS, who, by, 0, STROBE_SCHED_WAKE, 0, flag                                                         \
    }
#define END(t, who, on)                                                                                                \
    {                                                                                                                  \
        BEGIN + (t)*MS, who, 0, on, STROBE_SCHED_END, 0, 0                                                             \
    }

/* Thread 10 sleeps twice, is woken by 11 and by an interrupt, is preempted, and changes its processor. */
static const struct strobe_sched_event course[] = {
    IN(1, 10, 0),
    OUT(4, 10, 0, SLEEPING),
    IN(5, 11, 1),
    WAKE(10, 10, 11, 0),
    IN(12, 10, 1),
    OUT(13, 10, 1, RUNNABLE),
    IN(14, 10, 1),
    OUT(15, 10, 1, UNINTERRUPTIBLE),
    WAKE(25, 10, 11, STROBE_SCHED_IN_INTERRUPT),
    IN(26, 10, 0),
    IN(27, 99, 3), /* not a thread of the session */
    END(30, 10, 0),
};
enum { COURSE = sizeof course / sizeof *course };

static struct strobe_reader *reader;
static struct strobe_report report;
static uint64_t refused = 4; /* of the sections that open_with appends */
static const struct strobe_sched_late *late;
static size_t late_count;
static const struct strobe_sched_name wakers[] = {{9, "client"}, {11, "worker"}, {20, "nobody's waker"}};

static const char *make_session(void)
{
    struct strobe_config config = strobe_build_config();
    struct strobe_build b;
    strobe_build_begin(&b, temp_dir_path("s.strobe"), &config);
    strobe_build_thread(&b, 10, "main");
    strobe_build_thread(&b, 11, "worker");
    strobe_build_end(&b, 40 * MS);
    return temp_dir_path("s.strobe");
}

/* Appends events to the session, and opens it. */
static void open_with(const struct strobe_sched_event *events, size_t count, uint64_t from_ns, uint64_t to_ns)
{
    const struct strobe_sched_head head = {
        .source = STROBE_SCHED_BY_TRACEPOINTS, .count = count, .lost = 3, .refused = refused};
    struct strobe_error error = {""};
    int fd = open(temp_dir_write("events", events, count * sizeof *events, 0600), O_RDONLY);
    const char *path = make_session();
    const struct strobe_sched_run runs[] = {{0, (uint32_t)count / 2, 0}, {count / 2, (uint32_t)(count - count / 2), 0}};
    const struct strobe_sched_part part = {.fd = fd,
                                           .runs = runs,
                                           .run_count = 2,
                                           .late = late,
                                           .late_count = late_count,
                                           .names = wakers,
                                           .name_count = sizeof wakers / sizeof *wakers,
                                           .from_ns = from_ns,
                                           .to_ns = to_ns};
    assert_int_equal(strobe_sched_section_append(path, &head, &part), STROBE_OK);
    close(fd);
    assert_int_equal(strobe_reader_open(path, &reader, &error), STROBE_OK);
}

static int close_session(void **state)
{
    (void)state;
    strobe_reader_close(reader);
    reader = NULL;
    late_count = 0;
    free(report.sched.threads);
    free(report.waits);
    strobe_text_pool_free(&report.texts);
    report = (struct strobe_report){.source = "session"};
    return 0;
}

static void events_come_back_as_they_were_appended(void **state)
{
    (void)state;
    open_with(course, COURSE, 0, UINT64_MAX);
    assert_int_equal(reader->sched.count, COURSE);
    assert_memory_equal(reader->sched.events, course, sizeof course);
    assert_int_equal(reader->sched.head.lost, 3);
    assert_int_equal(reader->sched.head.refused, 4);
    assert_int_equal(reader->sched.damaged, 0);
}

static void a_session_gets_the_events_of_its_time(void **state)
{
    (void)state;
    open_with(course, COURSE, BEGIN + 4 * MS, BEGIN + 12 * MS);
    assert_int_equal(reader->sched.count, 3);
    assert_memory_equal(reader->sched.events, course + 1, 3 * sizeof *course);
}

/* Late events are before, among and behind the others, and one has the time of another event. */
static void late_events_are_stored_by_time(void **state)
{
    (void)state;
    const struct strobe_sched_late others[] = {
        {.event = IN(1, 12, 2)}, {.event = OUT(4, 12, 2, SLEEPING)}, {.event = IN(40, 12, 2)}};
    late = others;
    late_count = 3;
    open_with(course, COURSE, BEGIN + 1, UINT64_MAX);
    assert_int_equal(reader->sched.damaged, 0);
    assert_int_equal(reader->sched.count, COURSE + late_count);
    size_t next = 0;
    for (size_t i = 0; i < reader->sched.count; i++) {
        const struct strobe_sched_event *e = &reader->sched.events[i];
        if (e->tid == 12)
            assert_memory_equal(e, &others[next++].event, sizeof *e);
        else
            assert_memory_equal(e, &course[i - next], sizeof *e);
        assert_true(!i || e[-1].time_ns < e->time_ns || e->tid == 12 || e[-1].tid != 12);
    }
}

/* Thread 10 is woken by 9 and 11. */
static const struct strobe_sched_event woken_by_two[] = {OUT(1, 10, 0, SLEEPING),  WAKE(2, 10, 9, 0),  IN(3, 10, 0),
                                                         OUT(4, 10, 0, SLEEPING),  WAKE(5, 10, 11, 0), IN(6, 10, 0),
                                                         OUT(12, 10, 0, SLEEPING), WAKE(13, 10, 9, 0)};
enum { WOKEN_BY_TWO = sizeof woken_by_two / sizeof *woken_by_two };

static void the_names_of_the_wakers_of_its_time_are_stored(void **state)
{
    (void)state;
    open_with(woken_by_two, WOKEN_BY_TWO, 0, UINT64_MAX);
    assert_int_equal(reader->sched.count, WOKEN_BY_TWO);
    assert_int_equal(reader->sched.name_count, 2);
    assert_string_equal(strobe_sched_section_name(&reader->sched, 9), "client");
    assert_string_equal(strobe_sched_section_name(&reader->sched, 11), "worker");
    assert_null(strobe_sched_section_name(&reader->sched, 10));
    assert_null(strobe_sched_section_name(&reader->sched, 20));
    strobe_reader_close(reader);
    open_with(woken_by_two, WOKEN_BY_TWO, BEGIN + 4 * MS, BEGIN + 12 * MS);
    assert_int_equal(reader->sched.name_count, 1);
    assert_string_equal(strobe_sched_section_name(&reader->sched, 11), "worker");
}

static void invalid_names_are_left_out(void **state)
{
    static const struct strobe_sched_name invalid[][2] = {
        {{9, "client"}, {9, "worker"}},            /* not by tid */
        {{0, "client"}, {11, "worker"}},           /* of no thread */
        {{9, "client"}, {UINT32_MAX, "worker"}},   /* no thread id */
        {{9, ""}, {11, "worker"}},                 /* no name */
        {{9, "client"}, {11, "without an end.."}}, /* 16 bytes */
    };
    struct strobe_error error = {""};
    (void)state;
    open_with(woken_by_two, WOKEN_BY_TWO, 0, UINT64_MAX);
    off_t at = (off_t)(reader->session.header->file_bytes + 64 + sizeof woken_by_two);
    strobe_reader_close(reader);
    reader = NULL;
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        int fd = open(temp_dir_path("s.strobe"), O_WRONLY);
        assert_int_equal(pwrite(fd, invalid[i], sizeof invalid[i], at), sizeof invalid[i]);
        close(fd);
        assert_int_equal(strobe_reader_open(temp_dir_path("s.strobe"), &reader, &error), STROBE_OK);
        assert_int_equal(reader->sched.count, WOKEN_BY_TWO);
        assert_int_equal(reader->sched.name_count, 0);
        strobe_reader_close(reader);
        reader = NULL;
    }
    assert_int_equal(truncate(temp_dir_path("s.strobe"), at + 39), 0);
    assert_int_equal(strobe_reader_open(temp_dir_path("s.strobe"), &reader, &error), STROBE_OK);
    assert_int_equal(reader->sched.count, WOKEN_BY_TWO);
    assert_int_equal(reader->sched.damaged, 0);
    assert_int_equal(reader->sched.name_count, 0);
}

static void a_session_without_a_section_has_no_scheduling(void **state)
{
    struct strobe_error error = {""};
    (void)state;
    assert_int_equal(strobe_reader_open(make_session(), &reader, &error), STROBE_OK);
    assert_int_equal(reader->sched.count, 0);
    assert_int_equal(reader->sched.head.source, 0);
    assert_int_equal(strobe_report_take_sched(&report, reader), STROBE_OK);
    assert_int_equal(report.sched.source, 0);
}

static void events_from_the_first_invalid_one_on_are_damaged(void **state)
{
    const struct strobe_sched_event invalid[] = {
        {BEGIN, 10, 0, 0, STROBE_SCHED_IN, 0, 0},                                  /* before the one before it */
        {BEGIN + 2 * MS, 0, 0, 0, STROBE_SCHED_IN, 0, 0},                          /* of no thread */
        {BEGIN + 2 * MS, UINT32_MAX, 0, 0, STROBE_SCHED_IN, 0, 0},                 /* no thread id */
        {BEGIN + 2 * MS, 10, UINT32_MAX, 0, STROBE_SCHED_WAKE, 0, 0},              /* the same of the waker */
        {BEGIN + 2 * MS, 10, 0, STROBE_SCHED_CPUS_MAX, STROBE_SCHED_IN, 0, 0},     /* no processor */
        {BEGIN + 2 * MS, 10, 0, 0, STROBE_SCHED_WHAT_COUNT, 0, 0},                 /* no event */
        {BEGIN + 2 * MS, 10, 0, 0, STROBE_SCHED_OUT, STROBE_SCHED_UNKNOWN + 1, 0}, /* no state */
        {UINT64_MAX, 10, 0, 0, STROBE_SCHED_IN, 0, 0},                             /* no time */
    };
    (void)state;
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        struct strobe_sched_event events[] = {course[0], invalid[i], course[1]};
        open_with(events, 3, 0, UINT64_MAX);
        bool kept = invalid[i].time_ns == UINT64_MAX; /* not within any time */
        assert_int_equal(reader->sched.count, kept ? 2 : 1);
        assert_int_equal(reader->sched.damaged, kept ? 0 : 2);
        strobe_reader_close(reader);
        reader = NULL;
    }
}

static void a_file_that_is_cut_off_has_the_events_before(void **state)
{
    struct strobe_error error = {""};
    (void)state;
    open_with(course, COURSE, 0, UINT64_MAX);
    uint64_t begin = reader->session.header->file_bytes;
    strobe_reader_close(reader);
    for (size_t bytes = 0; bytes < 64 + 5 * sizeof *course; bytes += 23) {
        assert_int_equal(truncate(temp_dir_path("s.strobe"), (off_t)(begin + 64 + 5 * sizeof *course - bytes)), 0);
        assert_int_equal(strobe_reader_open(temp_dir_path("s.strobe"), &reader, &error), STROBE_OK);
        assert_int_equal(reader->sched.count,
                         bytes > 5 * sizeof *course ? 0 : (5 * sizeof *course - bytes) / sizeof *course);
        assert_int_equal(reader->sched.damaged, bytes > 5 * sizeof *course ? 0 : COURSE - reader->sched.count);
        strobe_reader_close(reader);
    }
    reader = NULL;
}

static void a_copy_of_the_session_keeps_the_section(void **state)
{
    struct strobe_outfile out;
    struct strobe_error error = {""};
    (void)state;
    open_with(course, COURSE, 0, UINT64_MAX);
    assert_int_equal(strobe_outfile_open(&out, temp_dir_path("copy.strobe"), 1), STROBE_OK);
    strobe_outfile_write(&out, reader->session.header, reader->session.mapped_bytes);
    strobe_sched_section_write(&reader->sched, &out);
    assert_int_equal(strobe_outfile_finish(&out, 0), STROBE_OK);
    strobe_reader_close(reader);
    assert_int_equal(strobe_reader_open(temp_dir_path("copy.strobe"), &reader, &error), STROBE_OK);
    assert_int_equal(reader->sched.count, COURSE);
    assert_memory_equal(reader->sched.events, course, sizeof course);
    assert_int_equal(reader->sched.head.lost, 3);
    assert_string_equal(strobe_sched_section_name(&reader->sched, 11), "worker");
}

static void a_report_sums_up_states_switches_and_wakers(void **state)
{
    (void)state;
    open_with(course, COURSE, 0, UINT64_MAX);
    report.begin_ns = BEGIN;
    report.waits = calloc(2, sizeof *report.waits);
    report.wait_count = 2;
    report.waits[0] = (struct strobe_report_wait){.tid = 10, .begin_ns = 4 * MS, .duration_ns = 8 * MS, .waker = ""};
    report.waits[1] = (struct strobe_report_wait){.tid = 10, .begin_ns = 14 * MS, .duration_ns = 12 * MS, .waker = ""};
    assert_int_equal(strobe_report_take_sched(&report, reader), STROBE_OK);
    assert_int_equal(report.sched.lost, 7);
    assert_int_equal(report.sched.thread_count, 2);
    const struct strobe_report_sched_thread *worker = &report.sched.threads[0], *t = &report.sched.threads[1];
    assert_int_equal(worker->tid, 11);
    assert_int_equal(worker->running_ns, 25 * MS); /* to the last event */
    assert_string_equal(t->name, "main");
    assert_int_equal(t->running_ns, (3 + 1 + 1 + 4) * MS);
    assert_int_equal(t->runnable_ns, (2 + 1 + 1) * MS);
    assert_int_equal(t->sleeping_ns, 6 * MS);
    assert_int_equal(t->uninterruptible_ns, 10 * MS);
    assert_int_equal(t->switches, 3);
    assert_int_equal(t->preempted, 1);
    assert_int_equal(t->moves, 2);
    assert_int_equal(t->wakes, 2);
    assert_int_equal(t->waker_tid, 11);
    assert_string_equal(t->waker, "worker");
    assert_int_equal(report.waits[0].waker_tid, 11);
    assert_string_equal(report.waits[0].waker, "worker");
    assert_int_equal(report.waits[1].waker_tid, 0); /* an interrupt is not the thread that it interrupted */
}

static void a_report_names_wakers_of_other_processes(void **state)
{
    (void)state;
    open_with(woken_by_two, WOKEN_BY_TWO, 0, UINT64_MAX);
    report.begin_ns = BEGIN;
    report.waits = calloc(2, sizeof *report.waits);
    report.wait_count = 1;
    report.waits[0] = (struct strobe_report_wait){.tid = 10, .begin_ns = 1 * MS, .duration_ns = 2 * MS, .waker = ""};
    assert_int_equal(strobe_report_take_sched(&report, reader), STROBE_OK);
    assert_string_equal(report.waits[0].waker, "client");
    assert_int_equal(report.waits[0].waker_tid, 9);
    assert_int_equal(report.sched.threads[0].waker_tid, 9);
    assert_string_equal(report.sched.threads[0].waker, "client");
}

static void the_last_state_lasts_to_the_end_of_a_whole_session(void **state)
{
    (void)state;
    refused = 0;
    open_with(course, COURSE, 0, UINT64_MAX);
    refused = 4;
    report.begin_ns = BEGIN;
    assert_int_equal(strobe_report_take_sched(&report, reader), STROBE_OK);
    assert_int_equal(report.sched.threads[0].tid, 11);
    assert_int_equal(report.sched.threads[0].running_ns, strobe_reader_ns(reader, reader->last_ticks) - BEGIN - 5 * MS);
    assert_true(report.sched.threads[0].running_ns > 25 * MS);
}

static void a_report_of_a_part_has_that_part_of_the_scheduling(void **state)
{
    (void)state;
    open_with(course, COURSE, 0, UINT64_MAX);
    report.begin_ns = BEGIN;
    report.options = (struct strobe_report_options){.from_ns = 11 * MS, .to_ns = 14 * MS, .thread = "main"};
    assert_int_equal(strobe_report_take_sched(&report, reader), STROBE_OK);
    assert_int_equal(report.sched.thread_count, 1);
    const struct strobe_report_sched_thread *t = &report.sched.threads[0];
    assert_int_equal(t->running_ns, 1 * MS);
    assert_int_equal(t->runnable_ns, 2 * MS);
    assert_int_equal(t->switches, 1);
    assert_int_equal(t->moves, 0);
    assert_int_equal(t->wakes, 0);
}

/* Writes the section to a trace. Returns the file's content. */
static char *write_sched(struct strobe_perfetto_sched_part part, struct strobe_perfetto_sched_written *written,
                         size_t *bytes)
{
    struct strobe_outfile out;
    struct strobe_packets packets;
    assert_int_equal(strobe_outfile_open(&out, temp_dir_path("trace"), 1), STROBE_OK);
    assert_int_equal(strobe_packets_open(&packets, &out, 0), 1);
    assert_int_equal(strobe_perfetto_sched(&packets, 7, reader, part, written), 1);
    strobe_packets_close(&packets);
    assert_int_equal(strobe_outfile_finish(&out, 0), STROBE_OK);
    return temp_dir_read("trace", bytes);
}

static void a_trace_has_the_switches_and_wake_ups_of_the_sessions_threads(void **state)
{
    struct strobe_perfetto_sched_written written;
    size_t bytes;
    (void)state;
    open_with(course, COURSE, 0, UINT64_MAX);
    char *trace = write_sched((struct strobe_perfetto_sched_part){0, UINT64_MAX}, &written, &bytes);
    assert_int_equal(written.switches, COURSE - 2 - 1); /* two wake-ups, and a thread that the session does not list */
    assert_int_equal(written.wakings, 2);
    assert_non_null(memmem(trace, bytes, "swapper/1", 9));
    assert_null(memmem(trace, bytes, "swapper/3", 9));
    free(trace);
    free(write_sched((struct strobe_perfetto_sched_part){BEGIN + 4 * MS, BEGIN + 12 * MS}, &written, &bytes));
    assert_int_equal(written.switches, 2);
    assert_int_equal(written.wakings, 1);
}

/* The waker's name comes before its first wake-up, once; a thread of the session has its name already. */
static void a_trace_names_wakers_of_other_processes(void **state)
{
    struct strobe_perfetto_sched_written written;
    size_t bytes;
    (void)state;
    open_with(woken_by_two, WOKEN_BY_TWO, 0, UINT64_MAX);
    char *trace = write_sched((struct strobe_perfetto_sched_part){0, UINT64_MAX}, &written, &bytes);
    static const char rename[] = "\x08\x09\x12\x06"
                                 "client"
                                 "\x1a\x06"
                                 "client";
    char *first = memmem(trace, bytes, rename, sizeof rename - 1);
    assert_non_null(first);
    assert_null(memmem(first + 1, bytes - (size_t)(first + 1 - trace), rename, sizeof rename - 1));
    assert_null(memmem(trace, bytes, "\x08\x0b\x12\x06worker", 10));
    assert_int_equal(written.wakings, 3);
    free(trace);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, close_session)
    const struct CMUnitTest tests[] = {
        TEST(events_come_back_as_they_were_appended),
        TEST(a_session_gets_the_events_of_its_time),
        TEST(late_events_are_stored_by_time),
        TEST(the_names_of_the_wakers_of_its_time_are_stored),
        TEST(invalid_names_are_left_out),
        TEST(a_session_without_a_section_has_no_scheduling),
        TEST(events_from_the_first_invalid_one_on_are_damaged),
        TEST(a_file_that_is_cut_off_has_the_events_before),
        TEST(a_copy_of_the_session_keeps_the_section),
        TEST(a_report_sums_up_states_switches_and_wakers),
        TEST(a_report_names_wakers_of_other_processes),
        TEST(the_last_state_lasts_to_the_end_of_a_whole_session),
        TEST(a_report_of_a_part_has_that_part_of_the_scheduling),
        TEST(a_trace_has_the_switches_and_wake_ups_of_the_sessions_threads),
        TEST(a_trace_names_wakers_of_other_processes),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
