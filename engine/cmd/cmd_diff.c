#include "engine/base/error.h"
#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/diff_figures.h"
#include "engine/cmd/interrupts.h"
#include "engine/cmd/report_page.h"

#include "engine/trace/diff/diff.h"
#include "engine/trace/symbols/symbols.h"
#include "engine/util/outfile.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

const char strobe_usage_diff[] =
    "usage: strobe diff [OPTIONS] BASE NEW\n"
    "       strobe diff [OPTIONS] --base CAPTURE... --new CAPTURE...\n"
    "\n"
    "Compares two captures, or two sets of captures, and prints which differences are real: in\n"
    "methods by self and inclusive time, on the wall clock and in CPU time; in call paths, blocking\n"
    "calls, allocations, sections, frames and starts. A capture is a session, a folder of sessions\n"
    "(from `record --follow`), or a Perfetto trace that Strobe wrote. Methods are the same if their\n"
    "names and images are.\n"
    "\n"
    "  --base, --new   the captures that follow are the base, or the new ones\n"
    "  --per UNIT      compare amounts per `second` of recording (default), or the `total` of a\n"
    "                  capture: for captures of one fixed piece of work\n"
    "  --thread T      only this thread, by name or tid (sessions only)\n"
    "  --inlines       count inlined functions as methods of their own\n"
    "  --top N         how many rows of a table to show; 0 = all (default 20)\n"
    "  --all           show all tested rows, also those without a real difference\n"
    "  --fail-over P%  exit status 1 when a real difference is above P percent of its base, in\n"
    "                  either direction; with +P%, upwards only\n"
    "  --json          one JSON object; strobe-diff(1) describes its fields\n"
    "  -o, --output OUT   write a differential flame graph: *.svg; or stacks with two columns, from\n"
    "                  which flamegraph.pl draws one: *.folded *.collapsed *.txt, or `-`, standard\n"
    "                  output without the tables\n"
    "  --by WHAT       weight of these: wall (default), cpu or alloc\n"
    "  --html OUT      write a page for a browser: the tables, to sort and filter, and differential\n"
    "                  flame graphs. `-` is standard output, without the tables\n"
    "  -f, --force     overwrite OUT\n"
    "\n"
    "A difference is real at a false discovery rate of 5 %. The noise is the spread between\n"
    "captures. With one capture a side it is the spread between parts of its time.\n"
    "\n"
    "Exit status: 0 fine, 1 a real difference is above --fail-over, 2 bad use or bad input.\n";

enum { BASE = 256, NEW, PER, THREAD, INLINES, TOP, ALL, FAIL_OVER, JSON, BY, HTML };
enum { TOP_DEFAULT = 20 };

