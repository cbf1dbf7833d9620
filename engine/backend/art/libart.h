/* The runtime's functions and variables that the engine uses, found in a loaded libart.
 *
 * Each has candidates by level: mangled names, tried in order (libart_names.c). Since 12 (31) the runtime is updated
 * apart from the system, so a level's names are followed by those of later ones. What is needed and missing is refused
 * by name; what a feature needs and is missing leaves the feature off, with the reason for who asks. Where a function's
 * parameters differ between levels, the name that was found tells which, and calls go through the inline functions
 * below. Start only, but for those. */
#ifndef STROBE_BACKEND_ART_LIBART_H
#define STROBE_BACKEND_ART_LIBART_H

#include "engine/backend/art/level.h"
#include "engine/backend/art/module.h"
#include "engine/base/error.h"

/* What a symbol is for. NEEDED: nothing goes without. Others name the feature that is off without them. */
enum strobe_art_use {
    STROBE_ART_NEEDED,
    STROBE_ART_SUSPEND,
    STROBE_ART_ALLOC,
    STROBE_ART_JNI,
    STROBE_ART_MONITOR,
    STROBE_ART_WAIT,
    STROBE_ART_PARK,
    STROBE_ART_GC,
    STROBE_ART_NAMES,
    STROBE_ART_THREADS,
    STROBE_ART_DEX_PC,
    STROBE_ART_CALLBACKS,
    STROBE_ART_USES
};

/* Symbols by number. Each is one thing, whatever its mangled name is at a level. */
enum strobe_art_symbol {
    /* NEEDED */
    STROBE_ART_RUNTIME_INSTANCE, /* Runtime::instance_, the variable */
    STROBE_ART_THREAD_CURRENT,   /* Thread::CurrentFromGdb() */
    STROBE_ART_VISITOR_INIT,     /* StackVisitor::StackVisitor, base-object form */
    STROBE_ART_VISITOR_WALK,     /* StackVisitor::WalkStack, without transitions */
    STROBE_ART_VISITOR_METHOD,   /* StackVisitor::GetMethod() const */
    /* DEX_PC */
    STROBE_ART_VISITOR_DEX_PC, /* StackVisitor::GetDexPc(bool) const */
    /* NAMES */
    STROBE_ART_METHOD_PRETTY, /* ArtMethod::PrettyMethod(bool) */
    STROBE_ART_SUSPEND_ALL,   /* ThreadList::SuspendAll(const char *, bool) */
    STROBE_ART_RESUME_ALL,
    /* SUSPEND */
    STROBE_ART_SUSPEND_BY_ID,   /* ThreadList::SuspendThreadByThreadId */
    STROBE_ART_SUSPEND_BY_PEER, /* ThreadList::SuspendThreadByPeer; may be missing */
    STROBE_ART_RESUME,          /* ThreadList::Resume */
    /* ALLOC */
    STROBE_ART_SET_LISTENER, /* Heap::SetAllocationListener */
    STROBE_ART_REMOVE_LISTENER,
    STROBE_ART_SET_ENTRYPOINTS,         /* Instrumentation::SetEntrypointsInstrumented(bool), to be hooked */
    STROBE_ART_SET_ALLOC_ENTRYPOINTS,   /* SetQuickAllocEntryPointsInstrumented(bool) */
    STROBE_ART_RESET_ALLOC_ENTRYPOINTS, /* Thread::ResetQuickAllocEntryPointsForThread */
    STROBE_ART_RUN_CHECKPOINT,          /* ThreadList::RunCheckpoint */
    /* JNI */
    STROBE_ART_JNI_TRAMPOLINE, /* artQuickGenericJniTrampoline, to be hooked */
    /* MONITOR: to be hooked; LOCK_FOR_WAIT may be missing where LOCK does both */
    STROBE_ART_MONITOR_LOCK,          /* Monitor::Lock<kForLock>(Thread *) */
    STROBE_ART_MONITOR_LOCK_FOR_WAIT, /* Monitor::Lock<kForWait>(Thread *) */
    STROBE_ART_MONITOR_UNLOCK,        /* Monitor::Unlock(Thread *) */
    STROBE_ART_MONITOR_INIT,          /* Monitor::Monitor(Thread *, Thread *, Object *, int32_t, MonitorId); may be
missing */
    /* WAIT: to be hooked */
    STROBE_ART_MONITOR_WAIT, /* Monitor::Wait(Thread *, int64_t, int32_t, bool, ThreadState) */
    STROBE_ART_MONITOR_NOTIFY,
    STROBE_ART_MONITOR_NOTIFY_ALL,
    STROBE_ART_MONITOR_DO_NOTIFY, /* Monitor::DoNotify(Thread *, Object *, bool); may be missing */
    /* PARK: to be hooked */
    STROBE_ART_PARK_THREAD, /* Thread::Park(bool, int64_t) */
    STROBE_ART_UNPARK_THREAD,
    /* GC: to be hooked */
    STROBE_ART_GC_WAIT,    /* Heap::WaitForGcToCompleteLocked */
    STROBE_ART_GC_COLLECT, /* Heap::CollectGarbageInternal */
    STROBE_ART_GC_FINISH,  /* Heap::FinishGC; may be missing */
    /* THREADS */
    STROBE_ART_FOR_EACH, /* ThreadList::ForEach; may be missing */
    /* CALLBACKS: each may be missing */
    STROBE_ART_CALLBACKS_GET,       /* Runtime::GetRuntimeCallbacks() */
    STROBE_ART_ADD_THREAD_CALLBACK, /* RuntimeCallbacks::AddThreadLifecycleCallback */
    STROBE_ART_REMOVE_THREAD_CALLBACK,
    STROBE_ART_ADD_MONITOR_CALLBACK,
    STROBE_ART_REMOVE_MONITOR_CALLBACK,
    STROBE_ART_SYMBOLS
};

