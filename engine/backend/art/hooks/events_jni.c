/* Calls of native methods: the runtime's generic trampoline. It runs before each native method without a compiled stub.
 * The hook must return both result registers of the original; the assembly code that called it uses them. */
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

static STROBE_ALWAYS_INLINE void jni_record_call(struct strobe_site site)
{
    uint32_t on = strobe_switched();
    struct strobe_thread *t = strobe_art_thread(on);
    if (t)
        strobe_point(t, on, STROBE_KIND_JNI, 0, site);
}

/* Records the call after the original has built the native method's frame, so that the walk includes the frame. */
static two_words on_jni_trampoline(void *thread, void **frame, uintptr_t *reserved)
{
    two_words r = ((two_words(*)(void *, void **, uintptr_t *))hook.original)(thread, frame, reserved);
    jni_record_call(STROBE_HERE);
    return r;
}

/* The same before 11, where there is no reserved area (the level's jni_trampoline_reserved). */
static two_words on_jni_trampoline_of_two(void *thread, void **frame)
{
    two_words r = ((two_words(*)(void *, void **))hook.original)(thread, frame);
    jni_record_call(STROBE_HERE);
    return r;
}

static void jni_ask(void)
{
    bool reserved = strobe_art.libart.level->jni_trampoline_reserved;
    strobe_art_ask_hook(&hook, STROBE_ART_JNI_TRAMPOLINE,
                        reserved ? (void *)on_jni_trampoline : (void *)on_jni_trampoline_of_two);
}

static bool jni_start(struct strobe_jni *env, struct strobe_error *error)
{
    (void)env;
    return strobe_art_is_hooked(&hook, STROBE_ART_JNI_TRAMPOLINE, error);
}

static void jni_end(void)
{
    strobe_art_drop_hook(&hook);
}

const struct strobe_art_feature strobe_art_feature_jni = {STROBE_ART_JNI, jni_ask, jni_start, jni_end};
