/* A litmus test given to the axioms, and their outcomes in the form of the explorer's. For tests; asserts by
 * CMocka. */
#ifndef STROBE_SIM_SUPPORT_LITMUS_AXIOMS_H
#define STROBE_SIM_SUPPORT_LITMUS_AXIOMS_H

#include "sim/explore/litmus/litmus.h"
#include "tests/sim/support/axioms.h"

/* Outcomes as in struct explore_outcome; a race in any execution makes all of them void. */
struct axioms_outcomes {
    uint32_t count;
    struct {
        char text[240];
        uint64_t executions;
    } outcome[512];
    uint64_t executions;
    bool race;
};

/* False: the test has what the axioms' programs lack (loops, computed values, pointers in locals). */
bool axioms_of_litmus(const struct explore_litmus *test, struct axioms_program *out);

/* What the model allows of the test, outcomes ordered by their texts. */
void axioms_outcomes(const struct explore_litmus *test, const struct axioms_program *program,
                     enum explore_memory memory, struct axioms_outcomes *out);

#endif
