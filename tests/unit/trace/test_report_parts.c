/* Parts of a report: the shares of stacks in a thread's allocations, and the times of callers and callees. */
#include "engine/base/error.h"
#include "engine/trace/model/allocations.h"
#include "engine/trace/report/breakdown.h"

#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const uint64_t MS = 1000000;
enum { MAIN = 0x100, A = 0x200, B = 0x300, C = 0x400, MALLOC = 0x500, NEW = 0x600 };

static size_t resolve(void *ctx, uint64_t address, struct strobe_symbol *out, size_t max)
{
    static const char *const names[] = {"", "main", "a", "b", "c(int)", "malloc", "operator new(unsigned long)"};
    (void)ctx, (void)max;
    *out = (struct strobe_symbol){.function = names[address >> 8],
                                  .image = "/bin/app",
                                  .file = "",
                                  .function_id = (uint32_t)address,
                                  .function_address = address};
    return 1;
}

static struct strobe_build build;
static struct strobe_reader *reader;
static struct strobe_function_tree *tree;
static struct strobe_allocation_sum sum;
static uint32_t thread;

static void begin(void)
{
    struct strobe_config config = strobe_build_config();
    strobe_build_begin(&build, temp_dir_path("s.strobe"), &config);
    thread = strobe_build_thread(&build, 42, "t");
}

/* A sample at `ms`; the total so far is known when it is not 0. `path` ends with 0. */
static void sample(uint64_t ms, enum strobe_kind kind, uint64_t total, const uint64_t *path)
{
    uint32_t depth = 0;
    while (path[depth])
        depth++;
    const struct strobe_metrics metrics = {.alloc_bytes = total, .alloc_count = total / 10};
    const struct strobe_record r = {
        .ticks = ms * MS, .thread = thread, .kind = (uint8_t)kind, .stack = strobe_build_stack(&build, path, depth)};
    strobe_build_record(&build, r, total ? &metrics : NULL);
}

#define PATH(...) ((const uint64_t[]){__VA_ARGS__, 0})

static void add(uint64_t from_ms, uint64_t to_ms)
{
    struct strobe_error error;
    strobe_build_end(&build, 100 * MS);
    assert_int_equal(strobe_reader_open(temp_dir_path("s.strobe"), &reader, &error), STROBE_OK);
    assert_int_equal(strobe_function_tree_open(&reader->session.stacks,
                                               (struct strobe_resolver){.resolve = resolve, .ctx = NULL}, &tree),
                     STROBE_OK);
    sum = (struct strobe_allocation_sum){0};
    assert_int_equal(
        strobe_allocations_add(&sum, reader, &reader->threads[0], tree, from_ms * MS, to_ms ? to_ms * MS : UINT64_MAX),
        STROBE_OK);
}

static void end(void)
{
    strobe_allocations_free(&sum);
    strobe_function_tree_close(tree);
    strobe_reader_close(reader);
}

/* Bytes of the path. */
static uint64_t bytes_of(const uint64_t *path)
{
    uint32_t node = 0;
    for (; *path; path++) {
        const uint32_t *names;
        uint32_t first;
        assert_int_equal(strobe_function_tree_at(tree, *path, &names, &first), 1);
        node = strobe_function_tree_child(tree, node, names[0]);
    }
    return node < sum.node_room ? sum.of_node[node].bytes : 0;
}

static void what_lies_between_known_totals_is_shared_by_the_samples_of_allocations(void **state)
{
    (void)state;
    begin();
    sample(0, STROBE_KIND_CPU, 1000, PATH(MAIN, C));
    sample(1, STROBE_KIND_ALLOC, 0, PATH(MAIN, A));
    sample(2, STROBE_KIND_ALLOC, 0, PATH(MAIN, A));
    sample(3, STROBE_KIND_ALLOC, 0, PATH(MAIN, B));
    sample(4, STROBE_KIND_CPU, 4000, PATH(MAIN, C));
    sample(5, STROBE_KIND_CPU, 4000, PATH(MAIN, C));
    add(0, 0);
    assert_int_equal(sum.all.bytes, 3000);
    assert_int_equal(sum.all.count, 300);
    assert_int_equal(bytes_of(PATH(MAIN, A)), 2000);
    assert_int_equal(bytes_of(PATH(MAIN, B)), 1000);
    assert_int_equal(bytes_of(PATH(MAIN, C)), 0);
    assert_int_equal(sum.unplaced.bytes, 0);
    end();
}

