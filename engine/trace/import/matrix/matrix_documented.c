/* The documented contract: a call tree in which each caller has one node for each method that it calls. */
#include "engine/trace/import/matrix/matrix_builder.h"
#include "engine/util/array.h"
#include "engine/util/idmap.h"

#include <stdlib.h>
#include <string.h>

enum { SCANNED = 8 }; /* callees of one caller that are searched linearly; a table finds others */
#define NONE STROBE_MATRIX_NONE

struct node {
    uint32_t method;
    uint32_t caller;       /* NONE for the outermost */
    uint32_t next;         /* callees of one caller are a ring: the next of `tail` is the first */
    uint32_t tail, recent; /* of its callees: the last in the ring, and the last one called; NONE = no callee */
    uint32_t callees;
    int32_t count;
    int64_t duration_ms;
};

struct strobe_matrix_tree {
    struct node *nodes;
    size_t count, room;
    uint32_t first_root, last_root;
    struct strobe_idmap callees; /* (caller, method) -> node, of callers with more than SCANNED callees */
};

void strobe_matrix_tree_free(struct strobe_matrix_tree *tree)
{
    if (!tree)
        return;
    free(tree->nodes);
    strobe_idmap_free(&tree->callees);
    free(tree);
}

/* ---- callees of callers that have many */

static bool add_slot(struct strobe_matrix_tree *t, uint32_t node)
{
    return strobe_idmap_add(&t->callees, t->nodes[node].caller, t->nodes[node].method, node);
}

static uint32_t find_slot(const struct strobe_matrix_tree *t, uint32_t caller, uint32_t method)
{
    const uint32_t *node = strobe_idmap_get(&t->callees, caller, method);
    return node ? *node : NONE;
}

/* ---- nodes */

static uint32_t new_node(struct strobe_matrix_tree *t, uint32_t caller, uint32_t method)
{
    if (t->count >= NONE || !strobe_array_reserve(&t->nodes, &t->room, t->count + 1))
        return NONE;
    t->nodes[t->count] = (struct node){.method = method, .caller = caller, .tail = NONE, .recent = NONE, .next = NONE};
    return (uint32_t)t->count++;
}

static uint32_t new_root(struct strobe_matrix_tree *t, uint32_t method)
{
    uint32_t root = new_node(t, NONE, method);
    if (root == NONE)
        return NONE;
    if (t->last_root == NONE)
        t->first_root = root;
    else
        t->nodes[t->last_root].next = root;
    return t->last_root = root;
}

static uint32_t new_callee(struct strobe_matrix_tree *t, uint32_t caller, uint32_t method)
{
    uint32_t node = new_node(t, caller, method);
    if (node == NONE)
        return NONE;
    struct node *c = &t->nodes[caller];
    t->nodes[node].next = c->tail == NONE ? node : t->nodes[c->tail].next;
    if (c->tail != NONE)
        t->nodes[c->tail].next = node;
    c->tail = c->recent = node;
    if (++c->callees <= SCANNED)
        return node;
    if (c->callees > SCANNED + 1)
        return add_slot(t, node) ? node : NONE;
    uint32_t each = node;
    do {
        if (!add_slot(t, each))
            return NONE;
        each = t->nodes[each].next;
    } while (each != node);
    return node;
}

/* Returns the node of a call, and creates it if needed. Most calls are of the method that was called last, or of the
 * one that followed it the last time. NONE: out of memory. */
static uint32_t callee(struct strobe_matrix_tree *t, uint32_t caller, uint32_t method)
{
    struct node *c = &t->nodes[caller];
    uint32_t at = c->recent;
    if (at == NONE)
        return new_callee(t, caller, method);
    for (uint32_t i = 0; i < c->callees && i < SCANNED; i++, at = t->nodes[at].next)
        if (t->nodes[at].method == method)
            return c->recent = at;
    if (c->callees <= SCANNED)
        return new_callee(t, caller, method);
    at = find_slot(t, caller, method);
    return at == NONE ? new_callee(t, caller, method) : (c->recent = at);
}

