/* The memory models, as axioms on execution graphs.
 *
 *   SC    po, rf, co, fr together have no cycle (Shasha, Snir 1988)
 *   TSO   the same for each place alone; and program order except a store before a later load, rfe, co, fr together
 *         have no cycle (Alglave, Maranget, Tautschnig 2014). Programs count as compiled for x86: seq_cst stores and
 *         seq_cst fences empty the buffer, updates are locked
 *   C11   coherence (hb; eco has no cycle), atomicity, SC (psc has no cycle), po and rf together have no cycle: RC11
 *
 * Updates are atomic in all models: no store comes between the store that their load read and their own store.
 *
 * A new event is always the last of its thread. Coherence therefore needs to be checked from this event only: a load
 * may return any store that is not followed by a store that it must see, and a store may be placed after all stores
 * that it must see. */
#ifndef STROBE_SIM_EXPLORE_MODEL_H
#define STROBE_SIM_EXPLORE_MODEL_H

#include "sim/explore/graph.h"

/* Lists the stores that the load `event` may read, newest first. The load was added last and reads nothing yet. Returns
 * their number; from[] has EXPLORE_EVENTS_MAX elements. Leaves the graph unchanged. */
uint32_t explore_model_loads(struct explore_graph *g, enum explore_memory memory, uint16_t event, uint16_t *from);

/* Lists the stores (or INITIAL) after which the store `event`, added last, may be placed, newest first. Returns 0 for
 * an update whose place is taken. */
uint32_t explore_model_places(struct explore_graph *g, enum explore_memory memory, uint16_t event, uint16_t *before);

/* Returns true when the load `event`, the last of its thread, may read what it reads. */
bool explore_model_load_holds(struct explore_graph *g, enum explore_memory memory, uint16_t event);

/* Checks the axioms that the functions above leave for the end because they are expensive: RC11's SC. A graph that
 * violates them is not an execution, and neither is any graph that extends it. */
bool explore_model_holds(const struct explore_graph *g, enum explore_memory memory);

#endif
