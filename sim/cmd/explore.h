/* What the files of `strobe explore` share: what is asked for, jobs, and how it is said what became of them. */
#ifndef STROBE_SIM_CMD_EXPLORE_H
#define STROBE_SIM_CMD_EXPLORE_H

#include "sim/explore/litmus/litmus.h"

#include <stdio.h>

/* A program, or a litmus test and its file, in a memory model. */
struct strobe_explore_job {
    const struct explore_program *program;
    struct explore_litmus *litmus;
    const char *path;
    enum explore_memory memory;
};

#define STROBE_EXPLORE_NIGHTLY UINT32_MAX /* as a size: the largest */

struct strobe_explore_request {
    struct explore_options options; /* of all jobs; their memory and size: strobe_explore_options */
    uint32_t size;                  /* 0: each program's quick one */
    uint32_t processes;
    bool json, show, quiet, force;
    const char *save; /* file for a failure, or NULL */
    struct strobe_explore_job *job;
    uint32_t job_count;
};

enum strobe_explore_verdict {
    STROBE_EXPLORE_FINE, /* as expected */
    STROBE_EXPLORE_FAILED,
    STROBE_EXPLORE_STOPPED,    /* by hand, before its end */
    STROBE_EXPLORE_IMPOSSIBLE, /* no memory, or a file that can't be written: its complaint is the detail */
};

/* What was found. `outcomes` is a litmus test's; `result` is the one to look at. */
struct strobe_explore_finding {
    enum strobe_status status;
    bool stopped;
    enum strobe_explore_verdict verdict;
    struct explore_outcomes outcomes;
    struct explore_result result;
};

/* ---- explore_rows.c: how findings are printed */

/* Prints the table's head. */
void strobe_explore_print_head(FILE *to, const struct strobe_explore_request *q);

/* A line of the table, or an object of JSON. */
void strobe_explore_print_row(FILE *to, const struct strobe_explore_request *q, const struct strobe_explore_job *job,
                              const struct strobe_explore_finding *found);

/* What is said below the table: the interleaving of a failure, a litmus test's outcomes. */
void strobe_explore_print_detail(FILE *to, const struct strobe_explore_request *q, const struct strobe_explore_job *job,
                                 const struct strobe_explore_finding *found);

/* A number with k, M or G behind it. */
const char *strobe_explore_short(double number, char *text, size_t bytes);

/* ---- explore_jobs.c: exploring */

const char *strobe_explore_name(const struct strobe_explore_job *job);

/* The options that a job is explored with. */
struct explore_options strobe_explore_options(const struct strobe_explore_request *q,
                                              const struct strobe_explore_job *job);

/* Explores all, prints the table as jobs end and the details below it. Returns the exit status. */
int strobe_explore_all(const struct strobe_explore_request *q);

#endif
