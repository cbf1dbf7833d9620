/* Imports of samples under faults: whichever allocation, mapping, write or open of a file fails, the import reports it,
 * or its output is complete. */
#include "engine/base/error.h"
#include "engine/trace/export/convert.h"
#include "engine/trace/import/artrace/art_trace_read.h"
#include "engine/trace/import/btrace3/btrace3_read.h"
#include "engine/trace/import/btraceios/btrace_ios_read.h"
#include "engine/trace/import/collapsed/collapsed_read.h"
#include "engine/trace/import/gecko/gecko_read.h"
#include "engine/trace/import/instruments/instruments_read.h"
#include "engine/trace/import/perf/perf_read.h"
#include "engine/trace/import/samples_store.h"
#include "engine/trace/import/simpleperf/simpleperf_read.h"
#include "engine/util/whole_file.h"
#include "tests/unit/faults/sweep.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The inputs, which are read before a fault is armed. */
static struct {
    const char *path;
    char *at;
    size_t bytes;
} inputs[] = {
    {"fixtures/imports/notify.btrace3", NULL, 0},  {"fixtures/imports/notify.btrace3-mapping", NULL, 0},
    {"fixtures/imports/perf.txt", NULL, 0},        {"fixtures/imports/shop.simpleperf", NULL, 0},
    {"fixtures/imports/page.gecko.json", NULL, 0}, {"fixtures/imports/shop.collapsed", NULL, 0},
    {"fixtures/imports/shop.trace", NULL, 0},      {"fixtures/imports/shop.instruments.xml", NULL, 0},
    {"fixtures/imports/shop.btrace-ios", NULL, 0},
};
enum { BTRACE3, MAPPING, PERF, SIMPLEPERF, GECKO, COLLAPSED, ART_TRACE, INSTRUMENTS, BTRACE_IOS };

typedef enum strobe_status reader(struct strobe_sampled *out, struct strobe_error *error);

static enum strobe_status read_btrace3_input(struct strobe_sampled *out, struct strobe_error *error)
{
    struct strobe_btrace3_files files = {inputs[BTRACE3].at, inputs[MAPPING].at, inputs[BTRACE3].bytes,
                                         inputs[MAPPING].bytes};
    struct strobe_btrace3_stats stats;
    bool of_mapping;
    return strobe_btrace3_read(&files, out, &stats, &of_mapping, error);
}

static enum strobe_status read_perf_input(struct strobe_sampled *out, struct strobe_error *error)
{
    struct strobe_perf_options options = {.interval_ns = 1000000};
    struct strobe_perf_stats stats;
    return strobe_perf_read(inputs[PERF].at, inputs[PERF].bytes, &options, out, &stats, error);
}

static enum strobe_status read_simpleperf_input(struct strobe_sampled *out, struct strobe_error *error)
{
    struct strobe_simpleperf_options options = {0};
    struct strobe_simpleperf_stats stats;
    return strobe_simpleperf_read(inputs[SIMPLEPERF].at, inputs[SIMPLEPERF].bytes, &options, out, &stats, error);
}

static enum strobe_status read_gecko_input(struct strobe_sampled *out, struct strobe_error *error)
{
    struct strobe_gecko_options options = {0};
    struct strobe_gecko_stats stats;
    return strobe_gecko_read(inputs[GECKO].at, inputs[GECKO].bytes, &options, out, &stats, error);
}

static enum strobe_status read_collapsed_input(struct strobe_sampled *out, struct strobe_error *error)
{
    struct strobe_collapsed_options options = {1000000, STROBE_COLLAPSED_AUTO};
    struct strobe_collapsed_stats stats;
    return strobe_collapsed_read(inputs[COLLAPSED].at, inputs[COLLAPSED].bytes, &options, out, &stats, error);
}

