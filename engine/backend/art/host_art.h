/* The engine's host on ART: the clocks, counters and safe reads of the Linux host it runs on, and the runtime's own way
 * of stopping a thread.
 *
 * A thread is suspended by the runtime (ThreadList::SuspendThreadByThreadId): it stops at its next suspension point, or
 * counts as stopped while it runs native code, from which it then can't return. So no signal is sent, no system call is
 * interrupted, and its managed stack stands still. It is walked while it is suspended, by the runtime's StackVisitor,
 * straight into the sampler's frames (strobe_unwinder.stopped); nothing is copied.
 *
 * The runtime has its own patience; `timeout_ns` of suspend is not told to it. A thread that has published that it
 * blocks is left alone, as on Linux: its scope's record will say where it was. A thread that has left the runtime, but
 * still exists, is left alone as well (STROBE_UNSUPPORTED); it counts as gone only when the kernel says so.
 *
 * The sampler must be attached to the runtime, and not in the table of threads.
 *
 * A resume is guaranteed: by the sampler, or by the watchdog thread, which lets go of a thread that stands for longer
 * than STROBE_ART_WATCHDOG_NS, or than STROBE_ART_WALK_NS while it is being walked (hold.h).
 *
 * Inlined frames are taken, too. Of a thread that runs native code the runtime resolves these by objects which its
 * collector may move meanwhile; it does so with barriers of its own, and nobody has found a way for others to stop it
 * (a walk from native code, as btrace's, is in the same position). */
#ifndef STROBE_BACKEND_ART_HOST_ART_H
#define STROBE_BACKEND_ART_HOST_ART_H

#include "engine/backend/art/discover.h"
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
    struct strobe_hold hold;       /* the Thread that stands */
    struct strobe_art_walk walk;   /* the sampler's */
    struct strobe_art_walk *walks; /* the threads' own */
};

/* Fills in h->linux.host so that it stops threads by the runtime. `walks`: zeroed, one for each of the engine's threads
 * (config.threads_max), which walk their own stacks in them; only pages of threads that do are ever touched. All of it
 * must outlive the engine. Start only. */
void strobe_art_host_init(struct strobe_art_host *h, const struct strobe_libart *a, const struct strobe_art_runtime *r,
                          struct strobe_art_threads *threads, struct strobe_art_walk *walks);

/* Looks whether a thread stands too long, and lets it go. Returns true when it did. By the watchdog thread, which is
 * attached to the runtime; at least once in half of STROBE_ART_WATCHDOG_NS. */
bool strobe_art_host_watch(struct strobe_art_host *h);

/* Unwinders by StackVisitor: self walks the calling thread, whatever the hook's frame is; stopped walks the one that
 * the host holds. */
extern const struct strobe_unwinder strobe_unwinder_art;

#endif
