#include "sim/fake/art/jni/natives.h"

#include "sim/fake/art/dex/interpret.h"
#include "sim/fake/art/monitor.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void bind_to(const char *class, const struct fake_native *n)
{
    struct fake_class *c = fake_class_find(class);
    struct fake_method *m = c ? fake_class_declared(c, n->name, n->signature) : NULL;
    if (m && m->flags & FAKE_ACC_NATIVE)
        fake_method_bind(m, (void *)(uintptr_t)n->function);
}

void fake_natives_bind(void)
{
    for (const struct fake_native *n = fake_natives_lang; n->name; n++)
        bind_to(n->class, n);
    for (const struct fake_native *n = fake_natives_text; n->name; n++)
        bind_to(n->class, n);
    for (const struct fake_native *n = fake_natives_unsafe; n->name; n++) {
        bind_to("Lsun/misc/Unsafe;", n);
        bind_to("Ljdk/internal/misc/Unsafe;", n);
    }
}

/* ---- java.lang.Object ---- */

static void *object_clone(struct strobe_jni *env, void *this)
{
    bool was = fake_enter(env);
    struct fake_object *o = fake_decode(env->self, this);
    struct fake_class *c = fake_class_of(o);
    size_t bytes = c->object_bytes;
    if (c->component)
        bytes += (size_t)(uint32_t)((struct fake_array *)(void *)o)->length << c->element_shift;
    struct fake_object *copy = fake_alloc_slow(env->self, c, bytes);
    if (copy) /* copies all but the class and the lock word */
        memcpy(copy + 1, o + 1, bytes - sizeof *o);
    void *made = fake_local_ref(env->self, copy);
    fake_leave(env, was);
    return made;
}

static void object_wait(struct strobe_jni *env, void *this, int64_t ms, int32_t ns)
{
    bool was = fake_enter(env);
    fake_monitor_wait(env->self, fake_decode(env->self, this), ms, ns);
    fake_leave(env, was);
}

static void native_notify(struct strobe_jni *env, void *this, bool all)
{
    bool was = fake_enter(env);
    fake_monitor_notify(env->self, fake_decode(env->self, this), all);
    fake_leave(env, was);
}

static void object_notify(struct strobe_jni *env, void *this)
{
    native_notify(env, this, false);
}
static void object_notify_all(struct strobe_jni *env, void *this)
{
    native_notify(env, this, true);
}

static int32_t object_hash(struct strobe_jni *env, void *class, void *object)
{
    (void)class;
    bool was = fake_enter(env);
    struct fake_object *o = fake_decode(env->self, object);
    int32_t hash = o ? fake_identity_hash(env->self, o) : 0;
    fake_leave(env, was);
    return hash;
}

/* ---- java.lang.Thread ---- */

static void *thread_current(struct strobe_jni *env, void *class)
{
    (void)class;
    bool was = fake_enter(env);
    void *peer = fake_local_ref(env->self, fake_thread_peer(env->self));
    fake_leave(env, was);
    return peer;
}

static uint8_t thread_interrupted(struct strobe_jni *env, void *class)
{
    (void)class;
    return fake_interrupted(env->self, true);
}

/* A query of the thread of a peer, and its result. */
struct ask {
    int32_t answer;
};

static void ask_interrupted(struct fake_thread *t, void *ctx)
{
    ((struct ask *)ctx)->answer = fake_interrupted(t, false);
}

static void ask_tid(struct fake_thread *t, void *ctx)
{
    ((struct ask *)ctx)->answer = (int32_t)FAKE_AT(t, fake_layout->thread_tid, uint32_t);
}

static int32_t native_ask_thread(struct strobe_jni *env, void *peer, void (*visit)(struct fake_thread *, void *))
{
    bool was = fake_enter(env);
    struct ask a = {0};
    fake_with_thread(fake_decode(env->self, peer), visit, &a);
    fake_leave(env, was);
    return a.answer;
}

static uint8_t thread_is_interrupted(struct strobe_jni *env, void *this)
{
    return native_ask_thread(env, this, ask_interrupted) != 0;
}

static int32_t thread_tid(struct strobe_jni *env, void *this)
{
    return native_ask_thread(env, this, ask_tid);
}

static void native_interrupt(struct fake_thread *t, void *ctx)
{
    (void)ctx;
    fake_interrupt(t);
}

static void thread_interrupt(struct strobe_jni *env, void *this)
{
    bool was = fake_enter(env);
    fake_with_thread(fake_decode(env->self, this), native_interrupt, NULL);
    fake_leave(env, was);
}

