/* A hash map from texts to dense numbers, which keeps a copy of each text. Equal texts have one address and one number;
 * numbers count from 0 in order of first use. Zeroed memory is an empty pool.
 *
 * Allocates. Different threads may use different pools. For the reading half and the lab, never the capture half. */
#ifndef STROBE_UTIL_TEXT_POOL_H
#define STROBE_UTIL_TEXT_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strobe_text_pool {
    char **texts; /* by number, in order of first use; count of them */
    size_t count, capacity;
    uint32_t *slots; /* number + 1, or 0; mask + 1 of them */
    size_t mask;
    char *block; /* takes the next texts; it begins with the address of the block before it */
    size_t block_used, block_bytes;
    bool failed; /* memory has run out for some text */
};

/* Returns the number of the text of `bytes` bytes (a NUL inside ends it). UINT32_MAX: out of memory. */
uint32_t strobe_text_number(struct strobe_text_pool *pool, const void *text, size_t bytes);

/* Returns the pool's copy of the text, which ends with NUL and lives as long as the pool. NULL: out of memory. */
const char *strobe_text_keep(struct strobe_text_pool *pool, const void *text, size_t bytes);

void strobe_text_pool_free(struct strobe_text_pool *pool);

#endif
