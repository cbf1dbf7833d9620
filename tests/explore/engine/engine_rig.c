#include "tests/explore/engine/engine_rig.h"

enum { RING_SLOTS = 8, STACK_NODES = 8, ALIGNMENT = 128 };

/* ---- the host */

static uint64_t ticks(void *ctx)
{
    struct explore_rig *r = ctx;
    return r->now[explore_self()] += 10;
}

static uint64_t self_cpu_ns(void *ctx)
{
    (void)ctx;
    return 0;
}

static void self_usage(void *ctx, struct strobe_usage *out)
{
    (void)ctx;
    *out = (struct strobe_usage){0};
}

static enum strobe_status thread_cpu_ns(void *ctx, uint32_t tid, uint64_t *out)
{
    (void)ctx, (void)tid;
    *out = 0;
    return STROBE_OK;
}

static enum strobe_status suspend(void *ctx, uint32_t tid, const strobe_a32 *blocked, uint64_t timeout_ns,
                                  struct strobe_regs *out)
{
    (void)ctx, (void)tid, (void)blocked, (void)timeout_ns, (void)out;
    return STROBE_UNSUPPORTED;
}

static void settle(void *ctx, uint32_t tid)
{
    (void)ctx, (void)tid;
}

static enum strobe_status resume(void *ctx, uint32_t tid)
{
    (void)ctx, (void)tid;
    return STROBE_OK;
}

static enum strobe_status read_memory(void *ctx, uint64_t address, void *out, size_t bytes, size_t *copied)
{
    struct explore_rig *r = ctx;
    uint64_t low = (uint64_t)(uintptr_t)r->word, *to = out;
    *copied = 0;
    for (; *copied < bytes && address + *copied - low < sizeof r->word; *copied += 8)
        *to++ = strobe_load_relaxed(&r->word[(address + *copied - low) / 8]);
    return *copied ? STROBE_OK : STROBE_UNREADABLE;
}

static void sleep_until(void *ctx, uint64_t deadline)
{
    (void)ctx, (void)deadline;
}

static enum strobe_walk_end walk_self(uint64_t frame, uint64_t caller, const struct strobe_window *stack, uint64_t *end,
                                      uint32_t max, uint32_t *count)
{
    (void)stack, (void)max, (void)caller;
    end[-1] = frame;
    *count = 1;
    return STROBE_WALK_ROOT;
}

static enum strobe_walk_end walk_copied(const struct strobe_host *host, const struct strobe_regs *regs,
                                        const struct strobe_window *stack, uint64_t *end, uint32_t max, uint32_t *count)
{
    (void)host, (void)stack, (void)max;
    end[-1] = regs->pc;
    *count = 1;
    return STROBE_WALK_ROOT;
}

/* ---- the engine */

void rig_make(struct explore_rig *r, uint32_t threads)
{
    r->host = (struct strobe_host){.ticks = ticks,
                                   .self_cpu_ns = self_cpu_ns,
                                   .self_usage = self_usage,
                                   .thread_cpu_ns = thread_cpu_ns,
                                   .suspend = suspend,
                                   .settle = settle,
                                   .resume = resume,
                                   .read = read_memory,
                                   .sleep_until = sleep_until,
                                   .ctx = r,
                                   .ticks_per_second = 1000000000};
    r->unwinder = (struct strobe_unwinder){.self = walk_self, .copied = walk_copied};
    r->header.config = (struct strobe_config){
        .interval_main_ns = 1000000,
        .interval_other_ns = 1000000,
        .scope_min_ns = 1000000,
        .threads_max = RIG_THREADS,
        .depth_max = 2,
        .ring_slots = RING_SLOTS,
        .ring_subs = 1,
        .stack_nodes = STACK_NODES,
        .seed = 1,
    };
    r->engine = (struct strobe_engine){
        .session = {.header = &r->header, .threads = r->entry},
        .config = r->header.config,
        .host = &r->host,
        .unwinder = &r->unwinder,
        .threads = r->thread,
        .blocking = &r->blocking,
        .living = r->living,
    };
    for (uint32_t i = 0; i <= EXPLORE_THREADS_MAX; i++)
        r->now[i] = i < EXPLORE_THREADS_MAX ? 2000 : 1000; /* the setup comes first */
    strobe_switch = &r->on;
    strobe_store_relaxed(strobe_switch, STROBE_ON);
    rig_can_record(r);
    for (uint32_t i = 0; i < threads; i++) {
        struct strobe_thread *t = rig_attach(r, i + 1);
        t->gate.due_ticks = t->handed_ticks = 1000000;
    }
}

static void *aligned(size_t bytes)
{
    uintptr_t at = (uintptr_t)explore_alloc(bytes + ALIGNMENT);
    return (void *)((at + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
}

void rig_can_record(struct explore_rig *r)
{
    struct strobe_session *s = &r->engine.session;
    size_t ring_bytes = strobe_ring_bytes(RING_SLOTS, 1), table_bytes = strobe_stack_table_bytes(STACK_NODES);
    void *ring = aligned(ring_bytes), *table = aligned(table_bytes);
    strobe_ring_create(ring, RING_SLOTS, 1, STROBE_KEEP_NEWEST);
    strobe_ring_open(ring, ring_bytes, &s->ring);
    strobe_stack_table_create(table, STACK_NODES);
    strobe_stack_table_open(table, table_bytes, &s->stacks);
    strobe_buffer_pool_init(&r->engine.buffers, aligned(strobe_buffer_pool_bytes(RIG_THREADS)), RIG_THREADS);
}

struct strobe_thread *rig_attach(struct explore_rig *r, uint32_t tid)
{
    uint64_t low = (uint64_t)(uintptr_t)r->word;
    return strobe_thread_attach(&r->engine, tid, false, "t",
                                &(struct strobe_stack_bounds){low, low + sizeof r->word, 0});
}

struct strobe_site rig_site(struct explore_rig *r, uint32_t i)
{
    return (struct strobe_site){(uint64_t)(uintptr_t)&r->word[i], 1};
}
