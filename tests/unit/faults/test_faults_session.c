/* Sessions read under faults: whichever allocation, mapping or open of a file fails, the reader and the public view
 * report it. Also sessions with a call log. */
#include "engine/include/strobe/session.h"
#include "engine/trace/export/calls_convert.h"
#include "engine/trace/export/convert.h"
#include "engine/trace/report/report.h"
#include "engine/trace/session/reader.h"
#include "tests/unit/faults/sweep.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static enum strobe_status read_session(struct strobe_error *error)
{
    struct strobe_reader *reader;
    enum strobe_status status = strobe_reader_open(temp_dir_path("s.strobe"), &reader, error);
    if (status != STROBE_OK)
        return status;
    assert_true(strobe_reader_check(reader, error));
    assert_int_equal(reader->thread_count, 2);
    assert_int_equal(reader->annotation_count, 3);
    strobe_reader_close(reader);
    return status;
}

static enum strobe_status view_session(struct strobe_error *error)
{
    struct strobe_view *view;
    enum strobe_status status = strobe_view_open(temp_dir_path("s.strobe"), 0, &view, error);
    if (status != STROBE_OK) {
        assert_null(view);
        assert_true(error->text[0] != 0);
        return status;
    }
    assert_int_equal(strobe_view_get_info(view)->threads, 2);
    strobe_view_close(view);
    return status;
}

static void a_session_that_is_read_meets_each_fault(void **state)
{
    (void)state;
    static const struct sweep sweeps[] = {{"reader", "alloc map host", read_session, NULL},
                                          {"view", "alloc map host", view_session, NULL}};
    sweep_write_session("s.strobe");
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++)
        sweep_faults(&sweeps[i]);
}

/* ---- calls */

/* A session of three calls: a > b, and c, which does not end. */
static void write_calls(void)
{
    const struct strobe_calls_convert_options options = {.format = STROBE_CALLS_SESSION, .replace = 1};
    struct strobe_calls_convert_stats stats;
    struct strobe_error error;
    struct strobe_calls calls;
    strobe_calls_open(&calls);
    uint32_t thread = strobe_calls_thread(&calls, 7);
    uint32_t a = strobe_calls_name(&calls, "a", 1), b = strobe_calls_name(&calls, "b", 1);
    strobe_calls_add(&calls, thread, STROBE_CALL_BEGIN, 1000000, a);
    strobe_calls_add(&calls, thread, STROBE_CALL_BEGIN, 2000000, b);
    strobe_calls_add(&calls, thread, STROBE_CALL_END, 3000000, b);
    strobe_calls_add(&calls, thread, STROBE_CALL_END, 4000000, a);
    if (strobe_calls_convert(&calls, temp_dir_path("calls.strobe"), &options, &stats, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    strobe_calls_close(&calls);
}

static enum strobe_status convert_calls(struct strobe_error *error)
{
    const struct strobe_convert_options options = {.format = STROBE_FORMAT_FOLDED};
    return strobe_convert(temp_dir_path("calls.strobe"), temp_dir_path("out"), &options, NULL, error);
}

static enum strobe_status report_calls(struct strobe_error *error)
{
    const struct strobe_report_options options = {.top = 10};
    struct strobe_report *r;
    enum strobe_status status = strobe_report_session(temp_dir_path("calls.strobe"), &options, &r, error);
    if (status != STROBE_OK)
        return status;
    assert_int_equal(r->calls.calls, 2);
    strobe_report_close(r);
    return status;
}

static void a_session_of_calls_meets_each_fault(void **state)
{
    (void)state;
    static const struct sweep sweeps[] = {{"convert", "alloc write map", convert_calls, "out"},
                                          {"report", "alloc map", report_calls, NULL}};
    write_calls();
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++)
        sweep_faults(&sweeps[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_that_is_read_meets_each_fault),
        cmocka_unit_test(a_session_of_calls_meets_each_fault),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
