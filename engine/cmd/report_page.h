/* `strobe report --html`: the report of a session, its findings, timeline and flame graph, as a page. */
#ifndef STROBE_CMD_REPORT_PAGE_H
#define STROBE_CMD_REPORT_PAGE_H

#include "engine/trace/report/report.h"
#include "engine/watch/watch_timeline.h"

#include <stdbool.h>

/* The number of methods and waits in a page, unless --top gives it. */
enum { STROBE_PAGE_TOP = 300 };

/* Writes the page. Returns the exit status: that of a report, or STROBE_EXIT_BAD after a complaint. */
int strobe_report_page(const char *path, const struct strobe_report_options *options,
                       const struct strobe_findings_options *search, const char *output, bool force);

/* Opens the output file. Returns 0, or STROBE_EXIT_BAD after a complaint. */
struct strobe_outfile;
int strobe_page_create(struct strobe_outfile *out, const char *output, bool force);

/* Finishes the output file; `drawn` is the status of writing the page. Returns 0, or an exit status after a complaint.
 */
int strobe_page_finish(struct strobe_outfile *out, const char *output, enum strobe_status drawn);

#endif
