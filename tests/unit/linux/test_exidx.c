/* Rules of 32-bit ARM's exception tables, from fabricated tables. What an instruction does is stated in "Exception
 * Handling ABI for the Arm Architecture" (IHI 0038), section 10.3. Damaged tables lie between unreadable pages, so that
 * each read outside of them is seen (S-44). */
#include "engine/backend/linux/exidx.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

enum { TEXT = 0x8000, TABLE = 0x20000, FUNCTIONS = 3, FUNCTION_BYTES = 0x100, WORDS = 64, PAGE = 4096, EXTAB_AT = 8 };
enum { CANNOT_UNWIND = 1 };

/* The index table has FUNCTIONS entries. .ARM.extab begins at word EXTAB_AT. */
static uint32_t words[WORDS];
static struct strobe_eh_frame table;

static uint32_t relative(uint64_t to, uint64_t at)
{
    return (uint32_t)(to - at) & 0x7fffffffu;
}

static uint64_t start_of(unsigned function)
{
    return TEXT + FUNCTION_BYTES * function;
}

static void set_entry(unsigned function, uint32_t data)
{
    words[2 * function] = relative(start_of(function), TABLE + 8 * function);
    words[2 * function + 1] = data;
}

static void open_table(void)
{
    assert_int_equal(strobe_exidx_open(words, sizeof words, TABLE, TABLE, 8 * FUNCTIONS, &table), STROBE_OK);
}

/* Lets the entry of function 1 refer to words of .ARM.extab. */
static void set_extab(const uint32_t *data, unsigned count)
{
    set_entry(1, relative(TABLE + 4 * EXTAB_AT, TABLE + 12));
    memcpy(words + EXTAB_AT, data, 4 * count);
}

static int prepare(void **state)
{
    (void)state;
    memset(words, 0xff, sizeof words);
    for (unsigned i = 0; i < FUNCTIONS; i++)
        set_entry(i, CANNOT_UNWIND);
    open_table();
    return 0;
}

static struct strobe_unwind_rule rule_of_word(uint32_t data)
{
    set_entry(1, data);
    return strobe_exidx_rule(&table, start_of(1) + 10);
}

/* Returns the rule of instructions that are stored by the compact model 1. */
static struct strobe_unwind_rule rule_of(const uint8_t *code, unsigned bytes)
{
    uint8_t padded[4 * 8];
    uint32_t data[8];
    assert_in_range(bytes, 1, sizeof padded - 2);
    memset(padded, 0xb0, sizeof padded);
    memcpy(padded + 2, code, bytes);
    padded[0] = 0x81;
    padded[1] = (uint8_t)((bytes + 1) / 4);
    for (unsigned i = 0; i < 8; i++)
        data[i] = (uint32_t)padded[4 * i] << 24 | (uint32_t)padded[4 * i + 1] << 16 | (uint32_t)padded[4 * i + 2] << 8 |
                  padded[4 * i + 3];
    set_extab(data, 8);
    return strobe_exidx_rule(&table, start_of(1) + 10);
}

#define RULE(...) rule_of((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

#define NO_PLACE   STROBE_SAVED_SAME, 0
#define CFA(words) STROBE_SAVED_AT_CFA, (words)

struct expected {
    uint8_t base;
    int32_t cfa;
    unsigned fp;
    int fp_at;
    unsigned bx;
    int bx_at;
    unsigned ra;
    int ra_at;
};

static void check(struct strobe_unwind_rule r, struct expected e)
{
    assert_int_equal(r.kind, STROBE_UNWIND_FRAME);
    assert_int_equal(r.base, e.base);
    assert_int_equal(r.cfa, e.cfa);
    assert_int_equal(r.fp, e.fp);
    assert_int_equal(r.fp_at, e.fp_at);
    assert_int_equal(r.bx, e.bx);
    assert_int_equal(r.bx_at, e.bx_at);
    assert_int_equal(r.ra, e.ra);
    assert_int_equal(r.ra_at, e.ra_at);
}

