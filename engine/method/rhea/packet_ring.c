#include "engine/method/rhea/packet_ring.h"

#include <stdalign.h>
#include <string.h>

enum {
    HEAD_BYTES = 128,
    LINE_BYTES = 128,
    START = 1,
    NEXT = 2,
    SIZE_SHIFT = 2,
};
#define MAGIC UINT64_C(0x00316b7061656872) /* "rheapk1" */
#define BUSY  1u

struct strobe_packet_tickets {
    alignas(LINE_BYTES) strobe_a64 next;
    alignas(LINE_BYTES) strobe_a64 dropped;
};
_Static_assert(sizeof(struct strobe_packet_head) <= HEAD_BYTES, "the cursor begins behind the head");

uint32_t strobe_packet_ring_slots(uint64_t asked)
{
    if (!asked)
        return STROBE_PACKET_SLOTS_DEFAULT;
    return asked < STROBE_PACKET_SLOTS_LEAST  ? STROBE_PACKET_SLOTS_LEAST
           : asked > STROBE_PACKET_SLOTS_MOST ? STROBE_PACKET_SLOTS_MOST
                                              : (uint32_t)asked;
}

size_t strobe_packet_ring_bytes(uint32_t slots)
{
    return HEAD_BYTES + sizeof(struct strobe_packet_tickets) + (size_t)slots * sizeof(struct strobe_packet_slot);
}

void strobe_packet_ring_create(void *memory, uint32_t slots)
{
    struct strobe_packet_head *head = memory;
    head->version = STROBE_PACKET_VERSION;
    head->capacity = slots;
    strobe_store_release(&head->magic, MAGIC);
}

bool strobe_packet_ring_is(const void *memory, size_t bytes)
{
    uint64_t magic = 0;
    if (bytes >= sizeof magic)
        memcpy(&magic, memory, sizeof magic);
    return magic == MAGIC;
}

enum strobe_status strobe_packet_ring_open(void *memory, size_t bytes, struct strobe_packet_ring *out)
{
    struct strobe_packet_head *head = memory;
    if (bytes < HEAD_BYTES || strobe_load_acquire(&head->magic) != MAGIC)
        return STROBE_BAD_INPUT;
    if (head->version != STROBE_PACKET_VERSION)
        return STROBE_BAD_VERSION;
    uint32_t capacity = head->capacity;
    if (!capacity || capacity > STROBE_PACKET_SLOTS_MOST)
        return STROBE_BAD_INPUT;
    if (bytes < strobe_packet_ring_bytes(capacity))
        return STROBE_TRUNCATED;
    out->head = head;
    out->tickets = (struct strobe_packet_tickets *)((char *)memory + HEAD_BYTES);
    out->slots = (struct strobe_packet_slot *)(out->tickets + 1);
    out->capacity = capacity;
    return STROBE_OK;
}

/* Returns the sequence word of a ticket's slot once its packet is committed. */
static uint32_t packet_committed_word(const struct strobe_packet_ring *ring, uint64_t ticket)
{
    return 2 * ((uint32_t)(ticket / ring->capacity) + 1);
}

/* The slot's word becomes 0, not a committed word. A reader of the turn in which the writer died finds a slot that was
 * never written. */
uint32_t strobe_packet_ring_recover(const struct strobe_packet_ring *ring)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < ring->capacity; i++)
        if (strobe_load_relaxed(&ring->slots[i].seq) & BUSY) {
            strobe_store_relaxed(&ring->slots[i].seq, 0);
            found++;
        }
    return found;
}

uint64_t strobe_packet_dropped(const struct strobe_packet_ring *ring)
{
    return strobe_load_relaxed(&ring->tickets->dropped);
}

uint64_t strobe_packet_tickets(const struct strobe_packet_ring *ring)
{
    return strobe_load_relaxed(&ring->tickets->next);
}

/* ---- writing */

/* The part of a message that is not yet written. */
struct parts {
    const unsigned char *head, *body;
    size_t head_bytes, body_bytes;
};

