/* The stack table: threads intern stacks while the table fills up, and other threads resolve ids. Equal stacks get
 * equal ids. An id resolves to its frames as soon as it is returned. At the end the table contains each distinct prefix
 * once.
 *
 * A number names a stack: its digits in base 4, outermost first, are the frames. 012 has three frames. */
#include "engine/store/stack_table.h"
#include "tests/explore/programs.h"

#include <stdalign.h>
#include <string.h>

enum { THREADS = 3, FRAMES = 4, MEMORY_BYTES = 1024, FRAME_BASE = 0x1000 };

struct stack {
    uint32_t count;
    uint64_t frame[FRAMES];
};

struct table_state {
    alignas(64) unsigned char memory[MEMORY_BYTES];
    struct strobe_stack_table table;
    uint32_t threads;
    uint32_t id[THREADS][4]; /* the id of each of a thread's interns */
    enum strobe_status status[THREADS][4];
    strobe_a32 sent; /* an id handed to another thread, with release */
};

static void table_make(struct table_state *s, uint32_t nodes, uint32_t threads)
{
    s->threads = threads;
    strobe_stack_table_create(s->memory, nodes);
    strobe_stack_table_open(s->memory, sizeof s->memory, &s->table); /* too little memory: the program fails */
}

/* Returns the stack of a number. Frames are the digits 1 .. 3; the most significant digit is the outermost frame. */
static struct stack stack_of(uint32_t digits)
{
    struct stack out = {0};
    for (uint32_t shift = 2 * FRAMES; shift;) {
        shift -= 2;
        uint32_t digit = digits >> shift & 3;
        if (digit)
            out.frame[out.count++] = FRAME_BASE * digit;
    }
    return out;
}

/* Requires that the id resolves to the first `count` frames of the stack. */
static void require_frames(const struct strobe_stack_table *t, uint32_t id, const struct stack *stack, uint32_t count)
{
    uint64_t frame[FRAMES];
    uint32_t found = 0;
    explore_require(strobe_stack_frames(t, id, frame, FRAMES, &found) == STROBE_OK);
    explore_require(found == count);
    explore_require(!memcmp(frame, stack->frame, count * sizeof *frame));
}

/* Interns a stack as the calling thread's `turn`-th. */
static uint32_t intern(struct table_state *s, struct strobe_stack_cursor *cursor, uint32_t turn, uint32_t digits)
{
    struct strobe_stack_table t = s->table;
    struct stack stack = stack_of(digits);
    uint32_t id = 0, self = explore_self();
    enum strobe_status status = strobe_stack_intern(&t, cursor, stack.frame, stack.count, &id);
    s->status[self][turn] = status;
    s->id[self][turn] = id;
    explore_require(status == STROBE_OK ? cursor->depth == stack.count
                                        : status == STROBE_FULL && cursor->depth < stack.count);
    return id;
}

/* Interns a stack and resolves its id immediately: to the stack, or to the frames for which the table had room. */
static uint32_t intern_and_resolve(struct table_state *s, struct strobe_stack_cursor *cursor, uint32_t turn,
                                   uint32_t digits)
{
    struct strobe_stack_table t = s->table;
    struct stack stack = stack_of(digits);
    uint32_t id = intern(s, cursor, turn, digits);
    require_frames(&t, id, &stack, cursor->depth);
    return id;
}

/* Returns the number of nodes that can be resolved. Requires that each (parent, address) exists once, and that at most
 * `most` ids were reserved. */
static uint32_t count_nodes(const struct strobe_stack_table *t, uint32_t most)
{
    uint32_t ids = strobe_stack_node_count(t), count = 0;
    explore_require(ids <= most);
    for (uint32_t a = 1; a <= t->head->node_capacity; a++) {
        const struct strobe_stack_node *node = strobe_stack_node_of(t, a);
        if (!node)
            continue;
        count++;
        explore_require(a <= ids);
        for (uint32_t b = 1; b < a; b++) {
            const struct strobe_stack_node *other = strobe_stack_node_of(t, b);
            explore_require(!other || other->address != node->address || other->parent != node->parent);
        }
    }
    return count;
}

/* Requires that a new cursor gets the same id for the stack as the thread that interned it. */
static void require_same_ids(const struct table_state *s, uint32_t thread, uint32_t turn, uint32_t digits)
{
    struct strobe_stack_cursor cursor = {0};
    struct stack stack = stack_of(digits);
    uint32_t id = 0, before = strobe_stack_node_count(&s->table);
    explore_require(strobe_stack_intern(&s->table, &cursor, stack.frame, stack.count, &id) == STROBE_OK);
    explore_require(id == s->id[thread][turn]);
    explore_require(strobe_stack_node_count(&s->table) == before);
    require_frames(&s->table, id, &stack, stack.count);
}

