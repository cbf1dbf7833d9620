/* Fits a distribution of the scenario language to a sample: constant, uniform, exponential, lognormal, or a list of
 * values (the means of equal parts of the sorted sample).
 *
 * The choice is the form with the smallest Kolmogorov-Smirnov distance from the sample. A form with parameters is
 * preferred to the list as long as its distance is not greater by more than SIM_FIT_BONUS and what chance explains:
 * SIM_FIT_CHANCE over the root of the sample's size. It also says what lies between and beyond the sample's values.
 * Every form keeps the sample's mean, apart from rounding.
 *
 * The distance of two distributions is the largest difference of their cumulative functions (Conover, "Practical
 * Nonparametric Statistics", 3rd ed., chapter 6). The normal distribution's function is approximated as in Abramowitz
 * and Stegun, "Handbook of Mathematical Functions", 7.1.26, with an error below 1.5e-7.
 *
 * Results are the same on every machine: no function of libm is used. Any thread. */
#ifndef STROBE_SIM_LEARN_FIT_H
#define STROBE_SIM_LEARN_FIT_H

#include "sim/app/dist.h"

#include <stddef.h>
#include <stdint.h>

enum { SIM_FIT_LIST_MAX = 40, SIM_FIT_SAMPLE_LEAST = 5 };
#define SIM_FIT_BONUS  0.02
#define SIM_FIT_CHANCE 0.6

struct sim_fit {
    enum sim_dist_kind kind;
    uint64_t a, b; /* as in struct sim_dist */
    double sigma;
    uint64_t values[SIM_FIT_LIST_MAX];
    uint32_t count;
    double distance; /* Kolmogorov-Smirnov distance from the sample, 0 to 1 */
};

/* Sorts the sample and fits. An empty sample gives the constant 0. */
void sim_fit_sample(uint64_t *sample, size_t count, struct sim_fit *out);

/* Returns the Kolmogorov-Smirnov distance of two sorted samples: 0 when both are empty, 1 when one is. */
double sim_fit_distance(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count);

/* Makes a list of values shorter: the means of at most `most` equal parts of it. */
void sim_fit_shorten(struct sim_fit *f, uint32_t most);

void sim_fit_sort(uint64_t *values, size_t count);

/* Returns the value below which `share` (0 to 1) of a sorted sample lies; 0 for an empty one. */
uint64_t sim_fit_percentile(const uint64_t *sorted, size_t count, double share);

#endif