static size_t packet_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Copies the next packet's data, and zeroes to the end of its last word. */
static size_t packet_take_data(struct parts *p, unsigned char *to)
{
    size_t head = packet_min(p->head_bytes, STROBE_PACKET_DATA_BYTES);
    memcpy(to, p->head, head);
    size_t body = packet_min(p->body_bytes, STROBE_PACKET_DATA_BYTES - head);
    memcpy(to + head, p->body, body);
    p->head += head, p->head_bytes -= head;
    p->body += body, p->body_bytes -= body;
    memset(to + head + body, 0, packet_min(STROBE_PACKET_DATA_BYTES - head - body, sizeof(uint64_t)));
    return head + body;
}

static void packet_put_data(struct strobe_packet_slot *slot, const unsigned char *data, size_t bytes)
{
    uint32_t first;
    memcpy(&first, data, sizeof first);
    strobe_store_relaxed(&slot->first, first);
    for (size_t i = 0; sizeof first + i * 8 < bytes; i++) {
        uint64_t word;
        memcpy(&word, data + sizeof first + i * 8, sizeof word);
        strobe_store_relaxed(&slot->rest[i], word);
    }
}

/* Makes the caller the owner of the slot. Returns false when another writer owns the slot, or the slot was already
 * written on this turn or a later one. */
static bool packet_own_slot(struct strobe_packet_slot *slot, uint32_t done)
{
    uint32_t seq = strobe_load_relaxed(&slot->seq);
    do {
        if (seq & BUSY || (int32_t)(seq - done) >= 0)
            return false;
    } while (!strobe_cas_acquire(&slot->seq, &seq, done - BUSY));
    return true;
}

enum strobe_status strobe_packet_write_parts(const struct strobe_packet_ring *ring, const void *head, size_t head_bytes,
                                             const void *body, size_t body_bytes)
{
    struct parts p = {head, body, head_bytes, body_bytes};
    if (head_bytes > STROBE_PACKET_MESSAGE_MAX || body_bytes > STROBE_PACKET_MESSAGE_MAX - head_bytes ||
        !(head_bytes + body_bytes))
        return STROBE_BAD_INPUT;
    uint32_t count = (uint32_t)((head_bytes + body_bytes + STROBE_PACKET_DATA_BYTES - 1) / STROBE_PACKET_DATA_BYTES);
    if (count > ring->capacity)
        return STROBE_FULL;
    uint64_t ticket = strobe_add_relaxed(&ring->tickets->next, count);
    uint32_t stream = (uint32_t)ticket, at = (uint32_t)(ticket % ring->capacity),
             done = packet_committed_word(ring, ticket);
    for (uint32_t i = 0; i < count; i++) {
        struct strobe_packet_slot *slot = &ring->slots[at];
        unsigned char data[STROBE_PACKET_DATA_BYTES];
        size_t size = packet_take_data(&p, data);
        if (!packet_own_slot(slot, done)) {
            strobe_add_relaxed(&ring->tickets->dropped, 1);
            return STROBE_LATE;
        }
        strobe_fence_release();
        strobe_store_relaxed(&slot->stream, stream);
        strobe_store_relaxed(&slot->shape, (uint32_t)size << SIZE_SHIFT | (i + 1 < count ? NEXT : 0) | (i ? 0 : START));
        packet_put_data(slot, data, size);
        strobe_store_release(&slot->seq, done);
        if (++at == ring->capacity) {
            at = 0;
            done += 2;
        }
    }
    return STROBE_OK;
}

enum strobe_status strobe_packet_write(const struct strobe_packet_ring *ring, const void *message, size_t bytes)
{
    return strobe_packet_write_parts(ring, message, bytes, "", 0);
}

/* ---- reading */

