/* Stacks of Matrix's method log, by both contracts. Streams are written as `strobe import matrix-events` reads them;
 * items as depth,method,count,ms with D for the dispatch. What is expected of upstream is worked out by hand from the
 * rules of its parser, above each test (the regression R-2, and the issues of Matrix that are named). In the workings,
 * d is the parser's depth, "x(d,ms)" an item that it emits, and lists have the newest item first. */
#include "engine/trace/import/matrix/matrix_events.h"
#include "engine/trace/import/matrix/matrix_stack.h"

#include "engine/method/matrix/matrix_entry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const enum strobe_matrix_contract DOCUMENTED = STROBE_MATRIX_DOCUMENTED, UPSTREAM = STROBE_MATRIX_UPSTREAM;

static struct strobe_matrix_builder *builders[2];
static struct strobe_matrix_events events;
static struct strobe_matrix_stats stats;

static int set_up(void **state)
{
    (void)state;
    builders[DOCUMENTED] = strobe_matrix_builder_open(STROBE_MATRIX_DOCUMENTED);
    builders[UPSTREAM] = strobe_matrix_builder_open(STROBE_MATRIX_UPSTREAM);
    return !builders[DOCUMENTED] || !builders[UPSTREAM];
}

static int tear_down(void **state)
{
    (void)state;
    strobe_matrix_builder_close(builders[DOCUMENTED]);
    strobe_matrix_builder_close(builders[UPSTREAM]);
    strobe_matrix_events_free(&events);
    return 0;
}

static const char *as_text(const struct strobe_matrix_stack *stack)
{
    static char text[8192];
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < stack->count && used < sizeof text; i++) {
        const struct strobe_matrix_item *item = &stack->items[i];
        used += (size_t)snprintf(text + used, sizeof text - used, i ? " " : "");
        used += (size_t)strobe_matrix_line(item, item->method == STROBE_MATRIX_DISPATCH ? "D" : NULL, text + used,
                                           sizeof text - used);
    }
    return text;
}

static struct strobe_matrix_stack build(enum strobe_matrix_contract contract, bool strict, const char *stream)
{
    struct strobe_matrix_stack stack;
    size_t column;
    const char *expected;
    assert_int_equal(strobe_matrix_events_parse(stream, strlen(stream), &events, &column, &expected), STROBE_OK);
    assert_int_equal(
        strobe_matrix_build(builders[contract], events.entries, events.count, strict, events.end_ms, &stack, &stats),
        STROBE_OK);
    return stack;
}

static void is(enum strobe_matrix_contract contract, const char *stream, const char *items)
{
    struct strobe_matrix_stack stack = build(contract, true, stream);
    assert_string_equal(as_text(&stack), items);
}

static void is_loosely(enum strobe_matrix_contract contract, const char *stream, const char *items)
{
    struct strobe_matrix_stack stack = build(contract, false, stream);
    assert_string_equal(as_text(&stack), items);
}

/* ---- whole messages */

/* I4: d 2. O4: d 1, 4(1,146). OD: d 0, D(0,1249). [D0 41]: 4 is deeper than D, so under it. */
static void a_message_with_one_call(void **state)
{
    (void)state;
    const char *stream = "ID@0 I4@10 O4@156 OD@1249 end=1249";
    is(DOCUMENTED, stream, "0,D,1,1249 1,4,1,146");
    is(UPSTREAM, stream, "0,D,1,1249 1,4,1,146");
}

/* Matrix #532. OD: d 0, D(0,879). Key: 263 ms are enough, D is the only one. */
static void a_message_without_calls(void **state)
{
    (void)state;
    for (unsigned contract = DOCUMENTED; contract <= UPSTREAM; contract++) {
        uint32_t key;
        is(contract, "ID@0 OD@879", "0,D,1,879");
        struct strobe_matrix_stack stack = build(contract, true, "ID@0 OD@879");
        assert_true(strobe_matrix_key(contract, &stack, 879, &key));
        assert_int_equal(key, STROBE_MATRIX_DISPATCH);
    }
}

/* 1(1,2) 2(2,1) 3(1,3) D(0,9). [D0 31 22 11]: 3 under D, 2 under 3; 1 climbs from 2 to 3 at its own depth, and hangs
 * beside it under D, before it. */
