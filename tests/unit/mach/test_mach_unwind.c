/* Stacks of stopped threads on Mach, walked in place and completed after the resume: exact when the chain of frames is
 * intact, safe and flagged when it is not (S-43, S-44). This test has x86-64 code; tests/emulate/frames has arm64 code.
 * */
#include "engine/backend/mach/host_mach.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A stack, and code at CODE: one call to LEAF, which keeps no frame. */
enum { WORDS = 512, FRAMES = 64, CODE = 0x400000, LEAF = CODE + 0x200, BACK = CODE + 0x45, DEPTH = 5 };
static uint64_t memory[WORDS], frames[FRAMES];
static uint8_t code[0x1000];
static struct strobe_mach_host mach;
static struct strobe_regs regs;
static struct strobe_window stack;
static struct strobe_stack_top top;
static uint32_t count, reads;

static enum strobe_status read_any(void *ctx, uint64_t address, void *out, size_t bytes, size_t *copied)
{
    const uint64_t low = (uint64_t)(uintptr_t)memory, high = low + sizeof memory;
    bool in_stack = address >= low && address < high, in_code = address >= CODE && address < CODE + sizeof code;
    uint64_t left = in_stack ? high - address : in_code ? CODE + sizeof code - address : 0;
    (void)ctx;
    reads++;
    *copied = bytes < left ? bytes : (size_t)left;
    if (!left)
        return STROBE_UNREADABLE;
    memcpy(out, in_stack ? (const char *)(uintptr_t)address : (const char *)code + (address - CODE), *copied);
    return STROBE_OK;
}

static uint64_t at(uint32_t word)
{
    return (uint64_t)(uintptr_t)&memory[word];
}

/* Lays DEPTH records, eight words apart, from the 16th word on. The stopped function has a record. */
static int start(void **state)
{
    (void)state;
    memset(memory, 0, sizeof memory);
    memset(code, 0x90, sizeof code);
    memset(frames, 0xee, sizeof frames);
#ifdef __aarch64__
    static const uint32_t bl = 0x94000000; /* a call instruction: the calling function has a record */
    memcpy(code + 0x800, &bl, sizeof bl);
#endif
    for (uint32_t i = 0; i < DEPTH; i++) {
        memory[16 + 8 * i] = i + 1 < DEPTH ? at(16 + 8 * (i + 1)) : 0;
        memory[17 + 8 * i] = CODE + 0x100 + i;
    }
    mach = (struct strobe_mach_host){.host = {.read = read_any}};
    mach.host.ctx = &mach;
    strobe_hold_begin(&mach.hold, 7, 1000);
    regs = (struct strobe_regs){.pc = CODE + 0x800, .sp = at(8), .fp = at(16)};
    stack = (struct strobe_window){.low = at(8), .high = at(WORDS)};
    top = (struct strobe_stack_top){0};
    reads = 0;
    return 0;
}

static enum strobe_walk_end stop(uint32_t max)
{
    return strobe_unwinder_mach.stopped(&mach.host, &regs, &stack, &top, frames + FRAMES, max, &count);
}

/* Between the two halves of the walk, the thread runs again and overwrites its stack. */
static enum strobe_walk_end take(uint32_t max)
{
    enum strobe_walk_end end = stop(max);
    memset(memory, 0x5a, sizeof memory);
    return strobe_unwinder_mach.resumed(&mach.host, &regs, &top, end, frames + FRAMES, max, &count);
}

static uint64_t frame(uint32_t from_inside)
{
    return frames[FRAMES - 1 - from_inside];
}

static void the_chain_is_taken_in_place_without_a_call_of_the_host(void **state)
{
    (void)state;
    assert_int_equal(stop(FRAMES), STROBE_WALK_ROOT);
    assert_int_equal(reads, 0);
    assert_int_equal(count, DEPTH + 1);
    assert_int_equal(frame(0), regs.pc + 1);
    for (uint32_t i = 0; i < DEPTH; i++)
        assert_int_equal(frame(1 + i), CODE + 0x100 + i);
}

static void a_function_with_a_record_gets_no_caller_put_in_S43(void **state)
{
    (void)state;
    assert_int_equal(take(FRAMES), STROBE_WALK_ROOT);
    assert_int_equal(count, DEPTH + 1);
    assert_int_equal(frame(1), CODE + 0x100);
}

#ifdef __x86_64__
/* call LEAF, at CODE + 0x40; LEAF's return address on top of the stack. */
static void stop_in_leaf(void)
{
    uint32_t distance = LEAF - BACK;
    code[0x40] = 0xe8;
    memcpy(code + 0x41, &distance, sizeof distance);
    memory[8] = BACK;
    regs.pc = LEAF + 3;
}

static void the_caller_of_a_leaf_is_that_of_the_stop_S43(void **state)
{
    (void)state;
    stop_in_leaf();
    assert_int_equal(take(FRAMES), STROBE_WALK_ROOT);
    assert_int_equal(count, DEPTH + 2);
    assert_int_equal(frame(0), LEAF + 4);
    assert_int_equal(frame(1), BACK);
    assert_int_equal(frame(2), CODE + 0x100);
    assert_int_equal(frame(DEPTH + 1), CODE + 0x100 + DEPTH - 1);
}

static void a_function_that_has_just_begun_or_is_about_to_return_has_its_caller_on_top_S43(void **state)
{
    (void)state;
    static const uint8_t set_frame[] = {0x48, 0x89, 0xe5};
    memory[8] = BACK;
    code[0x800] = 0x55; /* push %rbp */
    take(FRAMES);
    assert_int_equal(frame(1), BACK);
    start(NULL);
    memory[9] = BACK;
    memcpy(code + 0x800, set_frame, sizeof set_frame);
    take(FRAMES);
    assert_int_equal(frame(1), BACK);
}
#endif

