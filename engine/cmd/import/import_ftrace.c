/* `strobe import ftrace`: text of atrace, systrace and RheaTrace. */
#include "engine/base/error.h"
#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/import/import.h"
#include "engine/cmd/import/import_calls.h"

#include "engine/trace/import/ftrace/ftrace_read.h"
#include "engine/util/whole_file.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PID = IMPORT_OWN, MARKS };

static int take_ftrace_option(struct strobe_import_calls *q, struct strobe_ftrace_options *options, int c)
{
    static const char *const marks[] = {
        [STROBE_FTRACE_AUTO] = "auto", [STROBE_FTRACE_PLAIN] = "plain", [STROBE_FTRACE_RHEA] = "rhea"};
    uint64_t pid;
    if (c == PID) {
        if (!strobe_parse_number(optarg, UINT32_MAX, &pid) || !pid)
            return strobe_complain("import: --pid %s: expected a process id", optarg);
        options->pid = (uint32_t)pid;
        return 0;
    }
    if (c != MARKS)
        return strobe_import_calls_option(q, c);
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (!strcmp(optarg, marks[i])) {
            options->marks = (enum strobe_ftrace_marks)i;
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

static int import_ftrace_text(const struct strobe_import_calls *q, const struct strobe_ftrace_options *options)
{
    struct strobe_whole_file file;
    struct strobe_calls calls;
    struct strobe_ftrace_stats stats;
    struct strobe_error error = {""};
    if (strobe_whole_file_open(q->input, &file) != STROBE_OK)
        return strobe_complain("%s: %s", q->input, strerror(errno));
    enum strobe_status status = strobe_ftrace_read(file.at, file.bytes, options, &calls, &stats, &error);
    strobe_whole_file_close(&file);
    int exit_status;
    if (status == STROBE_OK) {
        exit_status = strobe_import_calls_write(q, &calls, stats.orphans);
        if (exit_status == STROBE_EXIT_OK)
            print_ftrace_stats(q, &stats);
    } else {
        exit_status = strobe_complain("%s: %s", q->input, error.text);
    }
    strobe_calls_close(&calls);
    return exit_status;
}

int strobe_import_ftrace(int argc, char **argv)
{
    static const struct option table[] = {STROBE_IMPORT_CALLS_OPTIONS,
                                          {"pid", required_argument, NULL, PID},
                                          {"marks", required_argument, NULL, MARKS},
                                          {NULL, 0, NULL, 0}};
    struct strobe_import_calls q = {0};
    struct strobe_ftrace_options options = {0};
    for (int c; (c = strobe_any_option(argc, argv, table)) != -1;) {
        if (c == 'h')
            return strobe_print_usage(strobe_usage_import);
        int bad = take_ftrace_option(&q, &options, c);
        if (bad)
            return bad;
    }
    int bad = strobe_import_calls_arguments(&q, "ftrace", argc, argv);
    return bad ? bad : import_ftrace_text(&q, &options);
}
