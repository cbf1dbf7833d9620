#include "sim/policy/rhea_reconstruct.h"
#include "engine/base/error_format.h"

#include "engine/trace/build/timeline.h"
#include "engine/trace/import/rhea/rhea_read.h"
#include "engine/trace/model/calls_repair.h"
#include "sim/policy/call_reconstruct.h"

#include <stdio.h>
#include <string.h>

enum { PROBE_BYTES = 10 };

const struct sim_instrument_options sim_rhea_probes = {.probe_bytes = PROBE_BYTES, .names = true, .throws = true};

static const struct {
    enum strobe_kind kind;
    const char *what;
} labelled[] = {
    {STROBE_KIND_READ, "read"},
    {STROBE_KIND_WRITE, "write"},
    {STROBE_KIND_OPEN, "open"},
    {STROBE_KIND_SYNC, "fsync"},
};
enum { LABELLED = sizeof labelled / sizeof *labelled };

const char *sim_rhea_label(enum strobe_kind kind)
{
    for (size_t i = 0; i < LABELLED; i++)
        if (labelled[i].kind == kind)
            return labelled[i].what;
    return NULL;
}

struct naming {
    const struct sim_instrument *probes;
    const struct sim_scenario *scenario;
};

/* Returns the method inside the frame's mark, when it has no marks itself. */
static const char *frame_method(const struct naming *n)
{
    const struct sim_scenario *s = n->scenario;
    for (uint32_t i = 0; i < s->queue_count; i++)
        if (s->queues[i].vsync_period_ns && s->methods[s->queues[i].frame_method].managed &&
            !n->probes->id[s->queues[i].frame_method])
            return s->methods[s->queues[i].frame_method].name;
    return NULL;
}

static struct sim_call_name rhea_call_name(const void *ctx, const char *name)
{
    if (!strcmp(name, SIM_RHEA_FRAME_MARK))
        return (struct sim_call_name){.name = frame_method(ctx)};
    for (size_t i = 0; i < LABELLED; i++) {
        size_t bytes = strlen(labelled[i].what);
        if (!strncmp(name, labelled[i].what, bytes) && name[bytes] == ':')
            return (struct sim_call_name){strobe_wait_name(labelled[i].kind), labelled[i].kind};
    }
    return (struct sim_call_name){.name = name};
}

bool sim_rhea_view(const struct sim_instrument *probes, const struct sim_scenario *scenario, struct sim_tracks *truth,
                   bool main_only, struct sim_view *out)
{
    struct naming n = {probes, scenario};
    if (!sim_instrument_view(probes, scenario, truth, main_only, out))
        return false;
    for (size_t i = 0; i < LABELLED; i++) {
        uint32_t name = sim_tracks_name(truth, strobe_wait_name(labelled[i].kind));
        if (name < out->recorded_count)
            out->recorded[name] = true;
    }
    uint32_t frame = frame_method(&n) ? sim_tracks_name(truth, frame_method(&n)) : UINT32_MAX;
    if (frame < out->recorded_count)
        out->recorded[frame] = true;
    return true;
}

enum strobe_status sim_rhea_reconstruct(const struct sim_rhea_capture *capture, const struct sim_instrument *probes,
                                        const struct sim_scenario *scenario, struct sim_tracks *out,
                                        struct strobe_error *error)
{
    struct naming naming = {probes, scenario};
    struct strobe_rhea_read_stats stats = {0};
    struct strobe_calls calls;
    strobe_calls_open(&calls);
    enum strobe_status status = strobe_rhea_read(capture->log, capture->bytes, &calls, &stats, error);
    if (status == STROBE_OK)
        status = strobe_calls_repair(&calls, STROBE_REPAIR_LAST, NULL);
    if (status == STROBE_OK)
        status = sim_reconstruct_calls(&(struct sim_call_input){.calls = &calls,
                                                                .origin_ns = capture->origin_ns,
                                                                .end_ns = capture->end_ns,
                                                                .name = rhea_call_name,
                                                                .ctx = &naming},
                                       out);
    out->lost += stats.lost;
    strobe_calls_close(&calls);
    if (status == STROBE_IO && error && !error->text[0])
        strobe_error_set(error, "out of memory");
    return status;
}
