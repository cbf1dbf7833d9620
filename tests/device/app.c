/* An app in an Android runtime. It loads libstrobe.so through the runtime's own loader, as System.loadLibrary does, and
 * then works until it is killed: two threads report sections, wait for each other's monitor, call Java methods and
 * allocate. The fake runtimes have no loader, so there the app opens the library and calls JNI_OnLoad.
 *
 *   (exec -a PACKAGE app RUNTIME DEX LIBRARY [SESSION])
 *
 * RUNTIME: art11, art14, or fake24 to fake36. DEX: the app's code, fixtures/art/contract.dex. LIBRARY: libstrobe.so.
 * Without SESSION the app asks for no capture: the library reads debug.strobe.start. With SESSION the app begins a
 * capture by the Java class, with its flag CONTROL. System properties are files in the folder props, as those of the
 * device's shell. */
#include "engine/base/error.h"
#include "sim/genuine/jni_calls.h"
#include "sim/genuine/runtime.h"
#include "tests/contract_art/support/java.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STRING      "Ljava/lang/String;"
#define NATIVE_LOAD "(" STRING "Ljava/lang/ClassLoader;Ljava/lang/Class;)" STRING

enum { TEXT_BYTES = 1024, REPLACE = 1, CONTROL = 8 };

static struct sim_art art;

/* ---- the system ---- */

/* The C library here has no such function. The engine finds this one by dlsym, as it finds Android's. */
int __system_property_get(const char *name, char *value);
int __system_property_get(const char *name, char *value)
{
    enum { PROPERTY_BYTES = 92 };
    char path[256];
    snprintf(path, sizeof path, "props/%s", name);
    FILE *f = fopen(path, "re");
    if (!f || !fgets(value, PROPERTY_BYTES, f))
        value[0] = '\0';
    if (f)
        fclose(f);
    value[strcspn(value, "\n")] = '\0';
    return (int)strlen(value);
}

/* The stand-in of Android's C library (tests/android/shim.c), if there is one, comes before the runtime's libsigchain,
 * whose sigaction has glibc's structure here. */
__attribute__((constructor)) static void open_stand_in(void)
{
    dlopen("libc.so", RTLD_NOW | RTLD_GLOBAL);
}

/* ---- Runtime.nativeLoad ---- */

/* std::string of libstdc++, with which the runtime is built. A text of at most 15 bytes is in `here`. */
struct text {
    char *at;
    size_t bytes;
    union {
        char here[16];
        size_t room;
    } u;
};

static void read_string(struct strobe_jni *env, strobe_jobject string, char *out, size_t bytes)
{
    int32_t n =
        SIM_JNI_TYPED(int32_t(*)(struct strobe_jni *, strobe_jobject), env, STROBE_JNI_GET_STRING_LENGTH)(env, string);
    memset(out, 0, bytes);
    if ((size_t)n < bytes)
        SIM_JNI_TYPED(void (*)(struct strobe_jni *, strobe_jobject, int32_t, int32_t, char *), env,
                      STROBE_JNI_GET_STRING_UTF_REGION)
    (env, string, 0, n, out);
}

static strobe_jobject make_string(struct strobe_jni *env, const char *text)
{
    return SIM_JNI_TYPED(strobe_jobject(*)(struct strobe_jni *, const char *), env, STROBE_JNI_NEW_STRING_UTF)(env,
                                                                                                               text);
}

/* Android's libopenjdkjvm, which Debian does not build, calls the same function of the runtime for this method. */
static strobe_jobject native_load(struct strobe_jni *env, strobe_jclass class, strobe_jobject name,
                                  strobe_jobject loader, strobe_jclass caller)
{
    static const char load[] = "_ZN3art9JavaVMExt17LoadNativeLibraryEP7_JNIEnvRKNSt7__cxx1112basic_stringIcSt11char_"
                               "traitsIcESaIcEEEP8_jobjectP7_jclassPS8_";
    bool (*function)(struct strobe_jvm *, struct strobe_jni *, const struct text *, strobe_jobject, strobe_jclass,
                     struct text *);
    char path[TEXT_BYTES];
    (void)class;
    read_string(env, name, path, sizeof path);
    struct text wanted = {.at = path, .bytes = strlen(path)}, why = {0};
    wanted.u.room = sizeof path - 1;
    why.at = why.u.here;
    *(void **)&function = dlsym(art.library, load);
    if (!function)
        return make_string(env, "the runtime has no JavaVMExt::LoadNativeLibrary");
    return function(art.vm, env, &wanted, loader, caller, &why) ? NULL : make_string(env, why.at);
}

