/* Allocation entry points. Each thread has its own, plain or instrumented; the instrumented one notifies the allocation
 * listener. They are exchanged with all threads stopped. Some callers exchange only the table, and have each thread
 * take its new entry point itself.
 *
 * The order of calls is the runtime's ("runtime/instrumentation.cc", "runtime/gc/heap.cc", Android Open Source
 * Project). */
#include "sim/fake/art/heap.h"

#include <stdatomic.h>

void fake_art_set_listener(struct fake_heap *h, void *listener)
    FAKE_EXPORT("_ZN3art2gc4Heap21SetAllocationListenerEPNS0_18AllocationListenerE");
void fake_art_remove_listener(struct fake_heap *h) FAKE_EXPORT("_ZN3art2gc4Heap24RemoveAllocationListenerEv");
void fake_art_add_finalizer(struct fake_heap *h, struct fake_thread *self, uintptr_t *object)
    FAKE_EXPORT("_ZN3art2gc4Heap21AddFinalizerReferenceEPNS_6ThreadEPNS_6ObjPtrINS_6mirror6ObjectEEE");
void fake_art_instrument(struct fake_instrumentation *i)
    FAKE_EXPORT("_ZN3art15instrumentation15Instrumentation31InstrumentQuickAllocEntryPointsEv");
void fake_art_uninstrument(struct fake_instrumentation *i)
    FAKE_EXPORT("_ZN3art15instrumentation15Instrumentation33UninstrumentQuickAllocEntryPointsEv");
void fake_art_set_entrypoints(struct fake_instrumentation *i, bool instrumented)
    FAKE_EXPORT("_ZN3art15instrumentation15Instrumentation26SetEntrypointsInstrumentedEb");
void fake_art_set_table(bool instrumented) FAKE_EXPORT("_ZN3art36SetQuickAllocEntryPointsInstrumentedEb");
void fake_art_reset_thread(struct fake_thread *t, bool is_marking)
    FAKE_EXPORT("_ZN3art6Thread35ResetQuickAllocEntryPointsForThreadEb");

static _Atomic bool table_instrumented;

/* ---- finalizers ---- */

static bool overrides_finalize(struct fake_class *c)
{
    struct fake_class *object = fake_class_find("Ljava/lang/Object;");
    struct fake_method *own = fake_class_method(c, "finalize", "()V", false);
    return own && own != fake_class_method(object, "finalize", "()V", false);
}

static bool class_is_finalizable(struct fake_class *c)
{
    static _Atomic uintptr_t known[1024]; /* class; the lowest bit is set when it overrides finalize */
    _Atomic uintptr_t *k = &known[((uintptr_t)c >> 4) % 1024];
    uintptr_t word = atomic_load_explicit(k, memory_order_relaxed);
    if ((word & ~(uintptr_t)1) != (uintptr_t)c) {
        word = (uintptr_t)c | overrides_finalize(c);
        atomic_store_explicit(k, word, memory_order_relaxed);
    }
    return word & 1;
}

void fake_art_add_finalizer(struct fake_heap *h, struct fake_thread *self, uintptr_t *object)
{
    (void)h;
    struct fake_class *c = fake_class_find("Ljava/lang/ref/FinalizerReference;");
    struct fake_method *add = c ? fake_class_method(c, "add", "(Ljava/lang/Object;)V", true) : NULL;
    union fake_value argument = {.l = (fake_ref)*object}, none;
    if (add)
        fake_invoke(self, add, &argument, &none);
}
FAKE_EXPORT_ALSO(fake_art_add_finalizer,
                 "_ZN3art2gc4Heap21AddFinalizerReferenceEPNS_6ThreadEPNS_6ObjPtrINS_6mirror6ObjectEEE",
                 "_ZN3art2gc4Heap21AddFinalizerReferenceEPNS_6ThreadEPPNS_6mirror6ObjectE");

/* ---- the listener ---- */

/* AllocationListener: two destructors, then the functions of the level. */
static void **listener_calls(void *listener)
{
    return *(void ***)listener + 2;
}

static size_t notify_before_alloc(struct fake_thread *self, struct fake_class *c, size_t bytes)
{
    void *listener = atomic_load(&fake_the_heap.listener);
    if (!listener || fake_level < 30)
        return bytes;
    void **calls = listener_calls(listener);
    if (((bool (*)(void *))(uintptr_t)calls[1])(listener)) {
        fake_ref class = fake_ref_of(fake_class_mirror(c));
        ((void (*)(void *, struct fake_thread *, fake_ref *, size_t *))(uintptr_t)calls[0])(listener, self, &class,
                                                                                            &bytes);
    }
    return bytes;
}

/* Returns the bytes that an object takes in the heap of a device, which allocates regions to the byte and large objects
 * by pages ("runtime/gc/heap-inl.h", Android Open Source Project). The fake's own heap may use more. */
