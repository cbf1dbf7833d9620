/* Fixed work of the lab for counting instructions, as engine.c for the engine.
 *
 *     gate-lab parse | switch | play | explore
 *     gate-lab modes
 *
 * The gate counts the instructions of the function measured_MODE and its callees, also on the virtual threads that it
 * starts. */
#include "bench/gate/modes.h"
#include "engine/base/error.h"
#include "engine/base/hint.h"
#include "sim/explore/access.h"
#include "sim/explore/explore.h"
#include "sim/trial/trial.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARSES = 100, SWITCHES = 50000 };

/* A scenario with calls, locks, waits, messages, allocations and an exception. It is not a fixture, so that counts
 * change only with the lab. */
static const char app[] =
    "scenario gate \"Fixed work for the instruction gate\"\n"
    "duration 200ms\n"
    "cores 2\n"
    "mutex cache\n"
    "monitor state\n"
    "cond ready\n"
    "queue ui vsync 8ms frame Ui.frame\n"
    "image libapp.so {\n"
    "    method Cache.get { lock cache { compute 20us..80us } }\n"
    "    method Decode.run { alloc 256; compute lognormal(90us, 0.5); free 1 }\n"
    "    method Parse.deep { compute 30us }\n"
    "    method Risk.take { choose { 1 { throw } 4 { compute 10us } } }\n"
    "    method Ui.input { call Cache.get; synchronized state { notify_all ready } }\n"
    "    method Ui.frame { repeat 6 { call Cache.get }; recurse Parse.deep 5..30; post Ui.input to ui after 2ms }\n"
    "    method Ui.run { loop ui }\n"
    "    method Worker.run {\n"
    "        forever {\n"
    "            lock cache { call Decode.run }\n"
    "            try { call Risk.take } catch { compute 5us }\n"
    "            synchronized state { wait ready holding state timeout 3ms }\n"
    "        }\n"
    "    }\n"
    "    method Io.run { forever { read 4KiB takes exp(300us); call Decode.run } }\n"
    "}\n"
    "thread main main run Ui.run\n"
    "thread worker x3 run Worker.run\n"
    "thread io run Io.run\n";

STROBE_NOINLINE void measured_parse(void);
STROBE_NOINLINE void measured_switch(struct sim_kernel *kernel);
STROBE_NOINLINE void measured_play(const struct sim_scenario *scenario);
STROBE_NOINLINE void measured_explore(const struct explore_program *program);

static void check(bool good, const char *why)
{
    if (!good) {
        fprintf(stderr, "gate-lab: %s\n", why);
        exit(1);
    }
}

static struct sim_scenario *parse_app(void)
{
    struct sim_scenario *s;
    struct strobe_error error = {""};
    check(sim_scenario_parse(app, "app.scn", &s, &error) == STROBE_OK, error.text);
    return s;
}

void measured_parse(void)
{
    for (int i = 0; i < PARSES; i++)
        sim_scenario_free(parse_app());
}

static void parse(void)
{
    measured_parse();
}

static void yields(void *arg)
{
    (void)arg;
    for (int i = 0; i < SWITCHES / 2; i++)
        sim_yield();
}

void measured_switch(struct sim_kernel *kernel)
{
    struct strobe_error error = {""};
    check(sim_kernel_run(kernel, &error) == SIM_END_DONE, error.text);
}

static void switches(void)
{
    const struct sim_kernel_options options = {.cores = 1, .limit_ns = UINT64_MAX};
    const struct sim_thread_options thread = {.entry = yields};
    struct sim_kernel *kernel = sim_kernel_open(&options, NULL);
    check(kernel && sim_thread_start(kernel, &thread) && sim_thread_start(kernel, &thread), "out of memory");
    measured_switch(kernel);
    sim_kernel_close(kernel);
}

void measured_play(const struct sim_scenario *scenario)
{
    struct sim_trial trial;
    struct sim_trial_options options = {.policy = "strobe", .seed = 1};
    struct strobe_error error = {""};
    check(sim_trial_run(scenario, &options, &trial, &error) == STROBE_OK, error.text);
    check(!trial.result.violation[0], trial.result.violation);
    sim_trial_free(&trial);
}

static void play(void)
{
    struct sim_scenario *scenario = parse_app();
    measured_play(scenario);
    sim_scenario_free(scenario);
}

/* ---- explore: two writers and a reader, of a flag, its data and a counter */

struct board {
    _Atomic uint32_t data, flag, counter;
};

static const struct explore_site here = {NULL, "here"};

static void writes(void *state)
{
    struct board *b = state;
    for (uint32_t i = 0; i < 2; i++) {
        explore_store(&b->data, 4, i + 1, memory_order_relaxed, here);
        explore_fence(memory_order_release, here);
        explore_store(&b->flag, 4, i + 1, memory_order_relaxed, here);
        explore_fetch(&b->counter, 4, EXPLORE_ADD, 1, memory_order_acq_rel, here);
    }
}

static void reads(void *state)
{
    struct board *b = state;
    for (uint32_t i = 0; i < 2; i++) {
        explore_load(&b->flag, 4, memory_order_acquire, here);
        explore_load(&b->data, 4, memory_order_relaxed, here);
    }
}

void measured_explore(const struct explore_program *program)
{
    struct explore_options options;
    struct explore_result result;
    explore_options_default(&options);
    check(explore_run(program, &options, &result) == STROBE_OK && result.complete, "the exploration did not end");
    check(!result.failure.fault, result.failure.message);
    explore_result_free(&result);
}

static void explore(void)
{
    static const struct explore_program program = {.name = "gate",
                                                   .what = "fixed work",
                                                   .thread_count = 3,
                                                   .state_bytes = sizeof(struct board),
                                                   .thread = {writes, writes, reads},
                                                   .quick = 1};
    measured_explore(&program);
}

int main(int argc, char **argv)
{
    static const struct gate_mode modes[] = {
        {"parse", parse},
        {"switch", switches},
        {"play", play},
        {"explore", explore},
    };
    return gate_run_mode(modes, sizeof modes / sizeof *modes, argc, argv);
}
