#include "sim/policy/strobe.h"

#include "engine/capture/sample.h"
#include "sim/score/wait_calls.h"

#include <stdio.h>

enum { SETTLE_NS = 100 };
#define WATCHDOG_NS ((uint64_t)200000000) /* as in the engine's Linux backend */
#define JUMP_NS     5000000               /* a clock's jump, unless the fault has an amount */
#define STALL_NS    ((uint64_t)300000000)

static uint32_t spec_of_self(void)
{
    const struct sim_thread *self = sim_self();
    const struct sim_vthread *v = self ? self->user : NULL;
    return v ? v->spec : UINT32_MAX;
}

static bool vhost_fault_strikes(struct sim_strobe *s, enum sim_fault_kind kind, uint32_t spec, uint64_t *amount)
{
    *amount = 0;
    return s->run->scenario->fault_count && sim_fault_strikes(s->run->faults, kind, spec, sim_now(), amount);
}

/* Ends the run when the sampler makes this call while it holds a thread suspended. In that window it may call `ticks`,
 * `read` and `resume` only: any other call may wait for what the suspended thread holds (S-40). */
static void forbid_in_window(const struct sim_strobe *s, const char *call)
{
    char why[96];
    if (!s->held || sim_self() != s->sampler_thread)
        return;
    snprintf(why, sizeof why, "the sampler calls %s while it holds thread %u suspended", call, s->held->tid);
    sim_forbidden(why);
}

/* ---- clocks ---- */

static void jump(struct sim_strobe *s)
{
    uint64_t amount;
    if (vhost_fault_strikes(s, SIM_FAULT_CLOCK_BACK, spec_of_self(), &amount)) {
        int64_t back = (int64_t)(amount ? amount : JUMP_NS), most = (int64_t)(sim_now() + SIM_STROBE_ORIGIN_NS / 2);
        if (s->clock_offset_ns - back > -most)
            s->clock_offset_ns -= back;
    }
    if (vhost_fault_strikes(s, SIM_FAULT_CLOCK_FORWARD, spec_of_self(), &amount))
        s->clock_offset_ns += (int64_t)(amount ? amount : JUMP_NS);
}

/* Enters a hook while the thread is already in the engine, like a signal handler that allocates. */
static void enter_again(struct sim_strobe *s)
{
    struct sim_thread *self = sim_self();
    struct sim_vthread *v = self ? self->user : NULL;
    const struct sim_traced *t = v ? v->tracer : NULL;
    uint64_t amount;
    if (t && t->thread && strobe_load_relaxed(&t->thread->inside) &&
        vhost_fault_strikes(s, SIM_FAULT_HOOK_INSIDE, v->spec, &amount))
        strobe_point_alloc(t->thread, strobe_switched(), 16, (struct strobe_site){v->fp, 0});
}

static uint64_t vhost_ticks(void *ctx)
{
    struct sim_strobe *s = ctx;
    sim_strobe_charge(s, s->costs.clock);
    if (s->run->scenario->fault_count) {
        jump(s);
        enter_again(s);
    }
    return sim_strobe_ticks(s, sim_now());
}

static uint64_t vhost_self_cpu_ns(void *ctx)
{
    struct sim_strobe *s = ctx;
    forbid_in_window(s, "self_cpu_ns");
    sim_strobe_charge(s, s->costs.thread_clock);
    return sim_read_cpu_ns(sim_self());
}

static void vhost_self_usage(void *ctx, struct strobe_usage *out)
{
    struct sim_strobe *s = ctx;
    const struct sim_thread *self = sim_self();
    forbid_in_window(s, "self_usage");
    sim_strobe_charge(s, s->costs.usage);
    *out = (struct strobe_usage){.voluntary_switches = self->voluntary_switches,
                                 .involuntary_switches = self->involuntary_switches};
}

