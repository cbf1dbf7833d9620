/* Bias: errors that chance explains, and errors that it does not. */
#include "sim/score/bias.h"

#include "sim/kernel/random.h"
#include "sim/score/student.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Adds the result of one method, with the fields that bias uses. */
static void add(struct sim_bias *b, const char *name, double true_self, double error)
{
    char text[32];
    snprintf(text, sizeof text, "%s", name);
    struct sim_result_method m = {.name = text, .true_self = true_self, .claimed_self = true_self + error};
    struct sim_result r = {.methods = &m, .method_count = 1};
    assert_int_equal(sim_bias_add(b, &r), STROBE_OK);
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static void the_interval_is_students_around_the_mean(void **state)
{
    (void)state;
    struct sim_bias b;
    const struct sim_bias_method *m;
    sim_bias_open(&b);
    for (int i = 1; i <= 5; i++)
        add(&b, "f", 0.25, 0.01 * i);
    assert_int_equal(sim_bias_methods(&b, &m), 1);
    assert_string_equal(m->name, "f");
    assert_int_equal(m->seeds, 5);
    assert_true(near(m->mean, 0.03));
    assert_true(near(m->true_self, 0.25));
    /* Variance 2.5e-4, standard error sqrt(5e-5), t(4) = 2.7764. */
    assert_true(near(m->half_width, 2.7764 * 0.007071067811865476));
    sim_bias_close(&b);
}

static void one_seed_has_an_unbounded_interval(void **state)
{
    (void)state;
    struct sim_bias b;
    const struct sim_bias_method *m;
    sim_bias_open(&b);
    assert_int_equal(sim_bias_methods(&b, &m), 0);
    add(&b, "f", 0.5, 0.4);
    assert_int_equal(sim_bias_methods(&b, &m), 1);
    assert_true(isinf(m->half_width));
    assert_false(sim_bias_shows(m, 0));
    sim_bias_close(&b);
}

static void bias_shows_when_its_interval_lies_beyond(void **state)
{
    (void)state;
    struct sim_bias_method m = {.mean = 0.02, .half_width = 0.01};
    assert_true(sim_bias_shows(&m, 0));
    assert_true(sim_bias_shows(&m, 0.009));
    assert_false(sim_bias_shows(&m, 0.011));
    m.mean = -0.02;
    assert_true(sim_bias_shows(&m, 0.009));
    m.half_width = 0.03;
    assert_false(sim_bias_shows(&m, 0));
}

static void the_largest_bias_comes_first_and_names_break_ties(void **state)
{
    (void)state;
    struct sim_bias b;
    const struct sim_bias_method *m;
    sim_bias_open(&b);
    add(&b, "z", 0.1, 0.001);
    add(&b, "small", 0.1, 0.0005);
    add(&b, "a", 0.1, -0.001);
    add(&b, "large", 0.1, -0.5);
    assert_int_equal(sim_bias_methods(&b, &m), 4);
    assert_string_equal(m[0].name, "large");
    assert_string_equal(m[3].name, "small");
    sim_bias_close(&b);
}

static void the_order_of_results_changes_no_bit(void **state)
{
    enum { COUNT = 200 };
    (void)state;
    struct sim_random random = sim_random_seed(11, 0);
    double error[COUNT];
    struct sim_bias forth, back;
    const struct sim_bias_method *f, *g;
    sim_bias_open(&forth);
    sim_bias_open(&back);
    for (int i = 0; i < COUNT; i++)
        error[i] = sim_random_unit(&random) - 0.5;
    for (int i = 0; i < COUNT; i++) {
        add(&forth, "f", error[i] + 0.5, error[i]);
        add(&back, "f", error[COUNT - 1 - i] + 0.5, error[COUNT - 1 - i]);
    }
    sim_bias_methods(&forth, &f);
    sim_bias_methods(&back, &g);
    assert_true(f->mean == g->mean && f->half_width == g->half_width && f->true_self == g->true_self);
    sim_bias_close(&forth);
    sim_bias_close(&back);
}

/* At 95 % confidence, one in twenty methods with purely random errors is reported as biased. Over 200 seeds, all
 * methods with a bias of half a standard deviation are. */
static void chance_shows_in_one_of_twenty_and_bias_in_all(void **state)
{
    enum { METHODS = 1000, SEEDS = 200 };
    const uint64_t seed = 5;
    (void)state;
    struct sim_random random = sim_random_seed(seed, 0);
    struct sim_bias fair, bent;
    const struct sim_bias_method *m;
    unsigned seems = 0, shows = 0;
    char name[32];
    sim_bias_open(&fair);
    sim_bias_open(&bent);
    for (int i = 0; i < METHODS; i++) {
        snprintf(name, sizeof name, "method %d", i);
        for (int k = 0; k < SEEDS; k++) {
            double error = sim_random_unit(&random) + sim_random_unit(&random) - 1; /* deviation 0.41 */
            add(&fair, name, 0.5, error / 100);
            add(&bent, name, 0.5, (error + 0.2) / 100);
        }
    }
    assert_int_equal(sim_bias_methods(&fair, &m), METHODS);
    for (int i = 0; i < METHODS; i++)
        seems += sim_bias_shows(&m[i], 0);
    assert_int_equal(sim_bias_methods(&bent, &m), METHODS);
    for (int i = 0; i < METHODS; i++)
        shows += sim_bias_shows(&m[i], 0);
    print_message("seed %llu: %u of %d seem biased, %u are found\n", (unsigned long long)seed, seems, METHODS, shows);
    assert_in_range(seems, METHODS / 40, METHODS / 13);
    assert_int_equal(shows, METHODS);
    sim_bias_close(&fair);
    sim_bias_close(&bent);
}

/* Checks points of the t distribution from Abramowitz and Stegun, table 26.10, by the number of values. */
static void students_points_are_those_of_the_tables(void **state)
{
    (void)state;
    static const struct {
        size_t count;
        double t;
    } known[] = {
        {2, 12.706}, {3, 4.303},  {11, 2.228}, {21, 2.086},  {22, 2.080},
        {26, 2.060}, {31, 2.042}, {61, 2.000}, {121, 1.980}, {1000000, 1.960},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        assert_true(fabs(sim_student_t(known[i].count) - known[i].t) < 6e-4);
    for (size_t n = 2; n < 200; n++)
        assert_true(sim_student_t(n + 1) < sim_student_t(n));
}

static void roots_square_to_what_they_are_of(void **state)
{
    (void)state;
    assert_true(sim_root(0) == 0 && sim_root(-1) == 0 && sim_root(4) == 2 && sim_root(1) == 1);
    for (double x = 1e-30; x < 1e30; x *= 7.3)
        assert_true(fabs(sim_root(x) * sim_root(x) / x - 1) < 1e-14);
}

static void quantiles_lie_linearly_between_values(void **state)
{
    (void)state;
    const double v[] = {1, 2, 4, 8};
    assert_true(sim_quantile(v, 4, 0) == 1 && sim_quantile(v, 4, 1) == 8);
    assert_true(sim_quantile(v, 4, 0.5) == 3);
    assert_true(sim_quantile(v, 4, 0.25) == 1.75 && sim_quantile(v, 1, 0.3) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interval_is_students_around_the_mean),
        cmocka_unit_test(one_seed_has_an_unbounded_interval),
        cmocka_unit_test(bias_shows_when_its_interval_lies_beyond),
        cmocka_unit_test(the_largest_bias_comes_first_and_names_break_ties),
        cmocka_unit_test(the_order_of_results_changes_no_bit),
        cmocka_unit_test(chance_shows_in_one_of_twenty_and_bias_in_all),
        cmocka_unit_test(students_points_are_those_of_the_tables),
        cmocka_unit_test(roots_square_to_what_they_are_of),
        cmocka_unit_test(quantiles_lie_linearly_between_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
