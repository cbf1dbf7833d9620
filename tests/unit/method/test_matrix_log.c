/* Matrix's packed method log: its words, its ring and marks, its clock and states. A model of upstream's log runs
 * beside Strobe's log: the regressions. */
#include "engine/method/matrix/matrix_log.h"

#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { FULL = STROBE_MATRIX_ENTRIES_DEFAULT };
static const uint64_t MS = 1000000;

static struct strobe_matrix_clock clock;
static struct strobe_matrix_log matrix;
static void *memory;
static uint64_t *out;

/* ---- upstream's ring and records, by its rules */

struct record {
    int64_t index;
    bool valid;
    struct record *next;
};

static struct {
    uint64_t buffer[FULL];
    int64_t index, last;
    struct record *head;
} model;

static void model_begin(void)
{
    model.index = 0;
    model.last = -1;
    model.head = NULL;
}

static void model_write(uint64_t entry)
{
    if (model.index >= FULL)
        model.index = 0;
    model.buffer[model.index] = entry;
    while (model.head && (model.head->index == model.index || (model.head->index == -1 && model.last == FULL - 1))) {
        model.head->valid = false;
        model.head = model.head->next;
    }
    model.last = model.index++;
}

static void model_mark(struct record *r)
{
    *r = (struct record){.index = model.index - 1, .valid = true};
    struct record **at = &model.head;
    while (*at && (*at)->index < r->index)
        at = &(*at)->next;
    r->next = *at;
    *at = r;
}

static void model_release(struct record *r)
{
    r->valid = false;
    for (struct record **at = &model.head; *at; at = &(*at)->next)
        if (*at == r) {
            *at = r->next;
            return;
        }
}

/* Returns the number of entries in a copy. */
static int64_t model_copy(const struct record *r)
{
    int64_t start = r->index < 0 ? 0 : r->index, end = model.index - 1 < 0 ? 0 : model.index - 1;
    if (!r->valid || start == end)
        return 0;
    return end > start ? end - start + 1 : FULL - start + end + 1;
}

/* An entry as upstream packs it: an int, widened with its sign. */
static uint64_t model_entry(bool enter, int32_t id, uint64_t ms)
{
    return (enter ? UINT64_C(1) << 63 : 0) | (uint64_t)(int64_t)id << 43 | (ms & 0x7FFFFFFFFFF);
}

/* ---- Strobe's log */

static void begin_with(uint32_t capacity, bool freezes)
{
    memory = realloc(memory, strobe_matrix_log_bytes(capacity));
    out = realloc(out, (capacity + 2) * sizeof *out);
    assert_non_null(memory);
    assert_non_null(out);
    strobe_matrix_clock_open(&clock, 1000 * MS, freezes);
    assert_int_equal(strobe_matrix_log_open(&matrix, memory, strobe_matrix_log_bytes(capacity), capacity, &clock),
                     STROBE_OK);
}

static int end(void **state)
{
    (void)state;
    free(memory);
    free(out);
    memory = out = NULL;
    return 0;
}

/* Writes entries with ids 1, 2, 3 ... to the log and to the model. */
static uint32_t next_id;

static void begin_both(void)
{
    begin_with(FULL, false);
    model_begin();
    next_id = 0;
}

static void write_both(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        next_id = next_id % STROBE_MATRIX_ID_MAX + 1;
        strobe_matrix_enter(&matrix, next_id);
        model_write(model_entry(true, (int32_t)next_id, 0));
    }
}

struct both {
    struct strobe_matrix_mark ours;
    struct record theirs;
};

static void mark_both(struct both *b)
{
    b->ours = strobe_matrix_mark(&matrix);
    model_mark(&b->theirs);
}

