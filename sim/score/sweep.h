/* The heart of the score: one pass over the events of a pair of tracks in order of time, which keeps the length of the
 * prefix that both paths share, and a second one that knows from the first which calls are folded. For the scorer only.
 * Allocates. */
#ifndef STROBE_SIM_SCORE_SWEEP_H
#define STROBE_SIM_SCORE_SWEEP_H

#include "sim/score/pairing.h"
#include "sim/score/waits.h"

/* Memory that serves one pair after the other. */
struct sim_sweep;

/* `methods` by name of the truth. NULL: out of memory. */
struct sim_sweep *sim_sweep_open(const struct sim_pairing *p, struct sim_method_score *methods);
void sim_sweep_close(struct sim_sweep *s);

/* Adds the pair to the sums of `out`, of the thread (NULL where there is no true one) and of the methods. `off`: see
 * sim_waits_off. False: out of memory. */
bool sim_sweep_pair(struct sim_sweep *s, const struct sim_pair *pair, uint64_t long_ns, const struct sim_spans *off,
                    struct sim_score *out, struct sim_thread_score *thread);

#endif
