#include "engine/capture/sampler.h"

#include "engine/base/mix.h"
#include "engine/capture/blocking.h"
#include "engine/capture/guard.h"
#include "engine/capture/series.h"

_Thread_local bool strobe_guard_window;

/* ---- when */

/* Returns a random number, 0 .. limit - 1, or 0 when limit is 0 (splitmix64). */
static uint64_t sampler_draw(struct strobe_sampler *s, uint64_t limit)
{
    s->random += 0x9e3779b97f4a7c15u;
    return limit ? strobe_mix64(s->random) % limit : 0;
}

/* Changes the offset at random, reflected at the ends. In the long run all offsets are equally frequent. */
static void change_offset(struct strobe_sampler *s)
{
    int64_t interval = (int64_t)s->interval_ticks, step = interval / 8;
    int64_t offset = (int64_t)s->offset_ticks + (int64_t)sampler_draw(s, (uint64_t)(2 * step + 1)) - step;
    if (offset < 0)
        offset = -offset;
    if (offset > interval)
        offset = 2 * interval - offset;
    s->offset_ticks = (uint64_t)offset;
}

uint64_t strobe_sampler_deadline(const struct strobe_sampler *s)
{
    return s->grid_ticks + s->offset_ticks;
}

/* A pass wakes the sampler and takes a processor from a computing thread: 3 % of a processor at one pass in each ms.
 * Threads with ticking clocks are sampled without passes. */
enum { QUIET_PASSES = 8, REST_INTERVALS = 4, REST_INTERVALS_RUNG = 2, REST_NS = 4000000 };

static uint64_t intervals_to_next_pass(const struct strobe_sampler *s)
{
    const struct strobe_engine *e = s->engine;
    uint64_t fit = e->config.async_interval_ns ? REST_NS / e->config.async_interval_ns : 0;
    uint64_t most = s->passes_unrung < QUIET_PASSES ? REST_INTERVALS_RUNG : REST_INTERVALS;
    uint64_t rest = fit < most ? fit : most;
    return s->quiet_passes < QUIET_PASSES || !rest ? 1 : rest;
}

/* New threads that come after this point are polled in the next pass. */
static void begin_pass(struct strobe_sampler *s, uint64_t now)
{
    s->pass_ticks = now;
    s->needed = strobe_exchange_acq_rel(&s->engine->sampler_rest, STROBE_SAMPLER_IDLE) == STROBE_SAMPLER_NEWCOMER;
    s->rang = false;
}

/* A needed pass keeps the distance to the next pass short. */
static void end_pass(struct strobe_sampler *s)
{
    s->quiet_passes = s->needed || !s->engine->host->clock_keep ? 0 : s->quiet_passes + 1;
    s->passes_unrung = s->rang ? 0 : s->passes_unrung + 1;
}

/* Returns false when a thread has come since the last pass began. */
static bool begin_rest(const struct strobe_sampler *s)
{
    uint32_t idle = STROBE_SAMPLER_IDLE;
    return strobe_cas_acq_rel(&s->engine->sampler_rest, &idle, STROBE_SAMPLER_RESTS);
}

void strobe_sampler_go_on(struct strobe_sampler *s, uint64_t now)
{
    uint64_t intervals = intervals_to_next_pass(s);
    s->rests = intervals > 1 && begin_rest(s);
    s->grid_ticks += s->interval_ticks * (s->rests ? intervals : 1);
    change_offset(s);
    uint64_t deadline = strobe_sampler_deadline(s);
    if (s->interval_ticks && deadline <= now)
        s->grid_ticks += (now - deadline) / s->interval_ticks * s->interval_ticks + s->interval_ticks;
}

uint64_t strobe_sampler_sleep(struct strobe_sampler *s)
{
    struct strobe_engine *e = s->engine;
    const struct strobe_host *h = e->host;
    uint64_t deadline = strobe_sampler_deadline(s);
    if (s->rests) {
        h->rest_until(h->ctx, deadline, &e->sampler_rest, STROBE_SAMPLER_RESTS);
        uint64_t now = h->ticks(h->ctx);
        if (strobe_load_acquire(&e->sampler_rest) != STROBE_SAMPLER_NEWCOMER || now >= deadline)
            return deadline;
        s->grid_ticks -= (deadline - now) / s->interval_ticks * s->interval_ticks;
        deadline = strobe_sampler_deadline(s);
    }
    h->sleep_until(h->ctx, deadline);
    return deadline;
}

void strobe_sampler_init(struct strobe_sampler *s, struct strobe_engine *e, uint32_t tid)
{
    uint64_t now = e->host->ticks(e->host->ctx);
    s->engine = e;
    s->resume_ticks = e->config.delay_ns ? now + strobe_ticks_of_ns(e->host, e->config.delay_ns) : UINT64_MAX;
    s->interval_ticks = strobe_ticks_of_ns(e->host, e->config.async_interval_ns);
    s->random = e->config.seed ? e->config.seed : now ^ (uint64_t)tid << 32;
    s->grid_ticks = now;
    s->offset_ticks = sampler_draw(s, s->interval_ticks);
    strobe_ring_writer_init(&e->session.ring, &s->writer, tid);
}

/* ---- which thread ---- */

static uint64_t ticks_of_ns(const struct strobe_engine *e, uint64_t ns)
{
    return strobe_ticks_of_ns(e->host, ns);
}

static bool is_thread_alive(const struct strobe_thread *t)
{
    return strobe_load_relaxed(&t->entry->state) == STROBE_THREAD_LIVE;
}

static bool is_in_blocking_call(const struct strobe_thread *t)
{
    return strobe_load_relaxed(&t->entry->scope_kind) != STROBE_KIND_NONE;
}

