/* The collector. Who waits for a collection says so; a collection is a scope of the thread that does it, and all
 * that waited for it are let go by it where it says that it is over (Heap::FinishGC). All collections have one
 * identity.
 *
 * These hooks run with locks of the collector held: nothing of the runtime's is called here but the walk of the own
 * stack, which takes none of them. */
#include "engine/backend/art/hooks/events.h"
#include "engine/base/error.h"

enum { COLLECTION = 2 }; /* what is waited for: no address, and no monitor's number (monitor.h) */

static struct strobe_hook wait_hook, collect_hook, finish_hook;

/* Entered by all who are about to collect as well: without a collection under way it returns at once. */
static uint32_t wait_for_collection(void *heap, uint32_t cause, void *self)
{
    struct strobe_art_scope s = strobe_art_open(STROBE_KIND_GC, cause, STROBE_ART_HERE);
    strobe_art_waits(&s, COLLECTION);
    uint32_t type = ((uint32_t(*)(void *, uint32_t, void *))wait_hook.original)(heap, cause, self);
    strobe_art_woken(&s, COLLECTION, type ? STROBE_WAKE_RELEASED : STROBE_WAKE_NONE); /* 0: there was none */
    strobe_art_close(&s);
    return type;
}

static uint32_t collect(void *heap, uint32_t type, uint32_t cause, bool clear_soft_references)
{
    struct strobe_art_scope s = strobe_art_open(STROBE_KIND_GC, cause, STROBE_ART_HERE);
    uint32_t done = ((uint32_t(*)(void *, uint32_t, uint32_t, bool))collect_hook.original)(heap, type, cause,
                                                                                           clear_soft_references);
    strobe_art_close(&s);
    return done;
}

/* From 12 on, which asks for the collection of a number (the level's gc_has_sequence). */
static uint32_t collect_numbered(void *heap, uint32_t type, uint32_t cause, bool clear_soft_references, uint32_t number)
{
    struct strobe_art_scope s = strobe_art_open(STROBE_KIND_GC, cause, STROBE_ART_HERE);
    uint32_t done = ((uint32_t(*)(void *, uint32_t, uint32_t, bool, uint32_t))collect_hook.original)(
        heap, type, cause, clear_soft_references, number);
    strobe_art_close(&s);
    return done;
}

static void finish(void *heap, void *self, uint32_t type)
{
    strobe_art_releases(COLLECTION, STROBE_RELEASE_ALL, STROBE_ART_HERE);
    ((void (*)(void *, void *, uint32_t))finish_hook.original)(heap, self, type);
}

static void end(void)
{
    strobe_hook_remove(&wait_hook);
    strobe_hook_remove(&collect_hook);
    strobe_hook_remove(&finish_hook);
}

/* Without the end of a collection its waits have no waker. */
static bool start(struct strobe_jni *env, struct strobe_error *error)
{
    (void)env;
    void *collects = strobe_art.libart.level->gc_has_sequence ? (void *)collect_numbered : (void *)collect;
    if (strobe_art_hook(&wait_hook, STROBE_ART_GC_WAIT, (void *)wait_for_collection, error) &&
        strobe_art_hook(&collect_hook, STROBE_ART_GC_COLLECT, collects, error)) {
        strobe_art_hook(&finish_hook, STROBE_ART_GC_FINISH, (void *)finish, error);
        return true;
    }
    end();
    return false;
}

const struct strobe_art_feature strobe_art_feature_gc = {STROBE_ART_GC, start, end};
