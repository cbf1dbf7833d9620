#include "tests/contract_art/support/java.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Indexes in the function table of a JNIEnv (JNI specification, chapter 4), beyond those that the engine uses. */
enum {
    ALLOC_OBJECT = 27,
    IS_SAME = 24,
    IS_INSTANCE = 32,
    NEW_WEAK = 226,
    MONITOR_ENTER = 217,
    MONITOR_EXIT = 218,
    CALL_OBJECT = 36,
    CALL_STATIC_OBJECT = 116, /* the variant with an array of arguments; the next type is three indexes further */
};

#define CALL(type)           type (*)(struct strobe_jni *, void *, strobe_jmethod, const union strobe_jvalue *)
#define AT(env, place, type) ((type)(uintptr_t)strobe_jni_at(env, (enum strobe_jni_place)(place)))

typedef int (*on_object)(struct strobe_jni *, strobe_jobject);
typedef strobe_jobject (*to_object)(struct strobe_jni *, strobe_jobject);

_Noreturn static void missing(const char *what, const char *signature)
{
    fprintf(stderr, "%s%s is not there\n", what, signature);
    exit(1);
}

/* Returns the offset in the table for the method's return type. The types are in the order Object, Boolean, Byte, Char,
 * Short, Int, Long, Float, Double, Void. */
static int type_at(const char *signature)
{
    static const char types[] = "LZBCSIJFDV";
    const char *of = strchr(signature, ')') + 1;
    const char *at = strchr(types, *of == '[' ? 'L' : *of);
    return (int)(at - types) * 3;
}

static union strobe_jvalue call(struct strobe_jni *env, int first, void *target, strobe_jmethod m,
                                const char *signature, const union strobe_jvalue *arguments)
{
    union strobe_jvalue value = {0};
    int place = first + type_at(signature);
    const char type = strchr(signature, ')')[1];
    if (type == 'L' || type == '[')
        value.l = AT(env, place, CALL(void *))(env, target, m, arguments);
    else if (type == 'J')
        value.j = AT(env, place, CALL(int64_t))(env, target, m, arguments);
    else if (type == 'Z')
        value.i = AT(env, place, CALL(uint8_t))(env, target, m, arguments);
    else
        value.i = AT(env, place, CALL(int32_t))(env, target, m, arguments);
    return value;
}

union strobe_jvalue java_static(struct strobe_jni *env, const char *class, const char *name, const char *signature,
                                const union strobe_jvalue *arguments)
{
    strobe_jclass c = strobe_jni_find_class(env, class);
    strobe_jmethod m = strobe_jni_static_method(env, c, name, signature);
    if (!m)
        missing(name, signature);
    union strobe_jvalue value = call(env, CALL_STATIC_OBJECT, c, m, signature, arguments);
    AT(env, STROBE_JNI_DELETE_LOCAL_REF, on_object)(env, c);
    return value;
}

union strobe_jvalue java_virtual(struct strobe_jni *env, strobe_jobject object, const char *name, const char *signature,
                                 const union strobe_jvalue *arguments)
{
    strobe_jclass c = AT(env, STROBE_JNI_GET_OBJECT_CLASS, to_object)(env, object);
    strobe_jmethod m = strobe_jni_method(env, c, name, signature);
    if (!m)
        missing(name, signature);
    union strobe_jvalue value = call(env, CALL_OBJECT, object, m, signature, arguments);
    AT(env, STROBE_JNI_DELETE_LOCAL_REF, on_object)(env, c);
    return value;
}

strobe_jobject java_global(struct strobe_jni *env, strobe_jobject object)
{
    strobe_jobject global = AT(env, STROBE_JNI_NEW_GLOBAL_REF, to_object)(env, object);
    AT(env, STROBE_JNI_DELETE_LOCAL_REF, on_object)(env, object);
    return global;
}

strobe_jobject java_new(struct strobe_jni *env, const char *class)
{
    strobe_jclass c = strobe_jni_find_class(env, class);
    if (!c)
        missing(class, "");
    strobe_jobject local = AT(env, ALLOC_OBJECT, to_object)(env, c);
    AT(env, STROBE_JNI_DELETE_LOCAL_REF, on_object)(env, c);
    return java_global(env, local);
}

