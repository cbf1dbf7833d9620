/* A library that is loaded in this process: finds the addresses of its symbols in its memory and its file.
 *
 * dlsym is not enough: since 7.0 Android's linker hides the runtime from apps, and many needed functions are not
 * exported. The search uses, in this order,
 *
 *   .dynsym         in memory, by the GNU hash table, or by the SysV one if there is no other
 *   .symtab         in the file, if it was not stripped
 *   .gnu_debugdata  in the file: an xz-compressed ELF file that contains a .symtab (MiniDebugInfo)
 *
 * The functions check every value against the mapped memory and the file's size. They refuse a truncated, foreign or
 * damaged file with one line, and never fault. The file must be the one that is loaded (same build id, else same
 * program headers); otherwise only .dynsym is used. Tables are copied out of the file and not mapped, so a file that
 * shrinks cannot crash the app.
 *
 * Source of the formats: System V ABI (gABI) chapter 5; the GNU hash section as described by A. Roenne and by binutils;
 * MiniDebugInfo as described in GDB's manual. Start only: maps memory of its own, and uses no heap. */
#ifndef STROBE_BACKEND_ART_MODULE_H
#define STROBE_BACKEND_ART_MODULE_H

#include "engine/base/error.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STROBE_MODULE_PATH_BYTES = 512 };

/* A symbol table: of the loaded library, or copied from a file. Owned by its module. */
struct strobe_module_table {
    const unsigned char *symbols; /* ElfNN_Sym[], of the processor's own word size; aligned or not */
    const char *names;
    size_t count, names_bytes;
    const unsigned char *gnu_hash, *sysv_hash; /* NULL: the library has no such table */
    size_t gnu_hash_bytes, sysv_hash_bytes;    /* at most */
    void *mapping;                             /* memory of the table; NULL: the table is in the loaded library */
    size_t mapping_bytes;
};

struct strobe_module {
    char path[STROBE_MODULE_PATH_BYTES];
    uint64_t bias;       /* address = bias + address in the file */
    uint64_t start, end; /* of its segments, as addresses */
    const void *headers; /* program headers in memory; NULL: the library is not loaded */
    size_t header_count;
    struct strobe_module_table dynamic, symtab, debugdata;
    bool searched_file;
    const char *not_in_file;  /* why the file's tables are not used; NULL: they are, or the file was not opened */
    const char *no_debugdata; /* the same for .gnu_debugdata alone */
};

/* Finds a loaded library by its file name ("libart.so" matches libart.so.0 but not libart.so.bak), or by its path if
 * `name` has a slash. STROBE_NO_ENTRY: no such library is loaded. STROBE_BAD_INPUT: the library is not a valid one for
 * this processor. `error` then has one line. The caller closes the module only after STROBE_OK. */
enum strobe_status strobe_module_open(const char *name, struct strobe_module *out, struct strobe_error *error);

/* The same for a file that is loaded at `bias`, or not loaded (bias 0: symbols are then addresses in the file). All
 * tables are read from the file, .dynsym too. STROBE_NO_ENTRY: the file does not exist. STROBE_IO: it cannot be opened.
 * STROBE_BAD_INPUT: it is not a library for this processor, or is incomplete. For tools and tests. */
enum strobe_status strobe_module_open_file(const char *path, uint64_t bias, struct strobe_module *out,
                                           struct strobe_error *error);

/* Returns the address of a defined function or object, or 0 when the library has none of that name. The first search
 * that fails in .dynsym opens the file. */
uint64_t strobe_module_symbol(struct strobe_module *m, const char *name);

void strobe_module_close(struct strobe_module *m);

/* Unpacks xz data with a library opened at run time: liblzma.so.5 (lzma_stream_buffer_decode), or Android's liblzma.so
 * (the LZMA SDK's XzUnpacker functions). *out is mapped memory; the caller unmaps its *mapped bytes.
 * STROBE_UNSUPPORTED: no such library exists. STROBE_BAD_INPUT: the data is damaged, or unpacks to more than 256 MiB.
 * STROBE_IO: out of memory. */
enum strobe_status strobe_xz_unpack(const void *data, size_t bytes, void **out, size_t *out_bytes, size_t *mapped);

#endif
