/* The engine's host on Mach, and its unwinder.
 *
 * The sampler stops a thread in these steps. Between the first and the last it also reads the clock and pauses:
 *
 *   thread_suspend        a thread in user code stops at once; a thread in the kernel stops when it leaves the kernel
 *   thread_info           confirms the stop by the run state:
 *                           STOPPED                     stopped
 *                           WAITING, UNINTERRUPTIBLE    waits in the kernel; its user stack cannot change
 *                           RUNNING                     not yet stopped; repeated until the timeout (STROBE_LATE)
 *                           HALTED, or flag IDLE        cannot be sampled; resumed at once
 *   thread_get_state      reads the registers
 *   walk                  reads the stack in place when its bounds are known; uses vm_read_overwrite when they are
 *                         unknown, or when the thread is ending (S-41, S-42)
 *   thread_resume
 *
 * The window lasts from before the first step until after the last. In the window the sampler must not allocate, take a
 * lock, use stdio or use dynamic dispatch, because the stopped thread may hold any lock (tests/deadlock). guard.h
 * checks the window from the return of `suspend` on. The session's header has the lengths of the windows
 * (engine/store/stops.h).
 *
 * A thread that blocks in a system call is stopped like any other. On Mach, a stop ends no call early. The registers of
 * such a thread are those at its entry to the kernel.
 *
 * The sampler resumes the thread. The watchdog thread resumes it when it has been suspended for longer than
 * STROBE_MACH_WATCHDOG_NS. While the sampler reads the thread's stack in place, the limit is STROBE_MACH_WALK_NS,
 * because the stack may be unmapped once its thread runs (strobe_hold_walk, hold.h). Mach counts suspensions, so those
 * by other code stay in effect.
 *
 * If the watchdog dies after it claimed a thread and before it resumed it, the thread stays suspended. The sampler then
 * stops no other thread, because the watchdog may still use the port. (explored: machwatch/once, machwatch/lost,
 * machwatch/unwatched)
 *
 * CPU time and run state come from a new thread_info call each time; no earlier value is reused (S-5). The kernel
 * updates a thread's CPU time when the thread leaves its processor. Whether it runs now is therefore read from its run
 * state.
 *
 * Mach does not count faults and context switches by thread. Usage is zero, and mach.c removes these metrics from the
 * session. */
#ifndef STROBE_BACKEND_MACH_HOST_MACH_H
#define STROBE_BACKEND_MACH_HOST_MACH_H

#include "engine/backend/mach/threads.h"
#include "engine/capture/engine.h"
#include "engine/capture/hold.h"

#define STROBE_MACH_WATCHDOG_NS UINT64_C(200000000)
#define STROBE_MACH_WALK_NS     UINT64_C(5000000000)

struct strobe_mach_host {
    struct strobe_host host; /* passed to the engine */
    struct strobe_mach_threads *threads;
    mach_port_t task;
    struct strobe_hold hold;  /* the port of the suspended thread */
    strobe_a32 watchdog_busy; /* 1: the watchdog may be about to resume a thread */
    bool port_kept;           /* 1: the port of the last thread is still in use, until watchdog_busy is 0. Sampler */
};

/* Fills in h->host for this task. Ticks are those of mach_absolute_time. `h` and `threads` must outlive the engine.
 * Start only. */
void strobe_mach_host_init(struct strobe_mach_host *h, struct strobe_mach_threads *threads);

/* Resumes the suspended thread when its time limit has passed. Returns true when it has resumed a thread. The watchdog
 * thread calls it at least once in half of STROBE_MACH_WATCHDOG_NS. */
bool strobe_mach_host_watch(struct strobe_mach_host *h);

/* Unwinds by frame pointers and strips pointer authentication codes.
 *
 *   own stack         from the hook's frame
 *   stopped thread    directly into the sampler's frames, while the host's hold confirms that it is suspended
 *   after resume      inserts callers that have no frame record, from the link register or the stack, when the code at
 *                     the stopped instruction proves them (engine/capture/leaf.h)
 */
extern const struct strobe_unwinder strobe_unwinder_mach;

#endif
