/* The runtime's events that become the engine's: hooks by feature. Each file has a start that puts its hooks in place,
 * or says why it can't, and an end that takes them out. For engine/backend/art only.
 *
 *   feature   hook                                               event
 *   -------   ------------------------------------------------   ----------------------------------------------------
 *   ALLOC     Heap's AllocationListener                          point ALLOC; counted for each thread
 *   JNI       artQuickGenericJniTrampoline, inline               point JNI, before the native method runs
 *   MONITOR   MonitorCallback, else Monitor::Lock, inline;       scope MONITOR, waits for the Monitor
 *             Monitor::Unlock, Lock after a wait, inline         wakers
 *   WAIT      Monitor::Wait, inline; DoNotify, Notify,           scope COND, waits for the Monitor's wait set
 *             NotifyAll, inline                                  wakers
 *                                                                or, of Thread.sleep, scope SLEEP
 *             else native functions of Object.wait and           the same without wakers
 *             Thread.sleep
 *   PARK      Thread::Park, Unpark, inline; else                 scope PARK, waits for the Thread's permit
 *             Unsafe.park's native function                      the same without wakers
 *   GC        Heap::WaitForGcToCompleteLocked, inline            scope GC, waits for the collection
 *             CollectGarbageInternal, inline                     scope GC of who collects
 *             FinishGC, inline                                   wakers
 *   (always)  IPCThreadState::transact, by slots                 scope IPC
 *             Runtime.nativeLoad's native function               scope LOAD
 *             MessageQueue.nativePollOnce's native function      a new message; scope POLL
 *
 * What is waited for is a Monitor, not an object: monitors do not move, and one that is waited for is not deflated. So
 * its address is its identity while anybody waits (S-72); a monitor's entry and its wait set are two (the address, and
 * the number by which its object's lock word names it, or where that can't be told the address + 1; monitor.h). Wait
 * lets go of the monitor first, as any release. A thread's permit is its Thread + 1; its Thread is used again only
 * after it has ended. Collections have one identity.
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
#ifndef STROBE_BACKEND_ART_HOOKS_EVENTS_H
#define STROBE_BACKEND_ART_HOOKS_EVENTS_H

#include "engine/backend/art/art.h"
#include "engine/backend/art/host_art.h"
#include "engine/backend/art/jni.h"
#include "engine/base/error.h"
#include "engine/base/hint.h"
#include "engine/capture/blocking.h"
#include "engine/capture/sample.h"

enum { STROBE_ART_STACK_LEAST = 6144 }; /* bytes of stack that an event needs at most */

/* What a thread keeps for its hooks between two of them. Its own. */
struct strobe_art_local {
    uint32_t waits;     /* in a Monitor::Wait that is told about */
    uint64_t wait_over; /* ticks when that began to enter the monitor again; 0: not yet */
    uint32_t notifying; /* in a call that notifies, which has been told about */
};

/* All of a capture in a process. */
struct strobe_art {
    struct strobe_libart libart;
    struct strobe_art_runtime runtime;
    struct strobe_art_host host;
    struct strobe_engine engine;
    struct strobe_art_threads *threads;
    struct strobe_art_local *local; /* one for each of the engine's threads */
    const struct strobe_inline_hooker *hooker;
    struct strobe_jvm *vm;
    uint32_t native_offset; /* of the native function in an ArtMethod; 0 = not known */
    uint32_t capture;       /* number of the present one in this process, from 1 */
    struct strobe_art_status status;
};
extern struct strobe_art strobe_art;

/* The calling thread's state when its event is to be taken: it registers here when it is new. NULL when capture is off,
 * the thread is not attached to the runtime or is ours, there is too little stack left, or no room for it; the last two
 * are counted as untracked events. */
struct strobe_thread *strobe_art_thread(uint32_t on);

/* Registers the calling thread, which the runtime calls `thread`, or tells again who it is. Not one of ours: they are
 * busy (strobe_local) before they attach to the runtime. */
void strobe_art_thread_begins(void *thread);