/* How a function is to be called, where that differs. */
enum strobe_art_shape {
    STROBE_ART_SHAPE_USUAL,        /* as at level 30 */
    STROBE_ART_SHAPE_BOOL_REASON,  /* SuspendThreadById, ...ByPeer, Resume: a bool instead of a SuspendReason */
    STROBE_ART_SHAPE_NO_REQUEST,   /* SuspendThreadByPeer without its second parameter, request_suspension */
    STROBE_ART_SHAPE_NO_TIMED_OUT, /* the same, and SuspendThreadById, without the last parameter too */
    STROBE_ART_SHAPE_ATTEMPT,      /* SuspendThreadById: the number of the attempt, 0, instead of the last one */
    STROBE_ART_SHAPE_NO_CALLBACK,  /* RunCheckpoint without a second closure */
    STROBE_ART_SHAPE_MORE_FLAGS,   /* RunCheckpoint: one bool more, true; ResetQuickAllocEntryPoints: one, false */
    STROBE_ART_SHAPE_TWO_FLAGS,    /* RunCheckpoint: two bools more: true, false */
};

/* One candidate: from which level to which, its mangled name, how it is called. */
struct strobe_art_candidate {
    enum strobe_art_symbol symbol;
    uint8_t first, last;
    uint8_t shape; /* enum strobe_art_shape */
    const char *mangled;
};

/* All candidates, those of one symbol in a row in order of trial. *count of them. Any context. */
const struct strobe_art_candidate *strobe_art_candidates(size_t *count);

/* What a symbol is called in words ("Monitor::Unlock"), what it is for, and whether that can do without it. */
const char *strobe_art_symbol_name(enum strobe_art_symbol symbol);
enum strobe_art_use strobe_art_symbol_use(enum strobe_art_symbol symbol);
bool strobe_art_symbol_optional(enum strobe_art_symbol symbol);
const char *strobe_art_use_name(enum strobe_art_use use); /* "allocations" */

struct strobe_libart {
    const struct strobe_art_level *level;
    uint64_t address[STROBE_ART_SYMBOLS]; /* 0 = missing */
    uint8_t shape[STROBE_ART_SYMBOLS];
    uint32_t missing[STROBE_ART_USES]; /* the first symbol missing for a use + 1; 0 = none is */
    bool libcxx;                       /* strings are libc++'s (devices), else libstdc++'s */
    char path[STROBE_MODULE_PATH_BYTES];
};

/* Looks all symbols up in the loaded `name` (NULL = "libart.so") for a level. STROBE_NO_ENTRY: no such library is
 * loaded. STROBE_UNSUPPORTED: the level is none of the table, or a needed symbol is missing. STROBE_BAD_INPUT: see
 * strobe_module_open. `error` has one line: what, and where it was looked for. */
enum strobe_status strobe_libart_open(const char *name, int api, struct strobe_libart *out, struct strobe_error *error);

/* The same from a module that is open already, which it leaves open. */
enum strobe_status strobe_libart_resolve(struct strobe_module *module, int api, struct strobe_libart *out,
                                         struct strobe_error *error);

/* True when all that a use can't do without is there. */
static inline bool strobe_libart_has(const struct strobe_libart *a, enum strobe_art_use use)
{
    return a->missing[use] == 0;
}

/* ---- calls. `self`, `thread`, `list`, `heap`, ... are the runtime's own pointers ---- */

/* The calling thread, NULL when it is not attached. Any. */
static inline void *strobe_art_current(const struct strobe_libart *a)
{
    return ((void *(*)(void))(uintptr_t)a->address[STROBE_ART_THREAD_CURRENT])();
}

/* Suspends by thin-lock id; NULL when it is gone or did not stop in the runtime's own time. By an attached thread, not
 * in the window. */
void *strobe_art_suspend(const struct strobe_libart *a, void *list, uint32_t thin_lock_id);

/* The same by its peer, a reference to its java.lang.Thread; NULL, too, when the runtime can't (SUSPEND_BY_PEER). */
void *strobe_art_suspend_peer(const struct strobe_libart *a, void *list, void *peer);

/* Lets a thread go on that was suspended by one of these. False: it was not suspended. */
bool strobe_art_resume(const struct strobe_libart *a, void *list, void *thread);

/* Runs closure->vtable[2] (after two destructors) with each thread: on the thread itself at its next suspension point,
 * or on the caller for threads that are suspended. Returns how many runs there will be. */
struct strobe_art_closure {
    void *const *vtable;
};
size_t strobe_art_run_checkpoint(const struct strobe_libart *a, void *list, struct strobe_art_closure *closure);

#endif
