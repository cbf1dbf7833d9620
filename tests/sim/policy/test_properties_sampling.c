/* Properties S-1 to S-9: when threads are sampled, and that all events are counted. Each scenario is played under the
 * engine. Where btrace fails on the same scenario, it is played under btrace too. */
#include "sim/policy/btrace_ios.h"
#include "sim/policy/policy.h"
#include "sim/policy/strobe.h"
#include "tests/sim/support/played.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

enum { MAIN = 1, WORKER = 2 };

static struct played p;

/* Plays with zero costs, so that the reconstructed timeline can be compared with the true one to the ns. */
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

/* ---- S-1 */

/* Returns the number of samples that a gate with a grid of 1 ms takes at the ends of the track's calls. */
static uint64_t on_a_grid(const struct sim_track *t, uint64_t *hooks)
{
    uint64_t due_ns = 0, taken = 0;
    *hooks = 0;
    for (size_t i = 0; i + 2 < t->event_count; i++) { /* the last two end with the run */
        if (t->events[i].name != SIM_CALL_END)
            continue;
        uint64_t now = t->events[i].time_ns;
        *hooks += 1;
        if (now < due_ns)
            continue;
        taken++;
        due_ns = taken > 1 && due_ns + MS > now ? due_ns + MS : now + MS;
    }
    return taken;
}

static void samples_follow_from_the_times_of_hooks_and_the_rest_is_counted_S1(void **state)
{
    (void)state;
    uint64_t hooks;
    const struct strobe_reader *r = capture_free("s_01_dense_hooks", sim_policy_sync_only());
    uint64_t expected = on_a_grid(track_of(&p.run.truth, MAIN), &hooks);
    const struct strobe_tally *t = &r->threads[0].kind[STROBE_KIND_ALLOC];
    assert_int_equal(expected, 1000);
    assert_int_equal(t->sampled, expected);
    assert_int_equal(t->present, expected);
    assert_int_equal(t->requests, hooks);
    assert_int_equal(t->gated, hooks - expected);
}

static void sampler_and_hooks_share_one_interval_S1(void **state)
{
    (void)state;
    const struct strobe_reader *r = capture("s_01_dense_hooks");
    const struct strobe_tally *t = r->threads[0].kind;
    uint64_t sampler = t[STROBE_KIND_ASYNC].sampled + t[STROBE_KIND_CPU].sampled;
    /* Each new period loses half an interval in 32. */
    assert_in_range(sampler + t[STROBE_KIND_ALLOC].sampled, 975, 1010);
    assert_int_equal(t[STROBE_KIND_ALLOC].requests, p.run.truth.tracks[0].totals.allocations);
    assert_int_equal(t[STROBE_KIND_ALLOC].sampled + t[STROBE_KIND_ALLOC].gated, t[STROBE_KIND_ALLOC].requests);
}

static void btrace_takes_every_fourth_hook_S1(void **state)
{
    (void)state;
    play_free("s_01_dense_hooks", sim_policy_btrace_android());
    assert_in_range(p.reconstruction.samples, 828, 836);
    assert_int_equal(p.reconstruction.lost, 0);
}

/* ---- S-2 */

static void a_wait_of_900_us_right_after_a_sample_is_shown_exactly_S2(void **state)
{
    (void)state;
    const struct strobe_reader *r = capture_free("s_02_block_after_sample", sim_policy_sync_only());
    const struct sim_track *truth = track_of(&p.run.truth, MAIN), *claim = track_of(&p.reconstruction, MAIN);
    const struct strobe_tally *t = r->threads[0].kind;
    assert_true(truth->wait_count >= 400);
    assert_int_equal(claim->wait_count, truth->wait_count);
    for (size_t i = 0; i < truth->wait_count; i++) {
        assert_int_equal(claim->waits[i].kind, STROBE_KIND_PARK);
        assert_int_equal(claim->waits[i].begin_ns, truth->waits[i].begin_ns);
        assert_int_equal(claim->waits[i].end_ns, truth->waits[i].end_ns);
    }
    /* Each wait begins right after a sample. The gate must not reject it for that. */
    assert_int_equal(t[STROBE_KIND_ALLOC].sampled, t[STROBE_KIND_ALLOC].requests);
    assert_int_equal(t[STROBE_KIND_PARK].sampled, t[STROBE_KIND_PARK].requests);
}

static void btrace_records_no_wait_right_after_a_sample_S2(void **state)
{
    (void)state;
    play_free("s_02_block_after_sample", sim_policy_btrace_android());
    assert_true(p.reconstruction.samples >= 400);
    assert_int_equal(track_of(&p.reconstruction, MAIN)->wait_count, 0);
}

/* ---- S-2b */

