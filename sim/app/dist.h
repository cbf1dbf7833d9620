/* Seeded distributions of times and sizes. Draws are the same on every machine: they use only IEEE additions,
 * multiplications and divisions, built without contraction. They do not use libm, whose last bit differs. */
#ifndef STROBE_SIM_APP_DIST_H
#define STROBE_SIM_APP_DIST_H

#include "sim/kernel/random.h"

enum sim_dist_kind {
    SIM_DIST_CONSTANT,    /* a */
    SIM_DIST_UNIFORM,     /* a .. b, both included */
    SIM_DIST_EXPONENTIAL, /* mean a */
    SIM_DIST_LOGNORMAL,   /* median a, sigma (0 .. 4) of the logarithm */
    SIM_DIST_LIST,        /* one of values[0 .. count) */
};

struct sim_dist {
    enum sim_dist_kind kind;
    uint64_t a, b;
    double sigma;
    const uint64_t *values;
    uint32_t count;
};

static inline struct sim_dist sim_dist_constant(uint64_t a)
{
    return (struct sim_dist){.kind = SIM_DIST_CONSTANT, .a = a};
}

/* Draws a value, at most 2^62. An exponential or lognormal value is at least 1, unless a is 0. */
uint64_t sim_dist_draw(const struct sim_dist *d, struct sim_random *r);

/* Returns the distribution's mean, for checks and display. */
double sim_dist_mean(const struct sim_dist *d);

/* The natural logarithm of a positive number, and the exponential function for x within -700 to 700: accurate to a few
 * units of the last place, and the same on every machine. */
double sim_dist_log(double x);
double sim_dist_exp(double x);

#endif
