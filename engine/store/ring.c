/* Record ring: writers claim chunks by compare-and-swap, and each slot is a seqlock that only its chunk's owner writes.
 *
 * A chunk's state word is stamp << 1 | open:
 *
 *   FREE     0
 *   OPEN     the stamp is the owner's ticket: 1 + the value that the owner drew from the sub-buffer's cursor. No ticket
 *            is drawn twice in one sub-buffer
 *   SEALED   the stamp is the cursor's value at the time of sealing, never less than the ticket
 *
 * A writer whose draw is older than the stamp that it finds was overtaken, and draws again. The stamps of one chunk
 * therefore only grow, and no slot ever shows the same sequence word twice.
 *
 * Memory orders needed:
 *   claim (acquire)      The new owner sees all slot contents that the previous owner wrote before sealing (release):
 *                        it needs the sample counts of the records that it overwrites. Its own stores come after those
 *                        of the previous owner. Explored: ring/lap, ring/turns, ring/dead. A claim publishes nothing,
 *                        and sealing reads nothing
 *   busy, fence (release), payload, commit (release)
 *                        A reader that sees one word of the new payload also sees busy, or a later sequence word
 *   load (acquire), payload, fence (acquire), load again
 *                        The reader's half of the two orders above. Explored: ring/look, ring/merge, ring/metrics,
 *                        ring/shapes
 *   load of busy (acquire), payload, fence (acquire), load again
 *                        Salvage: the busy store is in the release sequence headed by the previous commit of the same
 *                        thread (C11 5.1.2.4), so no word read is older than that commit. Explored: ring/salvage,
 *                        ring/salvage-gone
 * The second slot's sequence word needs no order of its own. The commit of the first slot comes after the second slot's
 * payload and publishes it; a newer payload shows in the first slot's word.
 *
 * No thread delays another. A thread that stops or dies after it drew from a cursor costs the others one chunk of a
 * keep-oldest ring, and nothing of a keep-newest ring. A thread that stops or dies with an open chunk withholds that
 * chunk. A writer that claims skips such chunks and gives up after a fixed number of them. Readers write nothing. */
#include "engine/store/ring_slot.h"

#include "engine/base/mix.h"

#include <stdalign.h>
#include <string.h>

enum {
    HEAD_BYTES = 128,
    LINE_BYTES = 128,
#ifdef STROBE_SMALL /* for exploration: the algorithm works with any values */
    POLITE_TRIES = 1,
    LAST_TRIES = 2,
    LOOK_TRIES = 2,
#else
    POLITE_TRIES = 4, /* chunks tried in one sub-buffer before the next sub-buffer, in the first round */
    LAST_TRIES = 32,  /* the same in the second round, when the first round found no chunk */
    LOOK_TRIES = 16,
#endif
    WORDS = 7,
};
#define BUSY         STROBE_SEQ_BUSY
#define METRICS      STROBE_SEQ_METRICS
#define TICKET_SHIFT STROBE_SEQ_TICKET_SHIFT
#define VERSION_ONE  STROBE_SEQ_VERSION_ONE
#define VERSION_MASK (((1u << STROBE_SEQ_VERSION_BITS) - 1) << STROBE_SEQ_VERSION_SHIFT)

struct strobe_ring_cursor {
    alignas(LINE_BYTES) strobe_a64 next;
};
_Static_assert(sizeof(struct strobe_ring_head) <= HEAD_BYTES, "cursors begin behind the head");

struct shape {
    uint32_t chunks_per_sub;
    size_t chunks_at, slots_at, bytes;
};

static struct shape ring_shape_of(uint32_t sub_count, uint32_t chunks_per_sub)
{
    size_t chunks = (size_t)sub_count * chunks_per_sub;
    struct shape s = {.chunks_per_sub = chunks_per_sub};
    s.chunks_at = HEAD_BYTES + (size_t)sub_count * sizeof(struct strobe_ring_cursor);
    s.slots_at = (s.chunks_at + chunks * sizeof(strobe_a64) + LINE_BYTES - 1) & ~(size_t)(LINE_BYTES - 1);
    s.bytes = s.slots_at + chunks * STROBE_CHUNK_SLOTS * sizeof(struct strobe_slot);
    return s;
}