/* Returns the number of waits of this kind that last `length_ns`, or up to 20 us longer because of thread switches. */
static uint32_t waits_of(const struct sim_track *t, enum strobe_kind kind, uint64_t length_ns)
{
    uint32_t count = 0;
    for (size_t i = 0; i < t->wait_count; i++) {
        uint64_t ns = t->waits[i].end_ns - t->waits[i].begin_ns;
        count += t->waits[i].kind == kind && ns >= length_ns && ns <= length_ns + 20 * US;
    }
    return count;
}

static struct sim_tracer *with_loads(struct sim_tracer *tracer)
{
    return with_outer_calls(tracer, STROBE_KIND_LOAD, 0);
}

static void an_outer_call_is_closed_though_its_inside_was_sampled_just_before_S2b(void **state)
{
    (void)state;
    const struct strobe_reader *r = capture_free("s_02b_nested_scope", with_loads(sim_policy_sync_only()));
    const struct strobe_tally *t = r->threads[0].kind;
    const struct sim_track *claim = track_of(&p.reconstruction, MAIN);
    assert_int_equal(t[STROBE_KIND_ALLOC].sampled, 4);
    assert_int_equal(t[STROBE_KIND_LOAD].sampled, 4);
    assert_int_equal(waits_of(claim, STROBE_KIND_LOAD, 200 * MS), 4);
    assert_int_equal(waits_of(claim, STROBE_KIND_SLEEP, 198 * MS), 4);
    assert_int_equal(claim->wait_count, 8);
}

static void an_outer_call_is_closed_though_the_sampler_came_meanwhile_S2b(void **state)
{
    (void)state;
    capture_free("s_02b_nested_scope", with_loads(sim_policy_strobe()));
    const struct sim_track *claim = track_of(&p.reconstruction, MAIN);
    assert_int_equal(waits_of(claim, STROBE_KIND_LOAD, 200 * MS), 4);
    assert_int_equal(waits_of(claim, STROBE_KIND_SLEEP, 198 * MS), 4);
    assert_int_equal(claim->wait_count, 8);
}

static void btrace_has_the_inner_sample_and_no_outer_call_S2b(void **state)
{
    (void)state;
    play_free("s_02b_nested_scope", with_loads(sim_policy_btrace_android()));
    assert_int_equal(p.reconstruction.samples, 4);
    assert_int_equal(track_of(&p.reconstruction, MAIN)->wait_count, 0);
}

/* ---- S-3 */

static void a_stack_too_deep_is_kept_cut_and_marked_and_no_other_is_S3(void **state)
{
    (void)state;
    enum { KEPT = 128 };
    const struct strobe_reader *r = capture_free("s_03_depth_129", sim_policy_strobe());
    const struct sim_track *truth = track_of(&p.run.truth, MAIN);
    const struct strobe_reader_thread *t = &r->threads[0];
    uint32_t cut = 0, whole = 0;
    for (size_t i = 0; i < t->item_count; i++) {
        const struct strobe_record *record = &t->items[i].record;
        uint64_t time_ns = record->ticks - SIM_STROBE_ORIGIN_NS;
        bool is_cut = record->flags & STROBE_FLAG_CUT;
        /* A hook at the end of a call was inside the call a ns before. */
        assert_int_equal(is_cut, depth_at(truth, time_ns - 1) > KEPT);
        *(is_cut ? &cut : &whole) += 1;
    }
    assert_true(cut > 100 && whole > 100);
    assert_true(calls_of(&p.reconstruction, MAIN, "[stack cut]") > 0);
    assert_int_equal(t->all.unwind_failed + t->all.dropped, 0);
    assert_in_range(t->samples, 975, 1010);
}

static void btrace_drops_it_and_the_interval_with_it_S3(void **state)
{
    (void)state;
    play_free("s_03_depth_129", sim_policy_btrace_android());
    assert_true(p.reconstruction.lost > 300);
    assert_in_range(p.reconstruction.samples + p.reconstruction.lost, 830, 840);
}

/* ---- S-4 */

static uint64_t gap_time(const struct sim_track *t, uint32_t *gaps)
{
    uint64_t ns = 0;
    *gaps = 0;
    for (size_t i = 0; i + 1 < t->event_count; i++) {
        if (t->events[i].name == SIM_CALL_END || t->events[i].class != SIM_CALL_GAP)
            continue;
        *gaps += 1;
        ns += t->events[i + 1].time_ns - t->events[i].time_ns;
    }
    return ns;
}

static void the_sampler_fills_what_has_no_hooks_S4(void **state)
{
    (void)state;
    uint32_t gaps;
    capture("s_04_loop_without_hooks");
    uint64_t truth = time_in(&p.run.truth, MAIN, "crunch"), claim = time_in(&p.reconstruction, MAIN, "crunch");
    assert_true(claim > truth * 99 / 100 && claim < truth * 101 / 100);
    assert_int_equal(gap_time(track_of(&p.reconstruction, MAIN), &gaps), 0);
}

