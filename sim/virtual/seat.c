/* The engine, linked, with what its work costs charged; and the runtime's system. */
#include "engine/backend/art/events.h"
#include "sim/art/fake/system.h"
#include "sim/kernel/fiber.h"
#include "sim/real/art.h"
#include "sim/virtual/posix.h"
#include "sim/virtual/virtual.h"

#include <stdio.h>
#include <stdlib.h>

struct sim_costs sim_virtual_costs;

/* ---- the runtime ---- */

/* The scenario says how long its collections take; those that the runtime begins for itself take no time. */
static void collecting(void)
{
    const struct sim_actor *a = sim_real_art_acting();
    if (a && a->pause_ns)
        sim_compute(a->pause_ns);
}

static void prepare(void *library)
{
    static struct fake_system system;
    void **(*use)(const struct fake_system *);
    *(void **)&use = dlsym(library, "fake_use_system");
    if (!use) {
        fputs("the runtime's library has no fake_use_system\n", stderr);
        exit(2);
    }
    system = fake_pthreads;
    system.collecting = collecting;
    sim_fiber_local(use(&system), sizeof(void *));
}

/* ---- costs: each charged to who does the work; parts of a ns add up ---- */

static struct strobe_host plain;         /* what the host does, without the costs */
static struct strobe_unwinder charged_unwinder;

static double owed;
static uint64_t charged;

static void charge(double ns)
{
    owed += ns;
    uint64_t whole = (uint64_t)owed;
    owed -= (double)whole;
    charged += whole;
    sim_charge(whole);
}

static uint64_t charged_ns(void)
{
    return charged;
}

/* Each event comes by here, once. The linker puts it before strobe_art_thread (virtual.mk). */
struct strobe_thread *__real_strobe_art_thread(uint32_t on);
struct strobe_thread *__wrap_strobe_art_thread(uint32_t on);
struct strobe_thread *__wrap_strobe_art_thread(uint32_t on)
{
    if (on != STROBE_OFF)
        charge(sim_virtual_costs.hook);
    return __real_strobe_art_thread(on);
}

static uint64_t ticks(void *ctx)
{
    charge(sim_virtual_costs.clock);
    return plain.ticks(ctx);
}

static uint64_t self_cpu_ns(void *ctx)
{
    charge(sim_virtual_costs.thread_clock);
    return plain.self_cpu_ns(ctx);
}

static void self_usage(void *ctx, struct strobe_usage *out)
{
    charge(sim_virtual_costs.usage);
    plain.self_usage(ctx, out);
}

static enum strobe_status thread_cpu_ns(void *ctx, uint32_t tid, uint64_t *out)
{
    charge(sim_virtual_costs.thread_clock);
    return plain.thread_cpu_ns(ctx, tid, out);
}

static enum strobe_status suspend(void *ctx, uint32_t tid, const strobe_a32 *blocked, uint64_t timeout_ns,
                                  struct strobe_regs *out)
{
    charge(sim_virtual_costs.suspend);
    return plain.suspend(ctx, tid, blocked, timeout_ns, out);
}

/* What the window has cost is time that the thread stands. */
static enum strobe_status resume(void *ctx, uint32_t tid)
{
    charge(sim_virtual_costs.resume);
    sim_compute(0);
    return plain.resume(ctx, tid);
}

static void between_passes(void *ctx)
{
    uint32_t threads = strobe_session_thread_count(&strobe_art.engine.session);
    charge(sim_virtual_costs.look * threads);
    plain.between_passes(ctx);
}

/* What the sample shares with the thread's last one is only compared. */
static enum strobe_walk_end walk_self(uint64_t frame, uint64_t caller, const struct strobe_window *stack,
                                      uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    enum strobe_walk_end end = strobe_unwinder_art.self(frame, caller, stack, frames_end, max, count);
    const struct strobe_stack_cursor *last = &strobe_local.thread->cursor;
    const uint64_t *frames = frames_end - *count;
    uint32_t known = 0;
    while (known < *count && known < last->depth && frames[known] == last->address[known])
        known++;
    charge(sim_virtual_costs.sample + known * sim_virtual_costs.frame_known +
           (*count - known) * sim_virtual_costs.frame);
    return end;
}

static enum strobe_walk_end walk_stopped(const struct strobe_host *host, const struct strobe_regs *regs,
                                         const struct strobe_window *stack, struct strobe_stack_top *top,
                                         uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    enum strobe_walk_end end = strobe_unwinder_art.stopped(host, regs, stack, top, frames_end, max, count);
    charge(*count * sim_virtual_costs.unwind_frame);
    return end;
}

/* Where the engine's state has the host and the unwinder. */
static void put_costs(void)
{
    struct strobe_host *host = &strobe_art.host.linux.host;
    plain = *host;
    host->ticks = ticks;
    host->self_cpu_ns = self_cpu_ns;
    host->self_usage = self_usage;
    host->thread_cpu_ns = thread_cpu_ns;
    host->suspend = suspend;
    host->resume = resume;
    host->between_passes = between_passes;
    charged_unwinder = (struct strobe_unwinder){.self = walk_self, .stopped = walk_stopped};
    strobe_art.engine.unwinder = &charged_unwinder;
}

/* ---- the engine ---- */

static enum strobe_status begin(struct strobe_jvm *vm, const struct strobe_art_options *options, char *why,
                                size_t why_bytes)
{
    enum strobe_status status = strobe_art_start(vm, options, NULL, why, why_bytes);
    if (status == STROBE_OK)
        put_costs();
    return status;
}

const struct sim_real_seat sim_real_seat = {.prepare = prepare, .begin = begin, .end = strobe_art_stop,
                                            .charged_ns = charged_ns};
