#include "engine/trace/export/ftrace_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The next event of a thread. The heap has the thread with the earliest one on top. */
struct due {
    uint64_t time_ns;
    size_t thread, call, mark;
};

struct work {
    const struct strobe_calls *calls;
    struct strobe_outfile *out;
    struct due *heap;
    size_t count;
    bool rhea;
};

static const char *name_or_unknown(const struct strobe_calls *c, uint32_t name)
{
    const char *text = name < c->names.count ? c->names.texts[name] : "";
    return text[0] ? text : "?";
}

static bool wants_rhea(const struct strobe_calls *c)
{
    for (size_t i = 0; i < c->thread_count; i++)
        for (size_t k = 0; k < c->threads[i].call_count; k++) {
            const struct strobe_call *e = &c->threads[i].calls[k];
            const char *name = name_or_unknown(c, e->name);
            if (e->what == STROBE_CALL_THROW || ((name[0] == 'E' || name[0] == 'T') && name[1] == ':'))
                return true;
        }
    return false;
}

static void write_name(const struct work *w, uint32_t name)
{
    const char *text = name_or_unknown(w->calls, name);
    while (*text) {
        size_t plain = strcspn(text, "\r\n");
        strobe_outfile_write(w->out, text, plain);
        text += plain;
        if (*text) {
            strobe_outfile_text(w->out, " ");
            text++;
        }
    }
}

static void write_head(const struct work *w, size_t thread, uint64_t time_ns, const char *mark)
{
    const struct strobe_calls_thread *t = &w->calls->threads[thread];
    char line[160];
    snprintf(line, sizeof line, "%16s-%-5u (%5u) [001] ...1 %" PRIu64 ".%09u: tracing_mark_write: %s|%u",
             t->name[0] ? t->name : "<...>", t->tid, w->calls->pid, time_ns / 1000000000,
             (unsigned)(time_ns % 1000000000), mark, w->calls->pid);
    for (char *p = line; (p = strpbrk(p, "\r\n")) != NULL;)
        *p = ' ';
    strobe_outfile_text(w->out, line);
}

static void write_call(const struct work *w, size_t thread, const struct strobe_call *e)
{
    static const char *const rhea[] = {"|B:", "|E:", "|T:"};
    bool end = e->what == STROBE_CALL_END, named = e->name != STROBE_CALL_ANY && (w->rhea || !end);
    write_head(w, thread, e->time_ns, named ? "B" : "E");
    if (named) {
        strobe_outfile_text(w->out, w->rhea ? rhea[e->what] : "|");
        write_name(w, e->name);
    }
    strobe_outfile_text(w->out, "\n");
}

static void write_mark(const struct work *w, size_t thread, const struct strobe_call_mark *m)
{
    static const char *const kind[] = {[STROBE_MARK_INSTANT] = "I",
                                       [STROBE_MARK_COUNTER] = "C",
                                       [STROBE_MARK_ASYNC_BEGIN] = "S",
                                       [STROBE_MARK_ASYNC_END] = "F"};
    char number[32] = "";
    if (m->kind != STROBE_MARK_INSTANT)
        snprintf(number, sizeof number, "|%" PRId64, m->value);
    write_head(w, thread, m->time_ns, kind[m->kind]);
    strobe_outfile_text(w->out, "|");
    write_name(w, m->name);
    strobe_outfile_text(w->out, number);
    strobe_outfile_text(w->out, "\n");
}

/* Sets d->time_ns to the time of the thread's next event. Returns false if there is none. */
static bool find_next_time(const struct work *w, struct due *d)
{
    const struct strobe_calls_thread *t = &w->calls->threads[d->thread];
    uint64_t call = d->call < t->call_count ? t->calls[d->call].time_ns : UINT64_MAX;
    uint64_t mark = d->mark < t->mark_count ? t->marks[d->mark].time_ns : UINT64_MAX;
    d->time_ns = call < mark ? call : mark;
    return d->call < t->call_count || d->mark < t->mark_count;
}

static bool is_earlier(const struct due *a, const struct due *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->thread < b->thread;
}

static void sift_down(struct work *w, size_t at)
{
    struct due moved = w->heap[at];
    for (size_t child; (child = 2 * at + 1) < w->count; at = child) {
        child += child + 1 < w->count && is_earlier(&w->heap[child + 1], &w->heap[child]);
        if (!is_earlier(&w->heap[child], &moved))
            break;
        w->heap[at] = w->heap[child];
    }
    w->heap[at] = moved;
}

static void write_next(struct work *w)
{
    struct due *d = &w->heap[0];
    const struct strobe_calls_thread *t = &w->calls->threads[d->thread];
    bool call = d->call < t->call_count && t->calls[d->call].time_ns == d->time_ns;
    if (call)
        write_call(w, d->thread, &t->calls[d->call++]);
    else
        write_mark(w, d->thread, &t->marks[d->mark++]);
    if (!find_next_time(w, d))
        w->heap[0] = w->heap[--w->count];
    sift_down(w, 0);
}

enum strobe_status strobe_ftrace_write(const struct strobe_calls *calls, struct strobe_outfile *out)
{
    struct work w = {.calls = calls, .out = out, .rhea = wants_rhea(calls)};
    w.heap = malloc((calls->thread_count + 1) * sizeof *w.heap);
    if (!w.heap)
        return STROBE_IO;
    for (size_t i = 0; i < calls->thread_count; i++) {
        struct due d = {.thread = i};
        if (find_next_time(&w, &d))
            w.heap[w.count++] = d;
    }
    for (size_t i = w.count / 2; i-- > 0;)
        sift_down(&w, i);
    strobe_outfile_text(out, "# tracer: nop\n#\n#           TASK-PID    TGID   CPU#  |||||  TIMESTAMP  FUNCTION\n"
                             "#              | |        |      |   |||||     |         |\n");
    while (w.count)
        write_next(&w);
    free(w.heap);
    return STROBE_OK;
}
