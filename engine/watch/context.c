#include "engine/watch/context.h"

#include <string.h>

enum { DEFAULT_HZ = 60, HZ_MAX = 1000 };

enum strobe_status strobe_watch_context_open(struct strobe_watch_context *c, const struct strobe_watch_options *options,
                                             const struct strobe_watch_view *view, struct strobe_finding_sink sink)
{
    *c = (struct strobe_watch_context){.options = *options, .view = *view, .sink = sink, .scene = "", .foreground = -1};
    if (!c->view.refresh_hz || c->view.refresh_hz > HZ_MAX)
        c->view.refresh_hz = DEFAULT_HZ;
    c->looper = strobe_looper_open();
    strobe_blame_open(&c->blame);
    return c->looper && !c->blame.failed ? STROBE_OK : STROBE_IO;
}

void strobe_watch_context_close(struct strobe_watch_context *c)
{
    strobe_looper_close(c->looper);
    strobe_blame_close(&c->blame);
    strobe_text_pool_free(&c->texts);
}

const char *strobe_watch_keep(struct strobe_watch_context *c, const char *text)
{
    const char *kept = strobe_text_keep(&c->texts, text, strlen(text));
    c->failed |= !kept;
    return kept ? kept : "";
}

void strobe_watch_before(struct strobe_watch_context *c, const struct strobe_watch_event *e)
{
    c->now_ns = e->time_ns;
    strobe_blame_before(&c->blame, e);
    if (e->what == STROBE_WATCH_CALL_BEGIN || e->what == STROBE_WATCH_CALL_END)
        return;
    if (e->what == STROBE_WATCH_ACTIVITY && e->code == STROBE_ACTIVITY_FOCUSED)
        c->scene = strobe_watch_keep(c, e->text);
    if (e->what == STROBE_WATCH_FOREGROUND)
        c->foreground = e->code != 0;
    if (e->what == STROBE_WATCH_PRIORITY && e->code == 0) {
        c->nice = e->value;
        c->knows_nice = true;
    }
    strobe_looper_take_event(c->looper, e);
}

void strobe_watch_after(struct strobe_watch_context *c, const struct strobe_watch_event *e)
{
    if (e->what == STROBE_WATCH_ACTIVITY && e->code == STROBE_ACTIVITY_DESTROYED && !strcmp(c->scene, e->text))
        c->scene = "";
    strobe_blame_after(&c->blame, e);
}

uint64_t strobe_watch_blame(struct strobe_watch_context *c, struct strobe_finding *f, const char *root,
                            struct strobe_unseen *unseen)
{
    struct strobe_blamed calls = strobe_blame_stack(&c->blame, root, f->begin_ns, f->end_ns);
    f->blame = *calls.stack ? calls.method : root;
    f->stack = calls.stack;
    f->key = calls.method;
    if (!*calls.stack)
        strobe_unseen_add(unseen,
                          c->view.sampled ? "no sample shows a call within it" : "the capture has no call within it");
    if (calls.given_up)
        strobe_unseen_add(unseen, "%llu calls shorter than %llu ms were discarded for lack of memory",
                          (unsigned long long)calls.given_up, (unsigned long long)calls.given_up_ns / 1000000);
    return calls.longest_ns;
}

void strobe_watch_unseen_of(const struct strobe_watch_context *c, const struct strobe_message *m,
                            struct strobe_unseen *unseen)
{
    uint64_t unmatched = strobe_looper_unmatched(c->looper);
    if (m->in_flight)
        strobe_unseen_add(unseen, "its end was not captured");
    if (unmatched)
        strobe_unseen_add(unseen, "only one end of %llu messages so far was captured", (unsigned long long)unmatched);
}

void strobe_watch_found(struct strobe_watch_context *c, struct strobe_finding *f)
{
    if (!f->scene)
        f->scene = c->scene;
    c->sink.found(c->sink.ctx, f);
}
