/* JNI functions that call methods: by the object's class, by a given class, static methods, constructors; with the
 * arguments as variable arguments, in a va_list, or in an array. */
#include "sim/fake/art/dex/interpret.h"
#include "sim/fake/art/jni/jni.h"

#include "engine/backend/art/jni.h"

#include <stdarg.h>

enum { ARGUMENTS = 255 };
enum call_target { BY_OBJECT, AS_GIVEN };

/* Reads arguments from a va_list, in which types smaller than int are passed as int, and float as double. */
static void take_list(struct strobe_jni *env, const struct fake_method *m, va_list list, union fake_value *out)
{
    for (const char *type = m->shorty + 1; *type; type++, out++) {
        out->j = 0;
        switch (*type) {
        case 'J': out->j = va_arg(list, int64_t); break;
        case 'F': out->f = (float)va_arg(list, double); break;
        case 'D': out->d = va_arg(list, double); break;
        case 'L': out->l = fake_ref_of(fake_decode(env->self, va_arg(list, void *))); break;
        case 'Z': out->i = (va_arg(list, int) & 0xff) != 0; break;
        default: out->i = va_arg(list, int);
        }
    }
}

static void take_array(struct strobe_jni *env, const struct fake_method *m, const union strobe_jvalue *from,
                       union fake_value *out)
{
    for (const char *type = m->shorty + 1; *type; type++, out++, from++) {
        out->j = 0;
        switch (*type) {
        case 'L': out->l = fake_ref_of(fake_decode(env->self, from->l)); break;
        case 'Z': out->i = from->z != 0; break;
        case 'B': out->i = (int8_t)from->z; break;
        case 'C': out->i = (uint16_t)from->i; break;
        case 'S': out->i = (int16_t)from->i; break;
        case 'J':
        case 'D': out->j = from->j; break;
        default: out->i = from->i;
        }
    }
}

/* Returns the method that a call runs, with its receiver in arguments[0]. NULL: exception pending. */
static struct fake_method *jni_choose_method(struct strobe_jni *env, enum call_target target, void *jobject,
                                             void *method, union fake_value *arguments)
{
    struct fake_method *m = fake_method_of(method);
    FAKE_CHECK(m);
    if (m->flags & FAKE_ACC_STATIC)
        return fake_class_initialize(env->self, m->class) ? m : NULL;
    struct fake_object *o = fake_decode(env->self, jobject);
    FAKE_CHECK(o);
    arguments[0].l = fake_ref_of(o);
    return target == BY_OBJECT ? fake_class_dispatch(fake_class_of(o), m) : m;
}

struct called {
    union fake_value value;
    void *object;
};

static struct called jni_call_method(struct strobe_jni *env, enum call_target target, void *jobject, void *method,
                                     va_list list, const union strobe_jvalue *array)
{
    struct called out = {{.j = 0}, NULL};
    union fake_value arguments[ARGUMENTS + 1];
    bool was = fake_enter(env);
    struct fake_method *m = jni_choose_method(env, target, jobject, method, arguments);
    if (m) {
        union fake_value *first = arguments + (m->flags & FAKE_ACC_STATIC ? 0 : 1);
        if (array)
            take_array(env, m, array, first);
        else if (m->shorty[1])
            take_list(env, m, list, first);
        if (!fake_invoke(env->self, m, arguments, &out.value))
            out.value.j = 0;
        if (m->shorty[0] == 'L')
            out.object = fake_local_ref(env->self, fake_object(out.value.l));
    }
    fake_leave(env, was);
    return out;
}

static struct called call_array(struct strobe_jni *env, enum call_target target, void *jobject, void *method,
                                const union strobe_jvalue *array, ...)
{
    static const union strobe_jvalue none;
    va_list empty;
    va_start(empty, array);
    struct called out = jni_call_method(env, target, jobject, method, empty, array ? array : &none);
    va_end(empty);
    return out;
}