/* Asserts that a copy has the newest `ours` entries in order, and that upstream's copy has `theirs` entries. */
static void copies_are(const struct both *b, size_t ours, int64_t theirs)
{
    size_t count;
    assert_int_equal(strobe_matrix_copy(&matrix, &b->ours, NULL, out, FULL, &count), STROBE_OK);
    assert_int_equal(count, ours);
    uint32_t id = (uint32_t)(((uint64_t)next_id + 2 * (uint64_t)STROBE_MATRIX_ID_MAX - ours) % STROBE_MATRIX_ID_MAX);
    for (size_t i = 0; i < count; i++) {
        id = id % STROBE_MATRIX_ID_MAX + 1;
        assert_int_equal(strobe_matrix_id(out[i]), id);
    }
    assert_int_equal(model_copy(&b->theirs), theirs);
}

static void ours_is_overwritten(const struct both *b)
{
    size_t count = 77;
    assert_int_equal(strobe_matrix_copy(&matrix, &b->ours, NULL, out, FULL, &count), STROBE_TRUNCATED);
    assert_int_equal(count, 0);
}

static void entries_have_matrix_s_layout(void **state)
{
    (void)state;
    assert_int_equal(strobe_matrix_entry(true, STROBE_MATRIX_DISPATCH, 0), 0xfffff00000000000);
    assert_int_equal(strobe_matrix_entry(false, STROBE_MATRIX_DISPATCH, 879), 0x7ffff0000000036f);
    assert_int_equal(strobe_matrix_entry(true, 1, 0), 0x8000080000000000);
    assert_int_equal(strobe_matrix_entry(true, STROBE_MATRIX_DISPATCH, STROBE_MATRIX_MS_MAX), 0xfffff7ffffffffff);
    uint64_t entry = strobe_matrix_entry(false, 4711, 123456789);
    assert_false(strobe_matrix_is_enter(entry));
    assert_int_equal(strobe_matrix_id(entry), 4711);
    assert_int_equal(strobe_matrix_ms(entry), 123456789);
    begin_with(4, false);
    strobe_matrix_message_begin(&matrix, 1000 * MS);
    strobe_matrix_enter(&matrix, 1);
    strobe_matrix_message_end(&matrix, (1000 + 879) * MS);
    assert_int_equal(strobe_matrix_copy_newest(&matrix, out, 4), 3);
    assert_int_equal(out[0], 0xfffff00000000000);
    assert_int_equal(out[1], 0x8000080000000000);
    assert_int_equal(out[2], 0x7ffff0000000036f);
}

static void negative_and_over_range_ids_are_refused(void **state)
{
    (void)state;
    begin_with(8, false);
    const uint32_t none[] = {0, (uint32_t)-1, INT32_MAX, (uint32_t)INT32_MIN, 0xFFFFF, STROBE_MATRIX_DISPATCH};
    enum { COUNT = sizeof none / sizeof *none };
    for (uint64_t written = 0; written < 2; written++) { /* before the first method and after it */
        for (size_t i = 0; i < COUNT; i++) {
            strobe_matrix_enter(&matrix, none[i]);
            strobe_matrix_leave(&matrix, none[i]);
        }
        assert_int_equal(matrix.refused_ids, 2 * COUNT * (written + 1));
        assert_int_equal(matrix.written, written);
        strobe_matrix_enter(&matrix, STROBE_MATRIX_ID_MAX);
    }
    assert_int_equal(matrix.written, 2);
    /* Upstream: an exit of id -1 becomes an enter of id 0xFFFFF. */
    assert_int_equal(model_entry(false, -1, 0), 0xfffff80000000000);
}

/* ---- marks: the rows of the table, each with the result of upstream's record */

static void a_mark_of_a_fresh_log_has_what_follows(void **state)
{
    (void)state;
    struct both b;
    begin_both();
    mark_both(&b);
    assert_int_equal(b.theirs.index, -1);
    write_both(3);
    copies_are(&b, 3, 3);
}

