/* What `learn` compares: statistics of a capture and of the replay of the scenario that was learnt from it.
 *
 * Shares of methods and waits: the time in which each is the innermost call, of methods only the time on a processor,
 * as a share of all such time. Their distances are the total variation, which is half the sum of all differences, and
 * the largest difference.
 *
 * Waits of each kind: their time and number, of the replay for as much of such time as the capture has. A machine that
 * other programs kept busy is then compared with one that is not. The distance is the relative error of the time.
 *
 * Percentiles of the durations of each kind of message: the distance is the relative error. Durations of calls by
 * method: the distance is that of Kolmogorov and Smirnov.
 *
 * Allocates; not thread-safe. */
#ifndef STROBE_SIM_LEARN_MEASURE_H
#define STROBE_SIM_LEARN_MEASURE_H

#include "sim/learn/calls/calls.h"

#include <stdio.h>

enum { LEARN_PERCENTILES = 4, LEARN_ROWS_MAX = 12 };
extern const double sim_learn_percentiles[LEARN_PERCENTILES];

struct learn_wait_row {
    enum strobe_kind kind;
    uint64_t count[2], ns[2]; /* of the capture, of the replay; the replay's scaled likewise */
    double error;             /* of the time, relative to the capture's */
};

struct learn_message_row {
    const char *name;
    uint64_t count[2], ns[2][LEARN_PERCENTILES];
    double error; /* the largest of the percentiles up to 95 */
};

struct learn_duration_row {
    const char *name;
    uint64_t count[2];
    double share[2]; /* of the threads' time */
    double distance; /* Kolmogorov-Smirnov */
};

struct learn_distances {
    struct strobe_text_pool names; /* owns the names below */
    uint64_t threads[2];
    uint64_t all_ns;                         /* the threads' time in the capture */
    uint64_t allocations[2], alloc_bytes[2]; /* as far as the capture knows; the replay's scaled likewise */
    double variation, largest_share;         /* 0 to 1 */
    const char *largest_method;
    struct learn_wait_row waits[STROBE_KIND_COUNT];
    size_t wait_count;
    double wait_error; /* the largest of those waits that take 1 % of the threads' time or more */
    struct learn_message_row messages[LEARN_ROWS_MAX];
    size_t message_count;
    double message_error; /* the largest of the rows */
    struct learn_duration_row durations[LEARN_ROWS_MAX];
    size_t duration_count;
};

/* Compares a capture with replays. False: out of memory. Close *out in any case. */
bool sim_learn_compare(const struct learn_app *capture, const struct learn_app *replay, struct learn_distances *out);

void sim_learn_distances_close(struct learn_distances *d);

void sim_learn_print_distances(const struct learn_distances *d, FILE *out);

#endif
