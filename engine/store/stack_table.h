/* Stack table: stores call stacks as a trie of (parent, address) nodes. Each pair is stored once.
 *
 * A stack id is the 32-bit index of the node of the stack's innermost frame. Id 0 is the empty stack. Nodes have a
 * fixed size, never move and are never removed, so an id always resolves to the same frames. Equal stacks have equal
 * ids (property S-34): nodes are compared by content, never by hash alone.
 *
 * Lookup uses open addressing in a few slot arrays ("levels"); each level has twice the slots of the one before. The
 * probe sequence of a key is:
 *
 *   1. one cache line of slots in the first pages of level 0; only for keys whose parent is one of the oldest nodes
 *   2. two cache lines anywhere in level 0
 *   3. two cache lines in level 1, and so on; more lines in the last level
 *
 * A slot changes only once, from empty to full. A key is therefore before the first empty slot of its probe sequence,
 * or it is not in the table. Growth moves nothing. Memory follows use: a small program touches only the first pages.
 *
 * The start of a probe sequence is a hash of all addresses from the outermost frame on. This hash does not need any
 * node id, so it can be computed before the lookup of the parent. The hash selects only the place of the search. The
 * parent's id selects whether the search includes the first pages.
 *
 * Every frame is a return address: look up its function at address - 1. When a thread was stopped at an instruction,
 * the innermost frame is that instruction's address + 1, so that the same rule holds.
 *
 * Any thread may intern and read at any time. No operation waits for another thread, so a suspended or dead thread
 * delays no other thread (explored: table/frozen, table/same, table/different, table/full, table/hand-over). The caller
 * provides the memory, which must be zero at first use.
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
    STROBE_STACK_DEPTH_MAX = 8, /* for exploration: the algorithm works with any value */
#else
    STROBE_STACK_DEPTH_MAX = 192, /* frames of one stack; a deeper stack is cut and flagged */
#endif
    STROBE_STACK_NODES_MAX = (1 << 24) - 1, /* ids are 24 bits in a slot */
    STROBE_STACK_LEVELS_MAX = 12,
    STROBE_STACK_LIMIT_MAX = 1 << 10,
};

struct strobe_stack_node {
    uint64_t address;
    uint32_t parent;  /* 0 for the outermost frame */
    strobe_a32 depth; /* 1 for the outermost frame; stored last; 0 until the node is published in the table */
};
_Static_assert(sizeof(struct strobe_stack_node) == 16, "node is four to a cache line");

/* Shared state at the start of the table's memory. strobe_stack_table_create writes it. After that, threads change it
 * only through the atomics. */
struct strobe_stack_table_head {
    uint32_t node_capacity; /* ids 1 .. node_capacity */
    uint32_t level_count;
    uint32_t level0_bits;      /* level k has 2^(level0_bits + k) slots */
    strobe_a32 ready;          /* 0: all nodes and slots are in use; else a limit, see strobe_stack_table_limit */
    strobe_a32 next_node;      /* next id to reserve; may exceed node_capacity + 1 when the table is full */
    strobe_a32 full_count;     /* interns refused because the table was full */
    strobe_a32 levels_touched; /* slot levels in which a thread has tried to store a node */
};

/* A process-local view of a table. It holds pointers only; the state is in the table's memory. */
struct strobe_stack_table {
    struct strobe_stack_table_head *head;
    struct strobe_stack_node *nodes;
    strobe_a32 *slots;
};

/* A thread's cache of the stack that it interned last in one table. Private to that thread. Zero at first use. */
struct strobe_stack_cursor {
    uint32_t depth;
    uint32_t spare;                            /* a reserved node that lost an insert race, or 0 */
    uint64_t address[STROBE_STACK_DEPTH_MAX];  /* outermost first */
    uint32_t id[STROBE_STACK_DEPTH_MAX + 1];   /* id[k] is the node of the first k frames; id[0] = 0 */
    uint64_t hash[STROBE_STACK_DEPTH_MAX + 1]; /* hash[k] is the hash of the first k frames; hash[0] = 0 */
};

