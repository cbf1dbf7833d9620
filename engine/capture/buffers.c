#include "engine/capture/buffers.h"

static const uint64_t ONE_TAKEN = (uint64_t)1 << 32;

/* Layout of the memory: next, in whole cache lines | blocks. */
static size_t next_bytes(uint32_t blocks)
{
    return (blocks * sizeof(strobe_a32) + 63) & ~(size_t)63;
}

size_t strobe_buffer_pool_bytes(uint32_t blocks)
{
    return next_bytes(blocks) + blocks * sizeof(struct strobe_buffers);
}

void strobe_buffer_pool_init(struct strobe_buffer_pool *pool, void *memory, uint32_t blocks)
{
    strobe_store_relaxed(&pool->free, 0);
    strobe_store_relaxed(&pool->made, 0);
    pool->next = memory;
    pool->blocks = (struct strobe_buffers *)((char *)memory + next_bytes(blocks));
}

struct strobe_buffers *strobe_buffers_take(struct strobe_buffer_pool *pool)
{
    uint64_t first = strobe_load_acquire(&pool->free);
    while ((uint32_t)first) {
        uint32_t index = (uint32_t)first - 1;
        uint64_t rest = first - (uint32_t)first + ONE_TAKEN + strobe_load_relaxed(&pool->next[index]);
        if (strobe_cas_acq_rel(&pool->free, &first, rest))
            return &pool->blocks[index];
    }
    return &pool->blocks[strobe_add_relaxed(&pool->made, 1)];
}

void strobe_buffers_give_back(struct strobe_buffer_pool *pool, struct strobe_buffers *block)
{
    uint32_t index = (uint32_t)(block - pool->blocks);
    uint64_t first = strobe_load_relaxed(&pool->free), now;
    do {
        strobe_store_relaxed(&pool->next[index], (uint32_t)first);
        now = first - (uint32_t)first + index + 1;
    } while (!strobe_cas_release(&pool->free, &first, now));
}
