/* Coverage of an exploration: the pairs of a store and a load, by code address, where the load read from the store.
 * Start only. */
#ifndef STROBE_SIM_EXPLORE_PAIRS_H
#define STROBE_SIM_EXPLORE_PAIRS_H

#include "sim/explore/graph.h"

struct explore_pairs;

struct explore_pairs *explore_pairs_open(void); /* NULL: no memory */
void explore_pairs_close(struct explore_pairs *p);

/* Adds the pairs of an execution. Pairs beyond 65,536 are not counted. */
void explore_pairs_add(struct explore_pairs *p, const struct explore_graph *g);
uint32_t explore_pairs_count(const struct explore_pairs *p);

#endif
