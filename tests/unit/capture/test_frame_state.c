/* The state of a function's frame record, derived from its arm64 code (S-43): one test per rule. tests/emulate/frames
 * checks all rules on compiled code. */
#include "engine/capture/frame_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { WORDS = 1200, BASE = 0x400000 };
static uint32_t code[WORDS];
static uint32_t reads;
static size_t read_most; /* the longest read that succeeds whole */

/* Instructions, as clang writes them. */
enum {
    NOP = 0xd503201f,
    RET = 0xd65f03c0,
    RETAA = 0xd65f0bff,
    RET_X16 = 0xd65f0200,
    BRK = 0xd4200020,
    UDF = 0,
    STP_PUSH = 0xa9bf7bfd,   /* stp x29, x30, [sp, #-16]! */
    STP = 0xa9017bfd,        /* stp x29, x30, [sp, #16] */
    STP_OTHERS = 0xa9014ff4, /* stp x20, x19, [sp, #16] */
    ADD_FP = 0x910043fd,     /* add x29, sp, #16 */
    MOV_FP = 0x910003fd,     /* mov x29, sp */
    LDP_POP = 0xa8c17bfd,    /* ldp x29, x30, [sp], #16 */
    LDP = 0xa9417bfd,        /* ldp x29, x30, [sp, #16] */
    ADD_SP = 0x910083ff,     /* add sp, sp, #32 */
    SUB_SP = 0xd10083ff,     /* sub sp, sp, #32 */
    SP_OF_FP = 0xd10043bf,   /* sub sp, x29, #16 */
    STR_LR = 0xf81f0ffe,     /* str x30, [sp, #-16]! */
    LDR_LR = 0xf84107fe,     /* ldr x30, [sp], #16 */
    LDR_LR_AT = 0xf94007fe,  /* ldr x30, [sp, #8] */
    STR_DATA = 0xf90007fe,   /* str x30, [sp, #8] */
    PACIASP = 0xd503233f,
    AUTIASP = 0xd50323bf,
    BLR = 0xd63f0100,
    BLRAAZ = 0xd63f091f,
    BR_X8 = 0xd61f0100,
    BR_X16 = 0xd61f0200,
    BRAA_X16 = 0xd71f0a11,
    ADD_TABLE = 0x8b0a0908, /* add x8, x8, x10, lsl #2 */
    ADD_TABLE_X16 = 0x8b0a0a10,
    LDR_LOCAL = 0xf94017e8, /* ldr x8, [sp, #40] */
    LDR_SLOT = 0xf9400808,  /* ldr x8, [x0, #16] */
    LEND = 0xaa1e03ef,      /* mov x15, x30 */
    GIVE_BACK = 0xaa0f03fe, /* mov x30, x15 */
    ADD_SP_X8 = 0x8b2863ff, /* add sp, sp, x8: sp is unknown from here */
};

static uint32_t b(int words)
{
    return 0x14000000u | ((uint32_t)words & 0x03ffffff);
}
static uint32_t bl(int words)
{
    return 0x94000000u | ((uint32_t)words & 0x03ffffff);
}
static uint32_t cbz(int words)
{
    return 0xb4000000u | ((uint32_t)words & 0x7ffff) << 5;
}
static uint32_t tbnz(int words)
{
    return 0x37000000u | ((uint32_t)words & 0x3fff) << 5;
}

static enum strobe_status read_code(void *ctx, uint64_t address, void *out, size_t bytes, size_t *copied)
{
    (void)ctx;
    reads++;
    *copied = 0;
    if (address < BASE || address >= BASE + sizeof code)
        return STROBE_UNREADABLE;
    *copied = bytes < BASE + sizeof code - address ? bytes : (size_t)(BASE + sizeof code - address);
    *copied = *copied < read_most ? *copied : read_most;
    memcpy(out, (const char *)code + (address - BASE), *copied);
    return STROBE_OK;
}

