/* Watchers find the same in captures as in the true timeline, as far as the capture policy allows. The scenarios
 * scroll_jank and cold_start are captured by samples (strobe), by a log with a clock of 5 ms (matrix), and by exact
 * probes (rheatrace).
 *
 * Thresholds are lowered, so that apps without problems have findings too. */
#include "engine/base/error.h"
#include "engine/watch/watch_timeline.h"
#include "sim/policy/policy.h"
#include "sim/policy/strobe.h"
#include "sim/score/found.h"
#include "tests/sim/support/played.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)

static struct played p;
static struct strobe_findings truth, found;
static struct strobe_watch_options options;
static uint64_t origin_ns; /* origin of the capture's times */

static void play_fixture(const char *name, struct sim_tracer *tracer)
{
    struct strobe_error error = {""};
    char path[256];
    struct sim_scenario *s;
    struct sim_run_options run = {.seed = 1, .costs = sim_costs_default};
    snprintf(path, sizeof path, "fixtures/scenarios/%s.scn", name);
    if (sim_scenario_read(path, &s, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    play_scenario(&p, s, tracer, &run);
    strobe_watch_defaults(&options);
    options.evil_ns = 2 * MS;
    options.lag_ns = 4 * MS;
    options.cold_ns = 1000 * MS;
    struct strobe_watch_view view = sim_truth_view();
    assert_int_equal(sim_tracks_find(&p.run.truth, &options, &view, &truth), STROBE_OK);
    origin_ns = 0;
}

static int done(void **state)
{
    (void)state;
    strobe_findings_free(&truth);
    strobe_findings_free(&found);
    memset(&truth, 0, sizeof truth);
    memset(&found, 0, sizeof found);
    played_close(&p);
    return 0;
}

/* ---- captures to findings */

/* Finds in samples, through the adapter of sessions. */
static void find_in_session(void)
{
    struct sim_strobe *s = (struct sim_strobe *)p.tracer;
    struct strobe_timeline_options timeline = {0};
    found.view = strobe_watch_view_of(s->reader, &timeline);
    struct strobe_watcher *w = strobe_watch_all(&options, &found.view, strobe_findings_sink(&found));
    struct strobe_sink *sink = strobe_watch_sink(w, NULL, &found.seen);
    assert_non_null(sink);
    assert_int_equal(sim_strobe_build(s, sink), STROBE_OK);
    assert_int_equal(w->close(w), STROBE_OK);
    strobe_findings_sort(&found);
    origin_ns = SIM_STROBE_ORIGIN_NS;
}

static void find_in_calls(uint64_t resolution_ns)
{
    struct strobe_watch_view view = {.resolution_ns = resolution_ns};
    assert_int_equal(sim_tracks_find(&p.reconstruction, &options, &view, &found), STROBE_OK);
}

/* ---- comparison */

static bool is_near(uint64_t a_ns, uint64_t b_ns, uint64_t within_ns)
{
    return a_ns > b_ns ? a_ns - b_ns <= within_ns : b_ns - a_ns <= within_ns;
}

static double value_of(const struct strobe_finding *f, const char *key)
{
    for (size_t i = 0; i < f->value_count; i++)
        if (!strcmp(f->values[i].key, key))
            return f->values[i].value;
    return -1;
}

static uint64_t threshold_of(enum strobe_finding_kind kind)
{
    return kind == STROBE_FINDING_EVIL ? options.evil_ns : kind == STROBE_FINDING_LAG ? options.lag_ns : 0;
}

/* True when the list has a finding of the same kind and scene at the same time. Times in the list are `shift_ns` later
 * than those of `f`. */
static bool has(const struct strobe_findings *list, const struct strobe_finding *f, int64_t shift_ns,
                uint64_t within_ns)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct strobe_finding *g = &list->at[i];
        uint64_t begin = (uint64_t)((int64_t)f->begin_ns + shift_ns), end = (uint64_t)((int64_t)f->end_ns + shift_ns);
        if (g->kind == f->kind && is_near(g->begin_ns, begin, within_ns) && is_near(g->end_ns, end, within_ns) &&
            !strcmp(g->scene, f->scene))
            return true;
    }
    return false;
}

/* Checks that `all` contains the findings of `some` whose duration exceeds the threshold by at least `within_ns`.
 * Returns the number of these findings. */
static size_t all_are_in(const struct strobe_findings *some, const struct strobe_findings *all, int64_t shift_ns,
                         enum strobe_finding_kind kind, uint64_t within_ns)
{
    size_t count = 0;
    for (size_t i = 0; i < some->count; i++) {
        const struct strobe_finding *f = &some->at[i];
        if (f->kind != kind || (threshold_of(kind) && f->end_ns - f->begin_ns < threshold_of(kind) + within_ns))
            continue;
        if (!has(all, f, shift_ns, within_ns))
            fail_msg("%s at %.3f ms, of %.3f ms, is missing on the other side", strobe_finding_name[kind],
                     (double)f->begin_ns / MS, (double)(f->end_ns - f->begin_ns) / MS);
        count++;
    }
    return count;
}

/* Checks both directions. */
static size_t same(enum strobe_finding_kind kind, uint64_t within_ns)
{
    size_t count = all_are_in(&truth, &found, (int64_t)origin_ns, kind, within_ns);
    all_are_in(&found, &truth, -(int64_t)origin_ns, kind, within_ns);
    return count;
}

