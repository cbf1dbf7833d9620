#include "engine/backend/linux/preload/stack_map.h"

struct strobe_stack_map strobe_process_stacks;

/* The main thread's stack is found by its own means, main_stack.h. */
static bool list_stack(void *ctx, const struct strobe_linux_map *map)
{
    struct strobe_stack_list *l = ctx;
    uint32_t count = strobe_load_relaxed(&l->count);
    if (!map->is_writable || map->path[0] == '/' || count == STROBE_STACK_MAPS_MAX)
        return true;
    strobe_store_relaxed(&l->map[count].low, map->start);
    strobe_store_relaxed(&l->map[count].high, map->end);
    strobe_store_relaxed(&l->count, count + 1);
    return true;
}

void strobe_stack_map_update(struct strobe_stack_map *m,
                             void (*visit_maps)(bool (*visit)(void *ctx, const struct strobe_linux_map *map),
                                                void *ctx))
{
    uint32_t next = strobe_load_relaxed(&m->updates) + 1;
    struct strobe_stack_list *l = &m->list[next % 2];
    strobe_fence_release(); /* a reader that sees what is written now also sees the number of the other list */
    strobe_store_relaxed(&l->count, 0);
    visit_maps(list_stack, l);
    strobe_store_release(&m->updates, next);
}

bool strobe_stack_map_find(const struct strobe_stack_map *m, uint64_t sp, uint64_t *low, uint64_t *high)
{
    uint32_t update = strobe_load_acquire(&m->updates);
    const struct strobe_stack_list *l = &m->list[update % 2];
    uint32_t count = strobe_load_relaxed(&l->count), first = 0, end = count;
    if (!update)
        return false;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (sp >= strobe_load_relaxed(&l->map[middle].high))
            first = middle + 1;
        else
            end = middle;
    }
    if (first == count)
        return false;
    *low = strobe_load_relaxed(&l->map[first].low);
    *high = strobe_load_relaxed(&l->map[first].high);
    strobe_fence_acquire();
    return sp >= *low && sp < *high && strobe_load_relaxed(&m->updates) == update;
}
