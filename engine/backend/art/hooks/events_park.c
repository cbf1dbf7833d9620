/* Parking. A thread's permit is its Thread + 1. The runtime ends the park of an interrupted thread by an unpark, so the
 * waker is the thread that interrupted. Where only the native methods are hooked, that park has no waker. */
#include "engine/backend/art/hooks/events.h"
#include "engine/base/error.h"

#include <time.h>

static struct strobe_hook park_hook, unpark_hook;

static uint64_t park_permit_of(void *thread)
{
    return (uint64_t)(uintptr_t)thread + 1;
}

/* Milliseconds since 1970, the unit of absolute park times. */
static int64_t park_now_ms(void)
{
    struct timespec t;
    strobe_art.host.linux.clock(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Returns the end of a park that begins at `begin`, in ticks; UINT64_MAX: none. `time`: ns from then on, 0 = no limit;
 * or ms since 1970. */
static uint64_t park_deadline_ticks(bool is_absolute, int64_t time, uint64_t begin)
{
    int64_t left_ms = is_absolute ? time - park_now_ms() : 0;
    if (!is_absolute && time <= 0)
        return UINT64_MAX;
    if (left_ms > INT64_MAX / 1000000)
        return UINT64_MAX;
    uint64_t ns = !is_absolute ? (uint64_t)time : left_ms > 0 ? (uint64_t)left_ms * 1000000 : 0;
    return begin + strobe_ticks_of_ns(&strobe_art.host.linux.host, ns);
}

static void on_park(void *thread, bool is_absolute, int64_t time)
{
    uint64_t permit = park_permit_of(thread), deadline = park_deadline_ticks(is_absolute, time, strobe_art_now());
    struct strobe_hook_scope s = strobe_art_open(STROBE_KIND_PARK, permit, STROBE_HERE);
    strobe_hook_waits(&s, permit);
    ((void (*)(void *, bool, int64_t))park_hook.original)(thread, is_absolute, time);
    strobe_hook_woken_timed(&s, permit, deadline);
    strobe_hook_close(&s);
}

static void on_unpark(void *thread)
{
    strobe_art_releases(park_permit_of(thread), STROBE_RELEASE_TARGET, STROBE_HERE);
    ((void (*)(void *))unpark_hook.original)(thread);
}

/* ---- without those functions: the native methods, with the java.lang.Thread */

static struct strobe_hook sun_park_hook, sun_unpark_hook, jdk_park_hook, jdk_unpark_hook;
static strobe_jfield native_peer; /* of java.lang.Thread: its Thread */

static strobe_jfield find_native_peer(struct strobe_jni *env)
{
    strobe_jfield (*find)(struct strobe_jni *, strobe_jclass, const char *, const char *) =
        (strobe_jfield(*)(struct strobe_jni *, strobe_jclass, const char *, const char *))(uintptr_t)strobe_jni_at(
            env, STROBE_JNI_GET_FIELD_ID);
    strobe_jclass thread = strobe_jni_find_class(env, "java/lang/Thread");
    strobe_jfield field = thread ? find(env, thread, "nativePeer", "J") : NULL;
    ((void (*)(struct strobe_jni *))(uintptr_t)strobe_jni_at(env, STROBE_JNI_EXCEPTION_CLEAR))(env);
    return field;
}

/* Returns 0 for a thread that has ended, or whose Thread cannot be found. */
static uint64_t park_permit_of_peer(struct strobe_jni *env, strobe_jobject peer)
{
    int64_t (*get)(struct strobe_jni *, strobe_jobject, strobe_jfield) = (int64_t(*)(
        struct strobe_jni *, strobe_jobject, strobe_jfield))(uintptr_t)strobe_jni_at(env, STROBE_JNI_GET_LONG_FIELD);
    int64_t thread = peer && native_peer ? get(env, peer, native_peer) : 0;
    return thread ? park_permit_of((void *)(uintptr_t)thread) : 0;
}

static STROBE_ALWAYS_INLINE void park_in_native(const struct strobe_hook *hook, struct strobe_jni *env,
                                                strobe_jobject unsafe, uint8_t is_absolute, int64_t time,
                                                struct strobe_site site)
{
    void *self = strobe_art_current(&strobe_art.libart);
    uint64_t permit = self ? park_permit_of(self) : 0;
    uint64_t deadline = park_deadline_ticks(is_absolute, time, strobe_art_now());
    struct strobe_hook_scope s = strobe_art_open(STROBE_KIND_PARK, permit, site);
    strobe_hook_waits(&s, permit);
    ((void (*)(struct strobe_jni *, strobe_jobject, uint8_t, int64_t))hook->original)(env, unsafe, is_absolute, time);
    strobe_hook_woken_timed(&s, permit, deadline);
    strobe_hook_close(&s);
}

static void on_sun_park(struct strobe_jni *env, strobe_jobject unsafe, uint8_t is_absolute, int64_t time)
{
    park_in_native(&sun_park_hook, env, unsafe, is_absolute, time, STROBE_HERE);
}

static void on_jdk_park(struct strobe_jni *env, strobe_jobject unsafe, uint8_t is_absolute, int64_t time)
{
    park_in_native(&jdk_park_hook, env, unsafe, is_absolute, time, STROBE_HERE);
}

static STROBE_ALWAYS_INLINE void unpark_in_native(const struct strobe_hook *hook, struct strobe_jni *env,
                                                  strobe_jobject unsafe, strobe_jobject peer, struct strobe_site site)
{
    uint64_t permit = park_permit_of_peer(env, peer);
    if (permit)
        strobe_art_releases(permit, STROBE_RELEASE_TARGET, site);
    ((void (*)(struct strobe_jni *, strobe_jobject, strobe_jobject))hook->original)(env, unsafe, peer);
}

static void on_sun_unpark(struct strobe_jni *env, strobe_jobject unsafe, strobe_jobject peer)
{
    unpark_in_native(&sun_unpark_hook, env, unsafe, peer, STROBE_HERE);
}

static void on_jdk_unpark(struct strobe_jni *env, strobe_jobject unsafe, strobe_jobject peer)
{
    unpark_in_native(&jdk_unpark_hook, env, unsafe, peer, STROBE_HERE);
}

/* Parks have no wakers where the unpark cannot be hooked. */
static bool park_hook_natives(struct strobe_jni *env, const char *class, struct strobe_hook *park, void *on_park_native,
                              struct strobe_hook *unpark, void *on_unpark_native, struct strobe_error *error)
{
    if (!strobe_art_hook_native(park, env, class, "park", "(ZJ)V", false, on_park_native, error))
        return false;
    struct strobe_error ignored;
    strobe_art_hook_native(unpark, env, class, "unpark", "(Ljava/lang/Object;)V", false, on_unpark_native, &ignored);
    return true;
}

static bool park_start_native(struct strobe_jni *env, struct strobe_error *error)
{
    native_peer = find_native_peer(env);
    bool sun = park_hook_natives(env, "sun/misc/Unsafe", &sun_park_hook, (void *)on_sun_park, &sun_unpark_hook,
                                 (void *)on_sun_unpark, error);
    bool jdk = park_hook_natives(env, "jdk/internal/misc/Unsafe", &jdk_park_hook, (void *)on_jdk_park, &jdk_unpark_hook,
                                 (void *)on_jdk_unpark, error);
    return sun || jdk;
}

static void park_ask(void)
{
    strobe_art_ask_hook(&park_hook, STROBE_ART_PARK_THREAD, (void *)on_park);
    strobe_art_ask_hook(&unpark_hook, STROBE_ART_UNPARK_THREAD, (void *)on_unpark);
}

static void park_end(void)
{
    strobe_art_drop_hook(&park_hook);
    strobe_art_drop_hook(&unpark_hook);
    strobe_hook_remove(&sun_park_hook);
    strobe_hook_remove(&sun_unpark_hook);
    strobe_hook_remove(&jdk_park_hook);
    strobe_hook_remove(&jdk_unpark_hook);
}

static bool park_start(struct strobe_jni *env, struct strobe_error *error)
{
    if (strobe_art_is_hooked(&park_hook, STROBE_ART_PARK_THREAD, error) &&
        strobe_art_is_hooked(&unpark_hook, STROBE_ART_UNPARK_THREAD, error))
        return true;
    park_end();
    return park_start_native(env, error);
}

const struct strobe_art_feature strobe_art_feature_park = {STROBE_ART_PARK, park_ask, park_start, park_end};