/* Requires that the slots of levels that are marked as untouched are empty. */
static void require_levels(const struct strobe_stack_table *t)
{
    uint32_t touched = strobe_load_relaxed(&t->head->levels_touched), slots = 0;
    for (uint32_t level = 0; level < touched; level++)
        slots += 1u << (t->head->level0_bits + level);
    uint32_t all = 0;
    for (uint32_t level = 0; level < t->head->level_count; level++)
        all += 1u << (t->head->level0_bits + level);
    for (; slots < all; slots++)
        explore_require(strobe_load_relaxed(&t->slots[slots]) == 0);
}

/* ---- table/same: all threads intern the same stacks */

enum { S_1 = 1, S_12 = 6, S_121 = 25, S_13 = 7, S_2 = 2, S_21 = 9, S_3 = 3 };

static void setup_room(void *state)
{
    table_make(state, 8, 3);
}

static void intern_same(void *state)
{
    static const uint32_t stacks[] = {S_1, S_12, S_121, S_1};
    struct table_state *s = state;
    struct strobe_stack_cursor cursor = {0};
    for (uint32_t i = 0; i < explore_size(); i++)
        intern(s, &cursor, i, stacks[i]);
}

static void check_same(void *state)
{
    static const uint32_t stacks[] = {S_1, S_12, S_121, S_1};
    struct table_state *s = state;
    uint32_t size = explore_size();
    for (uint32_t thread = 0; thread < s->threads; thread++)
        for (uint32_t i = 0; i < size; i++)
            require_same_ids(s, thread, i, stacks[i]);
    /* A thread that lost all races keeps one unused node. */
    explore_require(count_nodes(&s->table, 8) == (size < 3 ? size : 3));
    explore_require(strobe_load_relaxed(&s->table.head->full_count) == 0);
    require_levels(&s->table);
}

static const struct explore_program same_program = {
    .name = "table/same",
    .what = "three threads intern the same stacks: equal ids, each stack once in the table (S-33)",
    .thread_count = 3,
    .state_bytes = sizeof(struct table_state),
    .setup = setup_room,
    .thread = {intern_same, intern_same, intern_same},
    .check = check_same,
    .quick = 1,
    .nightly = 2,
};

/* ---- table/different: stacks that share some frames; slot levels fill up and new levels begin */

static const uint32_t different[THREADS][4] = {
    {S_1, S_12, S_2, S_13},
    {S_2, S_1, S_21, S_12},
    {S_12, S_2, S_1, S_3},
};

static void intern_different(void *state)
{
    struct table_state *s = state;
    struct strobe_stack_cursor cursor = {0};
    for (uint32_t i = 0; i < explore_size(); i++)
        intern(s, &cursor, i, different[explore_self()][i]);
}

static void check_different(void *state)
{
    struct table_state *s = state;
    uint64_t prefixes = 0;
    for (uint32_t thread = 0; thread < s->threads; thread++) {
        for (uint32_t i = 0; i < explore_size(); i++) {
            require_same_ids(s, thread, i, different[thread][i]);
            for (uint32_t prefix = different[thread][i]; prefix; prefix >>= 2)
                prefixes |= (uint64_t)1 << prefix;
        }
    }
    explore_require(count_nodes(&s->table, 8) == (uint32_t)__builtin_popcountll(prefixes));
    require_levels(&s->table);
}

static const struct explore_program different_program = {
    .name = "table/different",
    .what = "three threads intern different stacks: the table is what a serial oracle holds (S-33)",
    .thread_count = 3,
    .state_bytes = sizeof(struct table_state),
    .setup = setup_room,
    .thread = {intern_different, intern_different, intern_different},
    .check = check_different,
    .quick = 1,
    .nightly = 2,
};

static void setup_room_for_two(void *state)
{
    table_make(state, 8, 2);
}

static const struct explore_program two_program = {
    .name = "table/two",
    .what = "as table/different, two threads with more stacks: more slot levels fill up",
    .thread_count = 2,
    .state_bytes = sizeof(struct table_state),
    .setup = setup_room_for_two,
    .thread = {intern_different, intern_different},
    .check = check_different,
    .quick = 3,
    .nightly = 4,
};

/* ---- table/full: too few nodes */

static void setup_few(void *state)
{
    table_make(state, 2, 3);
}

static void setup_few_for_two(void *state)
{
    table_make(state, 2, 2);
}

/* A refused stack is counted, is refused only when all nodes are in use, and gets the id of the prefix that has nodes.
 * */
static void check_full(void *state)
{
    struct table_state *s = state;
    uint32_t refused = 0;
    for (uint32_t thread = 0; thread < s->threads; thread++) {
        for (uint32_t i = 0; i < explore_size(); i++) {
            struct stack stack = stack_of(different[thread][i]);
            uint32_t id = s->id[thread][i], depth = id ? strobe_load_relaxed(&s->table.nodes[id].depth) : 0;
            require_frames(&s->table, id, &stack, depth);
            refused += s->status[thread][i] == STROBE_FULL;
            explore_require((s->status[thread][i] == STROBE_OK) == (depth == stack.count));
        }
    }
    explore_require(strobe_load_relaxed(&s->table.head->full_count) == refused);
    explore_require(!refused || strobe_stack_node_count(&s->table) == 2);
    count_nodes(&s->table, 2);
}

