#include "engine/watch/priority.h"

#include <stdlib.h>

enum { NICE, SLACK, SLACK_NS = 50000 };

struct priority {
    struct strobe_watcher watcher;
    struct strobe_finding_sink sink;
    int64_t nice, slack_ns;
};

static void report(struct priority *p, const struct strobe_watch_event *e, const char *blame,
                   struct strobe_finding_value before, struct strobe_finding_value after)
{
    struct strobe_finding f = {.kind = STROBE_FINDING_PRIORITY, .begin_ns = e->time_ns, .end_ns = e->time_ns,
                               .scene = "", .blame = blame, .stack = "", .key = blame, .unseen = "",
                               .values = {before, after, {"lowered", after.value > before.value}}, .value_count = 3};
    p->sink.found(p->sink.ctx, &f);
}

static void tell(struct strobe_watcher *w, const struct strobe_watch_event *e)
{
    struct priority *p = (struct priority *)w;
    if (e->what != STROBE_WATCH_PRIORITY)
        return;
    int64_t before = e->code == NICE ? p->nice : p->slack_ns;
    if (e->code == NICE) {
        p->nice = e->value;
        if (e->value != before)
            report(p, e, "setpriority", (struct strobe_finding_value){"nice_before", (double)before},
                   (struct strobe_finding_value){"nice_after", (double)e->value});
    } else if (e->code == SLACK) {
        p->slack_ns = e->value;
        if (e->value > SLACK_NS && e->value != before)
            report(p, e, "prctl(PR_SET_TIMERSLACK)",
                   (struct strobe_finding_value){"slack_before_us", (double)before / 1000},
                   (struct strobe_finding_value){"slack_after_us", (double)e->value / 1000});
    }
}

static enum strobe_status end(struct strobe_watcher *w)
{
    free(w);
    return STROBE_OK;
}

struct strobe_watcher *strobe_watch_priority(const struct strobe_watch_options *options,
                                             const struct strobe_watch_view *view, struct strobe_finding_sink sink)
{
    struct priority *p = malloc(sizeof *p);
    (void)options;
    (void)view;
    if (p)
        *p = (struct priority){.watcher = {tell, end}, .sink = sink, .slack_ns = SLACK_NS};
    return p ? &p->watcher : NULL;
}