static size_t device_heap_bytes(size_t asked)
{
    enum { ALIGNMENT = 8, LARGE = 12288, PAGE = 4096 };
    size_t unit = asked < LARGE ? ALIGNMENT : PAGE;
    return (asked + unit - 1) / unit * unit;
}

static void notify_after_alloc(struct fake_thread *self, uintptr_t *object, size_t bytes)
{
    void *listener = atomic_load(&fake_the_heap.listener);
    if (!listener)
        return;
    void *call = listener_calls(listener)[fake_level < 30 ? 0 : 2];
    ((void (*)(void *, struct fake_thread *, uintptr_t *, size_t))(uintptr_t)call)(listener, self, object, bytes);
}

/* ---- entry points ---- */

static struct fake_object *finish_allocation(struct fake_thread *self, struct fake_class *c, struct fake_object *o,
                                             size_t bytes, bool notify)
{
    bool finalize = class_is_finalizable(c);
    if (!notify && !finalize)
        return o;
    uint32_t mark = fake_local_mark(self);
    fake_local_ref(self, o);
    uintptr_t object = (uintptr_t)o;
    if (notify)
        notify_after_alloc(self, &object, bytes);
    if (finalize)
        fake_art_add_finalizer(&fake_the_heap, self, &object);
    fake_local_release(self, mark);
    return o;
}

static struct fake_object *alloc_plain(struct fake_thread *self, struct fake_class *c, size_t bytes)
{
    struct fake_object *o = fake_heap_take(self, c, bytes);
    return o ? finish_allocation(self, c, o, 0, false) : NULL;
}

static struct fake_object *alloc_instrumented(struct fake_thread *self, struct fake_class *c, size_t bytes)
{
    size_t asked = notify_before_alloc(self, c, bytes);
    struct fake_object *o = fake_heap_take(self, c, asked);
    return o ? finish_allocation(self, c, o, device_heap_bytes(asked), true) : NULL;
}

struct fake_object *fake_alloc(struct fake_thread *self, struct fake_class *c, size_t bytes)
{
    if (!fake_quick_frames) /* the interpreter checks for a listener at each allocation */
        return alloc_instrumented(self, c, bytes);
    return fake_thread_parts(self)->alloc(self, c, bytes);
}

struct fake_object *fake_alloc_slow(struct fake_thread *self, struct fake_class *c, size_t bytes)
{
    return alloc_instrumented(self, c, bytes);
}

void fake_art_set_table(bool instrumented)
{
    atomic_store(&table_instrumented, instrumented);
}

void fake_art_reset_thread(struct fake_thread *t, bool is_marking)
{
    (void)is_marking;
    fake_thread_parts(t)->alloc = atomic_load(&table_instrumented) ? alloc_instrumented : alloc_plain;
}
FAKE_EXPORT_ALSO(fake_art_reset_thread, "_ZN3art6Thread35ResetQuickAllocEntryPointsForThreadEb",
                 "_ZN3art6Thread35ResetQuickAllocEntryPointsForThreadEv");

void fake_parts_start(struct fake_thread *t)
{
    struct fake_parts *parts = fake_thread_parts(t);
    fake_mutex_init(&parts->wait_mutex);
    fake_cond_init(&parts->wait_cond);
    fake_art_reset_thread(t, false);
}

/* ---- instrumentation ---- */

static void reset_entry_point(struct fake_thread *t, void *ctx)
{
    (void)ctx;
    fake_art_reset_thread(t, false);
}

void fake_art_set_entrypoints(struct fake_instrumentation *i, bool instrumented)
{
    (void)i;
    struct fake_thread *self = fake_self();
    fake_suspend_all(self);
    fake_art_set_table(instrumented);
    fake_for_each_thread(reset_entry_point, NULL);
    fake_resume_all(self);
}

void fake_art_instrument(struct fake_instrumentation *i)
{
    fake_mutex_lock(&i->lock);
    if (i->users++ == 0)
        fake_art_set_entrypoints(i, true);
    fake_mutex_unlock(&i->lock);
}

void fake_art_uninstrument(struct fake_instrumentation *i)
{
    fake_mutex_lock(&i->lock);
    FAKE_CHECK(i->users);
    if (--i->users == 0)
        fake_art_set_entrypoints(i, false);
    fake_mutex_unlock(&i->lock);
}

void fake_art_set_listener(struct fake_heap *h, void *listener)
{
    if (!atomic_exchange(&h->listener, listener))
        fake_art_instrument(&h->instrumentation);
}

void fake_art_remove_listener(struct fake_heap *h)
{
    if (atomic_exchange(&h->listener, NULL))
        fake_art_uninstrument(&h->instrumentation);
}