/* Retires a thread that has ended without detaching: marks it as ended, and seals its open chunk. */
static void retire_thread(struct strobe_engine *e, struct strobe_thread *t, uint64_t now)
{
    if (!is_thread_alive(t))
        return;
    t->entry->end_ticks = now;
    strobe_ring_seal_dead(&e->session.ring, &t->writer);
    strobe_wait_drop_all(t);
    bool inside = t->cut_short || strobe_load_relaxed(&t->inside);
    strobe_store_release(&t->entry->state, inside ? STROBE_THREAD_CUT_SHORT : STROBE_THREAD_ENDED);
}

/* Reads the CPU time of the thread, once in each visit. */
static enum strobe_status read_cpu(struct strobe_sampler *s, const struct strobe_thread *t, uint64_t *cpu_ns)
{
    const struct strobe_host *h = s->engine->host;
    if (s->cpu_read_of == t) {
        *cpu_ns = s->cpu_read_ns;
        return STROBE_OK;
    }
    enum strobe_status status = h->thread_cpu_ns(h->ctx, t->entry->tid, cpu_ns);
    s->cpu_read_of = status == STROBE_OK ? t : NULL;
    s->cpu_read_ns = *cpu_ns;
    s->cpu_read_ticks = h->ticks(h->ctx);
    return status;
}

/* ---- CPU clocks that tick ---- */

enum { TICKS_OF_A_PERIOD = 32 }; /* ticks after which the period of a clock changes */

/* The period differs from the interval by up to an eighth, so that the clock locks to no rhythm of the program. The
 * next period differs by the same amount in the other direction, so that the mean rate is exact. */
static void change_period(struct strobe_sampler *s, struct strobe_sampled *m, uint32_t taken)
{
    int64_t interval_ns = (int64_t)s->engine->config.async_interval_ns, most = interval_ns / 8;
    m->period_offset_ns = m->period_offset_ns > 0 ? -m->period_offset_ns : (int64_t)sampler_draw(s, (uint64_t)most + 1);
    m->period_ns = (uint64_t)(interval_ns + m->period_offset_ns);
    m->period_began = taken;
}

/* A thread gets a ticking clock when it has used half of the CPU time of one tick. To make and to free a clock costs
 * more than the work of a shorter thread, and makes each switch to the thread more expensive. Until then the sampler
 * stops the thread. Its CPU clock is read in each pass, because most threads are polled in every second pass only. */
static bool is_worth_a_clock(struct strobe_sampler *s, const struct strobe_thread *t)
{
    uint64_t least = s->engine->config.async_interval_ns / 2, cpu = 0;
    if (t->sampled.period_ns || t->sampled.cpu_seen_ns >= least)
        return true;
    return !is_in_blocking_call(t) && read_cpu(s, t, &cpu) == STROBE_OK && cpu >= least;
}

/* Keeps the thread's clock of the host ticking. A thread whose clock cannot tick is sampled by stops. */
static void keep_ticking(struct strobe_sampler *s, struct strobe_thread *t)
{
    const struct strobe_host *h = s->engine->host;
    if (!h->clock_keep || t->sampled.tickless || !is_worth_a_clock(s, t))
        return;
    s->cpu_read_of = NULL; /* making a clock takes time, so the value read before is old */
    uint32_t taken = strobe_load_relaxed(&t->ticks_taken);
    s->needed |= !t->sampled.period_ns;
    if (!t->sampled.period_ns || taken - t->sampled.period_began >= TICKS_OF_A_PERIOD)
        change_period(s, &t->sampled, taken);
    enum strobe_status status = h->clock_keep(h->ctx, t->index, t->entry->tid, t->sampled.period_ns, taken);
    t->sampled.tickless = status == STROBE_UNSUPPORTED;
    strobe_store_relaxed(&t->ticking, status == STROBE_OK);
}

/* Frees the clock of a thread that has ended since the last pass. */
static void end_ticking(struct strobe_sampler *s, struct strobe_thread *t)
{
    const struct strobe_host *h = s->engine->host;
    if (!strobe_load_relaxed(&t->ticking))
        return;
    strobe_store_relaxed(&t->ticking, 0);
    t->sampled.tickless = true;
    h->clock_end(h->ctx, t->index);
}

/* Requests one tick of a thread that waits for a processor. The thread takes it where it is, as soon as it runs. So its
 * stack during the wait is known, not only its stack at the tick before. A thread that has no clock yet is also asked,
 * because it may wait long for its second time slice. The request is not repeated before the thread has answered. A
 * thread that runs without an answer blocks the signal or is in a system call, and is stopped instead. Returns true
 * when the thread needs no other sample. */
static bool ring_waiting(struct strobe_sampler *s, struct strobe_thread *t, uint64_t cpu_ns)
{
    const struct strobe_host *h = s->engine->host;
    uint32_t taken = strobe_load_relaxed(&t->ticks_taken);
    if (!h->clock_ring || (t->sampled.rung && t->sampled.rung_taken == taken))
        return false;
    strobe_store_relaxed(&t->rung_cpu_ns, cpu_ns ? cpu_ns : 1);
    strobe_fence_seq_cst(); /* Store the request, then load. The thread publishes that it blocks, then checks for a
                               request */
    if (is_in_blocking_call(t) || h->clock_ring(h->ctx, t->index, t->entry->tid) != STROBE_OK) {
        strobe_store_release(&t->rung_cpu_ns, 0);
        return false;
    }
    t->sampled.rung = true;
    t->sampled.rung_taken = taken;
    s->rang = true;
    return true;
}

