/* A map from a pair of 64-bit keys to a 32-bit id: open addressing, grows by itself, never forgets.
 * Reading half: allocates. Zeroed memory is an empty map. */
#ifndef STROBE_UTIL_IDMAP_H
#define STROBE_UTIL_IDMAP_H

#include <stddef.h>
#include <stdint.h>

struct strobe_idmap_slot {
    uint64_t a, b;
    uint32_t id, used;
};

struct strobe_idmap {
    struct strobe_idmap_slot *slots;
    size_t mask, count; /* mask + 1 slots when there are any */
};

/* The place of the id of (a, b). *fresh tells that the pair was not there: it is now, and its id, 0 so far, is the
 * caller's to set. The place is good until the next call. NULL: out of memory, nothing has changed. */
uint32_t *strobe_idmap_put(struct strobe_idmap *map, uint64_t a, uint64_t b, int *fresh);

/* The place of the id of (a, b), or NULL when it is not there. */
uint32_t *strobe_idmap_get(const struct strobe_idmap *map, uint64_t a, uint64_t b);

void strobe_idmap_free(struct strobe_idmap *map);

#endif
