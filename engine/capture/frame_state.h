/* Whether the function that a thread was stopped in has its frame record at that instruction.
 *
 * A function pushes its frame record some instructions after its begin (late, when the compiler shrink-wraps it), takes
 * it away some before its return, or never has one (a leaf). Where it has none, frame-pointer chains begin with the
 * caller's record, and the return address into the caller is in the link register (arm64) or on top of the stack
 * (x86-64); where it has one, these hold anything. What is the case is fixed for each instruction of a function, so it
 * can be told from the code that follows: on every path from there, the first instruction that has to do with the
 * record decides.
 *
 *   arm64    sets x29 from sp (add/mov x29, sp)          -> none yet
 *            loads x29, x30 from the stack               -> has one
 *            ret, a branch out of what was read          -> none any more (or never)
 *            a call (bl, blr)                            -> has one: it destroys x30, so it must have been saved
 *
 * Paths are followed through direct branches, bounded by STROBE_FRAME_STEPS_MAX instructions; a path that ends in
 * nothing (brk, udf, a loop without a way out) has no say.
 *
 * Pure: reads only the code it is given. After resume, any thread. */
#ifndef STROBE_CAPTURE_FRAME_STATE_H
#define STROBE_CAPTURE_FRAME_STATE_H

#include "engine/host/host.h"

enum { STROBE_FRAME_STEPS_MAX = 512 };

enum strobe_frame_state {
    STROBE_FRAME_KEPT,         /* the record is in place: the chain is whole */
    STROBE_FRAME_NONE,         /* the caller's return address is in lr */
    STROBE_FRAME_UNKNOWN,      /* the code does not say, or can't be read */
};

/* Of a function stopped at `pc`, arm64. Reads code by host->read. */
enum strobe_frame_state strobe_frame_state_arm64(const struct strobe_host *host, uint64_t pc);

#endif
