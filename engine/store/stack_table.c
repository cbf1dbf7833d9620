/* Stack table: a trie of stack frames behind a lock-free hash table to which entries are only added.
 *
 * A node has three states:
 *   reserved    next_node has given out its id. Only the reserving thread knows the id and may write address and parent
 *   linked      a slot holds its id. Address and parent never change again
 *   published   its depth is stored too. Every reader may resolve the id
 *
 * Reserved to linked: the reserving thread's compare-and-swap of a slot from empty. Its release orders address and
 * parent before the id. A thread that finds the id in a slot has loaded the slot with acquire.
 *
 * Linked to published: the store of depth. Any thread that finds the node may do it, because the value is always the
 * same. A thread that stops between the two steps therefore leaves nothing that another thread must wait for. A thread
 * puts an id into a record only after it has itself seen or stored the depth. The release of the record publishes the
 * depth to readers.
 *
 * When another thread links the same key first, the reserved node becomes the cursor's spare. Its depth is still 0, and
 * the next insert uses it. Explored: table/same, table/hand-over; table/scan for readers that resolve ids which no
 * record gave them.
 *
 * The acquire of that compare-and-swap is needed only when it fails. When it succeeds, the slot was empty and published
 * nothing; but C11 7.17.7.4 does not allow a failure order that is stronger than the success order.
 *
 * A slot changes once, from 0 to tag | id. A key in the table is therefore before the first empty slot of its probe
 * sequence. Two threads that insert the same key reach the same slot; one compare-and-swap fails, and that thread finds
 * the other's node.
 *
 * A stopped or dead thread blocks no other thread. It withholds at most one reserved node. */
#include "engine/store/stack_table.h"

#include "engine/base/hint.h"
#include "engine/base/mix.h"

enum {
#ifdef STROBE_SMALL /* for exploration: the algorithm works with any values */
    LEVEL0_BITS = 1,
    FIRST_BITS = 1,
    LINE_SLOTS = 2,
    LINE_BITS = 1,
    WINDOW_LINES = 1,
    LAST_WINDOW_LINES = 4,
#else
    LEVEL0_BITS = 18,
    FIRST_BITS = 11, /* log2 of the slots in the first two pages; 2^FIRST_BITS oldest nodes have children there */
    LINE_SLOTS = 16, /* slots of one cache line */
    LINE_BITS = 4,
    WINDOW_LINES = 2, /* lines searched in one level before the next level */
    LAST_WINDOW_LINES = 8,
#endif
    HEAD_BYTES = 128,
    FIRST_BYTES = (1 << FIRST_BITS) * sizeof(strobe_a32),
    TAG_SHIFT = 24,
    ID_MASK = (1 << TAG_SHIFT) - 1,
};
_Static_assert(sizeof(struct strobe_stack_table_head) <= HEAD_BYTES, "nodes begin behind the head");
#ifndef STROBE_SMALL
_Static_assert((int)STROBE_STACK_LIMIT_MAX < 1 << FIRST_BITS, "a limited table has children of the oldest nodes alone");
#endif

struct shape {
    uint32_t level0_bits, level_count;
    size_t slots_at, bytes;
};

static size_t slots_below(uint32_t level0_bits, uint32_t level)
{
    return (((size_t)1 << level) - 1) << level0_bits;
}

static struct shape stack_table_shape_of(uint32_t node_capacity)
{
    size_t wanted = 2 * (size_t)node_capacity;
    struct shape s = {.level0_bits = LINE_BITS, .level_count = 1};
    while (s.level0_bits < LEVEL0_BITS && (size_t)1 << s.level0_bits < wanted)
        s.level0_bits++;
    while (slots_below(s.level0_bits, s.level_count) < wanted)
        s.level_count++;
    size_t node_bytes = ((size_t)node_capacity + 1) * sizeof(struct strobe_stack_node);
    s.slots_at = (HEAD_BYTES + node_bytes + 63) & ~(size_t)63;
    s.bytes = s.slots_at + slots_below(s.level0_bits, s.level_count) * sizeof(strobe_a32);
    return s;
}

size_t strobe_stack_table_bytes(uint32_t node_capacity)
{
    return stack_table_shape_of(node_capacity).bytes;
}

void strobe_stack_table_create(void *memory, uint32_t node_capacity)
{
    struct strobe_stack_table_head *head = memory;
    struct shape s = stack_table_shape_of(node_capacity);
    head->node_capacity = node_capacity;
    head->level0_bits = s.level0_bits;
    head->level_count = s.level_count;
    strobe_store_relaxed(&head->next_node, 1);
}

