/* Detects from code whether a thread was in a system call, and in which. */
#include "engine/trace/symbols/syscall_site.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NONE = -2, UNKNOWN = STROBE_SYSCALL_UNKNOWN };

/* Returns the number that is found when the innermost return address is `address` bytes into the code. */
static int number_at(unsigned machine, const void *code, size_t bytes, size_t address)
{
    const struct strobe_machine_code c = {machine, code, bytes};
    int number;
    return strobe_syscall_site(&c, address, &number) ? number : NONE;
}

#define X86(address, ...)                                                                                              \
    number_at(EM_X86_64, (const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}), address)
#define ARM64(address, ...)                                                                                            \
    number_at(EM_AARCH64, (const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}), address)

static void behind_and_on_the_instruction_a_thread_is_in_the_call(void **state)
{
    (void)state;
    /* mov $39,%eax; syscall; ret: interrupted at ret, and at syscall */
    assert_int_equal(X86(8, 0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0xc3), 39);
    assert_int_equal(X86(6, 0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0xc3), 39);
    assert_int_equal(X86(1, 0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0xc3), NONE);
    assert_int_equal(X86(9, 0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0x90, 0xc3), NONE);
    /* mov w8,#172; svc #0; ret */
    assert_int_equal(ARM64(9, 0x52801588, 0xd4000001, 0xd65f03c0), 172);
    assert_int_equal(ARM64(5, 0xd2801588, 0xd4000001, 0xd65f03c0), 172);
    assert_int_equal(ARM64(1, 0x52801588, 0xd4000001, 0xd65f03c0), NONE);
}

static void the_number_is_the_constant_loaded_last(void **state)
{
    (void)state;
    /* xor %eax,%eax; syscall */
    assert_int_equal(X86(5, 0x31, 0xc0, 0x0f, 0x05, 0xc3), 0);
    /* mov $202,%rax; syscall */
    assert_int_equal(X86(10, 0x48, 0xc7, 0xc0, 202, 0, 0, 0, 0x0f, 0x05, 0xc3), 202);
    /* mov $1,%eax; mov $2,%eax; mov %rsi,%rdi; syscall */
    assert_int_equal(X86(16, 0xb8, 1, 0, 0, 0, 0xb8, 2, 0, 0, 0, 0x48, 0x89, 0xf7, 0x0f, 0x05, 0xc3), 2);
    /* mov $270,%eax; mov $8,%r8d; syscall: the second one sets another register */
    assert_int_equal(X86(14, 0xb8, 14, 1, 0, 0, 0x41, 0xb8, 8, 0, 0, 0, 0x0f, 0x05, 0xc3), 270);
    /* mov w8,#98; mov w1,#172; svc #0 */
    assert_int_equal(ARM64(13, 0x52800c48, 0x52801581, 0xd4000001, 0xd65f03c0), 98);
}

static void a_number_from_elsewhere_is_not_known(void **state)
{
    (void)state;
    /* mov %rdi,%rax; syscall */
    assert_int_equal(X86(6, 0x48, 0x89, 0xf8, 0x0f, 0x05, 0xc3), UNKNOWN);
    /* mov $0x12345678,%eax; syscall */
    assert_int_equal(X86(8, 0xb8, 0x78, 0x56, 0x34, 0x12, 0x0f, 0x05, 0xc3), UNKNOWN);
    assert_int_equal(ARM64(5, 0xd4000001, 0xd65f03c0), UNKNOWN);
}

