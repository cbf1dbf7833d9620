/* Random draws: their distributions, and their exact values. */
#include "sim/app/dist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { DRAWS = 200000 };

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Returns sorted draws. The caller frees them. */
static uint64_t *draws(const struct sim_dist *d, uint64_t seed, double *mean)
{
    struct sim_random r = sim_random_seed(seed, 1);
    uint64_t *x = malloc(DRAWS * sizeof *x);
    assert_non_null(x);
    *mean = 0;
    for (int i = 0; i < DRAWS; i++) {
        x[i] = sim_dist_draw(d, &r);
        *mean += (double)x[i] / DRAWS;
    }
    qsort(x, DRAWS, sizeof *x, by_value);
    return x;
}

static void assert_near(double x, double expected, double share)
{
    if (x < expected * (1 - share) || x > expected * (1 + share))
        fail_msg("%.9g is not within %.3g %% of %.9g", x, share * 100, expected);
}

/* The q-quantile of the exponential distribution is -ln(1 - q) times its mean. */
static void exponential_draws_have_the_mean_and_the_quantiles_of_theirs(void **state)
{
    static const struct {
        double share, of_mean;
    } quantiles[] = {
        {0.1, 0.105360515657826},
        {0.5, 0.693147180559945},
        {0.9, 2.302585092994046},
        {0.99, 4.605170185988091},
    };
    const struct sim_dist d = {.kind = SIM_DIST_EXPONENTIAL, .a = 2000000};
    double mean;
    uint64_t *x = draws(&d, 7, &mean);
    (void)state;
    assert_near(mean, 2e6, 0.01);
    assert_near(sim_dist_mean(&d), 2e6, 1e-12);
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++)
        assert_near((double)x[(size_t)(quantiles[i].share * DRAWS)], 2e6 * quantiles[i].of_mean, 0.02);
    free(x);
}

/* The q-quantile is median * e^(sigma z), where z is the q-quantile of the standard normal distribution. The mean is
 * median * e^(sigma^2 / 2). */
static void lognormal_draws_have_the_mean_and_the_quantiles_of_theirs(void **state)
{
    static const struct {
        double share, of_median;
    } quantiles[] = {
        {0.022750131948179, 0.367879441171442}, {0.158655253931457, 0.606530659712633}, {0.5, 1},
        {0.841344746068543, 1.648721270700128}, {0.977249868051821, 2.718281828459045},
    };
    const struct sim_dist d = {.kind = SIM_DIST_LOGNORMAL, .a = 1000000, .sigma = 0.5};
    double mean;
    uint64_t *x = draws(&d, 11, &mean);
    (void)state;
    assert_near(sim_dist_mean(&d), 1e6 * 1.133148453066826, 1e-12);
    assert_near(mean, 1e6 * 1.133148453066826, 0.01);
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++)
        assert_near((double)x[(size_t)(quantiles[i].share * DRAWS)], 1e6 * quantiles[i].of_median, 0.02);
    free(x);
}

static void uniform_draws_reach_both_ends_and_nothing_beyond(void **state)
{
    const struct sim_dist d = {.kind = SIM_DIST_UNIFORM, .a = 3, .b = 8};
    double mean;
    uint64_t *x = draws(&d, 13, &mean);
    (void)state;
    assert_int_equal(x[0], 3);
    assert_int_equal(x[DRAWS - 1], 8);
    assert_near(mean, 5.5, 0.01);
    assert_near(sim_dist_mean(&d), 5.5, 1e-12);
    free(x);
}

static void list_draws_are_equally_frequent(void **state)
{
    static const uint64_t values[] = {1, 10, 100};
    const struct sim_dist d = {.kind = SIM_DIST_LIST, .values = values, .count = 3};
    double mean;
    uint64_t *x = draws(&d, 17, &mean);
    (void)state;
    assert_int_equal(x[DRAWS / 3 - 2000], 1);
    assert_int_equal(x[DRAWS / 3 + 2000], 10);
    assert_int_equal(x[DRAWS * 2 / 3 + 2000], 100);
    assert_near(sim_dist_mean(&d), 37, 1e-12);
    free(x);
}

