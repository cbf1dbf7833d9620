/* The parts of the Java Native Interface that the lab calls in addition to the engine (engine/backend/art/jni.h), in
 * the order of the JNI specification. Arguments are passed as arrays of values. */
#ifndef STROBE_SIM_GENUINE_JNI_CALLS_H
#define STROBE_SIM_GENUINE_JNI_CALLS_H

#include "engine/backend/art/jni.h"

#include <stdbool.h>

enum sim_jni_place {
    SIM_JNI_THROW = 13,
    SIM_JNI_NEW_LOCAL_REF = 25,
    SIM_JNI_ALLOC_OBJECT = 27,
    SIM_JNI_NEW_OBJECT = 30,
    SIM_JNI_CALL_VOID = 63,
    SIM_JNI_CALL_STATIC_OBJECT = 116,
    SIM_JNI_CALL_STATIC_VOID = 143,
    SIM_JNI_MONITOR_ENTER = 217,
    SIM_JNI_MONITOR_EXIT = 218,
};

#define SIM_JNI_TYPED(type, env, place) ((type)(uintptr_t)(*(void *const *const *)(const void *)(env))[place])

typedef const union strobe_jvalue *sim_jvalues;

static inline strobe_jobject sim_jni_new(struct strobe_jni *env, strobe_jclass class, strobe_jmethod init,
                                         sim_jvalues arguments)
{
    return SIM_JNI_TYPED(strobe_jobject(*)(struct strobe_jni *, strobe_jclass, strobe_jmethod, sim_jvalues), env,
                         SIM_JNI_NEW_OBJECT)(env, class, init, arguments);
}

static inline void sim_jni_call(struct strobe_jni *env, strobe_jobject object, strobe_jmethod method,
                                sim_jvalues arguments)
{
    SIM_JNI_TYPED(void (*)(struct strobe_jni *, strobe_jobject, strobe_jmethod, sim_jvalues), env, SIM_JNI_CALL_VOID)
    (env, object, method, arguments);
}

static inline void sim_jni_call_static(struct strobe_jni *env, strobe_jclass class, strobe_jmethod method,
                                       sim_jvalues arguments)
{
    SIM_JNI_TYPED(void (*)(struct strobe_jni *, strobe_jclass, strobe_jmethod, sim_jvalues), env,
                  SIM_JNI_CALL_STATIC_VOID)
    (env, class, method, arguments);
}

static inline strobe_jobject sim_jni_get_static(struct strobe_jni *env, strobe_jclass class, strobe_jmethod method,
                                                sim_jvalues arguments)
{
    return SIM_JNI_TYPED(strobe_jobject(*)(struct strobe_jni *, strobe_jclass, strobe_jmethod, sim_jvalues), env,
                         SIM_JNI_CALL_STATIC_OBJECT)(env, class, method, arguments);
}

static inline int32_t sim_jni_throw(struct strobe_jni *env, strobe_jobject thrown)
{
    return SIM_JNI_TYPED(int32_t(*)(struct strobe_jni *, strobe_jobject), env, SIM_JNI_THROW)(env, thrown);
}

/* Returns the pending exception and clears it; NULL = none. */
static inline strobe_jobject sim_jni_take_exception(struct strobe_jni *env)
{
    strobe_jobject e = SIM_JNI_TYPED(strobe_jobject(*)(struct strobe_jni *), env, STROBE_JNI_EXCEPTION_OCCURRED)(env);
    if (e)
        SIM_JNI_TYPED(void (*)(struct strobe_jni *), env, STROBE_JNI_EXCEPTION_CLEAR)(env);
    return e;
}

static inline strobe_jobject sim_jni_global(struct strobe_jni *env, strobe_jobject object)
{
    return SIM_JNI_TYPED(strobe_jobject(*)(struct strobe_jni *, strobe_jobject), env,
                         STROBE_JNI_NEW_GLOBAL_REF)(env, object);
}

static inline strobe_jobject sim_jni_local(struct strobe_jni *env, strobe_jobject object)
{
    return SIM_JNI_TYPED(strobe_jobject(*)(struct strobe_jni *, strobe_jobject), env, SIM_JNI_NEW_LOCAL_REF)(env,
                                                                                                             object);
}

static inline void sim_jni_drop_global(struct strobe_jni *env, strobe_jobject global)
{
    SIM_JNI_TYPED(void (*)(struct strobe_jni *, strobe_jobject), env, STROBE_JNI_DELETE_GLOBAL_REF)(env, global);
}

static inline void sim_jni_drop_local(struct strobe_jni *env, strobe_jobject local)
{
    SIM_JNI_TYPED(void (*)(struct strobe_jni *, strobe_jobject), env, STROBE_JNI_DELETE_LOCAL_REF)(env, local);
}

/* Makes an object without calling its constructor. */
static inline strobe_jobject sim_jni_allocate(struct strobe_jni *env, strobe_jclass class)
{
    return SIM_JNI_TYPED(strobe_jobject(*)(struct strobe_jni *, strobe_jclass), env, SIM_JNI_ALLOC_OBJECT)(env, class);
}

static inline void sim_jni_monitor(struct strobe_jni *env, strobe_jobject object, bool enter)
{
    SIM_JNI_TYPED(int32_t(*)(struct strobe_jni *, strobe_jobject), env,
                  enter ? SIM_JNI_MONITOR_ENTER : SIM_JNI_MONITOR_EXIT)
    (env, object);
}

/* Binds native functions. Returns false when the class or one of its methods is missing. */
static inline bool sim_jni_bind(struct strobe_jni *env, const char *class, const struct strobe_jni_native *list,
                                int32_t count)
{
    strobe_jclass c = strobe_jni_find_class(env, class);
    if (!c)
        return false;
    typedef int32_t reg(struct strobe_jni *, strobe_jclass, const struct strobe_jni_native *, int32_t);
    return SIM_JNI_TYPED(reg *, env, STROBE_JNI_REGISTER_NATIVES)(env, c, list, count) == STROBE_JNI_OK;
}

#endif
