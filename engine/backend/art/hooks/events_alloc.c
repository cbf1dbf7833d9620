/* Allocations: the runtime's own listener, put in place without stopping the world (events.h, "Allocation"). */
#include "engine/backend/art/hooks/events.h"
#include "engine/base/error.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t address(enum strobe_art_symbol symbol)
{
    return strobe_art.libart.address[symbol];
}

/* ---- the listener ---- */

static void keep(void *object)
{
    (void)object;
}

static void before_object(void *listener, void *thread, void *class, size_t *bytes)
{
    (void)listener, (void)thread, (void)class, (void)bytes;
}

static bool wants_before(void *listener)
{
    (void)listener;
    return false;
}

static void object_allocated(void *listener, void *thread, void *object, size_t bytes)
{
    (void)listener, (void)thread, (void)object;
    uint32_t on = strobe_switched();
    struct strobe_thread *t = strobe_art_thread(on);
    if (t)
        strobe_point_alloc(t, on, bytes, STROBE_ART_HERE);
}

/* art::gc::AllocationListener: two destructors, [PreObjectAllocated, HasPreAlloc,] ObjectAllocated. */
static void *const plain_vtable[] = {(void *)keep, (void *)keep, (void *)object_allocated};
static void *const pre_vtable[] = {(void *)keep, (void *)keep, (void *)before_object, (void *)wants_before,
                                   (void *)object_allocated};
static struct {
    void *const *vtable;
} listener;

/* ---- entry points ---- */

static struct strobe_hook entry_points;
static strobe_a32 exchanges; /* kernel id of the thread that puts our listener in or out now; 0 = none */
static strobe_a32 exchanged; /* the runtime asked for other entry points meanwhile */

/* In place of Instrumentation::SetEntrypointsInstrumented. Asked for by our own registration, the table is exchanged
 * that threads copy theirs from, and nobody is stopped. */
static void set_entry_points(void *instrumentation, bool instrumented)
{
    if (strobe_load_relaxed(&exchanges) == (uint32_t)syscall(SYS_gettid)) {
        ((void (*)(bool))(uintptr_t)address(STROBE_ART_SET_ALLOC_ENTRYPOINTS))(instrumented);
        strobe_store_relaxed(&exchanged, 1);
        return;
    }
    ((void (*)(void *, bool))entry_points.original)(instrumentation, instrumented);
}

/* Run by, or on behalf of, each thread. From 8.0 to 12 a flag asks for the entry points of a thread whose collector is
 * marking, with a read barrier of the class; these are right at any time, the others not while it marks, and the
 * runtime chooses anew when marking begins or ends. Later levels have only them (quick_alloc_entrypoints.cc). */
static void take_entry_points(void *closure, void *thread)
{
    (void)closure;
    uint64_t reset = address(STROBE_ART_RESET_ALLOC_ENTRYPOINTS);
    if (strobe_art.libart.shape[STROBE_ART_RESET_ALLOC_ENTRYPOINTS] == STROBE_ART_SHAPE_MORE_FLAGS)
        ((void (*)(void *, bool))(uintptr_t)reset)(thread, true);
    else
        ((void (*)(void *))(uintptr_t)reset)(thread);
}

static void *const closure_vtable[] = {(void *)keep, (void *)keep, (void *)take_entry_points};
static struct strobe_art_closure closure = {closure_vtable};

/* Puts the listener in or out. Threads take their new entry points when nobody of the runtime's holds a lock for it. */
static void exchange(bool in)
{
    void *heap = strobe_art.runtime.heap;
    strobe_store_relaxed(&exchanged, 0);
    strobe_store_relaxed(&exchanges, (uint32_t)syscall(SYS_gettid));
    if (in)
        ((void (*)(void *, void *))(uintptr_t)address(STROBE_ART_SET_LISTENER))(heap, &listener);
    else
        ((void (*)(void *))(uintptr_t)address(STROBE_ART_REMOVE_LISTENER))(heap);
    strobe_store_relaxed(&exchanges, 0);
    if (strobe_load_relaxed(&exchanged))
        strobe_art_run_checkpoint(&strobe_art.libart, strobe_art.runtime.thread_list, &closure);
}

static bool can_spare_the_stop(void)
{
    return address(STROBE_ART_SET_ENTRYPOINTS) && address(STROBE_ART_SET_ALLOC_ENTRYPOINTS) &&
           address(STROBE_ART_RESET_ALLOC_ENTRYPOINTS) && address(STROBE_ART_RUN_CHECKPOINT);
}

static bool start(struct strobe_jni *env, struct strobe_error *error)
{
    (void)env, (void)error; /* what it lacks is said already */
    if (!address(STROBE_ART_SET_LISTENER) || !address(STROBE_ART_REMOVE_LISTENER))
        return false;
    listener.vtable = strobe_art.libart.level->listener_has_pre ? pre_vtable : plain_vtable;
    /* Without the hook the runtime stops its threads for a moment, now and at the end. */
    if (can_spare_the_stop())
        strobe_hook_inline(&entry_points, strobe_art.hooker, (void *)(uintptr_t)address(STROBE_ART_SET_ENTRYPOINTS),
                           (void *)set_entry_points);
    exchange(true);
    return true;
}

static void end(void)
{
    exchange(false);
    strobe_hook_remove(&entry_points);
}

const struct strobe_art_feature strobe_art_feature_alloc = {STROBE_ART_ALLOC, start, end};
