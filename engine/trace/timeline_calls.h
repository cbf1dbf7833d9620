/* The part of the timeline that shows a thread by its calls (timeline.h): every call a slice, from its entry to its
 * exit. Reading half only; allocates. */
#ifndef STROBE_TRACE_TIMELINE_CALLS_H
#define STROBE_TRACE_TIMELINE_CALLS_H

#include "engine/trace/calls_repair.h"
#include "engine/trace/path.h"

struct strobe_timeline_calls;

/* Tells a thread's calls to the path's sink, all but its end. *c: NULL at first, made for the first thread that has any;
 * to be closed in the end. STROBE_NO_ENTRY: the thread has none, nothing was told. STROBE_IO: out of memory. */
enum strobe_status strobe_timeline_calls_tell(struct strobe_timeline_calls **c, struct strobe_path *path,
                                              enum strobe_repair repair, const struct strobe_reader_thread *thread);
void strobe_timeline_calls_close(struct strobe_timeline_calls *c);

#endif
