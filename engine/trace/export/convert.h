/* Session in, trace out, in one call. Allocates; not thread-safe. Reading half only. */
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
    enum strobe_weight weight; /* folded stacks only: what is counted */
    int replace;               /* overwrite a file that is there */
    uint64_t from_ns, to_ns;   /* the part to write, since the session's begin; to 0 = to its end */
};

struct strobe_convert_stats {
    struct strobe_timeline_stats timeline; /* of all sessions, whole */
    uint64_t processes;                    /* sessions */
    uint64_t threads, slices;              /* written */
    struct strobe_perfetto_stats perfetto; /* zero for other formats */
    uint64_t bytes;                        /* size of the output */
    uint64_t files_changed;                /* files that names were wanted from, and that are not what was recorded */
    uint64_t files_missing;                /* ... or not there */
    char nameless_file[STROBE_PATH_BYTES]; /* of both, the file with the most addresses that were asked for; or "" */
};

/* Finds a format by its name above; STROBE_NO_ENTRY when there is none. */
enum strobe_status strobe_format_of(const char *name, enum strobe_format *out);

/* A sink that writes this format to `out`, which it does not close; NULL: out of memory. `deflate` and `perfetto` are
 * for Perfetto's, see sink_perfetto.h. */
struct strobe_sink *strobe_format_sink(enum strobe_format format, struct strobe_outfile *out, int deflate,
                                       struct strobe_perfetto_stats *perfetto);

/* Prints the line that says how many files gave no names, and which of them matters most, to `out`; nothing when all
 * did. */
void strobe_convert_print_nameless(const struct strobe_convert_stats *stats, FILE *out);

/* Reads the session, or all those of a folder (session_set.h), and writes one trace. The output appears under its name
 * only when whole. On failure `error`
 * (may be NULL) has one line: file, place, what was expected. `stats` may be NULL. */
enum strobe_status strobe_convert(const char *session_path, const char *out_path,
                                  const struct strobe_convert_options *options, struct strobe_convert_stats *stats,
                                  struct strobe_error *error);

/* The same for sessions that are listed already: at least one. */
enum strobe_status strobe_convert_set(const struct strobe_session_set *sessions, const char *out_path,
                                      const struct strobe_convert_options *options, struct strobe_convert_stats *stats,
                                      struct strobe_error *error);

#endif
