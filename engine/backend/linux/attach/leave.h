/* When an attached library may be unloaded: no thread may be in its code, or return to it.
 *
 * The slots are restored and the signal handler is removed, so no thread enters the library any more. A thread that is
 * still in it is in one of:
 *
 *   a hook that is counted (visits.h), maybe in the function that the hook calls. The count is awaited
 *   the first or last instructions of a hook or of the signal handler, outside of the count. Such a thread runs or
 * waits for a processor. It leaves by executing a few instructions
 *
 * A thread has left when it is seen in one of these states after the count was 0:
 *
 *   it waits in the kernel, and its instruction is outside of the library
 *   it has used STROBE_LEAVE_CPU_NS of CPU time since then
 *   it has ended */
#ifndef STROBE_BACKEND_LINUX_ATTACH_LEAVE_H
#define STROBE_BACKEND_LINUX_ATTACH_LEAVE_H

#include <stdbool.h>
#include <stdint.h>

enum { STROBE_LEAVE_CPU_NS = 1000000 };

/* Waits until all threads, except the caller, have left the library's code [low, high). Returns false when only threads
 * of the library are left in the process. Helper. */
bool strobe_leave_wait(uint64_t low, uint64_t high);

#endif
