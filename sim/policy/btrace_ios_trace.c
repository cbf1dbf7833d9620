#include "sim/policy/btrace_ios_trace.h"

#include "engine/trace/model/function_tree.h"
#include "engine/util/array.h"
#include "engine/util/idmap.h"
#include "sim/runtime/vthread.h"

#include <stdlib.h>
#include <string.h>

enum { TICK_US = 10, TAIL_US = 1000, NS_PER_US = 1000 };

#define NO_NODE UINT32_MAX

/* Times in us. */
struct sample {
    uint64_t start, end;
    int64_t cpu_start, cpu_end;
    uint32_t stack;
};

struct samples {
    struct sample *at;
    size_t count, room;
};

/* A slice that is being built. Children come after their parent, in time order. */
struct node {
    uint32_t name;
    enum sim_call_class class;
    uint32_t parent, last_child, next; /* next sibling; NO_NODE */
    uint64_t begin, end;
};

struct frame {
    uint32_t name;
    enum sim_call_class class;
};

struct build {
    const struct sim_btrace_ios_dump *dump;
    struct sim_tracks *out;
    uint32_t *order; /* numbers of rows, ordered by thread, table, place */
    struct samples keyed, split;
    struct strobe_idmap by_start; /* start -> place in `keyed`, of the current thread */
    struct node *nodes;
    size_t node_count, node_room;
    uint32_t *path; /* open nodes from the root, and their number */
    uint32_t depth;
    uint64_t *addresses;
    struct frame *frames;
    uint32_t *name_of; /* by method */
};

/* ---- samples of a thread ---- */

static bool ios_add_sample(struct samples *s, struct sample sample)
{
    if (!strobe_array_reserve(&s->at, &s->room, s->count + 1))
        return false;
    s->at[s->count++] = sample;
    return true;
}

static bool insert(struct build *b, struct sample s)
{
    const uint32_t *at = strobe_idmap_get(&b->by_start, s.start, 0);
    if (at) {
        int64_t shift = s.cpu_start - b->keyed.at[*at].cpu_start;
        s.start = shift < 0 && (uint64_t)-shift > s.start ? 0 : s.start + (uint64_t)shift;
        s.end = s.end < s.start ? s.start : s.end;
        at = strobe_idmap_get(&b->by_start, s.start, 0);
    }
    if (at) {
        b->keyed.at[*at] = s;
        return true;
    }
    return strobe_idmap_add(&b->by_start, s.start, 0, (uint32_t)b->keyed.count) && ios_add_sample(&b->keyed, s);
}

static struct sample sample_of(const struct sim_btrace_row *r)
{
    struct sample s = {.start = (uint64_t)r->start * TICK_US,
                       .end = (uint64_t)r->end * TICK_US,
                       .stack = r->stack,
                       .cpu_start = (int64_t)r->cpu_start * TICK_US,
                       .cpu_end = (int64_t)r->cpu_end * TICK_US};
    s.end = s.end < s.start ? s.start : s.end;
    return s;
}

