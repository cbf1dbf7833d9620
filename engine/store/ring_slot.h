/* The slots of a writer's open chunk (ring.h), inline for records that are written often and have few fields. Such a
 * record is written in three steps: strobe_ring_open_slot, strobe_slot_put, strobe_ring_commit_slot. It has no
 * metrics. */
#ifndef STROBE_STORE_RING_SLOT_H
#define STROBE_STORE_RING_SLOT_H

#include "engine/base/hint.h"
#include "engine/store/ring.h"

/* Parts of a slot's sequence word. */
enum {
    STROBE_SEQ_BUSY = 1,
    STROBE_SEQ_METRICS = 2,
    STROBE_SEQ_VERSION_SHIFT = 2,
    STROBE_SEQ_VERSION_ONE = 1 << STROBE_SEQ_VERSION_SHIFT,
    STROBE_SEQ_VERSION_BITS = 24,
    STROBE_SEQ_TICKET_SHIFT = STROBE_SEQ_VERSION_SHIFT + STROBE_SEQ_VERSION_BITS,
};

/* Words of a slot that hold a record. */
enum {
    STROBE_SLOT_DURATION = 1,
    STROBE_SLOT_COUNT = 5, /* in its upper half */
    STROBE_SLOT_FLAGS = 6,
    STROBE_SLOT_FLAGS_SHIFT = 48,
};
_Static_assert(offsetof(struct strobe_record, duration) == 8 * STROBE_SLOT_DURATION, "the duration is a word");
_Static_assert(offsetof(struct strobe_record, count) == 8 * STROBE_SLOT_COUNT + 4,
               "count is the upper half of its word");
_Static_assert(offsetof(struct strobe_record, flags) == 8 * STROBE_SLOT_FLAGS + STROBE_SLOT_FLAGS_SHIFT / 8,
               "flags are where we look");

/* Builds each word from the fields. A wide load of the struct would have to wait for the narrow stores that have just
 * written its fields one by one. */
static inline void strobe_slot_put(struct strobe_slot *slot, const struct strobe_record *r, uint32_t flags)
{
    strobe_store_relaxed(&slot->u.word[0], r->ticks);
    strobe_store_relaxed(&slot->u.word[1], r->duration);
    strobe_store_relaxed(&slot->u.word[2], r->cpu_ns);
    strobe_store_relaxed(&slot->u.word[3], r->arg);
    strobe_store_relaxed(&slot->u.word[4], r->stack | (uint64_t)r->thread << 32);
    strobe_store_relaxed(&slot->u.word[5], r->message | (uint64_t)r->count << 32);
    strobe_store_relaxed(&slot->u.word[6],
                         r->cpu_span_ns | (uint64_t)r->kind << 32 | (uint64_t)flags << STROBE_SLOT_FLAGS_SHIFT);
}

/* Returns the samples that are lost when this slot is overwritten: those of a committed record of an earlier owner. */
static inline uint64_t strobe_slot_samples(const struct strobe_slot *slot)
{
    uint64_t seq = strobe_load_relaxed(&slot->seq);
    if (!seq || seq & (STROBE_SEQ_BUSY | STROBE_SEQ_METRICS))
        return 0;
    return strobe_load_relaxed(&slot->u.word[STROBE_SLOT_COUNT]) >> 32;
}

/* Seals the writer's chunk and claims another one. False: as STROBE_FULL of strobe_ring_write, and the writer has no
 * chunk. Same context. */
bool strobe_ring_next_chunk(const struct strobe_ring *ring, struct strobe_ring_writer *w);

/* Takes the next `slots` slots of the writer's chunk, 1 or 2, and counts the samples that they lose. NULL: as
 * STROBE_FULL of strobe_ring_write. Same context. */
static inline struct strobe_slot *strobe_ring_take_slots(const struct strobe_ring *ring, struct strobe_ring_writer *w,
                                                         uint32_t slots)
{
    uint32_t chunk = strobe_load_relaxed(&w->chunk);
    if (strobe_unlikely(!chunk || w->used + slots > STROBE_CHUNK_SLOTS)) {
        if (!strobe_ring_next_chunk(ring, w))
            return NULL;
        chunk = strobe_load_relaxed(&w->chunk);
    }
    uint32_t index = (chunk - 1) * STROBE_CHUNK_SLOTS + w->used;
    struct strobe_slot *slot = &ring->slots[index];
    if (!w->fresh) { /* reading a new page before writing it would cost two page faults, not one */
        w->overwrote += strobe_slot_samples(&slot[0]);
        if (slots > 1)
            w->overwrote += strobe_slot_samples(&slot[1]);
    }
    w->used += slots;
    w->last = index + 1;
    return slot;
}

/* Returns the sequence word of a slot of the open chunk that was taken now: version 0. */
static inline uint64_t strobe_ring_new_seq(const struct strobe_ring_writer *w)
{
    return strobe_load_relaxed(&w->ticket) << STROBE_SEQ_TICKET_SHIFT;
}

/* Takes the writer's next slot and marks it busy. NULL: as STROBE_FULL of strobe_ring_write. Same context. */
static inline struct strobe_slot *strobe_ring_open_slot(const struct strobe_ring *ring, struct strobe_ring_writer *w)
{
    struct strobe_slot *slot = strobe_ring_take_slots(ring, w, 1);
    if (slot) {
        strobe_store_relaxed(&slot->seq, strobe_ring_new_seq(w) | STROBE_SEQ_BUSY);
        strobe_fence_release();
    }
    return slot;
}

/* Commits the slot that was opened last. */
static inline void strobe_ring_commit_slot(const struct strobe_ring_writer *w, struct strobe_slot *slot)
{
    strobe_store_release(&slot->seq, strobe_ring_new_seq(w) + STROBE_SEQ_VERSION_ONE);
}

/* A record that its writer may extend: its slot, and the ticket of the slot's chunk. Zero: none. */
struct strobe_ring_place {
    uint64_t ticket;
    uint32_t slot; /* index + 1 */
};

/* Returns the place of the record that this writer wrote last. */
static inline struct strobe_ring_place strobe_ring_last_place(const struct strobe_ring_writer *w)
{
    return (struct strobe_ring_place){strobe_load_relaxed(&w->ticket), w->last};
}

/* Sets the duration of a record that was written with duration 0 and without metrics, and adds 1 to its count. The
 * record stays whole for readers at any time: they see the old or the new duration, and the old or the new count
 * (explored: ring/extend). Returns false, and changes nothing, when the writer has no such record any more: its chunk
 * was sealed. `duration` is not 0. Same context as strobe_ring_write. */
static inline bool strobe_ring_extend(const struct strobe_ring *ring, const struct strobe_ring_writer *w,
                                      struct strobe_ring_place place, uint64_t duration)
{
    uint32_t chunk = strobe_load_relaxed(&w->chunk), index = place.slot - 1;
    if (!chunk || index / STROBE_CHUNK_SLOTS != chunk - 1 || place.ticket != strobe_load_relaxed(&w->ticket))
        return false;
    strobe_a64 *word = ring->slots[index].u.word;
    strobe_store_relaxed(&word[STROBE_SLOT_DURATION], duration);
    strobe_bump(&word[STROBE_SLOT_COUNT], (uint64_t)1 << 32);
    return true;
}

#endif
