#include "engine/util/array.h"
#include "engine/util/large_pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 16 };

bool strobe_array_grow(void *items, size_t item_bytes, void *capacity, size_t capacity_bytes, size_t needed,
                       bool zeroed)
{
    bool is_short = capacity_bytes == sizeof(uint32_t);
    size_t most = is_short && UINT32_MAX < SIZE_MAX / item_bytes ? UINT32_MAX : SIZE_MAX / item_bytes;
    size_t old_capacity = 0;
    uint32_t short_capacity;
    char *old, *larger;
    memcpy(&old, items, sizeof old);
    memcpy(is_short ? (void *)&short_capacity : &old_capacity, capacity, capacity_bytes);
    if (is_short)
        old_capacity = short_capacity;
    if (needed > most)
        return false;
    size_t more = old_capacity > most / 2 ? most : 2 * old_capacity;
    more = more < FIRST_CAPACITY && FIRST_CAPACITY <= most ? FIRST_CAPACITY : more;
    more = more < needed ? needed : more;
    larger = realloc(old, more * item_bytes);
    if (!larger)
        return false;
    strobe_prefer_large_pages(larger, more * item_bytes);
    if (zeroed)
        memset(larger + old_capacity * item_bytes, 0, (more - old_capacity) * item_bytes);
    short_capacity = (uint32_t)more;
    memcpy(items, &larger, sizeof larger);
    memcpy(capacity, is_short ? (void *)&short_capacity : &more, capacity_bytes);
    return true;
}
