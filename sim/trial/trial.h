/* One trial: a scenario played under one policy at one seed; its claim scored against its truth, its promises checked.
 *
 * Allocates; one trial at a time in a process. */
#ifndef STROBE_SIM_TRIAL_TRIAL_H
#define STROBE_SIM_TRIAL_TRIAL_H

#include "engine/base/error.h"
#include "sim/policy/policy.h"
#include "sim/score/result.h"

struct sim_trial_options {
    const char *policy; /* see sim/policy/policy.h */
    uint64_t seed;
    enum sim_schedule schedule;
    const struct sim_costs *costs; /* NULL = sim_costs_default */
    bool real;                     /* in a process of its own: real threads, or a runtime; see sim_real_refuses */
    const char *runtime;           /* of real: an Android runtime's name (sim/genuine/runtime.h); NULL = none */
    bool is_virtual;               /* of a runtime: a fake, in virtual time */
    const char *folder;            /* an existing folder for session, trace, true trace; NULL = nothing is kept */
    bool replace;                  /* overwrite what is there */
    bool findings;                 /* look for findings, in truth and claim */
    uint32_t cores;                /* 0 = as many as the scenario says */
    bool sets_busy;                /* `busy` threads of other programs beside it, not as many as the scenario says */
    uint32_t busy;                 /* with either of these the scenario's expectations are not judged */
    const uint64_t *ideal_samples; /* for `ideal`: samples of each thread spec; NULL = as many as `strobe` takes */
};

struct sim_trial {
    struct sim_result result; /* with the first promise that was not kept, in its `violation` */
    uint64_t *samples;        /* taken of each thread spec; scenario->thread_count of them; real mode: 0 */
};

/* STROBE_NO_ENTRY: no such policy. STROBE_IO, STROBE_EXISTS, in real mode STROBE_BAD_INPUT, STROBE_UNSUPPORTED: `error`
 * has one line. On STROBE_OK the caller frees *out. */
enum strobe_status sim_trial_run(const struct sim_scenario *scenario, const struct sim_trial_options *options,
                                 struct sim_trial *out, struct strobe_error *error);
void sim_trial_free(struct sim_trial *trial);

#endif
