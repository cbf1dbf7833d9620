/* Parking. A thread's permit is its Thread + 1. An interrupt ends a park by an unpark of the runtime's own, so its
 * waker is who interrupted. */
#include "engine/backend/art/hooks/events.h"
#include "engine/base/error.h"

#include <time.h>

static struct strobe_hook park_hook, unpark_hook;

static uint64_t permit_of(void *thread)
{
    return (uint64_t)(uintptr_t)thread + 1;
}

/* Milliseconds since 1970, as absolute times to park until are. */
static int64_t now_ms(void)
{
    struct timespec t;
    strobe_art.host.linux.clock(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* `time`: ns from now on, 0 = for ever; or ms since 1970. */
static bool timed_out(bool is_absolute, int64_t time, uint64_t begin)
{
    if (is_absolute)
        return now_ms() >= time;
    return time > 0 && strobe_art_now() - begin >= strobe_ticks_of_ns(&strobe_art.host.linux.host, (uint64_t)time);
}

static void park(void *thread, bool is_absolute, int64_t time)
{
    uint64_t permit = permit_of(thread), begin = strobe_art_now();
    struct strobe_art_scope s = strobe_art_open(STROBE_KIND_PARK, permit, STROBE_ART_HERE);
    strobe_art_waits(&s, permit);
    ((void (*)(void *, bool, int64_t))park_hook.original)(thread, is_absolute, time);
    strobe_art_woken(&s, permit, timed_out(is_absolute, time, begin) ? STROBE_WAKE_TIMEOUT : STROBE_WAKE_RELEASED);
    strobe_art_close(&s);
}

static void unpark(void *thread)
{
    strobe_art_releases(permit_of(thread), STROBE_RELEASE_TARGET, STROBE_ART_HERE);
    ((void (*)(void *))unpark_hook.original)(thread);
}

/* ---- without an inline hooker: the native functions, from which the Thread can't be told ---- */

static struct strobe_hook sun_hook, jdk_hook;

static STROBE_ALWAYS_INLINE void park_native(const struct strobe_hook *hook, struct strobe_jni *env,
                                             strobe_jobject unsafe, uint8_t is_absolute, int64_t time,
                                             struct strobe_site site)
{
    struct strobe_art_scope s = strobe_art_open(STROBE_KIND_PARK, 0, site);
    ((void (*)(struct strobe_jni *, strobe_jobject, uint8_t, int64_t))hook->original)(env, unsafe, is_absolute, time);
    strobe_art_close(&s);
}

static void sun_park(struct strobe_jni *env, strobe_jobject unsafe, uint8_t is_absolute, int64_t time)
{
    park_native(&sun_hook, env, unsafe, is_absolute, time, STROBE_ART_HERE);
}

static void jdk_park(struct strobe_jni *env, strobe_jobject unsafe, uint8_t is_absolute, int64_t time)
{
    park_native(&jdk_hook, env, unsafe, is_absolute, time, STROBE_ART_HERE);
}

static bool start_native(struct strobe_jni *env, struct strobe_error *error)
{
    bool sun =
        strobe_art_hook_native(&sun_hook, env, "sun/misc/Unsafe", "park", "(ZJ)V", false, (void *)sun_park, error);
    bool jdk = strobe_art_hook_native(&jdk_hook, env, "jdk/internal/misc/Unsafe", "park", "(ZJ)V", false,
                                      (void *)jdk_park, error);
    return sun || jdk;
}

static void end(void)
{
    strobe_hook_remove(&park_hook);
    strobe_hook_remove(&unpark_hook);
    strobe_hook_remove(&sun_hook);
    strobe_hook_remove(&jdk_hook);
}

static bool start(struct strobe_jni *env, struct strobe_error *error)
{
    if (strobe_art_hook(&park_hook, STROBE_ART_PARK_THREAD, (void *)park, error) &&
        strobe_art_hook(&unpark_hook, STROBE_ART_UNPARK_THREAD, (void *)unpark, error))
        return true;
    end();
    return start_native(env, error);
}

const struct strobe_art_feature strobe_art_feature_park = {STROBE_ART_PARK, start, end};
