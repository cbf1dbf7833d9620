/* The tables of JNIEnv and JavaVM, and libart's exported functions that make a virtual machine. */
#include "sim/fake/art/jni/jni.h"
#include "engine/base/error.h"

#include "engine/backend/art/jni.h"
#include "sim/fake/art/jni/natives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JNIEnv ---- */

static _Noreturn void jni_absent_function(const char *place)
{
    fprintf(stderr, "fake libart: the JNI function at place %s is not there\n", place);
    abort();
}

#define ABSENT(n)                                                                                                      \
    static void absent_##n(void)                                                                                       \
    {                                                                                                                  \
        jni_absent_function(#n);                                                                                       \
    }
/* clang-format off */
#define TEN(p) \
    ABSENT(p##0) ABSENT(p##1) ABSENT(p##2) ABSENT(p##3) ABSENT(p##4) ABSENT(p##5) ABSENT(p##6) ABSENT(p##7) \
    ABSENT(p##8) ABSENT(p##9)
#define ALL(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) \
    X(18) X(19) X(20) X(21) X(22) X(23)
/* clang-format on */
#define NAMES(p)                                                                                                       \
    absent_##p##0, absent_##p##1, absent_##p##2, absent_##p##3, absent_##p##4, absent_##p##5, absent_##p##6,           \
        absent_##p##7, absent_##p##8, absent_##p##9,

ALL(TEN)

static const void *const *env_table(void)
{
    static void (*const absents[])(void) = {ALL(NAMES)};
    static const void *table[FAKE_JNI_PLACES];
    for (int i = 0; i < FAKE_JNI_PLACES; i++)
        table[i] = (const void *)(uintptr_t)absents[i];
    table[0] = table[1] = table[2] = table[3] = NULL; /* reserved */
    fake_jni_fill_objects(table);
    fake_jni_fill_calls(table);
    fake_jni_fill_fields(table);
    fake_jni_fill_arrays(table);
    return table;
}

struct strobe_jni *fake_jni_new(struct fake_thread *self)
{
    static const void *const *_Atomic table;
    if (!table)
        table = env_table();
    struct strobe_jni *env = calloc(1, sizeof *env);
    FAKE_CHECK(env);
    env->table = table;
    env->self = self;
    env->vm = fake_vm();
    return env;
}

void fake_jni_free(struct strobe_jni *env)
{
    free(env->locals);
    free(env->frames);
    free(env);
}

/* ---- JavaVM ---- */

enum { OK = 0, DETACHED = -2, VERSION_ERROR = -3, EXISTS = -5 };

static bool version_known(int32_t version)
{
    return version == 0x00010002 || version == 0x00010004 || version == 0x00010006;
}

static int32_t attach_as(struct strobe_jni **out, const struct strobe_jvm_attach *how, bool as_daemon)
{
    if (how && !version_known(how->version))
        return VERSION_ERROR;
    struct fake_thread *self = fake_self();
    if (!self)
        self = fake_thread_attach(how ? how->name : NULL, as_daemon, false);
    *out = self ? fake_thread_env(self) : NULL;
    return self ? OK : -1;
}

static int32_t jvm_attach(struct strobe_jvm *vm, struct strobe_jni **out, const struct strobe_jvm_attach *how)
{
    (void)vm;
    return attach_as(out, how, false);
}

static int32_t attach_as_daemon(struct strobe_jvm *vm, struct strobe_jni **out, const struct strobe_jvm_attach *how)
{
    (void)vm;
    return attach_as(out, how, true);
}

static int32_t jvm_detach(struct strobe_jvm *vm)
{
    (void)vm;
    if (!fake_self())
        return -1;
    fake_thread_detach(fake_self());
    return OK;
}

static int32_t get_env(struct strobe_jvm *vm, struct strobe_jni **out, int32_t version)
{
    (void)vm;
    *out = NULL;
    if (!version_known(version))
        return VERSION_ERROR;
    if (!fake_self())
        return DETACHED;
    *out = fake_thread_env(fake_self());
    return OK;
}

/* Detaches the calling thread. Other threads and the memory stay until the process ends. */
static int32_t jvm_destroy(struct strobe_jvm *vm)
{
    return fake_self() ? jvm_detach(vm) : OK;
}

/* ---- exports of libart ---- */

struct option {
    const char *text;
    void *extra;
};
struct arguments {
    int32_t version, count;
    const struct option *options;
    uint8_t ignores_unknown;
};

static bool open_class_path(const char *path)
{
    struct strobe_error error = {""};
    char *copy = strdup(path), *rest = copy;
    bool opened = copy != NULL;
    for (char *one; opened && (one = strsep(&rest, ":")) != NULL;)
        opened = *one == 0 || fake_dex_open(one, &error);
    if (!opened)
        fprintf(stderr, "fake libart: %s\n", error.text);
    free(copy);
    return opened;
}

/* Initializes the classes whose statics the runtime itself uses, before any Java thread runs. */
static bool initialize_first(struct fake_thread *self)
{
    static const char *const first[] = {
        "Ljava/lang/Object;", "Ljava/lang/Class;",       "Ljava/lang/String;",        "Ljava/lang/ThreadGroup;",
        "Ljava/lang/Thread;", "Ljava/util/Collections;", "Llibcore/util/EmptyArray;", "Ljava/lang/StackOverflowError;",
    };
    fake_to_runnable(self);
    bool done = true;
    for (size_t i = 0; i < sizeof first / sizeof *first && done; i++) {
        struct fake_class *c = fake_class_find(first[i]);
        done = !c || fake_class_initialize(self, c);
    }
    fake_to_native(self, FAKE_NATIVE);
    return done;
}

int32_t fake_create_vm(struct strobe_jvm **vm, struct strobe_jni **env, const struct arguments *arguments)
    FAKE_EXPORT("JNI_CreateJavaVM");
int32_t fake_created_vms(struct strobe_jvm **vms, int32_t room, int32_t *count) FAKE_EXPORT("JNI_GetCreatedJavaVMs");
int32_t fake_default_arguments(void *arguments) FAKE_EXPORT("JNI_GetDefaultJavaVMInitArgs");

int32_t fake_create_vm(struct strobe_jvm **vm, struct strobe_jni **env, const struct arguments *arguments)
{
    static const void *const table[] = {
        NULL,
        NULL,
        NULL,
        (const void *)(uintptr_t)jvm_destroy,
        (const void *)(uintptr_t)jvm_attach,
        (const void *)(uintptr_t)jvm_detach,
        (const void *)(uintptr_t)get_env,
        (const void *)(uintptr_t)attach_as_daemon,
    };
    static const char boot[] = "-Xbootclasspath:";
    if (!version_known(arguments->version))
        return VERSION_ERROR;
    if (fake_vm())
        return EXISTS;
    fake_quick_frames = true;
    const char *class_path = "";
    for (int32_t i = 0; i < arguments->count; i++) {
        const char *text = arguments->options[i].text;
        if (strcmp(text, "-Xint") == 0)
            fake_quick_frames = false;
        else if (strncmp(text, boot, sizeof boot - 1) == 0)
            class_path = text + sizeof boot - 1;
        else if (strcmp(text, "-Xfake-inlined") == 0)
            fake_inlined_frames = true;
    }
    *vm = fake_runtime_new(table);
    if (!open_class_path(class_path))
        return -1;
    fake_natives_bind();
    struct fake_thread *self = fake_thread_attach("main", false, true);
    if (!self || !initialize_first(self))
        return -1;
    *env = fake_thread_env(self);
    return OK;
}

int32_t fake_created_vms(struct strobe_jvm **vms, int32_t room, int32_t *count)
{
    *count = fake_vm() ? 1 : 0;
    if (*count && room > 0)
        vms[0] = fake_vm();
    return OK;
}

/* The runtime has no default arguments, either. */
int32_t fake_default_arguments(void *arguments)
{
    (void)arguments;
    return -1;
}
