/* JSON, read value by value: each form of RFC 8259 has its value, and what is malformed is refused with its column and
 * what was expected there. */
#include "sim/score/json_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct strobe_error error;

static struct sim_json reading(const char *line)
{
    strobe_error_clear(&error);
    return (struct sim_json){.line = line, .p = line, .error = &error};
}

/* The reader has failed with this text, and reads nothing more. */
static void expect_failed(struct sim_json *j, const char *line, const char *text)
{
    uint64_t n;
    double x;
    char *more;
    if (!j->failed || strcmp(error.text, text))
        fail_msg("%s: %s", line, error.text);
    assert_false(sim_json_uint(j, &n) || sim_json_real(j, &x) || sim_json_text(j, &more) || sim_json_accept(j, ' ') ||
                 sim_json_expect(j, ' ') || sim_json_end(j));
    assert_string_equal(error.text, text); /* the first error stays */
}

/* ---- texts */

static void an_escape_is_the_character_that_it_names(void **state)
{
    (void)state;
    static const struct {
        const char *line, *text;
    } rows[] = {
        {"\"\"", ""},
        {"  \"a b\"", "a b"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0041\\u007f\"", "A\x7f"},
        {"\"\\u0080\\u07FF\"", "\xc2\x80\xdf\xbf"},
        {"\"\\u0800\\uffff\"", "\xe0\xa0\x80\xef\xbf\xbf"},
        {"\"\\ud7ff\\ue000\"", "\xed\x9f\xbf\xee\x80\x80"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sim_json j = reading(rows[i].line);
        char *text;
        if (!sim_json_text(&j, &text) || !sim_json_end(&j))
            fail_msg("%s: %s", rows[i].line, error.text);
        assert_string_equal(text, rows[i].text);
        free(text);
    }
}

static void a_malformed_text_is_refused_with_its_column(void **state)
{
    (void)state;
    static const struct {
        const char *line, *error;
    } rows[] = {
        {"a", "column 1: expected a text in quotes"},
        {"\"ab", "column 4: expected the text's closing quote"},
        {"\"a\tb\"", "column 3: expected the text's closing quote"},
        {"\"\\x\"", "column 2: expected an escape of JSON"},
        {"\"\\", "column 2: expected an escape of JSON"},
        {"\"\\u12\"", "column 2: expected an escape of JSON"},
        {"\"\\u12", "column 2: expected an escape of JSON"},
        {"\"\\u12g4\"", "column 2: expected an escape of JSON"},
        {"\"\\u0000\"", "column 2: expected an escape of JSON"}, /* ends a text of C */
        {"\"\\ud800\"", "column 2: expected an escape of JSON"}, /* half of a pair */
        {"\"a\\udfff\"", "column 3: expected an escape of JSON"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sim_json j = reading(rows[i].line);
        char *text;
        assert_false(sim_json_text(&j, &text));
        assert_null(text);
        expect_failed(&j, rows[i].line, rows[i].error);
    }
}

/* ---- numbers */

static void a_whole_number_is_read_up_to_64_bits(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        uint64_t value;
        const char *error;
    } rows[] = {
        {"0", 0, NULL},
        {" 18446744073709551615", UINT64_MAX, NULL},
        {"18446744073709551616", 0, "column 1: expected a number below 2^64"},
        {"99999999999999999999", 0, "column 1: expected a number below 2^64"},
        {"01", 0, "column 1: expected a whole number"},
        {"-1", 0, "column 1: expected a whole number"},
        {"1.0", 0, "column 1: expected a whole number"},
        {"1e3", 0, "column 1: expected a whole number"},
        {"1E3", 0, "column 1: expected a whole number"},
        {"", 0, "column 1: expected a whole number"},
        {"1 2", 0, "column 3: expected the end of the line"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sim_json j = reading(rows[i].line);
        uint64_t value;
        bool ok = sim_json_uint(&j, &value) && sim_json_end(&j);
        assert_int_equal(ok, !rows[i].error);
        if (ok)
            assert_true(value == rows[i].value);
        else
            expect_failed(&j, rows[i].line, rows[i].error);
    }
}

static void a_real_number_has_the_form_of_json(void **state)
{
    (void)state;
    static const char *const good[] = {"0", "-0", "12", "-1.5", "0.25", "1e3", "1E+3", "25e-2", "-0.0e0"};
    static const char *const bad[] = {"", "-", "01", ".5", "1.", "1.e3", "1e", "1e+", "+1", "inf", "nan", "0x10"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct sim_json j = reading(good[i]);
        double value;
        if (!sim_json_real(&j, &value) || !sim_json_end(&j))
            fail_msg("%s: %s", good[i], error.text);
        assert_true(value == strtod(good[i], NULL));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sim_json j = reading(bad[i]);
        double value;
        if (sim_json_real(&j, &value) && sim_json_end(&j))
            fail_msg("%s is a number", bad[i]);
    }
}

/* ---- objects and arrays */

struct sum {
    uint64_t sum;
    char keys[64];
};

static bool add_item(struct sim_json *j, void *ctx)
{
    struct sum *s = ctx;
    uint64_t n;
    if (!sim_json_uint(j, &n))
        return false;
    s->sum += n;
    return true;
}

static bool add_member(struct sim_json *j, const char *key, void *ctx)
{
    struct sum *s = ctx;
    snprintf(s->keys + strlen(s->keys), sizeof s->keys - strlen(s->keys), "%s,", key);
    return add_item(j, ctx);
}

static void members_and_items_are_read_in_order(void **state)
{
    (void)state;
    struct sum s = {0};
    struct sim_json j = reading(" { \"a\" : 1 ,\"b\":2}");
    assert_true(sim_json_object(&j, add_member, &s) && sim_json_end(&j));
    assert_string_equal(s.keys, "a,b,");
    assert_int_equal(s.sum, 3);
    j = reading("[ 4 , 5]");
    assert_true(sim_json_array(&j, add_item, &s) && sim_json_end(&j));
    assert_int_equal(s.sum, 12);
    j = reading("{ }");
    assert_true(sim_json_object(&j, add_member, &s) && sim_json_end(&j));
    j = reading("[ ]");
    assert_true(sim_json_array(&j, add_item, &s) && sim_json_end(&j));
    assert_int_equal(s.sum, 12);
}

static void a_malformed_object_or_array_is_refused_with_its_column(void **state)
{
    (void)state;
    static const struct {
        const char *line, *error;
    } rows[] = {
        {"x", "column 1: expected '{'"},
        {"{", "column 2: expected a text in quotes"},
        {"{\"a\"}", "column 5: expected ':'"},
        {"{\"a\":}", "column 6: expected a whole number"},
        {"{\"a\":1", "column 7: expected ',' or '}'"},
        {"{\"a\":1,}", "column 8: expected a text in quotes"},
        {"[", "column 2: expected a whole number"},
        {"[1", "column 3: expected ',' or ']'"},
        {"[1,]", "column 4: expected a whole number"},
        {"[1}", "column 3: expected ',' or ']'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sum s = {0};
        struct sim_json j = reading(rows[i].line);
        if (rows[i].line[0] == '[')
            assert_false(sim_json_array(&j, add_item, &s));
        else
            assert_false(sim_json_object(&j, add_member, &s));
        expect_failed(&j, rows[i].line, rows[i].error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_escape_is_the_character_that_it_names),
        cmocka_unit_test(a_malformed_text_is_refused_with_its_column),
        cmocka_unit_test(a_whole_number_is_read_up_to_64_bits),
        cmocka_unit_test(a_real_number_has_the_form_of_json),
        cmocka_unit_test(members_and_items_are_read_in_order),
        cmocka_unit_test(a_malformed_object_or_array_is_refused_with_its_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
