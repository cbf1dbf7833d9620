/* Mapped memory: queries its protection, makes read-only memory writable for a short time, and maps memory near code.
 *
 * The functions that query ask the kernel (/proc/self/maps, proc(5)), because a file's headers may differ from what a
 * loader or another hooker has mapped. They open a file. Start and end only. */
#ifndef STROBE_BACKEND_COMMON_SLOTS_MAPPING_H
#define STROBE_BACKEND_COMMON_SLOTS_MAPPING_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct strobe_mapping {
    uintptr_t start, end;
    int protection; /* PROT_READ | PROT_WRITE | PROT_EXEC, as the kernel applies them */
};

/* Returns the mapping that contains an address. STROBE_NO_ENTRY: the address is not mapped. STROBE_IO: the kernel does
 * not provide the list. */
enum strobe_status strobe_mapping_at(const void *address, struct strobe_mapping *out);

/* Pages that were made writable, and their previous protection. */
struct strobe_unprotected {
    void *start;
    size_t bytes; /* 0: they were writable before */
    int protection;
};

/* Makes `bytes` at `address` writable, in addition to their present protection. The bytes must be in one mapping, else
 * STROBE_BAD_INPUT. STROBE_IO: the kernel refused (errno). STROBE_NO_ENTRY: the address is not mapped. */
enum strobe_status strobe_unprotect(void *address, size_t bytes, struct strobe_unprotected *out);

/* The same, when the mapping that contains the address is known. It opens no file. */
enum strobe_status strobe_unprotect_in(const struct strobe_mapping *m, void *address, size_t bytes,
                                       struct strobe_unprotected *out);

/* Restores the protection. STROBE_IO: the kernel refused; the pages stay writable. */
enum strobe_status strobe_protect_again(const struct strobe_unprotected *u);

enum { STROBE_NEAR_BYTES = 4096 };

/* Maps STROBE_NEAR_BYTES of zeroed memory that begin less than `reach` bytes from `place`, so that a branch in the code
 * at `place` can lead to them. Returns NULL when no address in reach is free. */
void *strobe_map_near(const void *place, size_t reach, int protection);

#endif