#define CHECK(rule, ...) check(rule, (struct expected){__VA_ARGS__})
#define SP               STROBE_ARM_SP
#define R7               STROBE_ARM_R7
#define R11              STROBE_ARM_R11

static void check_no_rule(struct strobe_unwind_rule r)
{
    assert_int_equal(r.kind, STROBE_UNWIND_NONE);
}

/* ---- entries */

static void an_entry_holds_its_instructions_in_each_model_S43(void **state)
{
    (void)state;
    const uint32_t generic[] = {relative(TEXT, TABLE + 4 * EXTAB_AT), 0x01a80202, 0x00b0b0b0};
    const uint32_t long16[] = {0x8101a802, 0x02b0b0b0}, long32[] = {0x8201a802, 0x02b0b0b0}, inlined[] = {0x80a80402};
    CHECK(rule_of_word(0x80b0b0b0), SP, 0, NO_PLACE, NO_PLACE, NO_PLACE);
    CHECK(rule_of_word(0x80a8b0b0), SP, 8, NO_PLACE, NO_PLACE, CFA(-1));
    CHECK(rule_of_word(0x8003a8b0), SP, 24, NO_PLACE, NO_PLACE, CFA(-1));
    set_extab(inlined, 1);
    CHECK(strobe_exidx_rule(&table, start_of(1)), SP, 40, NO_PLACE, NO_PLACE, CFA(-9));
    set_extab(long16, 2);
    CHECK(strobe_exidx_rule(&table, start_of(1)), SP, 32, NO_PLACE, NO_PLACE, CFA(-7));
    set_extab(long32, 2);
    CHECK(strobe_exidx_rule(&table, start_of(1)), SP, 32, NO_PLACE, NO_PLACE, CFA(-7));
    set_extab(generic, 3);
    CHECK(strobe_exidx_rule(&table, start_of(1)), SP, 36, NO_PLACE, NO_PLACE, CFA(-8));
}

static void code_that_can_not_be_unwound_is_not_covered(void **state)
{
    (void)state;
    set_entry(1, CANNOT_UNWIND);
    check_no_rule(strobe_exidx_rule(&table, start_of(1)));
    assert_false(strobe_exidx_covers(&table, start_of(1)));
    set_entry(1, 0x80b0b0b0);
    assert_true(strobe_exidx_covers(&table, start_of(1)));
    set_entry(1, 0x8000b0b0 | 0x800000); /* 80 00: refuses to unwind, which is a statement about the code */
    assert_true(strobe_exidx_covers(&table, start_of(1)));
}

static void an_entry_reaches_to_the_next_one(void **state)
{
    (void)state;
    uint64_t start, end;
    set_entry(0, 0x80a8b0b0);
    set_entry(1, 0x8000a8b0);
    set_entry(2, 0x80b0b0b0);
    check_no_rule(strobe_exidx_rule(&table, start_of(0) - 1));
    assert_int_equal(strobe_exidx_rule(&table, start_of(0)).cfa, 8);
    assert_int_equal(strobe_exidx_rule(&table, start_of(1) - 1).cfa, 8);
    assert_int_equal(strobe_exidx_rule(&table, start_of(1)).cfa, 12);
    assert_int_equal(strobe_exidx_rule(&table, start_of(2) - 1).cfa, 12);
    assert_int_equal(strobe_exidx_rule(&table, start_of(2) + 0x100000).cfa, 0);
    assert_true(strobe_exidx_range(&table, start_of(1) + 2, &start, &end));
    assert_int_equal(start, start_of(1));
    assert_int_equal(end, start_of(2));
}

