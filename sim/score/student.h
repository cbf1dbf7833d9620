/* Statistics of small samples, without a mathematics library: the same on every machine. */
#ifndef STROBE_SIM_SCORE_STUDENT_H
#define STROBE_SIM_SCORE_STUDENT_H

#include <stddef.h>

/* The number of standard errors that hold a mean of `count` values within its 95 % interval: the 97.5 % point of
 * Student's t with count - 1 degrees of freedom, to 4 digits. count >= 2. */
double sim_student_t(size_t count);

/* Square root, by Newton. 0 for what is below. */
double sim_root(double x);

/* Orders doubles for qsort; none may be a NaN. */
int sim_by_value(const void *left, const void *right);

/* The value below which the share q of the sorted values lies, linear between two (type 7 of Hyndman and Fan, "Sample
 * quantiles in statistical packages", 1996). count >= 1. */
double sim_quantile(const double *sorted, size_t count, double q);

#endif
