#include "engine/trace/build/timeline_between.h"

#include "engine/trace/build/timeline_builder.h"

#include <stdbool.h>

enum { OFF_CPU_PART = 4, AT_HOOK_NS = 1000, SAMPLED_SPANS = 2, LONGEST_SPARSE_NS = STROBE_SPARSE_NS / 4 * 5 };

/* What a thread did between two samples that are too far apart. */
enum gap { UNSEEN, OFF_CPU, SLOW };

/* A thread moves only while it uses CPU time. That time is conclusive only if it is known both before and after the
 * gap. */
static enum gap classify_gap(const struct builder *b)
{
    const struct strobe_path *p = &b->path;
    uint64_t cpu_ns = p->ahead_cpu_ns - p->known_cpu_ns;
    uint64_t most_ns = b->gap_ns > b->tick_ns ? b->gap_ns : b->tick_ns;
    if (p->ahead_ns <= p->known_ns || p->known_ns > b->seen_ns || p->ahead_cpu_ns < p->known_cpu_ns || cpu_ns > most_ns)
        return UNSEEN;
    return cpu_ns <= (p->ahead_ns - p->known_ns) / OFF_CPU_PART ? OFF_CPU : SLOW;
}

/* Returns whether the record shows a thread that waited for a processor at its time. */
static bool was_ready(const struct strobe_item *item)
{
    return item && item->record.flags & STROBE_FLAG_READY;
}

/* Returns the time that the thread was off its processor, outside of recorded waits, since it was last seen. It is
 * known if the CPU time is known then and at the next item. Returns 0 if the time is shorter than the shortest one
 * shown. Unrecorded short waits do not count for a thread whose CPU clock ticks: its ticks know their sum. Without
 * ticks, a gap that is unseen or off the processor as a whole has no such part. */
static uint64_t off_processor_ns(const struct builder *b, const struct strobe_item *item, uint64_t time_ns)
{
    const struct strobe_path *p = &b->path;
    if (p->known_ns != b->seen_ns || p->ahead_ns != time_ns || p->ahead_cpu_ns < p->known_cpu_ns)
        return 0;
    if (!b->ticks && time_ns - b->seen_ns > b->gap_ns && !was_ready(b->seen) && !was_ready(item) &&
        classify_gap(b) != SLOW)
        return 0;
    uint64_t on_ns = p->ahead_cpu_ns - p->known_cpu_ns, wall_ns = time_ns - p->known_ns, short_ns = 0;
    if (item->record.kind == STROBE_KIND_CPU && item->record.arg > b->short_waits)
        short_ns = strobe_reader_span_ns(b->reader, item->record.arg - b->short_waits);
    return wall_ns >= on_ns + short_ns + RUNNABLE_NS_LEAST ? wall_ns - on_ns - short_ns : 0;
}

/* ---- names of time off the processor */

static uint64_t wait_call_ns(const struct builder *b, size_t i)
{
    return strobe_reader_ns(b->reader, b->thread->wait_calls[i].ticks);
}

/* Passes the wait calls up to the time when the thread was last seen. Returns whether another one follows before
 * `time_ns`: the thread waited in it meanwhile. */
static bool waited_in_call(struct builder *b, uint64_t time_ns)
{
    size_t *next = &b->next_wait_call, count = b->thread->wait_call_count;
    while (*next < count && wait_call_ns(b, *next) <= b->seen_ns)
        ++*next;
    return *next < count && wait_call_ns(b, *next) < time_ns;
}

static void push_off(struct builder *b, uint32_t name, uint64_t end_ns, uint64_t cpu_ns)
{
    struct strobe_path *p = &b->path;
    uint32_t keep = p->depth;
    strobe_path_push_off(p, name);
    *(name == STROBE_NAME_RUNNABLE ? &b->stats->runnables : &b->stats->offs) += 1;
    if (cpu_ns == UINT64_MAX)
        strobe_path_move(p, end_ns);
    else
        strobe_path_move_known(p, end_ns, cpu_ns);
    strobe_path_cut(p, keep);
}

