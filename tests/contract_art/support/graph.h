/* The workload's calls: which stacks its threads can have. */
#ifndef STROBE_CONTRACT_ART_SUPPORT_GRAPH_H
#define STROBE_CONTRACT_ART_SUPPORT_GRAPH_H

#include "tests/contract_art/support/capture.h"

struct graph_tally {
    uint64_t records, stacks, cut, wrong;
}; /* stacks: different ones */

/* Checks each stack of a session, but those of its main thread, which play no part, against who calls whom. The first
 * that are wrong are printed on standard error. */
struct graph_tally graph_check(const struct capture *k);

#endif
