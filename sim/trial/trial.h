/* One trial: plays a scenario under one policy at one seed, scores the reconstructed timeline against the truth, and
 * checks the invariants.
 *
 * Allocates. A process runs one trial at a time. */
#ifndef STROBE_SIM_TRIAL_TRIAL_H
#define STROBE_SIM_TRIAL_TRIAL_H

#include "engine/base/error.h"
#include "sim/policy/policy.h"
#include "sim/score/result.h"

struct sim_trial_options {
    const char *policy; /* see sim/policy/policy.h */
    uint64_t seed;
    enum sim_schedule schedule;
    const struct sim_costs *costs; /* NULL: sim_costs_default */
    bool real;                     /* play in a separate process: on real threads, or in a runtime; see
                                      sim_real_refuses */
    const char *runtime;           /* with `real`: an Android runtime's name (sim/genuine/runtime.h); NULL: no
                                      runtime */
    bool is_virtual;               /* with `runtime`: a fake runtime, in virtual time */
    const char *folder;            /* an existing folder for session, trace and true trace; NULL: no file is kept */
    bool replace;                  /* overwrite existing files */
    /* Gets both timelines after the score, before they are freed; NULL: not asked for. Its failure is the trial's. */
    enum strobe_status (*keep)(void *ctx, const struct sim_tracks *truth, const struct sim_tracks *reconstruction);
    void *keep_ctx;
    bool findings;                 /* search for findings, in truth and reconstruction */
    uint32_t cores;                /* 0: as the scenario says */
    bool sets_busy;                /* use `busy` instead of the scenario's number */
    uint32_t busy;                 /* threads of other programs. With `cores` or `sets_busy` the scenario's expectations
                                      are not judged */
    const uint64_t *ideal_samples; /* for `ideal`: number of samples of each thread spec; NULL: as many as `strobe`
                                      takes */
};

struct sim_trial {
    struct sim_result result; /* `violation` holds the first invariant that was broken */
    uint64_t *samples;        /* number of samples of each thread spec, scenario->thread_count entries */
};

/* STROBE_NO_ENTRY: no policy has that name. STROBE_IO, STROBE_EXISTS; in real mode also STROBE_BAD_INPUT,
 * STROBE_UNSUPPORTED: `error` has one line. On STROBE_OK the caller frees *out. */
enum strobe_status sim_trial_run(const struct sim_scenario *scenario, const struct sim_trial_options *options,
                                 struct sim_trial *out, struct strobe_error *error);
void sim_trial_free(struct sim_trial *trial);

#endif
