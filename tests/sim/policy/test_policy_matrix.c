/* The policy of Matrix on small apps: the methods that its filter omits, the accuracy of its clock, and the losses of
 * its log. */
#include "engine/base/error.h"
#include "engine/method/matrix/matrix_entry.h"
#include "engine/trace/import/matrix/matrix_stack.h"
#include "sim/policy/instrument.h"
#include "sim/policy/policy.h"
#include "sim/score/score.h"
#include "tests/sim/support/played.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)

static struct played p;

static void play_text(const char *body)
{
    char text[4096];
    snprintf(text, sizeof text, "scenario s \"\"\nduration 400ms\ncores 2\n%s", body);
    play(&p, text, sim_policy_matrix(), NULL);
}

static struct sim_score judged(void)
{
    struct sim_score score;
    struct sim_score_options options = {5 * MS, 5 * MS, 0};
    assert_int_equal(sim_score(&p.run.truth, &p.reconstruction, &options, &score), STROBE_OK);
    assert_int_equal(sim_view_score(&p.run.truth, &p.reconstruction, &p.tracer->view, &score), STROBE_OK);
    struct sim_score sums = score;
    sim_score_free(&score);
    return sums;
}

/* ---- the instrumentation pass */

static void methods_get_probes_by_what_they_do_and_whose_they_are(void **state)
{
    (void)state;
    struct strobe_error error = {""};
    struct sim_scenario *s;
    struct sim_instrument probes;
    static const char text[] =
        "scenario s \"\"\nduration 1ms\nmonitor m\nimage boot.oat managed { method framework { call leaf } }\n"
        "image libapp.so { method native { call leaf } }\nimage base.odex managed {\nmethod empty { }\n"
        "method leaf { compute 1us }\nmethod loops { repeat 3 { compute 1us } }\n"
        "method locks { synchronized m { compute 1us } }\nmethod calls { call leaf }\n"
        "method news { alloc 16 }\nmethod throws { choose { 1 { throw } 1 { sleep 1us } } }\n"
        "method deep { try { repeat 2 { choose { 1 { call leaf } 1 { } } } } catch { compute 1us } }\n}\n"
        "thread main main run calls\n";
    assert_int_equal(sim_scenario_parse(text, "s.scn", &s, &error), STROBE_OK);
    struct sim_instrument_options options = {.probe_bytes = 12, .throws = true};
    assert_true(sim_instrument_open(&probes, s, &options));
    for (uint32_t i = 0; i < s->method_count; i++) {
        const char *name = s->methods[i].name;
        bool probed =
            !strcmp(name, "calls") || !strcmp(name, "news") || !strcmp(name, "throws") || !strcmp(name, "deep");
        if (!!probes.id[i] != probed)
            fail_msg("%s has %sprobes", name, probed ? "no " : "");
    }
    assert_int_equal(probes.count, 4);
    assert_int_equal(probes.verdicts[STROBE_MATRIX_TRACED], 4);
    assert_int_equal(probes.verdicts[STROBE_MATRIX_NO_BODY], 1);
    assert_int_equal(probes.verdicts[STROBE_MATRIX_LISTED], 1);
    assert_int_equal(probes.verdicts[STROBE_MATRIX_EMPTY], 1);
    assert_int_equal(probes.verdicts[STROBE_MATRIX_CALLS_NOTHING], 3);
    assert_int_equal(probes.code_bytes, (4 * 2 + 1) * 12);
    sim_instrument_close(&probes);
    sim_scenario_free(s);
}

/* ---- recorded calls */

static const char app[] =
    "image base.odex managed {\nmethod leaf { compute 1ms..4ms }\nmethod work { call leaf; compute 3ms..17ms }\n"
    "method job { repeat 1..4 { call work } }\nmethod rest { sleep 3ms..30ms }\n"
    "method Ui.main { repeat 12 { call job; call rest } }\nmethod Other.run { repeat 30 { call work } }\n}\n"
    "thread main main run Ui.main\nthread other run Other.run\n";

static void lengths_of_calls_are_within_a_tick_of_the_clock(void **state)
{
    (void)state;
    play_text(app);
    struct sim_score score = judged();
    assert_true(score.timed_calls > 20);
    assert_in_range(score.call_error_most_ns, 1, 5 * MS - 1);
    assert_int_equal(score.lost, 0);
    played_close(&p);
}

static void other_threads_and_leaves_are_what_it_can_not_see(void **state)
{
    (void)state;
    play_text(app);
    struct sim_score score = judged();
    assert_int_equal(p.reconstruction.track_count, 1);
    assert_null(track_of(&p.reconstruction, 2));
    assert_int_equal(calls_of(&p.reconstruction, 1, "leaf"), 0);
    assert_int_equal(calls_of(&p.reconstruction, 1, "work"), calls_of(&p.run.truth, 1, "work"));
    uint64_t other = track_of(&p.run.truth, 2)->end_ns - track_of(&p.run.truth, 2)->begin_ns;
    uint64_t blind = time_in(&p.run.truth, 1, "leaf") + time_in(&p.run.truth, 1, "[sleep]");
    assert_in_range(score.unseen_ns, other + blind - MS, other + blind + 10 * MS);
    assert_int_equal(score.methods_in, 5);
    assert_int_equal(score.methods_out, 1);
    played_close(&p);
}

