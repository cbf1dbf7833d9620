/* The engine's host on Mach, and its unwinder.
 *
 * A thread is stopped like this, and nothing else is done between the first call and the last:
 *
 *   thread_suspend        it stops when it next comes out of the kernel, or at once when it computes
 *   thread_info           confirms: STOPPED, or WAITING in the kernel, where its user stack can't change; RUNNING is
 *                         asked again until the time is over (STROBE_LATE); idle or halted, it is let go
 *   thread_get_state      registers
 *   frames                by direct reads, within the bounds of its stack that were learnt from itself; by
 *                         vm_read_overwrite when these are not known, or the thread is on its way out (S-41, S-42)
 *   thread_resume
 *
 * From before the first to after the last is the window: no allocation, no lock, no stdio, no dynamic dispatch by this
 * thread, for the stopped one may hold any lock there is (guard.h; tests/deadlock). Its length is in the session's
 * header (engine/store/stops.h).
 *
 * A thread that blocks in a system call is stopped as any other: on Mach that ends no call early. Its registers are
 * those with which it entered the kernel.
 *
 * A resume is guaranteed: by the sampler, or by the watchdog thread when a thread has stood for longer than
 * STROBE_MACH_WATCHDOG_NS, or than STROBE_MACH_WALK_NS while its stack is read in place, between strobe_hold_walk and
 * strobe_hold_walked (hold.h): memory that goes away when its thread goes on must not be read any more. Suspensions by
 * others count beside ours and stay.
 *
 * A watchdog that dies between claiming a thread and its resume leaves that one standing, and the sampler, which keeps
 * the port of a call that may yet be made, stops nobody any more. (explored: machwatch/once, machwatch/lost,
 * machwatch/unwatched)
 *
 * CPU time and run state are read afresh by thread_info at every look; nothing is judged by what was true before (S-5).
 * The system brings the CPU time of a thread up to date when that leaves its processor, so whether it runs now is told
 * by its run state. A thread whose flags say IDLE, or which is halted, is left alone.
 *
 * Faults and switches are not counted by thread: usage is zero, and mach.c leaves them out of a session's metrics. */
#ifndef STROBE_BACKEND_MACH_HOST_MACH_H
#define STROBE_BACKEND_MACH_HOST_MACH_H

#include "engine/backend/mach/threads.h"
#include "engine/capture/engine.h"
#include "engine/capture/hold.h"

#define STROBE_MACH_WATCHDOG_NS UINT64_C(200000000)
#define STROBE_MACH_WALK_NS     UINT64_C(5000000000)

struct strobe_mach_host {
    struct strobe_host host; /* hand &h->host to the engine */
    struct strobe_mach_threads *threads;
    mach_port_t task;
    struct strobe_hold hold; /* the port of the thread that stands */
    strobe_a32 letting_go;   /* 1: the watchdog may be about to resume a thread */
    bool kept;               /* sampler only: that thread's port is to be given back after that */
};

/* Fills in h->host for this task. Ticks are those of mach_absolute_time. Both must outlive the engine. Start only. */
void strobe_mach_host_init(struct strobe_mach_host *h, struct strobe_mach_threads *threads);

/* Looks whether a thread stands too long, and lets it go; true when it did. By the watchdog thread, at least once in
 * half of STROBE_MACH_WATCHDOG_NS. */
bool strobe_mach_host_watch(struct strobe_mach_host *h);

/* Frames by frame pointers: self from the hook's frame; of a stopped thread straight into the sampler's frames, as long
 * as the host's hold says that it stands, and after resume the caller that has no frame record yet, or no more, is put
 * in from the link register or the stack exactly when the code at hand says so (engine/capture/frame_state.h). Pointer
 * authentication stripped. */
extern const struct strobe_unwinder strobe_unwinder_mach;

#endif
