/* Summary of many results of one scenario under one policy, one per seed: median and spread of every score, and the
 * bias of each method. Results may come in any order; the output does not depend on it. Allocates. */
#ifndef STROBE_SIM_SCORE_SUMMARY_H
#define STROBE_SIM_SCORE_SUMMARY_H

#include "sim/score/bias.h"
#include "sim/score/result.h"

struct sim_spread {
    double least, quarter, median, three_quarters, most;
};

struct sim_summary {
    char *scenario, *policy; /* of the first result */
    size_t count;
    struct sim_summary_row *rows; /* one per result; private */
    size_t room;
    struct sim_bias bias;
};

void sim_summary_open(struct sim_summary *s);
void sim_summary_close(struct sim_summary *s);

/* Adds a result. STROBE_BAD_INPUT: it is of another scenario or policy. STROBE_IO: out of memory. */
enum strobe_status sim_summary_add(struct sim_summary *s, const struct sim_result *result);

/* Returns the spread of one score by its name in the JSON. False: there is no score of that name, or no result. */
bool sim_summary_spread(const struct sim_summary *s, const char *name, struct sim_spread *out);

/* Prints a swarm for people: median, quartiles and range of each score, then the methods with the clearest bias. */
void sim_summary_print(const struct sim_summary *s, FILE *out);

/* Prints a row of the table of `strobe compare`, which is grouped by scenario; before the first row of a scenario, its
 * title. `before`: the summary of the row above; NULL: none. The columns are resolved and exact agreement, agreement in
 * view, share of time out of view, blocked error, wakers found, false merges, overhead, bytes per second of the app,
 * growth of the app's code, and losses. Values are medians; with several seeds a second line has the spread. */
void sim_summary_print_row(const struct sim_summary *s, const struct sim_summary *before, FILE *out);

/* Prints one JSON object: scenario, policy, seeds, an object of spreads by score, an array of the methods' biases. */
void sim_summary_print_json(const struct sim_summary *s, FILE *out);

#endif
