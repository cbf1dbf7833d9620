/* The runtime's names. Sources: the declarations in the Android Open Source Project, platform/art, release branches
 * nougat to android16 and main after it (fork: github.com/HertzifyOS/android_art), mangled as the Itanium C++ ABI says
 * (chapter 5.1); Debian's builds of 11 and 14, which export all of theirs. A range is as wide as any point release
 * makes it: a name that is not there costs a lookup. */
#include "engine/backend/art/libart.h"

/* int64_t is a long where pointers have 64 bits, else a long long. */
#if UINTPTR_MAX > 0xffffffffu
#define I64 "l"
#else
#define I64 "x"
#endif

#define LIST      "_ZN3art10ThreadList"
#define HEAP      "_ZN3art2gc4Heap"
#define MONITOR   "_ZN3art7Monitor"
#define VISITOR   "12StackVisitor"
#define CALLBACKS "_ZN3art16RuntimeCallbacks"
#define ALL       24, 36
#define USUAL     STROBE_ART_SHAPE_USUAL

static const struct strobe_art_candidate candidates[] = {
    {STROBE_ART_RUNTIME_INSTANCE, ALL, USUAL, "_ZN3art7Runtime9instance_E"},
    {STROBE_ART_THREAD_CURRENT, ALL, USUAL, "_ZN3art6Thread14CurrentFromGdbEv"},
    {STROBE_ART_VISITOR_INIT, ALL, USUAL, "_ZN3art" VISITOR "C2EPNS_6ThreadEPNS_7ContextENS0_13StackWalkKindEb"},
    /* without check_suspended, which then is one argument more than it takes */
    {STROBE_ART_VISITOR_INIT, 24, 27, USUAL, "_ZN3art" VISITOR "C2EPNS_6ThreadEPNS_7ContextENS0_13StackWalkKindE"},
    {STROBE_ART_VISITOR_WALK, 26, 36, USUAL, "_ZN3art" VISITOR "9WalkStackILNS0_16CountTransitionsE0EEEvb"},
    {STROBE_ART_VISITOR_WALK, 24, 27, USUAL, "_ZN3art" VISITOR "9WalkStackEb"},
    {STROBE_ART_VISITOR_METHOD, ALL, USUAL, "_ZNK3art" VISITOR "9GetMethodEv"},
    {STROBE_ART_VISITOR_DEX_PC, ALL, USUAL, "_ZNK3art" VISITOR "8GetDexPcEb"},
    {STROBE_ART_METHOD_PRETTY, 26, 36, USUAL, "_ZN3art9ArtMethod12PrettyMethodEb"},
    {STROBE_ART_METHOD_PRETTY, 26, 36, USUAL, "_ZN3art9ArtMethod12PrettyMethodB5cxx11Eb"}, /* libstdc++ */
    {STROBE_ART_METHOD_PRETTY, 24, 26, USUAL, "_ZN3art12PrettyMethodEPNS_9ArtMethodEb"},
    {STROBE_ART_SUSPEND_ALL, ALL, USUAL, LIST "10SuspendAllEPKcb"},
    {STROBE_ART_RESUME_ALL, ALL, USUAL, LIST "9ResumeAllEv"},
    {STROBE_ART_SUSPEND_BY_ID, 26, 36, USUAL, LIST "23SuspendThreadByThreadIdEjNS_13SuspendReasonEPb"},
    {STROBE_ART_SUSPEND_BY_ID, 24, 26, STROBE_ART_SHAPE_BOOL_REASON, LIST "23SuspendThreadByThreadIdEjbPb"},
    {STROBE_ART_SUSPEND_BY_ID, 35, 36, STROBE_ART_SHAPE_ATTEMPT,
     LIST "23SuspendThreadByThreadIdEjNS_13SuspendReasonEi"},
    {STROBE_ART_SUSPEND_BY_ID, 35, 36, STROBE_ART_SHAPE_NO_TIMED_OUT,
     LIST "23SuspendThreadByThreadIdEjNS_13SuspendReasonE"},
    {STROBE_ART_SUSPEND_BY_PEER, 26, 33, USUAL, LIST "19SuspendThreadByPeerEP8_jobjectbNS_13SuspendReasonEPb"},
    {STROBE_ART_SUSPEND_BY_PEER, 24, 26, STROBE_ART_SHAPE_BOOL_REASON, LIST "19SuspendThreadByPeerEP8_jobjectbbPb"},
    {STROBE_ART_SUSPEND_BY_PEER, 31, 36, STROBE_ART_SHAPE_NO_REQUEST,
     LIST "19SuspendThreadByPeerEP8_jobjectNS_13SuspendReasonEPb"},
    {STROBE_ART_SUSPEND_BY_PEER, 35, 36, STROBE_ART_SHAPE_NO_TIMED_OUT,
     LIST "19SuspendThreadByPeerEP8_jobjectNS_13SuspendReasonE"},
    {STROBE_ART_RESUME, 26, 36, USUAL, LIST "6ResumeEPNS_6ThreadENS_13SuspendReasonE"},
    {STROBE_ART_RESUME, 24, 26, STROBE_ART_SHAPE_BOOL_REASON, LIST "6ResumeEPNS_6ThreadEb"},
    {STROBE_ART_SET_LISTENER, 26, 36, USUAL, HEAP "21SetAllocationListenerEPNS0_18AllocationListenerE"},
    {STROBE_ART_REMOVE_LISTENER, 26, 36, USUAL, HEAP "24RemoveAllocationListenerEv"},
    {STROBE_ART_SET_ENTRYPOINTS, 26, 36, USUAL,
     "_ZN3art15instrumentation15Instrumentation26SetEntrypointsInstrumentedEb"},
    {STROBE_ART_SET_ALLOC_ENTRYPOINTS, ALL, USUAL, "_ZN3art36SetQuickAllocEntryPointsInstrumentedEb"},
    {STROBE_ART_RESET_ALLOC_ENTRYPOINTS, ALL, USUAL, "_ZN3art6Thread35ResetQuickAllocEntryPointsForThreadEv"},
    {STROBE_ART_RESET_ALLOC_ENTRYPOINTS, 26, 36, STROBE_ART_SHAPE_MORE_FLAGS,
     "_ZN3art6Thread35ResetQuickAllocEntryPointsForThreadEb"},
    {STROBE_ART_RUN_CHECKPOINT, 26, 36, USUAL, LIST "13RunCheckpointEPNS_7ClosureES2_"},
    {STROBE_ART_RUN_CHECKPOINT, 24, 26, STROBE_ART_SHAPE_NO_CALLBACK, LIST "13RunCheckpointEPNS_7ClosureE"},
    {STROBE_ART_RUN_CHECKPOINT, 34, 36, STROBE_ART_SHAPE_MORE_FLAGS, LIST "13RunCheckpointEPNS_7ClosureES2_b"},
    {STROBE_ART_RUN_CHECKPOINT, 35, 36, STROBE_ART_SHAPE_TWO_FLAGS, LIST "13RunCheckpointEPNS_7ClosureES2_bb"},
    {STROBE_ART_JNI_TRAMPOLINE, ALL, USUAL, "artQuickGenericJniTrampoline"},
    /* LockReason is kForWait, 0, or kForLock, 1 */
    {STROBE_ART_MONITOR_LOCK, 26, 36, USUAL, MONITOR "4LockILNS_10LockReasonE1EEEvPNS_6ThreadE"},
    {STROBE_ART_MONITOR_LOCK, 24, 28, USUAL, MONITOR "4LockEPNS_6ThreadE"},
    {STROBE_ART_MONITOR_LOCK_FOR_WAIT, 26, 36, USUAL, MONITOR "4LockILNS_10LockReasonE0EEEvPNS_6ThreadE"},
    {STROBE_ART_MONITOR_UNLOCK, ALL, USUAL, MONITOR "6UnlockEPNS_6ThreadE"},
    {STROBE_ART_MONITOR_INIT, 26, 36, USUAL, MONITOR "C2EPNS_6ThreadES2_NS_6ObjPtrINS_6mirror6ObjectEEEij"},
    {STROBE_ART_MONITOR_INIT, 36, 36, USUAL,
     MONITOR "C2EPNS_6ThreadENS_12MonitorOwnerENS_6ObjPtrINS_6mirror6ObjectEEEij"},
    {STROBE_ART_MONITOR_INIT, 24, 28, USUAL, MONITOR "C2EPNS_6ThreadES2_PNS_6mirror6ObjectEij"},
    {STROBE_ART_MONITOR_WAIT, ALL, USUAL, MONITOR "4WaitEPNS_6ThreadE" I64 "ibNS_11ThreadStateE"},
    {STROBE_ART_MONITOR_NOTIFY, ALL, USUAL, MONITOR "6NotifyEPNS_6ThreadE"},
    {STROBE_ART_MONITOR_NOTIFY_ALL, ALL, USUAL, MONITOR "9NotifyAllEPNS_6ThreadE"},
    {STROBE_ART_MONITOR_DO_NOTIFY, 26, 36, USUAL, MONITOR "8DoNotifyEPNS_6ThreadENS_6ObjPtrINS_6mirror6ObjectEEEb"},
    {STROBE_ART_MONITOR_DO_NOTIFY, 24, 28, USUAL, MONITOR "8DoNotifyEPNS_6ThreadEPNS_6mirror6ObjectEb"},
    {STROBE_ART_PARK_THREAD, 29, 36, USUAL, "_ZN3art6Thread4ParkEb" I64},
    {STROBE_ART_UNPARK_THREAD, 29, 36, USUAL, "_ZN3art6Thread6UnparkEv"},
    {STROBE_ART_GC_WAIT, ALL, USUAL, HEAP "25WaitForGcToCompleteLockedENS0_7GcCauseEPNS_6ThreadE"},
    {STROBE_ART_GC_WAIT, 36, 36, STROBE_ART_SHAPE_MORE_FLAGS,
     HEAP "25WaitForGcToCompleteLockedENS0_7GcCauseEPNS_6ThreadEb"},
    {STROBE_ART_GC_COLLECT, 24, 31, USUAL, HEAP "22CollectGarbageInternalENS0_9collector6GcTypeENS0_7GcCauseEb"},
    {STROBE_ART_GC_COLLECT, 31, 36, USUAL, HEAP "22CollectGarbageInternalENS0_9collector6GcTypeENS0_7GcCauseEbj"},
    {STROBE_ART_GC_FINISH, ALL, USUAL, HEAP "8FinishGCEPNS_6ThreadENS0_9collector6GcTypeE"},
    {STROBE_ART_FOR_EACH, ALL, USUAL, LIST "7ForEachEPFvPNS_6ThreadEPvES3_"},
    {STROBE_ART_THREAD_BEGAN, 24, 26, USUAL, "_ZN3art3Dbg15PostThreadStartEPNS_6ThreadE"},
    {STROBE_ART_THREAD_DIES, 24, 26, USUAL, "_ZN3art3Dbg15PostThreadDeathEPNS_6ThreadE"},
    {STROBE_ART_CALLBACKS_GET, 26, 36, USUAL, "_ZN3art7Runtime19GetRuntimeCallbacksEv"},
    {STROBE_ART_ADD_THREAD_CALLBACK, 26, 36, USUAL,
     CALLBACKS "26AddThreadLifecycleCallbackEPNS_23ThreadLifecycleCallbackE"},
    {STROBE_ART_REMOVE_THREAD_CALLBACK, 26, 36, USUAL,
     CALLBACKS "29RemoveThreadLifecycleCallbackEPNS_23ThreadLifecycleCallbackE"},
    {STROBE_ART_ADD_MONITOR_CALLBACK, 26, 36, USUAL, CALLBACKS "18AddMonitorCallbackEPNS_15MonitorCallbackE"},
    {STROBE_ART_REMOVE_MONITOR_CALLBACK, 26, 36, USUAL, CALLBACKS "21RemoveMonitorCallbackEPNS_15MonitorCallbackE"},
};

