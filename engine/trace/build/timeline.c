#include "engine/trace/build/timeline.h"

#include "engine/base/hint.h"
#include "engine/trace/build/timeline_annotations.h"
#include "engine/trace/build/timeline_between.h"
#include "engine/trace/build/timeline_builder.h"
#include "engine/trace/build/timeline_items.h"
#include "engine/trace/build/timeline_process.h"
#include "engine/util/array.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GAP_NS_LEAST = 5000000, LEAST_NS = 1000000, AHEAD_ITEMS = 64, PROGRESS_ITEMS = 4096 };
#define FAR_NS 3600000000000u /* limits the intervals of a damaged config; no sensible one is longer */

static uint64_t begin_ns(const struct builder *b, const struct strobe_item *item)
{
    return strobe_reader_ns(b->reader, item->record.ticks);
}

static uint64_t end_ns(const struct builder *b, const struct strobe_item *item)
{
    return strobe_reader_ns(b->reader, item->record.ticks + item->record.duration);
}

/* Returns 1 for a call too short for the thread to have waited in it, which stands for the time in such calls. */
static int stands_for_calls(const struct builder *b, const struct strobe_item *item)
{
    return is_call(item) && item->record.flags & STROBE_FLAG_ASKED && !waited(b, item);
}

static uint32_t node_of(struct builder *b, const struct strobe_item *item)
{
    uint32_t node = strobe_function_tree_of_stack(b->tree, item->record.stack, strobe_stack_incomplete(&item->record));
    if (item->record.flags & STROBE_FLAG_TABLE_FULL)
        node = strobe_function_tree_child(b->tree, node, STROBE_NAME_TABLE_FULL);
    return node;
}

/* ---- CPU time and counters of a record */

static void take_counters(struct builder *b, const struct strobe_item *item, int at_begin)
{
    uint64_t counter[STROBE_COUNTER_COUNT];
    if (!item->metrics)
        return;
    strobe_item_counters(b->reader, item, at_begin, counter);
    for (unsigned i = 0; i < STROBE_COUNTER_COUNT; i++)
        if (counter[i] > b->path.now.counter[i])
            b->path.now.counter[i] = counter[i];
}

/* Moves on to the begin (or only sample) of an item. */
static void move_to_begin(struct builder *b, const struct strobe_item *item, uint64_t time_ns)
{
    const struct strobe_record *r = &item->record;
    if (r->duration && strobe_item_knows_begin_cpu(r))
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

/* Passes the next known CPU time, from item `i` on, to the path. */
static void expect_cpu_time(struct builder *b, size_t i)
{
    const struct strobe_reader_thread *t = b->thread;
    uint64_t time_ns = 0, cpu_ns = 0;
    if (b->next_cpu_item > i)
        return;
    while (i < t->item_count && !(t->items[i].record.flags & STROBE_FLAG_CPU))
        i++;
    if (i < t->item_count)
        strobe_item_first_cpu(b->reader, &t->items[i], &time_ns, &cpu_ns);
    strobe_path_expect(&b->path, time_ns, cpu_ns);
    b->next_cpu_item = i + 1;
}

/* ---- samples */

static void emit_samples(struct builder *b, const struct strobe_item *item, uint64_t first_ns, uint64_t last_ns)
{
    b->stats->samples += item->record.count;
    if (!b->emits_samples)
        return;
    struct strobe_samples s = {first_ns, last_ns, item->record.count, item->record.stack,
                               strobe_stack_incomplete(&item->record)};
    b->sink->samples(b->sink, &s);
}

static uint64_t sample_ns(const struct run *r, uint32_t index)
{
    uint64_t span = r->last_ns - r->first_ns, steps = r->item->record.count - 1;
    return r->first_ns + span / steps * index + span % steps * index / steps;
}

static STROBE_ALWAYS_INLINE void record_position(struct builder *b, const struct strobe_item *item, uint64_t time_ns,
                                                 uint64_t samples)
{
    b->seen = item;
    b->seen_ns = time_ns;
    if (is_representative(item) && !is_call(item) && !b->call_count) {
        b->sampled = b->path.node;
        b->sampled_message = item->record.message;
        b->sampled_ns = time_ns;
        b->sampled_cpu_ns = b->path.known_ns == time_ns ? b->path.known_cpu_ns : UINT64_MAX;
    }
    if (b->path.depth)
        b->path.open[b->path.depth - 1].samples += samples;
}

/* Another record is about to be processed at `time_ns`. Passes the samples of runs up to that time. The first sample of
 * each run after that time must then be processed. */
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
            record_position(b, r->item, sample_ns(r, low - 1), low - r->done);
        else if (b->path.depth)
            b->path.open[b->path.depth - 1].samples += low - r->done;
        r->done = r->next = low;
        r->next_ns = sample_ns(r, low);
    }
    /* Restore the order by next time, latest first. */
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
    if ((b->failed |= !strobe_array_reserve(&b->runs, &b->run_room, b->run_count + 1)))
        return;
    size_t j = b->run_count++;
    for (; j && b->runs[j - 1].next_ns < r.next_ns; j--)
        b->runs[j] = b->runs[j - 1];
    b->runs[j] = r;
}

