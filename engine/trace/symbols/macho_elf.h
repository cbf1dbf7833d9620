/* Converts a Mach-O file to an ELF file, because libdwfl and its users (function_index.h, unit_index.h, symbol_image.h)
 * support only ELF.
 *
 * The ELF file has the contents that symbol lookups need, at the addresses of the Mach-O file, and no code:
 *
 *   program header     one, which spans the loaded range
 *   .text, ...         a section without content for each section of code
 *   .symtab .strtab    functions, with sizes if LC_FUNCTION_STARTS gives them
 *   .eh_frame          an entry for each function start, so that functions of stripped files have extents too
 *   .debug_*           the sections of __DWARF
 *
 * Reading half: allocates. Any thread. */
#ifndef STROBE_TRACE_SYMBOLS_MACHO_ELF_H
#define STROBE_TRACE_SYMBOLS_MACHO_ELF_H

#include "engine/base/error.h"
#include "engine/trace/symbols/macho_info.h"

/* Writes the ELF file to `fd`, from its begin on. STROBE_IO (errno). */
enum strobe_status strobe_macho_write_elf(const struct strobe_macho *m, int fd);

/* Converts the slice of the file `path` with this UUID to an ELF file in memory. The caller closes *fd.
 * STROBE_NO_ENTRY: not a Mach-O file. STROBE_BAD_VERSION: a Mach-O file without a slice with this UUID.
 * STROBE_BAD_INPUT, STROBE_TRUNCATED, STROBE_IO: `error` (may be NULL) has one line without the path. */
enum strobe_status strobe_macho_open(const char *path, const uint8_t uuid[STROBE_MACHO_UUID_BYTES], int *fd,
                                     struct strobe_error *error);

/* A read-only mapped file. bytes 0: an empty file, and `at` is NULL. */
struct strobe_macho_file {
    const uint8_t *at;
    uint64_t bytes;
};

/* Maps a file. STROBE_IO (errno): it cannot be read. STROBE_NO_ENTRY: it is not a regular file. */
enum strobe_status strobe_macho_map(const char *path, struct strobe_macho_file *out);
void strobe_macho_unmap(struct strobe_macho_file *file);

#endif
