/* Random streams of Matrix's method log. Under the documented contract, a log is written, cut and built again. The
 * result is the tree of the calls that were made, as an oracle keeps it. Under the upstream contract, the result is
 * that of a slow model of Matrix's parser, which uses the parser's lists. */
#include "engine/method/matrix/matrix_log.h"
#include "engine/trace/import/matrix/matrix_stack.h"

#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { CALLS_MOST = 400, ITEMS_MOST = 2048 };

static uint64_t seed;

static uint32_t below(uint32_t limit)
{
    return strobe_trial_below(&seed, limit);
}

static void require_same(const struct strobe_matrix_stack *stack, const struct strobe_matrix_item *items, size_t count)
{
    assert_int_equal(stack->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(stack->items[i].depth, items[i].depth);
        assert_int_equal(stack->items[i].method, items[i].method);
        assert_int_equal(stack->items[i].count, items[i].count);
        assert_int_equal(stack->items[i].duration_ms, items[i].duration_ms);
    }
}

/* ---- the tree of calls that are made */

struct call {
    uint32_t method, caller;
    uint64_t begin, end;
}; /* caller: NONE, or a number */
#define NONE UINT32_MAX

static struct call calls[CALLS_MOST];
static uint32_t call_count;
static uint64_t now_ms, base_ns = 77000000;
static struct strobe_matrix_clock clock;
static struct strobe_matrix_log matrix;

/* Moves time on by some ms, and publishes it as the clock's thread does. */
static void pass_time(void)
{
    now_ms += below(4) ? below(3) : below(6000);
    strobe_matrix_clock_tick(&clock, base_ns + now_ms * 1000000);
}

static void stray_exits(void)
{
    if (below(40) == 0)
        strobe_matrix_leave(&matrix, 900000 + below(9)); /* exits of methods that are never entered */
}

enum how { RETURNS, THROWS };

/* Makes a call and the calls in it. A call that an exception leaves writes no exit, and neither do the calls through
 * which the exception passes. They end with the call that catches it. Of two open calls of one method, an exit can
 * only mean the innermost. So each depth has a separate method that throws. */
static enum how make_call(uint32_t caller, uint32_t depth, bool may_throw)
{
    uint32_t self = call_count++;
    bool dispatch = depth == 0 || below(30) == 0;
    bool throws = may_throw && !dispatch && below(8) == 0;
    uint32_t method = dispatch ? STROBE_MATRIX_DISPATCH : throws ? 800000 + depth : 1 + below(5);
    pass_time();
    calls[self] = (struct call){.method = method, .caller = caller, .begin = now_ms};
    if (dispatch)
        strobe_matrix_message_begin(&matrix, base_ns + now_ms * 1000000);
    else
        strobe_matrix_enter(&matrix, method);
    enum how last = RETURNS;
    while (last == RETURNS && call_count < CALLS_MOST && depth < 12 && below(5) > 1) {
        stray_exits();
        last = make_call(self, depth + 1, true);
    }
    if (throws)
        return THROWS;
    pass_time();
    stray_exits();
    if (dispatch)
        strobe_matrix_message_end(&matrix, base_ns + now_ms * 1000000);
    else
        strobe_matrix_leave(&matrix, method);
    calls[self].end = now_ms;
    for (uint32_t i = self + 1; i < call_count; i++)
        if (!calls[i].end)
            calls[i].end = now_ms;
    return RETURNS;
}

/* Lists the callees of a set of calls `of`, one item for each method, and so on for each item. Visits all calls for
 * each item. */
static void list_callees(const bool *of, int32_t depth, struct strobe_matrix_item *items, size_t *count)
{
    for (uint32_t i = 0; i < call_count; i++) {
        if (depth == 0 ? calls[i].caller != NONE : calls[i].caller == NONE || !of[calls[i].caller])
            continue;
        bool same[CALLS_MOST] = {0}, first = true;
        struct strobe_matrix_item item = {.depth = depth, .method = calls[i].method};
        for (uint32_t k = 0; k < call_count; k++) {
            bool sibling = depth == 0 ? k == i : calls[k].caller != NONE && of[calls[k].caller];
            if (!sibling || calls[k].method != calls[i].method)
                continue;
            first = first && k >= i;
            same[k] = true;
            item.count++;
            item.duration_ms += (int64_t)(calls[k].end - calls[k].begin);
        }
        if (!first)
            continue;
        items[(*count)++] = item;
        list_callees(same, depth + 1, items, count);
    }
}

