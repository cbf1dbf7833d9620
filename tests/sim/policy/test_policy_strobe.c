/* The real engine under the virtual kernel: the same seed gives the same session, all invariants hold, and the engine
 * does not influence the app. */
#include "engine/base/error.h"
#include "sim/policy/policy.h"
#include "sim/policy/strobe.h"
#include "sim/score/score.h"
#include "tests/sim/support/app.h"
#include "tests/sim/support/played.h"
#include "tests/support/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)

static struct played p;
static char text[8192];

static const char *everything(const char *lines)
{
    int bytes = snprintf(text, sizeof text, "scenario s \"\"\nduration 60ms\ncores 3\n%s%s", lines, app_of_everything);
    assert_true(bytes > 0 && (size_t)bytes < sizeof text);
    return text;
}

static void check_invariants(uint64_t seed)
{
    struct strobe_error error = {""};
    if (!p.tracer->check(p.tracer, &p.run, &error))
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
}

/* ---- determinism */

static size_t read_file(const char *path, char **out)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    long bytes = ftell(f);
    rewind(f);
    *out = malloc((size_t)bytes);
    assert_int_equal(fread(*out, 1, (size_t)bytes, f), bytes);
    fclose(f);
    return (size_t)bytes;
}

static void play_into(const char *folder, uint64_t seed, enum sim_schedule schedule)
{
    struct strobe_error error = {""};
    struct sim_run_options options = {.seed = seed, .schedule = schedule, .costs = sim_costs_default, .replace = true};
    play_as(&p, everything(""), sim_policy_strobe(), &options);
    check_invariants(seed);
    if (p.tracer->save(p.tracer, &p.run, folder, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    played_close(&p);
}

static bool same_files(const char *a, const char *b)
{
    char *x, *y;
    size_t x_bytes = read_file(a, &x), y_bytes = read_file(b, &y);
    bool same = x_bytes == y_bytes && memcmp(x, y, x_bytes) == 0;
    free(x);
    free(y);
    return same;
}

static void two_runs_of_one_seed_leave_the_same_bytes(void **state)
{
    (void)state;
    char folder[2][TEMPORARY_BYTES], a[TEMPORARY_BYTES + 32], b[TEMPORARY_BYTES + 32];
    static const char *const files[] = {"session.strobe", "trace.pftrace"};
    assert_non_null(mkdtemp(temporary_path(folder[0], "strobe-test-XXXXXX")));
    assert_non_null(mkdtemp(temporary_path(folder[1], "strobe-test-XXXXXX")));
    for (int schedule = SIM_FAIR; schedule <= SIM_ADVERSARIAL; schedule++) {
        play_into(folder[0], 11, (enum sim_schedule)schedule);
        play_into(folder[1], 11, (enum sim_schedule)schedule);
        for (int i = 0; i < 2; i++) {
            snprintf(a, sizeof a, "%s/%s", folder[0], files[i]);
            snprintf(b, sizeof b, "%s/%s", folder[1], files[i]);
            assert_true(same_files(a, b));
        }
    }
    for (int i = 0; i < 2; i++) {
        snprintf(a, sizeof a, "%s/%s", folder[0], files[i]);
        snprintf(b, sizeof b, "%s/%s", folder[1], files[i]);
        unlink(a);
        unlink(b);
    }
    rmdir(folder[0]);
    rmdir(folder[1]);
}

/* ---- invariants */

static void invariants_hold_under_each_schedule(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct sim_run_options options = {
            .seed = seed, .schedule = seed % 3 ? SIM_ADVERSARIAL : SIM_FAIR, .costs = sim_costs_default};
        play_as(&p, everything(""), sim_policy_strobe(), &options);
        check_invariants(seed);
        played_close(&p);
    }
}

static void invariants_hold_with_the_smallest_tables(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct sim_run_options options = {.seed = seed, .schedule = SIM_ADVERSARIAL, .costs = sim_costs_default};
        play_as(&p,
                everything("config ring_slots 64\nconfig ring_subs 2\nconfig stack_nodes 16\n"
                           "config threads_max 3\n"),
                sim_policy_strobe(), &options);
        check_invariants(seed);
        assert_true(p.reconstruction.lost > 0);
        played_close(&p);
    }
}

