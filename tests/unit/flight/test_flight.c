/* The flight recorder: when a main thread counts as blocked, and what its thread does with triggers. */
#include "engine/flight/flight.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { MS = 1000000, STALL = 100, MAIN_TID = 40, HOLDER_TID = 41, OWN_TID = 99, WAIT_STEPS = 5000 };

/* ---- stalls */

static struct strobe_thread_entry entry;
static struct strobe_stall stall;

static void be_in(enum strobe_kind kind, uint64_t begin, uint32_t message)
{
    strobe_store_relaxed(&entry.state, STROBE_THREAD_LIVE);
    strobe_store_relaxed(&entry.scope_kind, kind);
    strobe_store_relaxed(&entry.scope_begin_ticks, begin);
    strobe_store_relaxed(&entry.message, message);
}

static bool look(uint64_t now)
{
    return strobe_stall_look(&stall, &entry, now, STALL);
}

static int reset_stall(void **state)
{
    (void)state;
    memset(&entry, 0, sizeof entry);
    stall = (struct strobe_stall){0};
    return 0;
}

static void a_message_that_lasts_is_a_stall_with_and_without_calls(void **state)
{
    (void)state;
    be_in(STROBE_KIND_NONE, 0, 7);
    assert_false(look(1000));
    be_in(STROBE_KIND_SLEEP, 1010, 7);
    assert_false(look(1000 + STALL - 1));
    assert_true(look(1000 + STALL));
    assert_int_equal(stall.since_ticks, 1000);
    assert_false(look(1000 + 2 * STALL)); /* one report of one stall */
}

static void a_new_message_begins_anew(void **state)
{
    (void)state;
    be_in(STROBE_KIND_NONE, 0, 7);
    assert_false(look(1000));
    be_in(STROBE_KIND_NONE, 0, 8);
    assert_false(look(1000 + STALL));
    assert_false(look(1000 + 2 * STALL - 1));
    assert_true(look(1000 + 2 * STALL));
    be_in(STROBE_KIND_NONE, 0, 9);
    assert_false(look(2000));
    assert_true(look(2000 + STALL));
}

static void waiting_for_a_message_is_no_stall(void **state)
{
    (void)state;
    be_in(STROBE_KIND_NONE, 0, 7);
    assert_false(look(1000));
    be_in(STROBE_KIND_POLL, 1010, 7);
    assert_false(look(1000 + STALL));
    assert_false(look(1000 + 9 * STALL));
    be_in(STROBE_KIND_NONE, 0, 8);
    assert_false(look(1000 + 10 * STALL));
    assert_true(look(1000 + 11 * STALL));
}

static void without_a_loop_only_waits_for_locks_disks_and_processes_are_stalls(void **state)
{
    (void)state;
    static const enum strobe_kind blocking[] = {STROBE_KIND_MUTEX, STROBE_KIND_RWLOCK, STROBE_KIND_MONITOR,
                                                STROBE_KIND_SYNC, STROBE_KIND_IPC};
    for (unsigned kind = STROBE_KIND_NONE; kind < STROBE_KIND_COUNT; kind++) {
        bool blocks = false;
        for (size_t i = 0; i < sizeof blocking / sizeof blocking[0]; i++)
            blocks |= blocking[i] == kind;
        reset_stall(NULL);
        be_in((enum strobe_kind)kind, 1000, 0);
        assert_false(look(1000 + STALL - 1));
        if (look(1000 + STALL) != blocks)
            fail_msg("%s", strobe_kind_name(kind));
    }
}

static void the_begin_of_a_call_is_the_begin_of_its_stall(void **state)
{
    (void)state;
    be_in(STROBE_KIND_MUTEX, 1000, 0);
    assert_true(look(5000));
    assert_int_equal(stall.since_ticks, 1000);
    be_in(STROBE_KIND_MUTEX, 5001, 0); /* another call */
    assert_false(look(5000 + STALL));
    assert_true(look(5001 + STALL));
}

static void a_thread_that_has_ended_is_no_stall(void **state)
{
    (void)state;
    be_in(STROBE_KIND_MUTEX, 1000, 0);
    strobe_store_relaxed(&entry.state, STROBE_THREAD_ENDED);
    assert_false(look(1000 + STALL));
}

/* ---- the recorder, over a session that the builder makes */

