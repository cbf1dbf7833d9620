/* Runs another program and says what it cost. Main thread. */
#ifndef STROBE_BENCH_CHILD_H
#define STROBE_BENCH_CHILD_H

#include <stdbool.h>
#include <stdint.h>

struct child {
    double cpu_s; /* user and system time, with that of its own children */
    double wall_s;
    long peak_kib; /* largest resident set of the program or one of its children */
    int status;    /* exit status, 128 + signal when a signal ended it */
    uint64_t hits; /* how often `count` occurred in its output */
};

/* Runs argv (found through PATH) to its end, its output thrown away, its messages let through only with `loud`.
 * With `count`, its output is searched for that text. False when it could not be started or waited for. */
bool child_run(const char *const *argv, const char *count, bool loud, struct child *out);

#endif
