/* Comparisons of hand-made sessions. */
#include "engine/trace/diff/diff.h"

#include "engine/trace/symbols/symbols.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const uint64_t MS = 1000000;

/* A session of a thread that spends rounds of 10 ms: `a_ms` of each in A, the rest in B, which A's caller calls. The
 * image lies at `load`. Every fourth round has `wait_ms` of waiting in A. */
struct app {
    const char *name;
    uint64_t load, rounds, a_ms, wait_ms;
    uint64_t jitter; /* A gets up to this much more, in us, by the round */
    uint32_t bytes;  /* that A allocates in a round */
    int section;     /* the first half of each round is a section */
};

static void write_sample(struct strobe_build *b, uint64_t ticks, uint32_t stack, uint32_t thread,
                         const struct strobe_metrics *metrics)
{
    strobe_build_record(b, (struct strobe_record){.ticks = ticks, .stack = stack, .thread = thread}, metrics);
}

/* A sample each ms, and one when A returns. */
static const char *write_app(struct app app)
{
    struct strobe_build b;
    struct strobe_config config = strobe_build_config();
    const char *path = temp_dir_path(app.name);
    const uint64_t outer = app.load + 0x110;
    strobe_build_begin(&b, path, &config);
    char image[64];
    snprintf(image, sizeof image, "/data/app/%s/libapp.so", app.name);
    strobe_build_image(&b, image, app.load, app.load + 0x10000);
    uint32_t t = strobe_build_thread(&b, 42, "main");
    uint32_t in_a = strobe_build_stack(&b, (uint64_t[]){outer, app.load + 0x210}, 2);
    uint32_t in_b = strobe_build_stack(&b, (uint64_t[]){outer, app.load + 0x310}, 2);
    uint64_t words[STROBE_ANNOTATION_WORDS];
    uint32_t name = strobe_build_stack(&b, words, strobe_annotation_pack("load", words)),
             random = (uint32_t)app.load | 1;
    for (uint64_t round = 0; round < app.rounds; round++) {
        uint64_t begin = 10 * MS * round, a_ns = app.a_ms * MS;
        struct strobe_metrics metrics = {.alloc_bytes = app.bytes * round, .alloc_count = round};
        random = random * 1664525u + 1013904223u;
        a_ns += app.jitter ? (random >> 8) % app.jitter * 1000 : 0;
        for (uint64_t at = 0, b_seen = 0; at < 10 * MS; at += MS) {
            if (app.wait_ms && round % 4 == 0 && at > MS && at < (1 + app.wait_ms) * MS)
                continue;
            if (at >= a_ns && !b_seen++)
                write_sample(&b, begin + a_ns, in_b, t, NULL);
            else
                write_sample(&b, begin + at, at < a_ns ? in_a : in_b, t, app.bytes && !at ? &metrics : NULL);
        }
        if (app.section)
            strobe_build_record(&b,
                                (struct strobe_record){.ticks = begin,
                                                       .duration = 5 * MS,
                                                       .thread = t,
                                                       .arg = 1,
                                                       .stack = name,
                                                       .kind = STROBE_KIND_ANNOTATION,
                                                       .cpu_span_ns = STROBE_ANNOTATION_BEGIN},
                                NULL);
        if (app.wait_ms && round % 4 == 0)
            strobe_build_record(&b,
                                (struct strobe_record){.ticks = begin + MS,
                                                       .duration = app.wait_ms * MS,
                                                       .stack = in_a,
                                                       .thread = t,
                                                       .kind = STROBE_KIND_READ,
                                                       .flags = STROBE_FLAG_SCOPE},
                                NULL);
    }
    strobe_build_end(&b, 10 * MS * app.rounds);
    return path;
}

static struct strobe_diff diff;

static void add_side(unsigned side, const char *const *paths, uint32_t count)
{
    struct strobe_error error = {""};
    for (uint32_t i = 0; i < count; i++)
        if (strobe_diff_add(&diff, side, paths[i], &error) != STROBE_OK)
            fail_msg("%s: %s", paths[i], error.text);
}

static void compare_all(const struct strobe_diff_options *options, const char *const *base, uint32_t base_count,
                        const char *const *new, uint32_t new_count)
{
    strobe_diff_open(&diff, options, base_count, new_count);
    add_side(STROBE_DIFF_BASE, base, base_count);
    add_side(STROBE_DIFF_NEW, new, new_count);
    assert_int_equal(strobe_diff_compare(&diff), STROBE_OK);
}

