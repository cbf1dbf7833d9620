/* The part of the timeline that belongs to the process, not to a thread: values of the process and turns of its run
 * loop (timeline.h). Reading half only. */
#ifndef STROBE_TRACE_BUILD_TIMELINE_PROCESS_H
#define STROBE_TRACE_BUILD_TIMELINE_PROCESS_H

#include "engine/trace/build/timeline.h"
#include "engine/trace/model/sink.h"

/* Emits the values and turns. Call it before any thread is emitted. Adds to *stats. */
void strobe_timeline_process(const struct strobe_reader *reader, struct strobe_function_tree *tree,
                             struct strobe_sink *sink, struct strobe_timeline_stats *stats);

#endif
