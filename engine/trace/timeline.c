#include "engine/trace/timeline.h"

#include "engine/base/hint.h"
#include "engine/trace/calls_session.h"
#include "engine/trace/path.h"
#include "engine/trace/timeline_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GAP_NS_LEAST = 5000000, LEAST_NS = 1000000, AHEAD_ITEMS = 64, PROGRESS_ITEMS = 4096,
       OFF_CPU_PART = 4, AT_HOOK_NS = 1000, SAMPLED_SPANS = 2 };
#define FAR_NS 3600000000000u   /* no sensible interval is longer: caps what a damaged config says */

/* A blocking call the thread is in. */
struct call {
    const struct strobe_item *item;
    uint32_t caller;          /* node of the frames that made the call, as the stack says */
    uint32_t wait;            /* node of the wait, as shown */
    uint32_t depth;           /* of the wait's slice */
    uint64_t end_ns;
    int unfinished;
};

/* A merged record whose samples are not all behind us. Of a run of samples that nothing comes between, only the last is
 * looked at. */
struct run {
    const struct strobe_item *item;
    uint64_t first_ns, last_ns;
    uint32_t done;            /* samples behind us */
    uint32_t next;            /* the one to look at next */
    uint64_t next_ns;
};

struct builder {
    const struct strobe_reader *reader;
    struct strobe_function_tree *tree;
    const struct strobe_timeline_options *options;
    int tells_samples;
    struct strobe_sink *sink;
    struct strobe_timeline_stats *stats;
    struct strobe_path path;

    const struct strobe_reader_thread *thread;
    uint64_t gap_ns, least_ns, wait_ns;
    uint64_t seen_ns;                  /* when the thread was last seen where it is shown */
    const struct strobe_item *seen;    /* by which record */
    uint32_t sampled;                  /* node that the sampler saw last, */
    uint32_t sampled_message;          /* in this message, */
    uint64_t sampled_ns;               /* and when; 0 = never */
    uint32_t message;
    uint32_t poll;                     /* node of the frames that made the POLL call seen last; 0 = none */
    uint32_t loop;                     /* the same of the one that last began a message */
    uint32_t told, told_last;          /* message that the sink was told of and that goes on, 0 = none; and the last */
    size_t looked;                     /* 1 + the item whose CPU time the path expects next */

    const struct strobe_reader_wake *woken;   /* of the thread's waits that have not ended */
    size_t woken_count;

    struct call *calls;                /* outermost first; their ends do not increase */
    size_t call_count, call_room;
    struct run *runs;                  /* latest first */
    size_t run_count, run_room;
    struct strobe_calls_session *exact;
    int failed;
};

static int make_room(struct builder *b, void *array, size_t count, size_t *room, size_t item_bytes)
{
    if (count < *room)
        return 1;
    size_t more = *room ? *room * 2 : 16;
    void *bigger = realloc(*(void **)array, more * item_bytes);
    if (!bigger) {
        b->failed = 1;
        return 0;
    }
    *(void **)array = bigger;
    *room = more;
    return 1;
}

static uint64_t begin_ns(const struct builder *b, const struct strobe_item *item)
{
    return strobe_reader_ns(b->reader, item->record.ticks);
}

static uint64_t end_ns(const struct builder *b, const struct strobe_item *item)
{
    return strobe_reader_ns(b->reader, item->record.ticks + item->record.duration);
}

static int is_call(const struct strobe_item *item)
{
    return item->record.flags & STROBE_FLAG_SCOPE;
}

/* Taken at a time that the thread's own doings did not choose. */
static int is_representative(const struct strobe_item *item)
{
    return item->record.kind == STROBE_KIND_ASYNC || item->record.flags & STROBE_FLAG_ASKED;
}

/* A call so long that the thread waited in it: when it ends, it is left. */
static int waited(const struct builder *b, const struct strobe_item *item)
{
    return is_call(item) && strobe_reader_span_ns(b->reader, item->record.duration) >= b->wait_ns;
}

static unsigned way_of(const struct strobe_record *r)
{
    return (r->flags & STROBE_FLAG_CUT ? STROBE_STACK_CUT : 0u) |
           (r->flags & STROBE_FLAG_DOUBTFUL ? STROBE_STACK_LOST : 0u);
}

