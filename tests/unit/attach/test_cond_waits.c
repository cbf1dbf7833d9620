/* Waits for conditions that the helper of an attached library ends (engine/backend/linux/attach/cond_waits.h). */
#include "engine/backend/linux/preload/real.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>
#include <unistd.h>
#include <cmocka.h>

static struct strobe_real real_functions;
#define strobe_real() (&real_functions)
#include "engine/backend/linux/attach/cond_waits.c"
#undef strobe_real

enum { SOON_US = 20000 };

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static strobe_a32 signals, returned;
static struct strobe_cond_wait *wait_of_test;

static int count_signal(pthread_cond_t *c)
{
    strobe_add_relaxed(&signals, 1);
    return pthread_cond_broadcast(c);
}

static int set_up(void **state)
{
    (void)state;
    real_functions.pthread_mutex_trylock = pthread_mutex_trylock;
    real_functions.pthread_mutex_unlock = pthread_mutex_unlock;
    real_functions.pthread_cond_broadcast = count_signal;
    strobe_store_relaxed(&signals, 0);
    strobe_store_relaxed(&returned, 0);
    return 0;
}

/* What a hook of pthread_cond_wait does. */
static void *wait_without_end(void *unused)
{
    pthread_mutex_lock(&mutex);
    struct strobe_cond_wait *w = strobe_cond_wait_begin(&cond, &mutex);
    pthread_cond_wait(&cond, &mutex);
    strobe_cond_wait_end(&w);
    strobe_store_release(&returned, 1);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void a_wait_without_an_end_is_ended(void **state)
{
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, wait_without_end, NULL), 0);
    while (!strobe_load_acquire(&returned)) {
        strobe_cond_waits_wake();
        usleep(100);
    }
    pthread_join(thread, NULL);
    uint32_t before = strobe_load_relaxed(&signals);
    strobe_cond_waits_wake();
    assert_int_equal(strobe_load_relaxed(&signals), before);
}

static void a_thread_that_holds_the_mutex_keeps_it(void **state)
{
    (void)state;
    pthread_mutex_lock(&mutex);
    struct strobe_cond_wait *w = strobe_cond_wait_begin(&cond, &mutex);
    strobe_cond_waits_wake();
    assert_int_equal(strobe_load_relaxed(&signals), 0);
    assert_int_not_equal(pthread_mutex_trylock(&mutex), 0);
    strobe_cond_wait_end(&w);
    pthread_mutex_unlock(&mutex);
}

static void a_robust_mutex_is_left_alone(void **state)
{
    pthread_mutex_t robust;
    pthread_mutexattr_t attributes;
    (void)state;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    struct strobe_cond_wait *w = strobe_cond_wait_begin(&cond, &robust);
    strobe_cond_waits_wake();
    assert_int_equal(strobe_load_relaxed(&signals), 0);
    strobe_cond_wait_end(&w);
    pthread_mutex_destroy(&robust);
    pthread_mutexattr_destroy(&attributes);
}

static void *return_from_wait(void *unused)
{
    strobe_cond_wait_end(&wait_of_test);
    strobe_store_release(&returned, 1);
    return unused;
}

static pthread_t waiter;
static bool returned_meanwhile;

/* The waiter is woken by the program itself while the helper signals. */
static int signal_while_waiter_returns(pthread_cond_t *c)
{
    (void)c;
    pthread_create(&waiter, NULL, return_from_wait, NULL);
    usleep(SOON_US);
    returned_meanwhile = strobe_load_acquire(&returned);
    return 0;
}

static void a_waiter_stays_in_its_hook_while_the_helper_signals(void **state)
{
    (void)state;
    real_functions.pthread_cond_broadcast = signal_while_waiter_returns;
    wait_of_test = strobe_cond_wait_begin(&cond, &mutex);
    strobe_cond_waits_wake();
    pthread_join(waiter, NULL);
    assert_false(returned_meanwhile);
    assert_true(strobe_load_acquire(&returned));
}

static void more_waits_than_there_are_entries_are_waited_for(void **state)
{
    struct strobe_cond_wait *w[PROBES_MAX], *none;
    (void)state;
    for (int i = 0; i < PROBES_MAX; i++) {
        w[i] = strobe_cond_wait_begin(&cond, &mutex);
        assert_non_null(w[i]);
    }
    none = strobe_cond_wait_begin(&cond, &mutex);
    assert_null(none);
    strobe_cond_wait_end(&none);
    strobe_cond_waits_wake();
    assert_int_equal(strobe_load_relaxed(&signals), PROBES_MAX);
    for (int i = 0; i < PROBES_MAX; i++)
        strobe_cond_wait_end(&w[i]);
    none = strobe_cond_wait_begin(&cond, &mutex);
    assert_non_null(none);
    strobe_cond_wait_end(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_wait_without_an_end_is_ended, set_up),
        cmocka_unit_test_setup(a_thread_that_holds_the_mutex_keeps_it, set_up),
        cmocka_unit_test_setup(a_robust_mutex_is_left_alone, set_up),
        cmocka_unit_test_setup(a_waiter_stays_in_its_hook_while_the_helper_signals, set_up),
        cmocka_unit_test_setup(more_waits_than_there_are_entries_are_waited_for, set_up),
    };
    return cmocka_run_group_tests_name("cond_waits", tests, NULL, NULL);
}
