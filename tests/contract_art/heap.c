#include "engine/backend/art/detour/detour.h"
#include "tests/contract_art/support/contract.h"
#include "tests/contract_art/support/java.h"

#include <stdatomic.h>
#include <unistd.h>

enum { MAIN_ALLOC_OBJECTS = 2, RUNTIME_WORDS = 512, GC_FULL = 3, GC_EXPLICIT = 3, ALLOCATORS = 3 };

/* Returns the runtime's Heap, from the field heap_ at its known distance from java_vm_. */
static void *heap_of(struct contract *c)
{
    void **runtime = *(void ***)(uintptr_t)c->libart.address[STROBE_ART_RUNTIME_INSTANCE];
    for (int i = 0; i < RUNTIME_WORDS; i++)
        if (runtime[i] == (void *)c->art.vm)
            return runtime[i - c->libart.level->heap_before[0]];
    CHECK(c, false, "the runtime does not know its JavaVM");
    return NULL;
}

void contract_collect(struct contract *c)
{
    uintptr_t collect = c->libart.address[STROBE_ART_GC_COLLECT];
    if (CHECK(c, collect, "no CollectGarbageInternal"))
        ((int (*)(void *, int, int, bool, uint32_t))collect)(heap_of(c), GC_FULL, GC_EXPLICIT, false, UINT32_MAX);
}

/* Calls Main.alloc, which allocates an array of 16 ints and a Square, `times` times. */
static void alloc(struct strobe_jni *env, int times)
{
    java_static(env, "Main", "alloc", "(I)V", &(union strobe_jvalue){.i = times});
}

/* ---- the listener ---- */

struct listener {
    void *const *vtable;
    _Atomic int tid; /* the thread whose allocations are counted */
    _Atomic long count, bytes, others, befores;
    _Atomic bool wants_before, odd;
};

static void on_destroy(struct listener *l)
{
    (void)l;
}

static void on_before(struct listener *l, void *self, void *class, size_t *bytes)
{
    l->befores += gettid() == l->tid;
    l->odd = l->odd || !self || !class || *bytes < 8;
}

static bool wants_before(struct listener *l)
{
    return l->wants_before;
}

static void on_allocated(struct listener *l, void *self, uintptr_t *object, size_t bytes)
{
    if (gettid() != l->tid) {
        l->others++;
        return;
    }
    l->count++;
    l->bytes += (long)bytes;
    l->odd = l->odd || !self || !*object || *object > UINT32_MAX;
}

static void *const calls_26[] = {(void *)on_destroy, (void *)on_destroy, (void *)on_allocated};
static void *const calls_30[] = {(void *)on_destroy, (void *)on_destroy, (void *)on_before, (void *)wants_before,
                                 (void *)on_allocated};

static struct listener listener_of(const struct contract *c)
{
    return (struct listener){.vtable = c->libart.level->listener_has_pre ? calls_30 : calls_26, .tid = gettid()};
}

static bool listen(struct contract *c, struct listener *l)
{
    alloc(c->art.env, 10); /* the first call also resolves classes, which allocates */
    java_drop(c->art.env, java_new(c->art.env, "Square"));
    uintptr_t set = c->libart.address[STROBE_ART_SET_LISTENER];
    if (!set) {
        CHECK(c, c->art.api < 26, "level %d has no listener", c->art.api);
        return false;
    }
    ((void (*)(void *, struct listener *))set)(heap_of(c), l);
    return true;
}

static void stop_listening(struct contract *c)
{
    ((void (*)(void *))(uintptr_t)c->libart.address[STROBE_ART_REMOVE_LISTENER])(heap_of(c));
}

