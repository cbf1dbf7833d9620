#include "engine/backend/art/jni.h"

/* Clears the exception of a failed search. It would be thrown into the app. */
static void clear_exception(struct strobe_jni *env)
{
    ((void (*)(struct strobe_jni *))(uintptr_t)strobe_jni_at(env, STROBE_JNI_EXCEPTION_CLEAR))(env);
}

strobe_jclass strobe_jni_find_class(struct strobe_jni *env, const char *name)
{
    strobe_jclass (*find)(struct strobe_jni *, const char *) =
        (strobe_jclass(*)(struct strobe_jni *, const char *))(uintptr_t)strobe_jni_at(env, STROBE_JNI_FIND_CLASS);
    strobe_jclass found = find(env, name);
    if (!found)
        clear_exception(env);
    return found;
}

static strobe_jmethod find_jni_method(struct strobe_jni *env, enum strobe_jni_place place, strobe_jclass class,
                                      const char *name, const char *signature)
{
    strobe_jmethod (*find)(struct strobe_jni *, strobe_jclass, const char *, const char *) = (strobe_jmethod(*)(
        struct strobe_jni *, strobe_jclass, const char *, const char *))(uintptr_t)strobe_jni_at(env, place);
    strobe_jmethod found = class ? find(env, class, name, signature) : NULL;
    if (class && !found)
        clear_exception(env);
    return found;
}

strobe_jmethod strobe_jni_method(struct strobe_jni *env, strobe_jclass class, const char *name, const char *signature)
{
    return find_jni_method(env, STROBE_JNI_GET_METHOD_ID, class, name, signature);
}

strobe_jmethod strobe_jni_static_method(struct strobe_jni *env, strobe_jclass class, const char *name,
                                        const char *signature)
{
    return find_jni_method(env, STROBE_JNI_GET_STATIC_METHOD_ID, class, name, signature);
}
