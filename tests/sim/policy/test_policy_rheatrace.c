/* The policy of RheaTrace on small apps: instrumented calls are exact, also when exceptions leave them. */
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

static void play_text(const char *body, bool main_only)
{
    char text[4096];
    snprintf(text, sizeof text, "scenario s \"\"\nduration 400ms\ncores 2\n%s", body);
    play(&p, text, sim_policy_rheatrace(main_only), NULL);
}

static struct sim_score judged(void)
{
    struct sim_score score;
    struct sim_score_options options = {1, 1, 0};
    assert_int_equal(sim_score(&p.run.truth, &p.reconstruction, &options, &score), STROBE_OK);
    assert_int_equal(sim_view_score(&p.run.truth, &p.reconstruction, &p.tracer->view, &score), STROBE_OK);
    struct sim_score sums = score;
    sim_score_free(&score);
    return sums;
}

static const char app[] =
    "image base.odex managed {\nmethod leaf { compute 1ms..4ms }\nmethod work { call leaf; compute 3ms..17ms }\n"
    "method job { repeat 1..4 { call work }; read 64KiB takes 2ms..5ms }\nmethod rest { sleep 3ms..30ms }\n"
    "method Ui.main { repeat 12 { call job; call rest } }\nmethod Other.run { repeat 30 { call work } }\n}\n"
    "thread main main run Ui.main\nthread other run Other.run\n";

static void what_is_instrumented_is_exact_on_all_threads(void **state)
{
    (void)state;
    play_text(app, false);
    struct sim_score score = judged();
    assert_int_equal(p.reconstruction.track_count, 2);
    assert_true(score.agreement_seen == 1);
    assert_true(score.timed_calls > 40);
    assert_int_equal(score.call_error_most_ns, 0);
    assert_int_equal(score.lost, 0);
    played_close(&p);
}

static void with_main_only_no_other_thread_is_recorded(void **state)
{
    (void)state;
    play_text(app, true);
    struct sim_score score = judged();
    assert_int_equal(p.reconstruction.track_count, 1);
    assert_true(p.reconstruction.tracks[0].is_main && score.agreement_seen == 1);
    assert_true(score.unseen > 0.5);
    played_close(&p);
}

/* A file operation has a label and is shown as a wait. One of less than 1024 bytes has no label. */
static void file_operations_are_recorded_and_small_ones_are_not(void **state)
{
    (void)state;
    play_text("image base.odex managed {\nmethod a { open takes 1ms; read 4KiB takes 2ms; read 100 takes 4ms; "
              "write 2KiB takes 8ms; sync takes 16ms }\n}\nthread main main run a\n",
              false);
    assert_string_equal(tracks_text(&p.reconstruction, 1, MS),
                        "0 a  0 [open]  1 .  1 [read]  3 .  7 [write]  15 .  15 [sync]  31 .  "
                        "31 .");
    assert_int_equal(track_of(&p.reconstruction, 1)->wait_count, 4);
    played_close(&p);
}

/* Rule LAST: a call that an exception unwinds ends at the last event of its thread, which is the throw. */
static void calls_left_by_an_exception_end_where_it_was_thrown(void **state)
{
    (void)state;
    play_text("image base.odex managed {\nmethod leaf { compute 1ms }\nmethod c { call leaf; compute 9ms; throw }\n"
              "method b { call c; compute 10ms }\nmethod a { try { call b } catch { compute 20ms }; call leaf }\n}\n"
              "thread main main run a\n",
              false);
    struct sim_score score = judged();
    assert_string_equal(tracks_text(&p.reconstruction, 1, MS), "0 a  0 b  0 c  10 .  10 .  31 .");
    assert_true(score.agreement_seen == 1);
    played_close(&p);
}

/* The method catches its exception itself, so the exception leaves no call. */
static void a_throw_that_its_method_catches_ends_nothing(void **state)
{
    (void)state;
    play_text("image base.odex managed {\nmethod leaf { compute 1ms }\n"
              "method b { try { call leaf; throw } catch { compute 5ms }; compute 4ms }\nmethod a { call b }\n}\n"
              "thread main main run a\n",
              false);
    assert_string_equal(tracks_text(&p.reconstruction, 1, MS), "0 a  0 b  10 .  10 .");
    played_close(&p);
}

/* The method of a frame belongs to the framework and is not instrumented. The framework's own section stands for it. */
static void frames_are_known_by_the_frameworks_own_mark(void **state)
{
    (void)state;
    play_text("queue q vsync 100ms frame Choreographer.doFrame\nimage boot.oat managed {\n"
              "method Choreographer.doFrame { compute 4ms; call Job.run }\n}\nimage base.odex managed {\n"
              "method leaf { compute 1ms }\nmethod Job.run { call leaf }\nmethod a { loop q }\n}\n"
              "thread main main run a\n",
              false);
    assert_int_equal(calls_of(&p.reconstruction, 1, "Choreographer.doFrame"), 3);
    assert_int_equal(time_in(&p.reconstruction, 1, "Choreographer.doFrame") / MS, 3 * 5);
    struct sim_score score = judged();
    assert_true(score.agreement_seen == 1);
    played_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_instrumented_is_exact_on_all_threads),
        cmocka_unit_test(with_main_only_no_other_thread_is_recorded),
        cmocka_unit_test(file_operations_are_recorded_and_small_ones_are_not),
        cmocka_unit_test(calls_left_by_an_exception_end_where_it_was_thrown),
        cmocka_unit_test(a_throw_that_its_method_catches_ends_nothing),
        cmocka_unit_test(frames_are_known_by_the_frameworks_own_mark),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
