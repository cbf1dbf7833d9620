/* The call log: each entry of a thread is present, whole and in order, or counted as lost. A reader accepts nothing
 * else. */
#include "engine/store/call_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { BLOCKS = 8, THREADS = 3, ALL = BLOCKS * STROBE_CALL_ENTRIES };

static struct strobe_call_log log_;
static void *memory;
static uint64_t bytes;
static struct strobe_call_copy copy;

static void make(uint32_t blocks, bool keep_oldest)
{
    bytes = strobe_call_log_bytes(blocks, THREADS);
    memory = calloc(1, bytes);
    assert_non_null(memory);
    strobe_call_log_create(memory, blocks, THREADS, keep_oldest);
    assert_int_equal(strobe_call_log_open(memory, bytes, &log_), STROBE_OK);
}

static int make_newest(void **state)
{
    (void)state;
    make(BLOCKS, false);
    return 0;
}

static int make_oldest(void **state)
{
    (void)state;
    make(BLOCKS, true);
    return 0;
}

static int end(void **state)
{
    (void)state;
    free(memory);
    return 0;
}

static bool put_entry(struct strobe_call_writer *w, uint32_t thread, uint64_t number)
{
    if (w->next == w->end && !strobe_call_refill(&log_, w, thread)) {
        strobe_call_refuse(&log_, thread, 1);
        return false;
    }
    strobe_call_put(w, 10 * number, number);
    return true;
}

struct census {
    uint64_t present, open, logged, refused, overwrote;
};

static struct census census(void)
{
    struct census c = {0};
    for (uint32_t i = 0; i < log_.head->block_count; i++) {
        enum strobe_call_look look = strobe_call_look(&log_, i, &copy);
        assert_true(look == STROBE_CALLS_EMPTY || look == STROBE_CALLS_THERE);
        if (look == STROBE_CALLS_EMPTY)
            continue;
        c.present += copy.count;
        c.open += copy.open ? copy.count : 0;
        for (uint32_t j = 0; j < copy.count; j++)
            assert_int_equal(copy.entry[j].ticks, 10 * copy.entry[j].word);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        c.logged += strobe_load_relaxed(&log_.accounts[i].told);
        c.refused += strobe_load_relaxed(&log_.accounts[i].refused);
        c.overwrote += strobe_load_relaxed(&log_.accounts[i].overwrote);
    }
    return c;
}

static void all_that_fits_is_there_in_order(void **state)
{
    (void)state;
    struct strobe_call_writer w = {0};
    for (uint64_t i = 1; i <= ALL; i++)
        assert_true(put_entry(&w, 1, i));
    uint64_t expected = 1;
    for (uint32_t i = 0; i < BLOCKS; i++) {
        assert_int_equal(strobe_call_look(&log_, i, &copy), STROBE_CALLS_THERE);
        assert_int_equal(copy.thread, 1);
        assert_int_equal(copy.open, i == BLOCKS - 1);
        for (uint32_t j = 0; j < copy.count; j++)
            assert_int_equal(copy.entry[j].word, expected++);
    }
    assert_int_equal(expected, ALL + 1);
    struct census c = census();
    assert_int_equal(c.logged + c.open, ALL);
    assert_int_equal(c.overwrote + c.refused, 0);
}

static void a_full_log_overwrites_the_oldest_and_counts_them(void **state)
{
    (void)state;
    struct strobe_call_writer w = {0};
    const uint64_t logged = 3 * ALL + 100;
    for (uint64_t i = 1; i <= logged; i++)
        assert_true(put_entry(&w, 0, i));
    struct census c = census();
    assert_int_equal(c.logged + c.open, logged);
    assert_int_equal(c.present + c.overwrote, logged);
    assert_int_equal(c.refused, 0);
    for (uint32_t i = 0; i < BLOCKS; i++) { /* the newest entries are present */
        assert_int_equal(strobe_call_look(&log_, i, &copy), STROBE_CALLS_THERE);
        assert_true(copy.entry[0].word > logged - ALL);
    }
}