/* The expected values were computed by another program with another mathematical library. Each machine and compiler
 * must draw the same values. */
static void draws_are_the_same_everywhere(void **state)
{
    static const uint64_t listed[] = {1000000, 2000000, 5000000};
    static const struct {
        struct sim_dist dist;
        uint64_t golden[6];
    } rows[] = {
        {{.kind = SIM_DIST_UNIFORM, .a = 1000000, .b = 3000000},
         {1843904, 1713257, 1796943, 1797709, 2026309, 2352698}},
        {{.kind = SIM_DIST_EXPONENTIAL, .a = 2000000}, {2566917, 1408634, 2103116, 368972, 266837, 1320266}},
        {{.kind = SIM_DIST_EXPONENTIAL, .a = 1000000000000},
         {604596242147, 1470543538258, 1401071241852, 371038687450, 1165181549905, 119500663728}},
        {{.kind = SIM_DIST_LOGNORMAL, .a = 2000000, .sigma = 0.5},
         {1734006, 1968117, 1497838, 3125031, 1038532, 1932967}},
        {{.kind = SIM_DIST_LOGNORMAL, .a = 1000000000, .sigma = 1.25},
         {1652264460, 312503708, 1505395167, 347307731, 2393796880, 84785751}},
        {{.kind = SIM_DIST_LIST, .values = listed, .count = 3}, {2000000, 2000000, 2000000, 1000000, 5000000, 5000000}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sim_random r = sim_random_seed(20261120, i);
        for (int k = 0; k < 6; k++)
            assert_int_equal(sim_dist_draw(&rows[i].dist, &r), rows[i].golden[k]);
    }
}

static void a_draw_around_a_value_is_never_none_and_never_endless(void **state)
{
    static const struct sim_dist dists[] = {
        {.kind = SIM_DIST_EXPONENTIAL, .a = 1},
        {.kind = SIM_DIST_LOGNORMAL, .a = 1, .sigma = 4},
        {.kind = SIM_DIST_EXPONENTIAL, .a = UINT64_C(1) << 61},
        {.kind = SIM_DIST_LOGNORMAL, .a = UINT64_C(1) << 61, .sigma = 4},
    };
    (void)state;
    for (size_t i = 0; i < sizeof dists / sizeof *dists; i++) {
        double mean;
        uint64_t *x = draws(&dists[i], i, &mean);
        assert_true(x[0] >= 1);
        assert_true(x[DRAWS - 1] <= UINT64_C(1) << 62);
        free(x);
    }
    const struct sim_dist none = {.kind = SIM_DIST_EXPONENTIAL, .a = 0};
    struct sim_random r = sim_random_seed(1, 1);
    assert_int_equal(sim_dist_draw(&none, &r), 0);
}

static void a_constant_takes_nothing_from_the_stream(void **state)
{
    struct sim_dist d = sim_dist_constant(42);
    struct sim_random r = sim_random_seed(1, 2), before = r;
    (void)state;
    assert_int_equal(sim_dist_draw(&d, &r), 42);
    assert_memory_equal(&r, &before, sizeof r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponential_draws_have_the_mean_and_the_quantiles_of_theirs),
        cmocka_unit_test(lognormal_draws_have_the_mean_and_the_quantiles_of_theirs),
        cmocka_unit_test(uniform_draws_reach_both_ends_and_nothing_beyond),
        cmocka_unit_test(list_draws_are_equally_frequent),
        cmocka_unit_test(draws_are_the_same_everywhere),
        cmocka_unit_test(a_draw_around_a_value_is_never_none_and_never_endless),
        cmocka_unit_test(a_constant_takes_nothing_from_the_stream),
    };
    return cmocka_run_group_tests_name("dist", tests, NULL, NULL);
}
