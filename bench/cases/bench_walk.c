/* The cost of a stack per frame: the engine's frame-pointer walk, and its walk by call frame information, against
 * libunwind's fast trace (unw_backtrace with its per-thread cache). The cost per frame is the difference between
 * stacks of 60 and 20 frames, divided by 40, so that fixed costs do not count. */
#include "bench/bench.h"
#include "bench/deep.h"

#include "engine/backend/linux/host_linux.h"
#include "engine/backend/linux/unwind_images.h"
#include "engine/backend/linux/unwind_table.h"
#include "engine/capture/walk_fp.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <stdlib.h>

enum { SHALLOW = 20, DEEP = 60, FRAMES_MAX = 256, BATCH = 100 };

static void walk_here(const struct deep_place *place, void *arg)
{
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0), frames[FRAMES_MAX];
    struct strobe_window window = {.low = here, .high = place->top};
    uint32_t count = 0;
    while (gbench_loop(arg))
        for (int i = 0; i < BATCH; i++) {
            strobe_walk_fp(&window, here, frames + FRAMES_MAX, FRAMES_MAX, &count);
            bench_keep(frames);
        }
    if (count != (uint32_t)place->depth + 1)
        abort();
}

static struct strobe_linux linux_host;
static struct strobe_unwind_index *rules;

static void table_here(const struct deep_place *place, void *arg)
{
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0), frames[FRAMES_MAX];
    struct strobe_window window = {.low = here, .high = place->top + 4096};
    uint32_t count = 0;
    while (gbench_loop(arg))
        for (int i = 0; i < BATCH; i++) {
            strobe_unwinder_table.hooked(here, &window, frames + FRAMES_MAX, (uint32_t)place->depth + 1, &count);
            bench_keep(frames);
        }
    if (count != (uint32_t)place->depth + 1)
        abort();
}

/* Finds rules of code that is not cached: every 64th byte of a part of the C library. */
enum { COLD_PLACES = 1024 };

static void find_cold(struct gbench_state *s, const void *unused)
{
    const uint64_t from = (uint64_t)(uintptr_t)qsort;
    uint64_t i = 0;
    (void)unused;
    while (gbench_loop(s))
        for (int k = 0; k < BATCH; k++, i++) {
            strobe_add_relaxed(&rules->generation, 1); /* invalidates the memo */
            struct strobe_unwind_rule rule = strobe_unwind_index_find(rules, from + i % COLD_PLACES * 64);
            bench_keep(&rule);
        }
}

static void trace_here(const struct deep_place *place, void *arg)
{
    void *frames[FRAMES_MAX];
    int count = 0;
    while (gbench_loop(arg))
        for (int i = 0; i < BATCH; i++) {
            count = unw_backtrace(frames, FRAMES_MAX);
            bench_keep(frames);
        }
    if (count < place->depth)
        abort();
}

static void walk(struct gbench_state *s, const void *depth)
{
    deep_call(*(const int *)depth, walk_here, s);
}

static void table(struct gbench_state *s, const void *depth)
{
    deep_call(*(const int *)depth, table_here, s);
}

static void trace(struct gbench_state *s, const void *depth)
{
    deep_call(*(const int *)depth, trace_here, s);
}

static void add(const char *name, gbench_fn *run, int depth)
{
    static const int shallow = SHALLOW, deep = DEEP;
    gbench_add(
        &(struct gbench_spec){.name = name, .run = run, .arg = depth == DEEP ? &deep : &shallow, .batch = BATCH});
}

void bench_walk_add(void)
{
    unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_PER_THREAD);
    add("walk/20", walk, SHALLOW);
    add("walk/60", walk, DEEP);
    strobe_linux_init(&linux_host, clock_gettime);
    rules = strobe_unwind_images_update(&linux_host.host);
    strobe_unwind_table_use(rules);
    if (!rules)
        abort();
    add("walk/20/table", table, SHALLOW);
    add("walk/60/table", table, DEEP);
    gbench_add(&(struct gbench_spec){.name = "walk/rule/cold", .run = find_cold, .batch = BATCH});
    add("walk/20/libunwind", trace, SHALLOW);
    add("walk/60/libunwind", trace, DEEP);
}

static double per_frame(const char *deep, const char *shallow)
{
    return (gbench_median_ns(deep) - gbench_median_ns(shallow)) / (DEEP - SHALLOW);
}

void bench_walk_rows(void)
{
    bench_row_ratio("frame-pointer walk, per frame", "ns", per_frame("walk/60", "walk/20"), "libunwind fast trace",
                    per_frame("walk/60/libunwind", "walk/20/libunwind"), 0.5);
    bench_row_most("walk by call frame information, per frame", "ns", per_frame("walk/60/table", "walk/20/table"), 60);
    bench_row_note("  rule of code that was not met before", "ns", gbench_median_ns("walk/rule/cold"));
    bench_row_note("  whole walk of 60 frames", "ns", gbench_median_ns("walk/60"));
    bench_row_note("  libunwind, the same", "ns", gbench_median_ns("walk/60/libunwind"));
}
