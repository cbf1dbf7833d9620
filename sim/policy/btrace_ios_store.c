#include "sim/policy/btrace_ios_store.h"

#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES = 8, SAMPLE_BYTES = 40, USUAL_DEPTH = 16, DRAIN_NS = 200000000, PAGE_BYTES = 16384 };

/* Bytes of an item in its ring, without header and frames; bytes of its row. */
static const uint32_t item_bytes[SIM_BTRACE_TABLES] = {
    [SIM_BTRACE_CPU] = 24,      [SIM_BTRACE_MEM] = 44,  [SIM_BTRACE_DATE] = 20,
    [SIM_BTRACE_DISPATCH] = 28, [SIM_BTRACE_LOCK] = 28,
};
static const uint32_t row_bytes[SIM_BTRACE_TABLES] = {
    [SIM_BTRACE_CPU] = 20,  [SIM_BTRACE_INTERVAL] = 28, [SIM_BTRACE_MEM] = 28,
    [SIM_BTRACE_DATE] = 20, [SIM_BTRACE_DISPATCH] = 28, [SIM_BTRACE_LOCK] = 28,
};

static uint64_t capacity(uint64_t threads, uint64_t period_ns)
{
    return threads * (DRAIN_NS / period_ns) * (SAMPLE_BYTES + 8 * USUAL_DEPTH);
}

