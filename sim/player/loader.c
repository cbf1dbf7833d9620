/* Loads the engine's library for Android, libstrobe-art.so. */
#include "engine/base/error_format.h"
#include "sim/player/art.h"

#include "engine/cmd/preload.h"

#include <dlfcn.h>
#include <stdio.h>

static void (*stop)(void);
static enum strobe_status (*stop_netease)(struct strobe_netease_result *);

static enum strobe_status engine_load_fail(struct strobe_error *error, enum strobe_status status, const char *what,
                                           const char *reason)
{
    strobe_error_set(error, "%s: %s", what, reason);
    return status;
}

static enum strobe_status open_library(void **library, struct strobe_error *error)
{
    char path[STROBE_PRELOAD_BYTES];
    if (!strobe_library_find("libstrobe-art.so", path, sizeof path))
        return engine_load_fail(error, STROBE_IO, "libstrobe-art.so",
                                "not found beside the command nor in ../lib/strobe: make art");
    *library = dlopen(path, RTLD_NOW);
    return *library ? STROBE_OK : engine_load_fail(error, STROBE_IO, "libstrobe-art.so", dlerror());
}

static enum strobe_status art_engine_begin(struct strobe_jvm *vm, const struct strobe_art_options *options,
                                           struct strobe_error *error)
{
    void *library;
    enum strobe_status status = open_library(&library, error);
    if (status != STROBE_OK)
        return status;
    enum strobe_status (*start)(void *, const struct strobe_art_options *, struct strobe_art_status *,
                                struct strobe_error *);
    *(void **)&start = dlsym(library, "strobe_art_start");
    *(void **)&stop = dlsym(library, "strobe_art_stop");
    if (!start || !stop)
        return engine_load_fail(error, STROBE_UNSUPPORTED, "libstrobe-art.so", "it has no strobe_art_start");
    return start(vm, options, NULL, error);
}

static enum strobe_status netease_engine_begin(struct strobe_jvm *vm, const struct strobe_netease_options *options,
                                               struct strobe_error *error)
{
    void *library;
    enum strobe_status status = open_library(&library, error);
    if (status != STROBE_OK)
        return status;
    enum strobe_status (*start)(void *, const struct strobe_netease_options *, struct strobe_error *);
    *(void **)&start = dlsym(library, "strobe_netease_start");
    *(void **)&stop_netease = dlsym(library, "strobe_netease_stop");
    if (!start || !stop_netease)
        return engine_load_fail(error, STROBE_UNSUPPORTED, "libstrobe-art.so", "it has no strobe_netease_start");
    return start(vm, options, error);
}

static void art_engine_end(void)
{
    stop();
}

static void netease_engine_end(void)
{
    stop_netease(NULL);
}

const struct sim_real_loader sim_real_loader = {.begin = art_engine_begin,
                                                .end = art_engine_end,
                                                .begin_netease = netease_engine_begin,
                                                .end_netease = netease_engine_end};
