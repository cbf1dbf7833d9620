/* The Darwin library's memory functions (engine/backend/sdk/darwin/memory.c), compiled for this machine under other
 * names. tests/darwin/facts.sh checks in the built library that they call no function, not even themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

void *own_memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *own_memmove(void *to, const void *from, size_t bytes);
void *own_memset(void *to, int byte, size_t bytes);
#define memcpy  own_memcpy
#define memmove own_memmove
#define memset  own_memset
#define bzero   own_bzero
#include "engine/backend/sdk/darwin/memory.c"
#undef memcpy
#undef memmove
#undef memset
#undef bzero

enum { LONGEST = 200, AROUND = 20, ROOM = LONGEST + 2 * AROUND };
static char source[ROOM], made[ROOM], wanted[ROOM];

/* Gives `made` and `wanted` equal bytes, and `source` other ones. */
static void set_up(void)
{
    for (int i = 0; i < ROOM; i++) {
        source[i] = (char)(i * 7 + 1);
        made[i] = wanted[i] = (char)(i * 5 + 128);
    }
}

static void a_copy_is_every_byte_and_no_other(void **unused)
{
    (void)unused;
    for (size_t bytes = 0; bytes <= LONGEST; bytes++)
        for (size_t from = 0; from < AROUND; from++) {
            size_t to = bytes % AROUND;
            set_up();
            for (size_t i = 0; i < bytes; i++)
                wanted[to + i] = source[from + i];
            assert_ptr_equal(own_memcpy(made + to, source + from, bytes), made + to);
            assert_memory_equal(made, wanted, ROOM);
        }
}

static void a_move_is_of_what_was_there_before(void **unused)
{
    (void)unused;
    for (size_t bytes = 0; bytes <= LONGEST; bytes++)
        for (size_t from = 0; from < AROUND; from++)
            for (size_t to = 0; to < AROUND; to++) {
                set_up();
                for (size_t i = 0; i < bytes; i++)
                    wanted[to + i] = (char)((from + i) * 5 + 128);
                assert_ptr_equal(own_memmove(made + to, made + from, bytes), made + to);
                assert_memory_equal(made, wanted, ROOM);
            }
}

static void a_fill_is_every_byte_and_no_other(void **unused)
{
    (void)unused;
    for (size_t bytes = 0; bytes <= LONGEST; bytes++)
        for (size_t to = 0; to < AROUND; to++) {
            set_up();
            for (size_t i = 0; i < bytes; i++)
                wanted[to + i] = (char)0xa5;
            assert_ptr_equal(own_memset(made + to, 0x3a5, bytes), made + to);
            assert_memory_equal(made, wanted, ROOM);
            for (size_t i = 0; i < bytes; i++)
                wanted[to + i] = 0;
            own_bzero(made + to, bytes);
            assert_memory_equal(made, wanted, ROOM);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_is_every_byte_and_no_other),
        cmocka_unit_test(a_move_is_of_what_was_there_before),
        cmocka_unit_test(a_fill_is_every_byte_and_no_other),
    };
    return cmocka_run_group_tests_name("darwin_memory", tests, NULL, NULL);
}
