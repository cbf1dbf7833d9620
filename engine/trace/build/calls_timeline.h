/* Calls to slices: tells a stream's calls to a sink, as timeline.h does samples. Calls must be whole: repaired
 * (calls_repair.h), or of a stream that needs no repair.
 *
 * A call is a slice from its BEGIN to its END. Slices are longer than zero: one that ends when it begins gets 1 ns, and
 * what follows it on its thread is moved on as far as that takes, and counted. Marks of all threads are told before the
 * threads, see calls_marks.h; instants among their thread's slices, before what begins or ends at their time. A thread
 * with events lost has an instant that says how many.
 *
 * Calls of a session go to its own reader and tree; streams that come from no session have a head made for them, with
 * their pid, process name and threads, on CLOCK_BOOTTIME from begin_ns on.
 *
 * Not thread-safe; allocates. Reading half only. */
#ifndef STROBE_TRACE_BUILD_CALLS_TIMELINE_H
#define STROBE_TRACE_BUILD_CALLS_TIMELINE_H

#include "engine/trace/model/calls.h"
#include "engine/trace/model/calls_marks.h"
#include "engine/trace/model/sink.h"

struct strobe_calls_timeline_stats {
    uint64_t threads, slices, instants; /* told */
    uint64_t moved;                     /* events moved on so that a slice lasts 1 ns */
    struct strobe_calls_marks_stats marks;
};

/* Tells all of a stream that comes from no session to `sink`, whose finish is called in any case. STROBE_IO: out of
 * memory, or what the sink says; STROBE_BAD_INPUT: calls are not whole. `stats` may be NULL. */
enum strobe_status strobe_calls_timeline(const struct strobe_calls *calls, struct strobe_sink *sink,
                                         struct strobe_calls_timeline_stats *stats);

/* The pieces, for calls of a session. Tells the calls and instants of one thread, between a sink's thread_begin and
 * thread_end; `names` are those of strobe_calls_names. Adds to *stats. Errors as above. */
enum strobe_status strobe_calls_emit(const struct strobe_calls *calls, size_t thread, const uint32_t *names,
                                     struct strobe_function_tree *tree, struct strobe_sink *sink,
                                     struct strobe_calls_timeline_stats *stats);

/* The tree's name for each of calls->names that calls have, in an array that the caller frees; NULL: out of memory. The
 * calls must outlive the tree. */
uint32_t *strobe_calls_names(const struct strobe_calls *calls, struct strobe_function_tree *tree);

#endif
