#include "sim/player/art.h"
#include "engine/base/error_format.h"

#include "engine/cmd/preload.h"
#include "sim/genuine/jni_calls.h"
#include "sim/player/dex/dex.h"
#include "sim/player/real.h"
#include "sim/player/runtime.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Arguments of the functions that open the runtime. */
struct opening {
    struct sim_real_play *play;
    struct sim_art_play *art;
    struct strobe_jni *env;
    struct strobe_error *error;
};

static enum strobe_status art_fail(const struct opening *o, enum strobe_status status, const char *what,
                                   const char *why)
{
    strobe_error_set(o->error, "%s: %s", what, why);
    return status;
}

/* ---- the runtime ---- */

/* Writes the scenario's dex file to a memfd and stores its path. */
static enum strobe_status make_dex(const struct opening *o, char *path, size_t path_bytes)
{
    void *bytes;
    size_t count;
    enum strobe_status status = sim_dex_of_scenario(o->play->scenario, &bytes, &count, o->error);
    if (status != STROBE_OK)
        return status;
    int fd = memfd_create("scenario.dex", 0);
    snprintf(path, path_bytes, "/proc/self/fd/%d", fd);
    bool written = fd >= 0 && write(fd, bytes, count) == (ssize_t)count;
    free(bytes);
    return written ? STROBE_OK : art_fail(o, STROBE_IO, "scenario.dex", strerror(errno));
}

static enum strobe_status art_start_runtime(const struct opening *o, const char *runtime)
{
    char path[64];
    const char *const dex[] = {path, NULL};
    struct sim_art_options options = {.dex = dex, .prepare = sim_real_loader.prepare};
    enum strobe_status status = make_dex(o, path, sizeof path);
    if (status == STROBE_OK)
        status = sim_art_start(runtime, &options, &o->art->art, o->error);
    if (status == STROBE_OK && !o->art->art.genuine)
        *(void **)&o->art->waits = dlsym(o->art->art.library, "fake_own_waits");
    return status;
}

/* ---- classes and methods ---- */

static strobe_jclass art_find_class(const struct opening *o, const char *name)
{
    strobe_jclass local = strobe_jni_find_class(o->env, name);
    return local ? sim_jni_global(o->env, local) : NULL;
}

static struct sim_art_method static_method(const struct opening *o, const char *class, const char *name,
                                           const char *signature)
{
    struct sim_art_method m = {.class = art_find_class(o, class)};
    if (m.class)
        m.method = strobe_jni_static_method(o->env, m.class, name, signature);
    return m;
}

/* Finds a method of a class. Makes an object of the class as well, without its constructor, when `object` is not NULL
 * and *object is NULL. */
static strobe_jmethod art_find_method(const struct opening *o, const char *class, const char *name,
                                      const char *signature, strobe_jobject *object)
{
    strobe_jclass c = strobe_jni_find_class(o->env, class);
    strobe_jmethod m = c ? strobe_jni_method(o->env, c, name, signature) : NULL;
    if (m && object && !*object)
        *object = sim_jni_global(o->env, sim_jni_allocate(o->env, c));
    return m;
}

static bool find_runtime_methods(const struct opening *o)
{
    struct sim_art_play *a = o->art;
    a->object = art_find_class(o, "java/lang/Object");
    a->wait = art_find_method(o, "java/lang/Object", "wait", "(JI)V", NULL);
    a->notify = art_find_method(o, "java/lang/Object", "notify", "()V", NULL);
    a->notify_all = art_find_method(o, "java/lang/Object", "notifyAll", "()V", NULL);
    struct sim_art_method current = static_method(o, "java/lang/Thread", "currentThread", "()Ljava/lang/Thread;");
    a->thread = current.class;
    a->current = current.method;
    a->sleep = static_method(o, "java/lang/Thread", "sleep", "(Ljava/lang/Object;JI)V").method;
    a->park = art_find_method(o, "sun/misc/Unsafe", "park", "(ZJ)V", &a->unsafe);
    a->unpark = art_find_method(o, "sun/misc/Unsafe", "unpark", "(Ljava/lang/Object;)V", NULL);
    a->poll = art_find_method(o, "android/os/MessageQueue", "nativePollOnce", "(JI)V", &a->queue);
    a->transact = art_find_method(o, "android/os/BinderProxy", "transactNative",
                                  "(ILandroid/os/Parcel;Landroid/os/Parcel;I)Z", &a->binder);
    a->load = static_method(o, "java/lang/Runtime", "nativeLoad",
                            "(Ljava/lang/String;Ljava/lang/ClassLoader;Ljava/lang/Class;)Ljava/lang/String;");
    a->allocate = static_method(o, "strobe/Player", "allocate", "(I)[B");
    strobe_jclass error = art_find_class(o, "java/lang/RuntimeException");
    a->thrown = error ? sim_jni_global(o->env, sim_jni_allocate(o->env, error)) : NULL;
    return a->object && a->wait && a->notify && a->notify_all && a->current && a->sleep && a->park && a->unpark &&
           a->poll && a->transact && a->load.method && a->allocate.method && a->thrown;
}

