/* Each system call of a capture fails in turn, from its start to its end: the capture ends in order, and the app is
 * restored. STROBE_STRESS_SECONDS: duration of the test (default 2).
 * takes: 5 s */
#include "engine/backend/mach/events.h"
#include "engine/base/error.h"
#include "engine/trace/session/reader.h"
#include "sim/fake/mach/app.h"
#include "sim/fake/mach/fake.h"
#include "tests/support/temporary.h"

#include <malloc_logger.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { SECONDS = 2, FIRST_CALLS = 12, STRIDE = 29, CALLS_MAX = 4096 };

static const kern_return_t codes[] = {KERN_FAILURE, KERN_RESOURCE_SHORTAGE, KERN_TERMINATED, KERN_INVALID_ARGUMENT,
                                      MACH_SEND_INVALID_DEST};
static struct fake_mach_app *app;
static char path[TEMPORARY_BYTES];
static _Atomic bool over;
static const char *last_failed;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the app */

static void *compute(void *nothing)
{
    static _Atomic uint64_t spins;
    while (!atomic_load(&over))
        atomic_fetch_add_explicit(&spins, 1, memory_order_relaxed);
    return nothing;
}

static void *brief(void *m)
{
    app->pthread_mutex_lock(m);
    app->pthread_mutex_unlock(m);
    return NULL;
}

static void live(pthread_mutex_t *m)
{
    pthread_t thread;
    struct {
        mach_msg_header_t header;
        char rest[64];
    } message;
    const struct mach_header_64 *more = fake_mach_image_open("/app/more.dylib");
    for (int i = 0; i < 3; i++) {
        app->free(app->malloc(64));
        assert_int_equal(app->pthread_create(&thread, NULL, brief, m), 0);
        app->pthread_join(thread, NULL);
        app->mach_msg(&message.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof message, MACH_PORT_NULL, 1,
                      MACH_PORT_NULL);
    }
    fake_mach_image_close(more);
    nanosleep(&(struct timespec){0, 8000000}, NULL);
}

/* ---- a capture */

static void create_session(void)
{
    struct strobe_config c;
    struct strobe_session session;
    strobe_config_default(&c);
    c.async_interval_ns = 1000000;
    c.threads_max = 64;
    c.ring_slots = 1 << 12;
    c.stack_nodes = 1 << 12;
    assert_int_equal(strobe_session_create(path, &c, "app", 1, &session), STROBE_OK);
    strobe_session_unmap(&session);
    close(session.fd);
}