/* The three forms of a call, by the object's class and by a given class, for one result type. */
#define CALLS(name, type, result)                                                                                      \
    static type virtual_list_##name(struct strobe_jni *env, void *o, void *m, va_list list)                            \
    {                                                                                                                  \
        struct called c = jni_call_method(env, BY_OBJECT, o, m, list, NULL);                                           \
        (void)c;                                                                                                       \
        return (type)(result);                                                                                         \
    }                                                                                                                  \
    static type virtual_##name(struct strobe_jni *env, void *o, void *m, ...)                                          \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        va_start(list, m);                                                                                             \
        struct called c = jni_call_method(env, BY_OBJECT, o, m, list, NULL);                                           \
        va_end(list);                                                                                                  \
        (void)c;                                                                                                       \
        return (type)(result);                                                                                         \
    }                                                                                                                  \
    static type virtual_array_##name(struct strobe_jni *env, void *o, void *m, const union strobe_jvalue *array)       \
    {                                                                                                                  \
        struct called c = call_array(env, BY_OBJECT, o, m, array);                                                     \
        (void)c;                                                                                                       \
        return (type)(result);                                                                                         \
    }                                                                                                                  \
    static type given_list_##name(struct strobe_jni *env, void *o, void *k, void *m, va_list list)                     \
    {                                                                                                                  \
        (void)k;                                                                                                       \
        struct called c = jni_call_method(env, AS_GIVEN, o, m, list, NULL);                                            \
        (void)c;                                                                                                       \
        return (type)(result);                                                                                         \
    }                                                                                                                  \
    static type given_##name(struct strobe_jni *env, void *o, void *k, void *m, ...)                                   \
    {                                                                                                                  \
        (void)k;                                                                                                       \
        va_list list;                                                                                                  \
        va_start(list, m);                                                                                             \
        struct called c = jni_call_method(env, AS_GIVEN, o, m, list, NULL);                                            \
        va_end(list);                                                                                                  \
        (void)c;                                                                                                       \
        return (type)(result);                                                                                         \
    }                                                                                                                  \
    static type given_array_##name(struct strobe_jni *env, void *o, void *k, void *m,                                  \
                                   const union strobe_jvalue *array)                                                   \
    {                                                                                                                  \
        (void)k;                                                                                                       \
        struct called c = call_array(env, AS_GIVEN, o, m, array);                                                      \
        (void)c;                                                                                                       \
        return (type)(result);                                                                                         \
    }

CALLS(object, void *, c.object)
CALLS(boolean, uint8_t, c.value.i)
CALLS(byte, int8_t, c.value.i)
CALLS(char, uint16_t, c.value.i)
CALLS(short, int16_t, c.value.i)
CALLS(int, int32_t, c.value.i)
CALLS(long, int64_t, c.value.j)
CALLS(float, float, c.value.f)
CALLS(double, double, c.value.d)
CALLS(void, void, 0)

static void *new_one(struct strobe_jni *env, void *jclass)
{
    bool was = fake_enter(env);
    struct fake_object *o = fake_object_new(env->self, fake_decode_class(env, jclass), fake_alloc_slow);
    void *made = fake_local_ref(env->self, o);
    fake_leave(env, was);
    return made;
}

static void *unless_thrown(struct strobe_jni *env, void *made)
{
    return fake_exception(env->self) ? NULL : made;
}

static void *new_object_list(struct strobe_jni *env, void *jclass, void *method, va_list list)
{
    void *made = new_one(env, jclass);
    if (made)
        jni_call_method(env, AS_GIVEN, made, method, list, NULL);
    return unless_thrown(env, made);
}

static void *new_object(struct strobe_jni *env, void *jclass, void *method, ...)
{
    va_list list;
    va_start(list, method);
    void *made = new_object_list(env, jclass, method, list);
    va_end(list);
    return made;
}

static void *jni_new_object_with_array(struct strobe_jni *env, void *jclass, void *method,
                                       const union strobe_jvalue *array)
{
    void *made = new_one(env, jclass);
    if (made)
        call_array(env, AS_GIVEN, made, method, array);
    return unless_thrown(env, made);
}

/* Static calls have a class where other calls have an object. The same functions serve both. */
#define PLACES(name, i)                                                                                                \
    table[34 + 3 * (i)] = table[114 + 3 * (i)] = (const void *)(uintptr_t)virtual_##name;                              \
    table[35 + 3 * (i)] = table[115 + 3 * (i)] = (const void *)(uintptr_t)virtual_list_##name;                         \
    table[36 + 3 * (i)] = table[116 + 3 * (i)] = (const void *)(uintptr_t)virtual_array_##name;                        \
    table[64 + 3 * (i)] = (const void *)(uintptr_t)given_##name;                                                       \
    table[65 + 3 * (i)] = (const void *)(uintptr_t)given_list_##name;                                                  \
    table[66 + 3 * (i)] = (const void *)(uintptr_t)given_array_##name

void fake_jni_fill_calls(const void **table)
{
    PLACES(object, 0);
    PLACES(boolean, 1);
    PLACES(byte, 2);
    PLACES(char, 3);
    PLACES(short, 4);
    PLACES(int, 5);
    PLACES(long, 6);
    PLACES(float, 7);
    PLACES(double, 8);
    PLACES(void, 9);
    table[28] = (const void *)(uintptr_t)new_object;
    table[29] = (const void *)(uintptr_t)new_object_list;
    table[30] = (const void *)(uintptr_t)jni_new_object_with_array;
}
