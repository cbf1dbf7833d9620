/* The stack table: equal stacks have equal ids, and each lost stack is counted, for all threads and all orders of
 * insertion. */
#include "engine/store/stack_table.h"
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

/* --- a table, and a tree of frames to draw stacks from --- */

static struct strobe_stack_table table_new(uint32_t node_capacity)
{
    struct strobe_stack_table t;
    size_t bytes = strobe_stack_table_bytes(node_capacity);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    strobe_stack_table_create(memory, node_capacity);
    assert_int_equal(strobe_stack_table_open(memory, bytes, &t), STROBE_OK);
    return t;
}

static void table_free(struct strobe_stack_table *t)
{
    munmap(t->head, strobe_stack_table_bytes(t->head->node_capacity));
}

struct tree_node {
    uint64_t address;
    uint32_t parent, depth, children;
};
struct tree {
    uint32_t count;
    struct tree_node *node; /* node[0] is the empty stack */
};

/* A tree of `count` nodes at most `deep`. The same addresses appear under many parents, never twice under one. */
static struct tree tree_grow(uint32_t count, uint32_t deep, uint64_t *random)
{
    struct tree t = {count, calloc(count + 1, sizeof(struct tree_node))};
    assert_non_null(t.node);
    for (uint32_t i = 1; i <= count; i++) {
        uint32_t parent = strobe_trial_below(random, 4) ? i - 1 : strobe_trial_below(random, i);
        while (t.node[parent].depth >= deep)
            parent = t.node[parent].parent;
        uint32_t nth = t.node[parent].children++;
        t.node[i] = (struct tree_node){0x7f0000001000u + nth * 64u, parent, t.node[parent].depth + 1, 0};
    }
    return t;
}

static uint32_t tree_frames(const struct tree *t, uint32_t node, uint64_t *out)
{
    for (uint32_t n = node; n; n = t->node[n].parent)
        out[t->node[n].depth - 1] = t->node[n].address;
    return t->node[node].depth;
}

static bool resolves_to(const struct strobe_stack_table *t, uint32_t id, const uint64_t *frames, uint32_t count)
{
    uint64_t got[STROBE_STACK_DEPTH_MAX];
    uint32_t got_count;
    return strobe_stack_frames(t, id, got, STROBE_STACK_DEPTH_MAX, &got_count) == STROBE_OK && got_count == count &&
           memcmp(got, frames, count * sizeof *got) == 0;
}

static uint32_t published(const struct strobe_stack_table *t)
{
    uint32_t n = 0;
    for (uint32_t id = 1; id <= strobe_stack_node_count(t); id++)
        n += strobe_stack_node_of(t, id) != NULL;
    return n;
}

/* --- one thread --- */

static void a_stack_comes_back_as_it_went_at_every_depth(void **state)
{
    (void)state;
    struct strobe_stack_table t = table_new(1 << 16);
    struct strobe_stack_cursor cursor = {0};
    uint64_t frames[STROBE_STACK_DEPTH_MAX], random = seed;
    uint32_t id, count = 9;
    for (uint32_t depth = 0; depth <= STROBE_STACK_DEPTH_MAX; depth++) {
        for (uint32_t i = 0; i < depth; i++)
            frames[i] = strobe_trial_random(&random);
        assert_int_equal(strobe_stack_intern(&t, &cursor, frames, depth, &id), STROBE_OK);
        assert_true(resolves_to(&t, id, frames, depth));
        assert_true((id == 0) == (depth == 0));
        if (!depth)
            continue;
        uint64_t fewer[STROBE_STACK_DEPTH_MAX];
        assert_int_equal(strobe_stack_frames(&t, id, fewer, depth - 1, &count), STROBE_FULL);
        assert_int_equal(strobe_stack_node_of(&t, id)->address, frames[depth - 1]);
    }
    table_free(&t);
}

