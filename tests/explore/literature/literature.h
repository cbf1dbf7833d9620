/* Concurrent programs from the literature, known to be right or known to be wrong: what the explorer says of them is
 * compared with what was published. Each list ends with a NULL; its name is the group's and begins its programs'.
 *
 * A data race is what C11 calls one, in each memory model: a relaxed store publishes nothing that is plain, even where
 * the machine would keep it in order. What the machine's order alone decides is therefore asked of atomic accesses. */
#ifndef STROBE_EXPLORE_LITERATURE_LITERATURE_H
#define STROBE_EXPLORE_LITERATURE_LITERATURE_H

#include "sim/explore/program.h"

extern const struct explore_program *const literature_locks[];
extern const struct explore_program *const literature_futexes[];
extern const struct explore_program *const literature_queues[];
extern const struct explore_program *const literature_stacks[];
extern const struct explore_program *const literature_deques[];
extern const struct explore_program *const literature_published[];
extern const struct explore_program *const literature_counts[];

/* A fault in the memory models that a program was published to be wrong in. */
#define IN_ALL(bits)                                                                                                   \
    {                                                                                                                  \
        bits, bits, bits                                                                                               \
    }
#define IN_TSO_AND_C11(bits)                                                                                           \
    {                                                                                                                  \
        0, bits, bits                                                                                                  \
    }
#define IN_C11(bits)                                                                                                   \
    {                                                                                                                  \
        0, 0, bits                                                                                                     \
    }
#define RACE      EXPLORE_BIT(EXPLORE_RACE)
#define REQUIRE   EXPLORE_BIT(EXPLORE_REQUIRE)
#define DEADLOCK  EXPLORE_BIT(EXPLORE_DEADLOCK)
#define RECLAIMED EXPLORE_BIT(EXPLORE_RECLAIMED)

#define EACH_2(run)                                                                                                    \
    {                                                                                                                  \
        run, run                                                                                                       \
    }
#define EACH_3(run)                                                                                                    \
    {                                                                                                                  \
        run, run, run                                                                                                  \
    }
#define EACH_5(run)                                                                                                    \
    {                                                                                                                  \
        run, run, run, run, run                                                                                        \
    }

#endif