static const struct strobe_host host = {.read = read_code};
static struct strobe_frame_answer answer;
static struct strobe_frame_query query;

enum { SP = 0x7000, FP = 0x7010, AT = 100 };

static int start(void **state)
{
    (void)state;
    for (size_t i = 0; i < WORDS; i++)
        code[i] = BRK;
    read_most = sizeof code;
    query = (struct strobe_frame_query){.fp = FP, .sp = SP, .lr = BASE + 4};
    return 0;
}

/* Places the instructions at AT, where a BRK follows them, and queries the n-th of them. */
#define ask(n, ...) ask_words(n, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}))
static enum strobe_frame_state ask_words(uint32_t n, const uint32_t *words, size_t bytes)
{
    memcpy(code + AT, words, bytes);
    query.pc = BASE + 4 * (AT + n);
    return strobe_frame_state_arm64(&host, &query, &answer);
}

#define assert_in_link(n, ...)                                                                                         \
    do {                                                                                                               \
        assert_int_equal(ask(n, __VA_ARGS__), STROBE_FRAME_NONE);                                                      \
        assert_int_equal(answer.reg, 30);                                                                              \
    } while (0)

static void before_the_frame_pointer_is_set_the_caller_is_in_the_link_register_S43(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < 4; n++)
        assert_in_link(n, SUB_SP, STP_OTHERS, STP, ADD_FP, NOP, BLR, LDP, ADD_SP, RET);
    for (uint32_t n = 0; n < 2; n++)
        assert_in_link(n, STP_PUSH, MOV_FP, BLR, LDP_POP, RET);
}

static void from_there_to_its_restore_the_record_is_kept_S43(void **state)
{
    (void)state;
    for (uint32_t n = 4; n < 7; n++)
        assert_int_equal(ask(n, SUB_SP, STP_OTHERS, STP, ADD_FP, NOP, BLR, LDP, ADD_SP, RET), STROBE_FRAME_KEPT);
    assert_int_equal(ask(0, BLRAAZ, LDP, RETAA), STROBE_FRAME_KEPT);
    assert_int_equal(ask(0, SP_OF_FP, LDP, RET), STROBE_FRAME_KEPT);
}

static void after_the_restore_the_caller_is_in_the_link_register_S43(void **state)
{
    (void)state;
    for (uint32_t n = 7; n < 9; n++)
        assert_in_link(n, SUB_SP, STP_OTHERS, STP, ADD_FP, NOP, BLR, LDP, ADD_SP, RET);
    assert_in_link(1, LDP, AUTIASP, RET);
    assert_in_link(1, LDP, b(20));
}

static void a_leaf_has_its_caller_in_the_link_register_everywhere_S43(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < 5; n++)
        assert_in_link(n, SUB_SP, cbz(2), NOP, ADD_SP, RET);
    assert_int_equal(ask(0, SUB_SP, NOP, ADD_SP, RET), STROBE_FRAME_NONE);
    assert_int_equal(answer.sp_after, SP);
    assert_int_equal(ask(0, NOP, RET_X16), STROBE_FRAME_NONE);
    assert_int_equal(answer.reg, 16);
}

static void signed_code_shows_its_frame_state_at_the_first_instruction(void **state)
{
    (void)state;
    assert_in_link(0, PACIASP, STP_PUSH, MOV_FP, BLR, LDP_POP, AUTIASP, RET);
    assert_in_link(5, PACIASP, STP_PUSH, MOV_FP, BLR, LDP_POP, AUTIASP, RET);
    assert_int_equal(ask(3, PACIASP, STP_PUSH, MOV_FP, BLR, LDP_POP, RETAA), STROBE_FRAME_KEPT);
    assert_in_link(5, PACIASP, STP_PUSH, MOV_FP, BLR, LDP_POP, RETAA);
}