static void compare_two(const char *base, const char *new, int whole)
{
    compare_all(&(struct strobe_diff_options){.whole = whole}, &base, 1, &new, 1);
}

static const struct strobe_diff_row *row_named(enum strobe_diff_table table, const char *name)
{
    for (size_t i = 0; i < diff.row_count; i++)
        if (diff.rows[i].table == table && !strcmp(diff.rows[i].name, name))
            return &diff.rows[i];
    fail_msg("table %d has no row %s", (int)table, name);
    return NULL;
}

static void expect_ms(double ns, double ms)
{
    if (fabs(ns / 1e6 - ms) > 0.5)
        fail_msg("%.3f ms, expected %.3f ms", ns / 1e6, ms);
}

/* Names of functions without symbols: their place in the file. */
#define CALLER "libapp.so+0x110"
#define A      "libapp.so+0x210"
#define B      "libapp.so+0x310"

static int close_comparison(void **state)
{
    (void)state;
    strobe_diff_close(&diff);
    return 0;
}

static void methods_are_matched_by_name_and_image_wherever_they_are_loaded(void **state)
{
    (void)state;
    compare_two(write_app((struct app){.name = "a", .load = 0x10000, .rounds = 200, .a_ms = 4}),
                write_app((struct app){.name = "b", .load = 0x7f0000000000, .rounds = 200, .a_ms = 4}), 0);
    assert_int_equal(diff.real, 0);
    expect_ms(row_named(STROBE_DIFF_SELF_WALL, A)->mean[STROBE_DIFF_BASE], 400);
    expect_ms(row_named(STROBE_DIFF_SELF_WALL, A)->mean[STROBE_DIFF_NEW], 400);
    expect_ms(row_named(STROBE_DIFF_SELF_WALL, B)->mean[STROBE_DIFF_NEW], 600);
    expect_ms(row_named(STROBE_DIFF_TOTAL_WALL, CALLER)->mean[STROBE_DIFF_NEW], 1000);
    assert_string_equal(row_named(STROBE_DIFF_SELF_WALL, A)->image, "libapp.so");
}

static void two_captures_that_differ_are_called_different_by_their_parts(void **state)
{
    (void)state;
    compare_two(write_app((struct app){.name = "a", .load = 0x10000, .rounds = 200, .a_ms = 3, .jitter = 2000}),
                write_app((struct app){.name = "b", .load = 0x20000, .rounds = 200, .a_ms = 4, .jitter = 2000}), 0);
    const struct strobe_diff_row *a = row_named(STROBE_DIFF_SELF_WALL, A);
    assert_int_equal(diff.sides[STROBE_DIFF_BASE].block_count, 32);
    assert_true(a->real);
    assert_true(fabs(a->change.change - 100e6) < a->change.half_width);
    assert_true(a->change.half_width < 50e6);
    assert_true(row_named(STROBE_DIFF_SELF_WALL, B)->real);
    assert_false(row_named(STROBE_DIFF_TOTAL_WALL, CALLER)->real);
    assert_ptr_equal(strobe_diff_over(&diff, 20, 1)->name, a->name);
    assert_null(strobe_diff_over(&diff, 60, 0));
}

static void a_function_that_calls_itself_is_counted_once(void **state)
{
    static char paths[2][300];
    const char *const names[] = {"a", "b"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct strobe_build b;
        struct strobe_config config = strobe_build_config();
        snprintf(paths[i], sizeof paths[i], "%s", temp_dir_path(names[i]));
        strobe_build_begin(&b, paths[i], &config);
        strobe_build_image(&b, "/lib/libapp.so", 0x10000, 0x20000);
        uint32_t t = strobe_build_thread(&b, 42, "main");
        uint32_t id = strobe_build_stack(&b, (uint64_t[]){0x10210, 0x10110, 0x10210}, 3);
        for (uint64_t ms = 0; ms < 1000; ms++)
            write_sample(&b, ms * MS, id, t, NULL);
        strobe_build_end(&b, 1000 * MS);
    }
    compare_two(paths[0], paths[1], 0);
    expect_ms(row_named(STROBE_DIFF_TOTAL_WALL, A)->mean[STROBE_DIFF_NEW], 1000);
    expect_ms(row_named(STROBE_DIFF_SELF_WALL, A)->mean[STROBE_DIFF_NEW], 1000);
    expect_ms(row_named(STROBE_DIFF_TOTAL_WALL, CALLER)->mean[STROBE_DIFF_NEW], 1000);
    assert_true(row_named(STROBE_DIFF_SELF_WALL, A)->change.half_width < 1e6); /* each part of the time has its share */
}

