/* Whether a thread goes round in a loop that nobody marked as a wait (explore_spin): its turns, of a few operations,
 * did the same a dozen times. Loops that try again a bounded number of times give up sooner. */
#ifndef STROBE_SIM_EXPLORE_REPETITION_H
#define STROBE_SIM_EXPLORE_REPETITION_H

#include "sim/explore/graph.h"

enum { EXPLORE_TURN_MAX = 5, EXPLORE_TURNS_ALIKE = 12 };

struct explore_repetition {
    uint32_t alike[EXPLORE_TURN_MAX + 1]; /* [p]: events in a row that did what those p before them did */
};

/* After a load or fence of the thread, the last of its `done` events. Stores begin anew: explore_forget_repetition. */
void explore_note_repetition(struct explore_repetition *r, const struct explore_graph *g, uint32_t thread,
                             uint32_t done);
void explore_forget_repetition(struct explore_repetition *r);

/* True once for each dozen of turns. */
bool explore_seems_to_wait(struct explore_repetition *r);

#endif
