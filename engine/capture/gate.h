/* The gate decides, for each hook event of a thread, whether the engine takes a sample at this event.
 *
 * Samples are due on a grid of times. When a sample is taken late, the next one is due one interval after the time
 * at which the late one was due, not one interval after it was taken. So a thread whose hooks come every 0.3 ms gets
 * 1000 samples a second at an interval of 1 ms, and not 833 (S-1). When no event came for longer than an interval,
 * the grid starts anew at the next sample.
 *
 * The clock read is nearly the whole cost of rejecting an event. The gate of a thread with dense events therefore
 * reads the clock only at every n-th event. The time that n events took decides the next n:
 *
 *   less than 1/8 of the interval    n doubles, up to skip_max + 1
 *   1/8 to less than 1/4             n stays
 *   1/4 to less than 1/2             n halves
 *   1/2 or more                      n becomes 1
 *
 * So at most skip_max events are rejected without a clock read after the events have become sparse. The sampler
 * limits this further: it resets the countdown (strobe_gate_wake) when it has not sampled the thread for about an
 * interval.
 *
 * Each thread has one gate. Only that thread uses it, except for strobe_gate_wake, which the sampler calls
 * (tests/explore/engine/engine_gate.c). Any context. */
#ifndef STROBE_CAPTURE_GATE_H
#define STROBE_CAPTURE_GATE_H

#include "engine/base/atomic.h"

#include <stdbool.h>
#include <stdint.h>

struct strobe_gate {
    strobe_a32 skip;    /* number of next events to reject without a clock read */
    uint32_t skip_span; /* value that skip gets after each clock read: n - 1 */
    uint32_t skip_max;
    uint64_t interval_ticks; /* 0: every event passes */
    uint64_t due_ticks;      /* no sample is due before this time */
    uint64_t read_ticks;     /* time of the last clock read */
};

static inline void strobe_gate_init(struct strobe_gate *g, uint64_t interval_ticks, uint32_t skip_max)
{
    *g = (struct strobe_gate){.interval_ticks = interval_ticks, .skip_max = interval_ticks ? skip_max : 0};
}

/* Returns true when the gate rejects the next event without a clock read. */
static inline bool strobe_gate_skips(struct strobe_gate *g)
{
    uint32_t skip = strobe_load_relaxed(&g->skip);
    if (skip == 0)
        return false;
    strobe_store_relaxed(&g->skip, skip - 1);
    return true;
}

/* Adapts the number of events to skip to the time since the last clock read. */
static inline void strobe_gate_adapt(struct strobe_gate *g, uint64_t now_ticks)
{
    if (g->skip_max == 0)
        return; /* every event reads the clock */
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

/* Returns true when no sample can be due at now_ticks. */
static inline bool strobe_gate_early(const struct strobe_gate *g, uint64_t now_ticks)
{
    return now_ticks < g->due_ticks;
}

/* Returns true when a sample is due at now_ticks. The gate then counts that sample as taken. */
static inline bool strobe_gate_due(struct strobe_gate *g, uint64_t now_ticks)
{
    if (strobe_gate_early(g, now_ticks))
        return false;
    g->due_ticks += g->interval_ticks;
    if (g->due_ticks <= now_ticks)
        g->due_ticks = now_ticks + g->interval_ticks;
    return true;
}

/* Postpones the next sample: none is due before `until_ticks`. */
static inline void strobe_gate_put_off(struct strobe_gate *g, uint64_t until_ticks)
{
    if (g->due_ticks < until_ticks)
        g->due_ticks = until_ticks;
}

/* Makes the thread's next event read the clock. The sampler calls it. The thread's own countdown may overwrite this
 * store; then only this one wake is lost, and the sampler's next pass repeats it. */
static inline void strobe_gate_wake(struct strobe_gate *g)
{
    if (strobe_load_relaxed(&g->skip))
        strobe_store_relaxed(&g->skip, 0);
}

#endif
