/* The hook layer in a runtime. The functions that the engine hooks can be hooked and still work. After removal their
 * code is as before. */
#include "tests/contract_art/support/contract.h"

#include "engine/backend/art/detour/detour.h"
#include "engine/backend/art/hooks/hook.h"
#include "sim/genuine/jni_calls.h"

#include <errno.h>
#include <string.h>

/* ---- functions, by detours ---- */

/* The functions that libart.h marks as hooked. They take at most six integer arguments and return at most two words. */
/* clang-format off */
#define HOOKED(X)                                                                                            \
    X(SET_ENTRYPOINTS) X(JNI_TRAMPOLINE) X(MONITOR_LOCK) X(MONITOR_LOCK_FOR_WAIT) X(MONITOR_UNLOCK)          \
    X(MONITOR_WAIT) X(MONITOR_NOTIFY) X(MONITOR_NOTIFY_ALL) X(PARK_THREAD) X(UNPARK_THREAD) X(GC_WAIT)       \
    X(GC_COLLECT)
/* clang-format on */

__extension__ typedef unsigned __int128 two_words;
typedef two_words any_function(long, long, long, long, long, long);

static struct point {
    enum strobe_art_symbol symbol;
    any_function *replacement;
    struct strobe_hook hook;
    unsigned char before[32];
    int calls;
} points[];

#define NUMBER(name) AT_##name,
enum { HOOKED(NUMBER) POINTS };

