/* What Matrix's log of the main thread claims, in virtual time and in real mode alike. */
#ifndef STROBE_SIM_POLICY_MATRIX_RECONSTRUCT_H
#define STROBE_SIM_POLICY_MATRIX_RECONSTRUCT_H

#include "sim/policy/instrument.h"
#include "sim/score/tracks.h"

enum { SIM_MATRIX_TICK_NS = 5000000 }; /* the grain of its clock */

extern const struct sim_instrument_options sim_matrix_probes;

struct sim_matrix_capture {
    uint32_t tid; /* of the main thread; 0 = there was none, and nothing is claimed */
    const char *name;
    const uint64_t *entries; /* the newest of the log, oldest first */
    size_t count;
    uint64_t lost;        /* entries overwritten before */
    uint64_t origin_ns;   /* on the log's clock: the begin of the run */
    uint64_t end_ns;      /* of the run, from its begin */
    const bool *is_frame; /* by message, the first at 0: callbacks in the choreographer's queues say which are
                             frames; NULL = they were not asked */
    size_t handed_out;    /* messages, overwritten ones counted */
};

/* What frames run, where that has no probes and is known by those callbacks alone; NULL: none. */
const char *sim_matrix_frame(const struct sim_instrument *probes, const struct sim_scenario *scenario);

/* Appends the main thread's track. STROBE_IO: out of memory. */
enum strobe_status sim_matrix_reconstruct(const struct sim_matrix_capture *capture, const struct sim_instrument *probes,
                                          const struct sim_scenario *scenario, struct sim_tracks *out);

#endif
