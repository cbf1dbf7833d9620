/* Detects a thread in a loop that waits without explore_spin: a dozen of its turns, of a few operations each, did the
 * same. Loops that retry a bounded number of times end sooner. */
#ifndef STROBE_SIM_EXPLORE_REPETITION_H
#define STROBE_SIM_EXPLORE_REPETITION_H

#include "sim/explore/graph.h"

enum { EXPLORE_TURN_MAX = 5, EXPLORE_TURNS_ALIKE = 12 };

struct explore_repetition {
    uint32_t alike[EXPLORE_TURN_MAX + 1]; /* [p]: number of events in a row that did the same as the event p before
                                             them */
};

/* Call after a load or fence of the thread, the last of its `done` events. Stores restart the detection:
 * explore_forget_repetition. */
void explore_count_repetition(struct explore_repetition *r, const struct explore_graph *g, uint32_t thread,
                              uint32_t done);
void explore_forget_repetition(struct explore_repetition *r);

/* Returns true once for each dozen of turns. */
bool explore_seems_to_wait(struct explore_repetition *r);

#endif
