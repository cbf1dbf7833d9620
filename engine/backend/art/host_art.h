/* The engine's host on ART: clocks, counters and safe reads of the Linux host, the kernel's state of a thread, and
 * suspension of threads by the runtime.
 *
 * ThreadList::SuspendThreadByThreadId suspends a thread. The thread stops at its next suspension point. A thread that
 * runs native code counts as suspended: it cannot return to managed code. No signal is sent, no system call is
 * interrupted, and the thread's managed stack does not change. The runtime's StackVisitor walks the suspended thread
 * and writes to the sampler's frames (strobe_unwinder.stopped) without a copy of the stack.
 *
 * The runtime uses its own timeout; it does not get `timeout_ns` of suspend. The host does not suspend a thread that
 * has published that it blocks, as on Linux: the record of its scope will say where it was. (When the call lasts, the
 * sampler suspends the thread in it once, to walk its stack: walk_waiting of sampler_record.c.) A thread that has left
 * the runtime but still exists is not suspended either (STROBE_UNSUPPORTED). It counts as gone only when the kernel
 * says so.
 *
 * The sampler must be attached to the runtime, and must not be in the table of threads.
 *
 * The sampler resumes each thread that it suspends. If it does not, the watchdog thread resumes a thread that is
 * suspended for longer than STROBE_ART_WATCHDOG_NS, or for longer than STROBE_ART_WALK_NS while it is walked (hold.h).
 *
 * Native frames. Suspension by the runtime does not stop a thread in native code, and gives no registers. After its
 * managed frames are walked, the thread is therefore also stopped by a signal, as on Linux (linux/suspend.h), while its
 * native frames are walked (frames.h). It stands for the few microseconds of that walk, which uses nothing of the
 * runtime, so it may hold any lock. The managed frames cannot change meanwhile. A thread that sleeps in a call which a
 * signal would end gets no signal. Its stack then lacks the native frames inside its innermost managed frame;
 * strobe_session_header.native_gaps counts it.
 *
 * Inlined frames are included. For a thread in native code the runtime resolves them through objects that its collector
 * may move at the same time, with barriers of its own. No published way lets another thread prevent this. A walk from
 * native code, as btrace's, has the same limit. */
#ifndef STROBE_BACKEND_ART_HOST_ART_H
#define STROBE_BACKEND_ART_HOST_ART_H

#include "engine/backend/art/discover.h"
#include "engine/backend/art/frames.h"
#include "engine/backend/art/threads.h"
#include "engine/backend/art/visitor.h"
#include "engine/backend/linux/host_linux.h"
#include "engine/capture/engine.h"
#include "engine/capture/hold.h"

#define STROBE_ART_WATCHDOG_NS UINT64_C(500000000)

#define STROBE_ART_WALK_NS UINT64_C(5000000000)

struct strobe_art_host {
    struct strobe_linux linux; /* its host's suspend, settle and resume are replaced */
    const struct strobe_libart *libart;
    const struct strobe_art_runtime *runtime;
    struct strobe_art_threads *threads;
    struct strobe_hold hold;         /* the suspended Thread */
    uint32_t tid;                    /* of the same thread */
    const strobe_a32 *blocked;       /* its word, see strobe_host.suspend */
    struct strobe_art_frames frames; /* zero: managed frames only */
    struct strobe_art_walk walk;     /* walk state of the sampler */
    struct strobe_art_walk *walks;   /* walk states of the threads */
};

/* Fills in h->linux.host so that it suspends threads by the runtime. `walks`: zeroed, one for each of the engine's
 * threads (config.threads_max), which walk their own stacks in them. Only the pages of threads that walk are touched.
 * All arguments must outlive the engine. Start only. */
void strobe_art_host_init(struct strobe_art_host *h, const struct strobe_libart *a, const struct strobe_art_runtime *r,
                          struct strobe_art_threads *threads, struct strobe_art_walk *walks);

/* Installs the handler of the signal that stops threads for their native frames; `number` as in
 * strobe_linux_take_signal. The handler stays for the captures to come, because a late signal would otherwise end the
 * process. False: no signal is free. Then only stacks that threads take of themselves have native frames. Start only.
 */
bool strobe_art_host_take_signal(struct strobe_art_host *h, int number);

/* Resumes a thread that is suspended for too long. Returns true when it did so. By the watchdog thread, which is
 * attached to the runtime; at least once in half of STROBE_ART_WATCHDOG_NS. */
bool strobe_art_host_watch(struct strobe_art_host *h);

/* Unwinder by StackVisitor. `self` walks the calling thread, whatever the hook's frame is. `stopped` walks the thread
 * that the host has suspended. */
extern const struct strobe_unwinder strobe_unwinder_art;

#endif
