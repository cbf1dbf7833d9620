/* The set of states that a bounded search has met. */
#include "sim/explore/seen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_state_met_at_less_cost_is_explored_again(void **state)
{
    (void)state;
    struct explore_seen *s = explore_seen_open();
    assert_non_null(s);
    assert_int_equal(explore_seen_add(s, 7, 2), EXPLORE_SEEN_NEW);
    assert_int_equal(explore_seen_add(s, 7, 2), EXPLORE_SEEN_BEFORE);
    assert_int_equal(explore_seen_add(s, 7, 3), EXPLORE_SEEN_BEFORE);
    assert_int_equal(explore_seen_add(s, 7, 1), EXPLORE_SEEN_CHEAPER);
    assert_int_equal(explore_seen_add(s, 7, 1), EXPLORE_SEEN_BEFORE);
    explore_seen_close(s);
}

/* The hashes collide in the table's first size, and the table grows several times. */
static void no_state_is_forgotten_or_taken_for_another(void **state)
{
    (void)state;
    enum { STATES = 5000 };
    struct explore_seen *s = explore_seen_open();
    assert_non_null(s);
    for (uint64_t i = 0; i < STATES; i++)
        assert_int_equal(explore_seen_add(s, i << 10 | 3, (uint32_t)(i % 4)), EXPLORE_SEEN_NEW);
    for (uint64_t i = 0; i < STATES; i++)
        assert_int_equal(explore_seen_add(s, i << 10 | 3, (uint32_t)(i % 4)), EXPLORE_SEEN_BEFORE);
    explore_seen_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_met_at_less_cost_is_explored_again),
        cmocka_unit_test(no_state_is_forgotten_or_taken_for_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
