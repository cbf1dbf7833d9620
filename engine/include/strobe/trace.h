/* Converts a session into a trace for a viewer. C11 and C++. Link with `pkg-config --libs strobe-trace`. */
#ifndef STROBE_INCLUDE_STROBE_TRACE_H
#define STROBE_INCLUDE_STROBE_TRACE_H

#include "status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum strobe_format {
    STROBE_FORMAT_PERFETTO,   /* "perfetto"    what ui.perfetto.dev opens */
    STROBE_FORMAT_CHROME,     /* "chrome"      trace events as JSON */
    STROBE_FORMAT_SPEEDSCOPE, /* "speedscope"  evented profiles as JSON, one profile per thread */
    STROBE_FORMAT_FOLDED,     /* "folded"      one line per stack with its time in us, for flame graphs */
    STROBE_FORMAT_PPROF,      /* "pprof"       a profile for `pprof`, compressed by gzip */
    STROBE_FORMAT_FIREFOX,    /* "firefox"     a processed profile for profiler.firefox.com */
};

/* All zeros: a Perfetto trace of the whole session that does not replace a file. */
struct strobe_trace_options {
    enum strobe_format format;
    int replace;             /* overwrite a file that exists */
    int inlines;             /* slices for inlined calls, too */
    int deflate;             /* Perfetto only: compress the packets */
    uint64_t from_ns, to_ns; /* part to write, in ns since the session's begin; `to_ns` 0 = to the session's end */
};

/* Reads the session file, or all sessions of a directory (`strobe record --follow`), and writes one trace. The trace
 * gets its name only when it is whole. `options` may be NULL: all zeros. On failure the text of `error` (may be NULL)
 * names the file, the place and what was expected.
 *
 *   STROBE_EXISTS      the trace exists, and options->replace is 0
 *   STROBE_BAD_INPUT, STROBE_BAD_VERSION, STROBE_TRUNCATED    as for strobe_view_open (session.h)
 *   STROBE_BAD_INPUT   also: an unknown format; `to_ns` not 0 and not above from_ns; a directory without sessions
 *   STROBE_IO          a file cannot be read or written; errno holds the reason
 *   STROBE_NO_MEMORY
 *
 * Allocates. Any thread; several threads may convert at once. */
STROBE_API enum strobe_status strobe_trace_write(const char *session_path, const char *trace_path,
                                                 const struct strobe_trace_options *options,
                                                 struct strobe_error *error);

#ifdef __cplusplus
}
#endif

#endif