static void addresses_that_differ_in_any_one_bit_are_different_frames_S32(void **state)
{
    (void)state;
    struct strobe_stack_table t = table_new(4096);
    struct strobe_stack_cursor cursor = {0};
    uint64_t frames[130][2];
    uint32_t id[130], n = 0;
    for (uint32_t bit = 0; bit < 64; bit++) {
        frames[n][0] = 0x00007fffdeadbeefu;
        frames[n++][1] = 0x0000555512345678u ^ (uint64_t)1 << bit;
        frames[n][0] = 0x00007fffdeadbeefu ^ (uint64_t)1 << bit;
        frames[n++][1] = 0x0000555512345678u;
    }
    frames[n][0] = 0;
    frames[n++][1] = 0;
    frames[n][0] = UINT64_MAX;
    frames[n++][1] = UINT64_MAX;
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(strobe_stack_intern(&t, &cursor, frames[i], 2, &id[i]), STROBE_OK);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(resolves_to(&t, id[i], frames[i], 2));
        for (uint32_t j = 0; j < i; j++)
            assert_int_not_equal(id[i], id[j]);
    }
    table_free(&t);
}

static void the_id_of_a_stack_does_not_depend_on_what_was_interned_before_it_S34(void **state)
{
    (void)state;
    uint64_t random = seed, frames[STROBE_STACK_DEPTH_MAX];
    struct tree tree = tree_grow(strobe_trial_rounds(20000), 100, &random);
    struct strobe_stack_table t = table_new(tree.count);
    struct strobe_stack_cursor cursor[3] = {0};
    uint32_t *first = calloc(tree.count + 1, sizeof *first), id;
    for (uint32_t round = 0; round < 4 * tree.count; round++) {
        uint32_t node = strobe_trial_below(&random, tree.count + 1), depth = tree_frames(&tree, node, frames);
        assert_int_equal(strobe_stack_intern(&t, &cursor[strobe_trial_below(&random, 3)], frames, depth, &id),
                         STROBE_OK);
        if (!first[node])
            first[node] = id;
        assert_int_equal(id, first[node]);
        assert_true(resolves_to(&t, id, frames, depth));
    }
    for (uint32_t node = 1; node <= tree.count; node++)
        if (first[node])
            assert_true(resolves_to(&t, first[node], frames, tree_frames(&tree, node, frames)));
    free(first);
    free(tree.node);
    table_free(&t);
}

/* A caller may pass the number of frames shared with the previous stack. The table then skips these frames, and the ids
 * are the same. */
static void frames_that_the_caller_states_as_shared_give_the_same_ids(void **state)
{
    (void)state;
    uint64_t random = seed, frames[STROBE_STACK_DEPTH_MAX], before[STROBE_STACK_DEPTH_MAX];
    struct tree tree = tree_grow(strobe_trial_rounds(5000), 100, &random);
    struct strobe_stack_table t = table_new(tree.count / 2); /* refuses a part of the later half */
    struct strobe_stack_cursor knowing = {0}, plain = {0};
    uint32_t id, same, count = 0;
    for (uint32_t round = 0; round < 4 * tree.count; round++) {
        uint32_t depth = tree_frames(&tree, strobe_trial_below(&random, tree.count + 1), frames), shared = 0;
        while (shared < depth && shared < count && frames[shared] == before[shared])
            shared++;
        shared = strobe_trial_below(&random, shared + 1);
        enum strobe_status status = strobe_stack_intern_onto(&t, &knowing, shared, frames, depth, &id);
        assert_int_equal(strobe_stack_intern(&t, &plain, frames, depth, &same), status);
        assert_int_equal(id, same);
        assert_true(resolves_to(&t, id, frames, knowing.depth));
        memcpy(before, frames, (count = depth) * sizeof *frames);
    }
    free(tree.node);
    table_free(&t);
}