static struct strobe_build build;
static struct strobe_flight recorder;
static struct strobe_flight_config config;
static struct strobe_flight_host host;
static strobe_a32 pins, completions, idle, end_by_idle;
static strobe_a64 session_now;
static bool has_session, adds_names;

static bool pin(const struct strobe_session **out)
{
    *out = &build.session;
    strobe_add_relaxed(&pins, has_session);
    return has_session;
}

static void unpin(void)
{
    strobe_add_relaxed(&pins, UINT32_MAX);
}

static uint64_t ticks(void)
{
    return strobe_load_relaxed(&session_now);
}

static uint64_t realtime_ns(void)
{
    return (uint64_t)time(NULL) * 1000000000;
}

static void wait_for_change(strobe_a32 *word, uint32_t value, int ms)
{
    struct timespec step = {0, 100000};
    strobe_store_relaxed(&idle, 1);
    for (int i = 0; strobe_load_acquire(word) == value && (ms < 0 || i < 10 * ms); i++)
        nanosleep(&step, NULL);
    strobe_store_relaxed(&idle, 0);
}

static void wake(strobe_a32 *word)
{
    (void)word;
}

static int idle_ms(void)
{
    return strobe_load_relaxed(&end_by_idle) ? STROBE_FLIGHT_NO_MORE : -1;
}

static void blocked_on(uint32_t thread, uint64_t *what, uint32_t *holder_tid)
{
    assert_int_equal(thread, 0);
    *what = 0x1234;
    *holder_tid = HOLDER_TID;
}

static strobe_a32 written_meanwhile; /* enum strobe_trigger */

/* A dump is written, and the runtime is asked for names. */
static bool complete(void)
{
    strobe_add_relaxed(&completions, 1);
    strobe_store_relaxed(&written_meanwhile, (uint32_t)strobe_flight_count(&recorder, realtime_ns()).writing);
    return adds_names;
}

static void *run_recorder(void *unused)
{
    (void)unused;
    strobe_flight_run(&recorder, OWN_TID);
    return NULL;
}

static void await_outcome(uint32_t count)
{
    struct timespec step = {0, 1000000};
    for (int i = 0; i < WAIT_STEPS; i++) {
        struct strobe_flight_counts c = strobe_flight_count(&recorder, realtime_ns());
        if (c.dumps + c.refused >= count && strobe_load_relaxed(&idle))
            return;
        nanosleep(&step, NULL);
    }
    fail_msg("the recorder does not answer");
}

static void begin_recorder(pthread_t *thread)
{
    memset(&recorder, 0, sizeof recorder);
    strobe_store_relaxed(&idle, 0);
    strobe_store_relaxed(&completions, 0);
    strobe_store_relaxed(&end_by_idle, 0);
    strobe_flight_arm(&recorder, &config, &host);
    assert_int_equal(pthread_create(thread, NULL, run_recorder, NULL), 0);
}

static void end_recorder(pthread_t thread)
{
    strobe_flight_ask_to_end(&recorder);
    pthread_join(thread, NULL);
    assert_int_equal(strobe_load_relaxed(&pins), 0);
    assert_false(strobe_flight_ask(&recorder, STROBE_TRIGGER_CALL)); /* it is not armed any more */
}

/* A session of a main thread that waits and a holder, with a record in each 100 ms of 10 s. */
static int set_up_recorder(void **state)
{
    const char *name = temp_dir_path("dumps");
    struct strobe_config c = strobe_build_config();
    struct strobe_error error;
    (void)state;
    temp_dir_run("rm -rf dumps s.strobe");
    config = (struct strobe_flight_config){.triggers = 0x3e, .stall_ns = 100 * MS, .last_ns = 2000000000};
    config.folder = (struct strobe_dump_folder){.dumps = 9,
                                                .dumps_a_day = 9,
                                                .dump_bytes = 8 << 20,
                                                .bytes = 64 << 20,
                                                .bytes_a_day = 64 << 20,
                                                .free_bytes = 1};
    snprintf(config.folder.path, sizeof config.folder.path, "%s", name);
    assert_int_equal(strobe_dump_folder_open(&config.folder, &error), STROBE_OK);
    host = (struct strobe_flight_host){.pin = pin,
                                       .unpin = unpin,
                                       .ticks = ticks,
                                       .realtime_ns = realtime_ns,
                                       .wait = wait_for_change,
                                       .wake = wake,
                                       .idle_ms = idle_ms,
                                       .blocked_on = blocked_on,
                                       .complete = complete};
    strobe_build_begin(&build, temp_dir_path("s.strobe"), &c);
    strobe_build_thread(&build, MAIN_TID, "main");
    strobe_build_thread(&build, HOLDER_TID, "holder");
    uint64_t address = 0x1000;
    uint32_t stack = strobe_build_stack(&build, &address, 1);
    for (uint64_t ms = 0; ms < 10000; ms += 100)
        strobe_build_record(&build, (struct strobe_record){.ticks = ms * MS, .stack = stack}, NULL);
    strobe_store_relaxed(&session_now, STROBE_BUILD_BEGIN_NS + (uint64_t)10000 * MS);
    has_session = true;
    adds_names = false;
    return 0;
}

