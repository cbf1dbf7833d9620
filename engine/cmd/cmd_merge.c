#include "engine/base/error.h"
#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/interrupts.h"

#include "engine/trace/merge/merge.h"
#include "engine/trace/symbols/symbols.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char strobe_usage_merge[] =
    "usage: strobe merge [OPTIONS] INPUT... [--system FILE]... -o OUT\n"
    "\n"
    "Makes one Perfetto trace of several recordings, such as an app's sessions and a trace of the\n"
    "system. An INPUT is a session, a folder of sessions (from `record --follow`), or a Perfetto\n"
    "trace, whose packets are copied. The kernel's scheduling then appears beside the app's slices,\n"
    "and each slice says how long its thread was running, runnable, sleeping, and in an\n"
    "uninterruptible sleep.\n"
    "\n"
    "  --system FILE      a trace of the system: text of ftrace (trace_pipe, `trace-cmd report`,\n"
    "                     atrace, also `atrace -z`), systrace HTML, or a Perfetto trace; `-` is\n"
    "                     standard input. May be given several times. An INPUT may be one, too: the\n"
    "                     kind of each file is found by its content\n"
    "  -o, --output OUT   the trace; `-` is standard output\n"
    "  --offset TIME      added to the times of ftrace text, which are then on CLOCK_BOOTTIME: a\n"
    "                     number with ns, us, ms or s, or a number of ns; may be negative\n"
    "                     (default: found by clock markers, snapshots, and sections in common)\n"
    "  --inlines          show inlined functions as slices of their own\n"
    "  -f, --force        overwrite OUT\n"
    "  -q, --quiet        do not print how clocks were aligned, and what was left out\n"
    "\n"
    "Exit status: 0 fine, 2 bad use or bad input.\n";

enum { SYSTEM = 256, OFFSET, MERGE_INLINES };

struct merge_request {
    struct strobe_merge_options options;
    const char **paths; /* of --system first; arguments are put before them */
    size_t system_count;
    const char *output;
    bool quiet;
};

/* Parses a time that may be negative. Without a unit it is in ns. */
static bool parse_offset(const char *text, int64_t *ns)
{
    bool minus = *text == '-';
    uint64_t n;
    text += minus;
    if (!strobe_parse_number(text, INT64_MAX, &n) && !strobe_parse_time(text, &n))
        return false;
    *ns = minus ? -(int64_t)n : (int64_t)n;
    return true;
}

static int take_merge_option(struct merge_request *q, int c)
{
    switch (c) {
    case SYSTEM: q->paths[q->system_count++] = optarg; return 0;
    case 'o': q->output = optarg; return 0;
    case OFFSET:
        q->options.has_offset = true;
        return parse_offset(optarg, &q->options.offset_ns)
                   ? 0
                   : strobe_complain("merge: --offset %s: expected a time such as -20ms or 1.5s", optarg);
    case MERGE_INLINES: q->options.symbols |= STROBE_SYMBOLS_INLINES; return 0;
    case 'f': q->options.replace = 1; return 0;
    case 'q': q->quiet = true; return 0;
    default: return STROBE_EXIT_BAD;
    }
}

static int merge_inputs(const struct merge_request *q)
{
    struct strobe_error error = {""};
    struct strobe_merge_stats stats;
    struct strobe_merge_options options = q->options;
    char *report = NULL;
    size_t report_bytes = 0;
    bool to_stdout = !strcmp(q->output, "-");
    strobe_output_begin();
    strobe_interrupts_clean(0);
    if (!q->quiet && !(options.report = open_memstream(&report, &report_bytes)))
        return strobe_complain("%s", strerror(errno));
    enum strobe_status status = strobe_merge(q->output, &options, &stats, &error);
    int saved = errno;
    /* After a failure its line is the only one. */
    if (options.report && fclose(options.report) == 0 && status == STROBE_OK)
        fputs(report ? report : "strobe: no memory for the lines about clocks and what was left out\n", stderr);
    free(report);
    errno = saved;
    if (status == STROBE_EXISTS)
        return strobe_complain("%s: exists already; --force overwrites it", q->output);
    if (status != STROBE_OK && errno == EPIPE)
        return strobe_end_of_pipe();
    if (status != STROBE_OK)
        return strobe_complain("%s", error.text[0] ? error.text : strobe_status_text(status));
    if (!q->quiet && isatty(STDERR_FILENO)) /* messages of success appear on a terminal only */
        fprintf(stderr,
                "%s: %" PRIu64 " slices of %" PRIu64 " threads, %" PRIu64 " events of ftrace, %" PRIu64
                " packets copied, %.1f MB\n",
                to_stdout ? "standard output" : q->output, stats.slices, stats.threads, stats.events, stats.packets,
                (double)stats.bytes / 1e6);
    return STROBE_EXIT_OK;
}

/* Checks the arguments behind the options, and puts them before the files of --system. */
static int take_merge_arguments(struct merge_request *q, int argc, char **argv)
{
    size_t inputs = (size_t)(argc - optind);
    if (!inputs && !q->system_count)
        return strobe_complain("merge: which files? strobe merge INPUT... --system FILE -o OUT");
    if (!q->output)
        return strobe_complain("merge: where to? strobe merge INPUT... --system FILE -o OUT");
    memmove(q->paths + inputs, q->paths, q->system_count * sizeof *q->paths);
    for (size_t i = 0; i < inputs; i++)
        q->paths[i] = argv[optind + (int)i];
    q->options.paths = q->paths;
    q->options.count = inputs + q->system_count;
    return 0;
}

int strobe_cmd_merge(int argc, char **argv)
{
    static const struct option options[] = {
        {"system", required_argument, NULL, SYSTEM},
        {"output", required_argument, NULL, 'o'},
        {"offset", required_argument, NULL, OFFSET},
        {"inlines", no_argument, NULL, MERGE_INLINES},
        {"force", no_argument, NULL, 'f'},
        {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct merge_request q = {.paths = calloc((size_t)argc + 1, sizeof *q.paths)};
    int result = q.paths ? 0 : strobe_complain("%s", strerror(ENOMEM));
    for (int c; !result && (c = strobe_any_option(argc, argv, options)) != -1;) {
        if (c == 'h') {
            free(q.paths);
            return strobe_print_usage(strobe_usage_merge);
        }
        result = take_merge_option(&q, c);
    }
    if (!result)
        result = take_merge_arguments(&q, argc, argv);
    if (!result)
        result = merge_inputs(&q);
    free(q.paths);
    return result;
}
