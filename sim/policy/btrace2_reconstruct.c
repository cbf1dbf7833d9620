#include "sim/policy/btrace2_reconstruct.h"
#include "engine/base/error_format.h"

#include "engine/trace/import/btrace/btrace2_read.h"
#include "sim/policy/call_reconstruct.h"

#include <stdio.h>

enum { PROBE_BYTES = 14 };

const struct sim_instrument_options sim_btrace2_probes = {.probe_bytes = PROBE_BYTES, .throws = true};

struct naming {
    const struct sim_instrument *probes;
    const struct sim_scenario *scenario;
};

static const char *btrace2_method_name(void *ctx, uint32_t method)
{
    const struct naming *n = ctx;
    return method && method <= n->probes->count ? n->scenario->methods[n->probes->method[method]].name : NULL;
}

enum strobe_status sim_btrace2_reconstruct(const struct sim_btrace2_capture *capture,
                                           const struct sim_instrument *probes, const struct sim_scenario *scenario,
                                           struct sim_tracks *out, struct strobe_error *error)
{
    struct naming naming = {probes, scenario};
    struct strobe_btrace2_options options = {.name = btrace2_method_name, .ctx = &naming};
    struct strobe_calls calls;
    enum strobe_status status = strobe_btrace2_read(capture->log, capture->bytes, &options, &calls, NULL, error);
    for (size_t i = 0; status == STROBE_OK && capture->rename && i < calls.thread_count; i++)
        capture->rename(capture->ctx, &calls.threads[i]);
    if (status == STROBE_OK)
        status = sim_reconstruct_calls(
            &(struct sim_call_input){.calls = &calls, .origin_ns = capture->origin_ns, .end_ns = capture->end_ns}, out);
    out->bytes += capture->bytes;
    strobe_calls_close(&calls);
    if (status == STROBE_IO && error && !error->text[0])
        strobe_error_set(error, "out of memory");
    return status;
}