strobe_jobject java_weak(struct strobe_jni *env, strobe_jobject object)
{
    return AT(env, NEW_WEAK, to_object)(env, object);
}

void java_drop(struct strobe_jni *env, strobe_jobject global)
{
    AT(env, STROBE_JNI_DELETE_GLOBAL_REF, on_object)(env, global);
}

bool java_same(struct strobe_jni *env, strobe_jobject a, strobe_jobject b)
{
    return AT(env, IS_SAME, uint8_t(*)(struct strobe_jni *, strobe_jobject, strobe_jobject))(env, a, b);
}

int java_enter(struct strobe_jni *env, strobe_jobject object)
{
    return AT(env, MONITOR_ENTER, on_object)(env, object);
}

int java_exit(struct strobe_jni *env, strobe_jobject object)
{
    return AT(env, MONITOR_EXIT, on_object)(env, object);
}

void java_wait(struct strobe_jni *env, strobe_jobject object, int64_t ms)
{
    java_virtual(env, object, "wait", "(J)V", &(union strobe_jvalue){.j = ms});
}

void java_notify(struct strobe_jni *env, strobe_jobject object, bool all)
{
    java_virtual(env, object, all ? "notifyAll" : "notify", "()V", NULL);
}

bool java_holds(struct strobe_jni *env, strobe_jobject object)
{
    return java_static(env, "java/lang/Thread", "holdsLock", "(Ljava/lang/Object;)Z",
                       &(union strobe_jvalue){.l = object})
        .i;
}

bool java_thrown(struct strobe_jni *env, const char *class)
{
    strobe_jobject e = AT(env, STROBE_JNI_EXCEPTION_OCCURRED, strobe_jobject(*)(struct strobe_jni *))(env);
    if (!e)
        return false;
    AT(env, STROBE_JNI_EXCEPTION_CLEAR, void (*)(struct strobe_jni *))(env);
    strobe_jclass c = strobe_jni_find_class(env, class);
    bool is = c && AT(env, IS_INSTANCE, uint8_t(*)(struct strobe_jni *, strobe_jobject, strobe_jclass))(env, e, c);
    AT(env, STROBE_JNI_DELETE_LOCAL_REF, on_object)(env, e);
    return is;
}

/* ---- threads ---- */

static void *run(void *arg)
{
    struct java_thread *t = arg;
    struct strobe_jni *env;
    struct strobe_jvm_attach how = {STROBE_JNI_VERSION, "case", NULL};
    t->tid = gettid();
    int32_t (*attach)(struct strobe_jvm *, struct strobe_jni **, void *) =
        (int32_t(*)(struct strobe_jvm *, struct strobe_jni **, void *))(uintptr_t)strobe_jvm_at(t->vm,
                                                                                                STROBE_JVM_ATTACH);
    if (attach(t->vm, &env, &how) != STROBE_JNI_OK)
        missing("AttachCurrentThread", "");
    t->peer = java_global(env, java_static(env, "java/lang/Thread", "currentThread", "()Ljava/lang/Thread;", NULL).l);
    t->running = 1;
    t->run(env, t->arg);
    t->running = 2;
    ((int32_t(*)(struct strobe_jvm *))(uintptr_t)strobe_jvm_at(t->vm, STROBE_JVM_DETACH))(t->vm);
    return NULL;
}

void java_thread_start(struct java_thread *t, struct strobe_jvm *vm, void (*entry)(struct strobe_jni *, void *),
                       void *arg)
{
    *t = (struct java_thread){.vm = vm, .run = entry, .arg = arg};
    if (pthread_create(&t->thread, NULL, run, t) != 0)
        missing("a thread", "");
    while (!t->running)
        usleep(200);
}

void java_thread_join(struct java_thread *t)
{
    pthread_join(t->thread, NULL);
}

void java_thread_asleep(const struct java_thread *t)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)t->tid);
    for (int times = 0; times < 5 && t->running != 2;) {
        FILE *f = fopen(path, "r");
        const char *state = f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
        times = state && state[2] == 'S' ? times + 1 : 0;
        if (f)
            fclose(f);
        usleep(2000);
    }
}