static void a_mark_does_not_include_the_entry_before(void **state)
{
    (void)state;
    struct both b;
    begin_both();
    write_both(3);
    mark_both(&b);
    assert_int_equal(b.theirs.index, 2);
    write_both(1);
    copies_are(&b, 1, 2);
}

static void a_mark_with_nothing_behind_it_is_empty(void **state)
{
    (void)state;
    struct both b;
    begin_both();
    write_both(3);
    mark_both(&b);
    copies_are(&b, 0, 0);
}

/* Upstream: a region with start == end is empty. */
static void one_entry_behind_a_mark_is_copied(void **state)
{
    (void)state;
    struct both b;
    begin_both();
    mark_both(&b);
    write_both(1);
    copies_are(&b, 1, 0);
}

static void copies_go_across_the_wrap(void **state)
{
    (void)state;
    struct both b;
    begin_both();
    write_both(FULL - 1);
    mark_both(&b);
    assert_int_equal(b.theirs.index, FULL - 2);
    write_both(3);
    assert_int_equal(model.index, 2);
    copies_are(&b, 3, 4);
}

static void a_mark_at_the_last_slot_has_the_entry_after_the_wrap(void **state)
{
    (void)state;
    struct both b;
    begin_both();
    write_both(FULL);
    mark_both(&b);
    assert_int_equal(b.theirs.index, FULL - 1);
    write_both(1);
    assert_int_equal(model.index, 1);
    copies_are(&b, 1, 2);
}

static void a_mark_is_good_for_as_many_entries_as_are_kept(void **state)
{
    (void)state;
    struct both b;
    begin_both();
    write_both(500);
    mark_both(&b);
    write_both(FULL - 1);
    copies_are(&b, FULL - 1, FULL);
    write_both(1);
    assert_int_equal(model_copy(&b.theirs), 0); /* upstream's entry before the region is overwritten */
    size_t count;
    assert_int_equal(strobe_matrix_copy(&matrix, &b.ours, NULL, out, FULL, &count), STROBE_OK);
    assert_int_equal(count, FULL);
    write_both(1);
    ours_is_overwritten(&b);
}

static void a_mark_of_a_fresh_log_is_good_for_a_full_log(void **state)
{
    (void)state;
    struct both b;
    begin_both();
    mark_both(&b);
    write_both(FULL);
    copies_are(&b, FULL, FULL);
    write_both(1);
    ours_is_overwritten(&b);
    assert_int_equal(model_copy(&b.theirs), 0);
}

/* Matrix #700: two records of one index are invalidated by one write. */
static void two_marks_at_one_place_are_overwritten_together(void **state)
{
    (void)state;
    struct both a, b;
    begin_both();
    write_both(161966);
    mark_both(&a);
    mark_both(&b);
    assert_int_equal(a.theirs.index, 161965);
    write_both(FULL);
    assert_false(a.theirs.valid);
    assert_false(b.theirs.valid);
    assert_null(model.head);
    copies_are(&a, FULL, 0);
    copies_are(&b, FULL, 0);
    write_both(1);
    ours_is_overwritten(&a);
    ours_is_overwritten(&b);
}

/* Upstream: the younger record is the head of the list, so the overwriting of the older one is not noticed. */
static void a_younger_mark_does_not_hide_that_an_older_one_was_overwritten(void **state)
{
    (void)state;
    struct both a, b;
    begin_both();
    write_both(500001);
    mark_both(&a);
    assert_int_equal(a.theirs.index, 500000);
    write_both(FULL - 500001 + 10);
    mark_both(&b);
    assert_int_equal(b.theirs.index, 9);
    write_both(500000 - 9);
    assert_int_equal(model.last, 500000);
    assert_true(a.theirs.valid);
    assert_int_equal(model_copy(&a.theirs), 0);
    copies_are(&b, 500000 - 9, 500000 - 9 + 1);
    write_both(1);
    assert_true(a.theirs.valid);
    assert_int_equal(model_copy(&a.theirs), 2); /* both entries are outside of the region */
    ours_is_overwritten(&a);
    copies_are(&b, 500000 - 8, 500000 - 8 + 1);
    write_both(FULL - 500000 + 8);
    assert_false(b.theirs.valid);
    assert_true(a.theirs.valid);
}

