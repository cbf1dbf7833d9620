/* The page of a comparison: `strobe-lab compare --html`. One matrix of policy by scenario, for a score that the reader
 * chooses. Each cell has its scores and the command that makes the page of its first seed. It is made with the viewer
 * of engine/trace/export/html/page.h and the scripts of sim/page.
 *
 * Allocates; not thread-safe. */
#ifndef STROBE_SIM_CMD_COMPARISON_PAGE_H
#define STROBE_SIM_CMD_COMPARISON_PAGE_H

#include "engine/util/outfile.h"
#include "sim/cmd/comparison.h"

struct sim_cells_page {
    const struct sim_cells *cells;
    char *const *paths;         /* files of the scenarios, for commands */
    uint64_t first_seed, seeds; /* seeds that were played */
    const char *costs_path;     /* of --costs; NULL: not given */
    bool names_backends;        /* rows are named by backend and policy */
};

/* Writes the page. `page` is a struct sim_cells_page. STROBE_IO: out of memory; other errors are those of `out`. */
enum strobe_status sim_cells_page_write(void *page, struct strobe_outfile *out);

#endif
