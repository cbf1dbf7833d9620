/* Emulated thread-local storage without memory or keys: the program continues, and threads share variables only where
 * they must. */
#include "engine/capture/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <cmocka.h>

static strobe_a32 switch_word;

static bool no_memory, no_values;

static void *short_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return no_memory ? MAP_FAILED : mmap(at, bytes, protection, flags, fd, offset);
}

static int short_setspecific(pthread_key_t key, const void *value)
{
    return no_values ? 12 : pthread_setspecific(key, value);
}

#define mmap                short_mmap
#define pthread_setspecific short_setspecific
#include "engine/backend/common/emutls.c"
#undef mmap
#undef pthread_setspecific

static const uint64_t first = 7;
static struct control counter = {.bytes = 8, .align = 8, .initial = &first}, other = {.bytes = 24, .align = 16};

static pthread_barrier_t all_met;

/* Uses the variable until all threads have used it. Returns its address when it kept the value of this thread. */
static void *keep_own_value(void *unused)
{
    uint64_t *value = __emutls_get_address(&counter);
    bool fresh = *value == first;
    *value = (uint64_t)(uintptr_t)&value;
    pthread_barrier_wait(&all_met);
    bool own = *value == (uint64_t)(uintptr_t)&value && __emutls_get_address(&counter) == (void *)value;
    pthread_barrier_wait(&all_met);
    (void)unused;
    return fresh && own ? value : NULL;
}

/* Returns how many of `count` concurrent threads had their own value. */
static int count_own_values(int count)
{
    pthread_t thread[64];
    int own = 0;
    pthread_barrier_init(&all_met, NULL, (unsigned)count);
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, keep_own_value, NULL), 0);
    for (int i = 0; i < count; i++) {
        void *value;
        pthread_join(thread[i], &value);
        own += value != NULL;
    }
    pthread_barrier_destroy(&all_met);
    return own;
}

static void forget_spare_pages(void)
{
    memset(spare, 0, sizeof spare);
    strobe_store_relaxed(&switch_word, STROBE_ON);
}

static void each_thread_has_its_own_variables(void **state)
{
    (void)state;
    assert_int_equal(count_own_values(40), 40);
    assert_true((uintptr_t)__emutls_get_address(&other) % 16 == 0);
}

static void threads_without_memory_have_their_own_as_long_as_there_are_spare_pages(void **state)
{
    (void)state;
    no_memory = true;
    assert_int_equal(count_own_values(SPARE_PAGES - 1), SPARE_PAGES - 1);
    assert_int_equal(strobe_load_relaxed(&switch_word), STROBE_ON);
    no_memory = false;
    forget_spare_pages();
}

static void threads_without_a_key_value_have_their_own_too(void **state)
{
    (void)state;
    no_values = true;
    assert_int_equal(count_own_values(SPARE_PAGES - 1), SPARE_PAGES - 1);
    no_values = false;
    forget_spare_pages();
}

static void capture_is_off_and_the_program_continues_when_spare_pages_are_used_up(void **state)
{
    (void)state;
    no_memory = true;
    assert_true(count_own_values(40) >= SPARE_PAGES - 1);
    assert_int_equal(strobe_load_relaxed(&switch_word), STROBE_OFF);
    no_memory = false;
    forget_spare_pages();
}

static void more_variables_than_a_page_holds_turn_the_capture_off(void **state)
{
    static struct control many[PAGE_BYTES / 2 / 64 + 2];
    (void)state;
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
        many[i] = (struct control){.bytes = 64, .align = 8};
        assert_non_null(__emutls_get_address(&many[i]));
    }
    assert_int_equal(strobe_load_relaxed(&switch_word), STROBE_OFF);
    forget_spare_pages();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_has_its_own_variables),
        cmocka_unit_test(threads_without_memory_have_their_own_as_long_as_there_are_spare_pages),
        cmocka_unit_test(threads_without_a_key_value_have_their_own_too),
        cmocka_unit_test(capture_is_off_and_the_program_continues_when_spare_pages_are_used_up),
        cmocka_unit_test(more_variables_than_a_page_holds_turn_the_capture_off),
    };
    strobe_switch = &switch_word;
    strobe_store_relaxed(&switch_word, STROBE_ON);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
