/* The configuration of the flight recorder: each setting, each refusal, devices that are left out. */
#include "engine/flight/flight_config.h"
#include "engine/store/session.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct strobe_flight_device pixel = {.model = "Pixel 3 XL", .level = 29};

static enum strobe_status read_text(const char *text, struct strobe_flight_config *out, struct strobe_error *error)
{
    error->text[0] = '\0';
    return strobe_flight_read_config(text, "c", 77, &pixel, out, error);
}

static void expect_refused(const char *text, const char *expected)
{
    struct strobe_flight_config c;
    struct strobe_error error;
    if (read_text(text, &c, &error) != STROBE_BAD_INPUT || strcmp(error.text, expected) != 0)
        fail_msg("%s: \"%s\", expected \"%s\"", text, error.text, expected);
}

static void expect_left_out(const char *line, int left_out)
{
    struct strobe_flight_config c;
    struct strobe_error error;
    char text[256];
    snprintf(text, sizeof text, "folder=/d\nleave-out = %s\n", line);
    enum strobe_status status = read_text(text, &c, &error);
    if (status != (left_out ? STROBE_UNSUPPORTED : STROBE_OK))
        fail_msg("%s: %s %s", line, strobe_status_text(status), error.text);
    if (left_out)
        assert_string_equal(error.text, "c: this device is left out");
}

static void a_folder_alone_gives_the_documented_defaults(void **state)
{
    (void)state;
    struct strobe_flight_config c;
    struct strobe_error error;
    assert_int_equal(read_text("folder = /data/{pid}/dumps", &c, &error), STROBE_OK);
    assert_string_equal(c.folder.path, "/data/77/dumps");
    assert_int_equal(c.triggers, 1 << STROBE_TRIGGER_STALL | 1 << STROBE_TRIGGER_ANR | 1 << STROBE_TRIGGER_CRASH |
                                     1 << STROBE_TRIGGER_CALL | 1 << STROBE_TRIGGER_CONTROL);
    assert_int_equal(c.stall_ns, 2000000000);
    assert_int_equal(c.last_ns, 5000000000);
    assert_int_equal(c.folder.dump_bytes, 8 << 20);
    assert_int_equal(c.folder.dumps_a_day, 10);
    assert_int_equal(c.folder.bytes_a_day, 64 << 20);
    assert_int_equal(c.folder.dumps, 20);
    assert_int_equal(c.folder.bytes, 128 << 20);
    assert_int_equal(c.folder.free_bytes, 256 << 20);
}

static void each_setting_is_read(void **state)
{
    (void)state;
    struct strobe_flight_config c;
    struct strobe_error error;
    static const char text[] = "# the remote switch\n\n folder = /d # here\nenabled=yes\ntriggers = stall  crash\r\n"
                               "stall=50ms\nlast = 7s\ndump-bytes = 3K\ndumps-a-day = 99\nbytes-a-day = 4M\n"
                               "dumps = 1\nbytes = 5G\nfree-bytes = 6\nleave-out = Pixel 4";
    assert_int_equal(read_text(text, &c, &error), STROBE_OK);
    assert_string_equal(c.folder.path, "/d");
    assert_int_equal(c.triggers, 1 << STROBE_TRIGGER_STALL | 1 << STROBE_TRIGGER_CRASH);
    assert_int_equal(c.stall_ns, 50000000);
    assert_int_equal(c.last_ns, 7000000000);
    assert_int_equal(c.folder.dump_bytes, 3 << 10);
    assert_int_equal(c.folder.dumps_a_day, 99);
    assert_int_equal(c.folder.bytes_a_day, 4 << 20);
    assert_int_equal(c.folder.dumps, 1);
    assert_int_equal(c.folder.bytes, (uint64_t)5 << 30);
    assert_int_equal(c.folder.free_bytes, 6);
}

