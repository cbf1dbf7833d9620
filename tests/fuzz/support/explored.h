/* A fuzzer of lock-free code: the input is a small concurrent program and its schedule. The explorer's machine runs
 * the program once: bytes of the input choose the thread that runs next, the store that each load reads, and the
 * place of each store, among all that the memory model allows.
 *
 * The program's part of the input comes first. `decode` turns it into the operations of each thread. Compiled with
 * the explorer's flags: see sim/explore/program.h. Fuzz programs only. */
#ifndef STROBE_FUZZ_SUPPORT_EXPLORED_H
#define STROBE_FUZZ_SUPPORT_EXPLORED_H

#include "sim/explore/program.h"
#include "tests/fuzz/support/bytes.h"

struct fuzz_explored {
    struct explore_program program; /* thread_count is the maximum; each input has its own */

    /* Decodes the operations of all threads. Returns the number of threads, or 0 to reject the input. */
    uint32_t (*decode)(struct fuzz_bytes *in);
};

/* Defined by the fuzz program. */
extern const struct fuzz_explored fuzz_explored;

#endif
