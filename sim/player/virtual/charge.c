#include "sim/player/virtual/charge.h"

#include "engine/capture/thread.h"
#include "sim/kernel/kernel.h"
#include "sim/player/virtual/virtual.h"

#include <stdlib.h>
#include <string.h>

struct sim_costs sim_virtual_costs;

static struct strobe_host plain;             /* what the host does, without the costs */
static const struct strobe_unwinder *walker; /* the same of the unwinder */
static struct strobe_unwinder charged_walker;
static const struct strobe_engine *engine;

static double owed;
static uint64_t charged;

void sim_virtual_charge(double ns)
{
    owed += ns;
    uint64_t whole = (uint64_t)owed;
    owed -= (double)whole;
    charged += whole;
    sim_charge(whole);
}

uint64_t sim_virtual_charged_ns(void)
{
    return charged;
}

static uint64_t charge_ticks(void *ctx)
{
    sim_virtual_charge(sim_virtual_costs.clock);
    return plain.ticks(ctx);
}

static uint64_t charge_self_cpu_ns(void *ctx)
{
    sim_virtual_charge(sim_virtual_costs.thread_clock);
    return plain.self_cpu_ns(ctx);
}

static void charge_self_usage(void *ctx, struct strobe_usage *out)
{
    sim_virtual_charge(sim_virtual_costs.usage);
    plain.self_usage(ctx, out);
}

static enum strobe_status charge_thread_cpu_ns(void *ctx, uint32_t tid, uint64_t *out)
{
    sim_virtual_charge(sim_virtual_costs.thread_clock);
    return plain.thread_cpu_ns(ctx, tid, out);
}

static enum strobe_status charge_suspend(void *ctx, uint32_t tid, const strobe_a32 *blocked, uint64_t timeout_ns,
                                         struct strobe_regs *out)
{
    sim_virtual_charge(sim_virtual_costs.suspend);
    return plain.suspend(ctx, tid, blocked, timeout_ns, out);
}

/* What the window has cost is time that the thread stands. */
static enum strobe_status charge_resume(void *ctx, uint32_t tid)
{
    sim_virtual_charge(sim_virtual_costs.resume);
    sim_compute(0);
    return plain.resume(ctx, tid);
}

static void charge_between_passes(void *ctx)
{
    uint32_t threads = strobe_session_thread_count(&engine->session);
    sim_virtual_charge(sim_virtual_costs.look * threads);
    if (plain.between_passes)
        plain.between_passes(ctx);
}

/* What the sample shares with the thread's last one is only compared. */
static void charge_engine_sample(uint32_t frames, uint32_t known)
{
    sim_virtual_charge(sim_virtual_costs.sample + known * sim_virtual_costs.frame_known +
                       (frames - known) * sim_virtual_costs.frame);
}

static uint32_t shared(const uint64_t *a, uint32_t a_count, const uint64_t *b, uint32_t b_count)
{
    uint32_t n = 0;
    while (n < a_count && n < b_count && a[n] == b[n])
        n++;
    return n;
}

static enum strobe_walk_end charge_walk_self(uint64_t frame, uint64_t caller, const struct strobe_window *stack,
                                             uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    enum strobe_walk_end end = walker->self(frame, caller, stack, frames_end, max, count);
    const struct strobe_stack_cursor *last = &strobe_local.thread->cursor;
    charge_engine_sample(*count, shared(frames_end - *count, *count, last->address, last->depth));
    return end;
}

/* The stack that each thread had when it was charged last. */
struct known {
    uint32_t samples, depth;
    uint64_t address[STROBE_STACK_DEPTH_MAX];
};
static struct known **knowns; /* by the engine's index */

void sim_virtual_charge_samples(const struct strobe_thread *t)
{
    uint32_t samples = strobe_load_relaxed(&t->sync_samples);
    if (!knowns && !(knowns = calloc(t->engine->config.threads_max, sizeof *knowns)))
        abort();
    struct known *k = knowns[t->index];
    if (!k && !(k = knowns[t->index] = calloc(1, sizeof *k)))
        abort();
    if (k->samples == samples)
        return;
    const struct strobe_stack_cursor *now = &t->cursor;
    uint32_t known = shared(now->address, now->depth, k->address, k->depth);
    k->samples = samples;
    k->depth = now->depth;
    memcpy(k->address + known, now->address + known, (now->depth - known) * sizeof now->address[0]);
    charge_engine_sample(now->depth, known);
}

static enum strobe_walk_end charge_walk_stopped(const struct strobe_host *host, const struct strobe_regs *regs,
                                                const struct strobe_window *stack, struct strobe_stack_top *top,
                                                uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    enum strobe_walk_end end = walker->stopped(host, regs, stack, top, frames_end, max, count);
    sim_virtual_charge(*count * sim_virtual_costs.unwind_frame);
    return end;
}

void sim_virtual_put_host_costs(struct strobe_host *host)
{
    plain = *host;
    host->ticks = charge_ticks;
    host->self_cpu_ns = charge_self_cpu_ns;
    host->self_usage = charge_self_usage;
    host->thread_cpu_ns = charge_thread_cpu_ns;
    host->suspend = charge_suspend;
    host->resume = charge_resume;
}

void sim_virtual_put_costs(struct strobe_engine *e, struct strobe_host *host)
{
    engine = e;
    sim_virtual_put_host_costs(host);
    host->between_passes = charge_between_passes;
    walker = e->unwinder;
    charged_walker = (struct strobe_unwinder){
        .self = walker->self ? charge_walk_self : NULL, .stopped = charge_walk_stopped, .resumed = walker->resumed};
    e->unwinder = &charged_walker;
}
