/* The record ring with writers that freeze or die: other writers continue. Such a writer owns its chunk until another
 * thread seals it; then the chunk is used again. */
#include "tests/explore/engine/engine_ring.h"

static void setup_two_chunks(void *state)
{
    struct ring_state *s = state;
    ring_make(s, 4, 1, STROBE_KEEP_NEWEST);
    for (uint32_t i = 0; i < RING_WRITERS; i++)
        strobe_ring_writer_init(&s->ring, &s->writer[i], i);
}

/* ---- ring/frozen: a writer is frozen before each of its operations */

enum { VICTIM, OTHER, HEIR };

static void write_and_merge(void *state)
{
    struct ring_state *s = state;
    struct strobe_ring_writer *w = &s->writer[VICTIM];
    if (ring_put(s, w, 1, false) == STROBE_OK)
        ring_merge(s, w, 1, 1, false);
    ring_put(s, w, 2, false);
    ring_put(s, w, 3, false);
}

static void write_on(void *state)
{
    struct ring_state *s = state;
    for (uint32_t i = 0; i < explore_size(); i++)
        ring_put(s, &s->writer[OTHER], 5 + i, false);
    ring_close(s, &s->writer[OTHER]);
}

static uint32_t open_chunk(const struct ring_state *s, const struct strobe_ring_writer *w)
{
    uint32_t chunk = strobe_load_relaxed(&w->chunk);
    uint64_t open = strobe_load_relaxed(&w->ticket) << 1 | 1;
    return chunk && strobe_load_relaxed(&s->ring.chunks[chunk - 1]) == open ? chunk : 0;
}

/* Writes four more records, which are a lap when all chunks can be claimed. All must be accepted. */
static uint64_t write_a_lap(struct ring_state *s, uint32_t *chunks)
{
    struct strobe_ring_writer *w = &s->writer[HEIR];
    uint64_t samples = 0;
    for (uint32_t number = 9; number <= 12; number++) {
        struct strobe_record r = ring_record(number, 0, false);
        explore_require(strobe_ring_write(&s->ring, w, &r, NULL) == STROBE_OK);
        samples += r.count;
        *chunks |= 1u << (strobe_load_relaxed(&w->chunk) - 1);
    }
    return samples;
}

/* Checks a slot that was left busy: the salvage finds no record, or the record that was being rewritten. */
static void check_salvage(const struct ring_state *s)
{
    for (uint32_t i = 0; i < strobe_ring_slot_count(&s->ring); i++) {
        struct strobe_ring_item item;
        if (strobe_ring_look(&s->ring, i, &item) != STROBE_LOOK_BUSY)
            continue;
        bool committed = strobe_load_relaxed(&s->ring.slots[i].seq) >> 2 & 0xffffff;
        explore_require(strobe_ring_salvage(&s->ring, i, &item) == committed);
        explore_require(!committed || item.record.kind == 1);
        explore_require(!committed || item.record.count - ring_samples(1, 0) <= 1);
    }
}

static void check_after_death(void *state)
{
    struct ring_state *s = state;
    struct ring_census before = ring_count(&s->ring);
    struct strobe_ring_writer *dead = &s->writer[VICTIM];
    uint32_t held = open_chunk(s, dead), chunks = 0;
    explore_require(before.busy <= 1);
    check_salvage(s);
    uint64_t written = write_a_lap(s, &chunks);
    explore_require(!held || chunks == (3u ^ 1u << (held - 1)));
    explore_require(open_chunk(s, dead) == held);

    struct ring_census between = ring_count(&s->ring);
    explore_require((between.numbers >> 9) != 0 && between.busy <= before.busy);
    strobe_ring_seal_dead(&s->ring, dead);
    strobe_ring_seal_dead(&s->ring, dead);
    strobe_ring_writer_close(&s->ring, &s->writer[HEIR]);
    explore_require(open_chunk(s, dead) == 0);
    /* The second lap may overwrite the records of the first, which are equal. */
    uint64_t overwrote = s->writer[HEIR].overwrote;
    explore_require(between.samples + overwrote == before.samples + written);
    struct strobe_ring_writer next = {0};
    strobe_ring_writer_init(&s->ring, &next, HEIR);
    uint64_t more = 0;
    for (uint32_t number = 4; number <= 8; number += 4) {
        struct strobe_record r = ring_record(number, 0, false);
        for (uint32_t i = 0; i < 2; i++) {
            explore_require(strobe_ring_write(&s->ring, &next, &r, NULL) == STROBE_OK);
            more += r.count;
        }
        chunks |= 1u << (strobe_load_relaxed(&next.chunk) - 1);
    }
    explore_require(chunks == 3);
    uint64_t present = 0;
    for (uint32_t i = 0; i < strobe_ring_slot_count(&s->ring); i++) {
        struct strobe_ring_item item;
        explore_require(strobe_ring_look(&s->ring, i, &item) == STROBE_LOOK_RECORD && ring_is_whole(&item));
        present += item.record.count;
    }
    explore_require(present + next.overwrote == between.samples + more);
}

const struct explore_program explore_ring_frozen = {
    .name = "ring/frozen",
    .what = "a writer stopped at any step holds up nobody, and its chunk is won back (S-16)",
    .thread_count = 2,
    .state_bytes = sizeof(struct ring_state),
    .setup = setup_two_chunks,
    .thread = {write_and_merge, write_on},
    .check = check_after_death,
    .quick = 2,
    .nightly = 4,
    .frozen = 1 << VICTIM,
};

/* ---- ring/dead: a thread seals the chunk of a writer that is proven to have ended, while other writers claim chunks
 * */

static void setup_one_chunk(void *state)
{
    struct ring_state *s = state;
    ring_make(s, 2, 1, STROBE_KEEP_NEWEST);
    for (uint32_t i = 0; i < RING_WRITERS; i++)
        strobe_ring_writer_init(&s->ring, &s->writer[i], i);
}

static void write_and_die(void *state)
{
    struct ring_state *s = state;
    ring_put(s, &s->writer[VICTIM], 1, false);
    strobe_store_release(&s->ended[VICTIM], 1);
}

static void seal_for_dead(void *state)
{
    struct ring_state *s = state;
    struct strobe_ring ring = s->ring;
    if (strobe_load_acquire(&s->ended[VICTIM]))
        strobe_ring_seal_dead(&ring, &s->writer[VICTIM]);
}

static void write_and_close(void *state)
{
    struct ring_state *s = state;
    for (uint32_t i = 0; i < explore_size(); i++) {
        ring_put(s, &s->writer[HEIR], 9 + i, false);
        ring_close(s, &s->writer[HEIR]);
    }
}

static void check_balance(void *state)
{
    ring_balance(state);
}

const struct explore_program explore_ring_dead = {
    .name = "ring/dead",
    .what = "a chunk sealed for the dead: who claims it sees all that the dead wrote in it",
    .thread_count = 3,
    .state_bytes = sizeof(struct ring_state),
    .setup = setup_one_chunk,
    .thread = {write_and_die, seal_for_dead, write_and_close},
    .check = check_balance,
    .quick = 2,
    .nightly = 3,
};
