#include "engine/trace/session/code_names.h"

#include <stdlib.h>

static int by_code_start(const void *a, const void *b)
{
    const struct strobe_code_entry *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static void set_reach(struct strobe_code_names *index)
{
    uint64_t reach = 0;
    for (size_t i = 0; i < index->count; i++) {
        if (index->entries[i].end > reach)
            reach = index->entries[i].end;
        index->reach[i] = reach;
    }
}

enum strobe_status strobe_code_names_open(const struct strobe_names *names, struct strobe_code_names *out)
{
    struct strobe_named_address name;
    size_t room = 0;
    *out = (struct strobe_code_names){0};
    for (uint64_t at = 0; strobe_names_next(names, &at, &name);)
        room += (name.flags & STROBE_NAME_CODE) != 0;
    if (!room)
        return STROBE_OK;
    out->entries = malloc(room * sizeof *out->entries);
    out->reach = malloc(room * sizeof *out->reach);
    if (!out->entries || !out->reach) {
        strobe_code_names_close(out);
        return STROBE_IO;
    }
    for (uint64_t at = 0, next = 0; strobe_names_next(names, &next, &name) && out->count < room; at = next)
        if (name.flags & STROBE_NAME_CODE && name.address + name.code_bytes > name.address)
            out->entries[out->count++] =
                (struct strobe_code_entry){name.address, name.address + name.code_bytes, name.begin_ticks, at};
    qsort(out->entries, out->count, sizeof *out->entries, by_code_start);
    set_reach(out);
    return STROBE_OK;
}

void strobe_code_names_close(struct strobe_code_names *index)
{
    free(index->entries);
    free(index->reach);
    *index = (struct strobe_code_names){0};
}

/* Returns 1 if `a`, not `b`, names an address that both cover. */
static int is_better(const struct strobe_code_entry *a, const struct strobe_code_entry *b, uint64_t ticks)
{
    int a_began = a->begin_ticks <= ticks, b_began = b->begin_ticks <= ticks;
    if (a_began != b_began)
        return a_began;
    if (a->begin_ticks != b->begin_ticks)
        return a_began ? a->begin_ticks > b->begin_ticks : a->begin_ticks < b->begin_ticks;
    return a->at > b->at;
}

const struct strobe_code_entry *strobe_code_names_find(const struct strobe_code_names *index, uint64_t address,
                                                       uint64_t ticks, int *changes)
{
    const struct strobe_code_entry *best = NULL;
    size_t low = 0, high = index->count;
    if (changes)
        *changes = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->entries[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    while (low-- > 0 && index->reach[low] > address) {
        const struct strobe_code_entry *e = &index->entries[low];
        if (e->end <= address)
            continue;
        if (changes && best && best->begin_ticks != e->begin_ticks)
            *changes = 1;
        if (!best || is_better(e, best, ticks))
            best = e;
    }
    return best;
}