/* Returns the bytes of a table for `node_capacity` nodes. The bytes are address space: untouched pages cost nothing.
 * The table has at least twice as many slots as nodes. A thread that loses an insert race and then ends leaves one
 * reserved node unused, so plan for one such node a thread. node_capacity: 1 .. STROBE_STACK_NODES_MAX. Any context. */
size_t strobe_stack_table_bytes(uint32_t node_capacity);

/* Lays out a new table in zeroed, 64-byte aligned `memory` of strobe_stack_table_bytes(node_capacity). Start only. */
void strobe_stack_table_create(void *memory, uint32_t node_capacity);

/* Opens a view of a table laid out in `memory` of `bytes`. STROBE_BAD_INPUT: the header is invalid, or the memory is
 * smaller than the header requires. Start only, and readers. */
enum strobe_status strobe_stack_table_open(void *memory, size_t bytes, struct strobe_stack_table *out);

enum { STROBE_STACK_TABLE_PARTS = 2 };

/* Returns in `out` the parts of a new table of this capacity that are used while the table is limited to `nodes`. An
 * unused entry of `out` has 0 bytes. Any context. */
void strobe_stack_table_parts(uint32_t node_capacity, uint32_t nodes, struct strobe_part *out);

/* Limits the table to ids up to `nodes` (at most STROBE_STACK_LIMIT_MAX) and to the first pages of slots. The caller
 * limits a table whose other memory must not be accessed yet. While the limit holds, a stack that does not fit is
 * refused with STROBE_FULL. `nodes` 0 ends the limit. A table of at most `nodes` nodes, or without slots behind the
 * first pages, gets no limit. Start only; with 0 at any time, by one thread. */
void strobe_stack_table_limit(const struct strobe_stack_table *table, uint32_t nodes);

/* Finds or adds the stack of `count` frames, outermost first, and stores its id in *id. The function compares the
 * frames with the stack that `cursor` holds, and looks up only the frames that differ and those inside them. `shared`:
 * the number of outermost frames that the caller knows to be equal to those of the cursor's stack; they are not
 * compared. count: 0 .. STROBE_STACK_DEPTH_MAX (0 gives id 0).
 *
 * STROBE_FULL: the table could not take all frames; *id is the longest prefix that the table holds, and full_count is
 * incremented. Lock-free and async-signal-safe (explored: table/frozen, table/same, table/different, table/full,
 * sample/interrupted). No other call may use `cursor` at the same time. The caller must not hold a thread suspended:
 * the suspended window stays short. */
enum strobe_status strobe_stack_intern_onto(const struct strobe_stack_table *table, struct strobe_stack_cursor *cursor,
                                            uint32_t shared, const uint64_t *frames, uint32_t count, uint32_t *id);

/* Calls strobe_stack_intern_onto with 0 shared frames: it compares all frames with those of the cursor. */
static inline enum strobe_status strobe_stack_intern(const struct strobe_stack_table *table,
                                                     struct strobe_stack_cursor *cursor, const uint64_t *frames,
                                                     uint32_t count, uint32_t *id)
{
    return strobe_stack_intern_onto(table, cursor, 0, frames, count, id);
}

/* Copies the frames of `id` into out[0 .. *count), outermost first. Id 0 has no frames. STROBE_NO_ENTRY: id is not a
 * published node, or its chain of parents is damaged. STROBE_FULL: the stack is deeper than `capacity`. Any context. */
enum strobe_status strobe_stack_frames(const struct strobe_stack_table *table, uint32_t id, uint64_t *out,
                                       uint32_t capacity, uint32_t *count);

/* Returns the published node of an id, or NULL. Any context. */
const struct strobe_stack_node *strobe_stack_node_of(const struct strobe_stack_table *table, uint32_t id);

/* Returns the number of ids reserved so far, at most node_capacity. Some of them may not be published. Any context. */
uint32_t strobe_stack_node_count(const struct strobe_stack_table *table);

/* Returns the bytes that the head, the reserved nodes and all touched slot levels occupy now. A touched level counts in
 * full. Any context. */
size_t strobe_stack_table_used_bytes(const struct strobe_stack_table *table);

#endif