static void a_log_that_is_cut_and_built_again_is_the_tree_of_calls(void **state)
{
    (void)state;
    enum { CAPACITY = 4 * CALLS_MOST };
    static uint64_t memory[CAPACITY + 1], entries[CAPACITY];
    static struct strobe_matrix_item items[CALLS_MOST];
    struct strobe_matrix_builder *b = strobe_matrix_builder_open(STROBE_MATRIX_DOCUMENTED);
    assert_non_null(b);
    strobe_matrix_clock_open(&clock, base_ns, true);
    assert_int_equal(strobe_matrix_log_open(&matrix, memory, sizeof memory, CAPACITY, &clock), STROBE_OK);
    now_ms = 1; /* an end of 0 is invalid */
    for (uint32_t round = strobe_trial_rounds(400); round--;) {
        struct strobe_matrix_stack stack;
        struct strobe_matrix_mark mark = strobe_matrix_mark(&matrix);
        size_t count, listed = 0;
        for (call_count = 0; call_count < CALLS_MOST / 2 && (!call_count || below(4));)
            make_call(NONE, 0, false);
        assert_int_equal(strobe_matrix_copy(&matrix, &mark, NULL, entries, CAPACITY, &count), STROBE_OK);
        assert_int_equal(strobe_matrix_build(b, entries, count, round & 1, (int64_t)now_ms, &stack, NULL), STROBE_OK);
        list_callees(NULL, 0, items, &listed);
        require_same(&stack, items, listed);
    }
    strobe_matrix_builder_close(b);
}

/* ---- a slow model of the parser: linked lists, recursion, everything moved one by one */

struct item {
    struct strobe_matrix_item it;
    struct item *older;
    struct item *father, *first, *next;
};

static struct item pool[ITEMS_MOST];
static size_t pooled;
static struct item *newest;

static void model_add(uint32_t method, int64_t during, int32_t depth)
{
    int32_t dur = (int32_t)(uint32_t)(uint64_t)during;
    if (newest && newest->it.method == method && newest->it.depth == depth && depth != 0) {
        int32_t had = (int32_t)newest->it.duration_ms;
        newest->it.count++;
        newest->it.duration_ms = (int32_t)((uint32_t)had + (uint32_t)(dur == 5000 ? had : dur));
        return;
    }
    struct item *i = &pool[pooled++];
    *i = (struct item){.it = {depth, method, 1, dur}, .older = newest};
    newest = i;
}

static void model_walk(const struct item *i, struct strobe_matrix_item *items, size_t *count)
{
    for (; i; i = i->next) {
        items[(*count)++] = i->it;
        model_walk(i->first, items, count);
    }
}

static size_t model_build(const uint64_t *entries, size_t n, bool strict, int64_t end_ms,
                          struct strobe_matrix_item *items)
{
    static uint64_t raw[ITEMS_MOST], moved[ITEMS_MOST]; /* raw: the top of the stack comes last */
    size_t raws = 0, count = 0;
    int depth = 0;
    bool begun = !strict;
    pooled = 0;
    newest = NULL;
    for (size_t k = 0; k < n; k++) {
        uint64_t e = entries[k];
        uint32_t id = (uint32_t)(e >> 43 & 0xFFFFF);
        if (!e)
            continue;
        begun = begun || (e >> 63 && id == 0xFFFFE);
        if (!begun)
            continue;
        if (e >> 63) {
            depth = id == 0xFFFFE ? 1 : depth + 1;
            raw[raws++] = e;
            continue;
        }
        if (!raws)
            continue;
        size_t taken = 0;
        uint32_t in;
        do {
            moved[taken++] = raw[--raws];
            depth--;
            in = (uint32_t)(moved[taken - 1] >> 43 & 0xFFFFF);
        } while (in != id && raws);
        if (in != id && in == 0xFFFFE) {
            while (taken) {
                raw[raws++] = moved[--taken];
                depth++;
            }
            continue;
        }
        int64_t during = (int64_t)(e & 0x7FFFFFFFFFF) - (int64_t)(moved[taken - 1] & 0x7FFFFFFFFFF);
        if (during < 0)
            return 0;
        model_add(id, during, depth);
    }
    while (raws && strict) {
        uint64_t e = raw[--raws];
        model_add((uint32_t)(e >> 43 & 0xFFFFF), end_ms - (int64_t)(e & 0x7FFFFFFFFFF), (int32_t)raws);
    }
    struct item root = {0}, *last = NULL;
    for (struct item *i = newest; i; i = i->older) {
        struct item *under = NULL;
        i->father = last;
        if (!last && i->it.depth != 0)
            return 0;
        if (!last || i->it.depth == 0) {
            under = &root;
        } else if (last->it.depth >= i->it.depth) {
            while (last && last->it.depth > i->it.depth)
                last = last->father;
            if (last && last->father)
                under = i->father = last->father;
        } else {
            under = last;
        }
        if (under) {
            i->next = under->first;
            under->first = i;
        }
        last = i;
    }
    model_walk(root.first, items, &count);
    return count;
}

