/* Waits in progress: the sampler takes their stacks without a stop, once per wait, and drops a stack when the wait
 * ended meanwhile (S-41). */
#include "tests/unit/support/capture_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MS = 1000000, ITEMS = 4096, HOOK = 10, CALLER = 20, OUTER = 30 };

static struct rig rig;
static struct strobe_sampler sampler;
static struct strobe_ring_item items[ITEMS];

/* A stack of three frames. The record at HOOK holds the address in the caller where the hook was called. */
static void lay_frames(void)
{
    uint64_t *s = rig.stack;
    s[HOOK] = (uint64_t)(uintptr_t)&s[CALLER];
    s[HOOK + 1] = 0x3000;
    s[CALLER] = (uint64_t)(uintptr_t)&s[OUTER];
    s[CALLER + 1] = 0x2000;
    s[OUTER] = 0;
    s[OUTER + 1] = 0x1000;
}

static int start(void **state)
{
    (void)state;
    rig_start_sampled(&rig, &sampler);
    rig.engine.unwinder = &strobe_unwinder_fp;
    rig.thread->stack_low = (uint64_t)(uintptr_t)rig.stack;
    rig.thread->stack_high = (uint64_t)(uintptr_t)(rig.stack + RIG_STACK_WORDS);
    rig.thread->root_frame = 0;
    lay_frames();
    return 0;
}

static int stop(void **state)
{
    (void)state;
    rig_stop_sampled(&rig);
    return 0;
}

static struct strobe_site hook(void)
{
    return (struct strobe_site){(uint64_t)(uintptr_t)&rig.stack[HOOK], 0x3000};
}

static void pass(uint64_t ms)
{
    rig_pass(&rig, &sampler, ms * MS, 0);
}

static void assert_whole_stack(const struct strobe_record *r)
{
    uint64_t frames[8];
    uint32_t count;
    assert_int_equal(strobe_stack_frames(&rig.engine.session.stacks, r->stack, frames, 8, &count), STROBE_OK);
    assert_int_equal(count, 3);
    assert_int_equal(frames[0], 0x1000);
    assert_int_equal(frames[1], 0x2000);
    assert_int_equal(frames[2], 0x3000);
}

static void a_long_wait_is_looked_at_once_and_without_a_stop(void **state)
{
    (void)state;
    strobe_scope_begin(rig.thread, STROBE_KIND_POLL, 0, hook());
    pass(29); /* the main thread's refresh is 30 ms */
    assert_int_equal(rig_records(&rig, items, ITEMS), 0);
    for (int i = 0; i < 100; i++)
        pass(1);
    assert_int_equal(rig_records(&rig, items, ITEMS), 1);
    assert_int_equal(items[0].record.kind, STROBE_KIND_ASYNC);
    assert_int_equal(items[0].record.count, 1);
    assert_whole_stack(&items[0].record);
    assert_int_equal(rig.suspends, 0);
}

static void at_the_end_every_wait_is_looked_at_however_short(void **state)
{
    (void)state;
    strobe_scope_begin(rig.thread, STROBE_KIND_SLEEP, 0, hook());
    rig.now += 1000;
    strobe_sampler_finish(&sampler);
    strobe_sampler_finish(&sampler);
    assert_int_equal(rig_records(&rig, items, ITEMS), 1);
    assert_whole_stack(&items[0].record);
}

/* The call returns between the end of the capture and the sampler's last pass over waiting threads. */
static void a_wait_that_ended_with_the_switch_off_is_not_looked_at(void **state)
{
    (void)state;
    strobe_scope_begin(rig.thread, STROBE_KIND_SLEEP, 0, hook());
    strobe_store_relaxed(strobe_switch, STROBE_OFF);
    strobe_scope_left(rig.thread);
    rig.now += 1000;
    strobe_sampler_finish(&sampler);
    strobe_store_relaxed(strobe_switch, STROBE_ON);
    assert_int_equal(rig_records(&rig, items, ITEMS), 0);
}

/* A pass takes a while, so a wait may begin after it did. */
static void a_wait_that_began_after_the_pass_is_not_long(void **state)
{
    (void)state;
    uint64_t pass_begins = rig.now;
    rig.now += 1000;
    strobe_scope_begin(rig.thread, STROBE_KIND_POLL, 0, hook());
    strobe_sampler_pass(&sampler, pass_begins);
    assert_int_equal(rig_records(&rig, items, ITEMS), 0);
    strobe_sampler_finish(&sampler);
    assert_int_equal(rig_records(&rig, items, ITEMS), 1);
    assert_true(items[0].record.ticks >= rig.now);
}

static void each_wait_is_a_separate_sample(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        uint32_t token = strobe_scope_begin(rig.thread, STROBE_KIND_POLL, 0, hook());
        pass(40);
        strobe_scope_end(rig.thread, token, hook());
    }
    assert_int_equal(rig_account(&rig, STROBE_KIND_ASYNC).sampled, 3);
    uint32_t n = rig_records(&rig, items, ITEMS), async = 0;
    for (uint32_t i = 0; i < n; i++)
        async += items[i].record.kind == STROBE_KIND_ASYNC && items[i].record.count == 1;
    assert_int_equal(async, 3);
}

