/* The lab's inline hooker: detours for x86-64 and arm64, as the engine takes them (struct strobe_inline_hooker).
 *
 * The first instructions of a function are moved into a trampoline, rewritten where they are relative to their place,
 * and replaced by a jump to a page nearby, from where it goes on to the replacement. A landing pad (endbr64, bti) stays
 * where it is, and begins the trampoline too. Good enough for a lab: it is installed and removed while no other thread
 * runs in those first instructions, which nobody checks; frames of a moved call can't be unwound; trampolines stay
 * mapped, since calls may be inside of them. Instructions of x86-64 are told apart by libcapstone, opened at run time.
 *
 * What can't be done is refused, with an errno, and nothing is changed:
 *
 *   ENOSPC    the function is shorter than the jump
 *   ELOOP     a branch of the function leads into the moved part, its entry included (calls of itself may); branches
 *             by jump tables are not seen
 *   ENOTSUP   an instruction is not known, or can't be moved; no machine to be detoured
 *   ERANGE    no memory near enough, or an operand would be out of reach
 *   EBUSY     another detour begins in the middle of the moved part
 *   ENOSYS    libcapstone.so.4 is not there
 *   EACCES, ENOMEM, ...  what the kernel said
 *
 * Several detours of one function are removed last first; removing another one is refused with EEXIST, as it is where
 * somebody else has written. */
#ifndef STROBE_SIM_GENUINE_DETOUR_H
#define STROBE_SIM_GENUINE_DETOUR_H

#include "engine/backend/art/hooks/hook.h"

extern const struct strobe_inline_hooker sim_detour;

#endif
