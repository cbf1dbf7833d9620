/* Optional parts of a report: callers and callees of one function, allocations by stack, lines of source. Used only by
 * the files of report.h. */
#ifndef STROBE_TRACE_REPORT_REPORT_PARTS_H
#define STROBE_TRACE_REPORT_REPORT_PARTS_H

#include "engine/trace/report/breakdown.h"
#include "engine/trace/report/report.h"
#include "engine/trace/report/source_lines.h"
#include "engine/util/json.h"

/* Copies the parts that the report's options select into the report. STROBE_NO_ENTRY: no function has the selected
 * name. STROBE_IO: out of memory. */
enum strobe_status strobe_report_take_parts(struct strobe_report *report, const struct strobe_breakdown *breakdown,
                                            const struct strobe_allocation_sum *allocations,
                                            const struct strobe_source_lines *lines, struct strobe_function_tree *tree);

/* Each function prints nothing if the report does not have the part. strobe_report_print_part prints the thread and the
 * time range of the report. */
void strobe_report_print_part(const struct strobe_report *report, FILE *out);
void strobe_report_print_function(const struct strobe_report *report, FILE *out);
void strobe_report_print_allocations(const struct strobe_report *report, FILE *out);
void strobe_report_print_lines(const struct strobe_report *report, FILE *out);

/* Prints all parts as fields of the report's object. */
void strobe_report_json_parts(const struct strobe_report *report, struct strobe_json *json);

#endif
