/* Fibers: the state that a switch preserves, deep stacks, reused stacks, and thread-local bytes. */
#include "sim/kernel/fiber.h"

#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct sim_fiber outside, a, b;

static void open_both(void (*as_a)(void *arg), void (*as_b)(void *arg))
{
    sim_fiber_adopt(&outside);
    assert_true(sim_fiber_open(&a, as_a, NULL));
    assert_true(sim_fiber_open(&b, as_b, NULL));
}

static void close_both(void)
{
    sim_fiber_close(&a);
    sim_fiber_close(&b);
}

static void end(struct sim_fiber *self, struct sim_fiber *next)
{
    self->ending = true;
    sim_fiber_switch(self, next);
}

/* ---- registers: more live values over the switch than callee-saved registers */

static void switched(struct sim_fiber *self, struct sim_fiber *other)
{
    sim_fiber_switch(self, other);
}

static void stayed(struct sim_fiber *self, struct sim_fiber *other)
{
    (void)self;
    (void)other;
}

static uint64_t mixed(uint64_t seed, void (*between)(struct sim_fiber *, struct sim_fiber *), struct sim_fiber *self,
                      struct sim_fiber *other)
{
    volatile uint64_t source = seed;
    uint64_t i0 = source + 1, i1 = source * 3, i2 = source ^ 5, i3 = source + 7, i4 = source * 11, i5 = source ^ 13;
    uint64_t i6 = source + 17, i7 = source * 19, i8 = source ^ 23, i9 = source + 29, i10 = source * 31;
    double d0 = (double)i0, d1 = (double)i1, d2 = (double)i2, d3 = (double)i3, d4 = (double)i4, d5 = (double)i5;
    double d6 = (double)i6, d7 = (double)i7, d8 = (double)i8;
    for (int turn = 0; turn < 50; turn++) {
        between(self, other);
        i0 += i10, i1 ^= i0, i2 += i1, i3 ^= i2, i4 += i3, i5 ^= i4, i6 += i5, i7 ^= i6, i8 += i7, i9 ^= i8, i10 += i9;
        d0 += d8 / 3, d1 -= d0 / 3, d2 += d1 / 3, d3 -= d2 / 3, d4 += d3 / 3, d5 -= d4 / 3, d6 += d5 / 3;
        d7 -= d6 / 3, d8 += d7 / 3;
    }
    double sum = d0 + d1 + d2 + d3 + d4 + d5 + d6 + d7 + d8;
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    return i0 ^ i1 ^ i2 ^ i3 ^ i4 ^ i5 ^ i6 ^ i7 ^ i8 ^ i9 ^ i10 ^ bits;
}

static uint64_t result[2];

static void mixes_as_a(void *arg)
{
    (void)arg;
    result[0] = mixed(1, switched, &a, &b);
    end(&a, &b);
}

static void mixes_as_b(void *arg)
{
    (void)arg;
    result[1] = mixed(2, switched, &b, &a);
    end(&b, &outside);
}

static void what_is_alive_over_a_switch_is_kept(void **state)
{
    (void)state;
    open_both(mixes_as_a, mixes_as_b);
    sim_fiber_switch(&outside, &a);
    assert_int_equal(result[0], mixed(1, stayed, NULL, NULL));
    assert_int_equal(result[1], mixed(2, stayed, NULL, NULL));
    close_both();
}

/* ---- floating-point rounding mode */

static int rounding[4];

static void rounds_up(void *arg)
{
    (void)arg;
    rounding[0] = fegetround();
    fesetround(FE_UPWARD);
    sim_fiber_switch(&a, &b);
    rounding[2] = fegetround();
    end(&a, &outside);
}

static void rounds_down(void *arg)
{
    (void)arg;
    rounding[1] = fegetround();
    fesetround(FE_DOWNWARD);
    end(&b, &a);
}

static void each_fiber_rounds_in_its_own_way(void **state)
{
    (void)state;
    open_both(rounds_up, rounds_down);
    assert_int_equal(fesetround(FE_TOWARDZERO), 0);
    sim_fiber_switch(&outside, &a);
    int after = fegetround();
    fesetround(FE_TONEAREST);
    const int expected[] = {FE_TONEAREST, FE_TONEAREST, FE_UPWARD};
    assert_memory_equal(rounding, expected, sizeof expected);
    assert_int_equal(after, FE_TOWARDZERO);
    close_both();
}

/* ---- stacks */

static uint32_t dive(uint32_t depth)
{
    volatile uint8_t room[400];
    room[depth % sizeof room] = 1;
    return depth ? dive(depth - 1) + room[depth % sizeof room] : 0;
}

static void dives(void *arg)
{
    (void)arg;
    result[0] = dive(450);
    end(&a, &outside);
}

static void idles(void *arg)
{
    (void)arg;
    end(&b, &outside);
}

static void a_stack_is_deep_enough_for_the_engine_and_deep_recursion(void **state)
{
    (void)state;
    open_both(dives, idles);
    sim_fiber_switch(&outside, &a);
    assert_int_equal(result[0], 450);
    close_both();
}

static void thousands_of_fibers_live_and_stacks_are_used_again(void **state)
{
    (void)state;
    enum { MANY = 3000 };
    struct sim_fiber *many = calloc(MANY, sizeof *many);
    sim_fiber_adopt(&outside);
    for (int i = 0; i < MANY; i++)
        assert_true(sim_fiber_open(&many[i], idles, NULL));
    for (int i = 0; i < MANY; i++)
        sim_fiber_close(&many[i]);
    assert_true(sim_fiber_open(&a, idles, NULL));
    const void *low = a.low;
    sim_fiber_close(&a);
    assert_true(sim_fiber_open(&a, idles, NULL));
    assert_ptr_equal(a.low, low);
    sim_fiber_close(&a);
    free(many);
}

/* ---- thread-local bytes */

static struct {
    uint64_t number;
    uint32_t half;
    uint8_t bytes[5];
} local;
static bool flag;

static void sets_local(void *arg)
{
    (void)arg;
    result[0] = local.number + local.half + local.bytes[4] + flag;
    local.number = 11;
    local.half = 12;
    local.bytes[4] = 13;
    flag = true;
    sim_fiber_switch(&a, &b);
    result[1] = local.number + local.half + local.bytes[4] + flag;
    end(&a, &outside);
}

static void sees_nothing(void *arg)
{
    (void)arg;
    result[0] += local.number + local.half + local.bytes[4] + flag;
    local.number = 99;
    end(&b, &a);
}

static void each_fiber_has_its_own_of_what_is_local(void **state)
{
    (void)state;
    sim_fiber_local(&local, sizeof local);
    sim_fiber_local(&flag, sizeof flag);
    sim_fiber_local(&flag, sizeof flag);
    local.number = 5;
    open_both(sets_local, sees_nothing);
    sim_fiber_switch(&outside, &a);
    assert_int_equal(result[0], 0);
    assert_int_equal(result[1], 11 + 12 + 13 + 1);
    assert_int_equal(local.number, 5);
    assert_false(flag);
    close_both();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_alive_over_a_switch_is_kept),
        cmocka_unit_test(each_fiber_rounds_in_its_own_way),
        cmocka_unit_test(a_stack_is_deep_enough_for_the_engine_and_deep_recursion),
        cmocka_unit_test(thousands_of_fibers_live_and_stacks_are_used_again),
        cmocka_unit_test(each_fiber_has_its_own_of_what_is_local),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
