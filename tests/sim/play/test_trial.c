/* Trials: the invariants of each run, checked on whole runs of small scenarios. */
#include "engine/base/error.h"
#include "sim/trial/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct {
    struct sim_trial trial;
    struct sim_scenario *scenario;
} run;

static void try_out(const char *text, const char *policy, uint64_t seed, enum sim_schedule schedule)
{
    struct strobe_error error = {""};
    struct sim_trial_options options = {.policy = policy, .seed = seed, .schedule = schedule};
    if (sim_scenario_parse(text, "test.scn", &run.scenario, &error) != STROBE_OK ||
        sim_trial_run(run.scenario, &options, &run.trial, &error) != STROBE_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
}

static void done(void)
{
    sim_trial_free(&run.trial);
    sim_scenario_free(run.scenario);
}

/* Collections that begin while the threads that stopped for the previous one are being resumed. */
static void a_thread_that_stops_for_a_collection_is_resumed_by_its_end(void **state)
{
    (void)state;
    static const char text[] =
        "scenario s \"\"\nduration 20ms\ncores 2\nimage a.odex managed {\n"
        "method work { repeat 100 { compute 30us } }\n}\n"
        "image n.so {\nmethod collect { repeat 12 { gc takes 2us..900us; compute 1us..20us } }\n}\n"
        "thread main main run work\nthread w x3 run work\nthread c x2 run collect\n";
    uint64_t claimed = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        try_out(text, "strobe", seed, seed % 2 ? SIM_FAIR : SIM_ADVERSARIAL);
        const struct sim_score *s = &run.trial.result.score;
        if (s->right_wakers != s->claimed_wakers)
            fail_msg("seed %llu: %llu of %llu wakers are right", (unsigned long long)seed,
                     (unsigned long long)s->right_wakers, (unsigned long long)s->claimed_wakers);
        claimed += s->claimed_wakers;
        done();
    }
    assert_true(claimed > 100);
}

static void expect_kept(const char *text, uint64_t last, const char *policy)
{
    for (uint64_t seed = 1; seed <= last; seed++) {
        try_out(text, policy, seed, seed % 2 ? SIM_FAIR : SIM_ADVERSARIAL);
        if (run.trial.result.violation[0])
            fail_msg("seed %llu: %s", (unsigned long long)seed, run.trial.result.violation);
        done();
    }
}

/* With one core, a pass waits long for a thread to stop. Waits that other threads begin meanwhile are later than the
 * pass. */
static void a_wait_that_began_after_the_pass_is_no_sample_of_before(void **state)
{
    (void)state;
    expect_kept("scenario s \"\"\nduration 150ms\ncores 1\nqueue q vsync 3ms frame f\nimage a.odex managed {\n"
                "method f { compute 100us..900us }\nmethod ui { loop q }\n"
                "method work { forever { compute 7ms; sleep 2ms } }\n}\n"
                "thread w x3 run work\nthread main main start 1ms run ui\n",
                30, "strobe");
}

static void wakers_of_locks_are_right_each_time(void **state)
{
    (void)state;
    expect_kept("scenario s \"\"\nduration 30ms\ncores 3\nmutex a\nmonitor b\nimage a.so {\n"
                "method one { lock a { compute 1us..40us } }\n"
                "method both { synchronized b { compute 5us; call one; compute 1us..9us } }\n"
                "method work { forever { call one; call both; compute 1us..30us } }\n}\n"
                "thread main main run work\nthread w x4 run work\n",
                30, "strobe");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_stops_for_a_collection_is_resumed_by_its_end),
        cmocka_unit_test(a_wait_that_began_after_the_pass_is_no_sample_of_before),
        cmocka_unit_test(wakers_of_locks_are_right_each_time),
    };
    return cmocka_run_group_tests_name("trial", tests, NULL, NULL);
}
