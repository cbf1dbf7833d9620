/* Makes a failing scenario small: takes parts out as long as the same promise is broken at the same seed, until nothing
 * more can go (delta debugging; Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE TSE
 * 2002).
 *
 * Each try is a run in a process of its own, so crashes and hangs shrink as well. */
#ifndef STROBE_SIM_TRIAL_SHRINK_H
#define STROBE_SIM_TRIAL_SHRINK_H

#include "sim/trial/swarm.h"

struct sim_shrink_options {
    struct sim_trial_options trial; /* with the seed that fails */
    const char *violation;          /* what it broke; the same is what comes before the first colon */
    uint32_t tries;                 /* at most */
    void (*progress)(void *ctx, uint64_t done, uint64_t all); /* may be NULL */
    void *progress_ctx;
};

/* The smallest failing scenario found, as text (malloc), and the tries it took; the scenario itself when nothing could
 * go. STROBE_IO: out of memory. */
enum strobe_status sim_shrink(const struct sim_scenario *scenario, const struct sim_shrink_options *options,
                              char **text, uint32_t *tries);

#endif
