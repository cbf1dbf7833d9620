/* A second scorer, to test sim_score: it computes the same sums with another algorithm. */
#ifndef STROBE_SIM_SUPPORT_SCORE_BRUTE_H
#define STROBE_SIM_SUPPORT_SCORE_BRUTE_H

#include "sim/score/score.h"

/* The same as sim_score, but slow: visits every ns at which anything changes, and rebuilds both paths from the start
 * each time. Methods and threads are in any order. STROBE_IO: out of memory. */
enum strobe_status sim_score_brute(const struct sim_tracks *truth, const struct sim_tracks *reconstruction,
                                   const struct sim_score_options *options, struct sim_score *out);

#endif
