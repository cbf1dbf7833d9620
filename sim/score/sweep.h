/* The sweep compares a pair of tracks in two passes over their events in time order. The first pass maintains the
 * length of the prefix that both paths share. The second pass computes resolved agreement, because it knows from the
 * first one which calls are folded. For the scorer only. Allocates. */
#ifndef STROBE_SIM_SCORE_SWEEP_H
#define STROBE_SIM_SCORE_SWEEP_H

#include "sim/score/pairing.h"
#include "sim/score/waits.h"

/* Working memory, reused from one pair to the next. */
struct sim_sweep;

/* `methods` is indexed by name of the truth. NULL: out of memory. */
struct sim_sweep *sim_sweep_open(const struct sim_pairing *p, struct sim_method_score *methods);
void sim_sweep_close(struct sim_sweep *s);

/* Adds the pair to the sums of `out`, of the methods and of the thread (NULL when there is no true thread). `off`: see
 * sim_waits_off. False: out of memory. */
bool sim_sweep_pair(struct sim_sweep *s, const struct sim_pair *pair, uint64_t long_ns, const struct sim_spans *off,
                    struct sim_score *out, struct sim_thread_score *thread);

#endif
