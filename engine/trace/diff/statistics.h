/* Statistics for comparing two captures or two sets of captures: mean, standard error, Welch's test, the false
 * discovery rate.
 *
 * Sources:
 *
 *   Welch's test                 B. L. Welch, Biometrika 34 (1947) 28-35, doi:10.1093/biomet/34.1-2.28
 *   Student's distribution       by the regularized incomplete beta function, NIST DLMF 8.17.22 and 26.5
 *   continued fractions          the modified method of Lentz, W. J. Lentz, Applied Optics 15 (1976) 668
 *   batch means                  R. W. Conway, Management Science 10 (1963) 47-61
 *   correlation of few blocks    its bias, M. G. Kendall, Biometrika 41 (1954) 403-404
 *   false discovery rate         Y. Benjamini, Y. Hochberg, J. R. Stat. Soc. B 57 (1995) 289-300
 *
 * Pure functions: any context. Only strobe_adjust_p allocates. Reading half only. */
#ifndef STROBE_TRACE_DIFF_STATISTICS_H
#define STROBE_TRACE_DIFF_STATISTICS_H

#include "engine/base/status.h"

#include <stddef.h>

/* Observations of one quantity: one for each capture, or one for each block of one capture's time. */
struct strobe_observations {
    double mean;
    double error;   /* standard error of the mean; 0 for a single observation */
    double freedom; /* degrees of freedom of `error`; 0 = the spread is not known */
};

/* Sums up independent observations, `stride` values apart. Of one observation the spread is not known. `count` is at
 * least 1. */
struct strobe_observations strobe_observe_runs(const double *at, size_t count, size_t stride);

/* Sums up the blocks of one capture, in the order of time. Blocks that follow one another are not independent: a
 * positive correlation r of neighbours multiplies the variance by (1 + r) / (1 - r), as in an autoregressive process.
 * Samples that come in clusters are covered, because the spread of the blocks contains it. */
struct strobe_observations strobe_observe_blocks(const double *at, size_t count, size_t stride);

/* The comparison of two means. */
struct strobe_comparison {
    double change;     /* second mean minus first */
    double half_width; /* of the 95 % confidence interval of `change`; infinite if not decidable */
    double p;          /* probability of a larger change, in either direction, between equal captures */
    int decidable;     /* 0: neither side shows its spread; then p is 1 */
};

/* Compares by Welch's test. If the spread of one side is not known, that side counts as one more observation with the
 * spread of the other side. If both spreads are zero, p is 0 for different means and 1 for equal ones. */
struct strobe_comparison strobe_compare_means(struct strobe_observations a, size_t a_count,
                                              struct strobe_observations b, size_t b_count);

/* Returns the probability that |t| of Student's distribution exceeds |t|. freedom > 0. */
double strobe_student_p(double t, double freedom);

/* Returns the t that |t| exceeds with probability `p`, 0 < p < 1. freedom > 0. */
double strobe_student_quantile(double p, double freedom);

/* Returns the regularized incomplete beta function I_x(a, b), 0 <= x <= 1, a > 0, b > 0. */
double strobe_incomplete_beta(double x, double a, double b);

/* Writes to adjusted[i] the smallest false discovery rate at which the method of Benjamini and Hochberg rejects
 * hypothesis i, whose p value is p[i]. STROBE_IO: out of memory. */
enum strobe_status strobe_adjust_p(const double *p, double *adjusted, size_t count);

#endif
