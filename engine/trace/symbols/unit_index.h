/* Finds the compilation unit of a file's debug information that contains an address.
 *
 * libdw's own lookup uses .debug_aranges, which gcc writes and other compilers (clang, rustc) do not. This lookup uses
 * the ranges in each unit. Part of symbols.h; reading half: allocates. */
#ifndef STROBE_TRACE_SYMBOLS_UNIT_INDEX_H
#define STROBE_TRACE_SYMBOLS_UNIT_INDEX_H

#include "engine/base/status.h"

#include <elfutils/libdwfl.h>
#include <stddef.h>
#include <stdint.h>

struct strobe_unit_range {
    uint64_t start, end; /* [start, end), in addresses of the debug information */
    Dwarf_Die unit;
};

struct strobe_unit_index {
    struct strobe_unit_range *ranges; /* by start */
    size_t count;
    uint64_t bias; /* loaded address = bias + address in the debug information */
};

/* Reads the ranges of all units. The index is empty if there is no debug information. STROBE_IO: out of memory. */
enum strobe_status strobe_unit_index_build(Dwfl_Module *module, struct strobe_unit_index *out);

/* Returns the unit that contains `address`, or NULL. Valid until the index is freed. */
Dwarf_Die *strobe_unit_index_find(const struct strobe_unit_index *index, uint64_t address);

void strobe_unit_index_free(struct strobe_unit_index *index);

#endif
