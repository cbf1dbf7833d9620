/* Walks over stacks of 32-bit ARM, by fabricated exception tables and stacks. The walk is compiled for that machine.
 * tests/armv7 runs it over compilers' code. */
#define STROBE_ABI_ARM
#include "engine/backend/linux/unwind_index.c"
#include "engine/backend/linux/unwind_table.c"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { TEXT = 0x8000, TABLE = 0x20000, FUNCTIONS = 6, FUNCTION_BYTES = 0x100, STACK = 0x70000000, WORDS = 256 };
enum { CANNOT_UNWIND = 1, THUMB_CODE = 0x20, FIRST_BIT = 1 };

static uint32_t words[2 * FUNCTIONS + 8], stack[WORDS];
static uint16_t code[FUNCTION_BYTES * FUNCTIONS / 2];
static struct strobe_unwind_index table_index;
static struct strobe_window window;
static uint64_t frames[16];
static uint32_t count;

static uint32_t relative(uint64_t to, uint64_t at)
{
    return (uint32_t)(to - at) & 0x7fffffffu;
}

static uint64_t start_of(unsigned function)
{
    return TEXT + FUNCTION_BYTES * function;
}

/* A return address into the function, as Thumb code has it. */
static uint32_t back_to(unsigned function)
{
    return (uint32_t)start_of(function) + 0x40 + FIRST_BIT;
}

static enum strobe_status read_code_of_test(void *ctx, uint64_t address, void *out, size_t bytes, size_t *copied)
{
    (void)ctx;
    *copied = 0;
    if (address < TEXT || address - TEXT >= sizeof code)
        return STROBE_UNREADABLE;
    *copied = bytes < sizeof code - (address - TEXT) ? bytes : sizeof code - (size_t)(address - TEXT);
    memcpy(out, (const char *)code + (address - TEXT), *copied);
    return STROBE_OK;
}

static const struct strobe_host code_host = {.read = read_code_of_test};

/* Function 0: pop {r4, lr}. 1: vsp = r7, pop {r7, lr}. 2: vsp = r11, pop {r11, lr}. 3: cannot be unwound. 4: the frame
 * of a signal. 5: pop {r4, r7, r11, lr}. */
static int prepare(void **state)
{
    (void)state;
    static const uint32_t entries[FUNCTIONS] = {0x80a8b0b0, 0x80978408, 0x809b8480, CANNOT_UNWIND, 0, 0x808489b0};
    static const uint32_t signal_frame[] = {0x8101b10f, 0x8fffb0b0};
    struct strobe_unwind_image image = {.start = TEXT, .end = TEXT + FUNCTION_BYTES * FUNCTIONS};
    uint32_t slot;
    memset(&table_index, 0, sizeof table_index);
    memset(stack, 0, sizeof stack);
    for (size_t i = 0; i < sizeof code / sizeof *code; i++)
        code[i] = 0xbf00;
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        words[2 * i] = relative(start_of(i), TABLE + 8 * i);
        words[2 * i + 1] = entries[i];
    }
    words[9] = relative(TABLE + 8 * FUNCTIONS, TABLE + 4 * 9);
    memcpy(words + 2 * FUNCTIONS, signal_frame, sizeof signal_frame);
    window = (struct strobe_window){STACK, STACK + sizeof stack, (uint64_t)(uintptr_t)stack - STACK, 0};
    return strobe_exidx_open(words, sizeof words, TABLE, TABLE, 8 * FUNCTIONS, &image.frames) != STROBE_OK ||
           strobe_unwind_index_add(&table_index, &image, &slot) != STROBE_OK;
}

static uint64_t stack_at(unsigned word)
{
    return STACK + 4 * word;
}

static enum strobe_walk_end walk(const struct strobe_regs *regs)
{
    return strobe_walk_table(&table_index, &code_host, regs, &window, frames + 16, 16, &count);
}

static uint64_t frame_of(unsigned i)
{
    return frames[15 - i];
}

static void frames_are_found_by_each_base_register_S43(void **state)
{
    (void)state;
    struct strobe_regs regs = {.pc = back_to(5) & ~(uint64_t)FIRST_BIT, .sp = stack_at(0)};
    uint64_t places[16];
    /* 5: r4, r7, r11, lr; 1: r7, lr at r7; 2: r11, lr at r11; 0: r4, lr */
    stack[1] = (uint32_t)stack_at(10);
    stack[2] = (uint32_t)stack_at(30);
    stack[3] = back_to(1);
    stack[10] = 77;
    stack[11] = back_to(2);
    stack[30] = 78;
    stack[31] = back_to(0);
    stack[33] = back_to(3);
    enum strobe_walk_end end = strobe_walk_table_placed(&table_index, NULL, &regs, STROBE_FROM_BODY, &window,
                                                        frames + 16, places + 16, 16, &count);
    assert_int_equal(end, STROBE_WALK_DOUBTFUL); /* the outermost function has no table entry */
    assert_int_equal(count, 5);
    for (unsigned i = 0; i < 5; i++) {
        static const unsigned function[] = {5, 1, 2, 0, 3}, place[] = {0, 4, 12, 32, 34};
        assert_int_equal(frame_of(i), back_to(function[i]) & ~(uint64_t)FIRST_BIT);
        assert_int_equal(places[15 - i], stack_at(place[i]));
    }
    window.root = stack_at(34);
    assert_int_equal(strobe_walk_table_placed(&table_index, NULL, &regs, STROBE_FROM_BODY, &window, frames + 16,
                                              places + 16, 16, &count),
                     STROBE_WALK_ROOT);
}