static void calls_come_in_their_order_with_what_they_call(void **state)
{
    (void)state;
    const char *stream = "ID@0 I1@1 O1@3 I3@4 I2@5 O2@6 O3@7 OD@9";
    is(DOCUMENTED, stream, "0,D,1,9 1,1,1,2 1,3,1,3 2,2,1,1");
    is(UPSTREAM, stream, "0,D,1,9 1,1,1,2 1,3,1,3 2,2,1,1");
}

static void empty_words_are_skipped(void **state)
{
    (void)state;
    const uint64_t entries[] = {0, strobe_matrix_entry(true, STROBE_MATRIX_DISPATCH, 3),  0,
                                0, strobe_matrix_entry(false, STROBE_MATRIX_DISPATCH, 9), 0};
    for (unsigned contract = DOCUMENTED; contract <= UPSTREAM; contract++) {
        struct strobe_matrix_stack stack;
        assert_int_equal(
            strobe_matrix_build(builders[contract], entries, 6, true, STROBE_MATRIX_NO_END, &stack, &stats), STROBE_OK);
        assert_string_equal(as_text(&stack), "0,D,1,6");
        assert_int_equal(stats.skipped, 0);
    }
}

static void what_comes_before_the_first_message_is_skipped_when_strict(void **state)
{
    (void)state;
    for (unsigned contract = DOCUMENTED; contract <= UPSTREAM; contract++) {
        is(contract, "I7@0 O7@3 OD@4 ID@5 OD@9", "0,D,1,4");
        assert_int_equal(stats.skipped, 3);
        is_loosely(contract, "I7@0 O7@3 OD@4 ID@5 OD@9", "0,7,1,3 0,D,1,4");
    }
}

/* Matrix #840, #851, #864: no message ever begins. The report is of an empty stack (#842), and has no key. */
static void without_a_message_the_stack_is_empty(void **state)
{
    (void)state;
    for (unsigned contract = DOCUMENTED; contract <= UPSTREAM; contract++) {
        uint32_t key;
        struct strobe_matrix_stack stack = build(contract, true, "I1@0 O1@800");
        assert_int_equal(stack.count, 0);
        assert_false(strobe_matrix_key(contract, &stack, 800, &key));
        assert_int_equal(strobe_matrix_longest(&stack), 0);
        is(contract, "", "");
    }
}

/* ---- calls that don't end, ends without a call */

/* At the end: 4 is taken, 1 is left: 4(1,1239). D is taken, 0 left: D(0,1249). */
static void what_is_open_at_the_end_ends_there_when_strict(void **state)
{
    (void)state;
    is(DOCUMENTED, "ID@0 I4@10 end=1249", "0,D,1,1249 1,4,1,1239");
    is(UPSTREAM, "ID@0 I4@10 end=1249", "0,D,1,1249 1,4,1,1239");
    assert_int_equal(stats.open_at_end, 2);
    is(DOCUMENTED, "ID@0 I4@10", "0,D,1,10 1,4,1,0"); /* without an end, the last event's */
}

/* Upstream: I1 d 1, I2 d 2, O2 d 1: 2(1,4). 1 is dropped, and the newest item is at depth 1: all is thrown away. */
static void what_is_open_at_the_end_is_kept_also_when_not_strict(void **state)
{
    (void)state;
    is_loosely(DOCUMENTED, "I1@0 I2@1 O2@5", "0,1,1,5 1,2,1,4");
    is_loosely(UPSTREAM, "I1@0 I2@1 O2@5", "");
    assert_true(stats.thrown_away);
}

/* Upstream: O1 takes 2 (d 2), which is no match and makes no item, then 1 (d 1): 1(1,9). */
static void calls_left_by_an_exception_end_with_the_catching_call(void **state)
{
    (void)state;
    const char *stream = "ID@0 I1@1 I2@2 O1@10 OD@20";
    is(DOCUMENTED, stream, "0,D,1,20 1,1,1,9 2,2,1,8");
    assert_int_equal(stats.unwound, 1);
    is(UPSTREAM, stream, "0,D,1,20 1,1,1,9");
    assert_int_equal(stats.unwound, 1);
}