static void a_released_mark_gives_nothing_also_when_released_twice(void **state)
{
    (void)state;
    struct both a, b;
    size_t count;
    begin_both();
    mark_both(&a);
    mark_both(&b);
    write_both(5);
    for (int times = 0; times < 2; times++) {
        strobe_matrix_release(&a.ours);
        model_release(&a.theirs);
        assert_int_equal(strobe_matrix_copy(&matrix, &a.ours, NULL, out, FULL, &count), STROBE_NO_ENTRY);
        assert_int_equal(strobe_matrix_copy(&matrix, &b.ours, &a.ours, out, FULL, &count), STROBE_NO_ENTRY);
        assert_int_equal(model_copy(&a.theirs), 0);
        copies_are(&b, 5, 5);
    }
}

static void a_copy_between_marks_has_what_came_between(void **state)
{
    (void)state;
    size_t count;
    begin_with(10, false);
    strobe_matrix_enter(&matrix, 1);
    struct strobe_matrix_mark from = strobe_matrix_mark(&matrix);
    strobe_matrix_enter(&matrix, 2);
    strobe_matrix_enter(&matrix, 3);
    struct strobe_matrix_mark to = strobe_matrix_mark(&matrix);
    strobe_matrix_enter(&matrix, 4);
    assert_int_equal(strobe_matrix_copy(&matrix, &from, &to, out, 10, &count), STROBE_OK);
    assert_int_equal(count, 2);
    assert_int_equal(strobe_matrix_id(out[0]), 2);
    assert_int_equal(strobe_matrix_id(out[1]), 3);
    assert_int_equal(strobe_matrix_copy(&matrix, &to, &from, out, 10, &count), STROBE_NO_ENTRY);
    assert_int_equal(strobe_matrix_copy(&matrix, &from, NULL, out, 2, &count), STROBE_FULL);
    assert_int_equal(count, 3);
}

/* Logs of all small sizes, at each position of the ring: a mark is valid as long as its entries are present, and a
 * copy has the entries. */
static void any_mark_of_any_small_log_is_true(void **state)
{
    (void)state;
    for (uint32_t capacity = 1; capacity <= 9; capacity++)
        for (uint32_t before = 0; before <= 2 * capacity + 1; before++)
            for (uint32_t after = 0; after <= 2 * capacity + 1; after++) {
                size_t count;
                begin_with(capacity, false);
                for (uint32_t i = 1; i <= before; i++)
                    strobe_matrix_enter(&matrix, i);
                struct strobe_matrix_mark mark = strobe_matrix_mark(&matrix);
                for (uint32_t i = 1; i <= after; i++)
                    strobe_matrix_leave(&matrix, before + i);
                enum strobe_status status = strobe_matrix_copy(&matrix, &mark, NULL, out, capacity, &count);
                assert_int_equal(status, after > capacity ? STROBE_TRUNCATED : STROBE_OK);
                assert_int_equal(count, after > capacity ? 0 : after);
                for (size_t i = 0; i < count; i++)
                    assert_int_equal(out[i], strobe_matrix_entry(false, before + (uint32_t)i + 1, 0));
                uint32_t kept = before + after < capacity ? before + after : capacity;
                assert_int_equal(strobe_matrix_copy_newest(&matrix, out, capacity + 2), kept);
                for (uint32_t i = 0; i < kept; i++)
                    assert_int_equal(strobe_matrix_id(out[i]), before + after - kept + i + 1);
            }
}

/* Matrix #342: upstream reports an invalidated record to a log function that is itself instrumented. Its entries
 * invalidate further records, without end. */
