/* A sink that passes one thread of a timeline to another sink, or several threads of one name. Events of the process
 * as a whole always pass.
 *
 * Reading half only: allocates. */
#ifndef STROBE_TRACE_MODEL_SINK_THREADS_H
#define STROBE_TRACE_MODEL_SINK_THREADS_H

#include "engine/trace/model/sink.h"

/* Returns 1 if `which` is the thread's name, or its tid in decimal. */
int strobe_is_thread(const struct strobe_reader_thread *thread, const char *which);

/* Returns a sink that passes the threads selected by `which` on to `inner`. The new sink owns `inner`: its finish
 * finishes both. `which` must outlive it. NULL: out of memory; `inner` has then been finished. */
struct strobe_sink *strobe_sink_threads(struct strobe_sink *inner, const char *which);

#endif
