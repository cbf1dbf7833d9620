#include "engine/capture/sample.h"

#include "engine/capture/blocking.h"

#include <errno.h>
#include <string.h>

static uint32_t saturate_to_32(uint64_t v)
{
    return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

/* ---- metrics: expensive to read, so they have their own rate ---- */

/* `cpu_known`: the caller has stored the CPU time in s->cpu_ns. */
static void read_metrics(struct strobe_thread *t, struct strobe_snapshot *s, bool cpu_known)
{
    const struct strobe_engine *e = t->engine;
    s->has = e->config.metrics;
    if (s->has & STROBE_METRIC_CPU && !cpu_known)
        s->cpu_ns = e->host->self_cpu_ns(e->host->ctx);
    if (s->has & (STROBE_METRIC_FAULTS | STROBE_METRIC_SWITCHES))
        e->host->self_usage(e->host->ctx, &s->usage);
    s->alloc_count = strobe_load_relaxed(&t->entry->alloc_count);
    s->alloc_bytes = strobe_load_relaxed(&t->entry->alloc_bytes);
}

/* Reads the counters at the begin of a scope. */
static void read_metrics_at_begin(struct strobe_thread *t, struct strobe_snapshot *s, uint64_t now)
{
    bool known = strobe_call_cpu_begins(&t->call_cpu, t->engine->host, now, &s->cpu_ns);
    read_metrics(t, s, known);
    if (!known && s->has & STROBE_METRIC_CPU)
        strobe_call_cpu_read(&t->call_cpu, STROBE_KIND_NONE, now, s->cpu_ns);
}

/* Reads the counters at a sample, which is the end of the scope that has begun with *begin, or NULL. */
static void read_metrics_at_sample(struct strobe_thread *t, const struct strobe_record *r, uint64_t now,
                                   const struct strobe_snapshot *begin, struct strobe_snapshot *end)
{
    bool is_end = begin && begin->has & STROBE_METRIC_CPU, known = r->flags & STROBE_FLAG_CPU;
    end->cpu_ns = r->cpu_ns;
    if (is_end)
        known = strobe_call_cpu_ends(&t->call_cpu, t->engine->host, r->kind, now, &end->cpu_ns);
    read_metrics(t, end, known);
    if (!known && end->has & STROBE_METRIC_CPU)
        strobe_call_cpu_read(&t->call_cpu, is_end ? r->kind : STROBE_KIND_NONE, now, end->cpu_ns);
}

static void put_metrics_off(struct strobe_thread *t, uint64_t now)
{
    const struct strobe_engine *e = t->engine;
    t->metrics_due_ticks = now + strobe_ticks_of_ns(e->host, e->config.metrics_interval_ns);
}

static bool metrics_due(const struct strobe_thread *t, uint64_t now)
{
    return t->engine->config.metrics && now >= t->metrics_due_ticks;
}

static void fill_metrics(struct strobe_metrics *m, const struct strobe_snapshot *end,
                         const struct strobe_snapshot *begin)
{
    const struct strobe_usage *u = &end->usage;
    memset(m, 0, sizeof *m);
    if (end->has & STROBE_METRIC_ALLOC) {
        m->alloc_count = end->alloc_count;
        m->alloc_bytes = end->alloc_bytes;
    }
    if (end->has & STROBE_METRIC_FAULTS) {
        m->minor_faults = (uint32_t)u->minor_faults;
        m->major_faults = (uint32_t)u->major_faults;
    }
    if (end->has & STROBE_METRIC_SWITCHES) {
        m->voluntary_switches = (uint32_t)u->voluntary_switches;
        m->involuntary_switches = (uint32_t)u->involuntary_switches;
    }
    if (!begin || !begin->has)
        return;
    m->alloc_count_span = saturate_to_32(end->alloc_count - begin->alloc_count);
    m->alloc_bytes_span = saturate_to_32(end->alloc_bytes - begin->alloc_bytes);
    m->minor_faults_span = saturate_to_32(u->minor_faults - begin->usage.minor_faults);
    m->major_faults_span = saturate_to_32(u->major_faults - begin->usage.major_faults);
    m->voluntary_switches_span = saturate_to_32(u->voluntary_switches - begin->usage.voluntary_switches);
    m->involuntary_switches_span = saturate_to_32(u->involuntary_switches - begin->usage.involuntary_switches);
}

/* ---- stack ---- */

/* A stack as it was walked: frames outermost first. The outermost `shared` frames equal those of the stack before. */
struct stack {
    const uint64_t *frames;
    uint32_t count, shared;
};

static enum strobe_walk_end walk_own(struct strobe_thread *t, struct strobe_site site, struct stack *out)
{
    const struct strobe_engine *e = t->engine;
    struct strobe_buffers *b = t->buffers;
    struct strobe_window whole = {site.frame, t->stack_high, 0, t->root_frame};
    enum strobe_walk_end end;
    if (!e->unwinder->self) {
        end = strobe_walk_again(&whole, site.frame, e->config.depth_max, &b->walk, &out->shared);
        out->frames = b->walk.address;
        out->count = b->walk.count;
        return end;
    }
    uint64_t *frames_end = b->frames + STROBE_STACK_DEPTH_MAX;
    end = e->unwinder->self(site.frame, site.caller, &whole, frames_end, e->config.depth_max, &out->count);
    out->frames = frames_end - out->count;
    return end;
}

static enum strobe_walk_end walk_foreign(struct strobe_thread *t, struct strobe_site site, struct stack *out)
{
    const struct strobe_engine *e = t->engine;
    struct strobe_buffers *b = t->buffers;
    uint64_t *frames_end = b->frames + STROBE_STACK_DEPTH_MAX;
    size_t copied;
    strobe_walk_forget(&b->walk);
    if (e->host->read(e->host->ctx, site.frame, b->copy, sizeof b->copy, &copied) != STROBE_OK)
        return STROBE_WALK_DOUBTFUL;
    struct strobe_window part = {site.frame, site.frame + copied, (uint64_t)(uintptr_t)b->copy - site.frame, 0};
    enum strobe_walk_end end =
        strobe_unwind_hooked(e->unwinder, site.frame, &part, frames_end, e->config.depth_max, &out->count);
    out->frames = frames_end - out->count;
    return end;
}

/* Walks the stack of this thread, which a signal has interrupted at `regs`. Reads its memory in place: the thread is in
 * the handler and changes nothing above the stack pointer. */
static enum strobe_walk_end walk_interrupted(struct strobe_thread *t, const struct strobe_regs *regs, struct stack *out)
{
    const struct strobe_engine *e = t->engine;
    struct strobe_buffers *b = t->buffers;
    uint64_t sp = regs->sp & ~(uint64_t)(sizeof(uintptr_t) - 1), *frames_end = b->frames + STROBE_STACK_DEPTH_MAX;
    struct strobe_window window = {sp - STROBE_RED_ZONE_BYTES, t->stack_high, 0, t->root_frame};
    size_t copied;
    if (sp < t->stack_low || sp >= t->stack_high) {
        if (e->host->read(e->host->ctx, sp, b->copy, sizeof b->copy, &copied) != STROBE_OK)
            copied = 0;
        window = (struct strobe_window){sp, sp + copied, (uint64_t)(uintptr_t)b->copy - sp, 0};
    }
    enum strobe_walk_end end =
        e->unwinder->copied(e->host, regs, &window, frames_end, e->config.depth_max, &out->count);
    out->frames = frames_end - out->count;
    return end;
}

/* The place of a sample: a hook, or, when `regs` is not NULL, the interrupted instruction. */
struct place {
    struct strobe_site site;
    const struct strobe_regs *regs;
};

/* Fills in the stack and its flags. Returns false when there is no frame. */
static bool take_stack(struct strobe_thread *t, const struct place *at, struct strobe_record *r)
{
    struct stack s = {0};
    struct strobe_stack_table *table = &t->engine->session.stacks;
    struct strobe_buffers *b = strobe_thread_buffers(t);
    bool own = at->site.frame >= t->stack_low && at->site.frame < t->stack_high;
    enum strobe_walk_end how = at->regs ? walk_interrupted(t, at->regs, &s)
                               : own    ? walk_own(t, at->site, &s)
                                        : walk_foreign(t, at->site, &s);
    if (s.count == 0)
        return false;
    if (how == STROBE_WALK_CUT)
        r->flags |= STROBE_FLAG_CUT;
    else if (how == STROBE_WALK_DOUBTFUL)
        r->flags |= STROBE_FLAG_DOUBTFUL;
    enum strobe_status status =
        at->regs ? strobe_stack_intern(table, &b->tick_cursor, s.frames, s.count, &r->stack)
                 : strobe_stack_intern_onto(table, &b->cursor, s.shared, s.frames, s.count, &r->stack);
    if (status == STROBE_FULL)
        r->flags |= STROBE_FLAG_TABLE_FULL;
    return true;
}

/* ---- record ---- */

/* Returns true when the sample in *r continues the pending record. Both have the same shape then. The ticks of a thread
 * that ticks show when it was off its processor. */
static bool continues_pending(const struct strobe_thread *t, const struct strobe_record *r, bool with_metrics)
{
    const struct strobe_pending *p = &t->pending;
    const struct strobe_record *q = &p->record;
    bool same_arg = q->arg == r->arg || r->kind == STROBE_KIND_CPU;
    return p->open && q->stack == r->stack && q->kind == r->kind && q->message == r->message && same_arg &&
           (q->flags & ~STROBE_FLAG_BEGIN_CPU) == (r->flags | (with_metrics ? STROBE_FLAG_METRICS : 0)) &&
           r->ticks - (q->ticks + q->duration) <= strobe_ticks_of_ns(t->engine->host, t->engine->config.merge_gap_ns) &&
           (!(r->flags & STROBE_FLAG_CPU) || strobe_load_relaxed(&t->ticking) ||
            !strobe_was_off_between(t->engine->host, q, r));
}

static bool sample_extend_pending(struct strobe_thread *t, const struct strobe_record *r,
                                  const struct strobe_metrics *m)
{
    struct strobe_pending *p = &t->pending;
    struct strobe_record merged = p->record;
    merged.duration = r->ticks - merged.ticks;
    merged.count++;
    merged.arg = r->arg;
    if (r->flags & STROBE_FLAG_CPU) {
        merged.cpu_ns = r->cpu_ns;
        merged.cpu_span_ns = saturate_to_32(r->cpu_ns - p->first_cpu_ns);
        merged.flags |= STROBE_FLAG_BEGIN_CPU;
    }
    if (strobe_ring_rewrite(&t->engine->session.ring, &t->writer, &merged, m) != STROBE_OK)
        return false;
    p->record = merged;
    return true;
}

/* Writes the sample to the ring, merged with the pending record if possible. Returns true when it is in the ring. */
static bool sample_commit(struct strobe_thread *t, struct strobe_record *r, const struct strobe_metrics *m)
{
    struct strobe_pending *p = &t->pending;
    bool point = !(r->flags & STROBE_FLAG_SCOPE);
    if (point && continues_pending(t, r, m != NULL) && sample_extend_pending(t, r, m))
        return true;
    p->open = 0;
    if (strobe_ring_write(&t->engine->session.ring, &t->writer, r, m) != STROBE_OK)
        return false;
    if (point) {
        p->record = *r;
        p->record.flags |= m ? STROBE_FLAG_METRICS : 0;
        p->first_cpu_ns = r->cpu_ns;
        p->open = 1;
    }
    return true;
}

/* A call lasts until its hook returns, so the time of taking the sample belongs to the call and not to its caller. */
static void extend_scope(const struct strobe_thread *t, struct strobe_record *r)
{
    uint64_t now = t->ticks(t->ticks_ctx);
    if (now > r->ticks + r->duration)
        r->duration = now - r->ticks;
}

/* Takes a complete sample: stack, metrics, record. Counts the outcome. `now` is the end of the event. */
static void take_sample(struct strobe_thread *t, struct strobe_record *r, const struct place *at, uint64_t now,
                        const struct strobe_snapshot *begin, bool fresh_metrics)
{
    struct strobe_account *a = strobe_account_of(t, r->kind);
    struct strobe_thread_entry *entry = t->entry;
    int saved_errno = errno;
    if (!take_stack(t, at, r)) {
        strobe_bump(&a->unwind_failed, 1);
        errno = saved_errno;
        return;
    }
    r->thread = t->index;
    r->message = strobe_load_relaxed(&entry->message);
    r->count = 1;
    struct strobe_metrics metrics;
    bool with_metrics = false;
    if (fresh_metrics || metrics_due(t, now)) {
        struct strobe_snapshot end = {0};
        read_metrics_at_sample(t, r, now, begin, &end);
        if (!at->regs) /* ticks have their own rate: they must not use up the rate of counters at scopes */
            put_metrics_off(t, now);
        if (end.has & STROBE_METRIC_CPU) {
            r->cpu_ns = end.cpu_ns;
            r->flags |= STROBE_FLAG_CPU;
            if (begin && begin->has) {
                r->cpu_span_ns = end.cpu_ns > begin->cpu_ns ? saturate_to_32(end.cpu_ns - begin->cpu_ns) : 0;
                r->flags |= STROBE_FLAG_BEGIN_CPU;
            }
        }
        with_metrics = (end.has & ~(uint32_t)STROBE_METRIC_CPU) != 0;
        if (with_metrics)
            fill_metrics(&metrics, &end, begin);
    }
    if (r->flags & STROBE_FLAG_SCOPE) {
        extend_scope(t, r);
        t->call_cpu.ticks = r->flags & STROBE_FLAG_CPU ? r->ticks + r->duration : 0;
    }
    strobe_bump(&t->sync_samples, 1);
    strobe_store_relaxed(&entry->last_sample_ticks, now);
    bool kept = sample_commit(t, r, with_metrics ? &metrics : NULL);
    strobe_store_relaxed(&entry->overwrote_samples, t->writer.overwrote);
    strobe_bump(kept ? &a->sampled : &a->dropped, 1);
    errno = saved_errno;
}

/* ---- open scopes ---- */

static void publish_scope(struct strobe_thread *t)
{
    const struct strobe_scope *s = t->scope_count ? &t->scope[t->scope_count - 1] : NULL;
    strobe_store_relaxed(&t->scope_frame, s ? s->frame : 0);
    strobe_store_relaxed(&t->scope_arg, s ? s->arg : 0);
    strobe_store_release(&t->entry->scope_begin_ticks, s ? s->begin_ticks : 0);
    strobe_store_relaxed(&t->entry->scope_kind, s ? s->kind : 0);
}

/* A scope has been left. After the fence the thread may overwrite the stack above its hook. A sampler that has copied
 * any of that finds the scope gone (writer's side of a seqlock, see ring.h). */
static void publish_left(struct strobe_thread *t)
{
    publish_scope(t);
    strobe_fence_release();
}

/* Drops the scopes above `depth`. They were left without an end, so the stacks of their calls are gone. */
static void drop_scopes(struct strobe_thread *t, uint32_t depth)
{
    while (t->scope_count > depth) {
        struct strobe_scope *s = &t->scope[--t->scope_count];
        struct strobe_account *a = strobe_account_of(t, s->kind);
        strobe_wait_drop(t, s);
        strobe_bump(&a->requests, 1);
        strobe_bump(&a->unwind_failed, 1);
    }
}

/* When the frame of a scope's hook is not above the current frame, its call has been left. Frames on a signal or
 * coroutine stack cannot be compared; such scopes stay. */
static void drop_left_scopes(struct strobe_thread *t, uint64_t frame)
{
    uint32_t depth = t->scope_count;
    if (frame - t->stack_low >= t->stack_high - t->stack_low)
        return;
    while (depth && t->scope[depth - 1].frame >= t->stack_low && t->scope[depth - 1].frame <= frame)
        depth--;
    if (depth < t->scope_count) {
        drop_scopes(t, depth);
        publish_left(t);
    }
}

/* ---- points ---- */

/* Returns true when a sample may be taken. A thread that is inside checks this last, right before the sample. After the
 * fence, either the thread that turned the switch sees this thread inside, or this thread sees the new switch
 * (strobe_engine_quiet). */
static bool may_record(void)
{
    strobe_fence_seq_cst();
    return strobe_switched() == STROBE_ON;
}

/* Intervals of wall time for which a tick puts off points of hooks, within one message. */
enum { TICK_PATIENCE = 4 };

/* While a thread's CPU clock ticks, or the sampler visits the thread, its points are put off. Samples at hooks alone
 * show what a thread does at hooks, not what it does otherwise: a loop of hook-free work and one allocation would look
 * like allocation only (S-6). */
static bool left_to_sampler(struct strobe_thread *t, uint64_t now)
{
    uint64_t until = strobe_load_relaxed(&t->points_yield_until), look_again = until;
    if (strobe_load_relaxed(&t->ticking) && t->tick.ticks &&
        t->tick.message == strobe_load_relaxed(&t->entry->message)) {
        until = t->tick.ticks + TICK_PATIENCE * t->gate.interval_ticks;
        look_again = now + t->gate.interval_ticks; /* the message may have changed by then */
    }
    if (now >= until || !t->gate.interval_ticks)
        return false;
    strobe_gate_put_off(&t->gate, look_again < until ? look_again : until);
    return true;
}

void strobe_point_take(struct strobe_thread *t, enum strobe_kind kind, uint64_t arg, struct strobe_site site,
                       uint64_t now)
{
    struct strobe_account *a = strobe_account_of(t, kind);
    if (left_to_sampler(t, now) || !strobe_gate_due(&t->gate, now)) {
        strobe_bump(&a->gated, 1);
        return;
    }
    if (!may_record()) {
        strobe_bump(&a->paused, 1);
        return;
    }
    drop_left_scopes(t, site.frame - 1); /* a hook's points may lie in the scope that it has opened */
    struct strobe_record r = {.ticks = now, .kind = (uint8_t)kind, .arg = arg};
    take_sample(t, &r, &(struct place){site, NULL}, now, NULL, false);
}

void strobe_point_called(struct strobe_thread *t, uint32_t on, enum strobe_kind kind, uint64_t arg,
                         struct strobe_site site)
{
    strobe_point(t, on, kind, arg, site);
}
/* ---- ticks ---- */

/* Returns true when the thread was off its processor since the tick before. *gave_way: it has released the processor in
 * a call that no hook saw. Makes a system call only when the thread was off. */
static bool was_off_processor(struct strobe_thread *t, uint64_t now, uint64_t cpu_ns, bool *gave_way)
{
    const struct strobe_host *h = t->engine->host;
    uint64_t on = strobe_ticks_of_ns(h, cpu_ns - t->tick.cpu_ns + STROBE_OFF_PROCESSOR_NS);
    bool off = t->tick.ticks && now - t->tick.ticks > on;
    *gave_way = false;
    if (off || !t->tick.ticks) {
        struct strobe_usage u;
        h->self_usage(h->ctx, &u);
        *gave_way = off && u.voluntary_switches - t->tick.voluntary > t->waits - t->tick.waits;
        t->tick.voluntary = u.voluntary_switches;
        t->tick.waits = t->waits;
    }
    t->tick.ticks = now;
    t->tick.message = strobe_load_relaxed(&t->entry->message);
    t->tick.cpu_ns = cpu_ns;
    return off;
}

/* Compares the number of waits since the last tick of the clock with the CPU time. The thread's voluntary switches are
 * known up to this tick. */
static void rate_waits(struct strobe_thread *t, uint64_t cpu_ns, bool sparse)
{
    uint64_t waits = t->tick.voluntary - t->rated.voluntary, used_ns = cpu_ns - t->rated.cpu_ns;
    bool often = waits * 1000000 >= used_ns * (sparse ? STROBE_WAITS_SELDOM : STROBE_WAITS_OFTEN);
    t->rated.voluntary = t->tick.voluntary;
    t->rated.cpu_ns = cpu_ns;
    strobe_bump(&t->ticks_often, often);
    strobe_bump(&t->ticks_rated, 1);
}

/* `asked`: the sampler saw the thread wait for a processor and requested this tick, so it does not come from the
 * thread's CPU clock. `rung_cpu_ns`: the CPU time of the thread at the request; 0 = unknown. A thread that has used
 * almost no CPU time since then was here all the time. */
static void sample_take_tick(struct strobe_thread *t, const struct strobe_regs *regs, bool asked, uint64_t rung_cpu_ns)
{
    const struct strobe_host *h = t->engine->host;
    struct strobe_record r = {.ticks = t->ticks(t->ticks_ctx),
                              .kind = STROBE_KIND_CPU,
                              .flags = STROBE_FLAG_CPU,
                              .arg = strobe_load_relaxed(&t->entry->short_wait_ticks)};
    bool gave_way;
    r.cpu_ns = h->self_cpu_ns(h->ctx);
    bool stood = rung_cpu_ns && r.cpu_ns - rung_cpu_ns < STROBE_OFF_PROCESSOR_NS / 4;
    r.flags |= (asked ? STROBE_FLAG_ASKED : 0) | (stood ? STROBE_FLAG_STOOD : 0);
    if (was_off_processor(t, r.ticks, r.cpu_ns, &gave_way))
        t->pending.open = 0;
    r.flags |= gave_way ? STROBE_FLAG_GAVE_WAY : 0;
    bool sparse = strobe_load_relaxed(&t->sparse);
    r.flags |= sparse ? STROBE_FLAG_SPARSE : 0;
    if (!asked)
        rate_waits(t, r.cpu_ns, sparse);
    take_sample(t, &r, &(struct place){.regs = regs}, r.ticks, NULL, t->engine->config.metrics != 0);
}

void strobe_sample_interrupted(struct strobe_thread *t, const struct strobe_regs *regs, bool asked)
{
    uint64_t rung_cpu_ns = asked ? strobe_load_relaxed(&t->rung_cpu_ns) : 0;
    if (asked)
        strobe_store_release(&t->rung_cpu_ns, 0);
    strobe_bump(&t->ticks_taken, 1);
    if (!regs || !strobe_thread_enter(t, STROBE_KIND_CPU))
        return;
    struct strobe_account *a = strobe_account_of(t, STROBE_KIND_CPU);
    strobe_bump(&a->requests, 1);
    if (may_record())
        sample_take_tick(t, regs, asked, rung_cpu_ns);
    else
        strobe_bump(&a->paused, 1);
    strobe_thread_leave(t);
}

/* ---- forced points ---- */

/* Takes a sample without asking the gate. */
static bool take_forced_point(struct strobe_thread *t, enum strobe_kind kind, uint64_t arg, struct strobe_site site,
                              bool fresh_metrics, struct strobe_place *place)
{
    if (!strobe_thread_enter(t, kind))
        return false;
    struct strobe_account *a = strobe_account_of(t, kind);
    uint64_t now = place->ticks;
    struct strobe_record r = {.ticks = now, .kind = (uint8_t)kind, .arg = arg, .flags = STROBE_FLAG_FORCED};
    strobe_bump(&a->requests, 1);
    if (may_record())
        take_sample(t, &r, &(struct place){site, NULL}, now, NULL, fresh_metrics);
    else
        strobe_bump(&a->paused, 1);
    place->stack = r.stack;
    strobe_thread_leave(t);
    return true;
}

void strobe_point_forced(struct strobe_thread *t, enum strobe_kind kind, uint64_t arg, struct strobe_site site)
{
    struct strobe_place place = {.ticks = t->ticks(t->ticks_ctx)};
    take_forced_point(t, kind, arg, site, true, &place);
}

bool strobe_point_placed(struct strobe_thread *t, enum strobe_kind kind, uint64_t arg, struct strobe_site site,
                         struct strobe_place *place)
{
    return take_forced_point(t, kind, arg, site, false, place);
}

/* ---- scopes ---- */

enum { RING_TRIES = 2000, RING_PAUSE_NS = 100000 }; /* 0.2 s in total: the sampler may have died */

/* Waits for a tick that the sampler has requested, because its signal must not come in the call that follows. The
 * signal ends the pause. A thread that blocks the signal waits only once, because the sampler does not repeat a request
 * without an answer. */
static void await_ring(struct strobe_thread *t)
{
    const struct strobe_host *h = t->engine->host;
    for (int i = 0; strobe_load_acquire(&t->rung_cpu_ns) && i < RING_TRIES; i++)
        h->sleep_until(h->ctx, h->ticks(h->ctx) + strobe_ticks_of_ns(h, RING_PAUSE_NS));
    strobe_store_relaxed(&t->rung_cpu_ns, 0);
}

/* Returns how often the thread has given up its processor. A system call. */
static uint64_t count_given_up(const struct strobe_thread *t)
{
    struct strobe_usage u;
    t->engine->host->self_usage(t->engine->host->ctx, &u);
    return u.voluntary_switches;
}

/* Returns true when the thread did not wait in the call. A collection works or waits, and takes so little time at most
 * times that its CPU time does not show whether the thread waited or lost its processor. */
static bool kept_processor(const struct strobe_thread *t, const struct strobe_scope *s)
{
    return s->kind == STROBE_KIND_GC && count_given_up(t) == s->voluntary;
}

/* Calls that nearly always wait: their counters are read at the begin even if the last such call returned at once. */
enum { ALWAYS_WAITS = 1 << STROBE_KIND_COND | 1 << STROBE_KIND_SLEEP | 1 << STROBE_KIND_PARK };

uint32_t strobe_scope_begin(struct strobe_thread *t, enum strobe_kind kind, uint64_t arg, struct strobe_site site)
{
    const struct strobe_engine *e = t->engine;
    if (!strobe_thread_enter(t, kind))
        return 0;
    drop_left_scopes(t, site.frame);
    if (t->scope_count == STROBE_SCOPES_MAX) {
        struct strobe_account *a = strobe_account_of(t, kind);
        strobe_bump(&a->requests, 1);
        strobe_bump(&a->gated, 1);
        strobe_thread_leave(t);
        return 0;
    }
    int saved_errno = errno;
    struct strobe_scope *s = &t->scope[t->scope_count];
    s->frame = site.frame;
    s->kind = kind;
    s->arg = arg;
    s->begin.has = 0;
    s->wait.state = 0;
    s->released = false;
    s->voluntary = kind == STROBE_KIND_GC ? count_given_up(t) : 0;
    /* The clock is read first. All that happens after it, including preemption, belongs to the call and not to its
     * caller. */
    s->begin_ticks = e->host->ticks(e->host->ctx);
    bool often = e->config.metrics && (t->blocking_kinds | ALWAYS_WAITS) >> kind & 1;
    if (often || metrics_due(t, s->begin_ticks)) {
        read_metrics_at_begin(t, &s->begin, s->begin_ticks);
        put_metrics_off(t, s->begin_ticks);
    }
    uint32_t token = ++t->scope_count;
    publish_scope(t);
    strobe_fence_seq_cst(); /* publish, then load the request; the sampler stores the request, then loads what is
                               published */
    e->host->settle(e->host->ctx, t->entry->tid);
    if (strobe_unlikely(strobe_load_relaxed(&t->rung_cpu_ns)))
        await_ring(t);
    errno = saved_errno;
    strobe_thread_leave(t);
    return token;
}

/* Records which thread ended the wait, if the scope itself is recorded. */
static void end_wait(struct strobe_thread *t, const struct strobe_scope *s, uint64_t now, bool paused, bool recorded)
{
    struct strobe_record r;
    if (!strobe_wait_record(s, now, &r))
        return;
    struct strobe_account *a = strobe_account_of(t, STROBE_KIND_WAKE);
    strobe_bump(&a->requests, 1);
    if (!recorded) {
        strobe_bump(paused ? &a->paused : &a->gated, 1);
        return;
    }
    r.thread = t->index;
    r.message = strobe_load_relaxed(&t->entry->message);
    t->pending.open = 0;
    bool kept = strobe_ring_write(&t->engine->session.ring, &t->writer, &r, NULL) == STROBE_OK;
    strobe_store_relaxed(&t->entry->overwrote_samples, t->writer.overwrote);
    strobe_bump(kept ? &a->sampled : &a->dropped, 1);
}

/* Counts the time of a call that is too short to be recorded. A call so short that the thread cannot have released its
 * processor does not count. */
static void count_short_wait(struct strobe_thread *t, uint64_t duration)
{
    if (duration < strobe_ticks_of_ns(t->engine->host, STROBE_SHORT_WAIT_NS))
        return;
    strobe_bump(&t->entry->short_waits, 1);
    strobe_bump(&t->entry->short_wait_ticks, duration);
}

/* Calls in which the system works for the thread. */
enum {
    WORKS_IN_CALL = 1 << STROBE_KIND_READ | 1 << STROBE_KIND_WRITE | 1 << STROBE_KIND_OPEN | 1 << STROBE_KIND_CLOSE |
                    1 << STROBE_KIND_SYNC | 1 << STROBE_KIND_POLL | 1 << STROBE_KIND_NET | 1 << STROBE_KIND_UNLOCK
};

/* Ticks come only in the program's own code. The time that a ticking thread spends in system calls too short to be
 * recorded is therefore sampled in another way. The call with which the sum exceeds one more interval is recorded, and
 * stands for that time. */
static bool short_calls_add_up(struct strobe_thread *t, uint32_t kind, uint64_t duration)
{
    if (!strobe_load_relaxed(&t->ticking) || !(WORKS_IN_CALL >> kind & 1))
        return false;
    t->short_call_ticks += duration;
    if (t->short_call_ticks < t->gate.interval_ticks)
        return false;
    t->short_call_ticks -= t->gate.interval_ticks;
    return true;
}

/* Returns true for a brief call that the rate allows, see STROBE_BRIEF_NS. Such a call uses up a part of the rate. */
static bool is_brief(struct strobe_thread *t, uint64_t duration, uint64_t now)
{
    uint64_t apart = t->gate.interval_ticks / STROBE_BRIEF_PER_INTERVAL;
    uint64_t ahead = apart * (STROBE_BRIEF_BURST - 1);
    if (duration < strobe_ticks_of_ns(t->engine->host, STROBE_BRIEF_NS) || t->brief_ticks > now + ahead)
        return false;
    t->brief_ticks = (t->brief_ticks > now ? t->brief_ticks : now) + apart;
    return true;
}

/* A release never waits. A release that took long lost its processor, for example to the waiter, so its length does not
 * show time in the system. */
void strobe_release_end(struct strobe_thread *t, uint64_t what, uint64_t begin_ticks, struct strobe_site site)
{
    const struct strobe_host *h = t->engine->host;
    if (!strobe_load_relaxed(&t->ticking) || !strobe_thread_enter(t, STROBE_KIND_UNLOCK))
        return;
    struct strobe_account *a = strobe_account_of(t, STROBE_KIND_UNLOCK);
    uint64_t now = t->ticks(t->ticks_ctx), duration = now > begin_ticks ? now - begin_ticks : 0;
    if (duration < strobe_ticks_of_ns(h, STROBE_OFF_PROCESSOR_NS) &&
        short_calls_add_up(t, STROBE_KIND_UNLOCK, duration)) {
        struct strobe_record r = {.ticks = begin_ticks,
                                  .duration = duration,
                                  .kind = STROBE_KIND_UNLOCK,
                                  .arg = what,
                                  .flags = STROBE_FLAG_SCOPE | STROBE_FLAG_FORCED | STROBE_FLAG_ASKED};
        strobe_bump(&a->requests, 1);
        if (may_record())
            take_sample(t, &r, &(struct place){site, NULL}, now, NULL, true);
        else
            strobe_bump(&a->paused, 1);
    }
    strobe_thread_leave(t);
}

static void end_scope(struct strobe_thread *t, struct strobe_scope *s, uint64_t now, struct strobe_site site)
{
    const struct strobe_engine *e = t->engine;
    struct strobe_account *a = strobe_account_of(t, s->kind);
    now = now > s->begin_ticks ? now : s->begin_ticks; /* a clock that was set back gives a length of 0 */
    uint64_t duration = now - s->begin_ticks;
    bool waited = duration >= strobe_ticks_of_ns(e->host, e->config.scope_min_ns);
    bool exact = waited || is_brief(t, duration, now);
    t->waits++;
    if (exact)
        t->blocking_kinds |= 1u << s->kind;
    else
        t->blocking_kinds &= ~(1u << s->kind);
    bool asked = strobe_load_relaxed(&t->asked);
    if (asked)
        strobe_store_relaxed(&t->asked, 0);
    if (!exact && short_calls_add_up(t, s->kind, duration))
        asked = true;
    strobe_gate_adapt(&t->gate, now);
    /* A call is shown exactly from begin to end, so it takes no time from other calls. It is put off only for stops. */
    bool yields = !strobe_load_relaxed(&t->ticking) && left_to_sampler(t, now);
    bool due = !yields && strobe_gate_due(&t->gate, now), wanted = due || exact || asked;
    bool paused = wanted ? !may_record() : strobe_switched() != STROBE_ON, recorded = !paused && wanted;
    strobe_bump(&a->requests, 1);
    if (paused) {
        strobe_bump(&a->paused, 1);
    } else if (!recorded) {
        strobe_bump(&a->gated, 1);
        if (!s->released)
            count_short_wait(t, duration);
    } else {
        struct strobe_record r = {.ticks = s->begin_ticks,
                                  .duration = duration,
                                  .kind = (uint8_t)s->kind,
                                  .arg = s->arg,
                                  .flags = STROBE_FLAG_SCOPE};
        r.flags |= exact || asked ? STROBE_FLAG_FORCED : 0;
        /* A call that is shown exactly stands for its own time only. */
        r.flags |= asked && !exact ? STROBE_FLAG_ASKED : 0;
        r.flags |= s->released || (exact && kept_processor(t, s)) ? STROBE_FLAG_NO_WAIT : 0;
        take_sample(t, &r, &(struct place){site, NULL}, now, &s->begin, exact || asked);
        now = r.ticks + r.duration;
    }
    end_wait(t, s, now, paused, recorded);
    if (e->config.message_per_poll && s->kind == STROBE_KIND_POLL)
        strobe_bump(&t->entry->message, 1);
}

void strobe_scope_end(struct strobe_thread *t, uint32_t token, struct strobe_site site)
{
    if (token == 0 || token > t->scope_count)
        return;
    uint64_t now = t->engine->host->ticks(t->engine->host->ctx);
    t->cut_short |= strobe_load_relaxed(&t->inside) != 0; /* the call was cancelled in a handler of the engine above
                                                             it */
    strobe_store_relaxed(&t->inside, 1);
    strobe_fence_signal();
    drop_scopes(t, token);
    struct strobe_scope *s = &t->scope[--t->scope_count], ended;
    strobe_wait_drop(t, s);
    ended = *s;
    publish_left(t);
    end_scope(t, &ended, now, site);
    strobe_thread_leave(t);
}
