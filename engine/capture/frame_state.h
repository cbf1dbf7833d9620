/* Finds where the function that a thread was stopped in keeps its caller's return address.
 *
 * A function pushes its frame record some instructions after its begin, or later when the compiler shrink-wraps the
 * prologue. It removes the record some instructions before its return. A leaf function never has one. Without a
 * record, the chain of frame pointers begins with the caller's record, and the return address into the caller is in
 * the link register or was saved elsewhere. With a record, these places may hold anything. Which case applies is
 * fixed for each instruction of a function, so it can be found from the code around that instruction.
 *
 * The search first reads the straight line of code that leads to the instruction, then all paths from there. The
 * first instruction that concerns the record or the link register decides:
 *
 *   before   stp x29, x30, [sp..] .. add x29, sp   record in place
 *            ldp x29, x30, [sp..]                  in the link register: the record is removed already
 *   ahead    stp x29, x30, [sp..]; add x29, sp     in the link register: the record is not pushed yet
 *            paciasp, autiasp and the like         in the link register: it is signed there
 *            ret, br x16, br x17                   in the link register: no record, or removed already
 *            ldp x29, x30, [sp..]                  record in place, when x29 points there; if not, saved there: in
 *                                                  between, x30 is a register like any other
 *            ldr x30, [sp..] and ret               saved there
 *            bl; mov x30, xN                       in xN (outlined code is called like this)
 *            a call (bl, blr)                      record in place, since the call destroys x30. Exception: a call of
 *                                                  outlined code, which sets x29, or after which x29 is set or x30 is
 *                                                  restored
 *
 * Ahead, the search follows branches (also a tail call: its target's begin shows that there is no record). After a
 * jump by a table it goes on with the code behind the jump. It follows at most STROBE_FRAME_STEPS_MAX instructions.
 * A path that ends without a decision (brk, udf, an endless loop) counts for nothing. A jump through a register
 * other than x16 and x17 may be a tail call or a computed goto. The code behind the jump then decides; it is code of
 * another function or of this one. A target that was loaded from the stack is not that of a tail call; that path
 * ends there.
 *
 * Limits:
 *
 *   - Prologues that call a helper which makes the record (-homogeneous-prolog-epilog) are not recognized. Inside the
 *     helper, one frame is missing.
 *   - Frames further out are not repaired. Outlined code that calls other functions keeps no record, so while these
 *     run, the caller of the outlined code is in no chain.
 *
 * Source: Procedure Call Standard for the Arm 64-bit Architecture (6.4.6), Arm Architecture Reference Manual (C4.1),
 * and the code that clang and gcc generate. tests/emulate/frames compares the answers with the true state at every
 * instruction.
 *
 * Pure: reads only the code of the function. After resume, any thread. */
#ifndef STROBE_CAPTURE_FRAME_STATE_H
#define STROBE_CAPTURE_FRAME_STATE_H

#include "engine/host/host.h"

#include <stdbool.h>

enum { STROBE_FRAME_STEPS_MAX = 512 };

enum strobe_frame_state {
    STROBE_FRAME_KEPT,    /* the record is in place: the chain is complete */
    STROBE_FRAME_NONE,    /* the return address is in a register */
    STROBE_FRAME_SAVED,   /* x29 is the caller's, and the return address is on the stack */
    STROBE_FRAME_UNKNOWN, /* the code does not decide it, or cannot be read */
};

/* The known registers of a function at `pc`. */
struct strobe_frame_query {
    uint64_t pc, fp;
    uint64_t sp, lr; /* 0: not known */
    bool called;     /* pc is a return address: the function has called another, so x30 has changed */
};

struct strobe_frame_answer {
    uint32_t reg;      /* NONE: the number of the register */
    uint64_t slot;     /* SAVED: address of the return address. NONE, and not 0: address of the return
                          address in the record that x29 is about to be set to. When that is another return
                          address, then this is outlined code, and the record is its caller's */
    uint64_t sp_after; /* stack pointer after the function's return, 0: not known */
};

/* Returns where the return address is, and fills in *answer. arm64. Reads code by host->read. */
enum strobe_frame_state strobe_frame_state_arm64(const struct strobe_host *host, const struct strobe_frame_query *query,
                                                 struct strobe_frame_answer *answer);

/* Returns true when the instruction before `address` is a call, as it is before every return address. arm64. */
bool strobe_frame_returns_arm64(const struct strobe_host *host, uint64_t address);

#endif