static struct shape shape_for(uint32_t slot_capacity, uint32_t sub_count)
{
    uint32_t chunks_per_sub = 1;
    while ((uint64_t)chunks_per_sub * sub_count * STROBE_CHUNK_SLOTS < slot_capacity)
        chunks_per_sub *= 2;
    return ring_shape_of(sub_count, chunks_per_sub);
}

size_t strobe_ring_bytes(uint32_t slot_capacity, uint32_t sub_count)
{
    return shape_for(slot_capacity, sub_count).bytes;
}

void strobe_ring_create(void *memory, uint32_t slot_capacity, uint32_t sub_count, enum strobe_ring_mode mode)
{
    struct strobe_ring_head *head = memory;
    head->sub_count = sub_count;
    head->chunks_per_sub = shape_for(slot_capacity, sub_count).chunks_per_sub;
    head->mode = mode;
}

static bool ring_is_power_of_two(uint32_t x)
{
    return x && (x & (x - 1)) == 0;
}

enum strobe_status strobe_ring_open(void *memory, size_t bytes, struct strobe_ring *out)
{
    struct strobe_ring_head *head = memory;
    if (bytes < sizeof *head)
        return STROBE_BAD_INPUT;
    if (!ring_is_power_of_two(head->sub_count) || head->sub_count > STROBE_RING_SUBS_MAX ||
        !ring_is_power_of_two(head->chunks_per_sub) || head->mode > STROBE_KEEP_OLDEST ||
        (uint64_t)head->sub_count * head->chunks_per_sub * STROBE_CHUNK_SLOTS > STROBE_RING_SLOTS_MAX)
        return STROBE_BAD_INPUT;
    struct shape s = ring_shape_of(head->sub_count, head->chunks_per_sub);
    if (bytes < s.bytes)
        return STROBE_BAD_INPUT;
    out->head = head;
    out->cursors = (struct strobe_ring_cursor *)((char *)memory + HEAD_BYTES);
    out->chunks = (strobe_a64 *)((char *)memory + s.chunks_at);
    out->slots = (struct strobe_slot *)((char *)memory + s.slots_at);
    return STROBE_OK;
}

void strobe_ring_parts(uint32_t slot_capacity, uint32_t sub_count, uint32_t chunks, struct strobe_part *out)
{
    struct shape s = shape_for(slot_capacity, sub_count);
    if (s.chunks_per_sub <= chunks) {
        out[0] = (struct strobe_part){0, s.bytes};
        out[1] = (struct strobe_part){0, 0};
        return;
    }
    out[0] = (struct strobe_part){0, s.chunks_at + chunks * sizeof(strobe_a64)};
    out[1] = (struct strobe_part){s.slots_at, (uint64_t)chunks * STROBE_CHUNK_SLOTS * sizeof(struct strobe_slot)};
}

void strobe_ring_limit(const struct strobe_ring *ring, uint32_t chunks)
{
    strobe_store_relaxed(&ring->head->ready, chunks < ring->head->chunks_per_sub ? chunks : 0);
}

uint64_t strobe_ring_first_draws(const struct strobe_ring *ring)
{
    return strobe_load_relaxed(&ring->cursors[0].next);
}

uint32_t strobe_ring_slot_count(const struct strobe_ring *ring)
{
    return ring->head->sub_count * ring->head->chunks_per_sub * STROBE_CHUNK_SLOTS;
}

uint32_t strobe_ring_home(const struct strobe_ring *ring, uint64_t tid)
{
    return (uint32_t)strobe_mix64(tid) & (ring->head->sub_count - 1);
}

