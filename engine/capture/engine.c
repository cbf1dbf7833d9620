#include "engine/capture/engine.h"

#include "engine/capture/blocking.h"

static strobe_a32 never_on;
strobe_a32 *strobe_switch = &never_on;
strobe_a32 strobe_capture_number;

/* Layout of the memory, each part in whole cache lines: struct strobe_blocking | living | threads | buffers. */
static size_t living_bytes(const struct strobe_config *config)
{
    return (config->threads_max * sizeof(uint32_t) + 63) & ~(size_t)63;
}

static size_t threads_bytes(const struct strobe_config *config)
{
    return (config->threads_max * sizeof(struct strobe_thread) + 63) & ~(size_t)63;
}

size_t strobe_engine_memory_bytes(const struct strobe_config *config)
{
    return sizeof(struct strobe_blocking) + living_bytes(config) + threads_bytes(config) +
           strobe_buffer_pool_bytes(config->threads_max);
}

void strobe_engine_init(struct strobe_engine *e, const struct strobe_session *session, const struct strobe_host *host,
                        const struct strobe_unwinder *unwinder, void *memory)
{
    e->session = *session;
    e->config = session->header->config;
    e->host = host;
    e->unwinder = unwinder;
    e->blocking = memory;
    e->living = (uint32_t *)(e->blocking + 1);
    e->threads = (struct strobe_thread *)((char *)e->living + living_bytes(&e->config));
    strobe_buffer_pool_init(&e->buffers, (char *)e->threads + threads_bytes(&e->config), e->config.threads_max);
    strobe_store_relaxed(&e->sampler_stop, 0);
    strobe_store_relaxed(&e->sampler_rest, STROBE_SAMPLER_IDLE);
}

bool strobe_engine_quiet(const struct strobe_engine *e)
{
    strobe_fence_seq_cst(); /* the switch is stored, then `inside` is loaded; threads and the sampler store `inside`,
                               then load the switch. So do threads that register */
    if (strobe_load_acquire(&strobe_registering))
        return false;
    uint32_t count = strobe_session_thread_count(&e->session);
    if (strobe_load_acquire(&e->sampler_busy))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (strobe_load_acquire(&e->threads[i].inside))
            return false;
    return true;
}
