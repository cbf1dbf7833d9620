#include "engine/trace/build/timeline_annotations.h"

#include "engine/util/array.h"

#include <stdio.h>
#include <stdlib.h>

/* A value of a counter, or a section. */
struct piece {
    const struct strobe_reader_annotation *from;
    uint32_t depth; /* of a section, from 0 */
    uint64_t begin_ns, end_ns;
};

struct work {
    const struct strobe_reader *reader;
    struct strobe_timeline_stats *stats;
    struct piece *pieces;
    size_t count, room;
    size_t *open; /* the thread's sections without an end yet, outermost first: indices into pieces */
    size_t depth, open_room;
};

static int is_counter(const struct piece *p)
{
    return p->from->what == STROBE_ANNOTATION_COUNTER;
}

/* A track is a counter's name, or a thread and a depth. */
static int compare_tracks(const struct piece *a, const struct piece *b)
{
    if (is_counter(a) != is_counter(b))
        return is_counter(a) ? -1 : 1;
    if (is_counter(a))
        return (a->from->stack > b->from->stack) - (a->from->stack < b->from->stack);
    if (a->from->thread != b->from->thread)
        return a->from->thread < b->from->thread ? -1 : 1;
    return (a->depth > b->depth) - (a->depth < b->depth);
}

static int by_track_and_time(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;
    int order = compare_tracks(a, b);
    if (order)
        return order;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    return (a->from > b->from) - (a->from < b->from);
}

static uint64_t thread_end_ns(const struct strobe_reader *r, uint32_t thread)
{
    uint64_t end = r->threads[thread].end_ticks;
    return strobe_reader_ns(r, end ? end : r->last_ticks);
}

static int add_piece(struct work *w, const struct strobe_reader_annotation *a)
{
    uint64_t ns = strobe_reader_ns(w->reader, a->ticks);
    if (!strobe_array_reserve(&w->pieces, &w->room, w->count + 1))
        return 0;
    w->pieces[w->count++] = (struct piece){.from = a, .depth = (uint32_t)w->depth, .begin_ns = ns, .end_ns = ns};
    return 1;
}

static int open_section(struct work *w, const struct strobe_reader_annotation *a)
{
    if (!add_piece(w, a) || !strobe_array_reserve(&w->open, &w->open_room, w->depth + 1))
        return 0;
    w->open[w->depth++] = w->count - 1;
    w->stats->sections++;
    return 1;
}

static void end_section(struct work *w, uint64_t end_ns)
{
    struct piece *p = &w->pieces[w->open[--w->depth]];
    p->end_ns = end_ns > p->begin_ns ? end_ns : p->begin_ns;
}

static void end_thread(struct work *w, uint32_t thread)
{
    for (; w->depth; w->stats->sections_open++)
        end_section(w, thread_end_ns(w->reader, thread));
}

static int take_annotation(struct work *w, const struct strobe_reader_annotation *a)
{
    switch (a->what) {
    case STROBE_ANNOTATION_BEGIN: return open_section(w, a);
    case STROBE_ANNOTATION_COUNTER: w->stats->app_values++; return add_piece(w, a);
    default: break;
    }
    if (w->depth)
        end_section(w, strobe_reader_ns(w->reader, a->ticks));
    else
        w->stats->sections_unbegun++;
    return 1;
}

static int gather_annotations(struct work *w)
{
    const struct strobe_reader *r = w->reader;
    for (size_t i = 0; i < r->annotation_count; i++) {
        const struct strobe_reader_annotation *a = &r->annotations[i];
        if (!take_annotation(w, a))
            return 0;
        if (i + 1 == r->annotation_count || a[1].thread != a->thread)
            end_thread(w, a->thread);
    }
    return 1;
}

static void report_piece(const struct work *w, const struct piece *p, uint32_t track, struct strobe_sink *sink)
{
    char name[STROBE_ANNOTATION_NAME_BYTES + 1], lane[80];
    if (!strobe_reader_annotation_name(w->reader, p->from, name))
        snprintf(name, sizeof name, "[name lost]");
    snprintf(lane, sizeof lane, "%s: sections, level %u", w->reader->threads[p->from->thread].name, p->depth + 1);
    struct strobe_mark mark = {.track = track,
                               .is_counter = is_counter(p),
                               .name = name,
                               .begin_ns = p->begin_ns,
                               .end_ns = p->end_ns,
                               .value = is_counter(p) ? (int64_t)p->from->value : 0,
                               .lane = is_counter(p) ? NULL : lane,
                               .thread = is_counter(p) ? NULL : &w->reader->threads[p->from->thread]};
    sink->mark(sink, &mark);
}

int strobe_timeline_annotations(const struct strobe_reader *reader, const struct strobe_mark *marks, size_t mark_count,
                                struct strobe_sink *sink, struct strobe_timeline_stats *stats)
{
    struct work w = {.reader = reader, .stats = stats};
    uint32_t track = 0;
    for (size_t i = 0; i < mark_count; i++)
        track = marks[i].track >= track ? marks[i].track + 1 : track;
    int ok = gather_annotations(&w);
    if (ok && w.count)
        qsort(w.pieces, w.count, sizeof *w.pieces, by_track_and_time);
    for (size_t i = 0; ok && sink->mark && i < w.count; i++) {
        track += i > 0 && compare_tracks(&w.pieces[i - 1], &w.pieces[i]) != 0;
        report_piece(&w, &w.pieces[i], track, sink);
    }
    free(w.pieces);
    free(w.open);
    return ok;
}
