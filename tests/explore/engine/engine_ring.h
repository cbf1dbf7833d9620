/* Shared by the programs over the record ring: a ring of a few slots, records in which each word contains the record's
 * number, and the accounting.
 *
 * A record's number is 1 .. 12, and its version counts rewrites. Its count of samples is a power of four, chosen by the
 * number, plus the version. A sum of samples therefore identifies the records in it, also a record that is present
 * twice. */
#ifndef STROBE_EXPLORE_ENGINE_ENGINE_RING_H
#define STROBE_EXPLORE_ENGINE_ENGINE_RING_H

#include "engine/store/ring_slot.h"
#include "sim/explore/program.h"

#include <stdalign.h>
#include <string.h>

enum { RING_NUMBERS = 12, RING_WRITERS = 3, RING_MEMORY_BYTES = 1536 };

struct ring_state {
    alignas(128) unsigned char memory[RING_MEMORY_BYTES];
    struct strobe_ring ring;
    struct strobe_ring_writer writer[RING_WRITERS]; /* writers that may die, or that other threads read */
    strobe_a32 ended[RING_WRITERS];
    strobe_a32 stop;

    /* The accounting of each writer: written by it, read by check. */
    uint64_t written[RING_WRITERS]; /* samples committed */
    uint64_t overwrote[RING_WRITERS];
    uint32_t numbers[RING_WRITERS]; /* bit n: record n was committed */
    uint32_t refused[RING_WRITERS];
};

static inline void ring_make(struct ring_state *s, uint32_t slots, uint32_t subs, enum strobe_ring_mode mode)
{
    strobe_ring_create(s->memory, slots, subs, mode);
    strobe_ring_open(s->memory, sizeof s->memory, &s->ring); /* too little memory: the program fails */
}

static inline uint32_t ring_samples(uint32_t number, uint32_t version)
{
    return (16u << 2 * number) + version;
}

static inline struct strobe_record ring_record(uint32_t number, uint32_t version, bool metrics)
{
    uint32_t key = number << 8 | version;
    return (struct strobe_record){
        .ticks = key,
        .duration = key * 3u,
        .cpu_ns = ~(uint64_t)key,
        .arg = (uint64_t)key << 32,
        .stack = key + 1,
        .thread = key + 2,
        .message = key + 3,
        .count = ring_samples(number, version),
        .cpu_span_ns = key + 4,
        .kind = (uint8_t)number,
        .flags = metrics ? STROBE_FLAG_METRICS : 0,
    };
}

static inline struct strobe_metrics ring_metrics(uint32_t number, uint32_t version)
{
    uint32_t key = number << 8 | version;
    return (struct strobe_metrics){
        .alloc_count = key,
        .alloc_bytes = ~(uint64_t)key,
        .minor_faults = key + 1,
        .major_faults = key + 2,
        .voluntary_switches = key + 3,
        .involuntary_switches = key + 4,
        .alloc_count_span = key + 5,
        .alloc_bytes_span = key + 6,
        .minor_faults_span = key + 7,
        .major_faults_span = key + 8,
        .voluntary_switches_span = key + 9,
        .involuntary_switches_span = key + 10,
    };
}

static inline uint32_t ring_number(const struct strobe_ring_item *item)
{
    return (uint32_t)item->record.ticks >> 8;
}

static inline uint32_t ring_version(const struct strobe_ring_item *item)
{
    return (uint32_t)item->record.ticks & 255;
}

/* True when all fields and counters are of one version of one record. */
static inline bool ring_is_whole(const struct strobe_ring_item *item)
{
    bool metrics = item->record.flags & STROBE_FLAG_METRICS;
    struct strobe_record r = ring_record(ring_number(item), ring_version(item), metrics);
    struct strobe_metrics m = {0};
    if (metrics)
        m = ring_metrics(ring_number(item), ring_version(item));
    return !memcmp(&r, &item->record, sizeof r) && !memcmp(&m, &item->metrics, sizeof m);
}

/* Writes record `number` and accounts for it. */
static inline enum strobe_status ring_put(struct ring_state *s, struct strobe_ring_writer *w, uint32_t number,
                                          bool metrics)
{
    struct strobe_ring ring = s->ring;
    struct strobe_record r = ring_record(number, 0, metrics);
    struct strobe_metrics m = ring_metrics(number, 0);
    enum strobe_status status = strobe_ring_write(&ring, w, &r, metrics ? &m : NULL);
    uint32_t self = explore_self();
    if (status == STROBE_OK) {
        s->written[self] += r.count;
        s->numbers[self] |= 1u << number;
    } else {
        s->refused[self]++;
    }
    s->overwrote[self] = w->overwrote;
    return status;
}

/* Rewrites the last record as `version`, which is its next version. */
static inline enum strobe_status ring_merge(struct ring_state *s, struct strobe_ring_writer *w, uint32_t number,
                                            uint32_t version, bool metrics)
{
    struct strobe_ring ring = s->ring;
    struct strobe_record r = ring_record(number, version, metrics);
    struct strobe_metrics m = ring_metrics(number, version);
    enum strobe_status status = strobe_ring_rewrite(&ring, w, &r, metrics ? &m : NULL);
    if (status == STROBE_OK)
        s->written[explore_self()]++;
    return status;
}

static inline void ring_close(struct ring_state *s, struct strobe_ring_writer *w)
{
    struct strobe_ring ring = s->ring;
    strobe_ring_writer_close(&ring, w);
}

/* The result of reading all slots. */
struct ring_census {
    uint64_t samples;
    uint32_t numbers, busy;
};

/* Reads all slots. Each record must be whole, and none may be present twice. */
static inline struct ring_census ring_count(const struct strobe_ring *ring)
{
    struct ring_census c = {0};
    for (uint32_t i = 0; i < strobe_ring_slot_count(ring); i++) {
        struct strobe_ring_item item;
        enum strobe_ring_look look = strobe_ring_look(ring, i, &item);
        c.busy += look == STROBE_LOOK_BUSY;
        if (look != STROBE_LOOK_RECORD)
            continue;
        explore_require(ring_is_whole(&item));
        explore_require(!(c.numbers >> ring_number(&item) & 1));
        c.numbers |= 1u << ring_number(&item);
        c.samples += item.record.count;
    }
    return c;
}

/* Checks that each written record is present or counted as overwritten. All writers have ended, or are between two
 * calls. */
static inline void ring_balance(struct ring_state *s)
{
    struct ring_census c = ring_count(&s->ring);
    uint64_t written = 0, overwrote = 0;
    uint32_t numbers = 0;
    for (uint32_t i = 0; i < RING_WRITERS; i++) {
        written += s->written[i];
        overwrote += s->overwrote[i];
        numbers |= s->numbers[i];
    }
    explore_require(c.busy == 0);
    explore_require((c.numbers & ~numbers) == 0);
    explore_require(c.samples + overwrote == written);
}

/* engine_ring_read.c, engine_ring_death.c */
extern const struct explore_program explore_ring_look, explore_ring_read, explore_ring_merge, explore_ring_metrics,
    explore_ring_shapes, explore_ring_snapshot, explore_ring_salvage, explore_ring_salvage_gone,
    explore_ring_salvage_metrics, explore_ring_frozen, explore_ring_dead, explore_ring_extend;

#endif
