/* Threads of other programs. They compute all the time and occupy the cores. No tracer sees them. */
#ifndef STROBE_SIM_RUNTIME_OTHERS_H
#define STROBE_SIM_RUNTIME_OTHERS_H

#include "sim/kernel/kernel.h"

/* Starts `count` such threads. A run does not wait for them. False: out of memory. Any. */
bool sim_others_start(struct sim_kernel *k, uint32_t count);

#endif
