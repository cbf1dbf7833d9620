/* The slots of a loaded library: the words of its global offset tables, and of its data, that the dynamic linker fills
 * with addresses of functions.
 *
 *   relocation   in                       a slot is
 *   ----------   ----------------------   -----------------------------------------------------------------
 *   JUMP_SLOT    DT_JMPREL                read by calls; with lazy binding, filled in by its first call
 *   GLOB_DAT     DT_REL, DT_RELA, APS2    read by calls without a procedure linkage table
 *   absolute     DT_REL, DT_RELA, APS2    a pointer in data, such as in a table of functions
 *
 * APS2 (DT_ANDROID_REL, DT_ANDROID_RELA) is Android's compression of the two tables. DT_RELR names no symbols, so it
 * has no slots. 32-bit ABIs use tables without addends (REL), 64-bit ABIs tables with addends (RELA); both are read
 * wherever they are. A relocation with an addend points behind its symbol and is no slot.
 *
 * Sources: System V ABI (gABI) chapter 5, its supplements for each processor, and bionic's linker_reloc_iterators.h.
 * The tables of a library are checked against its segments before they are read. In a callback of dl_iterate_phdr: the
 * loader's lock keeps the library loaded. */
#ifndef STROBE_BACKEND_COMMON_SLOTS_ELF_SLOTS_H
#define STROBE_BACKEND_COMMON_SLOTS_ELF_SLOTS_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strobe_elf_table {
    uintptr_t at;
    size_t bytes;
    bool addends, packed;
};

enum { STROBE_ELF_TABLES = 5 };

/* The parts of a library's dynamic section. */
struct strobe_elf_dynamic {
    const struct dl_phdr_info *info;
    const ElfW(Dyn) * entries;
    size_t entry_count;
    uintptr_t symbols;
    const char *names;
    size_t names_bytes;
    const char *soname; /* its soname, else the last part of its path */
    struct strobe_elf_table table[STROBE_ELF_TABLES];
};

struct strobe_elf_slot {
    void **at;
    const char *name; /* of the function */
    void *value;      /* not NULL */
    bool is_call;     /* JUMP_SLOT: calls read it, and nothing else */
    bool bound;       /* false: the value leads to the loader, which binds the slot at its first call */
};

/* Returns false when the library has no symbol table, and therefore no slots. */
bool strobe_elf_dynamic(const struct dl_phdr_info *info, struct strobe_elf_dynamic *out);

/* Calls `visit` for each slot. Tables may overlap: the same slot may come twice. */
void strobe_elf_slots(const struct strobe_elf_dynamic *d, void (*visit)(void *ctx, const struct strobe_elf_slot *slot),
                      void *ctx);

/* Returns true when the address is in one of the library's segments. */
bool strobe_elf_contains(const struct dl_phdr_info *info, uintptr_t at, size_t bytes);

#endif
