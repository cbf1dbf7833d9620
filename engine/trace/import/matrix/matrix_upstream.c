/* The upstream contract: the steps of Matrix's parser, in the same order, so that the result is the same.
 * matrix_stack.h lists the steps that are defects.
 *
 * Items are created as calls end; the list is read newest first. The tree is made from the list by depth alone: an item
 * deeper than the item before it is its callee; otherwise the search climbs from the item before. The search climbs
 * along `father`, which is not always the parent in the tree: an item at depth 0 has the root as parent, but the item
 * before it as father. An item without a father at its depth has no parent. The tree then contains neither that item
 * nor the items below it. */
#include "engine/trace/import/matrix/matrix_builder.h"
#include "engine/util/array.h"

#include <stdlib.h>

enum { ANR_MS = 5000 }; /* a duration that upstream mistakes for a default */
#define NONE STROBE_MATRIX_NONE

struct listed {
    struct strobe_matrix_item item;
    uint32_t father;
    uint32_t parent;      /* NONE: the root */
    uint32_t first, next; /* first callee; next sibling */
};

struct strobe_matrix_list {
    struct listed *at;
    size_t count, room; /* oldest first */
    uint32_t first_root;
};

void strobe_matrix_list_free(struct strobe_matrix_list *list)
{
    if (!list)
        return;
    free(list->at);
    free(list);
}

static int32_t wrapped(int64_t value)
{
    return (int32_t)(uint32_t)(uint64_t)value;
}

static bool emit(struct strobe_matrix_list *l, uint32_t method, int64_t duration_ms, int32_t depth)
{
    int32_t duration = wrapped(duration_ms);
    struct strobe_matrix_item *last = l->count ? &l->at[l->count - 1].item : NULL;
    if (last && last->method == method && last->depth == depth && depth != 0) {
        last->count++;
        last->duration_ms = wrapped(last->duration_ms + (duration == ANR_MS ? last->duration_ms : duration));
        return true;
    }
    if (l->count >= NONE || !strobe_array_reserve(&l->at, &l->room, l->count + 1))
        return false;
    l->at[l->count++] =
        (struct listed){.item = {.depth = depth, .method = method, .count = 1, .duration_ms = duration}};
    return true;
}

/* Removes open calls up to the first of the method, or all. Returns the last one removed. */
static struct strobe_matrix_open_call pop_until(struct strobe_matrix_builder *b, uint32_t method, int32_t *depth,
                                                uint64_t *others)
{
    for (;;) {
        struct strobe_matrix_open_call call = strobe_matrix_close(b);
        --*depth;
        if (call.method == method || !b->open_count)
            return call;
        ++*others;
    }
}

/* Handles an exit. STROBE_BAD_INPUT: the result is empty. */
static enum strobe_status exit_method(struct strobe_matrix_builder *b, uint32_t method, uint64_t ms, int32_t *depth,
                                      struct strobe_matrix_stats *stats)
{
    if (!b->open_count) {
        stats->unmatched++;
        return STROBE_OK;
    }
    if (b->open[b->open_count - 1].method != method) {
        enum strobe_status status = strobe_matrix_is_open(b, method);
        if (status == STROBE_IO)
            return status;
        if (status == STROBE_NO_ENTRY) {
            stats->unmatched++;
            if (b->open[0].method == STROBE_MATRIX_DISPATCH)
                return STROBE_OK; /* upstream removes all calls and puts them back, and the depth is unchanged */
        }
    }
    struct strobe_matrix_open_call call = pop_until(b, method, depth, &stats->unwound);
    if (ms < call.ms) {
        stats->backwards++;
        return STROBE_BAD_INPUT;
    }
    return emit(b->list, method, (int64_t)(ms - call.ms), *depth) ? STROBE_OK : STROBE_IO;
}

/* Makes the tree from the items' depths. Returns false if the newest is not at depth 0. */
static bool build_tree(struct strobe_matrix_list *l)
{
    uint32_t before = NONE;
    l->first_root = NONE;
    for (size_t i = l->count; i--;) {
        struct listed *n = &l->at[i];
        int32_t depth = n->item.depth;
        uint32_t at = NONE; /* its parent, if any */
        n->father = before;
        n->first = n->next = NONE;
        if (before == NONE && depth != 0)
            return false;
        if (depth == 0) {
            n->parent = NONE;
            n->next = l->first_root;
            l->first_root = (uint32_t)i;
        } else if (l->at[before].item.depth < depth) {
            at = before;
        } else {
            uint32_t climb = before;
            while (climb != NONE && l->at[climb].item.depth > depth)
                climb = l->at[climb].father;
            if (climb != NONE && l->at[climb].father != NONE)
                at = n->father = l->at[climb].father;
        }
        if (at != NONE) {
            n->parent = at;
            n->next = l->at[at].first;
            l->at[at].first = (uint32_t)i;
        }
        before = (uint32_t)i;
    }
    return true;
}

static bool flatten_list(struct strobe_matrix_builder *b, size_t *count)
{
    const struct strobe_matrix_list *l = b->list;
    if (!strobe_array_reserve(&b->items, &b->item_room, l->count))
        return false;
    for (uint32_t at = l->first_root; at != NONE;) {
        const struct listed *n = &l->at[at];
        b->items[(*count)++] = n->item;
        if (n->first != NONE) {
            at = n->first;
            continue;
        }
        while (n->next == NONE && n->parent != NONE)
            n = &l->at[n->parent];
        at = n->next;
    }
    return true;
}

enum strobe_status strobe_matrix_build_upstream(struct strobe_matrix_builder *b, struct strobe_matrix_entries in,
                                                size_t *count, struct strobe_matrix_stats *stats)
{
    struct strobe_matrix_list *l = b->list ? b->list : (b->list = calloc(1, sizeof *l));
    int32_t depth = 0;
    if (!l)
        return STROBE_IO;
    l->count = *count = 0;
    for (size_t i = 0; i < in.count; i++) {
        uint64_t entry = in.at[i], ms = strobe_matrix_ms(entry);
        uint32_t method = strobe_matrix_id(entry);
        enum strobe_status status = STROBE_OK;
        if (!entry)
            continue;
        if (strobe_matrix_is_enter(entry)) {
            depth = method == STROBE_MATRIX_DISPATCH ? 1 : depth + 1;
            status = strobe_matrix_open(b, method, ms, NONE) ? STROBE_OK : STROBE_IO;
        } else {
            status = exit_method(b, method, ms, &depth, stats);
        }
        if (status == STROBE_BAD_INPUT) {
            stats->thrown_away = true;
            return STROBE_OK;
        }
        if (status != STROBE_OK)
            return status;
    }
    stats->open_at_end = b->open_count;
    while (in.strict && b->open_count) {
        struct strobe_matrix_open_call call = strobe_matrix_close(b);
        if (!emit(l, call.method, (int64_t)((uint64_t)in.end_ms - call.ms), (int32_t)b->open_count))
            return STROBE_IO;
    }
    if (!build_tree(l)) {
        stats->thrown_away = true;
        return STROBE_OK;
    }
    return flatten_list(b, count) ? STROBE_OK : STROBE_IO;
}
