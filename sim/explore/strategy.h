/* Strategies: each a chooser for the machine (machine.h), and what it does from one execution to the next. */
#ifndef STROBE_SIM_EXPLORE_STRATEGY_H
#define STROBE_SIM_EXPLORE_STRATEGY_H

#include "sim/explore/machine.h"

struct explore_strategy_state;

struct explore_tactics {
    /* NULL: no memory. */
    struct explore_strategy_state *(*open)(const struct explore_program *program,
                                           const struct explore_options *options);
    void (*close)(struct explore_strategy_state *s);

    /* Sets the machine's graph for the next execution. False: all are explored. */
    bool (*next)(struct explore_strategy_state *s);
    const struct explore_chooser *(*chooser)(struct explore_strategy_state *s);

    /* The execution came to that end; the graph is as it was then. False when it was met before: not counted. */
    bool (*ended)(struct explore_strategy_state *s, enum explore_end end);

    /* Share of the executions that are explored, an estimate, or < 0. */
    double (*done)(const struct explore_strategy_state *s);

    /* No memory was left on the way. */
    bool (*starved)(const struct explore_strategy_state *s);
};

extern const struct explore_tactics explore_exhaustive, explore_bounded, explore_walk, explore_pct;

#endif
