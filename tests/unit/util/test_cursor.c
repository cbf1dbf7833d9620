/* Numbers, words and lines off the front of a text (engine/util/cursor.h). */
#include "engine/util/cursor.h"

#include <setjmp.h>
#include <stdarg.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct strobe_cursor of(const char *text)
{
    return strobe_cursor(text, strlen(text));
}

static void a_number_is_taken_up_to_its_limit(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t most, number;
        const char *rest;
    } good[] = {
        {"0", 0, 0, ""},
        {"255|", 255, 255, "|"},
        {"000255 ", 255, 255, " "},
        {"7", 7, 7, ""},
        {"18446744073709551615x", UINT64_MAX, UINT64_MAX, "x"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct strobe_cursor c = of(good[i].text);
        uint64_t n = 42;
        assert_true(strobe_cursor_take_number(&c, good[i].most, &n));
        assert_true(n == good[i].number);
        assert_string_equal(c.at, good[i].rest);
    }
}

static void an_invalid_number_does_not_move_the_cursor(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t most;
    } bad[] = {{"", 9},   {"x1", 9},    {"-1", 9}, {"+1", 9},
               {" 1", 9}, {"256", 255}, {"8", 7},  {"18446744073709551616", UINT64_MAX}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct strobe_cursor c = of(bad[i].text);
        uint64_t n = 42;
        assert_false(strobe_cursor_take_number(&c, bad[i].most, &n));
        assert_ptr_equal(c.at, bad[i].text);
        assert_true(n == 42);
    }
}

static void digits_behind_the_end_are_not_read(void **state)
{
    (void)state;
    struct strobe_cursor c = strobe_cursor("1234", 2);
    uint64_t n;
    assert_true(strobe_cursor_take_number(&c, 99, &n));
    assert_true(n == 12 && c.at == c.end);
    assert_false(strobe_cursor_at_digit(&c));
    assert_false(strobe_cursor_take(&c, "3"));
}

static void a_signed_number_has_the_range_of_its_type(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t most;
        bool good;
        int64_t number;
    } of_text[] = {
        {"-2147483648", INT32_MAX, true, INT32_MIN},
        {"2147483647", INT32_MAX, true, INT32_MAX},
        {"2147483648", INT32_MAX, false, 0},
        {"-2147483649", INT32_MAX, false, 0},
        {"-9223372036854775808", INT64_MAX, true, INT64_MIN},
        {"9223372036854775808", INT64_MAX, false, 0},
        {"-0", 5, true, 0},
        {"-", 5, false, 0},
        {"--1", 5, false, 0},
    };
    for (size_t i = 0; i < sizeof of_text / sizeof *of_text; i++) {
        struct strobe_cursor c = of(of_text[i].text);
        int64_t n = 42;
        assert_int_equal(strobe_cursor_take_signed(&c, of_text[i].most, &n), of_text[i].good);
        assert_true(n == (of_text[i].good ? of_text[i].number : 42));
        assert_true(of_text[i].good ? c.at == c.end : c.at == of_text[i].text);
    }
}

static void a_hexadecimal_number_has_at_most_16_digits(void **state)
{
    (void)state;
    struct strobe_cursor c = of("00ffFFaB0123456789 x");
    uint64_t n = 42;
    assert_false(strobe_cursor_take_hex(&c, &n));
    c.at += 2;
    assert_true(strobe_cursor_take_hex(&c, &n));
    assert_true(n == UINT64_C(0xffffab0123456789));
    assert_string_equal(c.at, " x");
    assert_false(strobe_cursor_take_hex(&c, &n));
    strobe_cursor_skip_blanks(&c);
    assert_false(strobe_cursor_take_hex(&c, &n));
    assert_string_equal(c.at, "x");
    c = of("g");
    assert_false(strobe_cursor_take_hex(&c, &n));
}

static void a_word_is_taken_whole_or_not_at_all(void **state)
{
    (void)state;
    struct strobe_cursor c = of("end=5");
    assert_false(strobe_cursor_take(&c, "end=55"));
    assert_false(strobe_cursor_take(&c, "ens"));
    assert_string_equal(c.at, "end=5");
    assert_true(strobe_cursor_take(&c, "end="));
    assert_string_equal(c.at, "5");
    assert_true(strobe_cursor_take(&c, ""));
}

static void lines_come_without_their_newline_and_the_last_may_lack_it(void **state)
{
    (void)state;
    struct strobe_cursor c = of("a\n\nbc"), line = c;
    assert_true(strobe_cursor_take_line(&c, &line));
    assert_true(line.end - line.at == 1 && *line.at == 'a');
    assert_true(strobe_cursor_take_line(&c, &line));
    assert_true(line.end == line.at);
    assert_true(strobe_cursor_take_line(&c, &line));
    assert_true(line.end - line.at == 2 && *line.at == 'b');
    assert_false(strobe_cursor_take_line(&c, &line));
    c = of("a\n");
    assert_true(strobe_cursor_take_line(&c, &line));
    assert_false(strobe_cursor_take_line(&c, &line));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_is_taken_up_to_its_limit),
        cmocka_unit_test(an_invalid_number_does_not_move_the_cursor),
        cmocka_unit_test(digits_behind_the_end_are_not_read),
        cmocka_unit_test(a_signed_number_has_the_range_of_its_type),
        cmocka_unit_test(a_hexadecimal_number_has_at_most_16_digits),
        cmocka_unit_test(a_word_is_taken_whole_or_not_at_all),
        cmocka_unit_test(lines_come_without_their_newline_and_the_last_may_lack_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
