/* Comparisons of captures under faults: whichever allocation or read of a file fails, the comparison reports it, or its
 * stacks and picture are complete. It leaves no leak. */
#include "engine/base/error_format.h"
#include "engine/trace/diff/diff.h"
#include "engine/trace/export/convert.h"
#include "tests/unit/faults/sweep.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static enum strobe_status write_stacks_of(const struct strobe_diff *d)
{
    struct strobe_outfile out;
    enum strobe_status status = strobe_outfile_open(&out, temp_dir_path("out"), 0);
    if (status != STROBE_OK)
        return status;
    strobe_diff_write_folded(d, STROBE_DIFF_WALL, &out);
    status = strobe_diff_write_svg(d, STROBE_DIFF_ALLOC, &out);
    enum strobe_status finished = strobe_outfile_finish(&out, status != STROBE_OK);
    return status == STROBE_OK ? finished : status;
}

/* Adds to a figure, as the command does for frames. */
static enum strobe_status add_figure(struct strobe_diff *d, unsigned side, const struct strobe_reader *reader,
                                     struct strobe_function_tree *tree)
{
    (void)reader, (void)tree;
    strobe_diff_add_figure(d, side, "frames", "", 1, 1);
    return STROBE_OK;
}

/* Compares captures: `counts` on each side, the base first. */
static enum strobe_status compare_captures(const char *const *names, const uint32_t counts[STROBE_DIFF_SIDES],
                                           int names_only, struct strobe_error *error)
{
    struct strobe_diff d;
    enum strobe_status status = STROBE_OK;
    strobe_diff_open(&d, &(struct strobe_diff_options){.names_only = names_only, .visit = add_figure},
                     counts[STROBE_DIFF_BASE], counts[STROBE_DIFF_NEW]);
    for (unsigned side = 0; side < STROBE_DIFF_SIDES; side++)
        for (uint32_t i = 0; i < counts[side] && status == STROBE_OK; i++)
            status = strobe_diff_add(&d, side, temp_dir_path(*names++), error);
    if (status == STROBE_OK)
        status = strobe_diff_compare(&d);
    if (status == STROBE_OK)
        status = write_stacks_of(&d);
    strobe_diff_close(&d);
    return status;
}

static enum strobe_status compare_two_sessions(struct strobe_error *error)
{
    static const char *const names[] = {"a.strobe", "b.strobe"};
    return compare_captures(names, (uint32_t[]){1, 1}, 0, error);
}

static enum strobe_status compare_sets(struct strobe_error *error)
{
    static const char *const names[] = {"a.strobe", "folder", "b.strobe"};
    return compare_captures(names, (uint32_t[]){2, 1}, 0, error);
}

static enum strobe_status compare_with_a_trace(struct strobe_error *error)
{
    static const char *const names[] = {"a.strobe", "b.pftrace"};
    return compare_captures(names, (uint32_t[]){1, 1}, 1, error);
}

static void a_comparison_meets_each_fault(void **state)
{
    static const struct sweep sweeps[] = {{"sessions", "alloc write", compare_two_sessions, "out"},
                                          {"sets", "alloc", compare_sets, "out"},
                                          {"trace", "alloc", compare_with_a_trace, "out"}};
    struct strobe_convert_options options = {.format = STROBE_FORMAT_PERFETTO};
    struct strobe_error error;
    (void)state;
    sweep_write_session("a.strobe");
    sweep_write_session("b.strobe");
    assert_int_equal(mkdir(temp_dir_path("folder"), 0700), 0);
    sweep_write_session("folder/a.strobe");
    sweep_write_session("folder/b.strobe");
    assert_int_equal(strobe_convert(temp_dir_path("b.strobe"), temp_dir_path("b.pftrace"), &options, NULL, &error),
                     STROBE_OK);
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++)
        sweep_faults(&sweeps[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_comparison_meets_each_fault)};
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
