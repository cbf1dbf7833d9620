/* A hash map from a pair of 64-bit keys to a 32-bit id. Open addressing; it grows by itself, and forgets all keys at
 * once or none. For texts as keys see text_pool.h. Zeroed memory is an empty map.
 *
 * Allocates. Different threads may use different maps. For the reading half and the lab, never the capture half. */
#ifndef STROBE_UTIL_IDMAP_H
#define STROBE_UTIL_IDMAP_H

#include "engine/base/mix.h"

#include <stddef.h>
#include <stdint.h>

struct strobe_idmap_slot {
    uint64_t a, b;
    uint32_t id, used;
};

struct strobe_idmap {
    struct strobe_idmap_slot *slots;
    size_t mask, count; /* mask + 1 slots when there are any; count of them are in use */
};

/* Returns the slot that holds the pair, or the free slot where it belongs. The map has slots. */
static inline struct strobe_idmap_slot *strobe_idmap_slot(const struct strobe_idmap *map, uint64_t a, uint64_t b)
{
    size_t i = (size_t)strobe_mix_pair(a, b) & map->mask;
    while (map->slots[i].used && (map->slots[i].a != a || map->slots[i].b != b))
        i = (i + 1) & map->mask;
    return &map->slots[i];
}

/* Returns the place of the id of (a, b). *fresh becomes 1 when the pair was not in the map: it is now, and its id is 0
 * until the caller sets it. The place is valid until the next call. NULL: out of memory, the map is as before. */
uint32_t *strobe_idmap_put(struct strobe_idmap *map, uint64_t a, uint64_t b, int *fresh);

/* Returns the place of the id of (a, b), or NULL when the pair is not in the map. */
static inline uint32_t *strobe_idmap_get(const struct strobe_idmap *map, uint64_t a, uint64_t b)
{
    struct strobe_idmap_slot *s = map->slots ? strobe_idmap_slot(map, a, b) : NULL;
    return s && s->used ? &s->id : NULL;
}

/* Adds a pair that is not in the map, with its id. Returns 0 when out of memory; the map is then as before. */
int strobe_idmap_add(struct strobe_idmap *map, uint64_t a, uint64_t b, uint32_t id);

/* Empties the map and keeps its memory. */
void strobe_idmap_clear(struct strobe_idmap *map);

void strobe_idmap_free(struct strobe_idmap *map);

#endif