static void what_no_sample_shows_goes_to_the_next_one_that_does(void **state)
{
    (void)state;
    begin();
    sample(0, STROBE_KIND_CPU, 1000, PATH(MAIN, C));
    sample(1, STROBE_KIND_CPU, 2000, PATH(MAIN, C));
    sample(2, STROBE_KIND_CPU, 2500, PATH(MAIN, A, MALLOC));
    sample(3, STROBE_KIND_CPU, 2700, PATH(MAIN, B));
    add(0, 0);
    assert_int_equal(sum.all.bytes, 1700);
    assert_int_equal(bytes_of(PATH(MAIN, A)), 1500);
    assert_int_equal(sum.unplaced.bytes, 200);
    assert_int_equal(sum.unplaced.count, 20);
    end();
}

static void a_stack_counts_up_to_the_caller_of_the_outermost_allocating_function(void **state)
{
    (void)state;
    begin();
    sample(0, STROBE_KIND_CPU, 1000, PATH(MAIN, C));
    sample(1, STROBE_KIND_CPU, 2000, PATH(MAIN, A, NEW, MALLOC));
    sample(2, STROBE_KIND_ALLOC, 3000, PATH(MAIN, B, NEW));
    sample(3, STROBE_KIND_CPU, 4000, PATH(MAIN, MALLOC, C));
    add(0, 0);
    assert_int_equal(bytes_of(PATH(MAIN, A)), 1000);
    assert_int_equal(bytes_of(PATH(MAIN, B)), 1000);
    assert_int_equal(bytes_of(PATH(MAIN)), 1000);
    end();
}

static void a_part_of_the_time_has_what_became_known_in_it(void **state)
{
    (void)state;
    begin();
    for (uint64_t i = 0; i < 10; i++)
        sample(i, STROBE_KIND_ALLOC, 1000 + 100 * i, PATH(MAIN, i < 5 ? A : B));
    add(3, 7);
    assert_int_equal(sum.all.bytes, 400);
    assert_int_equal(bytes_of(PATH(MAIN, A)), 200);
    assert_int_equal(bytes_of(PATH(MAIN, B)), 200);
    end();
}

static void a_function_that_calls_itself_has_the_total_once(void **state)
{
    struct strobe_allocations_by_name by_name;
    const uint32_t *names;
    uint32_t first;
    (void)state;
    begin();
    sample(0, STROBE_KIND_CPU, 1000, PATH(MAIN));
    sample(1, STROBE_KIND_ALLOC, 1600, PATH(MAIN, A, B, A));
    add(0, 0);
    assert_int_equal(strobe_allocations_by_name(&sum, tree, &by_name), STROBE_OK);
    strobe_function_tree_at(tree, A, &names, &first);
    assert_int_equal(by_name.self[names[0]].bytes, 600);
    assert_int_equal(by_name.total[names[0]].bytes, 600);
    strobe_function_tree_at(tree, B, &names, &first);
    assert_int_equal(by_name.self[names[0]].bytes, 0);
    assert_int_equal(by_name.total[names[0]].bytes, 600);
    free(by_name.self);
    free(by_name.total);
    end();
}

/* ---- callers and callees */

static struct strobe_breakdown breakdown;

static void in(uint64_t address, uint64_t ms)
{
    const uint32_t *names;
    uint32_t first;
    assert_int_equal(strobe_function_tree_at(tree, address, &names, &first), 1);
    strobe_breakdown_begin(
        &breakdown, &(struct strobe_slice){.name = names[0], .begin = {.time_ns = ms * MS, .cpu_ns = ms * MS / 2}});
}

static void out(uint64_t ms)
{
    strobe_breakdown_end(&breakdown, &(struct strobe_moment){.time_ns = ms * MS, .cpu_ns = ms * MS / 2});
}

static struct strobe_relation relation(const struct strobe_relation *list, size_t room, uint64_t address,
                                       uint32_t shift)
{
    const uint32_t *names;
    uint32_t first;
    strobe_function_tree_at(tree, address, &names, &first);
    return names[0] + shift < room ? list[names[0] + shift] : (struct strobe_relation){0};
}

