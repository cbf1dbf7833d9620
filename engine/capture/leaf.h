/* Callers that have no place in the chain of frame records.
 *
 * A function has no frame record at its begin, shortly before its return, and everywhere when it is a leaf function:
 * compilers that keep frame pointers leave them out of leaf functions (-momit-leaf-frame-pointer; all leaf functions
 * on arm64). When a thread is stopped in such a function, the chain of frame records begins with the caller's own
 * record, and the caller itself is missing. Its return address is on top of the stack (x86) or in the link register
 * (arm64). In any other function these places may hold anything. So Strobe accepts such an address only when the
 * code proves it (S-43):
 *
 *   arm64   by the code around the stopped instruction (frame_state.h), and then by the code of the caller, which may
 *           have no record either when it calls outlined code
 *   both    the instruction before the return address is a call, its target is not far before the stopped instruction,
 *           and no instruction between the target and the stopped instruction sets up a frame. On x86-64 these
 *           instructions are decoded, and none may change the stack pointer or the frame pointer. The target of the
 *           call must be known. It is known for a direct call on all machines. On x86-64 it is also known for:
 *             call *cell(%rip)          the cell is read
 *             mov $imm64,%reg; call *%reg
 *             a call of a jmp rel32 or a jmp *cell(%rip): linkage tables, stubs of generated code
 *           Other calls through pointers prove nothing; the caller then stays missing.
 *
 * Cost: a few reads of code. Sampler, after resume. On x86-64 strobe_leaf_proven may also be called in a signal
 * handler: it uses little stack there. */
#ifndef STROBE_CAPTURE_LEAF_H
#define STROBE_CAPTURE_LEAF_H

#include "engine/capture/walk_fp.h"
#include "engine/host/host.h"

#include <stdbool.h>

enum {
    STROBE_LEAF_BYTES_MAX = 1024, /* maximum of code bytes of a leaf function before the stopped instruction */
    STROBE_LEAF_CALLERS_MAX = 3,
};

/* Returns true when `candidate` is proven to be the return address of the function stopped at `pc`. */
bool strobe_leaf_proven(const struct strobe_host *host, uint64_t pc, uint64_t candidate);

/* Finds the callers, innermost first, between the function stopped at `regs` and the chain from its frame pointer.
 * `stack` is a copy of the stack from its pointer up, or of a part of it. Returns the number of callers. Sets *complete
 * to false when a caller may be missing (arm64). */
uint32_t strobe_leaf_callers(const struct strobe_host *host, const struct strobe_regs *regs,
                             const struct strobe_window *stack, uint64_t callers[STROBE_LEAF_CALLERS_MAX],
                             bool *complete);

#endif
