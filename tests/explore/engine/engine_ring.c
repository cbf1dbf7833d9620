/* Concurrent writers of the record ring: each record is present, counted as overwritten, or refused and counted. No
 * record is torn or present twice. Only the owner of a chunk writes its slots. */
#include "tests/explore/engine/engine_ring.h"
#include "tests/explore/programs.h"

/* Returns the number of the record that the calling thread writes in this turn. */
static uint32_t number_of(uint32_t turn)
{
    return explore_self() * 4 + turn + 1;
}

static void write_all(void *state)
{
    struct ring_state *s = state;
    struct strobe_ring_writer w = {0};
    strobe_ring_writer_init(&s->ring, &w, explore_self());
    for (uint32_t i = 0; i < explore_size(); i++)
        ring_put(s, &w, number_of(i), false);
}

/* Seals its chunk after each record. */
static void write_and_close(void *state)
{
    struct ring_state *s = state;
    struct strobe_ring_writer w = {0};
    strobe_ring_writer_init(&s->ring, &w, explore_self());
    for (uint32_t i = 0; i < explore_size(); i++) {
        ring_put(s, &w, number_of(i), false);
        ring_close(s, &w);
    }
}

static void check_balance(void *state)
{
    ring_balance(state);
}

/* ---- ring/write: the ring has room for all records */

static void setup_room(void *state)
{
    ring_make(state, 16, 1, STROBE_KEEP_NEWEST);
}

static void check_all_there(void *state)
{
    struct ring_state *s = state;
    uint32_t numbers = 0;
    for (uint32_t i = 0; i < RING_WRITERS; i++) {
        explore_require(s->refused[i] == 0 && s->overwrote[i] == 0);
        numbers |= s->numbers[i];
    }
    explore_require(ring_count(&s->ring).numbers == numbers);
    ring_balance(s);
}

static const struct explore_program write_program = {
    .name = "ring/write",
    .what = "records of three writers in a ring with room: all are there, whole, once",
    .thread_count = 3,
    .state_bytes = sizeof(struct ring_state),
    .setup = setup_room,
    .thread = {write_all, write_all, write_all},
    .check = check_all_there,
    .quick = 4,
    .nightly = 4,
};

/* ---- ring/lap, ring/turns: writers overwrite each other's records */

static void setup_two_chunks(void *state)
{
    ring_make(state, 4, 1, STROBE_KEEP_NEWEST);
}

static const struct explore_program lap_program = {
    .name = "ring/lap",
    .what = "writers that lap each other: samples there and overwritten are those written (S-11)",
    .thread_count = 2,
    .state_bytes = sizeof(struct ring_state),
    .setup = setup_two_chunks,
    .thread = {write_all, write_all},
    .check = check_balance,
    .quick = 4,
    .nightly = 4,
};

static void setup_one_chunk(void *state)
{
    ring_make(state, 2, 1, STROBE_KEEP_NEWEST);
}

static const struct explore_program turns_program = {
    .name = "ring/turns",
    .what = "a chunk goes from writer to writer: each sees all that was written in it before (S-17)",
    .thread_count = 2,
    .state_bytes = sizeof(struct ring_state),
    .setup = setup_one_chunk,
    .thread = {write_and_close, write_and_close},
    .check = check_balance,
    .quick = 1,
    .nightly = 2,
};

static const struct explore_program crowd_program = {
    .name = "ring/crowd",
    .what = "as ring/turns, for three, the last of which keeps the chunk",
    .thread_count = 3,
    .state_bytes = sizeof(struct ring_state),
    .setup = setup_one_chunk,
    .thread = {write_and_close, write_and_close, write_all},
    .check = check_balance,
    .quick = 1,
    .nightly = 1,
};

/* ---- ring/subs: two sub-buffers of one chunk each; writers also claim the other sub-buffer's chunk */

static void setup_two_subs(void *state)
{
    ring_make(state, 4, 2, STROBE_KEEP_NEWEST);
}

static const struct explore_program subs_program = {
    .name = "ring/subs",
    .what = "writers that spill into other sub-buffers: the accounting is consistent",
    .thread_count = 2,
    .state_bytes = sizeof(struct ring_state),
    .setup = setup_two_subs,
    .thread = {write_all, write_all},
    .check = check_balance,
    .quick = 4,
    .nightly = 4,
};

/* ---- ring/oldest: the ring fills up and then refuses records */

static void setup_oldest(void *state)
{
    ring_make(state, 4, 1, STROBE_KEEP_OLDEST);
}

