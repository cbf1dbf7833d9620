/* The part of the Java Native Interface that the engine calls. The two function tables are declared here, in the order
 * that the JNI specification fixes (chapter 4, "Interface Function Table"). Only functions that the engine uses have a
 * type. */
#ifndef STROBE_BACKEND_ART_JNI_H
#define STROBE_BACKEND_ART_JNI_H

#include <stddef.h>
#include <stdint.h>

typedef void *strobe_jobject;
typedef void *strobe_jclass;
typedef void *strobe_jmethod;
typedef void *strobe_jfield;

struct strobe_jni; /* a JNIEnv: points at its table */
struct strobe_jvm; /* a JavaVM */

union strobe_jvalue {
    uint8_t z;
    int32_t i;
    int64_t j;
    double d;
    strobe_jobject l;
};
struct strobe_jni_native {
    const char *name, *signature;
    void *function;
};

enum { STROBE_JNI_OK = 0, STROBE_JNI_DETACHED = -2, STROBE_JNI_VERSION = 0x00010006 };

/* Indices in the table of a JNIEnv. */
enum strobe_jni_place {
    STROBE_JNI_FIND_CLASS = 6,
    STROBE_JNI_TO_REFLECTED_METHOD = 9,
    STROBE_JNI_EXCEPTION_OCCURRED = 15,
    STROBE_JNI_EXCEPTION_CLEAR = 17,
    STROBE_JNI_NEW_GLOBAL_REF = 21,
    STROBE_JNI_DELETE_GLOBAL_REF = 22,
    STROBE_JNI_DELETE_LOCAL_REF = 23,
    STROBE_JNI_GET_OBJECT_CLASS = 31,
    STROBE_JNI_GET_METHOD_ID = 33,
    STROBE_JNI_GET_FIELD_ID = 94,
    STROBE_JNI_GET_LONG_FIELD = 101,
    STROBE_JNI_GET_STATIC_METHOD_ID = 113,
    STROBE_JNI_GET_STRING_LENGTH = 164,
    STROBE_JNI_NEW_STRING_UTF = 167,
    STROBE_JNI_REGISTER_NATIVES = 215,
    STROBE_JNI_GET_JAVA_VM = 219,
    STROBE_JNI_GET_STRING_UTF_REGION = 221,
    STROBE_JNI_EXCEPTION_CHECK = 228,
};

/* Indices in the table of a JavaVM. */
enum strobe_jvm_place {
    STROBE_JVM_DESTROY = 3,
    STROBE_JVM_ATTACH = 4,
    STROBE_JVM_DETACH = 5,
    STROBE_JVM_GET_ENV = 6,
    STROBE_JVM_ATTACH_AS_DAEMON = 7,
};

/* The argument of AttachCurrentThread. */
struct strobe_jvm_attach {
    int32_t version;
    const char *name;
    strobe_jobject group;
};

static inline void *strobe_jni_at(const struct strobe_jni *env, enum strobe_jni_place place)
{
    return (*(void *const *const *)(const void *)env)[place];
}

static inline void *strobe_jvm_at(const struct strobe_jvm *vm, enum strobe_jvm_place place)
{
    return (*(void *const *const *)(const void *)vm)[place];
}

/* Returns the calling thread's environment, or NULL when the thread is not attached. */
static inline struct strobe_jni *strobe_jvm_env(struct strobe_jvm *vm)
{
    struct strobe_jni *env = NULL;
    int32_t (*get)(struct strobe_jvm *, void **, int32_t) =
        (int32_t(*)(struct strobe_jvm *, void **, int32_t))(uintptr_t)strobe_jvm_at(vm, STROBE_JVM_GET_ENV);
    return get(vm, (void **)&env, STROBE_JNI_VERSION) == STROBE_JNI_OK ? env : NULL;
}

/* Return NULL, with no exception pending, when the class or method does not exist. */
strobe_jclass strobe_jni_find_class(struct strobe_jni *env, const char *name);
strobe_jmethod strobe_jni_method(struct strobe_jni *env, strobe_jclass class, const char *name, const char *signature);
strobe_jmethod strobe_jni_static_method(struct strobe_jni *env, strobe_jclass class, const char *name,
                                        const char *signature);

#endif
