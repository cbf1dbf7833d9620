/* Growing arrays (engine/util/array.h). */
#include "engine/util/array.h"

#include <setjmp.h>
#include <stdarg.h>

#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static void an_array_keeps_its_items_as_it_grows(void **state)
{
    (void)state;
    uint64_t *items = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < 5000; i++) {
        assert_true(strobe_array_reserve(&items, &capacity, i + 1));
        assert_true(capacity > i);
        items[i] = i * 7;
    }
    for (size_t i = 0; i < 5000; i++)
        assert_true(items[i] == i * 7);
    free(items);
}

static void capacity_at_least_doubles_and_stays_while_it_suffices(void **state)
{
    (void)state;
    unsigned char *items = NULL;
    uint32_t capacity = 0, grown = 0, before;
    for (uint32_t i = 0; i < 100000; i++) {
        before = capacity;
        assert_true(strobe_array_reserve(&items, &capacity, i + 1));
        assert_true(capacity == before || capacity >= 2 * before);
        grown += capacity != before;
    }
    assert_true(grown < 20);
    assert_true(strobe_array_reserve(&items, &capacity, 1000000u));
    assert_true(capacity >= 1000000);
    free(items);
}

static void new_items_are_zero_where_asked_and_old_ones_stay(void **state)
{
    (void)state;
    struct item {
        uint32_t a;
        char text[9];
    } *items = NULL;
    uint32_t capacity = 0;
    for (uint32_t needed = 1; needed < 3000; needed = needed * 3 + 1) {
        uint32_t before = capacity;
        assert_true(strobe_array_reserve_zeroed(&items, &capacity, needed));
        for (uint32_t i = 0; i < capacity; i++) {
            assert_true(items[i].a == (i < before ? i + 1 : 0));
            items[i].a = i + 1;
        }
    }
    free(items);
}

static void what_can_not_be_counted_is_refused_and_the_array_stays(void **state)
{
    (void)state;
    uint64_t *items = NULL, *was;
    size_t capacity = 0, had;
    uint32_t short_capacity = 0;
    volatile size_t needed = (size_t)UINT32_MAX + 1;
    assert_true(strobe_array_reserve(&items, &capacity, 3u));
    items[2] = 42;
    was = items;
    had = capacity;
    assert_true(!strobe_array_reserve(&items, &capacity, SIZE_MAX / 8 + 1));
    assert_true(!strobe_array_reserve(&items, &capacity, SIZE_MAX));
    assert_true(items == was && capacity == had && items[2] == 42);
    free(items);
    items = NULL;
    assert_true(!strobe_array_reserve(&items, &short_capacity, needed));
    assert_true(!items && !short_capacity);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_keeps_its_items_as_it_grows),
        cmocka_unit_test(capacity_at_least_doubles_and_stays_while_it_suffices),
        cmocka_unit_test(new_items_are_zero_where_asked_and_old_ones_stay),
        cmocka_unit_test(what_can_not_be_counted_is_refused_and_the_array_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
