/* Allocations: the runtime's own listener, installed without stopping all threads (events.h, "Allocations"). */
#include "engine/backend/art/hooks/events.h"
#include "engine/base/error.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t alloc_symbol(enum strobe_art_symbol symbol)
{
    return strobe_art.libart.address[symbol];
}

/* ---- the listener ---- */

static void alloc_keep_listener(void *object)
{
    (void)object;
}

static void alloc_before_object(void *listener, void *thread, void *class, size_t *bytes)
{
    (void)listener, (void)thread, (void)class, (void)bytes;
}

static bool alloc_wants_before(void *listener)
{
    (void)listener;
    return false;
}

static void on_object_allocated(void *listener, void *thread, void *object, size_t bytes)
{
    (void)listener, (void)thread, (void)object;
    uint32_t on = strobe_switched();
    struct strobe_thread *t = strobe_art_thread(on);
    if (t)
        strobe_point_alloc(t, on, bytes, STROBE_HERE);
}

/* art::gc::AllocationListener: two destructors, [PreObjectAllocated, HasPreAlloc,] ObjectAllocated. */
static void *const plain_vtable[] = {(void *)alloc_keep_listener, (void *)alloc_keep_listener,
                                     (void *)on_object_allocated};
static void *const pre_vtable[] = {(void *)alloc_keep_listener, (void *)alloc_keep_listener,
                                   (void *)alloc_before_object, (void *)alloc_wants_before,
                                   (void *)on_object_allocated};
static struct {
    void *const *vtable;
} listener;

/* ---- entry points ---- */

static struct strobe_hook entry_points;
static strobe_a32 exchanges; /* kernel id of the thread that adds or removes the listener now; 0 = none */
static strobe_a32 exchanged; /* the runtime has asked for other entry points since */

/* Replaces Instrumentation::SetEntrypointsInstrumented. When the engine's own registration calls it, the function
 * exchanges the table from which threads copy their entry points, and stops no thread. */
static void on_set_entry_points(void *instrumentation, bool instrumented)
{
    if (strobe_load_relaxed(&exchanges) == (uint32_t)syscall(SYS_gettid)) {
        ((void (*)(bool))(uintptr_t)alloc_symbol(STROBE_ART_SET_ALLOC_ENTRYPOINTS))(instrumented);
        strobe_store_relaxed(&exchanged, 1);
        return;
    }
    ((void (*)(void *, bool))entry_points.original)(instrumentation, instrumented);
}

/* Runs on each thread, or on its behalf. From 8.0 to 12 a flag selects the entry points of a thread whose collector is
 * marking, with a read barrier of the class. These are right at any time; the others are wrong during marking, and the
 * runtime selects again when marking begins or ends. Later levels have only these (quick_alloc_entrypoints.cc). */
static void alloc_take_entry_points(void *closure, void *thread)
{
    (void)closure;
    uint64_t reset = alloc_symbol(STROBE_ART_RESET_ALLOC_ENTRYPOINTS);
    if (strobe_art.libart.shape[STROBE_ART_RESET_ALLOC_ENTRYPOINTS] == STROBE_ART_SHAPE_MORE_FLAGS)
        ((void (*)(void *, bool))(uintptr_t)reset)(thread, true);
    else
        ((void (*)(void *))(uintptr_t)reset)(thread);
}

static void *const closure_vtable[] = {(void *)alloc_keep_listener, (void *)alloc_keep_listener,
                                       (void *)alloc_take_entry_points};
static struct strobe_art_closure closure = {closure_vtable};

/* Adds or removes the listener. Threads take their new entry points later, when no thread of the runtime holds a lock
 * for it. */
static void alloc_exchange_listener(bool in)
{
    void *heap = strobe_art.runtime.heap;
    strobe_store_relaxed(&exchanged, 0);
    strobe_store_relaxed(&exchanges, (uint32_t)syscall(SYS_gettid));
    if (in)
        ((void (*)(void *, void *))(uintptr_t)alloc_symbol(STROBE_ART_SET_LISTENER))(heap, &listener);
    else
        ((void (*)(void *))(uintptr_t)alloc_symbol(STROBE_ART_REMOVE_LISTENER))(heap);
    strobe_store_relaxed(&exchanges, 0);
    if (strobe_load_relaxed(&exchanged))
        strobe_art_run_checkpoint(&strobe_art.libart, strobe_art.runtime.thread_list, &closure);
}

static bool alloc_can_avoid_stop(void)
{
    return alloc_symbol(STROBE_ART_SET_ENTRYPOINTS) && alloc_symbol(STROBE_ART_SET_ALLOC_ENTRYPOINTS) &&
           alloc_symbol(STROBE_ART_RESET_ALLOC_ENTRYPOINTS) && alloc_symbol(STROBE_ART_RUN_CHECKPOINT);
}

static void alloc_ask(void)
{
    if (alloc_can_avoid_stop())
        strobe_art_ask_hook(&entry_points, STROBE_ART_SET_ENTRYPOINTS, (void *)on_set_entry_points);
}

static bool alloc_start(struct strobe_jni *env, struct strobe_error *error)
{
    (void)env, (void)error; /* the caller has reported what is missing */
    if (!alloc_symbol(STROBE_ART_SET_LISTENER) || !alloc_symbol(STROBE_ART_REMOVE_LISTENER)) {
        strobe_art_drop_hook(&entry_points);
        return false;
    }
    listener.vtable = strobe_art.libart.level->listener_has_pre ? pre_vtable : plain_vtable;
    alloc_exchange_listener(true);
    /* Without the hook, or when the runtime's compiler has inlined the hooked function, the runtime stops its threads.
     */
    strobe_art.status.stops = !strobe_load_relaxed(&exchanged);
    return true;
}

static void alloc_end(void)
{
    alloc_exchange_listener(false);
    strobe_art_drop_hook(&entry_points);
}

const struct strobe_art_feature strobe_art_feature_alloc = {STROBE_ART_ALLOC, alloc_ask, alloc_start, alloc_end};
