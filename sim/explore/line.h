/* An execution graph as a line of steps, for people: an order in which the threads could have taken them. Where the
 * memory model let a load return an old store there is no order in which it is the latest: such steps are marked. */
#ifndef STROBE_SIM_EXPLORE_LINE_H
#define STROBE_SIM_EXPLORE_LINE_H

#include "sim/explore/explore.h"
#include "sim/explore/graph.h"

/* The steps, with room for one more; an update is one. `ran` are the events that took place, in their order. False: no
 * memory. */
bool explore_line_up(const struct explore_graph *g, const uint16_t *ran, uint32_t ran_count, struct explore_step **step,
                     uint32_t *count);

#endif
