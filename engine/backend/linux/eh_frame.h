/* Reader of call frame information (.eh_frame, found through .eh_frame_hdr). For a program counter, it returns the rule
 * that leads from a function's frame to its caller's.
 *
 * Formats: Linux Standard Base 5.0, chapters "DWARF Extensions" and "Exception Frames"; DWARF 5, section 6.4. Register
 * numbers: System V x86-64 psABI (figure 3.36), AADWARF64 (section 4.1) and AADWARF32 (section 4.1). On 32-bit ARM the
 * rules come from other tables; see exidx.h.
 *
 * The reader works on bytes in memory, which may be a copy. It reads only inside the given bytes, whatever they hold,
 * also while other threads overwrite them. It makes no system call, allocates no memory and uses less than 1 KiB of
 * stack. Every function here may be called in any context. */
#ifndef STROBE_BACKEND_LINUX_EH_FRAME_H
#define STROBE_BACKEND_LINUX_EH_FRAME_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The machine whose code is unwound: that for which this is built, unless the build selects STROBE_ABI_ARM. */
#if defined(__arm__) || defined(STROBE_ABI_ARM)
#define STROBE_EH_ARM 1
#elif defined(__x86_64__)
#define STROBE_EH_X86_64 1
#endif

/* DWARF numbers of the registers that locate frames. STROBE_EH_BX is another register that is preserved across calls.
 * x86-64: rbx, by which only the dynamic linker's lazy binding locates a frame. 32-bit ARM: r7, the frame pointer of
 * Thumb code. STROBE_EH_WORD: bytes of a saved register. */
enum {
#if defined(STROBE_EH_ARM)
    STROBE_EH_FP = 11,
    STROBE_EH_SP = 13,
    STROBE_EH_RA = 14,
    STROBE_EH_BX = 7,
    STROBE_EH_WORD = 4,
#elif defined(STROBE_EH_X86_64)
    STROBE_EH_FP = 6,
    STROBE_EH_SP = 7,
    STROBE_EH_RA = 16,
    STROBE_EH_BX = 3,
    STROBE_EH_WORD = 8,
#elif defined(__aarch64__)
    STROBE_EH_FP = 29,
    STROBE_EH_SP = 31,
    STROBE_EH_RA = 30,
    STROBE_EH_BX = 255, /* no such register */
    STROBE_EH_WORD = 8,
#else
#error "the numbers of this machine's registers are not known"
#endif
};

/* strobe_regs.general[STROBE_EH_ARM_STATE] of 32-bit ARM is the program status register. */
enum { STROBE_EH_ARM_STATE = 16 };

enum strobe_unwind_kind {
    STROBE_UNWIND_NONE = 0, /* no rule, or a rule that this struct cannot express */
    STROBE_UNWIND_FRAME,    /* CFA = register `base` + `cfa` */
    STROBE_UNWIND_DEREF,    /* CFA = word at (register `base` + `cfa`) + `more` */
    STROBE_UNWIND_PLT,      /* CFA = sp + `cfa`, and 8 more where (pc & 15) >= `more`: lazy linkage stubs */
    STROBE_UNWIND_END,      /* outermost function: it has no caller */
    STROBE_UNWIND_BY_FP,    /* no rule, but the code is believed to keep frame pointers (set by the index) */
};

/* Where a register of the caller, or the return address, is. Offsets count words of STROBE_EH_WORD bytes. */
enum strobe_unwind_saved {
    STROBE_SAVED_SAME = 0,  /* still in its register */
    STROBE_SAVED_AT_CFA,    /* word at CFA + offset */
    STROBE_SAVED_AT_FP,     /* word at frame pointer + offset */
    STROBE_SAVED_AT_SP,     /* word at stack pointer + offset */
    STROBE_SAVED_LOST,      /* not saved, or in a place that this enum cannot express */
    STROBE_SAVED_UNDEFINED, /* marked as not recoverable; for the return address this is the end of the stack */
};

enum { STROBE_UNWIND_SIGNAL = 1 }; /* flag: the frame of a signal handler's return; the signal interrupted its caller */

/* The step from a frame to its caller's. */
struct strobe_unwind_rule {
    uint8_t kind;           /* enum strobe_unwind_kind */
    uint8_t base;           /* DWARF number of the register that the CFA is computed from */
    uint8_t fp : 4, ra : 4; /* enum strobe_unwind_saved */
    uint8_t bx : 4, flags : 4;
    int32_t cfa;                 /* bytes */
    int16_t fp_at, ra_at, bx_at; /* words */
    int16_t more;                /* bytes, see enum strobe_unwind_kind */
};
_Static_assert(sizeof(struct strobe_unwind_rule) == 16, "a rule is two words");

/* Call frame information of one image. */
struct strobe_eh_frame {
    const uint8_t *bytes; /* readable memory that contains .eh_frame_hdr and .eh_frame */
    uint64_t size;
    uint64_t address; /* of bytes[0] in the traced program */
    uint64_t table;   /* offset in bytes of .eh_frame_hdr's sorted table */
    uint64_t base;    /* address that the table's entries are relative to */
    uint64_t count;   /* entries of the table */
};

/* Opens the information in bytes[0 .. size). bytes[0] has the address `address` in the program, and .eh_frame_hdr is at
 * address `header`. STROBE_BAD_INPUT when the header has no known form, or its table passes the end; STROBE_UNSUPPORTED
 * when the header has no sorted table. */
enum strobe_status strobe_eh_frame_open(const void *bytes, uint64_t size, uint64_t address, uint64_t header,
                                        struct strobe_eh_frame *out);

/* Returns the address of .eh_frame, read from the first `size` bytes of a header at address `header`. Returns 0 when
 * these bytes do not contain it. */
uint64_t strobe_eh_frame_start(const void *bytes, uint64_t size, uint64_t header);

/* Returns the rule for the instruction at `pc`. The kind is STROBE_UNWIND_NONE when no entry covers pc, or when the
 * entry is damaged or cannot be expressed. */
struct strobe_unwind_rule strobe_eh_frame_rule(const struct strobe_eh_frame *e, uint64_t pc);

/* Returns whether an entry covers pc. */
bool strobe_eh_frame_covers(const struct strobe_eh_frame *e, uint64_t pc);

/* Returns true when at least three quarters of some dozen functions, spread over the table, keep frame pointers. */
bool strobe_eh_frame_keeps_fp(const struct strobe_eh_frame *e);

/* Returns the address range of the entry `index` of the table (0 .. count - 1). Returns false when the entry is
 * damaged. For tests and statistics. */
bool strobe_eh_frame_range(const struct strobe_eh_frame *e, uint64_t index, uint64_t *start, uint64_t *end);

#endif
