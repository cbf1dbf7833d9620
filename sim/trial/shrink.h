/* Reduces a failing scenario: removes parts as long as the same invariant breaks at the same seed, until no part can be
 * removed (delta debugging; Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE TSE 2002).
 *
 * Each try runs in a separate process, so that crashes and hangs are reduced as well. */
#ifndef STROBE_SIM_TRIAL_SHRINK_H
#define STROBE_SIM_TRIAL_SHRINK_H

#include "sim/trial/swarm.h"

struct sim_shrink_options {
    struct sim_trial_options trial; /* with the seed that fails */
    const char *violation;          /* the violation; two violations are the same when they are equal up to the first
                                       colon */
    uint32_t tries;                 /* at most */
    void (*progress)(void *ctx, uint64_t done, uint64_t all); /* may be NULL */
    void *progress_ctx;
};

/* Returns the smallest failing scenario found, as text (malloc), and the number of tries. The text is the scenario
 * itself when no part can be removed. STROBE_IO: out of memory. */
enum strobe_status sim_shrink(const struct sim_scenario *scenario, const struct sim_shrink_options *options,
                              char **text, uint32_t *tries);

#endif