static int tear_down_recorder(void **state)
{
    (void)state;
    strobe_build_kill(&build);
    return 0;
}

static struct strobe_session open_dump(uint32_t slot)
{
    struct strobe_session s;
    char path[STROBE_DUMP_PATH_BYTES];
    strobe_dump_path(&config.folder, slot, path);
    assert_int_equal(strobe_session_open(path, &s), STROBE_OK);
    return s;
}

static uint32_t count_records(const struct strobe_session *s)
{
    struct strobe_ring_item item;
    uint32_t n = 0;
    for (uint32_t slot = 0; slot < strobe_ring_slot_count(&s->ring); slot++)
        n += strobe_ring_look(&s->ring, slot, &item) == STROBE_LOOK_RECORD;
    return n;
}

static void a_dump_has_the_last_seconds_and_its_cause(void **state)
{
    (void)state;
    pthread_t thread;
    char last[640], path[STROBE_DUMP_PATH_BYTES];
    begin_recorder(&thread);
    assert_true(strobe_flight_ask(&recorder, STROBE_TRIGGER_CALL));
    await_outcome(1);
    strobe_flight_last(&recorder, last, sizeof last);
    strobe_dump_path(&config.folder, 0, path);
    assert_string_equal(last, path);
    end_recorder(thread);
    struct strobe_session s = open_dump(0);
    assert_int_equal(count_records(&s), 20); /* of 2 s, one in 100 ms */
    assert_int_equal(s.header->cause.trigger, STROBE_TRIGGER_CALL);
    assert_int_equal(s.header->cause.thread, 1);
    assert_int_equal(s.header->cause.begin_ticks, 0);
    assert_int_equal(s.header->cause.holder, 0);
    strobe_session_unmap(&s);
}

static void the_state_names_the_dump_that_is_written_and_the_last_one(void **state)
{
    (void)state;
    pthread_t thread;
    begin_recorder(&thread);
    struct strobe_flight_counts c = strobe_flight_count(&recorder, realtime_ns());
    assert_int_equal(c.writing, STROBE_TRIGGER_NONE);
    assert_int_equal(c.cause, STROBE_TRIGGER_NONE);
    assert_true(strobe_flight_ask(&recorder, STROBE_TRIGGER_ANR));
    await_outcome(1);
    c = strobe_flight_count(&recorder, realtime_ns());
    assert_int_equal(strobe_load_relaxed(&written_meanwhile), STROBE_TRIGGER_ANR);
    assert_int_equal(c.writing, STROBE_TRIGGER_NONE);
    assert_int_equal(c.cause, STROBE_TRIGGER_ANR);
    has_session = false;
    assert_true(strobe_flight_ask(&recorder, STROBE_TRIGGER_CALL)); /* without a dump, the last one stays the last */
    await_outcome(2);
    c = strobe_flight_count(&recorder, realtime_ns());
    assert_int_equal(c.writing, STROBE_TRIGGER_NONE);
    assert_int_equal(c.cause, STROBE_TRIGGER_ANR);
    end_recorder(thread);
}

static uint64_t bytes_today(uint64_t later_ns)
{
    return strobe_flight_count(&recorder, realtime_ns() + later_ns).bytes_today;
}

static void the_bytes_of_a_day_survive_a_restart_and_end_with_the_day(void **state)
{
    (void)state;
    pthread_t thread;
    begin_recorder(&thread);
    assert_int_equal(bytes_today(0), 0);
    assert_true(strobe_flight_ask(&recorder, STROBE_TRIGGER_CALL));
    await_outcome(1);
    uint64_t bytes = bytes_today(0);
    assert_int_equal(bytes, strobe_dump_bytes_of_day(&config.folder, realtime_ns()));
    assert_true(bytes > 0);
    assert_int_equal(bytes_today((uint64_t)24 * 3600 * 1000000000), 0);
    end_recorder(thread);
    begin_recorder(&thread);
    await_outcome(0);
    assert_int_equal(bytes_today(0), bytes);
    end_recorder(thread);
}