/* Returns true when the thread needs no visit: its clock has ticked since the last pass, or the last visit was less
 * than an interval ago, which is too short for a tick to be missing. */
static bool left_to_ticks(struct strobe_sampler *s, struct strobe_thread *t, uint64_t now)
{
    struct strobe_sampled *m = &t->sampled;
    uint32_t taken = strobe_load_relaxed(&t->ticks_taken);
    if (!strobe_load_relaxed(&t->ticking))
        return false;
    if (taken != m->ticks_seen) {
        m->ticks_seen = taken;
        m->seen_ticks = m->polled_ticks = now;
        m->cpu_seen_ns = 0;
        return true;
    }
    return m->polled_ticks && now - m->polled_ticks < s->interval_ticks;
}

/* Returns the CPU time from which on a thread is stopped. Without ticks, any CPU time since the last visit counts. With
 * ticks, it is more than the longest period since the last tick or stop, so that ticks must be missing: the thread is
 * then in system calls, or its signals do not arrive. A new thread is stopped once, because it may end before its first
 * tick. */
static uint64_t active_ns(const struct strobe_engine *e, const struct strobe_thread *t)
{
    bool ticking = strobe_load_relaxed(&t->ticking) && t->sampled.polled_ticks;
    return ticking ? e->config.async_interval_ns * 5 / 4 : e->config.active_cpu_ns;
}

/* Returns true when the thread is in the same call as in the last pass. It waits there, and the scope's record will
 * show it. */
static bool still_waits(struct strobe_thread *t)
{
    uint64_t begin = strobe_load_relaxed(&t->entry->scope_begin_ticks), before = t->sampled.scope_ticks;
    t->sampled.scope_ticks = begin;
    return begin && begin == before;
}

static uint64_t refresh_ns(const struct strobe_engine *e, const struct strobe_thread *t)
{
    return t->entry->is_main ? e->config.refresh_main_ns : e->config.refresh_other_ns;
}

/* Returns true when a sample would add nothing: the thread is in a call that has lasted long enough to be recorded with
 * its begin and end, or in which it only waits. Where CPU clocks tick, and after refresh_ns, the thread is polled all
 * the same: passes depend on its CPU time, and it may be gone. */
static bool call_will_show(const struct strobe_engine *e, const struct strobe_thread *t, uint64_t now)
{
    uint64_t begin = strobe_load_relaxed(&t->entry->scope_begin_ticks);
    bool waits = strobe_call_only_waits(strobe_load_relaxed(&t->entry->scope_kind));
    return begin && (waits || now >= begin + ticks_of_ns(e, e->config.scope_min_ns)) && !e->host->clock_keep &&
           now < t->sampled.polled_ticks + ticks_of_ns(e, refresh_ns(e, t));
}

/* Returns the interval between visits of a thread: one interval, and never less than the gate's interval for hooks.
 * Where CPU clocks tick, visits only find threads whose ticks are missing: threads other than main are then visited in
 * every second interval. */
static uint64_t async_interval_ns(const struct strobe_engine *e, bool is_main)
{
    const struct strobe_config *c = &e->config;
    uint64_t gate_ns = is_main ? c->interval_main_ns : c->interval_other_ns;
    uint64_t ns = is_main || !e->host->clock_keep ? c->async_interval_ns : 2 * c->async_interval_ns;
    return ns > gate_ns ? ns : gate_ns;
}

/* The thread's own points are put off until the sampler has not come for several times the time between its last two
 * visits. */
enum { PATIENCE = 4, PATIENCE_MAX = 64 };

static void expect_back(struct strobe_engine *e, struct strobe_thread *t, uint64_t now)
{
    uint64_t interval = ticks_of_ns(e, async_interval_ns(e, t->entry->is_main));
    uint64_t took = now - t->sampled.seen_ticks;
    uint64_t patience = PATIENCE * (took < interval ? interval : took);
    if (patience > PATIENCE_MAX * interval)
        patience = PATIENCE_MAX * interval;
    t->sampled.seen_ticks = now;
    strobe_store_relaxed(&t->points_yield_until, now + patience);
}

/* Puts the thread's points off for one more interval, within limits. The sampler could not sample the thread this time
 * but may be able to next time. */
static void keep_points_waiting(struct strobe_engine *e, struct strobe_thread *t)
{
    uint64_t interval = ticks_of_ns(e, e->config.async_interval_ns), seen = t->sampled.seen_ticks;
    uint64_t until = strobe_load_relaxed(&t->points_yield_until) + interval;
    if (seen && until - seen <= PATIENCE_MAX * interval)
        strobe_store_relaxed(&t->points_yield_until, until);
}

/* Returns true when the thread is on a processor now, because its CPU clock advances between two readings. A clock with
 * coarse steps is read until more than a step has passed, except in a hooked call, where most threads wait. */
static bool clock_advances(const struct strobe_sampler *s, const struct strobe_thread *t, uint64_t cpu_ns)
{
    const struct strobe_host *h = s->engine->host;
    uint64_t enough = is_in_blocking_call(t) ? 0 : 2 * ticks_of_ns(s->engine, h->cpu_step_ns), later;
    do
        if (h->thread_cpu_ns(h->ctx, t->entry->tid, &later) == STROBE_OK && later != cpu_ns)
            return true;
    while (enough && h->ticks(h->ctx) - s->cpu_read_ticks < enough);
    return false;
}

/* Returns true when the thread is on a processor now, or when it waits for one outside of hooked calls, which the host
 * knows. Then *ready is true. */
