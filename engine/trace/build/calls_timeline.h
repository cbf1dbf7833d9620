/* Emits a stream's calls to a sink as slices. Calls must be complete: repaired (calls_repair.h), or of a stream that
 * needs no repair.
 *
 * A call is a slice from its BEGIN to its END. Slices are longer than zero: a slice that ends when it begins gets 1 ns.
 * Later events of its thread move to a later time as needed, and are counted. Marks of all threads are emitted before
 * the threads, see calls_marks.h. Instants are emitted among their thread's slices, before slices that begin or end at
 * the same time. A thread with lost events has an instant with their number.
 *
 * Calls of a session use its own reader and tree. For a stream that does not come from a session, the function makes a
 * reader with the stream's pid, process name and threads, on CLOCK_BOOTTIME from begin_ns on.
 *
 * Not thread-safe; allocates. Reading half only. */
#ifndef STROBE_TRACE_BUILD_CALLS_TIMELINE_H
#define STROBE_TRACE_BUILD_CALLS_TIMELINE_H

#include "engine/trace/model/calls.h"
#include "engine/trace/model/calls_marks.h"
#include "engine/trace/model/sink.h"

struct strobe_calls_timeline_stats {
    uint64_t threads, slices, instants; /* emitted */
    uint64_t moved;                     /* events moved to a later time so that a slice lasts 1 ns */
    struct strobe_calls_marks_stats marks;
};

/* Emits all of a stream that does not come from a session. Calls the sink's finish in any case. STROBE_IO: out of
 * memory, or the sink's status. STROBE_BAD_INPUT: calls are not complete. `stats` may be NULL. */
enum strobe_status strobe_calls_timeline(const struct strobe_calls *calls, struct strobe_sink *sink,
                                         struct strobe_calls_timeline_stats *stats);

/* Emits the calls and instants of one thread of a session, between a sink's thread_begin and thread_end. `names` has
 * the tree's name for each of calls->names (strobe_calls_names). Adds to *stats. Errors as above. */
enum strobe_status strobe_calls_emit(const struct strobe_calls *calls, size_t thread, const uint32_t *names,
                                     struct strobe_function_tree *tree, struct strobe_sink *sink,
                                     struct strobe_calls_timeline_stats *stats);

/* Returns an array of the tree's names for those of calls->names that calls use. The caller frees it. The calls must
 * outlive the tree. NULL: out of memory. */
uint32_t *strobe_calls_names(const struct strobe_calls *calls, struct strobe_function_tree *tree);

#endif
