#include "engine/watch/idle.h"

#include "engine/watch/context.h"

#include <stdlib.h>

enum { DEPTH_MAX = 16 }; /* nesting of loops that idle handlers run */

#define BIT(what) (1u << (what))

struct idle {
    struct strobe_watcher watcher;
    struct strobe_watch_context *context;
    struct {
        const char *handler;
        uint64_t begin_ns;
    } open[DEPTH_MAX];
    unsigned depth; /* may exceed DEPTH_MAX; deeper handlers are not measured */
};

static void idle_end_handler(struct idle *i, bool unfinished)
{
    struct strobe_watch_context *c = i->context;
    if (--i->depth >= DEPTH_MAX)
        return;
    uint64_t begin_ns = i->open[i->depth].begin_ns;
    if (!c->options.idle_lag_ns || c->now_ns - begin_ns < c->options.idle_lag_ns)
        return;
    struct strobe_finding f = strobe_finding(STROBE_FINDING_IDLE_LAG, begin_ns, c->now_ns);
    struct strobe_unseen unseen = {""};
    strobe_watch_blame(c, &f, i->open[i->depth].handler, &unseen);
    strobe_unseen_view(&unseen, &c->view, STROBE_NEEDS_TIMES | STROBE_NEEDS_CALLS);
    f.blame = f.key = i->open[i->depth].handler;
    f.unseen = unseen.text;
    strobe_finding_add_ms(&f, "cost_ms", c->now_ns - begin_ns);
    strobe_finding_add(&f, "unfinished", unfinished);
    strobe_watch_found(c, &f);
}

static void idle_take_event(struct strobe_watcher *w, const struct strobe_watch_event *e)
{
    struct idle *i = (struct idle *)w;
    if (e->what == STROBE_WATCH_END) {
        while (i->depth)
            idle_end_handler(i, true);
    } else if (e->thread == 0 && e->what == STROBE_WATCH_IDLE_BEGIN) {
        if (i->depth < DEPTH_MAX) {
            i->open[i->depth].handler = strobe_watch_keep(i->context, e->text);
            i->open[i->depth].begin_ns = e->time_ns;
        }
        i->depth++;
    } else if (e->thread == 0 && e->what == STROBE_WATCH_IDLE_END && i->depth) {
        idle_end_handler(i, false);
    }
}

static enum strobe_status close_any(struct strobe_watcher *w)
{
    free(w);
    return STROBE_OK;
}

struct strobe_watcher *strobe_watch_idle(struct strobe_watch_context *c)
{
    struct idle *i = calloc(1, sizeof *i);
    if (!i)
        return NULL;
    i->watcher = (struct strobe_watcher){
        .take_event = idle_take_event,
        .close = close_any,
        .ignored = ~(BIT(STROBE_WATCH_IDLE_BEGIN) | BIT(STROBE_WATCH_IDLE_END) | BIT(STROBE_WATCH_END))};
    i->context = c;
    return &i->watcher;
}

struct touch {
    struct strobe_watcher watcher;
    struct strobe_watch_context *context;
    bool open;
    int64_t fd;
    uint32_t thread;
    uint64_t begin_ns;
    bool reported;
    uint64_t reported_ns, held_back;
};

static void touch_report_answer(struct touch *t, bool unfinished)
{
    struct strobe_watch_context *c = t->context;
    t->open = false;
    if (!c->options.touch_lag_ns || c->now_ns - t->begin_ns < c->options.touch_lag_ns)
        return;
    if (t->reported && c->now_ns - t->reported_ns < STROBE_TOUCH_APART_NS) {
        t->held_back++;
        return;
    }
    struct strobe_finding f = strobe_finding(STROBE_FINDING_TOUCH_LAG, t->begin_ns, c->now_ns);
    struct strobe_unseen unseen = {""};
    strobe_unseen_view(&unseen, &c->view, STROBE_NEEDS_TIMES);
    if (unfinished)
        strobe_unseen_add(&unseen, "its answer was not captured");
    f.thread = t->thread;
    f.unseen = unseen.text;
    strobe_finding_add_ms(&f, "cost_ms", c->now_ns - t->begin_ns);
    strobe_finding_add(&f, "fd", (double)t->fd);
    strobe_finding_add(&f, "held_back", (double)t->held_back);
    strobe_finding_add(&f, "unfinished", unfinished);
    strobe_watch_found(c, &f);
    t->reported = true;
    t->reported_ns = c->now_ns;
    t->held_back = 0;
}

static void touch_take_event(struct strobe_watcher *w, const struct strobe_watch_event *e)
{
    struct touch *t = (struct touch *)w;
    bool begins = e->what == STROBE_WATCH_TOUCH_BEGIN;
    if (t->open && (e->what == STROBE_WATCH_END || e->what == STROBE_WATCH_TOUCH_END || e->value != t->fd))
        touch_report_answer(t, e->what == STROBE_WATCH_END);
    if (!begins || t->open || (e->code && e->code < STROBE_TOUCH_BYTES_MIN))
        return;
    t->open = true;
    t->fd = e->value;
    t->thread = e->thread;
    t->begin_ns = e->time_ns;
}

struct strobe_watcher *strobe_watch_touch(struct strobe_watch_context *c)
{
    struct touch *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->watcher = (struct strobe_watcher){
        .take_event = touch_take_event,
        .close = close_any,
        .ignored = ~(BIT(STROBE_WATCH_TOUCH_BEGIN) | BIT(STROBE_WATCH_TOUCH_END) | BIT(STROBE_WATCH_END))};
    t->context = c;
    return &t->watcher;
}
