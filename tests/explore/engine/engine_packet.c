/* The packet ring: readers get whole messages only, each ticket is accounted for, and no thread waits for a frozen
 * writer. With STROBE_SMALL a packet has 12 bytes of data. */
#include "engine/method/rhea/packet_ring.h"
#include "tests/explore/programs.h"

#include <stdalign.h>
#include <string.h>

enum { MEMORY_BYTES = 768, WRITERS = 3, SHORT = 12, LONG = 16 };

struct packet_state {
    alignas(128) unsigned char memory[MEMORY_BYTES];
    struct strobe_packet_ring ring;
    uint32_t written[WRITERS], late[WRITERS]; /* accounting by writer */
    uint32_t ended[WRITERS];
};

static void make(struct packet_state *s, uint32_t slots)
{
    strobe_packet_ring_create(s->memory, slots);
    explore_require(strobe_packet_ring_open(s->memory, sizeof s->memory, &s->ring) == STROBE_OK);
}

/* Writes message `number`. Each of its 3 or 4 words contains the number. */
static void put(struct packet_state *s, uint32_t number, size_t bytes)
{
    struct strobe_packet_ring ring = s->ring;
    uint32_t word[4] = {number, ~number, number * 3, number << 16};
    enum strobe_status status = strobe_packet_write(&ring, word, bytes);
    explore_require(status == STROBE_OK || status == STROBE_LATE);
    s->written[explore_self()] += status == STROBE_OK;
    s->late[explore_self()] += status == STROBE_LATE;
}

/* Returns the number of a message, which must be whole. */
static uint32_t number_of(const uint32_t *word, size_t bytes)
{
    uint32_t n = word[0];
    explore_require(bytes == SHORT || bytes == LONG);
    explore_require(word[1] == ~n && word[2] == n * 3 && (bytes == SHORT || word[3] == n << 16));
    return n;
}

/* Reads all messages. They must be whole, none may come twice, and those of each writer must be in order. */
static struct strobe_packet_reader read_all(struct packet_state *s, uint32_t *numbers)
{
    struct strobe_packet_ring ring = s->ring;
    struct strobe_packet_reader r;
    uint32_t word[STROBE_PACKET_MESSAGE_MAX / 4], last[4] = {0};
    size_t bytes;
    *numbers = 0;
    strobe_packet_read_begin(&r, &ring);
    while (strobe_packet_read(&r, word, &bytes)) {
        uint32_t n = number_of(word, bytes);
        explore_require(!(*numbers >> n & 1) && n > last[n / 8]);
        last[n / 8] = n;
        *numbers |= 1u << n;
    }
    explore_require(r.end == r.before + r.packets + r.parts + r.early + r.busy + r.lapped);
    return r;
}

static uint32_t first_of(uint32_t writer)
{
    return writer * 8 + 1;
}

static void write_short(void *state)
{
    for (uint32_t i = 0; i < explore_size(); i++)
        put(state, first_of(explore_self()) + i, SHORT);
}

static void write_long(void *state)
{
    for (uint32_t i = 0; i < explore_size(); i++)
        put(state, first_of(explore_self()) + i, LONG);
}

static uint32_t sum(const uint32_t *of)
{
    return of[0] + of[1] + of[2];
}

/* ---- packet/write, packet/long: the ring has room for all messages */

static void setup_room(void *state)
{
    make(state, 6);
}

static void check_all_there(void *state)
{
    struct packet_state *s = state;
    uint32_t numbers;
    struct strobe_packet_reader r = read_all(s, &numbers);
    explore_require(sum(s->late) == 0 && strobe_packet_dropped(&s->ring) == 0);
    explore_require(r.messages == sum(s->written) && r.before == 0 && r.end == r.packets);
}

static const struct explore_program write_program = {
    .name = "packet/write",
    .what = "messages of three writers in a ring with room: all are there, whole, in order",
    .thread_count = 3,
    .state_bytes = sizeof(struct packet_state),
    .setup = setup_room,
    .thread = {write_short, write_short, write_short},
    .check = check_all_there,
    .quick = 1,
    .nightly = 2,
    .fenced = true,
};

static const struct explore_program long_program = {
    .name = "packet/long",
    .what = "messages of two packets each: put together from what lies side by side",
    .thread_count = 3,
    .state_bytes = sizeof(struct packet_state),
    .setup = setup_room,
    .thread = {write_long, write_long, write_short},
    .check = check_all_there,
    .quick = 1,
    .nightly = 1,
    .fenced = true,
};

/* ---- packet/lap: writers overwrite each other's packets */

static void setup_one(void *state)
{
    make(state, 1);
}

/* Checks after the end of all writers that no slot is busy, and that only dropped tickets are missing among the newest.
 * */
static void check_books(void *state)
{
    struct packet_state *s = state;
    uint32_t numbers;
    struct strobe_packet_reader r = read_all(s, &numbers);
    explore_require(strobe_packet_dropped(&s->ring) == sum(s->late));
    explore_require(r.busy == 0 && r.lapped == 0 && r.messages <= sum(s->written));
    explore_require(r.early + r.parts <= 2 * sum(s->late));
    explore_require(sum(s->late) || r.end - r.before == r.packets + r.parts);
}

