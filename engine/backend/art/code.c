#include "engine/backend/art/code.h"

#include <stdlib.h>

enum { LOOKUPS_MOST = 4, GENERATION_MASK = 0xffff };

/* Returns the bits of the range that holds pc, by binary search. */
static uint32_t search_ranges(const struct strobe_art_code_range *list, uint32_t count, uint64_t pc)
{
    uint32_t low = 0, high = count < STROBE_ART_CODE_RANGES ? count : STROBE_ART_CODE_RANGES;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strobe_load_relaxed(&list[middle].end) <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    bool inside = low < count && low < STROBE_ART_CODE_RANGES && strobe_load_relaxed(&list[low].start) <= pc &&
                  pc < strobe_load_relaxed(&list[low].end);
    return inside ? (uint32_t)strobe_load_relaxed(&list[low].bits) : 0;
}

uint32_t strobe_art_code_find(struct strobe_art_code *c, uint64_t pc)
{
    for (int i = 0; i < LOOKUPS_MOST; i++) {
        uint32_t generation = strobe_load_acquire(&c->generation), now = generation & 1;
        uint32_t bits = search_ranges(c->list[now], strobe_load_relaxed(&c->count[now]), pc);
        strobe_fence_acquire();
        if (strobe_load_relaxed(&c->generation) != generation)
            continue;
        /* A page may hold the end of one image and the begin of another only when its ranges are not page-aligned;
         * linkers map whole pages. */
        uint64_t page = pc >> STROBE_ART_CODE_PAGE_BITS;
        strobe_store_relaxed(&c->memo[page % STROBE_ART_CODE_MEMO],
                             page << 24 | (uint64_t)(generation & GENERATION_MASK) << 8 | bits);
        return bits;
    }
    return 0;
}

static int entries_by_address(const struct strobe_art_code_entry *a, const struct strobe_art_code_entry *b)
{
    return (a->start > b->start) - (a->start < b->start);
}

/* Shell sort: no heap, which qsort may use. */
static void sort_entries(struct strobe_art_code_entry *e, uint32_t count)
{
    for (uint32_t gap = count / 2; gap; gap /= 2)
        for (uint32_t i = gap; i < count; i++) {
            struct strobe_art_code_entry moved = e[i];
            uint32_t at = i;
            for (; at >= gap && entries_by_address(&moved, &e[at - gap]) < 0; at -= gap)
                e[at] = e[at - gap];
            e[at] = moved;
        }
}

void strobe_art_code_replace(struct strobe_art_code *c, struct strobe_art_code_entry *entries, uint32_t count)
{
    uint32_t generation = strobe_load_relaxed(&c->generation) + 1, next = generation & 1;
    if (count > STROBE_ART_CODE_RANGES)
        count = STROBE_ART_CODE_RANGES;
    sort_entries(entries, count);
    strobe_fence_release();
    for (uint32_t i = 0; i < count; i++) {
        struct strobe_art_code_range *r = &c->list[next][i];
        strobe_store_relaxed(&r->start, entries[i].start);
        strobe_store_relaxed(&r->end, entries[i].end);
        strobe_store_relaxed(&r->bits, entries[i].bits);
    }
    strobe_store_relaxed(&c->count[next], count);
    strobe_store_release(&c->generation, generation);
}
