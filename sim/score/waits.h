/* The part of the score about blocking calls: time blocked, time off the cores, wakers. For the scorer only.
 * Allocates. */
#ifndef STROBE_SIM_SCORE_WAITS_H
#define STROBE_SIM_SCORE_WAITS_H

#include "sim/score/pairing.h"

/* A list of spans that keeps its memory from one thread to the next. */
struct sim_spans {
    struct sim_span *at;
    size_t count, room;
};

/* Lists in order the spans in which the thread neither was on a core nor wanted one. False: out of memory. */
bool sim_waits_off(const struct sim_track *t, struct sim_spans *off);

/* Compares the waits of a pair and adds to the sums of `out` and of the thread (NULL when there is no true thread).
 * False: out of memory. */
bool sim_waits_score(const struct sim_pairing *p, const struct sim_pair *pair, uint64_t blocked_min_ns,
                     struct sim_score *out, struct sim_thread_score *thread);

#endif
