/* Properties of the Mach backend that need a separate capture: hooks inside the engine, another hook library beside it,
 * waits for the end of threads, and turns of the main loop with a clock of the test. tests/mach scores sampled times in
 * virtual time. */
#include "engine/backend/mach/events.h"
#include "engine/base/error.h"
#include "engine/trace/session/reader.h"
#include "sim/fake/mach/app.h"
#include "sim/fake/mach/system.h"
#include "tests/support/temporary.h"

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
static char path[TEMPORARY_BYTES];
static struct strobe_reader *seen;

static void begin(void)
{
    struct strobe_config c;
    struct strobe_session session;
    struct strobe_error error = {""};
    strobe_config_default(&c);
    c.interval_main_ns = c.interval_other_ns = 0;
    c.threads_max = 64;
    assert_int_equal(strobe_session_create(path, &c, "app", 1, &session), STROBE_OK);
    strobe_session_unmap(&session);
    close(session.fd);
    if (strobe_mach_start(&(struct strobe_mach_options){.session_path = path}, NULL, &error) != STROBE_OK)
        fail_msg("%s", error.text);
}

static void end(void)
{
    struct strobe_error error = {""};
    strobe_mach_stop();
    if (strobe_reader_open(path, &seen, &error) != STROBE_OK || !strobe_reader_check(seen, &error))
        fail_msg("%s", error.text);
}

static int set_up(void **state)
{
    (void)state;
    app = fake_mach_app();
    temporary_path(path, "strobe-mach-rows-%d", (int)getpid());
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

/* A clock of an app that allocates in each read. The engine reads the clock while it works. */
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
    app->free(app->malloc(8)); /* the thread is known */
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

/* Ends when the engine has registered the wait of a thread for the end of this one. */
static void *end_late(void *nothing)
{
    uint64_t self = (uint64_t)(uintptr_t)pthread_self();
    struct strobe_waiter *waiter = strobe_mach.engine.blocking->waiter[strobe_block_index(self)];
    pthread_setname_np(pthread_self(), "ended");
    for (uint32_t i = 0; strobe_load_relaxed(&waiter[i].what) != self || !strobe_load_acquire(&waiter[i].ticket);) {
        i = (i + 1) % STROBE_BLOCK_WAITERS;
        sched_yield();
    }
    return nothing;
}

/* Returns how many of main's waits for the end of a thread have a waker; checks that each waker is that thread. */
static size_t count_recorded_ends(void)
{
    const struct strobe_reader_thread *t = main_seen();
    for (size_t w = 0; w < t->woken_count; w++)
        assert_string_equal(seen->threads[t->woken[w].waker].name, "ended");
    return t->woken_count;
}

static void a_wait_for_the_end_of_a_thread_names_that_thread_as_its_waker_S75(void **state)
{
    enum { ROUNDS = 5 };
    pthread_t thread;
    (void)state;
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(app->pthread_create(&thread, NULL, end_late, NULL), 0);
        assert_int_equal(app->pthread_join(thread, NULL), 0);
    }
    end();
    assert_int_equal(count_recorded_ends(), ROUNDS);
    assert_int_equal(main_seen()->kind[STROBE_KIND_THREAD].sampled, ROUNDS);
}

/* ---- the loop's turns, and series */

static void receive(void)
{
    struct {
        mach_msg_header_t header;
        char rest[64];
    } message;
    app->mach_msg(&message.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof message, MACH_PORT_NULL, 0,
                  MACH_PORT_NULL);
}

/* A clock of the test, which stands unless the test moves it. So the length of a turn does not depend on other load. */
static _Atomic uint64_t clock_ns; /* 0: the clock goes, ahead of the system's clock by: */
static _Atomic uint64_t clock_ahead_ns;
static _Atomic uint64_t sampler_sleeps_ns; /* deadline of the sampler's sleep; 0: the sampler is awake */

static uint64_t clock_now(void)
{
    uint64_t stands = atomic_load(&clock_ns);
    return stands ? stands : fake_mach_pthreads.now_ns() + atomic_load(&clock_ahead_ns);
}

/* Only the sampler sleeps by this function. */
static void sleep_until_clock(uint64_t at)
{
    atomic_store(&sampler_sleeps_ns, at);
    while (clock_now() < at)
        usleep(50);
    atomic_store(&sampler_sleeps_ns, 0);
}

static void stop_clock(struct fake_mach_system *system)
{
    *system = fake_mach_pthreads;
    system->now_ns = clock_now;
    system->sleep_until_ns = sleep_until_clock;
    atomic_store(&clock_ns, fake_mach_pthreads.now_ns());
    fake_mach_use_system(system);
}

