#include "engine/trace/function_tree.h"

#include "engine/base/mix.h"

#include <stdlib.h>
#include <string.h>

enum { FRAMES_MAX = STROBE_SYMBOLS_FRAMES_MAX };

static const char *const fixed_names[STROBE_NAME_FUNCTIONS] = {
    [STROBE_KIND_NONE] = "[wait]",
    [STROBE_KIND_ASYNC] = "[async]",
    [STROBE_KIND_ALLOC] = "[alloc]",
    [STROBE_KIND_FREE] = "[free]",
    [STROBE_KIND_MUTEX] = "[mutex wait]",
    [STROBE_KIND_RWLOCK] = "[rwlock wait]",
    [STROBE_KIND_COND] = "[cond wait]",
    [STROBE_KIND_SEM] = "[sem wait]",
    [STROBE_KIND_UNLOCK] = "[unlock]",
    [STROBE_KIND_READ] = "[read]",
    [STROBE_KIND_WRITE] = "[write]",
    [STROBE_KIND_OPEN] = "[open]",
    [STROBE_KIND_CLOSE] = "[close]",
    [STROBE_KIND_SYNC] = "[sync]",
    [STROBE_KIND_POLL] = "[poll]",
    [STROBE_KIND_NET] = "[net]",
    [STROBE_KIND_SLEEP] = "[sleep]",
    [STROBE_KIND_CLOCK] = "[clock]",
    [STROBE_KIND_THREAD] = "[thread wait]",
    [STROBE_KIND_LOAD] = "[load]",
    [STROBE_KIND_CHILD] = "[wait for child]",
    [STROBE_KIND_MONITOR] = "[monitor wait]",
    [STROBE_KIND_PARK] = "[park wait]",
    [STROBE_KIND_JNI] = "[jni]",
    [STROBE_KIND_GC] = "[gc wait]",
    [STROBE_KIND_IPC] = "[ipc wait]",
    [STROBE_KIND_WAKE] = "[wake]",
    [STROBE_KIND_COUNTER] = "[counter]",
    [STROBE_KIND_HITCH] = "[hitch]",
    [STROBE_NAME_UNSEEN] = "[unseen]",
    [STROBE_NAME_OFF_CPU] = "[off cpu]",
    [STROBE_NAME_CUT] = "[stack cut]",
    [STROBE_NAME_LOST] = "[stack lost]",
    [STROBE_NAME_TABLE_FULL] = "[stack table full]",
    [STROBE_NAME_NO_STACK] = "[no stack]",
};

const char *strobe_wait_name(unsigned kind)
{
    return fixed_names[kind < STROBE_KIND_COUNT ? kind : STROBE_KIND_NONE];
}

/* Open-addressed map from a 128-bit key to a 32-bit value. */
struct slot { uint64_t key, key2; uint32_t value, used; };
struct map { struct slot *slots; size_t mask, count; };

struct place { uint32_t first, count; };   /* of the functions at one address */

struct strobe_function_tree {
    const struct strobe_stack_table *table;
    struct strobe_resolver resolver;
    int failed;

    struct strobe_name *names;
    size_t name_count, name_room;
    uint32_t *name_of_function;             /* by function id: name + 1; 0 = not met yet */
    size_t function_room;

    struct map places;                      /* (address, is return) -> place */
    struct place *place;
    size_t place_count, place_room;
    uint32_t *place_names;
    size_t place_name_count, place_name_room;

    struct strobe_function_node *nodes;
    size_t node_count, node_room;
    struct map children;                    /* (parent, name) -> node */
    uint32_t *of_stack[STROBE_STACK_WAYS];  /* by stack id: node + 1; 0 = not folded yet */
    uint32_t stack_count;
};

static int make_room(struct strobe_function_tree *t, void *array, size_t needed, size_t *room, size_t item_bytes)
{
    if (needed <= *room)
        return 1;
    size_t more = *room ? *room : 64;
    while (more < needed)
        more *= 2;
    void *bigger = realloc(*(void **)array, more * item_bytes);
    if (!bigger) {
        t->failed = 1;
        return 0;
    }
    memset((char *)bigger + *room * item_bytes, 0, (more - *room) * item_bytes);
    *(void **)array = bigger;
    *room = more;
    return 1;
}

/* ---- map */

static struct slot *map_find(const struct map *m, uint64_t key, uint64_t key2)
{
    size_t i = strobe_mix_pair(key, key2) & m->mask;
    while (m->slots[i].used && (m->slots[i].key != key || m->slots[i].key2 != key2))
        i = (i + 1) & m->mask;
    return &m->slots[i];
}