/* It leaves the runtime, and can't be suspended any more. What it does yet is still seen. */
void strobe_art_thread_leaves(void);

/* The wait in a monitor is over in which the calling thread is, if in any: it is about to enter that again. */
void strobe_art_wait_is_over(struct strobe_thread *t);

/* Registers those threads that run and have met no hook. Start, and sampler. */
void strobe_art_look_for_threads(void);

/* Start and end of each feature. start: `env` of the calling thread; false with one phrase in `error`. */
struct strobe_art_feature {
    enum strobe_art_use use; /* STROBE_ART_NEEDED for those of no use: their absence is no failure */
    bool (*start)(struct strobe_jni *env, struct strobe_error *error);
    void (*end)(void);
};
extern const struct strobe_art_feature strobe_art_feature_alloc, strobe_art_feature_jni, strobe_art_feature_monitor,
    strobe_art_feature_wait, strobe_art_feature_park, strobe_art_feature_gc, strobe_art_feature_calls,
    strobe_art_feature_loop, strobe_art_feature_threads;

/* ---- what hooks are made of ---- */

/* Hooks one of the runtime's functions inline; false with one phrase in `error`. */
bool strobe_art_hook(struct strobe_hook *h, enum strobe_art_symbol symbol, void *replacement,
                     struct strobe_error *error);

/* Where an ArtMethod keeps its native function, in bytes; 0: not known. */
uint32_t strobe_art_native_offset(struct strobe_jni *env);

/* Exchanges the native function of a Java method: of an object's, or static. False with one phrase in `error`. */
bool strobe_art_hook_native(struct strobe_hook *h, struct strobe_jni *env, const char *class, const char *name,
                            const char *signature, bool is_static, void *replacement, struct strobe_error *error);

#define STROBE_ART_HERE                                                                                                \
    (struct strobe_site)                                                                                               \
    {                                                                                                                  \
        (uint64_t)(uintptr_t) __builtin_frame_address(0), (uint64_t)(uintptr_t)__builtin_return_address(0)             \
    }

/* A scope around an original. */
struct strobe_art_scope {
    struct strobe_thread *thread;
    uint32_t token, capture;
    struct strobe_site site;
};

static inline struct strobe_art_scope strobe_art_open(enum strobe_kind kind, uint64_t arg, struct strobe_site site)
{
    struct strobe_art_scope s = {strobe_art_thread(strobe_switched()), 0, strobe_art.capture, site};
    if (s.thread)
        s.token = strobe_scope_begin(s.thread, kind, arg, site);
    return s;
}

/* True while the capture lasts in which the scope was opened. */
static inline bool strobe_art_is_open(const struct strobe_art_scope *s)
{
    return s->token && strobe_switched() != STROBE_OFF && strobe_art.capture == s->capture &&
           strobe_local.thread == s->thread;
}

static inline void strobe_art_close(const struct strobe_art_scope *s)
{
    if (strobe_art_is_open(s))
        strobe_scope_end(s->thread, s->token, s->site);
}

static inline void strobe_art_waits(const struct strobe_art_scope *s, uint64_t what)
{
    if (s->token)
        strobe_wait_begin(s->thread, what);
}

static inline void strobe_art_woken(const struct strobe_art_scope *s, uint64_t what, enum strobe_wake how)
{
    if (strobe_art_is_open(s))
        strobe_wait_end(s->thread, what, how, false);
}

/* Right before a release. */
static inline void strobe_art_releases(uint64_t what, enum strobe_release how, struct strobe_site site)
{
    uint32_t on = strobe_switched();
    struct strobe_thread *t = strobe_art_thread(on);
    if (t)
        strobe_release(t, on, what, how, site);
}

static inline struct strobe_art_local *strobe_art_local_of(const struct strobe_thread *t)
{
    return &strobe_art.local[t->index];
}

static inline uint64_t strobe_art_now(void)
{
    return strobe_art.host.linux.host.ticks(&strobe_art.host.linux);
}

#endif