static void a_stall_is_dumped_with_its_begin_and_the_holder(void **state)
{
    (void)state;
    pthread_t thread;
    uint64_t begin = STROBE_BUILD_BEGIN_NS + (uint64_t)9000 * MS;
    begin_recorder(&thread);
    struct strobe_thread_entry *main_thread = &build.session.threads[0];
    strobe_store_relaxed(&main_thread->scope_kind, STROBE_KIND_MUTEX);
    strobe_store_release(&main_thread->scope_begin_ticks, begin);
    strobe_flight_look(&recorder, &build.session, begin + 99 * MS);
    assert_int_equal(strobe_load_relaxed(&recorder.asked), 0);
    strobe_flight_look(&recorder, &build.session, begin + 100 * MS);
    await_outcome(1);
    end_recorder(thread);
    struct strobe_session s = open_dump(0);
    assert_int_equal(s.header->cause.trigger, STROBE_TRIGGER_STALL);
    assert_int_equal(s.header->cause.begin_ticks, begin);
    assert_int_equal(s.header->cause.what, 0x1234);
    assert_int_equal(s.header->cause.holder, 2);
    strobe_session_unmap(&s);
}

static void a_copy_that_is_too_long_reaches_back_less_far(void **state)
{
    (void)state;
    pthread_t thread;
    for (uint64_t us = 0; us < 600000; us += 200) /* 3000 records more, in the last 600 ms */
        strobe_build_record(&build, (struct strobe_record){.ticks = (uint64_t)9400 * MS + us * 1000, .arg = us}, NULL);
    begin_recorder(&thread);
    assert_true(strobe_flight_ask(&recorder, STROBE_TRIGGER_CALL));
    await_outcome(1);
    struct strobe_session s = open_dump(0);
    config.folder.dump_bytes = s.header->file_bytes - 4096;
    uint32_t all = count_records(&s);
    strobe_session_unmap(&s);
    end_recorder(thread);
    begin_recorder(&thread);
    assert_true(strobe_flight_ask(&recorder, STROBE_TRIGGER_CALL));
    await_outcome(1);
    end_recorder(thread);
    s = open_dump(1);
    assert_true(s.header->file_bytes <= config.folder.dump_bytes);
    assert_true(count_records(&s) > 0 && count_records(&s) < all);
    strobe_session_unmap(&s);
    config.folder.dump_bytes = 4096;
    begin_recorder(&thread);
    assert_true(strobe_flight_ask(&recorder, STROBE_TRIGGER_CALL));
    await_outcome(1);
    end_recorder(thread);
    char last[640];
    strobe_flight_last(&recorder, last, sizeof last);
    assert_string_equal(last, "no dump: the shortest one is longer than dump-bytes");
    assert_int_equal(strobe_flight_count(&recorder, realtime_ns()).refused, 1);
}

static void a_trigger_that_is_not_configured_is_refused(void **state)
{
    (void)state;
    pthread_t thread;
    config.triggers = 1 << STROBE_TRIGGER_ANR;
    begin_recorder(&thread);
    assert_false(strobe_flight_ask(&recorder, STROBE_TRIGGER_CALL));
    strobe_flight_crashed(&recorder, 11, MAIN_TID); /* returns at once */
    strobe_store_relaxed(&build.session.threads[0].scope_kind, STROBE_KIND_MUTEX);
    strobe_store_release(&build.session.threads[0].scope_begin_ticks, STROBE_BUILD_BEGIN_NS);
    strobe_flight_look(&recorder, &build.session, ticks());
    assert_int_equal(strobe_load_relaxed(&recorder.asked), 0);
    end_recorder(thread);
}