static int map_grow(struct strobe_function_tree *t, struct map *m)
{
    if (m->slots && m->count * 2 < m->mask)
        return 1;
    struct map bigger = {.mask = m->slots ? m->mask * 2 + 1 : 1023, .count = m->count};
    bigger.slots = calloc(bigger.mask + 1, sizeof *bigger.slots);
    if (!bigger.slots) {
        t->failed = 1;
        return 0;
    }
    for (size_t i = 0; m->slots && i <= m->mask; i++)
        if (m->slots[i].used)
            *map_find(&bigger, m->slots[i].key, m->slots[i].key2) = m->slots[i];
    free(m->slots);
    *m = bigger;
    return 1;
}

static void map_fill(struct map *m, struct slot *slot, uint64_t key, uint64_t key2, uint32_t value)
{
    *slot = (struct slot){key, key2, value, 1};
    m->count++;
}

/* ---- names */

static uint32_t name_of(struct strobe_function_tree *t, const struct strobe_symbol *symbol)
{
    if (!make_room(t, &t->name_of_function, (size_t)symbol->function_id + 1, &t->function_room,
                   sizeof *t->name_of_function) ||
        !make_room(t, &t->names, t->name_count + 1, &t->name_room, sizeof *t->names))
        return STROBE_NAME_NO_STACK;
    uint32_t *known = &t->name_of_function[symbol->function_id];
    if (!*known) {
        t->names[t->name_count++] = (struct strobe_name){symbol->function, symbol->image ? symbol->image : "",
                                                         symbol->file ? symbol->file : "", symbol->line,
                                                         symbol->function_address};
        *known = (uint32_t)t->name_count;
    }
    return *known - 1;
}

uint32_t strobe_function_tree_text(struct strobe_function_tree *t, const char *text)
{
    if (!make_room(t, &t->names, t->name_count + 1, &t->name_room, sizeof *t->names))
        return STROBE_NAME_NO_STACK;
    t->names[t->name_count] = (struct strobe_name){text, "", "", 0, 0};
    return (uint32_t)t->name_count++;
}

static int is_ours(const struct strobe_symbol *symbol)
{
    static const char library[] = "libstrobe-preload.so";
    const char *base = symbol->image ? strrchr(symbol->image, '/') : NULL;
    return base && !strcmp(base + 1, library);
}

static const struct place *place_of(struct strobe_function_tree *t, uint64_t address)
{
    if (!map_grow(t, &t->places))
        return NULL;
    struct slot *slot = map_find(&t->places, address, 0);
    if (!slot->used) {
        struct strobe_symbol symbols[FRAMES_MAX];
        size_t count = t->resolver.resolve(t->resolver.ctx, address, symbols, FRAMES_MAX);
        if (count && is_ours(&symbols[0]))
            count = 0;
        if (!make_room(t, &t->place, t->place_count + 1, &t->place_room, sizeof *t->place) ||
            !make_room(t, &t->place_names, t->place_name_count + count, &t->place_name_room, sizeof *t->place_names))
            return NULL;
        struct place *new = &t->place[t->place_count];
        *new = (struct place){(uint32_t)t->place_name_count, (uint32_t)count};
        for (size_t i = 0; i < count; i++)
            t->place_names[t->place_name_count++] = name_of(t, &symbols[i]);
        map_fill(&t->places, slot, address, 0, (uint32_t)t->place_count++);
    }
    return &t->place[slot->value];
}

size_t strobe_function_tree_at(struct strobe_function_tree *t, uint64_t address, const uint32_t **names,
                               uint32_t *first)
{
    const struct place *place = place_of(t, address);
    if (!place)
        return 0;
    *names = t->place_names + place->first;
    *first = place->first;
    return place->count;
}

/* ---- nodes */

uint32_t strobe_function_tree_child(struct strobe_function_tree *t, uint32_t parent, uint32_t name)
{
    if (!map_grow(t, &t->children))
        return 0;
    struct slot *slot = map_find(&t->children, parent, name);
    if (!slot->used) {
        if (!make_room(t, &t->nodes, t->node_count + 1, &t->node_room, sizeof *t->nodes))
            return 0;
        t->nodes[t->node_count] = (struct strobe_function_node){parent, name, t->nodes[parent].depth + 1};
        map_fill(&t->children, slot, parent, name, (uint32_t)t->node_count++);
    }
    return slot->value;
}

static uint32_t descend(struct strobe_function_tree *t, uint32_t node, uint64_t address)
{
    const struct place *place = place_of(t, address);
    for (uint32_t i = 0; place && i < place->count; i++)
        node = strobe_function_tree_child(t, node, t->place_names[place->first + i]);
    return node;
}

