/* The lab's inline hooker: detours for x86-64 and arm64, as the engine takes them (struct strobe_inline_hooker).
 *
 * The first instructions of a function are moved into a trampoline, rewritten where they are relative to their place,
 * and replaced by a jump. Good enough for a lab: it is installed while no other thread runs in those first
 * instructions, which nobody checks. What can't be moved (a branch back into the moved part, a function shorter than
 * the jump) is refused. Instructions are told apart by libcapstone, opened at run time. */
#ifndef STROBE_SIM_ART_DETOUR_H
#define STROBE_SIM_ART_DETOUR_H

#include "engine/backend/art/hook.h"

extern const struct strobe_inline_hooker sim_detour;

#endif
