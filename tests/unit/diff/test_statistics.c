/* Statistics of comparisons against published and integrated values, and their rates of false alarms on random numbers.
 */
#include "engine/trace/diff/statistics.h"
#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <cmocka.h>

static void expect_near(double got, double wanted, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance))
        fail_msg("%.12g, expected %.12g", got, wanted);
}

/* I_x(a, b) of whole a and b is a sum of binomial terms; I_x(1/2, 1/2) is 2 / pi asin(sqrt(x)). */
static void the_incomplete_beta_function_has_known_values(void **state)
{
    (void)state;
    expect_near(strobe_incomplete_beta(0.5, 2, 3), 0.6875, 1e-12);
    expect_near(strobe_incomplete_beta(0.25, 0.5, 0.5), 1.0 / 3, 1e-12);
    expect_near(strobe_incomplete_beta(0.9, 3, 2), 0.9477, 1e-12);
    expect_near(strobe_incomplete_beta(0, 2, 3), 0, 0);
    expect_near(strobe_incomplete_beta(1, 2, 3), 1, 0);
}

/* Critical values of the tables of Student's distribution. */
static void students_distribution_agrees_with_tables(void **state)
{
    (void)state;
    expect_near(strobe_student_quantile(0.05, 1), 12.7062, 5e-5);
    expect_near(strobe_student_quantile(0.05, 10), 2.2281, 5e-5);
    expect_near(strobe_student_quantile(0.01, 18), 2.8784, 5e-5);
    expect_near(strobe_student_quantile(0.001, 60), 3.4602, 5e-5);
    expect_near(strobe_student_p(1, 1), 0.5, 1e-12);
    expect_near(strobe_student_p(-2, 2), 1 - 2 / sqrt(6), 1e-12);
    expect_near(strobe_student_p(1e6, 2), 1e-12, 1e-18); /* 1 - t / sqrt(2 + t^2), nearly 1 / t^2 */
    expect_near(strobe_student_p(INFINITY, 3), 0, 0);
}

/* Mean, t = -2.8353 and 27.7136 degrees of freedom by hand; p by numerical integration of the density. */
static void welchs_test_agrees_with_an_integral_of_the_density(void **state)
{
    static const double a[] = {27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1,
                               21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4};
    static const double b[] = {27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0,
                               24.8, 20.2, 21.9, 22.1, 22.9, 30.0, 23.9};
    enum { COUNT = sizeof a / sizeof a[0] };
    (void)state;
    struct strobe_observations x = strobe_observe_runs(a, COUNT, 1), y = strobe_observe_runs(b, COUNT, 1);
    struct strobe_comparison c = strobe_compare_means(x, COUNT, y, COUNT);
    expect_near(x.mean, 20.82, 0.005);
    expect_near(y.mean, 23.586666666667, 1e-9);
    expect_near(c.p, 0.008452732437, 1e-9);
    expect_near(c.half_width, c.change / 2.835263800664 * strobe_student_quantile(0.05, 27.713625968), 1e-9);
    assert_true(c.decidable);
    /* The interval contains zero exactly if p is above 5 %. */
    assert_true((c.p < 0.05) == (fabs(c.change) > c.half_width));
}

/* The example of Benjamini and Hochberg (1995), section 3.2: four of fifteen are rejected at 5 %. */
static void the_false_discovery_rate_rejects_what_its_authors_reject(void **state)
{
    static const double p[] = {0.0344, 0.0001, 0.0278, 0.4262, 0.0095, 0.0004, 0.6528, 0.0019,
                               0.0298, 0.3240, 0.0459, 0.5719, 0.0201, 1.0000, 0.7590};
    enum { COUNT = sizeof p / sizeof p[0] };
    double adjusted[COUNT];
    (void)state;
    assert_int_equal(strobe_adjust_p(p, adjusted, COUNT), STROBE_OK);
    for (int i = 0; i < COUNT; i++)
        assert_true((adjusted[i] <= 0.05) == (p[i] <= 0.0095));
    expect_near(adjusted[1], 0.0015, 1e-12);
    expect_near(adjusted[2], 0.0298 * 15 / 7, 1e-12); /* 0.0278 * 15 / 6 is more than that of the next larger p */
    expect_near(adjusted[4], 0.0095 * 15 / 4, 1e-12);
    expect_near(adjusted[13], 1, 1e-12);
}

