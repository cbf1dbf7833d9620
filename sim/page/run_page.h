/* The page of one trial: `strobe-lab run --html`. Scores first, then truth and reconstructed timeline of each thread
 * with their differences, a flame graph of both, and tables. It is made with the viewer of
 * engine/trace/export/html/page.h and the scripts of this directory.
 *
 * Allocates; not thread-safe. */
#ifndef STROBE_SIM_PAGE_RUN_PAGE_H
#define STROBE_SIM_PAGE_RUN_PAGE_H

#include "engine/util/outfile.h"
#include "sim/score/result.h"

enum {
    SIM_PAGE_BLOCKS_MOST = 50000, /* blocks of the timeline: of the truth, of the reconstruction, of differences */
    SIM_PAGE_ROWS_MOST = 300      /* rows of the tables of differences and of waits: the longest ones */
};

struct sim_run_page;

struct sim_run_page *sim_run_page_open(void); /* NULL: out of memory */

/* Takes what the page shows of both timelines. They may be freed then. STROBE_IO: out of memory. Fits `keep` of struct
 * sim_trial_options, with the page as its context. */
enum strobe_status sim_run_page_keep(void *page, const struct sim_tracks *truth,
                                     const struct sim_tracks *reconstruction);

/* Writes the page. STROBE_IO: out of memory; other errors are those of `out`. */
enum strobe_status sim_run_page_write(struct sim_run_page *page, const struct sim_result *result,
                                      struct strobe_outfile *out);

void sim_run_page_close(struct sim_run_page *page); /* accepts NULL */

#endif
