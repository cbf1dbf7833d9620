/* Holds all other threads of the process while code is patched. Only for x86-64: on arm64 a jump is one instruction, so
 * no thread can be inside the bytes that it replaces, and one aligned store replaces it.
 *
 * On x86-64 the jump has 5 bytes, and may replace several instructions. A thread that was interrupted between two of
 * them would continue in the middle of the jump. A store of bytes that are not in one aligned word is not atomic
 * either. In both cases every other thread is sent a signal, stands still in its handler while the bytes are written,
 * and continues. The handler of a thread that stands inside the replaced bytes sets the thread's program counter to the
 * same instruction in its new place.
 *
 * One hold serves any number of patches, because a hold beside 200 threads takes milliseconds. A held thread may own
 * the linker's lock, the allocator's lock or a lock of the runtime. So between a hold and its release the holding
 * thread writes bytes and calls no function that can take a lock: symbols, islands and writable pages are prepared
 * before.
 *
 * The signal is a real-time signal whose disposition is the default. Its handler stays only as long as the hold, unless
 * a thread is late. SA_RESTART restarts most calls that the signal interrupts; poll(2), nanosleep(2) and others listed
 * in signal(7) return EINTR. A thread that blocks the signal is never held, so the patch is refused.
 *
 * Not covered: a program counter that is stored for later, in a signal handler's frame below another handler. */
#ifndef STROBE_BACKEND_ART_DETOUR_DETOUR_HOLD_H
#define STROBE_BACKEND_ART_DETOUR_DETOUR_HOLD_H

#include "engine/backend/art/detour/detour_code.h"

enum { STROBE_DETOUR_HOLD_NS = 200 * 1000 * 1000, STROBE_DETOUR_HELD_MAX = 4096 };

/* Holds all other threads, also those that start meanwhile, and moves those inside a patch that is not refused. Returns
 * an errno, with no thread held: ETIMEDOUT when a thread was not held within STROBE_DETOUR_HOLD_NS, EAGAIN when there
 * are more than STROBE_DETOUR_HELD_MAX threads or all signals are in use, or an error of the kernel. A thread may have
 * been moved all the same, which changes nothing for it. One caller at a time, with at most STROBE_DETOURS_MAX patches,
 * whose moves are never freed. The caller holds no lock that another thread may wait for inside the kernel. */
int strobe_detour_hold(const struct strobe_detour_patch *patch, size_t count);

/* Ends a hold. */
void strobe_detour_release(void);

/* Excepts a thread from all holds: a thread of the engine that blocks all signals and runs no code that may be patched
 * while another thread patches. At most one thread. */
void strobe_detour_never_hold(uint32_t tid);

#endif
