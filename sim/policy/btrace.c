#include "sim/policy/btrace.h"
#include "engine/base/error_format.h"

#include <stdio.h>

enum strobe_status sim_btrace_save(struct sim_tracer *t, struct sim_run *run, const char *folder,
                                   struct strobe_error *error)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/trace.pftrace", folder);
    if (length < 0 || (size_t)length >= sizeof path) {
        strobe_error_set(error, "%.100s...: path is too long", folder);
        return STROBE_IO;
    }
    struct sim_tracks tracks;
    sim_tracks_open(&tracks);
    enum strobe_status status = t->reconstruct(t, run, &tracks, error);
    if (status == STROBE_OK) {
        status = sim_tracks_write(&tracks, run->scenario->name, path, run->options.replace);
        if (status != STROBE_OK)
            strobe_error_set(error, "%s: %s", path, strobe_status_text(status));
    }
    sim_tracks_close(&tracks);
    return status;
}
