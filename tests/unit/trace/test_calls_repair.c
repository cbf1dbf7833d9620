/* Repair of streams of calls, by each policy of calls_repair.h. Streams are written as `Ba@1 Tb@3 Ea@4`: event, method,
 * time. E_ is an end without a name. A star after an end means that it was synthesized.
 *
 * The twelve rows are those of the study of RheaTrace's script (btrace v1.0.1, trace_doctor). The script's result
 * is beside each row. Where Strobe's result differs, the script's is the defect that the row tests. */
#include "engine/trace/model/calls_repair.h"

#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void add_events(struct strobe_calls *c, uint32_t thread, const char *events)
{
    for (const char *p = events; *p; p += strspn(p, " ")) {
        const char *at = strchr(p, '@');
        assert_non_null(at);
        enum strobe_call_what what = *p == 'B' ? STROBE_CALL_BEGIN : *p == 'E' ? STROBE_CALL_END : STROBE_CALL_THROW;
        bool any = what == STROBE_CALL_END && at == p + 2 && p[1] == '_';
        uint32_t name = any ? STROBE_CALL_ANY : strobe_calls_name(c, p + 1, (size_t)(at - p - 1));
        char *end;
        strobe_calls_add(c, thread, what, strtoull(at + 1, &end, 10), name);
        p = end;
    }
}

static const char *events_text(const struct strobe_calls *c, const struct strobe_calls_thread *t)
{
    static char text[4096];
    size_t n = 0;
    text[0] = 0;
    for (size_t i = 0; i < t->call_count; i++) {
        const struct strobe_call *e = &t->calls[i];
        assert_true(n < sizeof text - 200);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%c%s@%llu%s", i ? " " : "", "BET"[e->what],
                              c -> names.texts[e->name], (unsigned long long)e->time_ns,
                              e->flags &STROBE_CALL_REPAIRED ? "*" : "");
    }
    return text;
}

static struct strobe_repair_stats stats;

static void becomes(const char *events, enum strobe_repair policy, const char *expected)
{
    struct strobe_calls c;
    strobe_calls_open(&c);
    uint32_t thread = strobe_calls_thread(&c, 7);
    add_events(&c, thread, events);
    assert_int_equal(strobe_calls_repair(&c, policy, &stats), STROBE_OK);
    assert_string_equal(events_text(&c, &c.threads[thread]), expected);
    strobe_calls_close(&c);
}

static void by_last(const char *events, const char *expected)
{
    becomes(events, STROBE_REPAIR_LAST, expected);
}

static void by_enclosing(const char *events, const char *expected)
{
    becomes(events, STROBE_REPAIR_ENCLOSING, expected);
}

static void by_both(const char *events, const char *expected)
{
    by_last(events, expected);
    by_enclosing(events, expected);
}

/* ---- the example of the article, and its throw */

/* E a unwinds to a, so c and b above it are closed: at the thread's last event (B c at 3), or at the time of the
 * end. */
static void row_1_two_calls_without_ends_end_by_the_policy(void **state)
{
    (void)state;
    by_last("Ba@1 Bb@2 Bc@3 Ea@4", "Ba@1 Bb@2 Bc@3 Ec@3* Eb@3* Ea@4");
    assert_int_equal(stats.closed, 2);
    by_enclosing("Ba@1 Bb@2 Bc@3 Ea@4", "Ba@1 Bb@2 Bc@3 Ec@4* Eb@4* Ea@4");
    assert_int_equal(stats.closed, 2);
    assert_int_equal(stats.calls, 3);
}

/* c threw at 4 and has no other end, so it ends there. E a closes b, which the exception left: LAST closes it at 4,
 * the thread's last event; ENCLOSING at 5. */
static void three_begins_a_throw_and_an_enclosing_end(void **state)
{
    (void)state;
    by_last("Ba@1 Bb@2 Bc@3 Tc@4 Ea@5", "Ba@1 Bb@2 Bc@3 Ec@4 Eb@4* Ea@5");
    by_enclosing("Ba@1 Bb@2 Bc@3 Tc@4 Ea@5", "Ba@1 Bb@2 Bc@3 Ec@4 Eb@5* Ea@5");
    assert_int_equal(stats.throws, 1);
    assert_int_equal(stats.caught, 0);
    assert_int_equal(stats.closed, 1);
}