static bool runs_now(const struct strobe_sampler *s, const struct strobe_thread *t, uint64_t cpu_ns, bool *ready)
{
    const struct strobe_host *h = s->engine->host;
    *ready = false;
    if (clock_advances(s, t, cpu_ns))
        return true;
    *ready = !is_in_blocking_call(t) && h->thread_runs && h->thread_runs(h->ctx, t->entry->tid);
    return *ready;
}

/* Returns true when the thread is where its last record shows it, and waits there for a processor: it has hardly used
 * CPU time since, in no call and outside of the engine. The host is asked once for each record. */
static bool stands_ready(const struct strobe_sampler *s, struct strobe_thread *t, uint64_t cpu_ns)
{
    const struct strobe_host *h = s->engine->host;
    struct strobe_sampled *m = &t->sampled;
    if (m->ready_asked || !m->stack || !h->thread_runs || strobe_load_relaxed(&t->ticking) || is_in_blocking_call(t) ||
        m->sync_seen != strobe_load_relaxed(&t->sync_samples) ||
        cpu_ns - m->cpu_sampled_ns >= s->engine->config.active_cpu_ns)
        return false;
    m->ready_asked = true;
    return h->thread_runs(h->ctx, t->entry->tid);
}

/* Returns true when the thread should be sampled now. Reads its CPU clock, so that its activity is judged by fresh
 * data. A thread counts as running when it is on a processor, or was on one for all the time since the last visit and
 * is off it only because the sampler took it. Other threads are not sampled: they are where they were taken off the
 * processor, most often at a system call, and a sample of that would look like a sample of their work. */
static bool is_visit_due(struct strobe_sampler *s, struct strobe_thread *t, uint64_t now)
{
    struct strobe_engine *e = s->engine;
    struct strobe_sampled *m = &t->sampled;
    s->ready = s->runs = s->stands = false;
    if (!is_thread_alive(t) || now < m->retry_ticks)
        return false;
    uint64_t unseen = now > m->seen_ticks ? now - m->seen_ticks : 0;
    uint64_t interval_ns = async_interval_ns(e, t->entry->is_main);
    /* Less than the interval by two eighths: deadlines vary by one eighth, and passes may wake up late by another. */
    if (unseen < ticks_of_ns(e, interval_ns - interval_ns / 4)) {
        s->needed |= !strobe_load_relaxed(&t->ticking); /* it was sampled in the last pass, or its stack was
                                                           requested */
        return false;
    }
    strobe_gate_wake(&t->gate);
    if (still_waits(t))
        return false;
    if (call_will_show(e, t, now)) {
        keep_points_waiting(e, t);
        return false;
    }
    uint64_t cpu = 0;
    enum strobe_status status = read_cpu(s, t, &cpu);
    if (status == STROBE_GONE)
        retire_thread(e, t, now);
    if (status != STROBE_OK)
        return false;
    if (cpu < m->cpu_seen_ns) {
        retire_thread(e, t, now); /* a CPU clock never goes back: another thread has this id now */
        return false;
    }
    bool ticking = strobe_load_relaxed(&t->ticking), ticked = !m->cpu_seen_ns && m->polled_ticks && ticking;
    uint64_t used = cpu - m->cpu_seen_ns, elapsed = now - m->polled_ticks, active = active_ns(e, t);
    uint64_t missing = ticking ? cpu - m->cpu_ticked_ns : used;
    s->needed |= ticking ? !ticked && missing >= active && !is_in_blocking_call(t) : used != 0;
    m->cpu_seen_ns = cpu;
    m->polled_ticks = now;
    if (ticked)
        m->cpu_ticked_ns = cpu;
    if (ticking && !is_in_blocking_call(t) && ring_waiting(s, t, cpu))
        return false;
    if (ticked)
        return false; /* its CPU time without a tick counts from here on */
    if (missing >= active) {
        if (!ticking && !is_in_blocking_call(t) && ring_waiting(s, t, cpu))
            return false;
        bool runs = !m->seen_ticks || ticks_of_ns(e, used) >= elapsed - elapsed / 8 || runs_now(s, t, cpu, &s->ready);
        s->runs = runs && !s->ready;
        if (runs)
            m->cpu_ticked_ns = cpu;
        else
            keep_points_waiting(e, t);
        return runs;
    }
    s->stands = stands_ready(s, t, cpu);
    return !s->stands && used && cpu != m->cpu_sampled_ns && unseen >= ticks_of_ns(e, refresh_ns(e, t));
}

/* Requests that the thread takes its own stack when its call ends. It runs, but in a call that a stop must not disturb.
 * Without this the sampler would never see work that is done in many short calls. */
static void request_own_sample(struct strobe_engine *e, struct strobe_thread *t, uint64_t now)
{
    strobe_store_relaxed(&t->asked, 1);
    expect_back(e, t, now);
}

/* ---- suspend, copy, resume ---- */

/* Handles a thread that did not stop in time. If it did not run meanwhile, it is tried again in the next pass. If it
 * ran, it will not stop: it is left to its own points for 1 ms, 2 ms, ... up to about a second. */
static void back_off_thread(struct strobe_engine *e, struct strobe_thread *t, uint64_t now)
{
    struct strobe_sampled *m = &t->sampled;
    uint64_t cpu = m->cpu_seen_ns;
    e->host->thread_cpu_ns(e->host->ctx, t->entry->tid, &cpu);
    if (cpu - m->cpu_seen_ns < e->config.suspend_timeout_ns / 2) {
        keep_points_waiting(e, t);
        return;
    }
    unsigned shift = m->refusals < 10 ? m->refusals : 10;
    m->refusals++;
    m->retry_ticks = now + (ticks_of_ns(e, 1000000) << shift);
}

