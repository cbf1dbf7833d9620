/* Costs at hooks and at the begin of a sampler's pass: clocks, scopes, samples, looks, copies, unwinding.
 *
 * Costs that depend on the number of frames are measured at two depths: the slope is the cost of a frame, the rest
 * is fixed. "Anew" is a stack whose outermost frame differs from that of the stack before, so that the two share
 * nothing. */
#include "bench/bench.h"
#include "bench/costs/costs.h"
#include "bench/deep.h"
#include "bench/rig.h"

#include "engine/backend/linux/suspend.h"
#include "engine/capture/blocking.h"
#include "engine/capture/sampler.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

enum { SHALLOW = 8, DEEP = 64, TIMES = 2000, SLEEPERS = 64, PASSES = 20, COPIES = 100 };
#define HOUR_NS 3600000000000u

static struct rig *quiet, *silent, *every, *many;
static struct strobe_sampler *sampler;
static struct strobe_host *host;
static struct strobe_site no_site;

static STROBE_ALWAYS_INLINE struct strobe_site here(void)
{
    return (struct strobe_site){(uint64_t)(uintptr_t)__builtin_frame_address(0), 1};
}

/* ---- one after the other ---- */

static double clock_ns(void)
{
    uint64_t begin = bench_cpu_ns(), sum = 0;
    for (int i = 0; i < TIMES; i++)
        sum += host->ticks(host->ctx);
    uint64_t end = bench_cpu_ns();
    bench_keep(&sum);
    return (double)(end - begin) / TIMES;
}

static double thread_clock_ns(void)
{
    uint64_t begin = bench_cpu_ns(), sum = 0;
    for (int i = 0; i < TIMES; i++)
        sum += host->self_cpu_ns(host->ctx);
    uint64_t end = bench_cpu_ns();
    bench_keep(&sum);
    return (double)(end - begin) / TIMES;
}

static double usage_ns(void)
{
    struct strobe_usage usage;
    uint64_t begin = bench_cpu_ns();
    for (int i = 0; i < TIMES; i++) {
        host->self_usage(host->ctx, &usage);
        bench_keep(&usage);
    }
    return (double)(bench_cpu_ns() - begin) / TIMES;
}

static double scope_ns(void)
{
    uint64_t begin = bench_cpu_ns();
    for (int i = 0; i < TIMES; i++)
        strobe_scope_end(silent->thread, strobe_scope_begin(silent->thread, STROBE_KIND_READ, 0, no_site), no_site);
    return (double)(bench_cpu_ns() - begin) / TIMES;
}

/* An event at which the gate reads the clock and rejects the event. */
static double gated_ns(void)
{
    uint64_t begin = bench_cpu_ns();
    for (int i = 0; i < TIMES; i++) {
        strobe_point(quiet->thread, strobe_switched(), STROBE_KIND_ALLOC, 0, no_site);
        strobe_fence_signal();
    }
    return (double)(bench_cpu_ns() - begin) / TIMES;
}

/* ---- samples ---- */

/* The work at the bottom of a stack. */
struct bottom {
    bool takes;
    int times;    /* repetitions on one stack */
    uint64_t arg; /* differs between events, so that no event is merged with the one before */
};

static void at_bottom(const struct deep_place *place, void *arg)
{
    struct bottom *b = arg;
    struct strobe_site site = {(uint64_t)(uintptr_t)__builtin_frame_address(0), 1};
    (void)place;
    for (int i = 0; i < b->times && b->takes; i++)
        strobe_point(every->thread, strobe_switched(), STROBE_KIND_ALLOC, b->arg++, site);
}

/* Calls deep_call from two places, so that stacks have two different outermost frames. */
static __attribute__((noinline)) void two_roots(int depth, struct bottom *b, int times)
{
    rig_limit_stack(every, (uint64_t)(uintptr_t)__builtin_frame_address(0));
    for (int i = 0; i < times; i++) {
        deep_call(depth, at_bottom, b);
        bench_keep(b);
        deep_call(depth, at_bottom, b);
        bench_keep(b);
    }
}

static uint32_t depth_taken(void)
{
    const struct strobe_stack_node *node =
        strobe_stack_node_of(&every->engine.session.stacks, every->thread->pending.record.stack);
    if (!node)
        abort();
    return node->depth;
}

