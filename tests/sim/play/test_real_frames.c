/* The native functions that represent methods in real mode, without the player. This test controls their steps, and
 * reads the stack of its own thread. */
#include "sim/player/frames.h"
#include "sim/player/real.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#if SIM_REAL_FRAMES

enum { PATH_MAX_FRAMES = 64, NOBODY = -1 };

/* Steps of a script: a number calls that function, RETURN returns from one, LOOK reads the stack. */
enum { RETURN = -2, LOOK = -3 };

struct script {
    const int *next;
    int path[PATH_MAX_FRAMES]; /* as found by the last LOOK, innermost first */
    int depth, looks;
};

static int number_of(uint64_t return_address)
{
    uint64_t at = return_address - 1 - (uint64_t)(uintptr_t)sim_real_frames;
    return at < (uint64_t)SIM_REAL_METHODS * SIM_REAL_FRAME_BYTES ? (int)(at / SIM_REAL_FRAME_BYTES) : NOBODY;
}

/* Reads the stack by frame pointers, up to the first frame that does not belong to these functions. */
static void look(struct script *s, const uint64_t *record)
{
    s->looks++;
    s->depth = 0;
    for (; s->depth < PATH_MAX_FRAMES && number_of(record[1]) != NOBODY; record = (uint64_t *)(uintptr_t)record[0])
        s->path[s->depth++] = number_of(record[1]);
}

struct sim_real_next sim_real_step(void *player)
{
    struct script *s = player;
    while (*s->next == LOOK) {
        s->next++;
        look(s, __builtin_frame_address(0));
    }
    int next = *s->next++;
    if (next == RETURN)
        return (struct sim_real_next){0};
    return (struct sim_real_next){sim_real_frame_of((uint32_t)next), (size_t)next % 5 * 16};
}

static void run(struct script *s, int first, const int *script)
{
    *s = (struct script){.next = script};
    sim_real_frame_of((uint32_t)first)(s, 32);
    assert_true(s->looks > 0);
}

static void found(const struct script *s, int depth, const int *innermost_first)
{
    assert_int_equal(s->depth, depth);
    assert_memory_equal(s->path, innermost_first, (size_t)depth * sizeof *innermost_first);
}

static void methods_stand_on_the_stack_one_in_the_other_and_nothing_between(void **state)
{
    static const int script[] = {1, 1023, 7, 7, LOOK, RETURN, RETURN, RETURN, RETURN, RETURN};
    static const int path[] = {7, 7, 1023, 1, 0};
    struct script s;
    (void)state;
    run(&s, 0, script);
    found(&s, 5, path);
    assert_ptr_equal(s.next, script + 10);
}

static void a_method_is_there_again_after_each_of_its_calls(void **state)
{
    static const int script[] = {3, RETURN, 4, RETURN, LOOK, RETURN};
    static const int path[] = {2};
    struct script s;
    (void)state;
    run(&s, 2, script);
    found(&s, 1, path);
    assert_ptr_equal(s.next, script + 6);
}

static void each_method_function_can_be_called(void **state)
{
    (void)state;
    for (int i = 0; i < SIM_REAL_METHODS; i++) {
        const int script[] = {LOOK, RETURN};
        struct script s;
        run(&s, i, script);
        found(&s, 1, &i);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(methods_stand_on_the_stack_one_in_the_other_and_nothing_between),
    cmocka_unit_test(a_method_is_there_again_after_each_of_its_calls),
    cmocka_unit_test(each_method_function_can_be_called),
};
#else
static void this_machine_has_no_method_functions(void **state)
{
    (void)state;
    skip();
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(this_machine_has_no_method_functions)};
#endif

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