static void a_call_writes_one_entry_whatever_it_overwrites(void **state)
{
    (void)state;
    begin_with(3, false);
    for (uint32_t i = 1; i <= 20; i++) {
        strobe_matrix_mark(&matrix);
        strobe_matrix_enter(&matrix, i);
        assert_int_equal(matrix.written, i);
    }
}

static void invalid_capacities_are_refused(void **state)
{
    (void)state;
    uint64_t some[4];
    struct strobe_matrix_log log;
    strobe_matrix_clock_open(&clock, 0, false);
    assert_int_equal(strobe_matrix_log_open(&log, some, sizeof some, 0, &clock), STROBE_BAD_INPUT);
    assert_int_equal(strobe_matrix_log_open(&log, some, sizeof some, 4, &clock), STROBE_BAD_INPUT);
    assert_int_equal(strobe_matrix_log_open(&log, some, SIZE_MAX, STROBE_MATRIX_ENTRIES_MAX + 1, &clock),
                     STROBE_BAD_INPUT);
    assert_int_equal(strobe_matrix_log_open(&log, some, sizeof some, 3, &clock), STROBE_OK);
}

/* ---- the clock */

static uint64_t newest_ms(void)
{
    assert_int_equal(strobe_matrix_copy_newest(&matrix, out, 1), 1);
    return strobe_matrix_ms(out[0]);
}

static void calls_have_the_time_of_the_last_tick(void **state)
{
    (void)state;
    begin_with(8, true);
    strobe_matrix_message_begin(&matrix, 1003 * MS);
    assert_int_equal(newest_ms(), 3);
    strobe_matrix_enter(&matrix, 1);
    assert_int_equal(newest_ms(), 3);
    strobe_matrix_clock_tick(&clock, 1008 * MS);
    strobe_matrix_leave(&matrix, 1);
    assert_int_equal(newest_ms(), 8);
    strobe_matrix_message_end(&matrix, 1011 * MS + 999999);
    assert_int_equal(newest_ms(), 11);
}

static void the_clock_stands_still_between_messages(void **state)
{
    (void)state;
    begin_with(8, true);
    strobe_matrix_clock_tick(&clock, 1005 * MS);
    assert_int_equal(strobe_matrix_clock_ms(&clock), 5); /* the clock runs until the first message has ended */
    strobe_matrix_message_begin(&matrix, 1010 * MS);
    strobe_matrix_message_end(&matrix, 1020 * MS);
    strobe_matrix_clock_tick(&clock, 1500 * MS);
    strobe_matrix_enter(&matrix, 1);
    assert_int_equal(newest_ms(), 20);
    strobe_matrix_message_begin(&matrix, 2000 * MS);
    assert_int_equal(newest_ms(), 1000);
    strobe_matrix_clock_tick(&clock, 2005 * MS);
    assert_int_equal(strobe_matrix_clock_ms(&clock), 1005);
}

/* Upstream: the end of the inner message stops the clock for the rest of the outer message. */
static void the_clock_continues_after_a_message_within_another(void **state)
{
    (void)state;
    begin_with(8, true);
    strobe_matrix_message_begin(&matrix, 1000 * MS);
    strobe_matrix_message_begin(&matrix, 1010 * MS);
    strobe_matrix_message_end(&matrix, 1020 * MS);
    strobe_matrix_clock_tick(&clock, 1025 * MS);
    strobe_matrix_enter(&matrix, 1);
    assert_int_equal(newest_ms(), 25);
    strobe_matrix_message_end(&matrix, 1030 * MS);
    strobe_matrix_clock_tick(&clock, 1035 * MS);
    assert_int_equal(strobe_matrix_clock_ms(&clock), 30);
    strobe_matrix_message_end(&matrix, 1040 * MS);
    assert_int_equal(matrix.unmatched_ends, 1);
    assert_int_equal(newest_ms(), 30);
}