static int compare_sample_starts(const void *x, const void *y)
{
    const struct sample *a = x, *b = y;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* Emits the part of `rest` before `now`, and then what starts there. Puts back what is left of `rest`. (Spans of one
 * thread overlap only when their times were shifted or have wrapped. The later span then wins.) */
static bool split_at(struct build *b, struct sample *rest, const struct sample *now)
{
    struct sample before = *rest;
    before.end = now->start;
    before.cpu_end = now->cpu_start;
    if (before.start < before.end && !ios_add_sample(&b->split, before))
        return false;
    if (now->start < now->end) {
        *rest = *now;
        return true;
    }
    rest->start = now->end + 1;
    rest->cpu_start = now->cpu_end;
    return ios_add_sample(&b->split, *now);
}

static bool split_all(struct build *b)
{
    struct sample rest = {0};
    bool pending = false, fits = true;
    for (size_t i = 0; fits && i < b->keyed.count; i++) {
        const struct sample *s = &b->keyed.at[i];
        if (pending && s->start <= rest.end) {
            fits = split_at(b, &rest, s);
            pending = rest.start <= rest.end;
            continue;
        }
        fits = !pending || ios_add_sample(&b->split, rest);
        rest = *s;
        pending = true;
    }
    return fits && (!pending || ios_add_sample(&b->split, rest));
}

/* Puts the thread's samples into time order, without overlaps. */
static bool order_samples(struct build *b, size_t from, size_t to)
{
    b->keyed.count = b->split.count = 0;
    strobe_idmap_free(&b->by_start);
    for (size_t i = from; i < to; i++)
        if (!insert(b, sample_of(&b->dump->rows[b->order[i]])))
            return false;
    qsort(b->keyed.at, b->keyed.count, sizeof *b->keyed.at, compare_sample_starts);
    return split_all(b);
}

/* ---- the tree ---- */

/* Writes the stack's frames that have a symbol. */
static uint32_t ios_resolve_stack(struct build *b, uint32_t stack)
{
    uint32_t depth = sim_btrace_frames(b->dump->stacks, stack, b->addresses), kept = 0;
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t method = b->dump->method_at(b->dump->ctx, b->addresses[i]);
        if (sim_wait_kind(method) != STROBE_KIND_NONE) {
            uint32_t name = sim_tracks_name(b->out, strobe_wait_name(sim_wait_kind(method)));
            b->frames[kept++] = (struct frame){name, SIM_CALL_WAIT};
        } else if (method != SIM_HOOK_METHOD) {
            if (b->name_of[method] == UINT32_MAX)
                b->name_of[method] = sim_tracks_name(b->out, b->dump->scenario->methods[method].name);
            b->frames[kept++] = (struct frame){b->name_of[method], SIM_CALL_METHOD};
        }
    }
    return kept;
}

static bool ios_add_node(struct build *b, uint32_t parent, struct frame frame, const struct sample *s)
{
    if (!strobe_array_reserve(&b->nodes, &b->node_room, b->node_count + 1))
        return false;
    uint32_t number = (uint32_t)b->node_count++;
    b->nodes[number] = (struct node){frame.name, frame.class, parent, NO_NODE, NO_NODE, s->start, s->end};
    if (parent == NO_NODE)
        return true;
    if (b->nodes[parent].last_child != NO_NODE)
        b->nodes[b->nodes[parent].last_child].next = number;
    b->nodes[parent].last_child = number;
    b->path[b->depth++] = number;
    return true;
}

/* Node 0 is the thread. */
static bool grow_tree(struct build *b, const struct sample *s, uint32_t count)
{
    uint32_t common = 0;
    b->nodes[0].end = s->end;
    while (common < count && common < b->depth && b->nodes[b->path[common]].name == b->frames[common].name)
        b->nodes[b->path[common++]].end = s->end;
    b->depth = common;
    for (uint32_t i = common; i < count; i++)
        if (!ios_add_node(b, i ? b->path[i - 1] : 0, b->frames[i], s))
            return false;
    return true;
}

static void lengthen(struct build *b)
{
    for (size_t i = 1; i < b->node_count; i++) {
        struct node *n = &b->nodes[i];
        uint64_t limit = n->next != NO_NODE ? b->nodes[n->next].begin : b->nodes[n->parent].end;
        uint64_t room = limit > n->end ? limit - n->end : 0;
        n->end += room < TAIL_US ? room : TAIL_US;
    }
}

/* Emits the calls. Nodes are in the order of the calls' begins. */
static void ios_emit_calls(struct build *b, uint32_t track)
{
    uint32_t open = 0;
    for (size_t i = 1; i <= b->node_count; i++) {
        const struct node *n = i < b->node_count ? &b->nodes[i] : NULL;
        if (n && n->begin == n->end)
            continue;
        while (open != (n ? n->parent : 0)) {
            sim_track_return(b->out, track, b->nodes[open].end * NS_PER_US, false);
            open = b->nodes[open].parent;
        }
        if (!n)
            break;
        sim_track_call(b->out, track, n->begin * NS_PER_US, n->name, n->class);
        open = (uint32_t)i;
    }
    sim_track_end(b->out, track, b->nodes[0].end * NS_PER_US);
}

static void show(struct build *b, uint32_t tid, bool lowest, const struct sample *first, const struct sample *last)
{
    lengthen(b);
    uint32_t track =
        sim_track_add(b->out, tid, 1, b->dump->thread_name(b->dump->ctx, tid), lowest, first->start * NS_PER_US);
    ios_emit_calls(b, track);
    if (b->out->failed)
        return;
    b->out->tracks[track].known_cpu = true;
    b->out->tracks[track].totals.cpu_ns = (uint64_t)(last->cpu_end - first->cpu_start) * NS_PER_US;
}