static void the_listener_is_notified_of_each_object_once_until_it_is_removed(struct contract *c)
{
    struct listener l = listener_of(c);
    if (!listen(c, &l))
        return;
    long before = l.count;
    alloc(c->art.env, 50000);
    long reported = l.count - before;
    CHECK(c, reported == 50000 * MAIN_ALLOC_OBJECTS, "%ld of %d", reported, 50000 * MAIN_ALLOC_OBJECTS);
    CHECK(c, l.bytes >= reported * 12 && l.bytes <= reported * 200, "%ld bytes", (long)l.bytes);
    stop_listening(c);
    before = l.count;
    alloc(c->art.env, 1000);
    java_drop(c->art.env, java_new(c->art.env, "Square"));
    CHECK(c, l.count == before && !l.odd, "%ld reported after removal, odd %d", l.count - before, l.odd);
}

static void the_listener_gets_an_arrays_bytes_rounded_to_eight_and_a_large_ones_to_pages(struct contract *c)
{
    static const int32_t length[] = {1, 100, 500, 700, 3000, 5000, 20000};
    struct listener l = listener_of(c);
    java_static(c->art.env, "strobe/Player", "allocate", "(I)[B", &(union strobe_jvalue){.i = 1});
    if (!listen(c, &l))
        return;
    for (size_t i = 0; i < sizeof length / sizeof length[0]; i++) {
        enum { HEAD_BYTES = 12, LARGE = 12288, PAGE = 4096 };
        long asked = HEAD_BYTES + length[i], unit = asked < LARGE ? 8 : PAGE;
        long before = l.bytes, expected = (asked + unit - 1) / unit * unit;
        java_static(c->art.env, "strobe/Player", "allocate", "(I)[B", &(union strobe_jvalue){.i = length[i]});
        CHECK(c, l.bytes - before == expected, "%ld bytes for %d, not %ld", l.bytes - before, length[i], expected);
    }
    stop_listening(c);
}

static void the_listener_is_asked_before_when_it_wants_to_be(struct contract *c)
{
    struct listener l = listener_of(c);
    l.wants_before = true;
    if (!c->libart.level->listener_has_pre || !listen(c, &l))
        return;
    alloc(c->art.env, 1000);
    CHECK(c, l.befores >= 1000 * MAIN_ALLOC_OBJECTS && !l.odd, "%ld of %d", (long)l.befores, 1000 * MAIN_ALLOC_OBJECTS);
    stop_listening(c);
}

static void the_listener_is_notified_of_a_native_methods_objects(struct contract *c)
{
    struct listener l = listener_of(c);
    if (!listen(c, &l))
        return;
    strobe_jobject o = java_new(c->art.env, "Square");
    CHECK(c, l.count == 1, "%ld reported", (long)l.count);
    stop_listening(c);
    java_drop(c->art.env, o);
}

static void set_table(struct contract *c, bool instrumented)
{
    ((void (*)(bool))(uintptr_t)c->libart.address[STROBE_ART_SET_ALLOC_ENTRYPOINTS])(instrumented);
}

/* The function of a strobe_art_closure; each thread runs it. */
static struct contract *of_closure;
static _Atomic int closure_runs;

static void reset_thread(struct strobe_art_closure *closure, void *thread)
{
    (void)closure;
    ((void (*)(void *, bool))(uintptr_t)of_closure->libart.address[STROBE_ART_RESET_ALLOC_ENTRYPOINTS])(thread, false);
    closure_runs++;
}

static void *const closure_calls[] = {(void *)on_destroy, (void *)on_destroy, (void *)reset_thread};

static void exchange(struct contract *c, bool instrumented)
{
    static struct strobe_art_closure closure = {closure_calls};
    void **runtime = *(void ***)(uintptr_t)c->libart.address[STROBE_ART_RUNTIME_INSTANCE];
    void *list = NULL;
    for (int i = 0; i < RUNTIME_WORDS && !list; i++)
        if (runtime[i] == (void *)c->art.vm)
            list = runtime[i - c->libart.level->thread_list_before[0]];
    of_closure = c;
    closure_runs = 0;
    set_table(c, instrumented);
    size_t runs = strobe_art_run_checkpoint(&c->libart, list, &closure);
    for (int i = 0; i < 2000 && closure_runs < (int)runs; i++)
        usleep(1000);
    CHECK(c, runs >= 1 && closure_runs == (int)runs, "%d of %zu closures run", closure_runs, runs);
}