/* The log has no exit of a call that an exception left. By the documented rules the call ends with the next exit of a
 * caller. */
static void calls_left_by_an_exception_end_with_the_call_around_them(void **state)
{
    (void)state;
    play_text("image base.odex managed {\nmethod leaf { compute 1us }\n"
              "method c { call leaf; compute 10ms; throw }\nmethod b { call c; compute 10ms }\n"
              "method a { try { call b } catch { compute 20ms }; call leaf }\n}\nthread main main run a\n");
    assert_string_equal(tracks_text(&p.reconstruction, 1, MS), "0 a  0 b  0 c  30 .  30 .  30 .");
    assert_string_equal(tracks_text(&p.run.truth, 1, MS),
                        "0 a  0 b  0 c  0 leaf  0 .  10 .  10 .  30 leaf  30 .  30 .");
    played_close(&p);
}

/* Between messages the clock stands still. The begin and end of a message set it. Within a message it has the time of
 * the last tick. */
static void each_probe_costs_also_on_threads_that_are_not_recorded(void **state)
{
    (void)state;
    struct sim_costs costs = {.probe = 100, .probe_other = 7};
    play(&p,
         "scenario s \"\"\nduration 400ms\ncores 3\nimage base.odex managed {\nmethod b { compute 20ms; alloc 16 }\n"
         "method a { call b; call b }\n}\nthread main main run a\nthread o run a\n",
         sim_policy_matrix(), &costs);
    assert_int_equal(p.run.threads[0]->tracer_ns, 3 * 2 * 100);
    assert_int_equal(p.run.threads[1]->tracer_ns, 3 * 2 * 7);
    played_close(&p);
}

static void messages_begin_and_end_at_exact_times(void **state)
{
    (void)state;
    play_text("queue q\nimage base.odex managed {\nmethod leaf { compute 1us }\nmethod job { compute 7ms; call leaf }\n"
              "method a { post job to q after 11ms; post job to q after 103ms; loop q }\n}\nthread main main run a\n");
    const struct sim_track *t = track_of(&p.reconstruction, 1), *truth = track_of(&p.run.truth, 1);
    assert_int_equal(t->message_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(t->messages[i].begin_ns / MS, truth->messages[i].begin_ns / MS);
        assert_int_equal(t->messages[i].end_ns / MS, truth->messages[i].end_ns / MS);
    }
    assert_string_equal(tracks_text(&p.reconstruction, 1, MS), "0 a  11 job  15 .  103 job  108 .  400 .");
    played_close(&p);
}

/* The scored calls equal those that the engine's reader of Matrix logs finds. */
static void the_engines_reader_finds_the_same_in_the_log(void **state)
{
    (void)state;
    play_text(app);
    uint64_t ms = 0, calls = 0;
    struct sim_track_entries {
        uint64_t at[4096];
        size_t count;
    } log = {.count = 0};
    const struct sim_track *t = track_of(&p.reconstruction, 1);
    uint32_t open[64], depth = 0;
    for (size_t i = 0; i < t->event_count; i++) {
        const struct sim_event *e = &t->events[i];
        bool in = e->name != SIM_CALL_END;
        uint32_t id = in ? open[depth++] = e->name + 1 : open[--depth];
        log.at[log.count++] = strobe_matrix_entry(in, id, e->time_ns / MS);
    }
    struct strobe_matrix_builder *b = strobe_matrix_builder_open(STROBE_MATRIX_DOCUMENTED);
    struct strobe_matrix_stack stack;
    assert_int_equal(strobe_matrix_build(b, log.at, log.count, false, STROBE_MATRIX_NO_END, &stack, NULL), STROBE_OK);
    for (size_t i = 0; i < stack.count; i++)
        if (!strcmp(p.reconstruction.names.texts[stack.items[i].method - 1], "work")) {
            ms += (uint64_t)stack.items[i].duration_ms;
            calls += (uint64_t)stack.items[i].count;
        }
    assert_int_equal(ms, time_in(&p.reconstruction, 1, "work") / MS);
    assert_int_equal(calls, calls_of(&p.reconstruction, 1, "work"));
    strobe_matrix_builder_close(b);
    played_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_get_probes_by_what_they_do_and_whose_they_are),
        cmocka_unit_test(lengths_of_calls_are_within_a_tick_of_the_clock),
        cmocka_unit_test(other_threads_and_leaves_are_what_it_can_not_see),
        cmocka_unit_test(calls_left_by_an_exception_end_with_the_call_around_them),
        cmocka_unit_test(each_probe_costs_also_on_threads_that_are_not_recorded),
        cmocka_unit_test(messages_begin_and_end_at_exact_times),
        cmocka_unit_test(the_engines_reader_finds_the_same_in_the_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
