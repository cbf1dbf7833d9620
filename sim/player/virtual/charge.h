/* Charges the costs of the engine's work to the thread that does it. Fractions of a ns accumulate. For
 * sim/player/virtual only. */
#ifndef STROBE_SIM_PLAYER_VIRTUAL_CHARGE_H
#define STROBE_SIM_PLAYER_VIRTUAL_CHARGE_H

#include "engine/capture/thread.h"

/* Charges `ns` to the running thread. Fiber. */
void sim_virtual_charge(double ns);

/* Adds to the sum of charges what the kernel has charged a stopped thread (sim_charge_stopped). */
void sim_virtual_count(double ns);

/* Returns the sum of all charges so far. */
uint64_t sim_virtual_charged_ns(void);

/* Charges the calling thread for the samples that it has taken since its last call of this function. For unwinders that
 * leave a thread's own stack to the engine: charge_walk_self does not see these samples. */
void sim_virtual_charge_samples(const struct strobe_thread *t);

/* Replaces the functions of the engine's host and unwinder by functions that charge and then call the originals. `host`
 * must be the engine's host. Called once, after the capture has begun. */
void sim_virtual_put_costs(struct strobe_engine *e, struct strobe_host *host);

/* Replaces only a host's functions, for a capture without the engine. */
void sim_virtual_put_host_costs(struct strobe_host *host);

/* Sets the costs of the host's suspend and resume, in ns, where they are not those of a stop by a signal. Called after
 * one of the functions above. */
void sim_virtual_put_stop_costs(double suspend, double resume);

#endif
