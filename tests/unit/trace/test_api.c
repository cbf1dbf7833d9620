/* The public function that converts a session refuses options that have no meaning, and writes nothing then. */
#include "engine/include/strobe/trace.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char *session, *trace;

static int begin(void **state)
{
    (void)state;
    struct strobe_build build;
    struct strobe_config config = strobe_build_config();
    session = strdup(temp_dir_path("session"));
    trace = strdup(temp_dir_path("trace"));
    strobe_build_begin(&build, session, &config);
    strobe_build_thread(&build, 100, "main");
    strobe_build_end(&build, 1000000);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(trace);
    free(session);
    free(trace);
    return 0;
}

static void expect_refused(struct strobe_trace_options options, const char *text)
{
    struct strobe_error error = {""};
    assert_int_equal(strobe_trace_write(session, trace, &options, &error), STROBE_BAD_INPUT);
    assert_string_equal(error.text, text);
    assert_int_equal(access(trace, F_OK), -1);
    assert_int_equal(strobe_trace_write(session, trace, &options, NULL), STROBE_BAD_INPUT);
}

static void a_format_that_does_not_exist_is_refused(void **state)
{
    (void)state;
    expect_refused((struct strobe_trace_options){.format = (enum strobe_format)99},
                   "format: expected a value of enum strobe_format, not 99");
}

static void a_part_without_length_is_refused(void **state)
{
    (void)state;
    static const char text[] = "to_ns: expected 0 or a time after from_ns";
    expect_refused((struct strobe_trace_options){.from_ns = 500, .to_ns = 500}, text);
    expect_refused((struct strobe_trace_options){.from_ns = 501, .to_ns = 500}, text);
}

static void a_part_to_the_end_is_written(void **state)
{
    (void)state;
    struct strobe_error error = {""};
    const struct strobe_trace_options options = {.from_ns = 500};
    assert_int_equal(strobe_trace_write(session, trace, &options, &error), STROBE_OK);
    assert_int_equal(access(trace, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_format_that_does_not_exist_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_part_without_length_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_part_to_the_end_is_written, begin, end),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
