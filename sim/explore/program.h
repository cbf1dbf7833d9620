/* Concurrent programs that are explored: a few threads over shared memory, in plain C11.
 *
 * The code is ordinary: <stdatomic.h>, plain loads and stores, calls into the engine. When it is built for exploration,
 * the compiler turns each access to memory into a call (as for a race detector, see access.c). Each atomic operation,
 * fence and shared plain access becomes a step whose order and result the explorer decides. When it is built natively,
 * the same source runs on real threads (stress.c).
 *
 *   setup(state)      alone, before each execution: state is zeroed, then initialised here
 *   thread[i](state)  run together
 *   check(state)      alone, after each execution: checks what must hold then, by explore_require
 *
 * A program must be deterministic except for what its loads and explore_choose return: no clock, no random numbers, no
 * address printed or hashed, no heap except explore_alloc. Its loops must end, or spin (explore_spin).
 *
 * Data races, deadlocks, livelocks, lost wake-ups, accesses to freed memory and endless executions are failures without
 * any explore_require. */
#ifndef STROBE_SIM_EXPLORE_PROGRAM_H
#define STROBE_SIM_EXPLORE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXPLORE_THREADS_MAX = 5 };

/* Weakest last: each allows all that the ones before it allow. */
enum explore_memory {
    EXPLORE_SC,  /* one order of all operations (Lamport 1979) */
    EXPLORE_TSO, /* stores wait in a buffer (x86: Owens, Sarkar, Sewell 2009) */
    EXPLORE_C11, /* RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer, PLDI 2017) */
    EXPLORE_MEMORIES
};

/* The faults of an execution. */
enum explore_fault {
    EXPLORE_FINE,
    EXPLORE_REQUIRE,   /* explore_require did not hold */
    EXPLORE_RACE,      /* two plain accesses, or a plain and an atomic one, not ordered, at least one a store */
    EXPLORE_DEADLOCK,  /* threads wait, and no thread is left to wake them; includes livelocks and lost wake-ups */
    EXPLORE_ENDLESS,   /* a thread took more than steps_max operations */
    EXPLORE_RECLAIMED, /* access to memory that was given to explore_free */
    EXPLORE_WILD,      /* free of memory that is not allocated, futex on nothing, atomic accesses of two sizes */
    EXPLORE_FAULTS
};
#define EXPLORE_BIT(fault) (1u << (fault))

struct explore_program {
    const char *name;      /* unique: "ring/lap" */
    const char *what;      /* the property, in one line */
    const char *source;    /* where a published program comes from, with its count if there is one; or NULL */
    uint32_t thread_count; /* 1 .. EXPLORE_THREADS_MAX */
    size_t state_bytes;
    void (*setup)(void *state);
    void (*thread[EXPLORE_THREADS_MAX])(void *state);
    void (*check)(void *state);

    /* Sizes. explore_size() returns the current one, 1 .. nightly. Larger sizes explore more. */
    uint32_t quick, nightly;

    /* Faults that the program must show, by memory model: a set of EXPLORE_BIT; 0 = no fault may appear. A known-bad
     * program passes when it shows one of its faults, and no other fault. */
    uint32_t faults[EXPLORE_MEMORIES];

    /* Bit i: thread i is also frozen for ever before each of its operations in turn. The others must make progress. */
    uint32_t frozen;

    /* Thread index + 1. Its operations are interrupted, once before each in turn, by interrupt(state), which runs on
     * that thread like a signal handler; 0: none. */
    uint32_t interrupted;
    void (*interrupt)(void *state);

    /* Ordered by fences, which the thread sanitizer does not support: the native build does not run under it. */
    bool fenced;

    uint64_t executions; /* published number of executions at size quick under c11; 0: unknown */
};

/* Makes the execution fail when `condition` is false. In threads, interrupt and check. */
#define explore_require(condition) ((condition) ? (void)0 : explore_broken(#condition, __FILE__, __LINE__))
_Noreturn void explore_broken(const char *condition, const char *file, int line);

/* Returns the size of this run: quick, nightly, or the size given to the command. Anywhere. */
uint32_t explore_size(void);

/* Returns the index of the calling thread. In threads and interrupt. */
uint32_t explore_self(void);

/* Returns a set: bit i when thread i was frozen and did not end. In check. */
uint32_t explore_frozen(void);

/* Returns one of 0 .. count - 1; all are explored. count >= 1. In threads and interrupt. */
uint32_t explore_choose(uint32_t count);

/* Call in each turn of a loop that waits for another thread's store. The turn is repeated only when one of its loads
 * can return another store than in the turn before. A turn must therefore change nothing. An update that stores the
 * value it found (a lock that is taken) changes nothing. A loop without this call is explored turn by turn, until a
 * dozen turns in a row have done the same. */
void explore_spin(void);

/* Returns shared memory, 16-byte aligned, zeroed when it is returned first. A block of the same size that the thread
 * has freed is returned again with its content, the last freed first, as by allocators with a cache for each thread
 * (ABA). Memory that is not freed is no leak. Returns NULL beyond 16 KiB for each thread, and for the setup. In setup
 * and threads. */
void *explore_alloc(size_t bytes);
void explore_free(void *block);

/* Makes memory outside the state shared: accesses to it are steps. Each setup must initialise it. In setup. */
void explore_share(void *memory, size_t bytes);

/* Makes memory (a _Thread_local variable of the program) private to each thread, 0 at its begin. In setup. */
void explore_local(void *memory, size_t bytes);

/* Behaves like futex(2): sleeps if *word is still `expected`, until a later wake; returns false at once otherwise. With
 * `may_time_out` it also returns without a wake. A wake of `count` wakes all sleepers; a wake of fewer is explored as
 * the others sleeping again. In threads and interrupt. */
bool explore_futex_wait(_Atomic uint32_t *word, uint32_t expected, bool may_time_out);
void explore_futex_wake(_Atomic uint32_t *word);

/* The programs of tests/explore, built into the command. The last group has no name. */
struct explore_group {
    const char *name;                             /* "ring" */
    const struct explore_program *const *program; /* ended by a NULL */
};
extern const struct explore_group explore_groups[];

#endif