enum strobe_status strobe_stack_table_open(void *memory, size_t bytes, struct strobe_stack_table *out)
{
    struct strobe_stack_table_head *head = memory;
    if (bytes < sizeof *head)
        return STROBE_BAD_INPUT;
    if (head->node_capacity < 1 || head->node_capacity > STROBE_STACK_NODES_MAX)
        return STROBE_BAD_INPUT;
    struct shape s = stack_table_shape_of(head->node_capacity);
    if (head->level0_bits != s.level0_bits || head->level_count != s.level_count || bytes < s.bytes)
        return STROBE_BAD_INPUT;
    out->head = head;
    out->nodes = (struct strobe_stack_node *)((char *)memory + HEAD_BYTES);
    out->slots = (strobe_a32 *)((char *)memory + s.slots_at);
    return STROBE_OK;
}

void strobe_stack_table_parts(uint32_t node_capacity, uint32_t nodes, struct strobe_part *out)
{
    struct shape s = stack_table_shape_of(node_capacity);
    if (nodes >= node_capacity || s.level0_bits <= FIRST_BITS) {
        out[0] = (struct strobe_part){0, s.bytes};
        out[1] = (struct strobe_part){0, 0};
        return;
    }
    out[0] = (struct strobe_part){0, HEAD_BYTES + ((uint64_t)nodes + 1) * sizeof(struct strobe_stack_node)};
    out[1] = (struct strobe_part){s.slots_at, FIRST_BYTES};
}

void strobe_stack_table_limit(const struct strobe_stack_table *table, uint32_t nodes)
{
    struct strobe_stack_table_head *head = table->head;
    bool limits = nodes < head->node_capacity && head->level0_bits > FIRST_BITS;
    strobe_store_relaxed(&head->ready, limits ? nodes : 0);
}

/* While the table is limited, every parent is one of the oldest nodes, and no probe sequence leaves the first pages. */
static bool is_limited(const struct strobe_stack_table *table)
{
    return strobe_load_relaxed(&table->head->ready) != 0;
}

/* Returns the number of frames that two stacks share, from the outermost on. Successive stacks share nearly all frames,
 * so the loop compares eight at a time. */
static uint32_t shared_prefix(const uint64_t *a, const uint64_t *b, uint32_t count)
{
    uint32_t i = 0;
    for (; i + 8 <= count; i += 8) {
        uint64_t low = (a[i] ^ b[i]) | (a[i + 1] ^ b[i + 1]) | (a[i + 2] ^ b[i + 2]) | (a[i + 3] ^ b[i + 3]);
        uint64_t high = (a[i + 4] ^ b[i + 4]) | (a[i + 5] ^ b[i + 5]) | (a[i + 6] ^ b[i + 6]) | (a[i + 7] ^ b[i + 7]);
        if (low | high)
            break;
    }
    while (i < count && a[i] == b[i])
        i++;
    return i;
}

/* Returns an id for a new node, or 0 when the table is full. The counter exceeds the capacity by at most one for each
 * thread that runs this function at the same time. */
static uint32_t stack_reserve_entry(struct strobe_stack_table_head *head, struct strobe_stack_cursor *cursor)
{
    uint32_t id = cursor->spare, ready = strobe_load_relaxed(&head->ready);
    uint32_t most = strobe_unlikely(ready) ? ready : head->node_capacity;
    if (id) {
        cursor->spare = 0;
        return id;
    }
    if (strobe_load_relaxed(&head->next_node) > most)
        return 0;
    id = strobe_add_relaxed(&head->next_node, 1);
    return id <= most ? id : 0;
}

static void touch_level(struct strobe_stack_table_head *head, uint32_t level)
{
    uint32_t touched = strobe_load_relaxed(&head->levels_touched);
    while (touched <= level && !strobe_cas_relaxed(&head->levels_touched, &touched, level + 1))
        continue;
}

static bool is_child(struct strobe_stack_node *node, uint32_t parent, uint64_t address, uint32_t depth)
{
    if (node->address != address || node->parent != parent)
        return false;
    if (strobe_load_relaxed(&node->depth) != depth)
        strobe_store_release(&node->depth, depth);
    return true;
}

/* Searches one line of slots, starting at the hash's slot and wrapping round. Returns the child's id. Returns 0 when
 * other keys fill the line, or, with *full set, when the child would have to be added and no node is left. */
