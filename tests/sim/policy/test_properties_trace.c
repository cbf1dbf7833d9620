/* Properties S-50 to S-60: timelines from samples. Each scenario is played under the engine. Where btrace fails on the
 * same scenario, it is played under btrace too.
 *
 * test_symbols.c tests functions without a name, because all code of a scenario belongs to a named method. */
#include "engine/trace/build/timeline.h"
#include "sim/policy/policy.h"
#include "sim/policy/strobe.h"
#include "tests/sim/support/played.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define US     UINT64_C(1000)
#define MS     UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

enum { MAIN = 1 };

static struct played p;

static void play_free(const char *name, struct sim_tracer *tracer)
{
    play_called(&p, name, tracer, &(struct sim_run_options){.seed = 7});
}

static const struct strobe_reader *capture_free(const char *name, struct sim_tracer *tracer)
{
    play_free(name, tracer);
    return captured(&p);
}

static const struct strobe_reader *capture(const char *name)
{
    play_called(&p, name, sim_policy_strobe(), &(struct sim_run_options){.seed = 7, .costs = punctual_costs()});
    return captured(&p);
}

static int end_played(void **state)
{
    (void)state;
    played_close(&p);
    return 0;
}

/* Finds the k-th call with this name in a track, from 0. Returns false when there is no such call. */
static bool call(const struct sim_tracks *t, uint32_t tid, const char *name, uint32_t k, struct sim_span *out)
{
    const struct sim_track *track = track_of(t, tid);
    uint32_t depth = 0, its_depth = 0;
    bool open = false;
    for (size_t i = 0; track && i < track->event_count; i++) {
        const struct sim_event *e = &track->events[i];
        if (e->name == SIM_CALL_END) {
            if (open && depth == its_depth) {
                out->end_ns = e->time_ns;
                return true;
            }
            depth--;
            continue;
        }
        depth++;
        if (!open && strcmp(t->names.texts[e->name], name) == 0 && k-- == 0) {
            *out = (struct sim_span){.begin_ns = e->time_ns};
            its_depth = depth;
            open = true;
        }
    }
    return false;
}

static size_t no_names(void *ctx, uint64_t return_address, struct strobe_symbol *out, size_t max)
{
    (void)ctx;
    (void)return_address;
    (void)out;
    (void)max;
    return 0;
}

/* Returns the counters of a timeline, which the policy's claims do not contain. */
static struct strobe_timeline_stats timeline_of(const struct strobe_reader *r)
{
    struct strobe_timeline_stats stats;
    struct strobe_function_tree *tree;
    struct sim_tracks tracks;
    sim_tracks_open(&tracks);
    assert_int_equal(strobe_function_tree_open(&r->session.stacks,
                                               (struct strobe_resolver){.resolve = no_names, .ctx = NULL}, &tree),
                     STROBE_OK);
    assert_int_equal(
        strobe_timeline_build(r, tree, &(struct strobe_timeline_options){0}, sim_tracks_sink(&tracks, 0), &stats),
        STROBE_OK);
    strobe_function_tree_close(tree);
    sim_tracks_close(&tracks);
    return stats;
}

/* ---- S-50 */

static void equal_messages_are_as_many_slices_each_within_its_own_S50(void **state)
{
    (void)state;
    capture("s_50_equal_messages");
    struct sim_span claimed, true_one;
    assert_int_equal(calls_of(&p.run.truth, MAIN, "work"), 40);
    assert_int_equal(calls_of(&p.reconstruction, MAIN, "work"), 40);
    for (uint32_t i = 0; i < 40; i++) {
        assert_true(call(&p.reconstruction, MAIN, "message", i, &claimed) &&
                    call(&p.run.truth, MAIN, "message", i, &true_one));
        assert_true(claimed.begin_ns >= true_one.begin_ns);
        assert_true(claimed.begin_ns <= true_one.end_ns &&
                    claimed.end_ns <= true_one.end_ns + 2 * (MS + MS / 8)); /* a new period restarts the interval */
    }
}