static enum strobe_status read_instruments_input(struct strobe_sampled *out, struct strobe_error *error)
{
    struct strobe_instruments_options options = {0};
    struct strobe_instruments_stats stats;
    return strobe_instruments_read(inputs[INSTRUMENTS].at, inputs[INSTRUMENTS].bytes, &options, out, &stats, error);
}

static enum strobe_status read_btrace_ios_input(struct strobe_sampled *out, struct strobe_error *error)
{
    struct strobe_btrace_ios_options options = {STROBE_BTRACE_IOS_LAST_TRACE};
    struct strobe_btrace_ios_stats stats;
    return strobe_btrace_ios_read(inputs[BTRACE_IOS].at, inputs[BTRACE_IOS].bytes, &options, out, &stats, error);
}

/* Reads the input, makes the session, and folds its stacks. */
static enum strobe_status fold_samples(reader *read, struct strobe_error *error)
{
    struct strobe_convert_options options = {.format = STROBE_FORMAT_FOLDED};
    struct strobe_sampled *sampled;
    char path[64];
    int fd;
    enum strobe_status status = strobe_sampled_open(&sampled);
    if (status != STROBE_OK)
        return status;
    status = read(sampled, error);
    if (status == STROBE_OK)
        status = strobe_sampled_make(sampled, &fd);
    strobe_sampled_close(sampled);
    if (status != STROBE_OK)
        return status;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    status = strobe_convert(path, temp_dir_path("out"), &options, NULL, error);
    close(fd);
    return status;
}

static enum strobe_status fold_btrace3(struct strobe_error *e)
{
    return fold_samples(read_btrace3_input, e);
}

static enum strobe_status fold_perf(struct strobe_error *e)
{
    return fold_samples(read_perf_input, e);
}

static enum strobe_status fold_simpleperf(struct strobe_error *e)
{
    return fold_samples(read_simpleperf_input, e);
}

static enum strobe_status fold_gecko(struct strobe_error *e)
{
    return fold_samples(read_gecko_input, e);
}

static enum strobe_status fold_collapsed(struct strobe_error *e)
{
    return fold_samples(read_collapsed_input, e);
}

static enum strobe_status fold_instruments(struct strobe_error *e)
{
    return fold_samples(read_instruments_input, e);
}

static enum strobe_status fold_btrace_ios(struct strobe_error *e)
{
    return fold_samples(read_btrace_ios_input, e);
}

static enum strobe_status read_art_trace_input(struct strobe_error *error)
{
    struct strobe_art_trace_stats stats;
    struct strobe_calls calls;
    enum strobe_status status =
        strobe_art_trace_read(inputs[ART_TRACE].at, inputs[ART_TRACE].bytes, &calls, &stats, error);
    if (status == STROBE_OK)
        assert_int_equal(stats.records, 12);
    strobe_calls_close(&calls);
    return status;
}

static void an_import_of_samples_meets_each_fault(void **state)
{
    (void)state;
    static const struct sweep sweeps[] = {
        {"btrace3", "alloc write map host", fold_btrace3, "out"},
        {"perf", "alloc", fold_perf, "out"},
        {"simpleperf", "alloc", fold_simpleperf, "out"},
        {"gecko", "alloc", fold_gecko, "out"},
        {"collapsed", "alloc", fold_collapsed, "out"},
        {"instruments", "alloc", fold_instruments, "out"},
        {"btrace-ios", "alloc", fold_btrace_ios, "out"},
        {"art-trace", "alloc", read_art_trace_input, NULL},
    };
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++)
        sweep_faults(&sweeps[i]);
}

static int read_inputs(void **state)
{
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (strobe_whole_file_read(inputs[i].path, 1 << 20, &inputs[i].at, &inputs[i].bytes) != STROBE_OK)
            return -1;
    return temp_dir_open(state);
}

static int free_inputs(void **state)
{
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        free(inputs[i].at);
    return temp_dir_close(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_import_of_samples_meets_each_fault)};
    return cmocka_run_group_tests(tests, read_inputs, free_inputs);
}