/* Interpreted code checks for a listener at each allocation. Other code calls the entry point of its thread. */
static void each_thread_takes_its_entry_points_at_a_suspension_point(struct contract *c)
{
    struct listener l = listener_of(c);
    if (!listen(c, &l))
        return;
    exchange(c, false);
    long before = l.count;
    alloc(c->art.env, 1000);
    bool interpreted = c->options.interpreted;
#ifdef __aarch64__
    interpreted |= c->art.genuine && c->art.api == 30; /* it always checks for a listener there */
#endif
    long plain = l.count - before, expected = interpreted ? 1000 * MAIN_ALLOC_OBJECTS : 0;
    CHECK(c, plain == expected, "%ld reported with plain entry points, not %ld", plain, expected);
    java_drop(c->art.env, java_new(c->art.env, "Square"));
    CHECK(c, l.count - before == expected + 1, "a native method's object: %ld", l.count - before - expected);
    exchange(c, true);
    before = l.count;
    alloc(c->art.env, 1000);
    CHECK(c, l.count - before == 1000 * MAIN_ALLOC_OBJECTS, "%ld reported with instrumented ones", l.count - before);
    stop_listening(c);
}

/* ---- collections ---- */

static long resident_kib(void)
{
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &pages, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void allocates(struct strobe_jni *env, void *arg)
{
    alloc(env, *(int *)arg);
}

static void allocate_by_several(struct contract *c, int times)
{
    struct java_thread t[ALLOCATORS];
    for (int i = 0; i < ALLOCATORS; i++)
        java_thread_start(&t[i], c->art.vm, allocates, &times);
    for (int i = 0; i < ALLOCATORS; i++)
        java_thread_join(&t[i]);
}

static void memory_is_constant_however_much_is_allocated(struct contract *c)
{
    allocate_by_several(c, 150000);
    long before = resident_kib();
    allocate_by_several(c, 500000);
    long grown = resident_kib() - before;
    CHECK(c, grown < 48 << 10, "%ld KiB more after 3 million objects", grown);
}

static void what_is_referred_to_outlives_collections_and_what_is_not_does_not(struct contract *c)
{
    struct strobe_jni *env = c->art.env;
    strobe_jobject kept = java_new(env, "Square"), dropped = java_new(env, "Square");
    strobe_jobject weak_kept = java_weak(env, kept), weak_dropped = java_weak(env, dropped);
    java_drop(env, dropped);
    for (int i = 0; i < 3; i++) {
        contract_collect(c);
        alloc(env, 1000);
    }
    CHECK(c, java_same(env, weak_kept, kept), "an object with a reference is gone");
    CHECK(c, java_same(env, weak_dropped, NULL), "an object without one is still there");
}

static void collections_by_one_stop_no_other_for_good(struct contract *c)
{
    struct java_thread t[ALLOCATORS];
    int times = 200000;
    for (int i = 0; i < ALLOCATORS; i++)
        java_thread_start(&t[i], c->art.vm, allocates, &times);
    for (int i = 0; i < 50; i++)
        contract_collect(c);
    for (int i = 0; i < ALLOCATORS; i++)
        java_thread_join(&t[i]);
}

/* ---- hooks of collections ---- */

static _Atomic int collects, waits;
static int (*real_collect)(void *, int, int, bool, uint32_t), (*real_wait)(void *, int, void *, long);

static int on_collect(void *heap, int plan, int cause, bool clear_soft, uint32_t requested)
{
    collects++;
    return real_collect(heap, plan, cause, clear_soft, requested);
}

/* The last parameter exists after Android 16. */
static int on_wait(void *heap, int cause, void *self, long only_one)
{
    waits++;
    return real_wait(heap, cause, self, only_one);
}

static void a_collection_waits_for_the_one_before_through_functions_that_can_be_hooked(struct contract *c)
{
    void *handles[2];
    uintptr_t collect = c->libart.address[STROBE_ART_GC_COLLECT], wait = c->libart.address[STROBE_ART_GC_WAIT];
    if (!CHECK(c, collect && wait, "no functions") ||
        !CHECK(c,
               !strobe_detours.install(strobe_detours.ctx, (void *)collect, (void *)on_collect, (void **)&real_collect,
                                       &handles[0]) &&
                   !strobe_detours.install(strobe_detours.ctx, (void *)wait, (void *)on_wait, (void **)&real_wait,
                                           &handles[1]),
               "they are not to be hooked"))
        return;
    for (int i = 0; i < 3; i++)
        contract_collect(c);
    CHECK(c, collects >= 3 && waits >= 3, "%d collections, %d waits", collects, waits);
    int before = collects;
    allocate_by_several(c, 500000);
    CHECK(c, collects > before && waits > collects - before, "%d collections of several threads' making, %d waits",
          collects - before, waits);
}

/* ---- out of memory ---- */

enum { BIG_INTS = 1 << 18, BIG_MAX = 2048, NEW_INT_ARRAY = 179 };

static strobe_jobject new_array(struct strobe_jni *env, int ints)
{
    strobe_jobject (*make)(struct strobe_jni *, int32_t) = (strobe_jobject(*)(struct strobe_jni *, int32_t))(
        uintptr_t)strobe_jni_at(env, (enum strobe_jni_place)NEW_INT_ARRAY);
    strobe_jobject local = make(env, ints);
    return local ? java_global(env, local) : NULL;
}

static void a_full_heap_throws_and_has_room_again_when_references_are_gone(struct contract *c)
{
    static strobe_jobject big[BIG_MAX];
    struct strobe_jni *env = c->art.env;
    for (int round = 0; round < 2; round++) {
        int n = 0;
        while (n < BIG_MAX && (big[n] = new_array(env, BIG_INTS)) != NULL)
            n++;
        CHECK(c, n > 8 && n < BIG_MAX, "round %d: %d MiB", round, n);
        CHECK(c, java_thrown(env, "java/lang/OutOfMemoryError"), "round %d: no OutOfMemoryError", round);
        while (n-- > 0)
            java_drop(env, big[n]);
        alloc(env, 100000);
        CHECK(c, !java_thrown(env, "java/lang/Throwable"), "round %d: no room for small ones afterwards", round);
    }
}

const struct contract_case contract_cases_heap[] = {
    {"the_listener_is_notified_of_each_object_once_until_it_is_removed",
     the_listener_is_notified_of_each_object_once_until_it_is_removed, 0},
    {"the_listener_gets_an_arrays_bytes_rounded_to_eight_and_a_large_ones_to_pages",
     the_listener_gets_an_arrays_bytes_rounded_to_eight_and_a_large_ones_to_pages, 0},
    {"the_listener_is_asked_before_when_it_wants_to_be", the_listener_is_asked_before_when_it_wants_to_be, 0},
    {"the_listener_is_notified_of_a_native_methods_objects", the_listener_is_notified_of_a_native_methods_objects, 0},
    {"each_thread_takes_its_entry_points_at_a_suspension_point",
     each_thread_takes_its_entry_points_at_a_suspension_point, 0},
    {"memory_is_constant_however_much_is_allocated", memory_is_constant_however_much_is_allocated, CONTRACT_HEAVY},
    {"what_is_referred_to_outlives_collections_and_what_is_not_does_not",
     what_is_referred_to_outlives_collections_and_what_is_not_does_not, 0},
    {"a_collection_waits_for_the_one_before_through_functions_that_can_be_hooked",
     a_collection_waits_for_the_one_before_through_functions_that_can_be_hooked, CONTRACT_HEAVY},
    {"a_full_heap_throws_and_has_room_again_when_references_are_gone",
     a_full_heap_throws_and_has_room_again_when_references_are_gone, CONTRACT_HEAVY},
    {"collections_by_one_stop_no_other_for_good", collections_by_one_stop_no_other_for_good, CONTRACT_HEAVY},
    {0},
};
