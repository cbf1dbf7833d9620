#include "engine/watch/anr.h"

#include "engine/watch/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIGNAL_QUIT = 3, SIGNAL_DEBUGGER = 35, BLAME_BYTES = 1000 };
#define LATE_NS        2000000000u
#define LATE_BEHIND_NS 10000000000u
#define POLL_NS        20000000000u

/* The question that is open about a signal. */
enum question { NONE, IS_HEAD_LATE, IS_NOT_RESPONDING };

struct anr {
    struct strobe_watcher watcher;
    struct strobe_watch_context *context;
    int64_t pid;       /* 0 = not known */
    uint64_t messages; /* number of messages begun so far */
    bool is_busy;      /* the last message still runs */
    uint64_t message_ns;
    const char *message;
    enum question question;
    uint64_t signal_ns, block_ns; /* of the signal in question: its time, and the begin of the message that ran then */
    const char *blame;
    uint64_t block; /* number of that message */
    unsigned signals;
    bool reported;
    uint64_t reported_ns, reported_block;
};

static uint64_t limit_ns(const struct anr *a)
{
    return a->context->foreground == 0 ? LATE_BEHIND_NS : LATE_NS;
}

static void anr_report(struct anr *a, uint64_t late_ns, bool by_system)
{
    struct strobe_watch_context *c = a->context;
    struct strobe_finding f = strobe_finding(STROBE_FINDING_SIGQUIT_ANR, a->block_ns, c->now_ns);
    struct strobe_unseen unseen = {""};
    strobe_unseen_view(&unseen, &c->view, STROBE_NEEDS_TIMES | (by_system ? 0 : STROBE_NEEDS_DUE));
    f.blame = f.key = a->blame;
    f.unseen = unseen.text;
    strobe_finding_add_ms(&f, "cost_ms", c->now_ns - a->block_ns);
    strobe_finding_add_ms(&f, "late_ms", late_ns);
    strobe_finding_add_ms(&f, "signal_after_ms", a->signal_ns - a->block_ns);
    strobe_finding_add(&f, "signals", a->signals);
    strobe_finding_add(&f, "foreground", c->foreground != 0);
    strobe_finding_add(&f, "by_system", by_system);
    a->reported = true;
    a->reported_ns = c->now_ns;
    a->reported_block = a->block;
    a->question = NONE;
    strobe_watch_found(c, &f);
}

/* ---- events */

/* Returns true when the current block was reported already: no message has begun since the report. In a stream without
 * messages, reports within 20 s belong to one block. */
static bool anr_is_reported(const struct anr *a, uint64_t time_ns)
{
    return a->reported && a->reported_block == a->messages && (a->messages || time_ns - a->reported_ns < POLL_NS);
}

static void anr_take_signal(struct anr *a, const struct strobe_watch_event *e)
{
    bool by_debugger = e->code == SIGNAL_DEBUGGER;
    if ((e->code != SIGNAL_QUIT && !by_debugger) || (a->pid && e->value == a->pid))
        return;
    if ((by_debugger && a->reported && e->time_ns - a->reported_ns < POLL_NS) || anr_is_reported(a, e->time_ns))
        return;
    if (a->question != NONE && a->block == a->messages) {
        a->signals++;
        return;
    }
    a->signals = 1;
    a->signal_ns = e->time_ns;
    a->block = a->messages;
    a->block_ns = a->is_busy ? a->message_ns : e->time_ns;
    a->blame = a->is_busy ? a->message : "";
    a->question = a->is_busy && a->context->view.knows_due ? IS_HEAD_LATE : IS_NOT_RESPONDING;
    if (a->question == IS_NOT_RESPONDING && a->is_busy && a->signal_ns - a->message_ns > limit_ns(a))
        anr_report(a, a->signal_ns - a->message_ns, false);
}

/* The message that begins was the head of the queue when the signal came. A message without a due time answers
 * nothing. */
