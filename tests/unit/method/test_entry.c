/* Hooks of the call log in rare states: threads without an entry in the session, hooks within hooks, pauses, a full
 * log, ended threads. Each event is recorded or counted. test_entry_jumps.c jumps out of hooks. */
#include "engine/method/entry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BLOCKS = 4, THREADS = 2, FRAME = 0x7ffe0000, WORD = 0x401000 };

static struct strobe_session_header header;
static struct strobe_session session;
static strobe_a32 busy[THREADS], on;
static strobe_a64 clock_ticks;
static uint64_t now;
static enum strobe_status attach_status;
static uint32_t attached;
static bool left;

static uint64_t read_time(void *ctx)
{
    (void)ctx;
    return now;
}
static const struct strobe_host host = {.ticks = read_time};

static enum strobe_status attach(uint32_t *thread)
{
    attached++;
    *thread = 1;
    return attach_status;
}

static bool is_left(uintptr_t frame, uintptr_t of_caller)
{
    (void)frame, (void)of_caller;
    return left;
}

static int begin_log(void **state)
{
    uint64_t bytes = strobe_call_log_bytes(BLOCKS, THREADS);
    void *memory = calloc(1, bytes);
    (void)state;
    strobe_call_log_create(memory, BLOCKS, THREADS, true);
    if (strobe_call_log_open(memory, bytes, &session.calls) != STROBE_OK)
        return -1;
    memset(&header, 0, sizeof header);
    memset(busy, 0, sizeof busy);
    session.header = &header;
    header.config.threads_max = THREADS;
    strobe_store_relaxed(&header.thread_count, THREADS);
    strobe_entry_forget();
    now = 1;
    attached = 0;
    attach_status = STROBE_OK;
    left = false;
    strobe_store_relaxed(&on, STROBE_ON);
    strobe_store_relaxed(&clock_ticks, 0);
    strobe_entry_switch = &on;
    strobe_entry_clock = &clock_ticks;
    strobe_entry_engine = (struct strobe_entry_engine){
        .session = &session, .host = &host, .busy = busy, .attach = attach, .is_left = is_left};
    return 0;
}

static int end_log(void **state)
{
    (void)state;
    free(session.calls.head);
    return 0;
}

static void record(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        strobe_entry_record(WORD, FRAME);
}

static uint64_t untracked(void)
{
    return strobe_load_relaxed(&header.events_untracked);
}

static uint64_t refused(void)
{
    return strobe_load_relaxed(&session.calls.accounts[1].refused);
}

/* Ends the thread, and returns the number of its entries that the log holds. */
static uint64_t finish(void)
{
    strobe_entry_end();
    return strobe_load_relaxed(&session.calls.accounts[1].told);
}

static void a_thread_that_the_session_has_no_room_for_is_asked_for_once_and_its_events_are_counted(void **state)
{
    (void)state;
    attach_status = STROBE_FULL;
    record(5);
    assert_int_equal(attached, 1);
    assert_int_equal(untracked(), 5);
    assert_int_equal(finish(), 0);
    attach_status = STROBE_OK;
    record(2);
    assert_int_equal(attached, 1);
    assert_int_equal(untracked(), 7);
}

static void a_thread_that_cannot_be_added_yet_is_added_at_a_later_event(void **state)
{
    (void)state;
    attach_status = STROBE_LATE;
    record(3);
    assert_int_equal(attached, 3);
    assert_int_equal(untracked(), 3);
    attach_status = STROBE_OK;
    record(4);
    assert_int_equal(attached, 4);
    assert_int_equal(untracked(), 3);
    assert_int_equal(finish(), 4);
}

static void a_hook_within_a_hook_has_a_block_of_its_own(void **state)
{
    (void)state;
    record(1);
    strobe_entry_local.level[0].inside = FRAME + 64; /* a handler interrupts the outermost hook */
    record(3);
    strobe_entry_local.level[0].inside = 0;
    record(1);
    assert_int_equal(finish(), 5);
    assert_int_equal(untracked() + refused(), 0);
}

static void a_handler_in_the_first_hook_of_a_thread_does_not_add_the_thread(void **state)
{
    (void)state;
    strobe_entry_local.level[0].inside = FRAME + 64;
    record(2);
    assert_int_equal(attached, 0);
    assert_int_equal(untracked(), 2);
}