static void check_session(const char *failed)
{
    struct strobe_reader *seen;
    struct strobe_error error = {""};
    if (strobe_reader_open(path, &seen, &error) != STROBE_OK)
        fail_msg("%s failed: %s", failed, error.text);
    if (!seen->closed || seen->malformed || !strobe_reader_check(seen, &error))
        fail_msg("%s failed: closed %d, malformed %llu, %s", failed, seen->closed, (unsigned long long)seen->malformed,
                 error.text);
    if (seen->suspends != seen->resumes)
        fail_msg("%s failed: %llu suspends, %llu resumes", failed, (unsigned long long)seen->suspends,
                 (unsigned long long)seen->resumes);
    for (uint32_t i = 0; i < seen->thread_count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (seen->threads[i].tid == seen->threads[k].tid)
                fail_msg("%s failed: a thread is there twice", failed);
    strobe_reader_close(seen);
}

/* Captures with the fault that was set for the call `failed`, or for any call when `failed` is NULL. last_failed is
 * then the call that failed, or NULL when no call did. Returns true when the capture began. */
static bool capture(const char *failed)
{
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    struct strobe_error error = {""};
    bool began = strobe_mach_start(&(struct strobe_mach_options){.session_path = path}, NULL, &error) == STROBE_OK;
    if (began)
        live(&m);
    strobe_mach_stop();
    failed = last_failed = failed ? failed : fake_mach_failed();
    fake_mach_fail_none();
    if (began)
        check_session(failed ? failed : "nothing");
    else if (!failed || !*error.text || strchr(error.text, '\n'))
        fail_msg("%s failed: refused: %s", failed, error.text);
    return began;
}

static pthread_t computing;
static unsigned char before[sizeof(struct fake_mach_app)];
static int64_t rights;

static int set_up(void **state)
{
    (void)state;
    app = fake_mach_app();
    temporary_path(path, "strobe-mach-faults-%d", (int)getpid());
    atomic_store(&over, false);
    assert_int_equal(app->pthread_create(&computing, NULL, compute, NULL), 0);
    memcpy(before, app, sizeof before);
    rights = fake_mach_rights();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atomic_store(&over, true);
    app->pthread_join(computing, NULL);
    return unlink(path);
}

/* A right whose release the system refused still exists. */
static void assert_app_restored(const char *failed, uint64_t nth)
{
    rights += failed && strcmp(failed, "mach_port_deallocate") == 0;
    if (memcmp(before, app, sizeof before) != 0 || malloc_logger)
        fail_msg("%s failed, call %d: the app calls hooks", failed, (int)nth);
    if (fake_mach_suspended())
        fail_msg("%s failed, call %d: a thread stands", failed, (int)nth);
    if (fake_mach_rights() != rights)
        fail_msg("%s failed, call %d: %d rights more than before", failed, (int)nth,
                 (int)(fake_mach_rights() - rights));
}

static void whichever_call_fails_a_capture_ends_in_order_and_the_app_is_as_it_was(void **state)
{
    const char *budget = getenv("STROBE_STRESS_SECONDS"), *failed;
    double until = seconds() + (budget ? atof(budget) : SECONDS);
    uint64_t faults = 0, nth = 0;
    (void)state;
    for (uint64_t round = 0; round < CALLS_MAX && seconds() < until; round++) {
        nth = budget ? nth + 1 : round < FIRST_CALLS ? round + 1 : nth + STRIDE;
        create_session();
        fake_mach_fail_any(nth, codes[(round + nth) % (sizeof codes / sizeof *codes)]);
        capture(NULL);
        failed = last_failed;
        assert_app_restored(failed, nth);
        faults += failed != NULL;
        nth = failed ? nth : 0;
    }
    assert_true(faults > 3);
}

/* The app depends on each of these calls. When one fails once, the backend repeats it. */
static void a_call_that_fails_once_stops_no_capture_and_leaves_no_hook_and_no_thread_standing(void **state)
{
    static const struct {
        const char *call;
        uint64_t nth;
    } faults[] = {
        {"vm_protect", 1},    {"vm_protect", 2},     {"vm_protect", 3},
        {"thread_resume", 1}, {"thread_suspend", 1}, {"task_threads", 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        create_session();
        fake_mach_fail(faults[i].call, faults[i].nth, 1, KERN_RESOURCE_SHORTAGE);
        assert_true(capture(faults[i].call));
        assert_app_restored(faults[i].call, faults[i].nth);
    }
}

/* Without its thread id, the sampler would count as a thread of the app, and would stop itself. The first call is
 * for the thread that starts the capture, the next two are for the watchdog and the sampler. */
static void a_sampler_without_its_own_thread_id_does_not_begin(void **state)
{
    uint64_t calls;
    bool began = false;
    (void)state;
    for (uint64_t nth = 2; !began && nth < 16; nth++) {
        create_session();
        fake_mach_fail("pthread_threadid_np", nth, 1, KERN_FAILURE);
        calls = fake_mach_calls("pthread_threadid_np");
        began = capture("pthread_threadid_np");
        assert_app_restored("pthread_threadid_np", nth);
        assert_true(fake_mach_calls("pthread_threadid_np") > calls);
        assert_true(nth > 3 || !began);
    }
    assert_true(began);
}

static void a_session_that_is_not_there_changes_nothing(void **state)
{
    struct strobe_error error = {""};
    (void)state;
    assert_int_equal(strobe_mach_start(&(struct strobe_mach_options){.session_path = "/not/there"}, NULL, &error),
                     STROBE_IO);
    assert_string_equal(error.text, "/not/there: input/output error");
    assert_app_restored(NULL, 0);
    create_session();
    assert_true(capture("nothing"));
    assert_app_restored(NULL, 0);
}

/* Faults and switches are not counted on Mach. */
static void metrics_that_mach_does_not_count_are_not_in_the_session(void **state)
{
    struct strobe_session session;
    (void)state;
    create_session();
    assert_true(capture("nothing"));
    assert_int_equal(strobe_session_open(path, &session), STROBE_OK);
    assert_int_equal(session.header->config.metrics, STROBE_METRIC_CPU | STROBE_METRIC_ALLOC);
    strobe_session_unmap(&session);
}

/* The memory that this thread uses is not touched, and no other capture begins. This lasts, so the test runs last. */
static void a_thread_that_stays_in_the_engine_keeps_its_memory(void **state)
{
    struct strobe_error error = {""};
    (void)state;
    create_session();
    assert_int_equal(strobe_mach_start(&(struct strobe_mach_options){.session_path = path}, NULL, &error), STROBE_OK);
    strobe_add_acq_rel(&strobe_mach.registering, 1);
    strobe_mach_stop();
    assert_int_equal(strobe_mach_start(&(struct strobe_mach_options){.session_path = path}, NULL, &error),
                     STROBE_EXISTS);
    assert_string_equal(error.text, "the last capture's threads have not ended");
    assert_memory_equal(before, app, sizeof before);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(whichever_call_fails_a_capture_ends_in_order_and_the_app_is_as_it_was),
        TEST(a_call_that_fails_once_stops_no_capture_and_leaves_no_hook_and_no_thread_standing),
        TEST(a_sampler_without_its_own_thread_id_does_not_begin),
        TEST(a_session_that_is_not_there_changes_nothing),
        TEST(metrics_that_mach_does_not_count_are_not_in_the_session),
        TEST(a_thread_that_stays_in_the_engine_keeps_its_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
