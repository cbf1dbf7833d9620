/* What `strobe-lab run` and `strobe-lab compare` share: options of trials, and what is done with results. */
#ifndef STROBE_SIM_CMD_LAB_H
#define STROBE_SIM_CMD_LAB_H

#include "engine/cmd/progress.h"
#include "engine/util/outfile.h"
#include "sim/score/summary.h"
#include "sim/trial/swarm.h"

struct strobe_seeds {
    uint64_t first, last;
};

/* `N` or `A..B`; false when it is neither. */
bool strobe_parse_seeds(const char *text, struct strobe_seeds *out);

/* `fair` or `adversarial`. */
bool strobe_parse_schedule(const char *text, enum sim_schedule *out);

/* True when there is a policy of that name, or `none`. */
bool strobe_is_policy(const char *name);

/* The policies' names with commas, for messages. */
const char *strobe_policy_list(void);

/* Reads a scenario, or complains. NULL: done, with STROBE_EXIT_BAD. */
struct sim_scenario *strobe_read_scenario(const char *path);

/* Reads a table of costs, or complains. */
int strobe_read_costs(const char *path, struct sim_costs *out);

/* Results as they come: all as lines, some kept for the page. */
struct strobe_results {
    FILE *lines;
    struct sim_result *list;
    size_t count, room;
    bool failed; /* out of memory, or of disk space for the lines */
};

/* Complains and returns STROBE_EXIT_BAD when no temporary file can be created. */
int strobe_results_open(struct strobe_results *r);
void strobe_results_add(struct strobe_results *r, const char *line, bool keep);

/* Writes results.jsonl and report.html into the folder. */
int strobe_results_leave(struct strobe_results *r, const char *folder, bool replace);
void strobe_results_close(struct strobe_results *r);

/* Writes the page of results into the folder. */
int strobe_leave_page(const struct sim_result *results, size_t count, const char *folder, bool replace);

/* Complains when the page of --html exists and may not be replaced. Called before anything is played. */
int strobe_check_html(const char *path, bool replace);

/* Writes the page of --html through `write`, which returns STROBE_IO when memory is short. On failure there is no file.
 * Returns 0, or STROBE_EXIT_BAD after a complaint. */
int strobe_leave_html(const char *path, bool replace,
                      enum strobe_status (*write)(void *ctx, struct strobe_outfile *out), void *ctx);

/* The exit status for a status of a trial, with its line said. */
int strobe_trial_complaint(enum strobe_status status, const char *why);

#endif