static uint32_t node_of(struct builder *b, const struct strobe_item *item)
{
    uint32_t node = strobe_function_tree_of_stack(b->tree, item->record.stack, way_of(&item->record));
    if (item->record.flags & STROBE_FLAG_TABLE_FULL)
        node = strobe_function_tree_child(b->tree, node, STROBE_NAME_TABLE_FULL);
    return node;
}

/* ---- what a record knows of CPU time and counters */

static int knows_begin_cpu(const struct strobe_record *r)
{
    unsigned both = STROBE_FLAG_CPU | STROBE_FLAG_BEGIN_CPU;
    return (r->flags & both) == both && r->cpu_span_ns != UINT32_MAX && r->cpu_span_ns <= r->cpu_ns;
}

/* The first CPU time an item tells: when, and how much. */
static void first_cpu(const struct builder *b, const struct strobe_item *item, uint64_t *time_ns, uint64_t *cpu_ns)
{
    int begin = knows_begin_cpu(&item->record) || !item->record.duration;
    *time_ns = begin ? begin_ns(b, item) : end_ns(b, item);
    *cpu_ns = item->record.cpu_ns - (knows_begin_cpu(&item->record) ? item->record.cpu_span_ns : 0);
}

static uint64_t less(uint64_t total, uint32_t span)
{
    return total > span ? total - span : 0;
}

static void counters_of(const struct builder *b, const struct strobe_item *item, int at_begin, uint64_t *counter)
{
    const struct strobe_metrics *m = &b->reader->metrics[item->metrics - 1];
    uint32_t on = at_begin ? UINT32_MAX : 0;
    counter[STROBE_COUNTER_ALLOC_BYTES] = less(m->alloc_bytes, m->alloc_bytes_span & on);
    counter[STROBE_COUNTER_ALLOCS] = less(m->alloc_count, m->alloc_count_span & on);
    counter[STROBE_COUNTER_MINOR_FAULTS] = less(m->minor_faults, m->minor_faults_span & on);
    counter[STROBE_COUNTER_MAJOR_FAULTS] = less(m->major_faults, m->major_faults_span & on);
    counter[STROBE_COUNTER_SWITCHES] = less(m->voluntary_switches, m->voluntary_switches_span & on);
    counter[STROBE_COUNTER_PREEMPTIONS] = less(m->involuntary_switches, m->involuntary_switches_span & on);
}

static void take_counters(struct builder *b, const struct strobe_item *item, int at_begin)
{
    uint64_t counter[STROBE_COUNTER_COUNT];
    if (!item->metrics)
        return;
    counters_of(b, item, at_begin, counter);
    for (unsigned i = 0; i < STROBE_COUNTER_COUNT; i++)
        if (counter[i] > b->path.now.counter[i])
            b->path.now.counter[i] = counter[i];
}

/* Goes on to the begin (or only sample) of an item, or to its end. */
static void move_to_begin(struct builder *b, const struct strobe_item *item, uint64_t time_ns)
{
    const struct strobe_record *r = &item->record;
    if (r->duration && knows_begin_cpu(r))
        strobe_path_move_known(&b->path, time_ns, r->cpu_ns - r->cpu_span_ns);
    else if (!r->duration && r->flags & STROBE_FLAG_CPU)
        strobe_path_move_known(&b->path, time_ns, r->cpu_ns);
    else
        strobe_path_move(&b->path, time_ns);
    take_counters(b, item, item->record.duration != 0);
}

static void move_to_end(struct builder *b, const struct strobe_item *item, uint64_t time_ns)
{
    if (item->record.flags & STROBE_FLAG_CPU)
        strobe_path_move_known(&b->path, time_ns, item->record.cpu_ns);
    else
        strobe_path_move(&b->path, time_ns);
    take_counters(b, item, 0);
}

/* Looks for the CPU time that is known next, from item `i` on. */
static void look_ahead(struct builder *b, size_t i)
{
    const struct strobe_reader_thread *t = b->thread;
    uint64_t time_ns = 0, cpu_ns = 0;
    if (b->looked > i)
        return;
    while (i < t->item_count && !(t->items[i].record.flags & STROBE_FLAG_CPU))
        i++;
    if (i < t->item_count)
        first_cpu(b, &t->items[i], &time_ns, &cpu_ns);
    strobe_path_expect(&b->path, time_ns, cpu_ns);
    b->looked = i + 1;
}

