#include "engine/util/idmap.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 64 };

static int idmap_double_slots(struct strobe_idmap *map)
{
    size_t count = map->slots ? 2 * (map->mask + 1) : FIRST_SLOTS;
    struct strobe_idmap larger = {.slots = calloc(count, sizeof *larger.slots), .mask = count - 1, .count = map->count};
    if (!larger.slots)
        return 0;
    for (size_t i = 0; map->slots && i <= map->mask; i++)
        if (map->slots[i].used)
            *strobe_idmap_slot(&larger, map->slots[i].a, map->slots[i].b) = map->slots[i];
    free(map->slots);
    *map = larger;
    return 1;
}

uint32_t *strobe_idmap_put(struct strobe_idmap *map, uint64_t a, uint64_t b, int *fresh)
{
    if ((!map->slots || map->count * 2 > map->mask) && !idmap_double_slots(map))
        return NULL;
    struct strobe_idmap_slot *s = strobe_idmap_slot(map, a, b);
    *fresh = !s->used;
    if (*fresh) {
        *s = (struct strobe_idmap_slot){.a = a, .b = b, .used = 1};
        map->count++;
    }
    return &s->id;
}

int strobe_idmap_add(struct strobe_idmap *map, uint64_t a, uint64_t b, uint32_t id)
{
    int fresh;
    uint32_t *place = strobe_idmap_put(map, a, b, &fresh);
    if (place)
        *place = id;
    return place != NULL;
}

void strobe_idmap_clear(struct strobe_idmap *map)
{
    if (map->count)
        memset(map->slots, 0, (map->mask + 1) * sizeof *map->slots);
    map->count = 0;
}

void strobe_idmap_free(struct strobe_idmap *map)
{
    free(map->slots);
    *map = (struct strobe_idmap){0};
}
