#include "sim/explore/psc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A set of events, and the list of those of order seq_cst. */
struct relation {
    const struct explore_graph *g;
    uint16_t sc[EXPLORE_EVENTS_MAX];
    uint32_t sc_count;
    bool reached[EXPLORE_EVENTS_MAX];
};

static bool before(const struct explore_graph *g, uint16_t a, uint16_t b)
{
    return a != b && explore_within(&g->event[a], &g->event[b].hb);
}

static bool at_place(const struct explore_event *e)
{
    return e->kind <= EXPLORE_E_UPDATE_STORE;
}

static bool same_place(const struct explore_event *a, const struct explore_event *b)
{
    return at_place(a) && at_place(b) && a->place == b->place;
}

/* Marks the stores that come after `store` in coherence order. */
static void reach_later_stores(struct relation *r, uint16_t place, uint16_t store)
{
    for (uint16_t s = explore_next_store(r->g, place, store); s != EXPLORE_NOBODY; s = r->g->event[s].after)
        r->reached[s] = true;
}

/* Marks what sb-to-another-place; hb; sb-to-another-place leads to from e. */
static void reach_by_other_places(struct relation *r, const struct explore_event *e)
{
    const struct explore_graph *g = r->g;
    uint32_t k = e->number + 1u;
    while (k < g->count[e->thread] && same_place(e, explore_event_of(g, e->thread, k))) k++;
    if (k == g->count[e->thread]) return;
    uint16_t x = g->index[e->thread][k];
    for (uint32_t t = 0; t < EXPLORE_THREADS_MAX; t++) {
        uint32_t y = 0;
        while (y < g->count[t] && !before(g, x, g->index[t][y])) y++;
        if (y == g->count[t]) continue;
        const struct explore_event *first = explore_event_of(g, t, y);
        bool other = false;
        for (uint32_t z = y + 1; z < g->count[t]; z++) {
            other |= !same_place(first, explore_event_of(g, t, z));
            if (other) r->reached[g->index[t][z]] = true;
        }
    }
}

static void reach_by_scb(struct relation *r, uint16_t event)
{
    const struct explore_graph *g = r->g;
    const struct explore_event *e = &g->event[event];
    for (uint32_t k = e->number + 1u; k < g->count[e->thread]; k++) r->reached[g->index[e->thread][k]] = true;
    reach_by_other_places(r, e);
    if (!at_place(e)) return;
    for (uint16_t i = g->place[e->place].chain; i != EXPLORE_NOBODY; i = g->event[i].chain)
        if (before(g, event, i)) r->reached[i] = true;
    reach_later_stores(r, e->place, explore_is_store(e) ? event : e->from);
}

/* Marks what eco leads to from e: stores after it, and the loads that read it or those. */
static void reach_by_eco(struct relation *r, uint16_t event)
{
    const struct explore_graph *g = r->g;
    const struct explore_event *e = &g->event[event];
    if (!at_place(e)) return;
    bool store = explore_is_store(e);
    reach_later_stores(r, e->place, store ? event : e->from);
    for (uint16_t i = g->place[e->place].chain; i != EXPLORE_NOBODY; i = g->event[i].chain) {
        const struct explore_event *o = &g->event[i];
        if (!explore_is_load(o)) continue;
        if (store && o->from == event) r->reached[i] = true;
        for (uint16_t s = explore_next_store(g, e->place, store ? event : e->from); s != EXPLORE_NOBODY;
             s = g->event[s].after)
            if (o->from == s) r->reached[i] = true;
    }
}

static bool is_fence(const struct relation *r, uint16_t event)
{
    return r->g->event[event].kind == EXPLORE_E_FENCE;
}

/* Marks in edge[] which of the SC operations psc leads to from the one of number `s`. */
static void edges_of(struct relation *r, uint32_t s, bool *edge)
{
    const struct explore_graph *g = r->g;
    uint16_t from = r->sc[s];
    memset(r->reached, 0, g->event_count);
    reach_by_scb(r, from);
    if (is_fence(r, from))
        for (uint32_t i = 0; i < g->event_count; i++)
            if (before(g, from, (uint16_t)i)) reach_by_scb(r, (uint16_t)i);
    for (uint32_t t = 0; t < r->sc_count; t++) {
        uint16_t to = r->sc[t];
        edge[t] = r->reached[to];
        for (uint32_t i = 0; is_fence(r, to) && !edge[t] && i < g->event_count; i++)
            edge[t] = r->reached[i] && before(g, (uint16_t)i, to);
    }
    if (!is_fence(r, from)) return;
    memset(r->reached, 0, g->event_count);
    for (uint32_t i = 0; i < g->event_count; i++)
        if (before(g, from, (uint16_t)i)) reach_by_eco(r, (uint16_t)i);
    for (uint32_t t = 0; t < r->sc_count; t++) {
        uint16_t to = r->sc[t];
        if (!is_fence(r, to) || edge[t]) continue;
        edge[t] = before(g, from, to);
        for (uint32_t i = 0; !edge[t] && i < g->event_count; i++)
            edge[t] = r->reached[i] && before(g, (uint16_t)i, to);
    }
}

/* Takes away operations that nothing leads to until none is left, or only cycles. */
static bool has_no_cycle(const bool *edge, uint32_t count)
{
    static bool gone[EXPLORE_EVENTS_MAX];
    memset(gone, 0, count);
    for (uint32_t left = count; left;) {
        uint32_t was = left;
        for (uint32_t t = 0; t < count; t++) {
            bool led_to = gone[t];
            for (uint32_t s = 0; s < count && !led_to; s++) led_to = !gone[s] && edge[s * count + t];
            if (led_to) continue;
            gone[t] = true;
            left--;
        }
        if (left == was) return false;
    }
    return true;
}

bool explore_psc_holds(const struct explore_graph *g)
{
    static struct relation r;
    static bool *edge;
    static size_t room;
    r.g = g;
    r.sc_count = 0;
    for (uint32_t i = 0; i < g->event_count; i++)
        if (g->event[i].order == memory_order_seq_cst) r.sc[r.sc_count++] = (uint16_t)i;
    size_t need = (size_t)r.sc_count * r.sc_count;
    if (need > room) {
        bool *more = realloc(edge, need);
        if (!more) abort();
        edge = more;
        room = need;
    }
    for (uint32_t s = 0; s < r.sc_count; s++) edges_of(&r, s, edge + (size_t)s * r.sc_count);
    return has_no_cycle(edge, r.sc_count);
}
