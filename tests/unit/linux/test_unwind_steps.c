/* Steps between frames whose rules need what a walk does not always know: other registers, or the stack pointer. The
 * call frame information, and the stack, are fabricated (S-43). */
#include "engine/backend/linux/unwind_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <string.h>
#include <cmocka.h>

enum { CODE = 0x10000, FUNCTION_BYTES = 0x100, TABLE_BYTES = 192, WORDS = 64, STACK = 0x7000000, OTHER_REGISTER = 12 };

/* Functions by number: what their rule computes the end of the frame from, and where it keeps the caller's words. */
static const struct {
    uint8_t base, cfa_words, fp_below, ra_below;
} functions[] = {
    {OTHER_REGISTER, 8, 2, 1}, /* below the frame's end, in words */
    {STROBE_EH_SP, 6, 6, 5},   /* a record at the low end of the frame */
    {STROBE_EH_SP, 6, 0, 5},   /* keeps no frame pointer */
    {STROBE_EH_SP, 1, 2, 1},   /* at its return: the place of the frame pointer is below the stack pointer */
    {STROBE_EH_FP, 2, 2, 1},
};
enum { BY_OTHER_REGISTER, WITH_RECORD, WITHOUT_RECORD, AT_RETURN, BY_FRAME_POINTER, FUNCTIONS };

static struct strobe_unwind_index rules;
static uint8_t table[FUNCTIONS][TABLE_BYTES];
static uint64_t stack[WORDS];
static const struct strobe_window window = {STACK, STACK + sizeof stack, 0, 0};

static void put(uint8_t **at, uint64_t value, unsigned count)
{
    memcpy(*at, &value, count);
    *at += count;
}

static uint64_t code_of(unsigned function)
{
    return CODE + 2 * FUNCTION_BYTES * (uint64_t)function;
}

static void add_function(unsigned number)
{
    enum { HEADER = 20, COMMON = 4 + 20 };
    const uint64_t start = code_of(number), address = start + FUNCTION_BYTES;
    struct strobe_unwind_image image = {.start = start, .end = start + 2 * FUNCTION_BYTES};
    uint8_t *at = table[number];
    uint32_t slot;
    put(&at, 0x3b031b01, 4); /* version 1; forms of what follows */
    put(&at, HEADER - 4, 4);
    put(&at, 1, 4);
    put(&at, start - address, 4);
    put(&at, HEADER + COMMON, 4);
    put(&at, COMMON - 4, 4);
    put(&at, 0, 4);
    put(&at, 0x78010001, 4); /* version 1, no augmentation, factors 1 and -8 */
    put(&at, STROBE_EH_RA, 1);
    put(&at, 0x0c, 1); /* the frame's end */
    put(&at, functions[number].base, 1);
    put(&at, functions[number].cfa_words * 8, 1);
    put(&at, 0x80 | STROBE_EH_RA, 1);
    put(&at, functions[number].ra_below, 1);
    if (functions[number].fp_below) {
        put(&at, 0x80 | STROBE_EH_FP, 1);
        put(&at, functions[number].fp_below, 1);
    } else {
        put(&at, 0, 2);
    }
    put(&at, 0, 4);
    put(&at, 4 + 16, 4);
    put(&at, COMMON + 4, 4);
    put(&at, start, 8);
    put(&at, FUNCTION_BYTES, 8);
    assert_int_equal(strobe_eh_frame_open(table[number], TABLE_BYTES, address, address, &image.frames), STROBE_OK);
    assert_int_equal(strobe_unwind_index_add(&rules, &image, &slot), STROBE_OK);
}

static int prepare(void **state)
{
    (void)state;
    memset(&rules, 0, sizeof rules);
    for (unsigned i = 0; i < FUNCTIONS; i++)
        add_function(i);
    memset(stack, 0, sizeof stack);
    return 0;
}

static uint64_t place(unsigned word)
{
    return STACK + 8 * (uint64_t)word;
}

static struct strobe_window readable_window(void)
{
    struct strobe_window w = window;
    w.bias = (uint64_t)(uintptr_t)stack - STACK;
    return w;
}

