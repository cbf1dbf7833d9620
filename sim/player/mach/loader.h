/* How the engine comes into a process that plays on the fake Mach: as it is (loader.c), or with its costs charged in
 * virtual time (sim/player/virtual/mach/loader.c). For sim/player and sim/player/virtual only. */
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

/* The played process, as sim_real_child; and the player, which is that compiled anew. */
#define SIM_REAL_MACH_PLAYER "strobe-player-mach"
int sim_real_mach_child(int argc, char **argv);
int sim_real_mach_player(int argc, char **argv);

/* The runtime's name, for --runtime. */
#define SIM_MACH_NAME "mach"

#endif
