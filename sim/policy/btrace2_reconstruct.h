/* Reconstructs a timeline from btrace 2.0's method log, in virtual time and in real mode alike. */
#ifndef STROBE_SIM_POLICY_BTRACE2_RECONSTRUCT_H
#define STROBE_SIM_POLICY_BTRACE2_RECONSTRUCT_H

#include "engine/base/error.h"
#include "engine/trace/model/calls.h"
#include "sim/policy/instrument.h"
#include "sim/score/tracks.h"

enum { SIM_BTRACE2_THRESHOLD_NS = 1000 }; /* shorter calls leave no record */

extern const struct sim_instrument_options sim_btrace2_probes;

struct sim_btrace2_capture {
    const void *log;
    size_t bytes;
    uint64_t origin_ns;                                                  /* CLOCK_MONOTONIC at the begin of the run */
    uint64_t end_ns;                                                     /* of the run, from its begin */
    void (*rename)(const void *ctx, struct strobe_calls_thread *thread); /* sets a thread's identity; NULL: as logged */
    const void *ctx;
};

/* Appends the tracks of all threads in the log. STROBE_BAD_INPUT and the other statuses of a bad log, STROBE_IO with
 * `error`. */
enum strobe_status sim_btrace2_reconstruct(const struct sim_btrace2_capture *capture,
                                           const struct sim_instrument *probes, const struct sim_scenario *scenario,
                                           struct sim_tracks *out, struct strobe_error *error);

#endif
