#include "engine/capture/sampler_record.h"

#include "engine/capture/guard.h"
#include "engine/capture/sampler_visit.h"
#include "engine/capture/series.h"

_Thread_local bool strobe_guard_window;

/* ---- suspend, copy, resume ---- */

/* Handles a thread that did not stop in time. If it did not run meanwhile, it is tried again in the next pass. If it
 * ran, it will not stop: it is left to its own points for 1 ms, 2 ms, ... up to about a second. */
static void back_off_thread(struct strobe_engine *e, struct strobe_thread *t, uint64_t now)
{
    struct strobe_sampled *m = &t->sampled;
    uint64_t cpu = m->cpu_seen_ns;
    e->host->thread_cpu_ns(e->host->ctx, t->entry->tid, &cpu);
    if (cpu - m->cpu_seen_ns < e->config.suspend_timeout_ns / 2) {
        strobe_sampler_keep_points_waiting(e, t);
        return;
    }
    unsigned shift = m->refusals < 10 ? m->refusals : 10;
    m->refusals++;
    m->retry_ticks = now + (strobe_ticks_of_ns(e->host, 1000000) << shift);
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

bool strobe_sampler_suspend_and_copy(struct strobe_sampler *s, struct strobe_thread *t, uint64_t *at, size_t *taken)
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
        strobe_sampler_retire_thread(e, t, now);
        return false;
    case STROBE_LATE:
        strobe_bump(&head->suspend_late, 1);
        back_off_thread(e, t, now);
        return false;
    default:
        if (strobe_thread_is_in_call(t))
            strobe_sampler_request_own_sample(e, t, now);
        return false;
    }
    strobe_guard_enter();
    *at = e->host->ticks(e->host->ctx);
    strobe_bump(&head->suspends, 1);
    bool still_fit = strobe_thread_is_alive(t) && !strobe_thread_is_in_call(t);
    *taken = still_fit ? copy_or_walk_stack(s, t) : 0;
    s->message = strobe_load_relaxed(&t->entry->message);
    enum strobe_status left = e->host->resume(e->host->ctx, tid);
    strobe_bump(&head->resumes, 1);
    strobe_guard_leave();

    strobe_stops_add(&head->stops, e->host->ticks(e->host->ctx) - now);
    t->sampled.refusals = 0;
    if (!still_fit) {
        strobe_bump(&head->suspend_moved, 1);
        if (strobe_thread_is_alive(t))
            strobe_sampler_request_own_sample(e, t, now);
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
        r->ticks - (q->ticks + q->duration) > strobe_ticks_of_ns(s->engine->host, s->engine->config.merge_gap_ns) ||
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
    t->sampled.async_samples++;
    return true;
}

void strobe_sampler_record_standing(struct strobe_sampler *s, struct strobe_thread *t, uint64_t now)
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

void strobe_sampler_take_stopped(struct strobe_sampler *s, struct strobe_thread *t, uint64_t now, size_t taken)
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
        strobe_sampler_expect_back(e, t, now);
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
    return read && strobe_thread_is_alive(t) && strobe_load_relaxed(&t->entry->scope_begin_ticks) == begin &&
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
    bool waits = strobe_thread_is_alive(t) && strobe_load_acquire(&t->entry->scope_begin_ticks) == begin;
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

void strobe_sampler_take_waiting(struct strobe_sampler *s, struct strobe_thread *t, uint64_t now, uint64_t least_ns)
{
    struct strobe_engine *e = s->engine;
    uint64_t begin = strobe_load_acquire(&t->entry->scope_begin_ticks), cpu;
    bool impossible = needs_stopped_thread(e->unwinder) && !e->unwinder->stopped;
    enum strobe_walk_end how;
    uint32_t count = 0;
    /* A call may have begun after the pass. */
    if (impossible || !begin || begin == t->sampled.waiting_ticks ||
        now < begin + strobe_ticks_of_ns(e->host, least_ns) || !unwind_waiting(s, t, begin, &how, &count))
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

void strobe_sampler_record_wait_call(struct strobe_sampler *s, struct strobe_thread *t)
{
    t->sampled.call = s->call;
    t->sampled.call_samples = strobe_sampler_samples_of(t);
    strobe_series_counter(s, t->index, STROBE_SERIES_WAIT_CALL, t->sampled.call_asked_ticks, s->call);
}

void strobe_sampler_record_final_cpu(struct strobe_sampler *s, const struct strobe_thread *t)
{
    const struct strobe_host *h = s->engine->host;
    uint64_t cpu_ns;
    if (!strobe_thread_is_in_call(t) && h->thread_cpu_ns(h->ctx, t->entry->tid, &cpu_ns) == STROBE_OK &&
        cpu_ns >= t->sampled.cpu_seen_ns)
        strobe_series_counter(s, t->index, STROBE_SERIES_END_CPU_NS, h->ticks(h->ctx), cpu_ns);
}
