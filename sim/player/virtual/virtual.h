/* A scenario in a fake Android runtime in virtual time: the player of real mode (sim/player), the engine's Android
 * backend and the runtime's system once more, compiled so that what they ask of POSIX is answered by the virtual kernel
 * (sim/player/virtual/posix.h). So the scenario's methods are the runtime's own, the engine hears of what they do by
 * the hooks that it has in the runtime's code, and the whole is a function of scenario, seed and costs.
 *
 *   file       what it is
 *   --------   -----------------------------------------------------------------
 *   run.c      the played process: the kernel, the main thread
 *   posix_*.c  threads, locks, calls
 *   work.c     the player's time and work: in place of sim/player/work.c
 *   loader.c   the runtime's system, the engine, its costs: in place of sim/player/loader.c
 *
 * It is all one object, that shows nothing but sim_virtual_child: what it is made of is there a second time. */
#ifndef STROBE_SIM_PLAYER_VIRTUAL_VIRTUAL_H
#define STROBE_SIM_PLAYER_VIRTUAL_VIRTUAL_H

#include "sim/player/real.h"

/* The played process, as sim_real_child: strobe-player-virtual SCHEDULE COSTS, and then what strobe-player
 * has. */
int sim_virtual_child(int argc, char **argv);

/* The same on the fake Mach: strobe-player-virtual-mach ... */
int sim_virtual_mach_child(int argc, char **argv);

/* The player, which is sim_real_child compiled anew. */
int sim_virtual_player(int argc, char **argv);

/* Makes what the runtime's threads have of their own each fiber's (sim_fiber_local). Before there are any. */
void sim_virtual_locals(void);

/* What the engine's work costs. Before it starts. */
extern struct sim_costs sim_virtual_costs;

#endif
