/* Readers of the record ring beside its writers: a read returns whole records of the slot only. A salvage returns only
 * words of the record in the slot.
 *
 * For each word the reader may see the value before or after a store. One slot with two versions therefore has
 * thousands of executions, so the programs read few slots. */
#include "tests/explore/engine/engine_ring.h"

static void setup_one_chunk(void *state)
{
    ring_make(state, 2, 1, STROBE_KEEP_NEWEST);
}

static void check_balance(void *state)
{
    ring_balance(state);
}

static struct strobe_ring_writer writer_new(struct ring_state *s)
{
    struct strobe_ring_writer w = {0};
    strobe_ring_writer_init(&s->ring, &w, explore_self());
    return w;
}

/* Reads a slot once. A record must be whole. Returns its number, or 0 without a record. */
static uint32_t look(struct ring_state *s, uint32_t slot)
{
    struct strobe_ring ring = s->ring;
    struct strobe_ring_item item;
    if (strobe_ring_look(&ring, slot, &item) != STROBE_LOOK_RECORD)
        return 0;
    explore_require(ring_is_whole(&item));
    return ring_number(&item);
}

/* ---- ring/look: a slot is overwritten while it is read */

static void fill_and_overwrite(void *state)
{
    struct ring_state *s = state;
    struct strobe_ring_writer w = writer_new(s);
    for (uint32_t number = 1; number <= 3; number++)
        explore_require(ring_put(s, &w, number, false) == STROBE_OK);
}

/* The records of a slot appear in order. After the first record the slot always has a record, or is busy. */
static void look_at_first(void *state)
{
    uint32_t newest = 0;
    for (uint32_t i = 0; i < explore_size(); i++) {
        uint32_t number = look(state, 0);
        explore_require(number == 0 || number == 1 || number == 3);
        explore_require(number == 0 || number >= newest);
        newest = number ? number : newest;
    }
}

const struct explore_program explore_ring_look = {
    .name = "ring/look",
    .what = "a slot that is overwritten while it is read: whole records only, in their order (S-10)",
    .thread_count = 2,
    .state_bytes = sizeof(struct ring_state),
    .setup = setup_one_chunk,
    .thread = {fill_and_overwrite, look_at_first},
    .check = check_balance,
    .quick = 2,
    .nightly = 3,
};

/* ---- ring/extend: a record gets its duration later, while it is read */

/* Writes record `number` as an inline caller does. */
static void put_in_slot(struct ring_state *s, struct strobe_ring_writer *w, uint32_t number, bool whole)
{
    struct strobe_ring ring = s->ring;
    struct strobe_record r = ring_record(number, 0, false);
    struct strobe_slot *slot = strobe_ring_open_slot(&ring, w);
    r.duration = whole ? r.duration : 0;
    strobe_slot_put(slot, &r, 0);
    strobe_ring_commit_slot(w, slot);
    s->written[explore_self()] += r.count;
    s->overwrote[explore_self()] = w->overwrote;
    s->numbers[explore_self()] |= 1u << number;
}

static void write_and_extend(void *state)
{
    struct ring_state *s = state;
    struct strobe_ring ring = s->ring;
    struct strobe_ring_writer w = writer_new(s);
    uint64_t duration = ring_record(1, 0, false).duration;
    put_in_slot(s, &w, 1, false);
    struct strobe_ring_place place = strobe_ring_last_place(&w);
    explore_require(strobe_ring_extend(&ring, &w, place, duration));
    s->written[explore_self()]++;
    put_in_slot(s, &w, 2, true);
    put_in_slot(s, &w, 3, true); /* takes the place of the first */
    explore_require(!strobe_ring_extend(&ring, &w, place, duration));
}

/* Only the duration and the count change, once each. */
static void look_at_extended(void *state)
{
    struct ring_state *s = state;
    struct strobe_ring ring = s->ring;
    bool was_extended = false;
    for (uint32_t i = 0; i < explore_size(); i++) {
        struct strobe_ring_item item;
        if (strobe_ring_look(&ring, 0, &item) != STROBE_LOOK_RECORD)
            continue;
        if (ring_number(&item) != 1) {
            explore_require(ring_is_whole(&item));
            continue;
        }
        struct strobe_record r = ring_record(1, 0, false);
        bool extended = item.record.duration != 0, counted = item.record.count != r.count;
        explore_require(extended || !was_extended);
        r.duration = extended ? r.duration : 0;
        r.count += counted;
        explore_require(!memcmp(&r, &item.record, sizeof r));
        was_extended = extended;
    }
}

