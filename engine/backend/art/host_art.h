/* The engine's host on ART: the clocks, counters and safe reads of the Linux host it runs on, and the runtime's own way
 * of stopping a thread.
 *
 * A thread is suspended by the runtime (ThreadList::SuspendThreadByThreadId): it stops at its next suspension point, or
 * counts as stopped while it runs native code, from which it then can't return. So no signal is sent, no system call is
 * interrupted, and its managed stack stands still. It is walked while it is suspended, by the runtime's StackVisitor,
 * straight into the sampler's frames (strobe_unwinder.stopped); nothing is copied.
 *
 * The runtime has its own patience; `timeout_ns` of suspend is not told to it. A thread that has published that it
 * blocks is left alone, as on Linux: its scope's record will say where it was.
 *
 * The sampler must be attached to the runtime (strobe_art_sampler_begins). A resume is guaranteed: by the sampler, or
 * when it was lost by the watchdog thread, which resumes a thread that stands for longer than STROBE_ART_WATCHDOG_NS.
 */
#ifndef STROBE_BACKEND_ART_HOST_ART_H
#define STROBE_BACKEND_ART_HOST_ART_H

#include "engine/backend/art/discover.h"
#include "engine/backend/art/threads.h"
#include "engine/backend/art/visitor.h"
#include "engine/backend/linux/host_linux.h"
#include "engine/capture/engine.h"

#define STROBE_ART_WATCHDOG_NS UINT64_C(500000000)

struct strobe_art_host {
    struct strobe_linux linux;            /* its host's suspend, settle and resume are replaced */
    const struct strobe_libart *libart;
    const struct strobe_art_runtime *runtime;
    struct strobe_art_threads *threads;
    strobe_a64 held;                      /* the Thread that stands; claimed by whoever resumes it */
    strobe_a64 held_since;                /* ticks */
    struct strobe_art_walk walk;          /* the sampler's */
};

/* Fills in h->linux.host so that it stops threads by the runtime. All of it must outlive the engine. Start only. */
void strobe_art_host_init(struct strobe_art_host *h, const struct strobe_libart *a, const struct strobe_art_runtime *r,
                          struct strobe_art_threads *threads);

/* Looks whether a thread stands too long, and lets it go. Returns true when it did. By the watchdog thread. */
bool strobe_art_host_watch(struct strobe_art_host *h);

/* Unwinders by StackVisitor: self walks the calling thread, whatever the hook's frame is; stopped walks the one that
 * the host holds. */
extern const struct strobe_unwinder strobe_unwinder_art;

#endif