/* Shows that the thread is off its processor from now to `end_ns`, in the system calls in which the sampler saw it
 * before `time_ns`, else as `name`. Each call lasts until the sampler saw the thread in another one. cpu_ns: the
 * thread's CPU time at `end_ns`; UINT64_MAX = unknown. */
static void show_off_processor(struct builder *b, uint32_t name, uint64_t time_ns, uint64_t end_ns, uint64_t cpu_ns)
{
    const struct strobe_reader_wait_call *calls = b->thread->wait_calls;
    if (name == STROBE_NAME_OFF_CPU && waited_in_call(b, time_ns))
        name = strobe_function_tree_wait_call(b->tree, calls[b->next_wait_call].call);
    while (name != STROBE_NAME_RUNNABLE && waited_in_call(b, time_ns)) {
        uint64_t at_ns = wait_call_ns(b, b->next_wait_call);
        uint32_t next = strobe_function_tree_wait_call(b->tree, calls[b->next_wait_call++].call);
        if (next == name || at_ns >= end_ns)
            continue;
        if (at_ns > b->path.now.time_ns)
            push_off(b, name, at_ns, cpu_ns);
        name = next;
    }
    push_off(b, name, end_ns, cpu_ns);
}

/* Returns 1 if both samples were taken at times that do not depend on what the thread did, outside of calls and within
 * one message. The thread then moved at some time between them, and all times are equally likely. */
static int both_representative(const struct builder *b, const struct strobe_item *item)
{
    return b->seen && b->seen != item && is_representative(b->seen) && is_representative(item) && !is_call(b->seen) &&
           !is_call(item) && b->seen->record.message == item->record.message;
}

/* The position of the time off the processor, before the next item:
 *
 *   the thread stood at `node` all the time   right before the item, under `node`
 *   it waited for a processor when last seen  right after that, under the shown stack
 *   between two representative samples        in the middle of the CPU time between them, where the shown stack changes
 *   else, and after a gap                     right before the item, under the shown stack */
void strobe_between_show_off(struct builder *b, const struct strobe_item *item, uint64_t time_ns, uint32_t node)
{
    struct strobe_path *p = &b->path;
    uint64_t off_ns = b->call_count ? 0 : off_processor_ns(b, item, time_ns);
    uint64_t begin_ns = time_ns - off_ns, middle_ns = b->seen_ns + (begin_ns - b->seen_ns) / 2;
    uint64_t cpu_ns = p->ahead_cpu_ns;
    if (!off_ns || begin_ns < p->now.time_ns)
        return;
    bool ready = was_ready(item), stood = ready || item->record.flags & STROBE_FLAG_STOOD, stays = was_ready(b->seen);
    /* Only ticks, and a sampler that saw the thread wait for a processor or in a system call, know whether the thread
     * gave up its processor or another thread had it. */
    bool gave_way =
        b->ticks ? item->record.flags & STROBE_FLAG_GAVE_WAY || waited_in_call(b, time_ns) : !ready && !stays;
    bool between = !stood && both_representative(b, item) && middle_ns >= p->now.time_ns;
    if (stays && !stood) {
        begin_ns = p->now.time_ns;
        cpu_ns = p->known_cpu_ns;
        between = false;
    } else if (between) {
        begin_ns = middle_ns;
        cpu_ns -= (p->ahead_cpu_ns - p->known_cpu_ns) / 2;
    }
    strobe_path_move_known(p, begin_ns, cpu_ns);
    if (stood)
        strobe_path_show(p, node);
    show_off_processor(b, gave_way ? STROBE_NAME_OFF_CPU : STROBE_NAME_RUNNABLE, time_ns, begin_ns + off_ns, cpu_ns);
    if (between)
        strobe_path_show(p, node);
}

void strobe_between_emit_message(struct builder *b, uint32_t id, uint64_t time_ns)
{
    if (!b->sink->message || id == b->current_message || (id && id == b->last_message))
        return;
    struct strobe_loop_message m = {time_ns > b->path.now.time_ns ? time_ns : b->path.now.time_ns, id};
    b->sink->message(b->sink, &m);
    b->current_message = id;
    b->last_message = id ? id : b->last_message;
}