void strobe_ring_writer_init(const struct strobe_ring *ring, struct strobe_ring_writer *w, uint64_t tid)
{
    w->home = strobe_ring_home(ring, tid);
}

/* --- chunks --- */

static void ring_seal_chunk(const struct strobe_ring *ring, uint32_t chunk, uint64_t ticket)
{
    uint64_t open = ticket << 1 | 1;
    uint64_t now = strobe_load_relaxed(&ring->cursors[chunk / ring->head->chunks_per_sub].next);
    strobe_cas_release(&ring->chunks[chunk], &open, now << 1);
}

/* Claims `chunk` when its state allows it: free, or sealed at least `min_age` draws before `draw`. The writer stores
 * the chunk and the ticket before the claim, so that the chunk is known whenever the writer dies
 * (strobe_ring_seal_dead). */
static bool ring_take_chunk(const struct strobe_ring *ring, struct strobe_ring_writer *w, uint32_t chunk, uint64_t draw,
                            uint64_t min_age)
{
    strobe_a64 *state = &ring->chunks[chunk];
    uint64_t found = strobe_load_relaxed(state);
    if (found & 1 || draw < (found >> 1) || (found && draw - (found >> 1) < min_age))
        return false;
    strobe_store_relaxed(&w->ticket, draw + 1);
    strobe_store_relaxed(&w->chunk, chunk + 1);
    w->fresh = !found;
    if (strobe_cas_acquire(state, &found, (draw + 1) << 1 | 1))
        return true;
    strobe_store_relaxed(&w->chunk, 0);
    return false;
}

/* The chunks that writers may claim: the first `chunks` of each of the first `subs` sub-buffers. A relaxed load of
 * `ready` is enough: it publishes no memory, and the file's blocks are reserved before it changes. */
struct span {
    uint32_t subs, chunks;
};

static struct span ring_claimable_span(const struct strobe_ring *ring)
{
    uint32_t ready = strobe_load_relaxed(&ring->head->ready);
    if (strobe_unlikely(ready))
        return (struct span){1, ready};
    return (struct span){ring->head->sub_count, ring->head->chunks_per_sub};
}

static bool claim_in(const struct strobe_ring *ring, struct strobe_ring_writer *w, uint32_t sub, uint32_t chunks,
                     uint32_t tries, uint64_t min_age)
{
    bool keep_oldest = ring->head->mode == STROBE_KEEP_OLDEST;
    strobe_a64 *next = &ring->cursors[sub].next;
    for (uint32_t i = 0; i < tries; i++) {
        if (keep_oldest && strobe_load_relaxed(next) >= chunks)
            return false;
        uint64_t draw = strobe_add_relaxed(next, 1);
        if (keep_oldest && draw >= chunks)
            return false;
        uint32_t chunk = sub * ring->head->chunks_per_sub + ((uint32_t)draw & (chunks - 1));
        if (ring_take_chunk(ring, w, chunk, draw, min_age))
            return true;
    }
    return false;
}

/* Moves the writer to the next sub-buffer in two cases: the next one is at least a lap behind, or both are in the same
 * lap and this one has just completed a lap. A single writer thus overwrites the whole ring in turn. Many writers keep
 * all sub-buffers at about the same lap. */
static void keep_level(const struct strobe_ring *ring, struct strobe_ring_writer *w)
{
    if (ring->head->sub_count == 1)
        return;
    uint64_t in_lap = ring->head->chunks_per_sub - 1;
    uint32_t next = (w->home + 1) & (ring->head->sub_count - 1);
    uint64_t here = strobe_load_relaxed(&ring->cursors[w->home].next);
    uint64_t there = strobe_load_relaxed(&ring->cursors[next].next) & ~in_lap;
    if (there < (here & ~in_lap) || (there == here && here))
        w->home = next;
}

