/* A library that is loaded in this process, and where its symbols are, as its file and its memory say.
 *
 * Why not dlsym: Android's linker hides the runtime from apps since 7.0, and much that is needed is not exported at
 * all. So names are looked for, in this order, in
 *
 *   .dynsym         in memory, by the GNU hash table, or by the SysV one where that is all there is
 *   .symtab         in the file, if it was not stripped
 *   .gnu_debugdata  in the file: an xz-compressed ELF file that holds a .symtab (MiniDebugInfo)
 *
 * Everything read is checked against what is mapped and against the file's size: a truncated, foreign or damaged file
 * is refused with one line, never believed, never a fault. The file must be the one that is loaded (same build id, else
 * same program headers), or only .dynsym is used. What is needed of a file is copied out of it, not mapped: that it
 * shrinks then costs an answer, not the app.
 *
 * Source of the formats: System V ABI (gABI) chapter 5; the GNU hash section as described by A. Roenne and by binutils;
 * MiniDebugInfo as described in GDB's manual. Start only: maps memory, takes none from the heap of its own. */
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
    const unsigned char *gnu_hash, *sysv_hash; /* NULL: it has none */
    size_t gnu_hash_bytes, sysv_hash_bytes;    /* at most */
    void *mapping;                             /* what holds all of that; NULL: the loaded library does */
    size_t mapping_bytes;
};

struct strobe_module {
    char path[STROBE_MODULE_PATH_BYTES];
    uint64_t bias;       /* address = bias + address in the file */
    uint64_t start, end; /* of its segments, as addresses */
    const void *headers; /* its program headers in memory; NULL: it is not loaded */
    size_t header_count;
    struct strobe_module_table dynamic, symtab, debugdata;
    bool looked_in_file;
    const char *not_in_file;  /* why the file has said nothing; NULL: it has, or was not asked */
    const char *no_debugdata; /* the same of .gnu_debugdata alone */
};

/* Finds the loaded library whose file name is `name` ("libart.so": also libart.so.0, but not libart.so.bak); with a
 * slash in it, whose path it is. STROBE_NO_ENTRY: no such library is loaded. STROBE_BAD_INPUT: what is loaded under
 * that name can't be read as a library of this processor. `error` gets one line then. Closed by the caller only after
 * STROBE_OK. */
enum strobe_status strobe_module_open(const char *name, struct strobe_module *out, struct strobe_error *error);

/* The same for a file that is loaded at `bias`, or not at all (bias 0: symbols then are addresses in the file). All
 * tables are read from the file, .dynsym too. STROBE_NO_ENTRY: there is no such file. STROBE_IO: it can't be opened.
 * STROBE_BAD_INPUT: it is no library of this processor, or not all of one. For tools and tests. */
enum strobe_status strobe_module_open_file(const char *path, uint64_t bias, struct strobe_module *out,
                                           struct strobe_error *error);

/* Address of a defined function or object; 0 = there is none of that name. The first lookup that .dynsym can't answer
 * opens the file. */
uint64_t strobe_module_symbol(struct strobe_module *m, const char *name);

void strobe_module_close(struct strobe_module *m);

/* Unpacks xz data by a library opened at run time: liblzma.so.5 (lzma_stream_buffer_decode), or Android's liblzma.so
 * (the LZMA SDK's XzUnpacker functions). *out is mapped memory, *mapped bytes of it for the caller to unmap.
 * STROBE_UNSUPPORTED: neither is there. STROBE_BAD_INPUT: the data is damaged, or more than 256 MiB. STROBE_IO: no
 * memory. */
enum strobe_status strobe_xz_unpack(const void *data, size_t bytes, void **out, size_t *out_bytes, size_t *mapped);

#endif