/* Copies the stack above the stack pointer, with the red zone below it. Returns 0 when nothing above could be read. */
static size_t copy_stack(struct strobe_sampler *s, const struct strobe_thread *t)
{
    const struct strobe_host *h = s->engine->host;
    uint64_t sp = s->regs.sp & ~(uint64_t)7;
    size_t bytes = STROBE_SAMPLER_STACK_BYTES, copied = 0;
    if (sp >= t->stack_low && sp < t->stack_high && t->stack_high - sp < bytes)
        bytes = (size_t)(t->stack_high - sp);
    s->below = STROBE_RED_ZONE_BYTES;
    if (h->read(h->ctx, sp - s->below, s->stack, bytes + s->below, &copied) == STROBE_OK && copied > s->below)
        return copied - s->below;
    s->below = 0; /* the page below may not be mapped */
    return h->read(h->ctx, sp, s->stack, bytes, &copied) == STROBE_OK ? copied : 0;
}

/* Returns what is known about the memory of a stopped thread's stack. A host that gives no registers gets all of it. */
static struct strobe_window stack_above(const struct strobe_regs *regs, const struct strobe_thread *t)
{
    uint64_t sp = regs->sp & ~(uint64_t)7;
    bool on_it = sp >= t->stack_low && sp < t->stack_high;
    if (!sp)
        return (struct strobe_window){.low = t->stack_low, .high = t->stack_high, .root = t->root_frame};
    return (struct strobe_window){.low = on_it ? sp : 0, .high = on_it ? t->stack_high : 0, .root = t->root_frame};
}

/* Takes from a stopped thread the data that is available only while it is stopped: a copy of its stack memory, or the
 * frames of a walk in place. Returns the number of bytes or frames; 0 = nothing. */
static size_t copy_or_walk_stack(struct strobe_sampler *s, const struct strobe_thread *t)
{
    const struct strobe_engine *e = s->engine;
    uint32_t frames = 0;
    if (!e->unwinder->stopped)
        return copy_stack(s, t);
    struct strobe_window stack = stack_above(&s->regs, t);
    s->top.bytes = 0;
    s->found = e->unwinder->stopped(e->host, &s->regs, &stack, &s->top, s->frames + STROBE_STACK_DEPTH_MAX,
                                    e->config.depth_max, &frames);
    return frames;
}

/* Returns the time to wait for the stop. A running thread stops within microseconds. A thread that the sampler took off
 * its processor may have to wait for the processor. A pass over many such threads must end, so all of them together get
 * the time of one. */
static uint64_t sampler_patience_ns(const struct strobe_sampler *s, uint64_t now)
{
    uint64_t most = s->engine->config.suspend_timeout_ns, least = most / 8;
    uint64_t gone = (now - s->pass_ticks) * 1000000000u / s->engine->host->ticks_per_second;
    return gone + least < most ? most - gone : least;
}

/* Suspends the thread, copies or walks its stack, and resumes it. Returns false when there is nothing to record, and
 * counts the outcome. *at is the current time on entry, and the time of the stop on return, because a thread may run on
 * before it stops. *taken: see copy_or_walk_stack. */
static bool suspend_and_copy(struct strobe_sampler *s, struct strobe_thread *t, uint64_t *at, size_t *taken)
{
    uint64_t now = *at;
    struct strobe_engine *e = s->engine;
    struct strobe_session_header *head = e->session.header;
    struct strobe_account *a = strobe_account_of(t, STROBE_KIND_ASYNC);
    uint32_t tid = t->entry->tid;
    switch (e->host->suspend(e->host->ctx, tid, &t->entry->scope_kind, sampler_patience_ns(s, now), &s->regs)) {
    case STROBE_OK: break;
    case STROBE_GONE:
        strobe_bump(&head->suspend_gone, 1);
        retire_thread(e, t, now);
        return false;
    case STROBE_LATE:
        strobe_bump(&head->suspend_late, 1);
        back_off_thread(e, t, now);
        return false;
    default:
        if (is_in_blocking_call(t))
            request_own_sample(e, t, now);
        return false;
    }
    strobe_guard_enter();
    *at = e->host->ticks(e->host->ctx);
    strobe_bump(&head->suspends, 1);
    bool still_fit = is_thread_alive(t) && !is_in_blocking_call(t);
    *taken = still_fit ? copy_or_walk_stack(s, t) : 0;
    s->message = strobe_load_relaxed(&t->entry->message);
    enum strobe_status left = e->host->resume(e->host->ctx, tid);
    strobe_bump(&head->resumes, 1);
    strobe_guard_leave();

    strobe_stops_add(&head->stops, e->host->ticks(e->host->ctx) - now);
    t->sampled.refusals = 0;
    if (!still_fit) {
        strobe_bump(&head->suspend_moved, 1);
        if (is_thread_alive(t))
            request_own_sample(e, t, now);
        return false;
    }
    strobe_bump(&a->requests, 1);
    if (left != STROBE_OK || *taken == 0) {
        strobe_bump(&a->unwind_failed, 1);
        return false;
    }
    return true;
}

/* ---- record ---- */

