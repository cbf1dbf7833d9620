/* What is left to chance in a scenario, drawn in the same way by every player, virtual or real: so the same seed does
 * the same work wherever it is played.
 *
 * Each thread draws from a stream of its own, in the order in which it does things: first its start, when the scenario
 * starts it (not when another thread does); then for each operation its amount, for one of a device then its size, and
 * for a choice then its arm.
 * Constants draw nothing. Repeated blocks draw anew each time. */
#ifndef STROBE_SIM_RUNTIME_DRAWS_H
#define STROBE_SIM_RUNTIME_DRAWS_H

#include "sim/app/scenario.h"

/* The stream of the index-th thread (from 0) of a thread spec, in order of start: those that the scenario starts come
 * first. */
static inline struct sim_random sim_draws_of_thread(uint64_t seed, uint32_t spec, uint32_t index)
{
    return sim_random_seed(seed, 1 + ((uint64_t)spec << 32 | index));
}

/* What an operation asks for. Its size is drawn, but changes nothing: a device is as slow as the scenario says. */
static inline uint64_t sim_draw_amount(const struct sim_op *op, struct sim_random *r)
{
    uint64_t amount = sim_dist_draw(&op->amount, r);
    if (op->size.kind != SIM_DIST_CONSTANT)
        sim_dist_draw(&op->size, r);
    return amount;
}

/* The arm of a CHOOSE: its number in scenario->arms. Weights add up to at least 1. */
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
