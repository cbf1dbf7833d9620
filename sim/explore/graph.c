#include "sim/explore/graph.h"

#include "engine/base/mix.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

bool explore_graph_open(struct explore_graph *g)
{
    memset(g, 0, sizeof *g);
    g->event = malloc(EXPLORE_EVENTS_MAX * sizeof *g->event);
    g->place = malloc(EXPLORE_PLACES_MAX * sizeof *g->place);
    uint16_t *index = malloc(EXPLORE_THREADS_MAX * EXPLORE_EVENTS_MAX * sizeof *index);
    for (uint32_t i = 0; i < EXPLORE_THREADS_MAX; i++)
        g->index[i] = index ? index + i * EXPLORE_EVENTS_MAX : NULL;
    if (g->event && g->place && index)
        return true;
    explore_graph_close(g);
    return false;
}

void explore_graph_close(struct explore_graph *g)
{
    free(g->event);
    free(g->place);
    free(g->index[0]);
    memset(g, 0, sizeof *g);
}

void explore_graph_clear(struct explore_graph *g)
{
    g->event_count = g->place_count = g->sc_count = 0;
    memset(g->count, 0, sizeof g->count);
}

struct explore_graph *explore_graph_save(const struct explore_graph *g)
{
    size_t events = g->event_count * sizeof *g->event, places = g->place_count * sizeof *g->place;
    size_t head = (sizeof *g + 15) & ~(size_t)15;
    char *block = malloc(head + events + places);
    if (!block)
        return NULL;
    struct explore_graph *copy = (struct explore_graph *)(void *)block;
    *copy = *g;
    copy->event = (struct explore_event *)(void *)(block + head);
    copy->place = (struct explore_place *)(void *)(block + head + events);
    memcpy(copy->event, g->event, events);
    memcpy(copy->place, g->place, places);
    return copy;
}

void explore_graph_load(struct explore_graph *g, const struct explore_graph *saved)
{
    g->event_count = saved->event_count;
    g->place_count = saved->place_count;
    g->sc_count = saved->sc_count;
    memcpy(g->count, saved->count, sizeof g->count);
    memcpy(g->event, saved->event, saved->event_count * sizeof *g->event);
    memcpy(g->place, saved->place, saved->place_count * sizeof *g->place);
    for (uint32_t i = 0; i < g->event_count; i++)
        g->index[g->event[i].thread][g->event[i].number] = (uint16_t)i;
}

static bool event_has_place(const struct explore_event *e)
{
    return e->kind <= EXPLORE_E_UPDATE_STORE;
}

uint16_t explore_graph_add(struct explore_graph *g, const struct explore_event *e)
{
    uint16_t i = (uint16_t)g->event_count++;
    struct explore_event *n = &g->event[i];
    *n = *e;
    n->number = g->count[n->thread]++;
    g->index[n->thread][n->number] = i;
    n->from = n->before = n->after = n->chain = EXPLORE_NOBODY;
    g->sc_count += n->order == memory_order_seq_cst;
    if (!event_has_place(n))
        return i;
    while (g->place_count <= n->place)
        g->place[g->place_count++] = (struct explore_place){EXPLORE_NOBODY, EXPLORE_NOBODY, EXPLORE_NOBODY};
    n->chain = g->place[n->place].chain;
    g->place[n->place].chain = i;
    return i;
}

void explore_graph_retype(struct explore_graph *g, uint16_t event, enum explore_event_kind kind, int order)
{
    struct explore_event *e = &g->event[event];
    g->sc_count -= e->order == memory_order_seq_cst;
    e->kind = (uint8_t)kind;
    e->order = (uint8_t)order;
    g->sc_count += e->order == memory_order_seq_cst;
}

void explore_graph_place(struct explore_graph *g, uint16_t store, uint16_t before)
{
    struct explore_event *e = &g->event[store];
    struct explore_place *p = &g->place[e->place];
    uint16_t after = explore_next_store(g, e->place, before);
    e->before = before;
    e->after = after;
    if (before == EXPLORE_INITIAL)
        p->first = store;
    else
        g->event[before].after = store;
    if (after == EXPLORE_NOBODY)
        p->last = store;
    else
        g->event[after].before = store;
}

void explore_graph_unplace(struct explore_graph *g, uint16_t store)
{
    struct explore_event *e = &g->event[store];
    struct explore_place *p = &g->place[e->place];
    if (e->before == EXPLORE_INITIAL)
        p->first = e->after;
    else
        g->event[e->before].after = e->after;
    if (e->after != EXPLORE_NOBODY)
        g->event[e->after].before = e->before;
    else
        p->last = e->before == EXPLORE_INITIAL ? EXPLORE_NOBODY : e->before;
    e->before = e->after = EXPLORE_NOBODY;
}

static bool order_acquires(int order)
{
    return order == memory_order_acquire || order == memory_order_consume || order == memory_order_acq_rel ||
           order == memory_order_seq_cst;
}