static bool bind_runtime_natives(const struct opening *o)
{
    static const struct strobe_jni_native player[] = {
        {"step", "(J)I", (void *)(uintptr_t)sim_real_art_step},
        {"caught", "(JLjava/lang/Throwable;)Z", (void *)(uintptr_t)sim_real_art_caught},
        {"thrown", "(J)Ljava/lang/Throwable;", (void *)(uintptr_t)sim_real_art_thrown},
    };
    static const struct strobe_jni_native queue[] = {
        {"nativePollOnce", "(JI)V", (void *)(uintptr_t)sim_real_art_poll},
    };
    static const struct strobe_jni_native binder[] = {
        {"transactNative", "(ILandroid/os/Parcel;Landroid/os/Parcel;I)Z", (void *)(uintptr_t)sim_real_art_transact},
    };
    static const struct strobe_jni_native loader[] = {
        {"nativeLoad", "(Ljava/lang/String;Ljava/lang/ClassLoader;Ljava/lang/Class;)Ljava/lang/String;",
         (void *)(uintptr_t)sim_real_art_load},
    };
    return sim_jni_bind(o->env, "strobe/Player", player, 3) &&
           sim_jni_bind(o->env, "android/os/MessageQueue", queue, 1) &&
           sim_jni_bind(o->env, "android/os/BinderProxy", binder, 1) &&
           sim_jni_bind(o->env, "java/lang/Runtime", loader, 1);
}

/* Loads libapp.so, whose functions are those of native methods. */
static enum strobe_status open_app(const struct opening *o)
{
    char path[STROBE_PRELOAD_BYTES];
    if (!strobe_library_find("libapp.so", path, sizeof path))
        return art_fail(o, STROBE_IO, "libapp.so", "not found beside the command nor in ../lib/strobe");
    void *library = dlopen(path, RTLD_NOW);
    const char *frames = library ? dlsym(library, "sim_app_frames") : NULL;
    if (!frames)
        return art_fail(o, STROBE_IO, "libapp.so", dlerror());
    o->play->frames = frames;
    o->art->native_step = sim_real_art_native_step;
    return STROBE_OK;
}

static enum strobe_status find_methods(const struct opening *o)
{
    const struct sim_scenario *s = o->play->scenario;
    o->art->methods = calloc(s->method_count + 1u, sizeof *o->art->methods);
    if (!o->art->methods)
        return art_fail(o, STROBE_IO, s->path, strerror(ENOMEM));
    for (uint32_t i = 0; i < s->method_count; i++) {
        char class[512], name[512];
        struct strobe_jni_native native = {name, "(J)V", sim_app_entry_of(o->play->frames, i)};
        sim_dex_method_name(s, i, class, name, sizeof class);
        if (!s->methods[i].managed && i >= SIM_REAL_METHODS)
            return art_fail(o, STROBE_BAD_INPUT, s->methods[i].name, "libapp.so has no function for it");
        if (!s->methods[i].managed && !sim_jni_bind(o->env, class, &native, 1))
            return art_fail(o, STROBE_BAD_INPUT, s->methods[i].name, "the runtime binds no native function to it");
        o->art->methods[i] = static_method(o, class, name, "(J)V");
        if (!o->art->methods[i].method)
            return art_fail(o, STROBE_BAD_INPUT, s->methods[i].name, "the runtime does not find it");
    }
    return STROBE_OK;
}

/* ---- the scenario's objects ---- */

