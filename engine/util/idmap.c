#include "engine/util/idmap.h"

#include "engine/base/mix.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 64 };

/* The slot that holds the pair, or the empty one where it belongs. */
static struct strobe_idmap_slot *place(const struct strobe_idmap *map, uint64_t a, uint64_t b)
{
    size_t i = (size_t)strobe_mix64(strobe_mix_pair(a, b)) & map->mask;
    while (map->slots[i].used && (map->slots[i].a != a || map->slots[i].b != b))
        i = (i + 1) & map->mask;
    return &map->slots[i];
}

static int grow(struct strobe_idmap *map)
{
    size_t count = map->slots ? 2 * (map->mask + 1) : FIRST_SLOTS;
    struct strobe_idmap larger = {.slots = calloc(count, sizeof *larger.slots), .mask = count - 1, .count = map->count};
    if (!larger.slots)
        return 0;
    for (size_t i = 0; map->slots && i <= map->mask; i++)
        if (map->slots[i].used)
            *place(&larger, map->slots[i].a, map->slots[i].b) = map->slots[i];
    free(map->slots);
    *map = larger;
    return 1;
}

uint32_t *strobe_idmap_put(struct strobe_idmap *map, uint64_t a, uint64_t b, int *fresh)
{
    if ((!map->slots || map->count * 4 > map->mask * 3) && !grow(map))
        return NULL;
    struct strobe_idmap_slot *s = place(map, a, b);
    *fresh = !s->used;
    if (*fresh) {
        *s = (struct strobe_idmap_slot){.a = a, .b = b, .used = 1};
        map->count++;
    }
    return &s->id;
}

uint32_t *strobe_idmap_get(const struct strobe_idmap *map, uint64_t a, uint64_t b)
{
    if (!map->slots)
        return NULL;
    struct strobe_idmap_slot *s = place(map, a, b);
    return s->used ? &s->id : NULL;
}

void strobe_idmap_free(struct strobe_idmap *map)
{
    free(map->slots);
    *map = (struct strobe_idmap){0};
}
