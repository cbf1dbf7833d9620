/* The contract's engine when it is not linked in: the library built for Android, named by STROBE_ANDROID_LIBRARY and
 * loaded through the stand-ins of shim.c. */
#include "engine/backend/art/art.h"
#include "engine/base/error_format.h"
#include "tests/contract_art/support/contract.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* These access the engine that is linked in (android.mk). */
const struct contract_case contract_cases_held[] = {{0}}, contract_cases_frames[] = {{0}},
                           contract_cases_order[] = {{0}}, contract_cases_sampling[] = {{0}},
                           contract_cases_stress[] = {{0}};

/* The stand-in of the C library comes before the runtime's libsigchain, whose sigaction here has glibc's structure. */
__attribute__((constructor)) static void open_stand_in(void)
{
    dlopen("libc.so", RTLD_NOW | RTLD_GLOBAL);
}

static void *function(const char *name)
{
    static void *library;
    const char *path = getenv("STROBE_ANDROID_LIBRARY");
    if (!library)
        library = dlopen(path ? path : "libstrobe.so", RTLD_NOW);
    void *f = library ? dlsym(library, name) : NULL;
    if (!f)
        fprintf(stderr, "%s\n", dlerror());
    return f;
}

enum strobe_status strobe_art_start(void *vm, const struct strobe_art_options *options,
                                    struct strobe_art_status *status, struct strobe_error *error)
{
    enum strobe_status (*start)(void *, const struct strobe_art_options *, struct strobe_art_status *,
                                struct strobe_error *);
    *(void **)&start = function("strobe_art_start");
    if (start)
        return start(vm, options, status, error);
    strobe_error_set(error, "the library for Android can't be loaded");
    return STROBE_IO;
}

void strobe_art_stop(void)
{
    void (*stop)(void);
    *(void **)&stop = function("strobe_art_stop");
    if (stop)
        stop();
}
