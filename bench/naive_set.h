/* The plain way to intern stacks, as a yardstick: a chained hash set of heap-allocated (parent, address) nodes behind
 * one mutex, every frame looked up.
 *
 * Laid out as libstdc++ lays out std::unordered_set<Node *>, and as fast: all entries on one singly linked list, a
 * bucket points at the entry before its first, prime bucket counts, load up to 1, a link object (with its hash) and a
 * node object an entry. Any thread. */
#ifndef STROBE_BENCH_NAIVE_SET_H
#define STROBE_BENCH_NAIVE_SET_H

#include <stddef.h>
#include <stdint.h>

struct naive_set;
struct naive_node {
    const struct naive_node *parent;
    uint64_t address;
};

struct naive_set *naive_set_new(void);
void naive_set_free(struct naive_set *set);

/* The node of the innermost frame of the stack, frames outermost first. */
const struct naive_node *naive_set_intern(struct naive_set *set, const uint64_t *frames, uint32_t depth);

/* Heap memory in use, without the allocator's own overhead. */
size_t naive_set_bytes(const struct naive_set *set);
uint32_t naive_set_count(const struct naive_set *set);

#endif
