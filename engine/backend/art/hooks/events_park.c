/* Parking. A thread's permit is its Thread + 1. The runtime ends the park of an interrupted thread by an unpark, so the
 * waker is the thread that interrupted. */
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

/* ---- without an inline hooker: the native functions, which do not show the Thread */

static struct strobe_hook sun_hook, jdk_hook;

static STROBE_ALWAYS_INLINE void park_in_native(const struct strobe_hook *hook, struct strobe_jni *env,
                                                strobe_jobject unsafe, uint8_t is_absolute, int64_t time,
                                                struct strobe_site site)
{
    struct strobe_hook_scope s = strobe_art_open(STROBE_KIND_PARK, 0, site);
    ((void (*)(struct strobe_jni *, strobe_jobject, uint8_t, int64_t))hook->original)(env, unsafe, is_absolute, time);
    strobe_hook_close(&s);
}

static void on_sun_park(struct strobe_jni *env, strobe_jobject unsafe, uint8_t is_absolute, int64_t time)
{
    park_in_native(&sun_hook, env, unsafe, is_absolute, time, STROBE_HERE);
}

static void on_jdk_park(struct strobe_jni *env, strobe_jobject unsafe, uint8_t is_absolute, int64_t time)
{
    park_in_native(&jdk_hook, env, unsafe, is_absolute, time, STROBE_HERE);
}

static bool park_start_native(struct strobe_jni *env, struct strobe_error *error)
{
    bool sun =
        strobe_art_hook_native(&sun_hook, env, "sun/misc/Unsafe", "park", "(ZJ)V", false, (void *)on_sun_park, error);
    bool jdk = strobe_art_hook_native(&jdk_hook, env, "jdk/internal/misc/Unsafe", "park", "(ZJ)V", false,
                                      (void *)on_jdk_park, error);
    return sun || jdk;
}

static void park_end(void)
{
    strobe_hook_remove(&park_hook);
    strobe_hook_remove(&unpark_hook);
    strobe_hook_remove(&sun_hook);
    strobe_hook_remove(&jdk_hook);
}

static bool park_start(struct strobe_jni *env, struct strobe_error *error)
{
    if (strobe_art_hook(&park_hook, STROBE_ART_PARK_THREAD, (void *)on_park, error) &&
        strobe_art_hook(&unpark_hook, STROBE_ART_UNPARK_THREAD, (void *)on_unpark, error))
        return true;
    park_end();
    return park_start_native(env, error);
}

const struct strobe_art_feature strobe_art_feature_park = {STROBE_ART_PARK, park_start, park_end};