/* A running thread continues while its clock is read, so two readings at one instant differ. */
static enum strobe_status vhost_thread_cpu_ns(void *ctx, uint32_t tid, uint64_t *out)
{
    struct sim_strobe *s = ctx;
    const struct sim_vthread *v = sim_run_thread(s->run, tid);
    forbid_in_window(s, "thread_cpu_ns");
    sim_strobe_charge(s, s->costs.thread_clock);
    if (!v)
        return STROBE_GONE;
    *out = sim_read_cpu_ns(v->thread);
    if (v->thread->state == SIM_RUNNING && s->asked_cpu_tid == tid && s->asked_cpu_ns == *out)
        ++*out;
    s->asked_cpu_tid = tid;
    s->asked_cpu_ns = *out;
    return STROBE_OK;
}

/* The file of the thread's system call costs what reading the counters costs. */
static uint64_t vhost_wait_call(void *ctx, uint32_t tid)
{
    struct sim_strobe *s = ctx;
    const struct sim_vthread *v = sim_run_thread(s->run, tid);
    forbid_in_window(s, "wait_call");
    sim_strobe_charge(s, s->costs.usage);
    return v && v->thread->state == SIM_BLOCKED ? sim_wait_call(v->waits) : 0;
}

/* ---- stop and go ---- */

static void vhost_release_hold(struct sim_strobe *s)
{
    struct sim_vthread *v = s->held;
    s->held = NULL;
    if (v && !v->ended)
        sim_continue(v->thread);
}

static void vhost_watch(void *ctx)
{
    struct sim_strobe *s = ctx;
    uint64_t now = sim_now();
    s->watched = false;
    if (!s->held)
        return;
    if (now >= s->held_since_ns + WATCHDOG_NS)
        vhost_release_hold(s);
    else
        s->watched = sim_at(s->run->kernel, s->held_since_ns + WATCHDOG_NS, vhost_watch, s) == STROBE_OK;
}

static void vhost_hold(struct sim_strobe *s, struct sim_vthread *v)
{
    s->held = v;
    s->held_since_ns = sim_now();
    if (!s->watched)
        s->watched = sim_at(s->run->kernel, s->held_since_ns + WATCHDOG_NS, vhost_watch, s) == STROBE_OK;
}

/* Charges a stopped thread for its handler: at once, or at its next action if it waits. */
static void charge_target(struct sim_strobe *s, struct sim_vthread *v)
{
    uint64_t ns = (s->held_far ? s->costs.stop_far_target : s->costs.suspend_target) / 1000;
    if (sim_charge_stopped(v->thread, ns))
        v->tracer_ns += ns;
    else
        v->owes_ns += ns;
}

/* Charges the unwinding of the stack copied last; its frames have been interned by now. */
static void charge_unwinding(struct sim_strobe *s)
{
    if (s->to_unwind)
        sim_strobe_charge(s, s->sampler->cursor.depth * s->costs.unwind_frame);
    s->to_unwind = false;
}

static void kill_doomed(void *ctx)
{
    struct sim_strobe *s = ctx;
    sim_run_kill(s->run, s->doomed);
}

static enum strobe_status ask_to_stop(struct sim_strobe *s, struct sim_vthread *v, uint64_t timeout_ns)
{
    const struct sim_traced *t = v->tracer;
    uint64_t amount;
    if (vhost_fault_strikes(s, SIM_FAULT_SUSPEND_REFUSED, v->spec, &amount))
        return STROBE_LATE;
    if ((t && t->stands) || vhost_fault_strikes(s, SIM_FAULT_SUSPEND_LATE, v->spec, &amount)) {
        sim_sleep_until(sim_now() + timeout_ns);
        return STROBE_LATE;
    }
    if (vhost_fault_strikes(s, SIM_FAULT_EXIT_BEFORE_SUSPEND, v->spec, &amount) && sim_run_kill(s->run, v))
        return STROBE_GONE;
    if (vhost_fault_strikes(s, SIM_FAULT_EXIT_IN_SUSPEND, v->spec, &amount)) {
        s->doomed = v;
        sim_at(s->run->kernel, sim_now() + s->costs.suspend / 4000, kill_doomed, s);
    }
    enum strobe_status status = sim_stop(v->thread, s->interval_ns ? SIM_STOP_AT_ONCE : SIM_STOP_SIGNAL, timeout_ns);
    if (status != STROBE_OK || !v->ended)
        return status;
    sim_continue(v->thread); /* it is ending and has no stack any more */
    return STROBE_GONE;
}

