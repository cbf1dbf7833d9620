#include "engine/watch/hang.h"

#include "engine/watch/context.h"

#include <stdlib.h>

#define BIT(what) (1u << (what))
#define NS_PER_MS 1000000u

enum { LAG, ANR, TASKS };

struct hang {
    struct strobe_watcher watcher;
    struct strobe_watch_context *context;
    struct strobe_looper_listener listener;
    bool ticks;                                  /* the stream has TICKs: the other thread runs then */
    uint64_t begin_ns[STROBE_LOOPER_DEPTH];      /* of the running messages, outermost first */
    uint64_t ran_ns[STROBE_LOOPER_DEPTH][TASKS]; /* when their timers ran; 0 = not yet */
    uint32_t depth;
};

static uint64_t hang_threshold_ns(const struct hang *w, int task)
{
    return task == ANR ? w->context->options.anr_ns : w->context->options.lag_ns;
}

bool strobe_anr_upstream(uint64_t ran_after_ns, uint64_t anr_ns)
{
    return ran_after_ns / NS_PER_MS < (anr_ns + STROBE_ANR_TOO_LATE_NS) / NS_PER_MS;
}

/* The running messages are in order of their begin, and so are the tasks of one kind. Tasks of different kinds are
 * independent. */
static void run_tasks(struct hang *w, uint64_t now_ns)
{
    for (int task = 0; task < TASKS; task++)
        for (uint32_t i = 0; i < w->depth && now_ns - w->begin_ns[i] >= hang_threshold_ns(w, task); i++)
            if (!w->ran_ns[i][task])
                w->ran_ns[i][task] = now_ns;
}

static void hang_message_begins(void *ctx, const struct strobe_message *m)
{
    struct hang *w = ctx;
    w->depth = strobe_looper_depth(w->context->looper);
    w->begin_ns[w->depth - 1] = m->begin_ns;
    for (int task = 0; task < TASKS; task++)
        w->ran_ns[w->depth - 1][task] = 0;
}

static void history_longest(void *ctx, const struct strobe_message *m)
{
    uint64_t *most = ctx, ns = m->end_ns - m->begin_ns;
    if (!m->in_flight && ns > *most)
        *most = ns;
}

static void add_history(struct strobe_watch_context *c, struct strobe_finding *f)
{
    struct strobe_looper_recent recent = strobe_looper_recent(c->looper);
    uint64_t longest_ns = 0;
    strobe_looper_history(c->looper, history_longest, &longest_ns);
    strobe_finding_add(f, "recent_messages", (double)recent.count);
    strobe_finding_add_ms(f, "recent_ms", recent.total_ns);
    strobe_finding_add_ms(f, "longest_ms", longest_ns);
}

static void hang_report(struct hang *w, const struct strobe_message *m, int task, uint64_t ran_ns)
{
    struct strobe_watch_context *c = w->context;
    uint64_t due_ns = m->begin_ns + hang_threshold_ns(w, task),
             ran_after_ns = (w->ticks ? ran_ns : due_ns) - m->begin_ns;
    bool ran = ran_ns || !w->ticks;
    struct strobe_finding f =
        strobe_finding(task == ANR ? STROBE_FINDING_ANR : STROBE_FINDING_LAG, m->begin_ns, m->end_ns);
    struct strobe_unseen unseen = {""};
    strobe_watch_blame(c, &f, m->text, &unseen);
    strobe_unseen_view(&unseen, &c->view, STROBE_NEEDS_TIMES | STROBE_NEEDS_CALLS | STROBE_NEEDS_DUE);
    strobe_watch_unseen_of(c, m, &unseen);
    strobe_finding_add_ms(&f, "cost_ms", m->end_ns - m->begin_ns);
    if (ran) {
        strobe_finding_add_ms(&f, "timer_ms", ran_after_ns);
        strobe_finding_add_ms(&f, "late_ms", ran_after_ns - hang_threshold_ns(w, task));
    }
    strobe_finding_add(&f, "upstream", ran && (task == LAG || strobe_anr_upstream(ran_after_ns, c->options.anr_ns)));
    strobe_finding_add_ms(&f, "nested_ms", m->nested_ns);
    if (m->due_ns && m->due_ns <= m->begin_ns)
        strobe_finding_add_ms(&f, "waited_ms", m->begin_ns - m->due_ns);
    if (c->foreground >= 0)
        strobe_finding_add(&f, "foreground", c->foreground);
    if (c->knows_nice)
        strobe_finding_add(&f, "nice", (double)c->nice);
    add_history(c, &f);
    strobe_finding_add(&f, "unfinished", m->in_flight);
    f.unseen = unseen.text;
    strobe_watch_found(c, &f);
}

static void hang_message_ends(void *ctx, const struct strobe_message *m)
{
    struct hang *w = ctx;
    w->depth = strobe_looper_depth(w->context->looper);
    for (int task = 0; task < TASKS; task++)
        if (hang_threshold_ns(w, task) && m->end_ns - m->begin_ns >= hang_threshold_ns(w, task))
            hang_report(w, m, task, w->ran_ns[w->depth][task]);
}

static void hang_take_event(struct strobe_watcher *watcher, const struct strobe_watch_event *e)
{
    struct hang *w = (struct hang *)watcher;
    w->ticks = true;
    run_tasks(w, e->time_ns);
}

static enum strobe_status close_hang(struct strobe_watcher *watcher)
{
    struct hang *w = (struct hang *)watcher;
    strobe_looper_leave(w->context->looper, &w->listener);
    free(w);
    return STROBE_OK;
}

struct strobe_watcher *strobe_watch_hang(struct strobe_watch_context *c)
{
    struct hang *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->watcher =
        (struct strobe_watcher){.take_event = hang_take_event, .close = close_hang, .ignored = ~BIT(STROBE_WATCH_TICK)};
    w->context = c;
    w->listener = (struct strobe_looper_listener){hang_message_begins, hang_message_ends, w,
                                                  c->options.lag_ns || c->options.anr_ns};
    if (strobe_looper_listen(c->looper, &w->listener) != STROBE_OK) {
        free(w);
        return NULL;
    }
    return &w->watcher;
}
