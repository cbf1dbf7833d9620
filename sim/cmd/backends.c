#include "sim/cmd/backends.h"

#include "sim/genuine/runtime.h"
#include "sim/player/mach/loader.h"

#include <stdio.h>
#include <string.h>

static const char HOST[] = "host";
const char sim_backend_names[] = "host, mach, fake24 to fake36, art11, art14, virtual or all";

static bool open_backend(const char *name, struct sim_backend *out)
{
    int level;
    *out = (struct sim_backend){.name = name, .runtime = name, .is_virtual = true};
    if (!strcmp(name, HOST)) {
        out->runtime = NULL;
        snprintf(out->title, sizeof out->title, "simulated host, virtual time");
        return true;
    }
    if (!strcmp(name, SIM_MACH_NAME)) {
        snprintf(out->title, sizeof out->title, "fake Mach, virtual time");
        return true;
    }
    if (!sim_art_known(name, &level))
        return false;
    out->is_virtual = !strncmp(name, "fake", 4);
    snprintf(out->title, sizeof out->title, "%s Android runtime, API level %d, %s",
             out->is_virtual ? "fake" : "genuine", level, out->is_virtual ? "virtual time" : "real threads");
    return true;
}

static bool add_backend(struct sim_backends *b, const char *name)
{
    for (uint32_t i = 0; i < b->count; i++)
        if (!strcmp(b->list[i].name, name))
            return true;
    if (b->count == SIM_BACKENDS_MAX || !open_backend(name, &b->list[b->count]))
        return false;
    b->count++;
    return true;
}

bool sim_backends_add(struct sim_backends *b, const char *name)
{
    static const char *const played_virtually[] = {HOST,     "fake24", "fake28",     "fake30",
                                                   "fake34", "fake36", SIM_MACH_NAME};
    bool all = !strcmp(name, "all");
    if (!all && strcmp(name, "virtual") != 0)
        return add_backend(b, name);
    bool added = true;
    for (size_t i = 0; i < sizeof played_virtually / sizeof *played_virtually; i++)
        added = add_backend(b, played_virtually[i]) && added;
    return added && (!all || add_backend(b, "art11"));
}

void sim_backend_choose(const struct sim_backend *b, struct sim_trial_options *options)
{
    options->runtime = b->runtime;
    options->is_virtual = b->runtime && b->is_virtual;
    options->real = b->runtime != NULL;
}
