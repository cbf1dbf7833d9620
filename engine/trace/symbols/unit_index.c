#include "engine/trace/symbols/unit_index.h"

#include "engine/util/array.h"

#include <elfutils/libdw.h>
#include <stdlib.h>

static int by_range_start(const void *a, const void *b)
{
    const struct strobe_unit_range *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static int add_unit_range(struct strobe_unit_index *index, size_t *capacity, uint64_t start, uint64_t end,
                          const Dwarf_Die *unit)
{
    if (start >= end)
        return 1;
    if (!strobe_array_reserve(&index->ranges, capacity, index->count + 1))
        return 0;
    index->ranges[index->count++] = (struct strobe_unit_range){start, end, *unit};
    return 1;
}

enum strobe_status strobe_unit_index_build(Dwfl_Module *module, struct strobe_unit_index *out)
{
    Dwarf_Die *unit = NULL;
    Dwarf_Addr bias = 0, base, start, end;
    size_t capacity = 0;
    *out = (struct strobe_unit_index){0};
    while ((unit = dwfl_module_nextcu(module, unit, &bias))) {
        out->bias = bias;
        for (ptrdiff_t at = 0; (at = dwarf_ranges(unit, at, &base, &start, &end)) > 0;) {
            if (!add_unit_range(out, &capacity, start, end, unit)) {
                strobe_unit_index_free(out);
                return STROBE_IO;
            }
        }
    }
    if (out->count)
        qsort(out->ranges, out->count, sizeof *out->ranges, by_range_start);
    return STROBE_OK;
}

Dwarf_Die *strobe_unit_index_find(const struct strobe_unit_index *index, uint64_t address)
{
    uint64_t wanted = address - index->bias;
    size_t low = 0, high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->ranges[middle].start <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low && wanted < index->ranges[low - 1].end ? &index->ranges[low - 1].unit : NULL;
}

void strobe_unit_index_free(struct strobe_unit_index *index)
{
    free(index->ranges);
    *index = (struct strobe_unit_index){0};
}
