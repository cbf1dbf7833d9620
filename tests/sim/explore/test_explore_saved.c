/* A saved failure replays as the same failure, even when the stores to two locations have orders that no schedule
 * produces. */
#include "engine/base/error.h"
#include "sim/explore/access.h"
#include "sim/explore/explore.h"
#include "tests/support/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The litmus test 2+2W: both threads store to both locations, in opposite orders. In the failure each location finally
 * holds the first store of a thread. */
struct pair {
    _Atomic uint32_t x, y;
};

static const struct explore_site here = {NULL, "here"};

static void left(void *state)
{
    struct pair *p = state;
    explore_store(&p->x, 4, 1, memory_order_relaxed, here);
    explore_store(&p->y, 4, 2, memory_order_relaxed, here);
}

static void right(void *state)
{
    struct pair *p = state;
    explore_store(&p->y, 4, 1, memory_order_relaxed, here);
    explore_store(&p->x, 4, 2, memory_order_relaxed, here);
}

static void check(void *state)
{
    const struct pair *p = state;
    explore_require(p->x != 1 || p->y != 1);
}

static const struct explore_program both_first = {
    .name = "both-first",
    .what = "no store of the second line is last",
    .thread_count = 2,
    .state_bytes = sizeof(struct pair),
    .thread = {left, right},
    .check = check,
    .quick = 1,
};

static const struct explore_program *find(const char *name)
{
    return strcmp(name, both_first.name) ? NULL : &both_first;
}

static void a_failure_that_no_schedule_has_is_found_again_by_its_file(void **state)
{
    (void)state;
    struct strobe_error error = {""};
    char path[TEMPORARY_BYTES];
    struct explore_options options;
    struct explore_result first, again;
    int fd = mkstemp(temporary_path(path, "strobe-saved-XXXXXX"));
    assert_true(fd >= 0);
    close(fd);
    explore_options_default(&options);
    assert_int_equal(explore_run(&both_first, &options, &first), STROBE_OK);
    assert_int_equal(first.failure.fault, EXPLORE_REQUIRE);
    assert_int_equal(explore_save(path, false, &both_first, &options, &first, &error), STROBE_EXISTS);
    assert_int_equal(explore_save(path, true, &both_first, &options, &first, &error), STROBE_OK);
    enum strobe_status status = explore_replay(path, find, &again, &error);
    unlink(path);
    assert_string_equal(status == STROBE_OK ? "" : error.text, "");
    assert_int_equal(again.failure.fault, EXPLORE_REQUIRE);
    assert_string_equal(again.failure.message, first.failure.message);
    assert_int_equal(again.failure.step_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        const struct explore_step *a = &again.failure.step[i], *b = &first.failure.step[i];
        assert_int_equal(a->thread, b->thread);
        assert_int_equal(a->value, b->value);
        assert_int_equal(a->after, b->after);
    }
    explore_result_free(&first);
    explore_result_free(&again);
}

static void the_saved_failure_does_not_occur_under_sc_and_tso(void **state)
{
    (void)state;
    for (enum explore_memory m = EXPLORE_SC; m <= EXPLORE_TSO; m++) {
        struct explore_options options;
        struct explore_result result;
        explore_options_default(&options);
        options.memory = m;
        assert_int_equal(explore_run(&both_first, &options, &result), STROBE_OK);
        assert_int_equal(result.failure.fault, EXPLORE_FINE);
        assert_true(explore_as_expected(&both_first, &options, &result));
        explore_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_that_no_schedule_has_is_found_again_by_its_file),
        cmocka_unit_test(the_saved_failure_does_not_occur_under_sc_and_tso),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
