#include "engine/watch/priority.h"

#include "engine/watch/context.h"

#include <stdlib.h>

enum { NICE, SLACK, SLACK_NS = 50000 };

struct priority {
    struct strobe_watcher watcher;
    struct strobe_watch_context *context;
    int64_t nice, slack_ns;
};

static void priority_report(struct priority *p, const char *blame, struct strobe_finding_value before,
                            struct strobe_finding_value after)
{
    struct strobe_finding f = strobe_finding(STROBE_FINDING_PRIORITY, p->context->now_ns, p->context->now_ns);
    f.blame = f.key = blame;
    strobe_finding_add(&f, before.key, before.value);
    strobe_finding_add(&f, after.key, after.value);
    strobe_finding_add(&f, "lowered", after.value > before.value);
    strobe_watch_found(p->context, &f);
}

static void priority_take_event(struct strobe_watcher *w, const struct strobe_watch_event *e)
{
    struct priority *p = (struct priority *)w;
    int64_t before = e->code == NICE ? p->nice : p->slack_ns;
    if (e->code == NICE) {
        p->nice = e->value;
        if (e->value != before)
            priority_report(p, "setpriority", (struct strobe_finding_value){"nice_before", (double)before},
                            (struct strobe_finding_value){"nice_after", (double)e->value});
    } else if (e->code == SLACK) {
        p->slack_ns = e->value;
        if (e->value > SLACK_NS && e->value != before)
            priority_report(p, "prctl(PR_SET_TIMERSLACK)",
                            (struct strobe_finding_value){"slack_before_us", (double)before / 1e3},
                            (struct strobe_finding_value){"slack_after_us", (double)e->value / 1e3});
    }
}

static enum strobe_status priority_close(struct strobe_watcher *w)
{
    free(w);
    return STROBE_OK;
}

struct strobe_watcher *strobe_watch_priority(struct strobe_watch_context *c)
{
    struct priority *p = malloc(sizeof *p);
    if (p)
        *p = (struct priority){.watcher = {priority_take_event, priority_close, ~(1u << STROBE_WATCH_PRIORITY)},
                               .context = c,
                               .slack_ns = SLACK_NS};
    return p ? &p->watcher : NULL;
}
