/* Explores a program: all its executions, or many of them, and returns the first execution that fails.
 *
 * Two executions are equal when each load reads from the same store and the stores to each location have the same order
 * (execution graphs, Alglave et al. 2014). Schedules that differ in anything else are not explored twice.
 *
 * Strategies
 *
 *   EXHAUSTIVE  every consistent execution once: TruSt (Kokologiannakis, Marmanis, Gladstein, Vafeiadis, "Truly
 *               stateless, optimal dynamic partial order reduction", POPL 2022). It was chosen over source-DPOR because
 *               one algorithm serves all three memory models, explores each class once, and needs memory for one path
 *               only
 *   BOUNDED     every execution that needs at most `preemptions` preemptions (Musuvathi, Qadeer, PLDI 2007), with a set
 *               of the visited states. It needs memory for all of them, and finds short failures first
 *   WALK        at each step a random thread, a random store to read, a random place
 *   PCT         random priorities with depth - 1 changes: finds a bug of depth d with probability of at least
 *               1 / (n k^(d-1)) in each execution, n threads, k steps (Burckhardt et al., ASPLOS 2010)
 *
 * Not thread-safe; a process runs one exploration at a time. Start only. */
#ifndef STROBE_SIM_EXPLORE_EXPLORE_H
#define STROBE_SIM_EXPLORE_EXPLORE_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "sim/explore/program.h"

enum explore_strategy { EXPLORE_EXHAUSTIVE, EXPLORE_BOUNDED, EXPLORE_WALK, EXPLORE_PCT, EXPLORE_STRATEGIES };

/* A thread that is frozen or interrupted before one of its operations. thread = 0: none, else index + 1. */
struct explore_at {
    uint32_t thread, step;
};

struct explore_progress {
    uint64_t executions, operations;
    double seconds;
    double done;         /* estimated share of executions explored, 0 .. 1; < 0 when unknown */
    const char *variant; /* "", "thread 1 frozen before its step 7" */
};

enum { EXPLORE_STEPS_DEFAULT = 2000 };

struct explore_options {
    enum explore_memory memory;
    enum explore_strategy strategy;
    uint32_t size;           /* 0 = the program's quick size */
    uint32_t preemptions;    /* BOUNDED */
    uint32_t depth;          /* PCT, >= 1 */
    uint64_t seed;           /* WALK, PCT */
    uint64_t executions_max; /* 0 = no limit for EXHAUSTIVE and BOUNDED, 10,000 for the others */
    double seconds_max;      /* 0 = none */
    uint32_t steps_max;      /* operations of one thread in one execution; 0 = EXPLORE_STEPS_DEFAULT */
    bool spurious;           /* weak compare-exchanges also fail spuriously */
    bool all_failures;       /* continue after the first failure, and count failures */
    void (*progress)(void *ctx, const struct explore_progress *now); /* called about ten times a second; may be NULL */
    bool (*stop)(void *ctx); /* called as often; returns true to end the exploration; may be NULL */
    void *ctx;
};

enum explore_operation {
    EXPLORE_LOAD,
    EXPLORE_STORE,
    EXPLORE_UPDATE /* a read-modify-write that stored */,
    EXPLORE_FENCE,
    EXPLORE_CHOICE,
    EXPLORE_PLAIN_LOAD,
    EXPLORE_PLAIN_STORE,
    EXPLORE_BEGIN,
    EXPLORE_END,
};

/* An operation of an execution. Steps are in an order that the threads could have taken. */
struct explore_step {
    uint32_t thread; /* index; UINT32_MAX: the setup */
    uint32_t number; /* number of the operation in its thread, from 0 */
    enum explore_operation operation;
    int order;        /* memory_order_*, of <stdatomic.h> */
    const void *site; /* code address, for its source line; NULL when there is none (litmus) */
    const char *text; /* text of a litmus test for this operation, else NULL */
    char place[32];   /* "state+0x40", "block 3+0x8", "x" */
    uint32_t bytes;
    uint64_t value, old; /* value loaded or stored; old: value that an update found */
    uint32_t from;       /* index of the step it reads from; UINT32_MAX: the initial value, or it reads nothing */
    uint32_t after;      /* stores: index of the step whose store is right before it in the place's order, which may be
                            a later step; UINT32_MAX: the initial value */
    uint32_t when;       /* position in the order in which the explorer ran the steps; UINT32_MAX: not run */
    bool stale;          /* it read a store that is not the latest one in this order */
};