static void thread_create(struct strobe_jni *env, void *class, void *peer, int64_t stack_bytes, uint8_t is_daemon)
{
    (void)class;
    (void)stack_bytes;
    (void)is_daemon;
    bool was = fake_enter(env);
    if (!fake_thread_start(env->self, fake_ref_of(fake_decode(env->self, peer))))
        fake_throw(env->self, "Ljava/lang/OutOfMemoryError;", "no thread could be started");
    fake_leave(env, was);
}

static void thread_set_name(struct strobe_jni *env, void *this, void *name)
{
    bool was = fake_enter(env);
    char text[128];
    fake_string_text(fake_decode(env->self, name), text, sizeof text);
    if (fake_decode(env->self, this) == fake_thread_peer(env->self))
        fake_thread_set_name(env->self, text);
    fake_leave(env, was);
}

static void thread_sleep(struct strobe_jni *env, void *class, void *lock, int64_t ms, int32_t ns)
{
    (void)class;
    bool was = fake_enter(env);
    fake_monitor_sleep(env->self, fake_decode(env->self, lock), ms, ns);
    fake_leave(env, was);
}

static void thread_yield(struct strobe_jni *env, void *this)
{
    (void)env;
    (void)this;
    fake_yield();
}

static uint8_t thread_holds(struct strobe_jni *env, void *class, void *object)
{
    (void)class;
    bool was = fake_enter(env);
    struct fake_object *o = fake_decode(env->self, object);
    uint32_t owner = 0;
    if (o)
        fake_monitor_of(o, &owner);
    else
        fake_throw(env->self, "Ljava/lang/NullPointerException;", "object == null");
    fake_leave(env, was);
    return owner == fake_thread_id(env->self);
}

static void thread_set_priority(struct strobe_jni *env, void *this, int32_t priority)
{
    (void)env;
    (void)this;
    (void)priority;
}

/* ---- java.lang.Throwable ---- */

static void *throwable_fill(struct strobe_jni *env, void *class)
{
    (void)class;
    bool was = fake_enter(env);
    void *trace = fake_local_ref(env->self, fake_backtrace(env->self));
    fake_leave(env, was);
    return trace;
}

static bool set_text(struct fake_thread *self, void *element, const char *name, const char *text)
{
    struct fake_object *s = fake_string_new(self, text), *o = fake_decode(self, element);
    struct fake_field *f = fake_class_field(fake_class_of(o), name, "Ljava/lang/String;", false);
    if (s && f)
        FAKE_AT(o, f->offset, fake_ref) = fake_ref_of(s);
    return s != NULL;
}

static struct fake_object *trace_element(struct fake_thread *self, struct fake_class *c, const struct fake_method *m)
{
    struct fake_object *o = fake_alloc_slow(self, c, c->object_bytes);
    void *element = fake_local_ref(self, o);
    char name[512];
    *fake_pretty_type(name, name + sizeof name - 1, m->class->descriptor) = 0;
    bool done = o && set_text(self, element, "declaringClass", name) && set_text(self, element, "methodName", m->name);
    struct fake_field *line = fake_class_field(c, "lineNumber", "I", false);
    if (done && line)
        FAKE_AT(o, line->offset, int32_t) = m->flags & FAKE_ACC_NATIVE ? -2 : -1;
    return done ? o : NULL;
}

static void *throwable_elements(struct strobe_jni *env, void *class, void *backtrace)
{
    (void)class;
    bool was = fake_enter(env);
    struct fake_class *c = fake_class_find("Ljava/lang/StackTraceElement;"),
                      *array = fake_class_find("[Ljava/lang/StackTraceElement;");
    struct fake_array *trace = (void *)fake_decode(env->self, backtrace);
    void *made = NULL;
    if (trace && c && array) {
        struct fake_object *places =
            fake_object(*(fake_ref *)fake_elements(&trace->object, fake_class_of(&trace->object)));
        const uint64_t *methods = fake_elements(places, fake_class_of(places));
        int32_t depth = trace->length - 1;
        struct fake_object *out = fake_array_new(env->self, array, depth, fake_alloc_slow);
        made = fake_local_ref(env->self, out);
        uint32_t mark = fake_local_mark(env->self);
        for (int32_t i = 0; out && i < depth; i++) {
            struct fake_object *e = trace_element(env->self, c, fake_method_of((void *)(uintptr_t)methods[i]));
            ((fake_ref *)fake_elements(out, array))[i] = fake_ref_of(e);
            fake_local_release(env->self, mark);
        }
    }
    fake_leave(env, was);
    return made;
}

