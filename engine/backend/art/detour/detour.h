/* The engine's own inline hooker: detours for arm64 and x86-64.
 *
 * An inline hook makes calls of a function lead elsewhere without the help of its callers. The first instructions of
 * the function are replaced by a jump, and kept in another place, from which the original can still be called:
 *
 *     function               page nearby (the island)
 *     [landing pad]          replacement:  [undo landing pad], jump to the replacement, anywhere in memory
 *     jump ----------------> original:     landing pad, moved instructions, jump to `rest`
 *     rest of the function <---------------------------------------------------------------'
 *
 * The jump. A jump as short as possible replaces the least: `b` (4 bytes, +-128 MiB) on arm64, `jmp rel32` (5 bytes,
 * +-2 GiB) on x86-64. The island is a page that is mapped within its reach, so a function needs to have no more bytes
 * than that, after its landing pad.
 *
 * Landing pads. Where code is guarded (BTI, PROT_BTI; CET on x86-64), an indirect branch may only lead to a landing
 * pad: bti, paciasp, pacibsp, endbr64. A function's pad therefore stays in its place, and the jump comes after it.
 * paciasp also signs the return address. The island undoes that (autiasp) before the replacement runs, whose own return
 * would fail otherwise, and the trampoline signs again. Code in the island reaches `rest`, which is no landing pad, by
 * direct branches; a branch that could only be indirect is refused, unless its target is a landing pad.
 *
 * Moved instructions. An instruction that depends on its address is rewritten: adr, adrp, ldr (literal), b, bl, b.cond,
 * cbz, tbz; operands relative to rip, jcc, jmp, call. What cannot be rewritten is refused.
 *
 * Branches into the moved part. Nothing but the entry may lead into the bytes of the jump. The function is examined up
 * to its end (detour_end.h), or along its branches when its end is not known; branches by jump tables are then not
 * seen. A call inside the moved part is refused when its return address would be in the middle of the jump, because a
 * thread that is in the callee would return there.
 *
 * Threads. The app's threads run the function while it is patched. On arm64 one aligned store replaces one instruction,
 * so a thread runs the old one or the new one. On x86-64 the same holds when the jump replaces one instruction inside
 * an aligned word; otherwise the other threads are held, and those inside the moved part are moved (detour_hold.h).
 *
 * Many at once. install_all first examines each function and maps its island, and makes the pages writable. Then it
 * writes all jumps, beside threads that are held once. Last it protects the pages again. remove_all does the same with
 * the original bytes. A function that is refused leaves the others of its batch unaffected.
 *
 * Protection. The function's page is writable while it is patched, and executable all the time, because other threads
 * run it. An island is first written and then made executable, never both. A system that refuses either (SELinux's
 * execmem and execmod, seccomp) makes the installation fail, with nothing changed.
 *
 * Removal. The original bytes are restored if the jump is still in its place; another hooker's jump is left alone. An
 * island stays mapped, because a thread may be in it, and a later detour of the same function reuses it. So a process
 * maps as many islands as it has different detours. Frames inside an island cannot be unwound by tables.
 *
 * A detour that is impossible is refused with an errno, and nothing is changed:
 *
 *   ENOSPC       the function is shorter than the jump
 *   ELOOP        a branch of the function leads into the moved part, including its entry (recursive calls are
 *                allowed), or a call would return into it
 *   ENOTSUP      an instruction is unknown or cannot be moved
 *   ERANGE       no memory near enough, or a branch or an operand would be out of reach
 *   EBUSY        another detour begins in the middle of the moved part, or the same batch has this function already
 *   ETIMEDOUT    a thread could not be held: it blocks all signals
 *   EFAULT       the address is not code
 *   ENOMEM       more than STROBE_DETOURS_MAX detours
 *   ENOSYS       no detours for this processor
 *   EACCES, ...  error of the kernel
 *
 * Detours of one function must be removed in reverse order, one batch each. Removing another one first is refused with
 * EEXIST. The same happens when other code has overwritten the jump. Start and end only, one call at a time. */
#ifndef STROBE_BACKEND_ART_DETOUR_DETOUR_H
#define STROBE_BACKEND_ART_DETOUR_DETOUR_H

#include "engine/backend/art/detour/detour_code.h"
#include "engine/backend/art/hooks/hook.h"

extern const struct strobe_inline_hooker strobe_detours;

/* Returns an errno when no detour can be installed in this process: ENOSYS, or the kernel's error when a page cannot be
 * made executable. Start only. */
int strobe_detours_refused(void);

#endif
