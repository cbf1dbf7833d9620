#include "sim/explore/seen.h"

#include <stdbool.h>
#include <stdlib.h>

struct entry {
    uint64_t hash;
    uint32_t cost, used;
};

struct explore_seen {
    struct entry *entry;
    uint64_t count, room; /* room: a power of two */
};

static bool seen_grow(struct explore_seen *s, uint64_t room)
{
    struct entry *old = s->entry, *new = calloc(room, sizeof *new);
    if (!new)
        return false;
    for (uint64_t i = 0; i < s->room; i++) {
        if (!old[i].used)
            continue;
        uint64_t at = old[i].hash & (room - 1);
        while (new[at].used)
            at = (at + 1) & (room - 1);
        new[at] = old[i];
    }
    free(old);
    s->entry = new;
    s->room = room;
    return true;
}

struct explore_seen *explore_seen_open(void)
{
    struct explore_seen *s = calloc(1, sizeof *s);
    if (s && seen_grow(s, 1024))
        return s;
    free(s);
    return NULL;
}

void explore_seen_close(struct explore_seen *s)
{
    if (s)
        free(s->entry);
    free(s);
}

enum explore_sight explore_seen_add(struct explore_seen *s, uint64_t hash, uint32_t cost)
{
    if (2 * s->count >= s->room && !seen_grow(s, 2 * s->room))
        return EXPLORE_SEEN_NO_ROOM;
    uint64_t at = hash & (s->room - 1);
    while (s->entry[at].used && s->entry[at].hash != hash)
        at = (at + 1) & (s->room - 1);
    struct entry *e = &s->entry[at];
    if (!e->used) {
        *e = (struct entry){hash, cost, 1};
        s->count++;
        return EXPLORE_SEEN_NEW;
    }
    if (cost >= e->cost)
        return EXPLORE_SEEN_BEFORE;
    e->cost = cost;
    return EXPLORE_SEEN_CHEAPER;
}
