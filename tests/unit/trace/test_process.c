/* Data of the process in traces and reports: values over time, hitches and hangs of its run loop. */
#include "engine/base/error.h"
#include "engine/trace/export/convert.h"
#include "engine/trace/import/perfetto/import_perfetto.h"
#include "engine/trace/report/report.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MS = 1000000 };

static struct strobe_build build;
static struct strobe_error error;

static void value(enum strobe_series what, uint64_t ticks, uint64_t value)
{
    strobe_build_record(&build,
                        (struct strobe_record){
                            .ticks = ticks, .arg = value, .kind = STROBE_KIND_COUNTER, .cpu_span_ns = (uint32_t)what},
                        NULL);
}

static void hitch(uint64_t begin, uint64_t end, enum strobe_hitch how)
{
    strobe_build_record(
        &build, (struct strobe_record){.ticks = begin, .duration = end - begin, .arg = how, .kind = STROBE_KIND_HITCH},
        NULL);
}

static void sample(uint64_t ticks, uint64_t outer, uint64_t leaf)
{
    uint64_t address[] = {outer, leaf};
    uint32_t stack = strobe_build_stack(&build, address, 2);
    strobe_build_record(&build, (struct strobe_record){.ticks = ticks, .stack = stack}, NULL);
}

/* A second of work: main is in 0x1000 > 0x2000 from 300 to 600 ms, elsewhere before and after. */
static void make_session(void)
{
    struct strobe_config config = strobe_build_config();
    strobe_build_begin(&build, temp_dir_path("session"), &config);
    strobe_build_thread(&build, 4242, "main");
    for (uint64_t ms = 0; ms < 1000; ms++)
        sample(ms * MS, 0x1000, ms < 300 ? 0x3000 : ms < 600 ? 0x2000 : 0x4000);
    for (uint64_t ms = 100; ms <= 900; ms += 100) {
        value(STROBE_SERIES_CPU_NS, ms * MS, ms * MS / 2);
        value(STROBE_SERIES_FOOTPRINT_BYTES, ms * MS, ms == 500 ? 9000000000 : 5000000);
        value(STROBE_SERIES_THREADS, ms * MS, 2 + ms / 400);
        value(STROBE_SERIES_MACH_TRAPS, ms * MS, 1000 + ms);
    }
    hitch(50 * MS, 90 * MS, STROBE_HITCH_FRAME);
    hitch(310 * MS, 410 * MS, STROBE_HITCH_FRAME); /* reported while it lasted */
    hitch(310 * MS, 590 * MS, STROBE_HITCH_HANG);
    hitch(700 * MS, 800 * MS, STROBE_HITCH_FRAME);
    hitch(780 * MS, 840 * MS, STROBE_HITCH_FRAME); /* invalid: the turn before had not ended */
    strobe_build_end(&build, 1000 * MS);
}

static void convert(const char *name, enum strobe_format format, uint64_t from_ms, uint64_t to_ms)
{
    struct strobe_convert_options options = {
        .format = format, .replace = 1, .from_ns = from_ms * MS, .to_ns = to_ms * MS};
    struct strobe_convert_stats stats;
    char out[200];
    snprintf(out, sizeof out, "%s", temp_dir_path(name));
    if (strobe_convert(temp_dir_path("session"), out, &options, &stats, &error) != STROBE_OK)
        fail_msg("%s", error.text);
}

/* ---- traces */

struct found {
    char text[4096];
    uint64_t begin_ns;
    unsigned values, unknown_value;
    double peak;
};

static void on_counter(void *ctx, const struct strobe_import_event *e)
{
    struct found *f = ctx;
    if (e->thread != STROBE_IMPORT_NO_THREAD)
        return;
    f->values++;
    int cpu = !strcmp(e->name, "process CPU time") && !strcmp(e->unit, "ns");
    int bytes = !strcmp(e->name, "memory footprint") && !strcmp(e->unit, "bytes");
    int threads = !strcmp(e->name, "threads") && !strcmp(e->unit, "count");
    int traps = !strcmp(e->name, "Mach traps") && !strcmp(e->unit, "count");
    f->unknown_value += cpu + bytes + threads + traps != 1;
    if (bytes && e->value > f->peak)
        f->peak = e->value;
    if (cpu)
        assert_true(e->value == (double)(e->time_ns - STROBE_BUILD_BEGIN_NS) / 2);
}

static void append_event(struct found *f, const struct strobe_import_event *e, const char *form)
{
    size_t used = strlen(f->text);
    if (e->thread == STROBE_IMPORT_NO_THREAD)
        snprintf(f->text + used, sizeof f->text - used, form, e->name,
                 (unsigned)((e->time_ns - STROBE_BUILD_BEGIN_NS) / MS));
}

static void on_begin(void *ctx, const struct strobe_import_event *e)
{
    if (e->thread == STROBE_IMPORT_NO_THREAD)
        assert_string_equal(e->track, "run loop");
    append_event(ctx, e, "%s[%u,");
}

static void on_end(void *ctx, const struct strobe_import_event *e)
{
    append_event(ctx, e, "%s%u) ");
}

static const struct strobe_import_visitor visitor = {
    .slice_begin = on_begin, .slice_end = on_end, .counter = on_counter};

