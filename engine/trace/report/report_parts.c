#include "engine/trace/report/report_parts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- callers and callees */

static int longest_relation_first(const void *a, const void *b)
{
    const struct strobe_report_relation *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

static const char *keep_part_text(struct strobe_report *r, const char *text)
{
    const char *kept = strobe_text_keep(&r->texts, text, strlen(text));
    return kept ? kept : "";
}

/* Lists relations, longest first. An index of `from` is the name's number plus `shift`; an index below `shift` stands
 * for no name. */
static struct strobe_report_relation *list_relations(struct strobe_report *r, const struct strobe_relation *from,
                                                     size_t room, size_t shift, const struct strobe_function_tree *tree,
                                                     size_t *count)
{
    struct strobe_report_relation *list = calloc(room + 1, sizeof *list);
    *count = 0;
    for (size_t i = 0; list && i < room; i++) {
        if (!from[i].slices && !from[i].cpu_ns)
            continue;
        const char *name = i < shift ? "" : strobe_function_tree_name(tree, (uint32_t)(i - shift))->text;
        list[(*count)++] =
            (struct strobe_report_relation){keep_part_text(r, name), from[i].ns, from[i].cpu_ns, from[i].slices};
    }
    if (list)
        qsort(list, *count, sizeof *list, longest_relation_first);
    return list;
}

static enum strobe_status take_function(struct strobe_report *r, const struct strobe_breakdown *b,
                                        const struct strobe_function_tree *tree)
{
    if (!b->function.slices)
        return STROBE_NO_ENTRY;
    r->function = (struct strobe_report_relation){keep_part_text(r, r->options.function), b->function.ns,
                                                  b->function.cpu_ns, b->function.slices};
    r->callers = list_relations(r, b->callers, b->caller_room, 1, tree, &r->caller_count);
    r->callees = list_relations(r, b->callees, b->callee_room, 0, tree, &r->callee_count);
    return r->callers && r->callees ? STROBE_OK : STROBE_IO;
}

/* ---- allocations by stack */

struct allocating_node {
    uint32_t node;
    struct strobe_allocations is;
};

static int most_bytes_first(const void *a, const void *b)
{
    const struct allocating_node *x = a, *y = b;
    if (x->is.bytes != y->is.bytes)
        return x->is.bytes > y->is.bytes ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Returns the names on a node's path, outermost first, separated by ;. NULL: out of memory. */
static const char *path_of(struct strobe_report *r, const struct strobe_function_tree *tree, uint32_t node)
{
    char *text = NULL;
    size_t bytes = 0;
    uint32_t depth = strobe_function_tree_node(tree, node)->depth;
    uint32_t *names = malloc(((size_t)depth + 1) * sizeof *names);
    FILE *out = names ? open_memstream(&text, &bytes) : NULL;
    for (uint32_t i = depth; out && i--; node = strobe_function_tree_node(tree, node)->parent)
        names[i] = strobe_function_tree_node(tree, node)->name;
    for (uint32_t i = 0; out && i < depth; i++)
        fprintf(out, "%s%s", i ? ";" : "", strobe_function_tree_name(tree, names[i])->text);
    const char *kept = out && !fclose(out) && text ? strobe_text_keep(&r->texts, text, bytes) : NULL;
    free(text);
    free(names);
    return kept;
}

static enum strobe_status take_stacks(struct strobe_report *r, const struct strobe_allocation_sum *s,
                                      const struct strobe_function_tree *tree)
{
    struct allocating_node *nodes = calloc(s->node_room + 1, sizeof *nodes);
    size_t count = 0;
    if (!nodes)
        return STROBE_IO;
    for (size_t i = 0; i < s->node_room; i++)
        if (s->of_node[i].bytes)
            nodes[count++] = (struct allocating_node){(uint32_t)i, s->of_node[i]};
    qsort(nodes, count, sizeof *nodes, most_bytes_first);
    if (r->options.top && count > r->options.top)
        count = r->options.top;
    r->stacks = calloc(count + 1, sizeof *r->stacks);
    bool failed = !r->stacks;
    for (size_t i = 0; !failed && i < count; i++) {
        const char *path = path_of(r, tree, nodes[i].node);
        failed = !path;
        r->stacks[r->stack_count++] = (struct strobe_report_stack){path, nodes[i].is.bytes, nodes[i].is.count};
    }
    free(nodes);
    return failed ? STROBE_IO : STROBE_OK;
}

/* ---- lines */

static int most_samples_first(const void *a, const void *b)
{
    const struct strobe_report_line *x = a, *y = b;
    if (x->samples != y->samples)
        return x->samples > y->samples ? -1 : 1;
    int files = strcmp(x->file, y->file);
    if (files)
        return files;
    return x->line != y->line ? (x->line > y->line) - (x->line < y->line) : strcmp(x->method, y->method);
}

static enum strobe_status take_lines(struct strobe_report *r, const struct strobe_source_lines *l,
                                     const struct strobe_function_tree *tree)
{
    r->lines = calloc(l->count + 1, sizeof *r->lines);
    if (!r->lines || l->failed)
        return STROBE_IO;
    r->line_samples = l->samples;
    r->line_unknown = l->unknown;
    for (size_t i = 0; i < l->count; i++)
        r->lines[r->line_count++] =
            (struct strobe_report_line){keep_part_text(r, strobe_function_tree_name(tree, l->lines[i].name)->text),
                                        keep_part_text(r, l->lines[i].file), l->lines[i].line, l->lines[i].samples};
    qsort(r->lines, r->line_count, sizeof *r->lines, most_samples_first);
    if (r->options.top && r->line_count > r->options.top)
        r->line_count = r->options.top;
    return STROBE_OK;
}

enum strobe_status strobe_report_take_parts(struct strobe_report *r, const struct strobe_breakdown *b,
                                            const struct strobe_allocation_sum *s, const struct strobe_source_lines *l,
                                            struct strobe_function_tree *tree)
{
    enum strobe_status status = r->options.function ? take_function(r, b, tree) : STROBE_OK;
    if (status == STROBE_OK && r->options.by == STROBE_BY_ALLOC)
        status = take_stacks(r, s, tree);
    return status == STROBE_OK && r->options.lines ? take_lines(r, l, tree) : status;
}

/* ---- JSON */

static void write_json_relations(struct strobe_json *j, const char *key, const struct strobe_report_relation *list,
                                 size_t count)
{
    strobe_json_array(j, key);
    for (size_t i = 0; i < count; i++) {
        strobe_json_object(j, NULL);
        strobe_json_text(j, "name", list[i].name);
        strobe_json_uint(j, "total_ns", list[i].ns);
        strobe_json_uint(j, "total_cpu_ns", list[i].cpu_ns);
        strobe_json_uint(j, "slices", list[i].slices);
        strobe_json_object_end(j);
    }
    strobe_json_array_end(j);
}

static void function(const struct strobe_report *r, struct strobe_json *j)
{
    strobe_json_object(j, "function");
    strobe_json_text(j, "name", r->function.name);
    strobe_json_uint(j, "total_ns", r->function.ns);
    strobe_json_uint(j, "total_cpu_ns", r->function.cpu_ns);
    strobe_json_uint(j, "slices", r->function.slices);
    write_json_relations(j, "callers", r->callers, r->caller_count);
    write_json_relations(j, "callees", r->callees, r->callee_count);
    strobe_json_object_end(j);
}

static void allocations(const struct strobe_report *r, struct strobe_json *j)
{
    strobe_json_object(j, "allocations");
    strobe_json_uint(j, "bytes", r->allocated.bytes);
    strobe_json_uint(j, "count", r->allocated.count);
    strobe_json_uint(j, "unplaced_bytes", r->unplaced.bytes);
    strobe_json_uint(j, "unplaced_count", r->unplaced.count);
    strobe_json_array(j, "stacks");
    for (size_t i = 0; i < r->stack_count; i++) {
        strobe_json_object(j, NULL);
        strobe_json_text(j, "path", r->stacks[i].path);
        strobe_json_uint(j, "bytes", r->stacks[i].bytes);
        strobe_json_uint(j, "count", r->stacks[i].count);
        strobe_json_object_end(j);
    }
    strobe_json_array_end(j);
    strobe_json_object_end(j);
}

static void lines(const struct strobe_report *r, struct strobe_json *j)
{
    strobe_json_array(j, "lines");
    for (size_t i = 0; i < r->line_count; i++) {
        strobe_json_object(j, NULL);
        strobe_json_text(j, "method", r->lines[i].method);
        strobe_json_text(j, "file", r->lines[i].file);
        strobe_json_uint(j, "line", r->lines[i].line);
        strobe_json_uint(j, "samples", r->lines[i].samples);
        strobe_json_object_end(j);
    }
    strobe_json_array_end(j);
    strobe_json_uint(j, "line_samples", r->line_samples);
    strobe_json_uint(j, "line_unknown", r->line_unknown);
}

void strobe_report_json_parts(const struct strobe_report *r, struct strobe_json *j)
{
    const struct strobe_report_options *o = &r->options;
    if (o->thread || o->from_ns || o->to_ns) {
        strobe_json_object(j, "part");
        strobe_json_text(j, "thread", o->thread);
        strobe_json_uint(j, "from_ns", o->from_ns);
        strobe_json_uint(j, "to_ns", o->from_ns + r->wall_ns);
        strobe_json_object_end(j);
    }
    if (o->function)
        function(r, j);
    if (o->by == STROBE_BY_ALLOC)
        allocations(r, j);
    if (o->lines)
        lines(r, j);
}
