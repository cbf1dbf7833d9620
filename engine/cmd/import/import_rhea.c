/* `strobe import rhea`: captures of RheaTrace 1.0: its raw log, its ring file (of a process that was killed, or that
 * never wrote its log), or a trace in profilo's text format. */
#include "engine/base/error_format.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/import/import.h"
#include "engine/cmd/import/import_calls.h"

#include "engine/trace/import/rhea/rhea.h"
#include "engine/util/whole_file.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_log_stats(const struct strobe_import_calls *q, const struct strobe_rhea_read_stats *s)
{
    char unknown[80];
    snprintf(unknown, sizeof unknown, "lines not understood, left out, the first is line %" PRIu64, s->first_unknown);
    strobe_import_calls_count(q, s->before_start, "lines before TRACE_START, left out");
    strobe_import_calls_count(q, s->unknown, unknown);
    strobe_import_calls_count(q, s->cut_off, "lines cut at the end, left out");
    strobe_import_calls_count(q, s->others, "messages that are no calls, left out");
    strobe_import_calls_count(q, s->after_end, "lines after TRACE_END, left out");
    strobe_import_calls_count(q, s->lost, "packets and messages that the capture lost");
    strobe_import_calls_count(q, !s->ended, "captures that never ended");
}

static enum strobe_status read_rhea_log(const struct strobe_import_calls *q, const char *text, size_t bytes,
                                        struct strobe_calls *calls, struct strobe_error *error)
{
    struct strobe_rhea_read_stats stats;
    enum strobe_status status = strobe_rhea_read(text, bytes, calls, &stats, error);
    if (status == STROBE_OK)
        print_log_stats(q, &stats);
    return status;
}

static enum strobe_status read_profilo(const struct strobe_import_calls *q, const char *text, size_t bytes,
                                       struct strobe_calls *calls, struct strobe_error *error)
{
    struct strobe_profilo_stats s;
    char unknown[80];
    enum strobe_status status = strobe_profilo_read(text, bytes, calls, &s, error);
    if (status != STROBE_OK)
        return status;
    snprintf(unknown, sizeof unknown, "lines not understood, left out, the first is line %" PRIu64, s.first_unknown);
    strobe_import_calls_count(q, s.unknown, unknown);
    strobe_import_calls_count(q, s.cut_off, "lines cut at the end, left out");
    return STROBE_OK;
}

/* ---- ring files */

static enum strobe_status read_ring_file(const struct strobe_import_calls *q, const struct strobe_whole_file *file,
                                         struct strobe_calls *calls, struct strobe_error *error)
{
    struct strobe_rhea_ring_stats stats;
    enum strobe_status status = strobe_rhea_ring_read(file->at, file->bytes, calls, &stats, error);
    strobe_import_calls_count(q, stats.strange, "entries that are none of a capture's, left out");
    if (status == STROBE_OK)
        print_log_stats(q, &stats.log);
    return status;
}

static enum strobe_status read_any(const struct strobe_import_calls *q, const struct strobe_whole_file *file,
                                   struct strobe_calls *calls, struct strobe_error *error)
{
    if (strobe_profilo_is(file->at, file->bytes))
        return read_profilo(q, file->at, file->bytes, calls, error);
    if (strobe_rhea_ring_is(file->at, file->bytes))
        return read_ring_file(q, file, calls, error);
    return read_rhea_log(q, file->at, file->bytes, calls, error);
}

/* ---- output */

static int write_profilo(const struct strobe_import_calls *q, struct strobe_calls *calls)
{
    struct strobe_outfile out;
    uint64_t blanked = 0;
    if (strobe_calls_repair(calls, q->repair, NULL) != STROBE_OK)
        return strobe_complain("%s: not enough memory", q->input);
    strobe_output_begin();
    enum strobe_status status = strobe_outfile_open(&out, q->output, q->options.replace);
    if (status == STROBE_EXISTS)
        return strobe_complain("%s: exists already; --force overwrites it", q->output);
    if (status != STROBE_OK)
        return strobe_complain("%s: %s", q->output, strerror(errno));
    bool whole = strobe_profilo_write_calls(calls, &out, &blanked) == STROBE_OK;
    status = strobe_outfile_finish(&out, !whole);
    if (!whole)
        return strobe_complain("%s: more calls than profilo's format has ids for", q->input);
    strobe_import_calls_count(q, blanked, "newlines in names, written as blanks");
    return status == STROBE_OK ? STROBE_EXIT_OK : strobe_complain("%s: %s", q->output, strerror(errno));
}

static int import_rhea_log(const struct strobe_import_calls *q, bool profilo)
{
    struct strobe_whole_file file;
    struct strobe_calls calls;
    struct strobe_error error = {""};
    if (strobe_whole_file_open(q->input, &file) != STROBE_OK)
        return strobe_complain("%s: %s", q->input, strerror(errno));
    strobe_calls_open(&calls);
    enum strobe_status status = read_any(q, &file, &calls, &error);
    strobe_whole_file_close(&file);
    int exit_status = status != STROBE_OK ? strobe_complain("%s: %s", q->input, error.text)
                      : profilo           ? write_profilo(q, &calls)
                                          : strobe_import_calls_write(q, &calls, 0);
    strobe_calls_close(&calls);
    return exit_status;
}

int strobe_import_rhea(int argc, char **argv)
{
    static const struct option table[] = {STROBE_IMPORT_CALLS_OPTIONS, {NULL, 0, NULL, 0}};
    struct strobe_import_calls q = {0};
    for (int c; (c = strobe_any_option(argc, argv, table)) != -1;) {
        if (c == 'h')
            return strobe_print_usage(strobe_usage_import);
        int bad = strobe_import_calls_option(&q, c);
        if (bad)
            return bad;
    }
    bool profilo = q.format && !strcmp(q.format, "profilo");
    if (profilo)
        q.format = "perfetto";
    int bad = strobe_import_calls_arguments(&q, "rhea", argc, argv);
    if (!bad && profilo && q.options.deflate)
        bad = strobe_complain("import: --deflate is for the perfetto format");
    return bad ? bad : import_rhea_log(&q, profilo);
}
