/* Strategies: each is a chooser for the machine (machine.h), and what it does between two executions. */
#ifndef STROBE_SIM_EXPLORE_STRATEGY_H
#define STROBE_SIM_EXPLORE_STRATEGY_H

#include "sim/explore/machine.h"

struct explore_strategy_state;

struct explore_tactics {
    /* Returns NULL when memory runs out. */
    struct explore_strategy_state *(*open)(const struct explore_program *program,
                                           const struct explore_options *options);
    void (*close)(struct explore_strategy_state *s);

    /* Prepares the machine's graph for the next execution. Returns false when all are explored. */
    bool (*next)(struct explore_strategy_state *s);
    const struct explore_chooser *(*chooser)(struct explore_strategy_state *s);

    /* Called when an execution has ended; the graph is unchanged. Returns false for an execution that was met before,
     * which is not counted. */
    bool (*ended)(struct explore_strategy_state *s, enum explore_end end);

    /* Returns an estimate of the share of executions explored, or < 0. */
    double (*done)(const struct explore_strategy_state *s);

    /* Returns true when memory ran out. */
    bool (*starved)(const struct explore_strategy_state *s);
};

extern const struct explore_tactics explore_exhaustive, explore_bounded, explore_walk, explore_pct;

#endif