/* Upstream: O9 takes 1 and D, the last of which is D: both are put back, d 0 + 2; then O1 d 1: 1(1,9). */
static void an_exit_that_matches_nothing_in_a_message_is_dropped(void **state)
{
    (void)state;
    for (unsigned contract = DOCUMENTED; contract <= UPSTREAM; contract++) {
        is(contract, "ID@0 I1@1 O9@5 O1@10 OD@20", "0,D,1,20 1,1,1,9");
        assert_int_equal(stats.unmatched, 1);
        is_loosely(contract, "O3@0 I1@1 O1@2", "0,1,1,1");
        assert_int_equal(stats.unmatched, 1);
    }
}

/* Upstream, not strict: O9 takes 2 (d 1) and 1 (d 0), no match, and 1 is not D: 9(0,8), of the exit's id and the
 * begin of 1. O2 and O1 find nothing open. Strict, after the message was closed: the same with 1 that began at 11. */
static void an_exit_that_matches_nothing_never_takes_the_root(void **state)
{
    (void)state;
    is_loosely(DOCUMENTED, "I1@0 I2@5 O9@8 O2@9 O1@20", "0,1,1,20 1,2,1,4");
    is_loosely(UPSTREAM, "I1@0 I2@5 O9@8 O2@9 O1@20", "0,9,1,8");
    is(DOCUMENTED, "ID@0 OD@10 I1@11 I2@12 O9@15 O1@20", "0,D,1,10 0,1,1,9 1,2,1,8");
    is(UPSTREAM, "ID@0 OD@10 I1@11 I2@12 O9@15 O1@20", "0,D,1,10 0,9,1,4");
}

/* ---- messages within messages (N1 to N3) */

/* Upstream: ID d 1, I1 d 2, ID d 0 + 1. OD d 0: D(0,1). O1 d -1: 1(-1,7). OD d -2: D(-2,10). The newest is not at 0.
 * */
static void a_message_within_another_keeps_the_stack(void **state)
{
    (void)state;
    const char *stream = "ID@0 I1@1 ID@5 OD@6 O1@8 OD@10";
    is(DOCUMENTED, stream, "0,D,1,10 1,1,1,7 2,D,1,1");
    is(UPSTREAM, stream, "");
    assert_true(stats.thrown_away);
}

/* Upstream: as above, then ID d 1, OD d 0: D(0,9). [D0 D-2 1-1 D0]. The first hangs at the root. D-2: climbing from 0
 * finds no father: lost. 1-1 is deeper than D-2: under what is lost. D0, of 1 ms, hangs at the root, before the
 * other. */
static void a_message_after_such_a_message_is_there_too(void **state)
{
    (void)state;
    const char *stream = "ID@0 I1@1 ID@5 OD@6 O1@7 OD@10 ID@11 OD@20";
    is(DOCUMENTED, stream, "0,D,1,10 1,1,1,6 2,D,1,1 0,D,1,9");
    is(UPSTREAM, stream, "0,D,1,1 0,D,1,9");
}

/* Matrix #560: "pop inMethodId[1048574] to continue match ouMethodId[8626]", "first node'depth is not 0", cost 23.
 * Upstream: the inner D (d 1) is taken for O8626 (d 0), then 8626 (d -1): 8626(-1,19). OD d -2: D(-2,23). */
static void a_message_within_another_that_never_ends_keeps_the_stack(void **state)
{
    (void)state;
    const char *stream = "ID@0 I8626@1 ID@2 O8626@20 OD@23";
    is(DOCUMENTED, stream, "0,D,1,23 1,8626,1,19 2,D,1,18");
    is(UPSTREAM, stream, "");
}

/* ---- times */

/* Upstream: 5 - 10 < 0. */
static void a_clock_that_goes_back_costs_one_duration_not_all(void **state)
{
    (void)state;
    is(DOCUMENTED, "ID@0 I1@10 O1@5 OD@20", "0,D,1,20 1,1,1,0");
    assert_int_equal(stats.backwards, 1);
    is(UPSTREAM, "ID@0 I1@10 O1@5 OD@20", "");
    assert_true(stats.thrown_away);
    is(DOCUMENTED, "ID@10 end=-1", "0,D,1,0");
    is(UPSTREAM, "ID@10 end=-1", "0,D,1,-11"); /* not looked at at the end */
}

