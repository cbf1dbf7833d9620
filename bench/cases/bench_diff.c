/* Compares two captures of a million samples each, from the session files to the rows of all tables. Half of the
 * samples end at the place of the sample before, and one of a thousand has a stack that occurs once. */
#include "bench/bench.h"
#include "bench/stackgen.h"

#include "engine/base/mix.h"
#include "engine/trace/diff/diff.h"
#include "tests/support/temporary.h"
#include "tests/unit/support/session_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SAMPLES = 1000000, SPACING_NS = 1000000, REPEAT_PERMILLE = 500, TID = 4711 };

static char paths[STROBE_DIFF_SIDES][TEMPORARY_BYTES];

static void write_capture(const char *path, uint64_t seed)
{
    struct stackgen *g = stackgen_new(&(struct stackgen_options){
        .samples = SAMPLES, .fresh_permille = 1, .repeat_permille = REPEAT_PERMILLE, .seed = seed});
    struct stackgen_stack stack;
    struct strobe_build b;
    struct strobe_config config = strobe_build_config();
    uint64_t ticks = 0;
    config.ring_slots = 1 << 20;
    config.stack_nodes = 1 << 18;
    strobe_build_begin(&b, path, &config);
    uint32_t thread = strobe_build_thread(&b, TID, "bench");
    while (stackgen_next(g, &stack)) {
        uint32_t id = strobe_build_stack(&b, stack.frames, stack.depth);
        if (stack.warm_up)
            continue;
        ticks += SPACING_NS / 2 + strobe_mix64(ticks + seed) % SPACING_NS;
        struct strobe_record record = {.ticks = ticks,
                                       .stack = id,
                                       .thread = thread,
                                       .kind = STROBE_KIND_CPU,
                                       .flags = STROBE_FLAG_CPU,
                                       .cpu_ns = ticks / 10 * 9};
        if (strobe_build_record(&b, record, NULL) != STROBE_OK)
            abort();
    }
    strobe_build_end(&b, ticks);
    stackgen_free(g);
}

static void compare_captures(struct gbench_state *s, const void *arg)
{
    (void)arg;
    size_t rows = 0;
    while (gbench_loop(s)) {
        struct strobe_diff d;
        struct strobe_error error;
        strobe_diff_open(&d, &(struct strobe_diff_options){0}, 1, 1);
        for (unsigned side = 0; side < STROBE_DIFF_SIDES; side++)
            if (strobe_diff_add(&d, side, paths[side], &error) != STROBE_OK)
                abort();
        if (strobe_diff_compare(&d) != STROBE_OK)
            abort();
        rows = d.row_count;
        strobe_diff_close(&d);
    }
    gbench_counter(s, "rows", (double)rows);
}

void bench_diff_add(void)
{
    for (unsigned side = 0; side < STROBE_DIFF_SIDES; side++) {
        int fd = mkstemp(temporary_path(paths[side], "strobe-bench-XXXXXX"));
        if (fd < 0)
            abort();
        close(fd);
        write_capture(paths[side], side + 1);
    }
    gbench_add(&(struct gbench_spec){.name = "diff/two", .run = compare_captures, .turns = 1});
}

void bench_diff_rows(void)
{
    bench_row_most("two captures of 1 M samples compared", "CPU ms", gbench_median_ns("diff/two") / 1e6, 1000);
    for (unsigned side = 0; side < STROBE_DIFF_SIDES; side++)
        unlink(paths[side]);
}
