/* The fake Mach in virtual time: its system of threads over fibers. For sim/virtual only. */
#ifndef STROBE_SIM_VIRTUAL_MACH_MACH_H
#define STROBE_SIM_VIRTUAL_MACH_MACH_H

#include "sim/mach/system.h"

extern const struct fake_mach_system sim_virtual_mach;

#endif
