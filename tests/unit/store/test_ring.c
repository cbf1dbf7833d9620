/* The record ring, used by one thread: each record is present or counted as lost, in each shape of ring. */
#include "engine/store/ring.h"
#include "engine/store/stack_table.h"
#include "tests/unit/support/sample.h"
#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t seed;

static struct strobe_ring_writer writer_new(const struct strobe_ring *ring, uint64_t tid)
{
    struct strobe_ring_writer w = {0};
    strobe_ring_writer_init(ring, &w, tid);
    return w;
}

static void a_record_comes_back_field_by_field(void **state)
{
    (void)state;
    struct strobe_ring ring = strobe_sample_ring(64, 1, STROBE_KEEP_NEWEST);
    struct strobe_ring_writer w = writer_new(&ring, 1);
    const struct strobe_record r = {.ticks = 1,
                                    .duration = 2,
                                    .cpu_ns = 3,
                                    .arg = 4,
                                    .stack = 5,
                                    .thread = 6,
                                    .message = 7,
                                    .count = 8,
                                    .cpu_span_ns = 9,
                                    .kind = 10,
                                    .flags = 0xffff};
    const struct strobe_metrics m = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    struct strobe_ring_item item;
    assert_int_equal(strobe_ring_write(&ring, &w, &r, &m), STROBE_OK);
    assert_int_equal(strobe_ring_look(&ring, 0, &item), STROBE_LOOK_RECORD);
    assert_memory_equal(&item.record, &r, sizeof r);
    assert_memory_equal(&item.metrics, &m, sizeof m);
    assert_int_equal(strobe_ring_look(&ring, 1, &item), STROBE_LOOK_EMPTY);

    assert_int_equal(strobe_ring_write(&ring, &w, &r, NULL), STROBE_OK);
    assert_int_equal(strobe_ring_look(&ring, 2, &item), STROBE_LOOK_RECORD);
    assert_int_equal(item.record.flags, 0xffff & ~STROBE_FLAG_METRICS);
    assert_memory_equal(&item.metrics, &(struct strobe_metrics){0}, sizeof m);
    assert_int_equal(strobe_ring_look(&ring, 3, &item), STROBE_LOOK_EMPTY);
    strobe_sample_ring_free(&ring);
}

/* Twelve hours in 10 us ticks are past 2^32; so are a year in ns, and a block of an hour. */
static void ticks_and_durations_past_32_bits_survive_S19(void **state)
{
    (void)state;
    struct strobe_ring ring = strobe_sample_ring(256, 1, STROBE_KEEP_NEWEST);
    struct strobe_ring_writer w = writer_new(&ring, 1);
    struct strobe_ring_item item;
    for (uint32_t bit = 0; bit < 64; bit++) {
        const struct strobe_record r = {.ticks = (uint64_t)1 << bit | 1,
                                        .duration = ((uint64_t)1 << bit) - 1,
                                        .cpu_ns = ~(uint64_t)0 >> bit,
                                        .arg = ~((uint64_t)1 << bit),
                                        .count = 1};
        assert_int_equal(strobe_ring_write(&ring, &w, &r, NULL), STROBE_OK);
        assert_int_equal(strobe_ring_look(&ring, w.last - 1, &item), STROBE_LOOK_RECORD);
        assert_memory_equal(&item.record, &r, sizeof r);
    }
    strobe_sample_ring_free(&ring);
}

/* --- exact sets --- */

/* One writer, records without metrics: the ring holds the newest records that fit, each exactly once. */
static void one_writer_finds_exactly_the_newest_records_S12(void **state)
{
    (void)state;
    static const struct {
        uint32_t slots, subs;
    } shapes[] = {
        {32, 1}, {64, 1}, {256, 1}, {64, 2}, {512, 4}, {1024, 16}, {4096, 8}, {2048, 64},
    };
    uint64_t random = seed;
    for (uint32_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (uint32_t round = 0; round < strobe_trial_rounds(40); round++) {
            struct strobe_ring ring = strobe_sample_ring(shapes[s].slots, shapes[s].subs, STROBE_KEEP_NEWEST);
            struct strobe_ring_writer w = writer_new(&ring, strobe_trial_random(&random));
            uint32_t slots = strobe_ring_slot_count(&ring);
            uint32_t written = strobe_trial_below(&random, slots * (round % 4 + 1)) + 1;
            unsigned char *seen = calloc(written, 1);
            for (uint32_t i = 0; i < written; i++)
                assert_int_equal(strobe_sample_write(&ring, &w, i, 1, 0, false), STROBE_OK);
            for (uint32_t i = 0; i < slots; i++) {
                struct strobe_ring_item item;
                enum strobe_ring_look look = strobe_ring_look(&ring, i, &item);
                if (look == STROBE_LOOK_EMPTY)
                    continue;
                assert_int_equal(look, STROBE_LOOK_RECORD);
                assert_true(strobe_sample_is_whole(&item) && item.record.ticks < written);
                assert_int_equal(seen[item.record.ticks]++, 0);
            }
            uint32_t gone = written > slots ? written - slots : 0;
            for (uint32_t i = 0; i < written; i++)
                assert_int_equal(seen[i], i >= gone);
            assert_int_equal(w.overwrote, gone);
            free(seen);
            strobe_sample_ring_free(&ring);
        }
    }
}