/* A thread that was off its processor did not move: its next sample shows where it was. */
void strobe_between_fill_gap(struct builder *b, uint64_t time_ns, uint64_t off_ns, uint32_t node, uint32_t shared,
                             int ends)
{
    struct strobe_path *p = &b->path;
    enum gap gap = classify_gap(b);
    if (gap == SLOW || (gap == OFF_CPU && off_ns))
        return;
    time_ns -= off_ns; /* shown separately */
    if (time_ns <= b->seen_ns + b->least_ns)
        return;
    strobe_path_move(p, b->seen_ns + b->least_ns);
    strobe_path_cut(p, gap == OFF_CPU ? shared : 0);
    if (gap == UNSEEN && ends)
        strobe_between_emit_message(b, 0, 0);
    if (gap == OFF_CPU && node)
        strobe_path_show(p, node);
    if (gap == OFF_CPU) {
        show_off_processor(b, STROBE_NAME_OFF_CPU, time_ns, time_ns, UINT64_MAX);
        return;
    }
    uint32_t keep = p->depth;
    strobe_path_push(p, STROBE_NAME_UNSEEN, 0, 0);
    b->stats->gaps++;
    strobe_path_move(p, time_ns);
    strobe_path_cut(p, keep);
}

/* Returns the number of open slices that stay open when a message begins with `node`: those of the loop. */
static uint32_t shared_by_messages(const struct builder *b, uint32_t node)
{
    const struct strobe_function_node *nodes = strobe_function_tree_node(b->tree, 0);
    uint32_t shared = strobe_path_shared(&b->path, node), loop = b->loop;
    while (node != loop) {
        if (nodes[node].depth > nodes[loop].depth)
            node = nodes[node].parent;
        else
            loop = nodes[loop].parent;
    }
    return nodes[loop].depth < shared ? nodes[loop].depth : shared;
}

/* Returns 1 if the last call was a poll, and the message of `item` began at its end. */
static int polled_last(const struct builder *b, const struct strobe_item *item)
{
    const struct strobe_record *r = b->seen ? &b->seen->record : NULL;
    return r && r->kind == STROBE_KIND_POLL && r->flags & STROBE_FLAG_SCOPE && r->message != item->record.message;
}

void strobe_between_arrive(struct builder *b, const struct strobe_item *item, uint64_t time_ns, uint32_t node)
{
    if (b->call_count)
        return;
    if (item->record.kind == STROBE_KIND_CPU)
        b->tick_ns = item->record.flags & STROBE_FLAG_SPARSE ? LONGEST_SPARSE_NS : 0;
    int begins = item->record.message != b->message;
    if (begins && b->poll)
        b->loop = b->poll;
    if (b->seen && b->seen != item && time_ns > b->seen_ns && time_ns - b->seen_ns > b->gap_ns)
        strobe_between_fill_gap(b, time_ns, off_processor_ns(b, item, time_ns),
                                is_representative(item) && !is_call(item) && !begins ? node : 0,
                                begins ? shared_by_messages(b, node) : strobe_path_shared(&b->path, node), begins);
    int polled = begins && polled_last(b, item);
    if (begins && b->path.depth) {
        if (!polled)
            strobe_path_move(&b->path, time_ns);
        strobe_path_cut(&b->path, shared_by_messages(b, node));
        b->stats->message_splits++;
    }
    /* A poll that shows that a message has begun belongs to the loop, between the two messages. */
    if (!is_call(item) || item->record.kind != STROBE_KIND_POLL)
        strobe_between_emit_message(b, item->record.message, polled ? 0 : time_ns);
    else if (begins)
        strobe_between_emit_message(b, 0, time_ns);
    b->message = item->record.message;
    b->poll = 0;
}

static uint32_t ancestor(const struct builder *b, uint32_t node, uint32_t depth)
{
    const struct strobe_function_node *nodes = strobe_function_tree_node(b->tree, 0);
    while (nodes[node].depth > depth)
        node = nodes[node].parent;
    return node;
}