/* Each accepted record stays, and no record is refused before all chunks have been claimed. */
static void check_oldest(void *state)
{
    struct ring_state *s = state;
    uint32_t numbers = 0, refused = 0;
    for (uint32_t i = 0; i < RING_WRITERS; i++) {
        explore_require(s->overwrote[i] == 0);
        numbers |= s->numbers[i];
        refused += s->refused[i];
    }
    explore_require(ring_count(&s->ring).numbers == numbers);
    explore_require(!refused || (strobe_load_relaxed(&s->ring.chunks[0]) && strobe_load_relaxed(&s->ring.chunks[1])));
    explore_require((uint32_t)__builtin_popcount(numbers) + refused == 3 * explore_size());
    ring_balance(s);
}

static const struct explore_program oldest_program = {
    .name = "ring/oldest",
    .what = "a ring that keeps the oldest: what was accepted stays, what was refused is counted",
    .thread_count = 3,
    .state_bytes = sizeof(struct ring_state),
    .setup = setup_oldest,
    .thread = {write_all, write_all, write_all},
    .check = check_oldest,
    .quick = 4,
    .nightly = 4,
};

/* ---- ring/flush: a merge after another writer claimed the chunk */

static void merge_and_close(void *state)
{
    struct ring_state *s = state;
    struct strobe_ring_writer w = {0};
    strobe_ring_writer_init(&s->ring, &w, 0);
    bool kept = ring_put(s, &w, 1, false) == STROBE_OK;
    explore_require(ring_merge(s, &w, 1, 1, false) == (kept ? STROBE_OK : STROBE_NO_ENTRY));
    ring_close(s, &w);
    explore_require(ring_merge(s, &w, 1, 2, false) == STROBE_NO_ENTRY);
}

static void write_then_merge(void *state)
{
    struct ring_state *s = state;
    struct strobe_ring_writer w = {0};
    strobe_ring_writer_init(&s->ring, &w, 1);
    for (uint32_t i = 0; i < explore_size(); i++) {
        bool kept = ring_put(s, &w, number_of(i), false) == STROBE_OK;
        explore_require(ring_merge(s, &w, number_of(i), 1, false) == (kept ? STROBE_OK : STROBE_NO_ENTRY));
    }
    ring_close(s, &w);
}

static const struct explore_program flush_program = {
    .name = "ring/flush",
    .what = "merging ends when the chunk is given back: nobody's record is changed by another",
    .thread_count = 2,
    .state_bytes = sizeof(struct ring_state),
    .setup = setup_one_chunk,
    .thread = {merge_and_close, write_then_merge},
    .check = check_balance,
    .quick = 2,
    .nightly = 3,
};

/* ---- ring/stop: writers are asked to stop, and then the ring is read */

static void write_until_stopped(void *state)
{
    struct ring_state *s = state;
    struct strobe_ring_writer w = {0};
    strobe_ring_writer_init(&s->ring, &w, explore_self());
    for (uint32_t i = 0; i < explore_size() && !strobe_load_relaxed(&s->stop); i++)
        ring_put(s, &w, number_of(i), false);
    ring_close(s, &w);
    strobe_store_release(&s->ended[explore_self()], 1);
}

static void stop_and_read(void *state)
{
    struct ring_state *s = state;
    strobe_store_relaxed(&s->stop, 1);
    for (uint32_t i = 0; i < 2; i++)
        while (!strobe_load_acquire(&s->ended[i]))
            explore_spin();
    ring_balance(s);
}

static const struct explore_program stop_program = {
    .name = "ring/stop",
    .what = "what is read after all writers have stopped is all that they wrote",
    .thread_count = 3,
    .state_bytes = sizeof(struct ring_state),
    .setup = setup_two_chunks,
    .thread = {write_until_stopped, write_until_stopped, stop_and_read},
    .check = check_balance,
    .quick = 2,
    .nightly = 3,
};

const struct explore_program *const explore_ring_programs[] = {
    &write_program,
    &lap_program,
    &turns_program,
    &crowd_program,
    &subs_program,
    &oldest_program,
    &flush_program,
    &stop_program,
    &explore_ring_look,
    &explore_ring_extend,
    &explore_ring_read,
    &explore_ring_merge,
    &explore_ring_metrics,
    &explore_ring_shapes,
    &explore_ring_snapshot,
    &explore_ring_salvage,
    &explore_ring_salvage_gone,
    &explore_ring_salvage_metrics,
    &explore_ring_frozen,
    &explore_ring_dead,
    NULL,
};
