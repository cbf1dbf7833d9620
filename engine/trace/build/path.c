#include "engine/trace/build/path.h"

#include "engine/base/hint.h"
#include "engine/util/array.h"

#include <stdlib.h>

/* ---- wakes */

static void emit_wake(struct strobe_path *p, const struct strobe_reader_wake *w, int at_waker, uint64_t time_ns)
{
    struct strobe_wake_flow flow = {
        .id = (uint64_t)(w - p->reader->wakes) + 1,
        .at_waker = at_waker,
        .waiter = w->waiter,
        .waker = w->waker,
        .time_ns = time_ns,
        .release_ns = strobe_reader_ns(p->reader, w->release_ticks),
        .end_ns = strobe_reader_ns(p->reader, w->end_ticks),
        .what = w->what,
        .stack = w->stack,
    };
    if (p->sink->wake)
        p->sink->wake(p->sink, &flow);
}

static void update_wake_ns(struct strobe_path *p)
{
    p->wake_ns = p->wake_count ? strobe_reader_ns(p->reader, p->reader->wakes[*p->wakes].release_ticks) : UINT64_MAX;
}

static void emit_releases(struct strobe_path *p, uint64_t time_ns)
{
    while (p->wake_ns < time_ns) {
        emit_wake(p, &p->reader->wakes[*p->wakes], 1, p->wake_ns > p->start_ns ? p->wake_ns : p->start_ns);
        p->wakes++;
        p->wake_count--;
        update_wake_ns(p);
    }
}

/* Emits the thread's releases before now. Called before each event at the current time, so that no release comes after
 * a later event. */
static inline void emit_due_releases(struct strobe_path *p)
{
    if (strobe_unlikely(p->wake_ns < p->now.time_ns))
        emit_releases(p, p->now.time_ns);
}

void strobe_path_woken(struct strobe_path *p, const struct strobe_reader_wake *w)
{
    emit_due_releases(p);
    p->stats->wakes++;
    emit_wake(p, w, 0, p->now.time_ns);
}

void strobe_path_finish(struct strobe_path *p)
{
    emit_releases(p, UINT64_MAX);
}

/* ---- slices */

void strobe_path_start(struct strobe_path *p, const struct strobe_reader_thread *thread, uint64_t time_ns,
                       uint64_t cpu_ns, const uint64_t *counter)
{
    p->wakes = thread->wakes;
    p->wake_count = thread->wake_count;
    p->start_ns = time_ns;
    update_wake_ns(p);
    p->now = (struct strobe_moment){.time_ns = time_ns, .cpu_ns = cpu_ns};
    for (unsigned i = 0; i < STROBE_COUNTER_COUNT; i++)
        p->now.counter[i] = counter[i];
    p->known_ns = time_ns;
    p->known_cpu_ns = cpu_ns;
    p->ahead_ns = 0;
    p->depth = p->node = p->call = 0;
    strobe_cpu_shares_start(&p->shares, p->reader, thread, &p->now);
}

void strobe_path_expect(struct strobe_path *p, uint64_t time_ns, uint64_t cpu_ns)
{
    p->ahead_ns = time_ns;
    p->ahead_cpu_ns = cpu_ns;
}

/* Moves on to `time_ns`. The shown CPU time never falls, and never grows faster than time. Returns 1 if `cpu_ns` had to
 * be limited for that. */
static int advance_path(struct strobe_path *p, uint64_t time_ns, uint64_t cpu_ns)
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
    advance_path(p, time_ns, cpu_ns > p->now.cpu_ns ? cpu_ns : p->now.cpu_ns);
}

void strobe_path_move_known(struct strobe_path *p, uint64_t time_ns, uint64_t cpu_ns)
{
    if (time_ns < p->now.time_ns)
        time_ns = p->now.time_ns;
    p->stats->cpu_clamped += (uint64_t)advance_path(p, time_ns, cpu_ns);
    p->known_ns = time_ns;
    p->known_cpu_ns = cpu_ns;
}

static STROBE_NOINLINE void divide_cpu_time(struct strobe_path *p)
{
    enum strobe_slice_class class = p->depth ? p->open[p->depth - 1].class : STROBE_SLICE_FUNCTION;
    strobe_cpu_shares_move(&p->shares, &p->now, p->node, class, p->call);
}

static inline void share_cpu_time(struct strobe_path *p)
{
    if (strobe_unlikely(p->divides))
        divide_cpu_time(p);
}

void strobe_path_share(struct strobe_path *p)
{
    share_cpu_time(p);
}

static enum strobe_slice_class class_of_name(uint32_t name)
{
    if (name >= STROBE_NAME_FUNCTIONS || (name >= STROBE_NAME_SAMPLED_CALL && name < STROBE_NAME_UNSEEN))
        return STROBE_SLICE_FUNCTION;
    if (name < STROBE_KIND_COUNT)
        return STROBE_SLICE_WAIT;
    return name == STROBE_NAME_UNSEEN ? STROBE_SLICE_GAP : STROBE_SLICE_PLACEHOLDER;
}

static struct strobe_slice *begin_slice(struct strobe_path *p, uint32_t node, uint32_t name,
                                        enum strobe_slice_class class, uint64_t arg, int unfinished)
{
    if (!strobe_array_reserve(&p->open, &p->room, p->depth + 1)) {
        p->failed = 1;
        return NULL;
    }
    share_cpu_time(p);
    struct strobe_slice *s = &p->open[p->depth++];
    s->name = name;
    s->node = p->node = node;
    s->depth = p->depth;
    s->class = class;
    s->unfinished = unfinished;
    s->no_wait = 0;
    s->arg = arg;
    s->samples = 0;
    s->begin = p->now;
    p->stats->slices++;
    emit_due_releases(p);
    p->sink->slice_begin(p->sink, s);
    return s;
}

struct strobe_slice *strobe_path_push(struct strobe_path *p, uint32_t name, uint64_t arg, int unfinished)
{
    return begin_slice(p, strobe_function_tree_child(p->tree, p->node, name), name, class_of_name(name), arg,
                       unfinished);
}

struct strobe_slice *strobe_path_push_off(struct strobe_path *p, uint32_t name)
{
    return begin_slice(p, strobe_function_tree_child(p->tree, p->node, name), name, STROBE_SLICE_OFF_CPU, 0, 0);
}

void strobe_path_cut(struct strobe_path *p, uint32_t depth)
{
    if (p->depth <= depth)
        return;
    if (p->open[p->depth - 1].begin.time_ns >= p->now.time_ns) {
        strobe_path_move(p, p->now.time_ns + 1);
        p->stats->moved++;
    }
    share_cpu_time(p);
    emit_due_releases(p);
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

/* Climbs from `node` to the deepest node that is open. Slices below it end; the nodes that the climb passed begin. */
void strobe_path_show(struct strobe_path *p, uint32_t node)
{
    if (node == p->node)
        return;
    const struct strobe_function_node *nodes = strobe_function_tree_node(p->tree, 0), *at = &nodes[node];
    uint32_t steps = 0;
    if ((p->failed |= !strobe_array_reserve(&p->steps, &p->step_room, at->depth)))
        return;
    while (at->depth > p->depth || (node && p->open[at->depth - 1].node != node)) {
        p->steps[steps++] = node;
        node = at->parent;
        at = &nodes[node];
    }
    strobe_path_cut(p, at->depth);
    while (steps--) {
        uint32_t next = p->steps[steps];
        if (!begin_slice(p, next, nodes[next].name, class_of_name(nodes[next].name), 0, 0))
            return;
    }
}
