/* `strobe import art-trace`: method traces of Android's runtime. */
#include "engine/base/error.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/import/import.h"
#include "engine/cmd/import/import_calls.h"

#include "engine/trace/import/artrace/art_trace_read.h"
#include "engine/util/whole_file.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

static void print_art_trace_stats(const struct strobe_import_calls *q, const struct strobe_art_trace_stats *s)
{
    strobe_import_calls_count(q, s->overflow, "the runtime's buffer was full, later calls are missing");
    strobe_import_calls_count(q, s->cpu_clock && s->version < 3, "times are CPU times of the threads");
    strobe_import_calls_count(q, s->unknown, "records of an unknown action, left out");
    strobe_import_calls_count(q, s->tail_bytes, "bytes at the end that are no complete record, left out");
    strobe_import_calls_count(q, s->nameless, "methods without a name");
}

static int import_art_trace(const struct strobe_import_calls *q)
{
    struct strobe_whole_file file;
    struct strobe_calls calls;
    struct strobe_art_trace_stats stats;
    struct strobe_error error = {""};
    if (strobe_whole_file_open(q->input, &file) != STROBE_OK)
        return strobe_complain("%s: %s", q->input, strerror(errno));
    enum strobe_status status = strobe_art_trace_read(file.at, file.bytes, &calls, &stats, &error);
    strobe_whole_file_close(&file);
    int exit_status = status == STROBE_OK   ? strobe_import_calls_write(q, &calls, 0)
                      : status == STROBE_IO ? strobe_complain("%s: not enough memory", q->input)
                                            : strobe_complain("%s: %s", q->input, error.text);
    if (exit_status == STROBE_EXIT_OK)
        print_art_trace_stats(q, &stats);
    strobe_calls_close(&calls);
    return exit_status;
}

int strobe_import_art_trace(int argc, char **argv)
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
    int bad = strobe_import_calls_arguments(&q, "art-trace", argc, argv);
    return bad ? bad : import_art_trace(&q);
}
