/* What a thread did in a turn of a loop that waits: events of its own, from a number to the last. Any context. */
#ifndef STROBE_SIM_EXPLORE_TURN_H
#define STROBE_SIM_EXPLORE_TURN_H

#include "sim/explore/graph.h"

/* Whether the thread's event of that number leaves what others see as it was: an update that stores what it found waits
 * as a load does. */
bool explore_is_silent(const struct explore_graph *g, uint32_t thread, uint32_t number);

/* Which stores the thread's loads have read since its event `from`, as a hash, never 0. */
uint64_t explore_what_was_read(const struct explore_graph *g, uint32_t thread, uint32_t from);

#endif