/* The THROW of b closes c: at its own time, or at that of the event before. */
static void a_throw_closes_the_calls_above_it_by_the_policy(void **state)
{
    (void)state;
    by_last("Ba@1 Bb@2 Bc@3 Tb@4 Ea@5", "Ba@1 Bb@2 Bc@3 Ec@3* Eb@4 Ea@5");
    by_enclosing("Ba@1 Bb@2 Bc@3 Tb@4 Ea@5", "Ba@1 Bb@2 Bc@3 Ec@4* Eb@4 Ea@5");
}

/* ---- the other rows */

/* The script ends b at 3 too, but names that end `T:b`; Strobe's end has b's name. */
static void row_2_a_throw_without_an_end_is_the_end(void **state)
{
    (void)state;
    by_both("Ba@1 Bb@2 Tb@3 Ea@4", "Ba@1 Bb@2 Eb@3 Ea@4");
    assert_int_equal(stats.calls, 2);
    assert_int_equal(stats.closed, 0);
}

/* The script makes B of zero length at 3 and loses its throw. */
static void row_3_throws_that_follow_one_another_each_end_their_call(void **state)
{
    (void)state;
    by_both("Bcrash@1 BA@2 BB@3 TB@4 TA@5 Ecrash@6", "Bcrash@1 BA@2 BB@3 EB@4 EA@5 Ecrash@6");
    assert_int_equal(stats.throws, 2);
    assert_int_equal(stats.caught, 0);
}

/* The innermost f ended at 3, the outer one has no end. The script gives the outer one zero length at 1. */
static void row_4_an_end_belongs_to_the_innermost_call_of_its_name(void **state)
{
    (void)state;
    by_both("Bf@1 Bf@2 Ef@3", "Bf@1 Bf@2 Ef@3 Ef@3*");
    assert_int_equal(stats.open_at_end, 1);
}

/* The inner f threw, and E f at 4 belongs to the outer one, so no end is synthesized. The script gives both zero
 * length, and the real end is lost. */
static void row_5_an_inner_call_that_throws_leaves_the_end_to_the_outer_one(void **state)
{
    (void)state;
    by_both("Bf@1 Bf@2 Tf@3 Ef@4", "Bf@1 Bf@2 Ef@3 Ef@4");
    assert_int_equal(stats.closed + stats.open_at_end + stats.unmatched + stats.caught, 0);
}

/* The first throw was caught by b, which then threw again. */
static void row_6_the_last_of_several_throws_is_the_end(void **state)
{
    (void)state;
    by_both("Ba@1 Bb@2 Tb@3 Tb@4 Ea@5", "Ba@1 Bb@2 Eb@4 Ea@5");
    assert_int_equal(stats.throws, 2);
    assert_int_equal(stats.caught, 1);
}

static void row_7_a_throw_that_its_method_catches_ends_nothing(void **state)
{
    (void)state;
    by_both("Ba@1 Bb@2 Tb@3 Eb@4 Ea@5", "Ba@1 Bb@2 Eb@4 Ea@5");
    assert_int_equal(stats.caught, 1);
}

static void row_8_what_is_open_at_the_end_ends_with_the_last_event(void **state)
{
    (void)state;
    by_both("Ba@1 Ea@2 Bz@3", "Ba@1 Ea@2 Bz@3 Ez@3*");
    by_both("Bm@1 Ba@2 Ea@5", "Bm@1 Ba@2 Ea@5 Em@5*");
    assert_int_equal(stats.open_at_end, 1);
    assert_int_equal(stats.closed, 0);
}

static void row_9_an_end_of_what_is_not_open_is_dropped(void **state)
{
    (void)state;
    by_both("Ex@1 Ba@2 Ea@3", "Ba@2 Ea@3");
    assert_int_equal(stats.unmatched, 1);
    by_both("Tx@1 Ba@2 Ea@3", "Ba@2 Ea@3");
    assert_int_equal(stats.unmatched, 1);
    assert_int_equal(stats.throws, 1);
    assert_int_equal(stats.caught, 0);
}

/* The script gives a zero length and drops its end. */
static void row_10_an_orphan_amid_a_call_takes_nothing_from_it(void **state)
{
    (void)state;
    by_both("Ba@1 Ex@2 Ea@3", "Ba@1 Ea@3");
    assert_int_equal(stats.unmatched, 1);
    assert_int_equal(stats.closed, 0);
}

/* b called c, threw at 5 and was left. So d, called at 6, is a callee of a. The script ends b at 2, and c lies
 * outside of it. */
static void row_11_what_follows_a_throw_belongs_to_the_caller(void **state)
{
    (void)state;
    by_both("Ba@1 Bb@2 Bc@3 Ec@4 Tb@5 Bd@6 Ed@7 Ea@8", "Ba@1 Bb@2 Bc@3 Ec@4 Eb@5 Bd@6 Ed@7 Ea@8");
}

