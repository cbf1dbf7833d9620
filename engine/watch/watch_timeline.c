#include "engine/watch/watch_timeline.h"
#include "engine/base/error_format.h"

#include "engine/trace/symbols/symbols.h"
#include "engine/util/array.h"
#include "engine/watch/dump_cause.h"
#include "engine/watch/watch_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COARSE_NS = 5000000 }; /* time between ticks of the clock thread */

/* An overlong turn of the run loop, for sessions without messages. */
struct turn {
    uint64_t begin_ns, end_ns;
};

struct watch_sink {
    struct strobe_sink sink;
    struct strobe_watcher *watcher;
    const char *frames;
    struct strobe_watch_seen *seen;
    const struct strobe_reader *reader;
    const struct strobe_reader_thread *main;
    struct strobe_function_tree *tree;
    struct strobe_watch_feed *feed;
    bool is_main; /* the current thread is the main thread */
    bool has_messages, failed;
    uint64_t now_ns; /* latest time of the main thread */
    struct turn *turns;
    size_t turn_count, turn_room, turn; /* turn: index of the next turn to begin, or of the open turn */
    bool in_turn;
};

/* ---- the main thread */

static const struct strobe_reader_thread *find_main_thread(const struct strobe_reader *reader)
{
    for (uint32_t i = 0; i < reader->thread_count; i++)
        if (reader->threads[i].is_main)
            return &reader->threads[i];
    return NULL;
}