/* Upstream: 4294967299 = 2^32 + 3. 2147483647 twice is 2^32 - 2, and 4294967296 is 2^32. */
static void durations_and_sums_have_more_than_32_bits(void **state)
{
    (void)state;
    const char *once = "ID@0 I1@0 O1@4294967299 OD@4294967299";
    is(DOCUMENTED, once, "0,D,1,4294967299 1,1,1,4294967299");
    is(UPSTREAM, once, "0,D,1,3 1,1,1,3");
    const char *twice = "ID@0 I1@0 O1@2147483647 I1@2147483647 O1@4294967294 OD@4294967296";
    is(DOCUMENTED, twice, "0,D,1,4294967296 1,1,2,4294967294");
    is(UPSTREAM, twice, "0,D,1,0 1,1,2,-2");
}

/* Matrix #840: the end is given in ns instead of ms. 5,000,000,000 less 2^32 is 705,032,704. */
static void an_end_in_ns_is_cut_to_32_bits_upstream(void **state)
{
    (void)state;
    is(DOCUMENTED, "ID@0 I1@0 end=5000000000", "0,D,1,5000000000 1,1,1,5000000000");
    is(UPSTREAM, "ID@0 I1@0 end=5000000000", "0,D,1,705032704 1,1,1,705032704");
}

/* ---- putting together */

/* P1. Upstream: 9(2,1) 1(1,3) 9(2,2) 2(1,4) D: nothing is next to its like. */
static void one_method_under_two_callers_stays_two_items(void **state)
{
    (void)state;
    const char *stream = "ID@0 I1@1 I9@2 O9@3 O1@4 I2@5 I9@6 O9@8 O2@9 OD@10";
    is(DOCUMENTED, stream, "0,D,1,10 1,1,1,3 2,9,1,1 1,2,1,4 2,9,1,2");
    is(UPSTREAM, stream, "0,D,1,10 1,1,1,3 2,9,1,1 1,2,1,4 2,9,1,2");
}

/* P2. Upstream: 2(2,1) 1(1,3), then 1(1,4) next to 1 at its depth: 1 twice, 7. [D0 11 22]. */
static void a_second_call_that_calls_nothing_joins_the_first(void **state)
{
    (void)state;
    const char *stream = "ID@0 I1@1 I2@2 O2@3 O1@4 I1@5 O1@9 OD@10";
    is(DOCUMENTED, stream, "0,D,1,10 1,1,2,7 2,2,1,1");
    is(UPSTREAM, stream, "0,D,1,10 1,1,2,7 2,2,1,1");
}

/* P3. Upstream: 1(1,3) 2(2,1) 1(1,4): 2 stands between. [D0 11 22 11]: the last, oldest, climbs from 2 to 1 at its own
 * depth and hangs under D, before that one. */
static void a_second_call_that_calls_something_joins_the_first_too(void **state)
{
    (void)state;
    const char *stream = "ID@0 I1@1 O1@4 I1@5 I2@6 O2@7 O1@9 OD@10";
    is(DOCUMENTED, stream, "0,D,1,10 1,1,2,7 2,2,1,1");
    is(UPSTREAM, stream, "0,D,1,10 1,1,1,3 1,1,1,4 2,2,1,1");
}

/* Upstream: 1(1,1) 2(1,1) 1(1,2). */
static void calls_of_one_caller_with_others_between_are_one_item(void **state)
{
    (void)state;
    const char *stream = "ID@0 I1@1 O1@2 I2@3 O2@4 I1@5 O1@7 OD@9";
    is(DOCUMENTED, stream, "0,D,1,9 1,1,2,3 1,2,1,1");
    is(UPSTREAM, stream, "0,D,1,9 1,1,1,1 1,2,1,1 1,1,1,2");
}

/* Upstream: at depth 0 nothing is put together. */
static void messages_and_other_outermost_calls_stay_apart(void **state)
{
    (void)state;
    for (unsigned contract = DOCUMENTED; contract <= UPSTREAM; contract++) {
        is_loosely(contract, "I1@0 O1@5 I1@6 O1@9", "0,1,1,5 0,1,1,3");
        is(contract, "ID@0 OD@1 ID@2 OD@4", "0,D,1,1 0,D,1,2");
    }
}