/* The memory of an unclaimed chunk has no meaning; here it looks like records. A read of it before the first write
 * would cost a second page fault for each page of a file. */
static void the_first_writer_of_a_chunk_reads_nothing_of_its_slots(void **state)
{
    (void)state;
    struct strobe_ring ring = strobe_sample_ring(4 * STROBE_CHUNK_SLOTS, 1, STROBE_KEEP_NEWEST);
    struct strobe_ring_writer w = writer_new(&ring, 1);
    uint32_t slots = strobe_ring_slot_count(&ring);
    for (uint32_t i = 0; i < slots; i++) {
        const uint64_t count = 7;
        strobe_store_relaxed(&ring.slots[i].seq, 1 << 2);
        strobe_store_relaxed(&ring.slots[i].u.word[5], count << 32);
    }
    for (uint32_t i = 0; i < slots / 2; i++)
        assert_int_equal(strobe_sample_write(&ring, &w, i, 1, 0, true), STROBE_OK);
    assert_int_equal(w.overwrote, 0);
    for (uint32_t i = 0; i < slots / 2; i++)
        assert_int_equal(strobe_sample_write(&ring, &w, slots + i, 1, 0, true), STROBE_OK);
    assert_int_equal(w.overwrote, slots / 2);
    strobe_sample_ring_free(&ring);
}

/* A simple model: the expected content of the ring, and the expected counts. */
struct ledger {
    uint32_t *count; /* count of each record by number, as last written; 0 = refused */
    uint32_t written;
    uint64_t samples, refused;
};

enum { WRITERS = 5 };

static void assert_all_accounted_for(const struct strobe_ring *ring, const struct ledger *l,
                                     const struct strobe_ring_writer *w)
{
    uint64_t present = 0, overwrote = 0;
    unsigned char *seen = calloc(l->written + 1, 1);
    for (uint32_t i = 0; i < strobe_ring_slot_count(ring); i++) {
        struct strobe_ring_item item;
        enum strobe_ring_look look = strobe_ring_look(ring, i, &item);
        if (look == STROBE_LOOK_EMPTY)
            continue;
        assert_int_equal(look, STROBE_LOOK_RECORD);
        assert_true(strobe_sample_is_whole(&item) && item.record.ticks < l->written);
        assert_int_equal(seen[item.record.ticks]++, 0);
        assert_int_equal(item.record.count, l->count[item.record.ticks]);
        present += item.record.count;
    }
    for (uint32_t i = 0; i < WRITERS; i++)
        overwrote += w[i].overwrote;
    assert_true(present + overwrote == l->samples);
    free(seen);
}

/* Random writers write records, merge into their last one, end and start again, with and without metrics. */
static void play(enum strobe_ring_mode mode, uint32_t slots, uint32_t subs, uint32_t steps, uint64_t *random)
{
    struct strobe_ring ring = strobe_sample_ring(slots, subs, mode);
    struct strobe_ring_writer w[WRITERS];
    struct ledger l = {.count = calloc(steps + 1, sizeof *l.count)};
    uint32_t last[WRITERS] = {0}, check_every = steps / 7 + 1;
    bool last_metrics[WRITERS] = {false};
    for (uint32_t i = 0; i < WRITERS; i++)
        w[i] = writer_new(&ring, strobe_trial_random(random));
    for (uint32_t step = 0; step < steps; step++) {
        uint32_t i = strobe_trial_below(random, 16) % WRITERS, act = strobe_trial_below(random, 100);
        uint32_t count = 1 + strobe_trial_below(random, 1000);
        bool metrics = strobe_trial_below(random, 3) == 0;
        if (act < 65) {
            if (strobe_sample_write(&ring, &w[i], l.written, count, 7, metrics) == STROBE_OK) {
                l.count[l.written] = count;
                l.samples += count;
                last[i] = l.written;
                last_metrics[i] = metrics;
            } else {
                l.refused++;
                assert_int_equal(w[i].last, 0);
            }
            l.written++;
        } else if (act < 98) {
            uint32_t merged = w[i].last ? l.count[last[i]] + 1 : 0;
            enum strobe_status want = w[i].last && metrics == last_metrics[i] ? STROBE_OK : STROBE_NO_ENTRY;
            assert_int_equal(strobe_sample_rewrite(&ring, &w[i], last[i], merged, 7, metrics), want);
            if (want == STROBE_OK) {
                l.count[last[i]]++;
                l.samples++;
            }
        } else {
            strobe_ring_writer_close(&ring, &w[i]);
            assert_int_equal(strobe_sample_rewrite(&ring, &w[i], last[i], 1, 7, last_metrics[i]), STROBE_NO_ENTRY);
        }
        if (step % check_every == 0)
            assert_all_accounted_for(&ring, &l, w);
    }
    assert_all_accounted_for(&ring, &l, w);
    if (mode == STROBE_KEEP_OLDEST)
        for (uint32_t i = 0; i < WRITERS; i++)
            assert_int_equal(w[i].overwrote, 0);
    if (mode == STROBE_KEEP_NEWEST && slots >= WRITERS * STROBE_CHUNK_SLOTS)
        assert_int_equal(l.refused, 0);
    free(l.count);
    strobe_sample_ring_free(&ring);
}