struct line {
    double fixed, slope;
};

static struct line through(double x0, double y0, double x1, double y1)
{
    double slope = (y1 - y0) / (x1 - x0);
    return (struct line){y0 - slope * x0, slope};
}

static double roots_ns(int depth, bool takes)
{
    struct bottom b = {takes, 1, 0};
    uint64_t begin = bench_cpu_ns();
    two_roots(depth, &b, TIMES / 4);
    return (double)(bench_cpu_ns() - begin) / (TIMES / 2);
}

static struct line anew(void)
{
    double shallow = roots_ns(SHALLOW, true) - roots_ns(SHALLOW, false);
    uint32_t few = depth_taken();
    double deep = roots_ns(DEEP, true) - roots_ns(DEEP, false);
    return through(few, shallow, depth_taken(), deep);
}

static double again_ns(int depth)
{
    struct bottom b = {true, TIMES, 0};
    uint64_t begin = bench_cpu_ns();
    two_roots(depth, &b, 1);
    return (double)(bench_cpu_ns() - begin) / (2 * TIMES);
}

static struct line as_before(void)
{
    double shallow = again_ns(SHALLOW);
    uint32_t few = depth_taken();
    double deep = again_ns(DEEP);
    return through(few, shallow, depth_taken(), deep);
}

/* ---- releases ---- */

/* Two objects for which another thread of the engine always waits. There are two because samples of one object would
 * be merged. */
static const uint64_t awaited[2] = {0x1000, 0x2000};

static void start_waiter(void)
{
    struct strobe_stack_bounds unknown = {0};
    struct strobe_thread *t = strobe_thread_attach(&every->engine, (uint32_t)gettid() + 1, false, "waits", &unknown);
    for (int i = 0; i < 2; i++) {
        if (!t || !strobe_scope_begin(t, STROBE_KIND_MUTEX, awaited[i], no_site))
            abort();
        strobe_wait_begin(t, awaited[i]);
    }
    strobe_local.thread = NULL;
}

static double releases_ns(bool releases)
{
    uint64_t begin = bench_cpu_ns();
    for (int i = 0; i < TIMES; i++) {
        if (releases)
            strobe_release(every->thread, strobe_switched(), awaited[i & 1], STROBE_RELEASE_LOCK, here());
        else
            strobe_point_forced(every->thread, STROBE_KIND_UNLOCK, awaited[i & 1], here());
    }
    return (double)(bench_cpu_ns() - begin) / TIMES;
}

/* ---- the sampler ---- */

static void *sleeper(void *arg)
{
    static sem_t never;
    struct strobe_stack_bounds unknown = {0};
    struct strobe_thread *t = strobe_thread_attach(&many->engine, (uint32_t)gettid(), false, "asleep", &unknown);
    if (!t)
        abort();
    t->sampled.seen_ticks = UINT64_MAX; /* always seen in this pass, so the look ends before it reads the clock */
    sem_post(arg);
    sem_wait(&never);
    return NULL;
}

/* Starts sleeping threads, because most looks of the sampler are at such threads. The sampler does not look at the
 * main thread, which runs. */
static void start_sleepers(void)
{
    sem_t ready;
    pthread_t thread;
    sem_init(&ready, 0, 0);
    strobe_store_relaxed(&many->thread->ready, 0);
    for (int i = 0; i < SLEEPERS; i++) {
        if (pthread_create(&thread, NULL, sleeper, &ready))
            abort();
        sem_wait(&ready);
    }
    sampler = bench_pages(sizeof *sampler);
    strobe_sampler_init(sampler, &many->engine, (uint32_t)gettid());
}

static double look_ns(void)
{
    uint64_t suspends = strobe_load_relaxed(&many->engine.session.header->suspends), begin = bench_cpu_ns();
    for (int i = 0; i < PASSES; i++)
        strobe_sampler_pass(sampler, host->ticks(host->ctx));
    uint64_t end = bench_cpu_ns();
    if (strobe_load_relaxed(&many->engine.session.header->suspends) != suspends)
        abort();
    return (double)(end - begin) / (PASSES * SLEEPERS);
}

/* Copies memory that is not in the cache, as most of a stack above the stack pointer is not in the sampler's cache. */
static char stack_memory[64 * 1024], copied_memory[64 * 1024];

