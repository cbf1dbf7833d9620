/* Reads the file of a capture policy by probes. sim/policy reconstructs the timeline, with the same code as in virtual
 * time. For sim/player only. */
#ifndef STROBE_SIM_PLAYER_PROBE_CLAIMS_H
#define STROBE_SIM_PLAYER_PROBE_CLAIMS_H

#include "engine/base/error.h"
#include "sim/player/notes.h"
#include "sim/score/view.h"

/* True when a policy captures by probes. */
bool sim_real_is_probe_policy(const char *policy);

/* Reads the file as tracks. Time 0 of the tracks is the begin of the run. *view gets the part of `truth` that the
 * policy can see; the caller closes it. STROBE_IO, STROBE_BAD_INPUT with `error`. */
enum strobe_status sim_real_read_probes(const char *policy, const char *path, const struct sim_scenario *scenario,
                                        const struct sim_notes_head *head, struct sim_tracks *truth,
                                        struct sim_tracks *out, struct sim_view *view, struct strobe_error *error);

#endif
