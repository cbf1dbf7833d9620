/* What a Mach-O file holds for symbol lookups: for each of its slices for a 64-bit machine the UUID, segments, symbols,
 * function starts and DWARF sections. Programs, libraries and the companion files in .dSYM bundles, universal or not.
 *
 * The formats' source: Apple's <mach-o/loader.h>, <mach-o/nlist.h>, <mach-o/fat.h>. Nothing is believed before it is
 * checked: all offsets handed out lie within the slice. Little-endian machines only, as all of Apple's 64-bit ones are.
 *
 * Reading half. A view of bytes that the caller keeps; allocates nothing. Any thread. */
#ifndef STROBE_TRACE_SYMBOLS_MACHO_INFO_H
#define STROBE_TRACE_SYMBOLS_MACHO_INFO_H

#include "engine/base/error.h"
#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum {
    STROBE_MACHO_UUID_BYTES = 16,
    STROBE_MACHO_SLICES_MAX = 16,
    STROBE_MACHO_SECTIONS_MAX = 255, /* as many as a symbol can name */
};

enum strobe_macho_machine { STROBE_MACHO_OTHER, STROBE_MACHO_ARM64, STROBE_MACHO_X86_64 };

/* One section. `bytes` are NULL where the file has none: the code of a companion file is not in it. */
struct strobe_macho_section {
    char segment[17], name[17];
    uint64_t address, size;
    const uint8_t *bytes;
    int is_code;
};

struct strobe_macho {
    enum strobe_macho_machine machine;
    int has_uuid;
    uint8_t uuid[STROBE_MACHO_UUID_BYTES];
    uint64_t text, start, end; /* addresses as linked: of __TEXT; of all that is loaded, [start, end) */
    struct strobe_macho_section sections[STROBE_MACHO_SECTIONS_MAX]; /* number n of a symbol is the one at n - 1 */
    uint32_t section_count;
    const uint8_t *symbols; /* nlist_64, 16 bytes each */
    uint32_t symbol_count;
    const char *strings;
    uint32_t string_bytes;
    const uint8_t *function_starts; /* distances in ULEB128 */
    uint32_t function_start_bytes;
    int has_dwarf;
};

/* Where a slice lies in its file. */
struct strobe_macho_slice {
    uint64_t offset, bytes;
};

/* Finds the slices of a file in memory; those of other machines than the two above are left out. STROBE_NO_ENTRY: no
 * Mach-O file. STROBE_BAD_INPUT, STROBE_TRUNCATED: `error` (may be NULL) has one line, "byte 123: expected ...". */
enum strobe_status strobe_macho_slices(const uint8_t *file, uint64_t bytes,
                                       struct strobe_macho_slice out[STROBE_MACHO_SLICES_MAX], uint32_t *count,
                                       struct strobe_error *error);

/* Reads one slice. Statuses as above; bytes are counted from the file's begin. */
enum strobe_status strobe_macho_read(const uint8_t *file, const struct strobe_macho_slice *slice,
                                     struct strobe_macho *out, struct strobe_error *error);

/* One function's symbol, by name and address as linked. */
struct strobe_macho_symbol {
    uint64_t address;
    const char *name; /* NUL-terminated, less the underscore that C names have in Mach-O */
    uint32_t section; /* from 0 */
    int global;
};

/* Symbol number `i`; 0 when it is no function, or its name or address is not where it ought to be. */
int strobe_macho_symbol(const struct strobe_macho *m, uint32_t i, struct strobe_macho_symbol *out);

/* The next function's start: *at (0 at first) is a place in function_starts, *address the start before, then this one.
 * 0: there are no more. */
int strobe_macho_next_start(const struct strobe_macho *m, uint32_t *at, uint64_t *address);

#endif