static void a_crash_is_dumped_before_its_handler_returns_and_only_once(void **state)
{
    (void)state;
    pthread_t thread;
    adds_names = true;
    begin_recorder(&thread);
    errno = 77;
    strobe_flight_crashed(&recorder, 11, HOLDER_TID);
    assert_int_equal(errno, 77);
    assert_int_equal(strobe_flight_count(&recorder, realtime_ns()).dumps, 1);
    strobe_flight_crashed(&recorder, 6, MAIN_TID);
    end_recorder(thread);
    assert_int_equal(strobe_flight_count(&recorder, realtime_ns()).dumps, 1);
    assert_int_equal(strobe_load_relaxed(&completions), 0); /* the runtime may be broken */
    struct strobe_session s = open_dump(0);
    assert_int_equal(s.header->cause.trigger, STROBE_TRIGGER_CRASH);
    assert_int_equal(s.header->cause.number, 11);
    assert_int_equal(s.header->cause.thread, 2);
    strobe_session_unmap(&s);
}

static void a_crash_of_the_recorders_own_thread_waits_for_nothing(void **state)
{
    (void)state;
    struct timespec before, after;
    memset(&recorder, 0, sizeof recorder);
    strobe_flight_arm(&recorder, &config, &host);
    strobe_store_relaxed(&recorder.thread, OWN_TID);
    clock_gettime(CLOCK_MONOTONIC, &before);
    strobe_flight_crashed(&recorder, 11, OWN_TID);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_true(after.tv_sec - before.tv_sec < 2);
    assert_int_equal(strobe_load_relaxed(&recorder.asked), 0);
}

static void a_dump_is_completed_after_it_is_written(void **state)
{
    (void)state;
    pthread_t thread;
    adds_names = true;
    begin_recorder(&thread);
    assert_true(strobe_flight_ask(&recorder, STROBE_TRIGGER_CONTROL));
    await_outcome(1);
    end_recorder(thread);
    assert_int_equal(strobe_load_relaxed(&completions), 1);
    struct strobe_session s = open_dump(0);
    assert_int_equal(s.header->cause.trigger, STROBE_TRIGGER_CONTROL);
    strobe_session_unmap(&s);
    assert_int_not_equal(access(temp_dir_path("dumps/dump-01.strobe"), F_OK), 0);
}

static void without_a_session_there_is_no_dump(void **state)
{
    (void)state;
    pthread_t thread;
    has_session = false;
    begin_recorder(&thread);
    assert_true(strobe_flight_ask(&recorder, STROBE_TRIGGER_CALL));
    await_outcome(1);
    end_recorder(thread);
    assert_int_equal(strobe_flight_count(&recorder, realtime_ns()).refused, 1);
}

/* The host says that the thread is the last one of the process. */
static void the_thread_ends_when_the_host_says_so(void **state)
{
    (void)state;
    pthread_t thread;
    begin_recorder(&thread);
    strobe_store_relaxed(&end_by_idle, 1);
    strobe_flight_recheck(&recorder);
    pthread_join(thread, NULL);
    assert_int_equal(strobe_load_relaxed(&recorder.armed), 0);
}

#define STALL_TEST(name)    cmocka_unit_test_setup(name, reset_stall)
#define RECORDER_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_recorder, tear_down_recorder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STALL_TEST(a_message_that_lasts_is_a_stall_with_and_without_calls),
        STALL_TEST(a_new_message_begins_anew),
        STALL_TEST(waiting_for_a_message_is_no_stall),
        STALL_TEST(without_a_loop_only_waits_for_locks_disks_and_processes_are_stalls),
        STALL_TEST(the_begin_of_a_call_is_the_begin_of_its_stall),
        STALL_TEST(a_thread_that_has_ended_is_no_stall),
        RECORDER_TEST(a_dump_has_the_last_seconds_and_its_cause),
        RECORDER_TEST(the_state_names_the_dump_that_is_written_and_the_last_one),
        RECORDER_TEST(the_bytes_of_a_day_survive_a_restart_and_end_with_the_day),
        RECORDER_TEST(a_stall_is_dumped_with_its_begin_and_the_holder),
        RECORDER_TEST(a_copy_that_is_too_long_reaches_back_less_far),
        RECORDER_TEST(a_trigger_that_is_not_configured_is_refused),
        RECORDER_TEST(a_crash_is_dumped_before_its_handler_returns_and_only_once),
        RECORDER_TEST(a_crash_of_the_recorders_own_thread_waits_for_nothing),
        RECORDER_TEST(a_dump_is_completed_after_it_is_written),
        RECORDER_TEST(without_a_session_there_is_no_dump),
        RECORDER_TEST(the_thread_ends_when_the_host_says_so),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
