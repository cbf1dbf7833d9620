/* Options of a capture as text (start_text.h). */
#include "engine/backend/common/embed/start_text.h"
#include "engine/base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct strobe_start_texts texts;

static struct strobe_capture_options read_options(const char *text)
{
    struct strobe_capture_options o = {0};
    struct strobe_error error = {""};
    if (strobe_read_start_text(text, 42, &texts, &o, &error) != STROBE_OK)
        fail_msg("%s: %s", text, error.text);
    return o;
}

static void assert_text_refused(const char *text, const char *expected)
{
    struct strobe_capture_options o = {0};
    struct strobe_error error = {""};
    assert_int_equal(strobe_read_start_text(text, 42, &texts, &o, &error), STROBE_BAD_INPUT);
    assert_string_equal(error.text, expected);
}

static void every_option_is_read_in_any_order_and_between_any_blanks(void **state)
{
    (void)state;
    struct strobe_capture_options o =
        read_options("\n paused records=4096\tkeep=oldest\r\n interval=2ms path=/a/b replace ");
    assert_string_equal(o.session_path, "/a/b");
    assert_int_equal(o.interval_ns, 2000000);
    assert_int_equal(o.records_max, 4096);
    assert_true(o.paused && o.replace && o.keep_oldest);
}

static void an_empty_text_has_the_defaults(void **state)
{
    (void)state;
    struct strobe_capture_options o = read_options(" \n");
    assert_null(o.session_path);
    assert_true(!o.interval_ns && !o.records_max && !o.paused && !o.replace && !o.keep_oldest);
    assert_int_equal(read_options("keep=newest").keep_oldest, 0);
}

static void an_interval_has_one_of_four_units(void **state)
{
    (void)state;
    assert_int_equal(read_options("interval=50000ns").interval_ns, 50000);
    assert_int_equal(read_options("interval=75us").interval_ns, 75000);
    assert_int_equal(read_options("interval=3s").interval_ns, 3000000000u);
    static const char *const wrong[] = {"interval=1",
                                        "interval=ms",
                                        "interval=1m",
                                        "interval=",
                                        "interval",
                                        "interval=18446744073709551615s",
                                        "interval=18446744074s",
                                        "interval=99999999999999999999ns"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char expected[128] = "";
        strcat(strcat(expected, wrong[i]), ": expected a number with a unit, such as 1ms");
        assert_text_refused(wrong[i], expected);
    }
}

static void the_process_id_replaces_its_mark_in_the_path(void **state)
{
    (void)state;
    assert_string_equal(read_options("path={pid}/a.{pid}{pi}").session_path, "42/a.42{pi}");
}

static void a_path_that_is_too_long_or_empty_is_refused(void **state)
{
    char text[STROBE_START_PATH_BYTES + 8] = "path=";
    (void)state;
    assert_text_refused("path=", "path=: expected a path of at most 1023 bytes");
    memset(text + 5, 'p', STROBE_START_PATH_BYTES - 1);
    assert_int_equal(strlen(read_options(text).session_path), STROBE_START_PATH_BYTES - 1);
    text[5 + STROBE_START_PATH_BYTES - 1] = 'p';
    struct strobe_capture_options o = {0};
    struct strobe_error error = {""};
    assert_int_equal(strobe_read_start_text(text, 42, &texts, &o, &error), STROBE_BAD_INPUT);
}

static void a_control_server_has_a_name_or_a_port(void **state)
{
    char text[STROBE_CONTROL_NAME_BYTES + 16] = "control=";
    (void)state;
    assert_string_equal(read_options("control=app-{pid} path=/p").control, "app-42");
    assert_int_equal(read_options("control-port=65535").control_port, 65535);
    assert_int_equal(read_options("control-port=any").control_port, -1);
    assert_true(!read_options("").control && !read_options("").control_port);
    memset(text + 8, 'n', STROBE_CONTROL_NAME_BYTES - 1);
    assert_int_equal(strlen(read_options(text).control), STROBE_CONTROL_NAME_BYTES - 1);
    assert_text_refused("control=", "control=: expected a name of at most 99 bytes");
    assert_text_refused("control-port=0", "control-port=0: expected a number from 1 to 65535, or any");
    assert_text_refused("control-port=65536", "control-port=65536: expected a number from 1 to 65535, or any");
    assert_text_refused("control-port=80x", "control-port=80x: expected a number from 1 to 65535, or any");
    text[8 + STROBE_CONTROL_NAME_BYTES - 1] = 'n';
    struct strobe_capture_options o = {0};
    struct strobe_error error = {""};
    assert_int_equal(strobe_read_start_text(text, 42, &texts, &o, &error), STROBE_BAD_INPUT);
}

static void a_flight_recorder_has_the_path_of_its_configuration(void **state)
{
    (void)state;
    assert_string_equal(read_options("flight=/data/{pid}.conf replace").flight, "/data/42.conf");
    assert_null(read_options("").flight);
    assert_text_refused("flight=", "flight=: expected a path of at most 1023 bytes");
    assert_text_refused("flight", "flight: expected a path of at most 1023 bytes");
}

static void an_unknown_option_or_a_value_out_of_its_form_is_named(void **state)
{
    static const char every[] =
        "expected one of path=, interval=, records=, keep=, replace, paused, control=, control-port=, flight=";
    char expected[200];
    (void)state;
    strcat(strcpy(expected, "pause: "), every);
    assert_text_refused("replace pause", expected);
    strcat(strcpy(expected, "replace=1: "), every);
    assert_text_refused("replace=1", expected);
    assert_text_refused("records=4k", "records=4k: expected a number");
    assert_text_refused("records=4294967296", "records=4294967296: expected a number");
    assert_text_refused("keep=all", "keep=all: expected newest or oldest");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_is_read_in_any_order_and_between_any_blanks),
        cmocka_unit_test(an_empty_text_has_the_defaults),
        cmocka_unit_test(an_interval_has_one_of_four_units),
        cmocka_unit_test(the_process_id_replaces_its_mark_in_the_path),
        cmocka_unit_test(a_path_that_is_too_long_or_empty_is_refused),
        cmocka_unit_test(a_control_server_has_a_name_or_a_port),
        cmocka_unit_test(a_flight_recorder_has_the_path_of_its_configuration),
        cmocka_unit_test(an_unknown_option_or_a_value_out_of_its_form_is_named),
    };
    return cmocka_run_group_tests_name("start_text", tests, NULL, NULL);
}