static void a_record_that_comes_late_is_not_there_before(void **state)
{
    (void)state;
    assert_in_link(0, cbz(5), STP_PUSH, MOV_FP, BLR, LDP_POP, RET);
    assert_int_equal(ask(3, cbz(5), STP_PUSH, MOV_FP, BLR, LDP_POP, RET), STROBE_FRAME_KEPT);
    assert_in_link(0, tbnz(2), BRK, STP_PUSH, MOV_FP);
}

static void a_tail_call_is_made_without_a_record(void **state)
{
    (void)state;
    code[AT + 50] = STP_PUSH;
    assert_in_link(0, NOP, b(49));
    code[AT + 50] = RET;
    assert_in_link(0, NOP, b(49));
    assert_in_link(0, NOP, BR_X16);
    assert_in_link(0, NOP, BRAA_X16);
    assert_in_link(0, LDR_SLOT, BR_X8, STP_PUSH, MOV_FP);
}

static void a_jump_by_a_table_stays_in_the_function(void **state)
{
    (void)state;
    assert_int_equal(ask(0, ADD_TABLE, BR_X8, NOP, LDP, RET), STROBE_FRAME_KEPT);
    assert_int_equal(ask(1, ADD_TABLE, BR_X8, NOP, LDP, RET), STROBE_FRAME_KEPT);
    assert_in_link(0, ADD_TABLE, BR_X8, NOP, RET);
    assert_int_equal(ask(0, ADD_TABLE_X16, BR_X16, NOP, LDP, RET), STROBE_FRAME_KEPT);
    assert_int_equal(ask(1, ADD_TABLE_X16, BR_X16, NOP, LDP, RET), STROBE_FRAME_KEPT);
}

static void a_computed_goto_is_no_tail_call(void **state)
{
    (void)state;
    assert_int_equal(ask(0, LDR_SLOT, BR_X8, NOP, BLR, LDR_SLOT, BR_X8), STROBE_FRAME_KEPT);
    assert_int_equal(ask(0, LDR_LOCAL, BR_X8, STP_PUSH, MOV_FP), STROBE_FRAME_UNKNOWN);
    assert_int_equal(ask(1, LDR_LOCAL, BR_X8, STP_PUSH, MOV_FP), STROBE_FRAME_UNKNOWN);
}

/* Between its save and its restore x30 holds data. Stores of that data are not saves. */
static void a_leaf_that_computes_in_the_link_register_has_saved_it(void **state)
{
    (void)state;
    query.fp = SP + 200;
    for (uint32_t n = 2; n < 5; n++) {
        assert_int_equal(ask(n, SUB_SP, STP, STR_DATA, NOP, LDP, ADD_SP, RET), STROBE_FRAME_SAVED);
        assert_int_equal(answer.slot, SP + 16 + 8);
    }
    assert_in_link(0, SUB_SP, STP, STR_DATA, NOP, LDP, ADD_SP, RET);
    assert_in_link(5, SUB_SP, STP, STR_DATA, NOP, LDP, ADD_SP, RET);
    assert_int_equal(ask(0, NOP, LDR_LR_AT, ADD_SP, RET), STROBE_FRAME_SAVED);
    assert_int_equal(answer.slot, SP + 8);
    assert_int_equal(answer.sp_after, SP + 32);
}

static void a_link_register_lent_to_outlined_code_is_found(void **state)
{
    (void)state;
    assert_in_link(0, LEND, bl(40), GIVE_BACK, RET);
    for (uint32_t n = 1; n < 3; n++) {
        assert_int_equal(ask(n, LEND, bl(40), GIVE_BACK, RET), STROBE_FRAME_NONE);
        assert_int_equal(answer.reg, 15);
    }
    assert_in_link(3, LEND, bl(40), GIVE_BACK, RET);
    assert_in_link(0, STR_LR, bl(40), LDR_LR, RET);
    assert_int_equal(ask(1, STR_LR, bl(40), LDR_LR, RET), STROBE_FRAME_SAVED);
    assert_int_equal(answer.slot, SP);
    query.called = true;
    assert_int_equal(ask(2, STR_LR, bl(40), LDR_LR, RET), STROBE_FRAME_SAVED);
    assert_int_equal(answer.slot, SP);
    assert_int_equal(ask(2, LEND, bl(40), GIVE_BACK, RET), STROBE_FRAME_NONE);
    assert_int_equal(answer.reg, 15);
}

