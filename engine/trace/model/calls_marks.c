#include "engine/trace/model/calls_marks.h"

#include <stdlib.h>

#define NONE SIZE_MAX

/* A counter's value; a begin or end of an asynchronous slice; after pair_asyncs, a whole asynchronous slice. */
struct item {
    uint32_t name, kind;
    int64_t value;
    uint64_t time_ns, end_ns;
    size_t order; /* position in the stream */
    size_t outer; /* index of the slice of the same name and cookie that was open before; NONE = none */
    uint32_t track;
    bool is_open;
};

struct lane {
    uint64_t free_ns;
    uint32_t number;
};

struct work {
    const struct strobe_calls *calls;
    struct strobe_sink *sink;
    struct strobe_calls_marks_stats *stats;
    struct item *items;
    size_t count;
    struct lane *lanes; /* of one name: a heap with the lane that is free first on top */
    uint32_t lane_count;
    uint32_t tracks; /* assigned so far */
};

static int by_order(const struct item *a, const struct item *b)
{
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Orders counters first, then by name. Slices of one name are ordered by cookie, then by time. */
static int by_cookie(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    int a_async = a->kind != STROBE_MARK_COUNTER, b_async = b->kind != STROBE_MARK_COUNTER;
    if (a_async != b_async)
        return a_async - b_async;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    if (a_async && a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns ? -1 : 1 : by_order(a, b);
}

static int by_name_and_time(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns ? -1 : 1 : by_order(a, b);
}

static bool collect_marks(struct work *w)
{
    size_t all = 0;
    for (size_t i = 0; i < w->calls->thread_count; i++)
        all += w->calls->threads[i].mark_count;
    if (!all)
        return true;
    w->items = malloc(all * sizeof *w->items);
    w->lanes = malloc(all * sizeof *w->lanes);
    if (!w->items || !w->lanes)
        return false;
    for (size_t i = 0; i < w->calls->thread_count; i++) {
        const struct strobe_calls_thread *t = &w->calls->threads[i];
        for (size_t k = 0; k < t->mark_count; k++) {
            const struct strobe_call_mark *m = &t->marks[k];
            if (m->kind != STROBE_MARK_INSTANT && m->name < w->calls->names.count) {
                w->items[w->count] = (struct item){
                    .name = m->name, .kind = m->kind, .value = m->value, .time_ns = m->time_ns, .order = w->count};
                w->count++;
            }
        }
    }
    return true;
}

static void emit_mark(struct work *w, const struct item *m, uint32_t track)
{
    struct strobe_mark out = {.track = track,
                              .is_counter = m->kind == STROBE_MARK_COUNTER,
                              .name = w->calls->names.texts[m->name],
                              .begin_ns = m->time_ns,
                              .end_ns = m->end_ns,
                              .value = m->kind == STROBE_MARK_COUNTER ? m->value : 0};
    if (w->sink->mark)
        w->sink->mark(w->sink, &out);
}

static size_t emit_counter_marks(struct work *w)
{
    size_t i = 0;
    for (; i < w->count && w->items[i].kind == STROBE_MARK_COUNTER; i++) {
        w->tracks += i == 0 || w->items[i].name != w->items[i - 1].name;
        w->items[i].end_ns = w->items[i].time_ns;
        emit_mark(w, &w->items[i], w->tracks - 1);
        w->stats->counters++;
    }
    return i;
}

/* Pairs the begins and ends of asynchronous slices from index `from` on, and replaces them by whole slices. Returns the
 * index behind the last slice. */
static size_t pair_asyncs(struct work *w, size_t from)
{
    size_t made = from, open = NONE;
    struct item before = {0};
    for (size_t i = from; i < w->count; i++) {
        struct item m = w->items[i];
        if (m.name != before.name || m.value != before.value)
            open = NONE;
        before = m;
        if (m.kind == STROBE_MARK_ASYNC_BEGIN) {
            m.outer = open;
            m.end_ns = m.time_ns > w->calls->end_ns ? m.time_ns : w->calls->end_ns;
            m.is_open = true;
            open = made;
            w->items[made++] = m;
        } else if (open != NONE) {
            w->items[open].end_ns = m.time_ns;
            w->items[open].is_open = false;
            open = w->items[open].outer;
        } else {
            w->stats->unmatched++;
        }
    }
    return made;
}

/* Restores the heap's order after its top's free_ns has grown. */
static void sift_lane_down(struct work *w)
{
    struct lane moved = w->lanes[0];
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < w->lane_count; at = child) {
        child += child + 1 < w->lane_count && w->lanes[child + 1].free_ns < w->lanes[child].free_ns;
        if (w->lanes[child].free_ns >= moved.free_ns)
            break;
        w->lanes[at] = w->lanes[child];
    }
    w->lanes[at] = moved;
}

/* Returns the track of a lane that is free at time_ns, and reserves it until end_ns. */
static uint32_t take_lane(struct work *w, uint64_t time_ns, uint64_t end_ns)
{
    if (w->lane_count && w->lanes[0].free_ns <= time_ns) {
        uint32_t number = w->lanes[0].number;
        w->lanes[0].free_ns = end_ns;
        sift_lane_down(w);
        return number;
    }
    uint32_t at = w->lane_count++, number = w->tracks++;
    for (; at && w->lanes[(at - 1) / 2].free_ns > end_ns; at = (at - 1) / 2)
        w->lanes[at] = w->lanes[(at - 1) / 2];
    w->lanes[at] = (struct lane){end_ns, number};
    return number;
}

static int by_track(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns ? -1 : 1 : by_order(a, b);
}

static void emit_async_marks(struct work *w, struct item *slices, size_t count)
{
    qsort(slices, count, sizeof *slices, by_name_and_time);
    for (size_t i = 0; i < count; i++) {
        if (i && slices[i].name != slices[i - 1].name)
            w->lane_count = 0;
        slices[i].track = take_lane(w, slices[i].time_ns, slices[i].end_ns);
    }
    qsort(slices, count, sizeof *slices, by_track);
    for (size_t i = 0; i < count; i++) {
        emit_mark(w, &slices[i], slices[i].track);
        w->stats->asyncs++;
        w->stats->open_at_end += slices[i].is_open;
    }
}

enum strobe_status strobe_calls_emit_marks(const struct strobe_calls *calls, struct strobe_sink *sink,
                                           struct strobe_calls_marks_stats *stats)
{
    struct work w = {.calls = calls, .sink = sink, .stats = stats};
    *stats = (struct strobe_calls_marks_stats){0};
    bool ok = collect_marks(&w);
    if (ok && w.count) {
        qsort(w.items, w.count, sizeof *w.items, by_cookie);
        size_t asyncs = emit_counter_marks(&w);
        emit_async_marks(&w, w.items + asyncs, pair_asyncs(&w, asyncs) - asyncs);
    }
    free(w.items);
    free(w.lanes);
    return ok ? STROBE_OK : STROBE_IO;
}
