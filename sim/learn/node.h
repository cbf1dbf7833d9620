/* A node: all executions of one method in one context, as one sequence of slots. A slot is something that the method
 * does: it computes, calls a method, waits, or does what a mark says.
 *
 * Executions differ, so a slot is not in each of them, or several times. Two items are in one slot when they are of the
 * same kind, concern the same thing, and are in the same run of it: the first run of calls of A, the second after
 * something else, and so on; from the app's `runs` on, they share a slot. What the method computes after the items of
 * one slot is one slot. Slots are ordered by their mean place. */
#ifndef STROBE_SIM_LEARN_NODE_H
#define STROBE_SIM_LEARN_NODE_H

#include "sim/learn/calls/calls.h"

/* A part of a call: what lies between two times. */
struct learn_span {
    uint64_t begin_ns, end_ns;
    uint32_t call;
    uint32_t child; /* the first call in it that begins within the part; LEARN_NONE */
};

enum learn_slot_kind { LEARN_SLOT_COMPUTE, LEARN_SLOT_CALL, LEARN_SLOT_WAIT, LEARN_SLOT_MARK };

struct learn_item {
    enum learn_slot_kind kind;
    uint32_t sub;  /* of a wait: enum strobe_kind; of a mark: enum learn_mark_kind */
    uint32_t what; /* of a call: its name; of a wait or mark: the object or LEARN_NONE */
    uint64_t ns, begin_ns;
    uint32_t call; /* of a call or wait */
    bool woken;    /* a wait that another thread ended */
};

struct learn_items {
    struct learn_item *items;
    size_t count, room;
    uint64_t gc_ns; /* time in collections, which the node does not have */
    bool failed;
};

/* Lists what happens in a part of a call, in order of time; replaces the former list. A call that waits for
 * one lock several times is several calls: samples do not show where one ends and the next begins. */
void sim_learn_list_items(const struct learn_app *a, const struct learn_span *span, struct learn_items *out);

struct learn_entry {
    uint32_t instance, call;
    uint64_t ns, begin_ns;
    bool woken;
};

struct learn_slot {
    enum learn_slot_kind kind;
    uint32_t sub, what, run, id; /* of computing, what: the id of the slot before it, or LEARN_NONE */
    uint64_t place_sum, places;  /* of the first item in an instance: its place among 1024 */
    struct learn_entry *entries; /* in order of instances */
    size_t count, room;
};

struct learn_node {
    const struct learn_app *app;
    uint32_t name;
    struct learn_span *spans; /* one for each instance; the node owns them */
    uint32_t instances;
    struct learn_slot *slots; /* in order of mean place */
    uint32_t slot_count, slot_room;
};

/* Makes the slots of a node. Takes the spans over in any case. False: out of memory. */
bool sim_learn_node_open(struct learn_node *n, const struct learn_app *a, uint32_t name, struct learn_span *spans,
                         uint32_t instances);
void sim_learn_node_close(struct learn_node *n);

/* Returns the span of a whole call. */
struct learn_span sim_learn_span_of(const struct learn_app *a, uint32_t call);

#endif
