/* A sink that passes a part of a timeline to another sink: the events within a window of time, cut at its edges.
 *
 * A slice that is open at the begin of the window begins there. A slice that is open at the end of the window ends
 * there. CPU time at the edges is interpolated. Of merged samples, those within the window pass. An instant of a thread
 * before the window (such as its losses) moves to the window's begin. Threads without an event in the window are left
 * out.
 *
 * Reading half only: allocates. */
#ifndef STROBE_TRACE_MODEL_SINK_WINDOW_H
#define STROBE_TRACE_MODEL_SINK_WINDOW_H

#include "engine/trace/model/sink.h"

/* Part of a timeline, in ns since the session began. */
struct strobe_window_times {
    uint64_t from_ns, to_ns;
};

struct strobe_window_stats {
    uint64_t threads, slices;
}; /* passed on */

/* Returns a sink that passes events on to `inner`. The new sink owns `inner`: its finish finishes both. *stats (not
 * NULL) is complete then. NULL: out of memory; `inner` has then been finished. */
struct strobe_sink *strobe_sink_window(struct strobe_sink *inner, struct strobe_window_times times,
                                       struct strobe_window_stats *stats);

#endif
