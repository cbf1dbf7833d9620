/* Converts a session to a trace. Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_TRACE_EXPORT_CONVERT_H
#define STROBE_TRACE_EXPORT_CONVERT_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/include/strobe/trace.h"
#include "engine/store/session.h"
#include "engine/trace/build/timeline.h"
#include "engine/trace/export/sink_perfetto.h"
#include "engine/trace/export/sinks.h"
#include "engine/trace/session/session_set.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct strobe_convert_options {
    enum strobe_format format;
    unsigned symbols; /* STROBE_SYMBOLS_* */
    struct strobe_timeline_options timeline;
    int deflate;               /* Perfetto only: compress packets */
    enum strobe_weight weight; /* folded stacks only: the quantity that is summed */
    int replace;               /* overwrite an existing file */
    uint64_t from_ns, to_ns;   /* the part to write, since the session's begin; to_ns 0 = to its end */
};

struct strobe_convert_stats {
    struct strobe_timeline_stats timeline; /* of all sessions, without the limits from_ns and to_ns */
    uint64_t processes;                    /* sessions */
    uint64_t threads, slices;              /* written */
    struct strobe_perfetto_stats perfetto; /* zero for other formats */
    uint64_t bytes;                        /* size of the output */
    uint64_t files_changed;                /* files needed for names that differ from the recorded ones */
    uint64_t files_missing;                /* files needed for names that do not exist */
    char nameless_file[STROBE_PATH_BYTES]; /* of these, the file with the most addresses to resolve; or "" */
};

/* Finds a format by its name. STROBE_NO_ENTRY: there is none. */
enum strobe_status strobe_format_of(const char *name, enum strobe_format *out);

/* Returns a sink that writes this format to `out`, which it does not close. NULL: out of memory. `deflate` and
 * `perfetto` apply to Perfetto only, see sink_perfetto.h. */
struct strobe_sink *strobe_format_sink(enum strobe_format format, struct strobe_outfile *out, int deflate,
                                       struct strobe_perfetto_stats *perfetto);

/* Prints to `out` a line with the number of files that gave no names, and the file that matters most. Prints nothing if
 * all files gave names. */
void strobe_convert_print_nameless(const struct strobe_convert_stats *stats, FILE *out);

/* Reads the session, or all sessions of a directory (session_set.h), and writes one trace. The output appears under its
 * name only when complete. On failure `error` (may be NULL) has one line: file, place, what was expected. `stats` may
 * be NULL. */
enum strobe_status strobe_convert(const char *session_path, const char *out_path,
                                  const struct strobe_convert_options *options, struct strobe_convert_stats *stats,
                                  struct strobe_error *error);

/* Emits sessions that are listed already, at least one, to `sink`, and finishes it in any case. Of the options, those
 * about the output do not matter. Otherwise as strobe_convert. */
enum strobe_status strobe_convert_emit(const struct strobe_session_set *sessions, struct strobe_sink *sink,
                                       const struct strobe_convert_options *options, struct strobe_convert_stats *stats,
                                       struct strobe_error *error);

/* Converts sessions that are listed already, at least one. Otherwise as strobe_convert. */
enum strobe_status strobe_convert_set(const struct strobe_session_set *sessions, const char *out_path,
                                      const struct strobe_convert_options *options, struct strobe_convert_stats *stats,
                                      struct strobe_error *error);

#endif