/* Stacks beyond the capacity: the id is that of the longest prefix that the table holds, never of another stack. */
static void a_full_table_gives_the_longest_prefix_and_reports_it_S31(void **state)
{
    (void)state;
    static const uint32_t capacities[] = {1, 2, 7, 16, 100, 1000, 5000, 20000};
    for (uint32_t c = 0; c < sizeof capacities / sizeof *capacities; c++) {
        uint64_t random = seed + c, frames[STROBE_STACK_DEPTH_MAX];
        struct tree tree = tree_grow(3 * capacities[c] + 10, 60, &random);
        struct strobe_stack_table t = table_new(capacities[c]);
        struct strobe_stack_cursor cursor = {0};
        bool *held = calloc(tree.count + 1, sizeof *held);
        uint32_t refused = 0, holds = 0, id;
        held[0] = true;
        for (uint32_t round = 0; round < 2 * tree.count; round++) {
            uint32_t node = strobe_trial_below(&random, tree.count + 1), depth = tree_frames(&tree, node, frames);
            enum strobe_status status = strobe_stack_intern(&t, &cursor, frames, depth, &id);
            uint32_t room = capacities[c] - holds, missing = 0;
            for (uint32_t n = node; !held[n]; n = tree.node[n].parent)
                missing++;
            uint32_t taken = missing < room ? missing : room;
            uint32_t prefix = node;
            for (uint32_t i = missing; i > taken; i--)
                prefix = tree.node[prefix].parent;
            for (uint32_t n = prefix; !held[n]; n = tree.node[n].parent)
                held[n] = true;
            holds += taken;
            refused += missing > room;
            assert_int_equal(status, missing > room ? STROBE_FULL : STROBE_OK);
            assert_true(resolves_to(&t, id, frames, tree.node[prefix].depth));
        }
        assert_int_equal(holds, capacities[c]);
        assert_int_equal(published(&t), capacities[c]);
        assert_int_equal(strobe_stack_node_count(&t), capacities[c]);
        assert_int_equal(strobe_load_relaxed(&t.head->full_count), refused);
        free(held);
        free(tree.node);
        table_free(&t);
    }
}

/* Returns the bytes of the pages that were written to. A key whose lines are full opens another level, in which it
 * takes a page. */
static size_t touched_bytes(const struct strobe_stack_table *t)
{
    enum { PAGE = 4096 };
    static const char zeros[PAGE];
    size_t bytes = strobe_stack_table_bytes(t->head->node_capacity), touched = 0;
    for (size_t at = 0; at < bytes; at += PAGE) {
        size_t part = bytes - at < PAGE ? bytes - at : PAGE;
        touched += memcmp((const char *)t->head + at, zeros, part) ? part : 0;
    }
    return touched;
}

static void everything_counted_a_node_takes_at_most_40_bytes(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {50000, 90000, 300000};
    for (uint32_t s = 0; s < 3; s++) {
        uint64_t random = seed, frames[STROBE_STACK_DEPTH_MAX];
        struct tree tree = tree_grow(sizes[s], 60, &random);
        struct strobe_stack_table t = table_new(1 << 20);
        struct strobe_stack_cursor cursor = {0};
        uint32_t id;
        for (uint32_t node = 1; node <= tree.count; node++)
            assert_int_equal(strobe_stack_intern(&t, &cursor, frames, tree_frames(&tree, node, frames), &id),
                             STROBE_OK);
        assert_int_equal(published(&t), sizes[s]);
        assert_in_range(touched_bytes(&t), 20 * sizes[s], 40 * sizes[s]);
        assert_true(strobe_stack_table_used_bytes(&t) >= touched_bytes(&t) - STROBE_STACK_LEVELS_MAX * 4096);
        free(tree.node);
        table_free(&t);
    }
}

/* A line of slots in two cache lines would cost two cache misses. */
static void the_slots_begin_with_a_cache_line_whatever_the_capacity(void **state)
{
    (void)state;
    for (uint32_t capacity = 1; capacity <= 64; capacity++) {
        struct strobe_stack_table t = table_new(capacity);
        assert_int_equal((uintptr_t)t.slots % 64, 0);
        table_free(&t);
    }
}

static void a_small_program_touches_little_of_a_large_table_S20(void **state)
{
    (void)state;
    struct strobe_stack_table t = table_new(1 << 20);
    struct strobe_stack_cursor cursor = {0};
    size_t bytes = strobe_stack_table_bytes(1 << 20), page = (size_t)sysconf(_SC_PAGESIZE), pages = bytes / page + 1;
    madvise(t.head, bytes, MADV_NOHUGEPAGE);
    uint64_t frame = 0;
    uint32_t id;
    for (frame = 1; frame <= 1000; frame++)
        strobe_stack_intern(&t, &cursor, &frame, 1, &id);
    unsigned char *resident = calloc(pages, 1);
    uint32_t touched = 0;
    assert_int_equal(mincore(t.head, bytes, resident), 0);
    for (size_t i = 0; i < pages; i++)
        touched += resident[i] & 1;
    /* 1,000 nodes and the head fill four pages. Nearly all slots are in 8 KiB, which need not begin at a page. */
    assert_in_range(touched, 4, 4 + 3 + 3);
    free(resident);
    table_free(&t);
}

