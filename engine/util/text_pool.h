/* Keeps texts, each content once: equal texts have one address and one dense number. Reading half: allocates.
 * Zeroed memory is an empty pool. */
#ifndef STROBE_UTIL_TEXT_POOL_H
#define STROBE_UTIL_TEXT_POOL_H

#include <stddef.h>
#include <stdint.h>

struct strobe_text_pool {
    char **texts; /* by number, in order of first use; count of them */
    size_t count, capacity;
    uint32_t *slots; /* number + 1, or 0; mask + 1 of them */
    size_t mask;
    char *block; /* where the next texts go; earlier blocks are chained before it */
    size_t block_used, block_bytes;
};

/* The number of the text of `bytes` bytes (a NUL inside ends it). UINT32_MAX: out of memory. */
uint32_t strobe_text_number(struct strobe_text_pool *pool, const void *text, size_t bytes);

/* The same, as NUL-terminated text, good as long as the pool. NULL: out of memory. */
const char *strobe_text_keep(struct strobe_text_pool *pool, const void *text, size_t bytes);

void strobe_text_pool_free(struct strobe_text_pool *pool);

#endif
