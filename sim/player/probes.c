#include "sim/player/probes.h"
#include "engine/base/error_format.h"

#include "engine/cmd/preload.h"

#include <dlfcn.h>
#include <stdio.h>

static enum strobe_status probes_load_fail(struct strobe_error *error, enum strobe_status status, const char *reason)
{
    strobe_error_set(error, "libstrobe-probes.so: %s", reason);
    return status;
}

enum strobe_status sim_real_probe_policy_open(const char *policy, const struct sim_probe_policy **out,
                                              struct strobe_error *error)
{
    char path[STROBE_PRELOAD_BYTES];
    sim_probe_policy_of_fn *policy_of;
    if (!strobe_library_find("libstrobe-probes.so", path, sizeof path))
        return probes_load_fail(error, STROBE_IO, "not found beside the command nor in ../lib/strobe");
    void *library = dlopen(path, RTLD_NOW);
    if (!library)
        return probes_load_fail(error, STROBE_IO, dlerror());
    *(void **)&policy_of = dlsym(library, SIM_PROBE_POLICY_OF);
    *out = policy_of ? policy_of(policy) : NULL;
    return *out ? STROBE_OK : probes_load_fail(error, STROBE_UNSUPPORTED, "it has no such policy");
}
