#include "engine/trace/model/allocations.h"

#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

struct strobe_allocating {
    uint32_t node, samples;
};

static int is_allocator(const char *name)
{
    static const char *const names[] = {
        "malloc", "calloc",  "realloc",       "reallocarray",  "posix_memalign", "aligned_alloc", "memalign",
        "valloc", "pvalloc", "__libc_malloc", "__libc_calloc", "__libc_realloc", "_int_malloc",   "_int_realloc"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return 1;
    return !strncmp(name, "operator new", strlen("operator new"));
}

/* Returns 1 if the name is that of an allocating function. Returns 0 also when memory runs out. */
static int allocates(struct strobe_allocation_sum *s, const struct strobe_function_tree *tree, uint32_t name)
{
    if (!strobe_array_reserve_zeroed(&s->allocates, &s->name_room, (size_t)name + 1))
        return 0;
    if (!s->allocates[name])
        s->allocates[name] = is_allocator(strobe_function_tree_name(tree, name)->text) ? 1 : 2;
    return s->allocates[name] == 1;
}

/* Returns the node of the caller of the outermost allocating function on the path of `node`; 0 = there is none. */
static uint32_t allocating_caller(struct strobe_allocation_sum *s, const struct strobe_function_tree *tree,
                                  uint32_t node)
{
    const struct strobe_function_node *nodes = strobe_function_tree_node(tree, 0);
    uint32_t caller = 0;
    for (; node; node = nodes[node].parent)
        if (allocates(s, tree, nodes[node].name))
            caller = nodes[node].parent;
    return caller;
}

static int queue_for_total(struct strobe_allocation_sum *s, struct strobe_function_tree *tree,
                           const struct strobe_record *r)
{
    if (!r->stack || r->flags & STROBE_FLAG_SCOPE)
        return 1;
    uint32_t node = strobe_function_tree_of_stack(tree, r->stack, strobe_stack_incomplete(r)),
             caller = allocating_caller(s, tree, node);
    if (!caller && r->kind != STROBE_KIND_ALLOC)
        return 1;
    if (!strobe_array_reserve_zeroed(&s->waiting, &s->waiting_room, s->waiting_count + 1))
        return 0;
    s->waiting[s->waiting_count++] = (struct strobe_allocating){caller ? caller : node, r->count};
    return 1;
}

static uint64_t proportion(uint64_t whole, uint64_t part, uint64_t parts)
{
    return (uint64_t)((double)whole * (double)part / (double)parts + 0.5);
}

/* Divides `owed` over the waiting samples, in proportion to their counts. Sums are rounded cumulatively, so that the
 * parts add up to `owed`. Without a waiting sample `owed` stays as it is. */
static int divide_owed(struct strobe_allocation_sum *s, struct strobe_allocations *owed)
{
    uint64_t samples = 0, before = 0;
    struct strobe_allocations assigned = {0, 0};
    for (size_t i = 0; i < s->waiting_count; i++)
        samples += s->waiting[i].samples;
    for (size_t i = 0; i < s->waiting_count && samples; i++) {
        const struct strobe_allocating *w = &s->waiting[i];
        if (!strobe_array_reserve_zeroed(&s->of_node, &s->node_room, (size_t)w->node + 1))
            return 0;
        before += w->samples;
        struct strobe_allocations upto = {proportion(owed->bytes, before, samples),
                                          proportion(owed->count, before, samples)};
        s->of_node[w->node].bytes += upto.bytes - assigned.bytes;
        s->of_node[w->node].count += upto.count - assigned.count;
        assigned = upto;
    }
    if (samples)
        *owed = (struct strobe_allocations){0, 0};
    s->waiting_count = 0;
    return 1;
}

static uint64_t growth(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

enum strobe_status strobe_allocations_add(struct strobe_allocation_sum *s, const struct strobe_reader *reader,
                                          const struct strobe_reader_thread *t, struct strobe_function_tree *tree,
                                          uint64_t from_ns, uint64_t to_ns)
{
    struct strobe_allocations last = {0, 0}, owed = {0, 0};
    uint64_t begin_ns = strobe_reader_ns(reader, reader->first_ticks);
    int known = 0;
    s->waiting_count = 0;
    for (size_t i = 0; i < t->item_count; i++) {
        const struct strobe_item *item = &t->items[i];
        uint64_t end_ns = strobe_reader_ns(reader, item->record.ticks + item->record.duration) - begin_ns;
        int within = end_ns >= from_ns && end_ns < to_ns;
        if (within && !queue_for_total(s, tree, &item->record))
            return STROBE_IO;
        if (!item->metrics)
            continue;
        const struct strobe_metrics *m = &reader->metrics[item->metrics - 1];
        if (known && within) {
            struct strobe_allocations more = {growth(last.bytes, m->alloc_bytes), growth(last.count, m->alloc_count)};
            owed.bytes += more.bytes;
            owed.count += more.count;
            s->all.bytes += more.bytes;
            s->all.count += more.count;
        }
        if (within && (owed.bytes || owed.count) && !divide_owed(s, &owed))
            return STROBE_IO;
        last = (struct strobe_allocations){m->alloc_bytes, m->alloc_count};
        known = 1;
    }
    s->unplaced.bytes += owed.bytes;
    s->unplaced.count += owed.count;
    return STROBE_OK;
}

static void sum_allocations(struct strobe_allocations *to, struct strobe_allocations part)
{
    to->bytes += part.bytes;
    to->count += part.count;
}

/* Returns 1 if the name of `node` occurs again on the path from `node` (exclusive) inwards to `leaf`. */
static int is_repeated(const struct strobe_function_node *nodes, uint32_t node, uint32_t leaf)
{
    for (uint32_t i = leaf; i != node; i = nodes[i].parent)
        if (nodes[i].name == nodes[node].name)
            return 1;
    return 0;
}

enum strobe_status strobe_allocations_by_name(const struct strobe_allocation_sum *s,
                                              const struct strobe_function_tree *tree,
                                              struct strobe_allocations_by_name *out)
{
    const struct strobe_function_node *nodes = strobe_function_tree_node(tree, 0);
    out->count = strobe_function_tree_name_count(tree);
    out->self = calloc(out->count, sizeof *out->self);
    out->total = calloc(out->count, sizeof *out->total);
    if (!out->self || !out->total) {
        free(out->self);
        free(out->total);
        *out = (struct strobe_allocations_by_name){0};
        return STROBE_IO;
    }
    for (uint32_t leaf = 1; leaf < s->node_room && leaf < strobe_function_tree_node_count(tree); leaf++) {
        if (!s->of_node[leaf].count)
            continue;
        sum_allocations(&out->self[nodes[leaf].name], s->of_node[leaf]);
        for (uint32_t node = leaf; node; node = nodes[node].parent)
            if (!is_repeated(nodes, node, leaf))
                sum_allocations(&out->total[nodes[node].name], s->of_node[leaf]);
    }
    return STROBE_OK;
}

void strobe_allocations_free(struct strobe_allocation_sum *s)
{
    free(s->of_node);
    free(s->waiting);
    free(s->allocates);
    *s = (struct strobe_allocation_sum){0};
}