/* Removes an item from a list. */
static void take_out(struct strobe_matrix_item *items, size_t *count, size_t at)
{
    memmove(items + at, items + at + 1, (--*count - at) * sizeof *items);
}

static void model_trim(struct strobe_matrix_item *items, size_t *count, size_t target)
{
    for (int pass = 1; *count > target && pass <= 60; pass++)
        for (size_t i = *count; i-- > 0;)
            if (items[i].duration_ms < 5 * pass) {
                take_out(items, count, i);
                if (*count <= target)
                    return;
            }
    if (*count > target && *count > 30)
        *count = 30;
}

/* Makes a stream of few methods, many of which match nothing. Its clock stands, jumps and sometimes goes back. */
static size_t make_stream(uint64_t *entries, size_t most)
{
    size_t n = 1 + below((uint32_t)most);
    uint64_t ms = below(100);
    uint32_t methods = 1 + below(6), back = below(4) ? 0 : 60, long_ones = 2 + below(30);
    for (size_t i = 0; i < n; i++) {
        uint32_t id = below(methods) + (below(9) > 0);
        if (below(7) == 0)
            id = below(8) ? STROBE_MATRIX_DISPATCH : STROBE_MATRIX_ID_MASK;
        ms += below(long_ones) ? below(4) : below(3) ? 5000 : UINT64_C(2147483647) * below(3);
        if (back && below(back) == 0)
            ms -= ms < 3 ? ms : below(3);
        entries[i] = below(50) ? strobe_matrix_entry(below(100) < 55, id, ms) : 0;
    }
    if (below(2))
        entries[0] = strobe_matrix_entry(true, STROBE_MATRIX_DISPATCH, 0);
    return n;
}

static void the_upstream_contract_is_what_a_slow_model_of_the_parser_makes(void **state)
{
    (void)state;
    static uint64_t entries[ITEMS_MOST];
    static struct strobe_matrix_item items[ITEMS_MOST];
    struct strobe_matrix_builder *b = strobe_matrix_builder_open(STROBE_MATRIX_UPSTREAM);
    uint32_t rounds = strobe_trial_rounds(6000), built = 0;
    assert_non_null(b);
    for (uint32_t round = 0; round < rounds; round++) {
        struct strobe_matrix_stack stack;
        size_t n = make_stream(entries, round % 20 ? 60 : ITEMS_MOST - 1);
        bool strict = below(3) > 0;
        int64_t end_ms = below(4) ? (int64_t)strobe_matrix_ms(entries[n - 1]) + below(100) : 5000000000;
        size_t count = model_build(entries, n, strict, end_ms, items);
        assert_int_equal(strobe_matrix_build(b, entries, n, strict, end_ms, &stack, NULL), STROBE_OK);
        require_same(&stack, items, count);
        built += count > 3;
        int target = (int)below(40);
        model_trim(items, &count, (size_t)target);
        strobe_matrix_trim(STROBE_MATRIX_UPSTREAM, &stack, target);
        require_same(&stack, items, count);
    }
    assert_true(built > rounds / 8);
    strobe_matrix_builder_close(b);
}

/* Any stream, by the documented contract: each item has its caller, before and after trimming; siblings are of
 * different methods; no call is lost or added. */
