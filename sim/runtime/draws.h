/* The random choices of a scenario. Every player, virtual or real, draws them in the same way, so the same seed does
 * the same work everywhere.
 *
 * Each thread draws from its own stream, in the order of its actions. The first draw is its start, when the scenario
 * starts it (not when another thread does). Each operation then draws its amount; a device operation then draws its
 * size; a choice then draws its arm. Constants draw nothing. A repeated block draws again in each round. */
#ifndef STROBE_SIM_RUNTIME_DRAWS_H
#define STROBE_SIM_RUNTIME_DRAWS_H

#include "sim/app/scenario.h"

/* Returns the stream of the index-th thread (from 0) of a thread spec, in order of start. Threads that the scenario
 * starts come first. */
static inline struct sim_random sim_draws_of_thread(uint64_t seed, uint32_t spec, uint32_t index)
{
    return sim_random_seed(seed, 1 + ((uint64_t)spec << 32 | index));
}

/* Draws the amount of an operation. Also draws the size, which has no effect: the scenario sets the device's
 * latency. */
static inline uint64_t sim_draw_amount(const struct sim_op *op, struct sim_random *r)
{
    uint64_t amount = sim_dist_draw(&op->amount, r);
    if (op->size.kind != SIM_DIST_CONSTANT)
        sim_dist_draw(&op->size, r);
    return amount;
}

/* Draws the arm of a CHOOSE and returns its number in scenario->arms. The weights add up to at least 1. */
static inline uint32_t sim_draw_arm(const struct sim_scenario *s, const struct sim_op *op, struct sim_random *r)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < op->count; i++)
        all += s->arms[op->first + i].weight;
    uint64_t at = sim_random_below(r, all);
    uint32_t arm = op->first;
    while (at >= s->arms[arm].weight)
        at -= s->arms[arm++].weight;
    return arm;
}

#endif
