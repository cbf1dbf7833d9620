/* The fake Mach in virtual time: its system of threads over fibers. For sim/player/virtual only. */
#ifndef STROBE_SIM_PLAYER_VIRTUAL_MACH_MACH_H
#define STROBE_SIM_PLAYER_VIRTUAL_MACH_MACH_H

#include "sim/fake/mach/system.h"

extern const struct fake_mach_system sim_virtual_mach;

/* True: nobody looks what a thread calls while another stands by its doing (guard.c), so that what comes of it can be
 * seen. */
extern bool sim_virtual_unguarded;

#endif