static void a_return_address_is_no_system_call_whatever_the_call_goes_to(void **state)
{
    (void)state;
    /* call with the displacement 0x050fXX, direct and through memory: the bytes 0f 05 end two before the address */
    assert_int_equal(X86(5, 0xe8, 0x10, 0x0f, 0x05, 0x00, 0xc3), NONE);
    assert_int_equal(X86(6, 0xff, 0x15, 0x10, 0x0f, 0x05, 0x00, 0xc3), NONE);
    assert_int_equal(X86(6, 0xff, 0x90, 0x10, 0x0f, 0x05, 0x00, 0xc3), NONE);
    assert_int_equal(X86(7, 0xff, 0x94, 0x24, 0x10, 0x0f, 0x05, 0x00, 0xc3), NONE);
    /* call *0xf(%rax); add $1,%eax: 0f 05 across the return address */
    assert_int_equal(X86(3, 0xff, 0x50, 0x0f, 0x05, 1, 0, 0, 0), NONE);
    /* arm64: an aligned address is one that a call returns to */
    assert_int_equal(ARM64(8, 0x52801588, 0xd4000001, 0xd65f03c0), NONE);
}

static void code_that_ends_anywhere_is_not_read_past_its_end(void **state)
{
    static const uint8_t code[] = {0xff, 0xff, 0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0x48, 0xc7, 0xc0, 0x31, 0xc0, 0x01, 0x00};
    (void)state;
    for (size_t bytes = 0; bytes <= sizeof code; bytes++) {
        uint8_t *copy = malloc(bytes ? bytes : 1); /* address sanitizers check the ends of a heap block */
        memcpy(copy, code, bytes);
        for (size_t address = 0; address <= bytes + 2; address++) {
            number_at(EM_X86_64, copy, bytes, address);
            number_at(EM_AARCH64, copy, bytes, address);
        }
        free(copy);
    }
}

static void names_are_those_of_the_machine(void **state)
{
    (void)state;
    assert_string_equal(strobe_syscall_name(EM_X86_64, 0), "read");
    assert_string_equal(strobe_syscall_name(EM_X86_64, 39), "getpid");
    assert_string_equal(strobe_syscall_name(EM_X86_64, 318), "getrandom");
    assert_string_equal(strobe_syscall_name(EM_AARCH64, 172), "getpid");
    assert_string_equal(strobe_syscall_name(EM_AARCH64, 63), "read");
    assert_string_equal(strobe_syscall_name(EM_ARM, 3), "read");
    assert_string_equal(strobe_syscall_name(EM_ARM, 240), "futex");
    assert_string_equal(strobe_syscall_name(EM_ARM, 450), "set_mempolicy_home_node");
    assert_null(strobe_syscall_name(EM_ARM, 7));
    assert_null(strobe_syscall_name(EM_ARM, 451));
    assert_null(strobe_syscall_name(EM_X86_64, -1));
    assert_null(strobe_syscall_name(EM_X86_64, 400));
    assert_null(strobe_syscall_name(EM_X86_64, 100000));
    assert_null(strobe_syscall_name(EM_386, 0));
}

static void a_function_named_after_its_call_says_it(void **state)
{
    static const struct {
        const char *function, *call;
        int said;
    } rows[] = {
        {"read", "read", 1},
        {"__read", "read", 1},
        {"__libc_read", "read", 1},
        {"__GI___poll", "poll", 1},
        {"mmap64", "mmap", 1},
        {"pread64", "pread64", 1},
        {"readlink", "read", 0},
        {"__futex_wait", "futex", 0},
        {"__close_nocancel", "close", 1},
        {"syscall", NULL, 1},
        {"syscalls", NULL, 0},
        {"f", NULL, 0},
        {"open64", "openat", 0},
        {"", "read", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strobe_syscall_is_named(rows[i].function, rows[i].call) != rows[i].said)
            fail_msg("%s, in %s", rows[i].call ? rows[i].call : "an unknown call", rows[i].function);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behind_and_on_the_instruction_a_thread_is_in_the_call),
        cmocka_unit_test(the_number_is_the_constant_loaded_last),
        cmocka_unit_test(a_number_from_elsewhere_is_not_known),
        cmocka_unit_test(a_return_address_is_no_system_call_whatever_the_call_goes_to),
        cmocka_unit_test(code_that_ends_anywhere_is_not_read_past_its_end),
        cmocka_unit_test(names_are_those_of_the_machine),
        cmocka_unit_test(a_function_named_after_its_call_says_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