static void each_policy_over_the_engine_keeps_its_invariants(void **state)
{
    (void)state;
    static const char *const names[] = {"sync-only", "async-1ms", "async-10ms"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct sim_run_options options = {.seed = 4, .costs = sim_costs_default};
        struct sim_tracer *t;
        assert_int_equal(sim_policy_open(names[i], &t), STROBE_OK);
        play_as(&p, everything(""), t, &options);
        assert_string_equal(t->policy, names[i]);
        check_invariants(4);
        assert_true(p.reconstruction.samples > 0);
        played_close(&p);
    }
}

/* Each thread computes between its waits, and has no hooks. */
static void waits_without_hooks_have_the_names_of_their_calls(void **state)
{
    (void)state;
    static const char app[] = "scenario s \"\"\nduration 600ms\ncores 4\nmutex m\nimage a.so {\n"
                              "method hold { forever { compute 2ms; lock m { compute 30ms } } }\n"
                              "method nap { forever { compute 3ms; sleep 25ms } }\n"
                              "method load { forever { compute 3ms; read 10 takes 25ms } }\n}\n"
                              "thread main main run nap\nthread h x3 run hold\nthread l run load\n";
    struct sim_run_options options = {.seed = 3, .costs = sim_costs_default};
    struct sim_score_options intervals = {.interval_ns = MS, .other_interval_ns = MS};
    struct sim_tracer *t;
    struct sim_score score;
    assert_int_equal(sim_policy_open("async-1ms", &t), STROBE_OK);
    play_as(&p, app, t, &options);
    check_invariants(3);
    assert_int_equal(sim_score(&p.run.truth, &p.reconstruction, &intervals, &score), STROBE_OK);
    assert_true(score.unhooked_ns > 1200 * MS);
    if (score.waits_named < 0.97)
        fail_msg("%.4f of the time has the name of the true wait", score.waits_named);
    sim_score_free(&score);
    played_close(&p);
}

/* ---- influence on the app, and costs */

static char *story_of(size_t track)
{
    const struct sim_track *t = &p.run.truth.tracks[track];
    char *out = malloc(t->event_count * 48 + 1), *at = out;
    assert_non_null(out);
    *at = '\0';
    for (size_t i = 0; i < t->event_count; i++)
        at += sprintf(at, "%llu %.20s\n", (unsigned long long)t->events[i].time_ns,
                      t->events[i].name == SIM_CALL_END ? "." : p.run.truth.names.texts[t->events[i].name]);
    return out;
}

/* With a free core for the sampler and zero costs, the engine does not change the run. */
static void an_engine_that_costs_nothing_changes_nothing(void **state)
{
    (void)state;
    enum { TRACKS = 64 };
    static const char app[] = "scenario s \"\"\nduration 60ms\ncores 8\nmutex m\nqueue q\nimage a.so {\n"
                              "method leaf { compute exp(30us); alloc 10..90 }\n"
                              "method mid { repeat 1..5 { call leaf }; lock m { compute 5us } }\n"
                              "method msg { call mid; post msg to q after 1ms }\nmethod ui { post msg to q; loop q }\n"
                              "method work { forever { call mid; read 10 takes exp(100us) } }\n}\n"
                              "thread main main run ui\nthread w x4 run work\n";
    char *alone[TRACKS];
    struct sim_run_options options = {.seed = 9};
    play_as(&p, app, NULL, &options);
    size_t tracks = p.run.truth.track_count;
    assert_true(tracks == 5);
    for (size_t i = 0; i < tracks; i++)
        alone[i] = story_of(i);
    played_close(&p);
    play_as(&p, app, sim_policy_strobe(), &options);
    assert_int_equal(p.run.truth.track_count, tracks);
    assert_true(p.reconstruction.samples > 100);
    for (size_t i = 0; i < tracks; i++) {
        char *traced = story_of(i);
        assert_string_equal(alone[i], traced);
        free(alone[i]);
        free(traced);
    }
    assert_int_equal(p.run.cpu.tracer_ns, 0);
    played_close(&p);
}

