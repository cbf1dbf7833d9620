/* Instructions of x86-64: how long one is, and whether it leaves the stack alone.
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

enum { STROBE_X86_BYTES_MAX = 15 };   /* longest instruction */

enum strobe_x86_effect {
    STROBE_X86_NOTHING,    /* rsp and rbp are as before. A jump or a return counts here: code behind it may still be of
                              the same function */
    STROBE_X86_STACK,      /* may change rsp or rbp, or what they are for: push, pop, call, enter, leave, or one of them
                              as an operand that is written */
    STROBE_X86_UNKNOWN     /* not an instruction that this knows, or not all of it is in `bytes` */
};

/* What the instruction at `code` does, of which `bytes` can be read; *length is valid unless UNKNOWN. Padding between
 * functions (int3, hlt) is UNKNOWN. */
enum strobe_x86_effect strobe_x86_decode(const uint8_t *code, size_t bytes, uint32_t *length);

#endif