/* A slow thread can seal its chunk just before the cursor reaches that chunk again. The first round therefore skips
 * chunks sealed less than half a lap ago. The second round accepts them when the first found no other chunk. */
static bool ring_claim_chunk(const struct strobe_ring *ring, struct strobe_ring_writer *w)
{
    struct span s = ring_claimable_span(ring);
    keep_level(ring, w);
    for (uint32_t i = 0; i < s.subs; i++)
        if (claim_in(ring, w, (w->home + i) & (s.subs - 1), s.chunks, POLITE_TRIES, s.chunks / 2))
            return true;
    for (uint32_t i = 0; i < s.subs; i++)
        if (claim_in(ring, w, (w->home + i) & (s.subs - 1), s.chunks, LAST_TRIES, 0))
            return true;
    return false;
}

void strobe_ring_writer_close(const struct strobe_ring *ring, struct strobe_ring_writer *w)
{
    uint32_t chunk = strobe_load_relaxed(&w->chunk);
    if (chunk)
        ring_seal_chunk(ring, chunk - 1, strobe_load_relaxed(&w->ticket));
    strobe_store_relaxed(&w->chunk, 0);
    w->used = 0;
    w->last = 0;
}

void strobe_ring_seal_dead(const struct strobe_ring *ring, struct strobe_ring_writer *w)
{
    uint32_t chunk = strobe_load_relaxed(&w->chunk);
    if (chunk)
        ring_seal_chunk(ring, chunk - 1, strobe_load_relaxed(&w->ticket));
}

/* --- slots --- */

bool strobe_ring_next_chunk(const struct strobe_ring *ring, struct strobe_ring_writer *w)
{
    strobe_ring_writer_close(ring, w);
    return ring_claim_chunk(ring, w);
}

static void put_metrics(struct strobe_slot *slot, const struct strobe_metrics *m)
{
    strobe_store_relaxed(&slot->u.word[0], m->alloc_count);
    strobe_store_relaxed(&slot->u.word[1], m->alloc_bytes);
    strobe_store_relaxed(&slot->u.word[2], m->minor_faults | (uint64_t)m->major_faults << 32);
    strobe_store_relaxed(&slot->u.word[3], m->voluntary_switches | (uint64_t)m->involuntary_switches << 32);
    strobe_store_relaxed(&slot->u.word[4], m->alloc_count_span | (uint64_t)m->alloc_bytes_span << 32);
    strobe_store_relaxed(&slot->u.word[5], m->minor_faults_span | (uint64_t)m->major_faults_span << 32);
    strobe_store_relaxed(&slot->u.word[6], m->voluntary_switches_span | (uint64_t)m->involuntary_switches_span << 32);
}

/* Fills one slot, or two when there are metrics, and commits them under `seq` with the next version. */
static void ring_fill_slot(struct strobe_slot *slot, uint64_t seq, const struct strobe_record *record,
                           const struct strobe_metrics *metrics)
{
    uint32_t flags = record->flags & ~(uint32_t)STROBE_FLAG_METRICS;
    strobe_store_relaxed(&slot[0].seq, seq | BUSY);
    if (metrics) {
        strobe_store_relaxed(&slot[1].seq, seq | METRICS | BUSY);
        strobe_fence_release();
        strobe_slot_put(&slot[0], record, flags | STROBE_FLAG_METRICS);
        put_metrics(&slot[1], metrics);
        strobe_store_relaxed(&slot[1].seq, (seq + VERSION_ONE) | METRICS);
    } else {
        strobe_fence_release();
        strobe_slot_put(&slot[0], record, flags);
    }
    strobe_store_release(&slot[0].seq, seq + VERSION_ONE);
}

enum strobe_status strobe_ring_write(const struct strobe_ring *ring, struct strobe_ring_writer *w,
                                     const struct strobe_record *record, const struct strobe_metrics *metrics)
{
    struct strobe_slot *slot = strobe_ring_take_slots(ring, w, metrics ? 2 : 1);
    if (!slot)
        return STROBE_FULL;
    ring_fill_slot(slot, strobe_ring_new_seq(w), record, metrics);
    return STROBE_OK;
}

