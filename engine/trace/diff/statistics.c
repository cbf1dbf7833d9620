#include "engine/trace/diff/statistics.h"

#include <math.h>
#include <stdlib.h>

enum { FRACTION_STEPS = 500, BISECTIONS = 200 };
#define CORRELATION_MOST 0.9

/* ---- Student's distribution */

/* The continued fraction of DLMF 8.17.22, which converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double x, double a, double b)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m <= FRACTION_STEPS; m++) {
        double terms[2] = {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                           -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))};
        double step = 1;
        for (int i = 0; i < 2; i++) {
            d = 1 + terms[i] * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + terms[i] / c;
            c = fabs(c) < tiny ? tiny : c;
            step = c * d;
            value *= step;
        }
        if (fabs(step - 1) < 1e-15)
            break;
    }
    return value;
}

double strobe_incomplete_beta(double x, double a, double b)
{
    if (x <= 0 || x >= 1)
        return x >= 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(x, a, b) / a : 1 - front * beta_fraction(1 - x, b, a) / b;
}

double strobe_student_p(double t, double freedom)
{
    if (isinf(t))
        return 0;
    return strobe_incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5);
}

double strobe_student_quantile(double p, double freedom)
{
    double low = 0, high = 1;
    while (strobe_student_p(high, freedom) > p && high < 1e300)
        high *= 2;
    for (int i = 0; i < BISECTIONS && high - low > 1e-12 * high; i++) {
        double middle = (low + high) / 2;
        *(strobe_student_p(middle, freedom) > p ? &low : &high) = middle;
    }
    return (low + high) / 2;
}

/* ---- observations */

struct strobe_observations strobe_observe_runs(const double *at, size_t count, size_t stride)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += at[i * stride];
    double mean = sum / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (at[i * stride] - mean) * (at[i * stride] - mean);
    if (count < 2)
        return (struct strobe_observations){mean, 0, 0};
    double freedom = (double)count - 1;
    return (struct strobe_observations){mean, sqrt(squares / freedom / (double)count), freedom};
}

struct strobe_observations strobe_observe_blocks(const double *at, size_t count, size_t stride)
{
    struct strobe_observations o = strobe_observe_runs(at, count, stride);
    double products = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        double here = at[i * stride] - o.mean;
        squares += here * here;
        products += i ? here * (at[(i - 1) * stride] - o.mean) : 0;
    }
    double r = squares > 0 ? products / squares : 0;
    r += (1 + 3 * r) / (double)count; /* a correlation of few values is estimated too small */
    r = r < 0 ? 0 : r > CORRELATION_MOST ? CORRELATION_MOST : r;
    o.error *= sqrt((1 + r) / (1 - r));
    return o;
}

/* ---- comparison */

/* Sets p and the interval by the standard error of the change. */
static void judge_change(struct strobe_comparison *c, double error, double freedom)
{
    c->decidable = 1;
    if (error > 0) {
        c->p = strobe_student_p(c->change / error, freedom);
        c->half_width = error * strobe_student_quantile(0.05, freedom);
    } else {
        c->p = c->change != 0 ? 0 : 1;
        c->half_width = 0;
    }
}

struct strobe_comparison strobe_compare_means(struct strobe_observations a, size_t a_count,
                                              struct strobe_observations b, size_t b_count)
{
    struct strobe_comparison c = {.change = b.mean - a.mean, .half_width = INFINITY, .p = 1};
    double va = a.error * a.error, vb = b.error * b.error;
    if (a.freedom > 0 && b.freedom > 0) {
        double below = va * va / a.freedom + vb * vb / b.freedom;
        judge_change(&c, sqrt(va + vb), below > 0 ? (va + vb) * (va + vb) / below : 1);
    } else if (a.freedom > 0 || b.freedom > 0) {
        /* The variance of one run of the known side is its number of runs times the variance of its mean. */
        double known = a.freedom > 0 ? va : vb, runs = (double)(a.freedom > 0 ? a_count : b_count);
        judge_change(&c, sqrt(known * (runs + 1)), a.freedom > 0 ? a.freedom : b.freedom);
    }
    return c;
}

/* ---- false discovery rate */

struct ranked_p {
    double p;
    size_t index;
};

static int smallest_p_first(const void *a, const void *b)
{
    const struct ranked_p *x = a, *y = b;
    return x->p != y->p ? (x->p > y->p) - (x->p < y->p) : (x->index > y->index) - (x->index < y->index);
}

enum strobe_status strobe_adjust_p(const double *p, double *adjusted, size_t count)
{
    struct ranked_p *ranked = malloc((count ? count : 1) * sizeof *ranked);
    if (!ranked)
        return STROBE_IO;
    for (size_t i = 0; i < count; i++)
        ranked[i] = (struct ranked_p){p[i], i};
    qsort(ranked, count, sizeof *ranked, smallest_p_first);
    double least = 1;
    for (size_t i = count; i-- > 0;) {
        double here = ranked[i].p * (double)count / (double)(i + 1);
        least = here < least ? here : least;
        adjusted[ranked[i].index] = least;
    }
    free(ranked);
    return STROBE_OK;
}
