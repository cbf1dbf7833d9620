#include "engine/capture/sampler_visit.h"

#include "engine/capture/blocking.h"

void strobe_sampler_retire_thread(struct strobe_engine *e, struct strobe_thread *t, uint64_t now)
{
    if (!strobe_thread_is_alive(t))
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

enum {
    TICKS_OF_A_PERIOD = 32, /* ticks after which the period of a clock changes */
    RATED_DENSE = 16,       /* ticks after which it is decided whether ticks are to be sparse */
    RATED_SPARSE = 4,       /* the same while they are sparse */
    OFTEN_PART = 4,         /* ticks become sparse when the thread waits often before all but one part of this size */
    STOP_INTERVALS = 4,     /* a thread with sparse ticks that has no record for so long is stopped */
};

/* Returns true when ticks of the thread are to be sparse, because it waits often. The system starts and stops the timer
 * of a clock at each switch to and from the thread. When that timer ends before the system's own next tick, the
 * processor's timer is set anew each time. On a virtual machine this costs 10 us and more (bench/README.md). The timer
 * of a sparse period seldom ends so soon. A thread that waits often, but now and then computes for longer, keeps its
 * dense ticks: nothing else shows what it does meanwhile. */
static bool waits_often(const struct strobe_engine *e, struct strobe_thread *t)
{
    struct strobe_sampled *m = &t->sampled;
    uint32_t rated = strobe_load_relaxed(&t->ticks_rated), ticks = rated - m->rated;
    if (ticks < (m->sparse ? RATED_SPARSE : RATED_DENSE) || e->config.async_interval_ns > STROBE_SPARSE_NS / 2)
        return m->sparse;
    uint32_t often_now = strobe_load_relaxed(&t->ticks_often), often = often_now - m->often;
    m->rated = rated;
    m->often = often_now;
    return often >= (m->sparse ? ticks / 2 : ticks - ticks / OFTEN_PART);
}

/* The period differs from the interval by up to an eighth, so that the clock locks to no rhythm of the program. The
 * next period differs by the same amount in the other direction, so that the mean rate is exact. */
static void change_period(struct strobe_sampler *s, struct strobe_sampled *m, uint32_t taken)
{
    int64_t interval_ns = (int64_t)s->engine->config.async_interval_ns, most = interval_ns / 8;
    m->period_offset_ns =
        m->period_offset_ns > 0 ? -m->period_offset_ns : (int64_t)strobe_sampler_draw(s, (uint64_t)most + 1);
    m->period_ns = (uint64_t)(interval_ns + m->period_offset_ns);
    if (m->sparse)
        m->period_ns = m->period_ns * STROBE_SPARSE_NS / (uint64_t)interval_ns;
    m->period_began = taken;
}

/* Chooses the period of the thread's clock. `taken`: its ticks so far. */
static void choose_period(struct strobe_sampler *s, struct strobe_thread *t, uint32_t taken)
{
    struct strobe_sampled *m = &t->sampled;
    bool sparse = waits_often(s->engine, t), changes = sparse != m->sparse;
    m->sparse = sparse;
    if (changes || !m->period_ns || taken - m->period_began >= TICKS_OF_A_PERIOD)
        change_period(s, m, taken);
}

/* A thread gets a ticking clock when it has used half of the CPU time of one tick. To make and to free a clock costs
 * more than the work of a shorter thread, and makes each switch to the thread more expensive. Until then the sampler
 * stops the thread. Its CPU clock is read in each pass, because most threads are polled in every second pass only. */
static bool is_worth_a_clock(struct strobe_sampler *s, const struct strobe_thread *t)
{
    uint64_t least = s->engine->config.async_interval_ns / 2, cpu = 0;
    if (t->sampled.period_ns || t->sampled.cpu_seen_ns >= least)
        return true;
    return !strobe_thread_is_in_call(t) && read_cpu(s, t, &cpu) == STROBE_OK && cpu >= least;
}

void strobe_sampler_keep_ticking(struct strobe_sampler *s, struct strobe_thread *t)
{
    const struct strobe_host *h = s->engine->host;
    if (!h->clock_keep || t->sampled.tickless || !is_worth_a_clock(s, t))
        return;
    s->cpu_read_of = NULL; /* making a clock takes time, so the value read before is old */
    uint32_t taken = strobe_load_relaxed(&t->ticks_taken);
    s->needed |= !t->sampled.period_ns;
    choose_period(s, t, taken);
    /* Ticks are marked from before the change to a long period until after the change back. A tick that ends a period
     * of one interval may then have the mark, and the reader finds this by its CPU time. No other tick lacks it. */
    if (t->sampled.sparse)
        strobe_store_relaxed(&t->sparse, 1);
    enum strobe_status status = h->clock_keep(h->ctx, t->index, t->entry->tid, t->sampled.period_ns, taken);
    if (!t->sampled.sparse)
        strobe_store_relaxed(&t->sparse, 0);
    t->sampled.tickless = status == STROBE_UNSUPPORTED;
    strobe_store_relaxed(&t->ticking, status == STROBE_OK);
}

void strobe_sampler_end_ticking(struct strobe_sampler *s, struct strobe_thread *t)
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
    if (strobe_thread_is_in_call(t) || h->clock_ring(h->ctx, t->index, t->entry->tid) != STROBE_OK) {
        strobe_store_release(&t->rung_cpu_ns, 0);
        return false;
    }
    t->sampled.rung = true;
    t->sampled.rung_taken = taken;
    s->rang = true;
    return true;
}

