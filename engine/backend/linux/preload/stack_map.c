#include "engine/backend/linux/preload/stack_map.h"

#include "engine/backend/linux/maps.h"
#include "engine/base/atomic.h"

struct stack_list {
    uint32_t count;
    struct {
        uint64_t low, high;
    } map[STROBE_STACK_MAPS_MAX];
};

static struct stack_list lists[2];
static strobe_a32 updates; /* the list updates % 2 is valid; 0: none is */

/* The main thread's stack is found by its own means, main_stack.h. */
static bool list_stack(void *ctx, const struct strobe_linux_map *map)
{
    struct stack_list *l = ctx;
    if (!map->is_writable || map->path[0] == '/' || l->count == STROBE_STACK_MAPS_MAX)
        return true;
    l->map[l->count].low = map->start;
    l->map[l->count++].high = map->end;
    return true;
}

void strobe_stack_map_update(void)
{
    uint32_t next = strobe_load_relaxed(&updates) + 1;
    struct stack_list *l = &lists[next % 2];
    strobe_fence_release(); /* a reader that sees what is written now also sees the number of the other list */
    l->count = 0;
    strobe_linux_visit_maps(list_stack, l);
    strobe_store_release(&updates, next);
}

bool strobe_stack_map_find(uint64_t sp, uint64_t *low, uint64_t *high)
{
    uint32_t update = strobe_load_acquire(&updates);
    const struct stack_list *l = &lists[update % 2];
    uint32_t first = 0, end = l->count < STROBE_STACK_MAPS_MAX ? l->count : STROBE_STACK_MAPS_MAX;
    if (!update)
        return false;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (sp >= l->map[middle].high)
            first = middle + 1;
        else
            end = middle;
    }
    if (first >= STROBE_STACK_MAPS_MAX)
        return false;
    *low = l->map[first].low;
    *high = l->map[first].high;
    strobe_fence_seq_cst();
    return first < l->count && sp >= *low && sp < *high && strobe_load_relaxed(&updates) == update;
}
