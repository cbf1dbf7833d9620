/* Rules from fabricated ARM and Thumb code. tests/armv7 compares stacks of compilers' code; here each kind of
 * instruction, and code that leads nowhere. */
#include "engine/backend/linux/arm_code.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <string.h>
#include <cmocka.h>

enum { START = 0x10000, BYTES = 2048, THUMB = 0x20, CARRY = 1 << 29 };

static uint8_t bytes[BYTES];
static size_t used;

static enum strobe_status read_code(void *ctx, uint64_t address, void *out, size_t count, size_t *copied)
{
    (void)ctx;
    *copied = 0;
    if (address < START || address - START >= used)
        return STROBE_UNREADABLE;
    *copied = count < used - (address - START) ? count : used - (size_t)(address - START);
    memcpy(out, bytes + (address - START), *copied);
    return STROBE_OK;
}

static const struct strobe_host host = {.read = read_code};

/* What the table says: a frame that no code of this test has. */
static const struct strobe_unwind_rule whole = {.kind = STROBE_UNWIND_FRAME, .base = STROBE_ARM_SP, .cfa = 7777};

static void put_thumb(const uint16_t *code, size_t count)
{
    used = count * sizeof *code;
    memcpy(bytes, code, used);
}

static void put_arm(const uint32_t *code, size_t count)
{
    used = count * sizeof *code;
    memcpy(bytes, code, used);
}

#define PUT_THUMB(...) put_thumb((const uint16_t[]){__VA_ARGS__}, sizeof((const uint16_t[]){__VA_ARGS__}) / 2)
#define PUT_ARM(...)   put_arm((const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

static struct strobe_unwind_rule rule_with(uint64_t offset, uint32_t state, uint64_t lr)
{
    struct strobe_arm_place place = {
        .pc = START + offset, .start = START, .end = START + used, .lr = lr, .state = state};
    return strobe_arm_code_rule(&host, &place, &whole);
}

static struct strobe_unwind_rule thumb_rule(uint64_t offset)
{
    return rule_with(offset, THUMB, 0);
}

/* Checks the frame, and where the return address is: words from the canonical frame address; 0: in its register. */
static void check(struct strobe_unwind_rule r, uint8_t base, int32_t cfa, int ra_at)
{
    assert_int_equal(r.kind, STROBE_UNWIND_FRAME);
    assert_int_equal(r.base, base);
    assert_int_equal(r.cfa, cfa);
    assert_int_equal(r.ra, ra_at ? STROBE_SAVED_AT_CFA : STROBE_SAVED_SAME);
    assert_int_equal(r.ra_at, ra_at);
}

#define SP STROBE_ARM_SP

static void a_thumb_function_is_followed_from_its_push_to_its_pop_S43(void **state)
{
    (void)state;
    /* push {r4, r7, lr}; sub sp, #8; bl far; nop; add sp, #8; pop {r4, r7, pc} */
    PUT_THUMB(0xb590, 0xb082, 0xf100, 0xf800, 0xbf00, 0xb002, 0xbd90);
    check(thumb_rule(0), SP, 0, 0);
    check(thumb_rule(2), SP, 12, -1);
    check(thumb_rule(4), SP, 20, -1);
    check(thumb_rule(8), SP, 20, -1);
    check(thumb_rule(10), SP, 20, -1);
    check(thumb_rule(12), SP, 12, -1);
    assert_int_equal(thumb_rule(12).bx, STROBE_SAVED_AT_CFA);
    assert_int_equal(thumb_rule(12).bx_at, -2);
    assert_int_equal(thumb_rule(4).bx_at, -2);
    assert_int_equal(thumb_rule(0).bx, STROBE_SAVED_SAME);
}

