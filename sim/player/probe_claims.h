/* What a scheme that captures by probes claims of a played process: its file, read back by the readers that virtual
 * time has for the same scheme (sim/policy). For sim/player only. */
#ifndef STROBE_SIM_PLAYER_PROBE_CLAIMS_H
#define STROBE_SIM_PLAYER_PROBE_CLAIMS_H

#include "engine/base/error.h"
#include "sim/player/notes.h"
#include "sim/score/view.h"

/* Whether a policy is such a scheme. */
bool sim_real_is_probe_policy(const char *policy);

/* Reads the file as tracks whose time 0 is the begin of the run; *view says what the scheme could tell of `truth`, and
 * is the caller's to close. STROBE_IO, STROBE_BAD_INPUT with `error`. */
enum strobe_status sim_real_probe_claims(const char *policy, const char *path, const struct sim_scenario *scenario,
                                         const struct sim_notes_head *head, struct sim_tracks *truth,
                                         struct sim_tracks *out, struct sim_view *view, struct strobe_error *error);

#endif
