/* `strobe import collapsed`: collapsed stacks, as flame graphs are made of. */
#include "engine/base/error.h"
#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/import/import.h"
#include "engine/cmd/import/import_samples.h"

#include "engine/trace/import/collapsed/collapsed_read.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { UNIT = IMPORT_SAMPLES_OWN, THREADS };

struct request {
    struct strobe_import_samples common;
    struct strobe_collapsed_options options;
    struct strobe_collapsed_stats stats;
};

static int take_collapsed_option(struct strobe_import_samples *common, int c)
{
    struct request *q = (struct request *)common;
    static const char *const names[] = {
        [STROBE_COLLAPSED_AUTO] = "auto", [STROBE_COLLAPSED_FIRST] = "first", [STROBE_COLLAPSED_NONE] = "none"};
    switch (c) {
    case UNIT:
        if (!strobe_parse_time(optarg, &q->options.unit_ns) || !q->options.unit_ns)
            return strobe_complain("import: --unit %s: expected a time such as 1ms", optarg);
        return 0;
    case THREADS:
        for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
            if (!strcmp(optarg, names[i])) {
                q->options.threads = (enum strobe_collapsed_threads)i;
                return 0;
            }
        return strobe_complain("import: --threads %s: expected auto, first or none", optarg);
    default: return strobe_import_samples_option(common, c);
    }
}

static void print_collapsed_stats(const struct strobe_import_samples *q)
{
    const struct strobe_collapsed_stats *s = &((const struct request *)q)->stats;
    char unknown[80];
    snprintf(unknown, sizeof unknown, "lines not understood, left out, the first is line %" PRIu64, s->first_unknown);
    strobe_import_samples_count(q, s->unknown, unknown);
    if (s->per_sample > 1)
        strobe_import_samples_count(q, s->per_sample, "units of weight for which a sample stands");
}

static enum strobe_status read_collapsed_file(struct strobe_import_samples *common,
                                              const struct strobe_whole_file *file, struct strobe_sampled *sampled,
                                              struct strobe_error *error)
{
    struct request *q = (struct request *)common;
    return strobe_collapsed_read(file->at, file->bytes, &q->options, sampled, &q->stats, error);
}

int strobe_import_collapsed(int argc, char **argv)
{
    static const struct option table[] = {STROBE_IMPORT_SAMPLES_OPTIONS,
                                          {"unit", required_argument, NULL, UNIT},
                                          {"threads", required_argument, NULL, THREADS},
                                          {NULL, 0, NULL, 0}};
    static const struct strobe_import_samples_kind kind = {table, take_collapsed_option, read_collapsed_file,
                                                           print_collapsed_stats};
    struct request q = {.common = {.kind = "collapsed"}, .options = {.unit_ns = 1000000}};
    return strobe_import_samples_run(&kind, &q.common, argc, argv);
}