/* ---- the app ---- */

static void end_if(bool failed, const char *what, const char *why)
{
    if (!failed)
        return;
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

/* Ends the app when the method returned a text, which says why it failed. */
static void end_if_text(struct strobe_jni *env, strobe_jobject text, const char *what)
{
    char why[TEXT_BYTES] = "";
    if (text)
        read_string(env, text, why, sizeof why);
    end_if(text, what, why);
}

static void load_into_fake(const char *path)
{
    int32_t (*on_load)(struct strobe_jvm *, void *);
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    end_if(!library, path, library ? "" : dlerror());
    *(void **)&on_load = dlsym(library, "JNI_OnLoad");
    end_if(!on_load || on_load(art.vm, NULL) != STROBE_JNI_VERSION, path, "expected JNI_OnLoad of this version of JNI");
}

static void load_library(struct strobe_jni *env, const char *path)
{
    if (!art.genuine) {
        load_into_fake(path);
        return;
    }
    const struct strobe_jni_native native = {"nativeLoad", NATIVE_LOAD, (void *)(uintptr_t)native_load};
    end_if(!sim_jni_bind(env, "java/lang/Runtime", &native, 1), "Runtime.nativeLoad", "not there");
    const union strobe_jvalue arguments[] = {{.l = make_string(env, path)}, {.l = NULL}, {.l = NULL}};
    end_if_text(env, java_static(env, "java/lang/Runtime", "nativeLoad", NATIVE_LOAD, arguments).l, path);
}

static void start_capture(struct strobe_jni *env, const char *session)
{
    const union strobe_jvalue arguments[] = {
        {.l = make_string(env, session)}, {.i = REPLACE | CONTROL}, {.j = 0}, {.i = 0}};
    end_if_text(env, java_static(env, "strobe/Strobe", "startCapture", "(" STRING "IJI)" STRING, arguments).l, session);
}

static void call_main(struct strobe_jni *env, const char *name, const char *signature, union strobe_jvalue argument)
{
    java_static(env, "Main", name, signature, &argument);
}

_Noreturn static void work(struct strobe_jni *env, void *arg)
{
    (void)arg;
    const union strobe_jvalue section = {.l = java_global(env, make_string(env, "a turn"))};
    for (;;) {
        java_static(env, "strobe/Strobe", "beginSection", "(" STRING ")V", &section);
        call_main(env, "contend", "(I)V", (union strobe_jvalue){.i = 20});
        call_main(env, "a", "()V", (union strobe_jvalue){0});
        call_main(env, "alloc", "(I)V", (union strobe_jvalue){.i = 10});
        call_main(env, "waitMs", "(J)V", (union strobe_jvalue){.j = 2});
        java_static(env, "strobe/Strobe", "endSection", "()V", NULL);
    }
}

int main(int argc, char **argv)
{
    struct strobe_error error;
    struct java_thread other;
    char level[16];
    end_if(argc < 4, "app", "expected RUNTIME DEX LIBRARY [SESSION]");
    const char *const dex[] = {argv[2], NULL};
    end_if(sim_art_start(argv[1], &(struct sim_art_options){.dex = dex}, &art, &error) != STROBE_OK, argv[1],
           error.text);
    snprintf(level, sizeof level, "%d", art.api);
    setenv("STROBE_ART_API", level, 1);
    load_library(art.env, argv[3]);
    if (argc > 4)
        start_capture(art.env, argv[4]);
    java_thread_start(&other, art.vm, work, NULL);
    work(art.env, NULL);
}
