/* Conversions and reports of sessions under faults: whichever allocation, write or open of a file fails, the operation
 * reports it, or its output is complete. It leaves no partial file and no leak. */
#include "engine/trace/export/convert.h"
#include "engine/trace/report/report.h"
#include "tests/unit/faults/sweep.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static enum strobe_status convert(const struct strobe_convert_options *options, struct strobe_error *error)
{
    struct strobe_convert_stats stats;
    return strobe_convert(temp_dir_path("s.strobe"), temp_dir_path("out"), options, &stats, error);
}

static enum strobe_status to_perfetto(struct strobe_error *e)
{
    return convert(&(struct strobe_convert_options){.format = STROBE_FORMAT_PERFETTO}, e);
}

static enum strobe_status to_deflated(struct strobe_error *e)
{
    return convert(&(struct strobe_convert_options){.deflate = 1, .from_ns = 2000000, .to_ns = 30000000}, e);
}

static enum strobe_status to_chrome(struct strobe_error *e)
{
    return convert(&(struct strobe_convert_options){.format = STROBE_FORMAT_CHROME}, e);
}

static enum strobe_status to_speedscope(struct strobe_error *e)
{
    return convert(&(struct strobe_convert_options){.format = STROBE_FORMAT_SPEEDSCOPE}, e);
}

static enum strobe_status to_folded(struct strobe_error *e)
{
    return convert(&(struct strobe_convert_options){.format = STROBE_FORMAT_FOLDED, .weight = STROBE_WEIGHT_ALLOC}, e);
}

static enum strobe_status to_pprof(struct strobe_error *e)
{
    return convert(&(struct strobe_convert_options){.format = STROBE_FORMAT_PPROF}, e);
}

static enum strobe_status to_firefox(struct strobe_error *e)
{
    return convert(&(struct strobe_convert_options){.format = STROBE_FORMAT_FIREFOX}, e);
}

static enum strobe_status folder_to_perfetto(struct strobe_error *e)
{
    const struct strobe_convert_options options = {.format = STROBE_FORMAT_PERFETTO};
    return strobe_convert(temp_dir_path("folder"), temp_dir_path("out"), &options, NULL, e);
}

static void a_conversion_of_several_sessions_meets_each_fault(void **state)
{
    (void)state;
    static const struct sweep sweep = {"folder", "alloc write map", folder_to_perfetto, "out"};
    assert_int_equal(mkdir(temp_dir_path("folder"), 0700), 0);
    sweep_write_session("folder/a.strobe");
    sweep_write_session("folder/b.strobe");
    sweep_faults(&sweep);
}

static void a_conversion_meets_each_fault(void **state)
{
    (void)state;
    static const struct sweep sweeps[] = {
        {"perfetto", "alloc write host", to_perfetto, "out"}, {"deflated", "alloc write", to_deflated, "out"},
        {"chrome", "alloc write", to_chrome, "out"},          {"speedscope", "alloc write", to_speedscope, "out"},
        {"folded", "alloc write", to_folded, "out"},          {"pprof", "alloc write", to_pprof, "out"},
        {"firefox", "alloc write", to_firefox, "out"}};
    sweep_write_session("s.strobe");
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++)
        sweep_faults(&sweeps[i]);
}

/* ---- reports. The C library's own allocations for the stream do not fail. */

static enum strobe_status print(struct strobe_report *r, int json)
{
    FILE *out = fopen(temp_dir_path("out"), "w");
    enum strobe_status status = out ? STROBE_OK : STROBE_IO;
    if (out && json)
        strobe_report_print_json(r, out);
    else if (out)
        status = strobe_report_print(r, out);
    if (out)
        fclose(out);
    if (status != STROBE_OK)
        unlink(temp_dir_path("out"));
    strobe_report_close(r);
    return status;
}

static enum strobe_status report_table(struct strobe_error *e)
{
    const struct strobe_report_options options = {
        .top = 10, .verbose = 1, .lines = 1, .function = "void app.Main.run()"};
    struct strobe_report *r;
    enum strobe_status status = strobe_report_session(temp_dir_path("s.strobe"), &options, &r, e);
    return status == STROBE_OK ? print(r, 0) : status;
}

static enum strobe_status report_json(struct strobe_error *e)
{
    const struct strobe_report_options options = {.by = STROBE_BY_ALLOC, .thread = "main", .to_ns = 50000000};
    struct strobe_report *r;
    enum strobe_status status = strobe_report_session(temp_dir_path("s.strobe"), &options, &r, e);
    return status == STROBE_OK ? print(r, 1) : status;
}

static enum strobe_status report_trace(struct strobe_error *e)
{
    const struct strobe_report_options options = {.top = 10};
    struct strobe_report *r;
    enum strobe_status status = strobe_report_trace(temp_dir_path("s.trace"), &options, &r, e);
    return status == STROBE_OK ? print(r, 0) : status;
}

static void a_report_meets_each_fault(void **state)
{
    (void)state;
    static const struct sweep sweeps[] = {{"table", "alloc host", report_table, "out"},
                                          {"json", "alloc", report_json, "out"},
                                          {"trace", "alloc host", report_trace, "out"}};
    struct strobe_error error;
    sweep_write_session("s.strobe");
    assert_int_equal(to_perfetto(&error), STROBE_OK);
    assert_int_equal(rename(temp_dir_path("out"), temp_dir_path("s.trace")), 0);
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++)
        sweep_faults(&sweeps[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_conversion_meets_each_fault),
        cmocka_unit_test(a_conversion_of_several_sessions_meets_each_fault),
        cmocka_unit_test(a_report_meets_each_fault),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
