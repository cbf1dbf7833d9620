/* `strobe import collapsed`: collapsed stacks, as flame graphs are made of. */
#include "engine/base/error.h"
#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/import/import.h"
#include "engine/cmd/import/import_samples.h"

#include "engine/trace/import/collapsed/collapsed_read.h"
#include "engine/util/whole_file.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { UNIT = IMPORT_SAMPLES_OWN, THREADS };

struct request {
    struct strobe_import_samples common;
    struct strobe_collapsed_options options;
};

static int take_collapsed_option(struct request *q, int c)
{
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
    default: return strobe_import_samples_option(&q->common, c);
    }
}

static void print_collapsed_stats(const struct request *q, const struct strobe_collapsed_stats *s)
{
    char unknown[80];
    snprintf(unknown, sizeof unknown, "lines not understood, left out, the first is line %" PRIu64, s->first_unknown);
    strobe_import_samples_count(&q->common, s->unknown, unknown);
    if (s->per_sample > 1)
        strobe_import_samples_count(&q->common, s->per_sample, "units of weight for which a sample stands");
}

static int import_collapsed_text(const struct request *q, const struct strobe_whole_file *file,
                                 struct strobe_sampled *sampled)
{
    struct strobe_collapsed_stats stats;
    struct strobe_error error = {""};
    enum strobe_status status = strobe_collapsed_read(file->at, file->bytes, &q->options, sampled, &stats, &error);
    if (status == STROBE_IO)
        return strobe_complain("%s: not enough memory", q->common.input);
    if (status != STROBE_OK)
        return strobe_complain("%s: %s", q->common.input, error.text);
    int exit_status = strobe_import_samples_write(&q->common, sampled);
    if (exit_status == STROBE_EXIT_OK)
        print_collapsed_stats(q, &stats);
    return exit_status;
}

static int import_collapsed(const struct request *q)
{
    struct strobe_whole_file file;
    struct strobe_sampled *sampled;
    if (strobe_whole_file_open(q->common.input, &file) != STROBE_OK)
        return strobe_complain("%s: %s", q->common.input, strerror(errno));
    int exit_status = strobe_sampled_open(&sampled) == STROBE_OK
                          ? import_collapsed_text(q, &file, sampled)
                          : strobe_complain("%s: not enough memory", q->common.input);
    strobe_sampled_close(sampled);
    strobe_whole_file_close(&file);
    return exit_status;
}

int strobe_import_collapsed(int argc, char **argv)
{
    static const struct option table[] = {STROBE_IMPORT_SAMPLES_OPTIONS,
                                          {"unit", required_argument, NULL, UNIT},
                                          {"threads", required_argument, NULL, THREADS},
                                          {NULL, 0, NULL, 0}};
    struct request q = {.common = {.kind = "collapsed"}, .options = {.unit_ns = 1000000}};
    for (int c; (c = strobe_any_option(argc, argv, table)) != -1;) {
        if (c == 'h')
            return strobe_print_usage(strobe_usage_import);
        int bad = take_collapsed_option(&q, c);
        if (bad)
            return bad;
    }
    int bad = strobe_import_samples_arguments(&q.common, 1, argc, argv);
    return bad ? bad : import_collapsed(&q);
}