/* ---- samples */

static void tell_samples(struct builder *b, const struct strobe_item *item, uint64_t first_ns, uint64_t last_ns)
{
    b->stats->samples += item->record.count;
    if (!b->tells_samples)
        return;
    struct strobe_samples s = {first_ns, last_ns, item->record.count, item->record.stack, way_of(&item->record)};
    b->sink->samples(b->sink, &s);
}

static uint64_t sample_ns(const struct run *r, uint32_t index)
{
    uint64_t span = r->last_ns - r->first_ns, steps = r->item->record.count - 1;
    return r->first_ns + span / steps * index + span % steps * index / steps;
}

static STROBE_ALWAYS_INLINE void seen(struct builder *b, const struct strobe_item *item, uint64_t time_ns,
                                      uint64_t samples)
{
    b->seen = item;
    b->seen_ns = time_ns;
    if (is_representative(item) && !is_call(item) && !b->call_count) {
        b->sampled = b->path.node;
        b->sampled_message = item->record.message;
        b->sampled_ns = time_ns;
    }
    if (b->path.depth)
        b->path.open[b->path.depth - 1].samples += samples;
}

/* Something else is about to be seen at `time_ns`: the samples of runs up to there are behind us, and the first after
 * it will have to be looked at. */
static void interrupt_runs(struct builder *b, uint64_t time_ns)
{
    for (size_t i = 0; i < b->run_count; i++) {
        struct run *r = &b->runs[i];
        uint32_t low = r->done, high = r->item->record.count - 1;
        if (r->next == low)
            continue;
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (sample_ns(r, middle) > time_ns)
                high = middle;
            else
                low = middle + 1;
        }
        if (low > r->done && sample_ns(r, low - 1) >= b->seen_ns)
            seen(b, r->item, sample_ns(r, low - 1), low - r->done);
        else if (b->path.depth)
            b->path.open[b->path.depth - 1].samples += low - r->done;
        r->done = r->next = low;
        r->next_ns = sample_ns(r, low);
    }
    /* Next times have changed: restore the order, latest first. */
    for (size_t i = 1; i < b->run_count; i++) {
        struct run r = b->runs[i];
        size_t j = i;
        for (; j && b->runs[j - 1].next_ns < r.next_ns; j--)
            b->runs[j] = b->runs[j - 1];
        b->runs[j] = r;
    }
}

static void add_run(struct builder *b, struct run r)
{
    if (!make_room(b, &b->runs, b->run_count, &b->run_room, sizeof *b->runs))
        return;
    size_t j = b->run_count++;
    for (; j && b->runs[j - 1].next_ns < r.next_ns; j--)
        b->runs[j] = b->runs[j - 1];
    b->runs[j] = r;
}

/* Where `node` is shown while calls are open: what it has beyond the innermost caller hangs under that call's wait. */
static uint32_t graft(struct builder *b, uint32_t node)
{
    if (!b->call_count)
        return node;
    const struct call *c = &b->calls[b->call_count - 1];
    const struct strobe_function_node *n = strobe_function_tree_node(b->tree, node);
    uint32_t names[STROBE_STACK_DEPTH_MAX * STROBE_SYMBOLS_FRAMES_MAX / 8], count = 0;
    uint32_t caller = c->caller;
    while (strobe_function_tree_node(b->tree, caller)->depth > n->depth)
        caller = strobe_function_tree_node(b->tree, caller)->parent;
    while (node != caller && count < sizeof names / sizeof names[0]) {
        if (strobe_function_tree_node(b->tree, caller)->depth == n->depth)
            caller = strobe_function_tree_node(b->tree, caller)->parent;
        names[count++] = n->name;
        node = n->parent;
        n = strobe_function_tree_node(b->tree, node);
    }
    uint32_t shown = c->wait;
    while (count--)
        shown = strobe_function_tree_child(b->tree, shown, names[count]);
    return shown;
}

/* What a thread did between two samples too far apart. */
enum gap { UNSEEN, OFF_CPU, SLOW };

