/* Decodes instructions of x86-64: the length, and whether the instruction changes the stack or frame pointer.
 *
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, chapter 2 (formats, VEX, EVEX) and
 * appendix A (opcode maps). tests/unit/capture/test_x86_code.c compares lengths with those of capstone on the C
 * library.
 *
 * Pure. Any context. */
#ifndef STROBE_CAPTURE_X86_CODE_H
#define STROBE_CAPTURE_X86_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STROBE_X86_BYTES_MAX = 15 }; /* longest instruction */

enum strobe_x86_effect {
    STROBE_X86_NOTHING, /* leaves rsp and rbp as they are. A jump or a return counts here: code behind it may
                           still belong to the same function */
    STROBE_X86_STACK,   /* may change rsp or rbp, or their role: push, pop, call, enter, leave, or an instruction
                           that writes one of them */
    STROBE_X86_UNKNOWN  /* not a known instruction, or not all of it is in `bytes` */
};

/* Decodes the instruction at `code`, of which `bytes` bytes can be read. *length is valid unless the result is
 * UNKNOWN. Padding between functions (int3, hlt) is UNKNOWN. */
enum strobe_x86_effect strobe_x86_decode(const uint8_t *code, size_t bytes, uint32_t *length);

#endif
