/* Reconstructs a timeline from RheaTrace's log, in virtual time and in real mode alike. */
#ifndef STROBE_SIM_POLICY_RHEA_RECONSTRUCT_H
#define STROBE_SIM_POLICY_RHEA_RECONSTRUCT_H

#include "engine/base/error.h"
#include "sim/policy/instrument.h"
#include "sim/score/tracks.h"

enum { SIM_RHEA_DIGITS = 9 }; /* decimals of a second in the log */

extern const struct sim_instrument_options sim_rhea_probes;
#define SIM_RHEA_FRAME_MARK "Choreographer#doFrame" /* the framework's name for a frame */

/* Returns the word before the file's name in the label of a file operation. NULL: the operation has no label. */
const char *sim_rhea_label(enum strobe_kind kind);

struct sim_rhea_capture {
    const char *log;
    size_t bytes;
    uint64_t origin_ns; /* CLOCK_BOOTTIME at the begin of the run */
    uint64_t end_ns;    /* of the run, from its begin */
};

/* Appends the tracks of all threads in the log. STROBE_BAD_INPUT, STROBE_IO with `error`. */
enum strobe_status sim_rhea_reconstruct(const struct sim_rhea_capture *capture, const struct sim_instrument *probes,
                                        const struct sim_scenario *scenario, struct sim_tracks *out,
                                        struct strobe_error *error);

/* Fills in the view: methods with probes, files, frames. False: out of memory. */
bool sim_rhea_view(const struct sim_instrument *probes, const struct sim_scenario *scenario, struct sim_tracks *truth,
                   bool main_only, struct sim_view *out);

#endif