const struct strobe_art_candidate *strobe_art_candidates(size_t *count)
{
    *count = sizeof candidates / sizeof *candidates;
    return candidates;
}

static const struct {
    const char *name;
    enum strobe_art_use use;
    bool optional;
} symbols[STROBE_ART_SYMBOLS] = {
    [STROBE_ART_RUNTIME_INSTANCE] = {"Runtime::instance_", STROBE_ART_NEEDED, false},
    [STROBE_ART_THREAD_CURRENT] = {"Thread::CurrentFromGdb", STROBE_ART_NEEDED, false},
    [STROBE_ART_VISITOR_INIT] = {"StackVisitor::StackVisitor", STROBE_ART_NEEDED, false},
    [STROBE_ART_VISITOR_WALK] = {"StackVisitor::WalkStack", STROBE_ART_NEEDED, false},
    [STROBE_ART_VISITOR_METHOD] = {"StackVisitor::GetMethod", STROBE_ART_NEEDED, false},
    [STROBE_ART_VISITOR_DEX_PC] = {"StackVisitor::GetDexPc", STROBE_ART_DEX_PC, false},
    [STROBE_ART_METHOD_PRETTY] = {"ArtMethod::PrettyMethod", STROBE_ART_NAMES, false},
    [STROBE_ART_SUSPEND_ALL] = {"ThreadList::SuspendAll", STROBE_ART_NAMES, false},
    [STROBE_ART_RESUME_ALL] = {"ThreadList::ResumeAll", STROBE_ART_NAMES, false},
    [STROBE_ART_SUSPEND_BY_ID] = {"ThreadList::SuspendThreadByThreadId", STROBE_ART_SUSPEND, false},
    [STROBE_ART_SUSPEND_BY_PEER] = {"ThreadList::SuspendThreadByPeer", STROBE_ART_SUSPEND, true},
    [STROBE_ART_RESUME] = {"ThreadList::Resume", STROBE_ART_SUSPEND, false},
    [STROBE_ART_SET_LISTENER] = {"Heap::SetAllocationListener", STROBE_ART_ALLOC, false},
    [STROBE_ART_REMOVE_LISTENER] = {"Heap::RemoveAllocationListener", STROBE_ART_ALLOC, false},
    [STROBE_ART_SET_ENTRYPOINTS] = {"Instrumentation::SetEntrypointsInstrumented", STROBE_ART_ALLOC, false},
    [STROBE_ART_SET_ALLOC_ENTRYPOINTS] = {"SetQuickAllocEntryPointsInstrumented", STROBE_ART_ALLOC, false},
    [STROBE_ART_RESET_ALLOC_ENTRYPOINTS] = {"Thread::ResetQuickAllocEntryPointsForThread", STROBE_ART_ALLOC, false},
    [STROBE_ART_RUN_CHECKPOINT] = {"ThreadList::RunCheckpoint", STROBE_ART_ALLOC, false},
    [STROBE_ART_JNI_TRAMPOLINE] = {"artQuickGenericJniTrampoline", STROBE_ART_JNI, false},
    [STROBE_ART_MONITOR_LOCK] = {"Monitor::Lock", STROBE_ART_MONITOR, false},
    [STROBE_ART_MONITOR_LOCK_FOR_WAIT] = {"Monitor::Lock, after a wait", STROBE_ART_MONITOR, true},
    [STROBE_ART_MONITOR_UNLOCK] = {"Monitor::Unlock", STROBE_ART_MONITOR, false},
    [STROBE_ART_MONITOR_INIT] = {"Monitor::Monitor", STROBE_ART_MONITOR, true},
    [STROBE_ART_MONITOR_WAIT] = {"Monitor::Wait", STROBE_ART_WAIT, false},
    [STROBE_ART_MONITOR_NOTIFY] = {"Monitor::Notify", STROBE_ART_WAIT, false},
    [STROBE_ART_MONITOR_NOTIFY_ALL] = {"Monitor::NotifyAll", STROBE_ART_WAIT, false},
    [STROBE_ART_MONITOR_DO_NOTIFY] = {"Monitor::DoNotify", STROBE_ART_WAIT, true},
    [STROBE_ART_PARK_THREAD] = {"Thread::Park", STROBE_ART_PARK, false},
    [STROBE_ART_UNPARK_THREAD] = {"Thread::Unpark", STROBE_ART_PARK, false},
    [STROBE_ART_GC_WAIT] = {"Heap::WaitForGcToCompleteLocked", STROBE_ART_GC, false},
    [STROBE_ART_GC_COLLECT] = {"Heap::CollectGarbageInternal", STROBE_ART_GC, false},
    [STROBE_ART_GC_FINISH] = {"Heap::FinishGC", STROBE_ART_GC, true},
    [STROBE_ART_FOR_EACH] = {"ThreadList::ForEach", STROBE_ART_THREADS, true},
    [STROBE_ART_THREAD_BEGAN] = {"Dbg::PostThreadStart", STROBE_ART_THREADS, true},
    [STROBE_ART_THREAD_DIES] = {"Dbg::PostThreadDeath", STROBE_ART_THREADS, true},
    [STROBE_ART_CALLBACKS_GET] = {"Runtime::GetRuntimeCallbacks", STROBE_ART_CALLBACKS, true},
    [STROBE_ART_ADD_THREAD_CALLBACK] = {"RuntimeCallbacks::AddThreadLifecycleCallback", STROBE_ART_CALLBACKS, true},
    [STROBE_ART_REMOVE_THREAD_CALLBACK] = {"RuntimeCallbacks::RemoveThreadLifecycleCallback", STROBE_ART_CALLBACKS,
                                           true},
    [STROBE_ART_ADD_MONITOR_CALLBACK] = {"RuntimeCallbacks::AddMonitorCallback", STROBE_ART_CALLBACKS, true},
    [STROBE_ART_REMOVE_MONITOR_CALLBACK] = {"RuntimeCallbacks::RemoveMonitorCallback", STROBE_ART_CALLBACKS, true},
};

