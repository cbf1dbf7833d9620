/* A whole synchronous sample of 40 frames (gate, walk, intern, record) against one clock read and the bare walk of
 * the same frames. Sixteen leaf functions take turns, so that every stack differs from the one before in its
 * innermost two frames. */
#include "bench/bench.h"
#include "bench/deep.h"
#include "bench/rig.h"

#include <stdlib.h>

enum { FRAMES = 40, LEAVES = 16, LEAF_FRAMES = 2, BATCH = 160 };

typedef void leaf_fn(struct rig *rig);

struct frame_record {
    const struct frame_record *next;
    uint64_t return_address;
};

static uint64_t walk_top;

/* The minimum: reads the clock, follows the chain, stores the addresses. */
static void bare(void)
{
    static uint64_t kept[FRAMES * 2];
    uint64_t now = bench_now_ns();
    uint32_t count = 0;
    const struct frame_record *r = __builtin_frame_address(0);
    while ((uint64_t)(uintptr_t)r < walk_top && count < FRAMES * 2) {
        kept[count++] = r->return_address;
        r = r->next;
    }
    bench_keep(&now);
    bench_keep(kept);
}

/* Takes the sample in the leaf, as a hook called from there does. */
static __attribute__((noinline)) void take(struct rig *rig)
{
    if (!rig) {
        bare();
        return;
    }
    struct strobe_site site = {
        (uint64_t)(uintptr_t)__builtin_frame_address(0),
        (uint64_t)(uintptr_t)__builtin_return_address(0),
    };
    strobe_point(rig->thread, strobe_switched(), STROBE_KIND_ALLOC, 0, site);
}

/* Each leaf has two functions. The fence keeps the call from becoming a tail call. */
#define LEAF(n)                                                                                                        \
    static __attribute__((noinline)) void inner##n(struct rig *rig)                                                    \
    {                                                                                                                  \
        take(rig);                                                                                                     \
        bench_keep(NULL);                                                                                              \
    }                                                                                                                  \
    static __attribute__((noinline)) void outer##n(struct rig *rig)                                                    \
    {                                                                                                                  \
        inner##n(rig);                                                                                                 \
        bench_keep(NULL);                                                                                              \
    }
/* clang-format off */
LEAF(0) LEAF(1) LEAF(2) LEAF(3) LEAF(4) LEAF(5) LEAF(6) LEAF(7)
LEAF(8) LEAF(9) LEAF(10) LEAF(11) LEAF(12) LEAF(13) LEAF(14) LEAF(15)
    /* clang-format on */

    static leaf_fn *const leaves[LEAVES] = {
        outer0, outer1, outer2,  outer3,  outer4,  outer5,  outer6,  outer7,
        outer8, outer9, outer10, outer11, outer12, outer13, outer14, outer15,
};

struct job {
    struct gbench_state *state;
    struct rig *rig;
};

static void run_leaves(const struct deep_place *place, void *arg)
{
    struct job *job = arg;
    walk_top = place->top;
    if (job->rig)
        rig_limit_stack(job->rig, place->top);
    while (gbench_loop(job->state))
        for (uint32_t i = 0; i < BATCH; i++)
            leaves[i * 7 % LEAVES](job->rig);
}

static void check_depth(const struct rig *rig)
{
    const struct strobe_stack_node *node =
        strobe_stack_node_of(&rig->engine.session.stacks, rig->thread->pending.record.stack);
    if (!node || node->depth != FRAMES)
        abort();
}

/* Two more frames are on the stack: the function at the bottom of deep_call, and deep_call itself. */
static void sample(struct gbench_state *s, const void *arg)
{
    struct rig *rig = arg ? *(struct rig *const *)arg : NULL;
    struct job job = {s, rig};
    deep_call(FRAMES - LEAF_FRAMES - 2, run_leaves, &job);
    if (rig)
        check_depth(rig);
}

static struct rig *every, *with_cpu;

void bench_sample_add(void)
{
    struct strobe_config c = rig_config();
    c.interval_main_ns = 0;
    every = rig_new(&c);
    c.metrics |= STROBE_METRIC_CPU;
    c.metrics_interval_ns = 0;
    with_cpu = rig_new(&c);
    gbench_add(&(struct gbench_spec){.name = "sample/bare", .run = sample, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "sample/whole", .run = sample, .arg = &every, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "sample/cpu", .run = sample, .arg = &with_cpu, .batch = BATCH});
}

void bench_sample_rows(void)
{
    bench_row_ratio("whole synchronous sample, 40 frames", "ns", gbench_median_ns("sample/whole"),
                    "clock and bare walk", gbench_median_ns("sample/bare"), 1.3);
    bench_row_note("  with CPU time on every sample", "ns", gbench_median_ns("sample/cpu"));
}
