/* The events of a thread in one turn of a waiting loop, from a given number to the last. Any context. */
#ifndef STROBE_SIM_EXPLORE_TURN_H
#define STROBE_SIM_EXPLORE_TURN_H

#include "sim/explore/graph.h"

/* Returns true when the thread's event of that number changes nothing that others see. An update that stores the value
 * it found waits like a load. */
bool explore_is_silent(const struct explore_graph *g, uint32_t thread, uint32_t number);

/* Returns a hash, never 0, of the stores that the thread's loads have read since its event `from`. */
uint64_t explore_what_was_read(const struct explore_graph *g, uint32_t thread, uint32_t from);

#endif
