#include "sim/explore/explore.h"

#include <stdatomic.h>

static const char *name_in(const char *const *names, unsigned count, unsigned which)
{
    return which < count ? names[which] : "unknown";
}

const char *explore_fault_name(enum explore_fault fault)
{
    static const char *const names[EXPLORE_FAULTS] = {
        [EXPLORE_FINE] = "fine",
        [EXPLORE_REQUIRE] = "broken requirement",
        [EXPLORE_RACE] = "data race",
        [EXPLORE_DEADLOCK] = "deadlock",
        [EXPLORE_ENDLESS] = "endless thread",
        [EXPLORE_RECLAIMED] = "use of freed memory",
        [EXPLORE_WILD] = "wild access",
    };
    return name_in(names, EXPLORE_FAULTS, fault);
}

const char *explore_memory_name(enum explore_memory memory)
{
    static const char *const names[EXPLORE_MEMORIES] = {
        [EXPLORE_SC] = "sc",
        [EXPLORE_TSO] = "tso",
        [EXPLORE_C11] = "c11",
    };
    return name_in(names, EXPLORE_MEMORIES, memory);
}

const char *explore_strategy_name(enum explore_strategy strategy)
{
    static const char *const names[EXPLORE_STRATEGIES] = {
        [EXPLORE_EXHAUSTIVE] = "exhaustive",
        [EXPLORE_BOUNDED] = "bounded",
        [EXPLORE_WALK] = "random",
        [EXPLORE_PCT] = "pct",
    };
    return name_in(names, EXPLORE_STRATEGIES, strategy);
}

const char *explore_operation_name(enum explore_operation operation)
{
    static const char *const names[] = {
        [EXPLORE_LOAD] = "load",         [EXPLORE_STORE] = "store",   [EXPLORE_UPDATE] = "update",
        [EXPLORE_FENCE] = "fence",       [EXPLORE_CHOICE] = "choose", [EXPLORE_PLAIN_LOAD] = "load",
        [EXPLORE_PLAIN_STORE] = "store", [EXPLORE_BEGIN] = "begin",   [EXPLORE_END] = "end",
    };
    return name_in(names, sizeof names / sizeof *names, operation);
}

const char *explore_order_name(const struct explore_step *step)
{
    static const char *const names[] = {
        [memory_order_relaxed] = "relaxed", [memory_order_consume] = "consume", [memory_order_acquire] = "acquire",
        [memory_order_release] = "release", [memory_order_acq_rel] = "acq_rel", [memory_order_seq_cst] = "seq_cst",
    };
    switch (step->operation) {
    case EXPLORE_PLAIN_LOAD:
    case EXPLORE_PLAIN_STORE: return "plain";
    case EXPLORE_CHOICE:
    case EXPLORE_BEGIN:
    case EXPLORE_END: return "-";
    default: return name_in(names, sizeof names / sizeof *names, (unsigned)step->order);
    }
}