static void btrace_makes_one_slice_of_them_S50(void **state)
{
    (void)state;
    play_free("s_50_equal_messages", sim_policy_btrace_android());
    assert_int_equal(calls_of(&p.run.truth, MAIN, "work"), 40);
    assert_int_equal(calls_of(&p.reconstruction, MAIN, "work"), 1);
}

/* ---- S-51 */

static void five_seconds_between_equal_stacks_are_not_theirs_S51(void **state)
{
    (void)state;
    capture("s_51_long_gap");
    uint32_t ticks = calls_of(&p.run.truth, MAIN, "tick");
    assert_true(ticks >= 4);
    assert_int_equal(calls_of(&p.reconstruction, MAIN, "tick"), ticks);
    assert_in_range(time_in(&p.reconstruction, MAIN, "tick"), ticks * 1 * MS, ticks * 2 * MS + ticks * 100 * US);
    assert_in_range(time_in(&p.reconstruction, MAIN, "[sleep]"), 20 * SECOND, 21 * SECOND);
}

/* Without hooks the sampler does not know about the sleep. It knows that the thread hardly ran, and the trace labels
 * that time. The reconstructed timeline has no such label, because it contains calls only. */
static void without_hooks_the_time_between_is_labelled_S51(void **state)
{
    (void)state;
    const struct strobe_reader *r = capture_free("s_51_long_gap", sim_policy_async(MS));
    assert_int_equal(timeline_of(r).offs, calls_of(&p.run.truth, MAIN, "tick")); /* and after the last */
}

static void btrace_makes_one_slice_of_all_S51(void **state)
{
    (void)state;
    play_free("s_51_long_gap", sim_policy_btrace_android());
    assert_int_equal(calls_of(&p.reconstruction, MAIN, "tick"), 1);
    assert_true(time_in(&p.reconstruction, MAIN, "tick") > 19 * SECOND);
}

/* ---- S-52 */

static void a_call_seen_once_lasts_the_interval_S52(void **state)
{
    (void)state;
    static const char *const names[] = {"once1", "once2", "once3"};
    const struct strobe_reader *r = capture_free("s_52_single_sample", sim_policy_sync_only());
    uint64_t shown = 0;
    struct sim_span span;
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t k = 0; call(&p.reconstruction, MAIN, names[i], k, &span); k++, shown++)
            assert_int_equal(span.end_ns - span.begin_ns, MS);
    assert_true(shown >= 90);
    assert_int_equal(shown, r->samples);
}

static void btrace_shows_it_for_10_ns_S52(void **state)
{
    (void)state;
    struct sim_span span;
    play_free("s_52_single_sample", sim_policy_btrace_android());
    for (uint32_t k = 0; call(&p.reconstruction, MAIN, "once2", k, &span); k++)
        assert_int_equal(span.end_ns - span.begin_ns, 10);
    assert_true(calls_of(&p.reconstruction, MAIN, "once2") > 30);
}

/* ---- S-53 */

static void no_slice_is_empty_after_a_wait_S53(void **state)
{
    (void)state;
    capture_free("s_53_wait_then_other_leaf", sim_policy_strobe());
    const struct sim_track *truth = track_of(&p.run.truth, MAIN), *claim = track_of(&p.reconstruction, MAIN);
    assert_true(shortest_call(&p.reconstruction) > 0);
    assert_int_equal(claim->wait_count, truth->wait_count);
    for (size_t i = 0; i + 1 < truth->wait_count; i++)
        assert_int_equal(claim->waits[i].end_ns, truth->waits[i].end_ns);
    assert_int_equal(calls_of(&p.reconstruction, MAIN, "leaf"), calls_of(&p.run.truth, MAIN, "leaf"));
}

static void btrace_shows_the_other_leaf_twice_once_for_no_time_S53(void **state)
{
    (void)state;
    play_free("s_53_wait_then_other_leaf", sim_policy_btrace_android());
    assert_int_equal(shortest_call(&p.reconstruction), 0);
    assert_true(calls_of(&p.reconstruction, MAIN, "leaf") > calls_of(&p.run.truth, MAIN, "leaf") * 3 / 2);
}

/* ---- S-54 */