/* A thread that dies right after it linked a node has not published it. The next thread that needs the node publishes
 * it. */
static void a_node_whose_inserter_died_half_way_is_finished_by_the_next(void **state)
{
    (void)state;
    struct strobe_stack_table t = table_new(100);
    struct strobe_stack_cursor dead = {0}, next = {0};
    const uint64_t frames[3] = {11, 22, 33};
    uint32_t id, again;
    assert_int_equal(strobe_stack_intern(&t, &dead, frames, 3, &id), STROBE_OK);
    strobe_store_relaxed(&t.nodes[id].depth, 0);
    assert_null(strobe_stack_node_of(&t, id));
    assert_false(resolves_to(&t, id, frames, 3));
    assert_int_equal(strobe_stack_intern(&t, &next, frames, 3, &again), STROBE_OK);
    assert_int_equal(again, id);
    assert_true(resolves_to(&t, id, frames, 3));
    table_free(&t);
}

static void a_table_whose_head_and_memory_disagree_is_refused(void **state)
{
    (void)state;
    struct strobe_stack_table t = table_new(1000), out;
    size_t bytes = strobe_stack_table_bytes(1000);
    assert_int_equal(strobe_stack_table_open(t.head, bytes, &out), STROBE_OK);
    assert_int_equal(strobe_stack_table_open(t.head, bytes - 1, &out), STROBE_BAD_INPUT);
    assert_int_equal(strobe_stack_table_open(t.head, 8, &out), STROBE_BAD_INPUT);
    uint32_t *const field[] = {&t.head->node_capacity, &t.head->level_count, &t.head->level0_bits};
    for (uint32_t f = 0; f < 3; f++) {
        for (uint32_t bit = 0; bit < 32; bit++) {
            *field[f] ^= 1u << bit;
            /* A smaller table with the same levels is also valid; any other value must be refused. */
            bool fits = f == 0 && t.head->node_capacity > 512 && t.head->node_capacity <= 1024 &&
                        strobe_stack_table_bytes(t.head->node_capacity) <= bytes;
            assert_int_equal(strobe_stack_table_open(t.head, bytes, &out), fits ? STROBE_OK : STROBE_BAD_INPUT);
            *field[f] ^= 1u << bit;
        }
    }
    table_free(&t);
}

static void a_chain_of_parents_that_skips_a_depth_is_no_stack(void **state)
{
    (void)state;
    struct strobe_stack_table t = table_new(100);
    struct strobe_stack_cursor cursor = {0};
    const uint64_t frames[5] = {11, 22, 33, 44, 55};
    uint32_t id, count;
    uint64_t out[STROBE_STACK_DEPTH_MAX];
    assert_int_equal(strobe_stack_intern(&t, &cursor, frames, 5, &id), STROBE_OK);
    const struct {
        uint32_t node, parent, depth;
    } damage[] = {
        {5, 3, 5}, {5, 5, 5}, {5, 0, 5}, {5, 101, 5}, {5, 99, 5}, {4, 5, 4}, {3, 1, 3},
        {1, 2, 1}, {1, 7, 1}, {1, 0, 2}, {3, 2, 0},   {3, 2, 4},  {5, 4, 6}, {5, 4, STROBE_STACK_DEPTH_MAX + 1},
    };
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        uint32_t node = cursor.id[damage[i].node], at = damage[i].parent;
        struct strobe_stack_node *n = &t.nodes[node];
        uint32_t parent = n->parent, depth = strobe_load_relaxed(&n->depth);
        n->parent = at <= 5 ? cursor.id[at] : at;
        strobe_store_relaxed(&n->depth, damage[i].depth);
        assert_int_equal(strobe_stack_frames(&t, id, out, STROBE_STACK_DEPTH_MAX, &count), STROBE_NO_ENTRY);
        n->parent = parent;
        strobe_store_relaxed(&n->depth, depth);
        assert_true(resolves_to(&t, id, frames, 5));
    }
    table_free(&t);
}