static const struct explore_program full_program = {
    .name = "table/full",
    .what = "a table that fills: right prefixes, refusals counted, no wrong stack (S-31)",
    .thread_count = 3,
    .state_bytes = sizeof(struct table_state),
    .setup = setup_few,
    .thread = {intern_different, intern_different, intern_different},
    .check = check_full,
    .quick = 1,
    .nightly = 2,
};

/* ---- table/resolve: ids resolve as soon as they are returned */

static void intern_resolving(void *state)
{
    struct table_state *s = state;
    struct strobe_stack_cursor cursor = {0};
    for (uint32_t i = 0; i < explore_size(); i++)
        intern_and_resolve(s, &cursor, i, different[explore_self()][i]);
}

static const struct explore_program resolve_program = {
    .name = "table/resolve",
    .what = "an id resolves at once, to the stack or the frames there was room for",
    .thread_count = 2,
    .state_bytes = sizeof(struct table_state),
    .setup = setup_few_for_two,
    .thread = {intern_resolving, intern_resolving},
    .check = check_full,
    .quick = 2,
    .nightly = 3,
};

/* ---- table/hand-over: ids go to a thread that has not seen the stack */

static void intern_and_send(void *state)
{
    struct table_state *s = state;
    struct strobe_stack_cursor cursor = {0};
    uint32_t id = intern(s, &cursor, 0, S_12);
    strobe_store_release(&s->sent, id);
}

static void receive(void *state)
{
    struct table_state *s = state;
    struct strobe_stack_table t = s->table;
    struct stack stack = stack_of(S_12);
    uint32_t id = strobe_load_acquire(&s->sent);
    if (id)
        require_frames(&t, id, &stack, stack.count);
}

static void check_table(void *state)
{
    struct table_state *s = state;
    explore_require(count_nodes(&s->table, 8) == 2);
}

static const struct explore_program hand_over_program = {
    .name = "table/hand-over",
    .what = "an id resolves to its frames wherever it is handed to, whoever added the stack",
    .thread_count = 3,
    .state_bytes = sizeof(struct table_state),
    .setup = setup_room,
    .thread = {intern_and_send, intern_and_send, receive},
    .check = check_table,
    .quick = 1,
    .nightly = 1,
};

/* ---- table/scan: a reader tries ids that it received from no thread */

static void intern_one(void *state)
{
    struct table_state *s = state;
    struct strobe_stack_cursor cursor = {0};
    intern(s, &cursor, 0, S_12);
}

static void scan(void *state)
{
    struct table_state *s = state;
    struct strobe_stack_table t = s->table;
    struct stack stack = stack_of(S_12);
    for (uint32_t i = 0; i < explore_size(); i++) {
        uint64_t frame[FRAMES];
        uint32_t count = 0, id = 1 + explore_choose(3);
        enum strobe_status status = strobe_stack_frames(&t, id, frame, FRAMES, &count);
        explore_require(status == STROBE_OK || status == STROBE_NO_ENTRY);
        explore_require(status || !memcmp(frame, stack.frame, count * sizeof *frame));
    }
}

static const struct explore_program scan_program = {
    .name = "table/scan",
    .what = "an id that happens to be tried resolves to a stack that was interned, or to none",
    .thread_count = 3,
    .state_bytes = sizeof(struct table_state),
    .setup = setup_room,
    .thread = {intern_one, intern_one, scan},
    .check = check_table,
    .quick = 1,
    .nightly = 2,
};

/* ---- table/frozen: an interning thread is frozen before each of its operations */

static void check_frozen(void *state)
{
    struct table_state *s = state;
    uint32_t size = explore_size();
    for (uint32_t thread = 1; thread < s->threads; thread++)
        for (uint32_t i = 0; i < size; i++)
            explore_require(s->status[thread][i] == STROBE_OK && s->id[thread][i] == s->id[1][i]);
    count_nodes(&s->table, 8);
}

static const struct explore_program frozen_program = {
    .name = "table/frozen",
    .what = "one who is stopped while it interns holds up nobody and spoils no id",
    .thread_count = 3,
    .state_bytes = sizeof(struct table_state),
    .setup = setup_room,
    .thread = {intern_same, intern_same, intern_same},
    .check = check_frozen,
    .quick = 1,
    .nightly = 2,
    .frozen = 1,
};

const struct explore_program *const explore_table_programs[] = {
    &same_program,      &different_program, &two_program,    &full_program, &resolve_program,
    &hand_over_program, &scan_program,      &frozen_program, NULL,
};