static uint32_t search_line(const struct strobe_stack_table *table, struct strobe_stack_cursor *cursor,
                            strobe_a32 *line, uint64_t hash, uint32_t level, uint32_t parent, uint64_t address,
                            uint32_t depth, bool *full)
{
    uint32_t tag = (uint32_t)(hash >> 56) << TAG_SHIFT;
    for (uint32_t i = 0; i < LINE_SLOTS; i++) {
        strobe_a32 *slot = &line[((uint32_t)hash + i) & (LINE_SLOTS - 1)];
        uint32_t word = strobe_load_acquire(slot);
        if (!word) {
            uint32_t id = stack_reserve_entry(table->head, cursor);
            if (!id) {
                *full = true;
                return 0;
            }
            struct strobe_stack_node *node = &table->nodes[id];
            node->address = address;
            node->parent = parent;
            touch_level(table->head, level);
            if (strobe_cas_acq_rel(slot, &word, tag | id)) {
                strobe_store_release(&node->depth, depth);
                return id;
            }
            cursor->spare = id;
        }
        uint32_t id = word & ID_MASK;
        if ((word ^ tag) >> TAG_SHIFT == 0 && is_child(&table->nodes[id], parent, address, depth))
            return id;
    }
    return 0;
}

/* The probe sequence of a key begins in the first pages when its parent is one of the oldest nodes. No key has its home
 * line there. All nodes of a small program fit into the first pages. If they were spread over level 0, each would cost
 * a page of the session's file (about 5 us) and 4 KiB. In a large program few keys are searched in the first pages in
 * vain. A table whose level 0 is not larger than the first pages uses the same line as first line and as home line. */
static inline bool begins_in_first_pages(uint32_t parent)
{
    return !(parent >> FIRST_BITS);
}

static inline uint32_t stack_first_line(uint64_t hash, uint32_t level0_bits)
{
    uint32_t bits = level0_bits < FIRST_BITS ? level0_bits : FIRST_BITS;
    return (uint32_t)(hash >> LINE_BITS) & ((1u << (bits - LINE_BITS)) - 1);
}

/* Returns the line of level 0 that the probe sequence visits after the first pages. */
static inline uint32_t home_line(uint64_t hash, uint32_t level0_bits)
{
    const uint32_t first = 1u << (FIRST_BITS - LINE_BITS), mask = (1u << (level0_bits - LINE_BITS)) - 1;
    uint32_t line = (uint32_t)(hash >> LINE_BITS) & mask;
    if (!strobe_unlikely(line < first) || level0_bits <= FIRST_BITS)
        return line;
    line = (uint32_t)(hash >> 32) & mask;
    return line < first ? line | first : line;
}

/* Returns the id of the node (parent, address), added when it is new; 0 when the table is full. */
static uint32_t stack_find_child(const struct strobe_stack_table *table, struct strobe_stack_cursor *cursor,
                                 uint64_t hash, uint32_t parent, uint64_t address, uint32_t depth)
{
    uint32_t levels = table->head->level_count, bits = table->head->level0_bits;
    strobe_a32 *base = table->slots;
    bool full = false;
    strobe_a32 *first = base + (size_t)stack_first_line(hash, bits) * LINE_SLOTS;
    uint32_t known = 0;
    if (begins_in_first_pages(parent))
        known = search_line(table, cursor, first, hash, 0, parent, address, depth, &full);
    if (known || full || is_limited(table))
        return known;
    for (uint32_t level = 0; level < levels; level++, bits++) {
        uint32_t line_mask = (1u << (bits - LINE_BITS)) - 1;
        uint32_t line = level ? (uint32_t)(hash >> LINE_BITS) : home_line(hash, bits);
        uint32_t lines = level + 1 < levels ? WINDOW_LINES : LAST_WINDOW_LINES;
        for (uint32_t i = 0; i < lines; i++) {
            strobe_a32 *slots = base + (size_t)((line ^ i) & line_mask) * LINE_SLOTS;
            uint32_t id = search_line(table, cursor, slots, hash, level, parent, address, depth, &full);
            if (id || full)
                return id;
        }
        base += (size_t)1 << bits;
    }
    return 0;
}

/* Appends frame `at` to the frames that the cursor holds. */
static inline void stack_cursor_advance(struct strobe_stack_cursor *cursor, uint32_t at, uint64_t address,
                                        uint64_t hash, uint32_t id)
{
    cursor->address[at] = address;
    cursor->hash[at + 1] = hash;
    cursor->id[at + 1] = id;
}

/* Returns the node (parent, address) if it is published and in this line, else 0. Sets *ends when it meets an empty
 * slot: the key is then not in the table. */
static inline uint32_t find_in_line(const struct strobe_stack_table *table, uint32_t line, uint64_t hash,
                                    uint32_t parent, uint64_t address, uint32_t depth, bool *ends)
{
    const strobe_a32 *slots = table->slots + (size_t)line * LINE_SLOTS;
    for (uint32_t i = 0; i < LINE_SLOTS; i++) {
        uint32_t word = strobe_load_acquire(&slots[(hash + i) & (LINE_SLOTS - 1)]);
        if (!word) {
            *ends = true;
            return 0;
        }
        const struct strobe_stack_node *node = &table->nodes[word & ID_MASK];
        if (word >> TAG_SHIFT == hash >> 56 && node->address == address && node->parent == parent &&
            strobe_load_relaxed(&node->depth) == depth)
            return word & ID_MASK;
    }
    return 0;
}