enum strobe_status strobe_ring_rewrite(const struct strobe_ring *ring, struct strobe_ring_writer *w,
                                       const struct strobe_record *record, const struct strobe_metrics *metrics)
{
    if (!w->last)
        return STROBE_NO_ENTRY;
    struct strobe_slot *slot = &ring->slots[w->last - 1];
    uint64_t seq = strobe_load_relaxed(&slot->seq);
    bool had_metrics =
        strobe_load_relaxed(&slot->u.word[STROBE_SLOT_FLAGS]) >> STROBE_SLOT_FLAGS_SHIFT & STROBE_FLAG_METRICS;
    if (had_metrics != (metrics != NULL) || (seq & VERSION_MASK) == VERSION_MASK)
        return STROBE_NO_ENTRY;
    ring_fill_slot(slot, seq, record, metrics);
    return STROBE_OK;
}

/* --- reading --- */

static void get_words(const struct strobe_slot *slot, void *out)
{
    uint64_t word[WORDS];
    for (uint32_t i = 0; i < WORDS; i++)
        word[i] = strobe_load_relaxed(&slot->u.word[i]);
    memcpy(out, word, sizeof word);
}

bool strobe_ring_untouched(const struct strobe_ring *ring, uint32_t index)
{
    return strobe_load_acquire(&ring->chunks[index / STROBE_CHUNK_SLOTS]) == 0;
}

enum strobe_ring_look strobe_ring_look(const struct strobe_ring *ring, uint32_t index, struct strobe_ring_item *item)
{
    const struct strobe_slot *slot = &ring->slots[index];
    for (uint32_t i = 0; i < LOOK_TRIES; i++) {
        uint64_t seq = strobe_load_acquire(&slot[0].seq);
        if (!seq || seq & METRICS)
            return STROBE_LOOK_EMPTY;
        if (seq & BUSY)
            continue;
        get_words(&slot[0], &item->record);
        bool whole = true;
        memset(&item->metrics, 0, sizeof item->metrics);
        if (item->record.flags & STROBE_FLAG_METRICS) {
            whole = index % STROBE_CHUNK_SLOTS != STROBE_CHUNK_SLOTS - 1 &&
                    strobe_load_relaxed(&slot[1].seq) == (seq | METRICS);
            if (whole)
                get_words(&slot[1], &item->metrics);
        }
        strobe_fence_acquire();
        if (whole && strobe_load_relaxed(&slot[0].seq) == seq)
            return STROBE_LOOK_RECORD;
    }
    return STROBE_LOOK_BUSY;
}

/* A version above 0 proves that the record was committed. All versions with one ticket are of one record. */
bool strobe_ring_salvage(const struct strobe_ring *ring, uint32_t index, struct strobe_ring_item *item)
{
    const struct strobe_slot *slot = &ring->slots[index];
    uint64_t seq = strobe_load_acquire(&slot[0].seq);
    if (!(seq & BUSY) || seq & METRICS || !(seq & VERSION_MASK))
        return false;
    get_words(&slot[0], &item->record);
    memset(&item->metrics, 0, sizeof item->metrics);
    if (item->record.flags & STROBE_FLAG_METRICS) {
        if (index % STROBE_CHUNK_SLOTS == STROBE_CHUNK_SLOTS - 1)
            return false;
        uint64_t second = strobe_load_relaxed(&slot[1].seq);
        if (!(second & METRICS) || second >> TICKET_SHIFT != seq >> TICKET_SHIFT)
            return false;
        get_words(&slot[1], &item->metrics);
    }
    strobe_fence_acquire();
    return strobe_load_relaxed(&slot[0].seq) >> TICKET_SHIFT == seq >> TICKET_SHIFT;
}
