#include "sim/policy/policy.h"
#include "engine/base/error.h"

#include <stdlib.h>
#include <string.h>

static void close_none(struct sim_tracer *t)
{
    free(t);
}

/* Reconstructs an empty timeline. */
static enum strobe_status reconstruct_nothing(struct sim_tracer *t, struct sim_run *run, struct sim_tracks *out,
                                              struct strobe_error *error)
{
    (void)t, (void)run, (void)out, (void)error;
    return STROBE_OK;
}

static struct sim_tracer *none(void)
{
    struct sim_tracer *t = calloc(1, sizeof *t);
    if (t)
        *t = (struct sim_tracer){.reconstruct = reconstruct_nothing,
                                 .close = close_none,
                                 .policy = "none",
                                 .interval_main_ns = 1000000,
                                 .interval_other_ns = 1000000};
    return t;
}

static struct sim_tracer *async_1ms(void)
{
    return sim_policy_async(1000000);
}

static struct sim_tracer *async_10ms(void)
{
    return sim_policy_async(10000000);
}

static struct sim_tracer *rheatrace(void)
{
    return sim_policy_rheatrace(false);
}

static struct sim_tracer *rheatrace_main(void)
{
    return sim_policy_rheatrace(true);
}

const char *const sim_policy_names[] = {"strobe",     "btrace-android", "btrace-ios", "async-1ms",
                                        "async-10ms", "sync-only",      "matrix",     "rheatrace",
                                        "btrace2",    "netease",        "ideal",      NULL};

const char *const sim_policy_more[] = {"strobe-stops", "rheatrace-main", "none", NULL};

enum strobe_status sim_policy_open(const char *name, struct sim_tracer **out)
{
    static const struct {
        const char *name;
        struct sim_tracer *(*make)(void);
    } makers[] = {
        {"strobe", sim_policy_strobe},
        {"btrace-android", sim_policy_btrace_android},
        {"btrace-ios", sim_policy_btrace_ios},
        {"async-1ms", async_1ms},
        {"async-10ms", async_10ms},
        {"sync-only", sim_policy_sync_only},
        {"strobe-stops", sim_policy_strobe_stops},
        {"matrix", sim_policy_matrix},
        {"rheatrace", rheatrace},
        {"rheatrace-main", rheatrace_main},
        {"btrace2", sim_policy_btrace2},
        {"netease", sim_policy_netease},
        {"none", none},
    };
    *out = NULL;
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
        if (strcmp(name, makers[i].name) == 0) {
            *out = makers[i].make();
            return *out ? STROBE_OK : STROBE_IO;
        }
    }
    return STROBE_NO_ENTRY;
}
