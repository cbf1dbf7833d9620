#include "engine/watch/evil.h"

#include "engine/watch/context.h"

#include <stdlib.h>

#define BIT(what) (1u << (what))

struct evil {
    struct strobe_watcher watcher;
    struct strobe_watch_context *context;
    struct strobe_looper_listener listener;
    struct strobe_watch_frame frame; /* the last vsync frame; zero: none */
    uint64_t cpu_sum, cpu_count;     /* since the outermost message began */
};

static void evil_message_begins(void *ctx, const struct strobe_message *m)
{
    struct evil *w = ctx;
    (void)m;
    if (strobe_looper_depth(w->context->looper) > 1)
        return;
    w->frame = (struct strobe_watch_frame){0};
    w->cpu_sum = w->cpu_count = 0;
}

static void evil_message_ends(void *ctx, const struct strobe_message *m)
{
    struct evil *w = ctx;
    struct strobe_watch_context *c = w->context;
    uint64_t cost_ns = m->end_ns - m->begin_ns;
    if (cost_ns < c->options.evil_ns)
        return;
    struct strobe_finding f = strobe_finding(STROBE_FINDING_EVIL, m->begin_ns, m->end_ns);
    struct strobe_unseen unseen = {""};
    uint64_t longest_ns = strobe_watch_blame(c, &f, m->text, &unseen);
    strobe_unseen_view(&unseen, &c->view, STROBE_NEEDS_TIMES | STROBE_NEEDS_CALLS);
    strobe_watch_unseen_of(c, m, &unseen);
    strobe_finding_add_ms(&f, "cost_ms", cost_ns);
    strobe_finding_add_ms(&f, "stack_ms", longest_ns > cost_ns ? longest_ns : cost_ns);
    strobe_finding_add_ms(&f, "nested_ms", m->nested_ns);
    if (m->due_ns && m->due_ns <= m->begin_ns)
        strobe_finding_add_ms(&f, "waited_ms", m->begin_ns - m->due_ns);
    if (w->frame.end_ns > m->begin_ns) {
        strobe_finding_add_ms(&f, "input_ms", w->frame.input_ns);
        strobe_finding_add_ms(&f, "animation_ms", w->frame.animation_ns);
        strobe_finding_add_ms(&f, "traversal_ms", w->frame.traversal_ns);
    }
    if (w->cpu_count)
        strobe_finding_add(&f, "cpu_permille", (double)w->cpu_sum / (double)w->cpu_count);
    strobe_finding_add(&f, "unfinished", m->in_flight);
    f.unseen = unseen.text;
    strobe_watch_found(c, &f);
}

static void evil_take_event(struct strobe_watcher *watcher, const struct strobe_watch_event *e)
{
    struct evil *w = (struct evil *)watcher;
    if (e->what == STROBE_WATCH_FRAME && e->frame && e->frame->is_vsync && e->frame->end_ns <= e->time_ns) {
        w->frame = *e->frame;
    } else if (e->what == STROBE_WATCH_CPU) {
        w->cpu_sum += (uint64_t)(e->value > 0 ? e->value : 0);
        w->cpu_count++;
    }
}

static enum strobe_status close_evil(struct strobe_watcher *watcher)
{
    struct evil *w = (struct evil *)watcher;
    strobe_looper_leave(w->context->looper, &w->listener);
    free(w);
    return STROBE_OK;
}

struct strobe_watcher *strobe_watch_evil(struct strobe_watch_context *c)
{
    struct evil *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->watcher = (struct strobe_watcher){.take_event = evil_take_event,
                                         .close = close_evil,
                                         .ignored = ~(BIT(STROBE_WATCH_FRAME) | BIT(STROBE_WATCH_CPU))};
    w->context = c;
    w->listener = (struct strobe_looper_listener){evil_message_begins, evil_message_ends, w, c->options.evil_ns != 0};
    if (strobe_looper_listen(c->looper, &w->listener) != STROBE_OK) {
        free(w);
        return NULL;
    }
    return &w->watcher;
}
