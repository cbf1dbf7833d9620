#include "sim/explore/line.h"

#include "sim/explore/sharing.h"

#include <stdlib.h>

enum { NONE = EXPLORE_THREADS_MAX };

struct line {
    const struct explore_graph *g;
    uint32_t taken[EXPLORE_THREADS_MAX];
    uint32_t *step_of; /* step of an event that is in the line already */
    struct explore_step *step;
    uint32_t count;
};

static bool line_has_event(const struct line *l, uint16_t event)
{
    return event >= EXPLORE_NOBODY || l->step_of[event] != UINT32_MAX;
}

/* Returns the latest store of the place in the line. */
static uint16_t line_latest_store(const struct line *l, uint16_t place)
{
    uint16_t s = l->g->place[place].last;
    while (s < EXPLORE_NOBODY && !line_has_event(l, s))
        s = l->g->event[s].before;
    return s == EXPLORE_NOBODY ? EXPLORE_INITIAL : s;
}

static bool may_come(const struct line *l, const struct explore_event *e)
{
    return !explore_is_load(e) || line_has_event(l, e->from);
}

/* Returns true when no load that is still missing reads a store that this store would follow. */
static bool store_fits(const struct line *l, const struct explore_event *e)
{
    const struct explore_graph *g = l->g;
    if (e->before < EXPLORE_NOBODY && !line_has_event(l, e->before))
        return false;
    for (uint16_t i = g->place[e->place].chain; i != EXPLORE_NOBODY; i = g->event[i].chain) {
        const struct explore_event *r = &g->event[i];
        bool own = e->kind == EXPLORE_E_UPDATE_STORE && r->thread == e->thread && r->number + 1 == e->number;
        if (explore_is_load(r) && !own && !line_has_event(l, i) && r->from == e->before)
            return false;
    }
    return true;
}

/* Returns true when the event can be added without making any load read an old store. */
static bool line_fits_event(const struct line *l, const struct explore_event *e)
{
    const struct explore_graph *g = l->g;
    if (!may_come(l, e))
        return false;
    if (explore_is_load(e) && line_latest_store(l, e->place) != e->from)
        return false;
    if (e->kind == EXPLORE_E_UPDATE_LOAD && e->number + 1u < g->count[e->thread])
        return store_fits(l, explore_event_of(g, e->thread, e->number + 1u));
    return !explore_is_store(e) || store_fits(l, e);
}

static uint32_t line_choose_thread(const struct line *l, uint32_t last)
{
    const struct explore_graph *g = l->g;
    uint32_t fallback = NONE;
    for (uint32_t k = 0; k <= EXPLORE_THREADS_MAX; k++) {
        uint32_t t = k == 0 ? last : k - 1;
        if (t == NONE || l->taken[t] == g->count[t])
            continue;
        const struct explore_event *e = explore_event_of(g, t, l->taken[t]);
        if (line_fits_event(l, e))
            return t;
        if (fallback == NONE && may_come(l, e))
            fallback = t;
    }
    return fallback;
}

static enum explore_operation operation_of(const struct explore_event *e)
{
    switch (e->kind) {
    case EXPLORE_E_STORE: return EXPLORE_STORE;
    case EXPLORE_E_UPDATE_LOAD: return EXPLORE_UPDATE;
    case EXPLORE_E_FENCE: return EXPLORE_FENCE;
    case EXPLORE_E_CHOICE: return EXPLORE_CHOICE;
    default: return EXPLORE_LOAD;
    }
}

static void line_take_step(struct line *l, uint32_t thread)
{
    const struct explore_graph *g = l->g;
    uint16_t i = g->index[thread][l->taken[thread]++];
    const struct explore_event *e = &g->event[i];
    struct explore_step *s = &l->step[l->count];
    *s = (struct explore_step){.thread = thread,
                               .number = e->number,
                               .operation = operation_of(e),
                               .order = e->order,
                               .site = e->site.code,
                               .text = e->site.text,
                               .bytes = e->bytes,
                               .value = e->value,
                               .from = UINT32_MAX,
                               .after = UINT32_MAX};
    if (e->kind <= EXPLORE_E_UPDATE_STORE)
        explore_place_name(explore_variable_of(e->place)->at, s->place, sizeof s->place);
    if (explore_is_load(e)) {
        s->old = e->value;
        s->stale = line_latest_store(l, e->place) != e->from;
        if (e->from < EXPLORE_NOBODY)
            s->from = l->step_of[e->from];
    }
    l->step_of[i] = l->count;
    if (e->kind == EXPLORE_E_UPDATE_LOAD && l->taken[thread] < g->count[thread]) {
        uint16_t second = g->index[thread][l->taken[thread]++];
        s->value = g->event[second].value;
        l->step_of[second] = l->count;
    }
    l->count++;
}

/* Sets, for all stores in the line, the store before each in the order of its place. */
static void join_stores(struct line *l)
{
    for (uint32_t i = 0; i < l->g->event_count; i++) {
        const struct explore_event *e = &l->g->event[i];
        if (explore_is_store(e) && e->before < EXPLORE_NOBODY)
            l->step[l->step_of[i]].after = l->step_of[e->before];
    }
}

/* Sets for each step when it was run. */
static void store_run_order(const struct line *l, const uint16_t *ran, uint32_t ran_count)
{
    for (uint32_t i = 0; i < l->count; i++)
        l->step[i].when = UINT32_MAX;
    for (uint32_t k = ran_count; k-- > 0;)
        if (l->step_of[ran[k]] < l->count)
            l->step[l->step_of[ran[k]]].when = k;
}

bool explore_line_up(const struct explore_graph *g, const uint16_t *ran, uint32_t ran_count, struct explore_step **step,
                     uint32_t *count)
{
    struct line l = {.g = g};
    l.step = malloc((g->event_count + 1) * sizeof *l.step);
    l.step_of = malloc((g->event_count + 1) * sizeof *l.step_of);
    bool held = l.step && l.step_of;
    for (uint32_t i = 0; held && i < g->event_count; i++)
        l.step_of[i] = UINT32_MAX;
    for (uint32_t t = held ? line_choose_thread(&l, NONE) : NONE; t != NONE; t = line_choose_thread(&l, t))
        line_take_step(&l, t);
    if (held) {
        join_stores(&l);
        store_run_order(&l, ran, ran_count);
    }
    free(l.step_of);
    if (!held) {
        free(l.step);
        return false;
    }
    *step = l.step;
    *count = l.count;
    return true;
}
