/* The collector. A thread that waits for a collection reports its wait. A collection is a scope of the thread that does
 * it; Heap::FinishGC releases all threads that wait for it. All collections have one identity.
 *
 * These hooks run with locks of the collector held. They call no function of the runtime except the walk of their own
 * stack, which takes none of these locks. */
#include "engine/backend/art/hooks/events.h"
#include "engine/base/error.h"

enum { COLLECTION = 2 }; /* identity of collections: differs from addresses and from monitors' numbers (monitor.h) */

static struct strobe_hook wait_hook, collect_hook, finish_hook;

/* `type`: of the collection that was awaited; 0 = there was none. */
static void gc_end_wait(struct strobe_hook_scope *s, uint32_t type)
{
    strobe_hook_woken(s, COLLECTION, type ? STROBE_WAKE_RELEASED : STROBE_WAKE_NONE, false);
    strobe_hook_close(s);
}

/* Threads that are about to collect enter this function, too. Without a running collection it returns at once. */
static uint32_t on_gc_wait(void *heap, uint32_t cause, void *self)
{
    struct strobe_hook_scope s = strobe_art_open(STROBE_KIND_GC, cause, STROBE_HERE);
    strobe_hook_waits(&s, COLLECTION);
    uint32_t type = ((uint32_t(*)(void *, uint32_t, void *))wait_hook.original)(heap, cause, self);
    gc_end_wait(&s, type);
    return type;
}

/* The same after 16: the function can return while a next collection runs. */
static uint32_t on_gc_wait_for_one(void *heap, uint32_t cause, void *self, bool only_one)
{
    struct strobe_hook_scope s = strobe_art_open(STROBE_KIND_GC, cause, STROBE_HERE);
    strobe_hook_waits(&s, COLLECTION);
    uint32_t type = ((uint32_t(*)(void *, uint32_t, void *, bool))wait_hook.original)(heap, cause, self, only_one);
    gc_end_wait(&s, type);
    return type;
}

static uint32_t on_gc_collect(void *heap, uint32_t type, uint32_t cause, bool clear_soft_references)
{
    struct strobe_hook_scope s = strobe_art_open(STROBE_KIND_GC, cause, STROBE_HERE);
    uint32_t done = ((uint32_t(*)(void *, uint32_t, uint32_t, bool))collect_hook.original)(heap, type, cause,
                                                                                           clear_soft_references);
    strobe_hook_close(&s);
    return done;
}

/* The same from 12 on: the function gets the number of a collection (the level's gc_has_sequence). */
static uint32_t on_gc_collect_numbered(void *heap, uint32_t type, uint32_t cause, bool clear_soft_references,
                                       uint32_t number)
{
    struct strobe_hook_scope s = strobe_art_open(STROBE_KIND_GC, cause, STROBE_HERE);
    uint32_t done = ((uint32_t(*)(void *, uint32_t, uint32_t, bool, uint32_t))collect_hook.original)(
        heap, type, cause, clear_soft_references, number);
    strobe_hook_close(&s);
    return done;
}

static void on_gc_finish(void *heap, void *self, uint32_t type)
{
    strobe_art_releases(COLLECTION, STROBE_RELEASE_ALL, STROBE_HERE);
    ((void (*)(void *, void *, uint32_t))finish_hook.original)(heap, self, type);
}

static void gc_ask(void)
{
    void *collects = strobe_art.libart.level->gc_has_sequence ? (void *)on_gc_collect_numbered : (void *)on_gc_collect;
    bool flag = strobe_art.libart.shape[STROBE_ART_GC_WAIT] == STROBE_ART_SHAPE_MORE_FLAGS;
    void *waits = flag ? (void *)on_gc_wait_for_one : (void *)on_gc_wait;
    strobe_art_ask_hook(&wait_hook, STROBE_ART_GC_WAIT, waits);
    strobe_art_ask_hook(&collect_hook, STROBE_ART_GC_COLLECT, collects);
    strobe_art_ask_hook(&finish_hook, STROBE_ART_GC_FINISH, (void *)on_gc_finish);
}

static void gc_end(void)
{
    strobe_art_drop_hook(&wait_hook);
    strobe_art_drop_hook(&collect_hook);
    strobe_art_drop_hook(&finish_hook);
}

/* Without the hook of a collection's end, waits have no waker. */
static bool gc_start(struct strobe_jni *env, struct strobe_error *error)
{
    (void)env;
    if (strobe_art_is_hooked(&wait_hook, STROBE_ART_GC_WAIT, error) &&
        strobe_art_is_hooked(&collect_hook, STROBE_ART_GC_COLLECT, error))
        return true;
    gc_end();
    return false;
}

const struct strobe_art_feature strobe_art_feature_gc = {STROBE_ART_GC, gc_ask, gc_start, gc_end};
