/* What the capture half uses of Android's <link.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_LINK_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_LINK_H

#include <elf.h>
#include <sys/types.h>

#ifdef __LP64__
#define ElfW(type) Elf64_##type
#else
#define ElfW(type) Elf32_##type
#endif

struct dl_phdr_info {
    ElfW(Addr) dlpi_addr;
    const char *dlpi_name;
    const ElfW(Phdr) * dlpi_phdr;
    ElfW(Half) dlpi_phnum;
    unsigned long long dlpi_adds, dlpi_subs; /* from API level 30 on; see the callback's size */
    size_t dlpi_tls_modid;
    void *dlpi_tls_data;
};

int dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *), void *ctx);

#endif
