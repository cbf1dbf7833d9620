/* Collection: mark and sweep, with all threads suspended. Registers of frames count as references when they look like
 * references; all other roots are exact. Objects do not move.
 *
 * Starting a collection and waiting for one use the exported functions, in the runtime's order ("runtime/gc/heap.cc",
 * Android Open Source Project). */
#include "sim/fake/art/heap.h"

#include <stdatomic.h>
#include <sys/mman.h>

enum { STACK_BYTES = FAKE_HEAP_BYTES / FAKE_CELL_LEAST * (int)sizeof(fake_ref) };

#define ANY_COUNT UINT32_MAX /* GC_NUM_ANY: collect whatever others have collected already */

int fake_art_gc_collect(struct fake_heap *h, int plan, int cause, bool clear_soft, uint32_t requested)
    FAKE_EXPORT("_ZN3art2gc4Heap22CollectGarbageInternalENS0_9collector6GcTypeENS0_7GcCauseEbj");
int fake_art_gc_wait(struct fake_heap *h, int cause, struct fake_thread *self)
    FAKE_EXPORT("_ZN3art2gc4Heap19WaitForGcToCompleteENS0_7GcCauseEPNS_6ThreadE");
int fake_art_gc_wait_locked(struct fake_heap *h, int cause, struct fake_thread *self)
    FAKE_EXPORT("_ZN3art2gc4Heap25WaitForGcToCompleteLockedENS0_7GcCauseEPNS_6ThreadE");
int fake_art_gc_wait_locked_by(struct fake_heap *h, int cause, struct fake_thread *self, bool only_one)
    FAKE_EXPORT("_ZN3art2gc4Heap25WaitForGcToCompleteLockedENS0_7GcCauseEPNS_6ThreadEb");

/* ---- mark ---- */

static fake_ref *gray; /* marked objects whose references are not marked yet; used by the one collector */
static size_t gray_count, gray_most;

static void mark_object(fake_ref r)
{
    struct fake_page *page;
    uint32_t cell;
    if (!r || !fake_heap_find(r, &page, &cell))
        return;
    uint64_t bit = UINT64_C(1) << cell % 64;
    if (page->mark[cell / 64] & bit)
        return;
    page->mark[cell / 64] |= bit;
    gray[gray_count++] = r;
    if (gray_count > gray_most)
        gray_most = gray_count;
}

static void mark_reference(fake_ref *r, void *ctx)
{
    (void)ctx;
    mark_object(*r);
}

static void mark_thread(struct fake_thread *t, void *ctx)
{
    (void)ctx;
    mark_object(fake_ref_of(fake_exception(t)));
    mark_object(fake_ref_of(fake_thread_peer(t)));
    for (const struct fake_frame *f = fake_frame_top(t); f; f = f->outer)
        for (uint32_t i = 0; i < f->register_count; i++)
            mark_object(f->registers[i]);
    if (fake_thread_env(t))
        fake_jni_roots(fake_thread_env(t), mark_reference, NULL);
}

static void mark_all_objects(void)
{
    if (!gray) {
        void *m = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        FAKE_CHECK(m != MAP_FAILED);
        gray = m;
    }
    gray_most = 0;
    fake_class_roots(mark_reference, NULL);
    fake_monitor_roots(mark_reference, NULL);
    fake_global_roots(mark_reference, NULL);
    fake_for_each_thread(mark_thread, NULL);
    while (gray_count)
        fake_object_references(fake_object(gray[--gray_count]), mark_reference, NULL);
    madvise(gray, gray_most * sizeof *gray, MADV_DONTNEED);
}

/* Objects outside the heap are never freed. */
static bool is_object_marked(const struct fake_object *o, void *ctx)
{
    (void)ctx;
    struct fake_page *page;
    uint32_t cell;
    return !fake_heap_find((uintptr_t)o, &page, &cell) || (page->mark[cell / 64] >> cell % 64 & 1);
}

/* ---- one at a time ---- */

int fake_art_gc_wait_locked(struct fake_heap *h, int cause, struct fake_thread *self)
{
    (void)cause;
    (void)self;
    int waited = FAKE_GC_NONE;
    while (h->gc_running) {
        fake_cond_wait(&h->gc_done, &h->gc_lock, UINT64_MAX);
        waited = FAKE_GC_FULL;
    }
    return waited;
}

