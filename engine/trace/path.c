#include "engine/trace/path.h"

#include <stdlib.h>

void strobe_path_start(struct strobe_path *p, uint64_t time_ns, uint64_t cpu_ns, const uint64_t *counter)
{
    p->now = (struct strobe_moment){.time_ns = time_ns, .cpu_ns = cpu_ns};
    for (unsigned i = 0; i < STROBE_COUNTER_COUNT; i++)
        p->now.counter[i] = counter[i];
    p->known_ns = time_ns;
    p->known_cpu_ns = cpu_ns;
    p->ahead_ns = 0;
    p->depth = p->node = 0;
}

void strobe_path_expect(struct strobe_path *p, uint64_t time_ns, uint64_t cpu_ns)
{
    p->ahead_ns = time_ns;
    p->ahead_cpu_ns = cpu_ns;
}

/* CPU time is shown never to fall and never to outrun the wall. Returns whether it had to be bent for that. */
static int advance(struct strobe_path *p, uint64_t time_ns, uint64_t cpu_ns)
{
    uint64_t most = p->now.cpu_ns + (time_ns - p->now.time_ns);
    p->now.time_ns = time_ns;
    if (cpu_ns <= p->now.cpu_ns)
        return cpu_ns < p->now.cpu_ns;
    p->now.cpu_ns = cpu_ns < most ? cpu_ns : most;
    return cpu_ns > most;
}

void strobe_path_move(struct strobe_path *p, uint64_t time_ns)
{
    if (time_ns <= p->now.time_ns)
        return;
    uint64_t cpu_ns = p->known_cpu_ns;
    if (p->ahead_ns > p->known_ns && p->ahead_cpu_ns > p->known_cpu_ns && time_ns > p->known_ns) {
        uint64_t till = time_ns < p->ahead_ns ? time_ns : p->ahead_ns;
        cpu_ns += (uint64_t)((double)(p->ahead_cpu_ns - p->known_cpu_ns) * (double)(till - p->known_ns) /
                             (double)(p->ahead_ns - p->known_ns));
    }
    advance(p, time_ns, cpu_ns > p->now.cpu_ns ? cpu_ns : p->now.cpu_ns);
}

void strobe_path_move_known(struct strobe_path *p, uint64_t time_ns, uint64_t cpu_ns)
{
    if (time_ns < p->now.time_ns)
        time_ns = p->now.time_ns;
    p->stats->cpu_clamped += (uint64_t)advance(p, time_ns, cpu_ns);
    p->known_ns = time_ns;
    p->known_cpu_ns = cpu_ns;
}

static enum strobe_slice_class class_of(uint32_t name)
{
    if (name >= STROBE_NAME_FUNCTIONS)
        return STROBE_SLICE_FUNCTION;
    if (name < STROBE_KIND_COUNT)
        return STROBE_SLICE_WAIT;
    return name == STROBE_NAME_UNSEEN || name == STROBE_NAME_OFF_CPU ? STROBE_SLICE_GAP : STROBE_SLICE_PLACEHOLDER;
}

static struct strobe_slice *begin(struct strobe_path *p, uint32_t node, uint32_t name, uint64_t arg, int unfinished)
{
    if (p->depth == p->room) {
        uint32_t room = p->room ? p->room * 2 : 256;
        struct strobe_slice *bigger = realloc(p->open, room * sizeof *bigger);
        if (!bigger) {
            p->failed = 1;
            return NULL;
        }
        p->open = bigger;
        p->room = room;
    }
    struct strobe_slice *s = &p->open[p->depth++];
    s->name = name;
    s->node = p->node = node;
    s->depth = p->depth;
    s->class = class_of(name);
    s->unfinished = unfinished;
    s->arg = arg;
    s->samples = 0;
    s->begin = p->now;
    p->stats->slices++;
    p->sink->slice_begin(p->sink, s);
    return s;
}

struct strobe_slice *strobe_path_push(struct strobe_path *p, uint32_t name, uint64_t arg, int unfinished)
{
    return begin(p, strobe_function_tree_child(p->tree, p->node, name), name, arg, unfinished);
}

void strobe_path_cut(struct strobe_path *p, uint32_t depth)
{
    if (p->depth <= depth)
        return;
    if (p->open[p->depth - 1].begin.time_ns >= p->now.time_ns) {
        strobe_path_move(p, p->now.time_ns + 1);
        p->stats->moved++;
    }
    while (p->depth > depth) {
        const struct strobe_slice *s = &p->open[--p->depth];
        if (p->depth)
            p->open[p->depth - 1].samples += s->samples;
        p->sink->slice_end(p->sink, s, &p->now);
    }
    p->node = depth ? p->open[depth - 1].node : 0;
}

uint32_t strobe_path_shared(const struct strobe_path *p, uint32_t node)
{
    const struct strobe_function_node *at = strobe_function_tree_node(p->tree, node);
    while (at->depth > p->depth || (node && p->open[at->depth - 1].node != node)) {
        node = at->parent;
        at = strobe_function_tree_node(p->tree, node);
    }
    return at->depth;
}

static int make_steps(struct strobe_path *p, uint32_t needed)
{
    if (needed <= p->step_room)
        return 1;
    uint32_t room = needed + 256;
    uint32_t *bigger = realloc(p->steps, room * sizeof *bigger);
    if (!bigger) {
        p->failed = 1;
        return 0;
    }
    p->steps = bigger;
    p->step_room = room;
    return 1;
}

/* Climbs from `node` to the deepest node that is open already: what lies below stays, what the climb passed is new. */
void strobe_path_show(struct strobe_path *p, uint32_t node)
{
    if (node == p->node)
        return;
    const struct strobe_function_node *nodes = strobe_function_tree_node(p->tree, 0), *at = &nodes[node];
    uint32_t steps = 0;
    if (!make_steps(p, at->depth))
        return;
    while (at->depth > p->depth || (node && p->open[at->depth - 1].node != node)) {
        p->steps[steps++] = node;
        node = at->parent;
        at = &nodes[node];
    }
    strobe_path_cut(p, at->depth);
    while (steps--) {
        uint32_t next = p->steps[steps];
        if (!begin(p, next, nodes[next].name, 0, 0))
            return;
    }
}
