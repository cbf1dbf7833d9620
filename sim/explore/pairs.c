#include "sim/explore/pairs.h"

#include "engine/base/mix.h"

#include <stdlib.h>

enum { SLOTS = 1 << 17, MOST = SLOTS / 2 };

struct explore_pairs {
    uint32_t count;
    uint64_t slot[SLOTS]; /* hash of a pair; 0: free */
};

struct explore_pairs *explore_pairs_open(void)
{
    return calloc(1, sizeof(struct explore_pairs));
}

void explore_pairs_close(struct explore_pairs *p)
{
    free(p);
}

static void pairs_add_hash(struct explore_pairs *p, uint64_t hash)
{
    uint64_t i = hash & (SLOTS - 1);
    while (p->slot[i] && p->slot[i] != hash)
        i = (i + 1) & (SLOTS - 1);
    if (p->slot[i] || p->count == MOST)
        return;
    p->slot[i] = hash;
    p->count++;
}

static uint64_t pair_site_name(struct explore_site site)
{
    return (uint64_t)(uintptr_t)(site.code ? site.code : (const void *)site.text);
}

void explore_pairs_add(struct explore_pairs *p, const struct explore_graph *g)
{
    for (uint32_t i = 0; i < g->event_count; i++) {
        const struct explore_event *e = &g->event[i];
        if (!explore_is_load(e) || e->from == EXPLORE_NOBODY)
            continue;
        uint64_t store = e->from == EXPLORE_INITIAL ? 0 : pair_site_name(g->event[e->from].site);
        pairs_add_hash(p, strobe_mix64(strobe_mix_pair(pair_site_name(e->site), store)) | 1);
    }
}

uint32_t explore_pairs_count(const struct explore_pairs *p)
{
    return p->count;
}