static void a_frame_pointer_set_by_outlined_code_is_not_set_before(void **state)
{
    (void)state;
    code[AT + 50] = ADD_FP;
    code[AT + 51] = RET;
    assert_in_link(1, STP, bl(49), BLR, LDP, RET);
    assert_int_equal(ask(2, STP, bl(49), BLR, LDP, RET), STROBE_FRAME_KEPT);
    assert_in_link(50, STP, bl(49), BLR, LDP, RET);
    assert_int_equal(answer.slot, SP + 16 + 8); /* its content distinguishes the helper from the function it helps */
    assert_in_link(51, STP, bl(49), BLR, LDP, RET);
}

static void a_call_that_does_not_return_is_not_followed_into_the_next_function(void **state)
{
    (void)state;
    assert_int_equal(ask(0, NOP, bl(40), STP_PUSH, MOV_FP, RET), STROBE_FRAME_KEPT);
    query.called = true;
    assert_int_equal(ask(1, bl(40), STP_PUSH, MOV_FP, RET), STROBE_FRAME_UNKNOWN);
}

static void every_way_to_move_the_stack_pointer_is_followed(void **state)
{
    static const struct {
        uint32_t instruction;
        int64_t sp_after; /* 0: unknown */
    } moves[] = {
        {ADD_SP, SP + 32},     {SUB_SP, SP - 32},       {SP_OF_FP, FP - 16},
        {LDR_LOCAL, SP},       {0x914007ff, SP + 4096}, /* add sp, sp, #1, lsl #12 */
        {0xa9bf4ff4, SP - 16},                          /* stp x20, x19, [sp, #-16]! */
        {0xa8c14ff4, SP + 16},                          /* ldp x20, x19, [sp], #16 */
        {0x28c14ff4, SP + 8},                           /* ldp w20, w19, [sp], #8 */
        {0x6cc123e9, SP + 16},                          /* ldp d9, d8, [sp], #16 */
        {0xacc103e1, SP + 32},                          /* ldp q1, q0, [sp], #32 */
        {STP_OTHERS, SP},      {0xf81f0fe8, SP - 16},   /* str x8, [sp, #-16]! */
        {0xf84107e8, SP + 16},                          /* ldr x8, [sp], #16 */
        {ADD_SP_X8, 0},        {0xcb2863ff, 0},         /* sub sp, sp, x8 */
        {0x927ced1f, 0},                                /* and sp, x8, #-16 */
        {0x9100411f, 0},                                /* add sp, x8, #16 */
    };
    (void)state;
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        assert_in_link(0, moves[i].instruction, RET);
        assert_int_equal(answer.sp_after, moves[i].sp_after);
    }
    assert_in_link(0, ADD_SP_X8, ADD_SP, 0xf84107e8, RET);
    assert_int_equal(answer.sp_after, 0);
}

/* Without the stack pointer, the place of a saved return address is unknown. */
static void a_slot_relative_to_an_unknown_stack_pointer_is_not_guessed(void **state)
{
    (void)state;
    assert_int_equal(ask(0, ADD_SP_X8, LDR_LR_AT, RET), STROBE_FRAME_UNKNOWN);
    assert_int_equal(ask(0, ADD_SP_X8, LDP, RET), STROBE_FRAME_KEPT);
    assert_int_equal(ask(0, ADD_SP_X8, BLR, NOP, LDR_LR_AT, RET), STROBE_FRAME_KEPT);
    query.called = true;
    assert_int_equal(ask(1, BLR, ADD_SP_X8, ADD_FP), STROBE_FRAME_UNKNOWN);
}

