#include "engine/trace/model/sink_window.h"

#include "engine/util/array.h"

#include <stdlib.h>

struct window {
    struct strobe_sink sink;
    struct strobe_sink *inner;
    struct strobe_window_stats *stats;
    struct strobe_window_times times;
    uint64_t from_ns, to_ns; /* on the trace's clock */
    const struct strobe_reader_thread *thread;
    int emitted;                           /* the inner sink has got the thread's begin */
    enum { BEFORE, INSIDE, BEHIND } place; /* of the thread's latest event: before the window, inside or behind it */
    struct strobe_moment last;             /* of the thread's latest event */
    struct strobe_slice *open; /* open slices, outermost first; when INSIDE, the inner sink has all of them */
    size_t depth, room;
    int failed; /* memory ran out */
    int begun;  /* processes started so far */
};

static void window_start(struct strobe_sink *sink, const struct strobe_reader *reader,
                         struct strobe_function_tree *tree)
{
    struct window *w = (struct window *)sink;
    uint64_t begin_ns = strobe_reader_ns(reader, reader->first_ticks);
    w->inner->several = sink->several;
    if (w->begun++) { /* the window applies to the whole trace, from the begin of its first process */
        w->inner->start(w->inner, reader, tree);
        return;
    }
    w->from_ns = begin_ns + w->times.from_ns;
    w->to_ns = w->times.to_ns < UINT64_MAX - begin_ns ? begin_ns + w->times.to_ns : UINT64_MAX;
    w->inner->start(w->inner, reader, tree);
}

static void window_thread_begin(struct strobe_sink *sink, const struct strobe_reader_thread *thread)
{
    struct window *w = (struct window *)sink;
    w->thread = thread;
    w->emitted = 0;
    w->place = BEFORE;
    w->depth = 0;
    w->last = (struct strobe_moment){0};
}

static void emit_thread_begin(struct window *w)
{
    if (w->emitted)
        return;
    w->emitted = 1;
    w->stats->threads++;
    w->inner->thread_begin(w->inner, w->thread);
}

/* Returns the moment at `time_ns`, between the latest one and `next`. CPU time is interpolated; the other totals are
 * those of the latest moment. */
static struct strobe_moment interpolate_moment(const struct window *w, uint64_t time_ns,
                                               const struct strobe_moment *next)
{
    struct strobe_moment m = w->last;
    if (!w->last.time_ns) /* the thread's first moment */
        m = *next;
    else if (next->time_ns > w->last.time_ns && next->cpu_ns > w->last.cpu_ns)
        m.cpu_ns += (uint64_t)((double)(next->cpu_ns - w->last.cpu_ns) * (double)(time_ns - w->last.time_ns) /
                               (double)(next->time_ns - w->last.time_ns));
    m.time_ns = time_ns;
    return m;
}

static void emit_slice_begin(struct window *w, const struct strobe_slice *slice)
{
    emit_thread_begin(w);
    w->stats->slices++;
    w->inner->slice_begin(w->inner, slice);
}

/* Moves the thread's timeline to `next`. Enters and leaves the window if its edges lie before `next`. A slice that ends
 * or begins exactly at the window's begin is not cut, so the window is entered only when `next` is past that time. */
static void advance_window(struct window *w, const struct strobe_moment *next)
{
    if (w->place == BEFORE && next->time_ns > w->from_ns) {
        struct strobe_moment edge = interpolate_moment(w, w->from_ns, next);
        w->place = INSIDE;
        for (size_t i = 0; i < w->depth; i++) {
            if (w->open[i].begin.time_ns < w->from_ns)
                w->open[i].begin = edge;
            emit_slice_begin(w, &w->open[i]);
        }
        if (w->last.time_ns && w->last.time_ns < w->from_ns)
            w->last = edge;
    }
    if (w->place == INSIDE && next->time_ns >= w->to_ns) {
        struct strobe_moment edge = interpolate_moment(w, w->to_ns, next);
        for (size_t i = w->depth; i-- > 0;)
            w->inner->slice_end(w->inner, &w->open[i], &edge);
        w->place = BEHIND;
    }
    w->last = *next;
}

/* Memory ran out: ends the open slices at `now`. No further slice of the thread is emitted. */
static void abort_thread(struct window *w, const struct strobe_moment *now)
{
    for (size_t i = w->depth; i-- > 0 && w->place == INSIDE;)
        w->inner->slice_end(w->inner, &w->open[i], now);
    w->failed = 1;
    w->place = BEHIND;
}

static void window_slice_begin(struct strobe_sink *sink, const struct strobe_slice *slice)
{
    struct window *w = (struct window *)sink;
    advance_window(w, &slice->begin);
    if (w->place == BEHIND)
        return;
    if (!strobe_array_reserve(&w->open, &w->room, w->depth + 1)) {
        abort_thread(w, &slice->begin);
        return;
    }
    w->open[w->depth++] = *slice;
    if (w->place == INSIDE)
        emit_slice_begin(w, slice);
}

static void window_slice_end(struct strobe_sink *sink, const struct strobe_slice *slice,
                             const struct strobe_moment *now)
{
    struct window *w = (struct window *)sink;
    advance_window(w, now);
    if (w->place == BEHIND || !w->depth)
        return;
    struct strobe_slice emitted = *slice;
    emitted.begin = w->open[--w->depth].begin;
    if (w->place == INSIDE)
        w->inner->slice_end(w->inner, &emitted, now);
}

static void window_instant(struct strobe_sink *sink, uint64_t time_ns, const char *name,
                           const struct strobe_note *notes, size_t note_count)
{
    struct window *w = (struct window *)sink;
    struct strobe_moment m = w->last;
    if (time_ns >= w->to_ns || !w->inner->instant)
        return;
    if (m.time_ns && time_ns > m.time_ns) {
        m.time_ns = time_ns;
        advance_window(w, &m);
    }
    emit_thread_begin(w);
    w->inner->instant(w->inner, time_ns > w->from_ns ? time_ns : w->from_ns, name, notes, note_count);
}