static void entries_of_no_known_form_have_no_rule(void **state)
{
    (void)state;
    const uint32_t reserved[] = {0x83a8b0b0}, other_top[] = {0x90a8b0b0};
    check_no_rule(rule_of_word(0x81a8b0b0)); /* only model 0 is inline */
    check_no_rule(rule_of_word(0x90a8b0b0));
    set_extab(reserved, 1);
    check_no_rule(strobe_exidx_rule(&table, start_of(1)));
    set_extab(other_top, 1);
    check_no_rule(strobe_exidx_rule(&table, start_of(1)));
    set_entry(1, 0x80a8b0b0);
    words[2] |= 0x80000000u;
    check_no_rule(strobe_exidx_rule(&table, start_of(1)));
}

/* ---- instructions */

static void the_stack_pointer_moves_both_ways_S43(void **state)
{
    (void)state;
    CHECK(RULE(0x00), SP, 4, NO_PLACE, NO_PLACE, NO_PLACE);
    CHECK(RULE(0x3f), SP, 256, NO_PLACE, NO_PLACE, NO_PLACE);
    CHECK(RULE(0x3f, 0x40), SP, 252, NO_PLACE, NO_PLACE, NO_PLACE);
    CHECK(RULE(0x3f, 0x7f), SP, 0, NO_PLACE, NO_PLACE, NO_PLACE);
    CHECK(RULE(0xb2, 0x00), SP, 0x204, NO_PLACE, NO_PLACE, NO_PLACE);
    CHECK(RULE(0xb2, 0x81, 0x02, 0x84, 0x00), SP, 0x204 + (0x101 << 2) + 4, NO_PLACE, NO_PLACE, CFA(-1));
}

static void registers_are_popped_from_the_lowest_S43(void **state)
{
    (void)state;
    CHECK(RULE(0xa0), SP, 4, NO_PLACE, NO_PLACE, NO_PLACE);
    CHECK(RULE(0xa3), SP, 16, NO_PLACE, CFA(-1), NO_PLACE);
    CHECK(RULE(0xa7), SP, 32, CFA(-1), CFA(-5), NO_PLACE);
    CHECK(RULE(0xa8), SP, 8, NO_PLACE, NO_PLACE, CFA(-1));
    CHECK(RULE(0xaf), SP, 36, CFA(-2), CFA(-6), CFA(-1));
    CHECK(RULE(0x84, 0x08), SP, 8, NO_PLACE, CFA(-2), CFA(-1));
    CHECK(RULE(0x84, 0x80), SP, 8, CFA(-2), NO_PLACE, CFA(-1));
    CHECK(RULE(0x88, 0x01), SP, 8, NO_PLACE, NO_PLACE, CFA(-1)); /* r4, pc */
    CHECK(RULE(0x8c, 0x80), SP, 12, CFA(-3), NO_PLACE, CFA(-1)); /* r11, lr, pc: the caller goes on at pc */
    CHECK(RULE(0x81, 0xff, 0x84, 0x00), SP, 40, CFA(-3), CFA(-7), CFA(-1));
    CHECK(RULE(0xb1, 0x0f, 0x84, 0x00), SP, 20, NO_PLACE, NO_PLACE, CFA(-1));
    CHECK(RULE(0x84, 0x00, 0xb1, 0x0c), SP, 12, NO_PLACE, NO_PLACE, CFA(-3)); /* arguments pushed above */
}

