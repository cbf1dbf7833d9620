#include "tests/armv7/joined.h"

uintptr_t app_back[APP_DEEPEST];
unsigned app_depth;

#define NOTE() (app_back[app_depth++] = (uintptr_t)__builtin_return_address(0))
#define KEEP   __attribute__((noinline))

KEEP static int with_array(unsigned n, unsigned depth, int (*enter)(void))
{
    NOTE();
    volatile char room[n]; /* located by r7 */
    room[n - 1] = 3;
    int result = app_outer(depth, enter) + room[n - 1];
    app_depth--;
    return result;
}

KEEP static int with_large_frame(unsigned depth, int (*enter)(void))
{
    NOTE();
    volatile char room[3000];
    room[depth] = 2;
    int result = app_outer(depth, enter) + room[depth];
    app_depth--;
    return result;
}

KEEP int app_outer(unsigned depth, int (*enter)(void))
{
    NOTE();
    int result;
    if (depth == 0)
        result = enter() + 1;
    else if (depth & 1)
        result = with_array(depth * 8, depth - 1, enter) + 1;
    else
        result = with_large_frame(depth - 1, enter) + 1;
    app_depth--;
    return result;
}

KEEP static int middle(double a, int (*leaf)(void))
{
    NOTE();
    int result = leaf() + (int)a;
    app_depth--;
    return result;
}

KEEP int app_inner(int (*leaf)(void))
{
    int result = middle(2.5, leaf) + 1; /* its own return address is in managed code */
    return result;
}

KEEP int app_trap(void)
{
    NOTE();
    __asm__ volatile("udf #9" ::: "memory");
    app_depth--;
    return 4;
}
