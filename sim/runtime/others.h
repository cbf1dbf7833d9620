/* Threads of other programs: they compute all the time and keep the processors busy. No tracer sees them. */
#ifndef STROBE_SIM_RUNTIME_OTHERS_H
#define STROBE_SIM_RUNTIME_OTHERS_H

#include "sim/kernel/kernel.h"

/* Starts `count` of them, which a run does not wait for. False: out of memory. Any. */
bool sim_others_start(struct sim_kernel *k, uint32_t count);

#endif
