/* The gate: decides, for each hook event of a thread, whether to take a sample now.
 *
 * Samples are due on a grid: when one is taken late, the next is due one interval after the time it was
 * due, not after the time it was taken, so a thread whose hooks come every 0.3 ms gets 1000 samples a second for
 * a 1 ms interval and not 833 (S-1). After a quiet spell longer than an interval the grid starts anew.
 *
 * The clock read is nearly the whole cost of saying no. A thread whose events come densely therefore reads the
 * clock only on every n-th event; n doubles while n events take less than an eighth of the interval, and falls at
 * once when they take more. So at most skip_max events pass unseen after a dense spell ends, and the sampler ends
 * even that (strobe_gate_wake) when the thread has been unseen for an interval.
 *
 * One gate per thread, used by that thread only, except strobe_gate_wake (tests/explore/engine/engine_gate.c). Any
 * context. */
#ifndef STROBE_CAPTURE_GATE_H
#define STROBE_CAPTURE_GATE_H

#include "engine/base/atomic.h"

#include <stdbool.h>
#include <stdint.h>

struct strobe_gate {
    strobe_a32 skip;          /* events still to be turned away without a clock read */
    uint32_t skip_span;       /* what skip starts from after each clock read */
    uint32_t skip_max;
    uint64_t interval_ticks;  /* 0: every event passes */
    uint64_t due_ticks;       /* no sample before this time */
    uint64_t read_ticks;      /* the clock when it was read last */
};

static inline void strobe_gate_init(struct strobe_gate *g, uint64_t interval_ticks, uint32_t skip_max)
{
    *g = (struct strobe_gate){.interval_ticks = interval_ticks, .skip_max = interval_ticks ? skip_max : 0};
}

/* True when the next event needs no clock: it is turned away. */
static inline bool strobe_gate_skips(struct strobe_gate *g)
{
    uint32_t skip = strobe_load_relaxed(&g->skip);
    if (skip == 0)
        return false;
    strobe_store_relaxed(&g->skip, skip - 1);
    return true;
}

/* Adapts the number of events to skip to how densely they came since the clock was read last. */
static inline void strobe_gate_adapt(struct strobe_gate *g, uint64_t now_ticks)
{
    if (g->skip_max == 0)
        return;   /* nothing to adapt */
    uint64_t span = now_ticks - g->read_ticks;
    g->read_ticks = now_ticks;
    if (span < g->interval_ticks / 8)
        g->skip_span = g->skip_span * 2 + 1 < g->skip_max ? g->skip_span * 2 + 1 : g->skip_max;
    else if (span >= g->interval_ticks / 2)
        g->skip_span = 0;
    else if (span >= g->interval_ticks / 4)
        g->skip_span /= 2;
    strobe_store_relaxed(&g->skip, g->skip_span);
}

/* True when no sample can be due at now_ticks. */
static inline bool strobe_gate_early(const struct strobe_gate *g, uint64_t now_ticks)
{
    return now_ticks < g->due_ticks;
}

/* True when a sample is due at now_ticks; it then counts as taken. */
static inline bool strobe_gate_due(struct strobe_gate *g, uint64_t now_ticks)
{
    if (strobe_gate_early(g, now_ticks))
        return false;
    g->due_ticks += g->interval_ticks;
    if (g->due_ticks <= now_ticks)
        g->due_ticks = now_ticks + g->interval_ticks;
    return true;
}

/* Moves the time before which no sample is due ahead to `until_ticks`. */
static inline void strobe_gate_put_off(struct strobe_gate *g, uint64_t until_ticks)
{
    if (g->due_ticks < until_ticks)
        g->due_ticks = until_ticks;
}

/* Makes the thread's next event read the clock. By the sampler; a race with the thread's own countdown loses at
 * most this one wake, and the sampler's next pass repeats it. */
static inline void strobe_gate_wake(struct strobe_gate *g)
{
    if (strobe_load_relaxed(&g->skip))
        strobe_store_relaxed(&g->skip, 0);
}

#endif
