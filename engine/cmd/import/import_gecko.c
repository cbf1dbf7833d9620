/* `strobe import gecko`: profiles of Firefox's profiler. */
#include "engine/base/error.h"
#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/import/import.h"
#include "engine/cmd/import/import_samples.h"

#include "engine/trace/import/gecko/gecko_read.h"
#include "engine/util/whole_file.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PID = IMPORT_SAMPLES_OWN };

struct request {
    struct strobe_import_samples common;
    struct strobe_gecko_options options;
};

static int take_gecko_option(struct request *q, int c)
{
    uint64_t pid;
    switch (c) {
    case PID:
        if (!strobe_parse_number(optarg, UINT32_MAX - 1, &pid) || !pid)
            return strobe_complain("import: --pid %s: expected the number of a process", optarg);
        q->options.pid = (uint32_t)pid;
        return 0;
    default: return strobe_import_samples_option(&q->common, c);
    }
}

static void print_gecko_stats(const struct request *q, const struct strobe_gecko_stats *s)
{
    strobe_import_samples_count(&q->common, s->cut_at, "the profile is cut, what follows this byte is missing");
    strobe_import_samples_count(&q->common, s->other_processes,
                                "threads of other processes, left out (--pid selects one)");
    strobe_import_samples_count(&q->common, s->without_stack, "samples without a stack, left out");
    strobe_import_samples_count(&q->common, s->other_markers, "markers without a begin and an end, left out");
    strobe_import_samples_count(&q->common, s->damaged, "samples and markers out of range, left out");
    strobe_import_samples_count(&q->common, s->damaged_threads, "threads with damaged tables, left out");
}

static int import_gecko_text(struct request *q, const struct strobe_whole_file *file, struct strobe_sampled *sampled)
{
    struct strobe_gecko_stats stats;
    struct strobe_error error = {""};
    enum strobe_status status = strobe_gecko_read(file->at, file->bytes, &q->options, sampled, &stats, &error);
    if (status == STROBE_IO)
        return strobe_complain("%s: not enough memory", q->common.input);
    if (status != STROBE_OK)
        return strobe_complain("%s: %s", q->common.input, error.text);
    int exit_status = strobe_import_samples_write(&q->common, sampled);
    if (exit_status == STROBE_EXIT_OK)
        print_gecko_stats(q, &stats);
    return exit_status;
}

static int import_gecko(struct request *q)
{
    struct strobe_whole_file file;
    struct strobe_sampled *sampled;
    if (strobe_whole_file_open(q->common.input, &file) != STROBE_OK)
        return strobe_complain("%s: %s", q->common.input, strerror(errno));
    int exit_status = strobe_sampled_open(&sampled) == STROBE_OK
                          ? import_gecko_text(q, &file, sampled)
                          : strobe_complain("%s: not enough memory", q->common.input);
    strobe_sampled_close(sampled);
    strobe_whole_file_close(&file);
    return exit_status;
}

int strobe_import_gecko(int argc, char **argv)
{
    static const struct option table[] = {
        STROBE_IMPORT_SAMPLES_OPTIONS, {"pid", required_argument, NULL, PID}, {NULL, 0, NULL, 0}};
    struct request q = {.common = {.kind = "gecko"}};
    for (int c; (c = strobe_any_option(argc, argv, table)) != -1;) {
        if (c == 'h')
            return strobe_print_usage(strobe_usage_import);
        int bad = take_gecko_option(&q, c);
        if (bad)
            return bad;
    }
    int bad = strobe_import_samples_arguments(&q.common, 1, argc, argv);
    return bad ? bad : import_gecko(&q);
}
