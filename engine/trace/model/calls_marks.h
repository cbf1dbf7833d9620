/* Passes a stream's events that are not calls to a sink: values of counters, and asynchronous slices. An asynchronous
 * slice begins and ends on any thread and belongs to the process.
 *
 * The end of an asynchronous slice belongs to the latest open begin with its name and cookie. A slice without an end
 * ends with the stream. An end without a begin is dropped and counted. Overlapping slices of one name go to separate
 * lanes, as few as possible. Each lane and each counter is a track.
 *
 * Not thread-safe; allocates. Reading half only. */
#ifndef STROBE_TRACE_MODEL_CALLS_MARKS_H
#define STROBE_TRACE_MODEL_CALLS_MARKS_H

#include "engine/trace/model/calls.h"
#include "engine/trace/model/sink.h"

struct strobe_calls_marks_stats {
    uint64_t counters;    /* values of counters */
    uint64_t asyncs;      /* asynchronous slices */
    uint64_t open_at_end; /* asynchronous slices that had no end in the stream */
    uint64_t unmatched;   /* ends dropped */
};

/* Passes all marks except instants to the sink, by track, then by time. STROBE_IO: out of memory. Sets *stats. */
enum strobe_status strobe_calls_emit_marks(const struct strobe_calls *calls, struct strobe_sink *sink,
                                           struct strobe_calls_marks_stats *stats);

#endif
