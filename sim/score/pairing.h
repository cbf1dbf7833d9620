/* Who is compared with whom: tracks of a claim with those of the truth, names of a claim with those of the truth. For
 * the scorers only. Allocates. */
#ifndef STROBE_SIM_SCORE_PAIRING_H
#define STROBE_SIM_SCORE_PAIRING_H

#include "sim/score/score.h"

#define SIM_UNKNOWN (UINT32_MAX - 1) /* a claimed name, or a claimed track, that the truth has not */

struct sim_pair {
    const struct sim_track *truth, *reconstruction; /* one of them may be NULL */
};

struct sim_pairing {
    const struct sim_tracks *truth, *reconstruction;
    struct sim_pair *pairs; /* the truth's tracks in their order, then claimed ones that it has not */
    size_t pair_count;
    uint32_t *name_of;  /* by claimed name: the true one's number */
    uint32_t *track_of; /* by claimed track: the true one's number */
};

/* False: out of memory. Close it in any case. */
bool sim_pairing_open(struct sim_pairing *p, const struct sim_tracks *truth, const struct sim_tracks *reconstruction);
void sim_pairing_close(struct sim_pairing *p);

/* How long a call of this pair must be to be long; at least 1. */
uint64_t sim_pair_long_ns(const struct sim_pair *pair, const struct sim_score_options *options);

/* An empty score: all threads and all methods of the truth, in its order. False: out of memory. */
bool sim_score_open(struct sim_score *out, const struct sim_tracks *truth);

/* Fills in what follows from the scores of threads and methods: sums, totals, ratios; puts the methods in order. */
void sim_score_finish(const struct sim_pairing *p, struct sim_score *out);

#endif
