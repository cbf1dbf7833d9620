/* Cost tables: the built-in table equals the measured one. A table is either read completely, or refused with an error
 * text of one line. */
#include "engine/base/error.h"
#include "sim/runtime/costs.h"
#include "tests/support/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char measured[] = "fixtures/costs/x86-64.json";

static struct strobe_error error;
static char text[4096], path[TEMPORARY_BYTES];

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(temporary_path(path, "strobe-costs-XXXXXX"));
    return fd < 0 ? -1 : close(fd);
}

static int drop_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void load(void)
{
    FILE *f = fopen(measured, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    fclose(f);
}

static enum strobe_status read_text(struct sim_costs *out)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    error.text[0] = '\0';
    return sim_costs_read(path, out, &error);
}

/* Replaces the first `what` by `with`. */
static void change(const char *what, const char *with)
{
    char *at = strstr(text, what), rest[sizeof text];
    assert_non_null(at);
    strcpy(rest, at + strlen(what));
    strcpy(at, with);
    strcat(at, rest);
}

static void is_refused(void)
{
    struct sim_costs costs;
    assert_int_equal(read_text(&costs), STROBE_BAD_INPUT);
    assert_memory_equal(error.text, path, strlen(path));
    assert_null(strchr(error.text, '\n'));
}

static void the_built_in_table_is_the_measured_one(void **state)
{
    struct sim_costs costs;
    (void)state;
    assert_int_equal(sim_costs_read(measured, &costs, &error), STROBE_OK);
    assert_memory_equal(&costs, &sim_costs_default, sizeof costs);
}

static void each_member_must_be_there_once(void **state)
{
    static const char *const members[] = {
        "hook",         "clock",        "thread_clock",
        "usage",        "scope",        "sample",
        "frame",        "frame_known",  "release",
        "look",         "suspend",      "suspend_target",
        "tick",         "tick_sample",  "copy",
        "copy_kib",     "resume",       "unwind_frame",
        "probe",        "probe_other",  "mark",
        "call_record",  "stop_far",     "stop_far_target",
        "resume_far",   "sampler_wake", "sampler_wake_soon",
        "start_call",   "start_own",    "end_own",
        "attach",       "detach",       "clock_start",
        "clock_end",    "slice",        "turn",
        "wait_record",  "tick_wait",    "sleep_call",
        "device_call",  "wake_call",    "wait_call",
        "sampler_late", "stop_late",    "sleep_late",
        "device_late",  "wake_late",
    };
    enum { SPAN_COSTS = 6, LATENESSES = 2, SPAN_LATENESSES = 3 };
    size_t numbers = sizeof members / sizeof *members - SPAN_COSTS - LATENESSES - SPAN_LATENESSES;
    (void)state;
    assert_int_equal(numbers * sizeof(double) + SPAN_COSTS * sizeof(struct sim_span_cost) +
                         LATENESSES * sizeof(struct sim_lateness) + SPAN_LATENESSES * sizeof(struct sim_span_lateness),
                     sizeof(struct sim_costs));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        char key[64], other[64];
        snprintf(key, sizeof key, "\"%s\": ", members[i]);
        snprintf(other, sizeof other, "\"x%s\": ", members[i]);
        load();
        change(key, other);
        is_refused();
        load();
        snprintf(other, sizeof other, "\"%s\": 1, \"%s\": ", members[i], members[i]);
        change(key, other);
        is_refused();
    }
}

static void nothing_costs_less_than_nothing(void **state)
{
    (void)state;
    load();
    change("\"clock\": ", "\"clock\": -");
    is_refused();
}

/* Reads the table with another value of the member. `expects`: the error text; NULL = the table is accepted. */
static void with_value(const char *member, const char *value, const char *expects)
{
    static char end[sizeof text];
    char key[64];
    struct sim_costs costs;
    int depth = 0;
    load();
    snprintf(key, sizeof key, "\"%s\": ", member);
    char *at = strstr(text, key) + strlen(key), *after = at;
    for (; depth || (*after != ',' && *after != '\n'); after++)
        depth += (*after == '[') - (*after == ']');
    strcpy(end, after);
    strcpy(at, value);
    strcat(at, end);
    if (!expects) {
        assert_int_equal(read_text(&costs), STROBE_OK);
        return;
    }
    is_refused();
    assert_non_null(strstr(error.text, expects));
}

