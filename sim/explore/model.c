#include "sim/explore/model.h"

#include "sim/explore/psc.h"

#include <stdatomic.h>

/* ---- what an event must see */

/* Numbers the stores of a place by their coherence order, from 1; the initial value has 0. */
static uint32_t store_rank_of(const struct explore_graph *g, uint16_t place, uint16_t store)
{
    uint32_t rank = 0;
    if (store == EXPLORE_INITIAL)
        return 0;
    for (uint16_t s = g->place[place].first; s != store; s = g->event[s].after)
        rank++;
    return rank + 1;
}

/* Returns the rank of the latest store that precedes `event`, or was read, by happens-before. */
static uint32_t known_rank(const struct explore_graph *g, uint16_t event)
{
    const struct explore_event *e = &g->event[event];
    uint16_t known[EXPLORE_THREADS_MAX];
    uint32_t count = 0, most = 0;
    uint32_t seen = 0;
    /* The chain runs backwards. For each thread, the first event met that precedes this one decides, for loads and
     * stores alike, by coherence. */
    for (uint16_t i = e->chain; i != EXPLORE_NOBODY; i = g->event[i].chain) {
        const struct explore_event *o = &g->event[i];
        if (seen >> o->thread & 1 || !explore_within(o, &e->hb))
            continue;
        seen |= 1u << o->thread;
        known[count++] = explore_is_store(o) ? i : o->from;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = store_rank_of(g, e->place, known[i]);
        most = rank > most ? rank : most;
    }
    return most;
}

/* ---- cycles */

struct search {
    struct explore_graph *g;
    enum explore_memory memory;
    bool one_place; /* TSO: each place by itself */
    uint16_t goal;
    uint16_t stack[EXPLORE_EVENTS_MAX];
    uint32_t depth;
};
static uint32_t seen[EXPLORE_EVENTS_MAX], turn;

static bool model_visit_event(struct search *s, uint16_t event)
{
    if (event >= EXPLORE_NOBODY)
        return false;
    if (event == s->goal)
        return true;
    if (seen[event] == turn)
        return false;
    seen[event] = turn;
    s->stack[s->depth++] = event;
    return false;
}

static bool empties_buffer(const struct explore_event *e)
{
    return e->kind == EXPLORE_E_UPDATE_STORE || e->locked ||
           (e->order == memory_order_seq_cst && (e->kind == EXPLORE_E_STORE || e->kind == EXPLORE_E_FENCE));
}

/* Pushes the thread's next events that stay ordered after e. Returns true when one is the goal. Under TSO loads
 * overtake stores that wait in the buffer: a load is not ordered after such a store, but events before the store may
 * order later loads. */
static bool visit_next(struct search *s, const struct explore_event *e)
{
    const struct explore_graph *g = s->g;
    bool waits = s->memory == EXPLORE_TSO && e->kind == EXPLORE_E_STORE && !empties_buffer(e);
    for (uint32_t k = e->number + 1u; k < g->count[e->thread]; k++) {
        const struct explore_event *n = explore_event_of(g, e->thread, k);
        bool next_waits = s->memory == EXPLORE_TSO && n->kind == EXPLORE_E_STORE && !empties_buffer(n);
        if (waits && !explore_is_store(n) && !empties_buffer(n))
            continue;
        if (model_visit_event(s, g->index[e->thread][k]))
            return true;
        if (waits || !next_waits)
            return false;
    }
    return false;
}

static uint16_t next_at_place(const struct search *s, const struct explore_event *e)
{
    const struct explore_graph *g = s->g;
    for (uint32_t k = e->number + 1u; k < g->count[e->thread]; k++) {
        const struct explore_event *n = explore_event_of(g, e->thread, k);
        if (n->kind <= EXPLORE_E_UPDATE_STORE && n->place == e->place)
            return g->index[e->thread][k];
    }
    return EXPLORE_NOBODY;
}

/* Pushes the direct successors of `event`. Returns true when one is the goal. */
static bool model_search_from(struct search *s, uint16_t event)
{
    struct explore_graph *g = s->g;
    const struct explore_event *e = &g->event[event];
    if (s->one_place ? model_visit_event(s, next_at_place(s, e)) : visit_next(s, e))
        return true;
    if (explore_is_load(e))
        return e->from != EXPLORE_NOBODY && model_visit_event(s, explore_next_store(g, e->place, e->from));
    if (!explore_is_store(e))
        return false;
    if (model_visit_event(s, e->after))
        return true;
    for (uint16_t i = g->place[e->place].chain; i != EXPLORE_NOBODY; i = g->event[i].chain) {
        const struct explore_event *r = &g->event[i];
        if (!explore_is_load(r) || r->from != event)
            continue;
        if (s->memory == EXPLORE_TSO && !s->one_place && r->thread == e->thread)
            continue;
        if (model_visit_event(s, i))
            return true;
    }
    return false;
}

