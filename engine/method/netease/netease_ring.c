/* A sampler takes a place by compare-and-swap and writes it as a seqlock.
 *
 * Memory orders needed:
 *
 *   draw (relaxed)        the number publishes no other data
 *   take (acquire)        the previous sampler's stores, published by its commit (release), come before the new
 *                         sampler's stores. Explored: netease/two
 *   busy, fence (release), payload, commit (release)
 *                         a reader that sees one word of the new payload also finds the word busy, or a later word
 *   load (acquire), payload, fence (acquire), load again
 *                         the reader's half of both. Explored: netease/look, netease/lapped
 *
 * No thread delays another. A sampler tries one place, and either takes it or gives up. Readers write nothing. */
#include "engine/method/netease/netease_ring.h"

enum { TICKS, ABOUT, FRAMES }; /* indices of a place's words after its first word */
#define BUSY       UINT64_C(1)
#define CUT        (UINT64_C(1) << 63)
#define COUNT_MASK UINT64_C(0x7fffffff)

static size_t netease_place_words(uint32_t frames)
{
    return 1 + FRAMES + (size_t)frames;
}

static bool netease_sizes_in_range(uint32_t capacity, uint32_t frames)
{
    return capacity && capacity <= STROBE_NETEASE_CAPACITY_MAX && frames && frames <= STROBE_NETEASE_FRAMES_MAX;
}

size_t strobe_netease_ring_bytes(uint32_t capacity, uint32_t frames)
{
    if (!netease_sizes_in_range(capacity, frames) ||
        capacity > (SIZE_MAX / 2) / (netease_place_words(frames) * sizeof(strobe_a64)))
        return 0;
    return sizeof(struct strobe_netease_head) + capacity * netease_place_words(frames) * sizeof(strobe_a64);
}

void strobe_netease_ring_create(void *memory, uint32_t capacity, uint32_t frames)
{
    struct strobe_netease_head *head = memory;
    head->capacity = capacity;
    head->frames = frames;
}

enum strobe_status strobe_netease_ring_open(void *memory, size_t bytes, struct strobe_netease_ring *out)
{
    struct strobe_netease_head *head = memory;
    if (bytes < sizeof *head)
        return STROBE_BAD_INPUT;
    size_t needed = strobe_netease_ring_bytes(head->capacity, head->frames);
    if (!needed || bytes < needed)
        return STROBE_BAD_INPUT;
    out->head = head;
    out->places = (strobe_a64 *)(void *)(head + 1);
    return STROBE_OK;
}

static strobe_a64 *netease_place_of(const struct strobe_netease_ring *ring, uint64_t number)
{
    return ring->places + (size_t)(number % ring->head->capacity) * netease_place_words(ring->head->frames);
}

static uint64_t netease_committed_word(uint64_t number)
{
    return (number + 1) << 1;
}

/* --- writing --- */

/* Takes the place, unless it is busy or holds a later capture. */
static bool netease_take_place(strobe_a64 *place, uint64_t number)
{
    uint64_t found = strobe_load_relaxed(place);
    if (found & BUSY || found > netease_committed_word(number))
        return false;
    return strobe_cas_acquire(place, &found, netease_committed_word(number) | BUSY);
}

enum strobe_status strobe_netease_ring_put(const struct strobe_netease_ring *ring,
                                           const struct strobe_netease_capture *capture, const uint64_t *frames,
                                           uint32_t count, uint64_t *number)
{
    struct strobe_netease_head *head = ring->head;
    uint64_t mine = strobe_add_relaxed(&head->next, 1);
    strobe_a64 *place = netease_place_of(ring, mine), *words = place + 1;
    bool cut = capture->cut || count > head->frames;
    *number = mine;
    if (!netease_take_place(place, mine)) {
        strobe_add_relaxed(&head->refused, 1);
        return STROBE_FULL;
    }
    strobe_fence_release();
    if (count > head->frames) {
        frames += count - head->frames;
        count = head->frames;
    }
    strobe_store_relaxed(&words[TICKS], capture->ticks);
    strobe_store_relaxed(&words[ABOUT], capture->tid | (uint64_t)count << 32 | (cut ? CUT : 0));
    for (uint32_t i = 0; i < count; i++)
        strobe_store_relaxed(&words[FRAMES + i], frames[i]);
    strobe_store_release(place, netease_committed_word(mine));
    return STROBE_OK;
}

/* --- reading --- */

uint64_t strobe_netease_ring_drawn(const struct strobe_netease_ring *ring)
{
    return strobe_load_relaxed(&ring->head->next);
}

static uint64_t netease_overwritten_of(const struct strobe_netease_ring *ring, uint64_t drawn)
{
    return drawn > ring->head->capacity ? drawn - ring->head->capacity : 0;
}

uint64_t strobe_netease_ring_overwritten(const struct strobe_netease_ring *ring)
{
    return netease_overwritten_of(ring, strobe_netease_ring_drawn(ring));
}

enum strobe_status strobe_netease_ring_read(const struct strobe_netease_ring *ring, uint64_t number,
                                            struct strobe_netease_capture *out, uint64_t *frames)
{
    const strobe_a64 *place = netease_place_of(ring, number), *words = place + 1;
    uint64_t word = strobe_load_acquire(place);
    if (number < strobe_netease_ring_overwritten(ring) || (word & ~BUSY) > netease_committed_word(number))
        return STROBE_GONE;
    if (word != netease_committed_word(number))
        return STROBE_NO_ENTRY;
    uint64_t about = strobe_load_relaxed(&words[ABOUT]);
    uint32_t count = about >> 32 & COUNT_MASK;
    *out = (struct strobe_netease_capture){.number = number,
                                           .ticks = strobe_load_relaxed(&words[TICKS]),
                                           .tid = (uint32_t)about,
                                           .cut = (about & CUT) != 0,
                                           .count = count < ring->head->frames ? count : ring->head->frames};
    for (uint32_t i = 0; i < out->count; i++)
        frames[i] = strobe_load_relaxed(&words[FRAMES + i]);
    strobe_fence_acquire();
    return strobe_load_relaxed(place) == word ? STROBE_OK : STROBE_GONE;
}

void strobe_netease_list_begin(const struct strobe_netease_ring *ring, struct strobe_netease_list *list)
{
    uint64_t drawn = strobe_netease_ring_drawn(ring);
    *list = (struct strobe_netease_list){.next = drawn, .end = netease_overwritten_of(ring, drawn)};
}

bool strobe_netease_list_next(const struct strobe_netease_ring *ring, struct strobe_netease_list *list,
                              struct strobe_netease_capture *out, uint64_t *frames)
{
    while (list->next > list->end) {
        enum strobe_status status = strobe_netease_ring_read(ring, --list->next, out, frames);
        if (status == STROBE_OK)
            return true;
        *(status == STROBE_GONE ? &list->gone : &list->missing) += 1;
    }
    return false;
}