/* Recursion: 1(2,1) 1(1,5): not at one depth. */
static void a_method_that_calls_itself_is_its_own_callee(void **state)
{
    (void)state;
    for (unsigned contract = DOCUMENTED; contract <= UPSTREAM; contract++)
        is(contract, "ID@0 I1@1 I1@3 O1@4 O1@6 OD@7", "0,D,1,7 1,1,1,5 2,1,1,1");
}

/* Upstream: 1(1,7), then 1(1,5000) next to it: 7 is added instead. And 5000 first, then 7: 5007. */
static void a_duration_of_5000_ms_is_like_any_other(void **state)
{
    (void)state;
    is(DOCUMENTED, "ID@0 I1@1 O1@8 I1@8 O1@5008 OD@6000", "0,D,1,6000 1,1,2,5007");
    is(UPSTREAM, "ID@0 I1@1 O1@8 I1@8 O1@5008 OD@6000", "0,D,1,6000 1,1,2,14");
    is(UPSTREAM, "ID@0 I1@1 O1@5001 I1@5001 O1@5008 OD@6000", "0,D,1,6000 1,1,2,5007");
}

/* ---- jumps of depth */

/* 3 is left by an exception. Upstream: O2 d 2: 2(2,1). I3 d 3, I4 d 4, O4 d 3: 4(3,1). O1 takes 3 (d 2) and 1 (d 1):
 * 1(1,8). [D0 11 43 22]. 4 is deeper than 1: under it. 2 climbs from 4 to 1, which is less deep, and so hangs beside
 * it, under D, before it. */
static void a_jump_of_depth_leaves_items_under_their_callers(void **state)
{
    (void)state;
    const char *stream = "ID@0 I1@1 I2@2 O2@3 I3@4 I4@5 O4@6 O1@9 OD@10";
    is(DOCUMENTED, stream, "0,D,1,10 1,1,1,8 2,2,1,1 2,3,1,5 3,4,1,1");
    is(UPSTREAM, stream, "0,D,1,10 2,2,1,1 1,1,1,8 3,4,1,1");
}

/* 1 and 3 are. Upstream: [D0 43 22]: 2 climbs from 4 to D, and beside that there is nothing to hang at. With a message
 * after it: [D0 D0 43 22], and the second D has the first for its father: 2 goes under a message that came later. */
static void a_jump_of_depth_loses_nothing(void **state)
{
    (void)state;
    const char *stream = "ID@0 I1@1 I2@2 O2@3 I3@4 I4@5 O4@6 OD@10";
    is(DOCUMENTED, stream, "0,D,1,10 1,1,1,9 2,2,1,1 2,3,1,6 3,4,1,1");
    is(UPSTREAM, stream, "0,D,1,10 3,4,1,1");
    is(UPSTREAM, "ID@0 I1@1 I2@2 O2@3 I3@4 I4@5 O4@6 OD@10 ID@20 OD@30", "0,D,1,10 3,4,1,1 0,D,1,10 2,2,1,1");
}

/* ---- trimming */

static struct strobe_matrix_item listed[128];

/* Items written as depth,method,ms. */
static struct strobe_matrix_stack list(const char *items)
{
    struct strobe_matrix_stack stack = {.items = listed};
    for (int used; sscanf(items, " %d,%u,%ld%n", &listed[stack.count].depth, &listed[stack.count].method,
                          (long *)&listed[stack.count].duration_ms, &used) == 3;
         items += used)
        listed[stack.count++].count = 1;
    return stack;
}

static void trims(enum strobe_matrix_contract contract, const char *items, int target, const char *left)
{
    struct strobe_matrix_stack stack = list(items);
    strobe_matrix_trim(contract, &stack, target);
    assert_string_equal(as_text(&stack), left);
}

static void trimming_takes_the_shortest_from_the_end_and_stops_in_time(void **state)
{
    (void)state;
    for (unsigned contract = DOCUMENTED; contract <= UPSTREAM; contract++) {
        const char *four = "0,8,100 1,1,4 1,2,4 1,3,4";
        trims(contract, four, 4, "0,8,1,100 1,1,1,4 1,2,1,4 1,3,1,4");
        trims(contract, four, 3, "0,8,1,100 1,1,1,4 1,2,1,4");
        trims(contract, four, 1, "0,8,1,100");
        trims(contract, "0,8,100 1,1,9 1,2,20 1,3,5", 3, "0,8,1,100 1,1,1,9 1,2,1,20"); /* 5 and 9: the second pass */
        trims(contract, "0,8,100 1,1,4 1,2,20 1,3,5", 3, "0,8,1,100 1,2,1,20 1,3,1,5"); /* 4 is of the first */
        trims(contract, four, -1, "");
        trims(contract, "0,8,-3 0,9,100", 1, "0,9,1,100");
    }
}

