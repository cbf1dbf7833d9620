#include "sim/player/witness.h"

#include "engine/cmd/preload.h"

#include <dlfcn.h>
#include <stdio.h>

static enum strobe_status probes_load_fail(char *why, size_t why_bytes, enum strobe_status status, const char *reason)
{
    snprintf(why, why_bytes, "libstrobe-witness.so: %s", reason);
    return status;
}

enum strobe_status sim_real_witness_open(const char *policy, const struct sim_witness **out, char *why,
                                         size_t why_bytes)
{
    char path[STROBE_PRELOAD_BYTES];
    sim_witness_of_fn *witness_of;
    if (!strobe_library_find("libstrobe-witness.so", path, sizeof path))
        return probes_load_fail(why, why_bytes, STROBE_IO, "not found beside the command nor in ../lib/strobe");
    void *library = dlopen(path, RTLD_NOW);
    if (!library)
        return probes_load_fail(why, why_bytes, STROBE_IO, dlerror());
    *(void **)&witness_of = dlsym(library, SIM_WITNESS_OF);
    *out = witness_of ? witness_of(policy) : NULL;
    return *out ? STROBE_OK : probes_load_fail(why, why_bytes, STROBE_UNSUPPORTED, "it has no such scheme");
}