/* A flow is emitted only if both of its ends are in the window. */
static void window_wake(struct strobe_sink *sink, const struct strobe_wake_flow *f)
{
    struct window *w = (struct window *)sink;
    struct strobe_moment m = w->last;
    if (!w->inner->wake || f->release_ns < w->from_ns || f->end_ns >= w->to_ns)
        return;
    if (f->time_ns > m.time_ns && m.time_ns) {
        m.time_ns = f->time_ns;
        advance_window(w, &m);
    }
    emit_thread_begin(w);
    w->inner->wake(w->inner, f);
}

static void window_samples(struct strobe_sink *sink, const struct strobe_samples *s)
{
    struct window *w = (struct window *)sink;
    struct strobe_samples in = *s;
    double step = s->count > 1 ? (double)(s->last_ns - s->first_ns) / (double)(s->count - 1) : 0;
    if (s->last_ns < w->from_ns || s->first_ns >= w->to_ns || !w->inner->samples)
        return;
    uint64_t first = 0, end = s->count;
    if (step > 0 && s->first_ns < w->from_ns)
        first = (uint64_t)((double)(w->from_ns - s->first_ns) / step + 0.999999);
    if (step > 0 && s->last_ns >= w->to_ns)
        end = (uint64_t)((double)(w->to_ns - 1 - s->first_ns) / step) + 1;
    if (first >= end || end > s->count)
        return;
    in.count = end - first;
    in.first_ns = first ? s->first_ns + (uint64_t)((double)first * step) : s->first_ns;
    in.last_ns = in.count == 1    ? in.first_ns
                 : end < s->count ? s->first_ns + (uint64_t)((double)(end - 1) * step)
                                  : s->last_ns;
    emit_thread_begin(w);
    w->inner->samples(w->inner, &in);
}

/* Emits the part of a share that lies in the window, in proportion to time. */
static void window_cpu(struct strobe_sink *sink, const struct strobe_cpu_share *s)
{
    struct window *w = (struct window *)sink;
    struct strobe_cpu_share in = *s;
    if (s->end_ns < w->from_ns || s->begin_ns >= w->to_ns)
        return;
    in.begin_ns = s->begin_ns > w->from_ns ? s->begin_ns : w->from_ns;
    in.end_ns = s->end_ns < w->to_ns ? s->end_ns : w->to_ns;
    if (s->end_ns > s->begin_ns)
        in.cpu_ns =
            (uint64_t)((double)s->cpu_ns * (double)(in.end_ns - in.begin_ns) / (double)(s->end_ns - s->begin_ns));
    emit_thread_begin(w);
    w->inner->cpu(w->inner, &in);
}

static void window_value(struct strobe_sink *sink, const struct strobe_value *v)
{
    struct window *w = (struct window *)sink;
    if (w->inner->value && v->time_ns >= w->from_ns && v->time_ns < w->to_ns)
        w->inner->value(w->inner, v);
}

static void window_hitch(struct strobe_sink *sink, const struct strobe_late *l)
{
    struct window *w = (struct window *)sink;
    struct strobe_late in = *l;
    if (!w->inner->hitch || l->end_ns <= w->from_ns || l->begin_ns >= w->to_ns)
        return;
    in.begin_ns = l->begin_ns > w->from_ns ? l->begin_ns : w->from_ns;
    in.end_ns = l->end_ns < w->to_ns ? l->end_ns : w->to_ns;
    w->inner->hitch(w->inner, &in);
}

static void window_mark(struct strobe_sink *sink, const struct strobe_mark *m)
{
    struct window *w = (struct window *)sink;
    struct strobe_mark in = *m;
    if (!w->inner->mark || m->begin_ns >= w->to_ns || m->end_ns < w->from_ns)
        return;
    in.begin_ns = m->begin_ns > w->from_ns ? m->begin_ns : w->from_ns;
    in.end_ns = m->end_ns < w->to_ns ? m->end_ns : w->to_ns;
    w->inner->mark(w->inner, &in);
}

static void window_thread_end(struct strobe_sink *sink)
{
    struct window *w = (struct window *)sink;
    if (w->emitted && w->inner->thread_end)
        w->inner->thread_end(w->inner);
}

static enum strobe_status window_finish(struct strobe_sink *sink)
{
    struct window *w = (struct window *)sink;
    enum strobe_status status = w->inner->finish(w->inner);
    if (status == STROBE_OK && w->failed)
        status = STROBE_IO;
    free(w->open);
    free(w);
    return status;
}

struct strobe_sink *strobe_sink_window(struct strobe_sink *inner, struct strobe_window_times times,
                                       struct strobe_window_stats *stats)
{
    struct window *w = calloc(1, sizeof *w);
    if (!w) {
        inner->finish(inner);
        return NULL;
    }
    w->sink = (struct strobe_sink){.start = window_start,
                                   .thread_begin = window_thread_begin,
                                   .slice_begin = window_slice_begin,
                                   .slice_end = window_slice_end,
                                   .instant = window_instant,
                                   .wake = window_wake,
                                   .samples = window_samples,
                                   .thread_end = window_thread_end,
                                   .finish = window_finish,
                                   .value = window_value,
                                   .hitch = window_hitch,
                                   .mark = window_mark,
                                   .cpu = inner->cpu ? window_cpu : NULL};
    w->inner = inner;
    w->times = times;
    w->stats = stats;
    *stats = (struct strobe_window_stats){0};
    return &w->sink;
}
