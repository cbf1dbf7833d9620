/* What a stream tells beside its calls, told to a sink: values of counters, and asynchronous slices, which begin and
 * end on any thread and belong to the process.
 *
 * An asynchronous slice's end belongs to the last begin of its name and cookie that has none yet. One that never ended
 * does so with the stream; an end without a begin is dropped and counted. Slices of one name that overlap are kept
 * apart in lanes, as few as it takes; each lane, and each counter, is a track of its own.
 *
 * Not thread-safe; allocates. Reading half only. */
#ifndef STROBE_TRACE_MODEL_CALLS_MARKS_H
#define STROBE_TRACE_MODEL_CALLS_MARKS_H

#include "engine/trace/model/calls.h"
#include "engine/trace/model/sink.h"

struct strobe_calls_marks_stats {
    uint64_t counters;    /* values told */
    uint64_t asyncs;      /* asynchronous slices told, and of them */
    uint64_t open_at_end; /* those that had not ended when the stream did */
    uint64_t unmatched;   /* ends dropped */
};

/* Tells all marks but instants, by track, then by time. STROBE_IO: out of memory. Sets *stats. */
enum strobe_status strobe_calls_tell_marks(const struct strobe_calls *calls, struct strobe_sink *sink,
                                           struct strobe_calls_marks_stats *stats);

#endif
