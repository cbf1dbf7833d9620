/* The engine's library for Android, as it ships. */
#include "sim/real/art.h"

#include "sim/real/preload.h"

#include <dlfcn.h>
#include <stdio.h>

static void (*stop)(void);

static enum strobe_status fail(char *why, size_t why_bytes, enum strobe_status status, const char *what,
                               const char *reason)
{
    snprintf(why, why_bytes, "%s: %s", what, reason);
    return status;
}

static enum strobe_status begin(struct strobe_jvm *vm, const struct strobe_art_options *options, char *why,
                                size_t why_bytes)
{
    char path[SIM_PRELOAD_BYTES];
    if (!sim_library_find("libstrobe-art.so", path, sizeof path))
        return fail(why, why_bytes, STROBE_IO, "libstrobe-art.so",
                    "not found beside the command nor in ../lib/strobe: make art");
    void *library = dlopen(path, RTLD_NOW);
    if (!library)
        return fail(why, why_bytes, STROBE_IO, "libstrobe-art.so", dlerror());
    enum strobe_status (*start)(void *, const struct strobe_art_options *, struct strobe_art_status *, char *, size_t);
    *(void **)&start = dlsym(library, "strobe_art_start");
    *(void **)&stop = dlsym(library, "strobe_art_stop");
    if (!start || !stop)
        return fail(why, why_bytes, STROBE_UNSUPPORTED, path, "it has no strobe_art_start");
    return start(vm, options, NULL, why, why_bytes);
}

static void end(void)
{
    stop();
}

const struct sim_real_seat sim_real_seat = {.begin = begin, .end = end};