/* The script sorts by time in the end, and has b end before a begins. */
static void row_12_equal_times_nest_as_they_came(void **state)
{
    (void)state;
    by_both("Ba@1 Bb@1 Eb@1 Ea@1", "Ba@1 Bb@1 Eb@1 Ea@1");
    by_both("Ba@1 Bb@1 Tb@1 Ea@1", "Ba@1 Bb@1 Eb@1 Ea@1");
    by_both("Ba@1 Bb@1 Bc@1 Ea@1", "Ba@1 Bb@1 Bc@1 Ec@1* Eb@1* Ea@1");
}

/* ---- throws, further */

/* b throws at 4, m has no event of the exception, and a catches it. The policy closes m at E a. */
static void a_method_without_an_event_of_its_exception_is_closed_by_the_policy(void **state)
{
    (void)state;
    by_last("Ba@1 Bm@2 Bb@3 Tb@4 Bd@5 Ed@6 Ea@7", "Ba@1 Bm@2 Bb@3 Eb@4 Bd@5 Ed@6 Em@6* Ea@7");
    by_enclosing("Ba@1 Bm@2 Bb@3 Tb@4 Bd@5 Ed@6 Ea@7", "Ba@1 Bm@2 Bb@3 Eb@4 Bd@5 Ed@6 Em@7* Ea@7");
}

/* b catches the exception that c threw, and later throws itself. Neither throw closes b's caller. */
static void a_throw_that_is_caught_closes_no_caller(void **state)
{
    (void)state;
    by_both("Ba@1 Bb@2 Bc@3 Tc@4 Tb@5 Eb@6 Ea@7", "Ba@1 Bb@2 Bc@3 Ec@4 Eb@6 Ea@7");
    by_last("Ba@1 Bb@2 Bc@3 Tb@5 Eb@6 Ea@7", "Ba@1 Bb@2 Bc@3 Ec@3* Eb@6 Ea@7");
    by_enclosing("Ba@1 Bb@2 Bc@3 Tb@5 Eb@6 Ea@7", "Ba@1 Bb@2 Bc@3 Ec@5* Eb@6 Ea@7");
}

static void a_throw_as_the_last_event_is_the_end(void **state)
{
    (void)state;
    by_both("Ba@1 Bb@2 Tb@3", "Ba@1 Bb@2 Eb@3 Ea@3*");
    by_both("Ba@1 Bb@2 Tb@3 Bd@4 Ed@5", "Ba@1 Bb@2 Eb@3 Bd@4 Ed@5 Ea@5*");
}

/* A later call of the same name does not end the call that threw. */
static void a_later_call_does_not_end_the_one_that_threw(void **state)
{
    (void)state;
    by_both("Ba@1 Bb@2 Tb@3 Bb@4 Eb@5 Ea@6", "Ba@1 Bb@2 Eb@3 Bb@4 Eb@5 Ea@6");
    by_both("Ba@1 Bb@2 Tb@3 Bb@4 Tb@5 Ea@6", "Ba@1 Bb@2 Eb@3 Bb@4 Eb@5 Ea@6");
    by_both("Ba@1 Bb@2 Tb@3 Ea@4 Bb@5 Eb@6 Eb@7", "Ba@1 Bb@2 Eb@3 Ea@4 Bb@5 Eb@6");
    assert_int_equal(stats.unmatched, 1);
}

/* f calls itself twice, the innermost throws through both callers' frames or is caught by them. */
static void recursion_that_throws(void **state)
{
    (void)state;
    by_both("Bf@1 Bf@2 Bf@3 Tf@4 Ef@5 Ef@6", "Bf@1 Bf@2 Bf@3 Ef@4 Ef@5 Ef@6");
    by_both("Bf@1 Bf@2 Bf@3 Tf@4 Ef@5 Ef@6 Ef@7", "Bf@1 Bf@2 Bf@3 Ef@5 Ef@6 Ef@7");
    by_both("Bm@1 Bf@2 Bf@3 Tf@4 Tf@5 Em@6", "Bm@1 Bf@2 Bf@3 Ef@4 Ef@5 Em@6");
    by_both("Bm@1 Bf@2 Bf@3 Tf@4 Tf@5 Ef@6 Em@7", "Bm@1 Bf@2 Bf@3 Ef@5 Ef@6 Em@7");
}