static void a_full_log_that_keeps_the_oldest_refuses_and_counts_them(void **state)
{
    (void)state;
    struct strobe_call_writer w = {0}, other = {0};
    for (uint64_t i = 1; i <= ALL; i++)
        assert_true(put_entry(&w, 0, i));
    for (uint64_t i = 0; i < 50; i++) {
        assert_false(put_entry(&w, 0, 1));
        assert_false(put_entry(&other, 2, 1));
    }
    struct census c = census();
    assert_int_equal(c.logged + c.open, ALL);
    assert_int_equal(c.present, ALL);
    assert_int_equal(c.refused, 100);
    assert_int_equal(c.overwrote, 0);
    assert_int_equal(strobe_load_relaxed(&log_.accounts[2].refused), 50);
}

static void a_thread_that_ends_leaves_its_block_to_others_only_after_all_older_ones(void **state)
{
    (void)state;
    struct strobe_call_writer a = {0}, b = {0};
    assert_true(put_entry(&a, 0, 7));
    strobe_call_finish(&log_, &a, 0);
    strobe_call_finish(&log_, &a, 0); /* the writer has no block any more */
    for (uint64_t i = 1; i <= (BLOCKS - 1) * STROBE_CALL_ENTRIES; i++)
        assert_true(put_entry(&b, 1, i));
    assert_int_equal(strobe_call_look(&log_, 0, &copy), STROBE_CALLS_THERE);
    assert_int_equal(copy.thread, 0);
    assert_int_equal(copy.count, 1);
    assert_int_equal(copy.entry[0].word, 7);
    assert_true(put_entry(&b, 1, 1));
    assert_int_equal(strobe_call_look(&log_, 0, &copy), STROBE_CALLS_THERE);
    assert_int_equal(copy.thread, 1);
    assert_int_equal(copy.count, 1); /* no entry of the old owner */
    assert_int_equal(strobe_load_relaxed(&log_.accounts[1].overwrote), 1);
}

static void open_blocks_are_never_taken(void **state)
{
    (void)state;
    struct strobe_call_writer held[BLOCKS] = {0}, more = {0};
    for (uint32_t i = 0; i < BLOCKS; i++)
        assert_true(put_entry(&held[i], 0, 100 + i));
    assert_false(put_entry(&more, 1, 1));
    for (uint32_t i = 0; i < BLOCKS; i++)
        assert_true(put_entry(&held[i], 0, 101 + i));
    struct census c = census();
    assert_int_equal(c.present, 2 * BLOCKS);
    assert_int_equal(c.refused, 1);
    strobe_call_finish(&log_, &held[3], 0);
    assert_true(put_entry(&more, 1, 1));
}

/* A jump out of a signal handler can leave a claim at each of these places. The writer's fields are as they are
 * then. */
static void a_writer_that_was_left_in_a_claim_is_used_again(void **state)
{
    (void)state;
    struct strobe_call_writer w = {0};
    assert_true(put_entry(&w, 0, 1));
    struct strobe_call_writer before_next = w;
    before_next.next--; /* the entry is in the block, and `next` does not count it yet */
    strobe_call_finish(&log_, &before_next, 0);
    assert_int_equal(strobe_load_relaxed(&log_.accounts[0].told), 1);

    struct strobe_call_writer named = {.ticket = 77, .block = 3}; /* the block is chosen, but not claimed */
    assert_true(put_entry(&named, 0, 2));
    struct strobe_call_writer of_another = {.ticket = 1, .block = 2};
    assert_true(put_entry(&of_another, 0, 3));
    struct census c = census();
    assert_int_equal(c.present, 3);
    assert_int_equal(c.logged + c.open, 3);
}

/* `next` and `end` are two stores, and a jump can come between them. */
static void a_writer_whose_fields_do_not_match_is_repaired(void **state)
{
    (void)state;
    struct strobe_call_writer w = {0};
    assert_true(put_entry(&w, 0, 1));
    struct strobe_call_writer good = w;
    strobe_call_repair(&log_, &good);
    assert_memory_equal(&good, &w, sizeof w);

    struct strobe_call_writer left[] = {w, w, w, w};
    left[0].next = NULL;
    left[1].end = NULL;
    left[2].next = log_.blocks[5].entry;
    left[3].block = 0;
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        strobe_call_repair(&log_, &left[i]);
        assert_null(left[i].next);
        assert_null(left[i].end);
    }
    assert_true(put_entry(&left[0], 0, 2));
    struct census c = census();
    assert_int_equal(c.present, 2);
    assert_int_equal(c.logged + c.open, 2);
}

