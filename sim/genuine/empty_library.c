/* A shared library that contains only its name, made in memory. At start the runtime opens three of Android's native
 * libraries by name, and calls no function of them that our boot class path would reach. */
#include "sim/genuine/genuine.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NAME_BYTES = 32 };

struct library {
    ElfW(Ehdr) header;
    ElfW(Phdr) segments[3];
    ElfW(Dyn) dynamic[8];
    ElfW(Sym) symbols[1];
    ElfW(Word) hash[4]; /* one bucket, one chain, both empty */
    char names[NAME_BYTES];
};

#define AT(member) offsetof(struct library, member)

static struct library library_named(const char *soname)
{
    const size_t bytes = sizeof(struct library);
    struct library l = {
        .header =
            {
                .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32,
                            ELFDATA2LSB, EV_CURRENT},
                .e_type = ET_DYN,
                .e_version = EV_CURRENT,
                .e_phoff = AT(segments),
                .e_ehsize = sizeof(ElfW(Ehdr)),
                .e_phentsize = sizeof(ElfW(Phdr)),
                .e_phnum = 3,
#ifdef __aarch64__
                .e_machine = EM_AARCH64,
#else
                .e_machine = EM_X86_64,
#endif
            },
        .segments =
            {
                {.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_filesz = bytes, .p_memsz = bytes, .p_align = 65536},
                {.p_type = PT_DYNAMIC,
                 .p_flags = PF_R | PF_W,
                 .p_offset = AT(dynamic),
                 .p_vaddr = AT(dynamic),
                 .p_filesz = sizeof l.dynamic,
                 .p_memsz = sizeof l.dynamic,
                 .p_align = 8},
                {.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W},
            },
        .dynamic =
            {
                {DT_SONAME, {1}},
                {DT_STRTAB, {AT(names)}},
                {DT_STRSZ, {NAME_BYTES}},
                {DT_SYMTAB, {AT(symbols)}},
                {DT_SYMENT, {sizeof(ElfW(Sym))}},
                {DT_HASH, {AT(hash)}},
                {DT_NULL, {0}},
            },
        .hash = {1, 1, 0, 0},
    };
    snprintf(l.names + 1, NAME_BYTES - 1, "%s", soname);
    return l;
}

bool sim_art_open_empty(const char *soname)
{
    struct library l = library_named(soname);
    char path[32];
    int fd = memfd_create(soname, MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd >= 0 && write(fd, &l, sizeof l) == (ssize_t)sizeof l && dlopen(path, RTLD_NOW | RTLD_GLOBAL))
        return true; /* the file stays open: the dynamic linker would take another file of this path for this library */
    if (fd >= 0)
        close(fd);
    return false;
}
