/* Cells of a comparison, and its tables. A cell is a scenario under a policy on a backend, over all seeds. */
#ifndef STROBE_SIM_CMD_COMPARISON_H
#define STROBE_SIM_CMD_COMPARISON_H

#include "sim/cmd/backends.h"
#include "sim/score/summary.h"

#include <stdio.h>

struct sim_cell {
    struct sim_summary summary; /* of the seeds that were played */
    char refused[160];          /* why a seed could not be played; "": all were played */
    bool is_failed;             /* it should have been played: the player crashed, hung or could not write */
};

struct sim_cells {
    const struct sim_backend *backends;
    const char *const *policies;
    const char *const *scenarios; /* names */
    uint32_t backend_count, policy_count, scenario_count;
    struct sim_cell *cells; /* by backend, then scenario, then policy */
};

struct sim_cell *sim_cell_at(const struct sim_cells *c, uint32_t backend, uint32_t scenario, uint32_t policy);

/* Prints one table for each backend: a line for each scenario with the first policy's exact and resolved agreement,
 * error of blocked time, precision and recall of wakers, overhead; then exact and resolved agreement of each further
 * policy.
 * A scenario that could not be played has the reason instead. */
void sim_cells_print(const struct sim_cells *c, FILE *out);

/* Prints the table of policies on one backend, see sim_summary_print_row. */
void sim_cells_print_policies(const struct sim_cells *c, FILE *out);

/* Prints one table of exact agreement under the first policy: a line for each scenario, a column for each backend. */
void sim_cells_print_brief(const struct sim_cells *c, FILE *out);

/* Prints an array of summaries. With `names_backends`, each is in an object with its backend, and cells that could not
 * be played have the reason. */
void sim_cells_print_json(const struct sim_cells *c, bool names_backends, FILE *out);

#endif
