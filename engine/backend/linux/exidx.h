/* Reader of 32-bit ARM's exception tables (.ARM.exidx, .ARM.extab). For a program counter, it returns the rule that
 * leads from a function's frame to its caller's.
 *
 * Format: "Exception Handling ABI for the Arm Architecture" (IHI 0038), sections 5 (index table), 6 (entries: inline,
 * compact models 0, 1 and 2, generic model) and 10.3 (frame unwinding instructions). The data of the generic model
 * belongs to its personality routine. GCC and LLVM give the routines of all languages the same form: a word that holds
 * the number of words that follow and three instructions, then these words.
 *
 * The rules are those of eh_frame.h, in words of 4 bytes: `fp` is r11, `bx` is r7 (the frame pointer of Thumb code),
 * `ra` is the link register. A table has one rule for a whole function. The rule holds where the function calls, and
 * not before the end of its prologue or in its epilogue; see arm_code.h.
 *
 * An entry that reads EXIDX_CANTUNWIND states nothing about the stack: linkers write it for code without tables, too.
 * Such code counts as not covered.
 *
 * The reader works on bytes in memory, which may be a copy. It reads only inside the given bytes, whatever they hold,
 * also while other threads overwrite them. It makes no system call and allocates no memory. The reader is portable.
 * Every function here may be called in any context. */
#ifndef STROBE_BACKEND_LINUX_EXIDX_H
#define STROBE_BACKEND_LINUX_EXIDX_H

#include "engine/backend/linux/eh_frame.h"

/* Numbers of registers, in the tables and in the rules. */
enum { STROBE_ARM_R4 = 4, STROBE_ARM_R7 = 7, STROBE_ARM_R11 = 11, STROBE_ARM_SP = 13, STROBE_ARM_LR = 14 };

enum { STROBE_EXIDX_ENTRY_BYTES = 8 };

/* Opens the table in bytes[0 .. size). bytes[0] has the address `address` in the program. The index table is at address
 * `table` and has `table_bytes`. STROBE_BAD_INPUT when the table is not aligned, or not inside the bytes. */
enum strobe_status strobe_exidx_open(const void *bytes, uint64_t size, uint64_t address, uint64_t table,
                                     uint64_t table_bytes, struct strobe_eh_frame *out);

/* Returns the rule for the function that holds `pc`. The kind is STROBE_UNWIND_NONE when no entry covers pc, or when
 * the entry is damaged or cannot be expressed. */
struct strobe_unwind_rule strobe_exidx_rule(const struct strobe_eh_frame *e, uint64_t pc);

/* Returns whether an entry covers pc. */
bool strobe_exidx_covers(const struct strobe_eh_frame *e, uint64_t pc);

/* Returns true when at least three quarters of some dozen functions, spread over the table, keep a frame record to
 * which r11 leads (AAPCS32, section 6.1.4). */
bool strobe_exidx_keeps_fp(const struct strobe_eh_frame *e);

/* Returns the address range of the entry that holds pc, up to the next entry. The last entry ends at UINT32_MAX.
 * Linkers join adjacent functions whose entries are equal, so that *start can be that of an earlier function. Returns
 * false when no entry holds pc. */
bool strobe_exidx_range(const struct strobe_eh_frame *e, uint64_t pc, uint64_t *start, uint64_t *end);

/* Returns the address in .ARM.extab to which the entry at address `at` refers, or 0. `entry`: its two words. */
uint64_t strobe_exidx_reference(const uint32_t entry[2], uint64_t at);

enum { STROBE_EXTAB_ENTRY_BYTES = 8 + 4 * 255 }; /* the longest entry's part that has instructions */

#endif