bool strobe_sampler_left_to_ticks(struct strobe_sampler *s, struct strobe_thread *t, uint64_t now)
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
    uint64_t shown = strobe_load_relaxed(&t->entry->last_sample_ticks) + STOP_INTERVALS * s->interval_ticks;
    return m->polled_ticks && (now - m->polled_ticks < s->interval_ticks || (m->sparse && shown > now));
}

/* ---- visits ---- */

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

uint64_t strobe_sampler_refresh_ns(const struct strobe_engine *e, const struct strobe_thread *t)
{
    return t->entry->is_main ? e->config.refresh_main_ns : e->config.refresh_other_ns;
}

/* Returns true when a sample would add nothing: the thread is in a call that has lasted long enough to be recorded with
 * its begin and end, or in which it waits as in its last calls of that kind. Where CPU clocks tick, and after
 * strobe_sampler_refresh_ns, the thread is polled all the same: passes depend on its CPU time, and it may be gone. */
static bool call_will_show(const struct strobe_engine *e, const struct strobe_thread *t, uint64_t now)
{
    uint64_t begin = strobe_load_relaxed(&t->entry->scope_begin_ticks);
    bool waits = strobe_call_waits(&t->call_cpu, strobe_load_relaxed(&t->entry->scope_kind));
    return begin && (waits || now >= begin + strobe_ticks_of_ns(e->host, e->config.scope_min_ns)) &&
           !e->host->clock_keep &&
           now < t->sampled.polled_ticks + strobe_ticks_of_ns(e->host, strobe_sampler_refresh_ns(e, t));
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

void strobe_sampler_expect_back(struct strobe_engine *e, struct strobe_thread *t, uint64_t now)
{
    uint64_t interval = strobe_ticks_of_ns(e->host, async_interval_ns(e, t->entry->is_main));
    uint64_t took = now - t->sampled.seen_ticks;
    uint64_t patience = PATIENCE * (took < interval ? interval : took);
    if (patience > PATIENCE_MAX * interval)
        patience = PATIENCE_MAX * interval;
    t->sampled.seen_ticks = now;
    strobe_store_relaxed(&t->points_yield_until, now + patience);
}

void strobe_sampler_keep_points_waiting(struct strobe_engine *e, struct strobe_thread *t)
{
    uint64_t interval = strobe_ticks_of_ns(e->host, e->config.async_interval_ns), seen = t->sampled.seen_ticks;
    uint64_t until = strobe_load_relaxed(&t->points_yield_until) + interval;
    if (seen && until - seen <= PATIENCE_MAX * interval)
        strobe_store_relaxed(&t->points_yield_until, until);
}

/* Returns true when the thread is on a processor now, because its CPU clock advances between two readings. A clock with
 * coarse steps is read until more than a step has passed, except in a hooked call, where most threads wait. */
static bool clock_advances(const struct strobe_sampler *s, const struct strobe_thread *t, uint64_t cpu_ns)
{
    const struct strobe_host *h = s->engine->host;
    uint64_t enough = strobe_thread_is_in_call(t) ? 0 : 2 * strobe_ticks_of_ns(s->engine->host, h->cpu_step_ns), later;
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
    *ready = !strobe_thread_is_in_call(t) && h->thread_runs && h->thread_runs(h->ctx, t->entry->tid);
    return *ready;
}

/* Returns true when the thread is where its last record shows it, and waits there for a processor: it has hardly used
 * CPU time since, in no call and outside of the engine. The host is asked once for each record. */
static bool stands_ready(const struct strobe_sampler *s, struct strobe_thread *t, uint64_t cpu_ns)
{
    const struct strobe_host *h = s->engine->host;
    struct strobe_sampled *m = &t->sampled;
    if (m->ready_asked || !m->stack || !h->thread_runs || strobe_load_relaxed(&t->ticking) ||
        strobe_thread_is_in_call(t) || m->sync_seen != strobe_load_relaxed(&t->sync_samples) ||
        cpu_ns - m->cpu_sampled_ns >= s->engine->config.active_cpu_ns)
        return false;
    m->ready_asked = true;
    return h->thread_runs(h->ctx, t->entry->tid);
}

/* A thread that wakes up often and uses hardly any CPU time is asked about in some of its waits only. */
enum { CALL_INTERVALS = 8 };

/* Returns the system call in which the thread waits outside of hooked calls, for the sampler to record. Returns 0 when
 * the call is not known, and when it is the one recorded last and the thread has not been sampled since. The host is
 * asked when the thread has hardly used CPU time since the last poll: once while the thread's CPU clock stands still,
 * and once in CALL_INTERVALS while the thread is not sampled. */
static uint64_t ask_wait_call(const struct strobe_sampler *s, struct strobe_thread *t, uint64_t cpu_ns,
                              uint64_t used_ns)
{
    const struct strobe_host *h = s->engine->host;
    struct strobe_sampled *m = &t->sampled;
    if (!h->wait_call || used_ns >= s->engine->config.active_cpu_ns || m->call_asked_cpu_ns == cpu_ns ||
        strobe_thread_is_in_call(t))
        return 0;
    uint64_t now = h->ticks(h->ctx), rest_ns = CALL_INTERVALS * s->engine->config.async_interval_ns;
    bool recorded = m->call && m->call_samples == strobe_sampler_samples_of(t);
    if (recorded && now - m->call_asked_ticks < strobe_ticks_of_ns(h, rest_ns))
        return 0;
    m->call_asked_cpu_ns = cpu_ns;
    m->call_asked_ticks = now;
    uint64_t call = h->wait_call(h->ctx, t->entry->tid);
    m->ready_asked |= call != 0; /* it does not wait for a processor */
    bool outside = strobe_thread_is_alive(t) && !strobe_thread_is_in_call(t);
    return outside && !(recorded && call == m->call) ? call : 0;
}

/* The part of an interval that a thread owes a sample for. Half of an interval is less than two passes can be apart. A
 * thread that waits for a processor stays where it is for long, so its place counts more. */
enum { RUNNING_PART = 2, READY_PART = 4 };

/* Returns true when a thread has used enough CPU time since the sampler's last record of it, or has not been seen for
 * several intervals. A stop costs more than all other work of a visit. Without this rule, a thread that shares its
 * processor would be stopped in each interval of wall time: several times as often for its CPU time as a thread that
 * computes alone. Where CPU clocks tick, only threads whose ticks are missing come here. */
static bool owes_sample(const struct strobe_engine *e, const struct strobe_thread *t, uint64_t cpu_ns, uint64_t unseen,
                        uint64_t part)
{
    uint64_t interval_ns = e->config.async_interval_ns, recorded_ns = t->sampled.cpu_sampled_ns;
    return e->host->clock_keep || !recorded_ns || cpu_ns - recorded_ns >= interval_ns / part ||
           unseen >= strobe_ticks_of_ns(e->host, PATIENCE * interval_ns);
}

bool strobe_sampler_is_visit_due(struct strobe_sampler *s, struct strobe_thread *t, uint64_t now)
{
    struct strobe_engine *e = s->engine;
    struct strobe_sampled *m = &t->sampled;
    s->ready = s->runs = s->stands = false;
    s->call = 0;
    if (!strobe_thread_is_alive(t) || now < m->retry_ticks)
        return false;
    uint64_t unseen = now > m->seen_ticks ? now - m->seen_ticks : 0;
    uint64_t interval_ns = async_interval_ns(e, t->entry->is_main);
    /* Less than the interval by two eighths: deadlines vary by one eighth, and passes may wake up late by another. */
    if (unseen < strobe_ticks_of_ns(e->host, interval_ns - interval_ns / 4)) {
        s->needed |= !strobe_load_relaxed(&t->ticking); /* it was sampled in the last pass, or its stack was
                                                           requested */
        return false;
    }
    strobe_gate_wake(&t->gate);
    if (still_waits(t))
        return false;
    if (call_will_show(e, t, now)) {
        strobe_sampler_keep_points_waiting(e, t);
        return false;
    }
    uint64_t cpu = 0;
    enum strobe_status status = read_cpu(s, t, &cpu);
    if (status == STROBE_GONE)
        strobe_sampler_retire_thread(e, t, now);
    if (status != STROBE_OK)
        return false;
    if (cpu < m->cpu_seen_ns) {
        strobe_sampler_retire_thread(e, t, now); /* a CPU clock never goes back: another thread has this id now */
        return false;
    }
    bool ticking = strobe_load_relaxed(&t->ticking), ticked = !m->cpu_seen_ns && m->polled_ticks && ticking;
    uint64_t used = cpu - m->cpu_seen_ns, elapsed = now - m->polled_ticks, active = active_ns(e, t);
    uint64_t missing = ticking ? cpu - m->cpu_ticked_ns : used;
    s->needed |= ticking ? !ticked && missing >= active && !strobe_thread_is_in_call(t) : used != 0;
    m->cpu_seen_ns = cpu;
    m->polled_ticks = now;
    if (ticked)
        m->cpu_ticked_ns = cpu;
    if (ticking && !strobe_thread_is_in_call(t) && ring_waiting(s, t, cpu))
        return false;
    if (ticked)
        return false; /* its CPU time without a tick counts from here on */
    if (missing >= active) {
        if (!ticking && !strobe_thread_is_in_call(t) && ring_waiting(s, t, cpu))
            return false;
        bool owes = owes_sample(e, t, cpu, unseen, RUNNING_PART);
        bool owes_if_ready = !strobe_thread_is_in_call(t) && owes_sample(e, t, cpu, unseen, READY_PART);
        bool ran = !m->seen_ticks || strobe_ticks_of_ns(e->host, used) >= elapsed - elapsed / 8;
        bool runs = (owes || owes_if_ready) && (ran || runs_now(s, t, cpu, &s->ready));
        s->runs = runs && !s->ready;
        runs = runs && (s->ready || owes);
        if (runs) {
            m->cpu_ticked_ns = cpu;
            return true;
        }
        strobe_sampler_keep_points_waiting(e, t);
        s->call = ask_wait_call(s, t, cpu, used);
        return false;
    }
    s->call = ask_wait_call(s, t, cpu, used);
    s->stands = !s->call && stands_ready(s, t, cpu);
    return !s->stands && used && cpu != m->cpu_sampled_ns &&
           unseen >= strobe_ticks_of_ns(e->host, strobe_sampler_refresh_ns(e, t));
}

void strobe_sampler_request_own_sample(struct strobe_engine *e, struct strobe_thread *t, uint64_t now)
{
    strobe_store_relaxed(&t->asked, 1);
    strobe_sampler_expect_back(e, t, now);
}