static void a_view_opens_only_when_the_memory_fits(void **state)
{
    (void)state;
    struct strobe_call_log v;
    struct strobe_call_head *head = memory, good = *head;
    assert_int_equal(strobe_call_log_open(memory, bytes - 4096, &v), STROBE_BAD_INPUT);
    assert_int_equal(strobe_call_log_open(memory, 8, &v), STROBE_BAD_INPUT);
    const struct strobe_call_head bad[] = {
        {.block_count = 0, .account_count = 1},
        {.block_count = BLOCKS + 1, .account_count = THREADS},
        {.block_count = STROBE_CALL_BLOCKS_MAX + 1, .account_count = THREADS},
        {.block_count = 1, .account_count = 0},
        {.block_count = 1, .account_count = UINT32_MAX},
        {.block_count = BLOCKS, .account_count = THREADS, .keep_oldest = 2},
        {.block_count = BLOCKS, .account_count = THREADS, .unused = 1},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        *head = bad[i];
        assert_int_equal(strobe_call_log_open(memory, bytes, &v), STROBE_BAD_INPUT);
        assert_null(v.head);
    }
    *head = good;
    assert_int_equal(strobe_call_log_open(memory, bytes, &v), STROBE_OK);
}

static void damage_in_a_block_is_reported(void **state)
{
    (void)state;
    struct strobe_call_writer w = {0};
    for (uint64_t i = 1; i <= STROBE_CALL_ENTRIES + 1; i++)
        put_entry(&w, 0, i);
    struct strobe_call_block *b = &log_.blocks[0], good;
    memcpy(&good, b, sizeof good);
    strobe_store_relaxed(&b->used, STROBE_CALL_ENTRIES + 5);
    assert_int_equal(strobe_call_look(&log_, 0, &copy), STROBE_CALLS_DAMAGED);
    memcpy(b, &good, sizeof good);
    strobe_store_relaxed(&b->thread, THREADS);
    assert_int_equal(strobe_call_look(&log_, 0, &copy), STROBE_CALLS_DAMAGED);
    memcpy(b, &good, sizeof good);
    strobe_store_relaxed(&b->entry[5].word, 0);
    assert_int_equal(strobe_call_look(&log_, 0, &copy), STROBE_CALLS_DAMAGED);
    memcpy(b, &good, sizeof good);
    strobe_store_relaxed(&b->ticket, UINT64_MAX);
    assert_int_equal(strobe_call_look(&log_, 0, &copy), STROBE_CALLS_DAMAGED);
    memcpy(b, &good, sizeof good);
    assert_int_equal(strobe_call_look(&log_, 0, &copy), STROBE_CALLS_THERE);
    strobe_store_relaxed(&b->state, 99 << 1 | 1); /* a claim that was never finished */
    assert_int_equal(strobe_call_look(&log_, 0, &copy), STROBE_CALLS_TAKEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_that_fits_is_there_in_order, make_newest, end),
        cmocka_unit_test_setup_teardown(a_full_log_overwrites_the_oldest_and_counts_them, make_newest, end),
        cmocka_unit_test_setup_teardown(a_full_log_that_keeps_the_oldest_refuses_and_counts_them, make_oldest, end),
        cmocka_unit_test_setup_teardown(a_thread_that_ends_leaves_its_block_to_others_only_after_all_older_ones,
                                        make_newest, end),
        cmocka_unit_test_setup_teardown(open_blocks_are_never_taken, make_newest, end),
        cmocka_unit_test_setup_teardown(a_writer_that_was_left_in_a_claim_is_used_again, make_newest, end),
        cmocka_unit_test_setup_teardown(a_writer_whose_fields_do_not_match_is_repaired, make_newest, end),
        cmocka_unit_test_setup_teardown(a_view_opens_only_when_the_memory_fits, make_newest, end),
        cmocka_unit_test_setup_teardown(damage_in_a_block_is_reported, make_newest, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
