#include "engine/base/error.h"
#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/interrupts.h"
#include "engine/cmd/progress.h"
#include "engine/cmd/report_findings.h"

#include "engine/trace/export/convert.h"
#include "engine/trace/symbols/symbols.h"
#include "engine/watch/findings_marks.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char strobe_usage_convert[] =
    "usage: strobe convert [OPTIONS] SESSION -o OUT\n"
    "\n"
    "Makes a trace from a session, or one trace from all sessions in a folder (from\n"
    "`record --follow`). It reads symbols now, from the files that the program had loaded and\n"
    "from debug files installed on this machine.\n"
    "\n"
    "  -o, --output OUT   the trace; `-` is standard output\n"
    "  --format FORMAT    output format; the default follows from OUT's ending:\n"
    "                       perfetto    *.perfetto-trace *.pftrace *.perfetto *.pb, and any name\n"
    "                                   without an ending\n"
    "                       chrome      *.json *.json-trace        Chrome trace events\n"
    "                       speedscope  *.speedscope *.speedscope.json\n"
    "                       folded      *.folded *.collapsed *.txt stacks for flame graphs\n"
    "                       pprof       *.pb.gz                    a profile for `go tool pprof`\n"
    "                       firefox     *.firefox.json             for profiler.firefox.com\n"
    "  --inlines          show inlined functions as slices of their own\n"
    "  --deflate          compress packets (perfetto only)\n"
    "  --by WHAT          weight of folded stacks: wall (default), elapsed time in us; cpu, time on a\n"
    "                     processor; off-cpu, the difference: waits and time without a processor; or\n"
    "                     alloc, allocated bytes\n"
    "  --gap-ms N         time without a sample after which a thread is shown as unseen\n"
    "                     (default: four times the interval of samples, at least 5 ms)\n"
    "  --repair HOW       where calls without an end event end (from `record --method`): last, at\n"
    "                     the thread's last event before the missing end shows; enclosing, at the\n"
    "                     event that shows it (last)\n"
    "  --findings         add the problems that `strobe report --findings` finds: a track of the\n"
    "                     process (perfetto), or instants (chrome); also --frames and --refresh\n"
    "  --frames NAMES     methods that draw a frame, separated by ;\n"
    "  --refresh HZ       refresh rate of the display (60)\n"
    "  --from TIME        begin of the trace, after the session's begin (0)\n"
    "  --to TIME          end of the trace (the session's end); a time is a number with ns, us,\n"
    "                     ms or s\n"
    "  -f, --force        overwrite OUT\n"
    "  -q, --quiet        print errors only, and show no progress\n"
    "\n"
    "Exit status: 0 fine, 2 bad use or bad input.\n";

enum { FINDINGS = 512, FRAMES, REFRESH };
enum { FORMAT = 256, INLINES, DEFLATE, BY, GAP, REPAIR, FROM, TO };

struct request {
    struct strobe_convert_options options;
    const char *session, *output, *format;
    const char *by; /* weight of folded stacks; NULL = not given */
    int quiet, findings;
    const char *of_findings; /* an option of --findings that was given */
    struct strobe_findings_options search;
};

static int choose_weight(struct request *q)
{
    static const char *const names[] = {[STROBE_WEIGHT_WALL] = "wall",
                                        [STROBE_WEIGHT_CPU] = "cpu",
                                        [STROBE_WEIGHT_OFF_CPU] = "off-cpu",
                                        [STROBE_WEIGHT_ALLOC] = "alloc"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(q->by, names[i])) {
            q->options.weight = (enum strobe_weight)i;
            return 0;
        }
    }
    return strobe_complain("convert: --by %s: expected wall, cpu, off-cpu or alloc", q->by);
}

static int take_convert_option(struct request *q, int c)
{
    uint64_t n;
    switch (c) {
    case FROM:
    case TO:
        if (!strobe_parse_time(optarg, c == FROM ? &q->options.from_ns : &q->options.to_ns))
            return strobe_complain("convert: --%s %s: expected a time such as 250ms or 1.5s", c == FROM ? "from" : "to",
                                   optarg);
        return 0;
    case 'o': q->output = optarg; return 0;
    case FORMAT: q->format = optarg; return 0;
    case INLINES: q->options.symbols |= STROBE_SYMBOLS_INLINES; return 0;
    case DEFLATE: q->options.deflate = 1; return 0;
    case BY: q->by = optarg; return choose_weight(q);
    case 'f': q->options.replace = 1; return 0;
    case 'q': q->quiet = 1; return 0;
    case GAP:
        if (!strobe_parse_number(optarg, 3600000, &n) || !n)
            return strobe_complain("convert: --gap-ms %s: expected a number from 1 to 3600000", optarg);
        q->options.timeline.gap_ns = n * 1000000;
        return 0;
    case REPAIR:
        return strobe_repair_of(optarg, &q->options.timeline.repair) == STROBE_OK
                   ? 0
                   : strobe_complain("convert: --repair %s: expected last or enclosing", optarg);
    case FINDINGS: q->findings = 1; return 0;
    case FRAMES:
    case REFRESH:
        q->of_findings = c == FRAMES ? "frames" : "refresh";
        return strobe_report_findings_option(&q->search, "convert", q->of_findings, optarg);
    default: return STROBE_EXIT_BAD;
    }
}

