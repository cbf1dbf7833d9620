/* System calls that waits make, as Linux names them on x86-64: what a host of the lab answers that is asked in which
 * call a thread waits, and which names of time off the processor are true. */
#ifndef STROBE_SIM_SCORE_WAIT_CALLS_H
#define STROBE_SIM_SCORE_WAIT_CALLS_H

#include "sim/score/pairing.h"
#include "sim/score/waits.h"

/* Returns the call of a wait of this kind (strobe_wait_call); 0 for a kind that does not wait. Any context. */
uint64_t sim_wait_call(enum strobe_kind kind);

/* Adds to `out` the time that is off the processor on both sides (unhooked_ns), and the part of it whose name in the
 * reconstruction is that of a call that a true wait makes then (named_ns). `off`: see sim_waits_off. False: out of
 * memory. */
bool sim_wait_calls_score(const struct sim_pairing *p, const struct sim_pair *pair, const struct sim_spans *off,
                          struct sim_score *out);

#endif
