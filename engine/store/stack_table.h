/* Stack table: call stacks as a trie of (parent, address) nodes, each pair stored once.
 *
 * A stack id is the 32-bit index of the node of its innermost frame; 0 is the empty stack. Nodes are
 * fixed-size, never move and never go away, so an id once handed out always resolves to the same
 * frames, whatever else happens. Equal stacks have equal ids (property S-34): identity is exact, by
 * content, never by hash alone.
 *
 * Lookup is by open addressing in a few slot arrays ("levels") that double in size: a key's probe sequence is a cache
 * line of slots in the first pages of level 0 (children of the oldest nodes only), two anywhere in level 0, then two in
 * level 1, and so on (in the last level more). Slots only ever go from empty to full, so the key stands before the
 * first empty slot of its sequence or nowhere; growth moves nothing, and memory follows use: a small program touches
 * the first pages alone. Where a node's sequence begins is a hash of all addresses from the outermost on, which is
 * known before any id is; that hash only says where to look, and the parent's id whether in the first pages, too.
 *
 * Every frame is a return address: look its function up at address - 1. Where a thread was stopped at an
 * instruction, the innermost frame is that instruction's address + 1, so that the same rule holds.
 *
 * Any thread may intern and read at any time; no operation waits for another thread, so a suspended or dead
 * thread holds up nobody (explored: table/frozen; what all find then: table/same, table/different, table/full,
 * table/hand-over). Memory is given by the caller and must be zero at first use.
 *
 *   node    address u64 | parent u32 | depth u32                       16 bytes
 *   slot    tag:8 | id:24, 0 = empty                                    4 bytes
 */
#ifndef STROBE_STORE_STACK_TABLE_H
#define STROBE_STORE_STACK_TABLE_H

#include "engine/base/atomic.h"
#include "engine/base/status.h"
#include "engine/store/part.h"

#include <stddef.h>
#include <stdint.h>

enum {
#ifdef STROBE_SMALL
    STROBE_STACK_DEPTH_MAX = 8,               /* for exploration: the algorithm does not depend on it */
#else
    STROBE_STACK_DEPTH_MAX = 192,             /* frames of one stack, deeper ones are cut and flagged */
#endif
    STROBE_STACK_NODES_MAX = (1 << 24) - 1,   /* ids are 24 bits in a slot */
    STROBE_STACK_LEVELS_MAX = 12,
    STROBE_STACK_LIMIT_MAX = 1 << 10,
};

struct strobe_stack_node {
    uint64_t address;
    uint32_t parent;   /* 0 for the outermost frame */
    strobe_a32 depth;  /* 1 for the outermost frame; 0 until the node is in the table, set last */
};
_Static_assert(sizeof(struct strobe_stack_node) == 16, "node is four to a cache line");

/* Shared state, at the start of the table's memory. Written by strobe_stack_table_create, after that only
 * through the atomics. */
struct strobe_stack_table_head {
    uint32_t node_capacity;      /* ids 1 .. node_capacity */
    uint32_t level_count;
    uint32_t level0_bits;        /* level k has 2^(level0_bits + k) slots */
    strobe_a32 ready;            /* 0: every node and slot is used; else see strobe_stack_table_limit */
    strobe_a32 next_node;        /* next id to hand out; may run past node_capacity + 1 when full */
    strobe_a32 full_count;       /* interns refused because the table was full */
    strobe_a32 levels_touched;   /* slot levels that hold anything */
};

/* A process-local view of a table; cheap to make, holds no state of its own. */
struct strobe_stack_table {
    struct strobe_stack_table_head *head;
    struct strobe_stack_node *nodes;
    strobe_a32 *slots;
};

/* One thread's memory of the stack it interned last in one table; private to that thread. Zero at first use. */
struct strobe_stack_cursor {
    uint32_t depth;
    uint32_t spare;                                /* a reserved node that lost its race, or 0 */
    uint64_t address[STROBE_STACK_DEPTH_MAX];      /* outermost first */
    uint32_t id[STROBE_STACK_DEPTH_MAX + 1];       /* id[k] is the node of the first k frames; id[0] = 0 */
    uint64_t hash[STROBE_STACK_DEPTH_MAX + 1];     /* hash[k] of the first k frames; hash[0] = 0 */
};