static int choose_convert_format(struct request *q)
{
    if (!q->format && strobe_choose_by_ending(q->output, "", "--format FORMAT forces one", &q->options.format))
        return STROBE_EXIT_BAD;
    if (q->format && strobe_format_of(q->format, &q->options.format) != STROBE_OK)
        return strobe_complain("convert: --format %s: expected perfetto, chrome, speedscope, folded, pprof or firefox",
                               q->format);
    if (q->options.deflate && q->options.format != STROBE_FORMAT_PERFETTO)
        return strobe_complain("convert: --deflate is for the perfetto format");
    if (q->by && q->options.format != STROBE_FORMAT_FOLDED)
        return strobe_complain("convert: --by is for the folded format");
    if (q->of_findings && !q->findings)
        return strobe_complain("convert: --%s needs --findings", q->of_findings);
    if (q->findings && q->options.format != STROBE_FORMAT_PERFETTO && q->options.format != STROBE_FORMAT_CHROME)
        return strobe_complain("convert: --findings is for the perfetto and chrome formats");
    return 0;
}

static int convert_session(const struct request *q)
{
    struct strobe_error error = {""};
    struct strobe_convert_stats stats;
    int to_stdout = !strcmp(q->output, "-");
    const char *output = to_stdout ? "standard output" : q->output;
    struct strobe_convert_options options = q->options;
    struct strobe_progress progress;
    strobe_output_begin();
    strobe_interrupts_clean(0);
    strobe_progress_begin(&progress, "converting");
    options.timeline.progress = q->quiet ? NULL : strobe_progress_step;
    options.timeline.progress_ctx = &progress;
    enum strobe_status status = strobe_convert(q->session, q->output, &options, &stats, &error);
    strobe_progress_end(&progress);
    if (status == STROBE_EXISTS)
        return strobe_complain("%s: exists already; --force overwrites it", q->output);
    if (status != STROBE_OK && errno == EPIPE)
        return strobe_end_of_pipe();
    if (status != STROBE_OK)
        return strobe_complain("%s", error.text[0] ? error.text : strobe_status_text(status));
    if (!q->quiet && isatty(STDERR_FILENO)) /* messages of success appear on a terminal only */
        fprintf(stderr, "%s: %llu slices of %llu %s, %.1f MB\n", output, (unsigned long long)stats.slices,
                (unsigned long long)stats.threads, stats.threads == 1 ? "thread" : "threads",
                (double)stats.bytes / 1e6);
    if (!q->quiet)
        strobe_convert_print_nameless(&stats, stderr);
    return STROBE_EXIT_OK;
}

/* Converts, with the problems found in the session as annotations of the trace. */
static int convert_with_findings(struct request *q)
{
    struct strobe_error error = {""};
    struct strobe_findings *found;
    struct strobe_findings_marks marks;
    q->search.symbols = q->options.symbols;
    q->search.timeline = q->options.timeline;
    enum strobe_status status = strobe_findings_of_session(q->session, &q->search, &found, &error);
    if (status != STROBE_OK)
        return strobe_complain("%s: %s", q->session, error.text[0] ? error.text : strobe_status_text(status));
    status = strobe_findings_marks(found, &marks);
    q->options.timeline.marks = marks.marks;
    q->options.timeline.mark_count = marks.count;
    int exit_status = status == STROBE_OK ? convert_session(q) : strobe_complain("out of memory");
    strobe_findings_marks_free(&marks);
    strobe_findings_close(found);
    return exit_status;
}

int strobe_cmd_convert(int argc, char **argv)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'},
        {"format", required_argument, NULL, FORMAT},
        {"inlines", no_argument, NULL, INLINES},
        {"deflate", no_argument, NULL, DEFLATE},
        {"by", required_argument, NULL, BY},
        {"gap-ms", required_argument, NULL, GAP},
        {"repair", required_argument, NULL, REPAIR},
        {"findings", no_argument, NULL, FINDINGS},
        {"frames", required_argument, NULL, FRAMES},
        {"refresh", required_argument, NULL, REFRESH},
        {"from", required_argument, NULL, FROM},
        {"to", required_argument, NULL, TO},
        {"force", no_argument, NULL, 'f'},
        {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct request q = {0};
    strobe_report_findings_defaults(&q.search);
    for (int c; (c = strobe_any_option(argc, argv, options)) != -1;) {
        if (c == 'h')
            return strobe_print_usage(strobe_usage_convert);
        int bad = take_convert_option(&q, c);
        if (bad)
            return bad;
    }
    if (optind == argc || !q.output)
        return strobe_complain("convert: %s strobe convert SESSION -o OUT",
                               optind == argc ? "which session?" : "where to?");
    if (argc - optind > 1)
        return strobe_complain("convert: one session at a time, not %s too", argv[optind + 1]);
    q.session = argv[optind];
    if (q.options.to_ns && q.options.to_ns <= q.options.from_ns)
        return strobe_complain("convert: --to must be later than --from");
    int bad = choose_convert_format(&q);
    return bad ? bad : q.findings ? convert_with_findings(&q) : convert_session(&q);
}