static void a_clock_of_all_threads_does_not_stand_still(void **state)
{
    (void)state;
    begin_with(8, false);
    strobe_matrix_message_begin(&matrix, 1010 * MS);
    strobe_matrix_message_end(&matrix, 1020 * MS);
    strobe_matrix_clock_tick(&clock, 1500 * MS);
    assert_int_equal(strobe_matrix_clock_ms(&clock), 500);
}

/* Matrix #477: upstream's clock thread holds the lock that the begin of a message waits for. */
static void a_clock_without_ticks_delays_no_message(void **state)
{
    (void)state;
    begin_with(8, true);
    for (uint64_t i = 0; i < 3; i++) {
        strobe_matrix_message_begin(&matrix, (1000 + 10 * i) * MS);
        assert_int_equal(newest_ms(), 10 * i);
        strobe_matrix_message_end(&matrix, (1009 + 10 * i) * MS);
        assert_int_equal(newest_ms(), 10 * i + 9);
    }
}

/* Upstream writes the absolute uptime, which is later than the enters that follow. */
static void an_exit_before_the_first_enter_has_the_log_s_time(void **state)
{
    (void)state;
    begin_with(8, false);
    strobe_matrix_leave(&matrix, 1);
    assert_int_equal(newest_ms(), 0);
    strobe_matrix_clock_tick(&clock, 1500 * MS);
    strobe_matrix_enter(&matrix, 1);
    assert_int_equal(newest_ms(), 500);
}

static void a_clock_continues_after_a_jump_and_never_goes_back(void **state)
{
    (void)state;
    begin_with(8, true);
    strobe_matrix_message_begin(&matrix, 1000 * MS);
    strobe_matrix_clock_tick(&clock, 86401000 * MS); /* a day of sleep */
    assert_int_equal(strobe_matrix_clock_ms(&clock), 86400000);
    strobe_matrix_clock_tick(&clock, 2000 * MS);
    strobe_matrix_message_end(&matrix, 2000 * MS);
    assert_int_equal(newest_ms(), 86400000);
    strobe_matrix_message_begin(&matrix, 5 * MS); /* before the log was opened */
    assert_int_equal(newest_ms(), 86400000);
    strobe_matrix_message_begin(&matrix, UINT64_MAX);
    assert_true(newest_ms() <= STROBE_MATRIX_MS_MAX);
}

/* ---- states */

static bool takes_entries(void)
{
    uint64_t before = matrix.written;
    strobe_matrix_enter(&matrix, 7);
    strobe_matrix_leave(&matrix, 7);
    return matrix.written - before == 2;
}

static void a_log_records_from_its_first_enter_on(void **state)
{
    (void)state;
    begin_with(8, false);
    assert_int_equal(strobe_matrix_state(&matrix), STROBE_MATRIX_DEFAULT);
    assert_int_equal(strobe_matrix_start(&matrix), STROBE_UNSUPPORTED);
    assert_int_equal(strobe_matrix_stop(&matrix), STROBE_UNSUPPORTED);
    strobe_matrix_leave(&matrix, 7);
    assert_int_equal(strobe_matrix_state(&matrix), STROBE_MATRIX_DEFAULT);
    assert_true(takes_entries());
    assert_int_equal(strobe_matrix_state(&matrix), STROBE_MATRIX_READY);
    assert_int_equal(strobe_matrix_stop(&matrix), STROBE_UNSUPPORTED);
    assert_int_equal(strobe_matrix_start(&matrix), STROBE_OK);
    assert_int_equal(strobe_matrix_start(&matrix), STROBE_UNSUPPORTED);
}

