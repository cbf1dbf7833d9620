/* Sections and counters that the program itself reported (engine/capture/annotate.h), as marks of a sink.
 *
 * A counter is a track of the process or of its thread, named as the counter. The sections of a thread are slices on
 * tracks that belong to the thread's track: one track for each depth of nesting, so that slices of a track follow one
 * another. A section without an end lasts to the end of its thread or, when the thread was alive, of the session. An
 * end whose begin is not in the session is counted and left out. Reading half only; allocates. */
#ifndef STROBE_TRACE_BUILD_TIMELINE_ANNOTATIONS_H
#define STROBE_TRACE_BUILD_TIMELINE_ANNOTATIONS_H

#include "engine/trace/build/timeline.h"
#include "engine/trace/model/sink.h"

/* Reports the annotations to sink->mark, before any thread and after `marks`, whose tracks are taken. Adds to *stats.
 * Returns 0 when memory ran out. */
int strobe_timeline_annotations(const struct strobe_reader *reader, const struct strobe_mark *marks, size_t mark_count,
                                struct strobe_sink *sink, struct strobe_timeline_stats *stats);

#endif