static void the_work_of_the_engine_is_charged(void **state)
{
    (void)state;
    struct sim_costs costs = {.hook = 100};
    uint64_t tracer_ns[3];
    for (int i = 0; i < 3; i++) {
        struct sim_run_options options = {.seed = 2, .costs = i == 2 ? sim_costs_default : costs};
        costs.hook = 200;
        play_as(&p,
                "scenario s \"\"\nduration 50ms\ncores 2\nimage a.so {\n"
                "method f { repeat 1000 { compute 10us; alloc 8 } }\n}\nthread main main run f\n",
                sim_policy_sync_only(), &options);
        tracer_ns[i] = p.run.cpu.tracer_ns;
        played_close(&p);
    }
    /* 1000 hooks. In the second run each costs twice as much. */
    assert_true(tracer_ns[0] >= 100000 && tracer_ns[0] < 101000);
    assert_int_equal(tracer_ns[1], 2 * tracer_ns[0]);
    assert_true(tracer_ns[2] > 3000);
}

/* The begin and end of another thread are charged, and its CPU clock when it lives long enough to get one. */
static void each_thread_that_is_recorded_is_charged_its_begin_its_end_and_its_clock(void **state)
{
    (void)state;
    static const struct {
        double attach, detach, clock_start, clock_end;
        uint64_t least_ns;
    } cases[] = {
        {0, 0, 0, 0, 0},
        {50e3, 0, 0, 0, 5 * 50000},
        {0, 20e3, 0, 0, 5 * 20000},
        {0, 0, 30e3, 0, 5 * 30000},
        {0, 0, 0, 10e3, 4 * 10000},
    };
    uint64_t nothing_ns = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sim_run_options options = {.seed = 2};
        options.costs.attach = cases[i].attach;
        options.costs.detach = cases[i].detach;
        options.costs.clock_start = cases[i].clock_start;
        options.costs.clock_end = cases[i].clock_end;
        play_as(&p,
                "scenario s \"\"\nduration 100ms\ncores 2\nimage a.so {\nmethod f { compute 10ms }\n"
                "method top { repeat 5 { spawn w; join w } }\n}\nthread main main run top\nthread w x0 run f\n",
                sim_policy_strobe(), &options);
        uint64_t tracer_ns = p.run.cpu.tracer_ns;
        nothing_ns = i ? nothing_ns : tracer_ns;
        assert_in_range(tracer_ns - nothing_ns, cases[i].least_ns, cases[i].least_ns * 3 / 2);
        played_close(&p);
    }
}

/* A thread of low priority loses its core where its sample reads its CPU clock, and waits there for 100 ms and more. */
static void the_capture_ends_in_order_although_threads_wait_for_a_core_inside_hooks(void **state)
{
    (void)state;
    static const char app[] = "scenario s \"\"\nduration 40ms\ncores 1\nimage a.so {\n"
                              "method f { forever { compute 100us..900us; alloc 8 } }\n}\n"
                              "thread main main run f\nthread w x6 nice 15 run f\n";
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sim_run_options options = {.seed = seed, .costs = sim_costs_default};
        play_as(&p, app, sim_policy_strobe(), &options);
        assert_int_equal(captured(&p)->session.header->state, STROBE_SESSION_CLOSED);
        assert_int_equal(p.run.end_ns, 40 * 1000000);
        for (size_t i = 0; i < p.run.truth.track_count; i++)
            assert_int_equal(p.run.truth.tracks[i].end_ns, p.run.end_ns);
        played_close(&p);
    }
}

static uint64_t tracer_ns_of(const char *app, const struct sim_costs *costs)
{
    struct sim_run_options options = {.seed = 2, .costs = *costs};
    play_as(&p, app, sim_policy_strobe(), &options);
    uint64_t tracer_ns = p.run.cpu.tracer_ns;
    played_close(&p);
    return tracer_ns;
}

/* The thread uses 100 ms, and its clock ticks once per ms. A sample in the handler has another cost than one at a
 * hook. */
