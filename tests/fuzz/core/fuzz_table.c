/* The stack table against its model, with threads that interleave in every way: the table holds each prefix of the
 * interned stacks once, equal stacks have equal ids, and an id resolves to its frames for any thread. A table that is
 * full refuses a stack only when all nodes are in use, and gives the id of its longest known prefix.
 *
 * Input, after that of explored.h: number of nodes and threads, then for each thread its operations, two bytes each. */
#include "tests/explore/engine/engine_table.h"
#include "tests/fuzz/support/explored.h"

enum { NODES_MAX = 12, STACKS = 1 << 2 * TABLE_FRAMES };

enum what { INTERN, INTERN_AND_RESOLVE, FORGET, SCAN, WHATS };

static struct {
    uint32_t nodes, threads;
    uint32_t count[TABLE_THREADS];
    struct {
        enum what what;
        uint32_t digits; /* of a stack, or the id to scan */
    } operation[TABLE_THREADS][TABLE_TURNS];
} script;

/* Moves the digits 1 .. 3 together, so that no frame is missing in the middle. */
static uint32_t compact_digits(uint32_t byte)
{
    uint32_t digits = 0;
    for (uint32_t shift = 2 * TABLE_FRAMES; shift; shift -= 2)
        if (byte >> (shift - 2) & 3)
            digits = digits << 2 | (byte >> (shift - 2) & 3);
    return digits;
}

static uint32_t decode(struct fuzz_bytes *in)
{
    uint32_t head = fuzz_byte(in);
    script.threads = 1 + head % TABLE_THREADS;
    script.nodes = 1 + head / TABLE_THREADS % NODES_MAX;
    for (uint32_t t = 0; t < script.threads; t++) {
        script.count[t] = 1 + fuzz_below(in, TABLE_TURNS);
        for (uint32_t i = 0; i < script.count[t]; i++) {
            script.operation[t][i].what = (enum what)(fuzz_byte(in) % WHATS);
            script.operation[t][i].digits = compact_digits(fuzz_byte(in));
        }
    }
    return script.threads;
}

static bool interns(enum what what)
{
    return what == INTERN || what == INTERN_AND_RESOLVE;
}

static void setup(void *state)
{
    table_make(state, script.nodes, script.threads);
}

/* An id that the thread received from no other thread: it resolves to a stack that some thread interns, or to none. */
static void scan(const struct strobe_stack_table *t, uint32_t id)
{
    uint64_t frame[TABLE_FRAMES];
    uint32_t count = 0;
    enum strobe_status status = strobe_stack_frames(t, id, frame, TABLE_FRAMES, &count);
    explore_require(status == STROBE_OK || status == STROBE_NO_ENTRY);
    if (status || !id)
        return;
    for (uint32_t thread = 0; thread < script.threads; thread++) {
        for (uint32_t i = 0; i < script.count[thread]; i++) {
            struct table_stack stack = table_stack_of(script.operation[thread][i].digits);
            if (interns(script.operation[thread][i].what) && stack.count >= count &&
                !memcmp(stack.frame, frame, count * sizeof *frame))
                return;
        }
    }
    explore_require(!"the id is that of a stack that no thread interns");
}

static void play(void *state)
{
    struct table_state *s = state;
    struct strobe_stack_table t = s->table;
    struct strobe_stack_cursor cursor = {0};
    uint32_t self = explore_self();
    for (uint32_t i = 0; i < script.count[self]; i++) {
        uint32_t digits = script.operation[self][i].digits;
        switch (script.operation[self][i].what) {
        case INTERN: table_intern(s, &cursor, i, digits); break;
        case INTERN_AND_RESOLVE: table_intern_and_resolve(s, &cursor, i, digits); break;
        case FORGET: cursor.depth = 0; break;
        default: scan(&t, digits % (script.nodes + 1)); break;
        }
    }
}

/* Marks the prefixes of all interned stacks. Returns their number. */
static uint32_t count_prefixes(void)
{
    static bool known[STACKS];
    uint32_t count = 0;
    memset(known, 0, sizeof known);
    for (uint32_t thread = 0; thread < script.threads; thread++)
        for (uint32_t i = 0; i < script.count[thread]; i++)
            for (uint32_t prefix = script.operation[thread][i].digits;
                 prefix && interns(script.operation[thread][i].what); prefix >>= 2) {
                count += !known[prefix];
                known[prefix] = true;
            }
    return count;
}

static void check(void *state)
{
    struct table_state *s = state;
    uint32_t refused = 0, nodes = table_count_nodes(&s->table, script.nodes);
    if (explore_frozen())
        return;
    for (uint32_t thread = 0; thread < script.threads; thread++) {
        for (uint32_t i = 0; i < script.count[thread]; i++) {
            if (!interns(script.operation[thread][i].what))
                continue;
            struct table_stack stack = table_stack_of(script.operation[thread][i].digits);
            uint32_t id = s->id[thread][i], depth = id ? strobe_load_relaxed(&s->table.nodes[id].depth) : 0;
            table_require_frames(&s->table, id, &stack, depth);
            refused += s->status[thread][i] == STROBE_FULL;
            explore_require((s->status[thread][i] == STROBE_OK) == (depth == stack.count));
            if (s->status[thread][i] == STROBE_OK)
                table_require_same_id(s, thread, i, script.operation[thread][i].digits);
        }
    }
    explore_require(strobe_load_relaxed(&s->table.head->full_count) == refused);
    explore_require(!refused || strobe_stack_node_count(&s->table) == script.nodes);
    uint32_t prefixes = count_prefixes();
    explore_require(nodes <= prefixes && (refused || nodes == prefixes));
    table_require_levels(&s->table);
}

const struct fuzz_explored fuzz_explored = {
    .program = {.name = "fuzz/table",
                .what = "the stack table is what its model holds",
                .thread_count = TABLE_THREADS,
                .state_bytes = sizeof(struct table_state),
                .setup = setup,
                .thread = {play, play, play},
                .check = check,
                .quick = 1,
                .nightly = 1},
    .decode = decode,
};
