/* The stack table: threads intern stacks while the table fills up, and other threads resolve ids. Equal stacks get
 * equal ids. An id resolves to its frames as soon as it is returned. At the end the table contains each distinct prefix
 * once. */
#include "tests/explore/engine/engine_table.h"
#include "tests/explore/programs.h"

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
        table_intern(s, &cursor, i, stacks[i]);
}

static void check_same(void *state)
{
    static const uint32_t stacks[] = {S_1, S_12, S_121, S_1};
    struct table_state *s = state;
    uint32_t size = explore_size();
    for (uint32_t thread = 0; thread < s->threads; thread++)
        for (uint32_t i = 0; i < size; i++)
            table_require_same_id(s, thread, i, stacks[i]);
    /* A thread that lost all races keeps one unused node. */
    explore_require(table_count_nodes(&s->table, 8) == (size < 3 ? size : 3));
    explore_require(strobe_load_relaxed(&s->table.head->full_count) == 0);
    table_require_levels(&s->table);
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

static const uint32_t different[TABLE_THREADS][TABLE_TURNS] = {
    {S_1, S_12, S_2, S_13},
    {S_2, S_1, S_21, S_12},
    {S_12, S_2, S_1, S_3},
};

static void intern_different(void *state)
{
    struct table_state *s = state;
    struct strobe_stack_cursor cursor = {0};
    for (uint32_t i = 0; i < explore_size(); i++)
        table_intern(s, &cursor, i, different[explore_self()][i]);
}

static void check_different(void *state)
{
    struct table_state *s = state;
    uint64_t prefixes = 0;
    for (uint32_t thread = 0; thread < s->threads; thread++) {
        for (uint32_t i = 0; i < explore_size(); i++) {
            table_require_same_id(s, thread, i, different[thread][i]);
            for (uint32_t prefix = different[thread][i]; prefix; prefix >>= 2)
                prefixes |= (uint64_t)1 << prefix;
        }
    }
    explore_require(table_count_nodes(&s->table, 8) == (uint32_t)__builtin_popcountll(prefixes));
    table_require_levels(&s->table);
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
            struct table_stack stack = table_stack_of(different[thread][i]);
            uint32_t id = s->id[thread][i], depth = id ? strobe_load_relaxed(&s->table.nodes[id].depth) : 0;
            table_require_frames(&s->table, id, &stack, depth);
            refused += s->status[thread][i] == STROBE_FULL;
            explore_require((s->status[thread][i] == STROBE_OK) == (depth == stack.count));
        }
    }
    explore_require(strobe_load_relaxed(&s->table.head->full_count) == refused);
    explore_require(!refused || strobe_stack_node_count(&s->table) == 2);
    table_count_nodes(&s->table, 2);
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
        table_intern_and_resolve(s, &cursor, i, different[explore_self()][i]);
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
    uint32_t id = table_intern(s, &cursor, 0, S_12);
    strobe_store_release(&s->sent, id);
}

static void receive(void *state)
{
    struct table_state *s = state;
    struct strobe_stack_table t = s->table;
    struct table_stack stack = table_stack_of(S_12);
    uint32_t id = strobe_load_acquire(&s->sent);
    if (id)
        table_require_frames(&t, id, &stack, stack.count);
}

static void check_table(void *state)
{
    struct table_state *s = state;
    explore_require(table_count_nodes(&s->table, 8) == 2);
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
    table_intern(s, &cursor, 0, S_12);
}

static void scan(void *state)
{
    struct table_state *s = state;
    struct strobe_stack_table t = s->table;
    struct table_stack stack = table_stack_of(S_12);
    for (uint32_t i = 0; i < explore_size(); i++) {
        uint64_t frame[TABLE_FRAMES];
        uint32_t count = 0, id = 1 + explore_choose(3);
        enum strobe_status status = strobe_stack_frames(&t, id, frame, TABLE_FRAMES, &count);
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
    table_count_nodes(&s->table, 8);
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
