/* Callers that no frame record tells of.
 *
 * A function that has just begun, is about to return, or is a leaf, has no frame record (compilers that keep frame
 * pointers leave them out of leaf functions: -momit-leaf-frame-pointer; all of arm64's). Stopped there, the chain of
 * frame records begins with the caller's own, and the caller is missing: what names it is the return address, on top of
 * the stack (x86) or in the link register (arm64), which in any other function may hold anything. So it is believed
 * only when the code itself proves it (S-43):
 *
 *   arm64   by the code around the stopped instruction (frame_state.h), and then by that of the caller, which may have
 *           no record either, when it is one that calls outlined code
 *   both    the instruction before the return address is a call to a place not far before the stopped instruction, and
 *           nothing between that place and the stopped instruction sets a frame up. On x86-64 the instructions between
 *           them are decoded, and none may change the stack pointer or the frame pointer. Where the call leads must be
 *           known. On all machines it is known of a direct call. On x86-64 it is also known of:
 *             call *cell(%rip)          the cell is read
 *             mov $imm64,%reg; call *%reg
 *             a call of a jmp rel32 or a jmp *cell(%rip): linkage tables, stubs of generated code
 *           Other calls through pointers prove nothing: then the caller stays missing.
 *
 * Costs some reads of code. Sampler, after resume. On x86-64 strobe_leaf_proven may also be called in a signal handler:
 * it takes little stack there. */
#ifndef STROBE_CAPTURE_LEAF_H
#define STROBE_CAPTURE_LEAF_H

#include "engine/capture/walk_fp.h"
#include "engine/host/host.h"

#include <stdbool.h>

enum {
    STROBE_LEAF_BYTES_MAX = 1024,      /* most code of a leaf function before the stopped instruction */
    STROBE_LEAF_CALLERS_MAX = 3,
};

/* True when `candidate` is proven to be the return address of the function stopped at `pc`. */
bool strobe_leaf_proven(const struct strobe_host *host, uint64_t pc, uint64_t candidate);

/* The callers, innermost first, that stand between the function stopped at `regs` and the chain from its frame pointer.
 * `stack`: a copy of the stack from its pointer up, or of some of it. Returns how many; *told: false when there may be
 * one that was not found (arm64). */
uint32_t strobe_leaf_callers(const struct strobe_host *host, const struct strobe_regs *regs,
                             const struct strobe_window *stack, uint64_t callers[STROBE_LEAF_CALLERS_MAX], bool *told);

#endif
