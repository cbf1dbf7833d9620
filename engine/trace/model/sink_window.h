/* Lets a part of a timeline through: what lies in a window of time, cut at its edges. A sink that stands before
 * another one.
 *
 * A slice that is open when the window begins begins there, one that is open at its end ends there; CPU time at the
 * edges is interpolated. Of merged samples those within are told. What a thread tells of itself before the window
 * (losses) is told at its begin. Threads that show nothing in the window are left out.
 *
 * Reading half: allocates. */
#ifndef STROBE_TRACE_MODEL_SINK_WINDOW_H
#define STROBE_TRACE_MODEL_SINK_WINDOW_H

#include "engine/trace/model/sink.h"

/* Part of a timeline, in ns since the session began. */
struct strobe_window_times {
    uint64_t from_ns, to_ns;
};

struct strobe_window_stats {
    uint64_t threads, slices;
}; /* let through */

/* A sink that hands on to `inner`, which it owns: the one finish ends both. *stats (not NULL) is complete then. NULL
 * when memory runs out; `inner` has been finished then. */
struct strobe_sink *strobe_sink_window(struct strobe_sink *inner, struct strobe_window_times times,
                                       struct strobe_window_stats *stats);

#endif
