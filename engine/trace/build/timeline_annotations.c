#include "engine/trace/build/timeline_annotations.h"

#include "engine/util/array.h"

#include <stdio.h>
#include <stdlib.h>

/* A value of a counter, or a section. */
struct piece {
    const struct strobe_reader_annotation *from;
    uint64_t depth;            /* of a section, from 1 */
    uint64_t begin_ns, end_ns; /* end_ns: OPEN while it is not known */
};

#define OPEN UINT64_MAX

struct work {
    const struct strobe_reader *reader;
    struct strobe_timeline_stats *stats;
    struct piece *pieces;
    size_t count, room;
    size_t *open; /* the thread's sections that may last on, outermost first: indices into pieces */
    size_t depth, open_room;
};

static int is_counter(const struct piece *p)
{
    return p->from->what == STROBE_ANNOTATION_COUNTER || p->from->what == STROBE_ANNOTATION_THREAD_COUNTER;
}

static int is_of_thread(const struct piece *p)
{
    return p->from->what != STROBE_ANNOTATION_COUNTER;
}

/* A track is a counter's name, with its thread if it has one, or a thread and a depth. */
static int compare_tracks(const struct piece *a, const struct piece *b)
{
    if (is_counter(a) != is_counter(b))
        return is_counter(a) ? -1 : 1;
    if (is_of_thread(a) != is_of_thread(b))
        return is_of_thread(a) ? 1 : -1;
    if (is_of_thread(a) && a->from->thread != b->from->thread)
        return a->from->thread < b->from->thread ? -1 : 1;
    if (is_counter(a))
        return (a->from->stack > b->from->stack) - (a->from->stack < b->from->stack);
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

static int add_piece(struct work *w, const struct strobe_reader_annotation *a, uint64_t depth, uint64_t end_ns)
{
    uint64_t ns = strobe_reader_ns(w->reader, a->ticks);
    if (!strobe_array_reserve(&w->pieces, &w->room, w->count + 1))
        return 0;
    w->pieces[w->count++] = (struct piece){.from = a, .depth = depth, .begin_ns = ns, .end_ns = end_ns};
    return 1;
}

static struct piece *open_piece(const struct work *w, size_t i)
{
    return &w->pieces[w->open[i]];
}

/* Closes the open sections from the one at `first` inwards. One whose end is not recorded ends at `ns`, or with the
 * sections around it. Returns the number of those. */
static uint64_t close_sections(struct work *w, size_t first, uint64_t ns)
{
    uint64_t unended = 0;
    for (size_t i = first; i < w->depth; i++) {
        struct piece *p = open_piece(w, i);
        if (p->end_ns == OPEN) {
            p->end_ns = ns > p->begin_ns ? ns : p->begin_ns;
            unended++;
        } else {
            ns = p->end_ns = p->end_ns < ns ? p->end_ns : ns; /* ticks may be coarse: a section is at least one long */
        }
    }
    w->depth = first;
    return unended;
}

/* Closes what ended before a section of this depth begins. A section whose end was not recorded, as while the capture
 * was paused, is known to have ended then. */
static void close_before(struct work *w, uint64_t depth, uint64_t ns)
{
    size_t first = 0;
    while (first < w->depth && open_piece(w, first)->depth < depth && open_piece(w, first)->end_ns > ns)
        first++;
    close_sections(w, first, ns);
}

static int take_begin(struct work *w, const struct strobe_reader_annotation *a)
{
    uint64_t begin_ns = strobe_reader_ns(w->reader, a->ticks), end_ns = OPEN;
    uint64_t depth = a->value ? a->value : (w->depth ? open_piece(w, w->depth - 1)->depth : 0) + 1;
    if (a->duration)
        end_ns = strobe_reader_ns(w->reader, a->ticks + a->duration);
    close_before(w, depth, begin_ns);
    if (!add_piece(w, a, depth, end_ns) || !strobe_array_reserve(&w->open, &w->open_room, w->depth + 1))
        return 0;
    w->open[w->depth++] = w->count - 1;
    w->stats->sections++;
    return 1;
}

/* The whole section that an END recorded: its begin may be there, too. */
static int take_whole(struct work *w, const struct strobe_reader_annotation *a)
{
    for (size_t i = 0; i < w->depth; i++) {
        struct piece *p = open_piece(w, i);
        if (p->depth == a->value && p->from->ticks == a->ticks && p->from->stack == a->stack && p->end_ns == OPEN) {
            p->end_ns = strobe_reader_ns(w->reader, a->ticks + a->duration);
            return 1;
        }
    }
    return take_begin(w, a);
}

/* An end whose thread knew no more than the depth, or of an older version nothing. */
static void take_end(struct work *w, const struct strobe_reader_annotation *a)
{
    size_t i = w->depth;
    while (i > 0 && (open_piece(w, i - 1)->end_ns != OPEN || (a->value && open_piece(w, i - 1)->depth != a->value)))
        i--;
    if (i)
        close_sections(w, i - 1, strobe_reader_ns(w->reader, a->ticks));
    else
        w->stats->sections_unbegun++;
}

static int take_annotation(struct work *w, const struct strobe_reader_annotation *a)
{
    switch (a->what) {
    case STROBE_ANNOTATION_BEGIN: return take_begin(w, a);
    case STROBE_ANNOTATION_END:
        if (a->duration)
            return take_whole(w, a);
        take_end(w, a);
        return 1;
    default: w->stats->app_values++; return add_piece(w, a, 0, strobe_reader_ns(w->reader, a->ticks));
    }
}

static int gather_annotations(struct work *w)
{
    const struct strobe_reader *r = w->reader;
    for (size_t i = 0; i < r->annotation_count; i++) {
        const struct strobe_reader_annotation *a = &r->annotations[i];
        if (!take_annotation(w, a))
            return 0;
        if (i + 1 == r->annotation_count || a[1].thread != a->thread)
            w->stats->sections_open += close_sections(w, 0, thread_end_ns(r, a->thread));
    }
    return 1;
}

static void report_piece(const struct work *w, const struct piece *p, uint32_t track, struct strobe_sink *sink)
{
    char name[STROBE_ANNOTATION_NAME_BYTES + 1], lane[80];
    if (!strobe_reader_annotation_name(w->reader, p->from, name))
        snprintf(name, sizeof name, "[name lost]");
    snprintf(lane, sizeof lane, "%s: sections, level %llu", w->reader->threads[p->from->thread].name,
             (unsigned long long)p->depth);
    struct strobe_mark mark = {.track = track,
                               .is_counter = is_counter(p),
                               .name = name,
                               .begin_ns = p->begin_ns,
                               .end_ns = p->end_ns,
                               .value = is_counter(p) ? (int64_t)p->from->value : 0,
                               .lane = is_counter(p) ? NULL : lane,
                               .thread = is_of_thread(p) ? &w->reader->threads[p->from->thread] : NULL};
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