static bool order_releases(int order)
{
    return order == memory_order_release || order == memory_order_acq_rel || order == memory_order_seq_cst;
}

/* RC11: a release sequence continues with later stores of the same thread to the same place. */
static void continue_own_sequence(const struct explore_graph *g, struct explore_event *e)
{
    for (uint16_t i = e->chain; i != EXPLORE_NOBODY; i = g->event[i].chain)
        if (g->event[i].thread == e->thread && explore_is_store(&g->event[i])) {
            explore_clock_join(&e->own, &g->event[i].own);
            return;
        }
}

void explore_graph_clock(struct explore_graph *g, uint16_t event)
{
    static const struct explore_clock nothing;
    struct explore_event *e = &g->event[event];
    const struct explore_event *last = e->number ? explore_event_of(g, e->thread, e->number - 1u) : NULL;
    e->hb = last ? last->hb : nothing;
    e->porf = last ? last->porf : nothing;
    e->heard = last ? last->heard : nothing;
    e->said = last ? last->said : nothing;
    e->message = e->own = nothing;
    e->hb.of[e->thread] = e->porf.of[e->thread] = (uint16_t)(e->number + 1);
    if (explore_is_load(e) && e->from != EXPLORE_INITIAL) {
        const struct explore_event *w = &g->event[e->from];
        explore_clock_join(&e->porf, &w->porf);
        explore_clock_join(&e->heard, &w->message);
        if (order_acquires(e->order))
            explore_clock_join(&e->hb, &w->message);
    } else if (e->kind == EXPLORE_E_FENCE) {
        if (order_acquires(e->order))
            explore_clock_join(&e->hb, &e->heard);
        if (order_releases(e->order))
            e->said = e->hb;
    } else if (explore_is_store(e)) {
        e->own = order_releases(e->order) ? e->hb : e->said;
        continue_own_sequence(g, e);
        e->message = e->own;
        if (e->kind == EXPLORE_E_UPDATE_STORE && last->from != EXPLORE_INITIAL)
            explore_clock_join(&e->message, &g->event[last->from].message);
    }
}

uint16_t explore_graph_restrict(struct explore_graph *g, const bool *keep, uint16_t follow)
{
    static uint16_t to[EXPLORE_EVENTS_MAX];
    uint32_t kept = 0, count = g->event_count;
    for (uint32_t i = 0; i < count; i++)
        if (!keep[i] && explore_is_store(&g->event[i]) && g->event[i].before != EXPLORE_NOBODY)
            explore_graph_unplace(g, (uint16_t)i);
    for (uint32_t i = 0; i < count; i++)
        to[i] = keep[i] ? (uint16_t)kept++ : EXPLORE_NOBODY;
    memset(g->count, 0, sizeof g->count);
    g->sc_count = 0;
    for (uint32_t p = 0; p < g->place_count; p++) {
        struct explore_place *place = &g->place[p];
        if (place->first != EXPLORE_NOBODY)
            place->first = to[place->first];
        if (place->last != EXPLORE_NOBODY)
            place->last = to[place->last];
        place->chain = EXPLORE_NOBODY;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!keep[i])
            continue;
        struct explore_event *e = &g->event[to[i]];
        *e = g->event[i];
        if (e->from < EXPLORE_NOBODY)
            e->from = to[e->from];
        if (e->before < EXPLORE_NOBODY)
            e->before = to[e->before];
        if (e->after < EXPLORE_NOBODY)
            e->after = to[e->after];
        g->index[e->thread][e->number] = to[i];
        g->count[e->thread]++;
        g->sc_count += e->order == memory_order_seq_cst;
        if (event_has_place(e)) {
            e->chain = g->place[e->place].chain;
            g->place[e->place].chain = to[i];
        }
    }
    g->event_count = kept;
    return to[follow];
}

static uint64_t graph_event_name(const struct explore_graph *g, uint16_t event)
{
    if (event >= EXPLORE_NOBODY)
        return event;
    return (uint64_t)g->event[event].thread << 32 | g->event[event].number;
}

uint64_t explore_graph_hash(const struct explore_graph *g)
{
    uint64_t sum = g->event_count;
    for (uint32_t i = 0; i < g->event_count; i++) {
        const struct explore_event *e = &g->event[i];
        uint64_t h = strobe_mix_pair(graph_event_name(g, (uint16_t)i), (uint64_t)e->kind << 32 | e->place);
        h = strobe_mix_pair(h, e->value);
        h = strobe_mix_pair(h, graph_event_name(g, explore_is_load(e) ? e->from : EXPLORE_NOBODY));
        h = strobe_mix_pair(h, graph_event_name(g, explore_is_store(e) ? e->before : EXPLORE_NOBODY));
        sum += strobe_mix64(h);
    }
    return sum;
}