static const struct option diff_options[] = {
    {"base", no_argument, NULL, BASE},
    {"new", no_argument, NULL, NEW},
    {"per", required_argument, NULL, PER},
    {"thread", required_argument, NULL, THREAD},
    {"inlines", no_argument, NULL, INLINES},
    {"top", required_argument, NULL, TOP},
    {"all", no_argument, NULL, ALL},
    {"fail-over", required_argument, NULL, FAIL_OVER},
    {"json", no_argument, NULL, JSON},
    {"output", required_argument, NULL, 'o'},
    {"by", required_argument, NULL, BY},
    {"html", required_argument, NULL, HTML},
    {"force", no_argument, NULL, 'f'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct diff_request {
    struct strobe_diff_options options;
    struct strobe_diff_shown shown;
    const char **paths[STROBE_DIFF_SIDES]; /* each has as many places as there are arguments */
    uint32_t counts[STROBE_DIFF_SIDES];
    int named_sides, side; /* --base or --new was given; the side of the next capture */
    const char *output, *page;
    int force, json, gates, upwards_only;
    double fail_over; /* percent */
    enum strobe_diff_amount amount;
    const char *by;
};

static int take_percent(struct diff_request *q)
{
    char *end;
    const char *text = optarg + (*optarg == '+');
    errno = 0;
    q->fail_over = strtod(text, &end);
    q->upwards_only = *optarg == '+';
    q->gates = 1;
    if (end == text || errno || !strchr("0123456789.", *text) || !isfinite(q->fail_over) || strcmp(end, "%") != 0)
        return strobe_complain("diff: --fail-over %s: expected a percentage such as 5%% or +2.5%%", optarg);
    return 0;
}

static int take_diff_amount(struct diff_request *q)
{
    static const char *const names[] = {
        [STROBE_DIFF_WALL] = "wall", [STROBE_DIFF_CPU] = "cpu", [STROBE_DIFF_ALLOC] = "alloc"};
    q->by = optarg;
    for (unsigned i = 0; i < STROBE_DIFF_AMOUNTS; i++) {
        if (!strcmp(optarg, names[i])) {
            q->amount = (enum strobe_diff_amount)i;
            return 0;
        }
    }
    return strobe_complain("diff: --by %s: expected wall, cpu or alloc", optarg);
}

static int take_diff_option(struct diff_request *q, int c)
{
    uint64_t n;
    switch (c) {
    case BASE:
    case NEW:
        q->named_sides = 1;
        q->side = c == BASE ? STROBE_DIFF_BASE : STROBE_DIFF_NEW;
        return 0;
    case PER:
        q->options.whole = !strcmp(optarg, "total");
        return q->options.whole || !strcmp(optarg, "second")
                   ? 0
                   : strobe_complain("diff: --per %s: expected second or total", optarg);
    case THREAD: q->options.thread = optarg; return 0;
    case INLINES: q->options.symbols |= STROBE_SYMBOLS_INLINES; return 0;
    case TOP:
        if (!strobe_parse_number(optarg, 1000000, &n))
            return strobe_complain("diff: --top %s: expected a number from 0 to 1000000", optarg);
        q->shown.top = (uint32_t)n;
        return 0;
    case ALL: q->shown.all = 1; return 0;
    case FAIL_OVER: return take_percent(q);
    case JSON: q->json = 1; return 0;
    case BY: return take_diff_amount(q);
    case HTML: q->page = optarg; return 0;
    case 'o': q->output = optarg; return 0;
    case 'f': q->force = 1; return 0;
    default: return STROBE_EXIT_BAD;
    }
}

/* Takes a capture. Without --base and --new the first one is the base, the second one is new. */
static int take_capture(struct diff_request *q, const char *path)
{
    int side = q->named_sides ? q->side : q->counts[STROBE_DIFF_BASE] ? STROBE_DIFF_NEW : STROBE_DIFF_BASE;
    if (!q->named_sides && q->counts[STROBE_DIFF_NEW])
        return strobe_complain("diff: two captures, not %s too; --base and --new take several", path);
    q->paths[side][q->counts[side]++] = path;
    return 0;
}

static bool is_svg(const char *path)
{
    size_t bytes = strlen(path);
    return bytes > strlen(".svg") && !strcmp(path + bytes - strlen(".svg"), ".svg");
}

static int check_diff_output(const struct diff_request *q)
{
    enum strobe_format format;
    if (q->by && !q->output)
        return strobe_complain("diff: --by is for the stacks of -o");
    if (q->page && !*q->page)
        return strobe_complain("diff: --html: expected a file name");
    if (q->page && q->output && !strcmp(q->page, q->output))
        return strobe_complain("diff: %s: --html and -o need two files", q->page);
    if (!q->output || !strcmp(q->output, "-") || is_svg(q->output))
        return 0;
    if (strobe_trace_ending(q->output, &format) && format == STROBE_FORMAT_FOLDED)
        return 0;
    return strobe_complain("%s: expected the ending .svg, .folded, .collapsed or .txt", q->output);
}

/* Finds out whether an input is a trace. */
static int check_captures(struct diff_request *q)
{
    for (unsigned side = 0; side < STROBE_DIFF_SIDES; side++)
        for (uint32_t i = 0; i < q->counts[side]; i++) {
            int empty, session = strobe_diff_is_session(q->paths[side][i], &empty);
            if (session < 0)
                return strobe_complain("%s: %s", q->paths[side][i], strerror(errno));
            q->options.names_only |= !session;
        }
    return 0;
}

static int parse_diff(struct diff_request *q, int argc, char **argv)
{
    for (;;) {
        int c = strobe_next_option(argc, argv, diff_options), bad = 0;
        if (c == 'h')
            return -1;
        if (c == -1 && optind == argc)
            break;
        if (c == -1)
            bad = take_capture(q, argv[optind++]);
        else
            bad = take_diff_option(q, c);
        if (bad)
            return bad;
    }
    if (!q->counts[STROBE_DIFF_BASE] || !q->counts[STROBE_DIFF_NEW])
        return strobe_complain("diff: %s strobe diff BASE NEW, or --base CAPTURE... --new CAPTURE...",
                               q->counts[STROBE_DIFF_BASE]  ? "which new capture?"
                               : q->counts[STROBE_DIFF_NEW] ? "which base?"
                                                            : "which captures?");
    int bad = check_diff_output(q);
    return bad ? bad : check_captures(q);
}

static int read_captures(const struct diff_request *q, struct strobe_diff *d)
{
    for (unsigned side = 0; side < STROBE_DIFF_SIDES; side++)
        for (uint32_t i = 0; i < q->counts[side]; i++) {
            struct strobe_error error = {""};
            const char *path = q->paths[side][i];
            enum strobe_status status = strobe_diff_add(d, side, path, &error);
            if (status != STROBE_OK)
                return strobe_complain("%s: %s", path, error.text[0] ? error.text : strobe_status_text(status));
        }
    return 0;
}

static int write_stacks(const struct diff_request *q, const struct strobe_diff *d)
{
    struct strobe_outfile out;
    enum strobe_status status = strobe_outfile_open(&out, q->output, q->force);
    if (status == STROBE_EXISTS)
        return strobe_complain("%s: exists already; --force overwrites it", q->output);
    if (status == STROBE_OK) {
        enum strobe_status drawn = STROBE_OK;
        if (is_svg(q->output))
            drawn = strobe_diff_write_svg(d, q->amount, &out);
        else
            strobe_diff_write_folded(d, q->amount, &out);
        status = strobe_outfile_finish(&out, drawn != STROBE_OK);
        if (drawn != STROBE_OK)
            return strobe_complain("diff: out of memory");
    }
    if (status != STROBE_OK && errno == EPIPE)
        return strobe_end_of_pipe();
    return status == STROBE_OK ? 0 : strobe_complain("%s: cannot write: %s", q->output, strerror(errno));
}

static int write_diff_page(const struct diff_request *q, const struct strobe_diff *d)
{
    struct strobe_outfile out;
    int status = strobe_page_create(&out, q->page, q->force);
    return status ? status : strobe_page_finish(&out, q->page, strobe_diff_write_page(d, &out));
}

static bool is_standard_output(const char *path)
{
    return path && !strcmp(path, "-");
}

static int print_tables(const struct diff_request *q, const struct strobe_diff *d)
{
    struct winsize size;
    struct strobe_diff_shown shown = q->shown;
    if (q->json) {
        strobe_diff_print_json(d, stdout);
        return strobe_output_end(0);
    }
    if (isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
        shown.width = size.ws_col;
    if (strobe_diff_print(d, &shown, stdout) != STROBE_OK)
        return strobe_complain("diff: out of memory");
    return strobe_output_end(0);
}

/* Returns the exit status of --fail-over. */
static int gate_difference(const struct diff_request *q, const struct strobe_diff *d)
{
    const struct strobe_diff_row *most = q->gates ? strobe_diff_over(d, q->fail_over, q->upwards_only) : NULL;
    if (!most)
        return STROBE_EXIT_OK;
    double percent = strobe_diff_percent(most);
    if (isinf(percent))
        strobe_complain("diff: %s is new: more than %g %%", most->name, q->fail_over);
    else
        strobe_complain("diff: %s changed by %+.1f %%: more than %g %%", most->name, percent, q->fail_over);
    return STROBE_EXIT_CHECK;
}

static int compare_captures(const struct diff_request *q)
{
    struct strobe_diff d;
    strobe_diff_open(&d, &q->options, q->counts[STROBE_DIFF_BASE], q->counts[STROBE_DIFF_NEW]);
    int status = read_captures(q, &d);
    if (!status && strobe_diff_compare(&d) != STROBE_OK)
        status = strobe_complain("diff: out of memory");
    strobe_output_begin();
    strobe_interrupts_clean(0);
    if (!status && !is_standard_output(q->output) && !is_standard_output(q->page))
        status = print_tables(q, &d);
    if (!status && q->output)
        status = write_stacks(q, &d);
    if (!status && q->page)
        status = write_diff_page(q, &d);
    if (!status)
        status = gate_difference(q, &d);
    strobe_diff_close(&d);
    return status;
}

/* Keeps the memory of a capture for the next one. Otherwise each capture's large arrays would be mapped, and filled
 * with zeros by the kernel, anew. */
static void keep_freed_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

int strobe_cmd_diff(int argc, char **argv)
{
    struct diff_request q = {.options = {.visit = strobe_diff_add_findings}, .shown = {.top = TOP_DEFAULT}};
    for (unsigned side = 0; side < STROBE_DIFF_SIDES; side++)
        q.paths[side] = calloc((size_t)argc, sizeof *q.paths[side]);
    int status = !q.paths[STROBE_DIFF_BASE] || !q.paths[STROBE_DIFF_NEW] ? strobe_complain("diff: out of memory")
                                                                         : parse_diff(&q, argc, argv);
    if (status == -1) {
        status = strobe_print_usage(strobe_usage_diff);
    } else if (!status) {
        keep_freed_memory();
        status = compare_captures(&q);
    }
    free(q.paths[STROBE_DIFF_BASE]);
    free(q.paths[STROBE_DIFF_NEW]);
    return status;
}
