#include "sim/genuine/runtime.h"
#include "engine/base/error_format.h"

#include "sim/genuine/genuine.h"
#include "sim/genuine/jni_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Defined in dexes.S. */
extern const char sim_art_core11[], sim_art_core11_end[], sim_art_core14[], sim_art_core14_end[];

enum { OPTIONS_MAX = 16, CLASS_PATH_BYTES = 16384, FAKE_FIRST = 24, FAKE_LAST = 36, CORE14_SINCE = 34 };

/* The arguments of JNI_CreateJavaVM (JNI specification, chapter 5). */
struct vm_option {
    const char *text;
    void *more;
};
struct vm_arguments {
    int32_t version, count;
    struct vm_option *options;
    uint8_t ignore_unknown;
};

#if defined(__aarch64__) || defined(__SANITIZE_THREAD__)
/* The runtime gives its own threads stacks of 64 KiB, which the C library refuses here, so they get larger stacks.
 * libart finds this function because programs that start runtimes export it. */
int pthread_attr_setstack(pthread_attr_t *a, void *base, size_t bytes)
{
    static int (*real)(pthread_attr_t *, void *, size_t);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_attr_setstack");
    return bytes < 128 << 10 ? pthread_attr_setstacksize(a, 1 << 20) : real(a, base, bytes);
}
#endif

bool sim_art_known(const char *name, int *api)
{
    char *end;
    if (!strcmp(name, "art11") || !strcmp(name, "art14")) {
        *api = name[4] == '1' ? 30 : 34;
        return true;
    }
    if (strncmp(name, "fake", 4) != 0 || strlen(name) != 6)
        return false;
    long level = strtol(name + 4, &end, 10);
    *api = (int)level;
    return !*end && level >= FAKE_FIRST && level <= FAKE_LAST;
}

/* ---- the library ---- */

/* Searches beside this program, in the directory above, and where the fakes are installed. */
static bool find_fake(int api, char *out, size_t bytes)
{
    static const char *const places[] = {"%s/art/%d/libart.so", "%s/../art/%d/libart.so",
                                         "%s/../lib/strobe/art/%d/libart.so", "%s/../../lib/strobe/art/%d/libart.so"};
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    const char *folder = dirname(self);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(out, bytes, places[i], folder, api);
        if (access(out, R_OK) == 0)
            return true;
    }
    snprintf(out, bytes, places[0], folder, api);
    return false;
}

static enum strobe_status open_fake(struct sim_art *a, const char *library, struct strobe_error *error)
{
    char path[PATH_MAX + 48];
    if (!library && !find_fake(a->api, path, sizeof path)) {
        strobe_error_set(error, "%s: not built: make art", path);
        return STROBE_UNSUPPORTED;
    }
    a->library = dlopen(library ? library : path, RTLD_NOW | RTLD_GLOBAL);
    if (a->library)
        return STROBE_OK;
    strobe_error_set(error, "%s", dlerror());
    return STROBE_IO;
}

/* ---- the class path ---- */

/* Returns a file name for bytes in memory, which is valid as long as this process lives. */
static bool file_in_path_list(const char *begin, const char *end, char *path, size_t path_bytes)
{
    size_t bytes = (size_t)(end - begin);
    int fd = memfd_create("core.dex", 0);
    snprintf(path, path_bytes, "/proc/self/fd/%d", fd);
    return fd >= 0 && write(fd, begin, bytes) == (ssize_t)bytes;
}

