/* A simple implementation of stack interning, as a reference: a chained hash set of heap-allocated (parent, address)
 * nodes behind one mutex. It looks up each frame.
 *
 * The layout and speed are those of std::unordered_set<Node *> in libstdc++: all entries are on one singly linked list,
 * a bucket points to the entry before its first, bucket counts are prime, the load is at most 1, and an entry has a
 * link object (with its hash) and a node object. Any thread. */
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

/* Interns a stack, frames outermost first. Returns the node of its innermost frame. */
const struct naive_node *naive_set_intern(struct naive_set *set, const uint64_t *frames, uint32_t depth);

/* Returns the heap memory in use, without the allocator's overhead. */
size_t naive_set_bytes(const struct naive_set *set);
uint32_t naive_set_count(const struct naive_set *set);

#endif
