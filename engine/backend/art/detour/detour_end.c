#include "engine/backend/art/detour/detour_end.h"

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Encodings: 4 bytes relative to the table's start, or to the field itself; a count of 4 bytes. */
enum { TABLE_RELATIVE_4 = 0x3b, SELF_RELATIVE_4 = 0x1b, COUNT_4 = 0x03, HEAD_BYTES = 12, ROW_BYTES = 8 };

/* An image's table: a head, then rows of two offsets, sorted by function. */
struct frame_table {
    const uint8_t *start, *end;
    uint32_t rows;
};

struct end_search {
    const uint8_t *function, *end;
};

static int32_t read_offset(const uint8_t *at)
{
    int32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static bool open_frame_table(const uint8_t *start, size_t bytes, struct frame_table *out)
{
    if (bytes < HEAD_BYTES || start[0] != 1 || start[1] != SELF_RELATIVE_4 || start[2] != COUNT_4 ||
        start[3] != TABLE_RELATIVE_4)
        return false;
    *out = (struct frame_table){start, start + bytes, (uint32_t)read_offset(start + 8)};
    return out->rows <= (bytes - HEAD_BYTES) / ROW_BYTES;
}

/* Returns the entry of the function that begins at `function`, or NULL. */
static const uint8_t *find_frame_entry(const struct frame_table *t, const uint8_t *function)
{
    uint32_t low = 0, high = t->rows;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const uint8_t *row = t->start + HEAD_BYTES + (size_t)middle * ROW_BYTES;
        const uint8_t *begins = t->start + read_offset(row);
        if (begins == function)
            return t->start + read_offset(row + 4);
        if (begins < function)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* An entry: length, distance of the common entry, start relative to itself, size. */
static const uint8_t *end_in_entry(const uint8_t *entry, const uint8_t *function)
{
    uint32_t size = (uint32_t)read_offset(entry + 12);
    return entry + 8 + read_offset(entry + 8) == function && size ? function + size : NULL;
}

static int visit_end(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
    struct end_search *s = ctx;
    const ElfW(Phdr) *frames = NULL;
    const uint8_t *base = (const uint8_t *)info->dlpi_addr;
    bool contains = false;
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_GNU_EH_FRAME)
            frames = p;
        contains |= p->p_type == PT_LOAD && p->p_flags & PF_X && s->function >= base + p->p_vaddr &&
                    s->function < base + p->p_vaddr + p->p_memsz;
    }
    struct frame_table table;
    if (!contains)
        return 0;
    const uint8_t *entry = frames && open_frame_table(base + frames->p_vaddr, frames->p_memsz, &table)
                               ? find_frame_entry(&table, s->function)
                               : NULL;
    s->end = entry ? end_in_entry(entry, s->function) : NULL;
    return 1;
}

const uint8_t *strobe_detour_end(const uint8_t *function)
{
    struct end_search s = {function, NULL};
    dl_iterate_phdr(visit_end, &s);
    return s.end;
}