/* In a damaged file, any id resolves to some stack or to nothing, and resolving ends within the array. */
static void no_damage_to_nodes_makes_resolving_run_wild(void **state)
{
    (void)state;
    uint64_t random = seed, frames[STROBE_STACK_DEPTH_MAX + 1];
    struct tree tree = tree_grow(500, 190, &random);
    struct strobe_stack_table t = table_new(600);
    struct strobe_stack_cursor cursor = {0};
    uint32_t id, count, wrong = 0;
    for (uint32_t node = 1; node <= tree.count; node++)
        strobe_stack_intern(&t, &cursor, frames, tree_frames(&tree, node, frames), &id);
    for (uint32_t round = 0; round < strobe_trial_rounds(2000); round++) {
        unsigned char *byte = (unsigned char *)&t.nodes[strobe_trial_below(&random, 601)];
        byte[strobe_trial_below(&random, 16)] = (unsigned char)strobe_trial_random(&random);
        if (strobe_trial_below(&random, 2))
            t.nodes[strobe_trial_below(&random, 601)].parent = strobe_trial_below(&random, 700);
        frames[STROBE_STACK_DEPTH_MAX] = 0xfeed;
        for (uint32_t i = 0; i < 20; i++) {
            count = 0;
            id = strobe_trial_below(&random, 800);
            wrong += strobe_stack_frames(&t, id, frames, STROBE_STACK_DEPTH_MAX, &count) != STROBE_OK;
            assert_true(count <= STROBE_STACK_DEPTH_MAX);
        }
        assert_int_equal(frames[STROBE_STACK_DEPTH_MAX], 0xfeed);
    }
    assert_true(wrong > 0);
    assert_int_equal(strobe_stack_frames(&t, UINT32_MAX, frames, STROBE_STACK_DEPTH_MAX, &count), STROBE_NO_ENTRY);
    free(tree.node);
    table_free(&t);
}

/* --- many threads --- */

enum { INSERTERS = 8 };

struct race {
    struct strobe_stack_table table;
    struct tree tree;
    uint32_t rounds;
    uint32_t *id[INSERTERS]; /* by tree node, as each thread got it */
    struct strobe_stack_cursor cursor[INSERTERS];
    uint32_t refused[INSERTERS], wrong[INSERTERS];
};

/* Half of the draws are from a window that moves along the tree with the rounds, so threads meet on new nodes. */
static void insert(void *arg, uint32_t index)
{
    struct race *r = arg;
    uint64_t frames[STROBE_STACK_DEPTH_MAX], random = seed + index;
    for (uint32_t round = 0; round < r->rounds; round++) {
        uint32_t at = (uint32_t)((uint64_t)round * r->tree.count / r->rounds);
        uint32_t node = round & 1 ? 1 + strobe_trial_below(&random, r->tree.count)
                                  : 1 + (at + strobe_trial_below(&random, 16)) % r->tree.count;
        uint32_t depth = tree_frames(&r->tree, node, frames), id;
        enum strobe_status status = strobe_stack_intern(&r->table, &r->cursor[index], frames, depth, &id);
        if (status == STROBE_FULL) {
            uint32_t prefix = r->cursor[index].depth;
            r->refused[index]++;
            r->wrong[index] += prefix >= depth || !resolves_to(&r->table, id, frames, prefix);
            continue;
        }
        r->wrong[index] += !resolves_to(&r->table, id, frames, depth);
        if (!r->id[index][node])
            r->id[index][node] = id;
        r->wrong[index] += r->id[index][node] != id;
    }
}

static struct race race_run(uint32_t nodes, uint32_t capacity, uint32_t rounds)
{
    uint64_t random = seed;
    struct race r = {.table = table_new(capacity), .tree = tree_grow(nodes, 40, &random), .rounds = rounds};
    for (uint32_t i = 0; i < INSERTERS; i++)
        r.id[i] = calloc(nodes + 1, sizeof *r.id[i]);
    strobe_trial_crowd(INSERTERS, insert, &r);
    for (uint32_t i = 0; i < INSERTERS; i++)
        assert_int_equal(r.wrong[i], 0);
    return r;
}

/* Every id handed out is a published node, except those that threads keep as spares. */
static void assert_ids_are_accounted_for(const struct race *r)
{
    uint32_t spares = 0;
    for (uint32_t i = 0; i < INSERTERS; i++)
        spares += r->cursor[i].spare != 0;
    assert_int_equal(strobe_stack_node_count(&r->table) - published(&r->table), spares);
}

