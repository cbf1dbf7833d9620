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
 * In any other case the step makes the stack doubtful. A stack is complete when the rule of its last frame says that
 * there is no caller, or when that frame lies at or above the window's root. */
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

/* The same, with the place of each frame on the stack: places_end[-1], ... are the frames' stack pointers. With
 * `is_caller` the walk begins at a return address, regs->pc, in a frame whose stack pointer and frame pointer `regs`
 * has; its other registers are not known. */
enum strobe_walk_end strobe_walk_table_placed(struct strobe_unwind_index *x, const struct strobe_host *host,
                                              const struct strobe_regs *regs, bool is_caller,
                                              const struct strobe_window *window, uint64_t *frames_end,
                                              uint64_t *places_end, uint32_t max, uint32_t *count);

/* The unwinder that uses the index passed to strobe_unwind_table_use. */
extern const struct strobe_unwinder strobe_unwinder_table;

/* Selects the index for strobe_unwinder_table. Start only. */
void strobe_unwind_table_use(struct strobe_unwind_index *x);

#endif