static void the_code_decides_at_an_instruction_S43(void **state)
{
    (void)state;
    struct strobe_regs regs = {.pc = start_of(0), .sp = stack_at(0), .lr = back_to(5)};
    regs.general[STROBE_EH_ARM_STATE] = THUMB_CODE;
    code[0] = 0xb510; /* push {r4, lr} */
    stack[1] = back_to(5);
    walk(&regs);
    assert_true(count >= 2);
    assert_int_equal(frame_of(0), start_of(0) + 1);
    assert_int_equal(frame_of(1), back_to(5) & ~(uint64_t)FIRST_BIT); /* by the link register: nothing is pushed yet */
    regs.pc += 2;
    regs.lr = 0;
    walk(&regs);
    assert_true(count >= 2);
    assert_int_equal(frame_of(1), back_to(5) & ~(uint64_t)FIRST_BIT);
}

static void what_a_signal_interrupted_is_an_instruction_S43(void **state)
{
    (void)state;
    struct strobe_regs regs = {.pc = back_to(4) & ~(uint64_t)FIRST_BIT, .sp = stack_at(0)};
    uint64_t places[16];
    enum { SAVED_SP = 13, SAVED_LR = 14, SAVED_PC = 15, SAVED_STATE = 16 };
    code[0] = 0xb510;
    stack[SAVED_SP] = (uint32_t)stack_at(40);
    stack[SAVED_LR] = back_to(5);
    stack[SAVED_PC] = (uint32_t)start_of(0);
    stack[SAVED_STATE] = THUMB_CODE;
    stack[43] = back_to(3);
    strobe_walk_table_placed(&table_index, &code_host, &regs, STROBE_FROM_BODY, &window, frames + 16, places + 16, 16,
                             &count);
    assert_int_equal(count, 4);
    assert_int_equal(frame_of(1), start_of(0) + 1);
    assert_int_equal(frame_of(2), back_to(5) & ~(uint64_t)FIRST_BIT);
    assert_int_equal(places[14], stack_at(40));
    assert_int_equal(frame_of(3), back_to(3) & ~(uint64_t)FIRST_BIT);
}

static void the_code_that_a_signal_interrupted_is_of_its_state_S43(void **state)
{
    (void)state;
    struct strobe_regs regs = {.pc = back_to(4) & ~(uint64_t)FIRST_BIT, .sp = stack_at(0)};
    uint64_t places[16];
    code[0] = 0xb510; /* push {r4, lr} */
    code[1] = 0xb082; /* sub sp, #8 */
    stack[13] = (uint32_t)stack_at(40);
    stack[15] = (uint32_t)start_of(0) + 4;
    stack[16] = THUMB_CODE;
    stack[43] = back_to(5);
    strobe_walk_table_placed(&table_index, &code_host, &regs, STROBE_FROM_BODY, &window, frames + 16, places + 16, 16,
                             &count);
    assert_true(count >= 3);
    assert_int_equal(frame_of(1), start_of(0) + 5);
    assert_int_equal(frame_of(2), back_to(5) & ~(uint64_t)FIRST_BIT);
    assert_int_equal(places[13], stack_at(44));
}

static void words_outside_of_the_window_end_a_walk_S44(void **state)
{
    (void)state;
    struct strobe_regs regs = {.pc = back_to(0) & ~(uint64_t)FIRST_BIT, .sp = stack_at(WORDS - 2)};
    uint64_t places[16];
    stack[WORDS - 1] = back_to(0);
    strobe_walk_table_placed(&table_index, NULL, &regs, STROBE_FROM_BODY, &window, frames + 16, places + 16, 16,
                             &count);
    assert_int_equal(count, 2); /* its return address is the last word */
    regs.sp = stack_at(WORDS - 1);
    strobe_walk_table_placed(&table_index, NULL, &regs, STROBE_FROM_BODY, &window, frames + 16, places + 16, 16,
                             &count);
    assert_int_equal(count, 1);
    regs.sp = stack_at(0) + 2; /* not aligned */
    strobe_walk_table_placed(&table_index, NULL, &regs, STROBE_FROM_BODY, &window, frames + 16, places + 16, 16,
                             &count);
    assert_int_equal(count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(frames_are_found_by_each_base_register_S43, prepare),
        cmocka_unit_test_setup(the_code_decides_at_an_instruction_S43, prepare),
        cmocka_unit_test_setup(what_a_signal_interrupted_is_an_instruction_S43, prepare),
        cmocka_unit_test_setup(the_code_that_a_signal_interrupted_is_of_its_state_S43, prepare),
        cmocka_unit_test_setup(words_outside_of_the_window_end_a_walk_S44, prepare),
    };
    return cmocka_run_group_tests_name("unwind_arm", tests, NULL, NULL);
}