static void what_was_written_is_present_or_counted_as_overwritten_S11_S12(void **state)
{
    (void)state;
    uint64_t random = seed;
    for (uint32_t round = 0; round < strobe_trial_rounds(400); round++) {
        uint32_t subs = 1u << strobe_trial_below(&random, 4), slots = 32u << strobe_trial_below(&random, 6);
        play(STROBE_KEEP_NEWEST, slots, subs, strobe_trial_below(&random, 4000) + 1, &random);
    }
}

static void keeping_the_oldest_overwrites_nothing_S14(void **state)
{
    (void)state;
    uint64_t random = seed;
    for (uint32_t round = 0; round < strobe_trial_rounds(200); round++) {
        uint32_t subs = 1u << strobe_trial_below(&random, 4), slots = 32u << strobe_trial_below(&random, 6);
        play(STROBE_KEEP_OLDEST, slots, subs, strobe_trial_below(&random, 4000) + 1, &random);
    }
}

/* --- full rings --- */

static void every_slot_can_be_filled_before_the_ring_says_full_S14(void **state)
{
    (void)state;
    static const uint32_t subs[] = {1, 2, 16, 256};
    for (uint32_t s = 0; s < 4; s++) {
        struct strobe_ring ring = strobe_sample_ring(subs[s] * 100, subs[s], STROBE_KEEP_OLDEST);
        struct strobe_ring_writer w = writer_new(&ring, seed);
        uint32_t slots = strobe_ring_slot_count(&ring);
        for (uint32_t i = 0; i < slots; i++)
            assert_int_equal(strobe_sample_write(&ring, &w, i, 1, 0, false), STROBE_OK);
        for (uint32_t i = 0; i < 1000; i++)
            assert_int_equal(strobe_sample_write(&ring, &w, slots + i, 1, 0, i & 1), STROBE_FULL);
        struct strobe_sample_census c = strobe_sample_census(&ring);
        assert_int_equal(c.records, slots);
        assert_int_equal(c.torn + c.busy, 0);
        strobe_sample_ring_free(&ring);
    }
}

static void a_ring_whose_chunks_are_all_held_refuses_and_changes_nothing_S14(void **state)
{
    (void)state;
    struct strobe_ring ring = strobe_sample_ring(4 * STROBE_CHUNK_SLOTS, 2, STROBE_KEEP_NEWEST);
    struct strobe_ring_writer holder[4], late = writer_new(&ring, 99);
    for (uint32_t i = 0; i < 4; i++) {
        holder[i] = writer_new(&ring, i);
        assert_int_equal(strobe_sample_write(&ring, &holder[i], i, 1, 0, false), STROBE_OK);
    }
    size_t bytes = strobe_ring_slot_count(&ring) * sizeof *ring.slots;
    void *before = malloc(bytes);
    memcpy(before, ring.slots, bytes);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(strobe_sample_write(&ring, &late, 100, 1, 0, false), STROBE_FULL);
    assert_memory_equal(before, ring.slots, bytes);
    strobe_ring_writer_close(&ring, &holder[2]);
    assert_int_equal(strobe_sample_write(&ring, &late, 100, 1, 0, false), STROBE_OK);
    assert_int_equal(late.overwrote, 1);
    free(before);
    strobe_sample_ring_free(&ring);
}

