/* The sections and counters that the program reported (strobe_begin, strobe_counter), in a report. Part of report.h;
 * used only by the files of report.h. Allocates. */
#ifndef STROBE_TRACE_REPORT_REPORT_SECTIONS_H
#define STROBE_TRACE_REPORT_REPORT_SECTIONS_H

#include "engine/trace/model/sink.h"
#include "engine/trace/report/report.h"
#include "engine/util/json.h"

struct strobe_section_span; /* a section, or a part of one in which no other section is open */

/* Sums up marks, and the CPU time of threads in them. A thread's CPU time belongs to the innermost section that is
 * open. Starts zeroed. Calls come in the order of a sink's calls (sink.h). */
struct strobe_section_sum {
    const struct strobe_reader *reader;
    struct strobe_text_pool names, counter_names;
    struct strobe_report_section *sections; /* by number of the name in `names` */
    struct strobe_report_counter *counters; /* the same in counter_names */
    size_t section_count, section_room, counter_count, counter_room;
    struct strobe_section_span *spans; /* all sections, by thread */
    size_t span_count, span_room;
    struct strobe_section_span *parts; /* of the thread that the sink is in, by time; they do not overlap */
    size_t part_count, part_room;
    int failed; /* memory ran out */
};

void strobe_sections_mark(struct strobe_section_sum *sum, const struct strobe_mark *mark);
void strobe_sections_thread_begin(struct strobe_section_sum *sum, uint32_t thread);
void strobe_sections_cpu(struct strobe_section_sum *sum, const struct strobe_cpu_share *share);

/* Moves the sums into the report: sections by total time, longest first; counters by name. STROBE_IO: out of memory. */
enum strobe_status strobe_sections_finish(struct strobe_section_sum *sum, struct strobe_report *report);
void strobe_sections_free(struct strobe_section_sum *sum);

/* Prints nothing if there are none. */
void strobe_report_print_sections(const struct strobe_report *report, FILE *out);
void strobe_report_json_sections(const struct strobe_report *report, struct strobe_json *json);

#endif
