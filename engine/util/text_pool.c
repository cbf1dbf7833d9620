#include "engine/util/text_pool.h"

#include "engine/base/mix.h"
#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 16, FIRST_SLOTS = 256 };

static uint64_t text_pool_hash(const char *text, size_t bytes)
{
    uint64_t h = bytes, word;
    for (; bytes >= 8; text += 8, bytes -= 8) {
        memcpy(&word, text, 8);
        h = strobe_mix_pair(h, word);
    }
    word = 0;
    memcpy(&word, text, bytes);
    return strobe_mix64(strobe_mix_pair(h, word));
}

static int text_pool_double_slots(struct strobe_text_pool *pool)
{
    size_t count = pool->slots ? 2 * (pool->mask + 1) : FIRST_SLOTS;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return 0;
    for (size_t i = 0; i < pool->count; i++) {
        size_t at = (size_t)text_pool_hash(pool->texts[i], strlen(pool->texts[i])) & (count - 1);
        while (slots[at])
            at = (at + 1) & (count - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(pool->slots);
    pool->slots = slots;
    pool->mask = count - 1;
    return 1;
}

/* Copies the text to where it stays. Each block begins with the address of the one before. */
static char *text_pool_copy(struct strobe_text_pool *pool, const char *text, size_t bytes)
{
    if (!pool->block || pool->block_bytes - pool->block_used < bytes + 1) {
        size_t need = sizeof(char *) + bytes + 1, size = need > BLOCK_BYTES ? need : BLOCK_BYTES;
        char *block = malloc(size);
        if (!block)
            return NULL;
        memcpy(block, &pool->block, sizeof(char *));
        pool->block = block;
        pool->block_bytes = size;
        pool->block_used = sizeof(char *);
    }
    char *kept = pool->block + pool->block_used;
    memcpy(kept, text, bytes);
    kept[bytes] = 0;
    pool->block_used += bytes + 1;
    return kept;
}

static int text_pool_append(struct strobe_text_pool *pool, const char *text, size_t bytes)
{
    if (!strobe_array_reserve(&pool->texts, &pool->capacity, pool->count + 1))
        return 0;
    pool->texts[pool->count] = text_pool_copy(pool, text, bytes);
    if (!pool->texts[pool->count])
        return 0;
    pool->count++;
    return 1;
}

uint32_t strobe_text_number(struct strobe_text_pool *pool, const void *text, size_t bytes)
{
    const char *t = text ? text : "";
    const char *nul = memchr(t, 0, bytes);
    if (nul)
        bytes = (size_t)(nul - t);
    if (pool->count >= UINT32_MAX - 1 ||
        ((!pool->slots || pool->count * 4 > pool->mask * 3) && !text_pool_double_slots(pool))) {
        pool->failed = true;
        return UINT32_MAX;
    }
    size_t at = (size_t)text_pool_hash(t, bytes) & pool->mask;
    for (; pool->slots[at]; at = (at + 1) & pool->mask) {
        const char *there = pool->texts[pool->slots[at] - 1];
        if (!strncmp(there, t, bytes) && !there[bytes])
            return pool->slots[at] - 1;
    }
    if (!text_pool_append(pool, t, bytes)) {
        pool->failed = true;
        return UINT32_MAX;
    }
    pool->slots[at] = (uint32_t)pool->count;
    return pool->slots[at] - 1;
}

const char *strobe_text_keep(struct strobe_text_pool *pool, const void *text, size_t bytes)
{
    uint32_t number = strobe_text_number(pool, text, bytes);
    return number == UINT32_MAX ? NULL : pool->texts[number];
}

void strobe_text_pool_free(struct strobe_text_pool *pool)
{
    for (char *block = pool->block, *before; block; block = before) {
        memcpy(&before, block, sizeof before);
        free(block);
    }
    free(pool->texts);
    free(pool->slots);
    *pool = (struct strobe_text_pool){0};
}
