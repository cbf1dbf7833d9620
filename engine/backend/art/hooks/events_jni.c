/* Calls of native methods: the runtime's generic trampoline, which is run through before each that has no stub compiled
 * for it. What it returned has to come out whole: two registers, by which the assembly that called it goes on. */
#include "engine/backend/art/hooks/events.h"
#include "engine/base/error.h"

#include <stdio.h>
#include <string.h>

#if UINTPTR_MAX > UINT32_MAX
typedef struct {
    uintptr_t low, high;
} two_words; /* x0 and x1, rax and rdx */
#else
typedef uint64_t two_words; /* r0 and r1 */
#endif

static struct strobe_hook hook;

static STROBE_ALWAYS_INLINE void called(struct strobe_site site)
{
    uint32_t on = strobe_switched();
    struct strobe_thread *t = strobe_art_thread(on);
    if (t)
        strobe_point(t, on, STROBE_KIND_JNI, 0, site);
}

/* The frame of the native method stands, and is walked with the others, once the original has made it. */
static two_words trampoline(void *thread, void **frame, uintptr_t *reserved)
{
    two_words r = ((two_words(*)(void *, void **, uintptr_t *))hook.original)(thread, frame, reserved);
    called(STROBE_ART_HERE);
    return r;
}

/* Before 11, which needs no reserved area (the level's jni_trampoline_reserved). */
static two_words trampoline_of_two(void *thread, void **frame)
{
    two_words r = ((two_words(*)(void *, void **))hook.original)(thread, frame);
    called(STROBE_ART_HERE);
    return r;
}

static bool start(struct strobe_jni *env, struct strobe_error *error)
{
    (void)env;
    bool reserved = strobe_art.libart.level->jni_trampoline_reserved;
    return strobe_art_hook(&hook, STROBE_ART_JNI_TRAMPOLINE, reserved ? (void *)trampoline : (void *)trampoline_of_two,
                           error);
}

static void end(void)
{
    strobe_hook_remove(&hook);
}

const struct strobe_art_feature strobe_art_feature_jni = {STROBE_ART_JNI, start, end};
