/* Large pages for large blocks of memory. Where the system offers them on request (transparent_hugepage is `madvise`,
 * admin-guide/mm/transhuge of the kernel's documentation), a block of 64 MB then takes 32 page faults instead of 16384.
 * For the reading half and the lab, never the capture half. Any thread. */
#ifndef STROBE_UTIL_LARGE_PAGES_H
#define STROBE_UTIL_LARGE_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { STROBE_LARGE_BLOCK_BYTES = 8 << 20, STROBE_LARGE_PAGE_BYTES = 2 << 20 };

/* Requests large pages for the block, which was allocated just now. Does nothing for small blocks, for NULL, and on
 * systems that have no such request. */
static inline void strobe_prefer_large_pages(void *block, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    uintptr_t begin = ((uintptr_t)block + STROBE_LARGE_PAGE_BYTES - 1) & ~(uintptr_t)(STROBE_LARGE_PAGE_BYTES - 1);
    uintptr_t end = ((uintptr_t)block + bytes) & ~(uintptr_t)(STROBE_LARGE_PAGE_BYTES - 1);
    if (block && bytes >= STROBE_LARGE_BLOCK_BYTES)
        madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#else
    (void)block, (void)bytes;
#endif
}

#endif
