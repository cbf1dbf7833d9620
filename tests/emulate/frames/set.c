/* Functions with all shapes of frames that compilers make. rig.c runs them one instruction at a time. Freestanding;
 * the result is the same for each compiler and option. */
#include "tests/emulate/frames/set.h"

#include <stdarg.h>
#include <stddef.h>

#define KEEP __attribute__((noinline))

typedef uint64_t function(uint64_t);

/* Compilers may generate calls of these. */
void *memset(void *to, int byte, size_t n)
{
    for (volatile char *p = to; n; n--)
        *p++ = (char)byte;
    return to;
}

void *memcpy(void *to, const void *from, size_t n)
{
    volatile char *p = to;
    for (const volatile char *q = from; n; n--)
        *p++ = *q++;
    return to;
}

/* ---- leaves */

KEEP static uint64_t leaf(uint64_t a)
{
    return a * 3 + 1;
}

KEEP static uint64_t leaf_loop(uint64_t a)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < (a & 7); i++)
        sum = (sum << 1) ^ (i * a);
    return sum;
}

KEEP static uint64_t leaf_memory(uint64_t a)
{
    volatile uint64_t room[40];
    for (int i = 0; i < 5; i++)
        room[i * 8] = a + (uint64_t)i;
    return room[8] + room[32];
}

KEEP static uint64_t leaf_big_memory(uint64_t a)
{
    volatile uint64_t room[1500];
    room[3] = a;
    room[1499] = a + 1;
    return room[3] * room[1499];
}

KEEP static uint64_t leaf_switch(uint64_t a)
{
    switch (a % 9) {
    case 0: return a + 1;
    case 1: return a ^ 0x55;
    case 2: return a * 7;
    case 3: return a - 9;
    case 4: return a << 3;
    case 5: return a >> 2;
    case 6: return ~a;
    case 7: return a * a;
    default: return 77;
    }
}

/* More live values than registers, so x30 holds one of them. On Linux x29 would, too. Then nothing would lead to the
 * caller's frame, so there the function keeps its own frame. */
KEEP static uint64_t leaf_pressed(const uint64_t *v)
{
#ifndef __APPLE__
    void *volatile frame = __builtin_frame_address(0);
    (void)frame;
#endif
    uint64_t r[32], sum = 0;
    for (int i = 0; i < 32; i++)
        r[i] = v[i];
    for (int round = 0; round < 2; round++) {
#pragma clang loop unroll(full)
        for (int i = 0; i < 32; i++)
            r[i] = r[i] * r[(i + 7) & 31] + (r[(i + 13) & 31] >> 3);
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < 32; i++)
        sum = sum * 31 + r[i];
    return sum;
}

/* ---- frames */

KEEP static uint64_t plain(uint64_t a)
{
    return leaf(a) + leaf_loop(a + 1);
}

KEEP static uint64_t wrapped_late(uint64_t a)
{
    if (a & 1)
        return a >> 1;
    uint64_t b = leaf(a);
    for (uint64_t i = 0; i < (a & 3); i++)
        b += plain(b);
    return b;
}

KEEP static uint64_t wrapped_twice(uint64_t a, uint64_t b)
{
    if (a == b)
        return 1;
    if (a > b)
        return plain(a - b) + plain(b);
    if (b - a > 100)
        return a;
    return leaf(a) ^ leaf_memory(b);
}

KEEP static uint64_t tail(uint64_t a)
{
    return plain(a + 5);
}

KEEP static uint64_t tail_after_work(uint64_t a)
{
    uint64_t b = plain(a);
    return wrapped_late(b + leaf(b));
}

KEEP static uint64_t tail_by_pointer(function *const *f, uint64_t a)
{
    return f[1](a + 3);
}

KEEP static uint64_t tail_by_pointer_after_work(function *const *f, uint64_t a)
{
    uint64_t b = f[0](a);
    return f[1](b);
}

KEEP static uint64_t tail_by_pointer_or_not(function *const *f, uint64_t a)
{
    if (a & 1)
        return f[1](a);
    return leaf(a) + f[0](a) + leaf(a + 1);
}

KEEP static uint64_t sum_of(int n, ...)
{
    uint64_t sum = 0;
    va_list list;
    va_start(list, n);
    for (int i = 0; i < n; i++)
        sum += leaf(va_arg(list, uint64_t));
    va_end(list);
    return sum;
}

KEEP static uint64_t sum_of_leaf(int n, ...)
{
    uint64_t sum = 0;
    va_list list;
    va_start(list, n);
    for (int i = 0; i < n; i++)
        sum += va_arg(list, uint64_t);
    va_end(list);
    return sum;
}