static void a_frame_that_another_register_locates_is_left_when_its_value_is_known(void **state)
{
    (void)state;
    struct strobe_window w = readable_window();
    const struct strobe_regs begin = {.pc = code_of(BY_OTHER_REGISTER) + 16, .sp = place(4), .fp = place(40)};
    struct strobe_regs at = begin;
    stack[20 + 8 - 1] = 0x1234;
    stack[20 + 8 - 2] = place(50);
    assert_true(strobe_walk_table_leave(&rules, place(20), &w, &at));
    assert_int_equal(at.pc, 0x1234);
    assert_int_equal(at.sp, place(28));
    assert_int_equal(at.fp, place(50));

    at = begin;
    assert_false(strobe_walk_table_leave(&rules, STACK + sizeof stack, &w, &at)); /* outside of the window */
    at.pc = code_of(WITH_RECORD) + 16;                                            /* needs no such register */
    assert_false(strobe_walk_table_leave(&rules, place(20), &w, &at));
    assert_int_equal(at.sp, begin.sp);
}

enum { MOST = 8 };

static uint32_t walk_from(enum strobe_walk_from from, unsigned function, uint64_t sp, uint64_t fp, uint64_t *pcs,
                          uint64_t *places, enum strobe_walk_end *end)
{
    struct strobe_window w = readable_window();
    w.low = sp;
    struct strobe_regs regs = {.pc = code_of(function) + 16, .sp = sp, .fp = fp};
    uint32_t count;
    *end = strobe_walk_table_placed(&rules, NULL, &regs, from, &w, pcs + MOST, places + MOST, MOST, &count);
    return count;
}

/* Words below the stack pointer are not read. */
static void a_frame_pointer_that_a_function_has_restored_at_its_return_is_that_of_its_caller(void **state)
{
    (void)state;
    uint64_t pcs[MOST], places[MOST];
    enum strobe_walk_end end;
    stack[4] = code_of(BY_FRAME_POINTER) + 20;
    stack[41] = 0x1234; /* the caller's frame ends at word 42 */
    assert_int_equal(walk_from(STROBE_FROM_INSTRUCTION, AT_RETURN, place(4), place(40), pcs, places, &end), 3);
    assert_int_equal(pcs[MOST - 2], code_of(BY_FRAME_POINTER) + 20);
    assert_int_equal(pcs[MOST - 3], 0x1234);
    assert_int_equal(places[MOST - 3], place(42));
}

#ifdef __aarch64__

/* The callee's record is at word 2, inside of its frame, which ends at word 10. */
static void a_frame_s_own_record_stands_in_for_an_unknown_stack_pointer(void **state)
{
    (void)state;
    uint64_t pcs[MOST], places[MOST];
    enum strobe_walk_end end;
    stack[10] = place(16);                    /* the record of the first frame, words 10 to 15 */
    stack[11] = code_of(WITH_RECORD) + 20;    /* its caller, words 16 to 21 */
    stack[17] = code_of(WITHOUT_RECORD) + 24; /* its caller's record */
    assert_int_equal(walk_from(STROBE_FROM_RECORD, WITH_RECORD, place(4), place(10), pcs, places, &end), 3);
    assert_int_equal(pcs[MOST - 2], code_of(WITH_RECORD) + 20);
    assert_int_equal(places[MOST - 2], place(16));
    assert_int_equal(pcs[MOST - 3], code_of(WITHOUT_RECORD) + 24);
    assert_int_equal(places[MOST - 3], place(22));
}

static void without_a_record_an_unknown_stack_pointer_makes_the_stack_doubtful(void **state)
{
    (void)state;
    uint64_t pcs[MOST], places[MOST];
    enum strobe_walk_end end;
    stack[5] = code_of(WITH_RECORD) + 20; /* where the return address would be if word 4 were the stack pointer */
    assert_int_equal(walk_from(STROBE_FROM_RECORD, WITHOUT_RECORD, place(4), place(10), pcs, places, &end), 1);
    assert_int_equal(end, STROBE_WALK_DOUBTFUL);
    assert_true(walk_from(STROBE_FROM_CALL, WITHOUT_RECORD, place(4), place(10), pcs, places, &end) > 1);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_frame_that_another_register_locates_is_left_when_its_value_is_known, prepare),
        cmocka_unit_test_setup(a_frame_pointer_that_a_function_has_restored_at_its_return_is_that_of_its_caller,
                               prepare),
#ifdef __aarch64__
        cmocka_unit_test_setup(a_frame_s_own_record_stands_in_for_an_unknown_stack_pointer, prepare),
        cmocka_unit_test_setup(without_a_record_an_unknown_stack_pointer_makes_the_stack_doubtful, prepare),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
