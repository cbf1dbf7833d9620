#include "engine/base/error.h"
#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/report_findings.h"
#include "engine/cmd/report_folder.h"
#include "engine/cmd/report_page.h"

#include "engine/store/session.h"
#include "engine/trace/report/report.h"
#include "engine/trace/session/session_set.h"
#include "engine/trace/symbols/symbols.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

const char strobe_usage_report[] =
    "usage: strobe report [OPTIONS] SESSION|TRACE\n"
    "       strobe report --findings [OPTIONS] SESSION|THREADS|EVENTS\n"
    "\n"
    "Prints the content of a session, or of a Perfetto trace made from one: threads; the hottest\n"
    "methods by self and by inclusive time, on the wall clock and in CPU time; blocking calls\n"
    "and the longest of them; of a session, sections and counters that the program reported; lost\n"
    "samples, and whether the accounting is consistent. For a folder of sessions (made by\n"
    "`record --follow`): the programs and processes that used most CPU time; the options are --top\n"
    "and --json.\n"
    "\n"
    "  --top N      how many threads, methods, calls, sections to show; 0 = all (default 20)\n"
    "  --by KEY     rank methods by `wall` (default) or `cpu` time, or by allocated bytes: `alloc`,\n"
    "               which also lists stacks\n"
    "  --thread T   only this thread, by name or tid\n"
    "  --from TIME, --to TIME    only this part; times since the session's begin, with ns, us, ms or s\n"
    "  --of NAME    the callers and callees of this function, with their times\n"
    "  --lines      the source lines with most samples, for code with debug information\n"
    "  --inlines    count inlined functions as methods of their own\n"
    "  --gap-ms N   time without a sample after which a thread counts as unseen\n"
    "               (default: four times the interval of samples, at least 5 ms)\n"
    "  --repair HOW where calls without an end event end (from `record --method`): last, at the\n"
    "               thread's last event before the missing end shows; enclosing, at the event that\n"
    "               shows it (default last)\n"
    "  --verbose    also the outcomes of events, and statistics of the sampler\n"
    "  --json       one JSON object; strobe-report(1) describes its fields\n"
    "  --html OUT   instead, write a page for a browser: all of this, findings, a timeline and flame\n"
    "               graphs. It has 300 methods and calls unless --top gives the number\n"
    "  -f, --force  overwrite OUT\n"
    "\n"
    "A trace takes --top, --by wall, --by cpu, --verbose and --json; the others are for sessions.\n"
    "\n"
    "  --findings   instead, problems of the main thread: messages that took too long, dropped\n"
    "               frames, slow starts, each with the method to blame and with what the capture\n"
    "               cannot show. From a thread dump of ART (traces.txt): deadlocks. From a text of\n"
    "               events that begins with `strobe-watch 1`: also signals, priorities, touches and\n"
    "               idle handlers. Its own options:\n"
    "    --evil-ms N --lag-ms N --anr-ms N    messages of this length (700, 2000, 5000)\n"
    "    --cold-ms N --warm-ms N              starts (10000, 4000)\n"
    "    --block-ms N                         iOS: the run loop is blocked (2000)\n"
    "    --refresh HZ                         refresh rate of the display (60)\n"
    "    --frames NAMES                       methods that draw a frame, separated by ;\n"
    "                                         (Choreographer.doFrame;-[CADisplayLink fire])\n"
    "    --splash NAMES                       classes of splash activities, separated by ;\n"
    "\n"
    "Exit status: 0 fine, 1 the accounting is not consistent, 2 bad use or bad input.\n";

enum { TOP = 256, BY, INLINES, GAP, REPAIR, JSON, VERBOSE, THREAD, FROM, TO, OF, LINES, FINDINGS, HTML, OF_FINDINGS };

