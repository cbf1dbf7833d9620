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

static void put(uint32_t at, const void *bytes, size_t count)
{
    memcpy(code + at, bytes, count);
}

/* jmp or call *distance(%rip): the instruction ends at `next`, the pointer is at `pointer`. */
static void through_memory(uint8_t opcode, uint32_t next, uint32_t pointer, uint32_t to)
{
    uint32_t distance = pointer - next;
    uint64_t target = BASE + to;
    put(next - 6, (const uint8_t[]){0xff, opcode}, 2);
    put(next - 4, &distance, sizeof distance);
    if (pointer + sizeof target <= BYTES)
        put(pointer, &target, sizeof target);
}

enum { CALL_THROUGH = 0x15, JUMP_THROUGH = 0x25 };

static void a_call_whose_target_the_code_or_memory_states_is_proof_S43(void **state)
{
    static const struct {
        uint8_t before[2], after[3];
        size_t count;
        bool proof;
    } through[] = {
        {{0x49, 0xba}, {0x41, 0xff, 0xd2}, 3, true},  /* mov $imm64, %r10; call *%r10 */
        {{0x49, 0xba}, {0x41, 0xff, 0xd3}, 3, false}, /* mov $imm64, %r10; call *%r11 */
        {{0x48, 0xb8}, {0xff, 0xd0}, 2, true},        /* mov $imm64, %rax; call *%rax */
        {{0x48, 0xb8}, {0xff, 0xd1}, 2, false},       /* mov $imm64, %rax; call *%rcx */
        {{0x49, 0xb8}, {0xff, 0xd0}, 2, false},       /* mov $imm64, %r8; call *%rax */
        {{0x48, 0xb8}, {0xff, 0xe0}, 2, false},       /* mov $imm64, %rax; jmp *%rax */
    };
    uint64_t target = BASE + LEAF;
    (void)state;
    for (size_t i = 0; i < sizeof through / sizeof *through; i++) {
        uint32_t end = CALL + CALL_BYTES, begin = end - (uint32_t)through[i].count - 10;
        fill();
        put(begin, through[i].before, 2);
        put(begin + 2, &target, sizeof target);
        put(begin + 10, through[i].after, through[i].count);
        assert_int_equal(proven(LEAF + 8), through[i].proof);
    }
    fill();
    through_memory(CALL_THROUGH, CALL + CALL_BYTES, 0x900, LEAF);
    assert_true(proven(LEAF + 8));
    through_memory(CALL_THROUGH, CALL + CALL_BYTES, BYTES - 4, LEAF);
    assert_false(proven(LEAF + 8)); /* half of the pointer cannot be read */
}

static void a_call_through_a_linkage_table_is_proof_S43(void **state)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    (void)state;
    call(CALL, 0xa00);
    jump(0xa00, LEAF);
    assert_true(proven(LEAF + 8));
    put(0xa00, endbr64, sizeof endbr64);
    jump(0xa04, LEAF);
    assert_true(proven(LEAF + 8));
    through_memory(JUMP_THROUGH, 0xa0a, 0x900, LEAF);
    assert_true(proven(LEAF + 8));
    through_memory(JUMP_THROUGH, 0xa0a, 0x900, 0xb00);
    jump(0xb00, LEAF);
    assert_true(proven(LEAF + 8));
    jump(0xb00, 0xc00);
    jump(0xc00, LEAF);
    assert_false(proven(LEAF + 8)); /* more jumps than a table and a stub make */
    through_memory(JUMP_THROUGH, 0xa0a, BYTES, 0);
    assert_false(proven(LEAF + 8));
    put(0xa04, (const uint8_t[]){0xff, 0x35}, 2); /* push disp32(%rip) */
    assert_false(proven(LEAF + 8));
}

static void between_two_instructions_only_a_function_is_stopped(void **state)
{
    static const uint8_t mov[] = {0x89, 0x7c, 0x24, 0xfc};
    (void)state;
    put(LEAF, mov, sizeof mov);
    assert_true(proven(LEAF + 4));
    assert_false(proven(LEAF + 2));
}

static void code_that_cannot_be_read_proves_nothing(void **state)
{
    uint64_t frames[4];
    struct strobe_window nothing = {0};
    struct strobe_regs regs = {.pc = BASE + BYTES + 0x20, .lr = BASE + CALL + CALL_BYTES};
    uint32_t count;
    (void)state;
    call(CALL, BYTES + 0x10);
    assert_false(proven(BYTES + 0x20));
    strobe_unwinder_fp.copied(&host, &regs, &nothing, frames + 4, 4, &count);
    assert_int_equal(count, 1);
}

static void a_proven_caller_is_the_second_frame_when_there_is_room(void **state)
{
    uint64_t frames[4] = {0}, words[2] = {BASE + CALL + CALL_BYTES};
    struct strobe_window w = {0x7ffe0000, 0x7ffe0010, (uint64_t)(uintptr_t)words - 0x7ffe0000, 0};
    const struct {
        uint64_t sp, lr;
        uint32_t most, count;
    } cases[] = {
        {0, BASE + CALL + CALL_BYTES, 4, 2},
        {0, BASE + CALL + CALL_BYTES, 1, 1},
        {0x7ffe0000, 0, 4, 2},
        {0x7ffe0008, 0, 4, 1},
        {0x7ffdfff8, 0, 4, 1},
        {0x7ffe000c, 0, 4, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strobe_regs regs = {.pc = BASE + LEAF, .sp = cases[i].sp, .lr = cases[i].lr};
        uint32_t count;
        strobe_unwinder_fp.copied(&host, &regs, &w, frames + 4, cases[i].most, &count);
        assert_int_equal(count, cases[i].count);
        assert_int_equal(frames[3], BASE + LEAF + 1);
        assert_true(count < 2 || frames[2] == BASE + CALL + CALL_BYTES);
    }
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
        TEST(a_call_whose_target_the_code_or_memory_states_is_proof_S43),
        TEST(a_call_through_a_linkage_table_is_proof_S43),
        TEST(between_two_instructions_only_a_function_is_stopped),
        TEST(code_that_cannot_be_read_proves_nothing),
        TEST(a_proven_caller_is_the_second_frame_when_there_is_room),
#endif
    };
    return cmocka_run_group_tests_name("leaf", tests, NULL, NULL);
}
