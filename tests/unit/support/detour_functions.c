#include "tests/unit/support/detour_functions.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the code through a volatile pointer, so that the compiler makes no assumption about the function. */
void read_code(unsigned char out[CODE_BYTES], function *f)
{
    const volatile unsigned char *code = (const volatile unsigned char *)(uintptr_t)f;
    for (int i = 0; i < CODE_BYTES; i++)
        out[i] = code[i];
}

/* FUNCTION(name, code): `code` begins at an address where a compiler would begin a function. ODD: `code` begins at
 * another address, so that the jump crosses a word. Code of x86-64 is in Intel's syntax. Only functions with .cfi
 * directives have a known end. */
#if defined(__x86_64__)
#define SYNTAX_BEGIN ".intel_syntax noprefix\n"
#define SYNTAX_END   ".att_syntax\n"
#define PAD          ".skip 6, 0xcc\n"
#else
#define SYNTAX_BEGIN
#define SYNTAX_END
#define PAD ".skip 8\n"
#endif
#define PLACED(name, pad, code)                                                                                        \
    __asm__(".text\n.balign 16\n" pad SYNTAX_BEGIN #name ":\n" code SYNTAX_END);                                       \
    long name(long a, long b)
#define FUNCTION(name, code) PLACED(name, "", code)
#define ODD(name, code)      PLACED(name, PAD, code)
#define LAST(name, code)     PLACED(name, ".skip 7, 0xcc\n", code) /* at the last byte of a word */

#if defined(__x86_64__)

__asm__(".data\n.balign 8\ndatum: .quad 1000\nelsewhere: .quad helper\n"
        ".section .text.apart, \"ax\", @progbits\nhelper: lea (%rdi, %rdi), %rax\nret\n.text\n");

FUNCTION(frame, "push rbp\n mov rbp, rsp\n sub rsp, 32\n lea rax, [rdi + rsi]\n leave\n ret\n");
ODD(frame_odd, "push rbp\n mov rbp, rsp\n sub rsp, 32\n lea rax, [rdi + rsi]\n leave\n ret\n");
LAST(frame_last, "push rbp\n mov rbp, rsp\n lea rax, [rdi + rsi]\n leave\n ret\n");
LAST(large_last, "mov eax, 7\n add rax, rdi\n ret\n");
FUNCTION(large, "mov eax, 7\n add rax, rdi\n ret\n");
FUNCTION(landing, "endbr64\n lea rax, [rdi + rsi * 2]\n add rax, 1\n ret\n");
FUNCTION(pushes, "push r15\n push r14\n push rbx\n mov r15, rdi\n lea rax, [r15 + rsi]\n pop rbx\n pop r14\n pop r15\n"
                 " ret\n");
FUNCTION(relative_lea, "lea rax, datum[rip]\n mov rax, [rax]\n add rax, rdi\n ret\n");
FUNCTION(relative_load, "mov rax, datum[rip]\n add rax, rsi\n ret\n");
FUNCTION(relative_with_constant, "cmp qword ptr datum[rip], 1000\n sete al\n movzx eax, al\n add rax, rdi\n ret\n");
FUNCTION(relative_vector, "movq xmm0, datum[rip]\n movq rax, xmm0\n ret\n");
FUNCTION(branch_short, "test rdi, rdi\n je 1f\n lea rax, [rdi + rsi]\n ret\n 1: mov rax, -1\n ret\n");
ODD(branch_long, "test rdi, rdi\n jne 1f\n lea rax, [rdi + rsi]\n ret\n .skip 300, 0x90\n 1: mov rax, -1\n ret\n");
FUNCTION(branch_signs, "cmp edi, esi\n jg 1f\n mov eax, 1\n ret\n 1: mov eax, 2\n ret\n");
FUNCTION(calls_first, "call helper\n add rax, rsi\n ret\n");
FUNCTION(calls_through_memory, "call elsewhere[rip]\n add rax, rsi\n ret\n");
FUNCTION(jumps_first, "jmp helper\n");
FUNCTION(jumps_through_memory, "jmp elsewhere[rip]\n");
FUNCTION(constant, "mov eax, 1\n ret\n");
FUNCTION(loops_behind, "xor eax, eax\n mov rcx, rdi\n 1: add rax, rsi\n dec rcx\n jns 1b\n ret\n");
ODD(recursion, "test rdi, rdi\n je 1f\n push rdi\n dec rdi\n call recursion\n pop rdi\n add rax, rdi\n ret\n"
               " 1: mov rax, rsi\n ret\n");

FUNCTION(too_short, "mov rax, rdi\n ret\n");
FUNCTION(trap, "ud2\n");
FUNCTION(loop_to_entry, "1: add rsi, rdi\n dec rdi\n jg 1b\n mov rax, rsi\n ret\n");
FUNCTION(loop_to_landing, "endbr64\n add rsi, rdi\n dec rdi\n jg loop_to_landing\n mov rax, rsi\n ret\n");
FUNCTION(loop_into_start, "xor eax, eax\n 1: add rax, rdi\n dec rdi\n jg 1b\n ret\n");
FUNCTION(loop_turned_round, "xor eax, eax\n 1: inc rax\n jmp 2f\n nop\n ret\n 2: dec rdi\n jg 1b\n ret\n");
FUNCTION(branch_within_start, "xor eax, eax\n .byte 0x74, 0\n inc eax\n ret\n");
FUNCTION(call_into_start, "xor eax, eax\n 1: mov rax, rsi\n call 1b\n ret\n");
FUNCTION(reads_its_place, "call 1f\n 1: pop rax\n ret\n");
FUNCTION(counts_down, "jrcxz 1f\n xor eax, eax\n nop\n nop\n nop\n 1: ret\n");
FUNCTION(returns_into_start, "push rbx\n call rdi\n pop rbx\n ret\n");
FUNCTION(loop_behind_register, ".cfi_startproc\n xor eax, eax\n 1: add rax, rdi\n lea rcx, 2f[rip]\n jmp rcx\n"
                               " 2: dec rdi\n jg 1b\n ret\n .cfi_endproc\n");
FUNCTION(long_call, ".byte 0x66, 0x48\n call helper\n add rax, rsi\n ret\n");
/* read(rdi, rsi, 1): when it blocks, the thread is inside the bytes of a jump. */
__asm__(".globl reads_inside\n");
FUNCTION(reads_inside, "push rbx\n syscall\n pop rbx\n ret\n");
FUNCTION(unknown, ".byte 0x06, 0x06, 0x06, 0x06, 0x06, 0x06\n");

const struct movable movables[] = {
    {"a frame", frame, false},
    {"a frame at an odd place", frame_odd, false},
    {"a frame at the end of a word", frame_last, false},
    {"a large instruction", large, false},
    {"a large instruction at the end of a word", large_last, false},
    {"a call with prefixes", long_call, false},
    {"a landing pad", landing, false},
    {"saved registers", pushes, false},
    {"an address", relative_lea, false},
    {"a variable", relative_load, false},
    {"a variable and a constant", relative_with_constant, false},
    {"a variable, as vector", relative_vector, false},
    {"a short branch", branch_short, false},
    {"a long branch", branch_long, false},
    {"a branch by signs", branch_signs, false},
    {"a call", calls_first, false},
    {"a call through memory", calls_through_memory, false},
    {"a jump", jumps_first, false},
    {"a jump through memory", jumps_through_memory, false},
    {"a constant, and its end", constant, false},
    {"a loop just behind", loops_behind, false},
    {"a test before recursion", recursion, true},
    {0},
};

const struct immovable immovables[] = {
    {"shorter than the jump", too_short, ENOSPC},
    {"a trap", trap, ENOSPC},
    {"a loop to the entry", loop_to_entry, ELOOP},
    {"a loop to the landing pad", loop_to_landing, ELOOP},
    {"a loop into the start", loop_into_start, ELOOP},
    {"a loop that is entered below", loop_turned_round, ELOOP},
    {"a branch within the start", branch_within_start, ELOOP},
    {"a call into the start", call_into_start, ELOOP},
    {"a loop behind an indirect jump", loop_behind_register, ELOOP},
    {"a call that returns into the start", returns_into_start, ELOOP},
    {"its own place", reads_its_place, ENOTSUP},
    {"a branch on a counter", counts_down, ENOTSUP},
    {"no instruction", unknown, ENOTSUP},
    {0},
};

#elif defined(__aarch64__)

__asm__(".data\n.balign 8\ndatum: .quad 1000\n"
        ".section .text.apart, \"ax\", @progbits\nhelper: add x0, x0, x0\nret\n.text\n");

FUNCTION(frame, "stp x29, x30, [sp, #-16]!\n mov x29, sp\n add x0, x0, x1\n ldp x29, x30, [sp], #16\n ret\n");
ODD(frame_odd, "stp x29, x30, [sp, #-16]!\n mov x29, sp\n add x0, x0, x1\n ldp x29, x30, [sp], #16\n ret\n");
FUNCTION(landing, "hint #34\n add x0, x0, x1\n ret\n");                  /* bti c */
FUNCTION(authenticated, "hint #25\n add x0, x0, x1\n hint #29\n ret\n"); /* paciasp, autiasp */
FUNCTION(address, "adr x2, 1f\n ldr x2, [x2]\n add x0, x0, x2\n ret\n .balign 8\n 1: .quad 77\n");
FUNCTION(address_back, "adr x2, address_back\n adr x3, 1f\n 1: sub x0, x3, x2\n ret\n");
FUNCTION(page, "adrp x2, datum\n ldr x2, [x2, :lo12:datum]\n add x0, x0, x2\n ret\n");
FUNCTION(literal, "ldr x2, 1f\n add x0, x0, x2\n ret\n .balign 8\n 1: .quad 0x123456789abcdef\n");
FUNCTION(literal_half, "ldr w2, 1f\n add x0, x0, x2\n ret\n 1: .word 0x89abcdef\n");
FUNCTION(literal_signed, "ldrsw x2, 1f\n add x0, x0, x2\n ret\n 1: .word 0x89abcdef\n");
FUNCTION(literal_vector, "ldr d0, 1f\n fmov x2, d0\n add x0, x0, x2\n ret\n .balign 8\n 1: .quad 0x123456789abcdef\n");
FUNCTION(literal_single, "ldr s0, 1f\n fmov w2, s0\n add x0, x0, x2\n ret\n 1: .word 0x89abcdef\n");
FUNCTION(literal_quad, "ldr q0, 1f\n mov x2, v0.d[1]\n add x0, x0, x2\n ret\n .balign 16\n 1: .quad 5, 0x77\n");
FUNCTION(prefetch, "prfm pldl1keep, 1f\n add x0, x0, x1\n ret\n .balign 8\n 1: .quad 1\n");
FUNCTION(jumps_first, "b helper\n");
FUNCTION(zero, "cbz x0, 1f\n add x0, x0, x1\n ret\n 1: mov x0, #-1\n ret\n");
FUNCTION(not_zero, "cbnz w0, 1f\n add x0, x0, x1\n ret\n 1: mov x0, #-1\n ret\n");
FUNCTION(bit, "tbz x0, #0, 1f\n add x0, x0, x1\n ret\n 1: mov x0, #-1\n ret\n");
FUNCTION(high_bit, "tbnz x1, #63, 1f\n add x0, x0, x1\n ret\n 1: mov x0, #-1\n ret\n");
FUNCTION(condition, "b.eq 1f\n mov x0, #3\n ret\n 1: mov x0, #3\n ret\n");
FUNCTION(returns, "ret\n");
FUNCTION(recursion, "cbz x0, 1f\n stp x0, x30, [sp, #-16]!\n sub x0, x0, #1\n bl recursion\n ldp x2, x30, [sp], #16\n"
                    " add x0, x0, x2\n ret\n 1: mov x0, x1\n ret\n");
__asm__(".globl call_after_frame\n");
FUNCTION(call_after_frame, "stp x29, x30, [sp, #-16]!\n bl helper\n ldp x29, x30, [sp], #16\n ret\n");

FUNCTION(loop_to_entry, "1: sub x0, x0, #1\n tbz x0, #63, 1b\n ret\n");
FUNCTION(loop_to_landing, "hint #34\n sub x0, x0, #1\n tbz x0, #63, loop_to_landing\n ret\n");
FUNCTION(loop_turned_round, "1: sub x0, x0, #1\n b 2f\n ret\n 2: cbnz x0, 1b\n ret\n");
FUNCTION(loop_behind_register, ".cfi_startproc\n 1: sub x0, x0, #1\n adr x2, 2f\n br x2\n 2: cbnz x0, 1b\n ret\n"
                               " .cfi_endproc\n");

const struct movable movables[] = {
    {"a frame", frame, false},
    {"a frame at an odd place", frame_odd, false},
    {"a landing pad", landing, false},
    {"authentication", authenticated, false},
    {"an address", address, false},
    {"its own address", address_back, false},
    {"a page", page, false},
    {"a literal", literal, false},
    {"a literal of 32 bits", literal_half, false},
    {"a literal with sign", literal_signed, false},
    {"a literal for a vector", literal_vector, false},
    {"a literal for a single", literal_single, false},
    {"a literal of 128 bits", literal_quad, false},
    {"a prefetch", prefetch, false},
    {"a jump", jumps_first, false},
    {"a branch on zero", zero, false},
    {"a branch on anything else", not_zero, false},
    {"a branch on a bit", bit, false},
    {"a branch on the highest bit", high_bit, false},
    {"a condition", condition, false},
    {"its return", returns, false},
    {"a branch before recursion", recursion, true},
    {0},
};

const struct immovable immovables[] = {
    {"a loop to the entry", loop_to_entry, ELOOP},
    {"a loop to the landing pad", loop_to_landing, ELOOP},
    {"a loop that is entered below", loop_turned_round, ELOOP},
    {"a loop behind an indirect jump", loop_behind_register, ELOOP},
    {0},
};

#endif
