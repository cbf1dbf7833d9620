/* Where a reconstructed timeline differs from the truth. At an instant both are one path of calls each (score.h). They
 * differ below their common begin. A difference is a longest span of time in which the first calls that differ are the
 * same on both sides. All differences of a thread together last as long as its time without exact agreement.
 *
 * Allocates; not thread-safe. */
#ifndef STROBE_SIM_PAGE_DIFFERENCES_H
#define STROBE_SIM_PAGE_DIFFERENCES_H

#include "sim/score/pairing.h"

enum sim_difference_kind {
    SIM_DIFFERS_MISSING, /* the truth has a call, and the reconstruction has none */
    SIM_DIFFERS_EXTRA,   /* the reverse */
    SIM_DIFFERS_OTHER,   /* both have a call, of other names */
    SIM_DIFFERS_UNSEEN,  /* the reconstruction has no call at all, or a placeholder */
    SIM_DIFFERENCE_KINDS
};

#define SIM_NO_NAME UINT32_MAX

struct sim_difference {
    uint64_t begin_ns, end_ns;
    enum sim_difference_kind kind;
    uint32_t depth;              /* calls that both paths have in common */
    uint32_t true_name, claimed; /* first calls that differ, by the names of their side; SIM_NO_NAME: none */
};

struct sim_differences {
    struct sim_difference *at; /* by time */
    size_t count, room;
};

/* Lists the differences of a pair within the life of the true thread; without one, of the reconstructed thread. Frees
 * nothing: the list is used again for other pairs, and the caller frees `at`. False: out of memory. */
bool sim_differences_of(const struct sim_pairing *p, const struct sim_pair *pair, struct sim_differences *out);

#endif
