/* A sink that writes a processed profile of the Firefox Profiler (https://profiler.firefox.com), version 48 of the
 * format: docs-developer/CHANGELOG-formats.md and src/types/profile.js of https://github.com/firefox-devtools/profiler.
 *
 *   samples   one for each change of the innermost slice. Its weight is the time until the next change (tracing-ms), so
 *             the sums of the profile are the times of the timeline. A last sample without a stack ends the thread
 *   CPU       threadCPUDelta, ns of CPU time of the thread since the sample before
 *   markers   waits with the method that waited, sections, overlong turns of the run loop, instants
 *   libs      the files of functions, with their build ids
 *
 * Times are ms since the begin of the first session. The format has the columns of a thread one after the other, so
 * memory is one thread's samples and markers, and all sections. Reading half only. */
#ifndef STROBE_TRACE_EXPORT_FIREFOX_SINK_FIREFOX_H
#define STROBE_TRACE_EXPORT_FIREFOX_SINK_FIREFOX_H

#include "engine/trace/model/sink.h"
#include "engine/util/outfile.h"

/* Returns the sink, which does not close `out`. NULL: out of memory. */
struct strobe_sink *strobe_sink_firefox(struct strobe_outfile *out);

#endif
