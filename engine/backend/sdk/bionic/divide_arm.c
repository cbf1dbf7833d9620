/* Division for 32-bit arm, which may lack a divide instruction. Compilers call these functions instead (Run-time ABI
 * for the Arm Architecture, 4.3.1). The NDK takes them from its compiler's library. Debian has no such library for
 * Android. */
#ifdef __arm__

#include <stdint.h>

uint64_t strobe_divide(uint64_t n, uint64_t d, uint64_t *rest);

/* Divides by shift and subtract, from the highest bit of n down. A division by zero yields quotient 0 and rest n, which
 * the ABI permits. */
__attribute__((used)) uint64_t strobe_divide(uint64_t n, uint64_t d, uint64_t *rest)
{
    uint64_t quotient = 0, left = 0;
    for (int bit = n ? 63 - __builtin_clzll(n) : -1; d && bit >= 0; bit--) {
        left = left << 1 | (n >> bit & 1);
        if (left >= d) {
            left -= d;
            quotient |= UINT64_C(1) << bit;
        }
    }
    *rest = d ? left : n;
    return quotient;
}

/* Results of unsigned divisions. 32 bits: quotient in r0, remainder in r1. 64 bits: quotient in r0 and r1, remainder in
 * r2 and r3. */
__asm__(".text\n"
        ".globl __aeabi_uldivmod\n"
        ".hidden __aeabi_uldivmod\n"
        ".type __aeabi_uldivmod, %function\n"
        "__aeabi_uldivmod:\n"
        "    .fnstart\n"
        "    .save {r11, lr}\n"
        "    push {r11, lr}\n"
        "    .pad #16\n"
        "    sub sp, sp, #16\n"
        "    add r12, sp, #8\n"
        "    str r12, [sp]\n"
        "    bl strobe_divide\n"
        "    ldrd r2, r3, [sp, #8]\n"
        "    add sp, sp, #16\n"
        "    pop {r11, pc}\n"
        "    .fnend\n"
        ".globl __aeabi_uidiv, __aeabi_uidivmod\n"
        ".hidden __aeabi_uidiv, __aeabi_uidivmod\n"
        ".type __aeabi_uidiv, %function\n"
        ".type __aeabi_uidivmod, %function\n"
        "__aeabi_uidiv:\n"
        "__aeabi_uidivmod:\n"
        "    .fnstart\n"
        "    .save {r11, lr}\n"
        "    push {r11, lr}\n"
        "    mov r2, r1\n"
        "    mov r1, #0\n"
        "    mov r3, #0\n"
        "    bl __aeabi_uldivmod\n"
        "    mov r1, r2\n"
        "    pop {r11, pc}\n"
        "    .fnend\n");

#else
typedef int strobe_divides_by_itself; /* C requires at least one declaration in a source file */
#endif
