#include "engine/trace/build/calls_timeline.h"

#include "engine/util/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct emitter {
    struct strobe_sink *sink;
    struct strobe_function_tree *tree;
    const struct strobe_calls *calls;
    const uint32_t *names;
    struct strobe_calls_timeline_stats *stats;
    struct strobe_slice *open; /* outermost first */
    uint32_t depth, room;
    uint64_t last_ns; /* time of the last event emitted */
};

static uint64_t move_on(struct emitter *t, uint64_t time_ns, uint64_t least_ns)
{
    uint64_t now = time_ns > least_ns ? time_ns : least_ns;
    t->stats->moved += now != time_ns;
    return t->last_ns = now;
}

static enum strobe_status emit_begin(struct emitter *t, const struct strobe_call *call)
{
    if (!strobe_array_reserve(&t->open, &t->room, t->depth + 1))
        return STROBE_IO;
    struct strobe_slice *s = &t->open[t->depth];
    uint32_t parent = t->depth ? s[-1].node : 0, name = t->names[call->name];
    *s = (struct strobe_slice){.name = name,
                               .node = strobe_function_tree_child(t->tree, parent, name),
                               .depth = ++t->depth,
                               .class = STROBE_SLICE_FUNCTION,
                               .begin.time_ns = move_on(t, call->time_ns, t->last_ns)};
    t->stats->slices++;
    t->sink->slice_begin(t->sink, s);
    return STROBE_OK;
}

static enum strobe_status emit_end(struct emitter *t, const struct strobe_call *call)
{
    if (!t->depth || t->open[t->depth - 1].name != t->names[call->name])
        return STROBE_BAD_INPUT;
    struct strobe_slice *s = &t->open[--t->depth];
    uint64_t least = t->last_ns > s->begin.time_ns ? t->last_ns : s->begin.time_ns + 1;
    struct strobe_moment now = {.time_ns = move_on(t, call->time_ns, least)};
    s->unfinished = (call->flags & STROBE_CALL_REPAIRED) != 0;
    t->sink->slice_end(t->sink, s, &now);
    return STROBE_OK;
}

static void emit_instant(struct emitter *t, uint64_t time_ns, const char *name, const struct strobe_note *notes,
                         size_t count)
{
    t->stats->instants++;
    if (t->sink->instant)
        t->sink->instant(t->sink, move_on(t, time_ns, t->last_ns), name, notes, count);
}

static enum strobe_status emit_thread_events(struct emitter *t, const struct strobe_calls_thread *thread)
{
    enum strobe_status status = STROBE_OK;
    size_t mark = 0;
    if (thread->lost) {
        struct strobe_note note = {"events", thread->lost};
        uint64_t first = thread->call_count ? thread->calls[0].time_ns : t->calls->begin_ns;
        emit_instant(t, first, "events lost", &note, 1);
    }
    for (size_t i = 0; i <= thread->call_count && status == STROBE_OK; i++) {
        uint64_t until = i < thread->call_count ? thread->calls[i].time_ns : UINT64_MAX;
        for (; mark < thread->mark_count && thread->marks[mark].time_ns <= until; mark++)
            if (thread->marks[mark].kind == STROBE_MARK_INSTANT)
                emit_instant(t, thread->marks[mark].time_ns, t->calls->names.texts[thread->marks[mark].name], NULL, 0);
        if (i < thread->call_count && thread->calls[i].name >= t->calls->names.count)
            status = STROBE_BAD_INPUT;
        else if (i < thread->call_count)
            status = thread->calls[i].what == STROBE_CALL_BEGIN ? emit_begin(t, &thread->calls[i])
                     : thread->calls[i].what == STROBE_CALL_END ? emit_end(t, &thread->calls[i])
                                                                : STROBE_BAD_INPUT;
    }
    return t->depth && status == STROBE_OK ? STROBE_BAD_INPUT : status;
}

enum strobe_status strobe_calls_emit(const struct strobe_calls *calls, size_t thread, const uint32_t *names,
                                     struct strobe_function_tree *tree, struct strobe_sink *sink,
                                     struct strobe_calls_timeline_stats *stats)
{
    struct emitter t = {.sink = sink, .tree = tree, .calls = calls, .names = names, .stats = stats};
    enum strobe_status status = emit_thread_events(&t, &calls->threads[thread]);
    for (struct strobe_moment now = {.time_ns = t.last_ns + 1};
         t.depth;) /* incomplete calls: ends the open slices, so that the sink's input is well-formed */
        sink->slice_end(sink, &t.open[--t.depth], &now);
    free(t.open);
    stats->threads++;
    return status;
}