static void wide_instructions_move_the_stack_pointer_S43(void **state)
{
    (void)state;
    /* push.w {r4-r11, lr}; str r0, [sp, #-4]!; vpush {d8, d9}; sub.w sp, sp, #4096; bl far; then the way back */
    PUT_THUMB(0xe92d, 0x4ff0, 0xf84d, 0x0d04, 0xed2d, 0x8b04, 0xf5ad, 0x5d80, 0xf100, 0xf800, 0xf50d, 0x5d80, 0xecbd,
              0x8b04, 0xf85d, 0x0b04, 0xe8bd, 0x8ff0);
    static const int32_t depth[] = {0, 36, 40, 56, 4152, 4152, 56, 40, 36};
    for (unsigned i = 0; i < 9; i++)
        check(thumb_rule(4 * i), SP, depth[i], i ? -1 : 0);
    assert_int_equal(thumb_rule(16).fp_at, -2);
}

static void arm_code_is_followed_S43(void **state)
{
    (void)state;
    /* push {r4, r11, lr}; str r5, [sp, #-4]!; sub sp, sp, #1024; bl far; add sp, sp, #1024; ldr r5, [sp], #4; pop */
    PUT_ARM(0xe92d4810, 0xe52d5004, 0xe24ddb01, 0xeb000400, 0xe28ddb01, 0xe49d5004, 0xe8bd8810);
    static const int32_t depth[] = {0, 12, 16, 1040, 1040, 16, 12};
    for (unsigned i = 0; i < 7; i++)
        check(rule_with(4 * i, 0, 0), SP, depth[i], i ? -1 : 0);
    assert_int_equal(rule_with(24, 0, 0).fp_at, -2);
}

static void a_frame_pointer_gives_the_stack_pointer_back_S43(void **state)
{
    (void)state;
    PUT_THUMB(0xf1a7, 0x0408, 0x46a5, 0xbdd0); /* sub.w r4, r7, #8; mov sp, r4; pop {r4, r6, r7, pc} */
    check(thumb_rule(0), STROBE_ARM_R7, 8, -1);
    check(thumb_rule(6), SP, 16, -1);
    PUT_ARM(0xe24bd008, 0xe8bd8830); /* sub sp, r11, #8; pop {r4, r5, r11, pc} */
    check(rule_with(0, 0, 0), STROBE_ARM_R11, 8, -1);
    PUT_THUMB(0x46a5, 0xbdd0); /* r4 is not known */
    assert_int_equal(thumb_rule(0).cfa, 0);
    PUT_THUMB(0xbf00, 0x46a5, 0xbdd0);
    assert_int_equal(thumb_rule(4).cfa, 16);
}

static void a_branch_carries_the_frame_to_its_target_S43(void **state)
{
    (void)state;
    /* cbz r0, 10; push {r4, lr}; bl far; pop {r4, pc}; 10: bl far */
    PUT_THUMB(0xb118, 0xb510, 0xf100, 0xf800, 0xbd10, 0xf100, 0xf800);
    check(thumb_rule(4), SP, 8, -1);
    check(thumb_rule(10), SP, 0, 0);
}

static void code_that_nothing_leads_to_has_the_table_s_rule_S43(void **state)
{
    (void)state;
    PUT_THUMB(0xb510, 0xe7fd, 0xf100, 0xf800); /* push; b back; bl far */
    assert_int_equal(thumb_rule(4).cfa, 7777);
    check(thumb_rule(2), SP, 8, -1);
    PUT_THUMB(0xb510, 0xebad, 0x0d03, 0xf100, 0xf800); /* sub.w sp, sp, r3 */
    assert_int_equal(thumb_rule(6).cfa, 7777);
    PUT_ARM(0xe92d4010, 0xe7c5d01f, 0xeb000400); /* bfc sp, #0, #6 */
    assert_int_equal(rule_with(8, 0, 0).cfa, 7777);
}

static void a_joined_entry_has_several_starts_S43(void **state)
{
    (void)state;
    /* push {r4, lr}; bl never; then push {r4, lr}; bl far */
    PUT_THUMB(0xb510, 0xf100, 0xf800, 0xb510, 0xf100, 0xf800);
    check(thumb_rule(6), SP, 0, 0);
    check(thumb_rule(8), SP, 8, -1);
    /* pop {pc}; then a function that saves its registers late */
    PUT_THUMB(0xbd10, 0x4299, 0xb510, 0xf100, 0xf800);
    check(thumb_rule(2), SP, 0, 0);
    check(thumb_rule(6), SP, 8, -1);
    /* push {r4, lr}; bl 8; pop {r4, pc}; 8: b back: the call at 2 shows the start of the second function */
    PUT_THUMB(0xb510, 0xf000, 0xf801, 0xbd10, 0xe7fe);
    check(rule_with(8, THUMB, START + 6 + 1), SP, 0, 0);
    assert_int_equal(thumb_rule(8).cfa, 7777);
}