static bool sampler_extend_pending(struct strobe_sampler *s, struct strobe_thread *t, const struct strobe_record *r)
{
    struct strobe_pending *p = &s->pending;
    const struct strobe_record *q = &p->record;
    if (!p->open || q->thread != r->thread || q->stack != r->stack || q->flags != (r->flags | STROBE_FLAG_BEGIN_CPU) ||
        q->message != r->message || t->sampled.sync_seen != strobe_load_relaxed(&t->sync_samples) ||
        r->ticks - (q->ticks + q->duration) > ticks_of_ns(s->engine, s->engine->config.merge_gap_ns) ||
        strobe_was_off_between(s->engine->host, q, r))
        return false;
    struct strobe_record merged = *q;
    uint64_t span = r->cpu_ns - p->first_cpu_ns;
    merged.duration = r->ticks - merged.ticks;
    merged.count++;
    merged.cpu_ns = r->cpu_ns;
    merged.cpu_span_ns = span < UINT32_MAX ? (uint32_t)span : UINT32_MAX;
    if (strobe_ring_rewrite(&s->engine->session.ring, &s->writer, &merged, NULL) != STROBE_OK)
        return false;
    p->record = merged;
    return true;
}

static bool sampler_commit(struct strobe_sampler *s, struct strobe_thread *t, struct strobe_record *r)
{
    if (sampler_extend_pending(s, t, r))
        return true;
    r->flags |= STROBE_FLAG_BEGIN_CPU;
    s->pending.open = 0;
    if (strobe_ring_write(&s->engine->session.ring, &s->writer, r, NULL) != STROBE_OK)
        return false;
    s->pending = (struct strobe_pending){.record = *r, .open = 1, .first_cpu_ns = r->cpu_ns};
    return true;
}

static void sampler_write(struct strobe_sampler *s, struct strobe_thread *t, struct strobe_record *r)
{
    struct strobe_account *a = strobe_account_of(t, STROBE_KIND_ASYNC);
    bool kept = sampler_commit(s, t, r);
    strobe_store_relaxed(&s->engine->session.header->async_overwrote_samples, s->writer.overwrote);
    strobe_bump(kept ? &a->sampled : &a->dropped, 1);
    strobe_store_relaxed(&t->entry->last_sample_ticks, r->ticks);
}

/* Records the stack at the end of s->frames for the thread, which has used `ran_ns` of CPU time since its clock was
 * read. Returns true when the stack had frames. */
static bool sampler_record(struct strobe_sampler *s, struct strobe_thread *t, uint64_t now, uint64_t ran_ns,
                           enum strobe_walk_end how, uint32_t count)
{
    struct strobe_engine *e = s->engine;
    struct strobe_account *a = strobe_account_of(t, STROBE_KIND_ASYNC);
    if (count == 0) {
        strobe_bump(&a->unwind_failed, 1);
        return false;
    }
    struct strobe_record r = {.ticks = now,
                              .kind = STROBE_KIND_ASYNC,
                              .thread = t->index,
                              .count = 1,
                              .message = s->message,
                              .flags = STROBE_FLAG_CPU,
                              .cpu_ns = t->sampled.cpu_seen_ns + ran_ns};
    r.flags |= s->ready ? STROBE_FLAG_READY : 0;
    r.flags |= how == STROBE_WALK_CUT ? STROBE_FLAG_CUT : how == STROBE_WALK_DOUBTFUL ? STROBE_FLAG_DOUBTFUL : 0;
    const uint64_t *frames = s->frames + STROBE_STACK_DEPTH_MAX - count;
    if (strobe_stack_intern(&e->session.stacks, &s->cursor, frames, count, &r.stack) == STROBE_FULL)
        r.flags |= STROBE_FLAG_TABLE_FULL;
    sampler_write(s, t, &r);
    t->sampled.stack = r.stack;
    t->sampled.message = r.message;
    t->sampled.stack_flags = r.flags & (STROBE_FLAG_CUT | STROBE_FLAG_DOUBTFUL | STROBE_FLAG_TABLE_FULL);
    t->sampled.ready_asked = s->ready;
    t->sampled.sync_seen = strobe_load_relaxed(&t->sync_samples);
    t->sampled.cpu_sampled_ns = t->sampled.cpu_seen_ns;
    return true;
}

/* Records the thread's last stack once more, without a stop: see stands_ready. */
static void record_standing(struct strobe_sampler *s, struct strobe_thread *t, uint64_t now)
{
    const struct strobe_sampled *m = &t->sampled;
    struct strobe_record r = {.ticks = now,
                              .kind = STROBE_KIND_ASYNC,
                              .thread = t->index,
                              .count = 1,
                              .stack = m->stack,
                              .message = m->message,
                              .flags = STROBE_FLAG_CPU | STROBE_FLAG_READY | m->stack_flags,
                              .cpu_ns = m->cpu_seen_ns};
    strobe_bump(&strobe_account_of(t, STROBE_KIND_ASYNC)->requests, 1);
    sampler_write(s, t, &r);
}

/* Unwinds the copied stack of a thread that was stopped at s->regs. */
static enum strobe_walk_end unwind_copy(struct strobe_sampler *s, const struct strobe_thread *t, size_t copied,
                                        uint32_t *count)
{
    struct strobe_engine *e = s->engine;
    uint64_t sp = s->regs.sp & ~(uint64_t)7;
    struct strobe_window w = {sp - s->below, sp + copied, (uint64_t)(uintptr_t)s->stack + s->below - sp, t->root_frame};
    return e->unwinder->copied(e->host, &s->regs, &w, s->frames + STROBE_STACK_DEPTH_MAX, e->config.depth_max, count);
}

/* Returns the CPU time that the thread has used from the reading of its CPU clock to its stop at `stood`. A thread that
 * ran at the reading ran on. A stop that takes longer waits for something else. */
static uint64_t ran_before_stop_ns(const struct strobe_sampler *s, uint64_t stood)
{
    enum { STOP_NS = 50000 };
    uint64_t ran_ns = strobe_ns_of_ticks(s->engine->host, stood - s->cpu_read_ticks);
    return s->runs && stood >= s->cpu_read_ticks && ran_ns <= STOP_NS ? ran_ns : 0;
}

