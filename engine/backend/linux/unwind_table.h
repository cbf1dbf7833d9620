/* Takes stacks by call frame information, in the traced process, without locks, allocation or libraries.
 *
 * Each step looks up the rule for the frame's instruction (unwind_index.h) and reads at most three words of the stack,
 * each only when it lies inside the window. The lookup of a return address uses the address one byte before it, because
 * a call can be the last instruction of its function. The lookup of the innermost instruction, and of one that a signal
 * interrupted, uses the address itself. The step out of a signal handler's return frame uses the machine context that
 * the kernel saved on the stack.
 *
 * For code without a rule, the step follows the frame pointer when it points into the window above the stack pointer.
 * Such a step counts as correct in two cases:
 *
 *   - no image with call frame information holds the code: it is generated, or its compiler keeps frame pointers
 *     instead
 *   - the other functions of the image keep frame pointers
 *
 * In any other case the step makes the stack doubtful. On arm64 a step by the frame pointer does not find the caller's
 * stack pointer. When the caller's rule needs it, and says that the frame has a record, the frame pointer leads to that
 * record, and so to the frame's end.
 *
 * A stack is complete when the rule of its last frame says that there is no caller, or when that frame lies at or above
 * the window's root. */
#ifndef STROBE_BACKEND_LINUX_UNWIND_TABLE_H
#define STROBE_BACKEND_LINUX_UNWIND_TABLE_H

#include "engine/backend/linux/unwind_index.h"
#include "engine/capture/engine.h"

/* Walks from the registers at an instruction. `window` is stack memory from regs->sp or below up, readable at address +
 * bias. Frames and result are as those of strobe_walk_fp. The innermost frame is regs->pc + 1, which reads as a return
 * address. Only the innermost frame's rule may need regs->general. `host` reads at most four bytes of code, for an
 * innermost instruction without a rule; when it is NULL, no code is read. Any context; takes about 1.2 KiB of stack. */
enum strobe_walk_end strobe_walk_table(struct strobe_unwind_index *x, const struct strobe_host *host,
                                       const struct strobe_regs *regs, const struct strobe_window *window,
                                       uint64_t *frames_end, uint32_t max, uint32_t *count);

/* What is known of the frame in which a walk begins. */
enum strobe_walk_from {
    STROBE_FROM_INSTRUCTION, /* regs->pc is an instruction, and all registers are known */
    STROBE_FROM_BODY,        /* the same, and the instruction is outside of its function's prologue and epilogue */
    STROBE_FROM_CALL,        /* regs->pc is a return address, and the stack pointer and the frame pointer are known */
    STROBE_FROM_RECORD,      /* the same, taken from the callee's frame record: regs->sp is the end of that record. This
                                is the stack pointer on x86-64. On arm64 a record may be anywhere in its frame */
};

/* The same, with the place of each frame on the stack: places_end[-1], ... are the frames' stack pointers, or, where
 * one is not known, an address between its callee's record and it. The walk ends before a step out of a caller's frame
 * that would make the stack doubtful. */
enum strobe_walk_end strobe_walk_table_placed(struct strobe_unwind_index *x, const struct strobe_host *host,
                                              const struct strobe_regs *regs, enum strobe_walk_from from,
                                              const struct strobe_window *window, uint64_t *frames_end,
                                              uint64_t *places_end, uint32_t max, uint32_t *count);

/* Steps out of a frame whose rule needs a register that is neither the stack pointer nor the frame pointer. `base`: the
 * value of that register in the frame. at->pc is a return address, and at->sp the frame's stack pointer or an address
 * below. at->pc, at->sp and at->fp become the caller's. Returns false, and changes nothing, when the rule needs no such
 * register, or does not lead to a caller whose frame pointer is known. Any context. */
bool strobe_walk_table_leave(struct strobe_unwind_index *x, uint64_t base, const struct strobe_window *window,
                             struct strobe_regs *at);

/* The unwinder that uses the index passed to strobe_unwind_table_use. */
extern const struct strobe_unwinder strobe_unwinder_table;

/* Selects the index for strobe_unwinder_table. Start only. */
void strobe_unwind_table_use(struct strobe_unwind_index *x);

#endif
