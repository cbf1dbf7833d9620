#include "tests/unit/support/sample.h"

#include "engine/base/mix.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void strobe_sample_make(uint64_t number, uint32_t count, uint32_t stack, bool with_metrics,
                        struct strobe_ring_item *out)
{
    uint64_t seed = strobe_mix_pair(number, (uint64_t)count << 32 | stack) ^ with_metrics;
    uint64_t w[16];
    for (uint32_t i = 0; i < 16; i++)
        w[i] = strobe_mix64(seed + i);
    uint16_t flags = (uint16_t)(w[7] & ~(uint64_t)STROBE_FLAG_METRICS);
    *out = (struct strobe_ring_item){
        .record =
            {
                .ticks = number,
                .duration = w[0],
                .cpu_ns = w[1],
                .arg = w[2],
                .stack = stack,
                .thread = (uint32_t)w[3],
                .message = (uint32_t)w[4],
                .count = count,
                .cpu_span_ns = (uint32_t)w[5],
                .kind = (uint8_t)w[6],
                .flags = (uint16_t)(with_metrics ? flags | STROBE_FLAG_METRICS : flags),
            },
    };
    if (!with_metrics)
        return;
    uint32_t *field = &out->metrics.minor_faults;
    out->metrics.alloc_count = w[8];
    out->metrics.alloc_bytes = w[9];
    for (uint32_t i = 0; i < 10; i++)
        field[i] = (uint32_t)(w[10 + i / 2] >> i % 2 * 32);
}

enum strobe_status strobe_sample_write(const struct strobe_ring *ring, struct strobe_ring_writer *w, uint64_t number,
                                       uint32_t count, uint32_t stack, bool with_metrics)
{
    struct strobe_ring_item item;
    strobe_sample_make(number, count, stack, with_metrics, &item);
    return strobe_ring_write(ring, w, &item.record, with_metrics ? &item.metrics : NULL);
}

enum strobe_status strobe_sample_rewrite(const struct strobe_ring *ring, struct strobe_ring_writer *w, uint64_t number,
                                         uint32_t count, uint32_t stack, bool with_metrics)
{
    struct strobe_ring_item item;
    strobe_sample_make(number, count, stack, with_metrics, &item);
    return strobe_ring_rewrite(ring, w, &item.record, with_metrics ? &item.metrics : NULL);
}

bool strobe_sample_is_whole(const struct strobe_ring_item *item)
{
    struct strobe_ring_item want;
    const struct strobe_record *r = &item->record;
    strobe_sample_make(r->ticks, r->count, r->stack, r->flags & STROBE_FLAG_METRICS, &want);
    return memcmp(&want.record, r, sizeof *r) == 0 && memcmp(&want.metrics, &item->metrics, sizeof want.metrics) == 0;
}

struct strobe_sample_census strobe_sample_census(const struct strobe_ring *ring)
{
    struct strobe_sample_census c = {0};
    struct strobe_ring_item item;
    for (uint32_t i = 0; i < strobe_ring_slot_count(ring); i++) {
        enum strobe_ring_look look = strobe_ring_look(ring, i, &item);
        c.busy += look == STROBE_LOOK_BUSY;
        if (look != STROBE_LOOK_RECORD)
            continue;
        c.records++;
        c.samples += item.record.count;
        c.torn += !strobe_sample_is_whole(&item);
    }
    return c;
}

struct strobe_ring strobe_sample_ring(uint32_t slots, uint32_t subs, enum strobe_ring_mode mode)
{
    struct strobe_ring ring;
    size_t bytes = strobe_ring_bytes(slots, subs);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    strobe_ring_create(memory, slots, subs, mode);
    if (strobe_ring_open(memory, bytes, &ring))
        abort();
    return ring;
}

void strobe_sample_ring_free(struct strobe_ring *ring)
{
    munmap(ring->head, strobe_ring_bytes(strobe_ring_slot_count(ring), ring->head->sub_count));
}
