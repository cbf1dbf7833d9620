/* The sampler's rest on Linux: it lasts until its deadline, or until its word changes. */
#include "engine/backend/linux/host_linux.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

enum { RESTS = 1, OVER = 2, MS = 1000000 };
static const uint64_t minute_ns = 60000000000u;

static struct strobe_linux linux_host;
static strobe_a32 word, resting;
static uint64_t deadline, ended;

static uint64_t now(void)
{
    return linux_host.host.ticks(&linux_host);
}

static void *rest(void *unused)
{
    (void)unused;
    strobe_store_release(&resting, 1);
    linux_host.host.rest_until(&linux_host, deadline, &word, RESTS);
    ended = now();
    return NULL;
}

static int begin(void **state)
{
    (void)state;
    strobe_linux_init(&linux_host, clock_gettime);
    strobe_store_relaxed(&word, RESTS);
    return 0;
}

static void a_rest_lasts_to_its_deadline(void **state)
{
    (void)state;
    deadline = now() + 2 * MS;
    rest(NULL);
    assert_true(ended >= deadline);
}

static void a_rest_whose_word_has_changed_before_it_does_not_begin(void **state)
{
    (void)state;
    deadline = now() + minute_ns;
    strobe_store_relaxed(&word, OVER);
    rest(NULL);
    assert_true(ended < deadline);
}

/* A wake-up by another cause does not end the rest: only a change of the word does. */
static void a_rest_ends_when_its_word_has_changed_and_it_is_roused(void **state)
{
    pthread_t thread;
    struct timespec pause = {0, 5 * MS};
    (void)state;
    deadline = now() + minute_ns;
    strobe_store_relaxed(&resting, 0);
    assert_int_equal(pthread_create(&thread, NULL, rest, NULL), 0);
    while (!strobe_load_acquire(&resting))
        nanosleep(&pause, NULL);
    nanosleep(&pause, NULL);
    linux_host.host.rouse(&linux_host, &word);
    uint64_t changed = now();
    strobe_store_release(&word, OVER);
    linux_host.host.rouse(&linux_host, &word);
    pthread_join(thread, NULL);
    assert_true(ended >= changed && ended < deadline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_rest_lasts_to_its_deadline, begin),
        cmocka_unit_test_setup(a_rest_whose_word_has_changed_before_it_does_not_begin, begin),
        cmocka_unit_test_setup(a_rest_ends_when_its_word_has_changed_and_it_is_roused, begin),
    };
    return cmocka_run_group_tests_name("the sampler's rest", tests, NULL, NULL);
}
