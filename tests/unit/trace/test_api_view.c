/* The public view of a session: what it says of threads, records and stacks, and what it answers to indices out of
 * range, to files that are no sessions, and without memory for more frames. */
#include "engine/base/error.h"
#include "engine/include/strobe/session.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MS = 1000000, BEGIN = STROBE_BUILD_BEGIN_NS };

static struct strobe_build build;
static struct strobe_error error;
static struct strobe_view *view;

/* Two threads; a sample, a lock's wait and a sample without CPU time. The second thread ends before the session. */
static void write_session(const char *name, int closed)
{
    struct strobe_config config = strobe_build_config();
    const uint64_t frames[] = {0x1000, 0x2000, 0x3000};
    strobe_build_begin(&build, temp_dir_path(name), &config);
    strobe_build_thread(&build, 10, "main");
    strobe_build_thread(&build, 11, "worker");
    strobe_build_image(&build, "/nowhere/lib.so", 0x1000, 0x1800);
    uint32_t stack = strobe_build_stack(&build, frames, 3);
    strobe_build_record(
        &build,
        (struct strobe_record){
            .ticks = MS, .duration = 2 * MS, .count = 3, .stack = stack, .cpu_ns = 7, .flags = STROBE_FLAG_CPU},
        NULL);
    strobe_build_record(&build,
                        (struct strobe_record){.ticks = 5 * MS,
                                               .duration = MS,
                                               .stack = stack,
                                               .arg = 0xabc,
                                               .cpu_ns = 9,
                                               .kind = STROBE_KIND_MUTEX,
                                               .flags = STROBE_FLAG_SCOPE},
                        NULL);
    build.session.threads[1].end_ticks = BEGIN + 8 * MS;
    if (closed)
        strobe_build_end(&build, 10 * MS);
    else
        strobe_build_kill(&build);
}

static void open_view(const char *name)
{
    if (strobe_view_open(temp_dir_path(name), STROBE_VIEW_NO_LINES, &view, &error) != STROBE_OK)
        fail_msg("%s", error.text);
}

static void a_view_shows_the_session_and_its_threads(void **state)
{
    (void)state;
    write_session("s.strobe", 1);
    open_view("s.strobe");
    const struct strobe_view_info *info = strobe_view_get_info(view);
    assert_int_equal(info->pid, 4242);
    assert_string_equal(info->program, "/usr/bin/built");
    assert_int_equal(info->begin_ns, BEGIN);
    assert_int_equal(info->end_ns, BEGIN + 10 * MS);
    assert_true(info->closed);
    assert_int_equal(info->samples, 4);
    assert_int_equal(info->lost, 0);
    assert_int_equal(info->threads, 2);
    const struct strobe_view_thread *main = strobe_view_get_thread(view, 0), *worker = strobe_view_get_thread(view, 1);
    assert_true(main->is_main && !worker->is_main);
    assert_string_equal(worker->name, "worker");
    assert_int_equal(main->end_ns, BEGIN + 10 * MS);
    assert_int_equal(worker->end_ns, BEGIN + 8 * MS);
    assert_int_equal(main->records, 2);
    assert_int_equal(strobe_view_check(view, &error), STROBE_OK);
    strobe_view_close(view);
}

static void a_record_has_the_times_and_the_meaning_of_its_event(void **state)
{
    (void)state;
    write_session("s.strobe", 1);
    open_view("s.strobe");
    struct strobe_view_record sample = strobe_view_get_record(view, 0, 0), wait = strobe_view_get_record(view, 0, 1);
    assert_string_equal(sample.kind, "alloc");
    assert_int_equal(sample.begin_ns, BEGIN + MS);
    assert_int_equal(sample.duration_ns, 2 * MS);
    assert_int_equal(sample.samples, 3);
    assert_int_equal(sample.cpu_ns, 7);
    assert_false(sample.is_call);
    assert_string_equal(wait.kind, "mutex");
    assert_true(wait.is_call);
    assert_int_equal(wait.subject, 0xabc);
    assert_int_equal(wait.cpu_ns, 0); /* not known */
    strobe_view_close(view);
}

static void an_index_out_of_range_has_no_thread_and_no_record(void **state)
{
    (void)state;
    write_session("s.strobe", 1);
    open_view("s.strobe");
    assert_null(strobe_view_get_thread(view, 2));
    const struct {
        uint32_t thread;
        size_t index;
    } none[] = {{2, 0}, {0, 2}, {UINT32_MAX, SIZE_MAX}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct strobe_view_record r = strobe_view_get_record(view, none[i].thread, none[i].index);
        assert_int_equal(r.samples, 0);
        assert_string_equal(r.kind, "none");
    }
    strobe_view_close(view);
    strobe_view_close(NULL);
}