static void a_stack_deeper_than_wanted_keeps_the_innermost_frames_and_is_marked(void **state)
{
    (void)state;
    assert_int_equal(take(3), STROBE_WALK_CUT);
    assert_int_equal(count, 3);
    assert_int_equal(frame(2), CODE + 0x101);
    assert_int_equal(frame(3), 0xeeeeeeeeeeeeeeee);
}

#ifdef __x86_64__
static void a_caller_put_in_takes_the_place_of_the_outermost_frame(void **state)
{
    (void)state;
    stop_in_leaf();
    assert_int_equal(take(DEPTH + 1), STROBE_WALK_CUT);
    assert_int_equal(count, DEPTH + 1);
    assert_int_equal(frame(1), BACK);
    assert_int_equal(frame(DEPTH), CODE + 0x100 + DEPTH - 2);
    assert_int_equal(frame(DEPTH + 1), 0xeeeeeeeeeeeeeeee);
    for (uint32_t max = 0; max < 3; max++) {
        start(NULL);
        stop_in_leaf();
        assert_int_equal(take(max), STROBE_WALK_CUT);
        assert_int_equal(count, max);
        assert_int_equal(frame(max), 0xeeeeeeeeeeeeeeee);
    }
}
#endif

static void a_bad_chain_ends_at_its_fault_and_is_doubtful_S44(void **state)
{
    (void)state;
    const uint64_t bad[] = {at(16),        at(8), at(24) + 2, at(24) + 4,        at(WORDS),
                            at(WORDS) - 8, 8,     UINT64_MAX, 0x4141414141414141};
    for (uint32_t known = 0; known < 2; known++)
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            start(NULL);
            if (!known)
                stack = (struct strobe_window){0};
            memory[16] = bad[i];
            assert_int_equal(take(FRAMES), STROBE_WALK_DOUBTFUL);
            assert_int_equal(count, 2);
            start(NULL);
            if (!known)
                stack = (struct strobe_window){0};
            regs.fp = bad[i];
            if (regs.fp != at(16) && regs.fp != at(8)) {
                assert_int_equal(take(FRAMES), STROBE_WALK_DOUBTFUL);
                assert_int_equal(count, 1);
            }
        }
}

#ifdef __x86_64__
static void a_stack_whose_bounds_are_not_known_is_read_safely_and_in_few_pieces_S41(void **state)
{
    (void)state;
    stack = (struct strobe_window){0};
    stop_in_leaf();
    assert_int_equal(stop(FRAMES), STROBE_WALK_ROOT);
    assert_int_equal(count, DEPTH + 1);
    assert_true(reads > 0 && reads <= 3);
    start(NULL);
    stack = (struct strobe_window){0};
    stop_in_leaf();
    assert_int_equal(take(FRAMES), STROBE_WALK_ROOT);
    assert_int_equal(count, DEPTH + 2);
    assert_int_equal(frame(1), BACK);
}
#endif

static void a_thread_that_is_no_longer_stopped_is_not_walked_S46(void **state)
{
    (void)state;
    assert_int_equal(strobe_hold_claim(&mach.hold), 7);
    assert_int_equal(take(FRAMES), STROBE_WALK_DOUBTFUL);
    assert_int_equal(count, 0);
    assert_int_equal(top.bytes, 0);
    assert_int_equal(frame(0), 0xeeeeeeeeeeeeeeee);
}

static void a_walked_thread_is_resumed_as_before(void **state)
{
    (void)state;
    stop(FRAMES);
    assert_int_equal(strobe_load_relaxed(&mach.hold.since), 1000);
}

static void a_threads_first_instruction_has_no_caller_and_no_doubt(void **state)
{
    (void)state;
    regs.fp = 0;
    assert_int_equal(take(FRAMES), STROBE_WALK_ROOT);
    assert_int_equal(count, 1);
}

static void no_more_of_the_stack_is_kept_than_there_is(void **state)
{
    (void)state;
    regs.sp = at(WORDS - 4);
    regs.fp = 0;
    stack.low = regs.sp;
    stop(FRAMES);
    assert_int_equal(top.low, at(WORDS - 4));
    assert_int_equal(top.bytes, 32);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, start)
    const struct CMUnitTest tests[] = {
        TEST(the_chain_is_taken_in_place_without_a_call_of_the_host),
        TEST(a_function_with_a_record_gets_no_caller_put_in_S43),
#ifdef __x86_64__
        TEST(the_caller_of_a_leaf_is_that_of_the_stop_S43),
        TEST(a_function_that_has_just_begun_or_is_about_to_return_has_its_caller_on_top_S43),
        TEST(a_caller_put_in_takes_the_place_of_the_outermost_frame),
        TEST(a_stack_whose_bounds_are_not_known_is_read_safely_and_in_few_pieces_S41),
#endif
        TEST(a_stack_deeper_than_wanted_keeps_the_innermost_frames_and_is_marked),
        TEST(a_bad_chain_ends_at_its_fault_and_is_doubtful_S44),
        TEST(a_thread_that_is_no_longer_stopped_is_not_walked_S46),
        TEST(a_walked_thread_is_resumed_as_before),
        TEST(a_threads_first_instruction_has_no_caller_and_no_doubt),
        TEST(no_more_of_the_stack_is_kept_than_there_is),
    };
    return cmocka_run_group_tests_name("mach unwind", tests, NULL, NULL);
}