/* Moves the clock in steps of 5 ms. After each step, waits until the sampler has made the passes that were due. */
static void pass_ms(unsigned ms)
{
    for (unsigned i = 0; i < ms; i += 5) {
        atomic_fetch_add(&clock_ns, 5000000);
        while (atomic_load(&sampler_sleeps_ns) <= atomic_load(&clock_ns))
            usleep(50);
    }
}

static void start_clock(void)
{
    atomic_store(&clock_ahead_ns, atomic_load(&clock_ns) - fake_mach_pthreads.now_ns());
    atomic_store(&clock_ns, 0);
}

static void turns_that_take_too_long_are_hitches_and_hangs_and_others_are_not(void **state)
{
    struct fake_mach_system stopped;
    (void)state;
    stop_clock(&stopped);
    begin();
    receive();
    pass_ms(5);
    receive();
    pass_ms(60);
    receive();
    pass_ms(400); /* the hang is reported while it lasts */
    start_clock();
    end();
    fake_mach_use_system(&fake_mach_pthreads);
    assert_int_equal(seen->hitch_count, 2);
    assert_int_equal(seen->hitches[0].how, STROBE_HITCH_FRAME);
    assert_int_equal(seen->hitches[1].how, STROBE_HITCH_HANG);
    uint64_t hitch_ns = strobe_reader_span_ns(seen, seen->hitches[0].end_ticks - seen->hitches[0].begin_ticks);
    assert_in_range(hitch_ns, 60000000 - 100, 60000000 + 100); /* exact to two ticks of 42 ns */
    assert_true(strobe_reader_span_ns(seen, seen->hitches[1].end_ticks - seen->hitches[1].begin_ticks) >= 250000000);
    uint64_t values[STROBE_SERIES_COUNT] = {0};
    for (size_t i = 0; i < seen->counter_count; i++) {
        const struct strobe_reader_counter *c = &seen->counters[i];
        assert_true(c->value > 0 && c->value >= (c->what == STROBE_SERIES_THREADS ? 3 : 1));
        values[c->what]++;
    }
    for (int i = 0; i < STROBE_SERIES_COUNT; i++)
        assert_int_equal(values[i], 6); /* one in each 100 ms of 465 ms, and one at the end */
    assert_int_equal(main_seen()->kind[STROBE_KIND_POLL].requests, 3);
}

/* ---- beside others */

static uint32_t logged;

static void other_logger(uint32_t type, uintptr_t zone, uintptr_t arg2, uintptr_t arg3, uintptr_t result, uint32_t skip)
{
    (void)type, (void)zone, (void)arg2, (void)arg3, (void)result, (void)skip;
    logged++;
}

static void another_logger_is_called_beside_ours_and_is_restored_afterwards(void **state)
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

static malloc_logger_t *below;

static void begin_anew(void)
{
    strobe_reader_close(seen);
    seen = NULL;
    unlink(path);
    begin();
}

static void chaining_logger(uint32_t type, uintptr_t zone, uintptr_t arg2, uintptr_t arg3, uintptr_t result,
                            uint32_t skip)
{
    logged++;
    assert_true(logged < 10); /* two loggers that call each other would never return */
    below(type, zone, arg2, arg3, result, skip);
}

/* The other logger was installed during a capture, and still calls the engine's logger in the next one. */
static void a_logger_installed_over_ours_does_not_call_it_in_circles_in_the_next_capture(void **state)
{
    (void)state;
    begin();
    below = malloc_logger;
    malloc_logger = chaining_logger;
    end();
    assert_ptr_equal((void *)malloc_logger, (void *)chaining_logger);
    begin_anew();
    logged = 0;
    assert_string_equal(strobe_mach.status.off[STROBE_MACH_MALLOC],
                        "another malloc_logger is installed over the engine's, and may call it");
    app->free(app->malloc(8));
    end();
    assert_int_equal(logged, 2);
    assert_int_equal(main_seen()->kind[STROBE_KIND_ALLOC].requests, 0);
    malloc_logger = below;
    begin_anew();
    app->free(app->malloc(8));
    end();
    assert_null(malloc_logger);
    assert_int_equal(main_seen()->kind[STROBE_KIND_ALLOC].requests, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_logger_installed_over_ours_does_not_call_it_in_circles_in_the_next_capture,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(turns_that_take_too_long_are_hitches_and_hangs_and_others_are_not, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(hooks_met_inside_the_engine_are_counted_and_take_nothing_S7, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_logger_is_called_beside_ours_and_is_restored_afterwards, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_wait_for_the_end_of_a_thread_names_that_thread_as_its_waker_S75, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
