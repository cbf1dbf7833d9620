#include "engine/watch/watch.h"

#include "engine/watch/anr.h"
#include "engine/watch/block.h"
#include "engine/watch/context.h"
#include "engine/watch/evil.h"
#include "engine/watch/frames.h"
#include "engine/watch/hang.h"
#include "engine/watch/idle.h"
#include "engine/watch/priority.h"
#include "engine/watch/startup.h"

#include <stdlib.h>

/* All watchers, in the order in which they get events. */
static strobe_watch_open_fn *const openers[] = {
    strobe_watch_evil,    strobe_watch_hang, strobe_watch_frames,   strobe_watch_idle,  strobe_watch_touch,
    strobe_watch_startup, strobe_watch_anr,  strobe_watch_priority, strobe_watch_block,
};
enum { WATCHERS = sizeof openers / sizeof *openers, WHATS = STROBE_WATCH_END + 1 };

#define MS(n) ((uint64_t)(n)*1000000u)

const char *const strobe_finding_name[STROBE_FINDING_KINDS] = {
    [STROBE_FINDING_EVIL] = "evil-method",
    [STROBE_FINDING_LAG] = "lag",
    [STROBE_FINDING_ANR] = "anr",
    [STROBE_FINDING_IDLE_LAG] = "idle-lag",
    [STROBE_FINDING_TOUCH_LAG] = "touch-lag",
    [STROBE_FINDING_FRAMES] = "frames",
    [STROBE_FINDING_DROP] = "frame-drop",
    [STROBE_FINDING_STARTUP] = "startup",
    [STROBE_FINDING_PRIORITY] = "priority",
    [STROBE_FINDING_SIGQUIT_ANR] = "sigquit-anr",
    [STROBE_FINDING_DEADLOCK] = "deadlock",
    [STROBE_FINDING_BLOCK] = "main-block",
    [STROBE_FINDING_DUMP] = "dump-cause",
};

void strobe_watch_defaults(struct strobe_watch_options *o)
{
    *o = (struct strobe_watch_options){.evil_ns = MS(700),
                                       .lag_ns = MS(2000),
                                       .anr_ns = MS(5000),
                                       .idle_lag_ns = MS(2000),
                                       .touch_lag_ns = MS(2000),
                                       .cold_ns = MS(10000),
                                       .warm_ns = MS(4000),
                                       .block_ns = MS(2000),
                                       .drop = {3, 9, 24, 42},
                                       .block_limit = 100,
                                       .frames_window_ns = MS(10000)};
}

struct all {
    struct strobe_watcher watcher;
    struct strobe_watch_context context;
    struct strobe_watcher *watchers[WATCHERS];
    struct strobe_watcher *takers[WHATS][WATCHERS]; /* for each kind of event, the watchers that do not ignore it */
    unsigned taker_count[WHATS];
};

static void watch_take_event(struct strobe_watcher *w, const struct strobe_watch_event *e)
{
    struct all *a = (struct all *)w;
    struct strobe_watch_event in_order;
    if ((unsigned)e->what >= WHATS)
        return;
    if (e->time_ns < a->context.now_ns) {
        in_order = *e;
        in_order.time_ns = a->context.now_ns;
        e = &in_order;
    }
    strobe_watch_before(&a->context, e);
    for (unsigned i = 0; i < a->taker_count[e->what]; i++)
        a->takers[e->what][i]->take_event(a->takers[e->what][i], e);
    strobe_watch_after(&a->context, e);
}

static enum strobe_status close_all(struct strobe_watcher *w)
{
    struct all *a = (struct all *)w;
    enum strobe_status status = a->context.failed || a->context.blame.failed ? STROBE_IO : STROBE_OK;
    for (unsigned i = 0; i < WATCHERS; i++) {
        enum strobe_status own = a->watchers[i] ? a->watchers[i]->close(a->watchers[i]) : STROBE_OK;
        if (status == STROBE_OK)
            status = own;
    }
    strobe_watch_context_close(&a->context);
    free(a);
    return status;
}

struct strobe_watcher *strobe_watch_all(const struct strobe_watch_options *options,
                                        const struct strobe_watch_view *view, struct strobe_finding_sink sink)
{
    struct all *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->watcher = (struct strobe_watcher){.take_event = watch_take_event, .close = close_all};
    bool whole = strobe_watch_context_open(&a->context, options, view, sink) == STROBE_OK;
    for (unsigned i = 0; i < WATCHERS; i++) {
        struct strobe_watcher *one = a->watchers[i] = whole ? openers[i](&a->context) : NULL;
        if (!one) {
            close_all(&a->watcher);
            return NULL;
        }
        for (unsigned what = 0; what < WHATS; what++)
            if (!(one->ignored & 1u << what))
                a->takers[what][a->taker_count[what]++] = one;
    }
    return &a->watcher;
}
