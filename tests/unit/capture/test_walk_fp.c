/* The frame-pointer walk over hand-made stacks: exact when the chain of frames is intact, and safe when it is not
 * (S-3, S-44). */
#include "engine/capture/walk_fp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { WORDS = 1024, FRAMES = 192 };

/* A stack at the arbitrary address BASE. */
static const uint64_t BASE = 0x7fff00000000u;
static uint64_t memory[WORDS];
static uint64_t frames[FRAMES + 1];
static uint32_t count;

static struct strobe_window window_of(uint64_t low, uint64_t high)
{
    return (struct strobe_window){BASE + low, BASE + high, (uint64_t)(uintptr_t)memory - BASE, 0};
}

static void lay(size_t word, uint64_t next, uint64_t return_address)
{
    memory[word] = next;
    memory[word + 1] = return_address;
}

static enum strobe_walk_end walk(uint64_t fp, uint32_t max)
{
    struct strobe_window w = window_of(0, sizeof memory);
    return strobe_walk_fp(&w, fp, frames + FRAMES, max, &count);
}

/* A chain of n records, four words apart, the outermost with next = 0. */
static void lay_chain(uint32_t n)
{
    memset(memory, 0, sizeof memory);
    for (uint32_t i = 0; i < n; i++)
        lay(4 * i, i + 1 < n ? BASE + 32 * (i + 1) : 0, 0x1000 + i);
}

static int setup(void **state)
{
    (void)state;
    memset(memory, 0, sizeof memory);
    memset(frames, 0, sizeof frames);
    return 0;
}

static void a_good_chain_gives_all_frames_outermost_first(void **state)
{
    (void)state;
    lay_chain(40);
    assert_int_equal(walk(BASE, FRAMES), STROBE_WALK_ROOT);
    assert_int_equal(count, 40);
    for (uint32_t i = 0; i < 40; i++)
        assert_int_equal(frames[FRAMES - 40 + i], 0x1000 + 39 - i);
}

/* Start code leaves such a record, without a return address. */
static void a_record_without_a_return_address_ends_the_stack_and_is_no_frame(void **state)
{
    (void)state;
    lay_chain(3);
    lay(8, BASE + 96, 0);
    assert_int_equal(walk(BASE, FRAMES), STROBE_WALK_ROOT);
    assert_int_equal(count, 2);
}

static void a_stack_deeper_than_wanted_keeps_the_innermost_frames_and_is_marked_S3(void **state)
{
    (void)state;
    lay_chain(129);
    assert_int_equal(walk(BASE, 128), STROBE_WALK_CUT);
    assert_int_equal(count, 128);
    assert_int_equal(frames[FRAMES - 1], 0x1000);
    assert_int_equal(frames[FRAMES - 128], 0x1000 + 127);
    lay_chain(128);
    assert_int_equal(walk(BASE, 128), STROBE_WALK_ROOT);
    assert_int_equal(count, 128);
}

static void a_loop_ends_the_walk_S44(void **state)
{
    (void)state;
    lay(0, BASE + 64, 0x1);
    lay(8, BASE, 0x2);
    assert_int_equal(walk(BASE, FRAMES), STROBE_WALK_DOUBTFUL);
    assert_int_equal(count, 2);
    lay(0, BASE, 0x1);
    assert_int_equal(walk(BASE, FRAMES), STROBE_WALK_DOUBTFUL);
    assert_int_equal(count, 1);
}

static void a_misaligned_wild_or_foreign_pointer_ends_the_walk_S44(void **state)
{
    static const uint64_t bad[] = {3, 0x10, 0x4141414141414141, 0xffffffffffffffff, 0xfffffffffffffff8};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lay(0, bad[i], 0x1);
        assert_int_equal(walk(BASE, FRAMES), STROBE_WALK_DOUBTFUL);
        assert_int_equal(count, 1);
    }
    lay(0, BASE + 12, 0x1); /* inside the window, but misaligned */
    assert_int_equal(walk(BASE, FRAMES), STROBE_WALK_DOUBTFUL);
    assert_int_equal(count, 1);
    lay(0, BASE + sizeof memory - 8, 0x1); /* only half of it is in the window */
    assert_int_equal(walk(BASE, FRAMES), STROBE_WALK_DOUBTFUL);
    assert_int_equal(count, 1);
}

