/* Translates a litmus test to a program of axioms.h, and the axioms' outcomes to the form of the explorer's. For tests;
 * asserts by CMocka. */
#ifndef STROBE_SIM_SUPPORT_LITMUS_AXIOMS_H
#define STROBE_SIM_SUPPORT_LITMUS_AXIOMS_H

#include "sim/explore/litmus/litmus.h"
#include "tests/sim/support/axioms.h"

/* Outcomes as in struct explore_outcome. A race in one execution makes all outcomes void. */
struct axioms_outcomes {
    uint32_t count;
    struct {
        char text[240];
        uint64_t executions;
    } outcome[512];
    uint64_t executions;
    bool race;
};

/* Translates the test. Returns false when it uses a construct that axioms.h lacks: loops, computed values, pointers in
 * locals. */
bool axioms_of_litmus(const struct explore_litmus *test, struct axioms_program *out);

/* Computes the outcomes that the model allows, ordered by their texts. */
void axioms_outcomes(const struct explore_litmus *test, const struct axioms_program *program,
                     enum explore_memory memory, struct axioms_outcomes *out);

#endif
