/* Statistics of small samples. They use no mathematics library, so results are the same on every machine. */
#ifndef STROBE_SIM_SCORE_STUDENT_H
#define STROBE_SIM_SCORE_STUDENT_H

#include <stddef.h>

/* Returns the half-width of the 95 % confidence interval of a mean of `count` values, in standard errors. This is the
 * 97.5 % point of Student's t with count - 1 degrees of freedom, to 4 digits. count >= 2. */
double sim_student_t(size_t count);

/* Square root, by Newton's method. Returns 0 for negative x. */
double sim_root(double x);

/* Compares doubles for qsort. The values must not be NaN. */
int sim_by_value(const void *left, const void *right);

/* Returns the q-quantile of the sorted values, with linear interpolation (type 7 of Hyndman and Fan, "Sample quantiles
 * in statistical packages", 1996). count >= 1. */
double sim_quantile(const double *sorted, size_t count, double q);

#endif
