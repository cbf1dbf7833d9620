/* The helpers of the temporary directory fail a test; they do not skip it. */
#include "tests/unit/support/temp_dir.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void run_true(void **state)
{
    (void)state;
    temp_dir_run("true");
}

static void run_false(void **state)
{
    (void)state;
    temp_dir_run("echo the reason && false");
}

static void run_what_is_not_there(void **state)
{
    (void)state;
    temp_dir_run("no-such-command-here");
}

/* Runs the test in a process of its own. Returns its exit status: the number of tests that failed. */
static int failures_of(void (*test)(void **state))
{
    const struct CMUnitTest one[] = {cmocka_unit_test(test)};
    int status, quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_true(quiet >= 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(quiet, STDOUT_FILENO);
        dup2(quiet, STDERR_FILENO);
        _exit(cmocka_run_group_tests_name("inner", one, temp_dir_open, temp_dir_close));
    }
    close(quiet);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_failing_helper_command_fails_its_test(void **state)
{
    (void)state;
    assert_int_equal(failures_of(run_true), 0);
    assert_int_equal(failures_of(run_false), 1);
    assert_int_equal(failures_of(run_what_is_not_there), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_failing_helper_command_fails_its_test)};
    return cmocka_run_group_tests_name("temp_dir", tests, NULL, NULL);
}
