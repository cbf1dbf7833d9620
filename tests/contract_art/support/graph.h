/* The workload's call graph, and the check of a session's stacks against it. */
#ifndef STROBE_CONTRACT_ART_SUPPORT_GRAPH_H
#define STROBE_CONTRACT_ART_SUPPORT_GRAPH_H

#include "tests/contract_art/support/capture.h"

/* `records` counts records with a stack. The other counters count different stacks. */
struct graph_tally {
    uint64_t records, stacks, cut, wrong;
};

/* Checks each stack of a session against the workload's call graph, except stacks of the main thread, which runs no
 * workload. Prints the first wrong stacks to standard error. */
struct graph_tally graph_check(const struct capture *k);

#endif
