/* Takes stacks by call frame information, in the traced process, without a lock, memory or library.
 *
 * Each step looks up the rule for the frame's instruction (unwind_index.h) and reads at most three words of the stack,
 * each only when it lies inside the window. A return address is looked up one byte before it, since a call can be the
 * last instruction of its function; the innermost instruction and one that a signal interrupted are looked up as they
 * are. The frame of a signal handler's return is left by the machine context that the kernel saved on the stack.
 *
 * Code that no rule describes is stepped over by the frame pointer, when it points into the window above the stack
 * pointer. Such a step is taken as right in code of no image that has call frame information (code made at run
 * time, and of compilers that keep frame pointers instead), and of images whose other functions keep frame pointers;
 * elsewhere the stack is called doubtful. A stack whose last
 * frame has no caller by its rule, or lies at or above the window's root, is whole. */
#ifndef STROBE_BACKEND_LINUX_UNWIND_TABLE_H
#define STROBE_BACKEND_LINUX_UNWIND_TABLE_H

#include "engine/backend/linux/unwind_index.h"
#include "engine/capture/engine.h"

/* Walks from the registers at an instruction. `window` is stack memory from regs->sp or below up, readable at
 * address + bias. Frames and result are as those of strobe_walk_fp; the innermost is regs->pc + 1, which reads as a
 * return address. Only the innermost frame's rule may need regs->general. `host` reads four bytes of code at most,
 * for an innermost instruction without a rule; NULL: no code is read. Any context; takes about 1.2 KiB of stack. */
enum strobe_walk_end strobe_walk_table(struct strobe_unwind_index *x, const struct strobe_host *host,
                                       const struct strobe_regs *regs, const struct strobe_window *window,
                                       uint64_t *frames_end, uint32_t max, uint32_t *count);

/* The unwinder over the index that strobe_unwind_table_use named. */
extern const struct strobe_unwinder strobe_unwinder_table;

/* Start only. */
void strobe_unwind_table_use(struct strobe_unwind_index *x);

#endif
