/* JNI functions for classes, references, exceptions, monitors and the registration of natives. */
#include "sim/fake/art/dex/interpret.h"
#include "sim/fake/art/jni/jni.h"

#include "engine/backend/art/jni.h"

#include <stdio.h>
#include <stdlib.h>

enum { VERSION = 0x00010006, OK = 0, ERROR = -1 };

static int32_t get_version(struct strobe_jni *env)
{
    (void)env;
    return VERSION;
}

/* ---- classes ---- */

static void *find_class(struct strobe_jni *env, const char *name)
{
    bool was = fake_enter(env);
    char descriptor[512];
    snprintf(descriptor, sizeof descriptor, name[0] == '[' ? "%s" : "L%s;", name);
    struct fake_class *c = fake_class_find(descriptor);
    void *found = NULL;
    if (c)
        found = fake_local_ref(env->self, c->mirror);
    else
        fake_throw(env->self, "Ljava/lang/ClassNotFoundException;", name);
    fake_leave(env, was);
    return found;
}

static void *get_superclass(struct strobe_jni *env, void *jclass)
{
    bool was = fake_enter(env);
    struct fake_class *c = fake_decode_class(env, jclass);
    void *super = c->super && !(c->flags & FAKE_ACC_INTERFACE) ? fake_local_ref(env->self, c->super->mirror) : NULL;
    fake_leave(env, was);
    return super;
}

static uint8_t is_assignable(struct strobe_jni *env, void *from, void *to)
{
    bool was = fake_enter(env);
    bool yes = fake_class_is(fake_decode_class(env, from), fake_decode_class(env, to));
    fake_leave(env, was);
    return yes;
}

static void *get_object_class(struct strobe_jni *env, void *jobject)
{
    bool was = fake_enter(env);
    void *c = fake_local_ref(env->self, fake_class_of(fake_decode(env->self, jobject))->mirror);
    fake_leave(env, was);
    return c;
}

static uint8_t is_instance(struct strobe_jni *env, void *jobject, void *jclass)
{
    bool was = fake_enter(env);
    struct fake_object *o = fake_decode(env->self, jobject);
    bool yes = !o || fake_class_is(fake_class_of(o), fake_decode_class(env, jclass));
    fake_leave(env, was);
    return yes;
}

static void *alloc_object(struct strobe_jni *env, void *jclass)
{
    bool was = fake_enter(env);
    struct fake_object *o = fake_object_new(env->self, fake_decode_class(env, jclass), fake_alloc_slow);
    void *made = fake_local_ref(env->self, o);
    fake_leave(env, was);
    return made;
}

static void *jni_find_method(struct strobe_jni *env, void *jclass, const char *name, const char *signature,
                             bool is_static)
{
    bool was = fake_enter(env);
    struct fake_class *c = fake_decode_class(env, jclass);
    struct fake_method *m = NULL;
    if (fake_class_initialize(env->self, c)) {
        bool own = strcmp(name, "<init>") == 0;
        m = own ? fake_class_declared(c, name, signature) : fake_class_method(c, name, signature, is_static);
        if (!m) {
            char text[512];
            snprintf(text, sizeof text, "no %s method \"%s.%s%s\"", is_static ? "static" : "non-static", c->descriptor,
                     name, signature);
            fake_throw(env->self, "Ljava/lang/NoSuchMethodError;", text);
        }
    }
    fake_leave(env, was);
    return m ? fake_method_art(m) : NULL;
}

static void *get_method(struct strobe_jni *env, void *jclass, const char *name, const char *signature)
{
    return jni_find_method(env, jclass, name, signature, false);
}

static void *get_static_method(struct strobe_jni *env, void *jclass, const char *name, const char *signature)
{
    return jni_find_method(env, jclass, name, signature, true);
}

static void set_number(struct fake_object *o, const char *name, const char *type, uint64_t value)
{
    struct fake_field *f = fake_class_field(fake_class_of(o), name, type, false);
    if (f && type[0] == 'J')
        FAKE_AT(o, f->offset, uint64_t) = value;
    else if (f)
        FAKE_AT(o, f->offset, uint32_t) = (uint32_t)value;
}

static void *to_reflected_method(struct strobe_jni *env, void *jclass, void *method, uint8_t is_static)
{
    (void)jclass;
    (void)is_static;
    bool was = fake_enter(env);
    const struct fake_method *m = fake_method_of(method);
    bool constructor = strcmp(m->name, "<init>") == 0;
    struct fake_class *c =
        fake_class_find(constructor ? "Ljava/lang/reflect/Constructor;" : "Ljava/lang/reflect/Method;");
    FAKE_CHECK(c);
    struct fake_object *o = fake_object_new(env->self, c, fake_alloc_slow);
    if (o) {
        set_number(o, "artMethod", "J", (uintptr_t)method);
        set_number(o, "accessFlags", "I", m->flags);
        set_number(o, "dexMethodIndex", "I", m->dex_index);
        set_number(o, "declaringClass", "Ljava/lang/Class;", fake_ref_of(m->class->mirror));
    }
    void *made = fake_local_ref(env->self, o);
    fake_leave(env, was);
    return made;
}

