/* Lets one thread of a timeline through, or several of one name. A sink that stands before another one; what is told of
 * the process as a whole passes.
 *
 * Reading half: allocates. */
#ifndef STROBE_TRACE_MODEL_SINK_THREADS_H
#define STROBE_TRACE_MODEL_SINK_THREADS_H

#include "engine/trace/model/sink.h"

/* Whether `which` means this thread: its name, or its tid in decimal. */
int strobe_is_thread(const struct strobe_reader_thread *thread, const char *which);

/* A sink that hands threads that `which` means on to `inner`, which it owns: the one finish ends both. `which` must
 * outlive it. NULL when memory runs out; `inner` has been finished then. */
struct strobe_sink *strobe_sink_threads(struct strobe_sink *inner, const char *which);

#endif
