#include "engine/trace/export/convert.h"
#include "engine/base/error_format.h"

#include "engine/trace/export/firefox/sink_firefox.h"
#include "engine/trace/export/pprof/sink_pprof.h"
#include "engine/trace/export/sinks.h"
#include "engine/trace/model/sink_window.h"
#include "engine/trace/session/session_set.h"
#include "engine/trace/symbols/symbols.h"
#include "engine/util/outfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct job {
    const struct strobe_session_set *sessions;
    const char *session_path, *out_path; /* session_path: the current session */
    const struct strobe_convert_options *options;
    struct strobe_convert_stats *stats;
    struct strobe_error *error;
    struct strobe_reader *reader;
    struct strobe_symbols *symbols;
    struct strobe_function_tree *tree;
};

static enum strobe_status fail_job(const struct job *j, const char *file, const char *what, enum strobe_status status)
{
    strobe_error_set(j->error, "%s: %s", file, what);
    return status;
}

enum strobe_status strobe_format_of(const char *name, enum strobe_format *out)
{
    static const char *const names[] = {
        [STROBE_FORMAT_PERFETTO] = "perfetto",     [STROBE_FORMAT_CHROME] = "chrome",
        [STROBE_FORMAT_SPEEDSCOPE] = "speedscope", [STROBE_FORMAT_FOLDED] = "folded",
        [STROBE_FORMAT_PPROF] = "pprof",           [STROBE_FORMAT_FIREFOX] = "firefox",
    };
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (enum strobe_format)i;
            return STROBE_OK;
        }
    }
    return STROBE_NO_ENTRY;
}

static int convert_in_syscall(void *ctx, uint64_t return_address, struct strobe_symbol *out)
{
    return strobe_symbols_in_syscall(ctx, return_address, out);
}

struct strobe_sink *strobe_format_sink(enum strobe_format format, struct strobe_outfile *out, int deflate,
                                       struct strobe_perfetto_stats *perfetto)
{
    switch (format) {
    case STROBE_FORMAT_PERFETTO: return strobe_sink_perfetto(out, deflate, perfetto);
    case STROBE_FORMAT_CHROME: return strobe_sink_chrome(out);
    case STROBE_FORMAT_SPEEDSCOPE: return strobe_sink_speedscope(out);
    case STROBE_FORMAT_FOLDED: return strobe_sink_folded(out);
    case STROBE_FORMAT_PPROF: return strobe_sink_pprof(out, 0, UINT64_MAX);
    case STROBE_FORMAT_FIREFOX: return strobe_sink_firefox(out);
    }
    return NULL;
}

static int same_file(const char *a, const char *b)
{
    struct stat sa, sb;
    return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

static void add_stats(struct strobe_timeline_stats *sum, const struct strobe_timeline_stats *more)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)more;
    _Static_assert(sizeof *sum % sizeof *to == 0, "a struct of counts");
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
}

static void close_inputs(struct job *j)
{
    strobe_reader_close(j->reader);
    j->reader = NULL;
}

static enum strobe_status open_tree(struct job *j)
{
    enum strobe_status status =
        strobe_function_tree_open(&j->reader->session.stacks, strobe_symbols_resolver(j->symbols), &j->tree);
    if (status == STROBE_OK)
        strobe_function_tree_show_syscalls(j->tree, convert_in_syscall);
    return status;
}

/* Opens the session, and switches symbols and tree to it. */
static enum strobe_status enter_session(struct job *j, const char *path)
{
    struct strobe_error what = {""};
    j->session_path = path;
    enum strobe_status status = strobe_reader_open(path, &j->reader, &what);
    if (status != STROBE_OK)
        return fail_job(j, path, what.text, status);
    if (j->sessions->count == 1)
        status = strobe_symbols_open(&j->reader->session, j->options->symbols, &j->symbols);
    else if (j->symbols || (status = strobe_symbols_open_shared(j->options->symbols, &j->symbols)) == STROBE_OK)
        status = strobe_symbols_enter(j->symbols, &j->reader->session);
    if (status == STROBE_OK && j->tree)
        strobe_function_tree_enter(j->tree, &j->reader->session.stacks);
    else if (status == STROBE_OK)
        status = open_tree(j);
    return status == STROBE_OK ? status : fail_job(j, path, strerror(ENOMEM), status);
}

