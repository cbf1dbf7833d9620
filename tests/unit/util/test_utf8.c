/* The check of UTF-8 (engine/util/utf8.h). */
#include "engine/util/utf8.h"

#include <setjmp.h>
#include <stdarg.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Encodes any number up to 0x1fffff, also numbers that are not characters. Returns the bytes. */
static size_t encode(uint32_t c, unsigned char *to)
{
    if (c < 0x80)
        return to[0] = (unsigned char)c, (size_t)1;
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6)
        to[i] = (unsigned char)(0x80 | (c & 0x3f));
    to[0] = (unsigned char)((0xf00 >> n) | c);
    return n;
}

static void each_character_has_its_length_and_surrogates_have_none(void **state)
{
    (void)state;
    unsigned char text[4];
    for (uint32_t c = 0; c < 0x120000; c++) {
        size_t n = encode(c, text), wanted = (c >= 0xd800 && c < 0xe000) || c > 0x10ffff ? 0 : n;
        assert_int_equal(strobe_utf8_bytes(text, n), wanted);
        assert_int_equal(strobe_utf8_bytes(text, n - 1), 0);
    }
}

static void longer_forms_than_needed_and_bytes_that_begin_nothing_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf",     "\xf0\x8f\xbf\xbf",
                                      "\x80",     "\xbf",     "\xf5\x80\x80\x80", "\xff",
                                      "\xc3",     "\xe2\x82", "\xf0\x9f\x98",     "\xc3("};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(strobe_utf8_bytes(bad[i], 4), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_character_has_its_length_and_surrogates_have_none),
        cmocka_unit_test(longer_forms_than_needed_and_bytes_that_begin_nothing_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
