/* The message loop: each return from MessageQueue.nativePollOnce begins a new message. */
#include "engine/backend/art/hooks/events.h"
#include "engine/base/error.h"

static struct strobe_hook hook;

static void on_poll_once(struct strobe_jni *env, strobe_jobject queue, int64_t native_queue, int32_t timeout_ms)
{
    struct strobe_hook_scope s = strobe_art_open(STROBE_KIND_POLL, (uint64_t)native_queue, STROBE_HERE);
    ((void (*)(struct strobe_jni *, strobe_jobject, int64_t, int32_t))hook.original)(env, queue, native_queue,
                                                                                     timeout_ms);
    bool counts = strobe_hook_is_open(&s) && !strobe_art.engine.config.message_per_poll; /* else the scope does */
    strobe_hook_close(&s);
    if (counts)
        strobe_bump(&s.thread->entry->message, 1);
}

static bool loop_start(struct strobe_jni *env, struct strobe_error *error)
{
    return strobe_art_hook_native(&hook, env, "android/os/MessageQueue", "nativePollOnce", "(JI)V", false,
                                  (void *)on_poll_once, error);
}

static void loop_end(void)
{
    strobe_hook_remove(&hook);
}

const struct strobe_art_feature strobe_art_feature_loop = {STROBE_ART_NEEDED, NULL, loop_start, loop_end};
