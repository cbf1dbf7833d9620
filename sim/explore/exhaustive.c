/* TruSt: every execution graph once, with memory for one path (Kokologiannakis, Marmanis, Gladstein, Vafeiadis, POPL
 * 2022, algorithm 1).
 *
 * Events are added one by one. A load is tried with each store that it may read, a store at each place in its order. In
 * addition, for each load of the place that does not precede the store by program order and reads-from, the graph is
 * tried in which that load reads the store. This is a revisit: it removes all events that were added since the load and
 * do not lead to the store. Several paths can lead to such a graph. The one that counts is the path on which all
 * removed events had been added maximally: each load reads the latest store, and each store is the latest itself. So no
 * graph is met twice, and none must be remembered.
 *
 * Graphs that remain to be explored are on a stack, as copies. */
#include "engine/util/array.h"
#include "sim/explore/strategy.h"

#include "sim/explore/model.h"

#include <stdlib.h>
#include <string.h>

struct item {
    struct explore_graph *graph;
    double share; /* of all executions: each alternative of a fork gets the same share */
};

struct explore_strategy_state {
    struct explore_chooser chooser;
    enum explore_memory memory;
    struct item *stack;
    uint32_t count, room;
    double share, done;
    bool begun, starved;
    struct explore_graph scratch;
};

static void exhaustive_push_graph(struct explore_strategy_state *s, const struct explore_graph *g)
{
    if (!strobe_array_reserve(&s->stack, &s->room, s->count + 1)) {
        s->starved = true;
        return;
    }
    struct explore_graph *copy = explore_graph_save(g);
    if (copy)
        s->stack[s->count++] = (struct item){copy, 0};
    else
        s->starved = true;
}

/* Divides the share among the alternatives pushed since `from`, and the current one when it goes on. */
static void fork_share(struct explore_strategy_state *s, uint32_t from, bool goes_on)
{
    uint32_t choices = s->count - from + goes_on;
    if (!choices)
        return;
    s->share /= choices;
    for (uint32_t i = from; i < s->count; i++)
        s->stack[i].share = s->share;
    if (!goes_on)
        s->share = 0;
}

static uint32_t exhaustive_choose_leftmost(void *ctx, uint32_t runnable, uint32_t last)
{
    (void)ctx, (void)last;
    return (uint32_t)__builtin_ctz(runnable);
}

static uint32_t exhaustive_choose_load(void *ctx, uint16_t event, const uint16_t *from, uint32_t count)
{
    struct explore_strategy_state *s = ctx;
    uint32_t pushed = s->count;
    for (uint32_t i = count; i-- > 1;) {
        explore_machine_read(event, from[i]);
        exhaustive_push_graph(s, explore_machine_graph());
    }
    fork_share(s, pushed, true);
    return 0;
}

static uint32_t exhaustive_choose_other(void *ctx, uint16_t event, uint32_t count)
{
    struct explore_strategy_state *s = ctx;
    uint32_t pushed = s->count;
    for (uint32_t i = count; i-- > 1;) {
        explore_machine_graph()->event[event].value = i;
        exhaustive_push_graph(s, explore_machine_graph());
    }
    fork_share(s, pushed, true);
    return 0;
}

/* ---- revisits */

struct revisit {
    const struct explore_graph *g;
    uint16_t load, store;
};

static bool leads_to_store(const struct revisit *r, uint16_t event)
{
    return explore_within(&r->g->event[event], &r->g->event[r->store].porf);
}

/* Returns true when `other` was there when `event` was added, or must be there. */
static bool came_before(const struct revisit *r, uint16_t other, uint16_t event)
{
    return other <= event || leads_to_store(r, other);
}

static bool is_latest_of_before(const struct revisit *r, uint16_t place, uint16_t store, uint16_t event)
{
    for (uint16_t w = explore_next_store(r->g, place, store); w != EXPLORE_NOBODY; w = r->g->event[w].after)
        if (w != r->store && came_before(r, w, event))
            return false;
    return true;
}

static bool was_added_maximally(const struct revisit *r, uint16_t event)
{
    const struct explore_graph *g = r->g;
    const struct explore_event *e = &g->event[event];
    if (e->kind == EXPLORE_E_FENCE)
        return true;
    if (e->kind == EXPLORE_E_CHOICE)
        return e->value == 0;
    if (explore_is_load(e))
        return is_latest_of_before(r, e->place, e->from, event);
    for (uint16_t i = g->place[e->place].chain; i != EXPLORE_NOBODY; i = g->event[i].chain)
        if (explore_is_load(&g->event[i]) && g->event[i].from == event && came_before(r, i, event))
            return false;
    return is_latest_of_before(r, e->place, event, event);
}