/* Returns the most CPU time that the thread can have used between its last sample and the last time it was seen;
 * UINT64_MAX: unknown. */
static uint64_t used_since_sample_ns(const struct builder *b)
{
    const struct strobe_path *p = &b->path;
    bool ahead = p->known_ns < b->seen_ns;
    if (b->sampled_cpu_ns == UINT64_MAX || (ahead && p->ahead_ns < b->seen_ns))
        return UINT64_MAX;
    uint64_t cpu_ns = ahead ? p->ahead_cpu_ns : p->known_cpu_ns;
    return cpu_ns > b->sampled_cpu_ns ? cpu_ns - b->sampled_cpu_ns : 0;
}

/* A ticking thread has used at most one tick of CPU time since its last sample. Of other threads the CPU time counts
 * where it is known: a thread moves only while it uses some. */
int strobe_between_sampled_lately(const struct builder *b)
{
    uint64_t most_ns = SAMPLED_SPANS * b->gap_ns;
    return b->sampled_ns && (b->ticks || b->seen_ns - b->sampled_ns <= most_ns || used_since_sample_ns(b) <= most_ns);
}

/* Returns the node at which a thread was between two of its hooks:
 *
 *   no recent sample of the sampler            the hook before
 *   a message has just begun                   the outermost function that the first hook in it shows
 *   the last sample lies under the frames      the node of that sample
 *   that both hooks surely share
 *   else                                       the frames that both hooks share */
static uint32_t between_hooks(const struct builder *b, const struct strobe_item *item, uint32_t node)
{
    const struct strobe_path *p = &b->path;
    uint32_t shared = strobe_path_shared(p, node), both = shared ? p->open[shared - 1].node : 0;
    if (!strobe_between_sampled_lately(b))
        return p->node;
    if (polled_last(b, item))
        return ancestor(b, node, shared + 1);
    /* The caller's callers stay on the stack; the caller itself may have returned and been called again. */
    uint32_t sure = shared && (both == p->node || both == node) ? shared - 1 : shared;
    if (b->sampled_message == item->record.message && ancestor(b, b->sampled, sure) == ancestor(b, both, sure))
        return b->sampled;
    return both;
}

/* Between two representative samples the change is shown in the middle of the time that the thread was on a processor.
 * If it is unknown when the thread was off, strobe_between_show_off shows the change. */
static void change_in_the_middle(struct builder *b, const struct strobe_item *item, uint64_t time_ns, uint32_t node)
{
    uint64_t off_ns = off_processor_ns(b, item, time_ns), on_ns = time_ns - off_ns - b->seen_ns;
    if (node == b->path.node || on_ns > b->gap_ns ||
        (off_ns && !(item->record.flags & STROBE_FLAG_STOOD) && !was_ready(item)))
        return;
    strobe_path_move(&b->path, b->seen_ns + on_ns / 2);
    strobe_path_show(&b->path, node);
}

/* A hook's sample shows where the thread was at the hook, which it has left since. An asynchronous sample stands for
 * the time around it. If the first precedes the second, the time between them therefore goes to the second. */
void strobe_between_reach_back(struct builder *b, const struct strobe_item *item, uint64_t time_ns, uint32_t node)
{
    if (b->call_count || !b->seen || b->seen == item || time_ns < b->seen_ns + 2)
        return;
    if (both_representative(b, item)) {
        change_in_the_middle(b, item, time_ns, node);
        return;
    }
    if (time_ns - b->seen_ns > b->gap_ns)
        return;
    if (!polled_last(b, item) &&
        ((is_representative(b->seen) && !waited(b, b->seen)) || b->seen->record.message != item->record.message))
        return;
    uint32_t shown = is_representative(item) ? node : between_hooks(b, item, node);
    uint64_t half = (time_ns - b->seen_ns) / 2;
    if (shown == b->path.node)
        return;
    strobe_path_move(&b->path, b->seen_ns + (half < AT_HOOK_NS ? half : AT_HOOK_NS));
    strobe_path_show(&b->path, shown);
}
