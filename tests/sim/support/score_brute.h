/* A second scorer, to test sim_score: it computes the same sums with another algorithm. */
#ifndef STROBE_SIM_SUPPORT_SCORE_BRUTE_H
#define STROBE_SIM_SUPPORT_SCORE_BRUTE_H

#include "sim/score/score.h"

/* As sim_score, but slow: it visits each time at which the state changes, and rebuilds both paths from the start each
 * time. The order of methods and threads is unspecified. STROBE_IO: out of memory. */
enum strobe_status sim_score_brute(const struct sim_tracks *truth, const struct sim_tracks *claim,
                                   const struct sim_score_options *options, struct sim_score *out);

#endif