static void one_run_beside_several_is_judged_by_their_spread(void **state)
{
    static const double runs[] = {10, 12, 14};
    (void)state;
    struct strobe_observations known = strobe_observe_runs(runs, 3, 1);
    struct strobe_comparison c = strobe_compare_means(known, 3, (struct strobe_observations){20, 0, 0}, 1);
    /* The spread is 2, so the error of the change is 2 x sqrt(1 + 1/3); t = 8 / 2.309 = 3.464, 2 degrees of freedom. */
    assert_true(c.decidable);
    expect_near(c.change, 8, 1e-12);
    expect_near(c.p, strobe_student_p(8 / (2 * sqrt(4.0 / 3)), 2), 1e-12);
    expect_near(c.half_width, 2 * sqrt(4.0 / 3) * 4.3027, 1e-3);
    c = strobe_compare_means((struct strobe_observations){20, 0, 0}, 1, known, 3);
    expect_near(c.change, -8, 1e-12);
    expect_near(c.p, strobe_student_p(8 / (2 * sqrt(4.0 / 3)), 2), 1e-12);
}

static void two_single_runs_are_not_decidable(void **state)
{
    (void)state;
    struct strobe_observations one = {1, 0, 0}, two = {2, 0, 0};
    struct strobe_comparison c = strobe_compare_means(one, 1, two, 1);
    assert_false(c.decidable);
    expect_near(c.p, 1, 0);
    assert_true(isinf(c.half_width));
}

static void runs_without_a_spread_differ_if_their_means_do(void **state)
{
    static const double three[] = {3, 3}, four[] = {4, 4};
    (void)state;
    struct strobe_observations a = strobe_observe_runs(three, 2, 1), b = strobe_observe_runs(four, 2, 1);
    expect_near(strobe_compare_means(a, 2, b, 2).p, 0, 0);
    expect_near(strobe_compare_means(a, 2, a, 2).p, 1, 0);
}

/* ---- rates of false alarms */

/* Returns a number that is nearly normal: the sum of twelve uniform ones. */
static double draw_normal(uint64_t *random)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)(strobe_trial_random(random) >> 11) * 0x1p-53;
    return sum;
}

enum { BLOCKS = 32, RUNS = 10 };

/* Blocks of which each resembles the one before. */
static void fill_correlated(double *at, double correlation, uint64_t *random)
{
    double last = draw_normal(random);
    for (int i = 0; i < BLOCKS; i++) {
        last = correlation * last + sqrt(1 - correlation * correlation) * draw_normal(random);
        at[i] = 100 + last;
    }
}

/* Numbers of samples that come in clusters of five: overdispersed. */
static void fill_clustered(double *at, uint64_t *random)
{
    for (int i = 0; i < BLOCKS; i++) {
        at[i] = 0;
        for (int cluster = 0; cluster < 40; cluster++)
            at[i] += strobe_trial_below(random, 10) < 2 ? 5 : 0;
    }
}

/* Returns in how many of `trials` equal sides p is below 5 %. */
static double count_alarms(int kind, uint32_t trials, uint64_t *random)
{
    double alarms = 0;
    for (uint32_t i = 0; i < trials; i++) {
        double at[2][BLOCKS];
        for (int side = 0; side < 2; side++) {
            for (int run = 0; kind == 0 && run < RUNS; run++)
                at[side][run] = 100 + (side ? 3 : 1) * draw_normal(random);
            if (kind == 1)
                fill_correlated(at[side], 0.5, random);
            if (kind == 2)
                fill_clustered(at[side], random);
        }
        size_t count = kind ? BLOCKS : RUNS;
        struct strobe_observations a =
            kind ? strobe_observe_blocks(at[0], count, 1) : strobe_observe_runs(at[0], count, 1);
        struct strobe_observations b =
            kind ? strobe_observe_blocks(at[1], count, 1) : strobe_observe_runs(at[1], count, 1);
        alarms += strobe_compare_means(a, count, b, count).p < 0.05;
    }
    return alarms / trials;
}

/* The bounds are four standard errors of 4000 trials around the rates of 200,000 trials: 5.1 % for runs of unequal
 * spread, 6.2 % for correlated blocks, 3.6 % for clustered samples. Without the correction for correlation the second
 * is above 20 %. */
static void equal_sides_are_called_different_in_one_of_twenty(void **state)
{
    static const double least[] = {0.037, 0.046, 0.024}, most[] = {0.066, 0.077, 0.048};
    (void)state;
    uint64_t random = strobe_trial_seed("diff/test_statistics");
    for (int kind = 0; kind < 3; kind++) {
        double rate = count_alarms(kind, 4000, &random);
        if (rate < least[kind] || rate > most[kind])
            fail_msg("kind %d: %.4f, expected %.3f to %.3f", kind, rate, least[kind], most[kind]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_incomplete_beta_function_has_known_values),
        cmocka_unit_test(students_distribution_agrees_with_tables),
        cmocka_unit_test(welchs_test_agrees_with_an_integral_of_the_density),
        cmocka_unit_test(the_false_discovery_rate_rejects_what_its_authors_reject),
        cmocka_unit_test(one_run_beside_several_is_judged_by_their_spread),
        cmocka_unit_test(two_single_runs_are_not_decidable),
        cmocka_unit_test(runs_without_a_spread_differ_if_their_means_do),
        cmocka_unit_test(equal_sides_are_called_different_in_one_of_twenty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
