/* Emits the calls of a session's call log. A thread with known calls is shown by these alone (timeline.h): every call
 * is a slice from its entry to its exit. Memory is one thread's calls at a time. Reading half only; allocates. */
#ifndef STROBE_TRACE_BUILD_CALLS_SESSION_H
#define STROBE_TRACE_BUILD_CALLS_SESSION_H

#include "engine/trace/build/timeline.h"
#include "engine/trace/model/calls_repair.h"
#include "engine/trace/model/sink.h"

struct strobe_calls_session;

/* Emits a thread and its calls to `sink`, except the thread's end. *c is NULL at first. The function creates it for the
 * first thread with calls; the caller closes it. Adds to *stats. STROBE_NO_ENTRY: the thread has no calls; nothing is
 * emitted. STROBE_IO: out of memory. */
enum strobe_status strobe_calls_session_emit(struct strobe_calls_session **c, const struct strobe_reader *reader,
                                             struct strobe_function_tree *tree, enum strobe_repair repair,
                                             uint32_t thread, struct strobe_sink *sink,
                                             struct strobe_timeline_stats *stats);
void strobe_calls_session_close(struct strobe_calls_session *c);

#endif
