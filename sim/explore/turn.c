#include "sim/explore/turn.h"

#include "engine/base/mix.h"

bool explore_is_silent(const struct explore_graph *g, uint32_t thread, uint32_t number)
{
    const struct explore_event *e = explore_event_of(g, thread, number);
    return !explore_is_store(e) ||
           (e->kind == EXPLORE_E_UPDATE_STORE && explore_event_of(g, thread, number - 1)->value == e->value);
}

/* Returns the store whose value the thread's own silent updates have passed on. */
static uint16_t silent_update_origin(const struct explore_graph *g, uint32_t thread, uint16_t from)
{
    while (from < EXPLORE_NOBODY && g->event[from].thread == thread && explore_is_store(&g->event[from]) &&
           explore_is_silent(g, thread, g->event[from].number))
        from = explore_event_of(g, thread, g->event[from].number - 1u)->from;
    return from;
}

uint64_t explore_what_was_read(const struct explore_graph *g, uint32_t thread, uint32_t from)
{
    uint64_t hash = 1;
    for (uint32_t k = from; k < g->count[thread]; k++) {
        const struct explore_event *e = explore_event_of(g, thread, k);
        if (explore_is_load(e))
            hash = strobe_mix_pair(hash, (uint64_t)e->place << 32 | silent_update_origin(g, thread, e->from)) | 1;
    }
    return hash;
}
