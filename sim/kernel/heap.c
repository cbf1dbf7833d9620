#include "sim/kernel/heap.h"

#include <assert.h>
#include <stdlib.h>

/* Children of i: 4i - 2 .. 4i + 1. */
enum { WAYS = 4 };

static uint32_t parent(uint32_t i)
{
    return (i + 2) / WAYS;
}

static bool heap_entry_before(const struct sim_heap_entry *a, const struct sim_heap_entry *b)
{
    return a->key < b->key || (a->key == b->key && a->order < b->order);
}

static void set(struct sim_heap *h, uint32_t place, struct sim_heap_entry e)
{
    h->entries[place] = e;
    e.node->place = place;
}

bool sim_heap_reserve(struct sim_heap *h, uint32_t count)
{
    if (count < h->room)
        return true;
    uint32_t room = count + count / 2 + 64;
    struct sim_heap_entry *grown = realloc(h->entries, room * sizeof *grown);
    if (!grown)
        return false;
    h->entries = grown;
    h->room = room;
    return true;
}

void sim_heap_free(struct sim_heap *h)
{
    free(h->entries);
}

static void rise(struct sim_heap *h, uint32_t place, struct sim_heap_entry e)
{
    while (place > 1 && heap_entry_before(&e, &h->entries[parent(place)])) {
        set(h, place, h->entries[parent(place)]);
        place = parent(place);
    }
    set(h, place, e);
}

static void sink(struct sim_heap *h, uint32_t place, struct sim_heap_entry e)
{
    for (;;) {
        uint32_t first = WAYS * place - 2, end = first + WAYS <= h->count + 1 ? first + WAYS : h->count + 1;
        if (first >= end)
            break;
        uint32_t least = first;
        for (uint32_t c = first + 1; c < end; c++)
            if (heap_entry_before(&h->entries[c], &h->entries[least]))
                least = c;
        if (!heap_entry_before(&h->entries[least], &e))
            break;
        set(h, place, h->entries[least]);
        place = least;
    }
    set(h, place, e);
}

void sim_heap_put(struct sim_heap *h, struct sim_node *n, uint64_t key)
{
    assert(n->place == 0 && h->count + 1 < h->room);
    rise(h, ++h->count, (struct sim_heap_entry){key, h->puts++, n});
}

static void heap_fill_place(struct sim_heap *h, uint32_t place)
{
    struct sim_heap_entry last = h->entries[h->count--];
    if (place > h->count)
        return;
    if (place > 1 && heap_entry_before(&last, &h->entries[parent(place)]))
        rise(h, place, last);
    else
        sink(h, place, last);
}

struct sim_node *sim_heap_take(struct sim_heap *h)
{
    struct sim_node *n = h->entries[1].node;
    n->place = 0;
    heap_fill_place(h, 1);
    return n;
}

struct sim_heap_entry sim_heap_exchange(struct sim_heap *h, struct sim_node *n, uint64_t key)
{
    struct sim_heap_entry in = {key, h->puts++, n};
    if (!h->count || heap_entry_before(&in, &h->entries[1]))
        return in;
    struct sim_heap_entry least = h->entries[1];
    least.node->place = 0;
    sink(h, 1, in);
    return least;
}

void sim_heap_remove(struct sim_heap *h, struct sim_node *n)
{
    if (n->place == 0)
        return;
    uint32_t place = n->place;
    n->place = 0;
    heap_fill_place(h, place);
}
