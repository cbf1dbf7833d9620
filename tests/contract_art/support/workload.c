#include "tests/contract_art/support/workload.h"
#include "engine/base/error.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Indexes in the function table of a JNIEnv that only cases use (JNI specification, chapter 4). */
enum { STATIC_FIELD_ID = 144, STATIC_INT = 150, SET_STATIC_BOOL = 155 };

static const void *must(const void *found, const char *what, const char *name)
{
    if (!found) {
        fprintf(stderr, "no %s %s\n", what, name);
        _exit(1);
    }
    return found;
}

static void *at(struct strobe_jni *env, int place)
{
    return strobe_jni_at(env, (enum strobe_jni_place)place);
}

static strobe_jclass class_of(struct strobe_jni *env, const char *name)
{
    return (strobe_jclass)(uintptr_t)must(strobe_jni_find_class(env, name), "class", name);
}

uint64_t workload_static(struct strobe_jni *env, const char *class, const char *name, const char *signature)
{
    return (uintptr_t)must(strobe_jni_static_method(env, class_of(env, class), name, signature), "static method", name);
}

uint64_t workload_method(struct strobe_jni *env, const char *class, const char *name, const char *signature)
{
    return (uintptr_t)must(strobe_jni_method(env, class_of(env, class), name, signature), "method", name);
}

static strobe_jfield static_field(struct strobe_jni *env, strobe_jclass class, const char *name, const char *signature)
{
    strobe_jfield (*find)(struct strobe_jni *, strobe_jclass, const char *, const char *) = (strobe_jfield(*)(
        struct strobe_jni *, strobe_jclass, const char *, const char *))(uintptr_t)at(env, STATIC_FIELD_ID);
    return (strobe_jfield)(uintptr_t)must(find(env, class, name, signature), "static field", name);
}

int32_t workload_int(struct strobe_jni *env, const char *class, const char *field)
{
    int32_t (*get)(struct strobe_jni *, strobe_jclass, strobe_jfield) =
        (int32_t(*)(struct strobe_jni *, strobe_jclass, strobe_jfield))(uintptr_t)at(env, STATIC_INT);
    strobe_jclass c = class_of(env, class);
    return get(env, c, static_field(env, c, field, "I"));
}

void workload_set_bool(struct strobe_jni *env, const char *class, const char *field, bool value)
{
    void (*set)(struct strobe_jni *, strobe_jclass, strobe_jfield, uint8_t) =
        (void (*)(struct strobe_jni *, strobe_jclass, strobe_jfield, uint8_t))(uintptr_t)at(env, SET_STATIC_BOOL);
    strobe_jclass c = class_of(env, class);
    set(env, c, static_field(env, c, field, "Z"), value);
}

void workload_bind(struct strobe_jni *env, const char *class, const char *name, const char *signature, void *function)
{
    int32_t (*bind)(struct strobe_jni *, strobe_jclass, const struct strobe_jni_native *, int32_t) =
        (int32_t(*)(struct strobe_jni *, strobe_jclass, const struct strobe_jni_native *, int32_t))(uintptr_t)at(
            env, STROBE_JNI_REGISTER_NATIVES);
    struct strobe_jni_native native = {name, signature, function};
    must(bind(env, class_of(env, class), &native, 1) == STROBE_JNI_OK ? "" : NULL, "native method to bind:", name);
}

void *workload_thread_of(struct strobe_jni *env, strobe_jobject thread)
{
    strobe_jfield (*find)(struct strobe_jni *, strobe_jclass, const char *, const char *) = (strobe_jfield(*)(
        struct strobe_jni *, strobe_jclass, const char *, const char *))(uintptr_t)at(env, STROBE_JNI_GET_FIELD_ID);
    int64_t (*get)(struct strobe_jni *, strobe_jobject, strobe_jfield) =
        (int64_t(*)(struct strobe_jni *, strobe_jobject, strobe_jfield))(uintptr_t)at(env, STROBE_JNI_GET_LONG_FIELD);
    strobe_jfield peer = find(env, class_of(env, "java/lang/Thread"), "nativePeer", "J");
    must(peer, "field", "java.lang.Thread.nativePeer");
    void *found = NULL;
    for (int i = 0; i < 1000 && !found; i++) {
        found = (void *)(uintptr_t)get(env, thread, peer);
        if (!found)
            workload_pause(1);
    }
    return (void *)(uintptr_t)must(found, "Thread", "of a started java.lang.Thread");
}

struct strobe_art_runtime workload_runtime(struct contract *c)
{
    struct strobe_linux here;
    struct strobe_art_runtime found;
    struct strobe_error error;
    strobe_linux_init(&here, clock_gettime);
    if (strobe_art_discover(&c->libart, &here.host, c->art.vm, strobe_art_current(&c->libart), workload_tid(), &found,
                            &error) != STROBE_OK)
        must(NULL, "discovery:", error.text);
    return found;
}

struct strobe_art_host *workload_host(struct contract *c)
{
    static struct strobe_art_host host;
    static struct strobe_art_runtime runtime;
    static struct strobe_art_threads threads;
    static struct strobe_art_walk walks[1];
    runtime = workload_runtime(c);
    strobe_art_host_init(&host, &c->libart, &runtime, &threads, walks);
    return &host;
}

uint32_t workload_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

void workload_pause(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}