/* The call returns, and the next begins, while the sampler copies. */
static enum strobe_status (*real_read)(void *, uint64_t, void *, size_t, size_t *);
static enum strobe_status read_too_late(void *ctx, uint64_t address, void *out, size_t bytes, size_t *copied)
{
    strobe_store_relaxed(&rig.thread->entry->scope_begin_ticks, rig.now);
    return real_read(ctx, address, out, bytes, copied);
}

static void a_copy_of_a_thread_that_went_on_meanwhile_is_not_used(void **state)
{
    (void)state;
    strobe_scope_begin(rig.thread, STROBE_KIND_POLL, 0, hook());
    real_read = rig.host.read;
    rig.host.read = read_too_late;
    pass(40);
    assert_int_equal(rig_records(&rig, items, ITEMS), 0);
    assert_int_equal(rig_account(&rig, STROBE_KIND_ASYNC).requests, 0);
}

static void a_hook_on_a_foreign_stack_is_left_alone(void **state)
{
    uint64_t elsewhere[4] = {0};
    (void)state;
    strobe_scope_begin(rig.thread, STROBE_KIND_POLL, 0, (struct strobe_site){(uint64_t)(uintptr_t)elsewhere, 0x3000});
    pass(40);
    assert_int_equal(rig_records(&rig, items, ITEMS), 0);
}

static uint64_t read_low, read_bytes;

static enum strobe_status noting_read(void *ctx, uint64_t address, void *out, size_t bytes, size_t *copied)
{
    read_low = address;
    read_bytes = bytes;
    return real_read(ctx, address, out, bytes, copied);
}

static void a_copy_ends_where_the_stack_or_the_room_for_it_does(void **state)
{
    const uint64_t from = hook().frame,
                   above[] = {16, 1024, STROBE_SAMPLER_STACK_BYTES, STROBE_SAMPLER_STACK_BYTES + 4096};
    (void)state;
    real_read = rig.host.read;
    rig.host.read = noting_read;
    for (size_t i = 0; i < sizeof above / sizeof *above; i++) {
        rig.thread->stack_high = from + above[i];
        uint32_t token = strobe_scope_begin(rig.thread, STROBE_KIND_POLL, 0, hook());
        pass(40);
        assert_int_equal(read_low, from);
        assert_int_equal(read_bytes, above[i] < STROBE_SAMPLER_STACK_BYTES ? above[i] : STROBE_SAMPLER_STACK_BYTES);
        strobe_scope_end(rig.thread, token, hook());
    }
}

static enum strobe_walk_end never(uint64_t frame, uint64_t caller, const struct strobe_window *stack,
                                  uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    (void)frame, (void)caller, (void)stack, (void)frames_end, (void)max, (void)count;
    fail_msg("walked");
    return STROBE_WALK_DOUBTFUL;
}

static void an_unwinder_that_needs_registers_takes_no_stack_of_a_waiting_thread(void **state)
{
    struct strobe_unwinder with_self = {.self = never, .copied = strobe_unwinder_fp.copied};
    (void)state;
    rig.engine.unwinder = &with_self;
    strobe_scope_begin(rig.thread, STROBE_KIND_POLL, 0, hook());
    pass(40);
    assert_int_equal(rig_records(&rig, items, ITEMS), 0);
}

static void at_the_end_the_cpu_time_of_a_thread_in_no_call_is_recorded(void **state)
{
    (void)state;
    rig.thread_cpu_ns = 7 * MS;
    strobe_sampler_finish(&sampler);
    assert_int_equal(rig_records(&rig, items, ITEMS), 1);
    const struct strobe_record *r = &items[0].record;
    assert_int_equal(r->kind, STROBE_KIND_COUNTER);
    assert_int_equal(r->cpu_span_ns, STROBE_SERIES_END_CPU_NS);
    assert_int_equal(r->thread, 0);
    assert_int_equal(r->arg, 7 * MS);
    assert_int_equal(r->ticks, rig.now);
}

/* Another thread has the id now, or no thread has it. */
static void at_the_end_a_cpu_time_that_went_back_or_cannot_be_read_is_not_recorded(void **state)
{
    (void)state;
    sampler.engine->threads[0].sampled.cpu_seen_ns = 7 * MS;
    rig.thread_cpu_ns = 6 * MS;
    strobe_sampler_finish(&sampler);
    rig.thread_cpu_ns = 8 * MS;
    rig.clock_says = STROBE_GONE;
    strobe_sampler_finish(&sampler);
    assert_int_equal(rig_records(&rig, items, ITEMS), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(a_long_wait_is_looked_at_once_and_without_a_stop),
        TEST(at_the_end_every_wait_is_looked_at_however_short),
        TEST(a_wait_that_ended_with_the_switch_off_is_not_looked_at),
        TEST(a_wait_that_began_after_the_pass_is_not_long),
        TEST(each_wait_is_a_separate_sample),
        TEST(a_copy_of_a_thread_that_went_on_meanwhile_is_not_used),
        TEST(a_hook_on_a_foreign_stack_is_left_alone),
        TEST(a_copy_ends_where_the_stack_or_the_room_for_it_does),
        TEST(an_unwinder_that_needs_registers_takes_no_stack_of_a_waiting_thread),
        TEST(at_the_end_the_cpu_time_of_a_thread_in_no_call_is_recorded),
        TEST(at_the_end_a_cpu_time_that_went_back_or_cannot_be_read_is_not_recorded),
    };
    return cmocka_run_group_tests_name("waiting", tests, NULL, NULL);
}