static const struct option long_options[] = {
    {"top", required_argument, NULL, TOP},
    {"by", required_argument, NULL, BY},
    {"inlines", no_argument, NULL, INLINES},
    {"gap-ms", required_argument, NULL, GAP},
    {"repair", required_argument, NULL, REPAIR},
    {"verbose", no_argument, NULL, VERBOSE},
    {"thread", required_argument, NULL, THREAD},
    {"from", required_argument, NULL, FROM},
    {"to", required_argument, NULL, TO},
    {"of", required_argument, NULL, OF},
    {"lines", no_argument, NULL, LINES},
    {"json", no_argument, NULL, JSON},
    {"findings", no_argument, NULL, FINDINGS},
    {"html", required_argument, NULL, HTML},
    {"force", no_argument, NULL, 'f'},
    {"evil-ms", required_argument, NULL, OF_FINDINGS + 0},
    {"lag-ms", required_argument, NULL, OF_FINDINGS + 1},
    {"anr-ms", required_argument, NULL, OF_FINDINGS + 2},
    {"cold-ms", required_argument, NULL, OF_FINDINGS + 3},
    {"warm-ms", required_argument, NULL, OF_FINDINGS + 4},
    {"block-ms", required_argument, NULL, OF_FINDINGS + 5},
    {"refresh", required_argument, NULL, OF_FINDINGS + 6},
    {"frames", required_argument, NULL, OF_FINDINGS + 7},
    {"splash", required_argument, NULL, OF_FINDINGS + 8},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const char *name_of_option(int c)
{
    const struct option *o = long_options;
    while (o->val != c)
        o++;
    return o->name;
}

struct request {
    struct strobe_report_options options;
    const char *path;
    int json, findings, force;
    int has_top;
    const char *page;                          /* the output of --html; NULL = none */
    const char *for_sessions_only;             /* an option that was given and needs a session */
    const char *not_of_findings, *of_findings; /* options that were given: one that --findings excludes, one that needs
                                                  it */
    struct strobe_findings_options search;
};

enum { TOP_DEFAULT = 20 };

static int only_of_report(struct request *q, const char *option)
{
    q->for_sessions_only = q->not_of_findings = option;
    return 0;
}

static int take_report_option(struct request *q, int c)
{
    uint64_t n;
    switch (c) {
    case TOP:
        if (!strobe_parse_number(optarg, 1000000, &n))
            return strobe_complain("report: --top %s: expected a number from 0 to 1000000", optarg);
        q->options.top = (uint32_t)n;
        q->has_top = 1;
        q->not_of_findings = "--top";
        return 0;
    case BY:
        if (strcmp(optarg, "wall") && strcmp(optarg, "cpu") && strcmp(optarg, "alloc"))
            return strobe_complain("report: --by %s: expected wall, cpu or alloc", optarg);
        q->options.by = !strcmp(optarg, "cpu")     ? STROBE_BY_CPU
                        : !strcmp(optarg, "alloc") ? STROBE_BY_ALLOC
                                                   : STROBE_BY_WALL;
        if (q->options.by == STROBE_BY_ALLOC)
            q->for_sessions_only = "--by alloc";
        q->not_of_findings = "--by";
        return 0;
    case INLINES:
        q->options.symbols |= STROBE_SYMBOLS_INLINES;
        q->search.symbols = q->options.symbols;
        q->for_sessions_only = "--inlines";
        return 0;
    case GAP:
        if (!strobe_parse_number(optarg, 3600000, &n) || !n)
            return strobe_complain("report: --gap-ms %s: expected a number from 1 to 3600000", optarg);
        q->options.gap_ns = n * 1000000;
        q->search.timeline.gap_ns = q->options.gap_ns;
        q->for_sessions_only = "--gap-ms";
        return 0;
    case THREAD: q->options.thread = optarg; return only_of_report(q, "--thread");
    case OF: q->options.function = optarg; return only_of_report(q, "--of");
    case LINES: q->options.lines = 1; return only_of_report(q, "--lines");
    case FROM:
    case TO:
        if (!strobe_parse_time(optarg, c == FROM ? &q->options.from_ns : &q->options.to_ns))
            return strobe_complain("report: --%s %s: expected a time such as 250ms or 1.5s", c == FROM ? "from" : "to",
                                   optarg);
        return only_of_report(q, c == FROM ? "--from" : "--to");
    case REPAIR:
        q->for_sessions_only = "--repair";
        if (strobe_repair_of(optarg, &q->options.repair) != STROBE_OK)
            return strobe_complain("report: --repair %s: expected last or enclosing", optarg);
        q->search.timeline.repair = q->options.repair;
        return 0;
    case VERBOSE:
        q->options.verbose = 1;
        q->not_of_findings = "--verbose";
        return 0;
    case JSON: q->json = 1; return 0;
    case FINDINGS: q->findings = 1; return 0;
    case HTML: q->page = optarg; return 0;
    case 'f': q->force = 1; return 0;
    default:
        if (c < OF_FINDINGS)
            return STROBE_EXIT_BAD;
        q->of_findings = name_of_option(c);
        return strobe_report_findings_option(&q->search, "report", q->of_findings, optarg);
    }
}

/* Returns 1 when the file is a session, 0 when it is not, and -1 after a complaint when it cannot be read. */
static int has_session_header(const char *path)
{
    char magic[sizeof STROBE_SESSION_MAGIC - 1];
    FILE *f = fopen(path, "rbe");
    size_t got = f ? fread(magic, 1, sizeof magic, f) : 0;
    if (!f || ferror(f)) {
        strobe_complain("%s: %s", path, strerror(errno));
        if (f)
            fclose(f);
        return -1;
    }
    fclose(f);
    if (!got) {
        strobe_complain("%s: byte 0: an empty file, expected a session or a Perfetto trace", path);
        return -1;
    }
    return !memcmp(magic, STROBE_SESSION_MAGIC, got < sizeof magic ? got : sizeof magic);
}

/* Returns the terminal's columns, or 0 when the report does not go to a terminal. */
static uint32_t terminal_columns(void)
{
    struct winsize size;
    return isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? size.ws_col : 0;
}

static int report_findings_only(const struct request *q)
{
    int session = strobe_is_findings_text(q->path) ? 1 : has_session_header(q->path);
    if (session < 0)
        return STROBE_EXIT_BAD;
    if (q->not_of_findings)
        return strobe_complain("report: %s does not go with --findings", q->not_of_findings);
    if (!session)
        return strobe_complain("report: %s is a trace: --findings is for sessions and thread dumps", q->path);
    return strobe_report_findings(q->path, &q->search, terminal_columns(), q->json);
}

static int report_session(const struct request *q)
{
    struct strobe_error error = {""};
    struct strobe_report *r;
    if (strobe_session_set_is_folder(q->path))
        return strobe_report_folder(q->path, q->options.top, q->json);
    int session = has_session_header(q->path);
    if (session < 0)
        return STROBE_EXIT_BAD;
    if (!session && q->for_sessions_only)
        return strobe_complain("report: %s is a trace: %s is for sessions", q->path, q->for_sessions_only);
    enum strobe_status status = session ? strobe_report_session(q->path, &q->options, &r, &error)
                                        : strobe_report_trace(q->path, &q->options, &r, &error);
    if (status != STROBE_OK)
        return strobe_complain("%s: %s", q->path, error.text[0] ? error.text : strobe_status_text(status));
    strobe_output_begin();
    if (q->json)
        strobe_report_print_json(r, stdout);
    else
        status = strobe_report_print(r, stdout);
    if (status != STROBE_OK) {
        strobe_report_close(r);
        return strobe_complain("%s: out of memory", q->path);
    }
    int exit_status = r->balanced ? STROBE_EXIT_OK : STROBE_EXIT_CHECK;
    strobe_report_close(r);
    return strobe_output_end(exit_status);
}

static int report_page(struct request *q)
{
    if (q->findings || q->json)
        return strobe_complain("report: --%s does not go with --html", q->findings ? "findings" : "json");
    if (q->options.function)
        return strobe_complain("report: --of does not go with --html, whose flame graphs have the callers");
    if (!*q->page)
        return strobe_complain("report: --html: expected a file name");
    if (strobe_session_set_is_folder(q->path))
        return strobe_complain("%s: a folder of sessions: --html is for one of them", q->path);
    int session = has_session_header(q->path);
    if (session < 0)
        return STROBE_EXIT_BAD;
    if (!session)
        return strobe_complain("report: %s is a trace: --html is for sessions", q->path);
    if (!q->has_top)
        q->options.top = STROBE_PAGE_TOP;
    return strobe_report_page(q->path, &q->options, &q->search, q->page, q->force);
}

int strobe_cmd_report(int argc, char **argv)
{
    struct request q = {.options = {.top = TOP_DEFAULT}};
    strobe_report_findings_defaults(&q.search);
    for (int c; (c = strobe_any_option(argc, argv, long_options)) != -1;) {
        if (c == 'h')
            return strobe_print_usage(strobe_usage_report);
        int bad = take_report_option(&q, c);
        if (bad)
            return bad;
    }
    if (optind == argc)
        return strobe_complain("report: which session? strobe report [OPTIONS] SESSION|TRACE");
    if (argc - optind > 1)
        return strobe_complain("report: one file at a time, not %s too", argv[optind + 1]);
    q.path = argv[optind];
    q.options.width = terminal_columns();
    if (q.options.to_ns && q.options.to_ns <= q.options.from_ns)
        return strobe_complain("report: --to must be later than --from");
    if (q.of_findings && !q.findings && !q.page)
        return strobe_complain("report: --%s needs --findings", q.of_findings);
    if (q.page)
        return report_page(&q);
    if (q.force)
        return strobe_complain("report: --force is for the file of --html");
    return q.findings ? report_findings_only(&q) : report_session(&q);
}
