/* Rows of properties on the Mach backend that need a capture of their own: hooks met inside of the engine, another
 * logger beside it, and waits for the end of threads. What samples say of time is scored in virtual time:
 * tests/mach. */
#include "engine/backend/mach/events.h"
#include "engine/trace/reader.h"
#include "sim/mach/app.h"

#include <malloc_logger.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct fake_mach_app *app;
static char path[64];
static struct strobe_reader *seen;

static void begin(void)
{
    struct strobe_config c;
    struct strobe_session session;
    char why[256] = "";
    strobe_config_default(&c);
    c.interval_main_ns = c.interval_other_ns = 0;
    c.threads_max = 64;
    assert_int_equal(strobe_session_create(path, &c, "app", 1, &session), STROBE_OK);
    strobe_session_unmap(&session);
    close(session.fd);
    if (strobe_mach_start(&(struct strobe_mach_options){.session_path = path}, NULL, why, sizeof why) != STROBE_OK)
        fail_msg("%s", why);
}

static void end(void)
{
    char why[256] = "";
    strobe_mach_stop();
    if (strobe_reader_open(path, &seen, why, sizeof why) != STROBE_OK || !strobe_reader_check(seen, why, sizeof why))
        fail_msg("%s", why);
}

static int set_up(void **state)
{
    (void)state;
    app = fake_mach_app();
    snprintf(path, sizeof path, "/tmp/strobe-mach-rows-%d", (int)getpid());
    seen = NULL;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    strobe_mach_stop();
    if (seen)
        strobe_reader_close(seen);
    return unlink(path);
}

static const struct strobe_reader_thread *main_seen(void)
{
    for (uint32_t i = 0; i < seen->thread_count; i++)
        if (seen->threads[i].is_main)
            return &seen->threads[i];
    fail_msg("main is not in the session");
    return NULL;
}

/* ---- S-7 */

static uint64_t (*ticks)(void *ctx);
static uint32_t met;

/* The clock, of which the engine asks in the midst of its work, belongs to an app that allocates at each look. */
static uint64_t allocating_ticks(void *ctx)
{
    met++;
    app->free(app->malloc(8));
    return ticks(ctx);
}

static void hooks_met_inside_the_engine_are_counted_and_take_nothing_S7(void **state)
{
    enum { CALLS = 50 };
    (void)state;
    begin();
    app->free(app->malloc(8));   /* the thread is known */
    struct strobe_thread *t = strobe_mach_thread(strobe_switched(), "malloc");
    ticks = t->ticks;
    met = 0;
    t->ticks = allocating_ticks;
    for (int i = 0; i < CALLS; i++)
        app->free(app->malloc(8));
    t->ticks = ticks;
    uint32_t inside = met;
    end();
    const struct strobe_tally *alloc = &main_seen()->kind[STROBE_KIND_ALLOC];
    assert_true(inside >= CALLS);
    assert_int_equal(alloc->reentrant, inside);
    assert_int_equal(alloc->requests, 1 + CALLS + inside);
    assert_int_equal(alloc->sampled + alloc->gated, 1 + CALLS);
}

/* ---- joins */

static _Atomic bool joins;

static void *end_late(void *nothing)
{
    (void)nothing;
    pthread_setname_np(pthread_self(), "ended");
    while (!atomic_load(&joins))
        sched_yield();
    usleep(5000);
    return NULL;
}

/* Tells how many of main's waits for the end of a thread have been told, and that no other waker was. */
static size_t told_ends(void)
{
    const struct strobe_reader_thread *t = main_seen();
    for (size_t w = 0; w < t->woken_count; w++)
        assert_string_equal(seen->threads[t->woken[w].waker].name, "ended");
    return t->woken_count;
}

/* On a busy machine who joins may come too late, when the thread has ended. */
static void who_waits_for_the_end_of_a_thread_is_told_that_it_was_its_end_S75(void **state)
{
    enum { ROUNDS = 5 };
    pthread_t thread;
    (void)state;
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        atomic_store(&joins, false);
        assert_int_equal(app->pthread_create(&thread, NULL, end_late, NULL), 0);
        atomic_store(&joins, true);
        assert_int_equal(app->pthread_join(thread, NULL), 0);
    }
    end();
    assert_in_range(told_ends(), 1, ROUNDS);
    assert_in_range(main_seen()->kind[STROBE_KIND_THREAD].sampled, 1, ROUNDS);   /* the others were no waits */
}

/* ---- beside others */

static uint32_t logged;

static void other_logger(uint32_t type, uintptr_t zone, uintptr_t arg2, uintptr_t arg3, uintptr_t result, uint32_t skip)
{
    (void)type, (void)zone, (void)arg2, (void)arg3, (void)result, (void)skip;
    logged++;
}

static void another_logger_is_told_beside_ours_and_is_there_afterwards(void **state)
{
    (void)state;
    malloc_logger = other_logger;
    logged = 0;
    begin();
    app->free(app->malloc(8));
    end();
    assert_ptr_equal((void *)malloc_logger, (void *)other_logger);
    malloc_logger = NULL;
    assert_int_equal(logged, 2);
    assert_int_equal(main_seen()->kind[STROBE_KIND_ALLOC].requests, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(hooks_met_inside_the_engine_are_counted_and_take_nothing_S7, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_logger_is_told_beside_ours_and_is_there_afterwards, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_waits_for_the_end_of_a_thread_is_told_that_it_was_its_end_S75, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
