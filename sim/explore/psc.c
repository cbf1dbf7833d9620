/* Computes psc, with the stores of each place numbered in coherence order. A load has the number of the store that it
 * read. When s happens before t and one of them is a fence, there is an edge: the first step of the path from s, or the
 * last step to t, is in scb. The remaining parts are mo and rb, from an event after a fence to an event before one,
 * which are comparisons of numbers, and so is eco between fences.
 *
 *   access -> access   sb; hb at one place; hb between other places; s before t in number, t a store
 *   access -> fence    hb; the number of s below that of a store before t
 *   fence  -> access   hb; a number after s below that of t, t a store
 *   fence  -> fence    hb; a number after s below one before t, or a store after s that a load before t read */
#include "sim/explore/psc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* For one fence and one place: the numbers after the fence, and before it. */
struct reach {
    uint16_t least_after, least_store_after;                  /* UINT16_MAX: none */
    int32_t most_before, most_store_before, most_load_before; /* -1: none */
};

struct relation {
    const struct explore_graph *g;
    uint16_t number[EXPLORE_EVENTS_MAX]; /* of loads and stores; the initial value is 0 */
    uint16_t sc[EXPLORE_EVENTS_MAX];
    uint32_t sc_count;
    struct reach *reach; /* [sc][place] */
    bool *edge;          /* [sc][sc] */
    size_t reach_room, edge_room;
};

static bool psc_is_before(const struct explore_graph *g, uint16_t a, uint16_t b)
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

static void number_events(struct relation *r)
{
    const struct explore_graph *g = r->g;
    for (uint32_t p = 0; p < g->place_count; p++) {
        uint16_t n = 0;
        for (uint16_t s = g->place[p].first; s != EXPLORE_NOBODY; s = g->event[s].after)
            r->number[s] = ++n;
    }
    r->sc_count = 0;
    for (uint32_t i = 0; i < g->event_count; i++) {
        const struct explore_event *e = &g->event[i];
        if (explore_is_load(e))
            r->number[i] = e->from == EXPLORE_INITIAL ? 0 : r->number[e->from];
        if (e->order == memory_order_seq_cst)
            r->sc[r->sc_count++] = (uint16_t)i;
    }
}

static bool is_fence(const struct relation *r, uint32_t s)
{
    return r->g->event[r->sc[s]].kind == EXPLORE_E_FENCE;
}

static struct reach *reach_of(const struct relation *r, uint32_t s, uint32_t place)
{
    return &r->reach[(size_t)s * r->g->place_count + place];
}

static void note_after(struct reach *at, uint16_t number, bool store)
{
    if (number < at->least_after)
        at->least_after = number;
    if (store && number < at->least_store_after)
        at->least_store_after = number;
}

static void note_before(struct reach *at, uint16_t number, bool store)
{
    int32_t *most = store ? &at->most_store_before : &at->most_load_before;
    if (number > at->most_before)
        at->most_before = number;
    if (number > *most)
        *most = number;
}

static void psc_visit_neighbours(struct relation *r, uint32_t s)
{
    const struct explore_graph *g = r->g;
    uint16_t fence = r->sc[s];
    for (uint32_t p = 0; p < g->place_count; p++)
        *reach_of(r, s, p) = (struct reach){UINT16_MAX, UINT16_MAX, -1, -1, -1};
    for (uint32_t i = 0; i < g->event_count; i++) {
        const struct explore_event *e = &g->event[i];
        if (!at_place(e))
            continue;
        if (psc_is_before(g, fence, (uint16_t)i))
            note_after(reach_of(r, s, e->place), r->number[i], explore_is_store(e));
        else if (psc_is_before(g, (uint16_t)i, fence))
            note_before(reach_of(r, s, e->place), r->number[i], explore_is_store(e));
    }
}

/* sb-to-another-place; hb; sb-to-another-place */
static bool by_other_places(const struct explore_graph *g, const struct explore_event *s, const struct explore_event *t)
{
    uint32_t x = s->number + 1u, y = t->number;
    while (x < g->count[s->thread] && same_place(s, explore_event_of(g, s->thread, x)))
        x++;
    while (y > 0 && same_place(t, explore_event_of(g, t->thread, y - 1)))
        y--;
    return x < g->count[s->thread] && y > 0 && psc_is_before(g, g->index[s->thread][x], g->index[t->thread][y - 1]);
}

static bool leads_to_access(const struct relation *r, uint16_t s, uint16_t t)
{
    const struct explore_graph *g = r->g;
    const struct explore_event *a = &g->event[s], *b = &g->event[t];
    if (a->thread == b->thread)
        return a->number < b->number;
    if (same_place(a, b) && (psc_is_before(g, s, t) || (explore_is_store(b) && r->number[s] < r->number[t])))
        return true;
    return by_other_places(g, a, b);
}

static bool fences_meet(const struct relation *r, uint32_t s, uint32_t t)
{
    for (uint32_t p = 0; p < r->g->place_count; p++) {
        const struct reach *a = reach_of(r, s, p), *b = reach_of(r, t, p);
        if (a->least_after < b->most_before || a->least_store_after <= b->most_load_before)
            return true;
    }
    return false;
}

static bool psc_leads_to(const struct relation *r, uint32_t s, uint32_t t)
{
    const struct explore_graph *g = r->g;
    uint16_t from = r->sc[s], to = r->sc[t];
    const struct explore_event *a = &g->event[from], *b = &g->event[to];
    if (s == t)
        return is_fence(r, s) && fences_meet(r, s, s);
    if (!is_fence(r, s) && !is_fence(r, t))
        return leads_to_access(r, from, to);
    if (psc_is_before(g, from, to))
        return true;
    if (is_fence(r, s) && is_fence(r, t))
        return fences_meet(r, s, t);
    if (is_fence(r, t))
        return r->number[from] < reach_of(r, t, a->place)->most_store_before;
    return explore_is_store(b) && reach_of(r, s, b->place)->least_after < r->number[to];
}

/* Removes operations without predecessors until none is left, or only cycles. */
static bool has_no_cycle(const bool *edge, uint32_t count)
{
    static bool gone[EXPLORE_EVENTS_MAX];
    memset(gone, 0, count);
    for (uint32_t left = count; left;) {
        uint32_t was = left;
        for (uint32_t t = 0; t < count; t++) {
            bool led_to = gone[t];
            for (uint32_t s = 0; s < count && !led_to; s++)
                led_to = !gone[s] && edge[(size_t)s * count + t];
            if (led_to)
                continue;
            gone[t] = true;
            left--;
        }
        if (left == was)
            return false;
    }
    return true;
}

static void *psc_grow_block(void *block, size_t *room, size_t need)
{
    if (need <= *room)
        return block;
    void *more = realloc(block, need);
    if (!more)
        abort();
    *room = need;
    return more;
}

bool explore_psc_holds(const struct explore_graph *g)
{
    static struct relation r;
    r.g = g;
    number_events(&r);
    r.reach = psc_grow_block(r.reach, &r.reach_room, (size_t)r.sc_count * g->place_count * sizeof *r.reach);
    r.edge = psc_grow_block(r.edge, &r.edge_room, (size_t)r.sc_count * r.sc_count);
    for (uint32_t s = 0; s < r.sc_count; s++)
        if (is_fence(&r, s))
            psc_visit_neighbours(&r, s);
    for (uint32_t s = 0; s < r.sc_count; s++)
        for (uint32_t t = 0; t < r.sc_count; t++)
            r.edge[(size_t)s * r.sc_count + t] = psc_leads_to(&r, s, t);
    return has_no_cycle(r.edge, r.sc_count);
}