/* Emits all sessions to the sink. The first one is open already. A session that cannot be read ends the conversion. */
static enum strobe_status emit_sessions(struct job *j, struct strobe_sink *sink)
{
    struct strobe_timeline_options how = j->options->timeline;
    enum strobe_status status = STROBE_OK;
    how.keep_open = 1;
    for (size_t i = 0; i < j->sessions->count && status == STROBE_OK; i++) {
        struct strobe_timeline_stats one;
        if (i)
            status = enter_session(j, j->sessions->paths[i]);
        if (status != STROBE_OK)
            break;
        status = strobe_timeline_build(j->reader, j->tree, &how, sink, &one);
        add_stats(&j->stats->timeline, &one);
        how.marks = NULL;
        how.mark_count = 0;
        if (i + 1 < j->sessions->count)
            close_inputs(j);
        if (status != STROBE_OK)
            fail_job(j, j->out_path, strerror(ENOMEM), status);
    }
    enum strobe_status finished = sink->finish(sink);
    if (status == STROBE_OK && finished != STROBE_OK)
        fail_job(j, j->out_path, strerror(ENOMEM), finished);
    return status == STROBE_OK ? finished : status;
}

static enum strobe_status write_trace(struct job *j)
{
    struct strobe_outfile out;
    for (size_t i = 0; i < j->sessions->count; i++)
        if (same_file(j->sessions->paths[i], j->out_path))
            return fail_job(j, j->out_path, "is the session itself, expected another file", STROBE_BAD_INPUT);
    enum strobe_status status = strobe_outfile_open(&out, j->out_path, j->options->replace);
    if (status != STROBE_OK)
        return fail_job(j, j->out_path, status == STROBE_EXISTS ? "exists already" : strerror(errno), status);
    struct strobe_window_times part = {j->options->from_ns, j->options->to_ns ? j->options->to_ns : UINT64_MAX};
    struct strobe_folded_options folded = {j->options->weight, part.from_ns, part.to_ns};
    const struct strobe_perfetto_options perfetto = {
        .deflate = j->options->deflate, .from_ns = j->options->from_ns, .to_ns = j->options->to_ns};
    struct strobe_sink *sink =
        j->options->format == STROBE_FORMAT_FOLDED  ? strobe_sink_folded_by(&out, &folded)
        : j->options->format == STROBE_FORMAT_PPROF ? strobe_sink_pprof(&out, part.from_ns, part.to_ns)
        : j->options->format == STROBE_FORMAT_PERFETTO
            ? strobe_sink_perfetto_with(&out, &perfetto, &j->stats->perfetto)
            : strobe_format_sink(j->options->format, &out, j->options->deflate, &j->stats->perfetto);
    struct strobe_window_stats written = {0};
    int whole = part.from_ns == 0 && part.to_ns == UINT64_MAX;
    if (sink && !whole)
        sink = strobe_sink_window(sink, part, &written);
    if (sink)
        sink->several = j->sessions->count > 1;
    status = sink ? emit_sessions(j, sink) : fail_job(j, j->out_path, strerror(ENOMEM), STROBE_IO);
    j->stats->processes = j->sessions->count;
    j->stats->threads = whole ? j->stats->timeline.threads : written.threads;
    j->stats->slices = whole ? j->stats->timeline.slices : written.slices;
    j->stats->bytes = out.bytes + out.used;
    if (status != STROBE_OK) {
        strobe_outfile_finish(&out, 1);
        return status;
    }
    status = strobe_outfile_finish(&out, 0);
    return status == STROBE_OK ? status : fail_job(j, j->out_path, strerror(errno), status);
}

