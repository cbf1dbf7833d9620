/* Lateness: a measured distribution, stored as a few of its quantiles, to draw from.
 *
 * A core that was idle for longer takes longer to run a thread again, and more CPU time. So lateness and CPU time are
 * measured for waits of several lengths. Between two lengths they are interpolated; beyond the last length they are
 * constant. All zero: never late. Any context. */
#ifndef STROBE_SIM_KERNEL_LATENESS_H
#define STROBE_SIM_KERNEL_LATENESS_H

#include "sim/kernel/random.h"

#include <stdbool.h>

enum { SIM_LATENESS_POINTS = 7, SIM_WAIT_SPANS = 5 };

/* The quantile of each point, in thousandths. */
static const uint16_t sim_lateness_at[SIM_LATENESS_POINTS] = {0, 250, 500, 750, 900, 990, 1000};

/* The lengths of waits that are measured, ns. */
static const uint64_t sim_wait_spans_ns[SIM_WAIT_SPANS] = {10000, 40000, 160000, 1000000, 5000000};

struct sim_lateness {
    uint64_t ns[SIM_LATENESS_POINTS];
}; /* not decreasing, below 2^40 */
struct sim_span_lateness {
    struct sim_lateness at[SIM_WAIT_SPANS];
};
struct sim_span_cost {
    double ns[SIM_WAIT_SPANS];
}; /* CPU time */

static inline bool sim_lateness_none(const struct sim_lateness *l)
{
    return l->ns[SIM_LATENESS_POINTS - 1] == 0;
}

/* Draws a value, with linear interpolation between two points. */
static inline uint64_t sim_lateness_draw(const struct sim_lateness *l, struct sim_random *r)
{
    if (sim_lateness_none(l))
        return 0;
    const uint64_t scale = 1000;
    uint64_t place = sim_random_below(r, 1000 * scale);
    int i = 1;
    while (place >= sim_lateness_at[i] * scale)
        i++;
    uint64_t from = sim_lateness_at[i - 1] * scale, width = sim_lateness_at[i] * scale - from;
    return l->ns[i - 1] + (l->ns[i] - l->ns[i - 1]) * (place - from) / width;
}

/* Position of a length among the measured ones: index of the lower one, and the part of the distance to the next, in
 * 1024ths. */
struct sim_span_place {
    int from;
    uint64_t part;
};

static inline struct sim_span_place sim_span_place(uint64_t span_ns)
{
    struct sim_span_place p = {0, 0};
    while (p.from + 1 < SIM_WAIT_SPANS && span_ns >= sim_wait_spans_ns[p.from + 1])
        p.from++;
    uint64_t from_ns = sim_wait_spans_ns[p.from];
    if (p.from + 1 < SIM_WAIT_SPANS && span_ns > from_ns)
        p.part = (span_ns - from_ns) * 1024 / (sim_wait_spans_ns[p.from + 1] - from_ns);
    return p;
}

static inline uint64_t sim_span_between(uint64_t from, uint64_t to, uint64_t part)
{
    return (from * (1024 - part) + to * part) / 1024;
}

static inline uint64_t sim_span_lateness_draw(const struct sim_span_lateness *l, uint64_t span_ns, struct sim_random *r)
{
    struct sim_span_place p = sim_span_place(span_ns);
    struct sim_lateness between = l->at[p.from];
    if (p.part)
        for (int i = 0; i < SIM_LATENESS_POINTS; i++)
            between.ns[i] = sim_span_between(between.ns[i], l->at[p.from + 1].ns[i], p.part);
    return sim_lateness_draw(&between, r);
}

static inline uint64_t sim_span_cost_ns(const struct sim_span_cost *c, uint64_t span_ns)
{
    struct sim_span_place p = sim_span_place(span_ns);
    uint64_t ns = (uint64_t)c->ns[p.from];
    return p.part ? sim_span_between(ns, (uint64_t)c->ns[p.from + 1], p.part) : ns;
}

#endif