const char *strobe_art_symbol_name(enum strobe_art_symbol symbol)
{
    return symbols[symbol].name;
}

enum strobe_art_use strobe_art_symbol_use(enum strobe_art_symbol symbol)
{
    return symbols[symbol].use;
}

bool strobe_art_symbol_optional(enum strobe_art_symbol symbol)
{
    return symbols[symbol].optional;
}

const char *strobe_art_use_name(enum strobe_art_use use)
{
    static const char *const names[STROBE_ART_USES] = {
        [STROBE_ART_NEEDED] = "everything", [STROBE_ART_SUSPEND] = "suspended threads",
        [STROBE_ART_ALLOC] = "allocations", [STROBE_ART_JNI] = "native calls",
        [STROBE_ART_MONITOR] = "monitors",  [STROBE_ART_WAIT] = "waits",
        [STROBE_ART_PARK] = "parks",        [STROBE_ART_GC] = "collections",
        [STROBE_ART_NAMES] = "names",       [STROBE_ART_THREADS] = "threads",
        [STROBE_ART_DEX_PC] = "dex pcs",    [STROBE_ART_CALLBACKS] = "callbacks",
        [STROBE_ART_LIBC] = "native waits", [STROBE_ART_NATIVE] = "native frames",
    };
    return names[use];
}