static void a_call_in_place_of_the_function_leaves_its_frame_S43(void **state)
{
    (void)state;
    PUT_THUMB(0xe8bd, 0x4010, 0xf000, 0xb900); /* pop.w {r4, lr}; b.w far */
    check(thumb_rule(0), SP, 8, -1);
    check(thumb_rule(4), SP, 0, 0);
}

static void the_flags_decide_whether_the_next_instruction_runs_S43(void **state)
{
    (void)state;
    PUT_THUMB(0xb530, 0xbf38, 0xbd30, 0xf100, 0xf800); /* push {r4, r5, lr}; it cc; popcc {r4, r5, pc}; bl far */
    check(rule_with(2, THUMB, 0), SP, 12, -1);
    PUT_THUMB(0xb530, 0xb081, 0xbf3c, 0xb001, 0xbd30, 0xf100, 0xf800);
    check(rule_with(10, THUMB, 0), SP, 16, -1);
    PUT_THUMB(0xbf00, 0xbf38, 0xbd30, 0xf100, 0xf800);
    check(rule_with(2, THUMB, 0), SP, 12, -1);
    check(rule_with(2, THUMB | CARRY, 0), SP, 0, 0);
    PUT_ARM(0xe1a00000, 0x38bd8030, 0xeb000400); /* popcc {r4, r5, pc} */
    check(rule_with(4, 0, 0), SP, 12, -1);
    check(rule_with(4, CARRY, 0), SP, 0, 0);
}

static void code_that_can_not_be_read_has_the_table_s_rule(void **state)
{
    (void)state;
    PUT_THUMB(0xb510);
    used = 0;
    assert_int_equal(thumb_rule(0).cfa, 7777);
    used = 1;
    assert_int_equal(thumb_rule(0).cfa, 7777);
}

static void any_code_has_a_rule_with_words_S44(void **state)
{
    (void)state;
    uint64_t seed = 45;
    for (uint32_t round = 0; round < strobe_trial_rounds(20000); round++) {
        used = strobe_trial_below(&seed, BYTES);
        for (size_t i = 0; i < used; i++)
            bytes[i] = (uint8_t)strobe_trial_random(&seed);
        uint64_t draw = strobe_trial_random(&seed), offset = draw % BYTES & ~UINT64_C(1);
        struct strobe_unwind_rule r = rule_with(offset, (uint32_t)(draw >> 16), START + (draw >> 48) % BYTES);
        assert_int_equal(r.kind, STROBE_UNWIND_FRAME);
        assert_true(r.base == SP || r.base == STROBE_ARM_R7 || r.base == STROBE_ARM_R11);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thumb_function_is_followed_from_its_push_to_its_pop_S43),
        cmocka_unit_test(wide_instructions_move_the_stack_pointer_S43),
        cmocka_unit_test(arm_code_is_followed_S43),
        cmocka_unit_test(a_frame_pointer_gives_the_stack_pointer_back_S43),
        cmocka_unit_test(a_branch_carries_the_frame_to_its_target_S43),
        cmocka_unit_test(code_that_nothing_leads_to_has_the_table_s_rule_S43),
        cmocka_unit_test(a_joined_entry_has_several_starts_S43),
        cmocka_unit_test(a_call_in_place_of_the_function_leaves_its_frame_S43),
        cmocka_unit_test(the_flags_decide_whether_the_next_instruction_runs_S43),
        cmocka_unit_test(code_that_can_not_be_read_has_the_table_s_rule),
        cmocka_unit_test(any_code_has_a_rule_with_words_S44),
    };
    return cmocka_run_group_tests_name("arm_code", tests, NULL, NULL);
}