/* Scans the scenario: sets frees, unparks and shared, and makes the objects of monitors. */
static void scan_operations(const struct opening *o)
{
    const struct sim_scenario *s = o->play->scenario;
    for (uint32_t i = 0; i < s->op_count; i++) {
        const struct sim_op *op = &s->ops[i];
        o->art->frees |= op->kind == SIM_OP_FREE;
        o->art->unparks |= op->kind == SIM_OP_UNPARK;
        for (uint32_t k = 0; k < i && op->kind == SIM_OP_WAIT; k++)
            if (s->ops[k].kind == SIM_OP_WAIT && s->ops[k].other == op->other && s->ops[k].object != op->object)
                o->play->locks[op->other].shared = true;
    }
    for (uint32_t i = 0; i < s->lock_count; i++)
        if (s->locks[i].kind == SIM_LOCK_MONITOR)
            o->play->locks[i].object = sim_jni_global(o->env, sim_jni_allocate(o->env, o->art->object));
}

/* ---- the engine ---- */

static enum strobe_status begin_capture(const struct opening *o, const char *session)
{
    struct strobe_art_options options = {
        .session_path = session, .library = o->art->art.library_name, .api = o->art->art.api};
    struct strobe_netease_options netease = {
        .session_path = session, .library = o->art->art.library_name, .api = o->art->art.api};
    o->art->by_netease = o->play->policy && !strcmp(o->play->policy, "netease");
    enum strobe_status status = o->art->by_netease ? sim_real_loader.begin_netease(o->art->art.vm, &netease, o->error)
                                                   : sim_real_loader.begin(o->art->art.vm, &options, o->error);
    o->art->captured = status == STROBE_OK;
    return status;
}

static void end_capture(struct sim_real_play *play)
{
    struct sim_art_play *p = play->art;
    struct strobe_jvm_attach how = {STROBE_JNI_VERSION, "director", NULL};
    void *env = NULL;
    int32_t (*attach)(struct strobe_jvm *, void **, void *) =
        (int32_t(*)(struct strobe_jvm *, void **, void *))(uintptr_t)strobe_jvm_at(p->art.vm, STROBE_JVM_ATTACH);
    if (p->captured && attach(p->art.vm, &env, &how) == STROBE_JNI_OK)
        (p->by_netease ? sim_real_loader.end_netease : sim_real_loader.end)();
}

/* ---- sim_real_runtime ---- */

/* Loads libstrobe-binder.so. Called before the engine starts, which hooks only the libraries that are loaded then. */
static void open_binder(const struct opening *o)
{
    char path[STROBE_PRELOAD_BYTES];
    void *library = strobe_library_find("libstrobe-binder.so", path, sizeof path) ? dlopen(path, RTLD_NOW) : NULL;
    if (library)
        *(void **)&o->art->call_binder = dlsym(library, "sim_call_binder");
}

/* Starts the runtime, finds and binds methods, makes the monitors' objects, and starts the capture. */
static enum strobe_status open_runtime(struct sim_real_play *p, const char *runtime, const char *session,
                                       struct strobe_error *error)
{
    static struct sim_art_play art;
    struct opening o = {.play = p, .art = &art, .error = error};
    p->art = &art;
    enum strobe_status status = art_start_runtime(&o, runtime);
    if (status != STROBE_OK)
        return status;
    o.env = art.art.env;
    if (!bind_runtime_natives(&o) || !find_runtime_methods(&o))
        return art_fail(&o, STROBE_UNSUPPORTED, runtime, "its boot class path lacks what the player calls");
    status = open_app(&o);
    if (status == STROBE_OK)
        status = find_methods(&o);
    if (status != STROBE_OK)
        return status;
    scan_operations(&o);
    art.answer = sim_real_art_answer;
    open_binder(&o);
    return session ? begin_capture(&o, session) : STROBE_OK;
}

static uint64_t art_charged_ns(void)
{
    return sim_real_loader.charged_ns ? sim_real_loader.charged_ns() : 0;
}

enum { STACK_BYTES = 16 << 20 }; /* frames of an interpreter are larger */

const struct sim_real_runtime sim_real_runtime = {
    .executor = &sim_executor_art,
    .stack_bytes = STACK_BYTES,
    .open = open_runtime,
    .end = end_capture,
    .charged_ns = art_charged_ns,
};
