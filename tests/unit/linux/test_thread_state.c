/* The kernel's state of a thread, which decides whether the sampler stops it. */
#include "engine/backend/linux/await_threads.h"
#include "engine/backend/linux/thread_state.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

static _Atomic uint32_t sleeper;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void *sleep_with_a_name(void *name)
{
    prctl(PR_SET_NAME, name);
    sleeper = (uint32_t)gettid();
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    return NULL;
}

static void the_calling_thread_runs(void **state)
{
    (void)state;
    errno = 5;
    assert_int_equal(strobe_linux_thread_state((uint32_t)gettid()), 'R');
    assert_int_equal(errno, 5);
}

static void a_thread_that_waits_does_not_run_whatever_its_name_is(void **state)
{
    static char names[][16] = {"worker", "(a) R (b) R", ") R ", "", "fifteen letters"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        pthread_t thread;
        sleeper = 0;
        pthread_mutex_lock(&held);
        assert_int_equal(pthread_create(&thread, NULL, sleep_with_a_name, names[i]), 0);
        char last = 0;
        for (int ms = 0; ms < 5000 && last != 'S'; ms++) {
            usleep(1000);
            last = sleeper ? strobe_linux_thread_state(sleeper) : 0;
        }
        pthread_mutex_unlock(&held);
        pthread_join(thread, NULL);
        assert_int_equal(last, 'S');
    }
}

/* ---- waiting for threads */

static _Atomic uint32_t spinner;
static atomic_bool spins;
static uint32_t reads, reads_before_progress;

static void *spin(void *unused)
{
    spinner = (uint32_t)gettid();
    while (spins)
        continue;
    return unused;
}

static enum strobe_status cpu_that_stands_still(void *ctx, uint32_t tid, uint64_t *out)
{
    (void)ctx, (void)tid;
    *out = reads++ < reads_before_progress ? 7000 : 1000000;
    return STROBE_OK;
}

static enum strobe_status cpu_of_an_ended_thread(void *ctx, uint32_t tid, uint64_t *out)
{
    (void)ctx, (void)tid, (void)out;
    reads++;
    return STROBE_GONE;
}

/* Waits for a session with one thread. Returns how often the thread's CPU time was read. */
static uint32_t reads_until_it_has_moved(uint32_t tid,
                                         enum strobe_status (*cpu)(void *ctx, uint32_t tid, uint64_t *out))
{
    static struct strobe_session_header header = {.thread_count = 1, .config = {.threads_max = 1}};
    struct strobe_thread_entry entry = {.tid = tid};
    const struct strobe_session session = {.header = &header, .threads = &entry};
    const struct strobe_host host = {.thread_cpu_ns = cpu};
    reads = 0;
    strobe_linux_await_threads(&host, &session);
    return reads;
}

static void a_start_waits_for_a_thread_that_wants_a_processor_and_gets_none(void **state)
{
    pthread_t thread;
    (void)state;
    spins = true;
    spinner = 0;
    assert_int_equal(pthread_create(&thread, NULL, spin, NULL), 0);
    while (!spinner)
        usleep(100);
    reads_before_progress = 20;
    uint32_t of_spinner = reads_until_it_has_moved(spinner, cpu_that_stands_still);
    uint32_t of_ended = reads_until_it_has_moved(spinner, cpu_of_an_ended_thread);
    uint32_t of_self = reads_until_it_has_moved((uint32_t)gettid(), cpu_that_stands_still);
    spins = false;
    pthread_join(thread, NULL);
    assert_int_equal(of_spinner, 21);
    assert_int_equal(of_ended, 1);
    assert_int_equal(of_self, 0);
}

static void a_start_does_not_wait_for_a_thread_that_sleeps(void **state)
{
    static char name[16] = "sleeps";
    pthread_t thread;
    (void)state;
    sleeper = 0;
    pthread_mutex_lock(&held);
    assert_int_equal(pthread_create(&thread, NULL, sleep_with_a_name, name), 0);
    while (!sleeper || strobe_linux_thread_state(sleeper) != 'S')
        usleep(100);
    reads_before_progress = UINT32_MAX;
    uint32_t of_sleeper = reads_until_it_has_moved(sleeper, cpu_that_stands_still);
    pthread_mutex_unlock(&held);
    pthread_join(thread, NULL);
    assert_int_equal(of_sleeper, 2);
}

static void a_thread_that_is_not_there_has_no_state(void **state)
{
    (void)state;
    assert_int_equal(strobe_linux_thread_state(UINT32_MAX), 0);
}

static void a_thread_waits_outside_of_code_when_its_instruction_is_outside(void **state)
{
    static const uint64_t low = 0x7f0000001000, high = 0x7f0000002000;
    (void)state;
    assert_true(strobe_linux_waits_outside("0 0x0 0x7ffd10 0x1 0x0 0x0 0x0 0x7ffd00 0x7f0000000fff\n", low, high));
    assert_true(strobe_linux_waits_outside("0 0x0 0x7ffd10 0x1 0x0 0x0 0x0 0x7ffd00 0x7f0000002000", low, high));
    assert_true(strobe_linux_waits_outside("-1 0x7ffd00 0x7f0000000000\n", low, high));
    assert_false(strobe_linux_waits_outside("0 0x0 0x7ffd10 0x1 0x0 0x0 0x0 0x7ffd00 0x7f0000001000\n", low, high));
    assert_false(strobe_linux_waits_outside("-1 0x7ffd00 0x7f0000001fff\n", low, high));
}

static void a_thread_that_runs_or_has_another_line_does_not_wait_outside(void **state)
{
    static const char *const lines[] = {"running\n", "", "0", "0 0x1 ", "0 0x1 x", "0 0x1 0x2y", "unknown 0x1 0x2\n"};
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_false(strobe_linux_waits_outside(lines[i], 0x1000, 0x2000));
}

static void a_line_of_a_wait_has_the_number_of_its_system_call(void **state)
{
    (void)state;
    uint64_t call = strobe_linux_parse_wait_call("202 0x7ffd10 0x80 0x0 0x0 0x0 0x0 0x7ffd00 0x7f0000000fff\n");
    assert_int_equal((uint32_t)call, 202);
    assert_int_not_equal(call >> 32, 0);
    assert_int_equal((uint32_t)strobe_linux_parse_wait_call("99999 0x"), 99999);
}

static void a_line_without_a_known_system_call_has_none(void **state)
{
    char restarted[32];
    const char *const lines[] = {"running\n",   "",       "-1 0x7ffd00 0x7f0000000fff\n", "202", "202\n",
                                 "1000000 0x1", restarted};
    (void)state;
    snprintf(restarted, sizeof restarted, "%ld 0x0 0x1", (long)SYS_restart_syscall);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_int_equal(strobe_linux_parse_wait_call(lines[i]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_calling_thread_runs),
        cmocka_unit_test(a_thread_that_waits_does_not_run_whatever_its_name_is),
        cmocka_unit_test(a_thread_that_is_not_there_has_no_state),
        cmocka_unit_test(a_start_waits_for_a_thread_that_wants_a_processor_and_gets_none),
        cmocka_unit_test(a_start_does_not_wait_for_a_thread_that_sleeps),
        cmocka_unit_test(a_thread_waits_outside_of_code_when_its_instruction_is_outside),
        cmocka_unit_test(a_thread_that_runs_or_has_another_line_does_not_wait_outside),
        cmocka_unit_test(a_line_of_a_wait_has_the_number_of_its_system_call),
        cmocka_unit_test(a_line_without_a_known_system_call_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
