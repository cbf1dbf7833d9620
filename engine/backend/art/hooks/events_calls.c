/* Calls that may take long: into another process by Binder, and loading a library. */
#include "engine/backend/art/hooks/events.h"
#include "engine/backend/art/hooks/libc.h"
#include "engine/base/error.h"

static struct strobe_hook transact_hook, load_hook;

/* android::IPCThreadState::transact(int32_t handle, uint32_t code, const Parcel &, Parcel *, uint32_t flags). */
#define TRANSACT "_ZN7android14IPCThreadState8transactEijRKNS_6ParcelEPS1_j"

static int32_t on_transact(void *state, int32_t handle, uint32_t code, const void *data, void *reply, uint32_t flags)
{
    uint64_t what = (uint64_t)(uint32_t)handle << 32 | code;
    struct strobe_hook_scope s = strobe_art_open(STROBE_KIND_IPC, what, STROBE_HERE);
    int32_t status = ((int32_t(*)(void *, int32_t, uint32_t, const void *, void *, uint32_t))transact_hook.original)(
        state, handle, code, data, reply, flags);
    strobe_hook_close(&s);
    return status;
}

/* Runtime.nativeLoad(name, loader[, third]): the hook passes a third argument on; an original with two ignores it. */
static strobe_jobject on_native_load(struct strobe_jni *env, strobe_jclass class, strobe_jobject name,
                                     strobe_jobject loader, strobe_jobject more)
{
    struct strobe_hook_scope s = strobe_art_open(STROBE_KIND_LOAD, 0, STROBE_HERE);
    strobe_jobject error = ((strobe_jobject(*)(struct strobe_jni *, strobe_jclass, strobe_jobject, strobe_jobject,
                                               strobe_jobject))load_hook.original)(env, class, name, loader, more);
    strobe_hook_close(&s);
    strobe_art_libc_renew();
    return error;
}

static bool calls_hook_load(struct strobe_jni *env, struct strobe_error *error)
{
    static const char *const signatures[] = {
        "(Ljava/lang/String;Ljava/lang/ClassLoader;Ljava/lang/Class;)Ljava/lang/String;",  /* 10 on */
        "(Ljava/lang/String;Ljava/lang/ClassLoader;)Ljava/lang/String;",                   /* 9 */
        "(Ljava/lang/String;Ljava/lang/ClassLoader;Ljava/lang/String;)Ljava/lang/String;", /* before */
    };
    for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++)
        if (strobe_art_hook_native(&load_hook, env, "java/lang/Runtime", "nativeLoad", signatures[i], true,
                                   (void *)on_native_load, error))
            return true;
    return false;
}

static bool calls_start(struct strobe_jni *env, struct strobe_error *error)
{
    bool calls = strobe_hook_slots(&transact_hook, TRANSACT, (void *)on_transact) == STROBE_OK;
    return calls_hook_load(env, error) || calls;
}

static void calls_end(void)
{
    strobe_hook_remove(&transact_hook);
    strobe_hook_remove(&load_hook);
}

const struct strobe_art_feature strobe_art_feature_calls = {STROBE_ART_NEEDED, NULL, calls_start, calls_end};
