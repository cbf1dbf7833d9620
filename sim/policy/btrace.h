/* Code that both btrace policies share. */
#ifndef STROBE_SIM_POLICY_BTRACE_H
#define STROBE_SIM_POLICY_BTRACE_H

#include "engine/base/error.h"
#include "sim/runtime/run.h"

/* Charges a sum of costs of the table, rounded to ns. Fiber. */
static inline void sim_btrace_charge(struct sim_vthread *v, double ns)
{
    sim_tracer_charge(v, (uint64_t)(ns + 0.5));
}

/* Writes the tracer's reconstructed timeline as a trace to folder/trace.pftrace: the `save` of a struct sim_tracer. */
enum strobe_status sim_btrace_save(struct sim_tracer *t, struct sim_run *run, const char *folder,
                                   struct strobe_error *error);

#endif
