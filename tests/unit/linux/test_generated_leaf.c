/* Generated code without unwind rules, single-stepped on the processor (S-43). A leaf function without a frame record
 * must not hide its caller, for each form of call whose target the code shows. Another function must not get a wrong
 * caller. */
#include "engine/backend/linux/host_linux.h"
#include "engine/backend/linux/unwind_images.h"
#include "engine/backend/linux/unwind_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ucontext.h>
#include <time.h>
#include <cmocka.h>

#ifndef __x86_64__

int main(void)
{
    return 0;
}

#else

enum { FRAMES = 64, PAGE = 4096, CALLER = 0, CALLEE = 0x200, STUB = 0x400, CELL = 0x800, STALE = 0x600 };

static uint8_t *page;
static uint64_t returns_to; /* in the caller, behind its call */
static struct strobe_linux linux_host;
static struct strobe_window own_stack;

/* Frames that the callee sees: frames[0] is the callee, [1] its caller, [2] the caller's caller. */
static uint32_t seen, whole, caller_missing, wrong;
static bool stepping;

static uint64_t address_of(uint32_t offset)
{
    return (uint64_t)(uintptr_t)page + offset;
}

static bool in_caller(uint64_t address)
{
    return address - address_of(CALLER) < CALLEE - CALLER;
}

static void on_step(int number, siginfo_t *info, void *context)
{
    const ucontext_t *u = context;
    const greg_t *g = u->uc_mcontext.gregs;
    uint64_t frames[FRAMES], *end = frames + FRAMES;
    uint32_t count = 0;
    struct strobe_regs regs = {.pc = (uint64_t)g[REG_RIP], .sp = (uint64_t)g[REG_RSP], .fp = (uint64_t)g[REG_RBP]};
    (void)number, (void)info;
    if (!stepping || regs.pc - address_of(CALLEE) >= STUB - CALLEE)
        return;
    regs.general[6] = regs.fp;
    regs.general[7] = regs.sp;
    regs.general[16] = regs.pc;
    struct strobe_window window = own_stack;
    window.low = (regs.sp & ~(uint64_t)7) - STROBE_RED_ZONE_BYTES;
    enum strobe_walk_end how = strobe_unwinder_table.copied(&linux_host.host, &regs, &window, end, FRAMES, &count);
    seen++;
    if (count >= 3 && end[-2] == returns_to && !in_caller(end[-3]))
        whole += how != STROBE_WALK_DOUBTFUL;
    else if (count >= 2 && !in_caller(end[-2]) && end[-2] != address_of(STALE))
        caller_missing++;
    else
        wrong++;
}

static __attribute__((noinline)) uint64_t run_stepping(void)
{
    uint64_t (*function)(uint64_t) = (uint64_t(*)(uint64_t))(uintptr_t)address_of(CALLER);
    struct sigaction act = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO}, before;
    seen = whole = caller_missing = wrong = 0;
    sigaction(SIGTRAP, &act, &before);
    stepping = true;
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
    uint64_t result = function(1);
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
    stepping = false;
    sigaction(SIGTRAP, &before, NULL);
    return result;
}

static uint32_t put(uint32_t at, const void *bytes, size_t count)
{
    memcpy(page + at, bytes, count);
    return at + (uint32_t)count;
}

#define PUT(at, ...) put(at, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static uint32_t put_distance(uint32_t at, uint32_t to)
{
    uint32_t distance = to - (at + 4);
    return put(at, &distance, sizeof distance);
}

static uint32_t put_address(uint32_t at, uint32_t of)
{
    uint64_t address = address_of(of);
    return put(at, &address, sizeof address);
}

/* ---- how the callee is called ---- */

static uint32_t call_directly(uint32_t at)
{
    return put_distance(PUT(at, 0xe8), CALLEE);
}

static uint32_t call_through_a_cell(uint32_t at)
{
    put_address(CELL, CALLEE);
    return put_distance(PUT(at, 0xff, 0x15), CELL);
}

static uint32_t call_a_constant_in_rax(uint32_t at)
{
    return PUT(put_address(PUT(at, 0x48, 0xb8), CALLEE), 0xff, 0xd0);
}

static uint32_t call_a_constant_in_r10(uint32_t at)
{
    return PUT(put_address(PUT(at, 0x49, 0xba), CALLEE), 0x41, 0xff, 0xd2);
}

static uint32_t call_a_stub(uint32_t at)
{
    put_address(CELL, CALLEE);
    put_distance(PUT(STUB, 0xff, 0x25), CELL);
    return put_distance(PUT(at, 0xe8), STUB);
}

/* The target cannot be derived from the code: mov $imm64,%rax; mov %rax,%rcx; call *%rcx. */
static uint32_t call_a_register(uint32_t at)
{
    return PUT(put_address(PUT(at, 0x48, 0xb8), CALLEE), 0x48, 0x89, 0xc1, 0xff, 0xd1);
}

