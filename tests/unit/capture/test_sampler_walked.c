/* The sampler when it walks a thread's stack while the thread is suspended: an unwinder with `stopped`, as on ART, and
 * one with `resumed`, as on Mach. */
#include "engine/capture/guard.h"
#include "tests/unit/support/capture_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { US = 1000, MS = 1000000, ITEMS = 64, LEAF = 0x7000, CALLER = 0x5550, TOP = 0x77770 };

static struct rig rig;
static struct strobe_sampler sampler;
static struct strobe_ring_item items[ITEMS];
static uint32_t walks, depth, put_in;
static struct strobe_window known;

/* A stack of `depth` frames, LEAF innermost. */
static enum strobe_walk_end walk_stopped(const struct strobe_host *host, const struct strobe_regs *regs,
                                         const struct strobe_window *stack, struct strobe_stack_top *top, uint64_t *end,
                                         uint32_t max, uint32_t *count)
{
    assert_int_equal(top->bytes, 0);
    top->low = TOP;
    top->bytes = 8;
    assert_memory_equal(regs, &rig.regs, sizeof *regs);
    known = *stack;
    assert_ptr_equal(host, &rig.host);
    assert_int_equal(rig.suspends, rig.resumes + 1);
    assert_true(strobe_guard_forbids());
    walks++;
    *count = depth < max ? depth : max;
    for (uint32_t i = 0; i < *count; i++)
        end[-1 - (ptrdiff_t)i] = LEAF + i * 16;
    return depth > max ? STROBE_WALK_CUT : STROBE_WALK_ROOT;
}

static enum strobe_walk_end no_copy(const struct strobe_host *host, const struct strobe_regs *regs,
                                    const struct strobe_window *stack, uint64_t *end, uint32_t max, uint32_t *count)
{
    (void)host, (void)regs, (void)stack, (void)end, (void)max, (void)count;
    fail_msg("a copy is unwound");
    return STROBE_WALK_DOUBTFUL;
}

static const struct strobe_unwinder walker = {.copied = no_copy, .stopped = walk_stopped};

/* Inserts CALLER behind the innermost frame. */
static enum strobe_walk_end put_caller_in(const struct strobe_host *host, const struct strobe_regs *regs,
                                          const struct strobe_stack_top *top, enum strobe_walk_end how, uint64_t *end,
                                          uint32_t max, uint32_t *count)
{
    assert_int_equal(how, STROBE_WALK_ROOT);
    assert_int_equal(top->low, TOP);
    assert_int_equal(top->bytes, 8);
    assert_ptr_equal(host, &rig.host);
    assert_memory_equal(regs, &rig.regs, sizeof *regs);
    assert_int_equal(rig.suspends, rig.resumes);
    assert_false(strobe_guard_forbids());
    assert_int_equal(max, rig.engine.config.depth_max);
    put_in++;
    memmove(end - *count - 1, end - *count, (*count - 1) * sizeof *end);
    end[-2] = CALLER;
    ++*count;
    return STROBE_WALK_DOUBTFUL;
}

static const struct strobe_unwinder walker_in_place = {
    .copied = no_copy,
    .stopped = walk_stopped,
    .resumed = put_caller_in,
};

static int start(void **state)
{
    (void)state;
    rig_start_sampled(&rig, &sampler);
    rig.engine.unwinder = &walker;
    walks = put_in = 0;
    depth = 5;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    assert_int_equal(rig.reads, 0);
    rig_stop_sampled(&rig);
    return 0;
}

/* One pass, `ms` later, in which the thread has used all of the time. */
static void pass(uint64_t ms)
{
    rig_pass(&rig, &sampler, ms * MS, ms * MS - 100 * US);
}

static void the_frames_that_the_runtime_found_during_the_stop_are_recorded(void **state)
{
    (void)state;
    uint64_t frames[16];
    uint32_t count;
    pass(1);
    assert_int_equal(walks, 1);
    assert_int_equal(rig_records(&rig, items, ITEMS), 1);
    assert_int_equal(strobe_stack_frames(&rig.engine.session.stacks, items[0].record.stack, frames, 16, &count),
                     STROBE_OK);
    assert_int_equal(count, 5);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(frames[i], LEAF + (count - 1 - i) * 16);
    assert_false(items[0].record.flags & (STROBE_FLAG_CUT | STROBE_FLAG_DOUBTFUL));
}

static void equal_walks_are_one_record(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++)
        pass(1);
    assert_int_equal(rig_account(&rig, STROBE_KIND_ASYNC).sampled, 20);
    assert_int_equal(rig_records(&rig, items, ITEMS), 1);
    assert_int_equal(items[0].record.count, 20);
}

static void frames_put_in_after_the_resume_are_recorded(void **state)
{
    (void)state;
    uint64_t frames[16];
    uint32_t count;
    rig.engine.unwinder = &walker_in_place;
    pass(1);
    assert_int_equal(put_in, 1);
    assert_int_equal(rig_records(&rig, items, ITEMS), 1);
    assert_int_equal(strobe_stack_frames(&rig.engine.session.stacks, items[0].record.stack, frames, 16, &count),
                     STROBE_OK);
    assert_int_equal(count, 6);
    assert_int_equal(frames[5], LEAF);
    assert_int_equal(frames[4], CALLER);
    assert_int_equal(frames[3], LEAF + 16);
    assert_int_equal(frames[0], LEAF + 64);
    assert_true(items[0].record.flags & STROBE_FLAG_DOUBTFUL);
}

