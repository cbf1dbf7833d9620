/* Threads of the fake Mach in virtual time, over fibers. For sim/player/virtual only. */
#ifndef STROBE_SIM_PLAYER_VIRTUAL_MACH_MACH_H
#define STROBE_SIM_PLAYER_VIRTUAL_MACH_MACH_H

#include "sim/fake/mach/system.h"

extern const struct fake_mach_system sim_virtual_mach;

/* True disables the check in guard.c. A forbidden call in the suspended window then has its real effect, for example a
 * deadlock. */
extern bool sim_virtual_unguarded;

#endif
