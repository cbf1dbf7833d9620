/* Events of the runtime that the engine records: hooks by feature. Each file has a start that installs its hooks, or
 * says why it cannot, and an end that removes them. For engine/backend/art only.
 *
 *   feature   hook                                               event
 *   -------   ------------------------------------------------   ----------------------------------------------------
 *   ALLOC     Heap's AllocationListener                          point ALLOC; counted for each thread
 *   JNI       artQuickGenericJniTrampoline, inline               point JNI, before the native method runs
 *   MONITOR   MonitorCallback, else Monitor::Lock, inline;       scope MONITOR, waits for the Monitor
 *             Monitor::Unlock, Lock after a wait, inline         wakers
 *   WAIT      Monitor::Wait, inline; DoNotify, Notify,           scope COND, waits for the Monitor's wait set
 *             NotifyAll, inline                                  wakers
 *                                                                or, for Thread.sleep, scope SLEEP
 *             else native functions of Object.wait and           the same without wakers
 *             Thread.sleep
 *   PARK      Thread::Park, Unpark, inline; else                 scope PARK, waits for the Thread's permit
 *             native functions of Unsafe.park and unpark         the same
 *   GC        Heap::WaitForGcToCompleteLocked, inline            scope GC, waits for the collection
 *             CollectGarbageInternal, inline                     scope GC of the collecting thread
 *             FinishGC, inline                                   wakers
 *   (always)  IPCThreadState::transact, by slots                 scope IPC
 *             Runtime.nativeLoad's native function               scope LOAD
 *             MessageQueue.nativePollOnce's native function      a new message; scope POLL
 *   LIBC      functions of the C library, by slots (libc.h)      scopes of native locks, files, sockets, sleeps; wakers
 *
 * A thread waits for a Monitor, not for an object: monitors do not move, and the runtime does not deflate a monitor
 * with waiters. Its address is therefore its identity while a thread waits (S-72). A monitor's entry and its wait set
 * have two identities: the address, and the number by which its object's lock word refers to it, or the address + 1 if
 * the number is not known (monitor.h). Wait releases the monitor first, as any release does. A thread's permit is its
 * Thread + 1; the Thread is reused only after the thread has ended. All collections have one identity.
 *
 * A waker is named only if the wait really ended by it. A wait that timed out, or ended with an exception pending
 * (interrupted), has no waker (S-77).
 *
 * Allocations without stopping all threads: Heap::SetAllocationListener exchanges the allocation entry points of all
 * threads, and stops them for it in Instrumentation::SetEntrypointsInstrumented. The engine hooks that function. When
 * the engine's own registration calls it, the hook exchanges the table alone. Each thread then takes its new entry
 * points at its next suspension point (RunCheckpoint). btrace 3.0 does the same. Here the closure lives as long as the
 * process, so its runs need not be counted. When the function cannot be hooked, or its caller has it inlined, the
 * runtime stops its threads as it always does, and allocations are recorded all the same (strobe_art_status.stops).
 *
 * Android 15 and later: most of these functions are hidden ("namespace art HIDDEN"), so dlsym and .dynsym do not have
 * them. They are found in .symtab or in MiniDebugInfo (module.h). sim/fake/art/symbols.txt lists which names are
 * exported at each level, and the sources of that. btrace's issue 177 reports that its allocations do nothing there.
 * Whether a build's MiniDebugInfo has all names is not known without a device. A feature without its function is off,
 * and the status names the function.
 *
 * Inline hooks of all features are installed together before the features start, and removed together after they end,
 * because each installation may stop all threads (detour/detour_hold.h). A feature first asks for its hooks. Its start
 * then learns which functions are hooked, and may do without them, or drop those that it cannot use alone. What starts
 * drop is removed together before capture begins.
 *
 * Every hook calls the original in any case. A hook records nothing on a thread that is in the engine already, or when
 * less than STROBE_ART_STACK_LEAST bytes of the stack are left. Its buffers are not on the stack. */
#ifndef STROBE_BACKEND_ART_HOOKS_EVENTS_H
#define STROBE_BACKEND_ART_HOOKS_EVENTS_H

#include "engine/backend/art/art.h"
#include "engine/backend/art/host_art.h"
#include "engine/backend/art/jni.h"
#include "engine/backend/common/hook_scope.h"
#include "engine/base/error.h"

