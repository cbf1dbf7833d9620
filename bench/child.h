/* Runs another program and measures its cost. Main thread. */
#ifndef STROBE_BENCH_CHILD_H
#define STROBE_BENCH_CHILD_H

#include <stdbool.h>
#include <stdint.h>

struct child {
    double cpu_s; /* user and system time, its children included */
    double wall_s;
    long peak_kib; /* largest resident set of the program or one of its children */
    int status;    /* exit status, 128 + signal when a signal ended it */
    uint64_t hits; /* occurrences of `count` in its output */
};

/* Runs argv (found through PATH) to its end. Discards its output, and its messages too unless `loud`. With `count`,
 * counts this text in the output. Returns false when the program could not be started or waited for. */
bool child_run(const char *const *argv, const char *count, bool loud, struct child *out);

#endif
