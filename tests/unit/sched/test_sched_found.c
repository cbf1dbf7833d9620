/* The recording of a process that runs begins with what its threads do. */
#include "engine/cmd/record/sched_perf.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Starts a process that sleeps or computes, and waits until /proc says so. */
static pid_t start_process(bool sleeps)
{
    unsigned cpu;
    pid_t pid = fork();
    if (pid == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (pid == 0)
        if (sleeps)
            pause();
    char expected = sleeps ? 'S' : 'R';
    for (int i = 0; i < 2000 && strobe_sched_read_task(pid, pid, &cpu) != expected; i++)
        usleep(1000);
    assert_int_equal(strobe_sched_read_task(pid, pid, &cpu), expected);
    return pid;
}

static void end_process(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* Returns what the first thread of the process was found to do. */
static struct strobe_sched_event find_state(pid_t pid)
{
    static struct strobe_sched_perf p;
    struct strobe_error why = {""};
    struct strobe_sched_event found = {0};
    enum strobe_status status = strobe_sched_perf_attach(&p, pid, &why);
    if (status == STROBE_UNSUPPORTED) {
        end_process(pid);
        skip();
    }
    assert_int_equal(status, STROBE_OK);
    for (size_t i = 0; i < p.family.pending_count; i++)
        if (p.family.pending[i].kind == STROBE_SCHED_FOUND)
            found = p.family.pending[i].event;
    strobe_sched_perf_close(&p);
    end_process(pid);
    assert_int_equal(found.tid, pid);
    return found;
}

static void a_thread_that_sleeps_is_found_asleep(void **state)
{
    (void)state;
    struct strobe_sched_event found = find_state(start_process(true));
    assert_int_equal(found.what, STROBE_SCHED_OUT);
    assert_int_equal(found.state, STROBE_SCHED_SLEEPING);
}

static void a_thread_that_computes_is_found_running_or_runnable(void **state)
{
    (void)state;
    struct strobe_sched_event found = find_state(start_process(false));
    if (found.what != STROBE_SCHED_IN) {
        assert_int_equal(found.what, STROBE_SCHED_OUT);
        assert_int_equal(found.state, STROBE_SCHED_RUNNABLE);
    }
}

static void a_thread_that_has_ended_has_no_state(void **state)
{
    (void)state;
    unsigned cpu;
    pid_t pid = start_process(true);
    end_process(pid);
    assert_int_equal(strobe_sched_read_task(pid, pid, &cpu), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_sleeps_is_found_asleep),
        cmocka_unit_test(a_thread_that_computes_is_found_running_or_runnable),
        cmocka_unit_test(a_thread_that_has_ended_has_no_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
