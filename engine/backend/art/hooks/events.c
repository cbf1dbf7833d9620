#include "engine/backend/art/hooks/events.h"
#include "engine/base/error_format.h"

#include "engine/backend/common/slots/mapping.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* ---- inline hooks ---- */

/* The hooks that the features of this capture asked for, and those that are to be removed. */
static struct strobe_hook_request asked[STROBE_HOOK_REQUESTS_MAX];
static struct strobe_hook *dropped[STROBE_HOOK_REQUESTS_MAX];
static size_t asked_count, dropped_count;

void strobe_art_ask_hook(struct strobe_hook *h, enum strobe_art_symbol symbol, void *replacement)
{
    void *target = (void *)(uintptr_t)strobe_art.libart.address[symbol];
    if (target && strobe_art.hooker && asked_count < STROBE_HOOK_REQUESTS_MAX)
        asked[asked_count++] = (struct strobe_hook_request){.hook = h, .target = target, .replacement = replacement};
}

void strobe_art_install_hooks(void)
{
    if (asked_count)
        strobe_hook_inline_all(strobe_art.hooker, asked, asked_count);
}

static const struct strobe_hook_request *find_asked(const struct strobe_hook *h)
{
    for (const struct strobe_hook_request *r = asked; r < asked + asked_count; r++)
        if (r->hook == h)
            return r;
    return NULL;
}

bool strobe_art_is_hooked(const struct strobe_hook *h, enum strobe_art_symbol symbol, struct strobe_error *error)
{
    const char *name = strobe_art_symbol_name(symbol);
    const struct strobe_hook_request *r = find_asked(h);
    if (!strobe_art.libart.address[symbol])
        strobe_error_set(error, "the runtime has no %s", name);
    else if (!strobe_art.hooker)
        strobe_error_set(error, "%s can't be hooked: %s", name, strobe_art.no_hooker.text);
    else if (!r)
        strobe_error_set(error, "%s is not hooked: more than %d hooks", name, STROBE_HOOK_REQUESTS_MAX);
    else if (r->refused)
        strobe_error_set(error, "%s refused %s: %s", strobe_art.hooker->name, name, r->why.text);
    else
        return true;
    return false;
}

void strobe_art_drop_hook(struct strobe_hook *h)
{
    if (h->kind == STROBE_HOOK_INLINE && dropped_count < STROBE_HOOK_REQUESTS_MAX)
        dropped[dropped_count++] = h;
}

void strobe_art_remove_hooks(void)
{
    strobe_hook_remove_all(dropped, dropped_count);
    dropped_count = asked_count = 0;
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