static void a_stopped_log_takes_nothing_until_it_is_started_again(void **state)
{
    (void)state;
    begin_with(8, false);
    takes_entries();
    strobe_matrix_start(&matrix);
    assert_true(takes_entries());
    assert_int_equal(strobe_matrix_stop(&matrix), STROBE_OK);
    assert_false(takes_entries());
    strobe_matrix_message_begin(&matrix, 1100 * MS);
    strobe_matrix_message_end(&matrix, 1200 * MS);
    assert_int_equal(matrix.refused_stopped, 4);
    assert_int_equal(strobe_matrix_stop(&matrix), STROBE_UNSUPPORTED);
    assert_int_equal(strobe_matrix_start(&matrix), STROBE_OK);
    assert_true(takes_entries());
}

static void a_log_that_is_not_started_expires_after_its_first_method(void **state)
{
    (void)state;
    begin_with(8, false);
    strobe_matrix_clock_tick(&clock, 1100 * MS);
    takes_entries();
    strobe_matrix_start(&matrix);
    strobe_matrix_due(&matrix, (1000 + STROBE_MATRIX_RELEASE_MS) * MS); /* a started log keeps its memory */
    assert_int_equal(strobe_matrix_state(&matrix), STROBE_MATRIX_STARTED);
    strobe_matrix_due(&matrix, (1100 + STROBE_MATRIX_EXPIRE_MS) * MS);
    assert_int_equal(strobe_matrix_state(&matrix), STROBE_MATRIX_STARTED);
    begin_with(8, false);
    takes_entries();
    matrix.release_at_ms = UINT64_MAX;
    strobe_matrix_due(&matrix, (1000 + STROBE_MATRIX_EXPIRE_MS) * MS - 1);
    assert_int_equal(strobe_matrix_state(&matrix), STROBE_MATRIX_READY);
    strobe_matrix_due(&matrix, (1000 + STROBE_MATRIX_EXPIRE_MS) * MS);
    assert_int_equal(strobe_matrix_state(&matrix), STROBE_MATRIX_EXPIRED);
    assert_false(takes_entries());
    assert_int_equal(strobe_matrix_start(&matrix), STROBE_OK);
    assert_true(takes_entries());
    strobe_matrix_due(&matrix, 99000000 * MS); /* one call is enough */
    assert_int_equal(strobe_matrix_state(&matrix), STROBE_MATRIX_STARTED);
}

static void a_log_that_is_not_started_in_time_is_released_for_good(void **state)
{
    (void)state;
    size_t count;
    for (int entered = 0; entered < 2; entered++) {
        begin_with(8, false);
        struct strobe_matrix_mark mark = strobe_matrix_mark(&matrix);
        if (entered)
            takes_entries();
        strobe_matrix_due(&matrix, (1000 + STROBE_MATRIX_RELEASE_MS) * MS - 1);
        assert_int_not_equal(strobe_matrix_state(&matrix), STROBE_MATRIX_RELEASED);
        strobe_matrix_due(&matrix, (1000 + STROBE_MATRIX_RELEASE_MS) * MS);
        assert_int_equal(strobe_matrix_state(&matrix), STROBE_MATRIX_RELEASED);
        assert_int_equal(strobe_matrix_start(&matrix), STROBE_UNSUPPORTED);
        assert_false(takes_entries());
        assert_int_equal(strobe_matrix_copy(&matrix, &mark, NULL, out, 8, &count), STROBE_NO_ENTRY);
        assert_int_equal(strobe_matrix_copy_newest(&matrix, out, 8), 0);
    }
}

/* A long run of random calls, ticks, messages and marks: each copy equals what was written, or is refused because
 * entries were overwritten. */