static void hooks_that_nest_deeper_than_there_are_levels_are_refused_and_counted(void **state)
{
    (void)state;
    for (int known = 0; known < 2; known++) {
        for (uint32_t i = 0; i < STROBE_ENTRY_LEVELS; i++)
            strobe_entry_local.level[i].inside = FRAME + 64;
        record(3);
        for (uint32_t i = 0; i < STROBE_ENTRY_LEVELS; i++)
            strobe_entry_local.level[i].inside = 0;
        assert_int_equal(refused(), known ? 3 : 0); /* a thread without an index has no account */
        record(1);
    }
    assert_int_equal(finish(), 2);
}

static void a_level_that_a_jump_has_left_is_used_again(void **state)
{
    (void)state;
    record(1);
    strobe_entry_local.level[0].inside = FRAME + 64;
    strobe_store_relaxed(&busy[1], 1); /* the jump has left a claim */
    left = true;
    record(1);
    assert_true(strobe_entry_quiet());
    assert_int_equal(finish(), 2);
}

static void a_paused_log_goes_on_when_its_time_has_come(void **state)
{
    (void)state;
    strobe_store_relaxed(&on, STROBE_PAUSED);
    strobe_entry_engine.resume_ticks = 100;
    now = 99;
    record(3);
    assert_int_equal(strobe_load_relaxed(&on), STROBE_PAUSED);
    now = 100;
    record(2);
    assert_int_equal(strobe_load_relaxed(&on), STROBE_ON);
    assert_int_equal(finish(), 2);
}

static void a_log_that_is_off_records_and_counts_nothing(void **state)
{
    (void)state;
    record(1);
    strobe_store_relaxed(&on, STROBE_OFF);
    record(3);
    assert_int_equal(untracked() + refused(), 0);
    assert_int_equal(finish(), 0); /* the closing thread reads the open block */
    strobe_entry_forget();
    assert_false(strobe_entry_refill(&strobe_entry_local, &strobe_entry_local.level[0]));
    assert_int_equal(refused(), 0);
}

static void entries_have_the_clock_threads_time_when_there_is_one(void **state)
{
    static struct strobe_call_copy copy;
    (void)state;
    record(1);
    strobe_store_relaxed(&clock_ticks, 77);
    record(2);
    assert_int_equal(finish(), 3);
    assert_int_equal(strobe_call_look(&session.calls, 0, &copy), STROBE_CALLS_THERE);
    assert_int_equal(copy.count, 3);
    assert_int_equal(copy.entry[0].ticks, 1);
    assert_int_equal(copy.entry[2].ticks, 77);
}

static void a_full_log_refuses_and_counts(void **state)
{
    (void)state;
    record(BLOCKS * STROBE_CALL_ENTRIES + 5);
    assert_int_equal(refused(), 5);
    assert_int_equal(finish(), BLOCKS * STROBE_CALL_ENTRIES);
}

static void the_log_is_quiet_when_no_thread_claims_a_block(void **state)
{
    (void)state;
    assert_true(strobe_entry_quiet());
    strobe_store_relaxed(&busy[1], 1);
    assert_false(strobe_entry_quiet());
    strobe_store_relaxed(&header.thread_count, 1); /* the second thread is not in the table */
    assert_true(strobe_entry_quiet());
    strobe_entry_engine.session = NULL;
    strobe_store_relaxed(&busy[0], 1);
    assert_true(strobe_entry_quiet());
}

static void a_thread_without_events_ends_without_an_entry(void **state)
{
    (void)state;
    strobe_entry_end();
    assert_int_equal(strobe_load_relaxed(&busy[0]) + strobe_load_relaxed(&busy[1]), 0);
    record(1);
    assert_int_equal(untracked(), 1);
    assert_int_equal(attached, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin_log, end_log)
    const struct CMUnitTest tests[] = {
        TEST(a_thread_that_the_session_has_no_room_for_is_asked_for_once_and_its_events_are_counted),
        TEST(a_thread_that_cannot_be_added_yet_is_added_at_a_later_event),
        TEST(a_hook_within_a_hook_has_a_block_of_its_own),
        TEST(a_handler_in_the_first_hook_of_a_thread_does_not_add_the_thread),
        TEST(hooks_that_nest_deeper_than_there_are_levels_are_refused_and_counted),
        TEST(a_level_that_a_jump_has_left_is_used_again),
        TEST(a_paused_log_goes_on_when_its_time_has_come),
        TEST(a_log_that_is_off_records_and_counts_nothing),
        TEST(entries_have_the_clock_threads_time_when_there_is_one),
        TEST(a_full_log_refuses_and_counts),
        TEST(the_log_is_quiet_when_no_thread_claims_a_block),
        TEST(a_thread_without_events_ends_without_an_entry),
    };
    return cmocka_run_group_tests_name("entries of the call log", tests, NULL, NULL);
}
