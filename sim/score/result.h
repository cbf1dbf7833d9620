/* The result of one trial, without pointers to the trial's memory. Tables, JSON lines, summaries, bias and the HTML
 * page are made from it. It owns its texts. */
#ifndef STROBE_SIM_SCORE_RESULT_H
#define STROBE_SIM_SCORE_RESULT_H

#include "engine/base/error.h"
#include "sim/score/found.h"
#include "sim/score/score.h"

#include <stdio.h>

struct sim_result_method {
    char *name;
    uint64_t calls;
    double true_self, claimed_self; /* shares of the run's thread time */
    uint64_t true_self_ns, claimed_self_ns, true_total_ns, claimed_total_ns;
};

struct sim_result_thread {
    char *name;
    uint64_t tid;
    uint64_t thread_ns, running_ns;
    double agreement, agreement_resolved, agreement_running;
};

struct sim_result {
    char *scenario, *policy;
    uint64_t seed;
    uint64_t interval_ns;   /* interval of the policy's samples of main threads; 0: the policy has no interval */
    struct sim_score score; /* its arrays are empty; `methods` and `threads` below replace them */
    struct sim_result_method *methods;
    size_t method_count; /* largest error of self time first */
    struct sim_result_thread *threads;
    size_t thread_count;     /* in the truth's order */
    char *violation;         /* the first invariant that was broken, or "" */
    struct sim_found *found; /* findings in truth and reconstruction, for the page; NULL: not asked for */
};

/* Makes a result from a score; `truth` supplies the names. Copies everything. STROBE_IO: out of memory. */
enum strobe_status sim_result_of(const struct sim_score *score, const struct sim_tracks *truth, const char *scenario,
                                 const char *policy, uint64_t seed, struct sim_result *out);
void sim_result_free(struct sim_result *r);

/* Write the result as one JSON object. The line form is a single line with a newline, so that swarms merge by
 * concatenation. It holds at most `most` methods (those with the largest errors) and at most `most` threads (the first
 * ones). The other form is complete and spans several lines. Write errors stay in the stream's error flag. */
void sim_result_print_line(const struct sim_result *r, size_t most, FILE *out);
void sim_result_print_json(const struct sim_result *r, FILE *out);

/* Reads a line back. STROBE_BAD_INPUT with `error` ("column N: what was expected"), STROBE_IO: out of memory. */
enum strobe_status sim_result_read_line(const char *line, struct sim_result *out, struct strobe_error *error);

/* Prints it for people: the run, its threads, the methods with the largest errors. */
void sim_result_print(const struct sim_result *r, FILE *out);

/* Returns one score of a result by its name in the JSON. False: there is no score of that name. */
bool sim_result_value(const struct sim_result *r, const char *name, double *out);

#endif
