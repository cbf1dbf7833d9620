/* The lab's inline hooker: detours for x86-64 and arm64, in the form that the engine uses (struct
 * strobe_inline_hooker).
 *
 * The first instructions of a function are moved into a trampoline, and rewritten when they depend on their address. A
 * jump replaces them. It leads to a page nearby, and from there to the replacement. A landing pad (endbr64, bti) stays
 * where it is, and is also at the begin of the trampoline. This is sufficient for a lab, with three limits. A detour is
 * installed and removed while no other thread runs in those first instructions, which is not checked. Frames of a moved
 * call cannot be unwound. Trampolines stay mapped, because calls may be inside them. libcapstone, opened at run time,
 * decodes instructions of x86-64.
 *
 * A detour that is impossible is refused with an errno, and nothing is changed:
 *
 *   ENOSPC    the function is shorter than the jump
 *   ELOOP     a branch of the function leads into the moved part, including its entry (recursive calls are allowed);
 *             branches by jump tables are not detected
 *   ENOTSUP   an instruction is unknown or cannot be moved, or the machine is not supported
 *   ERANGE    no memory near enough, or an operand would be out of reach
 *   EBUSY     another detour begins in the middle of the moved part
 *   ENOSYS    libcapstone.so.4 is missing
 *   EACCES, ENOMEM, ...  error of the kernel
 *
 * Detours of one function must be removed in reverse order. Removing another one first is refused with EEXIST. The same
 * happens when other code has overwritten the jump. */
#ifndef STROBE_STROBE_BACKEND_ART_DETOUR_H
#define STROBE_STROBE_BACKEND_ART_DETOUR_H

#include "engine/backend/art/hooks/hook.h"

extern const struct strobe_inline_hooker strobe_detours;

#endif
