/* Writes results as one self-contained HTML page: plots in SVG (agreement by thread, duration error by method, overhead
 * against agreement and interval, losses), each with a table below it. The same input gives the same bytes. */
#ifndef STROBE_SIM_SCORE_PAGE_H
#define STROBE_SIM_SCORE_PAGE_H

#include "sim/score/result.h"

/* The results may be of any scenarios, policies and seeds. STROBE_EXISTS, STROBE_IO with errno. */
enum strobe_status sim_page_write(const struct sim_result *results, size_t count, const char *path, int replace);

#endif