/* A free chunk is found whichever chunks other writers hold, and however recently the rest was sealed. */
static void a_ring_with_a_free_chunk_refuses_nothing(void **state)
{
    (void)state;
    uint64_t random = seed;
    for (uint32_t round = 0; round < strobe_trial_rounds(2000); round++) {
        uint32_t subs = 1u << strobe_trial_below(&random, 3), chunks = subs << strobe_trial_below(&random, 6);
        struct strobe_ring ring = strobe_sample_ring(chunks * STROBE_CHUNK_SLOTS, subs, STROBE_KEEP_NEWEST);
        struct strobe_ring_writer holder[128], late = writer_new(&ring, strobe_trial_random(&random));
        for (uint32_t i = 0; i < chunks; i++) {
            holder[i] = writer_new(&ring, strobe_trial_random(&random));
            assert_int_equal(strobe_sample_write(&ring, &holder[i], i, 1, 0, false), STROBE_OK);
        }
        uint32_t from = strobe_trial_below(&random, chunks), count = 1 + strobe_trial_below(&random, chunks);
        for (uint32_t i = 0; i < count; i++)
            strobe_ring_writer_close(&ring, &holder[(from + i) % chunks]);
        assert_int_equal(strobe_sample_write(&ring, &late, 100, 1, 0, false), STROBE_OK);
        strobe_sample_ring_free(&ring);
    }
}

/* --- claims of chunks --- */

/* A claimant stalls for a lap after its draw. The chunk it then finds was sealed after that draw and must not be
 * taken. */
static void a_claim_that_was_overtaken_is_given_up_S13(void **state)
{
    (void)state;
    struct strobe_ring ring = strobe_sample_ring(4 * STROBE_CHUNK_SLOTS, 1, STROBE_KEEP_NEWEST);
    struct strobe_ring_writer w = writer_new(&ring, 1);
    for (uint32_t i = 0; i < 8 * STROBE_CHUNK_SLOTS; i++)
        strobe_sample_write(&ring, &w, i, 1, 0, false);
    uint64_t ahead = (uint64_t)1000 << 1;
    strobe_store_relaxed(&ring.chunks[0], ahead);
    for (uint32_t i = 0; i < 8 * STROBE_CHUNK_SLOTS; i++) {
        assert_int_equal(strobe_sample_write(&ring, &w, i, 1, 0, false), STROBE_OK);
        assert_int_not_equal(strobe_load_relaxed(&w.chunk), 1);
    }
    assert_true(strobe_load_relaxed(&ring.chunks[0]) == ahead);
    strobe_sample_ring_free(&ring);
}

/* Two writers, one of which stops for many laps of the other. */
static void a_writer_laps_behind_comes_back_to_its_own_slots_S13(void **state)
{
    (void)state;
    for (uint32_t subs = 1; subs <= 4; subs *= 2) {
        struct strobe_ring ring = strobe_sample_ring(8 * STROBE_CHUNK_SLOTS, subs, STROBE_KEEP_NEWEST);
        struct strobe_ring_writer slow = writer_new(&ring, 1), fast = writer_new(&ring, 1);
        const uint64_t slows = (uint64_t)1 << 32;
        struct strobe_ring_item item;
        for (uint32_t i = 0; i < 5; i++)
            strobe_sample_write(&ring, &slow, slows + i, 1, 0, false);
        uint32_t first = (strobe_load_relaxed(&slow.chunk) - 1) * STROBE_CHUNK_SLOTS;
        for (uint32_t i = 0; i < 10 * strobe_ring_slot_count(&ring); i++)
            assert_int_equal(strobe_sample_write(&ring, &fast, i, 1, 0, i % 5 == 0), STROBE_OK);
        for (uint32_t i = 5; i < STROBE_CHUNK_SLOTS; i++) {
            assert_int_equal(strobe_sample_write(&ring, &slow, slows + i, 1, 0, false), STROBE_OK);
            assert_int_equal(slow.last - 1, first + i);
        }
        for (uint32_t i = 0; i < strobe_ring_slot_count(&ring); i++) {
            bool its_own = i >= first && i < first + STROBE_CHUNK_SLOTS;
            if (strobe_ring_look(&ring, i, &item) != STROBE_LOOK_RECORD)
                continue;
            assert_int_equal(item.record.ticks >= slows, its_own);
            if (its_own)
                assert_int_equal(item.record.ticks, slows + i - first);
        }
        assert_int_equal(slow.overwrote, 0);
        strobe_sample_ring_free(&ring);
    }
}

/* The chunk of a slow writer, just sealed, is not the next to be overwritten: half a lap of other chunks comes
 * first. */
