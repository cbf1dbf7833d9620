#include "engine/trace/export/calls_convert.h"
#include "engine/base/error_format.h"

#include "engine/trace/export/ftrace_write.h"
#include "engine/trace/import/calls_store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum strobe_status fail_calls(enum strobe_status status, const char *path, const char *what,
                                     struct strobe_error *error)
{
    strobe_error_set(error, "%s: %s", path, what);
    return status;
}

static enum strobe_status open_out(struct strobe_outfile *out, const char *path, int replace,
                                   struct strobe_error *error)
{
    enum strobe_status status = strobe_outfile_open(out, path, replace);
    return status == STROBE_OK
               ? status
               : fail_calls(status, path, status == STROBE_EXISTS ? "exists already" : strerror(errno), error);
}

static enum strobe_status write_calls(const struct strobe_calls *calls, struct strobe_outfile *out,
                                      struct strobe_outfile *mapping,
                                      const struct strobe_calls_convert_options *options,
                                      struct strobe_calls_convert_stats *stats)
{
    struct strobe_sink *sink;
    switch (options->format) {
    case STROBE_CALLS_SESSION: return strobe_calls_store(calls, out);
    case STROBE_CALLS_FTRACE: return strobe_ftrace_write(calls, out);
    case STROBE_CALLS_BTRACE2: return strobe_btrace2_write(calls, 0, out, mapping, &stats->btrace2);
    case STROBE_CALLS_TRACE: break;
    }
    if (options->write_others && !options->write_others(options->others, out))
        return STROBE_IO;
    sink = strobe_format_sink(options->trace, out, options->deflate, &stats->perfetto);
    return sink ? strobe_calls_timeline(calls, sink, &stats->timeline) : STROBE_IO;
}

enum strobe_status strobe_calls_convert(const struct strobe_calls *calls, const char *out_path,
                                        const struct strobe_calls_convert_options *options,
                                        struct strobe_calls_convert_stats *stats, struct strobe_error *error)
{
    struct strobe_outfile out, mapping;
    char mapping_path[PATH_MAX];
    bool mapped = options->format == STROBE_CALLS_BTRACE2;
    *stats = (struct strobe_calls_convert_stats){0};
    if (mapped && !strcmp(out_path, "-"))
        return fail_calls(STROBE_BAD_INPUT, "standard output",
                          "expected the name of a file, which has its mapping beside it", error);
    if (mapped && snprintf(mapping_path, sizeof mapping_path, "%s.mapping", out_path) >= (int)sizeof mapping_path)
        return fail_calls(STROBE_IO, out_path, strerror(ENAMETOOLONG), error);
    enum strobe_status status = open_out(&out, out_path, options->replace, error);
    if (status != STROBE_OK)
        return status;
    if (mapped && (status = open_out(&mapping, mapping_path, options->replace, error)) != STROBE_OK) {
        strobe_outfile_finish(&out, 1);
        return status;
    }
    enum strobe_status made = write_calls(calls, &out, &mapping, options, stats);
    bool give_up = made != STROBE_OK;
    stats->bytes = out.bytes + out.used;
    /* A log that cannot be written leaves no mapping. */
    bool unwritten = mapped && !give_up && strobe_outfile_flush(&out) != STROBE_OK;
    if (mapped && (status = strobe_outfile_finish(&mapping, give_up || unwritten)) != STROBE_OK) {
        fail_calls(status, mapping_path, strerror(errno), error);
        strobe_outfile_finish(&out, 1);
        return status;
    }
    status = strobe_outfile_finish(&out, give_up);
    if (status != STROBE_OK) {
        fail_calls(status, out_path, strerror(errno), error);
        if (mapped && !unwritten)
            unlink(mapping_path);
        return status;
    }
    return give_up ? fail_calls(made, out_path,
                                made == STROBE_BAD_INPUT ? "calls are not whole"
                                : made == STROBE_FULL    ? "more calls than a session holds"
                                                         : strerror(ENOMEM),
                                error)
                   : STROBE_OK;
}