#define THROUGH(name)                                                                                                  \
    static two_words through_##name(long a, long b, long c, long d, long e, long f)                                    \
    {                                                                                                                  \
        __atomic_add_fetch(&points[AT_##name].calls, 1, __ATOMIC_RELAXED);                                             \
        return ((any_function *)(uintptr_t)points[AT_##name].hook.original)(a, b, c, d, e, f);                         \
    }
HOOKED(THROUGH)

#define POINT(name) {.symbol = STROBE_ART_##name, .replacement = through_##name},
static struct point points[POINTS] = {HOOKED(POINT)};

static void *address_of(const struct contract *c, const struct point *p)
{
    return (void *)(uintptr_t)c->libart.address[p->symbol];
}

static void detour(struct contract *c, struct point *p)
{
    memcpy(p->before, address_of(c, p), sizeof p->before);
    struct strobe_hook_request r = {
        .hook = &p->hook, .target = address_of(c, p), .replacement = (void *)(uintptr_t)p->replacement};
    strobe_hook_inline_all(&strobe_detours, &r, 1);
    CHECK(c, !r.refused, "%s: %s", strobe_art_symbol_name(p->symbol), r.why.text);
}

static void undo(struct contract *c, struct point *p)
{
    CHECK(c, strobe_hook_remove(&p->hook) == STROBE_OK, "%s: %s", strobe_art_symbol_name(p->symbol), strerror(errno));
    CHECK(c, !memcmp(p->before, address_of(c, p), sizeof p->before), "%s: other bytes afterwards",
          strobe_art_symbol_name(p->symbol));
}

static void detour_all(struct contract *c)
{
    struct strobe_hook_request r[POINTS];
    size_t count = 0;
    for (struct point *p = points; p < points + POINTS; p++)
        if (address_of(c, p)) {
            memcpy(p->before, address_of(c, p), sizeof p->before);
            r[count++] = (struct strobe_hook_request){
                .hook = &p->hook, .target = address_of(c, p), .replacement = (void *)(uintptr_t)p->replacement};
        }
    strobe_hook_inline_all(&strobe_detours, r, count);
    for (size_t i = 0; i < count; i++)
        CHECK(c, !r[i].refused, "%s", r[i].why.text);
}

static void undo_all(struct contract *c)
{
    struct strobe_hook *hooks[POINTS];
    for (size_t i = 0; i < POINTS; i++)
        hooks[i] = &points[i].hook;
    strobe_hook_remove_all(hooks, POINTS);
    for (struct point *p = points; p < points + POINTS; p++) {
        CHECK(c, p->hook.kind == STROBE_HOOK_NONE, "%s stays hooked", strobe_art_symbol_name(p->symbol));
        CHECK(c, !address_of(c, p) || !memcmp(p->before, address_of(c, p), sizeof p->before), "%s: other bytes",
              strobe_art_symbol_name(p->symbol));
    }
}

static void every_function_to_be_hooked_can_be_detoured_and_has_its_bytes_back(struct contract *c)
{
    for (struct point *p = points; p < points + POINTS; p++)
        for (int round = 0; address_of(c, p) && round < 2; round++) {
            detour(c, p);
            undo(c, p);
        }
}

/* ---- calls of all hooked functions ---- */

static int sampled;

static void sample(struct strobe_jni *env, strobe_jclass class, int32_t number)
{
    (void)env;
    (void)class;
    (void)number;
    sampled++;
}

static bool bind_sample(struct contract *c)
{
    static const struct strobe_jni_native natives[] = {{"sample", "(I)V", (void *)(uintptr_t)sample}};
    return CHECK(c, sim_jni_bind(c->art.env, "Main", natives, 1), "class Main with its native method");
}

static void call_main(struct contract *c, const char *name, const char *signature, union strobe_jvalue argument)
{
    strobe_jclass class = strobe_jni_find_class(c->art.env, "Main");
    strobe_jmethod method = class ? strobe_jni_static_method(c->art.env, class, name, signature) : NULL;
    if (CHECK(c, method, "Main.%s", name))
        sim_jni_call_static(c->art.env, class, method, (union strobe_jvalue[]){argument});
    CHECK(c, !sim_jni_take_exception(c->art.env), "Main.%s throws nothing", name);
}

static void wait_a_millisecond(struct contract *c)
{
    call_main(c, "waitMs", "(J)V", (union strobe_jvalue){.j = 1});
}

/* Calls a method if the runtime has it. */
static bool call_virtual(struct contract *c, strobe_jobject object, const char *class_name, const char *name,
                         const char *signature, const union strobe_jvalue *arguments)
{
    strobe_jclass class = strobe_jni_find_class(c->art.env, class_name);
    strobe_jmethod method = class ? strobe_jni_method(c->art.env, class, name, signature) : NULL;
    if (method)
        sim_jni_call(c->art.env, object ? object : sim_jni_allocate(c->art.env, class), method, arguments);
    CHECK(c, !sim_jni_take_exception(c->art.env), "%s.%s throws nothing", class_name, name);
    return method != NULL;
}

static void notify_twice(struct contract *c)
{
    strobe_jclass class = strobe_jni_find_class(c->art.env, "java/lang/Object");
    strobe_jobject object = sim_jni_allocate(c->art.env, class);
    sim_jni_monitor(c->art.env, object, true);
    call_virtual(c, object, "java/lang/Object", "wait", "(JI)V", (union strobe_jvalue[]){{.j = 1}, {.i = 0}});
    call_virtual(c, object, "java/lang/Object", "notify", "()V", NULL);
    call_virtual(c, object, "java/lang/Object", "notifyAll", "()V", NULL);
    sim_jni_monitor(c->art.env, object, false);
}

static void functions_go_on_as_before_through_their_detours(struct contract *c)
{
    if (!bind_sample(c))
        return;
    detour_all(c);
    for (int round = 0; round < 3; round++) {
        call_main(c, "deep", "(I)V", (union strobe_jvalue){.i = 20});
        wait_a_millisecond(c);
        notify_twice(c);
    }
    CHECK(c, sampled == 3, "%d calls of the native method", sampled);
    static const int sure[] = {AT_JNI_TRAMPOLINE, AT_MONITOR_LOCK, AT_MONITOR_UNLOCK, AT_MONITOR_WAIT};
    for (size_t i = 0; i < sizeof sure / sizeof sure[0]; i++)
        CHECK(c, points[sure[i]].calls > 0, "%s is called", strobe_art_symbol_name(points[sure[i]].symbol));
    CHECK(c, points[AT_MONITOR_WAIT].calls == 6, "%d waits", points[AT_MONITOR_WAIT].calls);
    if (address_of(c, &points[AT_PARK_THREAD]) &&
        call_virtual(c, NULL, "sun/misc/Unsafe", "park", "(ZJ)V", (union strobe_jvalue[]){{.z = 0}, {.j = 1000}}))
        CHECK(c, points[AT_PARK_THREAD].calls == 1, "%d parks", points[AT_PARK_THREAD].calls);
    int calls = 0;
    undo_all(c);
    for (struct point *p = points; p < points + POINTS; p++)
        calls += p->calls;
    wait_a_millisecond(c);
    notify_twice(c);
    for (struct point *p = points; p < points + POINTS; p++)
        calls -= p->calls;
    CHECK(c, calls == 0, "%d calls of what is hooked no more", -calls);
}

/* ---- native functions ---- */

typedef void waiter(struct strobe_jni *, strobe_jobject, int64_t, int32_t);

static struct strobe_hook wait_hook;
static int waits;

static void count_wait(struct strobe_jni *env, strobe_jobject object, int64_t ms, int32_t ns)
{
    waits++;
    ((waiter *)(uintptr_t)wait_hook.original)(env, object, ms, ns);
}

static void the_native_function_of_object_wait_is_exchanged_and_put_back(struct contract *c)
{
    struct strobe_jni *env = c->art.env;
    unsigned char before[64];
    uint32_t offset;
    if (!bind_sample(c))
        return;
    strobe_jmethod known = strobe_jni_static_method(env, strobe_jni_find_class(env, "Main"), "sample", "(I)V");
    strobe_jmethod wait = strobe_jni_method(env, strobe_jni_find_class(env, "java/lang/Object"), "wait", "(JI)V");
    size_t bytes = c->libart.level->method_bytes;
    enum strobe_status status = strobe_hook_native_offset(known, bytes, (void *)(uintptr_t)sample, &offset);
    if (!CHECK(c, wait && bytes <= sizeof before, "%zu bytes of a method", bytes) ||
        !CHECK(c, status == STROBE_OK, "%s", strobe_status_text(status)))
        return;
    memcpy(before, wait, bytes);
    status = strobe_hook_native(&wait_hook, wait, offset, (void *)(uintptr_t)count_wait);
    CHECK(c, status == STROBE_OK, "%s", strobe_status_text(status));
    wait_a_millisecond(c);
    wait_a_millisecond(c);
    CHECK(c, waits == 2, "%d waits", waits);
    CHECK(c, strobe_hook_remove(&wait_hook) == STROBE_OK, "removed");
    void *function;
    memcpy(&function, (const char *)wait + offset, sizeof function);
    CHECK(c, function == wait_hook.original, "%p instead of %p", function, wait_hook.original);
    wait_a_millisecond(c);
    CHECK(c, waits == 2, "%d waits, one after the removal", waits);
}

const struct contract_case contract_cases_hook[] = {
    {"every_function_to_be_hooked_can_be_detoured_and_has_its_bytes_back",
     every_function_to_be_hooked_can_be_detoured_and_has_its_bytes_back, 0},
    {"functions_go_on_as_before_through_their_detours", functions_go_on_as_before_through_their_detours, 0},
    {"the_native_function_of_object_wait_is_exchanged_and_put_back",
     the_native_function_of_object_wait_is_exchanged_and_put_back, 0},
    {0},
};