static struct found read_trace(const char *name)
{
    static struct found f;
    struct strobe_import_stats stats;
    f = (struct found){.values = 0};
    if (strobe_import_perfetto(temp_dir_path(name), &visitor, &f, &stats, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(stats.unknown_tracks, 0);
    return f;
}

static void a_trace_has_every_value_with_its_unit_and_each_hitch_once(void **state)
{
    (void)state;
    make_session();
    convert("whole.pftrace", STROBE_FORMAT_PERFETTO, 0, 0);
    struct found f = read_trace("whole.pftrace");
    assert_int_equal(f.values, 36);
    assert_int_equal(f.unknown_value, 0);
    assert_true(f.peak == 9e9);
    assert_string_equal(f.text, "hitch[50,90) hang[310,590) hitch[700,780) hitch[780,840) ");
}

static void a_window_has_the_values_within_and_cuts_hitches_at_its_edges(void **state)
{
    (void)state;
    make_session();
    convert("part.pftrace", STROBE_FORMAT_PERFETTO, 200, 500);
    struct found f = read_trace("part.pftrace");
    assert_int_equal(f.values, 12); /* of 200, 300, 400 ms */
    assert_string_equal(f.text, "hang[310,500) ");
}

static void a_session_without_series_has_no_such_tracks(void **state)
{
    struct strobe_config config = strobe_build_config();
    (void)state;
    strobe_build_begin(&build, temp_dir_path("session"), &config);
    strobe_build_thread(&build, 4242, "main");
    sample(0, 0x1000, 0x2000);
    strobe_build_end(&build, 10 * MS);
    convert("none.pftrace", STROBE_FORMAT_PERFETTO, 0, 0);
    struct found f = read_trace("none.pftrace");
    assert_int_equal(f.values, 0);
    assert_string_equal(f.text, "");
}

static unsigned count(const char *text, const char *part)
{
    unsigned n = 0;
    while ((text = strstr(text, part)) != NULL) {
        n++;
        text++;
    }
    return n;
}

static void chrome_json_has_counter_events_and_an_instant_for_each_hitch(void **state)
{
    (void)state;
    static char text[1 << 20];
    make_session();
    convert("trace.json", STROBE_FORMAT_CHROME, 0, 0);
    FILE *f = fopen(temp_dir_path("trace.json"), "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    assert_int_equal(count(text, "\"ph\":\"C\""), 36);
    assert_int_equal(count(text, "\"name\":\"memory footprint\""), 9);
    assert_int_equal(count(text, "\"args\":{\"value\":9000000000}"), 1);
    assert_int_equal(count(text, "\"ph\":\"i\""), 4);
    assert_int_equal(count(text, "\"name\":\"hang\",\"s\":\"p\""), 1);
    assert_int_equal(count(text, "\"args\":{\"duration us\":280000.000}"), 1);
}

/* ---- reports */

static void assert_process(const struct strobe_report *r)
{
    assert_int_equal(r->process.values, 36);
    assert_int_equal(r->process.cpu_ns, 400 * MS);
    assert_int_equal(r->process.span_ns, 800 * MS);
    assert_true(r->process.footprint_peak_bytes == 9000000000);
    assert_int_equal(r->process.threads_max, 4);
    assert_int_equal(r->process.mach_traps, 800);
    assert_int_equal(r->process.hitches, 3);
    assert_int_equal(r->process.hangs, 1);
    assert_int_equal(r->process.late_ns, 460 * MS);
    assert_int_equal(r->process.longest_begin_ns, 310 * MS);
    assert_int_equal(r->process.longest_ns, 280 * MS);
    assert_string_equal(r->process.longest_in, "0x2000");
}

static void a_report_has_the_peaks_and_the_place_of_the_longest_hitch(void **state)
{
    struct strobe_report_options options = {0};
    struct strobe_report *report;
    (void)state;
    make_session();
    if (strobe_report_session(temp_dir_path("session"), &options, &report, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    assert_process(report);
    assert_true(report->balanced);
    strobe_report_close(report);
}

static void a_report_of_the_trace_has_the_same_values(void **state)
{
    struct strobe_report_options options = {0};
    struct strobe_report *report;
    (void)state;
    make_session();
    convert("whole.pftrace", STROBE_FORMAT_PERFETTO, 0, 0);
    if (strobe_report_trace(temp_dir_path("whole.pftrace"), &options, &report, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    assert_process(report);
    assert_int_equal(report->warning_count, 0);
    assert_int_equal(report->thread_count, 1);
    for (size_t i = 0; i < report->fact_count; i++)
        assert_string_not_equal(report->facts[i].key, "thread"); /* fields of a hitch are not facts of the recording */
    strobe_report_close(report);
}

static void the_printed_report_has_the_values_and_hitches(void **state)
{
    struct strobe_report_options options = {0};
    struct strobe_report *report;
    char text[8192] = "";
    (void)state;
    make_session();
    assert_int_equal(strobe_report_session(temp_dir_path("session"), &options, &report, &error), STROBE_OK);
    FILE *f = fmemopen(text, sizeof text, "w");
    assert_non_null(f);
    strobe_report_print(report, f);
    fclose(f);
    strobe_report_close(report);
    assert_non_null(
        strstr(text, "used 50.0 % of a processor, at most 9000.0 MB, at most 4 threads at a time, 800 Mach traps\n"));
    assert_non_null(strstr(text, "run loop late: 3 hitches, 1 hangs, 460.00 ms in all; longest 280.00 ms at 310.00 ms, "
                                 "in 0x2000\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_has_every_value_with_its_unit_and_each_hitch_once),
        cmocka_unit_test(a_window_has_the_values_within_and_cuts_hitches_at_its_edges),
        cmocka_unit_test(a_session_without_series_has_no_such_tracks),
        cmocka_unit_test(chrome_json_has_counter_events_and_an_instant_for_each_hitch),
        cmocka_unit_test(a_report_has_the_peaks_and_the_place_of_the_longest_hitch),
        cmocka_unit_test(a_report_of_the_trace_has_the_same_values),
        cmocka_unit_test(the_printed_report_has_the_values_and_hitches),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