static const struct explore_program lap_program = {
    .name = "packet/lap",
    .what = "writers that lap each other: who is late drops and counts, slots have one owner",
    .thread_count = 3,
    .state_bytes = sizeof(struct packet_state),
    .setup = setup_one,
    .thread = {write_short, write_short, write_short},
    .check = check_books,
    .quick = 1,
    .nightly = 1,
    .fenced = true,
};

static void setup_three(void *state)
{
    make(state, 3);
}

static void check_long_books(void *state)
{
    struct packet_state *s = state;
    uint32_t numbers;
    struct strobe_packet_reader r = read_all(s, &numbers);
    explore_require(strobe_packet_dropped(&s->ring) == sum(s->late));
    explore_require(r.busy == 0 && r.lapped == 0 && r.messages <= sum(s->written));
}

static const struct explore_program long_lap_program = {
    .name = "packet/long-lap",
    .what = "writers of two packets that lap each other: no message of two halves",
    .thread_count = 2,
    .state_bytes = sizeof(struct packet_state),
    .setup = setup_three,
    .thread = {write_long, write_long},
    .check = check_long_books,
    .quick = 2,
    .nightly = 2,
    .fenced = true,
};

/* ---- packet/read: a slot is overwritten while it is read */

static void write_two(void *state)
{
    put(state, 1, SHORT);
    put(state, 2, SHORT);
}

static void read_some(void *state)
{
    uint32_t numbers;
    for (uint32_t i = 0; i < explore_size(); i++)
        read_all(state, &numbers);
}

static const struct explore_program read_program = {
    .name = "packet/read",
    .what = "a slot that is overwritten while it is read: whole packets only, of their ticket",
    .thread_count = 2,
    .state_bytes = sizeof(struct packet_state),
    .setup = setup_one,
    .thread = {write_two, read_some},
    .check = check_books,
    .quick = 2,
    .nightly = 2,
    .fenced = true,
};

static void write_two_long(void *state)
{
    put(state, 1, LONG);
    put(state, 2, LONG);
}

static const struct explore_program read_long_program = {
    .name = "packet/read-long",
    .what = "messages that overwrite each other while they are read: no halves of two",
    .thread_count = 2,
    .state_bytes = sizeof(struct packet_state),
    .setup = setup_three,
    .thread = {write_two_long, read_some},
    .check = check_long_books,
    .quick = 1,
    .nightly = 1,
    .fenced = true,
};

/* ---- packet/frozen: a writer is frozen before each of its operations */

static void check_frozen(void *state)
{
    struct packet_state *s = state;
    uint32_t numbers, more = 0, got = 0;
    struct strobe_packet_reader r = read_all(s, &numbers);
    explore_require(r.busy <= 1);
    /* The frozen writer withholds one of three slots. Other writers get the other two in each lap. */
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t word[3] = {25 + i, ~(25 + i), (25 + i) * 3};
        got += strobe_packet_write(&s->ring, word, SHORT) == STROBE_OK;
    }
    explore_require(got >= 2);
    read_all(s, &more);
    explore_require((uint32_t)__builtin_popcount(more >> 25) == got);
    uint32_t given_back = strobe_packet_ring_recover(&s->ring);
    explore_require(given_back == 3 - got);
    read_all(s, &numbers);
    explore_require(numbers == more);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t word[3] = {28 + i, ~(28 + i), (28 + i) * 3};
        explore_require(strobe_packet_write(&s->ring, word, SHORT) == STROBE_OK);
    }
    read_all(s, &numbers);
    explore_require(numbers >> 28 == 7);
}

static const struct explore_program frozen_program = {
    .name = "packet/frozen",
    .what = "a writer stopped at any step withholds one slot, until it is given back",
    .thread_count = 2,
    .state_bytes = sizeof(struct packet_state),
    .setup = setup_three,
    .thread = {write_short, write_short},
    .check = check_frozen,
    .quick = 2,
    .nightly = 2,
    .frozen = 1,
    .fenced = true,
};

/* ---- packet/interrupted: a signal handler writes in the middle of a write */

static void interrupt(void *state)
{
    put(state, 17, LONG);
}

static const struct explore_program interrupted_program = {
    .name = "packet/interrupted",
    .what = "a write in the middle of a write: both are there",
    .thread_count = 1,
    .state_bytes = sizeof(struct packet_state),
    .setup = setup_room,
    .thread = {write_long},
    .check = check_all_there,
    .quick = 2,
    .nightly = 2,
    .interrupted = 1,
    .interrupt = interrupt,
    .fenced = true,
};

const struct explore_program *const explore_packet_programs[] = {
    &write_program,  &long_program,        &lap_program, &long_lap_program, &read_program, &read_long_program,
    &frozen_program, &interrupted_program, NULL,
};
