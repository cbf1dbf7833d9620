/* The table of the runtime's threads, used by one thread (S-45). tests/explore covers concurrent use. */
#include "engine/backend/art/threads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct strobe_art_threads table;

static int start(void **state)
{
    (void)state;
    table = (struct strobe_art_threads){0};
    return 0;
}

static void *thread_of(uint32_t n)
{
    return (void *)(uintptr_t)(0x10000 + 64 * (uintptr_t)n);
}

static void assert_found(uint32_t tid, const void *thread, uint32_t id)
{
    void *found = NULL;
    uint32_t id_found = 0;
    assert_int_equal(strobe_art_threads_get(&table, tid, &found, &id_found), STROBE_OK);
    assert_ptr_equal(found, thread);
    assert_int_equal(id_found, id);
}

static void assert_not_found(uint32_t tid, enum strobe_status why)
{
    void *found;
    uint32_t id;
    assert_int_equal(strobe_art_threads_get(&table, tid, &found, &id), why);
}

static void a_thread_is_found_as_it_was_put(void **state)
{
    (void)state;
    assert_not_found(7, STROBE_NO_ENTRY);
    assert_int_equal(strobe_art_threads_put(&table, 7, thread_of(1), 3), STROBE_OK);
    assert_found(7, thread_of(1), 3);
    assert_not_found(8, STROBE_NO_ENTRY);
}

static void a_thread_that_has_ended_is_gone_until_its_tid_is_used_again(void **state)
{
    (void)state;
    strobe_art_threads_put(&table, 7, thread_of(1), 3);
    strobe_art_threads_end(&table, 7);
    assert_not_found(7, STROBE_GONE);
    assert_int_equal(strobe_art_threads_put(&table, 7, thread_of(1), 3), STROBE_OK);
    assert_found(7, thread_of(1), 3);
    strobe_art_threads_end(&table, 8); /* no thread has this tid */
    assert_not_found(8, STROBE_NO_ENTRY);
}

static void a_tid_reused_without_a_reported_end_is_the_new_thread(void **state)
{
    (void)state;
    strobe_art_threads_put(&table, 7, thread_of(1), 3);
    strobe_art_threads_put(&table, 7, thread_of(2), 3);
    assert_found(7, thread_of(2), 3);
    strobe_art_threads_put(&table, 7, thread_of(2), 65535);
    assert_found(7, thread_of(2), 65535);
}

/* Generations have 16 bits. */
static void a_tid_may_be_used_any_number_of_times(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3 * 65536; i++)
        strobe_art_threads_put(&table, 7, thread_of(i), 1 + i % 100);
    assert_found(7, thread_of(3 * 65536 - 1), 1 + (3 * 65536 - 1) % 100);
    strobe_art_threads_end(&table, 7);
    assert_not_found(7, STROBE_GONE);
}

static void half_of_the_table_is_used_and_the_next_thread_is_refused(void **state)
{
    (void)state;
    enum { ROOM = STROBE_ART_TABLE_THREADS / 2 };
    for (uint32_t i = 0; i < ROOM; i++)
        assert_int_equal(strobe_art_threads_put(&table, 1000 + i, thread_of(i), 1 + i), STROBE_OK);
    assert_int_equal(strobe_art_threads_put(&table, 5, thread_of(5), 5), STROBE_FULL);
    assert_int_equal(strobe_art_threads_put(&table, 6, thread_of(6), 6), STROBE_FULL);
    assert_not_found(5, STROBE_NO_ENTRY);
    for (uint32_t i = 0; i < ROOM; i++)
        assert_found(1000 + i, thread_of(i), 1 + i);
    assert_int_equal(strobe_art_threads_put(&table, 1000, thread_of(9), 9), STROBE_OK); /* tid has an entry */
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, start)
    const struct CMUnitTest tests[] = {
        TEST(a_thread_is_found_as_it_was_put),
        TEST(a_thread_that_has_ended_is_gone_until_its_tid_is_used_again),
        TEST(a_tid_reused_without_a_reported_end_is_the_new_thread),
        TEST(a_tid_may_be_used_any_number_of_times),
        TEST(half_of_the_table_is_used_and_the_next_thread_is_refused),
    };
    return cmocka_run_group_tests_name("art threads", tests, NULL, NULL);
}
