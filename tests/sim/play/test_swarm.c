/* Swarms report trials in order, also those that crash. A failing scenario is shrunk as far as possible. */
#include "engine/base/error.h"
#include "sim/trial/shrink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 24, CRASHES_AT = 13 };

typedef void trial_fn(void *ctx, uint64_t place, struct sim_swarm_trial *out);

struct heard {
    uint64_t next;
    char lines[COUNT][64];
};

static void small_trial(void *ctx, uint64_t place, struct sim_swarm_trial *out)
{
    (void)ctx;
    out->random_size = 20;
    out->options = (struct sim_trial_options){.policy = "none", .seed = place + 1};
}

static void crashing_trial(void *ctx, uint64_t place, struct sim_swarm_trial *out)
{
    if (place == CRASHES_AT)
        _Exit(3);
    small_trial(ctx, place, out);
}

static void hear(void *ctx, uint64_t place, const struct sim_result *result, const char *line)
{
    struct heard *h = ctx;
    assert_int_equal(place, h->next++);
    assert_int_equal(result->seed, place + 1);
    strncpy(h->lines[place], line, sizeof h->lines[place] - 1);
}

static struct sim_swarm_outcome swarm(uint32_t jobs, trial_fn *trial, struct heard *h)
{
    struct sim_swarm_options o = {
        .count = COUNT, .jobs = jobs, .line_parts = 4, .trial = trial, .each = hear, .ctx = h};
    struct sim_swarm_outcome outcome;
    struct strobe_error error = {""};
    if (sim_swarm_run(&o, &outcome, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    return outcome;
}

static void results_come_in_order_whatever_the_number_of_jobs(void **state)
{
    (void)state;
    struct heard one = {0}, three = {0};
    assert_int_equal(swarm(1, small_trial, &one).played, COUNT);
    assert_int_equal(swarm(3, small_trial, &three).played, COUNT);
    assert_memory_equal(one.lines, three.lines, sizeof one.lines);
}

static void a_run_that_crashes_has_broken_an_invariant(void **state)
{
    (void)state;
    for (uint32_t jobs = 1; jobs <= 3; jobs++) {
        struct heard h = {0};
        struct sim_swarm_outcome outcome = swarm(jobs, crashing_trial, &h);
        assert_true(outcome.broken);
        assert_int_equal(outcome.place, CRASHES_AT);
        assert_int_equal(outcome.played, CRASHES_AT);
        assert_string_equal(outcome.violation, "crash: exit status 3");
    }
}

static void what_nothing_refers_to_goes_from_a_failing_scenario(void **state)
{
    (void)state;
    static const char text[] =
        "scenario s \"\"\nduration 8ms\ncores 3\nmutex m\nmonitor o\ncond c\nqueue q\nimage a.so\nimage b.so\n"
        "method leaf in b.so { compute 10us; alloc 16 }\n"
        "method work { repeat 20 { lock m { call leaf }; synchronized o { notify c } } }\n"
        "method ui { call leaf; sleep 1ms; alloc 100 }\n"
        "thread main main run ui\nthread w x3 run work\n"
        "expect samples none 1..2\n";
    struct sim_scenario *s;
    struct sim_shrink_options o = {.trial = {.policy = "none", .seed = 1}, .tries = 500, .violation = "test.scn: ..."};
    struct strobe_error error;
    char *small;
    uint32_t tries;
    assert_int_equal(sim_scenario_parse(text, "test.scn", &s, &error), STROBE_OK);
    assert_int_equal(sim_shrink(s, &o, &small, &tries), STROBE_OK);
    const char *gone[] = {"mutex", "monitor", "cond", "queue", "leaf", "work", "thread w", "sleep"};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        if (strstr(small, gone[i]))
            fail_msg("%s is there yet:\n%s", gone[i], small);
    assert_non_null(strstr(small, "expect"));
    free(small);
    sim_scenario_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_come_in_order_whatever_the_number_of_jobs),
        cmocka_unit_test(a_run_that_crashes_has_broken_an_invariant),
        cmocka_unit_test(what_nothing_refers_to_goes_from_a_failing_scenario),
    };
    return cmocka_run_group_tests_name("swarm", tests, NULL, NULL);
}
