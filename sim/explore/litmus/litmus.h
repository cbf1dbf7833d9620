/* Litmus tests: small concurrent programs with a question about their outcomes, read from files and explored.
 *
 * The format is herd7's C (Alglave, Maranget, Tautschnig, "Herding cats", TOPLAS 2014; diy.inria.fr/doc), which
 * Dartagnan also reads:
 *
 *     C SB+rlx
 *     { [x] = 0; atomic_int y = 0; }
 *     P0 (atomic_int* x, volatile int* y) {
 *       atomic_store_explicit(x, 1, memory_order_relaxed);
 *       int r0 = atomic_load_explicit(y, memory_order_relaxed);
 *     }
 *     P1 (...) { ... }
 *     locations [x; 0:r0;]
 *     exists (0:r0=0 /\ 1:r0=0)
 *
 * Supported syntax
 *   head        "C NAME", then anything up to the first "{": comments, texts, KEY=VALUE lines
 *   init        [x] = 1; x = 1; int x = 1; atomic_int x; int *p = &x; p = x; 0:r1 = 1; other variables are 0
 *   threads     P0 .. P4 in order, with void before it or not; parameters are pointers to shared locations, named as
 *               these
 *   types       the integer types of C, <stdint.h> and <stdatomic.h>, _Atomic(T), pointers; const and volatile have
 *               no effect; int has 4 bytes, long and pointers 8
 *   statements  declarations, assignments (= += -= &= |= ^=) to locals and to *p, if, else, while, do, { }, calls.
 *               A local that is assigned without a declaration is an int; blocks have no scope of their own.
 *   values      || && | ^ & == != < <= > >= << >> + - * / % ! ~ - ?: casts, true, false, NULL, decimal and hexadecimal
 *               numbers; computed as signed 64-bit values, converted to a type when they are stored
 *   C11         atomic_load, atomic_store, atomic_exchange, atomic_fetch_{add,sub,or,and,xor},
 *               atomic_compare_exchange_{strong,weak}, each also with _explicit; atomic_thread_fence, atomic_init.
 *               The expected value is in a local, &r, or in shared memory, p, which is then accessed plainly.
 *   *p          is a plain access whatever p's type is, as in herd
 *   Linux       READ_ONCE, WRITE_ONCE (relaxed), smp_load_acquire, smp_store_release, smp_mb, smp_rmb, smp_wmb (fences:
 *               seq_cst, acquire, release), xchg (a seq_cst fence on both sides), xchg_relaxed, xchg_acquire,
 *               xchg_release. They mean these C11 operations, not those of the Linux kernel's memory model.
 *   orders      memory_order_*; consume is acquire. Release on a load and acquire on a store have no effect, as in
 *               herd
 *   condition   filter P, locations [..], then exists P, ~exists P or forall P, P of
 *               0:r0=1 x=2 [x]=2 *x=2 0:r0!=1 0:r0=1:r1 true false, not ~ /\ && \/ || => ( )
 *   comments    // and C's; (* *) outside of threads
 *
 * Not supported: arrays, structures, macros, locks, RCU, for, goto, ++.
 *
 * A turn of a loop that stores nothing and leaves the locals unchanged is a wait (explore_spin). A loop that exchanges
 * until it finds the wanted value is a wait as long as it stores the value that it found. Start only. */
#ifndef STROBE_SIM_EXPLORE_LITMUS_LITMUS_H
#define STROBE_SIM_EXPLORE_LITMUS_LITMUS_H

#include "engine/base/error.h"
#include "sim/explore/explore.h"

struct explore_litmus;

enum explore_quantifier { EXPLORE_EXISTS, EXPLORE_NOT_EXISTS, EXPLORE_FORALL };

/* How often the condition's proposition held among the executions. */
enum explore_observed { EXPLORE_NEVER, EXPLORE_SOMETIMES, EXPLORE_ALWAYS };

struct explore_outcome {
    char *text;          /* "0:r0=1; 1:r1=0; [x]=2;": registers by thread and name, then locations by name */
    uint64_t executions; /* number of executions that ended with it */
    bool holds;          /* the proposition holds for it */
};

struct explore_outcomes {
    uint32_t count;
    struct explore_outcome *outcome; /* ordered by their values, without duplicates */
    uint64_t positive, negative;     /* executions in which the proposition held, and did not */
    enum explore_observed observed;  /* without any execution: never */
    bool ok;                         /* the quantifier's statement is true, and nothing failed */
    bool undefined;                  /* a data race: the outcomes have no meaning */
    struct explore_result result;    /* places of its failure have the names of the test */
};

/* Reads a file of at most 1 MiB. STROBE_IO or STROBE_BAD_INPUT with a line in `error`: "FILE:LINE:COLUMN: expected ...,
 * found ...". */
enum strobe_status explore_litmus_read(const char *path, struct explore_litmus **out, struct strobe_error *error);

/* Parses text in memory, which need not end in NUL; `path` is used in messages only. */
enum strobe_status explore_litmus_parse(const char *text, size_t bytes, const char *path, struct explore_litmus **out,
                                        struct strobe_error *error);
void explore_litmus_free(struct explore_litmus *test);

const char *explore_litmus_name(const struct explore_litmus *test);      /* "SB+rlx" */
const char *explore_litmus_condition(const struct explore_litmus *test); /* "exists (0:r0=0 /\ 1:r0=0)" or "" */
enum explore_quantifier explore_litmus_quantifier(const struct explore_litmus *test);

/* Returns the test as a program of the same name, for explore_save and explore_replay. It is valid until the test is
 * freed. Only one test at a time can be explored or replayed: the one requested last. */
const struct explore_program *explore_litmus_program(struct explore_litmus *test);

/* Explores the test, with all outcomes if the options request them. Returns like explore_run: STROBE_OK also when there
 * was a failure, see out->result.failure; STROBE_FULL. The caller calls explore_outcomes_free afterwards. */
enum strobe_status explore_litmus_run(struct explore_litmus *test, const struct explore_options *options,
                                      struct explore_outcomes *out);
void explore_outcomes_free(struct explore_outcomes *outcomes);

/* Prints the result like herd: Test, States, Ok or No, Witnesses, Condition, Observation. A failure is printed before
 * Ok or No: "undefined behaviour: data race: ..", "deadlock: ..". */
struct _IO_FILE;
void explore_litmus_print(struct _IO_FILE *to, const struct explore_litmus *test,
                          const struct explore_outcomes *outcomes);

#endif