static void a_chunk_sealed_just_now_survives_half_a_lap(void **state)
{
    (void)state;
    for (uint32_t filled = 0; filled < 16; filled++) {
        struct strobe_ring ring = strobe_sample_ring(16 * STROBE_CHUNK_SLOTS, 1, STROBE_KEEP_NEWEST);
        struct strobe_ring_writer slow = writer_new(&ring, 1), fast = writer_new(&ring, 1);
        struct strobe_ring_item item;
        strobe_sample_write(&ring, &slow, 1, 1, 0, false);
        for (uint32_t i = 0; i < (33 + filled) * STROBE_CHUNK_SLOTS; i++)
            strobe_sample_write(&ring, &fast, 2, 1, 0, false);
        strobe_ring_writer_close(&ring, &slow);
        for (uint32_t i = 0; i < 7 * STROBE_CHUNK_SLOTS; i++)
            strobe_sample_write(&ring, &fast, 2, 1, 0, false);
        assert_int_equal(strobe_ring_look(&ring, 0, &item), STROBE_LOOK_RECORD);
        assert_int_equal(item.record.ticks, 1);
        for (uint32_t i = 0; i < 16 * STROBE_CHUNK_SLOTS; i++)
            strobe_sample_write(&ring, &fast, 2, 1, 0, false);
        assert_int_equal(strobe_ring_look(&ring, 0, &item), STROBE_LOOK_RECORD);
        assert_int_equal(item.record.ticks, 2);
        strobe_sample_ring_free(&ring);
    }
}

/* Pearson's chi-square of the first sub-buffers of 4096 writers, against its 99.99 % quantile for 31 degrees of
 * freedom. */
static void writers_start_evenly_over_the_subs_whatever_their_ids_share_S15(void **state)
{
    (void)state;
    struct strobe_ring ring = strobe_sample_ring(32 * 64, 32, STROBE_KEEP_NEWEST);
    static const struct {
        uint64_t base, step;
    } ids[] = {
        {0x7f3b5c000640u, 4096}, {0x7f3b5c000640u, 0x801000}, {0x16b0000000u, 1u << 20}, {1000, 1}, {3, 64},
    };
    for (uint32_t k = 0; k < sizeof ids / sizeof *ids; k++) {
        uint32_t hits[32] = {0};
        double chi = 0;
        for (uint32_t i = 0; i < 4096; i++)
            hits[strobe_ring_home(&ring, ids[k].base + i * ids[k].step)]++;
        for (uint32_t sub = 0; sub < 32; sub++)
            chi += (hits[sub] - 128.0) * (hits[sub] - 128.0) / 128.0;
        assert_true(chi < 70.0);
        assert_true(chi > 5.0); /* a lower value would show the pattern of the ids */
    }
    strobe_sample_ring_free(&ring);
}

/* A dead writer's open chunk has a half-written slot. The slot is reported busy, never as a record, and the chunk is
 * used again after it is sealed. */
static void a_half_written_record_of_a_dead_writer_is_not_read_and_its_chunk_is_used_again_S16(void **state)
{
    (void)state;
    struct strobe_ring ring = strobe_sample_ring(4 * STROBE_CHUNK_SLOTS, 1, STROBE_KEEP_NEWEST);
    struct strobe_ring_writer dead = writer_new(&ring, 1), other = writer_new(&ring, 2);
    struct strobe_ring_item item;
    for (uint32_t i = 0; i < 3; i++)
        strobe_sample_write(&ring, &dead, i, 1, 0, false);
    strobe_store_relaxed(&ring.slots[3].seq, strobe_load_relaxed(&dead.ticket) << 26 | 1);
    strobe_store_relaxed(&ring.slots[3].u.word[0], 77);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(strobe_sample_write(&ring, &other, i, 1, 0, false), STROBE_OK);
    assert_int_equal(strobe_ring_look(&ring, 3, &item), STROBE_LOOK_BUSY);
    assert_int_equal(strobe_sample_census(&ring).busy, 1);
    assert_int_equal(dead.last, 3);

    strobe_ring_seal_dead(&ring, &dead);
    strobe_ring_seal_dead(&ring, &dead);
    uint64_t before = other.overwrote + strobe_sample_census(&ring).records;
    for (uint32_t i = 0; i < 8 * STROBE_CHUNK_SLOTS; i++)
        assert_int_equal(strobe_sample_write(&ring, &other, i, 1, 0, false), STROBE_OK);
    struct strobe_sample_census c = strobe_sample_census(&ring);
    assert_int_equal(c.records, 4 * STROBE_CHUNK_SLOTS);
    assert_int_equal(c.torn + c.busy, 0);
    assert_int_equal(other.overwrote + c.records - before, 8 * STROBE_CHUNK_SLOTS);

    /* The chunk has another owner now. A second seal for the dead writer must not take it away. */
    struct strobe_ring_writer owner = writer_new(&ring, 3);
    while (strobe_load_relaxed(&owner.chunk) != 1) {
        strobe_ring_writer_close(&ring, &owner);
        strobe_sample_write(&ring, &owner, 5, 1, 0, false);
    }
    uint64_t open = strobe_load_relaxed(&ring.chunks[0]);
    strobe_ring_seal_dead(&ring, &dead);
    assert_true(strobe_load_relaxed(&ring.chunks[0]) == open);
    strobe_sample_ring_free(&ring);
}

