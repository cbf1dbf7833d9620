/* Samples of the calling thread: points, ticks and scopes.
 *
 *   point   an event at an instant: strobe_point, after the gate
 *   tick    the thread's own CPU clock has advanced by one interval, and a signal has interrupted the thread:
 *           strobe_sample_interrupted, in the signal handler. Ticks are evenly spread over the thread's CPU time, so
 *           they show where that time goes, whatever hooks do. After a tick, the thread's points are only counted for
 *           four gate intervals, or until the thread begins another message.
 *   scope   a call that may block: strobe_scope_begin before it, strobe_scope_end after it. The stack is taken at the
 *           end. The call is recorded in each of these cases:
 *             - it lasted scope_min_ns or longer;
 *             - it is a brief call within the rate below;
 *             - the gate lets it pass (a thread without ticks: unless its points yield to the sampler, see sampler.h);
 *             - the sampler requested it;
 *             - with it, the short calls of a ticking thread add up to one more gate interval.
 *           A short block right after a sample is therefore not lost (S-2). With the call the waker is recorded when it
 *           is known (blocking.h). A scope left by longjmp is found by its position on the stack, dropped and counted.
 *
 * Every event and its outcome are counted by kind and thread. All functions preserve errno. They use no heap and no
 * lock, and are async-signal-safe (explored: sample/interrupted). */
#ifndef STROBE_CAPTURE_SAMPLE_H
#define STROBE_CAPTURE_SAMPLE_H

#include "engine/capture/thread.h"

enum { STROBE_SHORT_WAIT_NS = 1000 }; /* shorter calls did not wait */

/* A brief call is a call in which the thread may have released its processor, and which is shorter than
 * scope_min_ns. It lasts at least STROBE_BRIEF_NS. Brief calls are recorded up to a rate: on average
 * STROBE_BRIEF_PER_INTERVAL in an interval of the thread's gate, and up to STROBE_BRIEF_BURST at once (generic cell
 * rate algorithm, ITU-T I.371). So a loop that reads, computes and writes is shown call by call, and a thread that
 * calls all the time cannot fill the ring. */
enum { STROBE_BRIEF_NS = 10000, STROBE_BRIEF_PER_INTERVAL = 2, STROBE_BRIEF_BURST = 8 };

/* The slow part of strobe_point: takes the sample that seems due at `now`, or counts the event's other outcome. */
void strobe_point_take(struct strobe_thread *t, enum strobe_kind kind, uint64_t arg, struct strobe_site site,
                       uint64_t now);
void strobe_point_forced(struct strobe_thread *t, enum strobe_kind kind, uint64_t arg, struct strobe_site site);

/* Takes a forced point at place->ticks, and sets place->stack to its stack id, which is 0 when the stack is not known.
 * Returns false when the thread is in the engine already. */
struct strobe_place {
    uint64_t ticks;
    uint32_t stack;
};
bool strobe_point_placed(struct strobe_thread *t, enum strobe_kind kind, uint64_t arg, struct strobe_site site,
                         struct strobe_place *place);

/* Records the stack of the calling thread, which a signal of its own CPU clock has interrupted at `regs`. `asked`:
 * the sampler has requested this signal (strobe_host.clock_ring). `regs` is NULL: the tick is only counted in
 * ticks_taken. A tick that has interrupted the engine is counted as re-entrant. Called by the signal's handler, on
 * the thread itself. */
void strobe_sample_interrupted(struct strobe_thread *t, const struct strobe_regs *regs, bool asked);

/* Ends a release of `what` that strobe_hand_over noted at `begin_ticks`. Call it right after the release. No tick
 * comes while the kernel wakes the waiter. The time of the release is therefore added to the thread's time in short
 * calls. A release of 0.2 ms or more is not added, because the thread lost its processor in it. When the sum has grown
 * by a gate interval, the release is recorded as a call of kind UNLOCK and stands for that interval. Has no effect on a
 * thread without ticks. */
void strobe_release_end(struct strobe_thread *t, uint64_t what, uint64_t begin_ticks, struct strobe_site site);

/* The part of strobe_point after the clock read. Between strobe_thread_enter and strobe_thread_leave. */
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

/* Reports an event of a point kind. `on` is the switch's value as the hook read it. */
static STROBE_ALWAYS_INLINE void strobe_point(struct strobe_thread *t, uint32_t on, enum strobe_kind kind, uint64_t arg,
                                              struct strobe_site site)
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
        /* The clock read comes before the counters: it waits for all earlier loads, and overlaps with later
         * instructions. */
        strobe_point_at(t, kind, arg, site, t->ticks(t->ticks_ctx));
    }
    strobe_thread_leave(t);
}

/* Does the same as strobe_point, as a function that is not inlined. */
void strobe_point_called(struct strobe_thread *t, uint32_t on, enum strobe_kind kind, uint64_t arg,
                         struct strobe_site site);

/* Does the same as strobe_point, for hooks that are called millions of times. Only the path that nearly all of their
 * events take is inline. */
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

/* Counts an allocation of `bytes`, and reports its event. */
static STROBE_ALWAYS_INLINE void strobe_point_alloc(struct strobe_thread *t, uint32_t on, uint64_t bytes,
                                                    struct strobe_site site)
{
    if (!strobe_load_relaxed(&t->inside)) {
        strobe_bump(&t->entry->alloc_count, 1);
        strobe_bump(&t->entry->alloc_bytes, bytes);
    }
    strobe_point_dense(t, on, STROBE_KIND_ALLOC, bytes, site);
}

/* Opens a scope at the hook `site`. Returns a token for strobe_scope_end. Returns 0 when no scope was opened: the
 * call was re-entrant, or nested deeper than STROBE_SCOPES_MAX, which is counted as gated. */
uint32_t strobe_scope_begin(struct strobe_thread *t, enum strobe_kind kind, uint64_t arg, struct strobe_site site);

/* Closes the scope of a token, and the scopes inside it that were left without an end. Has no effect for token 0. */
void strobe_scope_end(struct strobe_thread *t, uint32_t token, struct strobe_site site);

/* Call this instead of strobe_scope_end when the call returns with the switch off, as long as the capture's memory
 * is mapped. The session still shows the thread in the call, since the session may be closed already. From here on
 * the thread may overwrite the stack memory of the call, so strobe_sampler_finish must not read it any more. */
static inline void strobe_scope_left(struct strobe_thread *t)
{
    strobe_store_relaxed(&t->scope_frame, 0);
    strobe_fence_release(); /* writer's side of a seqlock, as in publish_left (sample.c) */
}

#endif