static void a_frame_may_be_located_by_any_register_S43(void **state)
{
    (void)state;
    CHECK(RULE(0x97, 0x41, 0x84, 0x0d), R7, 8, NO_PLACE, CFA(-2), CFA(-1)); /* vsp = r7 - 8; pop {r4, r6, r7, lr} */
    CHECK(RULE(0x97, 0x84, 0x08), R7, 8, NO_PLACE, CFA(-2), CFA(-1));
    CHECK(RULE(0x9b, 0x46, 0xaf), R11, 8, CFA(-2), CFA(-6), CFA(-1));
    CHECK(RULE(0x96, 0x08, 0xa8), 6, 44, NO_PLACE, NO_PLACE, CFA(-1));
    /* What is saved before the assignment is found from the register that located it. */
    CHECK(RULE(0x01, 0x84, 0x80, 0x97), R7, 0, STROBE_SAVED_AT_SP, 2, NO_PLACE, STROBE_SAVED_AT_SP, 3);
    CHECK(RULE(0x9b, 0x01, 0x84, 0x00, 0x97), R7, 0, NO_PLACE, NO_PLACE, STROBE_SAVED_AT_FP, 2);
    check_no_rule(RULE(0x97, 0x84, 0x00, 0x96)); /* a place by r7 alone has no form */
    check_no_rule(RULE(0x9d));
    check_no_rule(RULE(0x9f));
    check_no_rule(RULE(0x84, 0x08, 0x97)); /* the caller's r7 */
}

static void a_saved_stack_pointer_is_followed_S43(void **state)
{
    (void)state;
    struct strobe_unwind_rule r = RULE(0x01, 0x86, 0x80, 0x00); /* vsp += 8; pop {r11, sp, lr}; vsp += 4 */
    assert_int_equal(r.kind, STROBE_UNWIND_DEREF);
    assert_int_equal(r.base, SP);
    assert_int_equal(r.cfa, 12);
    assert_int_equal(r.more, 4);
    assert_int_equal(r.ra, STROBE_SAVED_AT_SP);
    assert_int_equal(r.ra_at, 4);
    assert_int_equal(r.fp, STROBE_SAVED_AT_SP);
    assert_int_equal(r.fp_at, 2);
    assert_int_equal(r.flags, 0);
    check_no_rule(RULE(0x82, 0x00, 0x86, 0x00)); /* twice */
}

static void a_frame_with_all_registers_is_of_a_signal_S43(void **state)
{
    (void)state;
    struct strobe_unwind_rule r = RULE(0x27, 0xb1, 0x0f, 0x8f, 0xff); /* vsp += 160; pop {r0 - r15} */
    assert_int_equal(r.kind, STROBE_UNWIND_DEREF);
    assert_int_equal(r.flags, STROBE_UNWIND_SIGNAL);
    assert_int_equal(r.cfa, 160 + 4 * 13);
    assert_int_equal(r.ra_at, 40 + 15);
    assert_int_equal(r.fp_at, 40 + 11);
    assert_int_equal(r.bx_at, 40 + 7);
    assert_int_equal(r.ra, STROBE_SAVED_AT_SP);
}

static void registers_of_coprocessors_take_their_room_S43(void **state)
{
    (void)state;
    CHECK(RULE(0xb3, 0x83), SP, 36, NO_PLACE, NO_PLACE, NO_PLACE); /* FSTMFDX: a word more */
    CHECK(RULE(0xb9), SP, 20, NO_PLACE, NO_PLACE, NO_PLACE);
    CHECK(RULE(0xc8, 0x03), SP, 32, NO_PLACE, NO_PLACE, NO_PLACE);
    CHECK(RULE(0xc9, 0x81), SP, 16, NO_PLACE, NO_PLACE, NO_PLACE);
    CHECK(RULE(0xd7, 0xa8), SP, 72, NO_PLACE, NO_PLACE, CFA(-1));
    CHECK(RULE(0xc2), SP, 24, NO_PLACE, NO_PLACE, NO_PLACE);
    CHECK(RULE(0xc6, 0xa1), SP, 16, NO_PLACE, NO_PLACE, NO_PLACE);
    CHECK(RULE(0xc7, 0x0b), SP, 12, NO_PLACE, NO_PLACE, NO_PLACE);
}

