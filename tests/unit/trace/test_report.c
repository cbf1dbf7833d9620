/* Reports of hand-made sessions. Reports of traces made from random sessions equal the reports of these sessions. */
#include "engine/base/error.h"
#include "engine/trace/report/report.h"

#include "engine/trace/export/convert.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const uint64_t MS = 1000000;
enum { A = 0x1000, B = 0x2000, C = 0x3000 };

static struct strobe_build build;
static struct strobe_error error;

static void begin(void)
{
    struct strobe_config config = strobe_build_config();
    strobe_build_begin(&build, temp_dir_path("s.strobe"), &config);
}

static uint32_t stack(uint64_t outer, uint64_t inner)
{
    const uint64_t addresses[] = {outer, inner};
    return strobe_build_stack(&build, addresses, 2);
}

static void point(uint32_t thread, uint64_t ticks, uint32_t id)
{
    const struct strobe_record r = {.ticks = ticks, .thread = thread, .stack = id};
    strobe_build_record(&build, r, NULL);
}

static struct strobe_report *of_session(uint32_t top)
{
    struct strobe_report *r;
    const struct strobe_report_options options = {.top = top};
    if (strobe_report_session(temp_dir_path("s.strobe"), &options, &r, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    return r;
}

/* A method by the address that its placeholder holds. */
static const struct strobe_report_method *method(const struct strobe_report *r, uint64_t address)
{
    char name[32];
    snprintf(name, sizeof name, "0x%" PRIx64, address);
    for (size_t i = 0; i < r->method_count; i++)
        if (!strcmp(r->methods[i].name, name))
            return &r->methods[i];
    fail_msg("no method %s", name);
    return NULL;
}

static void print_text(const struct strobe_report *r, FILE *out)
{
    assert_int_equal(strobe_report_print(r, out), STROBE_OK);
}

static char *printed(const struct strobe_report *r, void (*print)(const struct strobe_report *, FILE *))
{
    char *text;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    assert_non_null(f);
    print(r, f);
    fclose(f);
    return text;
}

static void methods_get_the_time_between_their_samples(void **state)
{
    (void)state;
    begin();
    uint32_t t = strobe_build_thread(&build, 42, "main one");
    uint32_t ab = stack(A, B), ac = stack(A, C);
    point(t, 0, ab);
    point(t, 1 * MS, ab);
    point(t, 2 * MS, ac);
    point(t, 3 * MS, ac);
    strobe_build_end(&build, 4 * MS);
    struct strobe_report *r = of_session(10);
    assert_int_equal(method(r, A)->total_ns, 4 * MS);
    assert_int_equal(method(r, A)->self_ns, 0);
    assert_int_equal(method(r, B)->self_ns, 2 * MS);
    assert_int_equal(method(r, C)->self_ns, 2 * MS);
    assert_int_equal(r->thread_count, 1);
    assert_string_equal(r->threads[0].name, "main one");
    assert_int_equal(r->threads[0].wall_ns, 4 * MS);
    assert_int_equal(r->threads[0].samples, 4);
    assert_int_equal(r->pid, 4242);
    assert_true(r->closed && r->balanced);
    assert_int_equal(r->inclusive[0].total_ns, 4 * MS);
    strobe_report_close(r);
}

/* A hooked read, and a read and a futex that only the sampler saw. */
static void system_calls_that_the_sampler_saw_are_listed_with_the_blocking_calls(void **state)
{
    enum { X86 = 62, READ = 0, FUTEX = 202 };
    static const uint32_t numbers[] = {READ, FUTEX};
    (void)state;
    begin();
    uint32_t t = strobe_build_thread(&build, 42, "waiter"), ab = stack(A, B);
    struct strobe_record r = {
        .duration = 2 * MS, .thread = t, .stack = ab, .kind = STROBE_KIND_READ, .flags = STROBE_FLAG_SCOPE};
    strobe_build_record(&build, r, NULL);
    for (uint64_t i = 0; i < 4; i++) {
        r = (struct strobe_record){.ticks = (2 + 10 * i) * MS,
                                   .cpu_ns = i * MS,
                                   .thread = t,
                                   .stack = ab,
                                   .kind = STROBE_KIND_CPU,
                                   .flags = STROBE_FLAG_CPU | STROBE_FLAG_GAVE_WAY};
        strobe_build_record(&build, r, NULL);
        r = (struct strobe_record){.ticks = (7 + 10 * i) * MS,
                                   .arg = strobe_wait_call(X86, numbers[i / 2 % 2]),
                                   .thread = t,
                                   .kind = STROBE_KIND_COUNTER,
                                   .cpu_span_ns = STROBE_SERIES_WAIT_CALL};
        strobe_build_record(&build, r, NULL);
    }
    strobe_build_end(&build, 33 * MS);
    struct strobe_report *report = of_session(10);
    assert_int_equal(report->wait_kind_count, 2);
    assert_string_equal(report->wait_kinds[0].kind, "[read]");
    assert_int_equal(report->wait_kinds[0].duration_ns, 20 * MS);
    assert_int_equal(report->wait_kinds[0].count, 3);
    assert_string_equal(report->wait_kinds[1].kind, "[futex]");
    assert_int_equal(report->wait_kinds[1].duration_ns, 9 * MS);
    assert_int_equal(report->threads[0].wait_ns, 2 * MS);
    assert_int_equal(report->threads[0].off_ns, 27 * MS);
    strobe_report_close(report);
}

static void blocking_calls_are_listed_with_their_callers(void **state)
{
    (void)state;
    begin();
    uint32_t t = strobe_build_thread(&build, 42, "waiter");
    uint32_t ab = stack(A, B);
    point(t, 0, ab);
    struct strobe_record wait = {.ticks = 1 * MS,
                                 .duration = 2 * MS,
                                 .thread = t,
                                 .stack = ab,
                                 .arg = 0xabcd,
                                 .kind = STROBE_KIND_MUTEX,
                                 .flags = STROBE_FLAG_SCOPE};
    strobe_build_record(&build, wait, NULL);
    wait = (struct strobe_record){.ticks = 4 * MS,
                                  .duration = 1 * MS,
                                  .thread = t,
                                  .stack = ab,
                                  .kind = STROBE_KIND_READ,
                                  .flags = STROBE_FLAG_SCOPE};
    strobe_build_record(&build, wait, NULL);
    strobe_build_end(&build, 6 * MS);
    struct strobe_report *r = of_session(10);
    assert_int_equal(r->wait_count, 2);
    assert_int_equal(r->waits[0].duration_ns, 2 * MS);
    assert_int_equal(r->waits[0].begin_ns, 1 * MS);
    assert_int_equal(r->waits[0].arg, 0xabcd);
    assert_int_equal(r->waits[0].tid, 42);
    assert_string_equal(r->waits[0].thread, "waiter");
    assert_string_equal(r->waits[0].method, "0x2000");
    assert_string_equal(r->waits[0].kind, "[mutex wait]");
    assert_int_equal(r->wait_kind_count, 2);
    assert_int_equal(r->threads[0].wait_ns, 3 * MS);
    assert_int_equal(method(r, B)->self_ns, 3 * MS);
    char *text = printed(r, print_text);
    assert_non_null(strstr(text, "[mutex wait]"));
    assert_non_null(strstr(text, "3 samples, none lost; the accounting is consistent"));
    assert_null(strstr(text, "The accounting is consistent"));
    free(text);
    r->options.verbose = 1;
    text = printed(r, print_text);
    assert_non_null(strstr(text, "The accounting is consistent"));
    free(text);
    strobe_report_close(r);
}

static void inconsistent_accounting_is_reported(void **state)
{
    (void)state;
    begin();
    uint32_t t = strobe_build_thread(&build, 42, "t");
    point(t, 0, stack(A, B));
    strobe_bump(&build.session.threads[t].account[STROBE_KIND_ALLOC].requests, 7);
    strobe_build_end(&build, 1 * MS);
    struct strobe_report *r = of_session(10);
    assert_false(r->balanced);
    assert_true(strlen(r->verdict) > 0);
    char *text = printed(r, print_text), *json = printed(r, strobe_report_print_json);
    assert_non_null(strstr(text, "THE ACCOUNTING IS NOT CONSISTENT: "));
    assert_non_null(strstr(json, "\"balanced\": false"));
    free(text);
    free(json);
    strobe_report_close(r);
}

static void the_durations_of_stops_are_reported_in_both_forms(void **state)
{
    (void)state;
    begin();
    point(strobe_build_thread(&build, 42, "t"), 0, stack(A, B));
    strobe_bump(&build.session.header->async_passes, 100);
    for (uint64_t i = 0; i < 100; i++)
        strobe_stops_add(&build.session.header->stops, i < 60 ? 4096 : i < 99 ? 65536 : 1000000);
    strobe_build_end(&build, 1 * MS);
    struct strobe_report *r = of_session(10);
    assert_int_equal(r->stops.count, 100);
    assert_in_range(r->stops.median, 4096, 4096 + 4096 / 16);
    assert_in_range(r->stops.percentile_99, 65536, 65536 + 65536 / 16);
    assert_int_equal(r->stops.longest, 1000000);
    r->options.verbose = 1;
    char *text = printed(r, print_text), *json = printed(r, strobe_report_print_json);
    assert_non_null(strstr(text, "threads stood 100 times: 4.4 us (median), 69.6 us (99 %), 1.00 ms at most\n"));
    assert_non_null(strstr(json, "\"count\": 100,\n      \"median_ns\": 4352,\n      \"p99_ns\": 69632,\n"
                                 "      \"longest_ns\": 1000000\n"));
    free(text);
    free(json);
    strobe_report_close(r);
}

static void what_a_capture_says_of_its_features_and_of_lost_native_frames_is_reported(void **state)
{
    (void)state;
    struct strobe_config config = strobe_build_config();
    config.names_bytes = STROBE_NAMES_BYTES_MIN;
    strobe_build_begin(&build, temp_dir_path("s.strobe"), &config);
    point(strobe_build_thread(&build, 42, "t"), 0, stack(A, B));
    strobe_names_add(&build.session.names, 1, "monitors: off, why", 18, STROBE_NAME_NOTE);
    strobe_add_relaxed(&build.session.header->native_gaps, 7);
    strobe_build_end(&build, 1 * MS);
    struct strobe_report *r = of_session(10);
    char *text = printed(r, print_text), *json = printed(r, strobe_report_print_json);
    assert_non_null(strstr(text, "1 samples, none lost, 7 without outer native frames; the accounting"));
    assert_null(strstr(text, "feature: "));
    assert_non_null(strstr(json, "\"native_gaps\": 7,"));
    assert_non_null(strstr(json, "\"monitors: off, why\""));
    free(text);
    free(json);
    r->options.verbose = 1;
    text = printed(r, print_text);
    assert_non_null(strstr(text, "\nfeature: monitors: off, why\n"));
    assert_non_null(strstr(text, "\nstacks whose native frames outside of managed ones were not found: 7\n"));
    free(text);
    strobe_report_close(r);
}

static void a_killed_program_and_missing_files_are_warned_of(void **state)
{
    (void)state;
    begin();
    uint32_t t = strobe_build_thread(&build, 42, "t");
    strobe_build_image(&build, "/no/such/library.so", 0, 0x10000);
    point(t, 0, stack(A, B));
    point(t, 1 * MS, stack(A, B));
    strobe_build_kill(&build);
    struct strobe_report *r = of_session(10);
    assert_false(r->closed);
    assert_int_equal(r->warning_count, 2);
    assert_non_null(strstr(r->warnings[0], "/no/such/library.so: file is missing"));
    assert_non_null(strstr(r->warnings[1], "did not end normally"));
    strobe_report_close(r);
}

static void the_top_holds_the_first_of_every_ranking(void **state)
{
    (void)state;
    begin();
    uint32_t t = strobe_build_thread(&build, 42, "t");
    /* One root above 40 leaves, the k-th of which lasts k + 1 samples. */
    uint64_t now = 0;
    for (uint64_t k = 0; k < 40; k++)
        for (uint64_t i = 0; i <= k; i++, now += MS)
            point(t, now, stack(A, 0x5000 + 0x100 * k));
    strobe_build_end(&build, now);
    struct strobe_report *r = of_session(3);
    assert_int_equal(r->method_count_in_all, 41);
    assert_int_equal(r->method_count, 4); /* three leaves by self time; the root by inclusive time */
    assert_int_equal(r->methods[0].self_ns, 40 * MS);
    assert_int_equal(r->methods[1].self_ns, 39 * MS);
    assert_int_equal(r->methods[2].self_ns, 38 * MS);
    assert_int_equal(r->inclusive[0].total_ns, 820 * MS);
    strobe_report_close(r);
    r = of_session(0);
    assert_int_equal(r->method_count, 41);
    strobe_report_close(r);
}

static void long_names_are_cut_to_a_terminal_and_nowhere_else(void **state)
{
    (void)state;
    static char long_name[300];
    memset(long_name, 'n', sizeof long_name - 1);
    struct strobe_report_method m = {.name = long_name, .image = "/lib/libx.so", .self_ns = 5, .total_ns = 5};
    struct strobe_report_wait w = {.kind = "[read]", .thread = "t", .method = long_name, .arg = UINT64_MAX};
    struct strobe_report r = {.source = "trace",
                              .command = "",
                              .exe = "",
                              .methods = &m,
                              .inclusive = &m,
                              .method_count = 1,
                              .method_count_in_all = 1,
                              .waits = &w,
                              .wait_count = 1,
                              .wait_kinds = &w,
                              .wait_kind_count = 1,
                              .balanced = 1};
    char *whole = printed(&r, print_text);
    assert_non_null(strstr(whole, long_name));
    free(whole);
    r.options.width = 120;
    char *cut = printed(&r, print_text);
    assert_null(strstr(cut, long_name));
    assert_non_null(strstr(cut, "  ...nnn"));
    for (char *line = strtok(cut, "\n"); line; line = strtok(NULL, "\n"))
        assert_true(strlen(line) <= 120);
    free(cut);
    m.name = "web::Server::operator()(std::function<void (int)> const&, unsigned long) const";
    cut = printed(&r, print_text);
    assert_non_null(strstr(cut, "  web::Server::operator()()  [libx.so]"));
    free(cut);
}

static void names_give_a_terminal_no_commands(void **state)
{
    (void)state;
    begin();
    uint32_t t = strobe_build_thread(&build, 42, "\033[31mred\177\r");
    point(t, 0, stack(A, B));
    strobe_build_end(&build, MS);
    struct strobe_report *r = of_session(10);
    char *text = printed(r, print_text), *json = printed(r, strobe_report_print_json);
    assert_non_null(strstr(text, "?[31mred??"));
    assert_null(strchr(text, 033));
    assert_non_null(strstr(json, "\\u001b[31mred"));
    assert_null(strchr(json, 033));
    free(text);
    free(json);
    strobe_report_close(r);
}

static void a_session_of_nothing_has_a_report(void **state)
{
    (void)state;
    begin();
    strobe_build_end(&build, 0);
    struct strobe_report *r = of_session(10);
    assert_int_equal(r->thread_count + r->method_count + r->wait_count, 0);
    assert_true(r->balanced);
    free(printed(r, print_text));
    free(printed(r, strobe_report_print_json));
    strobe_report_close(r);
}

/* ---- a trace has the same report as its session */

static void random_session(uint64_t *random)
{
    begin();
    uint32_t threads = 1 + strobe_trial_below(random, 4);
    for (uint32_t t = 0; t < threads; t++) {
        char name[16];
        snprintf(name, sizeof name, "t%" PRIu32, t);
        strobe_build_thread(&build, 100 + t, name);
        uint64_t now = strobe_trial_below(random, 5000000), cpu = 1000, before = now;
        uint64_t ticks = strobe_trial_below(random, 2);
        for (uint32_t n = strobe_trial_below(random, 60); n; n--) {
            uint64_t addresses[12];
            uint32_t depth = 1 + strobe_trial_below(random, 12);
            for (uint32_t d = 0; d < depth; d++)
                addresses[d] = 0x1000 * (1 + strobe_trial_below(random, 4));
            struct strobe_record r = {.ticks = now,
                                      .thread = t,
                                      .flags = STROBE_FLAG_CPU,
                                      .stack = strobe_build_stack(&build, addresses, depth)};
            if (strobe_trial_below(random, 3) == 0) {
                r.kind = (uint8_t)(STROBE_KIND_MUTEX + strobe_trial_below(random, 10));
                r.flags |= STROBE_FLAG_SCOPE;
                r.duration = 1 + strobe_trial_below(random, 3000000);
                r.arg = strobe_trial_random(random) >> strobe_trial_below(random, 64);
                if (strobe_trial_below(random, 2)) {
                    r.flags |= STROBE_FLAG_ASKED;
                    r.duration = 1 + strobe_trial_below(random, 20000);
                }
            } else if (ticks && strobe_trial_below(random, 2)) {
                r.kind = STROBE_KIND_CPU;
            } else if (strobe_trial_below(random, 3) == 0) {
                r.count = 2 + strobe_trial_below(random, 5);
                r.duration = r.count * (1 + strobe_trial_below(random, 800000));
            }
            now += r.duration + (strobe_trial_below(random, 8) ? 1 + strobe_trial_below(random, 2000000) : 30 * MS);
            uint64_t most = r.ticks - before;
            uint64_t some = strobe_trial_below(random, most < MS ? most + 1 : MS);
            uint64_t off = strobe_trial_below(random, most < 300000 ? most + 1 : 300000);
            cpu += strobe_trial_below(random, 4) ? some : most - off;
            before = r.ticks;
            r.cpu_ns = cpu;
            strobe_build_record(&build, r, NULL);
        }
    }
    if (strobe_trial_below(random, 4))
        strobe_build_end(&build, 400 * MS);
    else
        strobe_build_kill(&build);
}

static struct strobe_report *of_part(int deflate, uint64_t from_ns, uint64_t to_ns)
{
    struct strobe_report *r = NULL;
    const struct strobe_report_options options = {.top = 0};
    const struct strobe_convert_options how = {
        .format = STROBE_FORMAT_PERFETTO, .deflate = deflate, .replace = 1, .from_ns = from_ns, .to_ns = to_ns};
    const char *session = temp_dir_path("s.strobe"), *trace = temp_dir_path("s.perfetto-trace");
    if (strobe_convert(session, trace, &how, NULL, &error) != STROBE_OK ||
        strobe_report_trace(trace, &options, &r, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    return r;
}

static struct strobe_report *of_trace(int deflate)
{
    return of_part(deflate, 0, 0);
}

static const struct strobe_report_thread *thread_of(const struct strobe_report *r, uint32_t tid)
{
    for (size_t i = 0; i < r->thread_count; i++)
        if (r->threads[i].tid == tid)
            return &r->threads[i];
    return NULL;
}

static void compare(const struct strobe_report *s, const struct strobe_report *t)
{
    assert_int_equal(s->method_count, t->method_count);
    for (size_t i = 0; i < s->method_count; i++) {
        const struct strobe_report_method *x = &s->methods[i], *y = &t->methods[i];
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->self_ns, y->self_ns);
        assert_int_equal(x->total_ns, y->total_ns);
        assert_int_equal(x->self_cpu_ns, y->self_cpu_ns);
        assert_int_equal(x->total_cpu_ns, y->total_cpu_ns);
        assert_int_equal(x->slices, y->slices);
    }
    for (size_t i = 0; i < s->thread_count; i++) {
        const struct strobe_report_thread *x = &s->threads[i], *y = thread_of(t, x->tid);
        if (!x->slices) {
            assert_null(y);
            continue;
        }
        assert_non_null(y);
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->wall_ns, y->wall_ns);
        assert_int_equal(x->cpu_ns, y->cpu_ns);
        assert_int_equal(x->wait_ns, y->wait_ns);
        assert_int_equal(x->gap_ns, y->gap_ns);
        assert_int_equal(x->samples, y->samples);
        assert_int_equal(x->slices, y->slices);
    }
    assert_int_equal(s->wait_kind_count, t->wait_kind_count);
    for (size_t i = 0; i < s->wait_kind_count; i++) {
        assert_string_equal(s->wait_kinds[i].kind, t->wait_kinds[i].kind);
        assert_int_equal(s->wait_kinds[i].duration_ns, t->wait_kinds[i].duration_ns);
        assert_int_equal(s->wait_kinds[i].count, t->wait_kinds[i].count);
    }
    assert_int_equal(s->wait_count, t->wait_count);
    for (size_t i = 0; i < s->wait_count; i++) {
        assert_int_equal(s->waits[i].duration_ns, t->waits[i].duration_ns);
        assert_int_equal(s->waits[i].arg, t->waits[i].arg);
        assert_int_equal(s->waits[i].tid, t->waits[i].tid);
        assert_string_equal(s->waits[i].kind, t->waits[i].kind);
        assert_string_equal(s->waits[i].method, t->waits[i].method);
    }
}

/* From a thread's first sample on, each moment is in a method, in a wait, off the processor or unseen. */
static void adds_up(const struct strobe_report *r)
{
    uint64_t whole = 0, parts = 0;
    for (size_t i = 0; i < r->thread_count; i++) {
        const struct strobe_report_thread *t = &r->threads[i];
        whole += t->wall_ns;
        parts += t->wait_ns + t->gap_ns + t->off_ns;
    }
    for (size_t i = 0; i < r->method_count; i++)
        parts += r->methods[i].self_ns;
    assert_int_equal(parts, whole);
}

static void a_trace_reports_the_numbers_of_its_session(void **state)
{
    (void)state;
    uint64_t random = strobe_trial_seed("test_report");
    for (uint32_t round = strobe_trial_rounds(150); round; round--) {
        random_session(&random);
        struct strobe_report *s = of_session(0), *t = of_trace((int)(round & 1));
        compare(s, t);
        adds_up(s);
        assert_int_equal(t->warning_count, !s->closed);
        strobe_report_close(s);
        strobe_report_close(t);
    }
}

/* Adds the part's times to sums by method, in the order of the whole report's methods. */
static void add_part(const struct strobe_report *whole, const struct strobe_report *part, uint64_t *sums)
{
    for (size_t i = 0; i < part->method_count; i++) {
        size_t k = 0;
        while (k < whole->method_count && strcmp(whole->methods[k].name, part->methods[i].name))
            k++;
        assert_true(k < whole->method_count);
        sums[4 * k] += part->methods[i].self_ns;
        sums[4 * k + 1] += part->methods[i].total_ns;
        sums[4 * k + 2] += part->methods[i].self_cpu_ns;
        sums[4 * k + 3] += part->methods[i].total_cpu_ns;
    }
}

static void close_to(uint64_t a, uint64_t b, uint64_t far)
{
    assert_true(a <= b ? b - a <= far : a - b <= far);
}

/* The reports of a timeline's parts add up to the report of the whole: nothing is lost or doubled at the edges. CPU
 * time at an edge is interpolated, to whole ns for each thread. */
static void parts_of_a_timeline_add_up_to_it(void **state)
{
    (void)state;
    uint64_t random = strobe_trial_seed("test_report");
    for (uint32_t round = strobe_trial_rounds(60); round; round--) {
        random_session(&random);
        struct strobe_report *whole = of_trace(0);
        uint64_t *sums = calloc(4 * whole->method_count + 1, sizeof *sums);
        uint64_t samples = 0, waits = 0, from = 0, parts = 0;
        assert_non_null(sums);
        while (from < 400 * MS) {
            uint64_t to = from + 1 + strobe_trial_below(&random, 60 * 1000000);
            struct strobe_report *part = of_part((int)(round & 1), from, to >= 400 * MS ? 0 : to);
            add_part(whole, part, sums);
            for (size_t i = 0; i < part->thread_count; i++) {
                samples += part->threads[i].samples;
                waits += part->threads[i].wait_ns;
            }
            assert_int_equal(part->warning_count, whole->warning_count);
            strobe_report_close(part);
            parts++;
            from = to;
        }
        uint64_t all_samples = 0, all_waits = 0;
        for (size_t i = 0; i < whole->thread_count; i++) {
            all_samples += whole->threads[i].samples;
            all_waits += whole->threads[i].wait_ns;
        }
        assert_int_equal(waits, all_waits);
        assert_int_equal(samples, all_samples);
        for (size_t k = 0; k < whole->method_count; k++) {
            assert_int_equal(sums[4 * k], whole->methods[k].self_ns);
            assert_int_equal(sums[4 * k + 1], whole->methods[k].total_ns);
            close_to(sums[4 * k + 2], whole->methods[k].self_cpu_ns, 4 * parts * whole->thread_count);
            close_to(sums[4 * k + 3], whole->methods[k].total_cpu_ns, 4 * parts * whole->thread_count);
        }
        free(sums);
        strobe_report_close(whole);
    }
}

static void cpu_time_at_the_edge_of_a_part_is_interpolated(void **state)
{
    (void)state;
    begin();
    uint32_t t = strobe_build_thread(&build, 42, "t"), ab = stack(A, B);
    struct strobe_record r = {.ticks = 0, .thread = t, .stack = ab, .flags = STROBE_FLAG_CPU, .cpu_ns = 0};
    strobe_build_record(&build, r, NULL);
    r.ticks = 4 * MS;
    r.stack = stack(A, C);
    r.cpu_ns = 2 * MS;
    strobe_build_record(&build, r, NULL);
    strobe_build_end(&build, 5 * MS);
    struct strobe_report *part = of_part(0, 1 * MS, 3 * MS);
    assert_int_equal(part->thread_count, 1);
    assert_int_equal(part->threads[0].wall_ns, 2 * MS);
    assert_int_equal(part->threads[0].cpu_ns, 1 * MS);
    assert_int_equal(part->threads[0].samples, 0);
    assert_int_equal(method(part, B)->self_cpu_ns, 1 * MS);
    strobe_report_close(part);
    part = of_part(0, 6 * MS, 7 * MS);
    assert_int_equal(part->thread_count, 0);
    strobe_report_close(part);
}

static void failures_name_what_was_expected(void **state)
{
    (void)state;
    struct strobe_report *r;
    const struct strobe_report_options options = {.top = 1};
    temp_dir_write("x", "nonsense", 8, 0644);
    assert_int_not_equal(strobe_report_session(temp_dir_path("x"), &options, &r, &error), STROBE_OK);
    assert_null(r);
    assert_non_null(strstr(error.text, "expected"));
    assert_int_equal(strobe_report_trace(temp_dir_path("x"), &options, &r, &error), STROBE_BAD_INPUT);
    assert_null(r);
    assert_non_null(strstr(error.text, "not a Strobe session or a Perfetto trace"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_get_the_time_between_their_samples),
        cmocka_unit_test(system_calls_that_the_sampler_saw_are_listed_with_the_blocking_calls),
        cmocka_unit_test(blocking_calls_are_listed_with_their_callers),
        cmocka_unit_test(inconsistent_accounting_is_reported),
        cmocka_unit_test(the_durations_of_stops_are_reported_in_both_forms),
        cmocka_unit_test(what_a_capture_says_of_its_features_and_of_lost_native_frames_is_reported),
        cmocka_unit_test(a_killed_program_and_missing_files_are_warned_of),
        cmocka_unit_test(the_top_holds_the_first_of_every_ranking),
        cmocka_unit_test(long_names_are_cut_to_a_terminal_and_nowhere_else),
        cmocka_unit_test(names_give_a_terminal_no_commands),
        cmocka_unit_test(a_session_of_nothing_has_a_report),
        cmocka_unit_test(a_trace_reports_the_numbers_of_its_session),
        cmocka_unit_test(parts_of_a_timeline_add_up_to_it),
        cmocka_unit_test(cpu_time_at_the_edge_of_a_part_is_interpolated),
        cmocka_unit_test(failures_name_what_was_expected),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