static void a_frame_pointer_set_after_a_call_belongs_to_the_pushed_record(void **state)
{
    (void)state;
    assert_int_equal(ask(0, BLR, NOP, ADD_FP), STROBE_FRAME_KEPT);
    assert_int_equal(ask(0, BLR, NOP, BLR, NOP, ADD_FP), STROBE_FRAME_KEPT);
    query.lr = BASE + 4 * (AT + 1); /* of the call at AT, so the function's own return address is on the stack only */
    assert_int_equal(ask(1, bl(40), NOP, ADD_FP), STROBE_FRAME_SAVED);
    assert_int_equal(answer.slot, SP + 16 + 8);
    query.called = true;
    assert_int_equal(ask(1, bl(40), NOP, ADD_FP), STROBE_FRAME_SAVED);
    assert_int_equal(answer.slot, SP + 16 + 8);
}

/* Outlined code sets the frame pointer only when its straight code, over at most one jump, comes to that. */
static void outlined_code_that_does_not_set_the_frame_pointer_is_an_ordinary_call(void **state)
{
    const uint32_t others[] = {STP_PUSH, RET, BR_X8, BRK, cbz(2), NOP};
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        for (uint32_t n = 0; n < 200; n++)
            code[AT + 50 + n] = NOP;
        code[AT + 51] = others[i];
        if (others[i] != NOP)
            code[AT + 52] = ADD_FP;
        assert_int_equal(ask(0, NOP, bl(49), NOP, BRK), STROBE_FRAME_KEPT);
    }
    code[AT + 51] = b(9);
    code[AT + 60] = ADD_FP;
    assert_in_link(0, NOP, bl(49), NOP, BRK);
    code[AT + 60] = b(10);
    code[AT + 70] = ADD_FP;
    assert_int_equal(ask(0, NOP, bl(49), NOP, BRK), STROBE_FRAME_KEPT);
    code[AT + 51] = ADD_FP;
    query.lr = BASE + 4 * (AT + 1);
    assert_int_equal(ask(1, bl(100), NOP, bl(48), NOP, BRK), STROBE_FRAME_UNKNOWN);
}

static void a_link_register_that_only_outlined_code_knows_is_found_after_the_call(void **state)
{
    (void)state;
    assert_int_equal(ask(0, bl(40), GIVE_BACK, RET), STROBE_FRAME_NONE);
    assert_int_equal(answer.reg, 15);
    assert_in_link(0, NOP, GIVE_BACK, RET); /* no call precedes, so x15 is not the lent register */
    assert_int_equal(ask(0, BLR, 0xaa0903e8 /* mov x8, x9 */, BRK), STROBE_FRAME_KEPT);
    assert_int_equal(ask(0, BLR, 0xaa1d03fe /* mov x30, x29 */, BRK), STROBE_FRAME_KEPT);
    code[0] = GIVE_BACK;
    code[1] = RET;
    query.pc = BASE;
    assert_int_equal(strobe_frame_state_arm64(&host, &query, &answer), STROBE_FRAME_NONE);
    assert_int_equal(answer.reg, 30);
}

static void a_jump_through_a_register_is_a_tail_call_unless_the_frame_is_in_use(void **state)
{
    (void)state;
    assert_in_link(0, NOP, 0xd61f0220 /* br x17 */);
    assert_int_equal(ask(0, LDR_LR_AT, BR_X8), STROBE_FRAME_SAVED);
    assert_int_equal(answer.slot, SP + 8);
    assert_int_equal(ask(0, 0xf85f03a8 /* ldr x8, [x29, #-16] */, BR_X8, STP_PUSH), STROBE_FRAME_KEPT);
    assert_int_equal(ask(1, 0xd10043a9 /* sub x9, x29, #16 */, BR_X8, STP_PUSH), STROBE_FRAME_KEPT);
    assert_int_equal(ask(0, 0x8b2a4108 /* add x8, x8, w10, uxtw */, BR_X8, NOP, LDP, RET), STROBE_FRAME_KEPT);
}

