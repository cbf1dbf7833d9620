#include "engine/cmd/import/import_calls.h"
#include "engine/base/error.h"

#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int strobe_import_calls_option(struct strobe_import_calls *q, int c)
{
    switch (c) {
    case 'o': q->output = optarg; return 0;
    case 'f': q->options.replace = 1; return 0;
    case 'q': q->quiet = 1; return 0;
    case IMPORT_FORMAT: q->format = optarg; return 0;
    case IMPORT_DEFLATE: q->options.deflate = 1; return 0;
    case IMPORT_REPAIR:
        if (strobe_repair_of(optarg, &q->repair) != STROBE_OK)
            return strobe_complain("import: --repair %s: expected last or enclosing", optarg);
        return 0;
    default: return STROBE_EXIT_BAD;
    }
}

/* Chooses the output format by --format, or by the ending of the output's name. */
static int choose_import_format(struct strobe_import_calls *q)
{
    static const struct {
        const char *name, *ending;
        enum strobe_calls_format format;
    } others[] = {{"session", ".strobe", STROBE_CALLS_SESSION},
                  {"ftrace", ".ftrace", STROBE_CALLS_FTRACE},
                  {"btrace2", ".btrace2", STROBE_CALLS_BTRACE2}};
    size_t bytes = strlen(q->output);
    q->options.format = STROBE_CALLS_TRACE;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        size_t n = strlen(others[i].ending);
        if (q->format ? !strcmp(q->format, others[i].name)
                      : bytes > n && !strcmp(q->output + bytes - n, others[i].ending)) {
            q->options.format = others[i].format;
            return 0;
        }
    }
    if (!q->format && strobe_choose_by_ending(q->output, ", .strobe (session), .ftrace or .btrace2",
                                              "--format FORMAT forces one", &q->options.trace))
        return STROBE_EXIT_BAD;
    if (q->format && strobe_format_of(q->format, &q->options.trace) != STROBE_OK)
        return strobe_complain("import: --format %s: expected perfetto, chrome, speedscope, folded, pprof, "
                               "firefox, session, ftrace or btrace2",
                               q->format);
    return 0;
}

int strobe_import_calls_arguments(struct strobe_import_calls *q, const char *kind, int argc, char **argv)
{
    struct stat in, out;
    if (optind == argc)
        return strobe_complain("import: which file? strobe import %s FILE|- -o OUT", kind);
    if (argc - optind > 1)
        return strobe_complain("import: one file at a time, not %s too", argv[optind + 1]);
    q->input = argv[optind];
    if (!q->output)
        return strobe_complain("import: where to? strobe import %s FILE|- -o OUT", kind);
    if (stat(q->input, &in) == 0 && stat(q->output, &out) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino &&
        S_ISREG(in.st_mode))
        return strobe_complain("%s: is also the input; expected another file", q->output);
    int bad = choose_import_format(q);
    if (!bad && q->options.deflate &&
        (q->options.format != STROBE_CALLS_TRACE || q->options.trace != STROBE_FORMAT_PERFETTO))
        bad = strobe_complain("import: --deflate is for the perfetto format");
    return bad;
}

void strobe_import_calls_count(const struct strobe_import_calls *q, uint64_t count, const char *what)
{
    if (count && !q->quiet)
        fprintf(stderr, "%s: %s: %" PRIu64 "\n", q->input, what, count);
}

static void print_repairs(const struct strobe_import_calls *q, const struct strobe_repair_stats *r, uint64_t orphans)
{
    strobe_import_calls_count(q, r->closed,
                              q->repair == STROBE_REPAIR_LAST
                                  ? "calls without an end, ended at their thread's last event"
                                  : "calls without an end, ended by the event that encloses them");
    strobe_import_calls_count(q, r->open_at_end, "calls open at the end");
    strobe_import_calls_count(q, r->unmatched + orphans, "ends of calls that had not begun, skipped");
}

static void print_calls_losses(const struct strobe_import_calls *q, const struct strobe_calls_convert_stats *s)
{
    strobe_import_calls_count(q, s->timeline.marks.open_at_end, "asynchronous slices open at the end");
    strobe_import_calls_count(q, s->timeline.marks.unmatched,
                              "ends of asynchronous slices that had not begun, skipped");
    strobe_import_calls_count(q, s->btrace2.refused, "calls that the format cannot represent, skipped");
}

int strobe_import_calls_write(const struct strobe_import_calls *q, struct strobe_calls *calls, uint64_t orphans)
{
    struct strobe_repair_stats repaired;
    struct strobe_calls_convert_stats stats;
    struct strobe_error error = {""};
    size_t marks = 0;
    if (strobe_calls_repair(calls, q->repair, &repaired) != STROBE_OK)
        return strobe_complain("%s: not enough memory", q->input);
    for (size_t i = 0; i < calls->thread_count; i++)
        marks += calls->threads[i].mark_count;
    if (!repaired.calls && !marks)
        return strobe_complain("%s: contains no call and no other event: there is nothing to write", q->input);
    strobe_output_begin();
    enum strobe_status status = strobe_calls_convert(calls, q->output, &q->options, &stats, &error);
    if (status == STROBE_EXISTS)
        return strobe_complain("%s; --force overwrites it", error.text);
    if (status != STROBE_OK && errno == EPIPE)
        return strobe_end_of_pipe();
    if (status != STROBE_OK)
        return strobe_complain("%s", error.text);
    print_repairs(q, &repaired, orphans);
    print_calls_losses(q, &stats);
    if (!q->quiet && isatty(STDERR_FILENO)) /* messages of success appear on a terminal only */
        fprintf(stderr, "%s: %" PRIu64 " calls of %zu threads, %.1f MB\n",
                strcmp(q->output, "-") ? q->output : "standard output", repaired.calls, calls->thread_count,
                (double)stats.bytes / 1e6);
    return STROBE_EXIT_OK;
}
