/* What the engine's session of a played process claims, in the scenario's own names. For sim/player only. */
#ifndef STROBE_SIM_PLAYER_CLAIMS_H
#define STROBE_SIM_PLAYER_CLAIMS_H

#include "engine/base/error.h"
#include "sim/player/notes.h"

/* Reads the session as tracks whose time 0 is the begin of the run; with `trace_path` also writes it as a Perfetto
 * trace there (NULL = not). Frames that are no method's - of the player, of libraries - are left out of stacks, as the
 * truth knows nothing of them either. `named`: methods are known by the names that the session has of its addresses
 * ("void Cache.get(long)"), not as those of frames.h. STROBE_IO, STROBE_BAD_INPUT with `error`. */
enum strobe_status sim_real_claims(const char *session_path, const struct sim_scenario *scenario,
                                   const struct sim_notes_head *head, bool named, const char *trace_path,
                                   struct sim_tracks *out, struct strobe_error *error);

#endif
