#include "engine/trace/convert.h"

#include "engine/trace/outfile.h"
#include "engine/trace/sink_window.h"
#include "engine/trace/sinks.h"
#include "engine/trace/symbols.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct job {
    const char *session_path, *out_path;
    const struct strobe_convert_options *options;
    struct strobe_convert_stats *stats;
    char *why;
    size_t why_bytes;
    struct strobe_reader *reader;
    struct strobe_symbols *symbols;
    struct strobe_function_tree *tree;
};

static enum strobe_status fail(const struct job *j, const char *file, const char *what, enum strobe_status status)
{
    if (j->why && j->why_bytes)
        snprintf(j->why, j->why_bytes, "%s: %s", file, what);
    return status;
}

enum strobe_status strobe_format_of(const char *name, enum strobe_format *out)
{
    static const char *const names[] = {
        [STROBE_FORMAT_PERFETTO] = "perfetto",
        [STROBE_FORMAT_CHROME] = "chrome",
        [STROBE_FORMAT_SPEEDSCOPE] = "speedscope",
        [STROBE_FORMAT_FOLDED] = "folded",
    };
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (enum strobe_format)i;
            return STROBE_OK;
        }
    }
    return STROBE_NO_ENTRY;
}

static size_t resolve(void *ctx, uint64_t return_address, struct strobe_symbol *out, size_t max)
{
    return strobe_symbols_resolve(ctx, return_address, out, max);
}

struct strobe_sink *strobe_format_sink(enum strobe_format format, struct strobe_outfile *out, int deflate,
                                       struct strobe_perfetto_stats *perfetto)
{
    switch (format) {
    case STROBE_FORMAT_PERFETTO: return strobe_sink_perfetto(out, deflate, perfetto);
    case STROBE_FORMAT_CHROME: return strobe_sink_chrome(out);
    case STROBE_FORMAT_SPEEDSCOPE: return strobe_sink_speedscope(out);
    case STROBE_FORMAT_FOLDED: return strobe_sink_folded(out);
    }
    return NULL;
}

static int same_file(const char *a, const char *b)
{
    struct stat sa, sb;
    return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

static enum strobe_status write_trace(const struct job *j)
{
    struct strobe_outfile out;
    if (same_file(j->session_path, j->out_path))
        return fail(j, j->out_path, "is the session itself, expected another file", STROBE_BAD_INPUT);
    enum strobe_status status = strobe_outfile_open(&out, j->out_path, j->options->replace);
    if (status != STROBE_OK)
        return fail(j, j->out_path, status == STROBE_EXISTS ? "exists already" : strerror(errno), status);
    struct strobe_sink *sink = strobe_format_sink(j->options->format, &out, j->options->deflate, &j->stats->perfetto);
    struct strobe_window_times part = {j->options->from_ns, j->options->to_ns ? j->options->to_ns : UINT64_MAX};
    struct strobe_window_stats written = {0};
    int whole = part.from_ns == 0 && part.to_ns == UINT64_MAX;
    if (sink && !whole)
        sink = strobe_sink_window(sink, part, &written);
    status = sink ? strobe_timeline_build(j->reader, j->tree, &j->options->timeline, sink, &j->stats->timeline)
                  : STROBE_IO;
    j->stats->threads = whole ? j->stats->timeline.threads : written.threads;
    j->stats->slices = whole ? j->stats->timeline.slices : written.slices;
    int no_memory = status != STROBE_OK;
    j->stats->bytes = out.bytes + out.used;
    status = strobe_outfile_finish(&out, no_memory);
    if (no_memory)
        return fail(j, j->out_path, strerror(ENOMEM), STROBE_IO);
    return status == STROBE_OK ? status : fail(j, j->out_path, strerror(errno), status);
}

static void count_files(const struct job *j)
{
    const struct strobe_image_report *images;
    for (size_t i = strobe_symbols_images(j->symbols, &images); i-- > 0;) {
        j->stats->files_changed += images[i].state == STROBE_IMAGE_CHANGED;
        j->stats->files_missing += images[i].state == STROBE_IMAGE_MISSING;
    }
}

static enum strobe_status convert(struct job *j)
{
    char what[200];
    enum strobe_status status = strobe_reader_open(j->session_path, &j->reader, what, sizeof what);
    if (status != STROBE_OK)
        return fail(j, j->session_path, what, status);
    status = strobe_symbols_open(&j->reader->session, j->options->symbols, &j->symbols);
    if (status == STROBE_OK)
        status = strobe_function_tree_open(&j->reader->session.stacks, (struct strobe_resolver){resolve, j->symbols},
                                           &j->tree);
    if (status != STROBE_OK)
        return fail(j, j->session_path, strerror(ENOMEM), status);
    status = write_trace(j);
    count_files(j);
    return status;
}

enum strobe_status strobe_convert(const char *session_path, const char *out_path,
                                  const struct strobe_convert_options *options, struct strobe_convert_stats *stats,
                                  char *why, size_t why_bytes)
{
    struct strobe_convert_stats unasked;
    struct job j = {.session_path = session_path, .out_path = out_path, .options = options,
                    .stats = stats ? stats : &unasked, .why = why, .why_bytes = why_bytes};
    memset(j.stats, 0, sizeof *j.stats);
    enum strobe_status status = convert(&j);
    int error = errno;
    strobe_function_tree_close(j.tree);
    strobe_symbols_close(j.symbols);
    strobe_reader_close(j.reader);
    errno = error;
    return status;
}
