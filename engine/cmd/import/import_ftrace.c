/* `strobe import ftrace`: text of atrace, systrace and RheaTrace. A Perfetto trace gets all events of the text, as
 * `strobe merge` writes them. In three cases the calls of one process are slices with repaired ends, and the other
 * events stand beside them: the text has markers of RheaTrace, or reads and writes of files; --pid, --marks rhea or
 * --repair is given. Other outputs hold the calls, counters and the like of one process. */
#include "engine/base/error.h"
#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/import/import.h"
#include "engine/cmd/import/import_calls.h"

#include "engine/trace/export/perfetto_ids.h"
#include "engine/trace/import/ftrace/ftrace_read.h"
#include "engine/trace/merge/merge_text.h"
#include "engine/util/whole_file.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PID = IMPORT_OWN, MARKS };

struct ftrace_request {
    struct strobe_import_calls shared;
    struct strobe_ftrace_options options;
    bool one_process; /* an option selects or repairs the calls of one process */
};

/* The events of the text on their way to a Perfetto trace. */
struct ftrace_events {
    struct strobe_merge_text text;
    struct strobe_merge_text_options how;
    int deflate;
    char *lines; /* for standard error, once the trace is complete */
    size_t lines_bytes;
};

static int take_ftrace_option(struct ftrace_request *q, int c)
{
    static const char *const marks[] = {
        [STROBE_FTRACE_AUTO] = "auto", [STROBE_FTRACE_PLAIN] = "plain", [STROBE_FTRACE_RHEA] = "rhea"};
    uint64_t pid;
    q->one_process |= c == PID || c == IMPORT_REPAIR;
    if (c == PID) {
        if (!strobe_parse_number(optarg, UINT32_MAX, &pid) || !pid)
            return strobe_complain("import: --pid %s: expected a process id", optarg);
        q->options.pid = (uint32_t)pid;
        return 0;
    }
    if (c != MARKS)
        return strobe_import_calls_option(&q->shared, c);
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (!strcmp(optarg, marks[i])) {
            q->options.marks = (enum strobe_ftrace_marks)i;
            return 0;
        }
    return strobe_complain("import: --marks %s: expected auto, plain or rhea", optarg);
}

static void print_ftrace_stats(const struct strobe_import_calls *q, const struct strobe_ftrace_stats *s)
{
    char broken[80];
    snprintf(broken, sizeof broken, "incomplete markers, skipped; the first is in line %" PRIu64, s->first_broken);
    strobe_import_calls_count(q, s->broken, broken);
    strobe_import_calls_count(q, s->cut, "lines that are cut off, skipped");
    strobe_import_calls_count(q, s->unordered, "events that went back in time, moved to the time of the event before");
    strobe_import_calls_count(q, s->other_processes, "markers of other processes, skipped (--pid selects them)");
}

/* ---- events beside the calls, or without them */

/* Writes the events to the trace. Returns 0 when out of memory. */
static int write_ftrace_events(void *ctx, struct strobe_outfile *out)
{
    struct ftrace_events *e = ctx;
    struct strobe_packets packets;
    enum strobe_status status = STROBE_IO;
    e->how.report = open_memstream(&e->lines, &e->lines_bytes);
    if (e->how.report && strobe_packets_open(&packets, out, e->deflate)) {
        status = strobe_merge_text_write(&e->text, &packets, &e->how);
        strobe_packets_close(&packets);
        status = packets.failed ? STROBE_IO : status;
    }
    if (e->how.report && fclose(e->how.report) != 0)
        status = STROBE_IO;
    return status != STROBE_IO;
}

static void print_ftrace_lines(const struct strobe_import_calls *q, const struct ftrace_events *e)
{
    if (!q->quiet && e->lines)
        fputs(e->lines, stderr);
}

/* Returns 0, or an exit status after a complaint. */
static int write_whole_text(const struct strobe_import_calls *q, struct ftrace_events *e)
{
    struct strobe_outfile out;
    strobe_output_begin();
    enum strobe_status status = strobe_outfile_open(&out, q->output, q->options.replace);
    if (status == STROBE_EXISTS)
        return strobe_complain("%s: exists already; --force overwrites it", q->output);
    if (status != STROBE_OK)
        return strobe_complain("%s: %s", q->output, strerror(errno));
    if (!write_ftrace_events(e, &out)) {
        strobe_outfile_finish(&out, 1);
        return strobe_complain("%s: %s", q->output, strerror(ENOMEM));
    }
    uint64_t bytes = out.bytes + out.used;
    if (strobe_outfile_finish(&out, 0) != STROBE_OK)
        return errno == EPIPE ? strobe_end_of_pipe() : strobe_complain("%s: %s", q->output, strerror(errno));
    print_ftrace_lines(q, e);
    if (!q->quiet && isatty(STDERR_FILENO)) /* messages of success appear on a terminal only */
        fprintf(stderr, "%s: %" PRIu64 " events, %.1f MB\n", strcmp(q->output, "-") ? q->output : "standard output",
                e->text.events, (double)bytes / 1e6);
    return STROBE_EXIT_OK;
}