/* ---- java.lang.ref.Reference: it keeps its referent alive ---- */

static fake_ref *native_referent(struct strobe_jni *env, void *this)
{
    struct fake_object *o = fake_decode(env->self, this);
    struct fake_field *f = fake_class_field(fake_class_of(o), "referent", "Ljava/lang/Object;", false);
    FAKE_CHECK(f);
    return &FAKE_AT(o, f->offset, fake_ref);
}

static void *reference_get(struct strobe_jni *env, void *this)
{
    bool was = fake_enter(env);
    void *got = fake_local_ref(env->self, fake_object(*native_referent(env, this)));
    fake_leave(env, was);
    return got;
}

static void reference_clear(struct strobe_jni *env, void *this)
{
    bool was = fake_enter(env);
    *native_referent(env, this) = 0;
    fake_leave(env, was);
}

/* ---- java.lang.Class, System, Runtime ---- */

static void *class_for_name(struct strobe_jni *env, void *class, void *name, uint8_t initialize, void *loader)
{
    (void)class;
    (void)loader;
    bool was = fake_enter(env);
    char text[500] = "", descriptor[512];
    fake_string_text(fake_decode(env->self, name), text, sizeof text);
    snprintf(descriptor, sizeof descriptor, text[0] == '[' ? "%s" : "L%s;", text);
    for (char *p = descriptor; *p; p++)
        *p = (char)(*p == '.' ? '/' : *p);
    struct fake_class *c = fake_class_find(descriptor);
    if (!c)
        fake_throw(env->self, "Ljava/lang/ClassNotFoundException;", text);
    else if (initialize)
        fake_class_initialize(env->self, c);
    void *found = c ? fake_local_ref(env->self, c->mirror) : NULL;
    fake_leave(env, was);
    return found;
}

static void *class_name(struct strobe_jni *env, void *this)
{
    bool was = fake_enter(env);
    char name[512];
    *fake_pretty_type(name, name + sizeof name - 1, fake_decode_class(env, this)->descriptor) = 0;
    void *made = fake_local_ref(env->self, fake_string_new(env->self, name));
    fake_leave(env, was);
    return made;
}

static void system_copy(struct strobe_jni *env, void *class, void *from, int32_t from_at, void *to, int32_t to_at,
                        int32_t count)
{
    (void)class;
    bool was = fake_enter(env);
    struct fake_array *a = (void *)fake_decode(env->self, from), *b = (void *)fake_decode(env->self, to);
    struct fake_class *c = a ? fake_class_of(&a->object) : NULL, *d = b ? fake_class_of(&b->object) : NULL;
    if (!a || !b)
        fake_throw(env->self, "Ljava/lang/NullPointerException;", !a ? "src == null" : "dst == null");
    else if (!c->component || !d->component || (c != d && (c->component->primitive || d->component->primitive)))
        fake_throw(env->self, "Ljava/lang/ArrayStoreException;", "Incompatible types");
    else if (from_at < 0 || to_at < 0 || count < 0 || from_at > a->length - count || to_at > b->length - count)
        fake_throw(env->self, "Ljava/lang/ArrayIndexOutOfBoundsException;", "arraycopy: out of range");
    else
        memmove((char *)fake_elements(&b->object, d) + ((size_t)to_at << d->element_shift),
                (char *)fake_elements(&a->object, c) + ((size_t)from_at << c->element_shift),
                (size_t)count << c->element_shift);
    fake_leave(env, was);
}

static int64_t system_nanos(struct strobe_jni *env, void *class)
{
    (void)env;
    (void)class;
    return (int64_t)fake_now_ns();
}

static void runtime_gc(struct strobe_jni *env, void *this)
{
    (void)this;
    bool was = fake_enter(env);
    fake_collect(env->self, true);
    fake_leave(env, was);
}

static void vm_gc(struct strobe_jni *env, void *this)
{
    (void)this;
    bool was = fake_enter(env);
    fake_collect(env->self, false);
    fake_leave(env, was);
}