static void the_documented_contract_makes_trees_of_anything(void **state)
{
    (void)state;
    static uint64_t entries[ITEMS_MOST];
    struct strobe_matrix_builder *b = strobe_matrix_builder_open(STROBE_MATRIX_DOCUMENTED);
    assert_non_null(b);
    for (uint32_t round = strobe_trial_rounds(2000); round--;) {
        struct strobe_matrix_stack stack;
        struct strobe_matrix_stats stats;
        size_t n = make_stream(entries, 200);
        uint64_t enters = 0, made = 0;
        assert_int_equal(strobe_matrix_build(b, entries, n, false, STROBE_MATRIX_NO_END, &stack, &stats), STROBE_OK);
        for (size_t i = 0; i < n; i++)
            enters += strobe_matrix_is_enter(entries[i]);
        for (int trimmed = 0; trimmed < 2; trimmed++) {
            for (size_t i = 0; i < stack.count; i++) {
                assert_true(stack.items[i].duration_ms >= 0);
                assert_true(stack.items[i].depth <= (i ? stack.items[i - 1].depth + 1 : 0));
                for (size_t k = i; k-- && stack.items[k].depth >= stack.items[i].depth && stack.items[i].depth;)
                    assert_true(stack.items[k].depth > stack.items[i].depth ||
                                stack.items[k].method != stack.items[i].method);
                made += trimmed ? 0 : (uint64_t)stack.items[i].count;
            }
            strobe_matrix_trim(STROBE_MATRIX_DOCUMENTED, &stack, (int)below(20));
        }
        assert_int_equal(made, enters);
    }
    strobe_matrix_builder_close(b);
}

/* With many methods under one caller, and with many open calls, lookups by tables find the same as searches. */
static void many_callees_and_deep_stacks_are_put_together_alike(void **state)
{
    (void)state;
    enum { WIDE = 3000, DEEP = 5000 };
    static uint64_t entries[8 * WIDE + 4 * DEEP];
    size_t n = 0;
    struct strobe_matrix_stack stack;
    struct strobe_matrix_stats stats;
    struct strobe_matrix_builder *b = strobe_matrix_builder_open(STROBE_MATRIX_DOCUMENTED);
    assert_non_null(b);
    entries[n++] = strobe_matrix_entry(true, STROBE_MATRIX_DISPATCH, 0);
    for (uint32_t lap = 0; lap < 3; lap++)
        for (uint32_t i = 0; i < WIDE; i++) {
            uint32_t id = 1 + (lap == 1 ? i * 1007 % WIDE : i);
            entries[n++] = strobe_matrix_entry(true, id, 1);
            entries[n++] = strobe_matrix_entry(false, id, 2);
        }
    for (int again = 0; again < 2; again++) {
        assert_int_equal(strobe_matrix_build(b, entries, n, true, 2, &stack, NULL), STROBE_OK);
        assert_int_equal(stack.count, WIDE + 1);
        for (uint32_t i = 1; i <= WIDE; i++) {
            assert_int_equal(stack.items[i].method, i);
            assert_int_equal(stack.items[i].count, 3);
        }
    }
    n = 1;
    for (uint32_t i = 1; i <= DEEP; i++)
        entries[n++] = strobe_matrix_entry(true, i, 1);
    for (uint32_t i = 0; i < DEEP; i++)
        entries[n++] = strobe_matrix_entry(false, 600000 + i % 3, 1);
    entries[n++] = strobe_matrix_entry(false, 3, 9);    /* far down in the stack */
    entries[n++] = strobe_matrix_entry(false, DEEP, 9); /* no longer open */
    entries[n++] = strobe_matrix_entry(false, 2, 9);
    entries[n++] = strobe_matrix_entry(false, STROBE_MATRIX_DISPATCH, 9);
    assert_int_equal(strobe_matrix_build(b, entries, n, true, 9, &stack, &stats), STROBE_OK);
    assert_int_equal(stack.count, DEEP + 1);
    assert_int_equal(stats.unmatched, DEEP + 1);
    assert_int_equal(stats.unwound, DEEP - 2);
    assert_int_equal(stats.open_at_end, 0);
    strobe_matrix_builder_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_that_is_cut_and_built_again_is_the_tree_of_calls),
        cmocka_unit_test(the_upstream_contract_is_what_a_slow_model_of_the_parser_makes),
        cmocka_unit_test(the_documented_contract_makes_trees_of_anything),
        cmocka_unit_test(many_callees_and_deep_stacks_are_put_together_alike),
    };
    seed = strobe_trial_seed("test_matrix_oracle");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
