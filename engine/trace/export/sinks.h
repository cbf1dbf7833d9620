/* The smaller sinks: text formats that other viewers read. A sink does not close its output. NULL: out of memory. The
 * sink's finish frees it. Reading half only. */
#ifndef STROBE_TRACE_EXPORT_SINKS_H
#define STROBE_TRACE_EXPORT_SINKS_H

#include "engine/trace/model/sink.h"
#include "engine/util/outfile.h"

/* Trace Event Format, JSON object form. Constant memory. Events:
 *
 *   B, E   slices. E events repeat the name, because some readers drop events without it
 *   i      instants, hitches
 *   s, f   wakes
 *   C      values of the process, counters
 *   b, e   asynchronous slices
 *   M      names */
struct strobe_sink *strobe_sink_chrome(struct strobe_outfile *out);

/* speedscope's own format (https://www.speedscope.app/file-format-schema.json): an evented profile for each thread,
 * with times in ns since the session's begin. Constant memory. */
struct strobe_sink *strobe_sink_speedscope(struct strobe_outfile *out);

/* Folded stacks: `thread;outermost;...;innermost weight`, one line for each path that was innermost at some time. The
 * weight is that time in us. Keeps the paths of one thread in memory. */
struct strobe_sink *strobe_sink_folded(struct strobe_outfile *out);

/* The weight of a line of folded stacks:
 *
 *   WALL      time on the clock, in us
 *   CPU       CPU time, in us
 *   OFF_CPU   time on the clock without CPU time, in us: the thread waited
 *   ALLOC     allocated bytes (allocations.h) from `from_ns` to `to_ns` since the session's begin (UINT64_MAX: to its
 *             end). For the other weights, strobe_sink_window limits the time */
enum strobe_weight { STROBE_WEIGHT_WALL, STROBE_WEIGHT_CPU, STROBE_WEIGHT_OFF_CPU, STROBE_WEIGHT_ALLOC };
struct strobe_folded_options {
    enum strobe_weight weight;
    uint64_t from_ns, to_ns;
};
struct strobe_sink *strobe_sink_folded_by(struct strobe_outfile *out, const struct strobe_folded_options *options);

#endif
