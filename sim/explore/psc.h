/* RC11's axiom for operations of order seq_cst: the partial SC order has no cycle (Lahav et al., PLDI 2017, section 3),
 *
 *   scb  = sb + sb-to-another-place; hb; sb-to-another-place + hb-at-one-place + mo + rb
 *   psc  = ([Esc] + [Fsc]; hb?); scb; ([Esc] + hb?; [Fsc])  +  [Fsc]; (hb + hb; eco; hb); [Fsc]
 *
 * The cost is of the order of (operations of order seq_cst) x (events), and their square times the places. It is
 * checked at the end of an execution only. */
#ifndef STROBE_SIM_EXPLORE_PSC_H
#define STROBE_SIM_EXPLORE_PSC_H

#include "sim/explore/graph.h"

bool explore_psc_holds(const struct explore_graph *g);

#endif
