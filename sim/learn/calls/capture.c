#include "sim/learn/calls/capture.h"
#include "engine/base/error_format.h"
#include "sim/learn/calls/capture_trace.h"

#include "engine/trace/build/timeline.h"

#include <errno.h>
#include <string.h>

/* A sink in front of sim_tracks_sink, which adds the spans of runnable threads. */
struct waiting_sink {
    struct strobe_sink sink; /* the calls of `to`, apart from those below */
    struct strobe_sink *to;
    struct sim_tracks *tracks;
    uint64_t origin_ns, begin_ns;
};

static void waiting_start(struct strobe_sink *sink, const struct strobe_reader *r, struct strobe_function_tree *tree)
{
    struct waiting_sink *w = (struct waiting_sink *)sink;
    w->to->start(w->to, r, tree);
}

static void waiting_thread_begin(struct strobe_sink *sink, const struct strobe_reader_thread *t)
{
    struct waiting_sink *w = (struct waiting_sink *)sink;
    w->to->thread_begin(w->to, t);
}

static void waiting_slice_begin(struct strobe_sink *sink, const struct strobe_slice *s)
{
    struct waiting_sink *w = (struct waiting_sink *)sink;
    w->to->slice_begin(w->to, s);
}

static uint64_t waiting_time(const struct waiting_sink *w, uint64_t time_ns)
{
    return time_ns > w->origin_ns ? time_ns - w->origin_ns : 0;
}

static void waiting_slice_end(struct strobe_sink *sink, const struct strobe_slice *s, const struct strobe_moment *now)
{
    struct waiting_sink *w = (struct waiting_sink *)sink;
    struct sim_tracks *t = w->tracks;
    if (s->class == STROBE_SLICE_OFF_CPU && s->name == STROBE_NAME_RUNNABLE && t->track_count && !t->failed)
        sim_track_idle(t, (uint32_t)t->track_count - 1, waiting_time(w, s->begin.time_ns),
                       waiting_time(w, now->time_ns), sim_tracks_name(t, STROBE_RUNNABLE_TEXT));
    w->to->slice_end(w->to, s, now);
}

static void waiting_thread_end(struct strobe_sink *sink)
{
    struct waiting_sink *w = (struct waiting_sink *)sink;
    w->to->thread_end(w->to);
}

static enum strobe_status waiting_finish(struct strobe_sink *sink)
{
    struct waiting_sink *w = (struct waiting_sink *)sink;
    return w->to->finish(w->to);
}

static void waiting_wake(struct strobe_sink *sink, const struct strobe_wake_flow *f)
{
    struct waiting_sink *w = (struct waiting_sink *)sink;
    w->to->wake(w->to, f);
}

static void waiting_message(struct strobe_sink *sink, const struct strobe_loop_message *m)
{
    struct waiting_sink *w = (struct waiting_sink *)sink;
    w->to->message(w->to, m);
}

static int capture_in_syscall(void *ctx, uint64_t return_address, struct strobe_symbol *out)
{
    return strobe_symbols_in_syscall(ctx, return_address, out);
}

static enum strobe_status build_tracks(const struct strobe_reader *reader, struct strobe_function_tree *tree,
                                       struct sim_tracks *out)
{
    struct waiting_sink w = {.sink = {.start = waiting_start,
                                      .thread_begin = waiting_thread_begin,
                                      .slice_begin = waiting_slice_begin,
                                      .slice_end = waiting_slice_end,
                                      .thread_end = waiting_thread_end,
                                      .finish = waiting_finish,
                                      .wake = waiting_wake,
                                      .message = waiting_message},
                             .tracks = out,
                             .origin_ns = strobe_reader_ns(reader, reader->first_ticks)};
    w.to = sim_tracks_sink(out, w.origin_ns);
    if (!w.to)
        return STROBE_IO;
    struct strobe_timeline_options options = {.no_samples = 1};
    enum strobe_status status = strobe_timeline_build(reader, tree, &options, &w.sink, NULL);
    if (status == STROBE_OK && !out->failed)
        sim_learn_move_to_zero(out);
    return status == STROBE_OK && out->failed ? STROBE_IO : status;
}

static enum strobe_status read_session(const struct strobe_reader *reader, struct sim_tracks *out)
{
    struct strobe_symbols *symbols = NULL;
    struct strobe_function_tree *tree = NULL;
    enum strobe_status status = strobe_symbols_open(&reader->session, STROBE_SYMBOLS_NO_LINES, &symbols);
    if (status == STROBE_OK)
        status = strobe_function_tree_open(&reader->session.stacks, strobe_symbols_resolver(symbols), &tree);
    if (status == STROBE_OK) {
        strobe_function_tree_show_syscalls(tree, capture_in_syscall);
        status = build_tracks(reader, tree, out);
    }
    if (tree)
        strobe_function_tree_close(tree);
    if (symbols)
        strobe_symbols_close(symbols);
    return status;
}

static bool capture_has_calls(const struct sim_tracks *t)
{
    for (size_t i = 0; i < t->track_count; i++)
        if (t->tracks[i].event_count)
            return true;
    return false;
}

enum strobe_status sim_learn_read(const char *path, struct sim_tracks *out, struct strobe_error *error)
{
    struct strobe_reader *reader = NULL;
    struct strobe_error why = {""};
    sim_tracks_open(out);
    enum strobe_status status = strobe_reader_open(path, &reader, &why);
    if (status == STROBE_OK) {
        status = read_session(reader, out);
        strobe_reader_close(reader);
    } else if (status == STROBE_BAD_INPUT) {
        strobe_error_clear(&why);
        status = sim_learn_read_trace(path, out, &why);
    } else if (status == STROBE_IO && !why.text[0]) {
        strobe_error_set(&why, "%s", strerror(errno));
    }
    if (status == STROBE_OK && !capture_has_calls(out)) {
        status = STROBE_BAD_INPUT;
        strobe_error_set(&why, "expected a capture with calls of at least one thread, found none");
    }
    if (status != STROBE_OK)
        strobe_error_set(error, "%s: %s", path, why.text[0] ? why.text : strobe_status_text(status));
    if (status != STROBE_OK)
        sim_tracks_close(out);
    return status;
}