static void ends_without_a_name_close_the_innermost(void **state)
{
    (void)state;
    by_both("Ba@1 Bb@2 E_@3 E_@4 E_@5", "Ba@1 Bb@2 Eb@3 Ea@4");
    assert_int_equal(stats.unmatched, 1);
    by_both("Ba@1 Bb@2 Tb@3 E_@4 E_@5", "Ba@1 Bb@2 Eb@4 Ea@5");
    assert_int_equal(stats.caught, 1);
}

static void names_are_compared_as_a_whole(void **state)
{
    (void)state;
    by_both("Ba|b@1 BB:a@2 BE|@3 EE|@4 EB:a@5 Ea|b@6", "Ba|b@1 BB:a@2 BE|@3 EE|@4 EB:a@5 Ea|b@6");
    by_both("Ba@1 Ba|@2 Ea|@3 Ea@4", "Ba@1 Ba|@2 Ea|@3 Ea@4");
}

static void threads_do_not_mix(void **state)
{
    (void)state;
    struct strobe_calls c;
    strobe_calls_open(&c);
    add_events(&c, strobe_calls_thread(&c, 1), "Ba@1 Bb@3");
    add_events(&c, strobe_calls_thread(&c, 2), "Bb@2 Eb@4 Ea@5");
    add_events(&c, strobe_calls_thread(&c, 1), "Ea@6");
    assert_int_equal(strobe_calls_repair(&c, STROBE_REPAIR_LAST, &stats), STROBE_OK);
    assert_string_equal(events_text(&c, &c.threads[0]), "Ba@1 Bb@3 Eb@3* Ea@6");
    assert_string_equal(events_text(&c, &c.threads[1]), "Bb@2 Eb@4");
    assert_int_equal(stats.unmatched, 1);
    strobe_calls_close(&c);
}

static void no_events_no_harm(void **state)
{
    (void)state;
    by_both("", "");
    struct strobe_calls c;
    strobe_calls_open(&c);
    assert_int_equal(strobe_calls_repair(&c, STROBE_REPAIR_LAST, NULL), STROBE_OK);
    strobe_calls_close(&c);
}

static void policies_have_names(void **state)
{
    (void)state;
    enum strobe_repair policy;
    assert_int_equal(strobe_repair_of("last", &policy), STROBE_OK);
    assert_int_equal(policy, STROBE_REPAIR_LAST);
    assert_int_equal(strobe_repair_of("enclosing", &policy), STROBE_OK);
    assert_int_equal(policy, STROBE_REPAIR_ENCLOSING);
    assert_int_equal(strobe_repair_of("LAST", &policy), STROBE_NO_ENTRY);
    assert_int_equal(strobe_repair_of("", &policy), STROBE_NO_ENTRY);
}

/* ---- random streams */

static uint64_t seed;

/* Makes the calls of a thread, with a letter for each method and sometimes with equal times. */
static void random_whole(struct strobe_calls *c, uint32_t thread, uint32_t count)
{
    uint32_t stack[64], depth = 0;
    uint64_t now = 1;
    for (uint32_t i = 0; i < count || depth; i++) {
        now += strobe_trial_below(&seed, 3);
        bool begins = depth == 0 || (i < count && depth < 64 && strobe_trial_below(&seed, 2));
        if (begins) {
            char name = (char)('a' + strobe_trial_below(&seed, 5));
            stack[depth] = strobe_calls_name(c, &name, 1);
            strobe_calls_add(c, thread, STROBE_CALL_BEGIN, now, stack[depth++]);
        } else {
            strobe_calls_add(c, thread, STROBE_CALL_END, now, stack[--depth]);
        }
    }
}

/* Damages a stream: loses and doubles events, turns events into throws, removes the names of ends. */
static void damage(struct strobe_calls *c, struct strobe_calls_thread *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->call_count; i++) {
        struct strobe_call e = t->calls[i];
        switch (strobe_trial_below(&seed, 12)) {
        case 0: continue;
        case 1: e.what = STROBE_CALL_THROW; break;
        case 2: e.name = (uint32_t)strobe_trial_below(&seed, (uint32_t)c->names.count); break;
        case 3:
            if (e.what == STROBE_CALL_END)
                e.name = STROBE_CALL_ANY;
            break;
        default: break;
        }
        t->calls[kept++] = e;
    }
    t->call_count = kept;
}

