#include "engine/trace/session/code_split.h"

#include "engine/trace/session/code_names.h"
#include "engine/util/idmap.h"

#include <stdlib.h>
#include <string.h>

enum { UNKNOWN, STAYS, CHANGES }; /* state of a node: whether an address of its stack has several names */

struct split {
    const struct strobe_reader *reader;
    struct strobe_code_names code;
    const struct strobe_stack_table *from;
    uint8_t *state;           /* by node of `from` */
    struct strobe_idmap made; /* (parent, address) -> added node */
    struct strobe_stack_node *nodes;
    uint32_t count, room; /* nodes[1 .. count] */
    int failed, full;     /* out of memory; no more stack ids */
};

/* Memory of the new table. It belongs to struct strobe_reader. */
struct own_stacks {
    struct strobe_stack_table_head head;
    struct strobe_stack_node nodes[];
};

static int is_in_image(const struct split *s, uint64_t address)
{
    for (uint32_t i = 0; i < s->reader->image_count; i++) {
        const struct strobe_image_entry *image = strobe_reader_image(s->reader, i);
        if (image && address >= image->start && address < image->end)
            return 1;
    }
    return 0;
}

/* Looks up a return address, by the byte before it. An address in an image has the image's name, so *changes is 0
 * there. */
static const struct strobe_code_entry *find_code(const struct split *s, uint64_t address, uint64_t ticks, int *changes)
{
    const struct strobe_code_entry *code = strobe_code_names_find(&s->code, address - 1, ticks, changes);
    if (*changes && is_in_image(s, address - 1))
        *changes = 0;
    return code;
}

/* Returns 1 if an address of the stack has several names. A damaged chain of parents is cut at STROBE_STACK_DEPTH_MAX.
 */
static int stack_changes(struct split *s, uint32_t node)
{
    uint32_t path[STROBE_STACK_DEPTH_MAX], length = 0;
    uint8_t state = STAYS;
    while (node && s->state[node] == UNKNOWN && length < STROBE_STACK_DEPTH_MAX) {
        path[length++] = node;
        node = s->nodes[node].parent;
        if (node > strobe_stack_node_count(s->from))
            node = 0;
    }
    if (node && s->state[node] != UNKNOWN)
        state = s->state[node];
    while (length--) {
        int changes;
        find_code(s, s->nodes[path[length]].address, 0, &changes);
        state = changes ? CHANGES : state;
        s->state[path[length]] = state;
    }
    return state == CHANGES;
}

static uint32_t add_node(struct split *s, uint32_t parent, uint64_t address, uint32_t depth)
{
    int fresh;
    uint32_t *known = strobe_idmap_put(&s->made, parent, address, &fresh);
    if (known && !fresh)
        return *known;
    if (known && s->count + 1 >= s->room && s->room < STROBE_STACK_NODES_MAX) {
        uint32_t room = s->room < STROBE_STACK_NODES_MAX / 2 ? 2 * s->room : STROBE_STACK_NODES_MAX;
        struct strobe_stack_node *grown = realloc(s->nodes, ((size_t)room + 1) * sizeof *grown);
        s->nodes = grown ? grown : s->nodes;
        s->room = grown ? room : s->room;
    }
    if (!known || s->count + 1 >= s->room) {
        s->failed |= s->room < STROBE_STACK_NODES_MAX;
        s->full = 1;
        return 0;
    }
    *known = ++s->count;
    s->nodes[*known] = (struct strobe_stack_node){.address = address, .parent = parent};
    strobe_store_relaxed(&s->nodes[*known].depth, depth);
    return *known;
}

/* Returns the stack with the names that its addresses had at `ticks`. */
static uint32_t stack_at(struct split *s, uint32_t stack, uint64_t ticks)
{
    uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint32_t depth, node = 0;
    if (s->full || !stack || stack > strobe_stack_node_count(s->from) || !stack_changes(s, stack) ||
        strobe_stack_frames(s->from, stack, frames, STROBE_STACK_DEPTH_MAX, &depth) != STROBE_OK)
        return stack;
    for (uint32_t i = 0; i < depth && !s->full; i++) {
        int changes;
        const struct strobe_code_entry *code = find_code(s, frames[i], ticks, &changes);
        node = add_node(s, node, code && changes ? strobe_code_alias(code) : frames[i], i + 1);
    }
    return s->full ? stack : node;
}

/* Returns the time at which the record's stack was taken: the end of a scope. */
static uint64_t ticks_of_stack(const struct strobe_record *r)
{
    return r->flags & STROBE_FLAG_SCOPE ? r->ticks + r->duration : r->ticks;
}

static void replace_stacks(struct split *s, struct strobe_reader *r)
{
    for (size_t i = 0; i < r->item_count; i++)
        r->items[i].record.stack = stack_at(s, r->items[i].record.stack, ticks_of_stack(&r->items[i].record));
    for (size_t i = 0; i < r->wake_count; i++)
        r->wakes[i].stack = stack_at(s, r->wakes[i].stack, r->wakes[i].release_ticks);
    for (size_t i = 0; i < r->hitch_count; i++)
        r->hitches[i].stack = stack_at(s, r->hitches[i].stack, r->hitches[i].begin_ticks);
}

/* Makes the old and new nodes the reader's stack table. */
static enum strobe_status set_table(const struct split *s, struct strobe_reader *r)
{
    struct own_stacks *own = calloc(1, sizeof *own + ((size_t)s->count + 1) * sizeof *own->nodes);
    if (!own)
        return STROBE_IO;
    own->head = *s->from->head;
    own->head.node_capacity = s->count;
    strobe_store_relaxed(&own->head.next_node, s->count + 1);
    memcpy(own->nodes, s->nodes, ((size_t)s->count + 1) * sizeof *own->nodes);
    r->own_stacks = own;
    r->session.stacks.head = &own->head;
    r->session.stacks.nodes = own->nodes;
    return STROBE_OK;
}

static enum strobe_status split(struct split *s, struct strobe_reader *r)
{
    uint32_t count = strobe_stack_node_count(s->from);
    s->room = count + 1024;
    s->count = count;
    s->nodes = malloc(((size_t)s->room + 1) * sizeof *s->nodes);
    s->state = calloc((size_t)count + 1, 1);
    if (!s->nodes || !s->state)
        return STROBE_IO;
    memcpy(s->nodes, s->from->nodes, ((size_t)count + 1) * sizeof *s->nodes);
    replace_stacks(s, r);
    if (s->failed)
        return STROBE_IO;
    return s->count > count ? set_table(s, r) : STROBE_OK;
}

enum strobe_status strobe_code_split(struct strobe_reader *reader)
{
    struct split s = {.reader = reader, .from = &reader->session.stacks};
    enum strobe_status status = strobe_code_names_open(&reader->session.names, &s.code);
    int changes = 0;
    for (size_t i = 0; status == STROBE_OK && i < s.code.count && !changes; i++)
        changes = s.code.entries[i].begin_ticks != s.code.entries[0].begin_ticks;
    if (status == STROBE_OK && changes)
        status = split(&s, reader);
    strobe_code_names_close(&s.code);
    strobe_idmap_free(&s.made);
    free(s.nodes);
    free(s.state);
    return status;
}
