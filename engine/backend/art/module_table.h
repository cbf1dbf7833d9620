/* Symbol tables of ELF libraries: finds them in memory or copies them from a file, and searches them. Each value is
 * checked; no value in a table leads out of it. Functions that return a text return a fault ("truncated: ..."), or NULL
 * on success. For engine/backend/art alone; start only. */
#ifndef STROBE_BACKEND_ART_MODULE_TABLE_H
#define STROBE_BACKEND_ART_MODULE_TABLE_H

#include "engine/backend/art/module.h"

#include <link.h>

enum { STROBE_BUILD_ID_BYTES = 64 };

/* An ELF file: open, or in memory. */
struct strobe_elf_source {
    int fd; /* -1: in memory */
    const unsigned char *bytes;
    uint64_t size;
};

/* The identity of one build of a library. */
struct strobe_elf_identity {
    unsigned char build_id[STROBE_BUILD_ID_BYTES];
    size_t build_id_bytes; /* 0 = it has none */
    uint64_t headers_hash; /* hash of its program headers */
};

/* Copies bytes out of a file. Returns false when the file is too short. */
bool strobe_elf_copy(const struct strobe_elf_source *s, uint64_t offset, void *to, size_t bytes);

/* Checks that the file is a library or program for this processor. */
const char *strobe_elf_check_head(const ElfW(Ehdr) * head);

/* Reads the file's head and checks it. */
const char *strobe_elf_head(const struct strobe_elf_source *s, ElfW(Ehdr) * head);

/* Reads the file's program headers: the span of its segments, and its identity. */
const char *strobe_elf_segments(const struct strobe_elf_source *s, const ElfW(Ehdr) * head, uint64_t *first,
                                uint64_t *last, struct strobe_elf_identity *id);

/* Adds one program header to an identity. `notes` are the bytes of a PT_NOTE, or NULL when they are not available. */
void strobe_elf_identify(struct strobe_elf_identity *id, const ElfW(Phdr) * p, const unsigned char *notes);
bool strobe_elf_same(const struct strobe_elf_identity *a, const struct strobe_elf_identity *b);

/* Copies a symbol table (SHT_DYNSYM with its hash tables, SHT_SYMTAB) out of the file. The table's count is 0 when the
 * file has none. */
const char *strobe_elf_table(const struct strobe_elf_source *s, const ElfW(Ehdr) * head, uint32_t type,
                             struct strobe_module_table *out);

/* Finds a section by name. The section's size is 0 when the file has none. */
const char *strobe_elf_section(const struct strobe_elf_source *s, const ElfW(Ehdr) * head, const char *name,
                               ElfW(Shdr) * out);

/* Checks the hash tables of a symbol table. When the table's count is 0, takes the count from them. */
const char *strobe_table_check_hashes(struct strobe_module_table *t);

/* Finds the value of a defined function or object. Returns false when the table has none of that name. */
bool strobe_table_find(const struct strobe_module_table *t, const char *name, uint64_t *value);

void strobe_table_free(struct strobe_module_table *t);

/* strobe_xz_unpack with other libraries instead of liblzma.so.5 and Android's liblzma.so. */
enum strobe_status strobe_xz_unpack_by(const char *lzma, const char *sdk, const void *data, size_t bytes, void **out,
                                       size_t *out_bytes, size_t *mapped);

#endif
