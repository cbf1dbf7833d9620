/* Fits: a sample of a known distribution gives its form and parameters, every form keeps the mean, and distances are
 * those of the definition. */
#include "sim/learn/fit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SAMPLE = 2000, SEEDS = 20 };

static void draw_sample(const struct sim_dist *d, uint64_t seed, uint64_t *out, size_t count)
{
    struct sim_random r = sim_random_seed(seed, 1);
    for (size_t i = 0; i < count; i++)
        out[i] = sim_dist_draw(d, &r);
}

static double mean_of(const uint64_t *sample, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)sample[i];
    return sum / (double)count;
}

static bool is_near(double a, double b, double part)
{
    return a > b * (1 - part) && a < b * (1 + part);
}

static struct sim_dist dist_of(const struct sim_fit *f)
{
    return (struct sim_dist){
        .kind = f->kind, .a = f->a, .b = f->b, .sigma = f->sigma, .values = f->values, .count = f->count};
}

/* Fits samples of a distribution at several seeds; each fit has the form and the mean. */
static void fits_as(const struct sim_dist *d, struct sim_fit *last)
{
    static uint64_t sample[SAMPLE];
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        draw_sample(d, seed, sample, SAMPLE);
        double mean = mean_of(sample, SAMPLE);
        sim_fit_sample(sample, SAMPLE, last);
        struct sim_dist fitted = dist_of(last);
        if (last->kind != d->kind || !is_near(sim_dist_mean(&fitted), mean, 0.001) || last->distance > 0.05)
            fail_msg("seed %llu: form %d, mean %g of %g, distance %g", (unsigned long long)seed, last->kind,
                     sim_dist_mean(&fitted), mean, last->distance);
    }
}

static void an_exponential_sample_is_found(void **state)
{
    struct sim_fit f;
    (void)state;
    fits_as(&(struct sim_dist){.kind = SIM_DIST_EXPONENTIAL, .a = 150000}, &f);
    assert_true(is_near((double)f.a, 150000, 0.08));
}

static void a_lognormal_sample_is_found(void **state)
{
    struct sim_fit f;
    (void)state;
    fits_as(&(struct sim_dist){.kind = SIM_DIST_LOGNORMAL, .a = 2000000, .sigma = 0.5}, &f);
    assert_true(is_near((double)f.a, 2000000, 0.08));
    assert_true(is_near(f.sigma, 0.5, 0.08));
}

static void a_uniform_sample_is_found(void **state)
{
    struct sim_fit f;
    (void)state;
    fits_as(&(struct sim_dist){.kind = SIM_DIST_UNIFORM, .a = 1000000, .b = 4000000}, &f);
    assert_true(is_near((double)f.a, 1000000, 0.05));
    assert_true(is_near((double)f.b, 4000000, 0.05));
}

static void equal_values_are_a_constant(void **state)
{
    uint64_t sample[] = {700, 700, 700, 700, 700, 700};
    struct sim_fit f;
    (void)state;
    sim_fit_sample(sample, 6, &f);
    assert_int_equal(f.kind, SIM_DIST_CONSTANT);
    assert_int_equal(f.a, 700);
    sim_fit_sample(sample, 0, &f);
    assert_int_equal(f.kind, SIM_DIST_CONSTANT);
    assert_int_equal(f.a, 0);
}

static void a_sample_of_two_clusters_is_a_list_with_its_mean(void **state)
{
    static uint64_t sample[1000];
    struct sim_fit f;
    (void)state;
    for (size_t i = 0; i < 1000; i++)
        sample[i] = i % 4 ? 10000 + 10 * i : 8000000 + 1000 * i;
    double mean = mean_of(sample, 1000);
    sim_fit_sample(sample, 1000, &f);
    struct sim_dist d = dist_of(&f);
    assert_int_equal(f.kind, SIM_DIST_LIST);
    assert_true(is_near(sim_dist_mean(&d), mean, 0.001));
    assert_true(f.distance < 0.05);
}

static void a_distance_is_the_largest_difference_of_cumulative_functions(void **state)
{
    const uint64_t a[] = {1, 2, 3, 4}, b[] = {3, 4, 5, 6}, c[] = {1, 1, 1, 4};
    (void)state;
    assert_true(is_near(sim_fit_distance(a, 4, b, 4), 0.5, 1e-9));
    assert_true(is_near(sim_fit_distance(a, 4, c, 4), 0.5, 1e-9));
    assert_true(sim_fit_distance(a, 4, a, 4) < 1e-12);
    assert_true(sim_fit_distance(c, 4, c, 4) < 1e-12);
    assert_true(is_near(sim_fit_distance(a, 4, b, 0), 1, 1e-9));
    assert_true(sim_fit_distance(a, 0, b, 0) < 1e-12);
}

static void a_percentile_is_the_value_above_its_share(void **state)
{
    const uint64_t sorted[] = {10, 20, 30, 40, 50, 60, 70, 80, 90, 100};
    (void)state;
    assert_int_equal(sim_fit_percentile(sorted, 10, 0.5), 60);
    assert_int_equal(sim_fit_percentile(sorted, 10, 0.95), 100);
    assert_int_equal(sim_fit_percentile(sorted, 10, 1), 100);
    assert_int_equal(sim_fit_percentile(sorted, 0, 0.5), 0);
}

static void a_shorter_list_keeps_the_mean(void **state)
{
    (void)state;
    struct sim_fit f = {.kind = SIM_DIST_LIST, .count = 8, .values = {10, 20, 30, 40, 50, 60, 70, 400}};
    uint64_t sum = 0;
    sim_fit_shorten(&f, 4);
    assert_int_equal(f.count, 4);
    for (uint32_t i = 0; i < f.count; i++)
        sum += f.values[i];
    assert_int_equal(sum * 2, 680);
    assert_int_equal(f.values[3], 235);
    sim_fit_shorten(&f, 9);
    assert_int_equal(f.count, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shorter_list_keeps_the_mean),
        cmocka_unit_test(an_exponential_sample_is_found),
        cmocka_unit_test(a_lognormal_sample_is_found),
        cmocka_unit_test(a_uniform_sample_is_found),
        cmocka_unit_test(equal_values_are_a_constant),
        cmocka_unit_test(a_sample_of_two_clusters_is_a_list_with_its_mean),
        cmocka_unit_test(a_distance_is_the_largest_difference_of_cumulative_functions),
        cmocka_unit_test(a_percentile_is_the_value_above_its_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
