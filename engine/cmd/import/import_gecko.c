/* `strobe import gecko`: profiles of Firefox's profiler. */
#include "engine/base/error.h"
#include "engine/cmd/import/import.h"
#include "engine/cmd/import/import_samples.h"

#include "engine/trace/import/gecko/gecko_read.h"

#include <getopt.h>

enum { PID = IMPORT_SAMPLES_OWN };

struct request {
    struct strobe_import_samples common;
    struct strobe_gecko_options options;
    struct strobe_gecko_stats stats;
};

static int take_gecko_option(struct strobe_import_samples *common, int c)
{
    struct request *q = (struct request *)common;
    switch (c) {
    case PID: return strobe_import_samples_pid(&q->options.pid);
    default: return strobe_import_samples_option(common, c);
    }
}

static void print_gecko_stats(const struct strobe_import_samples *q)
{
    const struct strobe_gecko_stats *s = &((const struct request *)q)->stats;
    strobe_import_samples_count(q, s->cut_at, "the profile is cut, what follows this byte is missing");
    strobe_import_samples_count(q, s->other_processes, "threads of other processes, left out (--pid selects one)");
    strobe_import_samples_count(q, s->without_stack, "samples without a stack, left out");
    strobe_import_samples_count(q, s->other_markers, "markers without a begin and an end, left out");
    strobe_import_samples_count(q, s->damaged, "samples and markers out of range, left out");
    strobe_import_samples_count(q, s->damaged_threads, "threads with damaged tables, left out");
}

static enum strobe_status read_gecko_file(struct strobe_import_samples *common, const struct strobe_whole_file *file,
                                          struct strobe_sampled *sampled, struct strobe_error *error)
{
    struct request *q = (struct request *)common;
    return strobe_gecko_read(file->at, file->bytes, &q->options, sampled, &q->stats, error);
}

int strobe_import_gecko(int argc, char **argv)
{
    static const struct option table[] = {
        STROBE_IMPORT_SAMPLES_OPTIONS, {"pid", required_argument, NULL, PID}, {NULL, 0, NULL, 0}};
    static const struct strobe_import_samples_kind kind = {table, take_gecko_option, read_gecko_file,
                                                           print_gecko_stats};
    struct request q = {.common = {.kind = "gecko"}};
    return strobe_import_samples_run(&kind, &q.common, argc, argv);
}