static void captures_of_other_lengths_are_compared_by_the_second_or_as_wholes(void **state)
{
    const char *half = write_app((struct app){.name = "a", .load = 0x10000, .rounds = 100, .a_ms = 4});
    const char *whole = write_app((struct app){.name = "b", .load = 0x10000, .rounds = 200, .a_ms = 4});
    (void)state;
    compare_two(half, whole, 0);
    assert_int_equal(diff.real, 0);
    strobe_diff_close(&diff);
    compare_two(half, whole, 1);
    expect_ms(row_named(STROBE_DIFF_SELF_WALL, A)->mean[STROBE_DIFF_BASE], 400);
    expect_ms(row_named(STROBE_DIFF_SELF_WALL, A)->mean[STROBE_DIFF_NEW], 800);
    assert_true(row_named(STROBE_DIFF_SELF_WALL, A)->real);
    assert_true(fabs(strobe_diff_percent(row_named(STROBE_DIFF_SELF_WALL, A)) - 100) < 1);
}

static void captures_too_short_for_parts_are_not_decided(void **state)
{
    (void)state;
    compare_two(write_app((struct app){.name = "a", .load = 0x10000, .rounds = 15, .a_ms = 2}),
                write_app((struct app){.name = "b", .load = 0x10000, .rounds = 15, .a_ms = 8}), 0);
    assert_int_equal(diff.tested, 0);
    assert_int_equal(diff.real, 0);
    expect_ms(row_named(STROBE_DIFF_SELF_WALL, A)->mean[STROBE_DIFF_NEW], 800);
}

static void waits_are_compared_by_kind_and_place(void **state)
{
    (void)state;
    compare_two(write_app((struct app){.name = "a", .load = 0x10000, .rounds = 200, .a_ms = 6, .wait_ms = 2}),
                write_app((struct app){.name = "b", .load = 0x10000, .rounds = 200, .a_ms = 6, .wait_ms = 4}), 0);
    const struct strobe_diff_row *read = row_named(STROBE_DIFF_WAITS, "[read]");
    assert_string_equal(read->place, A);
    expect_ms(read->mean[STROBE_DIFF_BASE], 50);
    expect_ms(read->mean[STROBE_DIFF_NEW], 100);
    assert_true(fabs(read->calls[STROBE_DIFF_BASE] - 25) < 0.1);
    assert_true(read->real);
}

static void allocations_and_sections_are_compared(void **state)
{
    (void)state;
    compare_two(
        write_app((struct app){.name = "a", .load = 0x10000, .rounds = 200, .a_ms = 6, .bytes = 1000, .section = 1}),
        write_app((struct app){.name = "b", .load = 0x10000, .rounds = 200, .a_ms = 6, .bytes = 3000}), 0);
    const struct strobe_diff_row *bytes = &diff.rows[diff.table_begin[STROBE_DIFF_ALLOCS]];
    double all = 0;
    for (size_t i = diff.table_begin[STROBE_DIFF_ALLOCS]; i < diff.table_begin[STROBE_DIFF_ALLOCS + 1]; i++)
        all += diff.rows[i].mean[STROBE_DIFF_NEW];
    assert_true(bytes->real);
    assert_true(fabs(all - 300e3) < 6e3);
    expect_ms(row_named(STROBE_DIFF_SECTIONS, "load")->mean[STROBE_DIFF_BASE], 500);
    expect_ms(row_named(STROBE_DIFF_SECTIONS, "load")->mean[STROBE_DIFF_NEW], 0);
    assert_true(row_named(STROBE_DIFF_SECTIONS, "load")->real);
}

