/* Execution graphs: what happened in an execution, without times.
 *
 * Events are the operations of each thread in program order. A load has an edge from the store that it read. The stores
 * of each place have a total order, the coherence order, which begins with the initial value. An update is two events:
 * a load, and a store right after the store that the load read. An event's index is the order in which it was added.
 *
 * Each event has clocks. A clock counts how many events of each thread precede the event, including itself:
 *
 *   hb       by happens-before (C11 7.17.3, with release sequences as in RC11)
 *   porf     by program order and reads-from
 *   message  of a store: the hb that a load which acquires it gets
 *   own      the part of message that comes from its own thread
 *   heard    what a later acquire fence of its thread gets: the messages of all loads so far
 *   said     hb at its thread's last release fence
 *
 * Events are added only as the last of their thread, and removed with all events added after them. Clocks are therefore
 * computed once. */
#ifndef STROBE_SIM_EXPLORE_GRAPH_H
#define STROBE_SIM_EXPLORE_GRAPH_H

#include "sim/explore/access.h"
#include "sim/explore/program.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    EXPLORE_EVENTS_MAX = 4096,
    EXPLORE_PLACES_MAX = 1024,
    EXPLORE_INITIAL = 0xffff, /* in place of a store's index: the initial value of a place */
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
    uint16_t number;        /* number in its thread, from 0 */
    uint16_t place;         /* loads and stores */
    uint16_t from;          /* loads: the store read */
    uint16_t before, after; /* stores: neighbours in the coherence order; INITIAL at its begin, NOBODY at its end */
    uint16_t chain;         /* the event of the same place that was added before */
    uint16_t options;       /* choices: number of alternatives */
    bool locked;            /* loads: part of an update, or of an update that failed; x86 locks the place for both */
    uint64_t value;         /* loaded, stored, or chosen */
    struct explore_site site;
    struct explore_clock hb, porf, message, own, heard, said;
};

struct explore_place {
    uint16_t first, last; /* of its coherence order; NOBODY: the place has only the initial value */
    uint16_t chain;       /* its event that was added last */
};

struct explore_graph {
    uint32_t event_count, place_count;
    uint32_t sc_count; /* events of order seq_cst */
    uint16_t count[EXPLORE_THREADS_MAX];
    struct explore_event *event;
    struct explore_place *place;
    uint16_t *index[EXPLORE_THREADS_MAX]; /* index of a thread's event, by the event's number */
};

static inline bool explore_is_store(const struct explore_event *e)
{
    return e->kind == EXPLORE_E_STORE || e->kind == EXPLORE_E_UPDATE_STORE;
}

static inline bool explore_is_load(const struct explore_event *e)
{
    return e->kind == EXPLORE_E_LOAD || e->kind == EXPLORE_E_UPDATE_LOAD;
}

/* Returns true when event e happens before the owner of the clock (also when e is the owner). */
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

/* Returns the store after `store` (which may be INITIAL) in the coherence order of the place. */
static inline uint16_t explore_next_store(const struct explore_graph *g, uint16_t place, uint16_t store)
{
    return store == EXPLORE_INITIAL ? g->place[place].first : g->event[store].after;
}

/* Opens an empty graph with memory for the largest graph. Returns false when memory runs out. */
bool explore_graph_open(struct explore_graph *g);
void explore_graph_close(struct explore_graph *g);
void explore_graph_clear(struct explore_graph *g);

/* Saves a compact copy in one block for free(3), or returns NULL when memory runs out. The second function restores the
 * graph from a copy. */
struct explore_graph *explore_graph_save(const struct explore_graph *g);
void explore_graph_load(struct explore_graph *g, const struct explore_graph *saved);

/* Adds the next event of a thread from `e` (thread, kind, order, bytes, place, value, site). It is in no coherence
 * order yet and reads nothing. Returns its index. The caller ensures that the graph has capacity for it. */
uint16_t explore_graph_add(struct explore_graph *g, const struct explore_event *e);

/* Changes the load of an update into a load that fails, or back: its kind and order. */
void explore_graph_retype(struct explore_graph *g, uint16_t event, enum explore_event_kind kind, int order);

/* Inserts a store right after `before` (a store or INITIAL), or removes it. */
void explore_graph_place(struct explore_graph *g, uint16_t store, uint16_t before);
void explore_graph_unplace(struct explore_graph *g, uint16_t store);

/* Computes the clocks of an event, from the events before it and the one it reads. Its edges must be set. */
void explore_graph_clock(struct explore_graph *g, uint16_t event);

/* Keeps the events with keep[index], in their order. The kept set must be closed under program order and reads-from.
 * Returns the new index of `follow`. */
uint16_t explore_graph_restrict(struct explore_graph *g, const bool *keep, uint16_t follow);

/* Returns equal hashes for graphs with equal events, reads-from and coherence order, in whatever order events were
 * added. */
uint64_t explore_graph_hash(const struct explore_graph *g);

#endif
