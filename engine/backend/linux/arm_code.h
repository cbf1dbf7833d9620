/* The unwinding rule for the instruction at which a thread of 32-bit ARM was stopped, read from the code around it.
 *
 * An exception table (exidx.h) has one rule for a function. That rule is wrong in the prologue, in the epilogues, and
 * in parts of the function that run without its frame. Two readings of the code find the rule for one instruction:
 *
 *   forward    from the instruction to a return, when nothing but straight code lies between. What the code takes from
 *              the stack on its way is the frame. The flags decide whether the first instructions run
 *   through    from the function's start to the instruction. What the code has put on the stack is the frame. Each
 *              branch carries the frame to its target. Code that nothing before it leads to has the table's rule
 *
 * Both know the instructions of ARMv7-A by which GCC and LLVM move the stack pointer (ARM DDI 0406C, chapters A6, A8).
 * When the stack pointer changes in another way, the table's rule holds. A reading ends after STROBE_ARM_CODE_BYTES.
 *
 * The result describes the stack pointer and r7, r11 and the link register, as the rules of exidx.h do. Functions have
 * no state and take about 2.5 KiB of stack. Any context; reads code by the host. */
#ifndef STROBE_BACKEND_LINUX_ARM_CODE_H
#define STROBE_BACKEND_LINUX_ARM_CODE_H

#include "engine/backend/linux/exidx.h"
#include "engine/host/host.h"

enum { STROBE_ARM_CODE_BYTES = 1024, STROBE_ARM_FORWARD_BYTES = 64 };

/* An instruction, and the range of the table entry that holds it. Linkers join the entries of functions that are alike.
 * The function's start is then found by the call that `lr` returns to, or by the look of the code. */
struct strobe_arm_place {
    uint64_t pc, start, end;
    uint64_t lr;    /* the link register, with its bit for Thumb code */
    uint32_t state; /* the program status register: Thumb code, flags */
};

/* Returns the rule at the place. `whole` is the rule of the function's table entry, which the result is when the code
 * shows no other. */
struct strobe_unwind_rule strobe_arm_code_rule(const struct strobe_host *host, const struct strobe_arm_place *place,
                                               const struct strobe_unwind_rule *whole);

#endif
