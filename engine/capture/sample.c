#include "engine/capture/sample.h"

#include "engine/capture/blocking.h"

#include <errno.h>
#include <string.h>

static uint32_t saturated(uint64_t v)
{
    return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

/* ---- metrics: costly to read, so they have a rate of their own ---- */

static void read_metrics(struct strobe_thread *t, struct strobe_snapshot *s)
{
    const struct strobe_engine *e = t->engine;
    s->has = e->config.metrics;
    if (s->has & STROBE_METRIC_CPU)
        s->cpu_ns = e->host->self_cpu_ns(e->host->ctx);
    if (s->has & (STROBE_METRIC_FAULTS | STROBE_METRIC_SWITCHES))
        e->host->self_usage(e->host->ctx, &s->usage);
    s->alloc_count = strobe_load_relaxed(&t->entry->alloc_count);
    s->alloc_bytes = strobe_load_relaxed(&t->entry->alloc_bytes);
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
    m->alloc_count_span = saturated(end->alloc_count - begin->alloc_count);
    m->alloc_bytes_span = saturated(end->alloc_bytes - begin->alloc_bytes);
    m->minor_faults_span = saturated(u->minor_faults - begin->usage.minor_faults);
    m->major_faults_span = saturated(u->major_faults - begin->usage.major_faults);
    m->voluntary_switches_span = saturated(u->voluntary_switches - begin->usage.voluntary_switches);
    m->involuntary_switches_span = saturated(u->involuntary_switches - begin->usage.involuntary_switches);
}

/* ---- stack ---- */

/* A hook may run on a signal stack or a coroutine's, whose bounds are unknown: then a safe copy of what lies above the
 * frame is walked instead. */
enum { FOREIGN_STACK_BYTES = 2048 };

/* A stack as it was found: frames outermost first, the outermost `shared` of them as in the stack before. */
struct stack { const uint64_t *frames; uint32_t count, shared; };

static enum strobe_walk_end walk_own(struct strobe_thread *t, struct strobe_site site, struct stack *out)
{
    const struct strobe_engine *e = t->engine;
    struct strobe_window whole = {site.frame, t->stack_high, 0, t->root_frame};
    enum strobe_walk_end end;
    if (!e->unwinder->self) {
        end = strobe_walk_again(&whole, site.frame, e->config.depth_max, &t->walk, &out->shared);
        out->frames = t->walk.address;
        out->count = t->walk.count;
        return end;
    }
    uint64_t *frames_end = t->frames + STROBE_STACK_DEPTH_MAX;
    end = e->unwinder->self(site.frame, site.caller, &whole, frames_end, e->config.depth_max, &out->count);
    out->frames = frames_end - out->count;
    return end;
}

static enum strobe_walk_end walk_foreign(struct strobe_thread *t, struct strobe_site site, struct stack *out)
{
    const struct strobe_engine *e = t->engine;
    uint64_t copy[FOREIGN_STACK_BYTES / 8], *frames_end = t->frames + STROBE_STACK_DEPTH_MAX;
    size_t copied;
    strobe_walk_forget(&t->walk);
    if (e->host->read(e->host->ctx, site.frame, copy, sizeof copy, &copied) != STROBE_OK)
        return STROBE_WALK_DOUBTFUL;
    struct strobe_window part = {site.frame, site.frame + copied, (uint64_t)(uintptr_t)copy - site.frame, 0};
    enum strobe_walk_end end = strobe_walk_fp(&part, site.frame, frames_end, e->config.depth_max, &out->count);
    out->frames = frames_end - out->count;
    return end;
}

/* Fills in stack and its flags; false when there is no frame at all. */
static bool take_stack(struct strobe_thread *t, struct strobe_site site, struct strobe_record *r)
{
    struct stack s = {0};
    bool own = site.frame >= t->stack_low && site.frame < t->stack_high;
    enum strobe_walk_end how = own ? walk_own(t, site, &s) : walk_foreign(t, site, &s);
    if (s.count == 0)
        return false;
    if (how == STROBE_WALK_CUT)
        r->flags |= STROBE_FLAG_CUT;
    else if (how == STROBE_WALK_DOUBTFUL)
        r->flags |= STROBE_FLAG_DOUBTFUL;
    if (strobe_stack_intern_onto(&t->engine->session.stacks, &t->cursor, s.shared, s.frames, s.count, &r->stack) ==
        STROBE_FULL)
        r->flags |= STROBE_FLAG_TABLE_FULL;
    return true;
}

/* ---- record ---- */

/* True when the sample in *r continues the pending record; both have then the same shape. */
static bool continues(const struct strobe_thread *t, const struct strobe_record *r, bool with_metrics)
{
    const struct strobe_pending *p = &t->pending;
    const struct strobe_record *q = &p->record;
    return p->open && q->stack == r->stack && q->kind == r->kind && q->message == r->message && q->arg == r->arg &&
           (q->flags & ~STROBE_FLAG_BEGIN_CPU) == (r->flags | (with_metrics ? STROBE_FLAG_METRICS : 0)) &&
           r->ticks - (q->ticks + q->duration) <= strobe_ticks_of_ns(t->engine->host, t->engine->config.merge_gap_ns);
}

static bool extend_pending(struct strobe_thread *t, const struct strobe_record *r, const struct strobe_metrics *m)
{
    struct strobe_pending *p = &t->pending;
    struct strobe_record merged = p->record;
    merged.duration = r->ticks - merged.ticks;
    merged.count++;
    if (r->flags & STROBE_FLAG_CPU) {
        merged.cpu_ns = r->cpu_ns;
        merged.cpu_span_ns = saturated(r->cpu_ns - p->first_cpu_ns);
        merged.flags |= STROBE_FLAG_BEGIN_CPU;
    }
    if (strobe_ring_rewrite(&t->engine->session.ring, &t->writer, &merged, m) != STROBE_OK)
        return false;
    p->record = merged;
    return true;
}

/* Puts the sample in the ring, merged where it may be. Returns whether it is in. */
static bool commit(struct strobe_thread *t, struct strobe_record *r, const struct strobe_metrics *m)
{
    struct strobe_pending *p = &t->pending;
    bool point = !(r->flags & STROBE_FLAG_SCOPE);
    if (point && continues(t, r, m != NULL) && extend_pending(t, r, m))
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

/* A whole sample: stack, metrics, record; counts what became of it. `now` is the end of the event. */
static void take_sample(struct strobe_thread *t, struct strobe_record *r, struct strobe_site site, uint64_t now,
                        const struct strobe_snapshot *begin, bool fresh_metrics)
{
    struct strobe_account *a = strobe_account_of(t, r->kind);
    struct strobe_thread_entry *entry = t->entry;
    int saved_errno = errno;
    if (!take_stack(t, site, r)) {
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
        read_metrics(t, &end);
        put_metrics_off(t, now);
        if (end.has & STROBE_METRIC_CPU) {
            r->cpu_ns = end.cpu_ns;
            r->flags |= STROBE_FLAG_CPU;
            if (begin && begin->has) {
                r->cpu_span_ns = saturated(end.cpu_ns - begin->cpu_ns);
                r->flags |= STROBE_FLAG_BEGIN_CPU;
            }
        }
        with_metrics = (end.has & ~(uint32_t)STROBE_METRIC_CPU) != 0;
        if (with_metrics)
            fill_metrics(&metrics, &end, begin);
    }
    strobe_bump(&t->sync_samples, 1);
    strobe_store_relaxed(&entry->last_sample_ticks, now);
    bool kept = commit(t, r, with_metrics ? &metrics : NULL);
    strobe_store_relaxed(&entry->overwrote_samples, t->writer.overwrote);
    strobe_bump(kept ? &a->sampled : &a->dropped, 1);
    errno = saved_errno;
}

/* ---- open scopes ---- */

static void publish_scope(struct strobe_thread *t)
{
    const struct strobe_scope *s = t->scope_count ? &t->scope[t->scope_count - 1] : NULL;
    strobe_store_relaxed(&t->scope_frame, s ? s->frame : 0);
    strobe_store_release(&t->entry->scope_begin_ticks, s ? s->begin_ticks : 0);
    strobe_store_relaxed(&t->entry->scope_kind, s ? s->kind : 0);
}

/* A scope has been left. What stands on the stack above its hook is the thread's to write again after the fence: a
 * sampler that copied any of that then finds the scope gone (a seqlock's writer, see ring.h). */
static void publish_left(struct strobe_thread *t)
{
    publish_scope(t);
    strobe_fence_release();
}

/* Forgets the scopes above `depth`: they were left without an end, so their calls' stacks are gone. */
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

/* A scope whose hook's frame is not above the frame running now belongs to a call that has been left. Frames on a
 * signal or coroutine stack cannot be compared, and stay. */
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

/* Whether a sample may be taken: asked last before one, by a thread that is inside. After the fence, whoever turned the
 * switch sees the thread inside, or the thread the switch (strobe_engine_quiet). */
static bool may_record(void)
{
    strobe_fence_seq_cst();
    return strobe_switched() == STROBE_ON;
}

/* While the sampler visits a thread, its hooks' points give way: samples at hooks alone say what a thread does at
 * hooks, not what it does, and a loop of hook-free work and one allocation would be seen as all allocation (S-6). */
static bool left_to_sampler(struct strobe_thread *t, uint64_t now)
{
    uint64_t until = strobe_load_relaxed(&t->points_yield_until);
    if (now >= until || !t->gate.interval_ticks)
        return false;
    strobe_gate_put_off(&t->gate, until);
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
    drop_left_scopes(t, site.frame - 1);   /* a hook's points may lie within the scope that it has opened */
    struct strobe_record r = {.ticks = now, .kind = (uint8_t)kind, .arg = arg};
    take_sample(t, &r, site, now, NULL, false);
}

void strobe_point_called(struct strobe_thread *t, uint32_t on, enum strobe_kind kind, uint64_t arg,
                         struct strobe_site site)
{
    strobe_point(t, on, kind, arg, site);
}

/* Whatever the gate says. */
static bool force(struct strobe_thread *t, enum strobe_kind kind, uint64_t arg, struct strobe_site site,
                  bool fresh_metrics, struct strobe_place *place)
{
    if (!strobe_thread_enter(t, kind))
        return false;
    struct strobe_account *a = strobe_account_of(t, kind);
    uint64_t now = t->ticks(t->ticks_ctx);
    struct strobe_record r = {.ticks = now, .kind = (uint8_t)kind, .arg = arg, .flags = STROBE_FLAG_FORCED};
    strobe_bump(&a->requests, 1);
    if (may_record())
        take_sample(t, &r, site, now, NULL, fresh_metrics);
    else
        strobe_bump(&a->paused, 1);
    *place = (struct strobe_place){now, r.stack};
    strobe_thread_leave(t);
    return true;
}

void strobe_point_forced(struct strobe_thread *t, enum strobe_kind kind, uint64_t arg, struct strobe_site site)
{
    struct strobe_place place;
    force(t, kind, arg, site, true, &place);
}

bool strobe_point_placed(struct strobe_thread *t, enum strobe_kind kind, uint64_t arg, struct strobe_site site,
                         struct strobe_place *out)
{
    return force(t, kind, arg, site, false, out);
}

/* ---- scopes ---- */

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
    /* The clock last: our own system calls are no part of the wait. */
    bool metrics = e->config.metrics && t->blocking_kinds >> kind & 1;
    if (!metrics) {
        s->begin_ticks = e->host->ticks(e->host->ctx);
        metrics = metrics_due(t, s->begin_ticks);
    }
    if (metrics) {
        read_metrics(t, &s->begin);
        s->begin_ticks = e->host->ticks(e->host->ctx);
        put_metrics_off(t, s->begin_ticks);
    }
    uint32_t token = ++t->scope_count;
    publish_scope(t);
    strobe_fence_seq_cst();   /* published, then looked: the sampler asks, then looks at what is published */
    e->host->settle(e->host->ctx, t->entry->tid);
    errno = saved_errno;
    strobe_thread_leave(t);
    return token;
}

/* Who ended the wait, beside the scope's own record or not at all. */
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

/* A call too short to be recorded still counts for how long the thread waited in all; unless it is so short that it
 * can't have given its processor away. */
static void note_short_wait(struct strobe_thread *t, uint64_t duration)
{
    if (duration < strobe_ticks_of_ns(t->engine->host, STROBE_SHORT_WAIT_NS))
        return;
    strobe_bump(&t->entry->short_waits, 1);
    strobe_bump(&t->entry->short_wait_ticks, duration);
}

static void end_scope(struct strobe_thread *t, struct strobe_scope *s, uint64_t now, struct strobe_site site)
{
    const struct strobe_engine *e = t->engine;
    struct strobe_account *a = strobe_account_of(t, s->kind);
    now = now > s->begin_ticks ? now : s->begin_ticks;   /* a clock that was set back takes no time from anybody */
    uint64_t duration = now - s->begin_ticks;
    bool waited = duration >= strobe_ticks_of_ns(e->host, e->config.scope_min_ns);
    if (waited)
        t->blocking_kinds |= 1u << s->kind;
    else
        t->blocking_kinds &= ~(1u << s->kind);
    bool asked = strobe_load_relaxed(&t->asked);
    if (asked)
        strobe_store_relaxed(&t->asked, 0);
    strobe_gate_adapt(&t->gate, now);
    bool due = !left_to_sampler(t, now) && strobe_gate_due(&t->gate, now), wanted = due || waited || asked;
    bool paused = wanted ? !may_record() : strobe_switched() != STROBE_ON, recorded = !paused && wanted;
    strobe_bump(&a->requests, 1);
    if (paused) {
        strobe_bump(&a->paused, 1);
    } else if (!recorded) {
        strobe_bump(&a->gated, 1);
        note_short_wait(t, duration);
    } else {
        struct strobe_record r = {.ticks = s->begin_ticks, .duration = duration, .kind = (uint8_t)s->kind,
                                  .arg = s->arg, .flags = STROBE_FLAG_SCOPE};
        r.flags |= waited || asked ? STROBE_FLAG_FORCED : 0;
        r.flags |= asked ? STROBE_FLAG_ASKED : 0;
        take_sample(t, &r, site, now, &s->begin, waited || asked);
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
