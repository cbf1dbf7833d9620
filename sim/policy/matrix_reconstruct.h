/* Reconstructs a timeline from Matrix's log of the main thread, in virtual time and in real mode alike. */
#ifndef STROBE_SIM_POLICY_MATRIX_RECONSTRUCT_H
#define STROBE_SIM_POLICY_MATRIX_RECONSTRUCT_H

#include "sim/policy/instrument.h"
#include "sim/score/tracks.h"

enum { SIM_MATRIX_TICK_NS = 5000000 }; /* resolution of its clock */

extern const struct sim_instrument_options sim_matrix_probes;

struct sim_matrix_capture {
    uint32_t tid; /* of the main thread; 0: there is no main thread, and nothing is reconstructed */
    const char *name;
    const uint64_t *entries; /* the newest entries of the log, oldest first */
    size_t count;
    uint64_t lost;        /* number of entries overwritten before */
    uint64_t origin_ns;   /* begin of the run on the log's clock */
    uint64_t end_ns;      /* of the run, from its begin */
    const bool *is_frame; /* by message, the first at 0: whether it is a frame, reported by callbacks in the
                             choreographer's queues; NULL: no callbacks */
    size_t handed_out;    /* number of messages logged, including overwritten ones */
};

/* Returns the name of the method that frames run, when it has no probes and only those callbacks report it. NULL:
 * none. */
const char *sim_matrix_frame(const struct sim_instrument *probes, const struct sim_scenario *scenario);

/* Appends the main thread's track. STROBE_IO: out of memory. */
enum strobe_status sim_matrix_reconstruct(const struct sim_matrix_capture *capture, const struct sim_instrument *probes,
                                          const struct sim_scenario *scenario, struct sim_tracks *out);

#endif