KEEP static void fill(volatile uint8_t *p, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        p[i] = (uint8_t)i;
}

KEEP static uint64_t on_the_stack(uint64_t a)
{
    uint64_t n = 16 + (a & 31);
    volatile uint8_t *p = __builtin_alloca(n);
    fill(p, n);
    return p[3] + leaf(p[5]);
}

KEEP static uint64_t on_the_stack_leaf(uint64_t a)
{
    volatile uint8_t *p = __builtin_alloca(16 + (a & 31));
    p[1] = (uint8_t)a;
    return p[1];
}

KEEP static uint64_t array_of(uint64_t a)
{
    uint64_t sum = 0;
    for (uint64_t i = 1; i < 3; i++) {
        volatile uint8_t room[i * 8 + (a & 15)];
        fill(room, i * 8);
        sum += room[i];
    }
    return sum;
}

KEEP static uint64_t aligned(uint64_t a)
{
    volatile uint8_t room[64] __attribute__((aligned(64)));
    fill(room, 64);
    return room[a & 63] + ((uint64_t)(uintptr_t)room & 63);
}

KEEP static uint64_t many_cases(uint64_t a)
{
    switch (a % 11) {
    case 0: return leaf(a);
    case 1: return plain(a) + 1;
    case 2: return leaf_switch(a) * 2;
    case 3: return a;
    case 4: return wrapped_late(a) ^ a;
    case 5: return leaf_memory(a) + leaf(a);
    case 6: return tail(a);
    case 7: return leaf_loop(a) - 1;
    case 8: return 8;
    case 9: return plain(leaf(a));
    default: return sum_of(2, a, a + 1);
    }
}

KEEP static uint64_t fibonacci(uint64_t n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static uint64_t odd(uint64_t n);
KEEP static uint64_t even(uint64_t n)
{
    return n == 0 ? leaf(1) : odd(n - 1) + 1;
}

KEEP static uint64_t odd(uint64_t n)
{
    return n == 0 ? leaf(2) : even(n - 1) * 3;
}

KEEP static uint64_t big_frame(uint64_t a)
{
    volatile uint8_t room[70000];
    room[69999] = (uint8_t)a;
    fill(room + 100, 5);
    return room[69999] + room[103] + leaf(a);
}

KEEP static uint64_t middle_frame(uint64_t a)
{
    volatile uint8_t room[600];
    room[599] = (uint8_t)a;
    fill(room + 100, 5);
    return room[599] + room[103] + leaf(a);
}

KEEP static uint64_t many_live(const uint64_t *v)
{
    uint64_t a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7], i = v[8], j = v[9],
             k = v[10], l = v[11];
    uint64_t x = leaf(a);
    x += plain(b + x);
    return a * x + b * c + d * e + (f ^ g) + h * i + (j | k) + l + leaf(x);
}

KEEP static double floats(double a, double b)
{
    double c = a * 2, d = b * 3;
    uint64_t x = plain((uint64_t)a);
    c += (double)leaf(x);
    return c * d + a - b;
}

struct big {
    uint64_t v[12];
};

KEEP static struct big make_big(uint64_t a)
{
    struct big r;
    for (int i = 0; i < 12; i++)
        r.v[i] = leaf(a + (uint64_t)i);
    return r;
}

KEEP static uint64_t take_big(struct big b, uint64_t i)
{
    return b.v[i % 12] + b.v[1];
}

KEEP static uint64_t many_arguments(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g,
                                    uint64_t h, uint64_t i, uint64_t j)
{
    return leaf(a + b + c) + d * e + f * g + h + i * j;
}

KEEP static uint64_t lives_without_return(uint64_t a)
{
    uint64_t b = leaf(a);
    if (b == UINT64_C(0xdeadbeef0badf00d))
        set_finish(1);
    if (a == UINT64_C(0xdeadbeef0badf00e))
        __builtin_trap();
    return a + 2;
}

__attribute__((noinline, cold)) static uint64_t seldom(uint64_t a)
{
    return leaf_switch(a) + plain(a) + leaf_memory(a);
}

KEEP static uint64_t has_cold(uint64_t a)
{
    if (__builtin_expect(a % 5 == 0, 0))
        return seldom(a) + seldom(a + 1);
    return a * 2;
}

/* An interpreter in which each operation jumps to the code of the next one. */
KEEP static uint64_t interpreter(const uint8_t *code, uint64_t x)
{
    static const uint8_t none = 4;
#define NEXT goto *(*code <= 4 ? to[*code++] : to[none])
    const void *to[] = {&&add, &&call, &&twice, &&switched, &&end};
    NEXT;
add:
    x += 5;
    NEXT;
call:
    x = plain(x);
    NEXT;
twice:
    x *= 2;
    NEXT;
switched:
    x ^= leaf_switch(x);
    NEXT;
end:
    return x;
#undef NEXT
}

