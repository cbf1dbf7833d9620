/* Player in virtual time: plays a scenario in a fake Android runtime. The player of real mode (sim/player), the
 * engine's Android backend and the fake runtime's system are compiled again with posix.h, which redirects their POSIX
 * calls to the virtual kernel. The runtime runs the scenario's methods, and the engine captures by its hooks in the
 * runtime's code. The result depends on scenario, seed and costs only.
 *
 *   file       content
 *   --------   -----------------------------------------------------------------
 *   run.c      main function: opens the virtual kernel, starts the main thread
 *   posix_*.c  threads, locks, calls (posix.h)
 *   work.c     replaces sim/player/work.c
 *   loader.c   replaces sim/player/loader.c: runtime's system, engine with charged costs
 *
 * The linker joins these sources to one object that exports sim_virtual_child only, because the program contains other
 * builds of the same sources. */
#ifndef STROBE_SIM_PLAYER_VIRTUAL_VIRTUAL_H
#define STROBE_SIM_PLAYER_VIRTUAL_VIRTUAL_H

#include "sim/player/real.h"

/* Main function. Arguments: SCHEDULE COSTS, then the arguments of strobe-player. */
int sim_virtual_child(int argc, char **argv);

/* Main function of the player on the fake Mach. Same arguments. */
int sim_virtual_mach_child(int argc, char **argv);

/* sim_real_child, compiled for virtual time. */
int sim_virtual_player(int argc, char **argv);

/* Gives each fiber its own copy of the runtime's thread-local variables (sim_fiber_local). Called before any fiber
 * exists. */
void sim_virtual_locals(void);

/* Costs of the engine's work. Set before the engine starts. */
extern struct sim_costs sim_virtual_costs;

#endif
