/* State shared by the builders of the two contracts (matrix_documented.c, matrix_upstream.c): the open calls, and the
 * resulting items. */
#ifndef STROBE_TRACE_IMPORT_MATRIX_MATRIX_BUILDER_H
#define STROBE_TRACE_IMPORT_MATRIX_MATRIX_BUILDER_H

#include "engine/method/matrix/matrix_entry.h"
#include "engine/trace/import/matrix/matrix_stack.h"
#include "engine/util/array.h"

#define STROBE_MATRIX_NONE UINT32_MAX

struct strobe_matrix_open_call {
    uint64_t ms;
    uint32_t method;
    uint32_t node; /* documented contract: node of the tree */
};

struct strobe_matrix_tree; /* nodes of the documented contract */
struct strobe_matrix_list; /* items of the upstream contract, from which it makes a tree */

struct strobe_matrix_builder {
    enum strobe_matrix_contract contract;
    struct strobe_matrix_open_call *open;
    size_t open_count, open_room;
    uint32_t *times_open; /* by method: number of open calls; valid only while `counting` */
    bool counting;
    struct strobe_matrix_item *items;
    size_t item_room;
    struct strobe_matrix_tree *tree;
    struct strobe_matrix_list *list;
};

/* Opens a call. Returns false when out of memory. */
static inline bool strobe_matrix_open(struct strobe_matrix_builder *b, uint32_t method, uint64_t ms, uint32_t node)
{
    if (!strobe_array_reserve(&b->open, &b->open_room, b->open_count + 1))
        return false;
    b->open[b->open_count++] = (struct strobe_matrix_open_call){.ms = ms, .method = method, .node = node};
    if (b->counting)
        b->times_open[method]++;
    return true;
}

/* Removes and returns the innermost open call. There must be one. */
static inline struct strobe_matrix_open_call strobe_matrix_close(struct strobe_matrix_builder *b)
{
    struct strobe_matrix_open_call call = b->open[--b->open_count];
    if (b->counting)
        b->times_open[call.method]--;
    return call;
}

/* Returns STROBE_OK if a call of the method is open, STROBE_NO_ENTRY if not, STROBE_IO when out of memory. Searches the
 * innermost calls first. If that fails, it starts to count open calls by method, so that a log with many unmatched
 * exits does not take longer than others. */
enum strobe_status strobe_matrix_is_open(struct strobe_matrix_builder *b, uint32_t method);

struct strobe_matrix_entries {
    const uint64_t *at;
    size_t count;
    bool strict;
    int64_t end_ms;
};

/* Build the items in b->items. No call may be open before. */
enum strobe_status strobe_matrix_build_documented(struct strobe_matrix_builder *b, struct strobe_matrix_entries in,
                                                  size_t *count, struct strobe_matrix_stats *stats);
enum strobe_status strobe_matrix_build_upstream(struct strobe_matrix_builder *b, struct strobe_matrix_entries in,
                                                size_t *count, struct strobe_matrix_stats *stats);
void strobe_matrix_tree_free(struct strobe_matrix_tree *tree);
void strobe_matrix_list_free(struct strobe_matrix_list *list);

#endif
