/* A Mach-O file in the form of an ELF file, so that all that reads the one reads the other: libdwfl and what stands on
 * it (function_index.h, unit_index.h, symbol_image.h) know ELF alone.
 *
 * The ELF file has what symbol lookups need, at the addresses of the Mach-O file, and no code:
 *
 *   program header     one, that spans what is loaded
 *   .text, ...         a section without content for each of code
 *   .symtab .strtab    functions, with sizes where LC_FUNCTION_STARTS tells them
 *   .eh_frame          an entry for each function start: functions of stripped files have extents, too
 *   .debug_*           the sections of __DWARF
 *
 * Reading half: allocates. Any thread. */
#ifndef STROBE_TRACE_SYMBOLS_MACHO_ELF_H
#define STROBE_TRACE_SYMBOLS_MACHO_ELF_H

#include "engine/base/error.h"
#include "engine/trace/symbols/macho_info.h"

/* Writes the ELF file to `fd`, from its begin. STROBE_IO (errno). */
enum strobe_status strobe_macho_write_elf(const struct strobe_macho *m, int fd);

/* Opens the slice of the file `path` that has that UUID, as an ELF file in memory: *fd is the caller's to close.
 * STROBE_NO_ENTRY: the file is no Mach-O file. STROBE_BAD_VERSION: it is, but none of its slices has the UUID.
 * STROBE_BAD_INPUT, STROBE_TRUNCATED, STROBE_IO: `error` (may be NULL) has one line without the path. */
enum strobe_status strobe_macho_open(const char *path, const uint8_t uuid[STROBE_MACHO_UUID_BYTES], int *fd,
                                     struct strobe_error *error);

/* A file in memory, read-only. bytes 0: an empty one, and at NULL. */
struct strobe_macho_file {
    const uint8_t *at;
    uint64_t bytes;
};

/* STROBE_IO (errno) when it can't be read; STROBE_NO_ENTRY when it is no regular file. */
enum strobe_status strobe_macho_map(const char *path, struct strobe_macho_file *out);
void strobe_macho_unmap(struct strobe_macho_file *file);

#endif
