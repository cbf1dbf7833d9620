/* Starts of a capture by an app on Mach, through the functions of strobe/capture.h. */
#include "engine/base/error.h"
#include "engine/include/strobe/capture.h"
#include "engine/trace/session/reader.h"
#include "sim/fake/mach/app.h"
#include "sim/fake/mach/fake.h"
#include "tests/support/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROUNDS = 100 };

static struct fake_mach_app *app;
static char path[TEMPORARY_BYTES];

/* Replaces the C library's function in this program. A descriptor that is closed twice may be another thread's the
 * second time. */
static atomic_int closed_again;

int close(int fd)
{
    long r = syscall(SYS_close, fd);
    if (r != 0 && errno == EBADF)
        atomic_fetch_add(&closed_again, 1);
    return (int)r;
}

static int set_up(void **state)
{
    (void)state;
    app = fake_mach_app();
    temporary_path(path, "strobe-mach-start-%d", (int)getpid());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    strobe_stop();
    unlink(path);
    return 0;
}

static enum strobe_capture_state state_now(void)
{
    struct strobe_capture_status s;
    strobe_get_status(&s);
    return s.state;
}

static void start(struct strobe_capture_options options)
{
    struct strobe_error error = {""};
    options.session_path = path;
    if (strobe_start(&options, &error) != STROBE_OK)
        fail_msg("%s", error.text);
}

/* Opens the session, and fails when its accounting is not consistent. */
static struct strobe_reader *read_session(void)
{
    struct strobe_reader *r;
    struct strobe_error error = {""};
    if (strobe_reader_open(path, &r, &error) != STROBE_OK || !strobe_reader_check(r, &error))
        fail_msg("%s", error.text);
    return r;
}

static void an_app_captures_itself_pauses_and_annotates(void **state)
{
    (void)state;
    start((struct strobe_capture_options){.paused = 1, .interval_ns = 2000000});
    assert_int_equal(state_now(), STROBE_CAPTURE_PAUSED);
    strobe_begin("in the pause");
    strobe_end();
    assert_int_equal(strobe_resume(), STROBE_OK);
    assert_int_equal(state_now(), STROBE_CAPTURE_RUNNING);
    strobe_begin("section");
    app->free(app->malloc(8));
    strobe_end();
    strobe_counter("count", 7);
    strobe_set_thread_name("renamed");
    assert_int_equal(strobe_stop(), STROBE_OK);
    assert_int_equal(strobe_stop(), STROBE_NO_ENTRY);
    assert_int_equal(state_now(), STROBE_CAPTURE_STOPPED);
    struct strobe_reader *r = read_session();
    assert_int_equal(r->closed, 1);
    assert_int_equal(r->annotation_count, 2);
    assert_int_equal(r->session.header->config.async_interval_ns, 2000000);
    assert_true(r->thread_count > 0 && !strcmp(r->threads[0].name, "renamed"));
    strobe_reader_close(r);
}

/* Counts what a capture could leave in the process: threads, mappings of session files, and, in the fake's kernel, port
 * names and their references. */
struct counts {
    int threads, mapped;
    uint32_t names;
    int64_t rights;
};

static struct counts count_leftovers(void)
{
    struct counts n = {.names = fake_mach_names(), .rights = fake_mach_rights()};
    char line[512];
    DIR *d = opendir("/proc/self/task");
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_true(d && maps);
    while (readdir(d))
        n.threads++;
    while (fgets(line, sizeof line, maps))
        n.mapped += strstr(line, path) != NULL;
    closedir(d);
    fclose(maps);
    return n;
}

/* The memory of the last two captures stays mapped, so counts are compared from the third capture on. */
static void captures_that_follow_each_other_leave_nothing_behind(void **state)
{
    struct counts before = {0}, after;
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        start((struct strobe_capture_options){.replace = 1, .records_max = 4096});
        app->free(app->malloc(8));
        assert_int_equal(strobe_stop(), STROBE_OK);
        if (i == 2)
            before = count_leftovers();
    }
    after = count_leftovers();
    assert_int_equal(after.threads, before.threads);
    assert_int_equal(after.mapped, before.mapped);
    assert_int_equal(after.names, before.names);
    assert_int_equal(after.rights, before.rights);
}

static void a_start_closes_each_descriptor_once(void **state)
{
    (void)state;
    atomic_store(&closed_again, 0);
    start((struct strobe_capture_options){.replace = 1, .records_max = 4096});
    assert_int_equal(strobe_stop(), STROBE_OK);
    assert_int_equal(atomic_load(&closed_again), 0);
}

static void assert_refused(const struct strobe_capture_options *o, enum strobe_status expected, const char *text)
{
    struct strobe_error error = {""};
    assert_int_equal(strobe_start(o, &error), expected);
    if (!strstr(error.text, text))
        fail_msg("%s", error.text);
    assert_true(state_now() == STROBE_CAPTURE_IDLE || state_now() == STROBE_CAPTURE_STOPPED);
}

static void a_start_that_cannot_make_its_session_says_why(void **state)
{
    char below[TEMPORARY_BYTES + 8];
    struct stat is;
    (void)state;
    snprintf(below, sizeof below, "%s/x", path);
    assert_refused(NULL, STROBE_BAD_INPUT, "expected a path");
    assert_refused(&(struct strobe_capture_options){.session_path = path, .records_max = 3}, STROBE_BAD_INPUT,
                   "records_max: expected");
    assert_refused(&(struct strobe_capture_options){.session_path = below}, STROBE_IO,
                   "cannot make a session of 62 MiB there: there is no such folder");
    assert_int_equal(stat(path, &is), -1);
    FILE *f = fopen(path, "we");
    assert_true(f && fputs("mine", f) >= 0 && !fclose(f));
    assert_refused(&(struct strobe_capture_options){.session_path = path}, STROBE_EXISTS, "exists already");
    assert_int_equal(stat(path, &is), 0);
    assert_int_equal(is.st_size, 4);
}

static void a_start_beside_a_running_capture_leaves_its_session(void **state)
{
    struct stat before, after;
    struct strobe_error error = {""};
    (void)state;
    start((struct strobe_capture_options){.replace = 1});
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(strobe_start(&(struct strobe_capture_options){.session_path = path, .replace = 1}, &error),
                     STROBE_EXISTS);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(strobe_stop(), STROBE_OK);
    strobe_reader_close(read_session());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_start_that_cannot_make_its_session_says_why, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_app_captures_itself_pauses_and_annotates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_start_beside_a_running_capture_leaves_its_session, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_start_closes_each_descriptor_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(captures_that_follow_each_other_leave_nothing_behind, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("start", tests, NULL, NULL);
}