/* Pairs of x30 and a callee-saved register are saves and restores. Other pairs and other addresses are data. */
static void only_pairs_with_callee_saved_registers_hold_the_link_register(void **state)
{
    const uint32_t pushes[] = {0xa9bf4ffe /* stp x30, x19, [sp, #-16]! */, 0xa9bf7bf3 /* stp x19, x30, .. */};
    const uint32_t data[] = {0xa9bf23fe /* stp x30, x8, .. */, 0xa9bf7ffe /* stp x30, xzr, .. */,
                             0xa9014ffe /* stp x30, x19, [sp, #16] */, 0xa8007bfd /* stnp x29, x30, [sp] */,
                             0xa9bf7d1d /* stp x29, xzr, [x8, #-16]! */};
    (void)state;
    for (size_t i = 0; i < 2; i++)
        assert_in_link(0, pushes[i], UDF);
    for (size_t i = 0; i < sizeof data / sizeof *data; i++)
        assert_int_equal(ask(0, data[i], UDF), STROBE_FRAME_UNKNOWN);
    assert_int_equal(ask(0, 0xa8c14ffe /* ldp x30, x19, [sp], #16 */, RET), STROBE_FRAME_SAVED);
    assert_int_equal(answer.slot, SP);
    assert_int_equal(ask(0, 0xa9417bf3 /* ldp x19, x30, [sp, #16] */, RET), STROBE_FRAME_SAVED);
    assert_int_equal(answer.slot, SP + 16 + 8);
}

static void straight_code_before_ends_where_others_may_come_from(void **state)
{
    const uint32_t ends[] = {RET, RETAA, 0xd65f0fff /* retab */, BR_X8, b(60), BRK, UDF, 0xd4400000 /* hlt */};
    (void)state;
    code[AT - 1] = LDP_POP; /* in straight code it says that the record is gone */
    assert_in_link(1, NOP, NOP, BLR, BRK);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        assert_int_equal(ask(1, ends[i], NOP, BLR, BRK), STROBE_FRAME_KEPT);
    for (uint32_t i = 0; i < AT; i++)
        code[i] = NOP; /* more than are read */
    assert_int_equal(ask(0, NOP, BLR, BRK), STROBE_FRAME_KEPT);
}

static void a_call_or_a_read_at_the_end_of_the_code_says_what_it_can(void **state)
{
    (void)state;
    code[WORDS - 1] = BLR;
    query.pc = BASE + 4 * (WORDS - 1);
    assert_int_equal(strobe_frame_state_arm64(&host, &query, &answer), STROBE_FRAME_KEPT);
    read_most = 4;
    assert_in_link(0, NOP, RET);
    assert_true(strobe_frame_returns_arm64(&host, BASE + 4 * WORDS));
    read_most = 2;
    assert_int_equal(ask(0, NOP, RET), STROBE_FRAME_UNKNOWN);
    assert_false(strobe_frame_returns_arm64(&host, BASE + 4 * WORDS));
}

static void code_that_ends_in_nothing_says_nothing(void **state)
{
    (void)state;
    assert_int_equal(ask(0, NOP, UDF), STROBE_FRAME_UNKNOWN);
    assert_int_equal(ask(0, NOP, BRK), STROBE_FRAME_UNKNOWN);
    assert_int_equal(ask(0, NOP, b(-1)), STROBE_FRAME_UNKNOWN);
    assert_in_link(0, cbz(2), BRK, RET);
}

