/* Mapped memory: what may be done with it, and making read-only memory writable for a moment.
 *
 * The kernel is asked (/proc/self/maps, proc(5)), since what a file's headers promise and what a loader or another
 * hooker has made of it may differ. Start and end only: it opens a file. */
#ifndef STROBE_BACKEND_ART_MAPPING_H
#define STROBE_BACKEND_ART_MAPPING_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct strobe_mapping {
    uintptr_t start, end;
    int protection; /* PROT_READ | PROT_WRITE | PROT_EXEC, as they apply */
};

/* The mapping that holds an address. STROBE_NO_ENTRY: nothing is mapped there. STROBE_IO: the kernel does not say. */
enum strobe_status strobe_mapping_at(const void *address, struct strobe_mapping *out);

/* Pages that were made writable, to be protected as they were. */
struct strobe_unprotected {
    void *start;
    size_t bytes; /* 0: they were writable all along */
    int protection;
};

/* Makes `bytes` at `address`, and what is around them, writable besides all that they are. They must be of one mapping:
 * STROBE_BAD_INPUT when they are not. STROBE_IO: refused (errno). STROBE_NO_ENTRY: not mapped. */
enum strobe_status strobe_unprotect(void *address, size_t bytes, struct strobe_unprotected *out);

/* STROBE_IO: refused; they stay writable. */
enum strobe_status strobe_protect_again(const struct strobe_unprotected *u);

#endif