static enum strobe_status vhost_suspend(void *ctx, uint32_t tid, const strobe_a32 *blocked, uint64_t timeout_ns,
                                        struct strobe_regs *out)
{
    struct sim_strobe *s = ctx;
    struct sim_vthread *v = sim_run_thread(s->run, tid);
    uint64_t amount;
    forbid_in_window(s, "suspend");
    charge_unwinding(s);
    if (!v)
        return STROBE_GONE;
    if (v->thread->state != SIM_RUNNING && v->thread->state != SIM_READY)
        return STROBE_UNSUPPORTED;
    /* The thread was on another core, unless the sampler has taken this core from it. */
    s->held_far = s->costs.stop_far && v->thread->state == SIM_RUNNING;
    sim_strobe_charge(s, (s->held_far ? s->costs.stop_far : s->costs.suspend) / 2); /* the rest follows below */
    s->asked_tid = tid;
    if (strobe_load_seq_cst(blocked)) {
        s->asked_tid = 0;
        return STROBE_UNSUPPORTED;
    }
    enum strobe_status status = ask_to_stop(s, v, timeout_ns);
    s->asked_tid = 0;
    if (status != STROBE_OK)
        return status;
    sim_strobe_charge(s, s->held_far ? s->costs.stop_far / 2 : 0);
    vhost_hold(s, v);
    charge_target(s, v);
    sim_run_registers(v, out);
    if (vhost_fault_strikes(s, SIM_FAULT_EXIT_BEFORE_READ, v->spec, &amount))
        sim_run_kill(s->run, v);
    return STROBE_OK;
}

static void vhost_settle(void *ctx, uint32_t tid)
{
    const struct sim_strobe *s = ctx;
    forbid_in_window(s, "settle");
    while (s->asked_tid == tid)
        sim_compute(SETTLE_NS);
}

static void end_sampler(void *ctx)
{
    const struct sim_strobe *s = ctx;
    sim_kill(s->sampler_thread);
}

/* Makes the sampler stall or end while it holds a thread. */
static void fail_in_window(struct sim_strobe *s, uint32_t spec)
{
    uint64_t amount;
    if (vhost_fault_strikes(s, SIM_FAULT_SAMPLER_STALL, spec, &amount))
        sim_sleep_until(sim_now() + (amount ? amount : STALL_NS));
    if (vhost_fault_strikes(s, SIM_FAULT_SAMPLER_KILLED, spec, &amount)) {
        sim_at(s->run->kernel, sim_now(), end_sampler, s);
        sim_sleep_until(UINT64_MAX);
    }
}

/* Continues a thread whose resume was lost, after the watchdog's time. */
static void resume_after_watchdog(void *ctx)
{
    struct sim_traced *t = ctx;
    t->stands = false;
    t->strobe->standing--;
    if (!t->v->ended)
        sim_continue(t->v->thread);
}

static void lose_resume(struct sim_strobe *s, struct sim_vthread *v)
{
    struct sim_traced *t = v->tracer;
    s->held = NULL;
    if (!t || v->ended || sim_at(s->run->kernel, s->held_since_ns + WATCHDOG_NS, resume_after_watchdog, t) != STROBE_OK)
        return;
    t->stands = true;
    s->standing++;
}

static enum strobe_status vhost_resume(void *ctx, uint32_t tid)
{
    struct sim_strobe *s = ctx;
    struct sim_vthread *v = s->held;
    uint64_t amount;
    sim_strobe_charge(s, s->held_far ? s->costs.resume_far : s->costs.resume);
    if (sim_self()->debt_ns)
        sim_compute(0); /* the cost of the window is time in which the thread stands */
    if (!s->held || v->tid != tid)
        return STROBE_LATE;
    if (vhost_fault_strikes(s, SIM_FAULT_RESUME_LOST, v->spec, &amount))
        lose_resume(s, v);
    else
        vhost_release_hold(s);
    return STROBE_OK;
}

