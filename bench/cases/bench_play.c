/* Whole trials of the lab: played under the engine, reconstructed and scored. Run it from the top of the tree, where
 * the fixtures are. */
#include "bench/bench.h"
#include "engine/base/error.h"
#include "sim/trial/trial.h"

/* Limits for ten seconds of an app with 40 threads and two million calls; and for a swarm's small scenario of 20 s. */
static const double COLD_START_MOST_MS = 5000, SEED_MOST_MS = 20;
enum { SEEDS = 100 };

struct piece {
    const char *path;
    uint64_t seeds;
};
static const struct piece cold_start = {"fixtures/scenarios/cold_start.scn", 1};
static const struct piece small = {"fixtures/scenarios/abnormal_stack.scn", SEEDS};

/* Runs trials at seeds 1, 2, ... */
static void play(struct gbench_state *s, const void *arg)
{
    const struct piece *piece = arg;
    struct sim_scenario *scenario;
    struct sim_trial trial;
    struct strobe_error error = {""};
    if (sim_scenario_read(piece->path, &scenario, &error) != STROBE_OK) {
        gbench_give_up(s, "no fixture here");
        return;
    }
    while (gbench_loop(s))
        for (uint64_t seed = 1; seed <= piece->seeds; seed++) {
            const struct sim_trial_options options = {.policy = "strobe", .seed = seed};
            if (sim_trial_run(scenario, &options, &trial, &error) != STROBE_OK) {
                gbench_give_up(s, "a trial failed");
                break;
            }
            sim_trial_free(&trial);
        }
    sim_scenario_free(scenario);
}

void bench_play_add(void)
{
    gbench_add(&(struct gbench_spec){
        .name = "play/cold_start", .run = play, .arg = &cold_start, .turns = 1, .clock = GBENCH_WALL});
    gbench_add(&(struct gbench_spec){
        .name = "play/seed", .run = play, .arg = &small, .turns = 1, .batch = SEEDS, .clock = GBENCH_WALL});
}

void bench_play_rows(void)
{
    bench_row_most("cold_start, played and scored", "ms", gbench_median_ns("play/cold_start") / 1e6,
                   COLD_START_MOST_MS);
    bench_row_most("a seed of a small scenario", "ms", gbench_median_ns("play/seed") / 1e6, SEED_MOST_MS);
}
