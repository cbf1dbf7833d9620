/* An output file appears under its name only when it is complete. */
#include "engine/util/outfile.h"

#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>

#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

static struct strobe_outfile out;

static const char *target(void)
{
    return temp_dir_path("target");
}

static void assert_content(const char *wanted)
{
    size_t bytes;
    char *found = temp_dir_read("target", &bytes);
    assert_string_equal(found, wanted);
    free(found);
}

/* Asserts that no other file is left beside the target. */
static void assert_clean(void)
{
    glob_t found;
    assert_int_equal(glob(temp_dir_path("target.*"), 0, NULL, &found), GLOB_NOMATCH);
}

static void fill(size_t bytes)
{
    char block[1000];
    memset(block, 'x', sizeof block);
    for (size_t i = 0; i < bytes; i += sizeof block)
        strobe_outfile_write(&out, block, sizeof block);
}

static void a_file_has_its_name_only_when_whole(void **state)
{
    (void)state;
    unlink(target());
    assert_int_equal(strobe_outfile_open(&out, target(), 0), STROBE_OK);
    strobe_outfile_text(&out, "all ");
    assert_int_equal(access(target(), F_OK), -1);
    strobe_outfile_number(&out, UINT64_MAX);
    strobe_outfile_text(&out, " ");
    strobe_outfile_us(&out, 1002003004);
    assert_int_equal(strobe_outfile_finish(&out, 0), STROBE_OK);
    assert_content("all 18446744073709551615 1002003.004");
    assert_clean();
}

static void an_old_file_is_kept_unless_asked(void **state)
{
    (void)state;
    temp_dir_write("target", "old", 3, 0644);
    assert_int_equal(strobe_outfile_open(&out, target(), 0), STROBE_EXISTS);
    assert_int_equal(strobe_outfile_open(&out, target(), 1), STROBE_OK);
    strobe_outfile_text(&out, "new");
    assert_int_equal(strobe_outfile_finish(&out, 1), STROBE_OK);
    assert_content("old");
    assert_int_equal(strobe_outfile_open(&out, target(), 1), STROBE_OK);
    strobe_outfile_text(&out, "new");
    assert_int_equal(strobe_outfile_finish(&out, 0), STROBE_OK);
    assert_content("new");
    assert_clean();
}

static void a_link_points_to_the_replaced_file_as_before(void **state)
{
    (void)state;
    const char *link = temp_dir_path("link");
    temp_dir_write("target", "old", 3, 0644);
    assert_int_equal(symlink("target", link), 0);
    assert_int_equal(strobe_outfile_open(&out, link, 1), STROBE_OK);
    strobe_outfile_text(&out, "new");
    assert_int_equal(strobe_outfile_finish(&out, 0), STROBE_OK);
    assert_content("new");
    assert_int_equal(readlink(link, (char[8]){0}, 8), 6);
}

static void a_file_at_its_size_limit_leaves_the_old_file(void **state)
{
    (void)state;
    struct rlimit before, low;
    temp_dir_write("target", "old", 3, 0644);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    low = before;
    low.rlim_cur = 100500; /* the write that reaches this limit is a short one */
    assert_int_equal(strobe_outfile_open(&out, target(), 1), STROBE_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    fill(300000);
    enum strobe_status status = strobe_outfile_finish(&out, 0);
    int error = errno;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, STROBE_IO);
    assert_int_equal(error, EFBIG);
    assert_content("old");
    assert_clean();
}

static void a_full_device_is_reported(void **state)
{
    (void)state;
    assert_int_equal(strobe_outfile_open(&out, "/dev/full", 0), STROBE_OK);
    fill(10);
    assert_int_equal(strobe_outfile_finish(&out, 0), STROBE_IO);
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(access("/dev/full", F_OK), 0);
}

static void a_missing_folder_is_reported(void **state)
{
    (void)state;
    assert_int_equal(strobe_outfile_open(&out, temp_dir_path("no/where"), 0), STROBE_IO);
    assert_int_equal(errno, ENOENT);
}

static void tick(int signal)
{
    (void)signal;
}

/* A reader slow enough that the writer is interrupted by signals, and writes in parts. */
static void a_slow_pipe_gets_the_whole_output(void **state)
{
    (void)state;
    const char *pipe = temp_dir_path("pipe");
    temp_dir_run("mkfifo pipe; (exec 3<pipe; sleep 0.2; wc -c <&3 >counted; mv counted target) & true");
    struct sigaction on_tick = {.sa_handler = tick};
    sigaction(SIGALRM, &on_tick, NULL);
    assert_int_equal(strobe_outfile_open(&out, pipe, 0), STROBE_OK);
    ualarm(5000, 5000);
    unlink(target());
    char *big = calloc(1, 600000);
    strobe_outfile_write(&out, big, 600000);
    free(big);
    fill(400000);
    enum strobe_status status = strobe_outfile_finish(&out, 0);
    ualarm(0, 0);
    assert_int_equal(status, STROBE_OK);
    for (int i = 0; i < 500 && access(target(), F_OK) != 0; i++)
        usleep(10000);
    assert_content("1000000\n");
}

static void text_for_json_is_escaped_and_well_formed(void **state)
{
    (void)state;
    assert_int_equal(strobe_outfile_open(&out, target(), 1), STROBE_OK);
    strobe_outfile_json(&out, "a\"b\\c\n\x1f \xc3\xa4\xf0\x9f\x98\x80 "
                              "\xff\xc3(\xed\xa0\x80\xf4\x90\x80\x80\xc0\x80 \xe2\x82");
    assert_int_equal(strobe_outfile_finish(&out, 0), STROBE_OK);
    assert_content("a\\\"b\\\\c\\u000a\\u001f \xc3\xa4\xf0\x9f\x98\x80 \\ufffd\\ufffd(\\ufffd\\ufffd\\ufffd"
                   "\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd \\ufffd\\ufffd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_has_its_name_only_when_whole),
        cmocka_unit_test(an_old_file_is_kept_unless_asked),
        cmocka_unit_test(a_link_points_to_the_replaced_file_as_before),
        cmocka_unit_test(a_file_at_its_size_limit_leaves_the_old_file),
        cmocka_unit_test(a_full_device_is_reported),
        cmocka_unit_test(a_missing_folder_is_reported),
        cmocka_unit_test(a_slow_pipe_gets_the_whole_output),
        cmocka_unit_test(text_for_json_is_escaped_and_well_formed),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
