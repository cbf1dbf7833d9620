/* The runtime's events that become the engine's: hooks by feature. Each file has a start that puts its hooks in place,
 * or says why it can't, and an end that takes them out. For engine/backend/art only.
 *
 *   feature   hook                                               event
 *   -------   ------------------------------------------------   ----------------------------------------------------
 *   ALLOC     Heap's AllocationListener                          point ALLOC; counted for each thread
 *   JNI       artQuickGenericJniTrampoline, inline               point JNI, before the native method runs
 *   MONITOR   Monitor::Lock, Unlock, inline; else                scope MONITOR, waits for the Monitor
 *             MonitorCallback                                    the same without wakers
 *   WAIT      Monitor::Wait, Notify, NotifyAll, inline; else     scope COND, waits for the Monitor's wait set
 *             Object.wait's native function                      the same without wakers
 *   PARK      Thread::Park, Unpark, inline; else                 scope PARK, waits for the Thread's permit
 *             Unsafe.park's native function                      the same without wakers
 *   GC        Heap::WaitForGcToCompleteLocked,                   scope GC, waits for the collection
 *             CollectGarbageInternal, inline
 *   (always)  IPCThreadState::transact, by slots                 scope IPC
 *             Runtime.nativeLoad's native function               scope LOAD
 *             MessageQueue.nativePollOnce's native function      a new message; scope POLL
 *
 * What is waited for is a Monitor, not an object: monitors do not move, and one that is waited for is not deflated. So
 * its address is its identity while anybody waits (S-72); a monitor's entry and its wait set are two (the address, and
 * the address + 1). Wait lets go of the monitor first, as any release. A thread's permit is its Thread + 1; its Thread
 * is used again only after it has ended. Collections have one identity.
 *
 * A waker is named only where the wait really ended by it: a wait that timed out (as long as it was to last), or ended
 * with an exception pending (interrupted), has none (S-77).
 *
 * Allocation without stopping the world: Heap::SetAllocationListener wants to exchange the allocation entry points of
 * all threads, and stops them for it through Instrumentation::SetEntrypointsInstrumented. That is hooked; called from
 * our own registration it exchanges the table alone, and each thread takes its new entry points at its own next
 * suspension point (RunCheckpoint). As btrace 3.0 does, but the closure lives as long as the process, so nobody has to
 * count its runs.
 *
 * Every hook calls the original whatever happens, does nothing on a thread that is in the engine already, keeps its
 * buffers off the stack, and leaves when less than STROBE_ART_STACK_LEAST is left of it. */
#ifndef STROBE_BACKEND_ART_EVENTS_H
#define STROBE_BACKEND_ART_EVENTS_H

#include "engine/backend/art/art.h"
#include "engine/backend/art/host_art.h"

enum { STROBE_ART_STACK_LEAST = 6144 };   /* bytes of stack that an event needs at most */

/* All of a capture in a process. */
struct strobe_art {
    struct strobe_libart libart;
    struct strobe_art_runtime runtime;
    struct strobe_art_host host;
    struct strobe_engine engine;
    const struct strobe_inline_hooker *hooker;
    struct strobe_jvm *vm;
    uint32_t native_offset;              /* of the native function in an ArtMethod; 0 = not known */
    struct strobe_art_status status;
    bool started;
};
extern struct strobe_art strobe_art;

/* The calling thread's state when its event is to be taken: it registers here when it is new. NULL when capture is off,
 * the thread is not attached to the runtime or is ours, there is too little stack left, or no room for it. */
struct strobe_thread *strobe_art_thread(uint32_t on);

/* Start and end of each feature. start: `env` of the calling thread; false with one phrase in `why`. */
struct strobe_art_feature {
    enum strobe_art_use use;             /* STROBE_ART_NEEDED for those of no use: their absence is no failure */
    bool (*start)(struct strobe_jni *env, char *why, size_t why_bytes);
    void (*end)(void);
};
extern const struct strobe_art_feature strobe_art_feature_alloc, strobe_art_feature_jni, strobe_art_feature_monitor,
    strobe_art_feature_wait, strobe_art_feature_park, strobe_art_feature_gc, strobe_art_feature_calls,
    strobe_art_feature_loop, strobe_art_feature_threads;

#endif
