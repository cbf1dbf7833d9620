/* Basic functions that the rest uses: varints, mixing, status texts. */
#include "engine/base/error.h"
#include "engine/base/mix.h"
#include "engine/base/status.h"
#include "engine/base/varint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_varint_comes_back_as_it_went(void **state)
{
    (void)state;
    uint8_t buf[STROBE_VARINT_BYTES_MAX];
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t near[] = {(uint64_t)1 << bit, ((uint64_t)1 << bit) - 1, ~(uint64_t)0 >> bit};
        for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
            uint64_t back = ~near[i];
            const uint8_t *end = strobe_varint_put(buf, near[i]);
            assert_ptr_equal(strobe_varint_get(buf, end, &back), end);
            assert_true(back == near[i]);
        }
    }
}

static void a_varint_is_as_short_as_the_encoding_allows(void **state)
{
    (void)state;
    uint8_t buf[STROBE_VARINT_BYTES_MAX];
    assert_int_equal(strobe_varint_put(buf, 0) - buf, 1);
    assert_int_equal(strobe_varint_put(buf, 127) - buf, 1);
    assert_int_equal(strobe_varint_put(buf, 128) - buf, 2);
    assert_int_equal(strobe_varint_put(buf, 300) - buf, 2);
    assert_memory_equal(buf, "\xac\x02", 2); /* the example of the encoding's own text */
    assert_int_equal(strobe_varint_put(buf, UINT64_MAX) - buf, STROBE_VARINT_BYTES_MAX);
}

static void a_cut_or_endless_varint_is_refused(void **state)
{
    (void)state;
    uint8_t buf[STROBE_VARINT_BYTES_MAX + 1];
    uint64_t v = 7;
    const uint8_t *end = strobe_varint_put(buf, UINT64_MAX);
    for (const uint8_t *cut = buf; cut < end; cut++)
        assert_null(strobe_varint_get(buf, cut, &v));
    memset(buf, 0x80, sizeof buf);
    assert_null(strobe_varint_get(buf, buf + sizeof buf, &v));
    assert_true(v == 7);
}

static void the_mix_matches_published_splitmix64(void **state)
{
    (void)state;
    /* first outputs of splitmix64 seeded with 1234567: the finaliser over seed + n * golden gamma */
    static const uint64_t want[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u};
    uint64_t x = 1234567;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        assert_true(strobe_mix64(x += 0x9e3779b97f4a7c15u) == want[i]);
}

/* One flipped bit of the input should flip about half of the output bits: on average over all bits, and never only a
 * few. */
static void one_input_bit_moves_half_of_the_pair_mix(void **state)
{
    (void)state;
    unsigned total = 0, least = 64, tried = 0;
    for (uint64_t seed = 1; seed <= 64; seed++) {
        uint64_t a = strobe_mix64(seed), b = strobe_mix64(seed + 1000);
        for (unsigned bit = 0; bit < 64; bit++, tried++) {
            uint64_t changed = strobe_mix_pair(a, b) ^ strobe_mix_pair(a ^ (uint64_t)1 << bit, b);
            unsigned moved = 0;
            for (; changed; changed &= changed - 1)
                moved++;
            total += moved;
            least = moved < least ? moved : least;
        }
    }
    assert_in_range(total / tried, 30, 34);
    assert_in_range(least, 4, 64);
}

static void every_status_has_its_own_text(void **state)
{
    (void)state;
    for (int s = STROBE_OK; s <= STROBE_WOULD_BLOCK; s++) {
        assert_non_null(strobe_status_text((enum strobe_status)s));
        assert_string_not_equal(strobe_status_text((enum strobe_status)s), "unknown status");
        for (int other = STROBE_OK; other < s; other++)
            assert_string_not_equal(strobe_status_text((enum strobe_status)s),
                                    strobe_status_text((enum strobe_status)other));
    }
    assert_string_equal(strobe_status_text((enum strobe_status)(STROBE_WOULD_BLOCK + 1)), "unknown status");
}

static void two_texts_of_an_error_have_a_colon_between_and_one_stands_alone(void **state)
{
    static const char *const joined[][3] = {{"a", "b", "a: b"}, {"a", "", "a"}, {"", "b", "b"}, {"", "", ""}};
    struct strobe_error error = {"before"};
    (void)state;
    for (size_t i = 0; i < sizeof joined / sizeof *joined; i++) {
        strobe_error_join(&error, joined[i][0], joined[i][1]);
        assert_string_equal(error.text, joined[i][2]);
        assert_int_equal(strobe_error_is_set(&error), joined[i][2][0] != 0);
    }
    assert_false(strobe_error_is_set(NULL));
    strobe_error_join(NULL, "a", "b");
    strobe_error_clear(NULL);
}

static void the_text_of_an_error_is_cut_to_what_fits(void **state)
{
    struct strobe_error error;
    char full[sizeof error.text + 1], copy[8];
    (void)state;
    memset(full, 'x', sizeof full - 1);
    full[sizeof full - 1] = '\0';
    strobe_error_join(&error, full, "lost");
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    strobe_error_copy(&error, copy, sizeof copy);
    assert_string_equal(copy, "xxxxxxx");
    strobe_error_join(&error, "short", "");
    strobe_error_copy(&error, copy, sizeof copy);
    assert_string_equal(copy, "short");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_varint_comes_back_as_it_went),
        cmocka_unit_test(a_varint_is_as_short_as_the_encoding_allows),
        cmocka_unit_test(a_cut_or_endless_varint_is_refused),
        cmocka_unit_test(the_mix_matches_published_splitmix64),
        cmocka_unit_test(one_input_bit_moves_half_of_the_pair_mix),
        cmocka_unit_test(every_status_has_its_own_text),
        cmocka_unit_test(two_texts_of_an_error_have_a_colon_between_and_one_stands_alone),
        cmocka_unit_test(the_text_of_an_error_is_cut_to_what_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