static enum strobe_status class_path(const struct sim_art *a, const char *const *more, char *out, size_t out_bytes,
                                     struct strobe_error *error)
{
    char core[64];
    bool newer = a->api >= CORE14_SINCE;
    if (!file_in_path_list(newer ? sim_art_core14 : sim_art_core11, newer ? sim_art_core14_end : sim_art_core11_end,
                           core, sizeof core)) {
        strobe_error_set(error, "the boot class path: %s", strerror(errno));
        return STROBE_IO;
    }
    size_t n = (size_t)snprintf(out, out_bytes, "-Xbootclasspath:%s", core);
    for (; more && *more; more++) {
        if (access(*more, R_OK) != 0) {
            strobe_error_set(error, "%s: %s", *more, strerror(errno));
            return STROBE_IO;
        }
        n += (size_t)snprintf(out + n, n < out_bytes ? out_bytes - n : 0, ":%s", *more);
        if (n >= out_bytes) {
            strobe_error_set(error, "the boot class path is too long");
            return STROBE_IO;
        }
    }
    return STROBE_OK;
}

/* ---- start ---- */

static enum strobe_status create_genuine_runtime(struct sim_art *a, const struct sim_art_options *options,
                                                 struct strobe_error *error)
{
    char path[CLASS_PATH_BYTES];
    struct vm_option list[OPTIONS_MAX] = {
        {path, NULL},
        {"-Ximage:/nonexistent/boot.art", NULL},
        {"-Xnoimage-dex2oat", NULL},
        {"-Xusejit:false", NULL},
        {"-Xverify:none", NULL},
        {"-Xuse-stderr-logger", NULL},
        {"-Xmx64m", NULL},
    };
    struct vm_arguments arguments = {STROBE_JNI_VERSION, 7, list, 0};
    enum strobe_status status = class_path(a, options->dex, path, sizeof path, error);
    if (status != STROBE_OK)
        return status;
    if (options->interpreted)
        list[arguments.count++].text = "-Xint";
    if (options->inlined && !a->genuine)
        list[arguments.count++].text = "-Xfake-inlined";
    int32_t (*make)(struct strobe_jvm **, struct strobe_jni **, void *) =
        (int32_t(*)(struct strobe_jvm **, struct strobe_jni **, void *))(uintptr_t)dlsym(a->library,
                                                                                         "JNI_CreateJavaVM");
    setenv("ANDROID_LOG_TAGS", "*:f", 0); /* the runtime logs many messages that are no problem */
    int32_t made = make ? make(&a->vm, &a->env, &arguments) : STROBE_JNI_DETACHED;
    if (made == STROBE_JNI_OK)
        return STROBE_OK;
    a->vm = NULL;
    strobe_error_set(error, "%s did not start: JNI_CreateJavaVM %s", a->name, make ? "failed" : "is missing");
    return STROBE_IO;
}

enum strobe_status sim_art_start(const char *name, const struct sim_art_options *options, struct sim_art *out,
                                 struct strobe_error *error)
{
    int api;
    *out = (struct sim_art){.name = name};
    if (!sim_art_known(name, &api)) {
        strobe_error_set(error, "%s: expected art11, art14 or fake%d to fake%d", name, FAKE_FIRST, FAKE_LAST);
        return STROBE_NO_ENTRY;
    }
    out->api = api;
    out->genuine = name[0] == 'a';
    out->library_name = "libart.so";
    enum strobe_status status = out->genuine
                                    ? sim_art_open_genuine(api == 30 ? 11 : 14, options->library, &out->library, error)
                                    : open_fake(out, options->library, error);
    if (status == STROBE_OK && !out->genuine && options->prepare)
        options->prepare(out->library);
    return status == STROBE_OK ? create_genuine_runtime(out, options, error) : status;
}

void sim_art_collect(const struct sim_art *a, struct strobe_jni *env)
{
    if (a->genuine && sim_art_collect_genuine(a->api == 30 ? 11 : 14, a->library, a->vm))
        return;
    strobe_jclass class = strobe_jni_find_class(env, "dalvik/system/VMRuntime");
    strobe_jmethod collect = class ? strobe_jni_method(env, class, "requestConcurrentGC", "()V") : NULL;
    if (collect)
        sim_jni_call(env, sim_jni_allocate(env, class), collect, NULL);
}
