/* In which system call a thread waits outside of hooked calls: when the sampler asks the host, and what it records. */
#include "tests/unit/support/sampled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ITEMS = 64, MACHINE = 62, FUTEX = 202, POLL = 7, ACTIVE_US = 10, REST_MS = 8 };

static struct strobe_ring_item items[ITEMS];
static uint64_t call;
static uint32_t asked, scope;
static bool enters;

static struct strobe_site nowhere(void)
{
    return (struct strobe_site){0};
}

static uint64_t host_says(void *ctx, uint32_t tid)
{
    (void)ctx;
    assert_int_equal(tid, rig.thread->entry->tid);
    asked++;
    if (enters)
        scope = strobe_scope_begin(rig.thread, STROBE_KIND_READ, 0, nowhere());
    return call;
}

static int start(void **state)
{
    start_sampled(state);
    rig.host.wait_call = host_says;
    call = strobe_wait_call(MACHINE, FUTEX);
    asked = 0;
    enters = false;
    return 0;
}

/* Returns the number of recorded calls; the last one is in items[0]. */
static uint32_t recorded(void)
{
    uint32_t n = rig_records(&rig, items, ITEMS), calls = 0;
    for (uint32_t i = 0; i < n; i++)
        if (items[i].record.kind == STROBE_KIND_COUNTER) {
            assert_int_equal(items[i].record.cpu_span_ns, STROBE_SERIES_WAIT_CALL);
            items[0] = items[i];
            calls++;
        }
    return calls;
}

static void a_thread_that_stops_using_its_processor_is_asked_about_once(void **state)
{
    (void)state;
    pass(1, 990);
    assert_int_equal(asked, 0);
    pass(1, 0);
    uint64_t at = rig.now;
    for (int i = 0; i < 20; i++)
        pass(1, 0);
    assert_int_equal(asked, 1);
    assert_int_equal(recorded(), 1);
    assert_int_equal(items[0].record.arg, strobe_wait_call(MACHINE, FUTEX));
    assert_int_equal(items[0].record.thread, rig.thread->index);
    assert_in_range(items[0].record.ticks, at - US, at);
}

static void a_thread_that_uses_its_processor_is_not_asked_about(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++)
        pass(1, ACTIVE_US);
    assert_int_equal(asked, 0);
}

static void a_thread_in_a_hooked_call_is_not_asked_about(void **state)
{
    (void)state;
    pass(1, 990);
    uint32_t token = strobe_scope_begin(rig.thread, STROBE_KIND_READ, 0, nowhere());
    for (int i = 0; i < 20; i++)
        pass(1, 0);
    strobe_scope_end(rig.thread, token, nowhere());
    assert_int_equal(asked, 0);
}

static void the_answer_about_a_thread_that_enters_a_hooked_call_is_dropped(void **state)
{
    (void)state;
    pass(1, 990);
    enters = true;
    pass(1, 0);
    assert_int_equal(asked, 1);
    strobe_scope_end(rig.thread, scope, nowhere());
    assert_int_equal(recorded(), 0);
}

static void a_call_that_the_host_does_not_know_is_not_recorded(void **state)
{
    (void)state;
    call = 0;
    pass(1, 990);
    for (int i = 0; i < 20; i++)
        pass(1, 0);
    assert_int_equal(asked, 1);
    assert_int_equal(recorded(), 0);
}

/* Each pass meets the thread in another wait. */
static void a_thread_that_is_not_sampled_between_its_waits_is_asked_about_now_and_then(void **state)
{
    (void)state;
    rig.host.thread_runs = NULL;
    pass(1, 990);
    for (int i = 0; i <= 2 * REST_MS; i++)
        pass(1, ACTIVE_US - 1);
    assert_int_equal(asked, 3);
    assert_int_equal(recorded(), 1);
}

static void another_call_of_a_thread_that_was_not_sampled_is_recorded(void **state)
{
    (void)state;
    pass(1, 990);
    pass(1, 1);
    call = strobe_wait_call(MACHINE, POLL);
    for (int i = 0; i < REST_MS; i++)
        pass(1, 1);
    assert_int_equal(recorded(), 2);
    assert_int_equal(items[0].record.arg, strobe_wait_call(MACHINE, POLL));
}

static void each_wait_after_a_sample_is_recorded(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        pass(1, 990);
        pass(1, 0);
        rig_point(&rig, STROBE_KIND_FREE);
    }
    assert_int_equal(asked, 5);
    assert_int_equal(recorded(), 5);
}

static bool stands_says(void *ctx, uint32_t tid)
{
    (void)ctx, (void)tid;
    fail_msg("a thread that waits in a call does not wait for a processor");
    return false;
}

static void a_thread_that_waits_in_a_call_is_not_asked_about_twice(void **state)
{
    (void)state;
    pass(1, 990);
    rig.host.thread_runs = stands_says;
    for (int i = 0; i < 20; i++)
        pass(1, 0);
    assert_int_equal(asked, 1);
}

static enum strobe_status keep_clock(void *ctx, uint32_t index, uint32_t tid, uint64_t period_ns, uint32_t taken)
{
    (void)ctx, (void)index, (void)tid, (void)period_ns, (void)taken;
    return STROBE_OK;
}

/* The thread's clock has not ticked since the thread used more than a period of CPU time. */
static void a_thread_whose_ticks_are_missing_is_asked_about_too(void **state)
{
    (void)state;
    rig.host.clock_keep = keep_clock;
    pass(1, 990);
    pass(3, 1600);
    assert_int_equal(asked, 0);
    for (int i = 0; i < 20; i++)
        pass(1, 0);
    assert_int_equal(asked, 1);
    assert_int_equal(recorded(), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop_sampled)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_thread_that_stops_using_its_processor_is_asked_about_once),
        TEST(a_thread_that_uses_its_processor_is_not_asked_about),
        TEST(a_thread_in_a_hooked_call_is_not_asked_about),
        TEST(the_answer_about_a_thread_that_enters_a_hooked_call_is_dropped),
        TEST(a_call_that_the_host_does_not_know_is_not_recorded),
        TEST(a_thread_that_is_not_sampled_between_its_waits_is_asked_about_now_and_then),
        TEST(another_call_of_a_thread_that_was_not_sampled_is_recorded),
        TEST(each_wait_after_a_sample_is_recorded),
        TEST(a_thread_that_waits_in_a_call_is_not_asked_about_twice),
        TEST(a_thread_whose_ticks_are_missing_is_asked_about_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