/* Returns null when the library was loaded, else the reason why it was not. */
static void *runtime_load(struct strobe_jni *env, void *class, void *name, void *loader, void *caller)
{
    (void)class;
    (void)loader;
    (void)caller;
    bool was = fake_enter(env);
    char *path = fake_string_utf(fake_decode(env->self, name));
    fake_leave(env, false);
    void *library = dlopen(path, RTLD_NOW);
    const char *why = library ? NULL : dlerror();
    int32_t (*on_load)(struct strobe_jvm *, void *) = NULL;
    if (library)
        *(void **)(void *)&on_load = dlsym(library, "JNI_OnLoad");
    if (on_load && on_load(fake_vm(), NULL) < 0)
        why = "bad JNI version returned from JNI_OnLoad";
    fake_to_runnable(env->self);
    void *text = why ? fake_local_ref(env->self, fake_string_new(env->self, why)) : NULL;
    fake_leave(env, was);
    free(path);
    return text;
}

const struct fake_native fake_natives_lang[] = {
    FAKE_BOUND("Ljava/lang/Object;", "internalClone", "()Ljava/lang/Object;", object_clone),
    FAKE_BOUND("Ljava/lang/Object;", "wait", "(JI)V", object_wait),
    FAKE_BOUND("Ljava/lang/Object;", "notify", "()V", object_notify),
    FAKE_BOUND("Ljava/lang/Object;", "notifyAll", "()V", object_notify_all),
    FAKE_BOUND("Ljava/lang/Object;", "identityHashCodeNative", "(Ljava/lang/Object;)I", object_hash),
    FAKE_BOUND("Ljava/lang/Thread;", "currentThread", "()Ljava/lang/Thread;", thread_current),
    FAKE_BOUND("Ljava/lang/Thread;", "interrupted", "()Z", thread_interrupted),
    FAKE_BOUND("Ljava/lang/Thread;", "isInterrupted", "()Z", thread_is_interrupted),
    FAKE_BOUND("Ljava/lang/Thread;", "interrupt0", "()V", thread_interrupt),
    FAKE_BOUND("Ljava/lang/Thread;", "getNativeTid", "()I", thread_tid),
    FAKE_BOUND("Ljava/lang/Thread;", "nativeCreate", "(Ljava/lang/Thread;JZ)V", thread_create),
    FAKE_BOUND("Ljava/lang/Thread;", "setNativeName", "(Ljava/lang/String;)V", thread_set_name),
    FAKE_BOUND("Ljava/lang/Thread;", "setPriority0", "(I)V", thread_set_priority),
    FAKE_BOUND("Ljava/lang/Thread;", "holdsLock", "(Ljava/lang/Object;)Z", thread_holds),
    FAKE_BOUND("Ljava/lang/Thread;", "sleep", "(Ljava/lang/Object;JI)V", thread_sleep),
    FAKE_BOUND("Ljava/lang/Thread;", "yield", "()V", thread_yield),
    FAKE_BOUND("Ljava/lang/Throwable;", "nativeFillInStackTrace", "()Ljava/lang/Object;", throwable_fill),
    FAKE_BOUND("Ljava/lang/Throwable;", "nativeGetStackTrace", "(Ljava/lang/Object;)[Ljava/lang/StackTraceElement;",
               throwable_elements),
    FAKE_BOUND("Ljava/lang/ref/Reference;", "getReferent", "()Ljava/lang/Object;", reference_get),
    FAKE_BOUND("Ljava/lang/ref/Reference;", "clearReferent", "()V", reference_clear),
    FAKE_BOUND("Ljava/lang/Class;", "classForName", "(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;",
               class_for_name),
    FAKE_BOUND("Ljava/lang/Class;", "getNameNative", "()Ljava/lang/String;", class_name),
    FAKE_BOUND("Ljava/lang/System;", "arraycopy", "(Ljava/lang/Object;ILjava/lang/Object;II)V", system_copy),
    FAKE_BOUND("Ljava/lang/System;", "nanoTime", "()J", system_nanos),
    FAKE_BOUND("Ljava/lang/Runtime;", "gc", "()V", runtime_gc),
    FAKE_BOUND("Ljava/lang/Runtime;", "nativeGc", "()V", runtime_gc),
    FAKE_BOUND("Ljava/lang/Runtime;", "nativeLoad",
               "(Ljava/lang/String;Ljava/lang/ClassLoader;Ljava/lang/Class;)Ljava/lang/String;", runtime_load),
    FAKE_BOUND("Ldalvik/system/VMRuntime;", "concurrentGC", "()V", vm_gc),
    FAKE_BOUND("Ldalvik/system/VMRuntime;", "requestConcurrentGC", "()V", vm_gc),
    {0},
};
