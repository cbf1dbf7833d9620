/* Faults that a scenario or a seed asks for, met by the simulated host where they can happen. Draws come from a stream
 * of their own, so that a fault that does not strike moves nothing else. */
#ifndef STROBE_SIM_RUNTIME_FAULT_H
#define STROBE_SIM_RUNTIME_FAULT_H

#include "sim/app/scenario.h"

struct sim_faults;

/* NULL: out of memory. Faults with an operation of their own are armed by it, others from the start. */
struct sim_faults *sim_faults_open(const struct sim_scenario *s, uint64_t seed);
void sim_faults_close(struct sim_faults *f);

void sim_faults_arm(struct sim_faults *f, uint32_t fault);

/* Whether a fault of this kind strikes now, thread spec `spec` being concerned (UINT32_MAX = none): at most once for
 * each call. *amount is the fault's. */
bool sim_fault_strikes(struct sim_faults *f, enum sim_fault_kind kind, uint32_t spec, uint64_t now_ns,
                       uint64_t *amount);

/* Times each kind struck. */
const uint64_t *sim_fault_counts(const struct sim_faults *f);

#endif
