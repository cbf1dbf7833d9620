/* Parts of a report that are given when asked for: one function's callers and callees, allocations by stack, lines of
 * source. Used by report.h's own files. */
#ifndef STROBE_TRACE_REPORT_REPORT_PARTS_H
#define STROBE_TRACE_REPORT_REPORT_PARTS_H

#include "engine/trace/report/breakdown.h"
#include "engine/trace/report/report.h"
#include "engine/trace/report/source_lines.h"
#include "engine/util/json.h"

/* Takes over what the report's options ask for. STROBE_NO_ENTRY: no function has the name that was asked for.
 * STROBE_IO: out of memory. */
enum strobe_status strobe_report_take_parts(struct strobe_report *report, const struct strobe_breakdown *breakdown,
                                            const struct strobe_allocation_sum *allocations,
                                            const struct strobe_source_lines *lines, struct strobe_function_tree *tree);

/* Each prints nothing where there is nothing of it. */
void strobe_report_print_part(const struct strobe_report *report, FILE *out); /* of which part the report is */
void strobe_report_print_function(const struct strobe_report *report, FILE *out);
void strobe_report_print_allocations(const struct strobe_report *report, FILE *out);
void strobe_report_print_lines(const struct strobe_report *report, FILE *out);

/* All of them, as fields of the report's object. */
void strobe_report_json_parts(const struct strobe_report *report, struct strobe_json *json);

#endif
