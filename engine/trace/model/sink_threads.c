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

static void chosen_start(struct strobe_sink *sink, const struct strobe_reader *reader,
                         struct strobe_function_tree *tree)
{
    struct chosen *c = (struct chosen *)sink;
    c->inner->start(c->inner, reader, tree);
}

static void chosen_thread_begin(struct strobe_sink *sink, const struct strobe_reader_thread *thread)
{
    struct chosen *c = (struct chosen *)sink;
    c->selected = strobe_is_thread(thread, c->which);
    if (c->selected)
        c->inner->thread_begin(c->inner, thread);
}

static void chosen_slice_begin(struct strobe_sink *sink, const struct strobe_slice *slice)
{
    struct chosen *c = (struct chosen *)sink;
    if (c->selected)
        c->inner->slice_begin(c->inner, slice);
}

static void chosen_slice_end(struct strobe_sink *sink, const struct strobe_slice *slice,
                             const struct strobe_moment *now)
{
    struct chosen *c = (struct chosen *)sink;
    if (c->selected)
        c->inner->slice_end(c->inner, slice, now);
}

static void chosen_instant(struct strobe_sink *sink, uint64_t time_ns, const char *name,
                           const struct strobe_note *notes, size_t note_count)
{
    struct chosen *c = (struct chosen *)sink;
    if (c->selected && c->inner->instant)
        c->inner->instant(c->inner, time_ns, name, notes, note_count);
}

static void chosen_samples(struct strobe_sink *sink, const struct strobe_samples *s)
{
    struct chosen *c = (struct chosen *)sink;
    if (c->selected && c->inner->samples)
        c->inner->samples(c->inner, s);
}

static void chosen_wake(struct strobe_sink *sink, const struct strobe_wake_flow *f)
{
    struct chosen *c = (struct chosen *)sink;
    if (c->selected && c->inner->wake)
        c->inner->wake(c->inner, f);
}

static void chosen_message(struct strobe_sink *sink, const struct strobe_loop_message *m)
{
    struct chosen *c = (struct chosen *)sink;
    if (c->selected && c->inner->message)
        c->inner->message(c->inner, m);
}

static void chosen_cpu(struct strobe_sink *sink, const struct strobe_cpu_share *s)
{
    struct chosen *c = (struct chosen *)sink;
    if (c->selected)
        c->inner->cpu(c->inner, s);
}

static void chosen_value(struct strobe_sink *sink, const struct strobe_value *v)
{
    struct chosen *c = (struct chosen *)sink;
    if (c->inner->value)
        c->inner->value(c->inner, v);
}

static void chosen_hitch(struct strobe_sink *sink, const struct strobe_late *l)
{
    struct chosen *c = (struct chosen *)sink;
    if (c->inner->hitch)
        c->inner->hitch(c->inner, l);
}

static void chosen_mark(struct strobe_sink *sink, const struct strobe_mark *m)
{
    struct chosen *c = (struct chosen *)sink;
    if (c->inner->mark)
        c->inner->mark(c->inner, m);
}

static void chosen_thread_end(struct strobe_sink *sink)
{
    struct chosen *c = (struct chosen *)sink;
    if (c->selected && c->inner->thread_end)
        c->inner->thread_end(c->inner);
    c->selected = 0;
}

static enum strobe_status chosen_finish(struct strobe_sink *sink)
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
    c->sink = (struct strobe_sink){.start = chosen_start,
                                   .thread_begin = chosen_thread_begin,
                                   .slice_begin = chosen_slice_begin,
                                   .slice_end = chosen_slice_end,
                                   .instant = chosen_instant,
                                   .samples = inner->samples ? chosen_samples : NULL,
                                   .thread_end = chosen_thread_end,
                                   .finish = chosen_finish,
                                   .wake = chosen_wake,
                                   .value = chosen_value,
                                   .hitch = chosen_hitch,
                                   .mark = chosen_mark,
                                   .message = inner->message ? chosen_message : NULL,
                                   .cpu = inner->cpu ? chosen_cpu : NULL};
    c->inner = inner;
    c->which = which;
    return &c->sink;
}
