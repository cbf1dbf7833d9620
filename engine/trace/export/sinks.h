/* The smaller sinks: text formats that other viewers read. Each is made for an output that it does not close, NULL
 * when memory runs out, and is freed by its own finish. Reading half only. */
#ifndef STROBE_TRACE_EXPORT_SINKS_H
#define STROBE_TRACE_EXPORT_SINKS_H

#include "engine/trace/model/sink.h"
#include "engine/util/outfile.h"

/* Trace Event Format, JSON object form: B, E and i events, s and f events for wakes, C events for values of the
 * process and counters, i events for hitches, b and e events for
 * asynchronous slices, M events for names. E events repeat the name, without which some readers drop them. Constant
 * memory. */
struct strobe_sink *strobe_sink_chrome(struct strobe_outfile *out);

/* speedscope's own format (https://www.speedscope.app/file-format-schema.json): an evented profile for each thread,
 * times in ns from the begin of the session. Constant memory. */
struct strobe_sink *strobe_sink_speedscope(struct strobe_outfile *out);

/* Folded stacks: `thread;outermost;...;innermost weight`, a line for each path that was innermost at some time, weight
 * = that time in us. Keeps the paths of one thread in memory. */
struct strobe_sink *strobe_sink_folded(struct strobe_outfile *out);

/* What a line's weight is: time on the clock; CPU time; the rest of the time on the clock, when the thread waited, for
 * whatever; each in us. Or bytes allocated, as allocations.h has them, of the part from `from_ns` to `to_ns` since the
 * session's begin (UINT64_MAX: to its end); times of that part alone are told by strobe_sink_window. */
enum strobe_weight { STROBE_WEIGHT_WALL, STROBE_WEIGHT_CPU, STROBE_WEIGHT_OFF_CPU, STROBE_WEIGHT_ALLOC };
struct strobe_folded_options {
    enum strobe_weight weight;
    uint64_t from_ns, to_ns;
};
struct strobe_sink *strobe_sink_folded_by(struct strobe_outfile *out, const struct strobe_folded_options *options);

#endif
