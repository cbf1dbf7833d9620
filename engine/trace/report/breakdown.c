#include "engine/trace/report/breakdown.h"

#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

struct strobe_breakdown_slice {
    struct strobe_moment begin;
    uint32_t name;
};

enum { UNKNOWN, IS_FUNCTION, IS_NOT };

void strobe_breakdown_open(struct strobe_breakdown *b, struct strobe_function_tree *tree, const char *of)
{
    *b = (struct strobe_breakdown){.of = of, .tree = tree};
}

void strobe_breakdown_close(struct strobe_breakdown *b)
{
    free(b->callers);
    free(b->callees);
    free(b->matches);
    free(b->open);
    *b = (struct strobe_breakdown){0};
}

/* Returns 1 if `shown` is `name`, with or without parameters. */
static int matches_name(const char *shown, const char *name)
{
    size_t bytes = strlen(name);
    return !strncmp(shown, name, bytes) && (!shown[bytes] || shown[bytes] == '(');
}

static int is_function(struct strobe_breakdown *b, uint32_t name)
{
    if ((b->failed |= !strobe_array_reserve_zeroed(&b->matches, &b->match_room, (size_t)name + 1)))
        return 0;
    if (b->matches[name] == UNKNOWN)
        b->matches[name] = matches_name(strobe_function_tree_name(b->tree, name)->text, b->of) ? IS_FUNCTION : IS_NOT;
    return b->matches[name] == IS_FUNCTION;
}

void strobe_breakdown_begin(struct strobe_breakdown *b, const struct strobe_slice *slice)
{
    if (!b->of || (b->failed |= !strobe_array_reserve_zeroed(&b->open, &b->room, (size_t)b->depth + 1)))
        return;
    b->open[b->depth++] = (struct strobe_breakdown_slice){slice->begin, slice->name};
}

static void add_time(struct strobe_relation *to, const struct strobe_moment *begin, const struct strobe_moment *end)
{
    to->ns += end->time_ns - begin->time_ns;
    to->slices++;
}

/* Returns 1 if the function is one of the open slices outside of the innermost. */
static int is_within_function(struct strobe_breakdown *b)
{
    for (size_t i = 0; i + 1 < b->depth; i++)
        if (is_function(b, b->open[i].name))
            return 1;
    return 0;
}

/* Returns 1 if an outer slice of that name also lies directly in the function. The innermost slice is then part of
 * it. */
static int is_counted_as_callee(struct strobe_breakdown *b, uint32_t name)
{
    for (size_t i = 1; i + 1 < b->depth; i++)
        if (b->open[i].name == name && is_function(b, b->open[i - 1].name))
            return 1;
    return 0;
}

static void add_relation(struct strobe_breakdown *b, const struct strobe_breakdown_slice *s,
                         const struct strobe_moment *now)
{
    uint32_t caller = b->depth > 1 ? b->open[b->depth - 2].name : UINT32_MAX;
    if (is_function(b, s->name)) {
        size_t place = caller == UINT32_MAX ? 0 : (size_t)caller + 1;
        if (!is_within_function(b) &&
            !(b->failed |= !strobe_array_reserve_zeroed(&b->callers, &b->caller_room, place + 1))) {
            add_time(&b->callers[place], &s->begin, now);
            add_time(&b->function, &s->begin, now);
        }
    } else if (caller != UINT32_MAX && is_function(b, caller) && !is_counted_as_callee(b, s->name) &&
               !(b->failed |= !strobe_array_reserve_zeroed(&b->callees, &b->callee_room, (size_t)s->name + 1))) {
        add_time(&b->callees[s->name], &s->begin, now);
    }
}

void strobe_breakdown_end(struct strobe_breakdown *b, const struct strobe_moment *now)
{
    if (!b->depth)
        return;
    struct strobe_breakdown_slice s = b->open[b->depth - 1];
    add_relation(b, &s, now);
    b->depth--;
}

/* Returns 1 if the function also called `callee` between `leaf` and the function at `node`. */
static int is_counted(struct strobe_breakdown *b, uint32_t leaf, uint32_t node, uint32_t callee)
{
    const struct strobe_function_node *nodes = strobe_function_tree_node(b->tree, 0);
    for (uint32_t at = leaf; at != node; at = nodes[at].parent)
        if (nodes[at].name == callee && nodes[at].parent != node && is_function(b, nodes[nodes[at].parent].name))
            return 1;
    return 0;
}

/* The frames of a share are the path from its node to the root, innermost first. */
void strobe_breakdown_cpu(struct strobe_breakdown *b, const struct strobe_cpu_share *share)
{
    const struct strobe_function_node *nodes = strobe_function_tree_node(b->tree, 0);
    uint32_t outermost = 0, callee = UINT32_MAX;
    for (uint32_t node = share->node; b->of && node; callee = nodes[node].name, node = nodes[node].parent) {
        if (!is_function(b, nodes[node].name))
            continue;
        outermost = node;
        if (callee != UINT32_MAX && !is_function(b, callee) && !is_counted(b, share->node, node, callee) &&
            !(b->failed |= !strobe_array_reserve_zeroed(&b->callees, &b->callee_room, (size_t)callee + 1)))
            b->callees[callee].cpu_ns += share->cpu_ns;
    }
    if (!outermost)
        return;
    uint32_t parent = nodes[outermost].parent;
    size_t place = parent ? (size_t)nodes[parent].name + 1 : 0;
    b->function.cpu_ns += share->cpu_ns;
    if (!(b->failed |= !strobe_array_reserve_zeroed(&b->callers, &b->caller_room, place + 1)))
        b->callers[place].cpu_ns += share->cpu_ns;
}

enum strobe_status strobe_breakdown_status(const struct strobe_breakdown *b)
{
    return b->failed ? STROBE_IO : STROBE_OK;
}