/* Upstream: 1 is removed in the first pass, and the calls in it stay. */
static void trimming_leaves_no_item_without_its_caller(void **state)
{
    (void)state;
    trims(DOCUMENTED, "0,8,100 1,1,4 2,2,50", 2, "0,8,1,100 1,1,1,4");
    trims(UPSTREAM, "0,8,100 1,1,4 2,2,50", 2, "0,8,1,100 2,2,1,50");
    trims(DOCUMENTED, "0,8,100 1,1,4 2,2,50 3,3,2 1,4,60", 4, "0,8,1,100 1,1,1,4 2,2,1,50 1,4,1,60");
    trims(UPSTREAM, "0,8,100 1,1,4 2,2,50 3,3,2 1,4,60", 4, "0,8,1,100 1,1,1,4 2,2,1,50 1,4,1,60");
    trims(DOCUMENTED, "0,8,100 1,1,4 2,2,50 3,3,2 1,4,60", 3, "0,8,1,100 1,1,1,4 1,4,1,60");
    trims(UPSTREAM, "0,8,100 1,1,4 2,2,50 3,3,2 1,4,60", 3, "0,8,1,100 2,2,1,50 1,4,1,60");
}

/* The 60th pass removes items below 300 ms. Items beyond the target are then removed from the end: upstream's end is
 * 30 items, whatever the target. */
static void after_sixty_passes_the_first_items_are_left(void **state)
{
    (void)state;
    const char *items = "0,8,1000 1,1,299 1,2,300";
    trims(DOCUMENTED, items, 1, "0,8,1,1000");
    trims(UPSTREAM, items, 1, "0,8,1,1000 1,2,1,300");
    trims(DOCUMENTED, items, 2, "0,8,1,1000 1,2,1,300");
    for (int target = 0; target <= 40; target += 10)
        for (unsigned contract = DOCUMENTED; contract <= UPSTREAM; contract++) {
            for (int i = 0; i < 40; i++)
                listed[i] = (struct strobe_matrix_item){i > 0, (uint32_t)i + 1, 1, 1000};
            struct strobe_matrix_stack stack = {.items = listed, .count = 40};
            strobe_matrix_trim(contract, &stack, target);
            assert_int_equal(stack.count, target == 40 ? 40 : contract == UPSTREAM ? 30 : target);
            for (size_t i = 0; i < stack.count; i++)
                assert_int_equal(stack.items[i].method, i + 1);
        }
}

/* ---- keys */

static void key_is(enum strobe_matrix_contract contract, const char *items, int64_t cost_ms, uint32_t method)
{
    struct strobe_matrix_stack stack = list(items);
    uint32_t key;
    assert_true(strobe_matrix_key(contract, &stack, cost_ms, &key));
    assert_int_equal(key, method);
}

static void the_key_is_the_deepest_of_the_long_ones(void **state)
{
    (void)state;
    for (unsigned contract = DOCUMENTED; contract <= UPSTREAM; contract++) {
        key_is(contract, "0,8,1000 1,1,400 2,2,299", 1000, 8); /* 1000, 800; 2 is too short for its 897 */
        key_is(contract, "0,8,1000 1,1,600 2,2,300", 1000, 1); /* 1000, 1200, 900 */
        key_is(contract, "0,8,1000 1,1,500 2,2,300", 1000, 8); /* 1000 twice: the first */
        key_is(contract, "0,1048574,1000 1,1,400", 1000, 1);   /* the message, but there is another */
        key_is(contract, "0,1048574,1000 1,1,200", 1000, STROBE_MATRIX_DISPATCH);
        key_is(contract, "0,1048574,1000 1,1,400 1,2,500", 1000, 2);
        key_is(contract, "0,1048574,1000 1,1,600 1,2,600", 1000, 1);
        key_is(contract, "0,7,10 1,1,20", 1000, 7); /* none is long enough */
    }
    key_is(DOCUMENTED, "0,1048574,1000 1,1048574,490 1,2,310", 1000, 2);
    key_is(UPSTREAM, "0,1048574,1000 1,1048574,490 1,2,310", 1000, STROBE_MATRIX_DISPATCH);
}

