/* The record ring against its model, with writers that interleave in every way: each record is present, whole, once,
 * or counted as overwritten or refused; what a reader finds meanwhile is whole. A single writer's records are where a
 * ring of chunks has them.
 *
 * Input, after that of explored.h: the ring's shape, then for each thread its operations, one byte each. */
#include "tests/explore/engine/engine_ring.h"
#include "tests/fuzz/support/explored.h"

enum { OPERATIONS = 6, SHAPES = 5, SLOTS_MAX = 8 };

enum what { PUT, PUT_METRICS, MERGE, CLOSE, LOOK, WHATS };

static struct {
    uint32_t threads, shape;
    uint32_t count[RING_WRITERS];
    uint8_t operation[RING_WRITERS][OPERATIONS];
} script;

static const struct {
    uint32_t slots, subs;
    enum strobe_ring_mode mode;
} shapes[SHAPES] = {
    {2, 1, STROBE_KEEP_NEWEST}, {4, 1, STROBE_KEEP_NEWEST}, {8, 1, STROBE_KEEP_NEWEST},
    {8, 2, STROBE_KEEP_NEWEST}, {4, 1, STROBE_KEEP_OLDEST},
};

static uint32_t decode(struct fuzz_bytes *in)
{
    uint32_t head = fuzz_byte(in);
    script.threads = 1 + head % RING_WRITERS;
    script.shape = head / RING_WRITERS % SHAPES;
    for (uint32_t t = 0; t < script.threads; t++) {
        script.count[t] = 1 + fuzz_below(in, OPERATIONS);
        for (uint32_t i = 0; i < script.count[t]; i++)
            script.operation[t][i] = fuzz_byte(in);
    }
    return script.threads;
}

static void setup(void *state)
{
    ring_make(state, shapes[script.shape].slots, shapes[script.shape].subs, shapes[script.shape].mode);
}

/* Numbers of records: those of thread t are 4 t + 1 .. 4 t + 4. Later operations of the thread write none. */
static void play(void *state)
{
    struct ring_state *s = state;
    struct strobe_ring ring = s->ring;
    struct strobe_ring_writer w = {0};
    uint32_t self = explore_self(), number = 4 * self, last = 0, version = 0;
    bool metrics = false;
    strobe_ring_writer_init(&ring, &w, self);
    for (uint32_t i = 0; i < script.count[self]; i++) {
        uint8_t byte = script.operation[self][i];
        enum what what = (enum what)(byte % WHATS);
        if ((what == PUT || what == PUT_METRICS) && number < 4 * self + 4) {
            metrics = what == PUT_METRICS;
            version = 0;
            last = ring_put(s, &w, ++number, metrics) == STROBE_OK ? number : 0;
        } else if (what == MERGE && number > 4 * self) {
            explore_require(ring_merge(s, &w, number, version + 1, metrics) == (last ? STROBE_OK : STROBE_NO_ENTRY));
            version += last != 0;
        } else if (what == CLOSE) {
            ring_close(s, &w);
            last = 0;
        } else if (what == LOOK) {
            struct strobe_ring_item item;
            if (strobe_ring_look(&ring, byte / WHATS % strobe_ring_slot_count(&ring), &item) == STROBE_LOOK_RECORD)
                explore_require(ring_is_whole(&item));
        }
    }
}

/* ---- the model of one writer: it fills chunk after chunk, and a record never spans two */

static uint32_t model_numbers(void)
{
    uint32_t chunks = shapes[script.shape].slots / STROBE_CHUNK_SLOTS, next = 0, used = STROBE_CHUNK_SLOTS, number = 0;
    uint32_t slot[SLOTS_MAX] = {0}, chunk = 0, numbers = 0;
    bool keep_oldest = shapes[script.shape].mode == STROBE_KEEP_OLDEST;
    for (uint32_t i = 0; i < script.count[0]; i++) {
        enum what what = (enum what)(script.operation[0][i] % WHATS);
        uint32_t slots = what == PUT_METRICS ? 2 : 1;
        if (what == CLOSE)
            used = STROBE_CHUNK_SLOTS;
        if ((what != PUT && what != PUT_METRICS) || number == 4)
            continue;
        number++;
        if (used + slots > STROBE_CHUNK_SLOTS) {
            used = STROBE_CHUNK_SLOTS;
            if (keep_oldest && next >= chunks)
                continue;
            chunk = next++ % chunks;
            used = 0;
        }
        /* Overwriting half of a record loses the record. */
        for (uint32_t k = 0; k < slots; k++) {
            uint32_t at = chunk * STROBE_CHUNK_SLOTS + used++, gone = slot[at];
            for (uint32_t j = 0; gone && j < SLOTS_MAX; j++)
                slot[j] = slot[j] == gone ? 0 : slot[j];
            slot[at] = number;
        }
    }
    for (uint32_t i = 0; i < SLOTS_MAX; i++)
        numbers |= slot[i] ? 1u << slot[i] : 0;
    return numbers;
}

static void check(void *state)
{
    struct ring_state *s = state;
    struct ring_census c = ring_count(&s->ring);
    if (explore_frozen()) {
        explore_require(c.busy <= 2);
        return;
    }
    ring_balance(s);
    if (shapes[script.shape].mode == STROBE_KEEP_OLDEST) {
        uint32_t numbers = 0;
        for (uint32_t i = 0; i < RING_WRITERS; i++) {
            explore_require(s->overwrote[i] == 0);
            numbers |= s->numbers[i];
        }
        explore_require(c.numbers == numbers);
    }
    if (script.threads == 1 && shapes[script.shape].subs == 1)
        explore_require(c.numbers == model_numbers());
}

const struct fuzz_explored fuzz_explored = {
    .program = {.name = "fuzz/ring",
                .what = "the ring is what its model holds",
                .thread_count = RING_WRITERS,
                .state_bytes = sizeof(struct ring_state),
                .setup = setup,
                .thread = {play, play, play},
                .check = check,
                .quick = 1,
                .nightly = 1},
    .decode = decode,
};