static void each_tick_is_charged_the_handler_that_takes_its_sample(void **state)
{
    (void)state;
    static const char app[] = "scenario s \"\"\nduration 100ms\ncores 2\nimage a.so {\n"
                              "method f { forever { compute 7ms } }\n}\nthread main main run f\n";
    struct sim_costs costs = {.tick_sample = 5000}, hooks = {.sample = 5000};
    assert_in_range(tracer_ns_of(app, &costs), 90 * 5000, 100 * 5000);
    assert_true(tracer_ns_of(app, &hooks) < 10 * 5000);
}

/* Two threads share a core for 100 ms. The sampler requests a tick whenever one of them has lost the core. Such a tick
 * is a signal without a timer interrupt. */
static void a_tick_that_was_asked_for_is_charged_no_interrupt_of_a_timer(void **state)
{
    (void)state;
    static const char app[] = "scenario s \"\"\nduration 100ms\ncores 1\nimage a.so {\n"
                              "method f { forever { compute 7ms } }\n}\nthread main main run f\nthread t run f\n";
    struct sim_costs ticks = {.tick = 5000, .slice = 4e6}, signals = {.suspend_target = 5000, .slice = 4e6};
    assert_in_range(tracer_ns_of(app, &ticks), 90 * 5000, 100 * 5000);
    assert_in_range(tracer_ns_of(app, &signals), 20 * 5000, 60 * 5000);
}

/* Returns the charged ns of 40 sleeps of length `sleep`, between calls too short for a sample. */
static uint64_t charged_for_sleeps(const char *sleep, const struct sim_costs *costs)
{
    char app[256];
    snprintf(app, sizeof app,
             "scenario s \"\"\nduration 300ms\ncores 2\nimage a.so {\n"
             "method f { compute 2ms; repeat 40 { compute 100us; sleep %s } }\n}\nthread main main run f\n",
             sleep);
    return tracer_ns_of(app, costs);
}

/* A wait costs its hooks and its clock's timer. The cost is interpolated between the two nearest measured lengths. */
static void a_wait_is_charged_by_its_length(void **state)
{
    (void)state;
    struct sim_costs hooks = {.wait_record = {{1000, 1000, 2000, 4000, 20000}}};
    assert_int_equal(charged_for_sleeps("160us", &hooks), 40 * 2000);
    assert_int_equal(charged_for_sleeps("580us", &hooks), 40 * 3000);
    assert_int_equal(charged_for_sleeps("5ms", &hooks), 40 * 20000);
    struct sim_costs timers = {.tick_wait = {{1000, 1000, 2000, 4000, 20000}}};
    assert_int_equal(charged_for_sleeps("1ms", &timers), 40 * 4000);
    assert_int_equal(charged_for_sleeps("5ms", &timers), 40 * 20000);
}

/* The period of the clock becomes 8 ms after 16 ms of CPU time, with 320 of 4,000 waits. A quarter of the waits then
 * begins less than the rest of a kernel tick of 4 ms before the next tick of the clock. */
static void a_quarter_of_the_waits_between_sparse_ticks_is_charged_the_timer(void **state)
{
    (void)state;
    static const char app[] = "scenario s \"\"\nduration 600ms\ncores 2\nimage a.so {\n"
                              "method f { repeat 4000 { compute 50us; sleep 60us } }\n}\nthread main main run f\n";
    struct sim_costs timers = {.tick_wait = {{1000, 1000, 1000, 1000, 1000}}};
    uint64_t dense = 320, sparse = 4000 - dense;
    assert_in_range(tracer_ns_of(app, &timers), (dense + sparse / 4) * 1000, (dense + dense / 8 + sparse / 4) * 1000);
}

/* The cost of a wait includes the cost of its hooks. */
static void the_hooks_of_a_wait_are_charged_once(void **state)
{
    (void)state;
    struct sim_costs costs = {.wait_record = {{9000, 9000, 9000, 9000, 9000}},
                              .hook = 300,
                              .scope = 200,
                              .clock = 30,
                              .sample = 500,
                              .frame = 10};
    uint64_t sampler_ns = 30 * 1000, all_ns = charged_for_sleeps("1ms", &costs);
    assert_in_range(all_ns, 40 * 9000, 40 * 9000 + sampler_ns);
}

