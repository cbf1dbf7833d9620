/* The memory models, as axioms on execution graphs.
 *
 *   SC    po, rf, co, fr together have no cycle (Shasha, Snir 1988)
 *   TSO   the same for each place alone; and program order but for a store before a later load, rfe, co, fr together
 *         have none (Alglave, Maranget, Tautschnig 2014). Programs are taken as compiled for x86: stores of order
 *         seq_cst and such fences empty the buffer, updates are locked
 *   C11   coherence (hb; eco has no cycle), atomicity, SC (psc has none), po and rf together have none: RC11
 *
 * Updates are atomic in all: nothing stands between what their load read and their store.
 *
 * A new event is always the last of its thread. So coherence need only be looked at from there: a load may return any
 * store that is not followed by one that it must know of, a store may stand behind all that it must know of. */
#ifndef STROBE_SIM_EXPLORE_MODEL_H
#define STROBE_SIM_EXPLORE_MODEL_H

#include "sim/explore/graph.h"

/* The stores that the load `event`, added last and reading nothing yet, may read, the newest first. Returns how many;
 * from[] has room for EXPLORE_EVENTS_MAX. The graph is as before. */
uint32_t explore_model_loads(struct explore_graph *g, enum explore_memory memory, uint16_t event, uint16_t *from);

/* The stores (or INITIAL) behind which the store `event`, added last, may stand, the newest first; 0 for an update
 * whose place is taken. */
uint32_t explore_model_places(struct explore_graph *g, enum explore_memory memory, uint16_t event, uint16_t *before);

/* Whether the load `event`, the last of its thread, is allowed to read as it does. */
bool explore_model_load_holds(struct explore_graph *g, enum explore_memory memory, uint16_t event);

/* The axioms that the functions above leave for the end, since they are costly: RC11's SC. A graph for which they do
 * not hold is no execution, nor is any that grows out of it. */
bool explore_model_holds(const struct explore_graph *g, enum explore_memory memory);

#endif
