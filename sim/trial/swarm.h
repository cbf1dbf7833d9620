/* A swarm: many trials, spread over processes.
 *
 * Worker w of `jobs` plays the trials at places w, w + jobs, ... and sends each result as one line. Results are handed
 * on in the order of places, whatever the number of jobs. A crash or a hang counts as a broken invariant. Forks; not
 * thread-safe. */
#ifndef STROBE_SIM_TRIAL_SWARM_H
#define STROBE_SIM_TRIAL_SWARM_H

#include "engine/base/error.h"
#include "sim/trial/trial.h"

struct sim_swarm_trial {
    const struct sim_scenario *scenario; /* NULL: a random scenario ... */
    uint32_t random_size;                /* ... of this size, generated from the seed */
    struct sim_trial_options options;
};

struct sim_swarm_options {
    uint64_t count;    /* of trials */
    uint32_t jobs;     /* processes, at least 1 */
    size_t line_parts; /* methods and threads in each result, at most */
    bool go_on;        /* continue after broken invariants, but not after crashes */

    /* Fills in the trial at a place, 0 .. count - 1. *out is zeroed. Called in a worker. */
    void (*trial)(void *ctx, uint64_t place, struct sim_swarm_trial *out);

    /* Called for each result, in order of places. `line` is its JSON without newline. May be NULL. */
    void (*each)(void *ctx, uint64_t place, const struct sim_result *result, const char *line);

    /* Called for a trial that could not be played, such as a scenario that a runtime cannot express. `status` is that
     * of sim_trial_run. The swarm goes on. NULL: such a trial ends the swarm. */
    void (*refused)(void *ctx, uint64_t place, enum strobe_status status, const char *why);
    void *ctx;
    void (*progress)(void *ctx, uint64_t done, uint64_t all); /* may be NULL */
    void *progress_ctx;
};

struct sim_swarm_outcome {
    uint64_t played;
    bool broken;         /* an invariant was broken. The first case is described by: */
    uint64_t place;      /* the trial, */
    char violation[640]; /* and the violation */
};

/* STROBE_OK also when an invariant was broken; else as sim_trial_run. */
enum strobe_status sim_swarm_run(const struct sim_swarm_options *options, struct sim_swarm_outcome *out,
                                 struct strobe_error *error);

#endif