static double copy_ns(size_t bytes)
{
    size_t copied;
    uint64_t begin = bench_cpu_ns();
    for (int i = 0; i < COPIES; i++) {
        if (host->read(host->ctx, (uint64_t)(uintptr_t)stack_memory, copied_memory, bytes, &copied) != STROBE_OK ||
            copied != bytes)
            abort();
        bench_keep(copied_memory);
    }
    return (double)(bench_cpu_ns() - begin) / COPIES;
}

/* A copied stack of `depth` frames of 128 bytes. */
struct copied_stack {
    struct strobe_frame_record at[DEEP][8];
};

static void lay_out(struct copied_stack *s, int depth, uint64_t low, uint64_t root)
{
    for (int i = 0; i < depth; i++) {
        uint64_t next = low + (uint64_t)(i + 1) * sizeof s->at[0];
        s->at[i][0] = (struct strobe_frame_record){i + 1 < depth ? next : 0, 0x10000 + (uint64_t)i * 48};
    }
    s->at[depth - 1][0].return_address = root;
}

static double unwind_ns(int depth)
{
    static struct copied_stack stacks[2];
    const uint64_t low = 0x7fff0000;
    uint64_t frames[STROBE_STACK_DEPTH_MAX], *frames_end = frames + STROBE_STACK_DEPTH_MAX;
    struct strobe_regs regs = {.pc = (uint64_t)(uintptr_t)unwind_ns, .sp = low, .fp = low};
    uint32_t count = 0, id;
    for (int i = 0; i < 2; i++)
        lay_out(&stacks[i], depth, low, 0x20000 + (uint64_t)i * 48);
    uint64_t begin = bench_cpu_ns();
    for (int i = 0; i < TIMES / 2; i++) {
        struct strobe_window w = {low, low + sizeof stacks[0], (uint64_t)(uintptr_t)&stacks[i & 1] - low, 0};
        strobe_unwinder_fp.copied(host, &regs, &w, frames_end, STROBE_STACK_DEPTH_MAX, &count);
        if (strobe_stack_intern(&many->engine.session.stacks, &sampler->cursor, frames_end - count, count, &id) !=
            STROBE_OK)
            abort();
    }
    uint64_t end = bench_cpu_ns();
    if (count < (uint32_t)depth)
        abort();
    return (double)(end - begin) / (TIMES / 2);
}

/* ---- all of it ---- */

static struct rig *rig_with(uint64_t interval_ns, uint32_t threads)
{
    struct strobe_config c = rig_config();
    c.interval_main_ns = interval_ns;
    c.skip_max = 0;
    c.metrics = 0;
    c.ring_slots = 4096; /* few slots, whose pages exist after the first rounds */
    c.threads_max = threads;
    return rig_new(&c);
}

void costs_engine_prepare(void)
{
    quiet = rig_with(HOUR_NS, 16);
    silent = rig_with(HOUR_NS, 16);
    every = rig_with(0, 16);
    many = rig_with(HOUR_NS, SLEEPERS + 1);
    host = &quiet->host.host;
    no_site = here();
    start_sleepers();
    start_waiter();
    strobe_point(quiet->thread, strobe_switched(), STROBE_KIND_ALLOC, 0, no_site); /* the event that is due */
    strobe_scope_end(silent->thread, strobe_scope_begin(silent->thread, STROBE_KIND_READ, 0, no_site), no_site);
}

void costs_engine_round(struct sim_costs *out)
{
    out->clock = clock_ns();
    out->thread_clock = thread_clock_ns();
    out->usage = usage_ns();
    out->scope = scope_ns() - 2 * out->clock;
    struct line fresh = anew(), known = as_before();
    out->sample = known.fixed - gated_ns();
    out->frame = fresh.slope;
    out->frame_known = known.slope;
    out->release = releases_ns(true) - releases_ns(false);
    out->look = look_ns();
    struct line read = through(1, copy_ns(1024), 64, copy_ns(64 * 1024));
    out->copy = read.fixed;
    out->copy_kib = read.slope;
    out->unwind_frame = through(SHALLOW, unwind_ns(SHALLOW), DEEP, unwind_ns(DEEP)).slope;
}