static void a_pointer_outside_the_window_gives_no_frame(void **state)
{
    (void)state;
    static const uint64_t bad[] = {0, 8, 0x7ffeffffffff, 0x7fff00000001, 0xffffffffffffffff};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(walk(bad[i], FRAMES), STROBE_WALK_DOUBTFUL);
        assert_int_equal(count, 0);
    }
    struct strobe_window tiny = window_of(0, 8), empty = window_of(16, 16);
    strobe_walk_fp(&tiny, BASE, frames + FRAMES, FRAMES, &count);
    assert_int_equal(count, 0);
    strobe_walk_fp(&empty, BASE + 16, frames + FRAMES, FRAMES, &count);
    assert_int_equal(count, 0);
}

/* both bounds count. A record may begin at the lowest byte or end at the highest, and may fill the window. */
static void records_at_the_very_bounds_are_in_the_window(void **state)
{
    enum { LOW = 64, HIGH = 160, RECORD = sizeof(struct strobe_frame_record) };
    (void)state;
    struct strobe_window w = window_of(LOW, HIGH), one = window_of(LOW, LOW + RECORD);
    lay(LOW / 8, BASE + HIGH - RECORD, 0x1);
    lay((HIGH - RECORD) / 8, 0, 0x2);
    assert_int_equal(strobe_walk_fp(&w, BASE + LOW, frames + FRAMES, FRAMES, &count), STROBE_WALK_ROOT);
    assert_int_equal(count, 2);
    lay(LOW / 8, BASE + HIGH - RECORD + 8, 0x1); /* one word beyond the bound */
    assert_int_equal(strobe_walk_fp(&w, BASE + LOW, frames + FRAMES, FRAMES, &count), STROBE_WALK_DOUBTFUL);
    assert_int_equal(count, 1);
    strobe_walk_fp(&w, BASE + LOW - 8, frames + FRAMES, FRAMES, &count);
    assert_int_equal(count, 0);
    strobe_walk_fp(&one, BASE + LOW, frames + FRAMES, FRAMES, &count);
    assert_int_equal(count, 1);
}

#if defined(__x86_64__)
/* a stack dumped from a thread in `sum`, with its registers. It has five frames, given by their return addresses.
 * The other words are locals, arguments and an old record. */
static void a_dumped_stack_of_five_frames_is_walked_offline(void **state)
{
    static const uint64_t dump[] = {
        0x0000000000000007, 0x000055d0c0de1020, /* sum: locals */
        0x00007fff00000040, 0x000055d0c0de12a4, /* 0x10: sum's record: back into add_all */
        0x00007fff00000010, 0x000055d0c0de12a4, /* an old record among add_all's locals */
        0x0000000000000003, 0x0000000000000000, 0x00007fff00000060, 0x000055d0c0de1388, /* 0x40: add_all's: back into
                                                                                           total */
        0x0000000000000001, 0x000055d0c0de9000, 0x00007fff00000090, 0x000055d0c0de1405, /* 0x60: total's: back into
                                                                                           report */
        0x00007fff000000b8, 0x0000000000000010, 0x0000000000000000, 0x0000000000000000, 0x00007fff000000b0,
        0x000055d0c0de14f1, /* 0x90: report's: back into main */
        0x0000000000000001, 0x00007fff00000100, 0x0000000000000001, 0x00007f11ab827249, /* 0xb0: main's: back into start
                                                                                           code, which has no record */
        0x0000000000000000, 0x000055d0c0de14c0,
    };
    static const uint64_t callers[] = {0x7f11ab827249, 0x55d0c0de14f1, 0x55d0c0de1405, 0x55d0c0de1388, 0x55d0c0de12a4};
    (void)state;
    struct strobe_window w = {BASE, BASE + sizeof dump, (uint64_t)(uintptr_t)dump - BASE, BASE + 0xb0};
    assert_int_equal(strobe_walk_fp(&w, BASE + 0x10, frames + FRAMES, FRAMES, &count), STROBE_WALK_ROOT);
    assert_int_equal(count, 5);
    assert_memory_equal(frames + FRAMES - 5, callers, sizeof callers);
}