/* Returns true when a path leads from the event back to itself. The load of an update, which reads the store right
 * before its own store, has an edge to that store only. */
static bool on_cycle(struct explore_graph *g, enum explore_memory memory, bool one_place, uint16_t event)
{
    static struct search s;
    s.g = g;
    s.memory = memory;
    s.one_place = one_place;
    s.goal = event;
    s.depth = 0;
    turn++;
    if (model_search_from(&s, event))
        return true;
    while (s.depth)
        if (model_search_from(&s, s.stack[--s.depth]))
            return true;
    return false;
}

static bool event_is_ordered(struct explore_graph *g, enum explore_memory memory, uint16_t event)
{
    if (memory == EXPLORE_SC)
        return !on_cycle(g, memory, false, event);
    return !on_cycle(g, memory, true, event) && !on_cycle(g, memory, false, event);
}

/* ---- loads and stores */

/* Computes the clocks of a load without an edge: what it knows by program order. */
static void clock_alone(struct explore_graph *g, uint16_t event)
{
    g->event[event].from = EXPLORE_INITIAL;
    explore_graph_clock(g, event);
    g->event[event].from = EXPLORE_NOBODY;
}

uint32_t explore_model_loads(struct explore_graph *g, enum explore_memory memory, uint16_t event, uint16_t *from)
{
    struct explore_event *e = &g->event[event];
    const struct explore_place *p = &g->place[e->place];
    uint32_t count = 0;
    clock_alone(g, event);
    if (memory == EXPLORE_C11) {
        uint32_t least = known_rank(g, event);
        uint32_t rank = p->last == EXPLORE_NOBODY ? 0 : store_rank_of(g, e->place, p->last);
        uint16_t s = p->last == EXPLORE_NOBODY ? EXPLORE_INITIAL : p->last;
        for (;; rank--, s = g->event[s].before) {
            from[count++] = s;
            if (rank == least)
                return count;
        }
    }
    for (uint16_t s = p->last == EXPLORE_NOBODY ? EXPLORE_INITIAL : p->last;; s = g->event[s].before) {
        e->from = s;
        if (event_is_ordered(g, memory, event))
            from[count++] = s;
        e->from = EXPLORE_NOBODY;
        if (s == EXPLORE_INITIAL)
            return count;
    }
}

bool explore_model_load_holds(struct explore_graph *g, enum explore_memory memory, uint16_t event)
{
    struct explore_event *e = &g->event[event];
    uint16_t from = e->from;
    if (memory != EXPLORE_C11)
        return event_is_ordered(g, memory, event);
    struct explore_clock was = e->hb;
    clock_alone(g, event);
    bool holds = store_rank_of(g, e->place, from) >= known_rank(g, event);
    e->from = from;
    e->hb = was;
    return holds;
}

/* Returns true when an update reads `store`, with its own store right after it. */
static bool is_taken(const struct explore_graph *g, uint16_t place, uint16_t store)
{
    uint16_t next = explore_next_store(g, place, store);
    if (next == EXPLORE_NOBODY || g->event[next].kind != EXPLORE_E_UPDATE_STORE)
        return false;
    const struct explore_event *n = &g->event[next];
    return explore_event_of(g, n->thread, n->number - 1u)->from == store;
}

static bool may_stand(struct explore_graph *g, enum explore_memory memory, uint16_t event, uint16_t before,
                      uint32_t least)
{
    uint16_t place = g->event[event].place;
    if (is_taken(g, place, before))
        return false;
    if (memory == EXPLORE_C11)
        return store_rank_of(g, place, before) >= least;
    explore_graph_place(g, event, before);
    bool holds = event_is_ordered(g, memory, event);
    explore_graph_unplace(g, event);
    return holds;
}

uint32_t explore_model_places(struct explore_graph *g, enum explore_memory memory, uint16_t event, uint16_t *before)
{
    struct explore_event *e = &g->event[event];
    const struct explore_place *p = &g->place[e->place];
    explore_graph_clock(g, event);
    uint32_t least = memory == EXPLORE_C11 ? known_rank(g, event) : 0, count = 0;
    if (e->kind == EXPLORE_E_UPDATE_STORE) {
        uint16_t read = explore_event_of(g, e->thread, e->number - 1u)->from;
        before[0] = read;
        return may_stand(g, memory, event, read, least);
    }
    for (uint16_t s = p->last == EXPLORE_NOBODY ? EXPLORE_INITIAL : p->last;; s = g->event[s].before) {
        if (may_stand(g, memory, event, s, least))
            before[count++] = s;
        if (s == EXPLORE_INITIAL)
            return count;
    }
}

bool explore_model_holds(const struct explore_graph *g, enum explore_memory memory)
{
    return memory != EXPLORE_C11 || g->sc_count < 2 || explore_psc_holds(g);
}