/* Each wait makes one voluntary switch, a second one when the monitor is taken at its end, and another one when the
 * sampler stops the thread as it leaves the wait. */
static void the_switches_of_a_wait_are_counted_in_it_and_none_after_S54(void **state)
{
    (void)state;
    const struct strobe_reader *r = capture("s_54_switches_in_wait");
    const struct strobe_reader_thread *t = &r->threads[0];
    const struct sim_track *truth = track_of(&p.run.truth, MAIN);
    uint32_t waits = 0;
    for (size_t i = 0; i < t->item_count; i++) {
        uint32_t metrics = t->items[i].metrics;
        uint32_t span = metrics ? r->metrics[metrics - 1].voluntary_switches_span : 0;
        bool waited = t->items[i].record.kind == STROBE_KIND_COND;
        assert_in_range(span, waited ? 1 : 0, waited ? 3 : 0);
        waits += waited;
    }
    uint32_t calls = calls_of(&p.run.truth, MAIN, "[cond wait]");
    assert_in_range(waits, calls - 1, calls);        /* the run may end in one */
    uint64_t all = truth->totals.voluntary_switches; /* of which the last may come after the last record */
    assert_in_range(track_of(&p.reconstruction, MAIN)->totals.voluntary_switches, all - 1, all);
}

/* ---- S-55 */

/* btrace-ios omits such a thread. It is not played here, because its clock in the lab does not step; see
 * test_btrace_ios.c. */
static void cpu_time_ahead_of_the_clock_is_held_back_and_counted_S55(void **state)
{
    (void)state;
    const struct strobe_reader *r = capture_free("s_55_cpu_beyond_wall", sim_policy_strobe());
    assert_int_equal(sim_fault_counts(p.run.faults)[SIM_FAULT_CLOCK_BACK], 40);
    assert_true(timeline_of(r).cpu_clamped > 0); /* steps within merged samples are not met */
    assert_int_equal(p.reconstruction.track_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct sim_track *c = &p.reconstruction.tracks[i];
        assert_true(c->totals.cpu_ns <= c->end_ns - c->begin_ns);
    }
    assert_true(shortest_call(&p.reconstruction) > 0);
}

/* ---- S-56 */

/* btrace-ios keeps only one of two samples in a tick when their CPU times are equal; see test_btrace_ios.c. */
static void samples_of_one_instant_are_all_kept_in_their_order_S56(void **state)
{
    (void)state;
    static const enum strobe_kind order[] = {STROBE_KIND_ALLOC, STROBE_KIND_ALLOC, STROBE_KIND_FREE, STROBE_KIND_CLOCK,
                                             STROBE_KIND_ALLOC};
    static const uint64_t sizes[] = {16, 32, 0, 0, 48};
    const struct strobe_reader *r = capture_free("s_56_equal_times", sim_policy_sync_only());
    const struct strobe_reader_thread *t = &r->threads[0];
    assert_int_equal(t->samples, p.run.truth.tracks[0].totals.allocations / 3 * 5);
    assert_int_equal(t->item_count, t->samples);
    for (size_t i = 0; i < t->item_count; i++) {
        const struct strobe_record *record = &t->items[i].record;
        assert_int_equal(record->kind, order[i % 5]);
        if (sizes[i % 5])
            assert_int_equal(record->arg, sizes[i % 5]);
        assert_int_equal(record->ticks, t->items[i - i % 5].record.ticks);
    }
    assert_true(shortest_call(&p.reconstruction) > 0);
}

/* ---- S-58 */

static void thread_ids_are_whole_S58(void **state)
{
    (void)state;
    const struct strobe_reader *r = capture("s_58_large_tids");
    static const uint32_t tids[] = {32769, 65537, 1, 4194305};
    assert_int_equal(p.reconstruction.track_count, 4);
    assert_int_equal(r->thread_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_non_null(track_of(&p.reconstruction, tids[i]));
        assert_int_equal(track_of(&p.reconstruction, tids[i])->is_main, tids[i] == 32769);
        assert_true(calls_of(&p.reconstruction, tids[i], "work") > 300);
    }
}