static void instructions_without_meaning_have_no_rule(void **state)
{
    (void)state;
    static const uint8_t spare[] = {0xb4, 0xb5, 0xb6, 0xb7, 0xca, 0xcf, 0xd8, 0xe0, 0xf7, 0xff};
    for (unsigned i = 0; i < sizeof spare; i++)
        check_no_rule(RULE(0xa8, spare[i]));
    check_no_rule(RULE(0x80, 0x00)); /* refuses to unwind */
    check_no_rule(RULE(0xb1, 0x00));
    check_no_rule(RULE(0xb1, 0x10));
    check_no_rule(RULE(0xc7, 0x00));
    check_no_rule(RULE(0xc7, 0x10));
    check_no_rule(RULE(0xb2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00));
    check_no_rule(RULE(0xb2, 0xff, 0xff, 0xff, 0x7f)); /* 1 GiB: no frame */
    check_no_rule(rule_of_word(0x80a8a884));           /* the second half is missing */
    CHECK(rule_of_word(0x80a8b084), SP, 8, NO_PLACE, NO_PLACE,
          CFA(-1)); /* nothing follows the instruction that finishes */
}

/* ---- frame records */

static void code_keeps_frame_pointers_when_most_functions_do(void **state)
{
    (void)state;
    enum { MANY = 16 };
    static uint32_t many[2 * MANY];
    struct strobe_eh_frame e;
    for (unsigned with = 0; with <= MANY; with++) {
        for (unsigned i = 0; i < MANY; i++) {
            many[2 * i] = relative(start_of(i), TABLE + 8 * i);
            many[2 * i + 1] = i < with ? 0x809b8480 : 0x80978408; /* r11, or r7, leads to the record */
        }
        assert_int_equal(strobe_exidx_open(many, sizeof many, TABLE, TABLE, sizeof many, &e), STROBE_OK);
        assert_int_equal(strobe_exidx_keeps_fp(&e), with >= 12);
    }
    for (unsigned i = 0; i < MANY; i++)
        many[2 * i + 1] = 0x809b40af; /* r11 leads to the return address, as GCC has it */
    assert_false(strobe_exidx_keeps_fp(&e));
    assert_int_equal(strobe_exidx_open(many, sizeof many, TABLE, TABLE, 0, &e), STROBE_OK);
    assert_false(strobe_exidx_keeps_fp(&e));
}

/* ---- damaged tables */

static void a_table_outside_of_its_bytes_is_refused(void **state)
{
    (void)state;
    struct strobe_eh_frame e;
    assert_int_equal(strobe_exidx_open(words, 64, TABLE, TABLE + 8, 56, &e), STROBE_OK);
    assert_int_equal(strobe_exidx_open(words, 64, TABLE, TABLE + 8, 64, &e), STROBE_BAD_INPUT);
    assert_int_equal(strobe_exidx_open(words, 64, TABLE, TABLE + 72, 0, &e), STROBE_BAD_INPUT);
    assert_int_equal(strobe_exidx_open(words, 64, TABLE, TABLE - 8, 8, &e), STROBE_BAD_INPUT);
    assert_int_equal(strobe_exidx_open(words, 64, TABLE, TABLE + 2, 8, &e), STROBE_BAD_INPUT);
    assert_int_equal(strobe_exidx_open(words, 64, TABLE, TABLE, UINT64_MAX, &e), STROBE_BAD_INPUT);
}

static void instructions_outside_of_the_bytes_have_no_rule_S44(void **state)
{
    (void)state;
    const uint32_t cut[] = {0x8101a802, 0x02b0b0b0};
    struct strobe_eh_frame e;
    set_extab(cut, 2);
    for (unsigned end = 24; end <= 4 * EXTAB_AT + 8; end += 2) {
        assert_int_equal(strobe_exidx_open(words, end, TABLE, TABLE, 8 * FUNCTIONS, &e), STROBE_OK);
        assert_int_equal(strobe_exidx_rule(&e, start_of(1)).kind,
                         end == 4 * EXTAB_AT + 8 ? STROBE_UNWIND_FRAME : STROBE_UNWIND_NONE);
    }
    set_entry(1, relative(TABLE - 4, TABLE + 12)); /* below the bytes */
    check_no_rule(strobe_exidx_rule(&table, start_of(1)));
    set_entry(1, relative(TABLE + 4 * EXTAB_AT + 2, TABLE + 12)); /* between two words */
    check_no_rule(strobe_exidx_rule(&table, start_of(1)));
}

