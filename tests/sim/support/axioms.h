/* The memory models as axioms of their authors, to check the explorer. The implementation enumerates all candidate
 * executions of a small program (for each load a store, for each location an order of its stores), and removes those
 * that break an axiom. It shares no code with the explorer, and is slow and simple on purpose.
 *
 * A program has forward skips but no loops, so an operation runs at most once. Locations hold 64-bit numbers. */
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
    AXIOMS_EXCHANGE, /* atomically: to = location, location = value */
    AXIOMS_ADD,      /* atomically: to = location, location += value */
    AXIOMS_COMPARE,  /* to = whether location was register `expected`, and became value; else expected =
                        location, by a load of failure_order */
    AXIOMS_FENCE,
    AXIOMS_SET,  /* to = value */
    AXIOMS_SKIP, /* skips `skip` operations when register `expected` is `constant`, or, if `unless`, is
                    not */
};

/* An operation. Its value is constant + register `from`; `from` may be AXIOMS_NONE. */
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

/* The end of an execution. */
struct axioms_end {
    int64_t reg[EXPLORE_THREADS_MAX][AXIOMS_REGISTERS_MAX];
    int64_t memory[AXIOMS_LOCATIONS_MAX];
    bool race; /* herd's rc11.cat: two accesses, one plain, one a store, unordered */
};

/* Calls seen() for each execution that the model allows. Returns their number. */
uint64_t axioms_executions(const struct axioms_program *program, enum explore_memory memory,
                           void (*seen)(void *ctx, const struct axioms_end *end), void *ctx);

#endif
