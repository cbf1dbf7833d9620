/* What a report tells of the process as a whole: time series added up, and the longest hitch with its place. Part of
 * report.h; used by its builders only. */
#ifndef STROBE_TRACE_REPORT_REPORT_PROCESS_H
#define STROBE_TRACE_REPORT_REPORT_PROCESS_H

#include "engine/trace/model/sink.h"
#include "engine/trace/report/report.h"

enum { STROBE_PLACE_DEPTH_MAX = 1024 };

/* Adds process values and hitches up, in any order, then looks for the place of the longest hitch among the slices of
 * its thread: the innermost that covers half of it or more. Zeroed at first. */
struct strobe_process_sum {
    struct strobe_report_process sum;
    int knows_cpu;
    uint64_t first_ns, last_ns, first_cpu_ns, last_cpu_ns;
    uint32_t thread;             /* of the longest hitch: what its builder calls threads by */
    uint64_t begin_ns;           /* of it, on the trace's clock */
    uint32_t place, place_depth; /* name of the slice found, and how deep it lies; depth 0 = none yet */
    uint32_t depth;              /* open slices */
    struct {
        uint64_t begin_ns;
        uint32_t name;
    } open[STROBE_PLACE_DEPTH_MAX];
};

void strobe_process_value(struct strobe_process_sum *p, enum strobe_series what, uint64_t time_ns, uint64_t value);
void strobe_process_hitch(struct strobe_process_sum *p, enum strobe_hitch how, uint64_t begin_ns, uint64_t end_ns,
                          uint32_t thread);

/* A slice of any thread begins or ends. Names are the builder's own. */
void strobe_process_slice_begin(struct strobe_process_sum *p, uint32_t thread, uint64_t time_ns, uint32_t name);
void strobe_process_slice_end(struct strobe_process_sum *p, uint32_t thread, uint64_t time_ns);

/* Puts the sums into the report. The name of the place is the caller's to fill in, where place_depth is not 0. */
void strobe_process_finish(const struct strobe_process_sum *p, struct strobe_report *report);

#endif
