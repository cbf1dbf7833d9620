/* `strobe import simpleperf`: the output of `simpleperf report-sample --protobuf`. */
#include "engine/base/error.h"
#include "engine/cmd/import/import.h"
#include "engine/cmd/import/import_samples.h"

#include "engine/trace/import/simpleperf/simpleperf_read.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

enum { EVENT = IMPORT_SAMPLES_OWN, PID };

struct request {
    struct strobe_import_samples common;
    struct strobe_simpleperf_options options;
    struct strobe_simpleperf_stats stats;
};

static int take_simpleperf_option(struct strobe_import_samples *common, int c)
{
    struct request *q = (struct request *)common;
    switch (c) {
    case EVENT: q->options.event = optarg; return 0;
    case PID: return strobe_import_samples_pid(&q->options.pid);
    default: return strobe_import_samples_option(common, c);
    }
}

static void print_simpleperf_stats(const struct strobe_import_samples *q)
{
    const struct strobe_simpleperf_stats *s = &((const struct request *)q)->stats;
    char damaged[80], others[160];
    snprintf(damaged, sizeof damaged, "damaged records, left out, the first at byte %" PRIu64, s->first_damaged);
    snprintf(others, sizeof others, "samples of other events than %s, left out (--event selects one)", s->event);
    strobe_import_samples_count(q, s->other_events, others);
    strobe_import_samples_count(q, s->other_processes, "samples of other processes, left out (--pid selects one)");
    strobe_import_samples_count(q, s->lost, "samples that simpleperf lost");
    strobe_import_samples_count(q, s->refused, "samples without a valid time, left out");
    strobe_import_samples_count(q, s->damaged, damaged);
    strobe_import_samples_count(q, s->tail_bytes, "bytes at the end that are no complete record, left out");
}

static enum strobe_status read_simpleperf_file(struct strobe_import_samples *common,
                                               const struct strobe_whole_file *file, struct strobe_sampled *sampled,
                                               struct strobe_error *error)
{
    struct request *q = (struct request *)common;
    return strobe_simpleperf_read(file->at, file->bytes, &q->options, sampled, &q->stats, error);
}

int strobe_import_simpleperf(int argc, char **argv)
{
    static const struct option table[] = {STROBE_IMPORT_SAMPLES_OPTIONS,
                                          {"event", required_argument, NULL, EVENT},
                                          {"pid", required_argument, NULL, PID},
                                          {NULL, 0, NULL, 0}};
    static const struct strobe_import_samples_kind kind = {table, take_simpleperf_option, read_simpleperf_file,
                                                           print_simpleperf_stats};
    struct request q = {.common = {.kind = "simpleperf"}};
    return strobe_import_samples_run(&kind, &q.common, argc, argv);
}