static bool begin_tree(struct strobe_matrix_tree **at)
{
    struct strobe_matrix_tree *t = *at ? *at : (*at = calloc(1, sizeof **at));
    if (!t)
        return false;
    t->count = 0;
    t->first_root = t->last_root = NONE;
    strobe_idmap_clear(&t->callees);
    return true;
}

/* ---- calls */

static bool enter_tree_method(struct strobe_matrix_builder *b, uint32_t method, uint64_t ms)
{
    struct strobe_matrix_tree *t = b->tree;
    uint32_t node = b->open_count ? callee(t, b->open[b->open_count - 1].node, method) : new_root(t, method);
    return node != NONE && strobe_matrix_open(b, method, ms, node);
}

/* Ends the innermost open call. */
static void end(struct strobe_matrix_builder *b, int64_t ms, struct strobe_matrix_stats *stats)
{
    struct strobe_matrix_open_call call = strobe_matrix_close(b);
    struct node *n = &b->tree->nodes[call.node];
    n->count++;
    int64_t duration = ms - (int64_t)call.ms;
    if (duration < 0)
        stats->backwards++;
    else
        n->duration_ms = duration > INT64_MAX - n->duration_ms ? INT64_MAX : n->duration_ms + duration;
}

static enum strobe_status leave_tree_method(struct strobe_matrix_builder *b, uint32_t method, uint64_t ms,
                                            struct strobe_matrix_stats *stats)
{
    if (!b->open_count || b->open[b->open_count - 1].method != method) {
        enum strobe_status status = strobe_matrix_is_open(b, method);
        if (status == STROBE_NO_ENTRY) {
            stats->unmatched++;
            return STROBE_OK;
        }
        if (status != STROBE_OK)
            return status;
        while (b->open[b->open_count - 1].method != method) {
            stats->unwound++;
            end(b, (int64_t)ms, stats);
        }
    }
    end(b, (int64_t)ms, stats);
    return STROBE_OK;
}

/* Lists the tree depth-first, callers first. */
static bool list(struct strobe_matrix_builder *b, size_t *count)
{
    const struct strobe_matrix_tree *t = b->tree;
    int32_t depth = 0;
    *count = 0;
    if (!strobe_array_reserve(&b->items, &b->item_room, t->count))
        return false;
    for (uint32_t at = t->first_root; at != NONE;) {
        const struct node *n = &t->nodes[at];
        b->items[(*count)++] = (struct strobe_matrix_item){
            .depth = depth, .method = n->method, .count = n->count, .duration_ms = n->duration_ms};
        if (n->tail != NONE) {
            at = t->nodes[n->tail].next;
            depth++;
            continue;
        }
        while (n->caller != NONE && t->nodes[n->caller].tail == at) {
            at = n->caller;
            n = &t->nodes[at];
            depth--;
        }
        at = n->next;
    }
    return true;
}

enum strobe_status strobe_matrix_build_documented(struct strobe_matrix_builder *b, struct strobe_matrix_entries in,
                                                  size_t *count, struct strobe_matrix_stats *stats)
{
    if (!begin_tree(&b->tree))
        return STROBE_IO;
    for (size_t i = 0; i < in.count; i++) {
        uint64_t entry = in.at[i], ms = strobe_matrix_ms(entry);
        uint32_t method = strobe_matrix_id(entry);
        if (!entry)
            continue;
        if (strobe_matrix_is_enter(entry) ? !enter_tree_method(b, method, ms)
                                          : leave_tree_method(b, method, ms, stats) != STROBE_OK)
            return STROBE_IO;
    }
    stats->open_at_end = b->open_count;
    while (b->open_count)
        end(b, in.end_ms, stats);
    return list(b, count) ? STROBE_OK : STROBE_IO;
}