/* Returns the node at which `node` is shown while calls are open: the names that it has beyond the innermost call's
 * caller hang under that call's wait. */
static uint32_t attach_to_wait(struct builder *b, uint32_t node)
{
    if (!b->call_count)
        return node;
    const struct call *c = &b->calls[b->call_count - 1];
    const struct strobe_function_node *n = strobe_function_tree_node(b->tree, node);
    uint32_t names[STROBE_STACK_NAMES_MAX], count = 0;
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

/* Passes a sample to the CPU shares, which give CPU time to `node`: `count` ticks of the thread's clock, or a stop by
 * the sampler. */
static void share_cpu_of_sample(struct builder *b, const struct strobe_item *item, uint32_t node, uint32_t count)
{
    const struct strobe_record *r = &item->record;
    if (!b->path.divides)
        return;
    if (r->kind == STROBE_KIND_ASYNC) {
        strobe_path_share(&b->path);
        strobe_cpu_shares_stop(&b->path.shares, node);
    }
    if (r->kind != STROBE_KIND_CPU || r->flags & STROBE_FLAG_ASKED)
        return;
    strobe_path_share(&b->path);
    strobe_cpu_shares_tick(&b->path.shares, node, count, r->flags & STROBE_FLAG_SPARSE);
}

/* Shows a single sample, or the first one of a run. */
static void show_sample(struct builder *b, const struct strobe_item *item, uint64_t time_ns)
{
    const struct strobe_record *r = &item->record;
    uint32_t node = attach_to_wait(b, node_of(b, item));
    interrupt_runs(b, time_ns);
    strobe_between_arrive(b, item, time_ns, node);
    strobe_between_reach_back(b, item, time_ns, node);
    strobe_between_show_off(b, item, time_ns, node);
    if (r->kind == STROBE_KIND_CPU)
        b->short_waits = r->arg;
    move_to_begin(b, item, time_ns);
    uint64_t last_ns = r->count > 1 ? end_ns(b, item) : time_ns;
    int run = last_ns > time_ns;
    share_cpu_of_sample(b, item, node, run ? 1 : r->count);
    strobe_path_show(&b->path, node);
    record_position(b, item, time_ns, run ? 1 : r->count);
    if (run)
        add_run(b, (struct run){item, time_ns, last_ns, 1, r->count - 1, last_ns});
    emit_samples(b, item, time_ns, last_ns);
}

/* Returns 1 if the sample shows the current stack again and changes nothing else. Nearly all samples do. */
static int is_repeat(const struct builder *b, const struct strobe_item *item, uint64_t time_ns)
{
    const struct strobe_record *r = &item->record;
    const unsigned same_flags = STROBE_FLAG_SCOPE | STROBE_FLAG_CUT | STROBE_FLAG_DOUBTFUL | STROBE_FLAG_TABLE_FULL;
    if (!b->seen || (b->run_count | b->call_count) || (!is_representative(item) && strobe_between_sampled_lately(b)))
        return 0;
    const struct strobe_record *s = &b->seen->record;
    if (r->flags & s->flags & STROBE_FLAG_CPU && time_ns - b->seen_ns >= r->cpu_ns - s->cpu_ns + RUNNABLE_NS_LEAST)
        return 0; /* the thread was off its processor since */
    return r->stack == s->stack && r->count == 1 && r->message == s->message && s->count == 1 &&
           is_representative(item) == is_representative(b->seen) && !((r->flags ^ s->flags) & same_flags) &&
           !(r->flags & STROBE_FLAG_SCOPE) && time_ns - b->seen_ns <= b->gap_ns;
}

/* Shows a sample for which is_repeat() is 1: as show_sample(), without the steps that would change nothing. */
static void show_repeat(struct builder *b, const struct strobe_item *item, uint64_t time_ns)
{
    if (item->record.flags & STROBE_FLAG_CPU || item->metrics)
        move_to_begin(b, item, time_ns);
    share_cpu_of_sample(b, item, b->path.node, 1);
    record_position(b, item, time_ns, 1);
    emit_samples(b, item, time_ns, time_ns);
}

/* Shows the next sample of the run with the earliest one. */
static void show_run_sample(struct builder *b)
{
    struct run r = b->runs[--b->run_count];
    uint32_t node = attach_to_wait(b, node_of(b, r.item));
    interrupt_runs(b, r.next_ns);
    strobe_between_arrive(b, r.item, r.next_ns, node);
    strobe_between_reach_back(b, r.item, r.next_ns, node);
    if (r.next == r.item->record.count - 1) {
        move_to_end(b, r.item, r.next_ns);
        share_cpu_of_sample(b, r.item, node, r.next);
    } else {
        strobe_path_move(&b->path, r.next_ns);
    }
    strobe_path_show(&b->path, node);
    record_position(b, r.item, r.next_ns, r.next + 1 - r.done);
    r.done = r.next + 1;
    r.next = r.item->record.count - 1;
    r.next_ns = r.last_ns;
    if (r.done <= r.next)
        add_run(b, r);
}

/* ---- blocking calls */

/* Returns the node that stands for the short calls of `item`, made by `node`. */
static uint32_t node_of_sampled_call(struct builder *b, uint32_t node, const struct strobe_item *item)
{
    return strobe_function_tree_child(b->tree, node, STROBE_NAME_SAMPLED_CALL + item->record.kind);
}

static void begin_call_slice(struct builder *b, const struct strobe_item *item, int unfinished)
{
    uint64_t time_ns = begin_ns(b, item);
    if ((b->failed |= !strobe_array_reserve(&b->calls, &b->call_room, b->call_count + 1)))
        return;
    uint32_t caller = item->record.stack || !unfinished ? node_of(b, item) : 0;
    uint32_t node = attach_to_wait(b, caller);
    interrupt_runs(b, time_ns);
    int polls = item->record.kind == STROBE_KIND_POLL && !b->call_count && caller;
    if (polls && item->record.message != b->message)
        b->poll = caller;
    strobe_between_arrive(b, item, time_ns, node);
    if (polls)
        b->poll = caller;
    int stands = stands_for_calls(b, item);
    strobe_between_reach_back(b, item, time_ns, stands ? node_of_sampled_call(b, node, item) : node);
    strobe_between_show_off(b, item, time_ns, node);
    move_to_begin(b, item, time_ns);
    strobe_path_show(&b->path, node);
    if (polls && caller == b->loop)
        strobe_between_emit_message(b, 0, time_ns);
    struct strobe_slice *wait = strobe_path_push(&b->path, item->record.kind, item->record.arg, unfinished);
    if (!wait)
        return;
    wait->no_wait = (item->record.flags & STROBE_FLAG_NO_WAIT) != 0;
    record_position(b, item, time_ns, !unfinished);
    struct call c = {item, caller, b->path.node, b->path.depth, end_ns(b, item), unfinished};
    if (b->call_count && c.end_ns > b->calls[b->call_count - 1].end_ns) {
        c.end_ns = b->calls[b->call_count - 1].end_ns;
        b->stats->waits_cut++;
    }
    b->calls[b->call_count++] = c;
    b->path.call = c.wait;
    b->stats->waits++;
}

/* Returns the wake that ended the wait of this call; NULL: unknown. Must be called in the order of the calls' ends. */
static const struct strobe_reader_wake *find_call_wake(struct builder *b, const struct call *c)
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

/* A call in which the thread did not wait lost its processor when it lasted long. */
static void show_lost_processor(struct builder *b, const struct call *c)
{
    const struct strobe_record *r = &c->item->record;
    uint64_t on_ns = r->cpu_span_ns, begin = begin_ns(b, c->item);
    bool known = r->flags & STROBE_FLAG_NO_WAIT && strobe_item_knows_begin_cpu(r);
    if (!known || c->end_ns < begin + on_ns + RUNNABLE_NS_LEAST || b->path.now.time_ns > begin + on_ns)
        return;
    strobe_path_move_known(&b->path, begin + on_ns, r->cpu_ns);
    strobe_path_cut(&b->path, c->depth);
    strobe_path_push(&b->path, STROBE_NAME_RUNNABLE, 0, 0);
    b->stats->runnables++;
}

static void end_call(struct builder *b)
{
    struct call c = b->calls[b->call_count - 1];
    interrupt_runs(b, c.end_ns);
    b->call_count--;
    const struct strobe_reader_wake *wake = c.unfinished ? NULL : find_call_wake(b, &c);
    show_lost_processor(b, &c);
    move_to_end(b, c.item, c.end_ns);
    if (wake) {
        strobe_path_cut(&b->path, c.depth);
        strobe_path_woken(&b->path, wake);
    }
    strobe_path_cut(&b->path, c.depth - 1);
    b->path.call = b->call_count ? b->calls[b->call_count - 1].wait : 0;
    if (!b->call_count && stands_for_calls(b, c.item)) {
        strobe_path_push(&b->path, STROBE_NAME_SAMPLED_CALL + c.item->record.kind, 0, 0);
        if (b->path.divides)
            strobe_cpu_shares_call(&b->path.shares, b->path.node);
    }
    b->seen = c.item;
    b->seen_ns = c.end_ns;
    if (!c.unfinished)
        emit_samples(b, c.item, c.end_ns, c.end_ns);
}

/* Ends the calls and shows the samples of runs that are due up to `time_ns`. At equal times samples come before the end
 * of the call around them. */
static void process_due(struct builder *b, uint64_t time_ns)
{
    for (;;) {
        const struct run *r = b->run_count ? &b->runs[b->run_count - 1] : NULL;
        const struct call *c = b->call_count ? &b->calls[b->call_count - 1] : NULL;
        if (r && r->next_ns <= time_ns && (!c || r->next_ns <= c->end_ns))
            show_run_sample(b);
        else if (c && c->end_ns <= time_ns)
            end_call(b);
        else
            return;
    }
}

/* ---- threads */

/* The call that the thread was in at the end of the session has no record. Makes one, with the last stack that the
 * sampler took in it, if any. Returns 0 if there is no such call. */
static int make_unfinished_call(const struct builder *b, struct strobe_item *out)
{
    const struct strobe_reader_thread *t = b->thread;
    uint64_t begin = t->open_begin_ticks, end = b->reader->last_ticks;
    if (t->open_kind == STROBE_KIND_NONE || begin < t->start_ticks || begin >= end)
        return 0;
    *out = (struct strobe_item){.record = {.ticks = begin,
                                           .duration = end - begin,
                                           .kind = (uint8_t)t->open_kind,
                                           .flags = STROBE_FLAG_SCOPE,
                                           .count = 1}};
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
    process_due(b, begin_ns(b, open));
    if (!open->record.stack)
        open->record.message = b->message;
    begin_call_slice(b, open, 1);
}

static void emit_losses(struct builder *b, uint64_t time_ns)
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

/* Starts the thread's timeline at `time_ns`, with its first known totals. */
static void start_thread(struct builder *b, uint64_t time_ns)
{
    const struct strobe_reader_thread *t = b->thread;
    uint64_t counter[STROBE_COUNTER_COUNT] = {0}, known_ns, cpu_ns = 0;
    if (t->first_cpu < t->item_count)
        strobe_item_first_cpu(b->reader, &t->items[t->first_cpu], &known_ns, &cpu_ns);
    if (t->first_metrics < t->item_count)
        strobe_item_counters(b->reader, &t->items[t->first_metrics], t->items[t->first_metrics].record.duration != 0,
                             counter);
    strobe_path_start(&b->path, t, time_ns, cpu_ns, counter);
    b->woken = t->woken;
    b->woken_count = t->woken_count;
    b->seen = NULL;
    b->seen_ns = time_ns;
    b->sampled_ns = 0;
    b->ticks = t->kind[STROBE_KIND_CPU].present != 0;
    b->short_waits = b->tick_ns = 0;
    b->message = 0;
    b->poll = b->loop = 0;
    b->current_message = b->last_message = 0;
    b->next_wait_call = b->next_cpu_item = 0;
    b->call_count = b->run_count = 0;
}

static void finish_thread(struct builder *b)
{
    const struct strobe_reader_thread *t = b->thread;
    struct strobe_path *p = &b->path;
    uint64_t ticks = t->end_ticks ? t->end_ticks : b->reader->closed ? b->reader->last_ticks : 0;
    if (ticks > b->reader->last_ticks)
        ticks = b->reader->last_ticks;
    process_due(b, UINT64_MAX);
    if (t->final_ticks)
        strobe_path_expect(p, strobe_reader_ns(b->reader, t->final_ticks), t->final_cpu_ns);
    uint64_t end = ticks ? strobe_reader_ns(b->reader, ticks) : b->seen_ns + b->least_ns;
    if (end > b->seen_ns && end - b->seen_ns > b->gap_ns)
        strobe_between_fill_gap(b, end, 0, 0, t->final_ticks ? p->depth : 0, 1);
    strobe_path_move(p, end);
    strobe_path_cut(p, 0);
    if (b->path.divides)
        strobe_cpu_shares_finish(&p->shares);
    strobe_between_emit_message(b, 0, 0);
}

/* Emits a thread with known calls. Returns 0 if it has none. */
static int build_calls(struct builder *b)
{
    const struct strobe_reader_thread *t = b->thread;
    enum strobe_status status = strobe_calls_session_emit(&b->exact, b->reader, b->tree, b->options->repair,
                                                          (uint32_t)(t - b->reader->threads), b->sink, b->stats);
    b->failed |= status != STROBE_OK && status != STROBE_NO_ENTRY;
    for (size_t i = 0; i < t->item_count && status == STROBE_OK; i++)
        emit_samples(b, &t->items[i], begin_ns(b, &t->items[i]), end_ns(b, &t->items[i]));
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
    int unfinished = make_unfinished_call(b, &open);
    if (!t->item_count && !unfinished && !t->dropped && !t->overwritten && !t->wake_count)
        return;
    uint64_t first = unfinished ? open.record.ticks : t->start_ticks;
    if (t->item_count && (!unfinished || t->items[0].record.ticks < first))
        first = t->items[0].record.ticks;
    uint64_t first_ns = strobe_reader_ns(b->reader, first);

    set_limits(b);
    b->sink->thread_begin(b->sink, t);
    b->stats->threads++;
    emit_losses(b, first_ns);
    start_thread(b, first_ns);
    for (size_t i = 0; i < t->item_count; i++) {
        const struct strobe_item *item = &t->items[i];
        strobe_prefetch(&t->items[i + AHEAD_ITEMS < t->item_count ? i + AHEAD_ITEMS : i]);
        if (b->options->progress && i % PROGRESS_ITEMS == 0)
            b->options->progress(b->options->progress_ctx, (size_t)(item - b->reader->items), b->reader->item_count);
        if (unfinished && open.record.ticks <= item->record.ticks) {
            expect_cpu_time(b, i);
            begin_unfinished(b, &open);
            unfinished = 0;
        }
        uint64_t time_ns = strobe_reader_ns(b->reader, item->record.ticks);
        expect_cpu_time(b, i);
        if (is_repeat(b, item, time_ns)) {
            show_repeat(b, item, time_ns);
            continue;
        }
        process_due(b, time_ns);
        if (is_call(item))
            begin_call_slice(b, item, 0);
        else
            show_sample(b, item, time_ns);
    }
    expect_cpu_time(b, t->item_count);
    if (unfinished)
        begin_unfinished(b, &open);
    if (t->item_count || b->call_count)
        finish_thread(b);
    strobe_path_finish(&b->path);
    if (b->sink->thread_end)
        b->sink->thread_end(b->sink);
}

/* ---- all threads */

enum strobe_status strobe_timeline_build(const struct strobe_reader *reader, struct strobe_function_tree *tree,
                                         const struct strobe_timeline_options *options, struct strobe_sink *sink,
                                         struct strobe_timeline_stats *stats)
{
    struct strobe_timeline_stats unasked;
    struct builder b = {.reader = reader,
                        .tree = tree,
                        .options = options,
                        .sink = sink,
                        .emits_samples = sink->samples && !options->no_samples,
                        .stats = stats ? stats : &unasked};
    memset(b.stats, 0, sizeof *b.stats);
    b.path = (struct strobe_path){
        .sink = sink, .reader = reader, .tree = tree, .stats = b.stats, .divides = sink->cpu != NULL};
    b.path.shares = (struct strobe_cpu_shares){.sink = sink, .tree = tree};
    sink->start(sink, reader, tree);
    strobe_timeline_process(reader, tree, sink, b.stats);
    for (size_t i = 0; i < options->mark_count && sink->mark; i++)
        sink->mark(sink, &options->marks[i]);
    b.failed |= !strobe_timeline_annotations(reader, options->marks, options->mark_count, sink, b.stats);
    for (uint32_t i = 0; i < reader->thread_count && !b.failed && !b.path.failed; i++) {
        b.thread = &reader->threads[i];
        build_thread(&b);
    }
    free(b.path.open);
    free(b.path.steps);
    free(b.calls);
    free(b.runs);
    strobe_calls_session_close(b.exact);
    enum strobe_status status = options->keep_open ? STROBE_OK : sink->finish(sink);
    if (status == STROBE_OK && (b.failed || b.path.failed || strobe_function_tree_status(tree) != STROBE_OK))
        status = STROBE_IO;
    return status;
}