/* the instructions of prologues and epilogues; the caller's address is in another place at each of them. */
static void each_form_of_a_prologue_shows_where_the_caller_is(void **state)
{
    static const struct {
        uint8_t code[8];
        size_t bytes;
        int off;
    } forms[] = {
        {{0xf3, 0x0f, 0x1e, 0xfa}, 4, 0},  /* endbr64: before the frame is made */
        {{0x55, 0x48, 0x89, 0xe5}, 4, 0},  /* push %rbp: nothing is saved yet */
        {{0x48, 0x89, 0xe5, 0x53}, 4, 8},  /* mov %rsp,%rbp: the caller's frame pointer is below */
        {{0xc3}, 1, 0},                    /* ret: the frame is removed */
        {{0x48, 0x83, 0xec, 0x10}, 4, -1}, /* sub: the record is in place */
        {{0xc9, 0xc3}, 2, -1},             /* leave: the record is still in place */
        {{0xf3, 0x0f, 0x1e}, 3, -1},       /* not enough bytes */
        {{0x48, 0x89}, 2, -1},
        {{0}, 0, -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        uint64_t slot = 0;
        int found = strobe_walk_leaf_slot(BASE, forms[i].code, forms[i].bytes, &slot);
        assert_int_equal(found, forms[i].off >= 0);
        assert_int_equal(slot, forms[i].off >= 0 ? BASE + (uint64_t)forms[i].off : 0);
    }
}
#endif

static void a_chain_that_breaks_in_the_outermost_code_is_whole(void **state)
{
    (void)state;
    lay_chain(5);
    memory[16] = 0x4141; /* the outermost record's saved pointer: any value of start code */
    struct strobe_window w = window_of(0, sizeof memory);
    w.root = BASE + 4 * 32;
    assert_int_equal(strobe_walk_fp(&w, BASE, frames + FRAMES, FRAMES, &count), STROBE_WALK_ROOT);
    assert_int_equal(count, 5);
    w.root = BASE + 5 * 32;
    assert_int_equal(strobe_walk_fp(&w, BASE, frames + FRAMES, FRAMES, &count), STROBE_WALK_DOUBTFUL);
}

static void random_memory_is_never_read_outside_the_window(void **state)
{
    (void)state;
    const char *given = getenv("SEED");
    unsigned seed = given ? (unsigned)atol(given) : (unsigned)time(NULL);
    srand(seed);
    for (int round = 0; round < 20000; round++) {
        /* Many words point into the window, so that chains form. The memory around the window holds poison, which shows
         * when a walk follows it. */
        size_t low = (size_t)rand() % 64, high = low + 2 + (size_t)rand() % 128;
        for (size_t i = 0; i < WORDS; i++)
            memory[i] = 0xdead;
        for (size_t i = low; i < high; i++)
            memory[i] = rand() % 4 ? BASE + 8 * (low + (size_t)rand() % (high - low)) : (uint64_t)rand();
        struct strobe_window w = window_of(8 * low, 8 * high);
        strobe_walk_fp(&w, BASE + 8 * (low + (size_t)rand() % (high - low)), frames + FRAMES, FRAMES, &count);
        for (uint32_t i = 1; i <= count; i++)
            if (frames[FRAMES - i] == 0xdead)
                fail_msg("followed a pointer out of the window; repeat with SEED=%u", seed);
    }
}

static void a_function_without_its_frame_yet_shows_where_its_caller_is(void **state)
{
    (void)state;
#ifdef __x86_64__
    static const struct {
        uint8_t code[4];
        uint64_t slot;
    } cases[] = {
        {{0xf3, 0x0f, 0x1e, 0xfa}, 0x100}, /* endbr64: at entry, the return address is on top */
        {{0x55, 0x48, 0x89, 0xe5}, 0x100}, /* push %rbp */
        {{0x48, 0x89, 0xe5, 0x41}, 0x108}, /* mov %rsp,%rbp: below the saved pointer */
        {{0xc3, 0x90, 0x90, 0x90}, 0x100}, /* ret */
        {{0x48, 0x83, 0xec, 0x10}, 0},     /* sub: the frame is complete */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t slot = 0;
        assert_int_equal(strobe_walk_leaf_slot(0x100, cases[i].code, 4, &slot), cases[i].slot != 0);
        assert_int_equal(slot, cases[i].slot);
    }
#else
    skip();
#endif
}

static void signed_return_addresses_and_marked_frame_pointers_are_read_without_that(void **state)
{
    (void)state;
#ifdef STROBE_FRAMES_ARM64
    lay_chain(4);
    memory[5] |= (uint64_t)0x7a5b << 48;
    memory[8] |= (uint64_t)1 << 60; /* as Swift's async functions do */
    assert_int_equal(walk(BASE | (uint64_t)1 << 60, FRAMES), STROBE_WALK_ROOT);
    assert_int_equal(count, 4);
    assert_int_equal(frames[FRAMES - 2], 0x1001);
    memory[8] |= (uint64_t)1 << 61;
    assert_int_equal(walk(BASE, FRAMES), STROBE_WALK_DOUBTFUL);
#else
    skip();
#endif
}

/* A real chain: the stack of this test. */
static __attribute__((noinline)) uint32_t recurse(uint32_t depth, uint64_t high)
{
    if (depth) {
        volatile uint32_t found = recurse(depth - 1, high); /* not a tail call, not a loop */
        return found;
    }
    uint64_t fp = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    struct strobe_window w = {fp, high, 0, 0};
    strobe_walk_fp(&w, fp, frames + FRAMES, FRAMES, &count);
    return count;
}

static void a_compilers_own_frames_are_walked(void **state)
{
    (void)state;
    uint64_t high = (uint64_t)(uintptr_t)__builtin_frame_address(0) + 16;
    uint32_t shallow = recurse(3, high), deep = recurse(53, high);
    assert_int_equal(deep - shallow, 50);
    for (uint32_t i = 3; i < 50; i++) /* the recursion returns to one address over and over */
        assert_int_equal(frames[FRAMES - i], frames[FRAMES - 2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_good_chain_gives_all_frames_outermost_first, setup),
        cmocka_unit_test_setup(a_record_without_a_return_address_ends_the_stack_and_is_no_frame, setup),
        cmocka_unit_test_setup(a_stack_deeper_than_wanted_keeps_the_innermost_frames_and_is_marked_S3, setup),
        cmocka_unit_test_setup(a_loop_ends_the_walk_S44, setup),
        cmocka_unit_test_setup(a_misaligned_wild_or_foreign_pointer_ends_the_walk_S44, setup),
        cmocka_unit_test_setup(a_pointer_outside_the_window_gives_no_frame, setup),
        cmocka_unit_test_setup(records_at_the_very_bounds_are_in_the_window, setup),
#if defined(__x86_64__)
        cmocka_unit_test_setup(a_dumped_stack_of_five_frames_is_walked_offline, setup),
        cmocka_unit_test_setup(each_form_of_a_prologue_shows_where_the_caller_is, setup),
#endif
        cmocka_unit_test_setup(a_chain_that_breaks_in_the_outermost_code_is_whole, setup),
        cmocka_unit_test_setup(random_memory_is_never_read_outside_the_window, setup),
        cmocka_unit_test_setup(a_function_without_its_frame_yet_shows_where_its_caller_is, setup),
        cmocka_unit_test_setup(signed_return_addresses_and_marked_frame_pointers_are_read_without_that, setup),
        cmocka_unit_test_setup(a_compilers_own_frames_are_walked, setup),
    };
    return cmocka_run_group_tests_name("walk_fp", tests, NULL, NULL);
}