/* --- merging --- */

static uint64_t word_of(const void *half, uint32_t i)
{
    uint64_t word;
    memcpy(&word, (const char *)half + 8 * i, sizeof word);
    return word;
}

/* A kill between any two stores of a rewrite keeps the merged samples, except that the last one may be missing. */
static void a_record_that_was_being_rewritten_is_saved_and_one_that_never_was_committed_is_not(void **state)
{
    (void)state;
    for (uint32_t metrics = 0; metrics < 2; metrics++) {
        for (uint32_t stores = 0; stores <= 14; stores++) {
            struct strobe_ring ring = strobe_sample_ring(64, 1, STROBE_KEEP_NEWEST);
            struct strobe_ring_writer w = writer_new(&ring, 1);
            struct strobe_ring_item old, next, item;
            strobe_sample_make(1, 5, 9, metrics, &old);
            next = old;
            next.record.count = 6;
            next.record.duration++;
            next.record.cpu_ns++;
            next.metrics.alloc_count++;
            next.metrics.involuntary_switches_span++;
            assert_int_equal(strobe_ring_write(&ring, &w, &old.record, metrics ? &old.metrics : NULL), STROBE_OK);
            assert_false(strobe_ring_salvage(&ring, 0, &item));
            struct strobe_slot *slot = ring.slots;
            for (uint32_t half = 0; half <= metrics; half++) {
                strobe_store_relaxed(&slot[half].seq, strobe_load_relaxed(&slot[half].seq) | 1);
                for (uint32_t i = 0; i < 7 && half * 7 + i < stores; i++)
                    strobe_store_relaxed(&slot[half].u.word[i],
                                         word_of(half ? (void *)&next.metrics : (void *)&next.record, i));
            }
            assert_int_equal(strobe_ring_look(&ring, 0, &item), STROBE_LOOK_BUSY);
            assert_true(strobe_ring_salvage(&ring, 0, &item));
            for (uint32_t i = 0; i < 7; i++) {
                assert_true(word_of(&item.record, i) == word_of(stores > i ? &next.record : &old.record, i));
                assert_true(!metrics ||
                            word_of(&item.metrics, i) == word_of(stores > 7 + i ? &next.metrics : &old.metrics, i));
            }
            /* version 0: the first write was never committed */
            strobe_store_relaxed(&slot[0].seq, 1 << 26 | 1);
            assert_false(strobe_ring_salvage(&ring, 0, &item));
            /* the second half belongs to another record */
            strobe_store_relaxed(&slot[0].seq, 2 << 26 | 1 << 2 | 1);
            assert_int_equal(strobe_ring_salvage(&ring, 0, &item), !metrics);
            strobe_sample_ring_free(&ring);
        }
    }
}

static void a_hundred_merged_samples_are_one_record_and_take_nothing_more_S30(void **state)
{
    (void)state;
    struct strobe_ring ring = strobe_sample_ring(1024, 4, STROBE_KEEP_NEWEST);
    struct strobe_ring_writer w = writer_new(&ring, 1);
    struct strobe_stack_table table;
    struct strobe_stack_cursor cursor = {0};
    size_t bytes = strobe_stack_table_bytes(1000);
    void *memory = calloc(1, bytes);
    strobe_stack_table_create(memory, 1000);
    assert_int_equal(strobe_stack_table_open(memory, bytes, &table), STROBE_OK);
    const uint64_t frames[4] = {10, 20, 30, 40};
    uint32_t id;
    for (uint32_t metrics = 0; metrics < 2; metrics++) {
        for (uint32_t i = 1; i <= 100; i++) {
            assert_int_equal(strobe_stack_intern(&table, &cursor, frames, 4, &id), STROBE_OK);
            enum strobe_status s = i == 1 ? strobe_sample_write(&ring, &w, metrics, i, id, metrics)
                                          : strobe_sample_rewrite(&ring, &w, metrics, i, id, metrics);
            assert_int_equal(s, STROBE_OK);
        }
        struct strobe_sample_census c = strobe_sample_census(&ring);
        assert_int_equal(c.records, 1 + metrics);
        assert_int_equal(c.samples, 100 * (1 + metrics));
        assert_int_equal(c.torn + c.busy, 0);
        assert_int_equal(w.used, metrics ? 3 : 1);
        assert_int_equal(strobe_stack_node_count(&table), 4);
    }
    /* The owner may merge into the last slots of a chunk until it needs another chunk. */
    while (w.used < STROBE_CHUNK_SLOTS)
        strobe_sample_write(&ring, &w, 9, 1, id, false);
    assert_int_equal(strobe_sample_rewrite(&ring, &w, 9, 2, id, false), STROBE_OK);
    assert_int_equal(strobe_sample_rewrite(&ring, &w, 9, 2, id, true), STROBE_NO_ENTRY);
    free(memory);
    strobe_sample_ring_free(&ring);
}

