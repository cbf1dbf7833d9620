/* The caller of a leaf function is accepted only when the code proves it (S-43). */
#include "engine/capture/engine.h"
#include "engine/capture/leaf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Code of two functions at BASE: a caller that calls at CALL, and a leaf that begins at LEAF. */
enum { BASE = 0x400000, CALL = 0x40, LEAF = 0x200, BYTES = 0x1000 };
static uint8_t code[BYTES];

static enum strobe_status read_code(void *ctx, uint64_t address, void *out, size_t bytes, size_t *copied)
{
    (void)ctx;
    *copied = 0;
    if (address < BASE || address >= BASE + BYTES)
        return STROBE_UNREADABLE;
    *copied = bytes < BASE + BYTES - address ? bytes : (size_t)(BASE + BYTES - address);
    memcpy(out, code + (address - BASE), *copied);
    return STROBE_OK;
}

static const struct strobe_host host = {.read = read_code};

#if defined(__aarch64__)
enum { CALL_BYTES = 4 };
/* stp x29, x30, [sp, #-16]!; nop; blr x0 */
static const uint32_t stp = 0xa9bf7bfd, nop = 0xd503201f, blr = 0xd63f0000;

static void put(uint32_t at, uint32_t word)
{
    memcpy(code + at, &word, sizeof word);
}
static void fill(void)
{
    for (uint32_t i = 0; i < BYTES; i += 4)
        put(i, nop);
}
static void call(uint32_t at, uint32_t to)
{
    put(at, 0x94000000u | ((to - at) / 4 & 0x03ffffff));
}
static void jump(uint32_t at, uint32_t to)
{
    put(at, 0x14000000u | ((to - at) / 4 & 0x03ffffff));
}
static void call_through_pointer(uint32_t at)
{
    put(at, blr);
}
static void set_frame(uint32_t at)
{
    put(at, stp);
}
#else
enum { CALL_BYTES = 5 };

static void fill(void)
{
    memset(code, 0x90, sizeof code);
}
static void call(uint32_t at, uint32_t to)
{
    uint32_t distance = to - (at + CALL_BYTES);
    code[at] = 0xe8;
    memcpy(code + at + 1, &distance, sizeof distance);
}
static void jump(uint32_t at, uint32_t to)
{
    call(at, to);
    code[at] = 0xe9;
}
static void call_through_pointer(uint32_t at)
{
    static const uint8_t through_rax[] = {0x90, 0x90, 0x90, 0xff, 0xd0};
    memcpy(code + at, through_rax, sizeof through_rax);
}
static void set_frame(uint32_t at)
{
    static const uint8_t both[] = {0x55, 0x48, 0x89, 0xe5};
    memcpy(code + at, both, sizeof both);
}
#endif

static int start(void **state)
{
    (void)state;
    fill();
    call(CALL, LEAF);
    return 0;
}

static bool proven(uint32_t pc)
{
    return strobe_leaf_proven(&host, BASE + pc, BASE + CALL + CALL_BYTES);
}

static void a_direct_call_to_the_stopped_function_is_proof(void **state)
{
    (void)state;
    assert_true(proven(LEAF));
    assert_true(proven(LEAF + 0x20));
    assert_true(proven(LEAF + STROBE_LEAF_BYTES_MAX));
}

static void a_backward_call_is_proof_as_well(void **state)
{
    (void)state;
    call(0x800, LEAF);
    assert_true(strobe_leaf_proven(&host, BASE + LEAF + 8, BASE + 0x800 + CALL_BYTES));
}

static void a_function_that_sets_up_a_frame_has_a_frame_record(void **state)
{
    (void)state;
    set_frame(LEAF);
    assert_false(proven(LEAF + 0x20));
}

static void a_function_behind_the_called_one_is_not_the_called_one(void **state)
{
    (void)state;
    set_frame(LEAF + 0x80); /* the next function begins there */
    assert_true(proven(LEAF + 0x40));
    assert_false(proven(LEAF + 0xa0));
}

static void a_call_of_another_function_proves_nothing(void **state)
{
    (void)state;
    assert_false(proven(LEAF - 4));
    assert_false(proven(LEAF + STROBE_LEAF_BYTES_MAX + 4));
}

static void a_call_through_a_pointer_proves_nothing(void **state)
{
    (void)state;
    call_through_pointer(CALL);
    assert_false(proven(LEAF + 0x20));
}

static void a_jump_to_the_function_proves_nothing(void **state)
{
    (void)state;
    jump(CALL, LEAF);
    assert_false(proven(LEAF + 0x20));
}

static void what_is_no_code_proves_nothing(void **state)
{
    (void)state;
    assert_false(strobe_leaf_proven(&host, BASE + LEAF, 0));
    assert_false(strobe_leaf_proven(&host, BASE + LEAF, 7));
    assert_false(strobe_leaf_proven(&host, BASE + LEAF, UINT64_MAX));
    assert_false(strobe_leaf_proven(&host, BASE + LEAF, 0x7fff00001000));
}

/* Frames are return addresses: the resolver looks up the instruction before the address. */
static void the_innermost_frame_is_the_byte_behind_the_stopped_instructions_first(void **state)
{
    struct strobe_window nothing = {0};
    struct strobe_regs regs = {.pc = BASE + LEAF};
    uint64_t frames[2];
    uint32_t count;
    (void)state;
    strobe_unwinder_fp.copied(&host, &regs, &nothing, frames + 2, 2, &count);
    assert_int_equal(count, 1);
    assert_int_equal(frames[1], BASE + LEAF + 1);
}

#if defined(__x86_64__)
/* The copy of the stack ends at the saved frame pointer. The word behind it in memory is not part of the stack. */
static void a_word_beyond_the_copied_stack_is_no_caller_S41(void **state)
{
    static const uint8_t mov_rsp_rbp[] = {0x48, 0x89, 0xe5};
    uint64_t memory[] = {0x7fff0000, BASE + CALL}, frames[8];
    struct strobe_window w = {0x7ffe0000, 0x7ffe0008, (uint64_t)(uintptr_t)memory - 0x7ffe0000, 0};
    struct strobe_regs regs = {.pc = BASE + LEAF, .sp = 0x7ffe0000};
    uint32_t count;
    (void)state;
    memcpy(code + LEAF, mov_rsp_rbp, sizeof mov_rsp_rbp);
    strobe_unwinder_fp.copied(&host, &regs, &w, frames + 8, 8, &count);
    assert_int_equal(count, 1);
    w.high += 8;
    strobe_unwinder_fp.copied(&host, &regs, &w, frames + 8, 8, &count);
    assert_int_equal(count, 2);
    assert_int_equal(frames[6], BASE + CALL);
}
#endif

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, start)
    const struct CMUnitTest tests[] = {
        TEST(a_direct_call_to_the_stopped_function_is_proof),
        TEST(a_backward_call_is_proof_as_well),
        TEST(a_function_that_sets_up_a_frame_has_a_frame_record),
        TEST(a_function_behind_the_called_one_is_not_the_called_one),
        TEST(a_call_of_another_function_proves_nothing),
        TEST(a_call_through_a_pointer_proves_nothing),
        TEST(a_jump_to_the_function_proves_nothing),
        TEST(what_is_no_code_proves_nothing),
        TEST(the_innermost_frame_is_the_byte_behind_the_stopped_instructions_first),
#if defined(__x86_64__)
        TEST(a_word_beyond_the_copied_stack_is_no_caller_S41),
#endif
    };
    return cmocka_run_group_tests_name("leaf", tests, NULL, NULL);
}