/* Advances from frame `at` while each node is found in the first line of its probe sequence, or in the line after the
 * first pages; nearly all nodes are. Returns the first frame that was not found so. The hash does not depend on ids, so
 * the processor can compute it several frames ahead. */
static uint32_t follow_known(const struct strobe_stack_table *table, struct strobe_stack_cursor *cursor,
                             const uint64_t *frames, uint32_t count, uint32_t at)
{
    const uint32_t bits = table->head->level0_bits;
    uint32_t parent = cursor->id[at];
    uint64_t hash = cursor->hash[at];
    for (; at < count; at++) {
        bool ends = false;
        uint64_t address = frames[at];
        hash = strobe_mix_pair(hash, address);
        uint32_t id = 0;
        if (begins_in_first_pages(parent))
            id = find_in_line(table, stack_first_line(hash, bits), hash, parent, address, at + 1, &ends);
        if (!id && !ends && !is_limited(table))
            id = find_in_line(table, home_line(hash, bits), hash, parent, address, at + 1, &ends);
        if (!id)
            return at;
        parent = id;
        stack_cursor_advance(cursor, at, address, hash, id);
    }
    return at;
}

enum strobe_status strobe_stack_intern_onto(const struct strobe_stack_table *table, struct strobe_stack_cursor *cursor,
                                            uint32_t shared, const uint64_t *frames, uint32_t count, uint32_t *id)
{
    uint32_t most = count < cursor->depth ? count : cursor->depth;
    uint32_t at = shared < most ? shared : most;
    at += shared_prefix(frames + at, cursor->address + at, most - at);
    at = follow_known(table, cursor, frames, count, at);
    for (; at < count; at++) {
        uint64_t hash = strobe_mix_pair(cursor->hash[at], frames[at]);
        uint32_t next = stack_find_child(table, cursor, hash, cursor->id[at], frames[at], at + 1);
        if (!next)
            break;
        stack_cursor_advance(cursor, at, frames[at], hash, next);
    }
    cursor->depth = at;
    *id = cursor->id[at];
    if (at == count)
        return STROBE_OK;
    strobe_add_relaxed(&table->head->full_count, 1);
    return STROBE_FULL;
}

const struct strobe_stack_node *strobe_stack_node_of(const struct strobe_stack_table *table, uint32_t id)
{
    if (id < 1 || id > table->head->node_capacity)
        return NULL;
    return strobe_load_acquire(&table->nodes[id].depth) ? &table->nodes[id] : NULL;
}

/* Each step must lead exactly one frame outwards. A damaged file therefore cannot cause an endless loop. */
enum strobe_status strobe_stack_frames(const struct strobe_stack_table *table, uint32_t id, uint64_t *out,
                                       uint32_t capacity, uint32_t *count)
{
    const struct strobe_stack_node *node = id ? strobe_stack_node_of(table, id) : NULL;
    uint32_t depth = node ? strobe_load_relaxed(&node->depth) : 0;
    if ((id && !node) || depth > STROBE_STACK_DEPTH_MAX)
        return STROBE_NO_ENTRY;
    if (depth > capacity)
        return STROBE_FULL;
    for (uint32_t left = depth; left > 0; left--) {
        node = strobe_stack_node_of(table, id);
        if (!node || strobe_load_relaxed(&node->depth) != left)
            return STROBE_NO_ENTRY;
        out[left - 1] = node->address;
        id = node->parent;
    }
    if (id)
        return STROBE_NO_ENTRY;
    *count = depth;
    return STROBE_OK;
}

uint32_t strobe_stack_node_count(const struct strobe_stack_table *table)
{
    uint32_t next = strobe_load_relaxed(&table->head->next_node), capacity = table->head->node_capacity;
    return next < 1 ? 0 : next - 1 < capacity ? next - 1 : capacity;
}

size_t strobe_stack_table_used_bytes(const struct strobe_stack_table *table)
{
    uint32_t levels = strobe_load_relaxed(&table->head->levels_touched);
    if (levels > table->head->level_count)
        levels = table->head->level_count;
    return HEAD_BYTES + ((size_t)strobe_stack_node_count(table) + 1) * sizeof(struct strobe_stack_node) +
           slots_below(table->head->level0_bits, levels) * sizeof(strobe_a32);
}