static const struct strobe_finding *last_of(const struct strobe_findings *list, enum strobe_finding_kind kind)
{
    for (size_t i = list->count; i-- > 0;)
        if (list->at[i].kind == kind)
            return &list->at[i];
    fail_msg("no %s", strobe_finding_name[kind]);
    return NULL;
}

/* Checks that the number of frames, the numbers of each level and the rates are equal. */
static void same_frames(uint64_t within_ns)
{
    static const char *const counts[] = {"frames",      "drop_best", "drop_normal",
                                         "drop_middle", "drop_high", "drop_frozen"};
    const struct strobe_finding *a = last_of(&truth, STROBE_FINDING_FRAMES),
                                *b = last_of(&found, STROBE_FINDING_FRAMES);
    assert_true(same(STROBE_FINDING_FRAMES, within_ns) > 0);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        assert_true(value_of(a, counts[i]) == value_of(b, counts[i]));
    assert_true(value_of(a, "fps") > value_of(b, "fps") - 0.1 && value_of(a, "fps") < value_of(b, "fps") + 0.1);
    assert_int_equal(truth.seen.frames, found.seen.frames);
}

static void same_start(uint64_t within_ns)
{
    static const char *const times[] = {"application_ms", "first_screen_ms", "cold_ms"};
    const struct strobe_finding *a = last_of(&truth, STROBE_FINDING_STARTUP),
                                *b = last_of(&found, STROBE_FINDING_STARTUP);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        assert_true(value_of(a, times[i]) > 0);
        assert_true(is_near((uint64_t)(value_of(a, times[i]) * MS), (uint64_t)(value_of(b, times[i]) * MS), within_ns));
    }
    assert_string_equal(a->scene, b->scene);
}

/* ---- scroll_jank */

static void scroll_jank_by_samples(void **state)
{
    (void)state;
    play_fixture("scroll_jank", sim_policy_strobe());
    find_in_session();
    uint64_t within = found.view.resolution_ns;
    assert_in_range(within, 1, 10 * MS);
    same_frames(within);
    assert_true(same(STROBE_FINDING_EVIL, within) > 0);
    same(STROBE_FINDING_LAG, within);
}

static void scroll_jank_by_a_clock_of_5_ms(void **state)
{
    (void)state;
    play_fixture("scroll_jank", sim_policy_matrix());
    find_in_calls(5 * MS);
    same_frames(5 * MS);
    assert_true(same(STROBE_FINDING_EVIL, 5 * MS) > 0);
    same(STROBE_FINDING_LAG, 5 * MS);
}

/* Rheatrace's probes are exact except for their own cost. It records no messages, and therefore no findings about them.
 * */
static void scroll_jank_by_exact_marks(void **state)
{
    (void)state;
    play_fixture("scroll_jank", sim_policy_rheatrace(false));
    find_in_calls(MS / 100);
    same_frames(MS / 100);
    assert_int_equal(found.seen.messages, 0);
    for (size_t i = 0; i < found.count; i++)
        assert_true(found.at[i].kind != STROBE_FINDING_EVIL && found.at[i].kind != STROBE_FINDING_LAG);
}

/* ---- cold_start */

static void cold_start_by_samples(void **state)
{
    (void)state;
    play_fixture("cold_start", sim_policy_strobe());
    find_in_session();
    same_frames(found.view.resolution_ns);
    same_start(found.view.resolution_ns);
}

static void cold_start_by_a_clock_of_5_ms(void **state)
{
    (void)state;
    play_fixture("cold_start", sim_policy_matrix());
    find_in_calls(5 * MS);
    same_frames(5 * MS);
    same_start(5 * MS);
}

static void cold_start_by_exact_marks(void **state)
{
    (void)state;
    play_fixture("cold_start", sim_policy_rheatrace(true));
    find_in_calls(MS / 100);
    same_frames(MS / 100);
    same_start(MS / 100);
}

/* ---- startup_warm: a cold start, then a warm start */

static size_t warm_starts(const struct strobe_findings *list)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += list->at[i].kind == STROBE_FINDING_STARTUP && value_of(&list->at[i], "warm_ms") > 0;
    return count;
}

static void a_warm_start_is_found_beside_the_cold_one(void **state)
{
    (void)state;
    play_fixture("startup_warm", sim_policy_strobe());
    find_in_session();
    assert_int_equal(same(STROBE_FINDING_STARTUP, found.view.resolution_ns), 2);
    assert_int_equal(warm_starts(&truth), 1);
    assert_int_equal(warm_starts(&found), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(scroll_jank_by_samples, done),
        cmocka_unit_test_teardown(scroll_jank_by_a_clock_of_5_ms, done),
        cmocka_unit_test_teardown(scroll_jank_by_exact_marks, done),
        cmocka_unit_test_teardown(cold_start_by_samples, done),
        cmocka_unit_test_teardown(cold_start_by_a_clock_of_5_ms, done),
        cmocka_unit_test_teardown(cold_start_by_exact_marks, done),
        cmocka_unit_test_teardown(a_warm_start_is_found_beside_the_cold_one, done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
