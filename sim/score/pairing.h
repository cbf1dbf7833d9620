/* Matches the tracks and the names of a reconstructed timeline with those of the truth. For the scorers only.
 * Allocates. */
#ifndef STROBE_SIM_SCORE_PAIRING_H
#define STROBE_SIM_SCORE_PAIRING_H

#include "sim/score/score.h"

#define SIM_UNKNOWN (UINT32_MAX - 1) /* a reconstructed name or track that the truth does not have */

struct sim_pair {
    const struct sim_track *truth, *reconstruction; /* one of them may be NULL */
};

struct sim_pairing {
    const struct sim_tracks *truth, *reconstruction;
    struct sim_pair *pairs; /* the truth's tracks in their order, then the reconstructed tracks that match none of
                               them */
    size_t pair_count;
    uint32_t *name_of;  /* by reconstructed name: number of the true name */
    uint32_t *track_of; /* by reconstructed track: number of the true track */
};

/* False: out of memory. Close it in any case. */
bool sim_pairing_open(struct sim_pairing *p, const struct sim_tracks *truth, const struct sim_tracks *reconstruction);
void sim_pairing_close(struct sim_pairing *p);

/* Returns the length from which a call of this pair counts as long; at least 1. */
uint64_t sim_pair_long_ns(const struct sim_pair *pair, const struct sim_score_options *options);

/* Prepares an empty score with all threads and all methods of the truth, in its order. False: out of memory. */
bool sim_score_open(struct sim_score *out, const struct sim_tracks *truth);

/* Computes sums, totals and ratios from the scores of threads and methods, and sorts the methods. */
void sim_score_finish(const struct sim_pairing *p, struct sim_score *out);

#endif