/* Upstream: (9 + 1) * 300,000,000 is -1,294,967,296 in 32 bits. */
static void the_key_s_products_have_more_than_32_bits(void **state)
{
    (void)state;
    key_is(DOCUMENTED, "0,7,300000001 9,9,300000000", 300000001, 9);
    key_is(UPSTREAM, "0,7,300000001 9,9,300000000", 300000001, 7);
}

/* Upstream: 0.3f times 3,495,553, both of 24 bits, is 1,048,666 when it is rounded to 24 bits. Exactly, 1,048,665.9.
 * */
static void the_key_s_share_is_exact(void **state)
{
    (void)state;
    key_is(DOCUMENTED, "0,7,3495553 9,9,1048665", 3495553, 9);
    key_is(UPSTREAM, "0,7,3495553 9,9,1048665", 3495553, 7);
}

/* ---- as text */

static void lines_have_numbers_or_names(void **state)
{
    (void)state;
    char line[64];
    const struct strobe_matrix_item item = {.depth = 2, .method = 17, .count = 3, .duration_ms = -1};
    assert_int_equal(strobe_matrix_line(&item, NULL, line, sizeof line), 9);
    assert_string_equal(line, "2,17,3,-1");
    strobe_matrix_line(&item, "a.B c ()V", line, sizeof line);
    assert_string_equal(line, "2,a.B c ()V,3,-1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_with_one_call),
        cmocka_unit_test(a_message_without_calls),
        cmocka_unit_test(calls_come_in_their_order_with_what_they_call),
        cmocka_unit_test(empty_words_are_skipped),
        cmocka_unit_test(what_comes_before_the_first_message_is_skipped_when_strict),
        cmocka_unit_test(without_a_message_the_stack_is_empty),
        cmocka_unit_test(what_is_open_at_the_end_ends_there_when_strict),
        cmocka_unit_test(what_is_open_at_the_end_is_kept_also_when_not_strict),
        cmocka_unit_test(calls_left_by_an_exception_end_with_the_catching_call),
        cmocka_unit_test(an_exit_that_matches_nothing_in_a_message_is_dropped),
        cmocka_unit_test(an_exit_that_matches_nothing_never_takes_the_root),
        cmocka_unit_test(a_message_within_another_keeps_the_stack),
        cmocka_unit_test(a_message_after_such_a_message_is_there_too),
        cmocka_unit_test(a_message_within_another_that_never_ends_keeps_the_stack),
        cmocka_unit_test(a_clock_that_goes_back_costs_one_duration_not_all),
        cmocka_unit_test(durations_and_sums_have_more_than_32_bits),
        cmocka_unit_test(an_end_in_ns_is_cut_to_32_bits_upstream),
        cmocka_unit_test(one_method_under_two_callers_stays_two_items),
        cmocka_unit_test(a_second_call_that_calls_nothing_joins_the_first),
        cmocka_unit_test(a_second_call_that_calls_something_joins_the_first_too),
        cmocka_unit_test(calls_of_one_caller_with_others_between_are_one_item),
        cmocka_unit_test(messages_and_other_outermost_calls_stay_apart),
        cmocka_unit_test(a_method_that_calls_itself_is_its_own_callee),
        cmocka_unit_test(a_duration_of_5000_ms_is_like_any_other),
        cmocka_unit_test(a_jump_of_depth_leaves_items_under_their_callers),
        cmocka_unit_test(a_jump_of_depth_loses_nothing),
        cmocka_unit_test(trimming_takes_the_shortest_from_the_end_and_stops_in_time),
        cmocka_unit_test(trimming_leaves_no_item_without_its_caller),
        cmocka_unit_test(after_sixty_passes_the_first_items_are_left),
        cmocka_unit_test(the_key_is_the_deepest_of_the_long_ones),
        cmocka_unit_test(the_key_s_products_have_more_than_32_bits),
        cmocka_unit_test(the_key_s_share_is_exact),
        cmocka_unit_test(lines_have_numbers_or_names),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
