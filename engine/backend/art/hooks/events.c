#include "engine/backend/art/hooks/events.h"
#include "engine/base/error_format.h"

#include "engine/backend/common/slots/mapping.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static void describe_refusal(const char *function, int refused, struct strobe_error *error)
{
    const struct strobe_inline_hooker *hooker = strobe_art.hooker;
    const char *why = hooker->explain ? hooker->explain(hooker->ctx, refused) : NULL;
    if (why)
        strobe_error_set(error, "%s refused %s: %s", hooker->name, function, why);
    else
        strobe_error_set(error, "%s refused %s: error %d", hooker->name, function, refused);
}

bool strobe_art_hook(struct strobe_hook *h, enum strobe_art_symbol symbol, void *replacement,
                     struct strobe_error *error)
{
    uint64_t address = strobe_art.libart.address[symbol];
    const char *name = strobe_art_symbol_name(symbol);
    if (!address)
        strobe_error_set(error, "the runtime has no %s", name);
    else if (!strobe_art.hooker)
        strobe_error_set(error, "%s can't be hooked: %s", name, strobe_art.no_hooker.text);
    else if (strobe_hook_inline(h, strobe_art.hooker, (void *)(uintptr_t)address, replacement) != STROBE_OK)
        describe_refusal(name, errno, error);
    else
        return true;
    return false;
}

/* ---- native functions ---- */

/* Returns the ArtMethod of a jmethodID. The jmethodID is the ArtMethod, or in debuggable apps an odd number; then the
 * reflected method has the ArtMethod. */
static void *art_method_of(struct strobe_jni *env, strobe_jclass class, strobe_jmethod id, bool is_static)
{
    if (!((uintptr_t)id & 1))
        return id;
    strobe_jobject (*reflect)(struct strobe_jni *, strobe_jclass, strobe_jmethod, uint8_t) =
        (strobe_jobject(*)(struct strobe_jni *, strobe_jclass, strobe_jmethod, uint8_t))(uintptr_t)strobe_jni_at(
            env, STROBE_JNI_TO_REFLECTED_METHOD);
    strobe_jfield (*find)(struct strobe_jni *, strobe_jclass, const char *, const char *) =
        (strobe_jfield(*)(struct strobe_jni *, strobe_jclass, const char *, const char *))(uintptr_t)strobe_jni_at(
            env, STROBE_JNI_GET_FIELD_ID);
    int64_t (*get)(struct strobe_jni *, strobe_jobject, strobe_jfield) = (int64_t(*)(
        struct strobe_jni *, strobe_jobject, strobe_jfield))(uintptr_t)strobe_jni_at(env, STROBE_JNI_GET_LONG_FIELD);
    strobe_jclass executable = strobe_jni_find_class(env, "java/lang/reflect/Executable");
    strobe_jfield field = executable ? find(env, executable, "artMethod", "J") : NULL;
    strobe_jobject method = field ? reflect(env, class, id, is_static) : NULL;
    ((void (*)(struct strobe_jni *))(uintptr_t)strobe_jni_at(env, STROBE_JNI_EXCEPTION_CLEAR))(env);
    return method ? (void *)(uintptr_t)get(env, method, field) : NULL;
}

/* The native function is in the second word from the end; the last word is the method's entry point (art_method.h, at
 * all levels). This is confirmed by two methods of the runtime: that word must point to code. */
uint32_t strobe_art_native_offset(struct strobe_jni *env)
{
    static const char *const known[] = {"notify", "notifyAll"};
    const struct strobe_art_level *v = strobe_art.libart.level;
    uint32_t offset = (sizeof(void *) == 8 ? v->method_bytes : v->method_bytes_32) - 2 * (uint32_t)sizeof(void *);
    strobe_jclass object = strobe_jni_find_class(env, "java/lang/Object");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        strobe_jmethod id = strobe_jni_method(env, object, known[i], "()V");
        void *method = id ? art_method_of(env, object, id, false) : NULL, *function;
        struct strobe_mapping m;
        if (!method)
            return 0;
        memcpy(&function, (char *)method + offset, sizeof function);
        if (strobe_mapping_at(function, &m) != STROBE_OK || !(m.protection & PROT_EXEC))
            return 0;
    }
    return offset;
}

bool strobe_art_hook_native(struct strobe_hook *h, struct strobe_jni *env, const char *class, const char *name,
                            const char *signature, bool is_static, void *replacement, struct strobe_error *error)
{
    strobe_jclass c = strobe_jni_find_class(env, class);
    strobe_jmethod id = !c          ? NULL
                        : is_static ? strobe_jni_static_method(env, c, name, signature)
                                    : strobe_jni_method(env, c, name, signature);
    void *method = id ? art_method_of(env, c, id, is_static) : NULL;
    if (!method)
        strobe_error_set(error, "%s has no method %s that can be found", class, name);
    else if (!strobe_art.native_offset)
        strobe_error_set(error, "where a method keeps its native function is not known");
    else if (strobe_hook_native(h, method, strobe_art.native_offset, replacement) != STROBE_OK)
        strobe_error_set(error, "%s.%s has no native function", class, name);
    else
        return true;
    return false;
}
