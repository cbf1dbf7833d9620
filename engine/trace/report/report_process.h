/* The process's part of a report: sums of time series, and the longest hitch with its place. Part of report.h; used
 * only by its builders. */
#ifndef STROBE_TRACE_REPORT_REPORT_PROCESS_H
#define STROBE_TRACE_REPORT_REPORT_PROCESS_H

#include "engine/trace/model/sink.h"
#include "engine/trace/report/report.h"

enum { STROBE_PLACE_DEPTH_MAX = 1024 };

/* Sums up process values and hitches, in any order. After that, finds the place of the longest hitch among the slices
 * of its thread: the innermost slice that covers at least half of it. Starts zeroed. */
struct strobe_process_sum {
    struct strobe_report_process sum;
    int knows_cpu, knows_traps;
    uint64_t first_ns, last_ns, first_cpu_ns, last_cpu_ns;
    uint64_t least_traps, most_traps;
    uint32_t thread;             /* thread of the longest hitch; the builder chooses the numbers of threads */
    uint64_t begin_ns;           /* of the longest hitch, on the trace's clock */
    uint32_t place, place_depth; /* name and depth of the slice found; place_depth 0 = none yet */
    uint32_t depth;              /* open slices */
    struct {
        uint64_t begin_ns;
        uint32_t name;
    } open[STROBE_PLACE_DEPTH_MAX];
};

void strobe_process_value(struct strobe_process_sum *p, enum strobe_series what, uint64_t time_ns, uint64_t value);
void strobe_process_hitch(struct strobe_process_sum *p, enum strobe_hitch how, uint64_t begin_ns, uint64_t end_ns,
                          uint32_t thread);

/* Adds the begin or the end of a slice of any thread. The builder chooses the numbers of names. */
void strobe_process_slice_begin(struct strobe_process_sum *p, uint32_t thread, uint64_t time_ns, uint32_t name);
void strobe_process_slice_end(struct strobe_process_sum *p, uint32_t thread, uint64_t time_ns);

/* Copies the sums to the report. If place_depth is not 0, the caller fills in the name of the place. */
void strobe_process_finish(const struct strobe_process_sum *p, struct strobe_report *report);

#endif