static void nothing_is_put_into_what_was_walked_while_the_thread_went_on_S46(void **state)
{
    (void)state;
    rig.engine.unwinder = &walker_in_place;
    rig.resume_says = STROBE_LATE;
    pass(1);
    assert_int_equal(walks, 1);
    assert_int_equal(put_in, 0);
}

static void a_walk_has_the_stack_from_its_pointer_up(void **state)
{
    (void)state;
    rig.thread->stack_low = 0x10000;
    rig.thread->stack_high = 0x18000;
    rig.thread->root_frame = 0x17f00;
    rig.regs.sp = 0x10104;
    pass(1);
    assert_int_equal(known.low, 0x10100);
    assert_int_equal(known.high, 0x18000);
    assert_int_equal(known.root, 0x17f00);
    assert_int_equal(known.bias, 0);
}

static void a_walk_has_no_stack_bounds_when_the_thread_is_not_on_its_stack(void **state)
{
    (void)state;
    rig.thread->stack_low = 0x10000;
    rig.thread->stack_high = 0x18000;
    const uint64_t elsewhere[] = {0x18000, 0xfff8};
    for (size_t i = 0; i < 2; i++) {
        rig.regs.sp = elsewhere[i];
        known = (struct strobe_window){1, 2, 3, 4};
        pass(2);
        assert_int_equal(known.low, 0);
        assert_int_equal(known.high, 0);
    }
    assert_int_equal(walks, 2);
}

static void a_walk_without_registers_has_the_whole_stack(void **state)
{
    (void)state;
    rig.thread->stack_low = 0x10000;
    rig.thread->stack_high = 0x18000;
    rig.regs.sp = 0;
    pass(1);
    assert_int_equal(known.low, 0x10000);
    assert_int_equal(known.high, 0x18000);
}

static void a_cut_walk_is_marked_S3(void **state)
{
    (void)state;
    depth = rig.engine.config.depth_max + 1;
    pass(1);
    assert_int_equal(rig_records(&rig, items, ITEMS), 1);
    assert_true(items[0].record.flags & STROBE_FLAG_CUT);
}

static void begin_exit(struct rig *r)
{
    strobe_store_relaxed(&r->thread->entry->state, STROBE_THREAD_EXITING);
}

static void begin_call(struct rig *r)
{
    strobe_store_relaxed(&r->thread->entry->scope_kind, STROBE_KIND_MUTEX);
}

static void a_thread_that_turned_out_unfit_is_not_walked_S42(void **state)
{
    (void)state;
    void (*const changes[])(struct rig *) = {begin_call, begin_exit};
    for (size_t i = 0; i < 2; i++) {
        rig.on_suspend = changes[i];
        pass(2);
        strobe_store_relaxed(&rig.thread->entry->scope_kind, 0);
        assert_int_equal(rig.suspends, i + 1);
    }
    assert_int_equal(walks, 0);
    assert_int_equal(strobe_load_relaxed(&rig.engine.session.header->suspend_moved), 2);
}

static void a_stack_of_a_thread_that_was_resumed_meanwhile_is_not_used_S46(void **state)
{
    (void)state;
    rig.resume_says = STROBE_LATE;
    pass(1);
    assert_int_equal(walks, 1);
    assert_int_equal(rig_records(&rig, items, ITEMS), 0);
    assert_int_equal(rig_account(&rig, STROBE_KIND_ASYNC).unwind_failed, 1);
}

static void a_thread_without_managed_frames_is_counted_as_not_unwound(void **state)
{
    (void)state;
    depth = 0;
    pass(1);
    assert_int_equal(walks, 1);
    assert_int_equal(rig_records(&rig, items, ITEMS), 0);
    assert_int_equal(rig_account(&rig, STROBE_KIND_ASYNC).requests, 1);
    assert_int_equal(rig_account(&rig, STROBE_KIND_ASYNC).unwind_failed, 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(the_frames_that_the_runtime_found_during_the_stop_are_recorded),
        TEST(equal_walks_are_one_record),
        TEST(frames_put_in_after_the_resume_are_recorded),
        TEST(nothing_is_put_into_what_was_walked_while_the_thread_went_on_S46),
        TEST(a_walk_has_the_stack_from_its_pointer_up),
        TEST(a_walk_has_no_stack_bounds_when_the_thread_is_not_on_its_stack),
        TEST(a_walk_without_registers_has_the_whole_stack),
        TEST(a_cut_walk_is_marked_S3),
        TEST(a_thread_that_turned_out_unfit_is_not_walked_S42),
        TEST(a_stack_of_a_thread_that_was_resumed_meanwhile_is_not_used_S46),
        TEST(a_thread_without_managed_frames_is_counted_as_not_unwound),
    };
    return cmocka_run_group_tests_name("sampler walked", tests, NULL, NULL);
}