struct explore_failure {
    enum explore_fault fault;
    char message[256]; /* one line: the fault, with file and line if known */
    struct explore_at frozen, interrupted;
    uint32_t size;   /* of the program */
    const void *met; /* code address of the earlier access that the last step races with, or of the free; or NULL */
    uint32_t met_by; /* thread of that access */
    uint32_t step_count;
    struct explore_step *step; /* the last step is the one that failed */
};

struct explore_result {
    uint64_t executions;     /* completed executions, each counted once */
    uint64_t blocked;        /* executions that did not complete: threads waited for a store of another execution */
    uint64_t duplicates;     /* executions met again; always 0 in EXHAUSTIVE */
    uint64_t operations;     /* steps made, including those of repeated beginnings */
    uint64_t failures;       /* 1 unless all_failures */
    uint64_t variants;       /* runs with a thread frozen or interrupted at some step, plus the run without */
    uint32_t pairs;          /* coverage: distinct pairs of a store's and a load's code addresses where the load read
                                from the store */
    uint32_t threads, steps; /* maximum in one execution */
    double seconds;
    bool complete;                  /* every execution within the strategy's bound was explored */
    double probability;             /* PCT: minimum probability that one execution shows a bug of that depth */
    struct explore_failure failure; /* fault is EXPLORE_FINE when nothing failed */
};

/* Defaults: c11, exhaustive, quick size. */
void explore_options_default(struct explore_options *options);

/* Returns the size that is explored when `asked` is requested: the quick size for 0, and at most the program's largest
 * size. */
uint32_t explore_size_for(const struct explore_program *program, uint32_t asked);

/* Explores. STROBE_OK: also when a failure was found. STROBE_FULL: an execution is too large (more than 4,096
 * operations), or memory ran out; out->failure.message says which. The caller calls explore_result_free in any case. */
enum strobe_status explore_run(const struct explore_program *program, const struct explore_options *options,
                               struct explore_result *out);
void explore_result_free(struct explore_result *result);

/* Searches, for about that many seconds, for an execution that fails in the same way and is easier to read: a smaller
 * size of the program, fewer preemptions. Replaces the failure in the result. Returns true when it found one. */
bool explore_minimise(const struct explore_program *program, const struct explore_options *options, double seconds,
                      struct explore_result *result);

/* Returns true when the result is what the program declares: the exploration was complete or as far as requested,
 * exactly the declared faults appeared, and the number of executions is the declared one, if strategies count each
 * once. */
bool explore_as_expected(const struct explore_program *program, const struct explore_options *options,
                         const struct explore_result *result);

/* Writes the failure to `path` for explore_replay, and reads it back: program and memory model by name (*program_name
 * is allocated), then the operations of threads with the store that each read from. STROBE_IO, or STROBE_BAD_INPUT with
 * a line "file:line: expected ..." in `error`. Overwrites an existing file only with `force`. */
enum strobe_status explore_save(const char *path, bool force, const struct explore_program *program,
                                const struct explore_options *options, const struct explore_result *result,
                                struct strobe_error *error);

/* Runs the execution of a saved file once, in the same way as explore_run, so that a debugger can stop in the code of
 * its threads. `find` returns the program of a name, or NULL. */
enum strobe_status explore_replay(const char *path, const struct explore_program *(*find)(const char *name),
                                  struct explore_result *out, struct strobe_error *error);

const char *explore_fault_name(enum explore_fault fault);    /* "data race" */
const char *explore_memory_name(enum explore_memory memory); /* "sc" "tso" "c11" */
const char *explore_strategy_name(enum explore_strategy strategy);
const char *explore_operation_name(enum explore_operation operation); /* "load", also for plain loads */
const char *explore_order_name(const struct explore_step *step);      /* "acquire", "plain", "-": none */

/* Prints threads, operations and outcomes as a table, with source lines from this process's debug information. */
struct _IO_FILE;
void explore_print_failure(struct _IO_FILE *to, const struct explore_failure *failure);

#endif