static void *from_reflected_method(struct strobe_jni *env, void *method)
{
    bool was = fake_enter(env);
    struct fake_object *o = fake_decode(env->self, method);
    struct fake_field *f = fake_class_field(fake_class_of(o), "artMethod", "J", false);
    FAKE_CHECK(f);
    void *art = FAKE_AT(o, f->offset, void *);
    fake_leave(env, was);
    return art;
}

/* On older levels a '!' before the signature means that the function runs RUNNABLE. */
static int32_t register_natives(struct strobe_jni *env, void *jclass, const struct strobe_jni_native *natives,
                                int32_t count)
{
    bool was = fake_enter(env);
    struct fake_class *c = fake_decode_class(env, jclass);
    int32_t result = OK;
    for (int32_t i = 0; i < count && result == OK; i++) {
        bool fast = natives[i].signature[0] == '!';
        struct fake_method *m = fake_class_declared(c, natives[i].name, natives[i].signature + fast);
        if (m && m->flags & FAKE_ACC_NATIVE) {
            if (fast) {
                m->flags |= FAKE_ACC_FAST_NATIVE;
                fake_method_publish(m);
            }
            fake_method_bind(m, natives[i].function);
            continue;
        }
        char text[512];
        snprintf(text, sizeof text, "no native method \"%s.%s%s\"", c->descriptor, natives[i].name,
                 natives[i].signature);
        fake_throw(env->self, "Ljava/lang/NoSuchMethodError;", text);
        result = ERROR;
    }
    fake_leave(env, was);
    return result;
}

static int32_t unregister_natives(struct strobe_jni *env, void *jclass)
{
    bool was = fake_enter(env);
    struct fake_class *c = fake_decode_class(env, jclass);
    for (uint32_t i = 0; i < c->method_count; i++)
        if (c->methods[i].flags & FAKE_ACC_NATIVE)
            fake_method_bind(&c->methods[i], NULL);
    fake_leave(env, was);
    return OK;
}

/* ---- exceptions ---- */

static int32_t throw_object(struct strobe_jni *env, void *throwable)
{
    bool was = fake_enter(env);
    fake_set_exception(env->self, fake_decode(env->self, throwable));
    fake_leave(env, was);
    return OK;
}

static int32_t throw_new(struct strobe_jni *env, void *jclass, const char *message)
{
    bool was = fake_enter(env);
    fake_throw(env->self, fake_decode_class(env, jclass)->descriptor, message);
    fake_leave(env, was);
    return OK;
}

static void *exception_occurred(struct strobe_jni *env)
{
    bool was = fake_enter(env);
    void *thrown = fake_local_ref(env->self, fake_exception(env->self));
    fake_leave(env, was);
    return thrown;
}

static void exception_describe(struct strobe_jni *env)
{
    bool was = fake_enter(env);
    struct fake_object *o = fake_exception(env->self);
    if (o) {
        char name[256], text[256] = "";
        *fake_pretty_type(name, name + sizeof name - 1, fake_class_of(o)->descriptor) = 0;
        struct fake_field *f = fake_class_field(fake_class_of(o), "detailMessage", "Ljava/lang/String;", false);
        fake_ref message = f ? FAKE_AT(o, f->offset, fake_ref) : 0;
        if (message)
            fake_string_text(fake_object(message), text, sizeof text);
        fprintf(stderr, "%s: %s\n", name, text);
        fake_set_exception(env->self, NULL);
    }
    fake_leave(env, was);
}

static void exception_clear(struct strobe_jni *env)
{
    fake_set_exception(env->self, NULL);
}

static uint8_t exception_check(struct strobe_jni *env)
{
    return fake_exception(env->self) != NULL;
}

static void fatal_error(struct strobe_jni *env, const char *message)
{
    (void)env;
    fprintf(stderr, "fake libart: JNI FatalError called: %s\n", message);
    abort();
}

/* ---- references ---- */

static int32_t push_frame(struct strobe_jni *env, int32_t capacity)
{
    (void)capacity;
    if (env->frame_count == env->frame_room) {
        env->frame_room += 16;
        env->frames = realloc(env->frames, env->frame_room * sizeof *env->frames);
        FAKE_CHECK(env->frames);
    }
    env->frames[env->frame_count++] = env->used;
    return OK;
}

