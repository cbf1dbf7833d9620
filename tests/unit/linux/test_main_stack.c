/* The bounds of the main thread's stack. */
#include "engine/backend/linux/main_stack.h"
#include "engine/backend/linux/maps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <pthread.h>
#include <cmocka.h>

struct mapping {
    uint64_t address, start, end;
};

static bool find_mapping(void *ctx, const struct strobe_linux_map *map)
{
    struct mapping *m = ctx;
    if (m->address < map->start || m->address >= map->end)
        return true;
    m->start = map->start;
    m->end = map->end;
    return false;
}

static void the_main_stack_ends_where_its_mapping_ends(void **state)
{
    uint64_t low = 0, high = 0;
    struct mapping stack = {.address = (uintptr_t)&low};
    (void)state;
    strobe_linux_visit_maps(find_mapping, &stack);
    assert_true(strobe_linux_main_stack((uintptr_t)&low, &low, &high));
    assert_int_equal(high, stack.end);
    assert_true(low <= stack.start);
}

static void *find_bounds(void *found)
{
    uint64_t low, high;
    *(bool *)found = strobe_linux_main_stack((uintptr_t)&low, &low, &high);
    return NULL;
}

static void a_frame_of_another_stack_has_no_bounds_in_the_main_stack(void **state)
{
    bool found = true;
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, find_bounds, &found), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_main_stack_ends_where_its_mapping_ends),
        cmocka_unit_test(a_frame_of_another_stack_has_no_bounds_in_the_main_stack),
    };
    return cmocka_run_group_tests_name("main stack", tests, NULL, NULL);
}