static void random_runs_are_copied_as_they_were_written(void **state)
{
    (void)state;
    uint64_t seed = strobe_trial_seed("test_matrix_log");
    enum { CALLS = 3000 };
    static uint64_t written[CALLS];
    for (uint32_t round = strobe_trial_rounds(40); round--;) {
        uint32_t capacity = 1 + strobe_trial_below(&seed, 200), count = 0, marked = 0;
        uint64_t now = 1000 * MS, clock_ms = 0;
        begin_with(capacity, false);
        struct strobe_matrix_mark mark = strobe_matrix_mark(&matrix);
        while (count < CALLS) {
            uint32_t id = 1 + strobe_trial_below(&seed, STROBE_MATRIX_ID_MAX);
            bool in = strobe_trial_below(&seed, 2);
            switch (strobe_trial_below(&seed, 8)) {
            case 0:
                now += strobe_trial_below(&seed, 9) * MS;
                strobe_matrix_clock_tick(&clock, now);
                clock_ms = now / MS - 1000;
                break;
            case 1:
                if (strobe_trial_below(&seed, 10) == 0) {
                    mark = strobe_matrix_mark(&matrix);
                    marked = count;
                }
                break;
            case 2:
                strobe_matrix_message_begin(&matrix, ++now);
                clock_ms = now / MS - 1000;
                written[count++] = strobe_matrix_entry(true, STROBE_MATRIX_DISPATCH, clock_ms);
                break;
            default:
                in ? strobe_matrix_enter(&matrix, id) : strobe_matrix_leave(&matrix, id);
                written[count++] = strobe_matrix_entry(in, id, clock_ms);
            }
            size_t got;
            enum strobe_status status = strobe_matrix_copy(&matrix, &mark, NULL, out, capacity, &got);
            assert_int_equal(status, count - marked > capacity ? STROBE_TRUNCATED : STROBE_OK);
            if (status == STROBE_OK)
                assert_memory_equal(out, written + marked, got * sizeof *out);
            assert_int_equal(got, status == STROBE_OK ? count - marked : 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_have_matrix_s_layout),
        cmocka_unit_test(negative_and_over_range_ids_are_refused),
        cmocka_unit_test(a_mark_of_a_fresh_log_has_what_follows),
        cmocka_unit_test(a_mark_does_not_include_the_entry_before),
        cmocka_unit_test(a_mark_with_nothing_behind_it_is_empty),
        cmocka_unit_test(one_entry_behind_a_mark_is_copied),
        cmocka_unit_test(copies_go_across_the_wrap),
        cmocka_unit_test(a_mark_at_the_last_slot_has_the_entry_after_the_wrap),
        cmocka_unit_test(a_mark_is_good_for_as_many_entries_as_are_kept),
        cmocka_unit_test(a_mark_of_a_fresh_log_is_good_for_a_full_log),
        cmocka_unit_test(two_marks_at_one_place_are_overwritten_together),
        cmocka_unit_test(a_younger_mark_does_not_hide_that_an_older_one_was_overwritten),
        cmocka_unit_test(a_released_mark_gives_nothing_also_when_released_twice),
        cmocka_unit_test(a_copy_between_marks_has_what_came_between),
        cmocka_unit_test(any_mark_of_any_small_log_is_true),
        cmocka_unit_test(a_call_writes_one_entry_whatever_it_overwrites),
        cmocka_unit_test(invalid_capacities_are_refused),
        cmocka_unit_test(calls_have_the_time_of_the_last_tick),
        cmocka_unit_test(the_clock_stands_still_between_messages),
        cmocka_unit_test(the_clock_continues_after_a_message_within_another),
        cmocka_unit_test(a_clock_of_all_threads_does_not_stand_still),
        cmocka_unit_test(a_clock_without_ticks_delays_no_message),
        cmocka_unit_test(an_exit_before_the_first_enter_has_the_log_s_time),
        cmocka_unit_test(a_clock_continues_after_a_jump_and_never_goes_back),
        cmocka_unit_test(a_log_records_from_its_first_enter_on),
        cmocka_unit_test(a_stopped_log_takes_nothing_until_it_is_started_again),
        cmocka_unit_test(a_log_that_is_not_started_expires_after_its_first_method),
        cmocka_unit_test(a_log_that_is_not_started_in_time_is_released_for_good),
        cmocka_unit_test(random_runs_are_copied_as_they_were_written),
    };
    return cmocka_run_group_tests(tests, NULL, end);
}
