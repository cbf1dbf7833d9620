/* Logarithm and exponential by the textbook method: argument reduction, then a series that is cut below half a unit of
 * the last place (Muller, "Elementary Functions", 3rd ed. 2016, chapters 3 and 11). Normal draws by a ratio of uniforms
 * with Leva's bounds ("A fast normal random number generator", ACM TOMS 18, 1992), which needs a logarithm for one draw
 * in a hundred and no root. Each function is accurate to a few units of the last place, with the same error on every
 * machine. */
#include "sim/app/dist.h"

#include <assert.h>
#include <float.h>
#include <string.h>

_Static_assert(FLT_EVAL_METHOD == 0, "doubles are computed as doubles, so that draws are the same on every machine");

static const double ln2 = 0x1.62e42fefa39efp-1;
static const double draw_max = 0x1p62;

/* x = f * 2^exponent with f in [sqrt(1/2), sqrt(2)); x is positive and normal. */
static double dist_split_float(double x, int *exponent)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    *exponent = (int)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffu) | 0x3ff0000000000000u;
    memcpy(&x, &bits, sizeof x);
    if (x < 0x1.6a09e667f3bcdp+0)
        return x;
    ++*exponent;
    return x / 2;
}

/* ln f = 2 artanh((f - 1) / (f + 1)). */
double sim_dist_log(double x)
{
    int exponent;
    double f = dist_split_float(x, &exponent), s = (f - 1) / (f + 1), s2 = s * s, sum = 0;
    for (int n = 23; n >= 1; n -= 2)
        sum = sum * s2 + 1.0 / n;
    return exponent * ln2 + 2 * s * sum;
}

/* e^x = 2^k e^r with |r| <= ln 2 / 2; x within +-700, where the result is normal. */
double sim_dist_exp(double x)
{
    static const double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
    int k = (int)(x / ln2 + (x < 0 ? -0.5 : 0.5));
    double r = x - k * ln2_high - k * ln2_low, sum = 1;
    for (int n = 14; n >= 1; n--)
        sum = 1 + sum * r / n;
    uint64_t bits = (uint64_t)(k + 1023) << 52;
    double scale;
    memcpy(&scale, &bits, sizeof scale);
    return sum * scale;
}

static double normal(struct sim_random *r)
{
    for (;;) {
        double u = 1 - sim_random_unit(r), v = 1.7156 * (sim_random_unit(r) - 0.5);
        double x = u - 0.449871, y = (v < 0 ? -v : v) + 0.386595;
        double q = x * x + y * (0.19600 * y - 0.25472 * x);
        if (q < 0.27597 || (q <= 0.27846 && v * v <= -4 * u * u * sim_dist_log(u)))
            return v / u;
    }
}

/* Rounds a draw. A draw around a value other than 0 is never 0, because a timeout of 0 has another meaning. */
static uint64_t rounded(double x)
{
    return x >= draw_max ? (uint64_t)draw_max : x < 1 ? 1 : (uint64_t)(x + 0.5);
}

uint64_t sim_dist_draw(const struct sim_dist *d, struct sim_random *r)
{
    switch (d->kind) {
    case SIM_DIST_CONSTANT: return d->a;
    case SIM_DIST_UNIFORM: assert(d->a <= d->b); return d->a + sim_random_below(r, d->b - d->a + 1);
    case SIM_DIST_EXPONENTIAL: return d->a ? rounded((double)d->a * -sim_dist_log(1 - sim_random_unit(r))) : 0;
    case SIM_DIST_LOGNORMAL: return d->a ? rounded((double)d->a * sim_dist_exp(d->sigma * normal(r))) : 0;
    case SIM_DIST_LIST: assert(d->count > 0); return d->values[sim_random_below(r, d->count)];
    }
    return 0;
}

double sim_dist_mean(const struct sim_dist *d)
{
    double sum = 0;
    switch (d->kind) {
    case SIM_DIST_CONSTANT:
    case SIM_DIST_EXPONENTIAL: return (double)d->a;
    case SIM_DIST_UNIFORM: return ((double)d->a + (double)d->b) / 2;
    case SIM_DIST_LOGNORMAL: return (double)d->a * sim_dist_exp(d->sigma * d->sigma / 2);
    case SIM_DIST_LIST:
        for (uint32_t i = 0; i < d->count; i++)
            sum += (double)d->values[i];
        return sum / d->count;
    }
    return 0;
}
