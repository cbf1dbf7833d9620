/* The thread that the sampler holds suspended, and who lets it go: the sampler, or the watchdog, when it stands for too
 * long. What names a thread is the host's own, and never 0: ART's Thread, Mach's port.
 *
 * A stack must not be walked in place when its thread goes on, so the watchdog has more patience while a walk is under
 * way. One word, since, says what is the case:
 *
 *   0 -> time             begin (release): `thread` stands since then
 *   time <-> time | 1     walk, walked
 *   either -> 0           claim, or overdue: by compare-and-swap, so that exactly one of them lets the thread go, and
 *                         the other knows
 *
 * No two stops begin at the same time: a word that was 0 meanwhile is another word. (explored: hold/once, hold/lost)
 *
 * A thread nobody makes up for is one whose sampler dies between the system's answer and begin, or which dies, or
 * whose watchdog does, between claiming it and the system's resume: a few instructions each. */
#ifndef STROBE_CAPTURE_HOLD_H
#define STROBE_CAPTURE_HOLD_H

#include "engine/base/atomic.h"

#include <stdbool.h>
#include <stdint.h>

enum { STROBE_HOLD_WALKED = 1 };

/* Zero at first. */
struct strobe_hold {
    strobe_a64 thread;                   /* the one that stands, or stood last */
    strobe_a64 since;                    /* ticks, even; 0 = none stands; bit 0: it is being walked */
};

/* A thread stands from now on. Sampler. */
static inline void strobe_hold_begin(struct strobe_hold *h, uint64_t thread, uint64_t now_ticks)
{
    strobe_store_relaxed(&h->thread, thread);
    strobe_store_release(&h->since, now_ticks & ~(uint64_t)STROBE_HOLD_WALKED);
}

static inline uint64_t strobe_hold_thread(const struct strobe_hold *h)
{
    return strobe_load_relaxed(&h->thread);
}

/* The thread that stands, which may be walked until strobe_hold_walked; 0: none does any more. Sampler. */
static inline uint64_t strobe_hold_walk(struct strobe_hold *h)
{
    uint64_t since = strobe_load_relaxed(&h->since);
    bool stands = since && strobe_cas_relaxed(&h->since, &since, since | STROBE_HOLD_WALKED);
    return stands ? strobe_hold_thread(h) : 0;
}

/* All that was read of it was read before. Sampler. */
static inline void strobe_hold_walked(struct strobe_hold *h)
{
    uint64_t since = strobe_load_relaxed(&h->since);
    if (since)
        strobe_cas_release(&h->since, &since, since & ~(uint64_t)STROBE_HOLD_WALKED);
}

/* The thread that stands, for the caller to let go; 0: none does, the watchdog was first. Sampler. */
static inline uint64_t strobe_hold_claim(struct strobe_hold *h)
{
    uint64_t since = strobe_load_acquire(&h->since);
    uint64_t thread = strobe_hold_thread(h);
    return since && strobe_cas_acq_rel(&h->since, &since, 0) ? thread : 0;
}

/* `thread` is read before the exchange that makes it ours, and written again only by who saw that exchange: release
 * here, acquire in the claim that comes too late. (Loads that are overtaken by later stores are not explored.)
 *
 * The thread that has stood for `most_ticks`, or for `walk_ticks` when it is being walked, for the caller to let go;
 * 0: none. Watchdog. */
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
