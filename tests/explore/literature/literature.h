/* Concurrent programs from the literature that are known to be correct or wrong. The explorer's results are compared
 * with the published ones. Each list ends with a NULL. The name of a list is that of its group, and programs' names
 * begin with it.
 *
 * In each memory model a data race is one by C11: a relaxed store publishes no plain data, even where the machine keeps
 * the order. Programs that test the machine's order therefore use atomic accesses only. */
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

/* The expected fault, in the memory models in which the program is known to be wrong. */
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