const struct explore_program explore_ring_extend = {
    .name = "ring/extend",
    .what = "a record that gets its duration after it was committed is whole at any time, and only its writer's (S-10)",
    .thread_count = 2,
    .state_bytes = sizeof(struct ring_state),
    .setup = setup_one_chunk,
    .thread = {write_and_extend, look_at_extended},
    .check = check_balance,
    .quick = 2,
    .nightly = 3,
};

/* ---- ring/read: two writers take turns at the slot */

static void write_and_close(void *state)
{
    struct ring_state *s = state;
    struct strobe_ring_writer w = writer_new(s);
    for (uint32_t i = 0; i < explore_size(); i++) {
        ring_put(s, &w, explore_self() * 4 + i + 1, false);
        ring_close(s, &w);
    }
}

static void look_once(void *state)
{
    look(state, 0);
}

const struct explore_program explore_ring_read = {
    .name = "ring/read",
    .what = "a reader while a chunk goes from one writer to another: whole records only",
    .thread_count = 3,
    .state_bytes = sizeof(struct ring_state),
    .setup = setup_one_chunk,
    .thread = {write_and_close, write_and_close, look_once},
    .check = check_balance,
    .quick = 1,
    .nightly = 2,
};

/* ---- ring/merge: a record is rewritten while it is read */

static void write_and_merge(void *state)
{
    struct ring_state *s = state;
    struct strobe_ring_writer w = writer_new(s);
    ring_put(s, &w, 1, false);
    for (uint32_t version = 1; version <= explore_size(); version++)
        explore_require(ring_merge(s, &w, 1, version, false) == STROBE_OK);
}

const struct explore_program explore_ring_merge = {
    .name = "ring/merge",
    .what = "a record that is rewritten while it is read: whole versions only",
    .thread_count = 2,
    .state_bytes = sizeof(struct ring_state),
    .setup = setup_one_chunk,
    .thread = {write_and_merge, look_once},
    .check = check_balance,
    .quick = 1,
    .nightly = 2,
};

/* ---- ring/metrics: a record of two slots is rewritten while it is read */

static void write_and_merge_metrics(void *state)
{
    struct ring_state *s = state;
    struct strobe_ring_writer w = writer_new(s);
    ring_put(s, &w, 1, true);
    explore_require(ring_merge(s, &w, 1, 1, true) == STROBE_OK);
}

static void look_at_both(void *state)
{
    look(state, 0);
    explore_require(look(state, 1) == 0);
}

const struct explore_program explore_ring_metrics = {
    .name = "ring/metrics",
    .what = "a record and its metrics are of one version; the metrics are no record",
    .thread_count = 2,
    .state_bytes = sizeof(struct ring_state),
    .setup = setup_one_chunk,
    .thread = {write_and_merge_metrics, look_at_both},
    .check = check_balance,
    .quick = 1,
    .nightly = 1,
};

/* ---- ring/shapes: a slot holds a record, then the metrics of another */

static void change_shape(void *state)
{
    struct ring_state *s = state;
    struct strobe_ring_writer w = writer_new(s);
    ring_put(s, &w, 1, false);
    ring_put(s, &w, 2, false);
    ring_put(s, &w, 3, true);
}

static void look_at_second(void *state)
{
    uint32_t number = look(state, 1);
    explore_require(number == 0 || number == 2);
}

const struct explore_program explore_ring_shapes = {
    .name = "ring/shapes",
    .what = "metrics that take the place of a record are never read as one",
    .thread_count = 2,
    .state_bytes = sizeof(struct ring_state),
    .setup = setup_one_chunk,
    .thread = {change_shape, look_at_second},
    .check = check_balance,
    .quick = 1,
    .nightly = 1,
};

/* ---- ring/snapshot: all slots are read while writers write */

static void setup_room(void *state)
{
    ring_make(state, 8, 1, STROBE_KEEP_NEWEST);
}

static void write_all(void *state)
{
    struct ring_state *s = state;
    struct strobe_ring_writer w = writer_new(s);
    for (uint32_t i = 0; i < explore_size(); i++)
        ring_put(s, &w, explore_self() * 4 + i + 1, false);
    strobe_store_release(&s->ended[explore_self()], 1);
}

