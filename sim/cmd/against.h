/* Two policies over the same seeds: how far the one is below the other, and why. `strobe run --against`.
 *
 * Results come in pairs: a seed's under the policy that is judged, then the same seed's under the other. */
#ifndef STROBE_SIM_CMD_AGAINST_H
#define STROBE_SIM_CMD_AGAINST_H

#include "engine/base/status.h"
#include "sim/score/result.h"

struct strobe_against_row {
    uint64_t seed;
    double judged, other; /* exact agreement */
    /* Where the judged policy is wrong: parts of all threads' time. */
    double unseen;  /* it says nothing */
    double running; /* it is wrong or says nothing, while the thread is on a processor or wants one */
    double starved; /* ... of that, after the thread's last time on a processor */
    double waiting; /* ... while it waits for something else */
    double blocked_error, overhead;
    double wanted, had; /* processors at a time, on average: wanted by all threads, and had */
    uint32_t threads;
};

struct strobe_against {
    struct strobe_against_row *rows;
    size_t count, room;
};

/* Takes the next result. STROBE_IO: out of memory. */
enum strobe_status strobe_against_add(struct strobe_against *a, bool judged, const struct sim_result *result);

/* Prints in how many seeds `policy` is not below `other` by more than 1 and 5 points, and the ten where it is furthest
 * below, with their causes. */
void strobe_against_print(struct strobe_against *a, const char *policy, const char *other, FILE *out);

void strobe_against_close(struct strobe_against *a);

#endif
