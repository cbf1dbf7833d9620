/* Execution graphs: what happened in an execution, without saying when.
 *
 * Events are a thread's operations in program order. A load has an edge from the store that it read, the stores of each
 * place stand in one line, its coherence order, which begins with the initial value. An update is two events, a load
 * and a store that stands next to what the load read. The order in which events were added is their index.
 *
 * Each event has clocks: how many events of each thread came before it, itself included,
 *
 *   hb       by happens-before (C11 7.17.3, with release sequences as RC11 has them)
 *   porf     by program order and reads-from
 *   message  of a store: what a load that acquires it learns by hb
 *   own      the part of message that comes from its own thread
 *   heard    what a later acquire fence of its thread learns: the messages of all loads so far
 *   said     what its thread's last release fence says: hb there
 *
 * Events are only added as the last of their thread, and taken away with all that came after them, so clocks are worked
 * out once. */
#ifndef STROBE_SIM_EXPLORE_GRAPH_H
#define STROBE_SIM_EXPLORE_GRAPH_H

#include "sim/explore/access.h"
#include "sim/explore/program.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    EXPLORE_EVENTS_MAX = 4096,
    EXPLORE_PLACES_MAX = 1024,
    EXPLORE_INITIAL = 0xffff, /* instead of a store's index: the value a place begins with */
    EXPLORE_NOBODY = 0xfffe,  /* no event */
};

enum explore_event_kind {
    EXPLORE_E_LOAD,
    EXPLORE_E_STORE,
    EXPLORE_E_UPDATE_LOAD,
    EXPLORE_E_UPDATE_STORE,
    EXPLORE_E_FENCE,
    EXPLORE_E_CHOICE,
};

struct explore_clock {
    uint16_t of[EXPLORE_THREADS_MAX];
};

struct explore_event {
    uint8_t thread, kind, order, bytes;
    uint16_t number;        /* in its thread, from 0 */
    uint16_t place;         /* loads and stores */
    uint16_t from;          /* loads: the store read */
    uint16_t before, after; /* stores: neighbours in the coherence order; INITIAL, and NOBODY at its end */
    uint16_t chain;         /* the event of the same place that was added before this one */
    uint16_t options;       /* choices: how many there were */
    bool locked;            /* loads: of an update, or of one that failed; x86 locks the place for both */
    uint64_t value;         /* loaded, stored, or chosen */
    struct explore_site site;
    struct explore_clock hb, porf, message, own, heard, said;
};

struct explore_place {
    uint16_t first, last; /* of its coherence order; NOBODY: only the initial value */
    uint16_t chain;       /* its event that was added last */
};

struct explore_graph {
    uint32_t event_count, place_count;
    uint32_t sc_count; /* events of order seq_cst */
    uint16_t count[EXPLORE_THREADS_MAX];
    struct explore_event *event;
    struct explore_place *place;
    uint16_t *index[EXPLORE_THREADS_MAX]; /* of a thread's event, by its number */
};

static inline bool explore_is_store(const struct explore_event *e)
{
    return e->kind == EXPLORE_E_STORE || e->kind == EXPLORE_E_UPDATE_STORE;
}

static inline bool explore_is_load(const struct explore_event *e)
{
    return e->kind == EXPLORE_E_LOAD || e->kind == EXPLORE_E_UPDATE_LOAD;
}

/* Whether event e happens before what has that clock (e itself: does). */
static inline bool explore_within(const struct explore_event *e, const struct explore_clock *clock)
{
    return clock->of[e->thread] > e->number;
}

static inline void explore_clock_join(struct explore_clock *to, const struct explore_clock *from)
{
    for (uint32_t i = 0; i < EXPLORE_THREADS_MAX; i++)
        if (to->of[i] < from->of[i])
            to->of[i] = from->of[i];
}

static inline struct explore_event *explore_event_of(const struct explore_graph *g, uint32_t thread, uint32_t number)
{
    return &g->event[g->index[thread][number]];
}

/* The store after `store`, which may be INITIAL, in the order of the place. */
static inline uint16_t explore_next_store(const struct explore_graph *g, uint16_t place, uint16_t store)
{
    return store == EXPLORE_INITIAL ? g->place[place].first : g->event[store].after;
}

/* An empty graph with room for the largest. False: no memory. */
bool explore_graph_open(struct explore_graph *g);
void explore_graph_close(struct explore_graph *g);
void explore_graph_clear(struct explore_graph *g);

/* A compact copy, one block of memory for free(3); NULL: none left. And the graph of such a copy. */
struct explore_graph *explore_graph_save(const struct explore_graph *g);
void explore_graph_load(struct explore_graph *g, const struct explore_graph *saved);

/* Makes the thread's next event of what `e` says (thread, kind, order, bytes, place, value, site), in no coherence
 * order and reading nothing yet. Returns its index. The caller has seen to it that there is room. */
uint16_t explore_graph_add(struct explore_graph *g, const struct explore_event *e);

/* Makes a load of an update one that fails, or the other way round: its kind and order. */
void explore_graph_retype(struct explore_graph *g, uint16_t event, enum explore_event_kind kind, int order);

/* Puts a store right behind `before` (a store or INITIAL), or takes it out. */
void explore_graph_place(struct explore_graph *g, uint16_t store, uint16_t before);
void explore_graph_unplace(struct explore_graph *g, uint16_t store);

/* Works the clocks of an event out, from those before it and what it reads. After its edges are set. */
void explore_graph_clock(struct explore_graph *g, uint16_t event);

/* Keeps the events with keep[index], which must be closed under program order and reads-from, in their order; returns
 * the new index of `follow`. */
uint16_t explore_graph_restrict(struct explore_graph *g, const bool *keep, uint16_t follow);

/* Equal for graphs with the same events, reads-from and coherence order, whatever the order of adding. */
uint64_t explore_graph_hash(const struct explore_graph *g);

#endif
