#include "sim/score/student.h"

/* Exact values for few degrees of freedom. For more: the expansion in 1/n of Cornish and Fisher (Abramowitz and Stegun,
 * 26.7.5), which is accurate to 5 digits there. */
double sim_student_t(size_t count)
{
    static const double few[] = {0,      12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469,
                                 2.3646, 2.3060,  2.2622, 2.2281, 2.2010, 2.1788, 2.1604,
                                 2.1448, 2.1314,  2.1199, 2.1098, 2.1009, 2.0930, 2.0860};
    double n = (double)(count - 1), z = 1.959963985, z2 = z * z;
    if (count <= sizeof few / sizeof few[0])
        return few[count - 1];
    double first = z * (z2 + 1) / 4, second = z * ((5 * z2 + 16) * z2 + 3) / 96;
    double third = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
    return z + (first + (second + third / n) / n) / n;
}

double sim_root(double x)
{
    if (!(x > 0))
        return 0;
    double scale = 1;
    while (x > 4) {
        x /= 4;
        scale *= 2;
    }
    while (x < 1) {
        x *= 4;
        scale /= 2;
    }
    double root = (1 + x) / 2;
    for (int i = 0; i < 6; i++)
        root = (root + x / root) / 2;
    return root * scale;
}

int sim_by_value(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

double sim_quantile(const double *sorted, size_t count, double q)
{
    double at = q * (double)(count - 1);
    size_t low = (size_t)at;
    if (low + 1 >= count)
        return sorted[count - 1];
    return sorted[low] + (at - (double)low) * (sorted[low + 1] - sorted[low]);
}
