#include "engine/watch/context.h"

#include <string.h>

enum { DEFAULT_HZ = 60, HZ_MAX = 1000 };

void strobe_watch_context_open(struct strobe_watch_context *c, const struct strobe_watch_options *options,
                               const struct strobe_watch_view *view, struct strobe_finding_sink sink)
{
    *c = (struct strobe_watch_context){.options = *options, .view = *view, .sink = sink, .scene = "",
                                       .foreground = -1};
    if (!c->view.refresh_hz || c->view.refresh_hz > HZ_MAX)
        c->view.refresh_hz = DEFAULT_HZ;
}

void strobe_watch_context_close(struct strobe_watch_context *c)
{
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
    if (e->what == STROBE_WATCH_ACTIVITY && e->code == STROBE_ACTIVITY_FOCUSED)
        c->scene = strobe_watch_keep(c, e->text);
    if (e->what == STROBE_WATCH_FOREGROUND)
        c->foreground = e->code != 0;
    if (e->what == STROBE_WATCH_PRIORITY && e->code == 0) {
        c->nice = e->value;
        c->knows_nice = true;
    }
}

void strobe_watch_after(struct strobe_watch_context *c, const struct strobe_watch_event *e)
{
    if (e->what == STROBE_WATCH_ACTIVITY && e->code == STROBE_ACTIVITY_DESTROYED && !strcmp(c->scene, e->text))
        c->scene = "";
}

void strobe_watch_found(struct strobe_watch_context *c, struct strobe_finding *f)
{
    if (!f->scene)
        f->scene = c->scene;
    c->sink.found(c->sink.ctx, f);
}