static void race_free(struct race *r)
{
    for (uint32_t i = 0; i < INSERTERS; i++)
        free(r->id[i]);
    free(r->tree.node);
    table_free(&r->table);
}

static int by_content(const void *a, const void *b)
{
    const struct strobe_stack_node *x = *(const struct strobe_stack_node *const *)a;
    const struct strobe_stack_node *y = *(const struct strobe_stack_node *const *)b;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    return (x->address > y->address) - (x->address < y->address);
}

static void eight_threads_make_the_same_table_as_one_S33(void **state)
{
    (void)state;
    uint32_t nodes_most = strobe_trial_rounds(20000);
    struct race r = race_run(nodes_most, nodes_most + INSERTERS, strobe_trial_rounds(30000));
    bool *reached = calloc(r.tree.count + 1, sizeof *reached);
    uint32_t distinct = 0, n = 0, nodes = strobe_stack_node_count(&r.table);
    for (uint32_t node = 1; node <= r.tree.count; node++) {
        uint32_t id = 0;
        for (uint32_t i = 0; i < INSERTERS; i++) {
            if (!r.id[i][node])
                continue;
            assert_true(!id || r.id[i][node] == id); /* all threads got the same id */
            id = r.id[i][node];
        }
        for (uint32_t up = id ? node : 0; up && !reached[up]; up = r.tree.node[up].parent) {
            reached[up] = true;
            distinct++;
        }
    }
    assert_int_equal(published(&r.table), distinct); /* as many as the serial oracle has: the tree itself */
    const struct strobe_stack_node **sorted = calloc(nodes, sizeof *sorted);
    for (uint32_t id = 1; id <= nodes; id++)
        if (strobe_stack_node_of(&r.table, id))
            sorted[n++] = strobe_stack_node_of(&r.table, id);
    qsort(sorted, n, sizeof *sorted, by_content);
    for (uint32_t i = 1; i < n; i++)
        assert_true(by_content(&sorted[i - 1], &sorted[i]) < 0); /* no stack twice */
    assert_ids_are_accounted_for(&r);
    free(sorted);
    free(reached);
    race_free(&r);
}

static void eight_threads_beyond_the_capacity_get_true_prefixes_and_are_counted_S31(void **state)
{
    (void)state;
    uint64_t at_first = seed;
    for (uint32_t round = 0; round < strobe_trial_rounds(100); round++, seed++) {
        uint32_t capacity = round ? 100 : 1000, refused = 0;
        struct race r = race_run(4 * capacity, capacity, 2 * capacity);
        for (uint32_t i = 0; i < INSERTERS; i++)
            refused += r.refused[i];
        assert_true(refused > 0);
        assert_int_equal(strobe_load_relaxed(&r.table.head->full_count), refused);
        assert_in_range(strobe_load_relaxed(&r.table.head->next_node), capacity + 1, capacity + 1 + INSERTERS);
        assert_ids_are_accounted_for(&r);
        race_free(&r);
    }
    seed = at_first;
}

int main(void)
{
    seed = strobe_trial_seed("test_stack_table");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_comes_back_as_it_went_at_every_depth),
        cmocka_unit_test(addresses_that_differ_in_any_one_bit_are_different_frames_S32),
        cmocka_unit_test(the_id_of_a_stack_does_not_depend_on_what_was_interned_before_it_S34),
        cmocka_unit_test(frames_that_the_caller_states_as_shared_give_the_same_ids),
        cmocka_unit_test(a_full_table_gives_the_longest_prefix_and_reports_it_S31),
        cmocka_unit_test(everything_counted_a_node_takes_at_most_40_bytes),
        cmocka_unit_test(the_slots_begin_with_a_cache_line_whatever_the_capacity),
        cmocka_unit_test(a_small_program_touches_little_of_a_large_table_S20),
        cmocka_unit_test(a_node_whose_inserter_died_half_way_is_finished_by_the_next),
        cmocka_unit_test(a_table_whose_head_and_memory_disagree_is_refused),
        cmocka_unit_test(a_chain_of_parents_that_skips_a_depth_is_no_stack),
        cmocka_unit_test(no_damage_to_nodes_makes_resolving_run_wild),
        cmocka_unit_test(eight_threads_make_the_same_table_as_one_S33),
        cmocka_unit_test(eight_threads_beyond_the_capacity_get_true_prefixes_and_are_counted_S31),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