static bool ios_build_thread(struct build *b, size_t from, size_t to)
{
    if (!order_samples(b, from, to))
        return false;
    const struct sample *first = NULL, *last = NULL;
    b->node_count = b->depth = 0;
    for (size_t i = 0; i < b->split.count; i++) {
        const struct sample *s = &b->split.at[i];
        uint32_t count = ios_resolve_stack(b, s->stack);
        if (count == 0)
            continue;
        if (!first && !ios_add_node(b, NO_NODE, (struct frame){0, SIM_CALL_METHOD}, s))
            return false;
        first = first ? first : s;
        last = s;
        if (!grow_tree(b, s, count))
            return false;
    }
    if (!first || last->cpu_end < first->cpu_start ||
        (uint64_t)(last->cpu_end - first->cpu_start) > last->end - first->start)
        return true;
    show(b, b->dump->rows[b->order[from]].tid, from == 0, first, last);
    return !b->out->failed;
}

/* ---- all ---- */

static bool ios_stack_before(const struct sim_btrace_ios_dump *d, uint32_t x, uint32_t y)
{
    const struct sim_btrace_row *a = &d->rows[x], *b = &d->rows[y];
    if (a->tid != b->tid)
        return a->tid < b->tid;
    return a->table != b->table ? a->table < b->table : x < y;
}

/* Merge sort of row numbers. qsort could not pass `d` to the comparison. */
static void sort_rows(const struct sim_btrace_ios_dump *d, uint32_t *order, uint32_t *spare)
{
    for (size_t width = 1; width < d->count; width *= 2) {
        for (size_t at = 0; at < d->count; at += 2 * width) {
            size_t middle = at + width < d->count ? at + width : d->count;
            size_t end = middle + width < d->count ? middle + width : d->count;
            for (size_t i = at, left = at, right = middle; i < end; i++) {
                bool from_left = left < middle && (right == end || ios_stack_before(d, order[left], order[right]));
                spare[i] = order[from_left ? left++ : right++];
            }
        }
        memcpy(order, spare, d->count * sizeof *order);
    }
}

static uint32_t ios_deepest_stack(const struct sim_btrace_ios_dump *d)
{
    uint32_t deepest = 0;
    for (size_t i = 0; i < d->count; i++) {
        uint32_t depth = d->rows[i].stack ? d->stacks->nodes[d->rows[i].stack].depth : 0;
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest;
}

static bool ios_prepare_samples(struct build *b)
{
    const struct sim_btrace_ios_dump *d = b->dump;
    size_t deepest = ios_deepest_stack(d) + 1, methods = d->scenario->method_count;
    uint32_t *spare = malloc((d->count + 1) * sizeof *spare);
    b->order = malloc((d->count + 1) * sizeof *b->order);
    b->path = malloc(deepest * sizeof *b->path);
    b->addresses = malloc(deepest * sizeof *b->addresses);
    b->frames = malloc(deepest * sizeof *b->frames);
    b->name_of = malloc((methods + 1) * sizeof *b->name_of);
    bool fits = spare && b->order && b->path && b->addresses && b->frames && b->name_of;
    if (fits) {
        memset(b->name_of, 0xff, (methods + 1) * sizeof *b->name_of);
        for (size_t i = 0; i < d->count; i++)
            b->order[i] = (uint32_t)i;
        sort_rows(d, b->order, spare);
    }
    free(spare);
    return fits;
}

enum strobe_status sim_btrace_ios_build(const struct sim_btrace_ios_dump *dump, struct sim_tracks *out)
{
    struct build b = {.dump = dump, .out = out};
    bool fits = ios_prepare_samples(&b);
    for (size_t from = 0, to; fits && from < dump->count; from = to) {
        uint32_t tid = dump->rows[b.order[from]].tid;
        for (to = from + 1; to < dump->count && dump->rows[b.order[to]].tid == tid;)
            to++;
        fits = ios_build_thread(&b, from, to);
    }
    free(b.order);
    free(b.keyed.at);
    free(b.split.at);
    strobe_idmap_free(&b.by_start);
    free(b.nodes);
    free(b.path);
    free(b.addresses);
    free(b.frames);
    free(b.name_of);
    return fits && !out->failed ? STROBE_OK : STROBE_IO;
}
