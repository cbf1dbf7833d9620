/* Converts an execution graph into a sequence of steps for display: an order in which the threads could have taken
 * them. When the memory model lets a load return an old store, no order makes that store the latest one. Such steps are
 * flagged as stale. */
#ifndef STROBE_SIM_EXPLORE_LINE_H
#define STROBE_SIM_EXPLORE_LINE_H

#include "sim/explore/explore.h"
#include "sim/explore/graph.h"

/* Returns the steps, with memory for one more. An update is one step. `ran` has the events that took place, in their
 * order. Returns false when memory runs out. */
bool explore_line_up(const struct explore_graph *g, const uint16_t *ran, uint32_t ran_count, struct explore_step **step,
                     uint32_t *count);

#endif