uint32_t *strobe_calls_names(const struct strobe_calls *calls, struct strobe_function_tree *tree)
{
    uint32_t *names = calloc(calls->names.count + 1, sizeof *names);
    uint8_t *used = strobe_calls_used(calls);
    for (size_t i = 0; names && used && i < calls->names.count; i++)
        if (used[i])
            names[i] = strobe_function_tree_text(tree, calls->names.texts[i]);
    if (!used) {
        free(names);
        names = NULL;
    }
    free(used);
    return names;
}

/* ---- a stream without a session */

struct head {
    struct strobe_reader reader;
    struct strobe_session_header session;
    struct strobe_stack_table_head stacks;
};

static struct head *make_head(const struct strobe_calls *calls)
{
    struct head *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    h->reader.session.header = &h->session;
    h->reader.session.stacks.head = &h->stacks;
    h->session.pid = calls->pid;
    h->session.begin.boottime_ns = h->session.begin.monotonic_ns = calls->begin_ns;
    snprintf(h->session.exe, sizeof h->session.exe, "%s", calls->process);
    snprintf(h->session.command, sizeof h->session.command, "%s", calls->process);
    h->reader.threads = calloc(calls->thread_count + 1, sizeof *h->reader.threads);
    if (!h->reader.threads) {
        free(h);
        return NULL;
    }
    h->reader.thread_count = (uint32_t)calls->thread_count;
    h->reader.last_ticks = calls->end_ns - calls->begin_ns;
    for (size_t i = 0; i < calls->thread_count; i++) {
        struct strobe_reader_thread *t = &h->reader.threads[i];
        t->tid = calls->threads[i].tid;
        t->is_main = calls->threads[i].is_main;
        memcpy(t->name, calls->threads[i].name, sizeof t->name);
    }
    return h;
}

static size_t no_symbols(void *ctx, uint64_t return_address, struct strobe_symbol *out, size_t max)
{
    (void)ctx, (void)return_address, (void)out, (void)max;
    return 0;
}

static enum strobe_status emit_threads(const struct strobe_calls *calls, const struct head *head, const uint32_t *names,
                                       struct strobe_function_tree *tree, struct strobe_sink *sink,
                                       struct strobe_calls_timeline_stats *stats)
{
    enum strobe_status status = strobe_calls_emit_marks(calls, sink, &stats->marks);
    for (size_t i = 0; i < calls->thread_count && status == STROBE_OK; i++) {
        if (!calls->threads[i].call_count && !calls->threads[i].mark_count && !calls->threads[i].lost)
            continue;
        sink->thread_begin(sink, &head->reader.threads[i]);
        status = strobe_calls_emit(calls, i, names, tree, sink, stats);
        if (sink->thread_end)
            sink->thread_end(sink);
    }
    return status == STROBE_OK ? strobe_function_tree_status(tree) : status;
}

enum strobe_status strobe_calls_timeline(const struct strobe_calls *calls, struct strobe_sink *sink,
                                         struct strobe_calls_timeline_stats *stats)
{
    struct strobe_calls_timeline_stats unasked;
    struct strobe_function_tree *tree = NULL;
    uint32_t *names = NULL;
    stats = stats ? stats : &unasked;
    *stats = (struct strobe_calls_timeline_stats){0};
    struct head *head = calls->failed ? NULL : make_head(calls);
    enum strobe_status status =
        !head ? STROBE_IO
              : strobe_function_tree_open(&head->reader.session.stacks,
                                          (struct strobe_resolver){.resolve = no_symbols, .ctx = NULL}, &tree);
    if (status == STROBE_OK && !(names = strobe_calls_names(calls, tree)))
        status = STROBE_IO;
    if (status == STROBE_OK) {
        sink->start(sink, &head->reader, tree);
        status = emit_threads(calls, head, names, tree, sink, stats);
    }
    enum strobe_status finished = sink->finish(sink);
    free(names);
    strobe_function_tree_close(tree);
    if (head)
        free(head->reader.threads);
    free(head);
    return status == STROBE_OK ? finished : status;
}