/* The thread computes for a second. The sampler's passes are soon 4 ms apart. */
static void a_pass_is_charged_by_how_long_the_sampler_has_slept(void **state)
{
    (void)state;
    static const char app[] = "scenario s \"\"\nduration 1s\ncores 2\nimage a.so {\n"
                              "method f { forever { compute 7ms } }\n}\nthread main main run f\n";
    struct sim_costs soon = {.sampler_wake = 10000, .sampler_wake_soon = 10000}, both = soon;
    both.sampler_wake = 40000;
    uint64_t passes = tracer_ns_of(app, &soon) / 10000;
    assert_in_range(passes, 250, 290);
    assert_in_range(tracer_ns_of(app, &both), (passes - 20) * 40000, passes * 40000);
}

/* ---- reconstructed timelines */

static struct sim_score score(void)
{
    struct sim_score s;
    struct sim_score_options o = {p.tracer->interval_main_ns, p.tracer->interval_other_ns, 0};
    assert_int_equal(sim_score(&p.run.truth, &p.reconstruction, &o, &s), STROBE_OK);
    return s;
}

static void long_calls_and_waits_are_claimed_as_they_were(void **state)
{
    (void)state;
    struct sim_run_options options = {.seed = 2, .costs = sim_costs_default};
    play_as(&p,
            "scenario s \"\"\nduration 1s\ncores 2\nmutex m\nimage a.so {\n"
            "method g { compute 60ms }\nmethod f { call g; compute 40ms }\n"
            "method top { repeat 8 { call f; sleep 10ms } }\n"
            "}\nthread main main run top\n",
            sim_policy_strobe(), &options);
    struct sim_score s = score();
    assert_true(s.agreement > 0.97);
    assert_true(s.blocked_error < 0.001);
    assert_int_equal(s.false_merges, 0);
    sim_score_free(&s);
    played_close(&p);
}

/* The backends do the same. The main thread has no begin, because it existed before the engine. */
static void begin_and_end_of_a_thread_are_forced_points(void **state)
{
    (void)state;
    struct sim_run_options options = {.seed = 1, .costs = sim_costs_default};
    play_as(&p,
            "scenario s \"\"\nduration 20ms\ncores 2\nimage a.so {\nmethod brief { compute 1ms }\n"
            "method long { forever { compute 1ms } }\n}\n"
            "thread main main run long\nthread brief run brief\nthread long run long\n",
            sim_policy_strobe(), &options);
    const struct strobe_reader *r = ((const struct sim_strobe *)p.tracer)->reader;
    assert_int_equal(r->thread_count, 3);
    for (uint32_t i = 0; i < r->thread_count; i++) {
        const struct strobe_reader_thread *t = &r->threads[i];
        uint64_t expected = t->is_main ? 0 : !strcmp(t->name, "brief") ? 2 : 1;
        assert_int_equal(t->kind[STROBE_KIND_THREAD].sampled, expected);
        assert_int_equal(t->kind[STROBE_KIND_THREAD].requests, expected);
    }
    check_invariants(1);
    played_close(&p);
}

static void a_thread_that_has_a_tid_again_is_another_thread(void **state)
{
    (void)state;
    struct sim_run_options options = {.seed = 2, .costs = sim_costs_default};
    play_as(&p,
            "scenario s \"\"\nduration 1s\ncores 2\nimage a.so {\nmethod f { compute 20ms; sleep 1ms }\n"
            "method top { repeat 3 { spawn w; join w } }\n}\n"
            "thread main main run top\nthread w x0 tid 70000 reuse_tid run f\n",
            sim_policy_strobe(), &options);
    uint32_t generations = 0;
    for (size_t i = 0; i < p.reconstruction.track_count; i++)
        if (p.reconstruction.tracks[i].tid == 70000)
            assert_int_equal(p.reconstruction.tracks[i].generation, ++generations);
    assert_int_equal(generations, 3);
    played_close(&p);
}

