/* Calls of a session in the reader: by thread, in time order, with checked accounting. */
#include "engine/base/error.h"
#include "engine/trace/session/reader.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

enum { THREADS = 2, TICKS = 1000 };

static struct strobe_session made;
static struct strobe_reader *reader;

/* A session with room for four blocks, and two threads. */
static void begin(void)
{
    struct strobe_config c;
    const char *path = temp_dir_path("calls");
    unlink(path);
    strobe_config_default(&c);
    c.ring_slots = c.stack_nodes = 64;
    c.threads_max = c.images_max = 4;
    c.call_units = 1;
    c.calls = STROBE_CALLS_ONLY;
    assert_int_equal(strobe_session_create(path, &c, "x", 1, &made), STROBE_OK);
    assert_int_equal(strobe_session_begin(&made, 1), STROBE_OK);
    made.header->begin.ticks = TICKS;
    for (uint32_t i = 0; i < THREADS; i++) {
        uint32_t index;
        assert_int_equal(strobe_session_add_thread(&made, 100 + i, i == 0, TICKS, &index), STROBE_OK);
    }
}

static void put_entry(struct strobe_call_writer *w, uint32_t thread, uint64_t ticks, uint64_t word)
{
    if (w->next == w->end)
        assert_true(strobe_call_refill(&made.calls, w, thread));
    strobe_call_put(w, ticks, word);
}

/* closed == 0: leaves the session as a killed process does. */
static void read_back(int closed)
{
    if (closed)
        strobe_session_finish(&made, &(struct strobe_clock_pair){TICKS + 1, TICKS + 1, TICKS + 1, TICKS + 1});
    assert_int_equal(strobe_reader_open(temp_dir_path("calls"), &reader, NULL), STROBE_OK);
}

static int end(void **state)
{
    (void)state;
    strobe_reader_close(reader);
    reader = NULL;
    strobe_session_unmap(&made);
    unlink(temp_dir_path("calls"));
    return 0;
}

static void calls_of_handlers_are_sorted_into_those_of_their_thread(void **state)
{
    (void)state;
    struct strobe_call_writer outer = {0}, handlers = {0}, other = {0};
    begin();
    put_entry(&outer, 0, TICKS + 10, 1);
    put_entry(&handlers, 0, TICKS + 12, 2);
    put_entry(&other, 1, TICKS + 11, 77);
    put_entry(&handlers, 0, TICKS + 13, 2 | STROBE_CALL_EXIT);
    put_entry(&outer, 0, TICKS + 20, 1 | STROBE_CALL_EXIT);
    put_entry(&handlers, 0, TICKS + 30, 3);
    read_back(1);
    struct strobe_reader_call *calls;
    size_t count;
    assert_int_equal(strobe_reader_thread_calls(reader, 0, &calls, &count), STROBE_OK);
    const uint64_t expected[] = {1, 2, 2 | STROBE_CALL_EXIT, 1 | STROBE_CALL_EXIT, 3};
    assert_int_equal(count, 5);
    for (size_t i = 0; i < count; i++)
        assert_true(calls[i].word == expected[i]);
    free(calls);
    assert_int_equal(strobe_reader_thread_calls(reader, 1, &calls, &count), STROBE_OK);
    assert_int_equal(count, 1);
    assert_int_equal(calls[0].ticks, TICKS + 11);
    free(calls);
    assert_int_equal(reader->last_ticks, TICKS + 30); /* later than the clock pair of the end */
    assert_int_equal(reader->threads[0].calls.recorded, 5);
    assert_true(strobe_reader_check(reader, NULL));
}

static void entries_overwritten_by_other_threads_are_counted_by_thread(void **state)
{
    (void)state;
    struct strobe_call_writer a = {0}, b = {0};
    begin();
    for (uint64_t i = 0; i < 2 * STROBE_CALL_ENTRIES; i++)
        put_entry(&a, 0, TICKS + i, 1 + i);
    strobe_call_finish(&made.calls, &a, 0);
    for (uint64_t i = 0; i < 4 * STROBE_CALL_ENTRIES; i++)
        put_entry(&b, 1, TICKS + i, 1 + i);
    strobe_call_refuse(&made.calls, 0, 3);
    read_back(1);
    const struct strobe_reader_calls *first = &reader->threads[0].calls, *second = &reader->threads[1].calls;
    assert_int_equal(first->recorded, 2 * STROBE_CALL_ENTRIES + 3);
    assert_int_equal(first->overwritten, 2 * STROBE_CALL_ENTRIES);
    assert_int_equal(first->present, 0);
    assert_int_equal(first->refused, 3);
    assert_int_equal(second->recorded, second->present);
    assert_int_equal(reader->calls_overwrote, 2 * STROBE_CALL_ENTRIES);
    assert_true(strobe_reader_check(reader, NULL));
}

static void inconsistent_accounting_of_calls_is_reported(void **state)
{
    (void)state;
    struct strobe_call_writer a = {0};
    struct strobe_error error = {""};
    begin();
    for (uint64_t i = 0; i < 3 * STROBE_CALL_ENTRIES; i++)
        put_entry(&a, 0, TICKS + i, 1 + i);
    strobe_bump(&made.calls.accounts[0].told, 1);
    read_back(1);
    assert_false(strobe_reader_check(reader, &error));
    assert_string_equal(error.text, "call log: 3067 entries told and not refused, but 3066 present and 0 overwritten");
}

/* The process was killed during a claim. The accounting allows the loss of that block's content, and no more. */
static void a_claim_that_a_kill_cut_off_is_forgiven_a_block(void **state)
{
    (void)state;
    struct strobe_call_writer a = {0};
    begin();
    for (uint64_t i = 0; i < 3 * STROBE_CALL_ENTRIES + 5; i++)
        put_entry(&a, 0, TICKS + i, 1 + i);
    strobe_store_relaxed(&made.calls.blocks[1].state, 99 << 1 | 1);
    read_back(0);
    assert_int_equal(reader->call_blocks_taken, 1);
    assert_int_equal(reader->threads[0].calls.overwritten, STROBE_CALL_ENTRIES);
    assert_true(strobe_reader_check(reader, NULL));
    strobe_reader_close(reader);
    strobe_bump(&made.calls.accounts[0].told, 9 * STROBE_CALL_ENTRIES);
    read_back(0);
    assert_false(strobe_reader_check(reader, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(calls_of_handlers_are_sorted_into_those_of_their_thread, end),
        cmocka_unit_test_teardown(entries_overwritten_by_other_threads_are_counted_by_thread, end),
        cmocka_unit_test_teardown(inconsistent_accounting_of_calls_is_reported, end),
        cmocka_unit_test_teardown(a_claim_that_a_kill_cut_off_is_forgiven_a_block, end),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
