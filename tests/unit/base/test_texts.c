/* Basic functions of reports: a pool of texts, maps from keys to ids, JSON. */
#include "engine/util/idmap.h"
#include "engine/util/json.h"
#include "engine/util/text_pool.h"

#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void equal_texts_have_one_address_and_number(void **state)
{
    (void)state;
    struct strobe_text_pool pool = {0};
    char text[32];
    const char *first[5000];
    for (uint32_t i = 0; i < 5000; i++) {
        int n = snprintf(text, sizeof text, "name %u", i);
        assert_int_equal(strobe_text_number(&pool, text, (size_t)n), i);
        first[i] = pool.texts[i];
    }
    for (uint32_t i = 0; i < 5000; i++) {
        int n = snprintf(text, sizeof text, "name %u", i);
        assert_ptr_equal(strobe_text_keep(&pool, text, (size_t)n), first[i]);
        assert_string_equal(first[i], text);
    }
    assert_int_equal(pool.count, 5000);
    strobe_text_pool_free(&pool);
}

static void texts_of_any_length_are_kept_whole(void **state)
{
    (void)state;
    struct strobe_text_pool pool = {0};
    char *text = malloc(200001);
    assert_non_null(text);
    memset(text, 'x', 200000);
    text[200000] = 0;
    const char *small = strobe_text_keep(&pool, "small", 5);
    for (size_t n = 0; n <= 200000; n = 3 * n + 1)
        assert_int_equal(strlen(strobe_text_keep(&pool, text, n)), n);
    assert_string_equal(small, "small");
    assert_string_equal(strobe_text_keep(&pool, "cut\0off", 7), "cut");
    assert_ptr_equal(strobe_text_keep(&pool, "cut", 3), strobe_text_keep(&pool, "cut\0not", 7));
    assert_string_equal(strobe_text_keep(&pool, NULL, 0), "");
    free(text);
    strobe_text_pool_free(&pool);
}

static void a_map_finds_what_was_put_and_nothing_else(void **state)
{
    (void)state;
    struct strobe_idmap map = {0};
    uint64_t random = strobe_trial_seed("test_texts"), again = random;
    int fresh;
    assert_null(strobe_idmap_get(&map, 1, 2));
    for (uint32_t i = 0; i < 20000; i++) {
        uint64_t a = strobe_trial_random(&random), b = strobe_trial_below(&random, 3);
        uint32_t *id = strobe_idmap_put(&map, a, b, &fresh);
        assert_non_null(id);
        assert_true(fresh);
        *id = i;
    }
    for (uint32_t i = 0; i < 20000; i++) {
        uint64_t a = strobe_trial_random(&again), b = strobe_trial_below(&again, 3);
        assert_int_equal(*strobe_idmap_get(&map, a, b), i);
        assert_int_equal(*strobe_idmap_put(&map, a, b, &fresh), i);
        assert_false(fresh);
        assert_null(strobe_idmap_get(&map, a, 3));
    }
    assert_int_equal(map.count, 20000);
    strobe_idmap_free(&map);
}

static char *json_of(void (*write)(struct strobe_json *))
{
    char *text;
    size_t bytes;
    struct strobe_json j = {.out = open_memstream(&text, &bytes)};
    assert_non_null(j.out);
    write(&j);
    fclose(j.out);
    return text;
}

static void write_nested(struct strobe_json *j)
{
    strobe_json_object(j, NULL);
    strobe_json_uint(j, "big", UINT64_MAX);
    strobe_json_int(j, "low", INT64_MIN);
    strobe_json_array(j, "list");
    strobe_json_real(j, NULL, 0.5);
    strobe_json_real(j, NULL, NAN);
    strobe_json_object(j, NULL);
    strobe_json_object_end(j);
    strobe_json_array_end(j);
    strobe_json_array(j, "none");
    strobe_json_array_end(j);
    strobe_json_bool(j, "yes", 1);
    strobe_json_text(j, "no", NULL);
    strobe_json_object_end(j);
}

static void values_nest_with_commas_between(void **state)
{
    (void)state;
    char *text = json_of(write_nested);
    assert_string_equal(text, "{\n  \"big\": 18446744073709551615,\n  \"low\": -9223372036854775808,\n"
                              "  \"list\": [\n    0.5,\n    null,\n    {}\n  ],\n  \"none\": [],\n  \"yes\": true,\n"
                              "  \"no\": null\n}\n");
    free(text);
}

static const char *given;

static void write_given(struct strobe_json *j)
{
    strobe_json_array(j, NULL);
    strobe_json_text(j, NULL, given);
    strobe_json_array_end(j);
}

static void texts_become_valid_utf8_whatever_they_hold(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"plain", "plain"},
        {"q\"b\\", "q\\\"b\\\\"},
        {"\n\t\x01\x1f", "\\n\\t\\u0001\\u001f"},
        {"\x7f", "\x7f"},
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
        {"\xff", "\\ufffd"},
        {"cut \xc3", "cut \\ufffd"},
        {"\xc0\x80", "\\ufffd\\ufffd"},                       /* overlong */
        {"\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"},            /* a surrogate */
        {"\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"}, /* beyond the last character */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[128];
        given = cases[i].in;
        char *text = json_of(write_given);
        snprintf(expected, sizeof expected, "[\n  \"%s\"\n]\n", cases[i].out);
        assert_string_equal(text, expected);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_have_one_address_and_number),
        cmocka_unit_test(texts_of_any_length_are_kept_whole),
        cmocka_unit_test(a_map_finds_what_was_put_and_nothing_else),
        cmocka_unit_test(values_nest_with_commas_between),
        cmocka_unit_test(texts_become_valid_utf8_whatever_they_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
