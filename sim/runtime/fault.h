/* Faults that a scenario or a seed injects. The simulated host applies them at the points where they can happen. Each
 * fault draws from its own stream, so a fault that does not strike changes nothing else. */
#ifndef STROBE_SIM_RUNTIME_FAULT_H
#define STROBE_SIM_RUNTIME_FAULT_H

#include "sim/app/scenario.h"

struct sim_faults;

/* NULL: out of memory. A fault with a FAULT operation is armed by that operation, others from the start. */
struct sim_faults *sim_faults_open(const struct sim_scenario *s, uint64_t seed);
void sim_faults_close(struct sim_faults *f);

void sim_faults_arm(struct sim_faults *f, uint32_t fault);

/* True when a fault of this kind strikes now. `spec`: the thread spec concerned, UINT32_MAX for none. At most one
 * strikes per call; its amount is stored in *amount. */
bool sim_fault_strikes(struct sim_faults *f, enum sim_fault_kind kind, uint32_t spec, uint64_t now_ns,
                       uint64_t *amount);

/* Returns how often each kind has struck. */
const uint64_t *sim_fault_counts(const struct sim_faults *f);

#endif