/* Repeats the same code, so that a compiler that outlines finds equal pieces. */
#define REPEAT(n)                                                                                                      \
    KEEP static uint64_t alike_##n(uint64_t *v, uint64_t a)                                                            \
    {                                                                                                                  \
        v[0] = v[1] * 5 + (v[2] ^ a);                                                                                  \
        v[3] = v[4] * 9 - (v[5] | a);                                                                                  \
        v[6] += v[7] >> 3;                                                                                             \
        v[1] = (v[0] << 2) ^ v[3];                                                                                     \
        v[2] = a * n;                                                                                                  \
        return v[6] ^ v[2];                                                                                            \
    }
/* clang-format off */
REPEAT(3) REPEAT(4) REPEAT(5) REPEAT(6)
/* clang-format on */

#define REPEAT_CALLS(n)                                                                                                \
    KEEP static uint64_t alike_calls_##n(uint64_t *v, uint64_t a)                                                      \
    {                                                                                                                  \
        uint64_t x = alike_3(v, a + n) + alike_4(v, a ^ n);                                                            \
        v[0] = leaf(v[1]) * 5 + (v[2] ^ a);                                                                            \
        v[3] = leaf(v[4]) * 9 - (v[5] | a);                                                                            \
        return plain(x) + n;                                                                                           \
    }
    REPEAT_CALLS(7) REPEAT_CALLS(8) REPEAT_CALLS(9)

#ifdef __APPLE__
#define SWIFT_ASYNC __attribute__((swiftasynccall, noinline))
    /* The frame pointers in their records are marked. */
    SWIFT_ASYNC static void async_inner(uint64_t *v, __attribute__((swift_async_context)) char *context)
{
    v[0] += plain(v[1]) + (uint64_t)context[0];
}

SWIFT_ASYNC static void async_outer(uint64_t *v, __attribute__((swift_async_context)) char *context)
{
    v[1] += leaf(v[0]);
    v[2] ^= plain(v[1]) + (uint64_t)context[1];
    return async_inner(v, context);
}

KEEP static uint64_t asynchronous(uint64_t a)
{
    char context[] = {3, 4};
    uint64_t v[3] = {a, a + 1, 0};
    async_outer(v, context);
    return 0 * v[0];
}
#else
        KEEP static uint64_t asynchronous(uint64_t a)
{
    return 0 * a;
}
#endif

void set_run(uint64_t seed)
{
    function *f[2] = {leaf, plain};
    function *const *volatile pointers = f;
    uint64_t v[32], sum = 0;
    static const uint8_t code[] = {0, 1, 2, 3, 0, 0, 1, 3, 3, 2, 1, 0, 2, 4};
    for (int i = 0; i < 32; i++)
        v[i] = seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    for (uint64_t a = 0; a < 12; a++) {
        f[0] = a & 1 ? leaf : leaf_memory;
        f[1] = a & 2 ? plain : set_leaf;
        sum = sum * 3 + leaf(a) + leaf_loop(a) + leaf_memory(a) + leaf_big_memory(a) + leaf_switch(a);
        sum ^= plain(a) + wrapped_late(a) + wrapped_twice(a, 6) + wrapped_twice(a, 200) + tail(a) + tail_after_work(a);
        sum += tail_by_pointer(pointers, a) + tail_by_pointer_after_work(pointers, a);
        sum += tail_by_pointer_or_not(pointers, a);
        sum ^= on_the_stack(a) + on_the_stack_leaf(a) + array_of(a) + aligned(a) + many_cases(a);
        sum += sum_of(3, a, a * 2, seed) + sum_of_leaf(4, a, a, seed, a) + even(a) + odd(a);
        sum ^= middle_frame(a) + many_live(v) + lives_without_return(a) + has_cold(a);
        sum += many_arguments(a, 1, 2, 3, 4, 5, 6, 7, 8, sum);
        sum += alike_3(v, a) + alike_4(v, a) + alike_5(v, a) + alike_6(v, a);
        sum ^= alike_calls_7(v, a) + alike_calls_8(v, a) + alike_calls_9(v, a);
        sum += set_leaf_saves(a) + set_record_in_the_middle(a) + set_jumps_through_stub(a) + set_lends_link(a);
        sum ^= asynchronous(a);
    }
    sum += fibonacci(8) + big_frame(sum) + leaf_pressed(v) + (uint64_t)floats(3.5, 4.25) + interpreter(code, sum);
    sum += take_big(make_big(sum), 5);
    set_finish(sum);
}