/* Only CPU time takes a thread elsewhere; it tells something when it is really known before and after. */
static enum gap kind_of_gap(const struct builder *b)
{
    const struct strobe_path *p = &b->path;
    uint64_t cpu_ns = p->ahead_cpu_ns - p->known_cpu_ns;
    if (p->ahead_ns <= p->known_ns || p->known_ns > b->seen_ns || p->ahead_cpu_ns < p->known_cpu_ns ||
        cpu_ns > b->gap_ns)
        return UNSEEN;
    return cpu_ns <= (p->ahead_ns - p->known_ns) / OFF_CPU_PART ? OFF_CPU : SLOW;
}

/* The thread is busy with message `id` from `time_ns` on, or with none (0). One that has ended does not begin again. */
static void tell_message(struct builder *b, uint32_t id, uint64_t time_ns)
{
    if (!b->sink->message || id == b->told || (id && id == b->told_last))
        return;
    struct strobe_loop_message m = {time_ns > b->path.now.time_ns ? time_ns : b->path.now.time_ns, id};
    b->sink->message(b->sink, &m);
    b->told = id;
    b->told_last = id ? id : b->told_last;
}

/* Fills the time from the last sample to the next, of `node`, which goes on with `shared` of the open slices. A thread
 * that was off its processor stood still all the time: where the sampler meets it next is where it stood. `ends`: its
 * message does, at some time that was not seen. */
static void fill_gap(struct builder *b, uint64_t time_ns, uint32_t node, uint32_t shared, int ends)
{
    struct strobe_path *p = &b->path;
    enum gap gap = kind_of_gap(b);
    if (gap == SLOW)
        return;
    strobe_path_move(p, b->seen_ns + b->least_ns);
    strobe_path_cut(p, gap == OFF_CPU ? shared : 0);
    if (gap == UNSEEN && ends)
        tell_message(b, 0, 0);
    if (gap == OFF_CPU && node)
        strobe_path_show(p, node);
    uint32_t keep = p->depth;
    strobe_path_push(p, gap == OFF_CPU ? STROBE_NAME_OFF_CPU : STROBE_NAME_UNSEEN, 0, 0);
    *(gap == OFF_CPU ? &b->stats->offs : &b->stats->gaps) += 1;
    strobe_path_move(p, time_ns);
    strobe_path_cut(p, keep);
}

/* How many of the open slices go on when a message begins with `node`: those of the loop. */
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

/* True when the message of `item` began where the last call ended: in a poll. */
static int polled_last(const struct builder *b, const struct strobe_item *item)
{
    const struct strobe_record *r = b->seen ? &b->seen->record : NULL;
    return r && r->kind == STROBE_KIND_POLL && r->flags & STROBE_FLAG_SCOPE && r->message != item->record.message;
}