/* The snapshot contains the records that were committed before. */
static void take_snapshot(void *state)
{
    struct ring_state *s = state;
    uint32_t known = 0;
    for (uint32_t i = 0; i < 2; i++)
        if (strobe_load_acquire(&s->ended[i]))
            known |= s->numbers[i];
    explore_require((known & ~ring_count(&s->ring).numbers) == 0);
}

const struct explore_program explore_ring_snapshot = {
    .name = "ring/snapshot",
    .what = "a snapshot has what was committed before it, each record whole and once",
    .thread_count = 3,
    .state_bytes = sizeof(struct ring_state),
    .setup = setup_room,
    .thread = {write_all, write_all, take_snapshot},
    .check = check_balance,
    .quick = 2,
    .nightly = 3,
};

/* ---- ring/salvage: a record that is being rewritten is salvaged from a live ring */

static uint64_t word_of(const void *half, uint32_t i)
{
    uint64_t word;
    memcpy(&word, (const char *)half + 8 * i, sizeof word);
    return word;
}

/* True when each word of the item is of some version of record `number`. */
static bool is_of(const struct strobe_ring_item *item, uint32_t number, bool metrics, uint32_t versions)
{
    for (uint32_t i = 0; i < 7; i++) {
        bool record = false, counters = !metrics;
        for (uint32_t v = 0; v < versions; v++) {
            struct strobe_record r = ring_record(number, v, metrics);
            struct strobe_metrics m = ring_metrics(number, v);
            record |= word_of(&item->record, i) == word_of(&r, i);
            counters |= word_of(&item->metrics, i) == word_of(&m, i);
        }
        if (!record || !counters)
            return false;
    }
    return true;
}

/* The slot held another record before. The salvage must not return words of it. */
static void overwrite_and_merge(void *state)
{
    struct ring_state *s = state;
    struct strobe_ring_writer w = writer_new(s);
    for (uint32_t number = 1; number <= 3; number++)
        ring_put(s, &w, number, false);
    ring_merge(s, &w, 3, 1, false);
}

static void salvage_third(void *state)
{
    struct ring_state *s = state;
    struct strobe_ring ring = s->ring;
    struct strobe_ring_item item;
    if (strobe_ring_salvage(&ring, 0, &item))
        explore_require(is_of(&item, 3, false, 2));
}

const struct explore_program explore_ring_salvage = {
    .name = "ring/salvage",
    .what = "what is salvaged of a record that is being rewritten is its own, word by word (S-16)",
    .thread_count = 2,
    .state_bytes = sizeof(struct ring_state),
    .setup = setup_one_chunk,
    .thread = {overwrite_and_merge, salvage_third},
    .check = check_balance,
    .quick = 1,
    .nightly = 1,
};

/* The slot gets another record afterwards. The salvage must not return words of it either. */
static void merge_and_overwrite(void *state)
{
    struct ring_state *s = state;
    struct strobe_ring_writer w = writer_new(s);
    ring_put(s, &w, 1, false);
    ring_merge(s, &w, 1, 1, false);
    ring_put(s, &w, 2, false);
    ring_put(s, &w, 3, false);
}

static void salvage_first(void *state)
{
    struct ring_state *s = state;
    struct strobe_ring ring = s->ring;
    struct strobe_ring_item item;
    if (strobe_ring_salvage(&ring, 0, &item))
        explore_require(is_of(&item, 1, false, 2));
}

const struct explore_program explore_ring_salvage_gone = {
    .name = "ring/salvage-gone",
    .what = "nothing is salvaged of a record that is overwritten meanwhile",
    .thread_count = 2,
    .state_bytes = sizeof(struct ring_state),
    .setup = setup_one_chunk,
    .thread = {merge_and_overwrite, salvage_first},
    .check = check_balance,
    .quick = 1,
    .nightly = 1,
};

static void salvage_metrics(void *state)
{
    struct ring_state *s = state;
    struct strobe_ring ring = s->ring;
    struct strobe_ring_item item;
    if (strobe_ring_salvage(&ring, 0, &item))
        explore_require(is_of(&item, 1, true, 2));
}

const struct explore_program explore_ring_salvage_metrics = {
    .name = "ring/salvage-metrics",
    .what = "as ring/salvage, for a record with metrics",
    .thread_count = 2,
    .state_bytes = sizeof(struct ring_state),
    .setup = setup_one_chunk,
    .thread = {write_and_merge_metrics, salvage_metrics},
    .check = check_balance,
    .quick = 1,
    .nightly = 1,
};
