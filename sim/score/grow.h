/* Arrays that grow by doubling, for the score's own lists. Any context that may allocate. */
#ifndef STROBE_SIM_SCORE_GROW_H
#define STROBE_SIM_SCORE_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `count` items in the array that the pointer at `array` points to; new items hold anything. False: out
 * of memory, nothing has changed. */
static inline bool sim_grow(void *array, size_t count, size_t *room, size_t item_bytes)
{
    enum { FIRST = 16 };
    if (count <= *room)
        return true;
    size_t more = *room ? *room * 2 : FIRST;
    if (more < count)
        more = count;
    void *old, *bigger = NULL;
    memcpy(&old, array, sizeof old);
    if (more <= SIZE_MAX / item_bytes)
        bigger = realloc(old, more * item_bytes);
    if (!bigger)
        return false;
    memcpy(array, &bigger, sizeof bigger);
    *room = more;
    return true;
}

#endif