static void a_sequence_word_never_comes_twice_in_one_slot(void **state)
{
    (void)state;
    struct strobe_ring ring = strobe_sample_ring(32, 1, STROBE_KEEP_NEWEST);
    struct strobe_ring_writer w = writer_new(&ring, 1);
    uint64_t last = 0, random = seed;
    for (uint32_t i = 0; i < strobe_trial_rounds(3000); i++) {
        strobe_sample_write(&ring, &w, i, 1, 0, strobe_trial_below(&random, 2));
        if (strobe_trial_below(&random, 9) == 0)
            strobe_ring_writer_close(&ring, &w);
        for (uint32_t k = strobe_trial_below(&random, 3); k; k--)
            strobe_sample_rewrite(&ring, &w, i, 1, 0, false);
        uint64_t now = strobe_load_relaxed(&ring.slots[0].seq);
        assert_true(now >= last);
        last = now;
    }
    /* A record whose versions are used up takes no more samples: the next sample gets a new record. */
    strobe_ring_writer_close(&ring, &w);
    strobe_sample_write(&ring, &w, 1, 1, 0, false);
    uint64_t seq = strobe_load_relaxed(&ring.slots[w.last - 1].seq);
    strobe_store_relaxed(&ring.slots[w.last - 1].seq, seq + ((1u << 24) - 3) * (uint64_t)4);
    assert_int_equal(strobe_sample_rewrite(&ring, &w, 1, 2, 0, false), STROBE_OK);
    assert_int_equal(strobe_sample_rewrite(&ring, &w, 1, 3, 0, false), STROBE_NO_ENTRY);
    assert_true(strobe_load_relaxed(&ring.slots[w.last - 1].seq) >> 26 == strobe_load_relaxed(&w.ticket));
    strobe_sample_ring_free(&ring);
}

/* --- memory --- */

static void a_ring_touches_no_more_memory_than_was_written_S20(void **state)
{
    (void)state;
    const uint32_t slots = 1 << 20, written = 1000;
    struct strobe_ring ring = strobe_sample_ring(slots, 16, STROBE_KEEP_NEWEST);
    size_t bytes = strobe_ring_bytes(slots, 16), page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = (bytes + page - 1) / page;
    struct strobe_ring_writer w = writer_new(&ring, 5);
    for (uint32_t i = 0; i < written; i++)
        strobe_sample_write(&ring, &w, i, 1, 0, false);
    unsigned char *resident = calloc(pages, 1);
    size_t touched = 0;
    assert_int_equal(mincore(ring.head, bytes, resident), 0);
    for (size_t i = 0; i < pages; i++)
        touched += resident[i] & 1;
    assert_in_range(touched, written * 64 / page, written * 64 / page + 2 + 2 + 2); /* head, states, ends of both */
    free(resident);
    strobe_sample_ring_free(&ring);
}

static void a_ring_whose_head_and_memory_disagree_is_refused(void **state)
{
    (void)state;
    struct strobe_ring ring = strobe_sample_ring(1024, 4, STROBE_KEEP_NEWEST), out;
    size_t bytes = strobe_ring_bytes(1024, 4);
    assert_int_equal(strobe_ring_open(ring.head, bytes, &out), STROBE_OK);
    assert_int_equal(strobe_ring_open(ring.head, bytes - 1, &out), STROBE_BAD_INPUT);
    assert_int_equal(strobe_ring_open(ring.head, 4, &out), STROBE_BAD_INPUT);
    uint32_t *const field[] = {&ring.head->sub_count, &ring.head->chunks_per_sub};
    for (uint32_t f = 0; f < 2; f++) {
        for (uint32_t bit = 0; bit < 32; bit++) {
            *field[f] ^= 1u << bit;
            assert_int_equal(strobe_ring_open(ring.head, bytes, &out), STROBE_BAD_INPUT);
            *field[f] ^= 1u << bit;
        }
    }
    for (uint32_t f = 0; f < 2; f++) { /* 3 would fit, but it is not a power of two and would make wrong masks */
        uint32_t was = *field[f];
        *field[f] = 3;
        assert_int_equal(strobe_ring_open(ring.head, bytes, &out), STROBE_BAD_INPUT);
        *field[f] = was;
    }
    for (uint32_t mode = 2; mode; mode *= 2) {
        ring.head->mode = mode;
        assert_int_equal(strobe_ring_open(ring.head, bytes, &out), STROBE_BAD_INPUT);
    }
    strobe_sample_ring_free(&ring);
}