/* Records the stack of a stopped thread, from `taken` bytes or frames. */
static void take_stopped(struct strobe_sampler *s, struct strobe_thread *t, uint64_t now, size_t taken)
{
    struct strobe_engine *e = s->engine;
    const struct strobe_unwinder *u = e->unwinder;
    uint32_t count = (uint32_t)taken;
    enum strobe_walk_end how = s->found;
    if (!u->stopped) {
        count = 0;
        how = unwind_copy(s, t, taken, &count);
    } else if (u->resumed) {
        how = u->resumed(e->host, &s->regs, &s->top, how, s->frames + STROBE_STACK_DEPTH_MAX, e->config.depth_max,
                         &count);
    }
    if (sampler_record(s, t, now, ran_before_stop_ns(s, now), how, count))
        expect_back(e, t, now);
}

/* ---- waiting threads ---- */

/* Copies the stack above the hook in which the thread waits. Returns false when it does not wait there any more. It may
 * go on at any time, so the copy counts only if the same call is still open afterwards. */
static bool copy_waiting(struct strobe_sampler *s, struct strobe_thread *t, uint64_t begin, uint64_t *frame,
                         size_t *copied)
{
    const struct strobe_host *h = s->engine->host;
    uint64_t from = strobe_load_relaxed(&t->scope_frame);
    size_t bytes = STROBE_SAMPLER_STACK_BYTES;
    if (from < t->stack_low || from >= t->stack_high || from & 7)
        return false;
    if (t->stack_high - from < bytes)
        bytes = (size_t)(t->stack_high - from);
    bool read = h->read(h->ctx, from, s->stack, bytes, copied) == STROBE_OK;
    s->message = strobe_load_relaxed(&t->entry->message);
    strobe_fence_acquire();
    *frame = from;
    return read && is_thread_alive(t) && strobe_load_relaxed(&t->entry->scope_begin_ticks) == begin &&
           strobe_load_relaxed(&t->scope_frame) == from;
}

/* The same with an unwinder that walks stopped threads only: the thread is suspended in its call. Such a host suspends
 * a thread where it is without disturbing the call. Returns false when it does not wait there any more. */
static bool walk_waiting(struct strobe_sampler *s, struct strobe_thread *t, uint64_t begin, size_t *taken)
{
    static const strobe_a32 undisturbed;
    const struct strobe_host *h = s->engine->host;
    struct strobe_session_header *head = s->engine->session.header;
    uint64_t at = h->ticks(h->ctx);
    if (h->suspend(h->ctx, t->entry->tid, &undisturbed, sampler_patience_ns(s, at), &s->regs) != STROBE_OK)
        return false;
    strobe_guard_enter();
    strobe_bump(&head->suspends, 1);
    bool waits = is_thread_alive(t) && strobe_load_acquire(&t->entry->scope_begin_ticks) == begin;
    *taken = waits ? copy_or_walk_stack(s, t) : 0;
    s->message = strobe_load_relaxed(&t->entry->message);
    enum strobe_status left = h->resume(h->ctx, t->entry->tid);
    strobe_bump(&head->resumes, 1);
    strobe_guard_leave();
    strobe_stops_add(&head->stops, h->ticks(h->ctx) - at);
    if (!waits)
        strobe_bump(&head->suspend_moved, 1);
    return waits && left == STROBE_OK;
}

static bool needs_stopped_thread(const struct strobe_unwinder *u)
{
    return u->self && !u->hooked;
}

/* Finds the stack of a thread in the blocking call that began at `begin`. */
static bool unwind_waiting(struct strobe_sampler *s, struct strobe_thread *t, uint64_t begin, enum strobe_walk_end *how,
                           uint32_t *count)
{
    const struct strobe_engine *e = s->engine;
    uint64_t frame;
    size_t copied;
    if (needs_stopped_thread(e->unwinder)) {
        bool walked = walk_waiting(s, t, begin, &copied);
        *count = (uint32_t)copied;
        *how = s->found;
        return walked;
    }
    if (!copy_waiting(s, t, begin, &frame, &copied))
        return false;
    struct strobe_window w = {frame, frame + copied, (uint64_t)(uintptr_t)s->stack - frame, t->root_frame};
    *how = strobe_unwind_hooked(e->unwinder, frame, &w, s->frames + STROBE_STACK_DEPTH_MAX, e->config.depth_max, count);
    return true;
}

/* Takes the stack of a thread in a blocking call, once for each call, when the call has lasted `least_ns`. Impossible
 * with an unwinder that only walks the calling thread. */
static void take_waiting(struct strobe_sampler *s, struct strobe_thread *t, uint64_t now, uint64_t least_ns)
{
    struct strobe_engine *e = s->engine;
    uint64_t begin = strobe_load_acquire(&t->entry->scope_begin_ticks), cpu;
    bool impossible = needs_stopped_thread(e->unwinder) && !e->unwinder->stopped;
    enum strobe_walk_end how;
    uint32_t count = 0;
    /* A call may have begun after the pass. */
    if (impossible || !begin || begin == t->sampled.waiting_ticks || now < begin + ticks_of_ns(e, least_ns) ||
        !unwind_waiting(s, t, begin, &how, &count))
        return;
    t->sampled.waiting_ticks = begin;
    if (e->host->thread_cpu_ns(e->host->ctx, t->entry->tid, &cpu) == STROBE_OK)
        t->sampled.cpu_seen_ns = cpu;
    strobe_bump(&strobe_account_of(t, STROBE_KIND_ASYNC)->requests, 1);
    s->pending.open = 0; /* the record stands for this call, so it is not merged */
    s->ready = false;
    sampler_record(s, t, now, 0, how, count);
    s->pending.open = 0;
}

