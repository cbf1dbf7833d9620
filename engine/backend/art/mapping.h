/* Mapped memory: queries its protection, and makes read-only memory writable for a short time.
 *
 * The functions ask the kernel (/proc/self/maps, proc(5)), because a file's headers may differ from what a loader or
 * another hooker has mapped. They open a file. Start and end only. */
#ifndef STROBE_BACKEND_ART_MAPPING_H
#define STROBE_BACKEND_ART_MAPPING_H

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

/* Restores the protection. STROBE_IO: the kernel refused; the pages stay writable. */
enum strobe_status strobe_protect_again(const struct strobe_unprotected *u);

#endif
