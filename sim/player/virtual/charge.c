#include "sim/player/virtual/charge.h"

#include "engine/capture/sampler.h"
#include "engine/capture/thread.h"
#include "sim/kernel/kernel.h"
#include "sim/player/virtual/virtual.h"

#include <stdlib.h>
#include <string.h>

static struct strobe_host original_host;                /* the host's functions, without the costs */
static const struct strobe_unwinder *original_unwinder; /* the unwinder, without the costs */
static struct strobe_unwinder charged_unwinder;
static const struct strobe_engine *engine;

static double stop_ns, resume_ns; /* the host's suspend and resume */
static double fraction_ns;
static uint64_t charged;

void sim_virtual_charge(double ns)
{
    fraction_ns += ns;
    uint64_t whole = (uint64_t)fraction_ns;
    fraction_ns -= (double)whole;
    charged += whole;
    sim_charge(whole);
}

void sim_virtual_count(double ns)
{
    charged += (uint64_t)ns;
}

uint64_t sim_virtual_charged_ns(void)
{
    return charged;
}

static uint64_t charge_ticks(void *ctx)
{
    sim_virtual_charge(sim_virtual_costs.clock);
    return original_host.ticks(ctx);
}

static uint64_t charge_self_cpu_ns(void *ctx)
{
    sim_virtual_charge(sim_virtual_costs.thread_clock);
    return original_host.self_cpu_ns(ctx);
}

static void charge_self_usage(void *ctx, struct strobe_usage *out)
{
    sim_virtual_charge(sim_virtual_costs.usage);
    original_host.self_usage(ctx, out);
}

/* The cost passes before the clock is read: a sampler that reads it twice sees whether the thread runs. */
static enum strobe_status charge_thread_cpu_ns(void *ctx, uint32_t tid, uint64_t *out)
{
    sim_virtual_charge(sim_virtual_costs.thread_clock);
    sim_compute(0);
    return original_host.thread_cpu_ns(ctx, tid, out);
}

static enum strobe_status charge_suspend(void *ctx, uint32_t tid, const strobe_a32 *blocked, uint64_t timeout_ns,
                                         struct strobe_regs *out)
{
    sim_virtual_charge(stop_ns);
    return original_host.suspend(ctx, tid, blocked, timeout_ns, out);
}

/* The costs of the suspended window must pass before the thread runs again. */
static enum strobe_status charge_resume(void *ctx, uint32_t tid)
{
    sim_virtual_charge(resume_ns);
    sim_compute(0);
    return original_host.resume(ctx, tid);
}

/* A pass polls the live threads only. */
static uint32_t count_live_threads(void)
{
    uint32_t threads = strobe_session_thread_count(&engine->session), live = 0;
    for (uint32_t i = 0; i < threads; i++)
        live += strobe_load_acquire(&engine->threads[i].ready) &&
                strobe_load_relaxed(&engine->threads[i].entry->state) == STROBE_THREAD_LIVE;
    return live < STROBE_SAMPLER_PASS_THREADS ? live : STROBE_SAMPLER_PASS_THREADS;
}

static void charge_between_passes(void *ctx)
{
    sim_virtual_charge(sim_virtual_costs.look * count_live_threads());
    if (original_host.between_passes)
        original_host.between_passes(ctx);
}

/* Charges a sample. `known`: frames that the sample shares with the thread's previous one; they are only compared. */
static void charge_engine_sample(uint32_t frames, uint32_t known)
{
    sim_virtual_charge(sim_virtual_costs.sample + known * sim_virtual_costs.frame_known +
                       (frames - known) * sim_virtual_costs.frame);
}

/* Returns the length of the common prefix. */
static uint32_t count_common(const uint64_t *a, uint32_t a_count, const uint64_t *b, uint32_t b_count)
{
    uint32_t n = 0;
    while (n < a_count && n < b_count && a[n] == b[n])
        n++;
    return n;
}

static enum strobe_walk_end charge_walk_self(uint64_t frame, uint64_t caller, const struct strobe_window *stack,
                                             uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    enum strobe_walk_end end = original_unwinder->self(frame, caller, stack, frames_end, max, count);
    const struct strobe_stack_cursor *last = &strobe_local.thread->buffers->cursor;
    charge_engine_sample(*count, count_common(frames_end - *count, *count, last->address, last->depth));
    return end;
}

/* A thread's stack at its last charge. */
struct charged_stack {
    uint32_t samples, depth;
    uint64_t address[STROBE_STACK_DEPTH_MAX];
};
static struct charged_stack **charged_stacks; /* by the thread's index in the engine */

void sim_virtual_charge_samples(const struct strobe_thread *t)
{
    uint32_t samples = strobe_load_relaxed(&t->sync_samples);
    if (!charged_stacks && !(charged_stacks = calloc(t->engine->config.threads_max, sizeof *charged_stacks)))
        abort();
    struct charged_stack *k = charged_stacks[t->index];
    if (!k && !(k = charged_stacks[t->index] = calloc(1, sizeof *k)))
        abort();
    if (k->samples == samples || !t->buffers)
        return;
    const struct strobe_stack_cursor *now = &t->buffers->cursor;
    uint32_t known = count_common(now->address, now->depth, k->address, k->depth);
    k->samples = samples;
    k->depth = now->depth;
    memcpy(k->address + known, now->address + known, (now->depth - known) * sizeof now->address[0]);
    charge_engine_sample(now->depth, known);
}

static enum strobe_walk_end charge_walk_stopped(const struct strobe_host *host, const struct strobe_regs *regs,
                                                const struct strobe_window *stack, struct strobe_stack_top *top,
                                                uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    enum strobe_walk_end end = original_unwinder->stopped(host, regs, stack, top, frames_end, max, count);
    sim_virtual_charge(*count * sim_virtual_costs.unwind_frame);
    return end;
}

void sim_virtual_put_host_costs(struct strobe_host *host)
{
    original_host = *host;
    stop_ns = sim_virtual_costs.suspend;
    resume_ns = sim_virtual_costs.resume;
    host->ticks = charge_ticks;
    host->self_cpu_ns = charge_self_cpu_ns;
    host->self_usage = charge_self_usage;
    host->thread_cpu_ns = charge_thread_cpu_ns;
    host->suspend = charge_suspend;
    host->resume = charge_resume;
}

void sim_virtual_put_stop_costs(double suspend, double resume)
{
    stop_ns = suspend;
    resume_ns = resume;
}

void sim_virtual_put_costs(struct strobe_engine *e, struct strobe_host *host)
{
    engine = e;
    sim_virtual_put_host_costs(host);
    host->between_passes = charge_between_passes;
    original_unwinder = e->unwinder;
    charged_unwinder = (struct strobe_unwinder){.self = original_unwinder->self ? charge_walk_self : NULL,
                                                .stopped = charge_walk_stopped,
                                                .resumed = original_unwinder->resumed};
    e->unwinder = &charged_unwinder;
}
