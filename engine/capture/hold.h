/* The thread that the sampler holds suspended, and the agreement about which thread resumes it. The sampler resumes
 * it normally. The watchdog resumes it when it has been suspended for too long. The host chooses the value that
 * identifies a thread (ART: its Thread, Mach: its port); the value is never 0.
 *
 * A stack must not be walked in place after its thread was resumed. The watchdog therefore waits longer while a walk
 * is in progress. One word, `since`, holds the state:
 *
 *   0 -> time             begin (release): `thread` is suspended since this time
 *   time <-> time | 1     walk, walked: a walk begins, a walk ends
 *   either -> 0           claim, or overdue: by compare-and-swap, so exactly one of the two resumes the thread, and
 *                         the other one learns that it must not
 *
 * No two suspensions begin at the same time. So a word that was 0 in between has another value, and a
 * compare-and-swap with an old value fails. (explored: hold/once, hold/lost)
 *
 * A suspended thread stays suspended for ever in two cases, each a window of a few instructions. First: the sampler
 * dies between the system's suspension of the thread and strobe_hold_begin. Second: the sampler or the watchdog dies
 * after it has claimed the thread, before the system's resume. */
#ifndef STROBE_CAPTURE_HOLD_H
#define STROBE_CAPTURE_HOLD_H

#include "engine/base/atomic.h"

#include <stdbool.h>
#include <stdint.h>

enum { STROBE_HOLD_WALKED = 1 };

/* Zero-initialized. */
struct strobe_hold {
    strobe_a64 thread; /* the suspended thread, or the last one */
    strobe_a64 since;  /* ticks, even; 0 = no thread is suspended; bit 0: a walk is in progress */
};

/* Records that `thread` is suspended from now on. Sampler. */
static inline void strobe_hold_begin(struct strobe_hold *h, uint64_t thread, uint64_t now_ticks)
{
    strobe_store_relaxed(&h->thread, thread);
    strobe_store_release(&h->since, now_ticks & ~(uint64_t)STROBE_HOLD_WALKED);
}

static inline uint64_t strobe_hold_thread(const struct strobe_hold *h)
{
    return strobe_load_relaxed(&h->thread);
}

/* Begins a walk. Returns the suspended thread, whose stack may be walked until strobe_hold_walked; 0 when the
 * watchdog has resumed it. Sampler. */
static inline uint64_t strobe_hold_walk(struct strobe_hold *h)
{
    uint64_t since = strobe_load_relaxed(&h->since);
    bool stands = since && strobe_cas_relaxed(&h->since, &since, since | STROBE_HOLD_WALKED);
    return stands ? strobe_hold_thread(h) : 0;
}

/* Ends a walk. All reads of the thread's stack happen before this store. Sampler. */
static inline void strobe_hold_walked(struct strobe_hold *h)
{
    uint64_t since = strobe_load_relaxed(&h->since);
    if (since)
        strobe_cas_release(&h->since, &since, since & ~(uint64_t)STROBE_HOLD_WALKED);
}

/* Returns the suspended thread, which the caller must resume; 0 when the watchdog has resumed it first. Sampler. */
static inline uint64_t strobe_hold_claim(struct strobe_hold *h)
{
    uint64_t since = strobe_load_acquire(&h->since);
    uint64_t thread = strobe_hold_thread(h);
    return since && strobe_cas_acq_rel(&h->since, &since, 0) ? thread : 0;
}

/* Returns the thread that has been suspended for `most_ticks`, or for `walk_ticks` while a walk is in progress; the
 * caller must resume it. Returns 0 when there is no such thread. Watchdog.
 *
 * Order of accesses: this function reads `thread` before the exchange that claims it. The sampler writes `thread`
 * again only after it has seen that exchange. So the exchange releases here, and the sampler's late claim acquires.
 * (The explorer does not model loads that are reordered with later stores.) */
static inline uint64_t strobe_hold_overdue(struct strobe_hold *h, uint64_t now_ticks, uint64_t most_ticks,
                                           uint64_t walk_ticks)
{
    uint64_t since = strobe_load_acquire(&h->since);
    uint64_t most = since & STROBE_HOLD_WALKED ? walk_ticks : most_ticks;
    if (!since || now_ticks < since || now_ticks - since < most)
        return 0;
    uint64_t thread = strobe_hold_thread(h);
    return strobe_cas_acq_rel(&h->since, &since, 0) ? thread : 0;
}

#endif
