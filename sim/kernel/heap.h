/* A priority queue of nodes by key, the least first. Nodes with equal keys come out in the order they were put in, so
 * that the order is the same on every machine. The heap has four children per node (fewer cache misses than two). A
 * node stores its index, so that it can be removed from the middle.
 *
 * The caller reserves capacity beforehand (sim_heap_reserve), so sim_heap_put cannot fail. Any context. */
#ifndef STROBE_SIM_KERNEL_HEAP_H
#define STROBE_SIM_KERNEL_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/* Embedded in the objects that the heap holds. `place` is 0 while the node is in no heap. */
struct sim_node {
    uint32_t place, kind;
};

struct sim_heap_entry {
    uint64_t key, order;
    struct sim_node *node;
};

struct sim_heap {
    struct sim_heap_entry *entries; /* the first is at index 1 */
    uint32_t count, room;
    uint64_t puts;
};

/* False: out of memory. */
bool sim_heap_reserve(struct sim_heap *h, uint32_t count);
void sim_heap_free(struct sim_heap *h);

void sim_heap_put(struct sim_heap *h, struct sim_node *n, uint64_t key);

/* Removes and returns the least node. The heap must not be empty. */
struct sim_node *sim_heap_take(struct sim_heap *h);

/* Puts `n` in and removes the least entry, which may be `n`. Costs no more than one of the two operations. */
struct sim_heap_entry sim_heap_exchange(struct sim_heap *h, struct sim_node *n, uint64_t key);

/* Removes the node. Has no effect when it is in no heap. */
void sim_heap_remove(struct sim_heap *h, struct sim_node *n);

static inline uint64_t sim_heap_least(const struct sim_heap *h)
{
    return h->entries[1].key;
}

#endif
