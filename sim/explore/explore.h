/* Explores a program: all its executions, or many of them, and the first that fails.
 *
 * Two executions are the same when each load reads from the same store and the stores to each location come in the same
 * order (execution graphs, Alglave et al. 2014); schedules that differ in anything else are not explored twice.
 *
 * Strategies
 *   EXHAUSTIVE  every consistent execution once: TruSt (Kokologiannakis, Marmanis, Gladstein, Vafeiadis, "Truly
 *               stateless, optimal dynamic partial order reduction", POPL 2022). Chosen over source-DPOR since one
 *               algorithm serves all three memory models, explores each class once, and needs memory only for one path.
 *   BOUNDED     every execution that needs at most `preemptions` preemptions (Musuvathi, Qadeer, PLDI 2007), with a set
 *               of the states that were seen: needs memory for all of them, finds short failures first
 *   WALK        at each step a random thread, a random store to read, a random place
 *   PCT         random priorities with depth - 1 changes: finds a bug of depth d with probability of at least
 *               1 / (n k^(d-1)) in each execution, n threads, k steps (Burckhardt et al., ASPLOS 2010)
 *
 * Not thread-safe; one exploration at a time in a process. Start only. */
#ifndef STROBE_SIM_EXPLORE_EXPLORE_H
#define STROBE_SIM_EXPLORE_EXPLORE_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "sim/explore/program.h"

enum explore_strategy { EXPLORE_EXHAUSTIVE, EXPLORE_BOUNDED, EXPLORE_WALK, EXPLORE_PCT, EXPLORE_STRATEGIES };

/* A thread frozen or interrupted before one of its operations; thread = 0: none, else index + 1. */
struct explore_at {
    uint32_t thread, step;
};

struct explore_progress {
    uint64_t executions, operations;
    double seconds;
    double done;         /* estimate of the share that is explored, 0 .. 1; < 0 when there is none */
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
    bool spurious;           /* weak compare-exchanges also fail for no reason */
    bool all_failures;       /* go on after the first failure, and count */
    void (*progress)(void *ctx, const struct explore_progress *now); /* about ten times a second; may be NULL */
    bool (*stop)(void *ctx); /* asked as often: true ends the exploration; may be NULL */
    void *ctx;
};

enum explore_operation {
    EXPLORE_LOAD,
    EXPLORE_STORE,
    EXPLORE_UPDATE /* read-modify-write that stored */,
    EXPLORE_FENCE,
    EXPLORE_CHOICE,
    EXPLORE_PLAIN_LOAD,
    EXPLORE_PLAIN_STORE,
    EXPLORE_BEGIN,
    EXPLORE_END,
};

/* An operation of an execution, in an order that its threads could have taken. */
struct explore_step {
    uint32_t thread; /* index; UINT32_MAX: the setup */
    uint32_t number; /* of the thread's operation, from 0 */
    enum explore_operation operation;
    int order;        /* memory_order_*, of <stdatomic.h> */
    const void *site; /* code address, for its source line; NULL when there is none (litmus) */
    const char *text; /* what a litmus test says there, else NULL */
    char place[32];   /* "state+0x40", "block 3+0x8", "x" */
    uint32_t bytes;
    uint64_t value, old; /* loaded or stored; old: what an update found */
    uint32_t from;       /* index of the step it reads from; UINT32_MAX: the initial value, or reads nothing */
    uint32_t after;      /* stores: index of the step whose store comes right before in the order of the place,
                          * which may be a later step; UINT32_MAX: the initial value */
    uint32_t when;       /* its place in the order in which the explorer ran them; UINT32_MAX: it did not */
    bool stale;          /* what it read was not the latest store when it stands here */
};

struct explore_failure {
    enum explore_fault fault;
    char message[256]; /* one line: what, and where by file and line if known */
    struct explore_at frozen, interrupted;
    uint32_t size;   /* of the program */
    const void *met; /* the earlier access that the last step races with, or the free: its code; or NULL */
    uint32_t met_by; /* thread of that */
    uint32_t step_count;
    struct explore_step *step; /* .. the one that failed is the last */
};

struct explore_result {
    uint64_t executions;     /* that ended, each once */
    uint64_t blocked;        /* that did not: threads waited for what comes in another execution */
    uint64_t duplicates;     /* executions met again; 0 in EXHAUSTIVE by construction, else counted */
    uint64_t operations;     /* steps made, those of repeated beginnings included */
    uint64_t failures;       /* 1 unless all_failures */
    uint64_t variants;       /* runs with a thread frozen or interrupted somewhere, and the one without */
    uint32_t pairs;          /* different (store's site, load's site) that were read from, the coverage */
    uint32_t threads, steps; /* most in one execution */
    double seconds;
    bool complete;                  /* every execution within the strategy's bound was explored */
    double probability;             /* PCT: least chance of one execution to show a bug of that depth */
    struct explore_failure failure; /* fault is EXPLORE_FINE when there is none */
};

/* Defaults: c11, exhaustive, quick size. */
void explore_options_default(struct explore_options *options);

/* The size that is explored when `asked` is asked for: the quick one for 0, never more than the program's largest. */
uint32_t explore_size_for(const struct explore_program *program, uint32_t asked);

/* Explores. STROBE_OK also when a failure was found; STROBE_FULL: an execution is too large (more than 4,096
 * operations) or no memory was left; out->failure.message then says which. explore_result_free afterwards. */
enum strobe_status explore_run(const struct explore_program *program, const struct explore_options *options,
                               struct explore_result *out);
void explore_result_free(struct explore_result *result);

/* Looks, for about that many seconds, for an execution that fails in the same way and is easier to read: of a smaller
 * size of the program, with fewer preemptions. Puts it in the place of the result's failure; true when it found one. */
bool explore_minimise(const struct explore_program *program, const struct explore_options *options, double seconds,
                      struct explore_result *result);

/* True when the result is what the program promises: complete or as far as asked, the faults it is known for, and as
 * many executions as were counted for it where each is met once. */
bool explore_as_expected(const struct explore_program *program, const struct explore_options *options,
                         const struct explore_result *result);

/* Writes the failure to `path` so that explore_replay can run it again, and reads it back: program and memory model by
 * name (*program_name allocated), then threads' operations with the store each read from. STROBE_IO, or
 * STROBE_BAD_INPUT with a line "file:line: expected ..." in why. An existing file is replaced only when `force`. */
enum strobe_status explore_save(const char *path, bool force, const struct explore_program *program,
                                const struct explore_options *options, const struct explore_result *result,
                                struct strobe_error *error);

/* Runs the execution of a saved file again, once: as under explore_run, so a debugger can stand in its threads' code.
 * `find` returns the program of a name or NULL. */
enum strobe_status explore_replay(const char *path, const struct explore_program *(*find)(const char *name),
                                  struct explore_result *out, struct strobe_error *error);

const char *explore_fault_name(enum explore_fault fault);    /* "data race" */
const char *explore_memory_name(enum explore_memory memory); /* "sc" "tso" "c11" */
const char *explore_strategy_name(enum explore_strategy strategy);
const char *explore_operation_name(enum explore_operation operation); /* "load", of plain ones too */
const char *explore_order_name(const struct explore_step *step);      /* "acquire", "plain", "-": none */

/* Threads, operations and outcomes as a table for people, source lines from the debug information of this process. */
struct _IO_FILE;
void explore_print_failure(struct _IO_FILE *to, const struct explore_failure *failure);

#endif