static void count_files(const struct job *j)
{
    const struct strobe_image_report *images;
    uint64_t most = 0;
    for (size_t i = strobe_symbols_images(j->symbols, &images); i-- > 0;) {
        const struct strobe_image_report *m = &images[i];
        j->stats->files_changed += m->state == STROBE_IMAGE_CHANGED;
        j->stats->files_missing += m->state == STROBE_IMAGE_MISSING;
        if ((m->state == STROBE_IMAGE_CHANGED || m->state == STROBE_IMAGE_MISSING) && m->addresses > most) {
            most = m->addresses;
            snprintf(j->stats->nameless_file, sizeof j->stats->nameless_file, "%s", m->path);
        }
    }
}

void strobe_convert_print_nameless(const struct strobe_convert_stats *stats, FILE *out)
{
    uint64_t files = stats->files_changed + stats->files_missing;
    if (files == 1)
        fprintf(out, "%s is missing or has changed since the recording: its functions have no names\n",
                stats->nameless_file);
    else if (files)
        fprintf(out,
                "%llu files are missing or have changed since the recording: their functions have no names; most "
                "are of %s; `strobe report` lists the files\n",
                (unsigned long long)files, stats->nameless_file);
}

static void close_convert_job(struct job *j)
{
    int saved = errno;
    if (j->symbols)
        count_files(j);
    strobe_function_tree_close(j->tree);
    strobe_symbols_close(j->symbols);
    strobe_reader_close(j->reader);
    errno = saved;
}

enum strobe_status strobe_convert_emit(const struct strobe_session_set *sessions, struct strobe_sink *sink,
                                       const struct strobe_convert_options *options, struct strobe_convert_stats *stats,
                                       struct strobe_error *error)
{
    struct job j = {
        .sessions = sessions, .out_path = sessions->paths[0], .options = options, .stats = stats, .error = error};
    memset(stats, 0, sizeof *stats);
    enum strobe_status status = enter_session(&j, sessions->paths[0]);
    if (status == STROBE_OK)
        status = emit_sessions(&j, sink);
    else
        sink->finish(sink);
    stats->processes = sessions->count;
    stats->threads = stats->timeline.threads;
    stats->slices = stats->timeline.slices;
    close_convert_job(&j);
    return status;
}

enum strobe_status strobe_convert_set(const struct strobe_session_set *sessions, const char *out_path,
                                      const struct strobe_convert_options *options, struct strobe_convert_stats *stats,
                                      struct strobe_error *error)
{
    struct strobe_convert_stats unasked;
    struct job j = {.sessions = sessions,
                    .out_path = out_path,
                    .options = options,
                    .stats = stats ? stats : &unasked,
                    .error = error};
    memset(j.stats, 0, sizeof *j.stats);
    enum strobe_status status = enter_session(&j, sessions->paths[0]);
    if (status == STROBE_OK)
        status = write_trace(&j);
    close_convert_job(&j);
    return status;
}

enum strobe_status strobe_convert(const char *session_path, const char *out_path,
                                  const struct strobe_convert_options *options, struct strobe_convert_stats *stats,
                                  struct strobe_error *error)
{
    struct strobe_session_set sessions;
    enum strobe_status status = strobe_session_set_list(session_path, &sessions);
    if (status != STROBE_OK) {
        struct job j = {.error = error};
        return fail_job(&j, session_path, status == STROBE_NO_ENTRY ? "a folder without sessions" : strerror(errno),
                        status == STROBE_NO_ENTRY ? STROBE_BAD_INPUT : status);
    }
    status = strobe_convert_set(&sessions, out_path, options, stats, error);
    int saved = errno;
    strobe_session_set_free(&sessions);
    errno = saved;
    return status;
}
