/* Where the function that a thread was stopped in has its caller's return address.
 *
 * A function pushes its frame record some instructions after its begin (late, when the compiler shrink-wraps it), takes
 * it away some before its return, or never has one (a leaf). Where it has none, frame-pointer chains begin with the
 * caller's record, and the return address into the caller is in the link register or has been saved elsewhere; where
 * it has one, these hold anything. What is the case is fixed for each instruction of a function, so it can be told from
 * the code around it. First the straight line that leads to the instruction, then all paths from there; what has to do
 * with the record or the link register decides, the first of it that is met:
 *
 *   before   stp x29, x30, [sp..] .. add x29, sp   kept
 *            ldp x29, x30, [sp..]                  in the link register: no more
 *   ahead    stp x29, x30, [sp..]; add x29, sp     in the link register: not yet
 *            paciasp, autiasp and their like       in the link register: it is signed there
 *            ret, br x16, br x17                   in the link register: never had one, or no more
 *            ldp x29, x30, [sp..]                  kept, when x29 points there; if not, saved there: x30 is a register
 *                                                  like any other in between
 *            ldr x30, [sp..] and ret               saved there
 *            bl; mov x30, xN                       in xN (outlined code is called like this)
 *            a call (bl, blr)                      kept: it destroys x30; unless it is of code that was outlined: which
 *                                                  sets x29, or behind which x29 is set or x30 comes back
 *
 * Ahead, paths are followed through branches (a tail call is one: its target's begin says that nothing is kept), to the
 * code behind a jump by a table, and over at most STROBE_FRAME_STEPS_MAX instructions. A path that ends in nothing
 * (brk, udf, a loop without a way out) has no say. A jump through any register but x16 and x17 may be a tail call, or a
 * computed goto: then the code behind it decides, which is that of another function or of this one; but a target that
 * was kept on the stack is no tail call's.
 *
 * Not told apart: prologues that call a helper which makes the record (-homogeneous-prolog-epilog): inside it, one
 * frame is missing. And nothing is done about frames further out: outlined code that calls others keeps no record, so
 * while these run, its own caller is in no chain.
 *
 * Source: Procedure Call Standard for the Arm 64-bit Architecture (6.4.6), Arm Architecture Reference Manual (C4.1),
 * the code that clang and gcc make; tests/emulate/frames compares with the truth at every instruction.
 *
 * Pure: reads only the code it is given. After resume, any thread. */
#ifndef STROBE_CAPTURE_FRAME_STATE_H
#define STROBE_CAPTURE_FRAME_STATE_H

#include "engine/host/host.h"

#include <stdbool.h>

enum { STROBE_FRAME_STEPS_MAX = 512 };

enum strobe_frame_state {
    STROBE_FRAME_KEPT,         /* the record is in place: the chain is whole */
    STROBE_FRAME_NONE,         /* the return address is in a register */
    STROBE_FRAME_SAVED,        /* x29 is the caller's, and the return address is on the stack */
    STROBE_FRAME_UNKNOWN,      /* the code does not say, or can't be read */
};

/* What is known of a function's registers at `pc`. */
struct strobe_frame_query {
    uint64_t pc, fp;
    uint64_t sp, lr;           /* 0: not known */
    bool called;               /* pc is a return address: the function called another, so x30 is not what it was */
};

struct strobe_frame_answer {
    uint32_t reg;              /* NONE: the number of the register */
    uint64_t slot;             /* SAVED: address of the return address. NONE, and not 0: where the record is that x29 is
                                  about to be set to. When another return address is there, then this is outlined code,
                                  and the record is its caller's */
    uint64_t sp_after;         /* stack pointer after its return, 0: not known */
};

/* arm64. Reads code by host->read. */
enum strobe_frame_state strobe_frame_state_arm64(const struct strobe_host *host, const struct strobe_frame_query *query,
                                                 struct strobe_frame_answer *answer);

/* True when the instruction before `address` is a call, as it is before every return address. arm64. */
bool strobe_frame_returns_arm64(const struct strobe_host *host, uint64_t address);

#endif