/* Before anything is shown at `time_ns`: was there a gap, has the message changed? */
static void arrive(struct builder *b, const struct strobe_item *item, uint64_t time_ns, uint32_t node)
{
    if (b->call_count)
        return;
    int begins = item->record.message != b->message;
    if (begins && b->poll)
        b->loop = b->poll;
    if (b->seen && b->seen != item && time_ns > b->seen_ns && time_ns - b->seen_ns > b->gap_ns)
        fill_gap(b, time_ns, is_representative(item) && !is_call(item) && !begins ? node : 0,
                 begins ? shared_by_messages(b, node) : strobe_path_shared(&b->path, node), begins);
    int polled = begins && polled_last(b, item);
    if (begins && b->path.depth) {
        if (!polled)
            strobe_path_move(&b->path, time_ns);
        strobe_path_cut(&b->path, shared_by_messages(b, node));
        b->stats->message_splits++;
    }
    /* A poll by which one is known to have begun is the loop's, and lies between the two. */
    if (!is_call(item) || item->record.kind != STROBE_KIND_POLL)
        tell_message(b, item->record.message, polled ? 0 : time_ns);
    else if (begins)
        tell_message(b, 0, time_ns);
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

static int sampled_lately(const struct builder *b)
{
    return b->sampled_ns && b->seen_ns - b->sampled_ns <= SAMPLED_SPANS * b->gap_ns;
}

/* Where a thread was between two of its hooks, when the sampler has seen it not long ago: where it was then, if that
 * lies under what both hooks surely have in common, else what they seem to. A message that has just begun was at
 * least in the outermost of what the first hook in it saw. Where no sampler comes, the hook before is the best
 * guess. */
static uint32_t between_hooks(const struct builder *b, const struct strobe_item *item, uint32_t node)
{
    const struct strobe_path *p = &b->path;
    uint32_t shared = strobe_path_shared(p, node), both = shared ? p->open[shared - 1].node : 0;
    if (!sampled_lately(b))
        return p->node;
    if (polled_last(b, item))
        return ancestor(b, node, shared + 1);
    /* What a hook's caller is called by goes on; the caller itself may have returned and been called again. */
    uint32_t sure = shared && (both == p->node || both == node) ? shared - 1 : shared;
    if (b->sampled_message == item->record.message && ancestor(b, b->sampled, sure) == ancestor(b, both, sure))
        return b->sampled;
    return both;
}

/* A hook's sample says where the thread was at the hook, which it has left since; an asynchronous one stands for the
 * time around it. So where the first comes before the second, what lies between goes to the second. */
static void reach_back(struct builder *b, const struct strobe_item *item, uint64_t time_ns, uint32_t node)
{
    if (b->call_count || !b->seen || b->seen == item || time_ns < b->seen_ns + 2 || time_ns - b->seen_ns > b->gap_ns)
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

/* A sample of its own, or the first of a run. */
static void point(struct builder *b, const struct strobe_item *item, uint64_t time_ns)
{
    const struct strobe_record *r = &item->record;
    uint32_t node = graft(b, node_of(b, item));
    interrupt_runs(b, time_ns);
    arrive(b, item, time_ns, node);
    reach_back(b, item, time_ns, node);
    move_to_begin(b, item, time_ns);
    strobe_path_show(&b->path, node);
    uint64_t last_ns = r->count > 1 ? end_ns(b, item) : time_ns;
    int run = last_ns > time_ns;
    seen(b, item, time_ns, run ? 1 : r->count);
    if (run)
        add_run(b, (struct run){item, time_ns, last_ns, 1, r->count - 1, last_ns});
    tell_samples(b, item, time_ns, last_ns);
}

/* Is this a sample of what is shown already, and no more to it? Nearly all are. */
static int repeats(const struct builder *b, const struct strobe_item *item, uint64_t time_ns)
{
    const struct strobe_record *r = &item->record;
    const unsigned same_flags = STROBE_FLAG_SCOPE | STROBE_FLAG_CUT | STROBE_FLAG_DOUBTFUL | STROBE_FLAG_TABLE_FULL;
    if (!b->seen || (b->run_count | b->call_count) || (!is_representative(item) && sampled_lately(b)))
        return 0;
    const struct strobe_record *s = &b->seen->record;
    return r->stack == s->stack && r->count == 1 && r->message == s->message && s->count == 1 &&
           is_representative(item) == is_representative(b->seen) &&
           !((r->flags ^ s->flags) & same_flags) && !(r->flags & STROBE_FLAG_SCOPE) &&
           time_ns - b->seen_ns <= b->gap_ns;
}

/* A sample that repeats() said yes to: as point(), less what would change nothing. */
static void repeat(struct builder *b, const struct strobe_item *item, uint64_t time_ns)
{
    if (item->record.flags & STROBE_FLAG_CPU || item->metrics)
        move_to_begin(b, item, time_ns);
    seen(b, item, time_ns, 1);
    tell_samples(b, item, time_ns, time_ns);
}

/* The next sample of the run that has the earliest. */
static void run_sample(struct builder *b)
{
    struct run r = b->runs[--b->run_count];
    uint32_t node = graft(b, node_of(b, r.item));
    interrupt_runs(b, r.next_ns);
    arrive(b, r.item, r.next_ns, node);
    reach_back(b, r.item, r.next_ns, node);
    if (r.next == r.item->record.count - 1)
        move_to_end(b, r.item, r.next_ns);
    else
        strobe_path_move(&b->path, r.next_ns);
    strobe_path_show(&b->path, node);
    seen(b, r.item, r.next_ns, r.next + 1 - r.done);
    r.done = r.next + 1;
    r.next = r.item->record.count - 1;
    r.next_ns = r.last_ns;
    if (r.done <= r.next)
        add_run(b, r);
}

/* ---- blocking calls */

static void begin_call(struct builder *b, const struct strobe_item *item, int unfinished)
{
    uint64_t time_ns = begin_ns(b, item);
    if (!make_room(b, &b->calls, b->call_count, &b->call_room, sizeof *b->calls))
        return;
    uint32_t caller = item->record.stack || !unfinished ? node_of(b, item) : 0;
    uint32_t node = graft(b, caller);
    interrupt_runs(b, time_ns);
    int polls = item->record.kind == STROBE_KIND_POLL && !b->call_count && caller;
    if (polls && item->record.message != b->message)
        b->poll = caller;
    arrive(b, item, time_ns, node);
    if (polls)
        b->poll = caller;
    reach_back(b, item, time_ns, node);
    move_to_begin(b, item, time_ns);
    strobe_path_show(&b->path, node);
    if (polls && caller == b->loop)
        tell_message(b, 0, time_ns);
    if (!strobe_path_push(&b->path, item->record.kind, item->record.arg, unfinished))
        return;
    seen(b, item, time_ns, !unfinished);
    struct call c = {item, caller, b->path.node, b->path.depth, end_ns(b, item), unfinished};
    if (b->call_count && c.end_ns > b->calls[b->call_count - 1].end_ns) {
        c.end_ns = b->calls[b->call_count - 1].end_ns;
        b->stats->waits_cut++;
    }
    b->calls[b->call_count++] = c;
    b->stats->waits++;
}

/* Who ended the wait of this call, NULL when that is not known. Calls come in the order of their ends. */
static const struct strobe_reader_wake *wake_of(struct builder *b, const struct call *c)
{
    const struct strobe_record *r = &c->item->record;
    while (b->woken_count && b->woken->end_ticks < r->ticks + r->duration) {
        b->woken++;
        b->woken_count--;
    }
    for (size_t i = 0; i < b->woken_count && b->woken[i].end_ticks == r->ticks + r->duration; i++)
        if (b->woken[i].what == r->arg && b->woken[i].release_ticks >= r->ticks)
            return &b->woken[i];
    return NULL;
}

static void end_call(struct builder *b)
{
    struct call c = b->calls[b->call_count - 1];
    interrupt_runs(b, c.end_ns);
    b->call_count--;
    const struct strobe_reader_wake *wake = c.unfinished ? NULL : wake_of(b, &c);
    move_to_end(b, c.item, c.end_ns);
    if (wake) {
        strobe_path_cut(&b->path, c.depth);
        strobe_path_woken(&b->path, wake);
    }
    strobe_path_cut(&b->path, c.depth - 1);
    b->seen = c.item;
    b->seen_ns = c.end_ns;
    if (!c.unfinished)
        tell_samples(b, c.item, c.end_ns, c.end_ns);
}

/* Ends calls and looks at samples of runs that are due up to `time_ns`. At equal times samples come before the end of
 * the call they lie in. */
static void catch_up(struct builder *b, uint64_t time_ns)
{
    for (;;) {
        const struct run *r = b->run_count ? &b->runs[b->run_count - 1] : NULL;
        const struct call *c = b->call_count ? &b->calls[b->call_count - 1] : NULL;
        if (r && r->next_ns <= time_ns && (!c || r->next_ns <= c->end_ns))
            run_sample(b);
        else if (c && c->end_ns <= time_ns)
            end_call(b);
        else
            return;
    }
}

/* ---- threads */

/* The call the thread was in when the session ended has left no record. Makes one, with the stack the sampler saw it
 * with, if it did. Returns whether there is such a call. */
static int unfinished_call(const struct builder *b, struct strobe_item *out)
{
    const struct strobe_reader_thread *t = b->thread;
    uint64_t begin = t->open_begin_ticks, end = b->reader->last_ticks;
    if (t->open_kind == STROBE_KIND_NONE || begin < t->start_ticks || begin >= end)
        return 0;
    *out = (struct strobe_item){.record = {.ticks = begin, .duration = end - begin, .kind = (uint8_t)t->open_kind,
                                           .flags = STROBE_FLAG_SCOPE, .count = 1}};
    for (size_t i = t->item_count; i-- && t->items[i].record.ticks >= begin;) {
        const struct strobe_record *r = &t->items[i].record;
        if (r->ticks == begin && r->kind == t->open_kind && r->flags & STROBE_FLAG_SCOPE)
            return 0;
        if (r->kind == STROBE_KIND_ASYNC) {
            out->record.stack = r->stack;
            out->record.flags |= r->flags & (STROBE_FLAG_CUT | STROBE_FLAG_DOUBTFUL | STROBE_FLAG_TABLE_FULL);
            out->record.message = r->message;
        }
    }
    return 1;
}

static void begin_unfinished(struct builder *b, struct strobe_item *open)
{
    catch_up(b, begin_ns(b, open));
    if (!open->record.stack)
        open->record.message = b->message;
    begin_call(b, open, 1);
}

static void tell_losses(struct builder *b, uint64_t time_ns)
{
    const struct strobe_reader_thread *t = b->thread;
    char name[64];
    uint64_t lost = t->dropped + t->overwritten;
    if (!lost || !b->sink->instant)
        return;
    snprintf(name, sizeof name, "%llu samples lost", (unsigned long long)lost);
    struct strobe_note notes[] = {{"overwritten", t->overwritten}, {"dropped", t->dropped}};
    b->sink->instant(b->sink, time_ns, name, notes, 2);
    b->stats->instants++;
}

uint64_t strobe_timeline_gap_ns(const struct strobe_reader *reader, const struct strobe_reader_thread *thread,
                                const struct strobe_timeline_options *options)
{
    const struct strobe_config *config = &reader->session.header->config;
    uint64_t interval = thread->is_main ? config->interval_main_ns : config->interval_other_ns;
    uint64_t async = thread->is_main ? config->async_interval_ns : 2 * config->async_interval_ns;
    uint64_t slowest = interval > async ? interval : async;
    uint64_t gap_ns = options->gap_ns ? options->gap_ns : slowest < FAR_NS ? slowest * 4 : FAR_NS * 4;
    return !options->gap_ns && gap_ns < GAP_NS_LEAST ? GAP_NS_LEAST : gap_ns;
}

static void set_limits(struct builder *b)
{
    const struct strobe_config *config = &b->reader->session.header->config;
    uint64_t interval = b->thread->is_main ? config->interval_main_ns : config->interval_other_ns;
    b->gap_ns = strobe_timeline_gap_ns(b->reader, b->thread, b->options);
    b->wait_ns = config->scope_min_ns ? config->scope_min_ns : 1;
    b->least_ns = interval ? interval : LEAST_NS;
    if (b->least_ns > b->gap_ns)
        b->least_ns = b->gap_ns;
}

/* Where the thread's line begins, and with which totals. */
static void start_thread(struct builder *b, uint64_t time_ns)
{
    const struct strobe_reader_thread *t = b->thread;
    uint64_t counter[STROBE_COUNTER_COUNT] = {0}, known_ns, cpu_ns = 0;
    if (t->first_cpu < t->item_count)
        first_cpu(b, &t->items[t->first_cpu], &known_ns, &cpu_ns);
    if (t->first_metrics < t->item_count)
        counters_of(b, &t->items[t->first_metrics], t->items[t->first_metrics].record.duration != 0, counter);
    strobe_path_start(&b->path, t, time_ns, cpu_ns, counter);
    b->woken = t->woken;
    b->woken_count = t->woken_count;
    b->seen = NULL;
    b->seen_ns = time_ns;
    b->sampled_ns = 0;
    b->message = 0;
    b->poll = b->loop = 0;
    b->told = b->told_last = 0;
    b->looked = 0;
    b->call_count = b->run_count = 0;
}

static void finish_thread(struct builder *b)
{
    const struct strobe_reader_thread *t = b->thread;
    struct strobe_path *p = &b->path;
    uint64_t ticks = t->end_ticks ? t->end_ticks : b->reader->closed ? b->reader->last_ticks : 0;
    if (ticks > b->reader->last_ticks)
        ticks = b->reader->last_ticks;
    catch_up(b, UINT64_MAX);
    uint64_t end = ticks ? strobe_reader_ns(b->reader, ticks) : b->seen_ns + b->least_ns;
    if (end > b->seen_ns && end - b->seen_ns > b->gap_ns)
        fill_gap(b, end, 0, 0, 1);
    strobe_path_move(p, end);
    strobe_path_cut(p, 0);
    tell_message(b, 0, 0);
}

/* A thread of which calls are known. Returns 0 when there are none. */
static int build_calls(struct builder *b)
{
    const struct strobe_reader_thread *t = b->thread;
    enum strobe_status status =
        strobe_calls_session_tell(&b->exact, b->reader, b->tree, b->options->repair,
                                  (uint32_t)(t - b->reader->threads), b->sink, b->stats);
    b->failed |= status != STROBE_OK && status != STROBE_NO_ENTRY;
    for (size_t i = 0; i < t->item_count && status == STROBE_OK; i++)
        tell_samples(b, &t->items[i], begin_ns(b, &t->items[i]), end_ns(b, &t->items[i]));
    if (status == STROBE_OK && b->sink->thread_end)
        b->sink->thread_end(b->sink);
    return status != STROBE_NO_ENTRY;
}

static void build_thread(struct builder *b)
{
    const struct strobe_reader_thread *t = b->thread;
    struct strobe_item open;
    if (build_calls(b))
        return;
    int unfinished = unfinished_call(b, &open);
    if (!t->item_count && !unfinished && !t->dropped && !t->overwritten && !t->wake_count)
        return;
    uint64_t first = unfinished ? open.record.ticks : t->start_ticks;
    if (t->item_count && (!unfinished || t->items[0].record.ticks < first))
        first = t->items[0].record.ticks;
    uint64_t first_ns = strobe_reader_ns(b->reader, first);

    set_limits(b);
    b->sink->thread_begin(b->sink, t);
    b->stats->threads++;
    tell_losses(b, first_ns);
    start_thread(b, first_ns);
    for (size_t i = 0; i < t->item_count; i++) {
        const struct strobe_item *item = &t->items[i];
        strobe_prefetch(&t->items[i + AHEAD_ITEMS < t->item_count ? i + AHEAD_ITEMS : i]);
        if (b->options->progress && i % PROGRESS_ITEMS == 0)
            b->options->progress(b->options->progress_ctx, (size_t)(item - b->reader->items), b->reader->item_count);
        if (unfinished && open.record.ticks <= item->record.ticks) {
            look_ahead(b, i);
            begin_unfinished(b, &open);
            unfinished = 0;
        }
        uint64_t time_ns = strobe_reader_ns(b->reader, item->record.ticks);
        if (repeats(b, item, time_ns)) {
            repeat(b, item, time_ns);
            continue;
        }
        look_ahead(b, i);
        catch_up(b, time_ns);
        if (is_call(item))
            begin_call(b, item, 0);
        else
            point(b, item, time_ns);
    }
    look_ahead(b, t->item_count);
    if (unfinished)
        begin_unfinished(b, &open);
    if (t->item_count || b->call_count)
        finish_thread(b);
    strobe_path_finish(&b->path);
    if (b->sink->thread_end)
        b->sink->thread_end(b->sink);
}

/* ---- all of it */

enum strobe_status strobe_timeline_build(const struct strobe_reader *reader, struct strobe_function_tree *tree,
                                         const struct strobe_timeline_options *options, struct strobe_sink *sink,
                                         struct strobe_timeline_stats *stats)
{
    struct strobe_timeline_stats unasked;
    struct builder b = {.reader = reader, .tree = tree, .options = options, .sink = sink,
                        .tells_samples = sink->samples && !options->no_samples,
                        .stats = stats ? stats : &unasked};
    memset(b.stats, 0, sizeof *b.stats);
    b.path = (struct strobe_path){.sink = sink, .reader = reader, .tree = tree, .stats = b.stats};
    sink->start(sink, reader, tree);
    strobe_timeline_process(reader, tree, sink, b.stats);
    for (size_t i = 0; i < options->mark_count && sink->mark; i++)
        sink->mark(sink, &options->marks[i]);
    for (uint32_t i = 0; i < reader->thread_count && !b.failed && !b.path.failed; i++) {
        b.thread = &reader->threads[i];
        build_thread(&b);
    }
    free(b.path.open);
    free(b.path.steps);
    free(b.calls);
    free(b.runs);
    strobe_calls_session_close(b.exact);
    enum strobe_status status = sink->finish(sink);
    if (status == STROBE_OK && (b.failed || b.path.failed || strobe_function_tree_status(tree) != STROBE_OK))
        status = STROBE_IO;
    return status;
}
