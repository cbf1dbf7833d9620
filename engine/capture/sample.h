/* Taking a sample of the calling thread: points, ticks and scopes.
 *
 *   point   an event at an instant: strobe_point, behind the gate
 *   tick    the thread's own CPU clock has advanced by one interval, and a signal has interrupted the thread:
 *           strobe_sample_interrupted, in the handler. Ticks are evenly spread over the thread's CPU time, so they say
 *           where that time goes, whatever hooks do. While a thread ticks, its points are only counted
 *   scope   a call that may block: strobe_scope_begin before it, strobe_scope_end after it. The stack is taken at the
 *           end. Recorded when it lasted scope_min_ns or when the gate lets it pass, so a short block right after a
 *           sample is not lost (S-2), and with it who ended it, if that is known (blocking.h). A scope left by longjmp
 *           is found by its place on the stack, dropped and counted.
 *
 * Every event is counted by kind and thread, and so is what became of it. errno is preserved. Async-signal-safe
 * (explored: sample/interrupted); no heap, no lock. */
#ifndef STROBE_CAPTURE_SAMPLE_H
#define STROBE_CAPTURE_SAMPLE_H

#include "engine/capture/thread.h"

enum { STROBE_SHORT_WAIT_NS = 1000 };   /* shorter calls did not wait */

/* A call in which the thread may have given its processor away, but too short to be recorded in any case
 * (scope_min_ns), is recorded as long as such calls of the thread are no more frequent than STROBE_BRIEF_PER_INTERVAL
 * in an interval of its gate, in the long run, and STROBE_BRIEF_BURST of them may come at once (generic cell rate
 * algorithm, ITU-T I.371). A loop that reads, computes and writes is then shown call by call, and a thread that calls
 * all the time can't fill the ring. */
enum { STROBE_BRIEF_NS = 10000, STROBE_BRIEF_PER_INTERVAL = 2, STROBE_BRIEF_BURST = 8 };

/* The slow part of strobe_point: takes the sample that seems due at `now`, or counts what else becomes of it. */
void strobe_point_take(struct strobe_thread *t, enum strobe_kind kind, uint64_t arg, struct strobe_site site,
                       uint64_t now);
void strobe_point_forced(struct strobe_thread *t, enum strobe_kind kind, uint64_t arg, struct strobe_site site);

/* A forced point that says where and when it was taken, its stack 0 when that is not known. False when the thread is in
 * the engine already. */
struct strobe_place { uint64_t ticks; uint32_t stack; };
bool strobe_point_placed(struct strobe_thread *t, enum strobe_kind kind, uint64_t arg, struct strobe_site site,
                         struct strobe_place *out);

/* Records the stack of the calling thread, which a signal of its own CPU clock has interrupted at `regs`. `asked`: the
 * signal is the one that the sampler has asked for (strobe_host.clock_ring). `regs` NULL: the tick is only noted.
 * Counts the tick as re-entrant when it interrupted the engine. To be called by the signal's handler, on the thread
 * itself. */
void strobe_sample_interrupted(struct strobe_thread *t, const struct strobe_regs *regs, bool asked);

/* Right after a release of `what` that strobe_hand_over noted at `begin_ticks`: the system has woken the waiter, which
 * takes time that no tick sees. It is counted among short calls, and the release that makes up one more interval of
 * them is recorded as a call of kind UNLOCK. No effect on a thread without ticks. */
void strobe_release_end(struct strobe_thread *t, uint64_t what, uint64_t begin_ticks, struct strobe_site site);

/* What strobe_point does once the clock has been read, between strobe_thread_enter and strobe_thread_leave. */
static STROBE_ALWAYS_INLINE void strobe_point_at(struct strobe_thread *t, enum strobe_kind kind, uint64_t arg,
                                                 struct strobe_site site, uint64_t now)
{
    struct strobe_account *a = strobe_account_of(t, kind);
    strobe_bump(&a->requests, 1);
    strobe_gate_adapt(&t->gate, now);
    if (strobe_gate_early(&t->gate, now))
        strobe_bump(&a->gated, 1);
    else
        strobe_point_take(t, kind, arg, site, now);
}

/* An event of a point kind. `on` is the switch's value as the hook read it. */
static STROBE_ALWAYS_INLINE void strobe_point(struct strobe_thread *t, uint32_t on, enum strobe_kind kind,
                                              uint64_t arg, struct strobe_site site)
{
    if (!strobe_thread_enter(t, kind))
        return;
    struct strobe_account *a = strobe_account_of(t, kind);
    if (strobe_unlikely(on == STROBE_PAUSED)) {
        strobe_bump(&a->requests, 1);
        strobe_bump(&a->paused, 1);
    } else if (strobe_gate_skips(&t->gate)) {
        strobe_bump(&a->requests, 1);
        strobe_bump(&a->gated, 1);
    } else {
        /* The clock before the counters: it waits for all loads before it, and overlaps with what comes after. */
        strobe_point_at(t, kind, arg, site, t->ticks(t->ticks_ctx));
    }
    strobe_thread_leave(t);
}

/* strobe_point, out of line. */
void strobe_point_called(struct strobe_thread *t, uint32_t on, enum strobe_kind kind, uint64_t arg,
                         struct strobe_site site);

/* strobe_point for hooks that are met by the million: only what nearly all their events come to is inline. */
static STROBE_ALWAYS_INLINE void strobe_point_dense(struct strobe_thread *t, uint32_t on, enum strobe_kind kind,
                                                    uint64_t arg, struct strobe_site site)
{
    struct strobe_account *a = strobe_account_of(t, kind);
    if (strobe_unlikely(on != STROBE_ON || !strobe_load_relaxed(&t->gate.skip) || strobe_load_relaxed(&t->inside))) {
        strobe_point_called(t, on, kind, arg, site);
        return;
    }
    strobe_store_relaxed(&t->inside, 1);
    strobe_fence_signal();
    strobe_gate_skips(&t->gate);
    strobe_bump(&a->requests, 1);
    strobe_bump(&a->gated, 1);
    strobe_thread_leave(t);
}

/* Counts an allocation of `bytes`, and is the event of it. */
static STROBE_ALWAYS_INLINE void strobe_point_alloc(struct strobe_thread *t, uint32_t on, uint64_t bytes,
                                                    struct strobe_site site)
{
    if (!strobe_load_relaxed(&t->inside)) {
        strobe_bump(&t->entry->alloc_count, 1);
        strobe_bump(&t->entry->alloc_bytes, bytes);
    }
    strobe_point_dense(t, on, STROBE_KIND_ALLOC, bytes, site);
}

/* Opens a scope at the hook `site`. Returns a token for strobe_scope_end: 0 when none was opened (re-entrant, or nested
 * deeper than STROBE_SCOPES_MAX, which is counted as gated). */
uint32_t strobe_scope_begin(struct strobe_thread *t, enum strobe_kind kind, uint64_t arg, struct strobe_site site);

/* Closes the scope of a token, and those inside it that were left without an end. Harmless for 0. */
void strobe_scope_end(struct strobe_thread *t, uint32_t token, struct strobe_site site);

/* Instead of that when the call returns with the switch off. The session says on that the thread is in the call, for it
 * may be closed; but what stands on the stack is the thread's to write again, and is not to be looked at any more
 * (strobe_sampler_finish). As long as the capture's memory is there. */
static inline void strobe_scope_left(struct strobe_thread *t)
{
    strobe_store_relaxed(&t->scope_frame, 0);
    strobe_fence_release();   /* a seqlock's writer, as at an end */
}

#endif