/* A word such as tables hold at `at`, or any. */
static uint32_t draw_word(uint64_t *seed, unsigned bytes, uint64_t at)
{
    uint64_t word = strobe_trial_random(seed);
    if (word >> 63 && at % 8 == 0)
        return relative(TEXT + (word & 0xffff), at);
    switch (word >> 60) {
    case 0:
    case 1: return relative(TABLE + (word & 0xffff) % (bytes + 16), at);
    case 2: return 0x80b0b0b0;
    case 3: return 0x80000000 | ((uint32_t)word & 0xffffff);
    case 4: return 0x81000000 | ((uint32_t)word & 0x3ffff);
    default: return (uint32_t)word;
    }
}

static void any_table_is_read_within_its_bytes_S44(void **state)
{
    (void)state;
    uint64_t seed = 44;
    uint8_t *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages, PAGE, PROT_NONE) | mprotect(pages + 2 * PAGE, PAGE, PROT_NONE), 0);
    unsigned found = 0;
    for (unsigned round = 0; round < strobe_trial_rounds(20000); round++) {
        unsigned bytes = (unsigned)(strobe_trial_random(&seed) % 128);
        uint8_t *at = round % 2 ? pages + PAGE : pages + 2 * PAGE - bytes;
        struct strobe_eh_frame e;
        for (unsigned i = 0; i + 4 <= bytes; i += 4) {
            uint32_t word = draw_word(&seed, bytes, TABLE + i);
            memcpy(at + i, &word, sizeof word);
        }
        unsigned entries = (unsigned)(strobe_trial_random(&seed) % 16);
        if (strobe_exidx_open(at, bytes, TABLE, TABLE, 8 * entries, &e) != STROBE_OK)
            continue;
        for (unsigned i = 0; i < 8; i++)
            found += strobe_exidx_rule(&e, TEXT + strobe_trial_random(&seed) % 0x20000).kind != STROBE_UNWIND_NONE;
        strobe_exidx_keeps_fp(&e);
    }
    assert_true(found > 100);
    munmap(pages, 3 * PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_entry_holds_its_instructions_in_each_model_S43, prepare),
        cmocka_unit_test_setup(code_that_can_not_be_unwound_is_not_covered, prepare),
        cmocka_unit_test_setup(an_entry_reaches_to_the_next_one, prepare),
        cmocka_unit_test_setup(entries_of_no_known_form_have_no_rule, prepare),
        cmocka_unit_test_setup(the_stack_pointer_moves_both_ways_S43, prepare),
        cmocka_unit_test_setup(registers_are_popped_from_the_lowest_S43, prepare),
        cmocka_unit_test_setup(a_frame_may_be_located_by_any_register_S43, prepare),
        cmocka_unit_test_setup(a_saved_stack_pointer_is_followed_S43, prepare),
        cmocka_unit_test_setup(a_frame_with_all_registers_is_of_a_signal_S43, prepare),
        cmocka_unit_test_setup(registers_of_coprocessors_take_their_room_S43, prepare),
        cmocka_unit_test_setup(instructions_without_meaning_have_no_rule, prepare),
        cmocka_unit_test_setup(code_keeps_frame_pointers_when_most_functions_do, prepare),
        cmocka_unit_test_setup(a_table_outside_of_its_bytes_is_refused, prepare),
        cmocka_unit_test_setup(instructions_outside_of_the_bytes_have_no_rule_S44, prepare),
        cmocka_unit_test_setup(any_table_is_read_within_its_bytes_S44, prepare),
    };
    return cmocka_run_group_tests_name("exidx", tests, NULL, NULL);
}