static void the_search_is_bounded(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < WORDS; i++)
        code[i] = i % 3 ? cbz((int)(i % 37) + 5) : NOP;
    reads = 0;
    query.pc = BASE;
    assert_int_equal(strobe_frame_state_arm64(&host, &query, &answer), STROBE_FRAME_UNKNOWN);
    assert_true(reads <= STROBE_FRAME_STEPS_MAX);
    for (uint32_t i = 0; i < WORDS; i++)
        code[i] = NOP;
    code[STROBE_FRAME_STEPS_MAX - 1] = RET;
    assert_int_equal(strobe_frame_state_arm64(&host, &query, &answer), STROBE_FRAME_NONE);
    code[STROBE_FRAME_STEPS_MAX - 1] = NOP;
    code[STROBE_FRAME_STEPS_MAX] = RET;
    assert_int_equal(strobe_frame_state_arm64(&host, &query, &answer), STROBE_FRAME_UNKNOWN);
}

static void code_that_cant_be_read_says_nothing(void **state)
{
    (void)state;
    const uint64_t bad[] = {0, 8, BASE + 2, BASE - 4, BASE + sizeof code, UINT64_MAX, UINT64_MAX - 3};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        query.pc = bad[i];
        assert_int_equal(strobe_frame_state_arm64(&host, &query, &answer), STROBE_FRAME_UNKNOWN);
        assert_false(strobe_frame_returns_arm64(&host, bad[i]));
    }
    code[WORDS - 1] = NOP;
    query.pc = BASE + sizeof code - 4;
    assert_int_equal(strobe_frame_state_arm64(&host, &query, &answer), STROBE_FRAME_UNKNOWN);
}

static void before_a_return_address_is_a_call(void **state)
{
    (void)state;
    const uint32_t calls[] = {bl(7), BLR, BLRAAZ}, others[] = {b(7), BR_X8, NOP, RET};
    for (size_t i = 0; i < 3; i++) {
        code[AT] = calls[i];
        assert_true(strobe_frame_returns_arm64(&host, BASE + 4 * (AT + 1)));
    }
    for (size_t i = 0; i < 4; i++) {
        code[AT] = others[i];
        assert_false(strobe_frame_returns_arm64(&host, BASE + 4 * (AT + 1)));
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, start)
    const struct CMUnitTest tests[] = {
        TEST(before_the_frame_pointer_is_set_the_caller_is_in_the_link_register_S43),
        TEST(from_there_to_its_restore_the_record_is_kept_S43),
        TEST(after_the_restore_the_caller_is_in_the_link_register_S43),
        TEST(a_leaf_has_its_caller_in_the_link_register_everywhere_S43),
        TEST(signed_code_shows_its_frame_state_at_the_first_instruction),
        TEST(a_record_that_comes_late_is_not_there_before),
        TEST(a_tail_call_is_made_without_a_record),
        TEST(a_jump_by_a_table_stays_in_the_function),
        TEST(a_computed_goto_is_no_tail_call),
        TEST(a_leaf_that_computes_in_the_link_register_has_saved_it),
        TEST(a_link_register_lent_to_outlined_code_is_found),
        TEST(a_frame_pointer_set_by_outlined_code_is_not_set_before),
        TEST(a_call_that_does_not_return_is_not_followed_into_the_next_function),
        TEST(every_way_to_move_the_stack_pointer_is_followed),
        TEST(a_slot_relative_to_an_unknown_stack_pointer_is_not_guessed),
        TEST(a_frame_pointer_set_after_a_call_belongs_to_the_pushed_record),
        TEST(outlined_code_that_does_not_set_the_frame_pointer_is_an_ordinary_call),
        TEST(a_link_register_that_only_outlined_code_knows_is_found_after_the_call),
        TEST(a_jump_through_a_register_is_a_tail_call_unless_the_frame_is_in_use),
        TEST(only_pairs_with_callee_saved_registers_hold_the_link_register),
        TEST(straight_code_before_ends_where_others_may_come_from),
        TEST(a_call_or_a_read_at_the_end_of_the_code_says_what_it_can),
        TEST(code_that_ends_in_nothing_says_nothing),
        TEST(the_search_is_bounded),
        TEST(code_that_cant_be_read_says_nothing),
        TEST(before_a_return_address_is_a_call),
    };
    return cmocka_run_group_tests_name("frame state", tests, NULL, NULL);
}