static void *pop_frame(struct strobe_jni *env, void *survivor)
{
    bool was = fake_enter(env);
    struct fake_object *o = fake_decode(env->self, survivor);
    FAKE_CHECK(env->frame_count > 0);
    env->used = env->frames[--env->frame_count];
    void *again = fake_local_ref(env->self, o);
    fake_leave(env, was);
    return again;
}

static void *new_reference(struct strobe_jni *env, void *ref, enum fake_reference kind)
{
    bool was = fake_enter(env);
    struct fake_object *o = fake_decode(env->self, ref);
    void *made = kind == FAKE_LOCAL ? fake_local_ref(env->self, o) : fake_global_ref(o, kind);
    fake_leave(env, was);
    return made;
}

static void *new_global(struct strobe_jni *env, void *ref)
{
    return new_reference(env, ref, FAKE_GLOBAL);
}
static void *new_weak(struct strobe_jni *env, void *ref)
{
    return new_reference(env, ref, FAKE_WEAK);
}
static void *new_local(struct strobe_jni *env, void *ref)
{
    return new_reference(env, ref, FAKE_LOCAL);
}

static void delete_reference(struct strobe_jni *env, void *ref, enum fake_reference kind)
{
    bool was = fake_enter(env);
    if (kind == FAKE_LOCAL)
        fake_local_free(env, ref);
    else
        fake_global_free(ref, kind);
    fake_leave(env, was);
}

static void delete_global(struct strobe_jni *env, void *ref)
{
    delete_reference(env, ref, FAKE_GLOBAL);
}
static void delete_weak(struct strobe_jni *env, void *ref)
{
    delete_reference(env, ref, FAKE_WEAK);
}
static void delete_local(struct strobe_jni *env, void *ref)
{
    delete_reference(env, ref, FAKE_LOCAL);
}

static uint8_t is_same(struct strobe_jni *env, void *a, void *b)
{
    bool was = fake_enter(env);
    bool same = fake_decode(env->self, a) == fake_decode(env->self, b);
    fake_leave(env, was);
    return same;
}

static int32_t ensure_capacity(struct strobe_jni *env, int32_t capacity)
{
    (void)env;
    return capacity < 0 ? ERROR : OK;
}

static int get_reference_type(struct strobe_jni *env, void *ref)
{
    (void)env;
    return (uintptr_t)ref & 3; /* same numbers as enum fake_reference; 0 = invalid */
}

/* ---- monitors ---- */

static int32_t jni_use_monitor(struct strobe_jni *env, void *jobject, bool enter)
{
    bool was = fake_enter(env);
    struct fake_object *o = fake_decode(env->self, jobject);
    bool done = enter ? fake_monitor_enter(env->self, o) : fake_monitor_exit(env->self, o);
    fake_leave(env, was);
    return done ? OK : ERROR;
}

static int32_t monitor_enter(struct strobe_jni *env, void *jobject)
{
    return jni_use_monitor(env, jobject, true);
}
static int32_t monitor_exit(struct strobe_jni *env, void *jobject)
{
    return jni_use_monitor(env, jobject, false);
}

static int32_t get_java_vm(struct strobe_jni *env, struct strobe_jvm **out)
{
    *out = env->vm;
    return OK;
}

#define PUT(place, function) table[place] = (const void *)(uintptr_t)(function)

void fake_jni_fill_objects(const void **table)
{
    PUT(4, get_version);
    PUT(6, find_class);
    PUT(7, from_reflected_method);
    PUT(9, to_reflected_method);
    PUT(10, get_superclass);
    PUT(11, is_assignable);
    PUT(13, throw_object);
    PUT(14, throw_new);
    PUT(15, exception_occurred);
    PUT(16, exception_describe);
    PUT(17, exception_clear);
    PUT(18, fatal_error);
    PUT(19, push_frame);
    PUT(20, pop_frame);
    PUT(21, new_global);
    PUT(22, delete_global);
    PUT(23, delete_local);
    PUT(24, is_same);
    PUT(25, new_local);
    PUT(26, ensure_capacity);
    PUT(27, alloc_object);
    PUT(31, get_object_class);
    PUT(32, is_instance);
    PUT(33, get_method);
    PUT(113, get_static_method);
    PUT(215, register_natives);
    PUT(216, unregister_natives);
    PUT(217, monitor_enter);
    PUT(218, monitor_exit);
    PUT(219, get_java_vm);
    PUT(226, new_weak);
    PUT(227, delete_weak);
    PUT(228, exception_check);
    PUT(232, get_reference_type);
}
