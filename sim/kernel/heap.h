/* A heap of things by key, the least first; equal keys come out in the order they went in, so that it is the same on
 * every machine. Four children a node (fewer cache misses than two); a thing knows its place, so that it can be taken
 * out from the middle.
 *
 * Room is made beforehand (sim_heap_reserve), so that putting in never fails. Any context. */
#ifndef STROBE_SIM_KERNEL_HEAP_H
#define STROBE_SIM_KERNEL_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/* Embedded in what is kept. `place` is 0 while it is in no heap. */
struct sim_node {
    uint32_t place, kind;
};

struct sim_heap_entry {
    uint64_t key, order;
    struct sim_node *node;
};

struct sim_heap {
    struct sim_heap_entry *entries; /* from 1 */
    uint32_t count, room;
    uint64_t puts;
};

/* False: out of memory. */
bool sim_heap_reserve(struct sim_heap *h, uint32_t count);
void sim_heap_free(struct sim_heap *h);

void sim_heap_put(struct sim_heap *h, struct sim_node *n, uint64_t key);

/* The heap must not be empty. */
struct sim_node *sim_heap_take(struct sim_heap *h);

/* Puts one in and takes the least out, which may be the same, for the price of one. */
struct sim_heap_entry sim_heap_exchange(struct sim_heap *h, struct sim_node *n, uint64_t key);

/* Nothing happens when it is in no heap. */
void sim_heap_remove(struct sim_heap *h, struct sim_node *n);

static inline uint64_t sim_heap_least(const struct sim_heap *h)
{
    return h->entries[1].key;
}

#endif
