/* `strobe import instruments`: XML that Instruments exports of its time profiles. */
#include "engine/base/error.h"
#include "engine/cmd/import/import.h"
#include "engine/cmd/import/import_samples.h"

#include "engine/trace/import/instruments/instruments_read.h"

#include <getopt.h>

enum { PID = IMPORT_SAMPLES_OWN };

struct request {
    struct strobe_import_samples common;
    struct strobe_instruments_options options;
    struct strobe_instruments_stats stats;
};

static int take_instruments_option(struct strobe_import_samples *common, int c)
{
    struct request *q = (struct request *)common;
    return c == PID ? strobe_import_samples_pid(&q->options.pid) : strobe_import_samples_option(common, c);
}

static void print_instruments_stats(const struct strobe_import_samples *q)
{
    const struct strobe_instruments_stats *s = &((const struct request *)q)->stats;
    strobe_import_samples_count(q, s->fault_line, "the XML is damaged or cut off, what follows this line is missing");
    strobe_import_samples_count(q, s->other_processes, "samples of other processes, left out (--pid selects one)");
    strobe_import_samples_count(q, s->other_tables, "rows of other tables, left out");
    strobe_import_samples_count(q, s->without_stack, "samples without a stack");
    strobe_import_samples_count(q, s->undefined, "references to elements that are not defined");
    strobe_import_samples_count(q, s->damaged, "rows without a valid time or thread, left out");
}

static enum strobe_status read_instruments_file(struct strobe_import_samples *common,
                                                const struct strobe_whole_file *file, struct strobe_sampled *sampled,
                                                struct strobe_error *error)
{
    struct request *q = (struct request *)common;
    return strobe_instruments_read(file->at, file->bytes, &q->options, sampled, &q->stats, error);
}

int strobe_import_instruments(int argc, char **argv)
{
    static const struct option table[] = {
        STROBE_IMPORT_SAMPLES_OPTIONS, {"pid", required_argument, NULL, PID}, {NULL, 0, NULL, 0}};
    static const struct strobe_import_samples_kind kind = {table, take_instruments_option, read_instruments_file,
                                                           print_instruments_stats};
    struct request q = {.common = {.kind = "instruments"}};
    return strobe_import_samples_run(&kind, &q.common, argc, argv);
}