/* Bytes a table for `node_capacity` nodes needs (address space; untouched pages cost nothing). Slots in all
 * are at least twice the nodes. A node that lost a race and then its thread is never used: plan for one a thread.
 * node_capacity: 1 .. STROBE_STACK_NODES_MAX. Any context. */
size_t strobe_stack_table_bytes(uint32_t node_capacity);

/* Lays a new table out in zeroed `memory` of strobe_stack_table_bytes(node_capacity), 64-byte aligned.
 * Start only. */
void strobe_stack_table_create(void *memory, uint32_t node_capacity);

/* Opens a view of a table laid out in `memory` of `bytes`; checks that the header and the memory agree.
 * STROBE_BAD_INPUT when they do not. Start only, and readers. */
enum strobe_status strobe_stack_table_open(void *memory, size_t bytes, struct strobe_stack_table *out);

enum { STROBE_STACK_TABLE_PARTS = 2 };

/* The parts of a new table of this capacity that are used while it is limited to `nodes`. Any context. */
void strobe_stack_table_parts(uint32_t node_capacity, uint32_t nodes, struct strobe_part *out);

/* Limits the table to ids up to `nodes`, at most STROBE_STACK_LIMIT_MAX, and to the first pages of slots, for a table
 * of which no other memory may be touched yet. What does not fit meanwhile is refused with STROBE_FULL. 0 ends the
 * limit. A table of no more than `nodes` stays without one. Start; 0 at any time, by one thread. */
void strobe_stack_table_limit(const struct strobe_stack_table *table, uint32_t nodes);

/* Finds or adds the stack of `count` frames, outermost first, and stores its id in *id. Compares with the
 * stack `cursor` remembers and looks up only the frames below the shared prefix; the outermost `shared` frames are
 * known by the caller to be those of that stack, and are not compared.
 * STROBE_FULL: the table could not take all frames; *id is the longest prefix it holds, full_count is bumped.
 * count: 0 .. STROBE_STACK_DEPTH_MAX (0 gives id 0). Lock-free, async-signal-safe (explored:
 * table/frozen, table/same, table/different, table/full, sample/interrupted); `cursor` must not
 * be in use by another call. Not while a thread is suspended by the caller (keeps that window short). */
enum strobe_status strobe_stack_intern_onto(const struct strobe_stack_table *table, struct strobe_stack_cursor *cursor,
                                            uint32_t shared, const uint64_t *frames, uint32_t count, uint32_t *id);

/* The same for a caller who knows nothing of the stack before. */
static inline enum strobe_status strobe_stack_intern(const struct strobe_stack_table *table,
                                                     struct strobe_stack_cursor *cursor, const uint64_t *frames,
                                                     uint32_t count, uint32_t *id)
{
    return strobe_stack_intern_onto(table, cursor, 0, frames, count, id);
}

/* Copies the frames of `id` into out[0 .. *count), outermost first; id 0 has none. STROBE_NO_ENTRY when id is not a
 * published node, or its chain of parents is damaged; STROBE_FULL when it is deeper than `capacity`. Any
 * context. */
enum strobe_status strobe_stack_frames(const struct strobe_stack_table *table, uint32_t id, uint64_t *out,
                                       uint32_t capacity, uint32_t *count);

/* The published node of an id, or NULL. Any context. */
const struct strobe_stack_node *strobe_stack_node_of(const struct strobe_stack_table *table, uint32_t id);

/* Ids handed out so far, at most node_capacity; not all need be published. Any context. */
uint32_t strobe_stack_node_count(const struct strobe_stack_table *table);

/* Bytes of memory that nodes and touched slot levels take for now, all counted. Any context. */
size_t strobe_stack_table_used_bytes(const struct strobe_stack_table *table);

#endif