/* ---- calls */

static int import_ftrace_calls(const struct strobe_import_calls *q, const struct strobe_ftrace_options *options,
                               const struct strobe_whole_file *file)
{
    struct strobe_calls calls;
    struct strobe_ftrace_stats stats;
    struct strobe_error error = {""};
    int exit_status;
    if (strobe_ftrace_read(file->at, file->bytes, options, &calls, &stats, &error) == STROBE_OK) {
        exit_status = strobe_import_calls_write(q, &calls, stats.orphans);
        if (exit_status == STROBE_EXIT_OK)
            print_ftrace_stats(q, &stats);
    } else {
        exit_status = strobe_complain("%s: %s", q->input, error.text);
    }
    strobe_calls_close(&calls);
    return exit_status;
}

static int import_ftrace_to_perfetto(struct ftrace_request *q, struct ftrace_events *e)
{
    struct strobe_merge_reference nothing = {0};
    struct strobe_error error = {""};
    struct strobe_merge_text *text = &e->text;
    enum strobe_status status = strobe_merge_text_scan(text, &nothing, &error);
    strobe_merge_reference_free(&nothing);
    if (status != STROBE_OK)
        return strobe_complain("%s: %s", q->shared.input, status == STROBE_IO ? strerror(ENOMEM) : error.text);
    e->deflate = q->shared.options.deflate;
    e->how =
        (struct strobe_merge_text_options){.sequence = STROBE_PERFETTO_SEQUENCE_LEAST - 1, .name = q->shared.input};
    bool methods =
        q->options.marks == STROBE_FTRACE_RHEA || (q->options.marks == STROBE_FTRACE_AUTO && text->has_methods);
    if (!q->one_process && !methods && !text->has_io)
        return write_whole_text(&q->shared, e);
    e->how.no_calls = 1;
    q->shared.options.write_others = write_ftrace_events;
    q->shared.options.others = e;
    int exit_status = import_ftrace_calls(&q->shared, &q->options, &text->file);
    if (exit_status == STROBE_EXIT_OK)
        print_ftrace_lines(&q->shared, e);
    return exit_status;
}

static int import_ftrace_text(struct ftrace_request *q)
{
    struct ftrace_events e = {.deflate = 0};
    int exit_status;
    if (strobe_whole_file_open(q->shared.input, &e.text.file) != STROBE_OK)
        return strobe_complain("%s: %s", q->shared.input, strerror(errno));
    if (!e.text.file.bytes) {
        exit_status = strobe_complain("%s: is empty, expected ftrace text", q->shared.input);
    } else if (q->shared.options.format == STROBE_CALLS_TRACE && q->shared.options.trace == STROBE_FORMAT_PERFETTO) {
        exit_status = import_ftrace_to_perfetto(q, &e);
    } else {
        struct strobe_ftrace_kinds left_out = {0};
        q->options.left_out = &left_out;
        exit_status = import_ftrace_calls(&q->shared, &q->options, &e.text.file);
        if (exit_status == STROBE_EXIT_OK && !q->shared.quiet)
            strobe_ftrace_kinds_print_left_out(&left_out, q->shared.input, stderr);
        strobe_ftrace_kinds_free(&left_out);
    }
    free(e.lines);
    strobe_merge_text_close(&e.text);
    return exit_status;
}

int strobe_import_ftrace(int argc, char **argv)
{
    static const struct option table[] = {STROBE_IMPORT_CALLS_OPTIONS,
                                          {"pid", required_argument, NULL, PID},
                                          {"marks", required_argument, NULL, MARKS},
                                          {NULL, 0, NULL, 0}};
    struct ftrace_request q = {.one_process = false};
    for (int c; (c = strobe_any_option(argc, argv, table)) != -1;) {
        if (c == 'h')
            return strobe_print_usage(strobe_usage_import);
        int bad = take_ftrace_option(&q, c);
        if (bad)
            return bad;
    }
    int bad = strobe_import_calls_arguments(&q.shared, "ftrace", argc, argv);
    return bad ? bad : import_ftrace_text(&q);
}
