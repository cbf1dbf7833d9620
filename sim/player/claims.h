/* Reads the timeline that the engine's session of a player contains, with the scenario's names. For sim/player only. */
#ifndef STROBE_SIM_PLAYER_CLAIMS_H
#define STROBE_SIM_PLAYER_CLAIMS_H

#include "engine/base/error.h"
#include "sim/player/notes.h"

/* Reads the session as tracks. Time 0 of the tracks is the begin of the run. With `trace_path` the function also writes
 * a Perfetto trace there (NULL = no trace). Stacks contain only the scenario's methods: frames of the player and of
 * libraries are left out, because the truth has none. `named` selects how an address is mapped to a method:
 *
 *   true    by the name that the session has for the address ("void Cache.get(long)"), else as a function of frames.h
 *   false   as a function of frames.h
 *
 * A native method has two frames in an Android runtime, one of the method and one of the function that implements it.
 * They become one call, as in the truth.
 *
 * STROBE_IO, STROBE_BAD_INPUT with `error`. */
enum strobe_status sim_real_read_session(const char *session_path, const struct sim_scenario *scenario,
                                         const struct sim_notes_head *head, bool named, const char *trace_path,
                                         struct sim_tracks *out, struct strobe_error *error);

#endif
