/* Finds the runtime's functions and variables that the engine uses, in a loaded libart.
 *
 * Each symbol has candidates by level: mangled names, tried in order (libart_names.c). Since 12 (31) the runtime is
 * updated apart from the system, so the names of a level are followed by those of later levels. When a needed symbol is
 * missing, the search fails and names it. When a symbol of a feature is missing, the feature stays off, with a reason.
 * Where a function's parameters differ between levels, the name that was found determines them. Calls go through the
 * inline functions below. Start only, except for those functions. */
#ifndef STROBE_BACKEND_ART_LIBART_H
#define STROBE_BACKEND_ART_LIBART_H

#include "engine/backend/art/level.h"
#include "engine/backend/art/module.h"
#include "engine/base/error.h"

/* The use of a symbol. NEEDED: the engine cannot work without it. Other uses name the feature that is off without it.
 */
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
    STROBE_ART_LIBC,   /* functions of the C library, no symbol of the runtime */
    STROBE_ART_NATIVE, /* native frames, the same */
    STROBE_ART_USES
};

/* Symbols by number. A symbol is one function or variable, whatever its mangled name is at a level. */
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
    /* may be missing; to be hooked where CALLBACKS are missing */
    STROBE_ART_THREAD_BEGAN, /* Dbg::PostThreadStart(Thread *) */
    STROBE_ART_THREAD_DIES,  /* Dbg::PostThreadDeath(Thread *) */
    /* CALLBACKS: each may be missing */
    STROBE_ART_CALLBACKS_GET,       /* Runtime::GetRuntimeCallbacks() */
    STROBE_ART_ADD_THREAD_CALLBACK, /* RuntimeCallbacks::AddThreadLifecycleCallback */
    STROBE_ART_REMOVE_THREAD_CALLBACK,
    STROBE_ART_ADD_MONITOR_CALLBACK,
    STROBE_ART_REMOVE_MONITOR_CALLBACK,
    STROBE_ART_SYMBOLS
};

/* The parameters of a function, where they differ between levels. */
enum strobe_art_shape {
    STROBE_ART_SHAPE_USUAL,        /* as at level 30 */
    STROBE_ART_SHAPE_BOOL_REASON,  /* SuspendThreadById, ...ByPeer, Resume: a bool instead of a SuspendReason */
    STROBE_ART_SHAPE_NO_REQUEST,   /* SuspendThreadByPeer without its second parameter, request_suspension */
    STROBE_ART_SHAPE_NO_TIMED_OUT, /* the same, and SuspendThreadById, without the last parameter too */
    STROBE_ART_SHAPE_ATTEMPT,      /* SuspendThreadById: the number of the attempt, 0, instead of the last one */
    STROBE_ART_SHAPE_NO_CALLBACK,  /* RunCheckpoint without a second closure */
    STROBE_ART_SHAPE_MORE_FLAGS,   /* RunCheckpoint: one bool more, true; ResetQuickAllocEntryPoints: one, false;
                                      WaitForGcToCompleteLocked: one, only_one */
    STROBE_ART_SHAPE_TWO_FLAGS,    /* RunCheckpoint: two bools more: true, false */
};

/* One candidate: first and last level, mangled name, parameters. */
struct strobe_art_candidate {
    enum strobe_art_symbol symbol;
    uint8_t first, last;
    uint8_t shape; /* enum strobe_art_shape */
    const char *mangled;
};

/* Returns all candidates, *count of them. Those of one symbol are adjacent, in order of trial. Any context. */
const struct strobe_art_candidate *strobe_art_candidates(size_t *count);

/* Return a symbol's readable name ("Monitor::Unlock"), its use, and whether the use works without it. */
const char *strobe_art_symbol_name(enum strobe_art_symbol symbol);
enum strobe_art_use strobe_art_symbol_use(enum strobe_art_symbol symbol);
bool strobe_art_symbol_optional(enum strobe_art_symbol symbol);
const char *strobe_art_use_name(enum strobe_art_use use); /* "allocations" */

struct strobe_libart {
    const struct strobe_art_level *level;
    uint64_t address[STROBE_ART_SYMBOLS]; /* 0 = missing */
    uint8_t shape[STROBE_ART_SYMBOLS];
    uint32_t missing[STROBE_ART_USES]; /* the first symbol missing for a use + 1; 0 = none is missing */
    bool libcxx;                       /* strings are libc++'s (devices), else libstdc++'s */
    char path[STROBE_MODULE_PATH_BYTES];
};

/* Finds all symbols in the loaded library `name` (NULL = "libart.so") for a level. STROBE_NO_ENTRY: no such library is
 * loaded. STROBE_UNSUPPORTED: the table has no such level, or a needed symbol is missing. STROBE_BAD_INPUT: see
 * strobe_module_open. `error` then says what is missing, and in which file. */
enum strobe_status strobe_libart_open(const char *name, int api, struct strobe_libart *out, struct strobe_error *error);

/* The same for a module that is already open. The module stays open. */
enum strobe_status strobe_libart_resolve(struct strobe_module *module, int api, struct strobe_libart *out,
                                         struct strobe_error *error);

/* Returns whether all symbols are there that a use needs. */
static inline bool strobe_libart_has(const struct strobe_libart *a, enum strobe_art_use use)
{
    return a->missing[use] == 0;
}

/* ---- calls. `self`, `thread`, `list`, `heap`, ... are the runtime's own pointers ---- */

/* Returns the calling thread's Thread, or NULL when it is not attached. Any. */
static inline void *strobe_art_current(const struct strobe_libart *a)
{
    return ((void *(*)(void))(uintptr_t)a->address[STROBE_ART_THREAD_CURRENT])();
}

/* Suspends a thread by its thin-lock id. Returns NULL when the thread is gone or did not stop in the runtime's own
 * time. By an attached thread, not in the window. */
void *strobe_art_suspend(const struct strobe_libart *a, void *list, uint32_t thin_lock_id);

/* Suspends a thread by its peer, a reference to its java.lang.Thread. Returns NULL also when the runtime lacks the
 * function (SUSPEND_BY_PEER). */
void *strobe_art_suspend_peer(const struct strobe_libart *a, void *list, void *peer);

/* Resumes a thread that one of these functions suspended. Returns false when it was not suspended. */
bool strobe_art_resume(const struct strobe_libart *a, void *list, void *thread);

/* Runs closure->vtable[2] (after two destructors) for each thread. A running thread runs it itself at its next
 * suspension point; the caller runs it for suspended threads. Returns the number of runs to come. */
struct strobe_art_closure {
    void *const *vtable;
};
size_t strobe_art_run_checkpoint(const struct strobe_libart *a, void *list, struct strobe_art_closure *closure);

#endif