/* A thread whose calls were recorded is shown by its calls alone, without messages. */
static bool has_messages(const struct strobe_reader_thread *t)
{
    if (t && t->calls.present)
        return false;
    for (size_t i = 0; t && i < t->item_count; i++)
        if (t->items[i].record.message)
            return true;
    return false;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void watch_sink_start(struct strobe_sink *sink, const struct strobe_reader *reader,
                             struct strobe_function_tree *tree)
{
    struct watch_sink *t = (struct watch_sink *)sink;
    const struct strobe_session_header *h = reader->session.header;
    t->reader = reader;
    t->tree = tree;
    t->main = find_main_thread(reader);
    t->has_messages = has_messages(t->main);
    char exe[sizeof h->exe + 1];
    memcpy(exe, h->exe, sizeof h->exe);
    exe[sizeof h->exe] = 0;
    t->now_ns = strobe_reader_ns(reader, reader->first_ticks);
    t->feed = strobe_watch_feed_open(
        &(struct strobe_watch_feed_options){.frames = t->frames,
                                            .has_messages = t->has_messages || reader->hitch_count,
                                            .process = last_part(exe),
                                            .pid = h->pid},
        t->watcher);
    t->failed |= !t->feed;
}

/* ---- overlong turns of the run loop */

static void watch_sink_hitch(struct strobe_sink *sink, const struct strobe_late *l)
{
    struct watch_sink *t = (struct watch_sink *)sink;
    if (t->has_messages || &t->reader->threads[l->thread] != t->main)
        return;
    if (!strobe_array_reserve(&t->turns, &t->turn_room, t->turn_count + 1)) {
        t->failed = true;
        return;
    }
    t->turns[t->turn_count++] = (struct turn){l->begin_ns, l->end_ns};
}

/* Passes the turns that begin or end up to time_ns. */
static void feed_long_turns(struct watch_sink *t, uint64_t time_ns)
{
    for (; t->turn < t->turn_count; t->turn++) {
        const struct turn *turn = &t->turns[t->turn];
        if (!t->in_turn && turn->begin_ns > time_ns)
            return;
        if (!t->in_turn)
            strobe_watch_feed_message(t->feed, turn->begin_ns, 0);
        t->in_turn = turn->end_ns > time_ns;
        if (t->in_turn)
            return;
        strobe_watch_feed_message_end(t->feed, turn->end_ns);
    }
}

/* ---- slices */

static bool is_main_thread_slice(struct watch_sink *t, uint64_t time_ns)
{
    if (!t->is_main || !t->feed)
        return false;
    t->now_ns = time_ns;
    feed_long_turns(t, time_ns);
    return true;
}

static void watch_sink_thread_begin(struct strobe_sink *sink, const struct strobe_reader_thread *thread)
{
    struct watch_sink *t = (struct watch_sink *)sink;
    t->is_main = thread == t->main;
}

static void watch_sink_slice_begin(struct strobe_sink *sink, const struct strobe_slice *s)
{
    static const enum strobe_watch_call class_of[] = {
        [STROBE_SLICE_FUNCTION] = STROBE_WATCH_METHOD, [STROBE_SLICE_WAIT] = STROBE_WATCH_WAIT,
        [STROBE_SLICE_GAP] = STROBE_WATCH_GAP,         [STROBE_SLICE_PLACEHOLDER] = STROBE_WATCH_GAP,
        [STROBE_SLICE_OFF_CPU] = STROBE_WATCH_GAP,
    };
    struct watch_sink *t = (struct watch_sink *)sink;
    if (is_main_thread_slice(t, s->begin.time_ns))
        strobe_watch_feed_call(t->feed, s->begin.time_ns, s->name, strobe_function_tree_name(t->tree, s->name)->text,
                               class_of[s->class], s->node);
}

static void watch_sink_slice_end(struct strobe_sink *sink, const struct strobe_slice *s,
                                 const struct strobe_moment *now)
{
    struct watch_sink *t = (struct watch_sink *)sink;
    (void)s;
    if (is_main_thread_slice(t, now->time_ns))
        strobe_watch_feed_return(t->feed, now->time_ns);
}

static void watch_sink_message(struct strobe_sink *sink, const struct strobe_loop_message *m)
{
    struct watch_sink *t = (struct watch_sink *)sink;
    if (!is_main_thread_slice(t, m->time_ns))
        return;
    if (m->id)
        strobe_watch_feed_message(t->feed, m->time_ns, 0);
    else
        strobe_watch_feed_message_end(t->feed, m->time_ns);
}

static enum strobe_status watch_sink_finish(struct strobe_sink *sink)
{
    struct watch_sink *t = (struct watch_sink *)sink;
    bool failed = t->failed;
    if (t->feed) {
        feed_long_turns(t, UINT64_MAX);
        uint64_t end_ns = strobe_reader_ns(t->reader, t->reader->last_ticks);
        failed |= strobe_watch_feed_close(t->feed, end_ns > t->now_ns ? end_ns : t->now_ns, t->seen) != STROBE_OK;
    }
    free(t->turns);
    free(t);
    return failed ? STROBE_IO : STROBE_OK;
}

struct strobe_sink *strobe_watch_sink(struct strobe_watcher *watcher, const char *frames,
                                      struct strobe_watch_seen *seen)
{
    struct watch_sink *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->sink = (struct strobe_sink){.start = watch_sink_start,
                                   .thread_begin = watch_sink_thread_begin,
                                   .slice_begin = watch_sink_slice_begin,
                                   .slice_end = watch_sink_slice_end,
                                   .finish = watch_sink_finish,
                                   .hitch = watch_sink_hitch,
                                   .message = watch_sink_message};
    t->watcher = watcher;
    t->frames = frames;
    t->seen = seen;
    return &t->sink;
}

/* ---- sessions */

struct strobe_watch_view strobe_watch_view_of(const struct strobe_reader *reader,
                                              const struct strobe_timeline_options *options)
{
    const struct strobe_reader_thread *t = find_main_thread(reader);
    bool coarse = reader->session.header->config.calls & STROBE_CALLS_COARSE;
    if (t && t->calls.present)
        return (struct strobe_watch_view){.resolution_ns = coarse ? COARSE_NS : 1};
    uint64_t gap_ns = t ? strobe_timeline_gap_ns(reader, t, options) : 0;
    return (struct strobe_watch_view){.sampled = true, .resolution_ns = gap_ns, .unseen_below_ns = gap_ns};
}

struct job {
    struct strobe_reader *reader;
    struct strobe_symbols *symbols;
    struct strobe_function_tree *tree;
    struct strobe_findings *out;
};

static enum strobe_status find_in_timeline(const struct strobe_reader *reader, struct strobe_function_tree *tree,
                                           const struct strobe_findings_options *options, struct strobe_findings *out)
{
    struct strobe_timeline_options timeline = options->timeline;
    timeline.no_samples = 1;
    out->view = strobe_watch_view_of(reader, &timeline);
    out->view.refresh_hz = options->refresh_hz;
    out->origin_ns = strobe_reader_ns(reader, reader->first_ticks);
    struct strobe_watcher *w = strobe_watch_all(&options->watch, &out->view, strobe_findings_sink(out));
    struct strobe_sink *sink = w ? strobe_watch_sink(w, options->frames, &out->seen) : NULL;
    enum strobe_status status = STROBE_IO;
    if (sink)
        status = strobe_timeline_build(reader, tree, &timeline, sink, NULL);
    if (w) {
        enum strobe_status closed = w->close(w);
        status = status == STROBE_OK ? closed : status;
    }
    if (status == STROBE_OK)
        strobe_dump_cause_find(reader, tree, strobe_findings_sink(out));
    strobe_findings_sort(out);
    return status == STROBE_OK && out->failed ? STROBE_IO : status;
}

enum strobe_status strobe_findings_of_reader(const struct strobe_reader *reader, struct strobe_function_tree *tree,
                                             const struct strobe_findings_options *options,
                                             struct strobe_findings **out)
{
    *out = calloc(1, sizeof **out);
    enum strobe_status status = *out ? find_in_timeline(reader, tree, options, *out) : STROBE_IO;
    if (status != STROBE_OK) {
        strobe_findings_close(*out);
        *out = NULL;
    }
    return status;
}

static enum strobe_status find_in_session_file(struct job *j, const char *path,
                                               const struct strobe_findings_options *options,
                                               struct strobe_error *error)
{
    enum strobe_status status = strobe_reader_open(path, &j->reader, error);
    if (status != STROBE_OK)
        return status;
    status = strobe_symbols_open(&j->reader->session, options->symbols, &j->symbols);
    if (status == STROBE_OK)
        status = strobe_function_tree_open(&j->reader->session.stacks, strobe_symbols_resolver(j->symbols), &j->tree);
    if (status == STROBE_OK)
        status = strobe_findings_of_reader(j->reader, j->tree, options, &j->out);
    if (status != STROBE_OK)
        strobe_error_set(error, "%s", strerror(ENOMEM));
    return status;
}

enum strobe_status strobe_findings_of_session(const char *path, const struct strobe_findings_options *options,
                                              struct strobe_findings **out, struct strobe_error *error)
{
    struct job j = {0};
    enum strobe_status status = find_in_session_file(&j, path, options, error);
    strobe_function_tree_close(j.tree);
    strobe_symbols_close(j.symbols);
    strobe_reader_close(j.reader);
    *out = j.out;
    return status;
}

static enum strobe_status read_findings_source(char *text, bool events, struct strobe_watcher *w,
                                               struct strobe_findings *f, struct strobe_error *error)
{
    if (events)
        return strobe_watch_text_read(text, w, &f->seen, error);
    w->take_event(w, &(struct strobe_watch_event){.what = STROBE_WATCH_THREADS_TEXT, .text = text});
    w->take_event(w, &(struct strobe_watch_event){.what = STROBE_WATCH_END, .text = ""});
    return STROBE_OK;
}

enum strobe_status strobe_findings_of_text(char *text, const struct strobe_findings_options *options,
                                           struct strobe_findings **out, struct strobe_error *error)
{
    struct strobe_findings *f = *out = calloc(1, sizeof *f);
    enum strobe_status status = f ? strobe_watch_text_view(text, &f->view, error) : STROBE_IO;
    bool events = status == STROBE_OK;
    if (status == STROBE_OK || status == STROBE_NO_ENTRY) {
        f->of_events = events;
        f->of_text = !events;
        f->view.refresh_hz = options->refresh_hz ? options->refresh_hz : f->view.refresh_hz;
        struct strobe_watcher *w = strobe_watch_all(&options->watch, &f->view, strobe_findings_sink(f));
        status = w ? read_findings_source(text, events, w, f, error) : STROBE_IO;
        enum strobe_status closed = w ? w->close(w) : STROBE_IO;
        status = status == STROBE_OK ? closed : status;
        strobe_findings_sort(f);
    }
    if (status == STROBE_OK && f->failed)
        status = STROBE_IO;
    if (status != STROBE_OK) {
        strobe_findings_close(f);
        *out = NULL;
    }
    return status;
}

void strobe_findings_close(struct strobe_findings *f)
{
    if (f)
        strobe_findings_free(f);
    free(f);
}