static void a_line_that_is_wrong_is_named_with_what_was_expected(void **state)
{
    (void)state;
    static const char count[] = "expected a number from 1 to 99";
    char text[128], expected[256];
    static const char *const counts[] = {"dumps = 0", "dumps = 100", "dumps-a-day = ", "dumps-a-day = 1x"};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        snprintf(text, sizeof text, "folder = /d\n%s\n", counts[i]);
        size_t n = strlen(counts[i]);
        snprintf(expected, sizeof expected, "c: line 2: %.*s: %s", (int)(counts[i][n - 1] == ' ' ? n - 1 : n),
                 counts[i], count);
        expect_refused(text, expected);
    }
    expect_refused("folder = dumps", "c: line 1: folder = dumps: expected an absolute path of at most 511 bytes");
    expect_refused("enabled = 1", "c: line 1: enabled = 1: expected yes or no");
    expect_refused("stall = 49ms", "c: line 1: stall = 49ms: expected a time of at least 50ms");
    expect_refused("last = 0s", "c: line 1: last = 0s: expected a time with a unit, such as 5s");
    expect_refused("bytes = 0K", "c: line 1: bytes = 0K: expected a number of bytes, such as 8M");
    expect_refused("bytes = 9000000000G", "c: line 1: bytes = 9000000000G: expected a number of bytes, such as 8M");
    expect_refused("triggers =", "c: line 1: triggers =: expected some of stall, anr, crash, call, control");
    expect_refused("triggers = none", "c: line 1: triggers = none: expected some of stall, anr, crash, call, control");
    expect_refused("stall", "c: line 1: stall: expected NAME = VALUE");
    expect_refused("leave-out = @ 3", "c: line 1: leave-out = @ 3: expected a model of a device, or MODEL @ 28-29");
    expect_refused("leave-out = a @ 4-3",
                   "c: line 1: leave-out = a @ 4-3: expected a model of a device, or MODEL @ 28-29");
    expect_refused("\n\nturbo = yes", "c: line 3: turbo = yes: expected one of folder, enabled, triggers, stall, last, "
                                      "dump-bytes, dumps-a-day, bytes-a-day, dumps, bytes, free-bytes, leave-out");
    expect_refused("stall = 1s", "c: expected a line with folder =");
}

/* A line behind the one that leaves the device out is checked, too: the same file serves all devices. */
static void a_wrong_line_is_found_also_on_a_device_that_is_left_out(void **state)
{
    (void)state;
    expect_refused("folder = /d\nenabled = no\nlast = 5",
                   "c: line 3: last = 5: expected a time with a unit, such as 5s");
}

static void models_and_levels_leave_devices_out(void **state)
{
    (void)state;
    expect_left_out("Pixel 3 XL", 1);
    expect_left_out("Pixel 3", 0);
    expect_left_out("Pixel 3*", 1);
    expect_left_out("*XL", 1);
    expect_left_out("P*3*L", 1);
    expect_left_out("*", 1);
    expect_left_out("*3*4", 0);
    expect_left_out("Pixel 3 XL*", 1);
    expect_left_out("Pixel 3 XLL", 0);
    expect_left_out("Pixel 3 XL @ 29", 1);
    expect_left_out("Pixel 3 XL @ 28-29", 1);
    expect_left_out("Pixel 3 XL @ 29-30", 1);
    expect_left_out("Pixel 3 XL @ 30-31", 0);
    expect_left_out("Pixel 3 XL @ 27-28", 0);
    expect_left_out("* @ 30\nleave-out = Pixel* @ 29", 1);
}

static void a_recorder_that_is_not_enabled_is_refused_as_unsupported(void **state)
{
    (void)state;
    struct strobe_flight_config c;
    struct strobe_error error;
    assert_int_equal(read_text("enabled = no\n", &c, &error), STROBE_UNSUPPORTED);
    assert_string_equal(error.text, "c: the recorder is not enabled");
}

static void a_file_is_read_up_to_its_longest_length(void **state)
{
    (void)state;
    struct strobe_flight_config c;
    struct strobe_error error;
    const char *path = temp_dir_path("config");
    for (int length = STROBE_FLIGHT_CONFIG_BYTES - 1; length <= STROBE_FLIGHT_CONFIG_BYTES; length++) {
        FILE *f = fopen(path, "we");
        assert_non_null(f);
        fprintf(f, "folder = /d\n#%*s", length - 13, "");
        fclose(f);
        enum strobe_status status = strobe_flight_load_config(path, 1, &pixel, &c, &error);
        assert_int_equal(status, length < STROBE_FLIGHT_CONFIG_BYTES ? STROBE_OK : STROBE_BAD_INPUT);
    }
    remove(path);
    assert_int_equal(strobe_flight_load_config(path, 1, &pixel, &c, &error), STROBE_IO);
    assert_non_null(strstr(error.text, "config: cannot be read"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_alone_gives_the_documented_defaults),
        cmocka_unit_test(each_setting_is_read),
        cmocka_unit_test(a_line_that_is_wrong_is_named_with_what_was_expected),
        cmocka_unit_test(a_wrong_line_is_found_also_on_a_device_that_is_left_out),
        cmocka_unit_test(models_and_levels_leave_devices_out),
        cmocka_unit_test(a_recorder_that_is_not_enabled_is_refused_as_unsupported),
        cmocka_unit_test(a_file_is_read_up_to_its_longest_length),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