/* ---- CPU clocks ---- */

/* Handler of the tick of a thread's CPU clock, or of the sampler's signal, which has no timer interrupt. It takes the
 * stack, as the engine's Linux backend does. */
static void vhost_on_tick(struct sim_thread *self, void *ctx)
{
    struct sim_strobe *s = ctx;
    struct sim_vthread *v = self->user;
    struct sim_traced *t = v->tracer;
    bool asked = t && t->thread && strobe_load_relaxed(&t->thread->rung_cpu_ns) != 0;
    sim_strobe_charge(s, asked ? s->costs.suspend_target : s->costs.tick);
    if (!t || !t->thread || strobe_switched() == STROBE_OFF)
        return;
    struct strobe_regs regs;
    sim_run_registers(v, &regs);
    uint64_t sampled = strobe_load_relaxed(&t->thread->sync_samples);
    strobe_sample_interrupted(t->thread, &regs, asked);
    t->samples = strobe_load_relaxed(&t->thread->sync_samples);
    if (t->samples != sampled)
        sim_strobe_charge(s, s->costs.tick_sample + t->thread->buffers->tick_cursor.depth * s->costs.unwind_frame);
}

/* The part of its waits after which the thread's timer ends before the kernel's next tick. Only then is the processor's
 * timer set anew. What is left of the period, and the time to the kernel's tick, are evenly distributed. */
static double timer_part(uint64_t period_ns)
{
    const uint64_t kernel_tick_ns = 4000000;
    return period_ns > kernel_tick_ns ? (double)kernel_tick_ns / 2 / (double)period_ns : 1;
}

static enum strobe_status clock_keep(void *ctx, uint32_t index, uint32_t tid, uint64_t period_ns, uint32_t taken)
{
    struct sim_strobe *s = ctx;
    struct sim_vthread *v = sim_run_thread(s->run, tid);
    struct sim_traced *t = v ? v->tracer : NULL;
    forbid_in_window(s, "clock_keep");
    (void)index, (void)taken;
    if (!t || t->period_ns == period_ns)
        return t ? STROBE_OK : STROBE_UNSUPPORTED;
    if (!t->period_ns)
        sim_strobe_charge(s, s->costs.clock_start);
    t->period_ns = period_ns;
    v->wait_cost = &s->run->options.costs.tick_wait;
    v->wait_cost_part = timer_part(period_ns);
    struct sim_cpu_timer timer = {.mode = SIM_CPU_TIMER_EXACT, .period_ns = period_ns, .fn = vhost_on_tick, .ctx = s};
    return sim_cpu_timer(v->thread, &timer);
}

static enum strobe_status clock_ring(void *ctx, uint32_t index, uint32_t tid)
{
    struct sim_strobe *s = ctx;
    struct sim_vthread *v = sim_run_thread(s->run, tid);
    forbid_in_window(s, "clock_ring");
    (void)index;
    struct sim_traced *t = v ? v->tracer : NULL;
    sim_strobe_charge(s, s->costs.suspend / 2);
    if (!t)
        return STROBE_GONE;
    if (!t->period_ns)
        sim_cpu_timer(v->thread, &(struct sim_cpu_timer){.fn = vhost_on_tick, .ctx = s});
    return sim_cpu_timer_ring(v->thread);
}

static void clock_end(void *ctx, uint32_t index)
{
    struct sim_strobe *s = ctx;
    forbid_in_window(s, "clock_end");
    (void)index; /* the timer ended with its thread */
    sim_strobe_charge(s, s->costs.clock_end);
}

/* ---- memory, sleep ---- */

