/* Gives the session of a player the scenario's images and names, so that the ordinary commands show the app and not the
 * player. For sim/player only. */
#ifndef STROBE_SIM_PLAYER_LABEL_H
#define STROBE_SIM_PLAYER_LABEL_H

#include "engine/base/status.h"
#include "sim/app/scenario.h"

/* Changes the session's file, after its process has ended:
 *
 *   - the functions of frames.h, from the address `frames` on, become code of the scenario's images, with the names of
 *     the methods. Until then they are sim_real_frame_0, 1, ... of one file
 *   - the files of the player itself get the name of the lab's own code, which traces leave out
 *
 * STROBE_IO: errno has the reason. STROBE_BAD_INPUT: not a session. */
enum strobe_status sim_real_label_session(const char *path, const struct sim_scenario *scenario, uint64_t frames);

#endif