static void without_the_sampler_the_time_is_shown_as_a_gap_S4(void **state)
{
    (void)state;
    uint32_t gaps, loops;
    capture_free("s_04_loop_without_hooks", sim_policy_sync_only());
    uint64_t ns = gap_time(track_of(&p.reconstruction, MAIN), &gaps);
    loops = calls_of(&p.run.truth, MAIN, "crunch");
    assert_int_equal(calls_of(&p.reconstruction, MAIN, "crunch"), 0);
    assert_in_range(gaps, loops - 1, loops);
    /* Each gap has 50 ms, minus the 1 ms of the sample before it. The last gap ends with the run. */
    assert_in_range(ns, (gaps - 1) * 49 * MS, gaps * 49 * MS);
}

static void btrace_shows_one_long_call_of_what_is_around_it_S4(void **state)
{
    (void)state;
    uint32_t gaps;
    play_free("s_04_loop_without_hooks", sim_policy_btrace_android());
    assert_int_equal(calls_of(&p.reconstruction, MAIN, "step"), 1);
    assert_int_equal(calls_of(&p.reconstruction, MAIN, "crunch"), 0);
    assert_int_equal(gap_time(track_of(&p.reconstruction, MAIN), &gaps), 0);
}

/* ---- S-5 */

/* Returns how many true calls with this name the reconstructed timeline shows, beginning at most `late_ns` late. */
static uint32_t seen_in_time(uint32_t tid, const char *name, uint64_t late_ns)
{
    const struct sim_track *truth = track_of(&p.run.truth, tid), *claim = track_of(&p.reconstruction, tid);
    uint32_t seen = 0;
    for (size_t i = 0; i < truth->event_count; i++) {
        const struct sim_event *e = &truth->events[i];
        if (e->name == SIM_CALL_END || strcmp(p.run.truth.names.texts[e->name], name) != 0)
            continue;
        for (size_t k = 0; claim && k < claim->event_count; k++) {
            const struct sim_event *c = &claim->events[k];
            if (c->name != SIM_CALL_END && c->time_ns >= e->time_ns && c->time_ns <= e->time_ns + late_ns &&
                strcmp(p.reconstruction.names.texts[c->name], name) == 0) {
                seen++;
                break;
            }
        }
    }
    return seen;
}

static void a_burst_of_an_idle_thread_is_seen_within_two_looks_S5(void **state)
{
    (void)state;
    capture("s_05_idle_burst");
    assert_true(calls_of(&p.run.truth, WORKER, "burst") >= 6);
    assert_int_equal(seen_in_time(WORKER, "burst", 4 * MS), calls_of(&p.run.truth, WORKER, "burst"));
}

static void btrace_misses_bursts_between_its_refreshes_S5(void **state)
{
    (void)state;
    play_free("s_05_idle_burst", sim_policy_btrace_ios());
    assert_true(seen_in_time(WORKER, "burst", 20 * MS) < calls_of(&p.run.truth, WORKER, "burst"));
}

/* ---- S-6 */

static double share(const struct sim_tracks *t, const char *name)
{
    return (double)time_in(t, MAIN, name) / (double)time_in(t, MAIN, "main_run");
}

/* A share of one tenth, measured by 1,000 samples, has a standard deviation of 1 %; the bounds allow three of them. A
 * tracer that samples at hooks only shows the allocation only. */
static void the_leaf_has_its_share_and_the_hook_no_more_than_its_own_S6(void **state)
{
    (void)state;
    capture("s_06_hook_bias");
    assert_true(share(&p.run.truth, "leaf") > 0.89);
    assert_true(share(&p.reconstruction, "leaf") > share(&p.run.truth, "leaf") - 0.03);
    assert_true(share(&p.reconstruction, "make") > share(&p.run.truth, "make") - 0.03);
}

static void btrace_shows_the_allocation_S6(void **state)
{
    (void)state;
    static const double most[] = {0.3, 0.01};
    for (int i = 0; i < 2; i++) {
        struct sim_btrace_ios_options options = {.memory_interval = 1, .memory_period_ns = i ? 0 : MS};
        play_called(&p, "s_06_hook_bias", sim_btrace_ios_open(&options),
                    &(struct sim_run_options){.seed = 7, .costs = punctual_costs()});
        assert_true(share(&p.reconstruction, "leaf") < most[i]);
        if (i == 0)
            played_close(&p);
    }
}

/* ---- S-7 */

