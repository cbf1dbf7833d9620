/* The memory models as their authors write them down, to hold the explorer against: all candidates of a small program
 * are listed (for each load a store, for each location an order of its stores), and those that break an axiom are
 * crossed out. Knows nothing of the explorer and shares no code with it. Slow and plain on purpose.
 *
 * A program is straight but for skips ahead, so that an operation runs at most once. Locations hold 64-bit numbers. */
#ifndef STROBE_SIM_SUPPORT_AXIOMS_H
#define STROBE_SIM_SUPPORT_AXIOMS_H

#include "sim/explore/program.h"

enum {
    AXIOMS_OPS_MAX = 16,       /* of a thread */
    AXIOMS_REGISTERS_MAX = 12, /* of a thread */
    AXIOMS_LOCATIONS_MAX = 6,
    AXIOMS_NONE = 255, /* no register */
};

enum axioms_kind {
    AXIOMS_LOAD,     /* to = location */
    AXIOMS_STORE,    /* location = value */
    AXIOMS_EXCHANGE, /* to = location, location = value, at once */
    AXIOMS_ADD,      /* to = location, location += value, at once */
    AXIOMS_COMPARE,  /* to = whether location was register `expected`, and became value; else expected =
                        location, by a load of failure_order */
    AXIOMS_FENCE,
    AXIOMS_SET,  /* to = value */
    AXIOMS_SKIP, /* skips `skip` operations when register `expected` is `constant`, or, if `unless`, is
                    not */
};

/* value: constant + register `from`, which may be AXIOMS_NONE. */
struct axioms_op {
    enum axioms_kind kind;
    bool plain, unless;
    uint8_t order, failure_order; /* memory_order_* */
    uint8_t location, to, from, expected, skip;
    int64_t constant;
};

struct axioms_program {
    uint32_t thread_count, location_count;
    uint32_t op_count[EXPLORE_THREADS_MAX];
    struct axioms_op op[EXPLORE_THREADS_MAX][AXIOMS_OPS_MAX];
    int64_t initial[AXIOMS_LOCATIONS_MAX];
};

/* How an execution ended. */
struct axioms_end {
    int64_t reg[EXPLORE_THREADS_MAX][AXIOMS_REGISTERS_MAX];
    int64_t memory[AXIOMS_LOCATIONS_MAX];
    bool race; /* herd's rc11.cat: two accesses, one plain, one a store, unordered */
};

/* Calls seen() with each execution that the model allows; returns how many there are. */
uint64_t axioms_executions(const struct axioms_program *program, enum explore_memory memory,
                           void (*seen)(void *ctx, const struct axioms_end *end), void *ctx);

#endif
