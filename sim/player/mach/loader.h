/* Loads the engine into a player on the fake Mach: on real threads (loader.c), or in virtual time with its costs
 * charged (sim/player/virtual/mach/loader.c). For sim/player and sim/player/virtual only. */
#ifndef STROBE_SIM_PLAYER_MACH_LOADER_H
#define STROBE_SIM_PLAYER_MACH_LOADER_H

#include "engine/base/error.h"
#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct sim_real_mach_loader {
    enum strobe_status (*begin)(const char *session, struct strobe_error *error);
    void (*end)(void);
    uint64_t (*charged_ns)(void);
};
extern const struct sim_real_mach_loader sim_real_mach_loader;

/* sim_real_mach_child is the main function of this player. sim_real_mach_player is sim_real_child, compiled as an app
 * (play.mk). */
#define SIM_REAL_MACH_PLAYER "strobe-player-mach"
int sim_real_mach_child(int argc, char **argv);
int sim_real_mach_player(int argc, char **argv);

/* Name of this runtime for the option --runtime. */
#define SIM_MACH_NAME "mach"

#endif