/* Writes a run of another length at another address; its path is copied to `path`. */
static void write_run(uint64_t number, uint64_t a_ms, char path[300])
{
    char name[16];
    snprintf(name, sizeof name, "run%d", (int)number);
    snprintf(path, 300, "%s",
             write_app((struct app){
                 .name = name, .load = 0x10000 * (number + 1), .rounds = 40 + number, .a_ms = a_ms, .jitter = 500}));
}

static void several_captures_are_judged_by_the_spread_between_them(void **state)
{
    static char paths[8][300];
    const char *const base[] = {paths[0], paths[1], paths[2], paths[3]};
    const char *const new[] = {paths[4], paths[5], paths[6], paths[7]};
    (void)state;
    for (uint64_t i = 0; i < 8; i++)
        write_run(i, i < 4 ? 4 : 5, paths[i]);
    compare_all(&(struct strobe_diff_options){0}, base, 4, new, 4);
    const struct strobe_diff_row *a = row_named(STROBE_DIFF_SELF_WALL, A);
    assert_int_equal(diff.sides[STROBE_DIFF_BASE].block_count, 0);
    assert_true(a->real);
    assert_true(fabs(a->change.change - 100e6) < a->change.half_width);
    assert_true(a->change.half_width < 20e6);
    strobe_diff_close(&diff);
    compare_all(&(struct strobe_diff_options){0}, base, 4, new, 1);
    a = row_named(STROBE_DIFF_SELF_WALL, A);
    assert_int_equal(diff.sides[STROBE_DIFF_NEW].block_count, 0);
    assert_true(a->tested && a->real);
    strobe_diff_close(&diff);
    compare_all(&(struct strobe_diff_options){0}, base, 2, base + 2, 2);
    assert_int_equal(diff.real, 0);
}

static void figures_are_amounts_or_means(void **state)
{
    const char *path = write_app((struct app){.name = "a", .load = 0x10000, .rounds = 50, .a_ms = 4});
    (void)state;
    strobe_diff_open(&diff, &(struct strobe_diff_options){0}, 1, 2);
    add_side(STROBE_DIFF_BASE, &path, 1);
    strobe_diff_add_figure(&diff, STROBE_DIFF_BASE, "frames", "", 1, 20);
    strobe_diff_add_figure(&diff, STROBE_DIFF_BASE, "frames", "", 1, 5);
    strobe_diff_add_figure(&diff, STROBE_DIFF_BASE, "start", "ns", 0, 2e6);
    for (int i = 0; i < 2; i++) {
        add_side(STROBE_DIFF_NEW, &path, 1);
        strobe_diff_add_figure(&diff, STROBE_DIFF_NEW, "start", "ns", 0, 3e6);
        strobe_diff_add_figure(&diff, STROBE_DIFF_NEW, "start", "ns", 0, 5e6 + i);
    }
    assert_int_equal(strobe_diff_compare(&diff), STROBE_OK);
    const struct strobe_diff_row *frames = row_named(STROBE_DIFF_FIGURES, "frames");
    const struct strobe_diff_row *start = row_named(STROBE_DIFF_FIGURES, "start");
    assert_true(fabs(frames->mean[STROBE_DIFF_BASE] - 50) < 0.01); /* 25 in half a second */
    assert_true(frames->mean[STROBE_DIFF_NEW] == 0);
    expect_ms(start->mean[STROBE_DIFF_BASE], 2);
    expect_ms(start->mean[STROBE_DIFF_NEW], 4);
    assert_true(start->real);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(methods_are_matched_by_name_and_image_wherever_they_are_loaded, close_comparison),
        cmocka_unit_test_teardown(two_captures_that_differ_are_called_different_by_their_parts, close_comparison),
        cmocka_unit_test_teardown(a_function_that_calls_itself_is_counted_once, close_comparison),
        cmocka_unit_test_teardown(captures_of_other_lengths_are_compared_by_the_second_or_as_wholes, close_comparison),
        cmocka_unit_test_teardown(captures_too_short_for_parts_are_not_decided, close_comparison),
        cmocka_unit_test_teardown(waits_are_compared_by_kind_and_place, close_comparison),
        cmocka_unit_test_teardown(allocations_and_sections_are_compared, close_comparison),
        cmocka_unit_test_teardown(several_captures_are_judged_by_the_spread_between_them, close_comparison),
        cmocka_unit_test_teardown(figures_are_amounts_or_means, close_comparison),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