/* Records the CPU time of a thread that is in no recorded call. It shows the timeline whether the thread has run since
 * its last sample. */
static void record_final_cpu(struct strobe_sampler *s, const struct strobe_thread *t)
{
    const struct strobe_host *h = s->engine->host;
    uint64_t cpu_ns;
    if (!is_in_blocking_call(t) && h->thread_cpu_ns(h->ctx, t->entry->tid, &cpu_ns) == STROBE_OK &&
        cpu_ns >= t->sampled.cpu_seen_ns)
        strobe_series_counter(s, t->index, STROBE_SERIES_END_CPU_NS, h->ticks(h->ctx), cpu_ns);
}

void strobe_sampler_finish(struct strobe_sampler *s)
{
    struct strobe_engine *e = s->engine;
    uint32_t count = strobe_session_thread_count(&e->session);
    uint64_t now = e->host->ticks(e->host->ctx);
    for (uint32_t i = 0; i < count; i++) {
        struct strobe_thread *t = &e->threads[i];
        if (!strobe_load_acquire(&t->ready) || !is_thread_alive(t))
            continue;
        take_waiting(s, t, now, 0);
        record_final_cpu(s, t);
    }
}

/* ---- passes ---- */

/* A pass polls live threads only, not all threads that ever existed. A program may start thousands of threads that end
 * at once, and polling one of them costs cache misses. */
static void meet_new_threads(struct strobe_sampler *s)
{
    const struct strobe_engine *e = s->engine;
    uint32_t count = strobe_session_thread_count(&e->session);
    while (s->met < count)
        e->living[s->living++] = s->met++;
}

/* Removes the ended thread at this place. The pass goes on with the thread that takes its place. */
static void drop_ended_thread(struct strobe_sampler *s, uint32_t place)
{
    uint32_t *living = s->engine->living;
    for (uint32_t i = place + 1; i < s->living; i++)
        living[i - 1] = living[i];
    s->living--;
    s->next_thread = place;
}

void strobe_sampler_pass(struct strobe_sampler *s, uint64_t now_ticks)
{
    struct strobe_engine *e = s->engine;
    begin_pass(s, now_ticks);
    meet_new_threads(s);
    uint32_t count = s->living;
    uint32_t budget = count < STROBE_SAMPLER_PASS_THREADS ? count : STROBE_SAMPLER_PASS_THREADS;
    for (uint32_t looked = 0; looked < count && budget; looked++) {
        uint32_t place = s->next_thread < s->living ? s->next_thread : 0;
        s->next_thread = place + 1;
        struct strobe_thread *t = &e->threads[e->living[place]];
        if (!strobe_load_acquire(&t->ready))
            continue;
        if (!is_thread_alive(t)) {
            end_ticking(s, t);
            drop_ended_thread(s, place);
            continue;
        }
        budget--;
        size_t taken;
        s->cpu_read_of = NULL;
        keep_ticking(s, t);
        take_waiting(s, t, now_ticks, refresh_ns(e, t));
        if (left_to_ticks(s, t, now_ticks))
            continue;
        bool due = is_visit_due(s, t, now_ticks);
        if (s->stands)
            record_standing(s, t, now_ticks);
        if (!due || strobe_load_relaxed(&e->sampler_stop))
            continue;
        uint64_t at = e->host->ticks(e->host->ctx);
        if (is_in_blocking_call(t))
            request_own_sample(e, t, at);
        else if (suspend_and_copy(s, t, &at, &taken))
            take_stopped(s, t, at, taken);
    }
    end_pass(s);
}

static void end_delay(struct strobe_sampler *s, uint64_t now)
{
    uint32_t paused = STROBE_PAUSED;
    if (now < s->resume_ticks)
        return;
    s->resume_ticks = UINT64_MAX; /* a later pause is the program's own */
    strobe_cas_relaxed(strobe_switch, &paused, STROBE_ON);
}

/* When the switch is off, the writer belongs to the thread that calls strobe_sampler_finish. */
static void close_writer(struct strobe_sampler *s)
{
    struct strobe_engine *e = s->engine;
    strobe_store_seq_cst(&e->sampler_busy, 1);
    if (strobe_load_seq_cst(strobe_switch) != STROBE_OFF)
        strobe_ring_writer_close(&e->session.ring, &s->writer);
    strobe_store_release(&e->sampler_busy, 0);
}

void strobe_sampler_run(struct strobe_sampler *s)
{
    struct strobe_engine *e = s->engine;
    struct strobe_session_header *head = e->session.header;
    strobe_guard_leave(); /* gets memory for thread-local words now, not in the window */
    while (!strobe_load_relaxed(&e->sampler_stop)) {
        uint64_t deadline = strobe_sampler_sleep(s);
        uint64_t now = e->host->ticks(e->host->ctx);
        uint64_t late = now > deadline ? now - deadline : 0;
        strobe_bump(&head->async_passes, 1);
        strobe_bump(&head->async_lag_ticks, late);
        if (late >= s->interval_ticks)
            strobe_bump(&head->async_late_passes, 1);
        end_delay(s, now);
        strobe_store_seq_cst(&e->sampler_busy, 1);
        if (strobe_load_seq_cst(strobe_switch) == STROBE_ON)
            strobe_sampler_pass(s, now);
        if (e->host->between_passes && strobe_switched() == STROBE_ON)
            e->host->between_passes(e->host->ctx);
        strobe_store_release(&e->sampler_busy, 0);
        strobe_sampler_go_on(s, e->host->ticks(e->host->ctx));
    }
    close_writer(s);
}