static enum strobe_status vhost_read_memory(void *ctx, uint64_t address, void *out, size_t bytes, size_t *copied)
{
    struct sim_strobe *s = ctx;
    bool in_window = s->held && sim_self() == s->sampler_thread;
    if (in_window)
        fail_in_window(s, s->held ? s->held->spec : UINT32_MAX);
    enum strobe_status status = sim_run_read(s->run, address, out, bytes, copied);
    if (in_window) {
        sim_strobe_charge(s, s->costs.copy + *copied * s->costs.copy_kib / 1024);
        s->to_unwind = status == STROBE_OK;
    }
    return status;
}

/* Returns the cost of a pass after a sleep of that length, interpolated between 1 ms and 4 ms. */
static uint64_t wake_ps(const struct sim_strobe *s, uint64_t slept_ns)
{
    const uint64_t soon_ns = 1000000, late_ns = 4000000;
    uint64_t soon = s->costs.sampler_wake_soon, late = s->costs.sampler_wake;
    if (slept_ns <= soon_ns || late <= soon)
        return soon;
    return slept_ns < late_ns ? soon + (late - soon) * (slept_ns - soon_ns) / (late_ns - soon_ns) : late;
}

/* Charges a sleep, which ends in a switch to the sampler. Returns the deadline in virtual time. */
static uint64_t charge_sleep(struct sim_strobe *s, uint64_t deadline_ticks)
{
    forbid_in_window(s, "sleep_until");
    uint64_t origin = sim_strobe_ticks(s, 0), now = sim_now();
    uint64_t deadline = deadline_ticks > origin ? deadline_ticks - origin : 0;
    uint64_t wake = wake_ps(s, deadline > now ? deadline - now : 0);
    /* This cost includes what the calls of a pass over one thread are charged. */
    uint64_t charged = s->costs.look + s->costs.thread_clock + 2 * s->costs.clock;
    sim_strobe_charge(s, wake > charged ? wake - charged : 0);
    return deadline;
}

static void vhost_sleep_until(void *ctx, uint64_t deadline_ticks)
{
    sim_sleep_until(charge_sleep(ctx, deadline_ticks));
}

/* sim_interrupt can only end a sleep that has begun. No other thread runs between the check of the word and the
 * sleep. */
static void vhost_rest_until(void *ctx, uint64_t deadline_ticks, strobe_a32 *word, uint32_t value)
{
    uint64_t deadline = charge_sleep(ctx, deadline_ticks);
    if (atomic_load_explicit(word, memory_order_acquire) == value)
        sim_sleep_until(deadline);
}

static void vhost_rouse(void *ctx, strobe_a32 *word)
{
    struct sim_strobe *s = ctx;
    forbid_in_window(s, "rouse");
    (void)word;
    sim_interrupt(s->sampler_thread);
}

static void vhost_between_passes(void *ctx)
{
    struct sim_strobe *s = ctx;
    uint32_t threads = 0;
    forbid_in_window(s, "between_passes");
    for (const struct sim_traced *t = s->live; t && threads < STROBE_SAMPLER_PASS_THREADS; t = t->next)
        threads++;
    charge_unwinding(s);
    sim_strobe_charge(s, threads * s->costs.look);
}

void sim_strobe_host(struct sim_strobe *s)
{
    s->host = (struct strobe_host){
        .ticks = vhost_ticks,
        .self_cpu_ns = vhost_self_cpu_ns,
        .self_usage = vhost_self_usage,
        .thread_cpu_ns = vhost_thread_cpu_ns,
        .wait_call = vhost_wait_call,
        .suspend = vhost_suspend,
        .settle = vhost_settle,
        .resume = vhost_resume,
        .read = vhost_read_memory,
        .sleep_until = vhost_sleep_until,
        .between_passes = vhost_between_passes,
        .ctx = s,
        .ticks_per_second = 1000000000u,
    };
    if (!s->interval_ns && !s->no_ticks) {
        s->host.clock_keep = clock_keep;
        s->host.clock_ring = clock_ring;
        s->host.clock_end = clock_end;
        s->host.rest_until = vhost_rest_until;
        s->host.rouse = vhost_rouse;
    }
}