static void frames_that_do_not_fit_leave_the_outermost_ones(void **state)
{
    (void)state;
    struct strobe_view_frame frames[4];
    size_t count;
    write_session("s.strobe", 1);
    open_view("s.strobe");
    uint32_t stack = strobe_view_get_record(view, 0, 0).stack;
    assert_int_equal(strobe_view_get_frames(view, stack, frames, 4, &count), STROBE_OK);
    assert_int_equal(count, 3);
    assert_string_equal(frames[2].function, "0x3000");
    assert_int_equal(strobe_view_get_frames(view, stack, frames, 2, &count), STROBE_FULL);
    assert_int_equal(count, 2);
    assert_int_equal(frames[0].address, 0x1000);
    assert_int_equal(frames[1].address, 0x2000);
    assert_int_equal(strobe_view_get_frames(view, 0, frames, 4, &count), STROBE_OK);
    assert_int_equal(count, 0);
    assert_int_equal(strobe_view_get_frames(view, 99, frames, 4, &count), STROBE_NO_ENTRY);
    strobe_view_close(view);
}

static void a_session_of_a_killed_process_is_shown_as_not_closed(void **state)
{
    (void)state;
    write_session("k.strobe", 0);
    open_view("k.strobe");
    assert_false(strobe_view_get_info(view)->closed);
    assert_int_equal(strobe_view_get_thread(view, 0)->records, 2);
    strobe_view_close(view);
}

/* Changes one number of a session file. */
static void overwrite(const char *name, const void *value, size_t bytes, size_t offset)
{
    FILE *f = fopen(temp_dir_path(name), "r+");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)offset, SEEK_SET), 0);
    assert_int_equal(fwrite(value, bytes, 1, f), 1);
    assert_int_equal(fclose(f), 0);
}

static void accounts_that_do_not_add_up_are_stated(void **state)
{
    (void)state;
    write_session("s.strobe", 1);
    struct strobe_session s;
    assert_int_equal(strobe_session_open(temp_dir_path("s.strobe"), &s), STROBE_OK);
    size_t at = (size_t)((char *)&s.threads[0].account[STROBE_KIND_ALLOC].requests - (char *)s.header);
    strobe_session_unmap(&s);
    overwrite("s.strobe", &(uint64_t){99}, 8, at);
    open_view("s.strobe");
    assert_int_equal(strobe_view_check(view, &error), STROBE_BAD_INPUT);
    assert_non_null(strstr(error.text, "alloc"));
    assert_int_equal(strobe_view_check(view, NULL), STROBE_BAD_INPUT);
    strobe_view_close(view);
}

static void a_file_that_is_no_session_is_refused_with_what_was_expected(void **state)
{
    (void)state;
    size_t bytes;
    write_session("s.strobe", 1);
    char *session = temp_dir_read("s.strobe", &bytes);
    const struct {
        const char *content;
        size_t bytes;
        enum strobe_status status;
        const char *text;
    } files[] = {
        {NULL, 0, STROBE_IO, "No such file or directory"},
        {"", 0, STROBE_BAD_INPUT, "byte 0: an empty file, expected a session"},
        {"{\"traceEvents\":[]}", 18, STROBE_BAD_INPUT, "header: expected a Strobe session whose parts fit together"},
        {session, 100, STROBE_TRUNCATED, "end of file: the file has 100 bytes, a header has"},
        {session, bytes - 1, STROBE_TRUNCATED, "its header states"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        unlink(temp_dir_path("bad"));
        if (files[i].content)
            temp_dir_write("bad", files[i].content, files[i].bytes, 0600);
        view = (struct strobe_view *)1;
        enum strobe_status status = strobe_view_open(temp_dir_path("bad"), 0, &view, &error);
        if (status != files[i].status || !strstr(error.text, files[i].text))
            fail_msg("file %zu: status %d, %s", i, status, error.text);
        assert_null(view);
        assert_int_equal(strobe_view_open(temp_dir_path("bad"), 0, &view, NULL), status);
    }
    free(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_view_shows_the_session_and_its_threads),
        cmocka_unit_test(a_record_has_the_times_and_the_meaning_of_its_event),
        cmocka_unit_test(an_index_out_of_range_has_no_thread_and_no_record),
        cmocka_unit_test(frames_that_do_not_fit_leave_the_outermost_ones),
        cmocka_unit_test(a_session_of_a_killed_process_is_shown_as_not_closed),
        cmocka_unit_test(accounts_that_do_not_add_up_are_stated),
        cmocka_unit_test(a_file_that_is_no_session_is_refused_with_what_was_expected),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