/* The node that stacks read this way hang under. */
static uint32_t base_of(struct strobe_function_tree *t, unsigned way)
{
    if (way & STROBE_STACK_LOST)
        return strobe_function_tree_child(t, 0, STROBE_NAME_LOST);
    if (way & STROBE_STACK_CUT)
        return strobe_function_tree_child(t, 0, STROBE_NAME_CUT);
    return 0;
}

/* Lists the unfolded part of a stack, innermost first, and what it hangs on. Depths that fall by one at each step
 * keep a damaged table from leading in circles. */
static uint32_t climb(const struct strobe_function_tree *t, uint32_t stack, const uint32_t *known, uint32_t *steps,
                      uint32_t *step_count)
{
    uint32_t depth = 0;
    for (*step_count = 0; stack && !known[stack]; (*step_count)++) {
        const struct strobe_stack_node *node = stack < t->stack_count ? strobe_stack_node_of(t->table, stack) : NULL;
        if (!node || *step_count == STROBE_STACK_DEPTH_MAX || (depth && node->depth != depth - 1) || !node->depth)
            break;
        depth = node->depth;
        steps[*step_count] = stack;
        stack = node->parent;
        if (stack >= t->stack_count)
            stack = 0;
    }
    return stack;
}

static uint32_t fold(struct strobe_function_tree *t, uint32_t stack, unsigned way)
{
    uint32_t *known = t->of_stack[way];
    uint32_t steps[STROBE_STACK_DEPTH_MAX], count;
    uint32_t top = climb(t, stack, known, steps, &count);
    uint32_t node = top && known[top] ? known[top] - 1 : base_of(t, way);
    while (count--) {
        node = descend(t, node, strobe_stack_node_of(t->table, steps[count])->address);
        known[steps[count]] = node + 1;
    }
    return node;
}

uint32_t strobe_function_tree_of_stack(struct strobe_function_tree *t, uint32_t stack, unsigned way)
{
    if (stack && stack < t->stack_count && t->of_stack[way] && t->of_stack[way][stack])
        return t->of_stack[way][stack] - 1;
    if (!stack || stack >= t->stack_count || !strobe_stack_node_of(t->table, stack))
        return strobe_function_tree_child(t, 0, STROBE_NAME_NO_STACK);
    if (!t->of_stack[way]) {
        t->of_stack[way] = calloc(t->stack_count, sizeof *t->of_stack[way]);
        if (!t->of_stack[way]) {
            t->failed = 1;
            return 0;
        }
    }
    uint32_t node = fold(t, stack, way);
    return node ? node : strobe_function_tree_child(t, 0, STROBE_NAME_NO_STACK);
}

/* ---- the whole */

enum strobe_status strobe_function_tree_open(const struct strobe_stack_table *table, struct strobe_resolver resolver,
                                             struct strobe_function_tree **out)
{
    *out = NULL;
    struct strobe_function_tree *t = calloc(1, sizeof *t);
    if (!t)
        return STROBE_IO;
    t->table = table;
    t->resolver = resolver;
    t->stack_count = strobe_stack_node_count(table) + 1;
    if (!make_room(t, &t->names, STROBE_NAME_FUNCTIONS, &t->name_room, sizeof *t->names) ||
        !make_room(t, &t->nodes, 1, &t->node_room, sizeof *t->nodes)) {
        strobe_function_tree_close(t);
        return STROBE_IO;
    }
    for (size_t i = 0; i < STROBE_NAME_FUNCTIONS; i++)
        t->names[i] = (struct strobe_name){fixed_names[i], "", "", 0, 0};
    t->name_count = STROBE_NAME_FUNCTIONS;
    t->node_count = 1;
    *out = t;
    return STROBE_OK;
}

void strobe_function_tree_close(struct strobe_function_tree *t)
{
    if (!t)
        return;
    for (unsigned way = 0; way < STROBE_STACK_WAYS; way++)
        free(t->of_stack[way]);
    free(t->names);
    free(t->name_of_function);
    free(t->places.slots);
    free(t->place);
    free(t->place_names);
    free(t->nodes);
    free(t->children.slots);
    free(t);
}

enum strobe_status strobe_function_tree_status(const struct strobe_function_tree *t)
{
    return t->failed ? STROBE_IO : STROBE_OK;
}

const struct strobe_function_node *strobe_function_tree_node(const struct strobe_function_tree *t, uint32_t node)
{
    return &t->nodes[node];
}

const struct strobe_name *strobe_function_tree_name(const struct strobe_function_tree *t, uint32_t name)
{
    return &t->names[name];
}

uint32_t strobe_function_tree_node_count(const struct strobe_function_tree *t)
{
    return (uint32_t)t->node_count;
}

uint32_t strobe_function_tree_name_count(const struct strobe_function_tree *t)
{
    return (uint32_t)t->name_count;
}
