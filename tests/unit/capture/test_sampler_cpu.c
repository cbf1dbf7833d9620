/* What the sampler finds out about a thread from its CPU clock: whether the thread runs, and how much CPU time it had
 * used at its stop. */
#include "tests/unit/support/sampled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ITEMS = 64 };

static struct strobe_ring_item items[ITEMS];
static bool runs;

static bool host_says(void *ctx, uint32_t tid)
{
    (void)ctx, (void)tid;
    return runs;
}

/* The host is slow to answer, and a call is recorded by its own thread. */
static void a_host_is_not_asked_about_a_thread_in_a_hooked_call(void **state)
{
    (void)state;
    rig.host.thread_runs = host_says;
    runs = true;
    for (int i = 0; i < 10; i++) { /* each pass meets the thread in another call */
        rig.now += 1 * MS;
        uint32_t token = strobe_scope_begin(rig.thread, STROBE_KIND_READ, 0, (struct strobe_site){0});
        pass(0, 500);
        assert_int_equal(strobe_load_relaxed(&rig.thread->asked), i == 0); /* a new thread is asked in any case */
        strobe_store_relaxed(&rig.thread->asked, 0);
        rig.now += 10 * US;
        strobe_scope_end(rig.thread, token, (struct strobe_site){0});
    }
}

static uint64_t cpu_reads;

/* A clock in steps of 1 us, which advances while it is read. */
static enum strobe_status coarse_clock(void *ctx, uint32_t tid, uint64_t *out)
{
    (void)ctx, (void)tid;
    rig.now += 400;
    *out = rig.thread_cpu_ns + ++cpu_reads * 400 / US * US;
    return STROBE_OK;
}

static void a_thread_whose_clock_has_coarse_steps_is_not_taken_for_one_that_waits(void **state)
{
    (void)state;
    rig.host.thread_cpu_ns = coarse_clock;
    rig.host.cpu_step_ns = US;
    rig.host.thread_runs = host_says;
    runs = true;
    for (int i = 0; i < 20; i++)
        pass(2, 700);
    uint32_t n = rig_records(&rig, items, ITEMS);
    assert_int_equal(rig.suspends, 20);
    for (uint32_t i = 0; i < n; i++)
        assert_false(items[i].record.flags & STROBE_FLAG_READY);
}

static void stop_late(struct rig *r)
{
    r->now += 8 * US;
}

static void stop_very_late(struct rig *r)
{
    r->now += 51 * US;
}

static uint64_t sampled_cpu_us(void (*stopping)(struct rig *), uint64_t used_us)
{
    rig.on_suspend = stopping;
    pass(1, used_us);
    const struct strobe_record *r = &items[rig_records(&rig, items, ITEMS) - 1].record;
    return (r->cpu_ns - rig.thread_cpu_ns) / US;
}

static void a_thread_has_run_on_until_its_stop(void **state)
{
    (void)state;
    rig_stack(&rig, 5, 0x6000);
    assert_int_equal(sampled_cpu_us(stop_late, 990), 8);
    rig_stack(&rig, 5, 0x7000);
    assert_int_equal(sampled_cpu_us(stop_very_late, 990), 0); /* it waited for a processor */
}

static void a_thread_that_waits_for_a_processor_has_not_run_on_until_its_stop(void **state)
{
    (void)state;
    rig.host.thread_runs = host_says;
    runs = true;
    pass(1, 990);
    rig_stack(&rig, 5, 0x6000);
    assert_int_equal(sampled_cpu_us(stop_late, 500), 0);
}

/* The clock of a running thread advances while it is read. */
static enum strobe_status running_clock(void *ctx, uint32_t tid, uint64_t *out)
{
    (void)ctx, (void)tid;
    *out = rig.thread_cpu_ns + ++cpu_reads;
    return STROBE_OK;
}

static void a_thread_that_shares_its_processor_is_stopped_for_its_cpu_time(void **state)
{
    (void)state;
    rig.host.thread_cpu_ns = running_clock;
    pass(1, 990);
    assert_int_equal(rig.suspends, 1);
    for (uint32_t i = 0; i < 10; i++) { /* half of an interval: after two passes */
        pass(1, 249);
        pass(1, 249);
        assert_int_equal(rig.suspends, 1 + i);
        pass(1, 10);
        assert_int_equal(rig.suspends, 2 + i);
    }
}

static void a_thread_that_computes_alone_is_stopped_in_each_pass_however_close(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 10; i++) {
        rig_pass(&rig, &sampler, 751 * US, 751 * US);
        assert_int_equal(rig.suspends, 1 + i);
    }
}

static void a_thread_that_waits_for_a_processor_is_stopped_after_a_quarter_of_an_intervals_cpu_time(void **state)
{
    (void)state;
    rig.host.thread_runs = host_says;
    runs = true;
    pass(1, 990);
    pass(1, 240);
    assert_int_equal(rig.suspends, 1);
    pass(1, 20);
    assert_int_equal(rig.suspends, 2);
}

static void a_thread_that_uses_little_cpu_time_is_stopped_after_four_intervals(void **state)
{
    (void)state;
    rig.host.thread_cpu_ns = running_clock;
    pass(1, 990);
    for (uint32_t i = 0; i < 10; i++) {
        for (int k = 0; k < 3; k++)
            pass(1, 20);
        assert_int_equal(rig.suspends, 1 + i);
        pass(1, 20);
        assert_int_equal(rig.suspends, 2 + i);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start_sampled, stop_sampled)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_host_is_not_asked_about_a_thread_in_a_hooked_call),
        TEST(a_thread_whose_clock_has_coarse_steps_is_not_taken_for_one_that_waits),
        TEST(a_thread_has_run_on_until_its_stop),
        TEST(a_thread_that_waits_for_a_processor_has_not_run_on_until_its_stop),
        TEST(a_thread_that_shares_its_processor_is_stopped_for_its_cpu_time),
        TEST(a_thread_that_computes_alone_is_stopped_in_each_pass_however_close),
        TEST(a_thread_that_waits_for_a_processor_is_stopped_after_a_quarter_of_an_intervals_cpu_time),
        TEST(a_thread_that_uses_little_cpu_time_is_stopped_after_four_intervals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