static void btrace_takes_two_for_one_and_knows_no_main_S58(void **state)
{
    (void)state;
    play_free("s_58_large_tids", sim_policy_btrace_android());
    assert_int_equal(p.reconstruction.track_count, 2);
    assert_null(track_of(&p.reconstruction, 65537));
    for (size_t i = 0; i < 2; i++)
        assert_false(p.reconstruction.tracks[i].is_main);
}

/* ---- S-59 */

/* Returns a scenario in which two methods have one name, as with a mapping that does not distinguish overloads. In a
 * text names are unique, so the function changes the parsed scenario. */
static struct sim_scenario *with_equal_names(void)
{
    struct sim_scenario *s = scenario_called("s_59_equal_names");
    for (uint32_t i = 1; i < 3; i++)
        s->methods[i].name = s->methods[0].name;
    return s;
}

static void functions_of_one_name_stay_different_ones_S59(void **state)
{
    (void)state;
    play_scenario(&p, with_equal_names(), sim_policy_strobe(), &(struct sim_run_options){.seed = 7});
    captured(&p);
    const char *name = p.scenario->methods[0].name;
    uint32_t calls = calls_of(&p.run.truth, MAIN, name);
    assert_true(calls > 400);
    assert_in_range(calls_of(&p.reconstruction, MAIN, name), calls * 19 / 20, calls); /* of 2 ms: few may be missed */
}

static void btrace_takes_functions_of_one_name_for_one_S59(void **state)
{
    (void)state;
    play_scenario(&p, with_equal_names(), sim_policy_btrace_ios(), &(struct sim_run_options){.seed = 7});
    assert_true(calls_of(&p.reconstruction, MAIN, p.scenario->methods[0].name) < 10);
}

/* ---- S-60 */

static void recursion_is_as_deep_as_it_was_at_each_sample_S60(void **state)
{
    (void)state;
    const struct strobe_reader *r = capture_free("s_60_shrinking_recursion", sim_policy_strobe());
    const struct sim_track *truth = track_of(&p.run.truth, MAIN), *claim = track_of(&p.reconstruction, MAIN);
    const struct strobe_reader_thread *t = &r->threads[0];
    uint32_t depths = 0;
    assert_true(t->item_count > 100);
    for (size_t i = 0; i < t->item_count; i++) {
        uint64_t time_ns = t->items[i].record.ticks - SIM_STROBE_ORIGIN_NS;
        uint32_t depth = depth_at(truth, time_ns - 1);
        depths |= 1u << depth;
        assert_int_equal(depth_at(claim, time_ns), depth);
    }
    assert_int_equal(depths, 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 6);
}

#define PLAYED(test) cmocka_unit_test_teardown(test, end_played)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAYED(equal_messages_are_as_many_slices_each_within_its_own_S50),
        PLAYED(btrace_makes_one_slice_of_them_S50),
        PLAYED(five_seconds_between_equal_stacks_are_not_theirs_S51),
        PLAYED(without_hooks_the_time_between_is_labelled_S51),
        PLAYED(btrace_makes_one_slice_of_all_S51),
        PLAYED(a_call_seen_once_lasts_the_interval_S52),
        PLAYED(btrace_shows_it_for_10_ns_S52),
        PLAYED(no_slice_is_empty_after_a_wait_S53),
        PLAYED(btrace_shows_the_other_leaf_twice_once_for_no_time_S53),
        PLAYED(the_switches_of_a_wait_are_counted_in_it_and_none_after_S54),
        PLAYED(cpu_time_ahead_of_the_clock_is_held_back_and_counted_S55),
        PLAYED(samples_of_one_instant_are_all_kept_in_their_order_S56),
        PLAYED(thread_ids_are_whole_S58),
        PLAYED(btrace_takes_two_for_one_and_knows_no_main_S58),
        PLAYED(functions_of_one_name_stay_different_ones_S59),
        PLAYED(btrace_takes_functions_of_one_name_for_one_S59),
        PLAYED(recursion_is_as_deep_as_it_was_at_each_sample_S60),
    };
    return cmocka_run_group_tests_name("properties of traces", tests, NULL, NULL);
}
