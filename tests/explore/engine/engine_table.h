/* Shared by the programs over the stack table: a table of a few nodes, stacks named by numbers, and the checks of what
 * the table holds.
 *
 * A number names a stack: its digits in base 4, outermost first, are the frames. 012 has three frames. */
#ifndef STROBE_EXPLORE_ENGINE_ENGINE_TABLE_H
#define STROBE_EXPLORE_ENGINE_ENGINE_TABLE_H

#include "engine/store/stack_table.h"
#include "sim/explore/program.h"

#include <stdalign.h>
#include <string.h>

enum { TABLE_THREADS = 3, TABLE_FRAMES = 4, TABLE_TURNS = 4, TABLE_MEMORY_BYTES = 1024, TABLE_FRAME_BASE = 0x1000 };

struct table_stack {
    uint32_t count;
    uint64_t frame[TABLE_FRAMES];
};

struct table_state {
    alignas(64) unsigned char memory[TABLE_MEMORY_BYTES];
    struct strobe_stack_table table;
    uint32_t threads;
    uint32_t id[TABLE_THREADS][TABLE_TURNS]; /* the id of each of a thread's interns */
    enum strobe_status status[TABLE_THREADS][TABLE_TURNS];
    strobe_a32 sent; /* an id handed to another thread, with release */
};

static inline void table_make(struct table_state *s, uint32_t nodes, uint32_t threads)
{
    s->threads = threads;
    strobe_stack_table_create(s->memory, nodes);
    strobe_stack_table_open(s->memory, sizeof s->memory, &s->table); /* too little memory: the program fails */
}

/* Returns the stack of a number. Frames are the digits 1 .. 3; the most significant digit is the outermost frame. */
static inline struct table_stack table_stack_of(uint32_t digits)
{
    struct table_stack out = {0};
    for (uint32_t shift = 2 * TABLE_FRAMES; shift;) {
        shift -= 2;
        uint32_t digit = digits >> shift & 3;
        if (digit)
            out.frame[out.count++] = TABLE_FRAME_BASE * digit;
    }
    return out;
}

/* Requires that the id resolves to the first `count` frames of the stack. */
static inline void table_require_frames(const struct strobe_stack_table *t, uint32_t id,
                                        const struct table_stack *stack, uint32_t count)
{
    uint64_t frame[TABLE_FRAMES];
    uint32_t found = 0;
    explore_require(strobe_stack_frames(t, id, frame, TABLE_FRAMES, &found) == STROBE_OK);
    explore_require(found == count);
    explore_require(!memcmp(frame, stack->frame, count * sizeof *frame));
}

/* Interns a stack as the calling thread's `turn`-th. */
static inline uint32_t table_intern(struct table_state *s, struct strobe_stack_cursor *cursor, uint32_t turn,
                                    uint32_t digits)
{
    struct strobe_stack_table t = s->table;
    struct table_stack stack = table_stack_of(digits);
    uint32_t id = 0, self = explore_self();
    enum strobe_status status = strobe_stack_intern(&t, cursor, stack.frame, stack.count, &id);
    s->status[self][turn] = status;
    s->id[self][turn] = id;
    explore_require(status == STROBE_OK ? cursor->depth == stack.count
                                        : status == STROBE_FULL && cursor->depth < stack.count);
    return id;
}

/* Interns a stack and resolves its id immediately: to the stack, or to the frames for which the table had room. */
static inline uint32_t table_intern_and_resolve(struct table_state *s, struct strobe_stack_cursor *cursor,
                                                uint32_t turn, uint32_t digits)
{
    struct strobe_stack_table t = s->table;
    struct table_stack stack = table_stack_of(digits);
    uint32_t id = table_intern(s, cursor, turn, digits);
    table_require_frames(&t, id, &stack, cursor->depth);
    return id;
}

/* Returns the number of nodes that can be resolved. Requires that each (parent, address) exists once, and that at most
 * `most` ids were reserved. */
static inline uint32_t table_count_nodes(const struct strobe_stack_table *t, uint32_t most)
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
static inline void table_require_same_id(const struct table_state *s, uint32_t thread, uint32_t turn, uint32_t digits)
{
    struct strobe_stack_cursor cursor = {0};
    struct table_stack stack = table_stack_of(digits);
    uint32_t id = 0, before = strobe_stack_node_count(&s->table);
    explore_require(strobe_stack_intern(&s->table, &cursor, stack.frame, stack.count, &id) == STROBE_OK);
    explore_require(id == s->id[thread][turn]);
    explore_require(strobe_stack_node_count(&s->table) == before);
    table_require_frames(&s->table, id, &stack, stack.count);
}

/* Requires that the slots of levels that are marked as untouched are empty. */
static inline void table_require_levels(const struct strobe_stack_table *t)
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

#endif