/* Sets keep[] for the events that stay. Returns false when the graph is reached on another path. */
static bool may_revisit(const struct revisit *r, bool *keep)
{
    for (uint32_t i = 0; i < r->load; i++)
        keep[i] = true;
    for (uint32_t i = r->load; i < r->store; i++) {
        keep[i] = i == r->load || leads_to_store(r, (uint16_t)i);
        if ((!keep[i] || i == r->load) && !was_added_maximally(r, (uint16_t)i))
            return false;
    }
    keep[r->store] = true;
    return true;
}

static void exhaustive_revisit(struct explore_strategy_state *s, struct revisit r)
{
    static bool keep[EXPLORE_EVENTS_MAX];
    static uint16_t before[EXPLORE_EVENTS_MAX];
    struct explore_graph *g = &s->scratch;
    if (!may_revisit(&r, keep))
        return;
    explore_graph_load(g, r.g);
    g->event[r.load].from = EXPLORE_NOBODY;
    uint16_t store = explore_graph_restrict(g, keep, r.store);
    uint32_t count = explore_model_places(g, s->memory, store, before);
    for (uint32_t i = 0; i < count; i++) {
        explore_graph_place(g, store, before[i]);
        g->event[r.load].from = store;
        if (explore_model_load_holds(g, s->memory, r.load)) {
            explore_graph_clock(g, r.load);
            exhaustive_push_graph(s, g);
        }
        g->event[r.load].from = EXPLORE_NOBODY;
        explore_graph_unplace(g, store);
    }
}

static uint32_t exhaustive_choose_store(void *ctx, uint16_t event, const uint16_t *before, uint32_t count)
{
    struct explore_strategy_state *s = ctx;
    struct explore_graph *g = explore_machine_graph();
    uint32_t pushed = s->count;
    for (uint16_t i = g->event[event].chain; i != EXPLORE_NOBODY; i = g->event[i].chain)
        if (explore_is_load(&g->event[i]) && !explore_within(&g->event[i], &g->event[event].porf))
            exhaustive_revisit(s, (struct revisit){g, i, event});
    for (uint32_t i = count; i-- > 1;) {
        explore_graph_place(g, event, before[i]);
        exhaustive_push_graph(s, g);
        explore_graph_unplace(g, event);
    }
    fork_share(s, pushed, count > 0);
    return count ? 0 : EXPLORE_GIVE_UP;
}

/* ---- next execution */

static void exhaustive_close(struct explore_strategy_state *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        free(s->stack[i].graph);
    free(s->stack);
    explore_graph_close(&s->scratch);
    free(s);
}

static struct explore_strategy_state *exhaustive_open(const struct explore_program *program,
                                                      const struct explore_options *options)
{
    (void)program;
    struct explore_strategy_state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->memory = options->memory;
    s->chooser = (struct explore_chooser){.ctx = s,
                                          .thread = exhaustive_choose_leftmost,
                                          .load = exhaustive_choose_load,
                                          .store = exhaustive_choose_store,
                                          .choice = exhaustive_choose_other};
    s->share = 1;
    if (explore_graph_open(&s->scratch))
        return s;
    exhaustive_close(s);
    return NULL;
}

static bool exhaustive_next_run(struct explore_strategy_state *s)
{
    if (!s->begun) {
        s->begun = true;
        explore_graph_clear(explore_machine_graph());
        return true;
    }
    if (!s->count)
        return false;
    struct item *top = &s->stack[--s->count];
    explore_graph_load(explore_machine_graph(), top->graph);
    s->share = top->share;
    free(top->graph);
    return true;
}

static const struct explore_chooser *exhaustive_chooser(struct explore_strategy_state *s)
{
    return &s->chooser;
}

static bool exhaustive_take_end(struct explore_strategy_state *s, enum explore_end end)
{
    (void)end;
    s->done += s->share;
    return true;
}

static double exhaustive_share_done(const struct explore_strategy_state *s)
{
    return s->done;
}

static bool exhaustive_is_starved(const struct explore_strategy_state *s)
{
    return s->starved;
}

const struct explore_tactics explore_exhaustive = {exhaustive_open,      exhaustive_close,    exhaustive_next_run,
                                                   exhaustive_chooser,   exhaustive_take_end, exhaustive_share_done,
                                                   exhaustive_is_starved};