static void must_nest(const struct strobe_calls_thread *t)
{
    uint32_t *stack = malloc((t->call_count + 1) * sizeof *stack);
    size_t depth = 0;
    uint64_t last = 0;
    assert_non_null(stack);
    for (size_t i = 0; i < t->call_count; i++) {
        const struct strobe_call *e = &t->calls[i];
        assert_true(e->time_ns >= last);
        last = e->time_ns;
        assert_int_not_equal(e->what, STROBE_CALL_THROW);
        if (e->what == STROBE_CALL_BEGIN) {
            stack[depth++] = e->name;
        } else {
            assert_true(depth > 0);
            assert_int_equal(stack[--depth], e->name);
        }
    }
    assert_int_equal(depth, 0);
    free(stack);
}

static void whole_streams_come_back_unchanged(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < strobe_trial_rounds(300); round++) {
        struct strobe_calls c;
        strobe_calls_open(&c);
        uint32_t thread = strobe_calls_thread(&c, 1);
        random_whole(&c, thread, 1 + strobe_trial_below(&seed, 200));
        struct strobe_calls_thread *t = &c.threads[thread];
        size_t bytes = t->call_count * sizeof *t->calls;
        struct strobe_call *before = malloc(bytes);
        assert_non_null(before);
        memcpy(before, t->calls, bytes);
        assert_int_equal(strobe_calls_repair(&c, (enum strobe_repair)(round & 1), &stats), STROBE_OK);
        assert_int_equal(stats.calls * 2 * sizeof *before, bytes);
        assert_int_equal(t->call_count * sizeof *before, bytes);
        assert_memory_equal(t->calls, before, bytes);
        free(before);
        strobe_calls_close(&c);
    }
}

/* Every BEGIN is present and has an end. The number of events added equals those read, less those synthesized, plus
 * those dropped. */
static void damaged_streams_always_nest(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < strobe_trial_rounds(2000); round++) {
        struct strobe_calls c;
        strobe_calls_open(&c);
        uint32_t thread = strobe_calls_thread(&c, 1);
        random_whole(&c, thread, 1 + strobe_trial_below(&seed, 100));
        struct strobe_calls_thread *t = &c.threads[thread];
        damage(&c, t);
        size_t begins = 0, events = t->call_count;
        for (size_t i = 0; i < events; i++)
            begins += t->calls[i].what == STROBE_CALL_BEGIN;
        assert_int_equal(strobe_calls_repair(&c, (enum strobe_repair)(round & 1), &stats), STROBE_OK);
        must_nest(t);
        assert_int_equal(t->call_count, 2 * begins);
        assert_int_equal(stats.calls, begins);
        assert_int_equal(events - begins - stats.unmatched - stats.caught + stats.closed + stats.open_at_end, begins);
        strobe_calls_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_1_two_calls_without_ends_end_by_the_policy),
        cmocka_unit_test(three_begins_a_throw_and_an_enclosing_end),
        cmocka_unit_test(a_throw_closes_the_calls_above_it_by_the_policy),
        cmocka_unit_test(row_2_a_throw_without_an_end_is_the_end),
        cmocka_unit_test(row_3_throws_that_follow_one_another_each_end_their_call),
        cmocka_unit_test(row_4_an_end_belongs_to_the_innermost_call_of_its_name),
        cmocka_unit_test(row_5_an_inner_call_that_throws_leaves_the_end_to_the_outer_one),
        cmocka_unit_test(row_6_the_last_of_several_throws_is_the_end),
        cmocka_unit_test(row_7_a_throw_that_its_method_catches_ends_nothing),
        cmocka_unit_test(row_8_what_is_open_at_the_end_ends_with_the_last_event),
        cmocka_unit_test(row_9_an_end_of_what_is_not_open_is_dropped),
        cmocka_unit_test(row_10_an_orphan_amid_a_call_takes_nothing_from_it),
        cmocka_unit_test(row_11_what_follows_a_throw_belongs_to_the_caller),
        cmocka_unit_test(row_12_equal_times_nest_as_they_came),
        cmocka_unit_test(a_method_without_an_event_of_its_exception_is_closed_by_the_policy),
        cmocka_unit_test(a_throw_that_is_caught_closes_no_caller),
        cmocka_unit_test(a_throw_as_the_last_event_is_the_end),
        cmocka_unit_test(a_later_call_does_not_end_the_one_that_threw),
        cmocka_unit_test(recursion_that_throws),
        cmocka_unit_test(ends_without_a_name_close_the_innermost),
        cmocka_unit_test(names_are_compared_as_a_whole),
        cmocka_unit_test(threads_do_not_mix),
        cmocka_unit_test(no_events_no_harm),
        cmocka_unit_test(policies_have_names),
        cmocka_unit_test(whole_streams_come_back_unchanged),
        cmocka_unit_test(damaged_streams_always_nest),
    };
    seed = strobe_trial_seed("test_calls_repair");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
