/* `strobe import simpleperf`: the output of `simpleperf report-sample --protobuf`. */
#include "engine/base/error.h"
#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/import/import.h"
#include "engine/cmd/import/import_samples.h"

#include "engine/trace/import/simpleperf/simpleperf_read.h"
#include "engine/util/whole_file.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { EVENT = IMPORT_SAMPLES_OWN, PID };

struct request {
    struct strobe_import_samples common;
    struct strobe_simpleperf_options options;
};

static int take_simpleperf_option(struct request *q, int c)
{
    uint64_t pid;
    switch (c) {
    case EVENT: q->options.event = optarg; return 0;
    case PID:
        if (!strobe_parse_number(optarg, UINT32_MAX - 1, &pid) || !pid)
            return strobe_complain("import: --pid %s: expected the number of a process", optarg);
        q->options.pid = (uint32_t)pid;
        return 0;
    default: return strobe_import_samples_option(&q->common, c);
    }
}

static void print_simpleperf_stats(const struct request *q, const struct strobe_simpleperf_stats *s)
{
    char damaged[80], others[160];
    snprintf(damaged, sizeof damaged, "damaged records, left out, the first at byte %" PRIu64, s->first_damaged);
    snprintf(others, sizeof others, "samples of other events than %s, left out (--event selects one)", s->event);
    strobe_import_samples_count(&q->common, s->other_events, others);
    strobe_import_samples_count(&q->common, s->other_processes,
                                "samples of other processes, left out (--pid selects one)");
    strobe_import_samples_count(&q->common, s->lost, "samples that simpleperf lost");
    strobe_import_samples_count(&q->common, s->refused, "samples without a valid time, left out");
    strobe_import_samples_count(&q->common, s->damaged, damaged);
    strobe_import_samples_count(&q->common, s->tail_bytes, "bytes at the end that are no complete record, left out");
}

static int import_simpleperf_file(struct request *q, const struct strobe_whole_file *file,
                                  struct strobe_sampled *sampled)
{
    struct strobe_simpleperf_stats stats;
    struct strobe_error error = {""};
    enum strobe_status status = strobe_simpleperf_read(file->at, file->bytes, &q->options, sampled, &stats, &error);
    if (status == STROBE_IO)
        return strobe_complain("%s: not enough memory", q->common.input);
    if (status != STROBE_OK)
        return strobe_complain("%s: %s", q->common.input, error.text);
    int exit_status = strobe_import_samples_write(&q->common, sampled);
    if (exit_status == STROBE_EXIT_OK)
        print_simpleperf_stats(q, &stats);
    return exit_status;
}

static int import_simpleperf(struct request *q)
{
    struct strobe_whole_file file;
    struct strobe_sampled *sampled;
    if (strobe_whole_file_open(q->common.input, &file) != STROBE_OK)
        return strobe_complain("%s: %s", q->common.input, strerror(errno));
    int exit_status = strobe_sampled_open(&sampled) == STROBE_OK
                          ? import_simpleperf_file(q, &file, sampled)
                          : strobe_complain("%s: not enough memory", q->common.input);
    strobe_sampled_close(sampled);
    strobe_whole_file_close(&file);
    return exit_status;
}

int strobe_import_simpleperf(int argc, char **argv)
{
    static const struct option table[] = {STROBE_IMPORT_SAMPLES_OPTIONS,
                                          {"event", required_argument, NULL, EVENT},
                                          {"pid", required_argument, NULL, PID},
                                          {NULL, 0, NULL, 0}};
    struct request q = {.common = {.kind = "simpleperf"}};
    for (int c; (c = strobe_any_option(argc, argv, table)) != -1;) {
        if (c == 'h')
            return strobe_print_usage(strobe_usage_import);
        int bad = take_simpleperf_option(&q, c);
        if (bad)
            return bad;
    }
    int bad = strobe_import_samples_arguments(&q.common, 1, argc, argv);
    return bad ? bad : import_simpleperf(&q);
}
