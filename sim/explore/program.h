/* Concurrent programs that are explored: a few threads over shared memory, in plain C11.
 *
 * A program's code is ordinary: <stdatomic.h>, plain loads and stores, calls into the engine. Built for
 * exploration, the
 * compiler turns each access to memory into a call (as for a race detector, see access.c), and each atomic operation,
 * fence and shared plain access becomes a step that the explorer decides about. Built natively, the same source runs on
 * real threads (stress.c).
 *
 *   setup(state)      alone, before each execution: state is zeroed, then filled in here
 *   thread[i](state)  run together
 *   check(state)      alone, after each execution: what must hold then, by explore_require
 *
 * A program must be deterministic but for what its loads return and explore_choose: no clock, no random numbers, no
 * address printed or hashed, no heap but explore_alloc. Its loops must end, or spin (explore_spin).
 *
 * Data races, deadlocks, livelocks, lost wake-ups, accesses to freed memory and steps without end are failures that
 * nobody needs to ask for. */
#ifndef STROBE_SIM_EXPLORE_PROGRAM_H
#define STROBE_SIM_EXPLORE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXPLORE_THREADS_MAX = 5 };

/* Weakest last: each allows all that those before it allow. */
enum explore_memory {
    EXPLORE_SC,  /* one order of all operations (Lamport 1979) */
    EXPLORE_TSO, /* stores wait in a buffer (x86: Owens, Sarkar, Sewell 2009) */
    EXPLORE_C11, /* RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer, PLDI 2017) */
    EXPLORE_MEMORIES
};

/* How an execution can fail. */
enum explore_fault {
    EXPLORE_FINE,
    EXPLORE_REQUIRE,   /* explore_require did not hold */
    EXPLORE_RACE,      /* two plain accesses, or a plain and an atomic one, not ordered, at least one a store */
    EXPLORE_DEADLOCK,  /* threads wait, and nobody is left to wake them: also livelocks and lost wake-ups */
    EXPLORE_ENDLESS,   /* a thread took more than steps_max operations */
    EXPLORE_RECLAIMED, /* access to memory that was given to explore_free */
    EXPLORE_WILD,      /* free of what is not allocated, futex on nothing, atomic accesses of two sizes */
    EXPLORE_FAULTS
};
#define EXPLORE_BIT(fault) (1u << (fault))

struct explore_program {
    const char *name;      /* unique: "ring/lap" */
    const char *what;      /* the property, in a line */
    const char *source;    /* where a published program is from, with its count if there is one; or NULL */
    uint32_t thread_count; /* 1 .. EXPLORE_THREADS_MAX */
    size_t state_bytes;
    void (*setup)(void *state);
    void (*thread[EXPLORE_THREADS_MAX])(void *state);
    void (*check)(void *state);

    /* How large: explore_size() returns the one in use, 1 .. nightly. Larger sizes explore more. */
    uint32_t quick, nightly;

    /* Faults it must show, by memory model: a set of EXPLORE_BIT; 0 = none may appear. A known-bad program passes when
     * it shows one of its faults, and no other. */
    uint32_t faults[EXPLORE_MEMORIES];

    /* Bit i: thread i is also frozen for ever before each of its operations in turn: the others have to get on. */
    uint32_t frozen;

    /* Thread index + 1 whose operations are interrupted, once before each in turn, by interrupt(state) run on that
     * thread, as a signal handler would be; 0: none. */
    uint32_t interrupted;
    void (*interrupt)(void *state);

    /* Ordered by fences, which the thread sanitizer does not model: natively it is not run under it. */
    bool fenced;

    uint64_t executions; /* published count of executions at size quick under c11; 0: none is known */
};

/* Fails the execution when `condition` is false. Threads, interrupt and check. */
#define explore_require(condition) ((condition) ? (void)0 : explore_broken(#condition, __FILE__, __LINE__))
_Noreturn void explore_broken(const char *condition, const char *file, int line);

/* The size this run explores: quick, nightly, or what the command asked for. Anywhere. */
uint32_t explore_size(void);

/* Index of the calling thread. Threads and interrupt. */
uint32_t explore_self(void);

/* Bit i: thread i was frozen and did not end. For check. */
uint32_t explore_frozen(void);

/* One of 0 .. count - 1: all are explored. Threads and interrupt; count >= 1. */
uint32_t explore_choose(uint32_t count);

/* To be called in each turn of a loop that waits for another thread's store: the turn is repeated only when one of its
 * loads can return another store than in the turn before. So a turn must not change anything: an update that stores
 * what it found (a lock that was taken already) changes nothing. A loop without this call is explored turn by turn,
 * until a dozen turns in a row have done the same. */
void explore_spin(void);

/* Shared memory, 16-byte aligned, zeroed when it is handed out first. A block of the same size that the thread freed
 * is handed out again as it is, the last freed first, as allocators with a cache for each thread do (ABA). What is not
 * freed is no leak. Setup and threads; NULL beyond 16 KiB of each thread, and of the setup. */
void *explore_alloc(size_t bytes);
void explore_free(void *block);

/* Makes memory outside of the state shared: accesses to it are steps. It must be put in its first state by each setup.
 * Setup. */
void explore_share(void *memory, size_t bytes);

/* Makes memory (a _Thread_local variable of the program) each thread's own, 0 at its begin. Setup. */
void explore_local(void *memory, size_t bytes);

/* As futex(2): sleeps if *word still is `expected`, until a wake after that; false at once when it is not. With
 * `may_time_out` it also comes back with no wake at all. A wake of `count` wakes all who sleep: waking fewer is
 * explored
 * as the others going back to sleep. Threads and interrupt. */
bool explore_futex_wait(_Atomic uint32_t *word, uint32_t expected, bool may_time_out);
void explore_futex_wake(_Atomic uint32_t *word);

/* The programs of tests/explore, as built into the command; the last group has no name. */
struct explore_group {
    const char *name;                             /* "ring" */
    const struct explore_program *const *program; /* ended by a NULL */
};
extern const struct explore_group explore_groups[];

#endif
