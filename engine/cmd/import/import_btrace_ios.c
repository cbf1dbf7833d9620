/* `strobe import btrace-ios`: databases of btrace 3.0 on iOS. */
#include "engine/base/error.h"
#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/import/import.h"
#include "engine/cmd/import/import_samples.h"

#include "engine/trace/import/btraceios/btrace_ios_read.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { TRACE = IMPORT_SAMPLES_OWN, TRACE_MOST = 255, DEFAULT_INTERVAL_NS = 1000000 };

struct request {
    struct strobe_import_samples common;
    struct strobe_btrace_ios_options options;
    struct strobe_btrace_ios_stats stats;
};

static int take_btrace_ios_option(struct strobe_import_samples *common, int c)
{
    struct request *q = (struct request *)common;
    uint64_t trace;
    if (c != TRACE)
        return strobe_import_samples_option(common, c);
    if (!strobe_parse_number(optarg, TRACE_MOST, &trace))
        return strobe_complain("import: --trace %s: expected a number from 0 to %d", optarg, TRACE_MOST);
    q->options.trace = (int32_t)trace;
    return 0;
}

/* Returns the bytes of the database's write-ahead log, which is not read. */
static uint64_t bytes_of_log(const char *path)
{
    char log[PATH_MAX];
    struct stat st;
    bool has_name = strcmp(path, "-") != 0 && snprintf(log, sizeof log, "%s-wal", path) < (int)sizeof log;
    return has_name && stat(log, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void print_btrace_ios_stats(const struct strobe_import_samples *q)
{
    const struct strobe_btrace_ios_stats *s = &((const struct request *)q)->stats;
    strobe_import_samples_count(q, bytes_of_log(q->input), "bytes of a write-ahead log beside it, not read");
    strobe_import_samples_count(q, s->traces - 1, "other traces, left out (--trace selects one)");
    strobe_import_samples_count(q, s->damaged_tables, "damaged tables, read in part");
    strobe_import_samples_count(q, s->damaged, "damaged rows, left out");
    strobe_import_samples_count(q, s->stackless, "samples whose stack is not in the table");
    strobe_import_samples_count(q, s->backwards, "intervals that end before they begin, shown as points");
    strobe_import_samples_count(q, s->unpaired, "contentions without a begin or an end, shown as points");
    strobe_import_samples_count(q, s->releases_lost, "releases whose wait is not in the capture");
}

static enum strobe_status read_btrace_ios_file(struct strobe_import_samples *common,
                                               const struct strobe_whole_file *file, struct strobe_sampled *sampled,
                                               struct strobe_error *error)
{
    struct request *q = (struct request *)common;
    strobe_sampled_interval(sampled, DEFAULT_INTERVAL_NS, 0);
    return strobe_btrace_ios_read(file->at, file->bytes, &q->options, sampled, &q->stats, error);
}

int strobe_import_btrace_ios(int argc, char **argv)
{
    static const struct option table[] = {
        STROBE_IMPORT_SAMPLES_OPTIONS, {"trace", required_argument, NULL, TRACE}, {NULL, 0, NULL, 0}};
    static const struct strobe_import_samples_kind kind = {table, take_btrace_ios_option, read_btrace_ios_file,
                                                           print_btrace_ios_stats};
    struct request q = {.common = {.kind = "btrace-ios"}, .options = {STROBE_BTRACE_IOS_LAST_TRACE}};
    return strobe_import_samples_run(&kind, &q.common, argc, argv);
}
