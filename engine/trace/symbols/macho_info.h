/* Reads the contents of a Mach-O file that symbol lookups need: for each slice for a 64-bit machine, the UUID,
 * segments, symbols, function starts and DWARF sections. Supports programs, libraries and the companion files in .dSYM
 * bundles, universal or not.
 *
 * Formats: Apple's <mach-o/loader.h>, <mach-o/nlist.h>, <mach-o/fat.h>. All values are checked: all offsets returned
 * lie within the slice. Little-endian machines only; all 64-bit machines of Apple are little-endian.
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
    STROBE_MACHO_SECTIONS_MAX = 255, /* the range of a symbol's section number */
};

enum strobe_macho_machine { STROBE_MACHO_OTHER, STROBE_MACHO_ARM64, STROBE_MACHO_X86_64 };

/* One section. `bytes` is NULL if the file does not contain the section's content: a companion file has no code. */
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
    uint64_t text, start, end; /* linked addresses: of __TEXT; of the loaded range [start, end) */
    struct strobe_macho_section sections[STROBE_MACHO_SECTIONS_MAX]; /* a symbol's section n is at index n - 1 */
    uint32_t section_count;
    const uint8_t *symbols; /* nlist_64, 16 bytes each */
    uint32_t symbol_count;
    const char *strings;
    uint32_t string_bytes;
    const uint8_t *function_starts; /* distances in ULEB128 */
    uint32_t function_start_bytes;
    int has_dwarf;
};

/* The position of a slice in its file. */
struct strobe_macho_slice {
    uint64_t offset, bytes;
};

/* Finds the slices of a file in memory; slices for other machines are left out. STROBE_NO_ENTRY: not a Mach-O file.
 * STROBE_BAD_INPUT, STROBE_TRUNCATED: `error` (may be NULL) has one line, "byte 123: expected ...". */
enum strobe_status strobe_macho_slices(const uint8_t *file, uint64_t bytes,
                                       struct strobe_macho_slice out[STROBE_MACHO_SLICES_MAX], uint32_t *count,
                                       struct strobe_error *error);

/* Reads one slice. Statuses as above; bytes are counted from the file's begin. */
enum strobe_status strobe_macho_read(const uint8_t *file, const struct strobe_macho_slice *slice,
                                     struct strobe_macho *out, struct strobe_error *error);

/* The symbol of one function. The address is the linked one. */
struct strobe_macho_symbol {
    uint64_t address;
    const char *name; /* NUL-terminated; without the underscore that C names have in Mach-O */
    uint32_t section; /* from 0 */
    int global;
};

/* Reads symbol number `i`. Returns 0 if it is not a function, or if its name or address is out of range. */
int strobe_macho_symbol(const struct strobe_macho *m, uint32_t i, struct strobe_macho_symbol *out);

/* Reads the next function's start. *at (0 at first) is a position in function_starts. *address is the previous start,
 * and then the next one. Returns 0 if there are no more. */
int strobe_macho_next_start(const struct strobe_macho *m, uint32_t *at, uint64_t *address);

#endif
