/* JNI functions for fields. A jfieldID is a pointer to the fake's field. */
#include "sim/fake/art/jni/jni.h"

#include <stdio.h>

static void *find_field(struct strobe_jni *env, void *jclass, const char *name, const char *type, bool is_static)
{
    bool was = fake_enter(env);
    struct fake_class *c = fake_decode_class(env, jclass);
    struct fake_field *f = NULL;
    if (fake_class_initialize(env->self, c)) {
        f = fake_class_field(c, name, type, is_static);
        if (!f) {
            char text[512];
            snprintf(text, sizeof text, "no \"%s\" field \"%s\" in class \"%s\"", type, name, c->descriptor);
            fake_throw(env->self, "Ljava/lang/NoSuchFieldError;", text);
        }
    }
    fake_leave(env, was);
    return f;
}

static void *get_field(struct strobe_jni *env, void *jclass, const char *name, const char *type)
{
    return find_field(env, jclass, name, type, false);
}

static void *get_static_field(struct strobe_jni *env, void *jclass, const char *name, const char *type)
{
    return find_field(env, jclass, name, type, true);
}

/* A static field is in the mirror of its own class, whatever class the caller names. */
static void *jni_field_place(struct strobe_jni *env, void *jobject, const struct fake_field *f, bool is_static)
{
    struct fake_object *o = is_static ? f->class->mirror : fake_decode(env->self, jobject);
    FAKE_CHECK(o);
    return (char *)o + f->offset;
}

static void *get_reference(struct strobe_jni *env, void *jobject, void *field, bool is_static)
{
    bool was = fake_enter(env);
    fake_ref l = __atomic_load_n((fake_ref *)jni_field_place(env, jobject, field, is_static), __ATOMIC_SEQ_CST);
    void *got = fake_local_ref(env->self, fake_object(l));
    fake_leave(env, was);
    return got;
}

static void jni_set_reference(struct strobe_jni *env, void *jobject, void *field, void *value, bool is_static)
{
    bool was = fake_enter(env);
    fake_ref l = fake_ref_of(fake_decode(env->self, value));
    __atomic_store_n((fake_ref *)jni_field_place(env, jobject, field, is_static), l, __ATOMIC_SEQ_CST);
    fake_leave(env, was);
}

static void *jni_get_object(struct strobe_jni *env, void *o, void *f)
{
    return get_reference(env, o, f, false);
}
static void *jni_get_static_object(struct strobe_jni *env, void *o, void *f)
{
    return get_reference(env, o, f, true);
}
static void jni_set_object(struct strobe_jni *env, void *o, void *f, void *v)
{
    jni_set_reference(env, o, f, v, false);
}
static void jni_set_static_object(struct strobe_jni *env, void *o, void *f, void *v)
{
    jni_set_reference(env, o, f, v, true);
}

#define ACCESS(name, type)                                                                                             \
    static type get_any_##name(struct strobe_jni *env, void *o, void *field, bool is_static)                           \
    {                                                                                                                  \
        bool was = fake_enter(env);                                                                                    \
        type value;                                                                                                    \
        __atomic_load((type *)jni_field_place(env, o, field, is_static), &value, __ATOMIC_SEQ_CST);                    \
        fake_leave(env, was);                                                                                          \
        return value;                                                                                                  \
    }                                                                                                                  \
    static void set_any_##name(struct strobe_jni *env, void *o, void *field, type value, bool is_static)               \
    {                                                                                                                  \
        bool was = fake_enter(env);                                                                                    \
        __atomic_store((type *)jni_field_place(env, o, field, is_static), &value, __ATOMIC_SEQ_CST);                   \
        fake_leave(env, was);                                                                                          \
    }                                                                                                                  \
    static type jni_get_##name(struct strobe_jni *env, void *o, void *f)                                               \
    {                                                                                                                  \
        return get_any_##name(env, o, f, false);                                                                       \
    }                                                                                                                  \
    static type jni_get_static_##name(struct strobe_jni *env, void *o, void *f)                                        \
    {                                                                                                                  \
        return get_any_##name(env, o, f, true);                                                                        \
    }                                                                                                                  \
    static void jni_set_##name(struct strobe_jni *env, void *o, void *f, type v)                                       \
    {                                                                                                                  \
        set_any_##name(env, o, f, v, false);                                                                           \
    }                                                                                                                  \
    static void jni_set_static_##name(struct strobe_jni *env, void *o, void *f, type v)                                \
    {                                                                                                                  \
        set_any_##name(env, o, f, v, true);                                                                            \
    }

ACCESS(boolean, uint8_t)
ACCESS(byte, int8_t)
ACCESS(char, uint16_t)
ACCESS(short, int16_t)
ACCESS(int, int32_t)
ACCESS(long, int64_t)
ACCESS(float, float)
ACCESS(double, double)

#define PLACES(name, i)                                                                                                \
    table[95 + (i)] = (const void *)(uintptr_t)jni_get_##name;                                                         \
    table[104 + (i)] = (const void *)(uintptr_t)jni_set_##name;                                                        \
    table[145 + (i)] = (const void *)(uintptr_t)jni_get_static_##name;                                                 \
    table[154 + (i)] = (const void *)(uintptr_t)jni_set_static_##name

void fake_jni_fill_fields(const void **table)
{
    table[94] = (const void *)(uintptr_t)get_field;
    table[144] = (const void *)(uintptr_t)get_static_field;
    PLACES(object, 0);
    PLACES(boolean, 1);
    PLACES(byte, 2);
    PLACES(char, 3);
    PLACES(short, 4);
    PLACES(int, 5);
    PLACES(long, 6);
    PLACES(float, 7);
    PLACES(double, 8);
}
