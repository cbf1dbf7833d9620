#include "engine/trace/model/sink_threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct chosen {
    struct strobe_sink sink, *inner;
    const char *which;
    int selected; /* the current thread passes */
};

int strobe_is_thread(const struct strobe_reader_thread *thread, const char *which)
{
    char number[12];
    snprintf(number, sizeof number, "%u", (unsigned)thread->tid);
    return !strcmp(thread->name, which) || !strcmp(number, which);
}

static void start(struct strobe_sink *sink, const struct strobe_reader *reader, struct strobe_function_tree *tree)
{
    struct chosen *c = (struct chosen *)sink;
    c->inner->start(c->inner, reader, tree);
}

static void thread_begin(struct strobe_sink *sink, const struct strobe_reader_thread *thread)
{
    struct chosen *c = (struct chosen *)sink;
    c->selected = strobe_is_thread(thread, c->which);
    if (c->selected)
        c->inner->thread_begin(c->inner, thread);
}

static void slice_begin(struct strobe_sink *sink, const struct strobe_slice *slice)
{
    struct chosen *c = (struct chosen *)sink;
    if (c->selected)
        c->inner->slice_begin(c->inner, slice);
}

static void slice_end(struct strobe_sink *sink, const struct strobe_slice *slice, const struct strobe_moment *now)
{
    struct chosen *c = (struct chosen *)sink;
    if (c->selected)
        c->inner->slice_end(c->inner, slice, now);
}

static void instant(struct strobe_sink *sink, uint64_t time_ns, const char *name, const struct strobe_note *notes,
                    size_t note_count)
{
    struct chosen *c = (struct chosen *)sink;
    if (c->selected && c->inner->instant)
        c->inner->instant(c->inner, time_ns, name, notes, note_count);
}

static void samples(struct strobe_sink *sink, const struct strobe_samples *s)
{
    struct chosen *c = (struct chosen *)sink;
    if (c->selected && c->inner->samples)
        c->inner->samples(c->inner, s);
}

static void wake(struct strobe_sink *sink, const struct strobe_wake_flow *f)
{
    struct chosen *c = (struct chosen *)sink;
    if (c->selected && c->inner->wake)
        c->inner->wake(c->inner, f);
}

static void message(struct strobe_sink *sink, const struct strobe_loop_message *m)
{
    struct chosen *c = (struct chosen *)sink;
    if (c->selected && c->inner->message)
        c->inner->message(c->inner, m);
}

static void cpu(struct strobe_sink *sink, const struct strobe_cpu_share *s)
{
    struct chosen *c = (struct chosen *)sink;
    if (c->selected)
        c->inner->cpu(c->inner, s);
}

static void value(struct strobe_sink *sink, const struct strobe_value *v)
{
    struct chosen *c = (struct chosen *)sink;
    if (c->inner->value)
        c->inner->value(c->inner, v);
}

static void hitch(struct strobe_sink *sink, const struct strobe_late *l)
{
    struct chosen *c = (struct chosen *)sink;
    if (c->inner->hitch)
        c->inner->hitch(c->inner, l);
}

static void mark(struct strobe_sink *sink, const struct strobe_mark *m)
{
    struct chosen *c = (struct chosen *)sink;
    if (c->inner->mark)
        c->inner->mark(c->inner, m);
}

static void thread_end(struct strobe_sink *sink)
{
    struct chosen *c = (struct chosen *)sink;
    if (c->selected && c->inner->thread_end)
        c->inner->thread_end(c->inner);
    c->selected = 0;
}

static enum strobe_status finish(struct strobe_sink *sink)
{
    struct chosen *c = (struct chosen *)sink;
    enum strobe_status status = c->inner->finish(c->inner);
    free(c);
    return status;
}

struct strobe_sink *strobe_sink_threads(struct strobe_sink *inner, const char *which)
{
    struct chosen *c = calloc(1, sizeof *c);
    if (!c) {
        inner->finish(inner);
        return NULL;
    }
    c->sink = (struct strobe_sink){.start = start,
                                   .thread_begin = thread_begin,
                                   .slice_begin = slice_begin,
                                   .slice_end = slice_end,
                                   .instant = instant,
                                   .samples = inner->samples ? samples : NULL,
                                   .thread_end = thread_end,
                                   .finish = finish,
                                   .wake = wake,
                                   .value = value,
                                   .hitch = hitch,
                                   .mark = mark,
                                   .message = inner->message ? message : NULL,
                                   .cpu = inner->cpu ? cpu : NULL};
    c->inner = inner;
    c->which = which;
    return &c->sink;
}
