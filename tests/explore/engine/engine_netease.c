/* The ring of captured stacks (engine/method/netease/netease_ring.c): samplers overwrite each other's captures. Readers
 * must get whole captures, or a status. */
#include "engine/method/netease/netease_ring.h"
#include "tests/explore/programs.h"

enum { FRAMES = 1, PLACES = 2, TID = 7 };

struct netease_state {
    _Alignas(8) unsigned char memory[192];
    struct strobe_netease_ring ring;
    strobe_a32 put, refused;
};

static void make(void *state, uint32_t capacity)
{
    struct netease_state *s = state;
    explore_require(strobe_netease_ring_bytes(capacity, FRAMES) <= sizeof s->memory);
    strobe_netease_ring_create(s->memory, capacity, FRAMES);
    explore_require(strobe_netease_ring_open(s->memory, sizeof s->memory, &s->ring) == STROBE_OK);
}

static void setup_one(void *state)
{
    make(state, 1);
}

static void setup_two(void *state)
{
    make(state, PLACES);
}

/* The frames and times of a capture identify its sampler `who`, which captures thread TID + who. */
static uint64_t frame_of(uint32_t who, uint32_t round)
{
    return 0x1000 + 16 * who + round;
}

static void put(struct netease_state *s, uint32_t who, uint32_t round)
{
    struct strobe_netease_capture c = {.ticks = frame_of(who, round) + 1, .tid = TID + who};
    uint64_t frame = frame_of(who, round), number;
    bool kept = strobe_netease_ring_put(&s->ring, &c, &frame, 1, &number) == STROBE_OK;
    strobe_add_relaxed(kept ? &s->put : &s->refused, 1u);
}

static void put_some(void *state)
{
    for (uint32_t i = 0; i < explore_size(); i++)
        put(state, explore_self(), i);
}

/* Reads a capture. When it can be read, it must be whole. Returns the status of the read. */
static enum strobe_status read_whole(struct netease_state *s, uint64_t number)
{
    struct strobe_netease_capture c;
    uint64_t frame = 0;
    enum strobe_status status = strobe_netease_ring_read(&s->ring, number, &c, &frame);
    if (status != STROBE_OK)
        return status;
    uint32_t who = c.tid - TID;
    explore_require(who < 3 && c.number == number && c.count == 1 && !c.cut);
    explore_require(c.ticks == frame + 1 && frame - frame_of(who, 0) <= explore_size());
    return STROBE_OK;
}

/* ---- netease/look: one sampler overwrites the capture that a reader reads */

static void put_two_laps(void *state)
{
    for (uint32_t i = 0; i <= explore_size(); i++)
        put(state, 0, i);
}

static void read_both(void *state)
{
    struct netease_state *s = state;
    enum strobe_status later = read_whole(s, 1), first = read_whole(s, 0);
    explore_require(later != STROBE_OK || first == STROBE_GONE);
}

static void check_look(void *state)
{
    struct netease_state *s = state;
    uint64_t drawn = strobe_netease_ring_drawn(&s->ring);
    explore_require(drawn == explore_size() + 1 && read_whole(s, drawn - 1) == STROBE_OK);
    explore_require(strobe_netease_ring_overwritten(&s->ring) == drawn - 1 && read_whole(s, 0) == STROBE_GONE);
}

static const struct explore_program look_program = {
    .name = "netease/look",
    .what = "a capture overwritten while it is read is whole, or reported as gone",
    .thread_count = 2,
    .state_bytes = sizeof(struct netease_state),
    .setup = setup_one,
    .thread = {put_two_laps, read_both},
    .check = check_look,
    .quick = 1,
    .nightly = 2,
    .fenced = true,
};

/* ---- netease/two: two samplers write one slot at once */

static void check_two(void *state)
{
    struct netease_state *s = state;
    uint64_t drawn = strobe_netease_ring_drawn(&s->ring), n = s->ring.head->capacity, read = 0;
    struct strobe_netease_list list;
    struct strobe_netease_capture c;
    uint64_t frame, before = drawn;
    uint32_t refused = strobe_load_relaxed(&s->refused);
    explore_require(drawn == 2 * explore_size() && strobe_load_relaxed(&s->put) + refused == drawn);
    explore_require(strobe_load_relaxed(&s->ring.head->refused) == refused);
    strobe_netease_list_begin(&s->ring, &list);
    while (strobe_netease_list_next(&s->ring, &list, &c, &frame)) {
        explore_require(c.number < before && read_whole(s, c.number) == STROBE_OK);
        before = c.number;
        read++;
    }
    explore_require(list.gone == 0 && list.missing <= refused);
    explore_require(read + list.missing + strobe_netease_ring_overwritten(&s->ring) == drawn);
    explore_require(strobe_netease_ring_overwritten(&s->ring) == (drawn > n ? drawn - n : 0));
}

static const struct explore_program two_program = {
    .name = "netease/two",
    .what = "two samplers in one place: each capture is kept, overwritten or refused, and whole",
    .thread_count = 2,
    .state_bytes = sizeof(struct netease_state),
    .setup = setup_one,
    .thread = {put_some, put_some},
    .check = check_two,
    .quick = 2,
    .nightly = 3,
    .fenced = true,
};

/* ---- netease/lapped: two samplers, two slots, and a reader that lists the captures */

static void list_all(void *state)
{
    struct netease_state *s = state;
    struct strobe_netease_list list;
    struct strobe_netease_capture c;
    uint64_t frame, before = UINT64_MAX;
    strobe_netease_list_begin(&s->ring, &list);
    while (strobe_netease_list_next(&s->ring, &list, &c, &frame)) {
        uint32_t who = c.tid - TID;
        explore_require(who < 2 && c.number < before && c.ticks == frame + 1);
        explore_require(frame - frame_of(who, 0) < explore_size());
        before = c.number;
    }
}

static const struct explore_program lapped_program = {
    .name = "netease/lapped",
    .what = "a list taken while two samplers go round: whole captures, the newest first",
    .thread_count = 3,
    .state_bytes = sizeof(struct netease_state),
    .setup = setup_one,
    .thread = {put_some, put_some, list_all},
    .check = check_two,
    .quick = 1,
    .nightly = 1,
    .fenced = true,
};

/* ---- netease/frozen: a sampler is frozen while it writes */

static void put_one(void *state)
{
    put(state, explore_self(), 0);
}

static void put_others(void *state)
{
    struct netease_state *s = state;
    for (uint32_t i = 0; i < 2; i++)
        put(s, 1, i % explore_size());
}

static void check_frozen(void *state)
{
    struct netease_state *s = state;
    uint64_t drawn = strobe_netease_ring_drawn(&s->ring);
    explore_require(drawn == 2 || drawn == 3);
    explore_require(strobe_load_relaxed(&s->refused) <= 1 && strobe_load_relaxed(&s->put) >= 1);
    explore_require(read_whole(s, drawn - 1) == STROBE_OK || read_whole(s, drawn - 2) == STROBE_OK);
}

static const struct explore_program frozen_program = {
    .name = "netease/frozen",
    .what = "a sampler stopped in the middle costs one capture in a lap, and delays nobody",
    .thread_count = 2,
    .state_bytes = sizeof(struct netease_state),
    .setup = setup_two,
    .thread = {put_one, put_others},
    .check = check_frozen,
    .quick = 1,
    .nightly = 1,
    .frozen = 1,
    .fenced = true,
};

const struct explore_program *const explore_netease_programs[] = {
    &look_program, &two_program, &lapped_program, &frozen_program, NULL,
};
