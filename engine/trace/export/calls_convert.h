/* Converts calls to a file: a trace, a session, or a format of another tracer. Calls must be complete (calls_repair.h).
 * Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_TRACE_EXPORT_CALLS_CONVERT_H
#define STROBE_TRACE_EXPORT_CALLS_CONVERT_H

#include "engine/base/error.h"
#include "engine/trace/build/calls_timeline.h"
#include "engine/trace/export/btrace2_write.h"
#include "engine/trace/export/convert.h"

enum strobe_calls_format {
    STROBE_CALLS_TRACE,   /* one of enum strobe_format */
    STROBE_CALLS_SESSION, /* a session, see calls_store.h */
    STROBE_CALLS_FTRACE,  /* ftrace text, see ftrace_write.h */
    STROBE_CALLS_BTRACE2, /* a log of btrace 2.0, and its mapping in a file with `.mapping` appended to the name */
};

struct strobe_calls_convert_options {
    enum strobe_calls_format format;
    enum strobe_format trace;
    int deflate; /* Perfetto only: compress packets */
    int replace; /* overwrite existing files */
    /* Perfetto only: writes other packets, before those of the calls. Returns 0 when out of memory. May be NULL. */
    int (*write_others)(void *ctx, struct strobe_outfile *out);
    void *others;
};

struct strobe_calls_convert_stats {
    struct strobe_calls_timeline_stats timeline; /* of STROBE_CALLS_TRACE */
    struct strobe_perfetto_stats perfetto;
    struct strobe_btrace2_written btrace2;
    uint64_t bytes; /* size of the output */
};

/* Writes the file. It appears under its name only when complete. On failure `error` has one line: the file, and what
 * was expected. */
enum strobe_status strobe_calls_convert(const struct strobe_calls *calls, const char *out_path,
                                        const struct strobe_calls_convert_options *options,
                                        struct strobe_calls_convert_stats *stats, struct strobe_error *error);

#endif
