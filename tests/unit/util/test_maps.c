/* Maps from pairs of numbers and from texts (engine/util/idmap.h, text_pool.h). */
#include "engine/util/idmap.h"
#include "engine/util/text_pool.h"

#include <setjmp.h>
#include <stdarg.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static void each_pair_keeps_its_own_id(void **state)
{
    (void)state;
    struct strobe_idmap map = {0};
    int fresh;
    assert_null(strobe_idmap_get(&map, 1, 2));
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t *place = strobe_idmap_put(&map, i / 7, (uint64_t)(i % 7) << 60, &fresh);
        assert_non_null(place);
        assert_true(fresh && !*place);
        *place = i;
    }
    assert_int_equal(map.count, 20000);
    for (uint32_t i = 0; i < 20000; i++) {
        assert_int_equal(*strobe_idmap_get(&map, i / 7, (uint64_t)(i % 7) << 60), i);
        assert_int_equal(*strobe_idmap_put(&map, i / 7, (uint64_t)(i % 7) << 60, &fresh), i);
        assert_false(fresh);
    }
    assert_null(strobe_idmap_get(&map, 0, 1));
    assert_int_equal(map.count, 20000);
    strobe_idmap_free(&map);
}

static void keys_are_ordered_pairs_and_may_be_0(void **state)
{
    (void)state;
    struct strobe_idmap map = {0};
    assert_true(strobe_idmap_add(&map, 0, 0, 1));
    assert_true(strobe_idmap_add(&map, 3, 4, 2));
    assert_null(strobe_idmap_get(&map, 4, 3));
    assert_true(strobe_idmap_add(&map, UINT64_MAX, UINT64_MAX, 3));
    assert_int_equal(*strobe_idmap_get(&map, 0, 0), 1);
    assert_int_equal(*strobe_idmap_get(&map, UINT64_MAX, UINT64_MAX), 3);
    strobe_idmap_free(&map);
}

static void a_cleared_map_is_empty_and_usable(void **state)
{
    (void)state;
    struct strobe_idmap map = {0};
    strobe_idmap_clear(&map);
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 1000; i++)
            assert_true(strobe_idmap_add(&map, i, round, i));
        assert_int_equal(map.count, 1000);
        strobe_idmap_clear(&map);
        assert_null(strobe_idmap_get(&map, 5, round));
    }
    strobe_idmap_free(&map);
    strobe_idmap_free(&map);
}

static void equal_texts_have_one_number_and_one_address(void **state)
{
    (void)state;
    struct strobe_text_pool pool = {0};
    char text[16];
    for (unsigned round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 5000; i++) {
            int bytes = snprintf(text, sizeof text, "text %u", i);
            assert_int_equal(strobe_text_number(&pool, text, (size_t)bytes), i);
            assert_ptr_equal(strobe_text_keep(&pool, text, (size_t)bytes), pool.texts[i]);
            assert_string_equal(pool.texts[i], text);
        }
    assert_int_equal(pool.count, 5000);
    assert_int_equal(strobe_text_number(&pool, "text 1234", 6), 1);
    assert_int_equal(strobe_text_number(&pool, "text 1\0 behind", 14), 1);
    assert_int_equal(strobe_text_number(&pool, NULL, 0), 5000);
    assert_string_equal(pool.texts[5000], "");
    strobe_text_pool_free(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pair_keeps_its_own_id),
        cmocka_unit_test(keys_are_ordered_pairs_and_may_be_0),
        cmocka_unit_test(a_cleared_map_is_empty_and_usable),
        cmocka_unit_test(equal_texts_have_one_number_and_one_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