/* `ms` of CPU time belong to the innermost of the functions, which end with 0. */
static void share(uint64_t ms, const uint64_t *addresses)
{
    uint32_t node = 0, first;
    const uint32_t *names;
    for (; *addresses; addresses++) {
        assert_int_equal(strobe_function_tree_at(tree, *addresses, &names, &first), 1);
        node = strobe_function_tree_child(tree, node, names[0]);
    }
    strobe_breakdown_cpu(&breakdown, &(struct strobe_cpu_share){.node = node, .cpu_ns = ms * MS});
}

static void callers_and_callees_have_the_cpu_time_that_belongs_to_them(void **state)
{
    (void)state;
    begin();
    add(0, 0);
    strobe_breakdown_open(&breakdown, tree, "a");
    share(1, (uint64_t[]){MAIN, A, 0});
    share(2, (uint64_t[]){MAIN, A, B, 0});
    share(4, (uint64_t[]){MAIN, A, B, A, B, 0}); /* counts for the outermost B only */
    share(8, (uint64_t[]){MAIN, B, A, 0});
    share(16, (uint64_t[]){A, 0});
    share(32, (uint64_t[]){MAIN, B, 0});
    assert_int_equal(relation(breakdown.callers, breakdown.caller_room, MAIN, 1).cpu_ns, 7 * MS);
    assert_int_equal(relation(breakdown.callers, breakdown.caller_room, B, 1).cpu_ns, 8 * MS);
    assert_int_equal(relation(breakdown.callees, breakdown.callee_room, B, 0).cpu_ns, 6 * MS);
    assert_int_equal(relation(breakdown.callees, breakdown.callee_room, A, 0).cpu_ns, 0);
    assert_int_equal(breakdown.callers[0].cpu_ns, 16 * MS);
    assert_int_equal(breakdown.function.cpu_ns, 31 * MS);
    strobe_breakdown_close(&breakdown);
    end();
}

static void callers_and_callees_have_the_time_of_outermost_calls(void **state)
{
    (void)state;
    begin();
    add(0, 0);
    strobe_breakdown_open(&breakdown, tree, "a");
    in(MAIN, 0);
    in(A, 1); /* 1 .. 9 from main */
    in(B, 2), out(4);
    in(A, 5); /* a recursive call: no caller, no callee */
    in(B, 6), out(7);
    out(8);
    out(9);
    in(B, 10);
    in(A, 11), out(13); /* 2 ms from b */
    out(14);
    out(15);
    in(A, 20), out(21); /* outermost */
    struct strobe_relation from_main = relation(breakdown.callers, breakdown.caller_room, MAIN, 1);
    struct strobe_relation from_b = relation(breakdown.callers, breakdown.caller_room, B, 1);
    struct strobe_relation to_b = relation(breakdown.callees, breakdown.callee_room, B, 0);
    assert_int_equal(from_main.ns, 8 * MS);
    assert_int_equal(from_main.slices, 1);
    assert_int_equal(from_b.ns, 2 * MS);
    assert_int_equal(breakdown.callers[0].ns, 1 * MS);
    assert_int_equal(breakdown.function.ns, 11 * MS);
    assert_int_equal(relation(breakdown.callers, breakdown.caller_room, A, 1).slices, 0);
    assert_int_equal(to_b.ns, 3 * MS);
    assert_int_equal(to_b.slices, 2);
    strobe_breakdown_close(&breakdown);
    end();
}

static void a_function_may_be_named_without_its_parameters(void **state)
{
    static const char *const names[] = {"c", "c(int)", "c(", "c()"};
    (void)state;
    begin();
    add(0, 0);
    for (int i = 0; i < 4; i++) {
        strobe_breakdown_open(&breakdown, tree, names[i]);
        in(C, 0), out(1);
        assert_int_equal(breakdown.function.slices, i < 2);
        strobe_breakdown_close(&breakdown);
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lies_between_known_totals_is_shared_by_the_samples_of_allocations),
        cmocka_unit_test(what_no_sample_shows_goes_to_the_next_one_that_does),
        cmocka_unit_test(a_stack_counts_up_to_the_caller_of_the_outermost_allocating_function),
        cmocka_unit_test(a_part_of_the_time_has_what_became_known_in_it),
        cmocka_unit_test(a_function_that_calls_itself_has_the_total_once),
        cmocka_unit_test(callers_and_callees_have_the_time_of_outermost_calls),
        cmocka_unit_test(callers_and_callees_have_the_cpu_time_that_belongs_to_them),
        cmocka_unit_test(a_function_may_be_named_without_its_parameters),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