static uint64_t sub_buffer(uint64_t total)
{
    return (total / SIM_BTRACE_SUB_BUFFERS + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

void sim_btrace_ios_store_open(struct sim_btrace_ios_store *s, uint64_t period_ns, uint64_t memory_period_ns)
{
    enum { MANY = 128, FEW = 64, MEMORY_BYTES = 8 << 20 };
    *s = (struct sim_btrace_ios_store){.stacks.limit = SIM_BTRACE_IOS_NODES};
    s->ring_bytes[SIM_BTRACE_CPU] = capacity(MANY, period_ns);
    s->ring_bytes[SIM_BTRACE_MEM] = sub_buffer(memory_period_ns ? capacity(MANY, memory_period_ns) : MEMORY_BYTES);
    s->ring_bytes[SIM_BTRACE_LOCK] = sub_buffer(capacity(MANY, period_ns));
    s->ring_bytes[SIM_BTRACE_DATE] = s->ring_bytes[SIM_BTRACE_DISPATCH] = sub_buffer(capacity(FEW, period_ns));
}

void sim_btrace_ios_store_close(struct sim_btrace_ios_store *s)
{
    free(s->items);
    free(s->frames);
    free(s->rows);
    free(s->last_row);
    sim_btrace_stacks_close(&s->stacks);
}

/* Reserves bytes in a ring of the table. Returns the ring's number in the table, or SIM_BTRACE_SUB_BUFFERS when all are
 * full. */
static uint32_t ios_store_reserve(struct sim_btrace_ios_store *s, enum sim_btrace_table table, uint64_t bytes)
{
    bool single = table == SIM_BTRACE_CPU;
    uint32_t first = single ? 0 : (uint32_t)((bytes - HEADER_BYTES) % SIM_BTRACE_SUB_BUFFERS);
    uint64_t rounded = (bytes + 7) / 8 * 8;
    for (uint32_t i = 0; i < (single ? 1 : SIM_BTRACE_SUB_BUFFERS); i++) {
        uint32_t ring = (first + i) % SIM_BTRACE_SUB_BUFFERS;
        if (s->used[table][ring] + rounded > s->ring_bytes[table])
            continue;
        s->used[table][ring] += rounded;
        return ring;
    }
    return SIM_BTRACE_SUB_BUFFERS;
}

bool sim_btrace_ios_put(struct sim_btrace_ios_store *s, struct sim_btrace_item item, const uint64_t *addresses,
                        uint32_t count)
{
    uint32_t ring = ios_store_reserve(s, item.table, HEADER_BYTES + item_bytes[item.table] + 8 * (uint64_t)count);
    if (ring == SIM_BTRACE_SUB_BUFFERS) {
        s->dropped++;
        return false;
    }
    if (!strobe_array_reserve(&s->items, &s->item_room, s->item_count + 1) ||
        !strobe_array_reserve(&s->frames, &s->frame_room, s->frame_count + count)) {
        s->failed = 1;
        return false;
    }
    item.serial = s->serial++;
    item.ring = item.table * SIM_BTRACE_SUB_BUFFERS + ring;
    item.first = s->frame_count;
    item.count = count;
    for (uint32_t i = 0; i < count; i++)
        s->frames[s->frame_count++] = addresses[i];
    s->items[s->item_count++] = item;
    s->stored++;
    return true;
}

/* ---- drain ---- */

static int by_ring(const void *x, const void *y)
{
    const struct sim_btrace_item *a = x, *b = y;
    if (a->ring != b->ring)
        return a->ring < b->ring ? -1 : 1;
    return a->serial < b->serial ? -1 : 1;
}

static uint32_t ios_store_stack_of(struct sim_btrace_ios_store *s, const struct sim_btrace_item *item)
{
    uint64_t *inner = &s->frames[item->first];
    for (uint32_t i = 0; i < item->count / 2; i++) {
        uint64_t outer = inner[item->count - 1 - i];
        inner[item->count - 1 - i] = inner[i];
        inner[i] = outer;
    }
    return sim_btrace_stack(&s->stacks, inner, item->count);
}

/* Returns the row of the thread's previous sample in this drain; NULL: none. */
static struct sim_btrace_row *row_before(struct sim_btrace_ios_store *s, uint32_t thread)
{
    size_t row = thread < s->last_row_room ? s->last_row[thread] : 0;
    return row ? &s->rows[row - 1] : NULL;
}

static void note_row(struct sim_btrace_ios_store *s, uint32_t thread, size_t row)
{
    size_t old = s->last_row_room;
    if (!strobe_array_reserve(&s->last_row, &s->last_row_room, (size_t)thread + 1)) {
        s->failed = 1;
        return;
    }
    if (s->last_row_room > old)
        memset(&s->last_row[old], 0, (s->last_row_room - old) * sizeof *s->last_row);
    s->last_row[thread] = row + 1;
}

static void drain_item(struct sim_btrace_ios_store *s, const struct sim_btrace_item *item)
{
    uint32_t stack = ios_store_stack_of(s, item), time = (uint32_t)(item->time_ns / SIM_BTRACE_TICK_NS);
    uint32_t cpu = (uint32_t)(item->cpu_ns / SIM_BTRACE_TICK_NS);
    bool sampler = item->table == SIM_BTRACE_CPU;
    struct sim_btrace_row *last = sampler ? row_before(s, item->thread) : NULL;
    if (last && last->stack == stack) {
        last->end = time;
        last->cpu_end = cpu;
        last->table = last->start == time ? SIM_BTRACE_CPU : SIM_BTRACE_INTERVAL;
        return;
    }
    if (!strobe_array_reserve(&s->rows, &s->row_room, s->row_count + 1)) {
        s->failed = 1;
        return;
    }
    s->rows[s->row_count] = (struct sim_btrace_row){time, time, cpu, cpu, item->tid, stack, item->table, item->lock};
    if (sampler)
        note_row(s, item->thread, s->row_count);
    s->row_count++;
}

uint64_t sim_btrace_ios_drain(struct sim_btrace_ios_store *s)
{
    uint64_t frames = s->frame_count;
    if (s->item_count)
        qsort(s->items, s->item_count, sizeof *s->items, by_ring);
    for (size_t i = 0; i < s->item_count; i++)
        drain_item(s, &s->items[i]);
    for (size_t i = 0; i < s->item_count; i++)
        if (s->items[i].thread < s->last_row_room)
            s->last_row[s->items[i].thread] = 0;
    s->item_count = s->frame_count = 0;
    memset(s->used, 0, sizeof s->used);
    s->failed |= s->stacks.failed;
    return frames;
}

uint64_t sim_btrace_ios_bytes(const struct sim_btrace_ios_store *s)
{
    enum { NODE = 16 };
    uint64_t bytes = s->stacks.count ? NODE * (s->stacks.count - 1) : 0;
    for (size_t i = 0; i < s->row_count; i++)
        bytes += row_bytes[s->rows[i].table];
    return bytes;
}