static void anr_begin_message(struct anr *a, const struct strobe_watch_event *e)
{
    if (a->question == IS_HEAD_LATE) {
        a->question = IS_NOT_RESPONDING;
        if (e->when_ns && e->when_ns < a->signal_ns && a->signal_ns - e->when_ns > limit_ns(a))
            anr_report(a, a->signal_ns - e->when_ns, false);
    }
    a->messages++;
    a->is_busy = true;
    a->message_ns = e->time_ns;
    a->message = strobe_watch_keep(a->context, e->text);
}

/* The queue's head is unknown at the end of the stream, so the message that ran decides. */
static void anr_end_stream(struct anr *a)
{
    if (a->question == IS_HEAD_LATE && a->signal_ns - a->block_ns > limit_ns(a))
        anr_report(a, a->signal_ns - a->block_ns, false);
}

static void not_responding(struct anr *a, const struct strobe_watch_event *e)
{
    if (a->question == NONE || e->time_ns - a->signal_ns > POLL_NS)
        return;
    if (e->value == a->pid)
        anr_report(a, e->time_ns - a->block_ns, true);
    else
        a->question = NONE;
}

static void anr_report_deadlock(void *ctx, const struct strobe_deadlock *d)
{
    struct anr *a = ctx;
    char blame[BLAME_BYTES];
    size_t used = 0;
    for (size_t i = 0; i <= d->thread_count && used < sizeof blame - 1; i++) {
        const struct strobe_deadlock_thread *t = &d->threads[i % d->thread_count];
        int bytes = snprintf(blame + used, sizeof blame - used, "%s%s (%u)", i ? " waits for " : "", t->name, t->tid);
        used += bytes > 0 ? (size_t)bytes : 0;
    }
    struct strobe_finding f = strobe_finding(STROBE_FINDING_DEADLOCK, a->context->now_ns, a->context->now_ns);
    f.blame = f.key = blame;
    f.unseen = "waits whose holder the text does not name: of native locks, conditions, other processes";
    strobe_finding_add(&f, "threads", (double)d->thread_count);
    strobe_finding_add(&f, "main_waits", d->main_waits);
    strobe_watch_found(a->context, &f);
}

static void anr_take_event(struct strobe_watcher *w, const struct strobe_watch_event *e)
{
    struct anr *a = (struct anr *)w;
    if (e->what == STROBE_WATCH_PROCESS)
        a->pid = e->value;
    else if (e->what == STROBE_WATCH_SIGNAL)
        anr_take_signal(a, e);
    else if (e->what == STROBE_WATCH_MESSAGE_BEGIN && e->thread == 0)
        anr_begin_message(a, e);
    else if (e->what == STROBE_WATCH_MESSAGE_END && e->thread == 0)
        a->is_busy = false;
    else if (e->what == STROBE_WATCH_NOT_RESPONDING)
        not_responding(a, e);
    else if (e->what == STROBE_WATCH_THREADS_TEXT &&
             strobe_deadlocks_find(e->text, strlen(e->text), anr_report_deadlock, a) < 0)
        a->context->failed = true;
    else if (e->what == STROBE_WATCH_END)
        anr_end_stream(a);
}

static enum strobe_status anr_close(struct strobe_watcher *w)
{
    free(w);
    return STROBE_OK;
}

struct strobe_watcher *strobe_watch_anr(struct strobe_watch_context *c)
{
    enum {
        MINE = 1u << STROBE_WATCH_PROCESS | 1u << STROBE_WATCH_SIGNAL | 1u << STROBE_WATCH_MESSAGE_BEGIN |
               1u << STROBE_WATCH_MESSAGE_END | 1u << STROBE_WATCH_NOT_RESPONDING | 1u << STROBE_WATCH_THREADS_TEXT |
               1u << STROBE_WATCH_END
    };
    struct anr *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->watcher = (struct strobe_watcher){anr_take_event, anr_close, ~(uint32_t)MINE};
    a->context = c;
    a->message = a->blame = "";
    return &a->watcher;
}