enum { STROBE_ART_STACK_LEAST = 6144 }; /* bytes of stack that an event needs at most */

/* State that a thread keeps between two hooks. Owned by the thread. */
struct strobe_art_local {
    uint32_t notifying; /* 1: the thread is in a notifying call that is recorded */
};

/* The state of the process's capture. */
struct strobe_art {
    struct strobe_libart libart;
    struct strobe_art_runtime runtime;
    struct strobe_art_host host;
    struct strobe_engine engine;
    struct strobe_art_threads *threads;
    struct strobe_art_local *local;            /* one for each of the engine's threads */
    const struct strobe_inline_hooker *hooker; /* NULL = none */
    struct strobe_error no_hooker;             /* why there is none */
    struct strobe_jvm *vm;
    uint32_t native_offset; /* offset of the native function in an ArtMethod; 0 = not known */
    struct strobe_art_status status;
};
extern struct strobe_art strobe_art;

/* Returns the calling thread's state if its event is to be recorded. A new thread is registered first. Returns NULL
 * when capture is off, when the thread is not attached to the runtime or is one of the engine's, when too little stack
 * is left, and when the engine has no space for the thread. The last two are counted as untracked events. */
struct strobe_thread *strobe_art_thread(uint32_t on);

/* Registers the calling thread, the runtime's `thread`, or updates its ids. The engine's own threads are not
 * registered: they are busy (strobe_local) before they attach to the runtime. */
void strobe_art_thread_begins(void *thread);

/* The calling thread leaves the runtime, and cannot be suspended any more. Its later events are still recorded. */
void strobe_art_thread_leaves(void);

/* Registers running threads that have not met a hook. Start, and sampler. */
void strobe_art_find_threads(void);

/* A feature. ask: calls strobe_art_ask_hook for each inline hook that start may use; NULL = there are none. start:
 * `env` is the calling thread's. Returns false with one phrase in `error`, and has dropped all hooks. end: drops them.
 */
struct strobe_art_feature {
    enum strobe_art_use use; /* STROBE_ART_NEEDED for features without a use: their absence is no failure */
    void (*ask)(void);
    bool (*start)(struct strobe_jni *env, struct strobe_error *error);
    void (*end)(void);
};
extern const struct strobe_art_feature strobe_art_feature_alloc, strobe_art_feature_jni, strobe_art_feature_monitor,
    strobe_art_feature_wait, strobe_art_feature_park, strobe_art_feature_gc, strobe_art_feature_calls,
    strobe_art_feature_loop, strobe_art_feature_threads, strobe_art_feature_libc;

/* ---- functions for hooks */

/* Asks for an inline hook of one of the runtime's functions. Does nothing when the runtime lacks the function, or when
 * there is no inline hooker. */
void strobe_art_ask_hook(struct strobe_hook *h, enum strobe_art_symbol symbol, void *replacement);

/* Installs all hooks that were asked for. */
void strobe_art_install_hooks(void);

/* Returns whether a hook that was asked for is installed. Returns false with one phrase in `error`. */
bool strobe_art_is_hooked(const struct strobe_hook *h, enum strobe_art_symbol symbol, struct strobe_error *error);

/* Marks an inline hook for removal, if it is installed. */
void strobe_art_drop_hook(struct strobe_hook *h);

/* Removes all hooks that are marked. What was asked for is forgotten. */
void strobe_art_remove_hooks(void);

/* Returns the offset of the native function in an ArtMethod, in bytes; 0: not known. */
uint32_t strobe_art_native_offset(struct strobe_jni *env);

/* Exchanges the native function of a Java method, static or not. Returns false with one phrase in `error`. */
bool strobe_art_hook_native(struct strobe_hook *h, struct strobe_jni *env, const char *class, const char *name,
                            const char *signature, bool is_static, void *replacement, struct strobe_error *error);

/* Opens a scope of the calling thread around a call of an original. */
static inline struct strobe_hook_scope strobe_art_open(enum strobe_kind kind, uint64_t arg, struct strobe_site site)
{
    return strobe_hook_open(strobe_art_thread(strobe_switched()), kind, arg, site);
}

/* Called right before a release. */
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
    return strobe_linux_now();
}

#endif
