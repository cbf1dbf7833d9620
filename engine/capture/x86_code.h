/* Decodes instructions of x86-64: the length, the parts, and whether the instruction changes the stack or frame
 * pointer.
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

enum strobe_x86_map { STROBE_X86_ONE_BYTE, STROBE_X86_0F, STROBE_X86_0F38, STROBE_X86_0F3A };

/* The parts of an instruction. */
struct strobe_x86_parts {
    const uint8_t *code;
    size_t bytes, at;                    /* bytes that can be read; the length, once all parts are read */
    bool operand_16, address_32, vector; /* prefix 66, prefix 67, VEX or EVEX */
    uint8_t rex;
    enum strobe_x86_map map;
    uint8_t opcode;
    bool has_modrm;
    uint8_t modrm;
    uint8_t displacement; /* offset of an address relative to the next instruction, 4 bytes; 0 = none */
};

enum strobe_x86_effect {
    STROBE_X86_NOTHING, /* leaves rsp and rbp as they are. A jump or a return counts here: code behind it may
                           still belong to the same function */
    STROBE_X86_STACK,   /* may change rsp or rbp, or their role: push, pop, call, enter, leave, or an instruction
                           that writes one of them */
    STROBE_X86_UNKNOWN  /* not a known instruction, or not all of it is in `bytes` */
};

/* Reads the parts of the instruction at `code`. Returns false for what strobe_x86_decode calls UNKNOWN. */
bool strobe_x86_parse(const uint8_t *code, size_t bytes, struct strobe_x86_parts *out);

/* Decodes the instruction at `code`, of which `bytes` bytes can be read. *length is valid unless the result is
 * UNKNOWN. Padding between functions (int3, hlt) is UNKNOWN. */
enum strobe_x86_effect strobe_x86_decode(const uint8_t *code, size_t bytes, uint32_t *length);

#endif
