/* What the engine's work costs, charged to who does it: parts of a ns add up. For sim/player/virtual only. */
#ifndef STROBE_SIM_PLAYER_VIRTUAL_CHARGE_H
#define STROBE_SIM_PLAYER_VIRTUAL_CHARGE_H

#include "engine/capture/thread.h"

/* Charges the running thread. Fiber. */
void sim_virtual_charge(double ns);

/* All that was charged so far. */
uint64_t sim_virtual_charged_ns(void);

/* Charges the calling thread, which has hooks of the engine, the samples that it has taken in them since it was asked
 * last: where the unwinder leaves a thread's own stack to the engine. */
void sim_virtual_charge_samples(const struct strobe_thread *t);

/* Puts the costs before what the engine calls of its host, which must be the one that it was made with, and its
 * unwinder. Once, after capture has begun. */
void sim_virtual_put_costs(struct strobe_engine *e, struct strobe_host *host);

/* The same before a host's calls alone, of whoever captures without an engine of ours. */
void sim_virtual_put_host_costs(struct strobe_host *host);

#endif