static void a_hook_inside_the_engine_is_counted_and_takes_nothing_S7(void **state)
{
    (void)state;
    const struct strobe_reader *r = capture("s_07_hook_inside");
    uint64_t strikes = sim_fault_counts(p.run.faults)[SIM_FAULT_HOOK_INSIDE], allocations = 0, requests = 0;
    uint64_t reentrant = 0; /* without ticks that come while a hook is at work */
    assert_true(strikes > 500);
    for (size_t i = 0; i < p.run.truth.track_count; i++)
        allocations += p.run.truth.tracks[i].totals.allocations;
    for (uint32_t i = 0; i < r->thread_count; i++) {
        requests += r->threads[i].kind[STROBE_KIND_ALLOC].requests;
        reentrant += r->threads[i].kind[STROBE_KIND_ALLOC].reentrant;
    }
    assert_int_equal(reentrant, strikes);
    assert_int_equal(requests, allocations + strikes);
}

/* ---- S-8 */

/* A pass visits at most 256 threads, so that main is sampled in each interval. Deadlines stay on their grid. */
static void passes_over_5000_threads_keep_to_the_grid_and_their_lag_is_counted_S8(void **state)
{
    (void)state;
    const struct strobe_reader *r = capture("s_08_many_threads");
    const struct strobe_session_header *h = r->session.header;
    uint64_t passes = strobe_load_relaxed(&h->async_passes), lag_ns = strobe_load_relaxed(&h->async_lag_ticks);
    assert_int_equal(p.run.truth.track_count, 5001);
    assert_in_range(passes + strobe_load_relaxed(&h->async_late_passes), 399, 401);
    assert_true(sim_cpu_ns(p.tracer->sampler) / passes < MS / 4);
    assert_true(lag_ns >= passes * US / 2); /* the time of a switch to the sampler, as a rule */
    assert_true(track_of(&p.reconstruction, MAIN)->samples >= 390);
}

static void btrace_adds_the_time_of_a_pass_to_the_period_S8(void **state)
{
    (void)state;
    play_called(&p, "s_08_many_threads", sim_policy_btrace_ios(),
                &(struct sim_run_options){.seed = 7, .costs = punctual_costs()});
    assert_true(track_of(&p.reconstruction, MAIN)->samples < 250);
}

/* ---- S-9 */

/* The true share of `even` is one half. A sampler in step with the app would report a share of 0 or 1. */
static void a_sampler_that_wanders_sees_both_halves_of_a_rhythm_S9(void **state)
{
    (void)state;
    double sum = 0;
    enum { SEEDS = 20 };
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play_called(&p, "s_09_rhythm", sim_policy_strobe(), &(struct sim_run_options){.seed = seed});
        captured(&p);
        double even = (double)time_in(&p.reconstruction, MAIN, "even"),
               odd = (double)time_in(&p.reconstruction, MAIN, "odd");
        double share_of_even = even / (even + odd);
        assert_true(share_of_even > 0.2 && share_of_even < 0.8);
        sum += share_of_even;
        played_close(&p);
    }
    assert_true(sum / SEEDS > 0.42 && sum / SEEDS < 0.58);
}

#define PLAYED(test) cmocka_unit_test_teardown(test, end_played)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAYED(samples_follow_from_the_times_of_hooks_and_the_rest_is_counted_S1),
        PLAYED(sampler_and_hooks_share_one_interval_S1),
        PLAYED(btrace_takes_every_fourth_hook_S1),
        PLAYED(a_wait_of_900_us_right_after_a_sample_is_shown_exactly_S2),
        PLAYED(btrace_records_no_wait_right_after_a_sample_S2),
        PLAYED(an_outer_call_is_closed_though_its_inside_was_sampled_just_before_S2b),
        PLAYED(an_outer_call_is_closed_though_the_sampler_came_meanwhile_S2b),
        PLAYED(btrace_has_the_inner_sample_and_no_outer_call_S2b),
        PLAYED(a_stack_too_deep_is_kept_cut_and_marked_and_no_other_is_S3),
        PLAYED(btrace_drops_it_and_the_interval_with_it_S3),
        PLAYED(the_sampler_fills_what_has_no_hooks_S4),
        PLAYED(without_the_sampler_the_time_is_shown_as_a_gap_S4),
        PLAYED(btrace_shows_one_long_call_of_what_is_around_it_S4),
        PLAYED(a_burst_of_an_idle_thread_is_seen_within_two_looks_S5),
        PLAYED(btrace_misses_bursts_between_its_refreshes_S5),
        PLAYED(the_leaf_has_its_share_and_the_hook_no_more_than_its_own_S6),
        PLAYED(btrace_shows_the_allocation_S6),
        PLAYED(a_hook_inside_the_engine_is_counted_and_takes_nothing_S7),
        PLAYED(passes_over_5000_threads_keep_to_the_grid_and_their_lag_is_counted_S8),
        PLAYED(btrace_adds_the_time_of_a_pass_to_the_period_S8),
        cmocka_unit_test(a_sampler_that_wanders_sees_both_halves_of_a_rhythm_S9),
    };
    return cmocka_run_group_tests_name("properties of sampling", tests, NULL, NULL);
}