/* The slots hold arbitrary bytes. A look returns a record or nothing, and reads only the slots. */
static void no_damage_to_slots_makes_a_look_run_wild(void **state)
{
    (void)state;
    uint64_t random = seed;
    struct strobe_ring ring = strobe_sample_ring(128, 1, STROBE_KEEP_NEWEST);
    uint32_t slots = strobe_ring_slot_count(&ring);
    for (uint32_t round = 0; round < strobe_trial_rounds(300); round++) {
        for (uint32_t i = 0; i < slots * 8; i++)
            strobe_store_relaxed((strobe_a64 *)ring.slots + i, strobe_trial_random(&random));
        for (uint32_t i = 0; i < slots; i++) {
            struct strobe_ring_item item;
            enum strobe_ring_look look = strobe_ring_look(&ring, i, &item);
            /* a record with metrics needs the second half that belongs to it */
            if (look == STROBE_LOOK_RECORD)
                assert_false(item.record.flags & STROBE_FLAG_METRICS);
        }
    }
    strobe_sample_ring_free(&ring);
}

/* Damage can set the flag of a second half. Neither look nor salvage then takes the next chunk's first slot for it. */
static void the_two_halves_of_a_record_never_stand_in_two_chunks(void **state)
{
    (void)state;
    struct strobe_ring ring = strobe_sample_ring(128, 1, STROBE_KEEP_NEWEST);
    struct strobe_record r = {.count = 1, .flags = STROBE_FLAG_METRICS};
    for (uint32_t first = STROBE_CHUNK_SLOTS - 2; first < STROBE_CHUNK_SLOTS; first++) {
        bool in_one = first < STROBE_CHUNK_SLOTS - 1;
        struct strobe_ring_item item;
        memcpy(&ring.slots[first].u, &r, sizeof r);
        strobe_store_relaxed(&ring.slots[first].seq, 1 << 26 | 1 << 2);
        strobe_store_relaxed(&ring.slots[first + 1].seq, 1 << 26 | 1 << 2 | 2);
        assert_int_equal(strobe_ring_look(&ring, first, &item), in_one ? STROBE_LOOK_RECORD : STROBE_LOOK_BUSY);
        strobe_store_relaxed(&ring.slots[first].seq, 1 << 26 | 1 << 2 | 1);
        assert_int_equal(strobe_ring_salvage(&ring, first, &item), in_one);
    }
    strobe_sample_ring_free(&ring);
}

int main(void)
{
    seed = strobe_trial_seed("test_ring");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_comes_back_field_by_field),
        cmocka_unit_test(ticks_and_durations_past_32_bits_survive_S19),
        cmocka_unit_test(one_writer_finds_exactly_the_newest_records_S12),
        cmocka_unit_test(the_first_writer_of_a_chunk_reads_nothing_of_its_slots),
        cmocka_unit_test(what_was_written_is_present_or_counted_as_overwritten_S11_S12),
        cmocka_unit_test(keeping_the_oldest_overwrites_nothing_S14),
        cmocka_unit_test(every_slot_can_be_filled_before_the_ring_says_full_S14),
        cmocka_unit_test(a_ring_whose_chunks_are_all_held_refuses_and_changes_nothing_S14),
        cmocka_unit_test(a_ring_with_a_free_chunk_refuses_nothing),
        cmocka_unit_test(a_claim_that_was_overtaken_is_given_up_S13),
        cmocka_unit_test(a_writer_laps_behind_comes_back_to_its_own_slots_S13),
        cmocka_unit_test(a_chunk_sealed_just_now_survives_half_a_lap),
        cmocka_unit_test(writers_start_evenly_over_the_subs_whatever_their_ids_share_S15),
        cmocka_unit_test(a_half_written_record_of_a_dead_writer_is_not_read_and_its_chunk_is_used_again_S16),
        cmocka_unit_test(a_record_that_was_being_rewritten_is_saved_and_one_that_never_was_committed_is_not),
        cmocka_unit_test(a_hundred_merged_samples_are_one_record_and_take_nothing_more_S30),
        cmocka_unit_test(a_sequence_word_never_comes_twice_in_one_slot),
        cmocka_unit_test(a_ring_touches_no_more_memory_than_was_written_S20),
        cmocka_unit_test(a_ring_whose_head_and_memory_disagree_is_refused),
        cmocka_unit_test(no_damage_to_slots_makes_a_look_run_wild),
        cmocka_unit_test(the_two_halves_of_a_record_never_stand_in_two_chunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
