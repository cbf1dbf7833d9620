/* `strobe import perf`: the text of `perf script`. */
#include "engine/base/error.h"
#include "engine/cmd/import/import.h"
#include "engine/cmd/import/import_samples.h"

#include "engine/trace/import/perf/perf_read.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

enum { EVENT = IMPORT_SAMPLES_OWN, PID };

struct request {
    struct strobe_import_samples common;
    struct strobe_perf_options options;
    struct strobe_perf_stats stats;
};

static int take_perf_option(struct strobe_import_samples *common, int c)
{
    struct request *q = (struct request *)common;
    switch (c) {
    case EVENT: q->options.event = optarg; return 0;
    case PID: return strobe_import_samples_pid(&q->options.pid);
    default: return strobe_import_samples_option(common, c);
    }
}

static void print_perf_stats(const struct strobe_import_samples *q)
{
    const struct strobe_perf_stats *s = &((const struct request *)q)->stats;
    char unknown[80], others[160];
    snprintf(unknown, sizeof unknown, "lines not understood, left out, the first is line %" PRIu64, s->first_unknown);
    snprintf(others, sizeof others, "samples of other events than %s, left out (--event selects one)", s->event);
    strobe_import_samples_count(q, s->other_events, others);
    strobe_import_samples_count(q, s->other_processes, "samples of other processes, left out (--pid selects one)");
    strobe_import_samples_count(q, s->without_time, "no times: each sample lasts one interval (--interval)");
    strobe_import_samples_count(q, s->lost, "samples that perf lost");
    strobe_import_samples_count(q, s->records, "other records of perf, left out");
    strobe_import_samples_count(q, s->refused, "samples without a valid time, left out");
    strobe_import_samples_count(q, s->unknown, unknown);
}

static enum strobe_status read_perf_file(struct strobe_import_samples *common, const struct strobe_whole_file *file,
                                         struct strobe_sampled *sampled, struct strobe_error *error)
{
    struct request *q = (struct request *)common;
    q->options.interval_ns = common->interval_ns ? common->interval_ns : 1000000;
    return strobe_perf_read(file->at, file->bytes, &q->options, sampled, &q->stats, error);
}

int strobe_import_perf(int argc, char **argv)
{
    static const struct option table[] = {STROBE_IMPORT_SAMPLES_OPTIONS,
                                          {"event", required_argument, NULL, EVENT},
                                          {"pid", required_argument, NULL, PID},
                                          {NULL, 0, NULL, 0}};
    static const struct strobe_import_samples_kind kind = {table, take_perf_option, read_perf_file, print_perf_stats};
    struct request q = {.common = {.kind = "perf"}};
    return strobe_import_samples_run(&kind, &q.common, argc, argv);
}