/* A caller with a frame record: push %rbp; mov %rsp,%rbp; nops; call; pop %rbp; ret. */
static void lay_caller(uint32_t (*call)(uint32_t at))
{
    memset(page, 0xcc, PAGE);
    uint32_t end = call(PUT(CALLER, 0x55, 0x48, 0x89, 0xe5, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90));
    returns_to = address_of(end);
    PUT(end, 0x5d, 0xc3);
}

/* mov %rdi,-8(%rsp); mov -8(%rsp),%rax; add $41,%rax; ret, with nops: in all 5 instructions before the return */
static void lay_leaf(void)
{
    PUT(CALLEE, 0x48, 0x89, 0x7c, 0x24, 0xf8, 0x90, 0x48, 0x8b, 0x44, 0x24, 0xf8, 0x66, 0x0f, 0x1f, 0x44, 0, 0, 0x48,
        0x83, 0xc0, 0x29, 0xc3);
}

static void a_leaf_shows_its_caller_however_it_is_called(void **state)
{
    static uint32_t (*const calls[])(uint32_t) = {call_directly, call_through_a_cell, call_a_constant_in_rax,
                                                  call_a_constant_in_r10, call_a_stub};
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        lay_caller(calls[i]);
        lay_leaf();
        assert_int_equal(run_stepping(), 42);
        if (seen != 6 || whole != seen)
            fail_msg("call %zu: %u instructions, %u whole, %u without the caller", i, seen, whole, caller_missing);
    }
}

static void a_leaf_whose_call_says_nothing_gets_no_wrong_caller(void **state)
{
    (void)state;
    lay_caller(call_a_register);
    lay_leaf();
    assert_int_equal(run_stepping(), 42);
    assert_int_equal(seen, 6);
    assert_int_equal(wrong, 0);
    assert_int_equal(whole, 1); /* the return instruction itself proves it */
}

/* The stale address is behind a call of the callee, as a real stale address may be. */
static void lay_stale_call(void)
{
    put_distance(PUT(STALE - 5, 0xe8), CALLEE);
}

/* push %rbp; mov %rsp,%rbp (as other compilers encode it); movabs $stale,%rax; push %rax; nop; leave; ret */
static void a_stale_return_address_in_a_frame_is_no_caller(void **state)
{
    (void)state;
    lay_caller(call_directly);
    lay_stale_call();
    uint32_t at = put_address(PUT(CALLEE, 0x55, 0x48, 0x8b, 0xec, 0x48, 0xb8), STALE);
    PUT(at, 0x50, 0x90, 0x90, 0xc9, 0xc3);
    run_stepping();
    assert_int_equal(seen, 8);
    assert_int_equal(wrong, 0);
    assert_true(whole + caller_missing == seen);
    assert_true(caller_missing <= 1); /* mov %rsp,%rbp in the other encoding */
}

/* movabs $stale,%rax; push %rax; nops; add $8,%rsp; ret */
static void a_function_that_has_pushed_is_no_leaf(void **state)
{
    (void)state;
    lay_caller(call_through_a_cell);
    lay_stale_call();
    uint32_t at = put_address(PUT(CALLEE, 0x48, 0xb8), STALE);
    PUT(at, 0x50, 0x90, 0x90, 0x48, 0x83, 0xc4, 0x08, 0xc3);
    run_stepping();
    assert_int_equal(seen, 6);
    assert_int_equal(wrong, 0);
    assert_int_equal(whole, 3); /* before the push and at the return */
}

/* sub $24,%rsp, with a return address of a call of this function left in the words below; nops; add $24,%rsp; ret */
static void a_stale_return_address_below_a_moved_stack_pointer_is_no_caller(void **state)
{
    (void)state;
    lay_caller(call_through_a_cell);
    lay_stale_call();
    uint32_t at = put_address(PUT(CALLEE, 0x48, 0xb8), STALE);
    PUT(at, 0x48, 0x89, 0x44, 0x24, 0xe8, 0x48, 0x83, 0xec, 0x18, 0x90, 0x90, 0x48, 0x83, 0xc4, 0x18, 0xc3);
    run_stepping();
    assert_int_equal(seen, 7);
    assert_int_equal(wrong, 0);
}

static int start_rules(void **state)
{
    pthread_attr_t attributes;
    void *low;
    size_t bytes;
    (void)state;
    strobe_linux_init(&linux_host, clock_gettime);
    struct strobe_unwind_index *rules = strobe_unwind_images_update(&linux_host.host);
    strobe_unwind_table_use(rules);
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_destroy(&attributes);
    own_stack = (struct strobe_window){.low = (uint64_t)(uintptr_t)low, .high = (uint64_t)(uintptr_t)low + bytes};
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return rules == NULL || page == MAP_FAILED;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leaf_shows_its_caller_however_it_is_called),
        cmocka_unit_test(a_leaf_whose_call_says_nothing_gets_no_wrong_caller),
        cmocka_unit_test(a_stale_return_address_in_a_frame_is_no_caller),
        cmocka_unit_test(a_function_that_has_pushed_is_no_leaf),
        cmocka_unit_test(a_stale_return_address_below_a_moved_stack_pointer_is_no_caller),
    };
    return cmocka_run_group_tests_name("leaves of generated code", tests, start_rules, NULL);
}

#endif
