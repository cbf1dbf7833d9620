/* The kernel's scheduling in a report of a session that holds it (sched_section.h). Part of report.h; used only by the
 * files of report.h. Allocates. */
#ifndef STROBE_TRACE_REPORT_REPORT_SCHED_H
#define STROBE_TRACE_REPORT_REPORT_SCHED_H

#include "engine/trace/report/report.h"
#include "engine/util/json.h"

/* Sums up the scheduling of the report's threads and part of the time, and gives waits without a waker the thread that
 * the kernel saw waking the waiter. Call it when waits are ranked. Does nothing when the session has no scheduling.
 * STROBE_IO: out of memory. */
enum strobe_status strobe_report_take_sched(struct strobe_report *report, const struct strobe_reader *reader);

/* Print nothing if there is none. */
void strobe_report_print_sched(const struct strobe_report *report, FILE *out);
void strobe_report_json_sched(const struct strobe_report *report, struct strobe_json *json);

#endif