static void the_yardstick_takes_the_requested_number_of_samples(void **state)
{
    (void)state;
    const uint64_t samples[] = {500, 300};
    struct sim_tracer *t;
    struct sim_run_options options = {.seed = 2};
    assert_int_equal(sim_policy_ideal(samples, 2, &t), STROBE_OK);
    play_as(&p,
            "scenario s \"\"\nduration 1s\ncores 4\nimage a.so {\nmethod g { compute 3ms..7ms }\n"
            "method f { repeat 60 { call g; sleep 1ms } }\n}\nthread main main run f\nthread w x3 run f\n",
            t, &options);
    uint64_t main_samples = p.reconstruction.tracks[0].samples, all = p.reconstruction.samples;
    assert_true(main_samples >= 499 && main_samples <= 501);
    assert_true(all >= 796 && all <= 804);
    struct sim_score s = score();
    assert_true(s.agreement > 0.6);
    sim_score_free(&s);
    assert_int_equal(p.run.cpu.tracer_ns, 0);
    played_close(&p);
}

static void a_yardstick_of_endless_samples_is_the_truth(void **state)
{
    (void)state;
    const uint64_t samples[] = {400000};
    struct sim_tracer *t;
    struct sim_run_options options = {.seed = 2};
    assert_int_equal(sim_policy_ideal(samples, 1, &t), STROBE_OK);
    play_as(&p,
            "scenario s \"\"\nduration 400ms\ncores 1\nimage a.so {\nmethod h { compute 100us }\n"
            "method g { call h; compute 200us; call h }\n"
            "method f { repeat 300 { call g; compute 300us; sleep 100us } }\n}\n"
            "thread main main run f\n",
            t, &options);
    struct sim_score s = score();
    assert_true(s.agreement > 0.99);
    sim_score_free(&s);
    played_close(&p);
}

static void policies_are_known_by_name(void **state)
{
    (void)state;
    struct sim_tracer *t;
    assert_int_equal(sim_policy_open("perfect", &t), STROBE_NO_ENTRY);
    for (size_t i = 0; sim_policy_names[i]; i++) {
        if (strcmp(sim_policy_names[i], "ideal") == 0)
            continue;
        assert_int_equal(sim_policy_open(sim_policy_names[i], &t), STROBE_OK);
        assert_string_equal(t->policy, sim_policy_names[i]);
        t->close(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_runs_of_one_seed_leave_the_same_bytes),
        cmocka_unit_test(invariants_hold_under_each_schedule),
        cmocka_unit_test(invariants_hold_with_the_smallest_tables),
        cmocka_unit_test(waits_without_hooks_have_the_names_of_their_calls),
        cmocka_unit_test(each_policy_over_the_engine_keeps_its_invariants),
        cmocka_unit_test(an_engine_that_costs_nothing_changes_nothing),
        cmocka_unit_test(the_work_of_the_engine_is_charged),
        cmocka_unit_test(each_thread_that_is_recorded_is_charged_its_begin_its_end_and_its_clock),
        cmocka_unit_test(the_capture_ends_in_order_although_threads_wait_for_a_core_inside_hooks),
        cmocka_unit_test(each_tick_is_charged_the_handler_that_takes_its_sample),
        cmocka_unit_test(a_tick_that_was_asked_for_is_charged_no_interrupt_of_a_timer),
        cmocka_unit_test(a_wait_is_charged_by_its_length),
        cmocka_unit_test(a_quarter_of_the_waits_between_sparse_ticks_is_charged_the_timer),
        cmocka_unit_test(the_hooks_of_a_wait_are_charged_once),
        cmocka_unit_test(a_pass_is_charged_by_how_long_the_sampler_has_slept),
        cmocka_unit_test(long_calls_and_waits_are_claimed_as_they_were),
        cmocka_unit_test(a_thread_that_has_a_tid_again_is_another_thread),
        cmocka_unit_test(begin_and_end_of_a_thread_are_forced_points),
        cmocka_unit_test(the_yardstick_takes_the_requested_number_of_samples),
        cmocka_unit_test(a_yardstick_of_endless_samples_is_the_truth),
        cmocka_unit_test(policies_are_known_by_name),
    };
    return cmocka_run_group_tests_name("policy strobe", tests, NULL, NULL);
}