static enum strobe_packet_state packet_state_of(uint32_t seq, uint32_t done)
{
    if (seq == done)
        return STROBE_PACKET_HERE;
    if (seq == done - BUSY)
        return STROBE_PACKET_BUSY;
    return (int32_t)(seq - done) < 0 ? STROBE_PACKET_EARLY : STROBE_PACKET_LAPPED;
}

enum strobe_packet_state strobe_packet_at(const struct strobe_packet_ring *ring, uint64_t ticket,
                                          struct strobe_packet *out)
{
    const struct strobe_packet_slot *slot = &ring->slots[ticket % ring->capacity];
    uint32_t done = packet_committed_word(ring, ticket);
    enum strobe_packet_state state = packet_state_of(strobe_load_acquire(&slot->seq), done);
    if (state != STROBE_PACKET_HERE)
        return state;
    uint32_t shape = strobe_load_relaxed(&slot->shape), first = strobe_load_relaxed(&slot->first);
    out->stream = strobe_load_relaxed(&slot->stream);
    out->start = shape & START;
    out->next = shape & NEXT;
    out->size = shape >> SIZE_SHIFT;
    memcpy(out->data, &first, sizeof first);
    for (uint32_t i = 0; i < STROBE_PACKET_WORDS; i++) {
        uint64_t word = strobe_load_relaxed(&slot->rest[i]);
        memcpy(out->data + sizeof first + (size_t)i * 8, &word, sizeof word);
    }
    strobe_fence_acquire();
    return strobe_load_relaxed(&slot->seq) == done ? STROBE_PACKET_HERE : STROBE_PACKET_LAPPED;
}

void strobe_packet_read_begin(struct strobe_packet_reader *r, const struct strobe_packet_ring *ring)
{
    uint64_t end = strobe_packet_tickets(ring);
    uint64_t begin = end > ring->capacity ? end - ring->capacity : 0;
    *r = (struct strobe_packet_reader){.ring = ring, .next = begin, .end = end, .before = begin};
}

/* Counts a ticket that has no packet. */
static void packet_count_missing(struct strobe_packet_reader *r, enum strobe_packet_state state)
{
    r->early += state == STROBE_PACKET_EARLY;
    r->busy += state == STROBE_PACKET_BUSY;
    r->lapped += state == STROBE_PACKET_LAPPED;
}

/* Returns whether the packet can be packet `index` of the message. Damaged memory must not lead the reader out of its
 * buffers. */
static bool packet_is_plausible(const struct strobe_packet *p, uint64_t first_ticket, uint32_t index)
{
    return p->stream == (uint32_t)first_ticket && p->start == (index == 0) && p->size > 0 &&
           p->size <= STROBE_PACKET_DATA_BYTES && (p->size == STROBE_PACKET_DATA_BYTES || !p->next) &&
           (size_t)index * STROBE_PACKET_DATA_BYTES + p->size <= STROBE_PACKET_MESSAGE_MAX;
}

bool strobe_packet_read(struct strobe_packet_reader *r, void *message, size_t *bytes)
{
    struct strobe_packet p;
    uint64_t first = r->next;
    uint32_t taken = 0;
    while (r->next < r->end) {
        enum strobe_packet_state state = strobe_packet_at(r->ring, r->next, &p);
        bool here = state == STROBE_PACKET_HERE;
        if (!here || !packet_is_plausible(&p, first, taken)) {
            r->parts += taken;
            /* This packet begins a message. The message before it therefore lacks its rest. */
            bool again = taken && here;
            taken = 0;
            if (!again) {
                r->parts += here;
                packet_count_missing(r, state);
                r->next++;
            }
            first = r->next;
            continue;
        }
        memcpy((unsigned char *)message + (size_t)taken * STROBE_PACKET_DATA_BYTES, p.data, p.size);
        taken++;
        r->next++;
        if (p.next)
            continue;
        *bytes = (size_t)(taken - 1) * STROBE_PACKET_DATA_BYTES + p.size;
        r->packets += taken;
        r->messages++;
        return true;
    }
    r->parts += taken;
    return false;
}
