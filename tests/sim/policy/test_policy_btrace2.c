/* The policy of btrace 2.0 on small apps: complete calls are exact. It writes a record at a call's exit, so some calls
 * are missing. */
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
    snprintf(text, sizeof text,
             "scenario s \"\"\nduration 400ms\ncores 2\nimage base.odex managed {\n"
             "method leaf { compute 1ms }\n%s",
             body);
    play(&p, text, sim_policy_btrace2(), NULL);
}

static void calls_that_ended_are_exact(void **state)
{
    (void)state;
    play_text("method work { call leaf; compute 3ms..17ms }\nmethod job { repeat 1..4 { call work } }\n"
              "method a { repeat 6 { call job } }\nmethod other { repeat 9 { call work } }\n}\n"
              "thread main main run a\nthread o run other\n");
    struct sim_score score;
    struct sim_score_options options = {1, 1, 0};
    assert_int_equal(sim_score(&p.run.truth, &p.reconstruction, &options, &score), STROBE_OK);
    assert_int_equal(sim_view_score(&p.run.truth, &p.reconstruction, &p.tracer->view, &score), STROBE_OK);
    assert_true(score.agreement_seen == 1 && score.timed_calls > 20);
    assert_int_equal(score.call_error_most_ns, 0);
    sim_score_free(&score);
    played_close(&p);
}

/* A call that an exception unwinds has no record. The call that threw it has one. */
static void what_an_exception_passes_through_is_missing(void **state)
{
    (void)state;
    play_text("method c { call leaf; compute 9ms; throw }\nmethod b { call c; compute 10ms }\n"
              "method a { try { call b } catch { compute 20ms }; call leaf }\n}\nthread main main run a\n");
    assert_string_equal(tracks_text(&p.reconstruction, 1, MS), "0 a  0 c  10 .  31 .");
    assert_int_equal(calls_of(&p.run.truth, 1, "b"), 1);
    played_close(&p);
}

/* A method that catches its own exception has a record of the throw and one of its return. */
static void a_method_that_goes_on_after_a_throw_still_has_its_return(void **state)
{
    (void)state;
    play_text("method c { try { call leaf; compute 3ms; throw } catch { compute 2ms } }\n"
              "method a { call c; call leaf }\n}\nthread main main run a\n");
    assert_string_equal(tracks_text(&p.reconstruction, 1, MS), "0 a  0 c  0 c  4 .  6 .  7 .");
    played_close(&p);
}

static void what_has_not_ended_is_missing(void **state)
{
    (void)state;
    play_text("method b { call leaf }\nmethod a { repeat 3 { call b }; sleep 10s }\n}\nthread main main run a\n");
    assert_string_equal(tracks_text(&p.reconstruction, 1, MS), "0 b  1 .  1 b  2 .  2 b  3 .");
    played_close(&p);
}

static void a_call_shorter_than_a_microsecond_has_no_record(void **state)
{
    (void)state;
    play_text("method short { alloc 16; compute 900ns }\nmethod b { repeat 5 { call short }; call leaf }\n"
              "method a { call b }\n}\nthread main main run a\n");
    assert_int_equal(calls_of(&p.reconstruction, 1, "short"), 0);
    assert_int_equal(calls_of(&p.reconstruction, 1, "b"), 1);
    assert_int_equal(p.reconstruction.lost, 0);
    played_close(&p);
}

/* A record has 15 bits for the thread's id. */
static void threads_whose_id_does_not_fit_are_lost_and_counted(void **state)
{
    (void)state;
    play_text("method b { call leaf }\nmethod a { repeat 3 { call b } }\n}\nthread main main run a\n"
              "thread o tid 40000 run a\n");
    assert_int_equal(p.reconstruction.track_count, 1);
    assert_int_equal(p.reconstruction.lost, 4);
    played_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_ended_are_exact),
        cmocka_unit_test(what_an_exception_passes_through_is_missing),
        cmocka_unit_test(a_method_that_goes_on_after_a_throw_still_has_its_return),
        cmocka_unit_test(what_has_not_ended_is_missing),
        cmocka_unit_test(a_call_shorter_than_a_microsecond_has_no_record),
        cmocka_unit_test(threads_whose_id_does_not_fit_are_lost_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