/* The form of the runtime after 16. `only_one` states whether the wait ends with the present collection; a hook must
 * pass it on. */
static _Thread_local bool passed_only_one;

int fake_art_gc_wait_locked_by(struct fake_heap *h, int cause, struct fake_thread *self, bool only_one)
{
    (void)cause, (void)self;
    int waited = h->gc_running ? FAKE_GC_FULL : FAKE_GC_NONE;
    FAKE_CHECK(only_one == passed_only_one);
    do {
        if (h->gc_running)
            fake_cond_wait(&h->gc_done, &h->gc_lock, UINT64_MAX);
    } while (h->gc_running && !only_one);
    return waited;
}

/* Waits until no collection runs. */
static int await_collector(struct fake_heap *h, int cause, struct fake_thread *self)
{
    int waited = FAKE_GC_NONE, type;
    if (fake_level < 36)
        return fake_art_gc_wait_locked(h, cause, self);
    do {
        passed_only_one = !passed_only_one;
        type = fake_art_gc_wait_locked_by(h, cause, self, passed_only_one);
        waited = type ? type : waited;
    } while (h->gc_running);
    return waited;
}

static bool leave_runnable(struct fake_thread *self)
{
    bool runnable = fake_runnable(self);
    if (runnable)
        fake_to_native(self, FAKE_WAITING_FOR_GC);
    return runnable;
}

int fake_art_gc_wait(struct fake_heap *h, int cause, struct fake_thread *self)
{
    bool runnable = leave_runnable(self);
    fake_mutex_lock(&h->gc_lock);
    int waited = await_collector(h, cause, self);
    fake_mutex_unlock(&h->gc_lock);
    if (runnable)
        fake_to_runnable(self);
    return waited;
}

/* Returns true when the calling thread must collect. */
static bool collection_begin(struct fake_heap *h, struct fake_thread *self, int cause, uint32_t requested)
{
    fake_mutex_lock(&h->gc_lock);
    await_collector(h, cause, self);
    bool done = fake_level >= 31 && requested != ANY_COUNT && (int32_t)(h->gc_count - requested) >= 0;
    if (!done)
        h->gc_running = true;
    fake_mutex_unlock(&h->gc_lock);
    return !done;
}

static void collection_end(struct fake_heap *h)
{
    fake_mutex_lock(&h->gc_lock);
    h->gc_running = false;
    h->gc_count++;
    fake_cond_broadcast(&h->gc_done);
    fake_mutex_unlock(&h->gc_lock);
}

int fake_art_gc_collect(struct fake_heap *h, int plan, int cause, bool clear_soft, uint32_t requested)
{
    (void)plan;
    (void)clear_soft;
    struct fake_thread *self = fake_self();
    bool runnable = leave_runnable(self), ours = collection_begin(h, self, cause, requested);
    if (ours) {
        fake_suspend_all(self);
        mark_all_objects();
        fake_system_collecting();
        fake_monitor_sweep(is_object_marked, NULL);
        fake_weak_sweep(is_object_marked, NULL);
        fake_heap_sweep();
        fake_resume_all(self);
        collection_end(h);
    }
    if (runnable)
        fake_to_runnable(self);
    return ours ? FAKE_GC_FULL : FAKE_GC_NONE;
}
FAKE_EXPORT_ALSO(fake_art_gc_collect, "_ZN3art2gc4Heap22CollectGarbageInternalENS0_9collector6GcTypeENS0_7GcCauseEbj",
                 "_ZN3art2gc4Heap22CollectGarbageInternalENS0_9collector6GcTypeENS0_7GcCauseEb");

bool fake_heap_collect(struct fake_thread *self, int cause, uint32_t seen_count)
{
    (void)self;
    return fake_art_gc_collect(&fake_the_heap, FAKE_GC_FULL, cause, false, seen_count + 1) != FAKE_GC_NONE;
}

void fake_collect(struct fake_thread *self, bool is_explicit)
{
    (void)self;
    fake_art_gc_collect(&fake_the_heap, FAKE_GC_FULL, is_explicit ? FAKE_GC_EXPLICIT : FAKE_GC_FOR_ALLOC, false,
                        ANY_COUNT);
}