static void what_depends_on_a_waits_length_has_a_value_for_each(void **state)
{
    static const char cost[] = "expected a list of 5 numbers not below 0 for wake_call";
    static const char late[] = "expected 5 lists of 7 numbers that do not fall for device_late";
    (void)state;
    with_value("wake_call", "[1, 2, 3, 4, 5]", NULL);
    with_value("wake_call", "[5, 4, 3, 2, 1]", NULL);
    with_value("wake_call", "[1, 2, 3, 4]", cost);
    with_value("wake_call", "[1, 2, 3, 4, 5, 6]", cost);
    with_value("wake_call", "[1, 2, 3, 4, -5]", cost);
    with_value("wake_call", "1", cost);
#define SEVEN "[1, 2, 3, 4, 5, 6, 7]"
    with_value("device_late", "[" SEVEN ", " SEVEN ", " SEVEN ", " SEVEN ", " SEVEN "]", NULL);
    with_value("device_late", "[" SEVEN ", " SEVEN ", " SEVEN ", " SEVEN "]", late);
    with_value("device_late", "[" SEVEN ", " SEVEN ", " SEVEN ", " SEVEN ", [1, 2, 3, 4, 5, 7, 6]]", late);
    with_value("device_late", SEVEN, late);
#undef SEVEN
}

static void a_waits_length_is_interpolated_between_those_that_were_measured(void **state)
{
    struct sim_span_cost cost = {{100, 400, 400, 1000, 2000}};
    struct sim_span_lateness late;
    struct sim_random random = sim_random_seed(1, 2);
    (void)state;
    for (int span = 0; span < SIM_WAIT_SPANS; span++)
        for (int point = 0; point < SIM_LATENESS_POINTS; point++)
            late.at[span].ns[point] = (uint64_t)cost.ns[span];
    const struct {
        uint64_t span_ns, ns;
    } expected[] = {
        {0, 100},      {10000, 100},    {25000, 250},    {40000, 400},    {100000, 400},
        {580000, 700}, {1000000, 1000}, {3000000, 1500}, {5000000, 2000}, {UINT64_MAX, 2000},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(sim_span_cost_ns(&cost, expected[i].span_ns), expected[i].ns);
        assert_int_equal(sim_span_lateness_draw(&late, expected[i].span_ns, &random), expected[i].ns);
    }
}

static void a_lateness_is_seven_numbers_that_do_not_fall(void **state)
{
    static const char *const bad[] = {"1",
                                      "[]",
                                      "[1, 2, 3, 4, 5, 6]",
                                      "[1, 2, 3, 4, 5, 6, 7, 8]",
                                      "[1, 2, 3, 4, 5, 7, 6]",
                                      "[-1, 2, 3, 4, 5, 6, 7]",
                                      "[1, 2, 3, 4, 5, 6, 1e12]",
                                      "[1 2 3 4 5 6 7]"};
    (void)state;
    with_value("stop_late", "[0, 0, 1, 2, 3, 4, 5]", NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        with_value("stop_late", bad[i], "expected a list of 7 numbers that do not fall for stop_late");
}

static void a_lateness_is_drawn_as_its_quantiles_say(void **state)
{
    enum { DRAWS = 20000 };
    const struct sim_lateness l = {{10, 20, 40, 80, 100, 200, 1000}}, none = {{0}};
    struct sim_random random = sim_random_seed(1, 2);
    uint32_t at_most[SIM_LATENESS_POINTS] = {0};
    (void)state;
    for (int i = 0; i < DRAWS; i++) {
        uint64_t ns = sim_lateness_draw(&l, &random);
        assert_in_range(ns, 10, 1000);
        for (int point = 0; point < SIM_LATENESS_POINTS; point++)
            at_most[point] += ns <= l.ns[point];
        assert_int_equal(sim_lateness_draw(&none, &random), 0);
    }
    for (int point = 1; point < SIM_LATENESS_POINTS; point++) {
        uint32_t expected = DRAWS / 1000 * sim_lateness_at[point];
        assert_in_range(at_most[point], expected - DRAWS / 100, expected + DRAWS / 50);
    }
}

static void a_table_ends_where_its_object_does(void **state)
{
    (void)state;
    load();
    change("}", "} {");
    is_refused();
    load();
    change("}", "");
    is_refused();
}

static void a_file_that_is_not_there_is_named(void **state)
{
    struct sim_costs costs;
    (void)state;
    assert_int_equal(sim_costs_read("no/such/table.json", &costs, &error), STROBE_IO);
    assert_non_null(strstr(error.text, "no/such/table.json"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_built_in_table_is_the_measured_one),
        cmocka_unit_test(each_member_must_be_there_once),
        cmocka_unit_test(nothing_costs_less_than_nothing),
        cmocka_unit_test(what_depends_on_a_waits_length_has_a_value_for_each),
        cmocka_unit_test(a_waits_length_is_interpolated_between_those_that_were_measured),
        cmocka_unit_test(a_lateness_is_seven_numbers_that_do_not_fall),
        cmocka_unit_test(a_lateness_is_drawn_as_its_quantiles_say),
        cmocka_unit_test(a_table_ends_where_its_object_does),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, make_file, drop_file);
}
