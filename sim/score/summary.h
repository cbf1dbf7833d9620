/* Many results of one scenario under one policy, a seed each, summed up: median and spread of every score, and the bias
 * of each method. Results may come in any order; what is printed does not depend on it. Allocates. */
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
    struct sim_summary_row *rows; /* one a result; private */
    size_t room;
    struct sim_bias bias;
};

void sim_summary_open(struct sim_summary *s);
void sim_summary_close(struct sim_summary *s);

/* Takes in a result. STROBE_BAD_INPUT: it is of another scenario or policy; STROBE_IO: out of memory. */
enum strobe_status sim_summary_add(struct sim_summary *s, const struct sim_result *result);

/* The spread of one score, by its name in the JSON; false when there is none of that name, or no result. */
bool sim_summary_spread(const struct sim_summary *s, const char *name, struct sim_spread *out);

/* A swarm for people: each score's median, quartiles and range; then the methods whose bias shows most. */
void sim_summary_print(const struct sim_summary *s, FILE *out);

/* The table of `strobe compare`: a line for each summary, grouped by scenario: resolved and exact agreement, agreement
 * in what the policy can tell and the share of time that it can't, blocked error, wakers found, false merges, overhead,
 * bytes an app second, growth of the app's code, losses; medians, with the spread when there are several seeds. */
void sim_summary_print_table(const struct sim_summary *summaries, size_t count, FILE *out);

/* One JSON object: scenario, policy, seeds, an object of spreads by score, an array of the methods' biases. */
void sim_summary_print_json(const struct sim_summary *s, FILE *out);

#endif
