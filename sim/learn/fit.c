#include "sim/learn/fit.h"

#include <stdbool.h>
#include <stdlib.h>

/* ---- samples ---- */

static int fit_compare_values(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

void sim_fit_sort(uint64_t *values, size_t count)
{
    if (count)
        qsort(values, count, sizeof *values, fit_compare_values);
}

uint64_t sim_fit_percentile(const uint64_t *sorted, size_t count, double share)
{
    if (!count)
        return 0;
    size_t at = (size_t)(share * (double)count);
    return sorted[at < count ? at : count - 1];
}

double sim_fit_distance(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count)
{
    size_t i = 0, k = 0;
    double most = 0;
    if (!a_count || !b_count)
        return a_count != b_count;
    while (i < a_count && k < b_count) {
        uint64_t at = a[i] < b[k] ? a[i] : b[k];
        while (i < a_count && a[i] == at)
            i++;
        while (k < b_count && b[k] == at)
            k++;
        double apart = (double)i / (double)a_count - (double)k / (double)b_count;
        apart = apart < 0 ? -apart : apart;
        most = apart > most ? apart : most;
    }
    return most;
}

static double sample_mean(const uint64_t *sample, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)sample[i];
    return count ? sum / (double)count : 0;
}

/* ---- cumulative functions ---- */

/* The error function for x >= 0. */
static double error_function(double x)
{
    double t = 1 / (1 + 0.3275911 * x);
    double sum = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
    return x > 20 ? 1 : 1 - sum * sim_dist_exp(-x * x);
}

static double normal_below(double x)
{
    const double root_half = 0.70710678118654752;
    double half = error_function((x < 0 ? -x : x) * root_half) / 2;
    return x < 0 ? 0.5 - half : 0.5 + half;
}

/* Returns the share of a fitted form that lies below x. */
static double fit_below(const struct sim_fit *f, double x)
{
    switch (f->kind) {
    case SIM_DIST_UNIFORM:
        return x <= (double)f->a ? 0 : x >= (double)f->b ? 1 : (x - (double)f->a) / (double)(f->b - f->a);
    case SIM_DIST_EXPONENTIAL: return x > 700 * (double)f->a ? 1 : 1 - sim_dist_exp(-x / (double)f->a);
    case SIM_DIST_LOGNORMAL: return x <= 0 ? 0 : normal_below(sim_dist_log(x / (double)f->a) / f->sigma);
    default: return x >= (double)f->a;
    }
}

/* Returns the distance of a form without jumps from a sorted sample. */
static double distance_of_form(const struct sim_fit *f, const uint64_t *sample, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count;) {
        size_t next = i + 1;
        while (next < count && sample[next] == sample[i])
            next++;
        double below = fit_below(f, (double)sample[i]);
        double low = below - (double)i / (double)count, high = (double)next / (double)count - below;
        most = low > most ? low : most;
        most = high > most ? high : most;
        i = next;
    }
    return most;
}

/* ---- forms ---- */

/* Rounds to four significant digits: more are noise of the sample. */
static uint64_t round_digits(double x)
{
    uint64_t unit = 1;
    while (x / (double)unit >= 10000)
        unit *= 10;
    return (uint64_t)(x / (double)unit + 0.5) * unit;
}

static bool fit_uniform(const uint64_t *sample, size_t count, double mean, struct sim_fit *out)
{
    double low = (double)sample[0], high = (double)sample[count - 1];
    double beyond = (high - low) / (double)(count - 1), shift;
    low = low > beyond ? low - beyond : 0;
    high += beyond;
    shift = mean - (low + high) / 2;
    low = low + shift > 0 ? low + shift : 0;
    high = 2 * mean - low;
    *out = (struct sim_fit){.kind = SIM_DIST_UNIFORM, .a = round_digits(low), .b = round_digits(high)};
    return out->a < out->b;
}

static bool fit_exponential(double mean, struct sim_fit *out)
{
    *out = (struct sim_fit){.kind = SIM_DIST_EXPONENTIAL, .a = round_digits(mean)};
    return out->a > 0;
}

static double fit_root(double x)
{
    double root = x > 1 ? x : 1;
    for (int i = 0; i < 64; i++)
        root = (root + x / root) / 2;
    return root;
}

static bool fit_lognormal(const uint64_t *sample, size_t count, double mean, struct sim_fit *out)
{
    double sum = 0, squares = 0;
    if (!sample[0])
        return false;
    for (size_t i = 0; i < count; i++)
        sum += sim_dist_log((double)sample[i]);
    for (size_t i = 0; i < count; i++) {
        double apart = sim_dist_log((double)sample[i]) - sum / (double)count;
        squares += apart * apart;
    }
    double sigma = (double)(uint64_t)(fit_root(squares / (double)count) * 1000 + 0.5) / 1000;
    *out = (struct sim_fit){.kind = SIM_DIST_LOGNORMAL, .sigma = sigma};
    if (sigma <= 0 || sigma > 4)
        return false;
    out->a = round_digits(mean / sim_dist_exp(sigma * sigma / 2));
    return out->a > 0;
}

/* The means of equal parts of the sample. */
static void fit_list(const uint64_t *sample, size_t count, struct sim_fit *out)
{
    size_t parts = count < SIM_FIT_LIST_MAX ? count : SIM_FIT_LIST_MAX;
    *out = (struct sim_fit){.kind = SIM_DIST_LIST, .count = (uint32_t)parts};
    for (size_t p = 0; p < parts; p++) {
        size_t first = p * count / parts, end = (p + 1) * count / parts;
        out->values[p] = round_digits(sample_mean(sample + first, end - first));
    }
    out->distance = sim_fit_distance(sample, count, out->values, parts);
}

void sim_fit_shorten(struct sim_fit *f, uint32_t most)
{
    uint32_t count = f->count;
    if (f->kind != SIM_DIST_LIST || count <= most || !most)
        return;
    for (uint32_t p = 0; p < most; p++) {
        uint32_t first = p * count / most, end = (p + 1) * count / most;
        f->values[p] = round_digits(sample_mean(f->values + first, end - first));
    }
    f->count = most;
}

static void keep_nearer(struct sim_fit *best, const struct sim_fit *other)
{
    if (other->distance < best->distance)
        *best = *other;
}

void sim_fit_sample(uint64_t *sample, size_t count, struct sim_fit *out)
{
    struct sim_fit form, best = {.distance = 2};
    *out = (struct sim_fit){.kind = SIM_DIST_CONSTANT};
    sim_fit_sort(sample, count);
    if (!count || sample[0] == sample[count - 1]) {
        out->a = count ? sample[0] : 0;
        return;
    }
    double mean = sample_mean(sample, count);
    fit_list(sample, count, out);
    if (count < SIM_FIT_SAMPLE_LEAST)
        return;
    if (fit_uniform(sample, count, mean, &form)) {
        form.distance = distance_of_form(&form, sample, count);
        keep_nearer(&best, &form);
    }
    if (fit_exponential(mean, &form)) {
        form.distance = distance_of_form(&form, sample, count);
        keep_nearer(&best, &form);
    }
    if (fit_lognormal(sample, count, mean, &form)) {
        form.distance = distance_of_form(&form, sample, count);
        keep_nearer(&best, &form);
    }
    if (best.distance <= out->distance + SIM_FIT_BONUS + SIM_FIT_CHANCE / fit_root((double)count))
        *out = best;
}
