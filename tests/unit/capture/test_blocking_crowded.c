/* Wakers of waits at the limits: more waiters or releases than entries, clocks that differ, stacks that are not found.
 * */
#include "tests/unit/support/waits.h"

/* The note of the first notify is overwritten before its waiter searches. That waiter must not take the second notify,
 * which woke another thread. */
static void a_notify_whose_entry_was_overwritten_names_no_waker_S71(void **state)
{
    (void)state;
    uint64_t busy = collides_with(LOCK);
    waits(0, LOCK, STROBE_KIND_COND);
    waits(1, LOCK, STROBE_KIND_COND);
    releases(8, LOCK, STROBE_RELEASE_ONE);
    for (int i = 0; i < STROBE_BLOCK_RELEASES; i++) {
        waits(5, busy, STROBE_KIND_COND);
        releases(9, busy, STROBE_RELEASE_ALL);
        gets(5, busy);
    }
    releases(10, LOCK, STROBE_RELEASE_ONE);
    time_passes(MS);
    gets(0, LOCK);
    gets(1, LOCK);
    assert_int_equal(waker(0, 0, NULL), NO_RECORD);
    assert_int_equal(waker(1, 0, NULL), 10);
}

/* Fills a bucket with waits for another object. */
static void crowd(uint64_t what, uint32_t *waiting)
{
    for (*waiting = 0; *waiting < STROBE_BLOCK_WAITERS; ++*waiting)
        waits(10 + *waiting / STROBE_SCOPES_MAX, what, STROBE_KIND_LOAD);
}

static void disperse(uint64_t what, uint32_t waiting)
{
    while (waiting--)
        goes_on(10 + waiting / STROBE_SCOPES_MAX, what, STROBE_WAKE_NONE, false);
}

static void a_waiter_without_a_free_entry_still_gets_its_waker_S76(void **state)
{
    (void)state;
    uint32_t crowd_size;
    crowd(collides_with(LOCK), &crowd_size);
    waits(0, LOCK, STROBE_KIND_MUTEX);
    time_passes(MS);
    releases(1, LOCK, STROBE_RELEASE_LOCK);
    gets(0, LOCK);
    disperse(collides_with(LOCK), crowd_size);
    assert_int_equal(waker(0, 0, NULL), 1);
}

static void a_notify_that_any_of_several_waiters_may_have_taken_names_no_waker_S71(void **state)
{
    (void)state;
    uint32_t crowd_size;
    crowd(collides_with(LOCK), &crowd_size);
    waits(0, LOCK, STROBE_KIND_COND);
    waits(1, LOCK, STROBE_KIND_COND);
    releases(2, LOCK, STROBE_RELEASE_ONE);
    releases(3, LOCK, STROBE_RELEASE_ONE);
    time_passes(MS);
    gets(1, LOCK); /* either notify may have woken it */
    gets(0, LOCK);
    disperse(collides_with(LOCK), crowd_size);
    assert_int_equal(waker(0, 0, NULL), NO_RECORD);
    assert_int_equal(waker(1, 0, NULL), NO_RECORD);
}

/* Clocks of two processors may differ a little. */
static void a_release_by_a_clock_that_is_behind_lies_at_the_begin_of_the_wait_S53(void **state)
{
    (void)state;
    struct strobe_record wake = {0};
    uint64_t begin = rig.now;
    waits(0, LOCK, STROBE_KIND_MUTEX);
    rig.now -= 50 * US;
    releases(1, LOCK, STROBE_RELEASE_LOCK);
    rig.now = begin + MS;
    gets(0, LOCK);
    assert_int_equal(waker(0, 0, &wake), 1);
    assert_int_equal(wake.ticks, begin);
    assert_int_equal(wake.duration, MS);
}

/* The next sample is never merged into a WAKE record, even if the wait's own record has no stack. */
static void a_sample_after_a_wait_does_not_replace_its_wake_record_S70(void **state)
{
    (void)state;
    rig_point(&rig, STROBE_KIND_ALLOC);
    waits(0, LOCK, STROBE_KIND_COND);
    time_passes(MS);
    rig_stack(&rig, 0, 0);
    goes_on(0, LOCK, STROBE_WAKE_TIMEOUT, false);
    rig_stack(&rig, 5, 0x5000);
    time_passes(MS);
    rig_point(&rig, STROBE_KIND_ALLOC);
    assert_int_equal(rig_account(&rig, STROBE_KIND_COND).unwind_failed, 1);
    assert_int_equal(rig_account(&rig, STROBE_KIND_ALLOC).sampled, 2);
    assert_int_equal(waker(0, 0, NULL), NOBODY);
}

/* A signal handler that runs during the wait releases the object that its own thread waits for. */
static void a_thread_is_never_its_own_waker_S71(void **state)
{
    (void)state;
    waits(3, LOCK, STROBE_KIND_COND);
    releases(3, LOCK, STROBE_RELEASE_ALL);
    time_passes(MS);
    gets(3, LOCK);
    assert_int_equal(waker(3, 0, NULL), NO_RECORD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_notify_whose_entry_was_overwritten_names_no_waker_S71),
        CASE(a_waiter_without_a_free_entry_still_gets_its_waker_S76),
        CASE(a_notify_that_any_of_several_waiters_may_have_taken_names_no_waker_S71),
        CASE(a_release_by_a_clock_that_is_behind_lies_at_the_begin_of_the_wait_S53),
        CASE(a_sample_after_a_wait_does_not_replace_its_wake_record_S70),
        CASE(a_thread_is_never_its_own_waker_S71),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
