#include "engine/watch/looper.h"

#include <stdlib.h>
#include <string.h>

struct ended {
    uint64_t begin_ns, end_ns;
    char text[STROBE_LOOPER_TEXT];
};

struct flight {
    struct strobe_message message;
    uint32_t notified; /* one bit for each listener that got the begin */
    char text[STROBE_LOOPER_TEXT];
};

struct strobe_looper {
    struct flight flights[STROBE_LOOPER_DEPTH];
    uint32_t depth, too_deep;
    struct strobe_looper_listener *listeners[STROBE_LOOPER_LISTENERS]; /* NULL: free entry */
    uint64_t now_ns, unmatched;
    uint64_t ended_count; /* total number */
    uint64_t recent_ns;   /* total time of the messages in the queue */
    struct ended ended[STROBE_LOOPER_RECENT];
};

struct strobe_looper *strobe_looper_open(void)
{
    return calloc(1, sizeof(struct strobe_looper));
}

void strobe_looper_close(struct strobe_looper *l)
{
    free(l);
}

enum strobe_status strobe_looper_listen(struct strobe_looper *l, struct strobe_looper_listener *listener)
{
    for (unsigned i = 0; i < STROBE_LOOPER_LISTENERS; i++)
        if (!l->listeners[i]) {
            l->listeners[i] = listener;
            return STROBE_OK;
        }
    return STROBE_FULL;
}

void strobe_looper_leave(struct strobe_looper *l, const struct strobe_looper_listener *listener)
{
    for (unsigned i = 0; i < STROBE_LOOPER_LISTENERS; i++)
        if (l->listeners[i] == listener) {
            l->listeners[i] = NULL;
            for (uint32_t f = 0; f < l->depth; f++)
                l->flights[f].notified &= ~(1u << i);
        }
}

static void looper_copy_text(char to[STROBE_LOOPER_TEXT], const char *text)
{
    size_t bytes = strnlen(text, STROBE_LOOPER_TEXT - 1);
    memcpy(to, text, bytes);
    to[bytes] = 0;
}

static void looper_begin_message(struct strobe_looper *l, const struct strobe_watch_event *e)
{
    if (l->depth == STROBE_LOOPER_DEPTH) {
        l->too_deep++;
        l->unmatched++;
        return;
    }
    struct flight *f = &l->flights[l->depth++];
    looper_copy_text(f->text, e->text);
    f->message = (struct strobe_message){
        .text = f->text, .begin_ns = e->time_ns, .due_ns = e->when_ns, .end_ns = e->time_ns, .in_flight = true};
    f->notified = 0;
    for (unsigned i = 0; i < STROBE_LOOPER_LISTENERS; i++) {
        struct strobe_looper_listener *to = l->listeners[i];
        if (!to || !to->on)
            continue;
        f->notified |= 1u << i;
        if (to->begin)
            to->begin(to->ctx, &f->message);
    }
}

static void keep_ended(struct strobe_looper *l, const struct flight *f)
{
    struct ended *slot = &l->ended[l->ended_count++ % STROBE_LOOPER_RECENT];
    l->recent_ns -= slot->end_ns - slot->begin_ns;
    slot->begin_ns = f->message.begin_ns;
    slot->end_ns = f->message.end_ns;
    l->recent_ns += slot->end_ns - slot->begin_ns;
    memcpy(slot->text, f->text, strlen(f->text) + 1);
}

/* Ends the innermost message. */
static void looper_end_message(struct strobe_looper *l, bool in_flight)
{
    struct flight *f = &l->flights[--l->depth];
    f->message.end_ns = l->now_ns;
    f->message.in_flight = in_flight;
    for (unsigned i = 0; i < STROBE_LOOPER_LISTENERS; i++) {
        struct strobe_looper_listener *to = f->notified & 1u << i ? l->listeners[i] : NULL;
        if (to && to->end)
            to->end(to->ctx, &f->message);
    }
    if (!in_flight)
        keep_ended(l, f);
    if (l->depth) {
        struct strobe_message *outer = &l->flights[l->depth - 1].message;
        outer->nested_ns += f->message.end_ns - f->message.begin_ns;
        outer->nested++;
    }
}

/* Drops messages whose ends were lost, so that the message named `text` becomes the innermost. */
static void drop_lost(struct strobe_looper *l, const char *text)
{
    char name[STROBE_LOOPER_TEXT];
    looper_copy_text(name, text);
    if (!*name || !strcmp(name, l->flights[l->depth - 1].text))
        return;
    for (uint32_t i = l->depth - 1; i-- > 0;)
        if (!strcmp(name, l->flights[i].text)) {
            l->unmatched += l->depth - 1 - i;
            l->depth = i + 1;
            return;
        }
}

void strobe_looper_take_event(struct strobe_looper *l, const struct strobe_watch_event *e)
{
    l->now_ns = e->time_ns;
    if (e->what == STROBE_WATCH_END) {
        l->too_deep = 0;
        while (l->depth)
            looper_end_message(l, true);
    } else if (e->thread != 0) {
        return;
    } else if (e->what == STROBE_WATCH_MESSAGE_BEGIN) {
        looper_begin_message(l, e);
    } else if (e->what == STROBE_WATCH_MESSAGE_END) {
        if (l->too_deep) {
            l->too_deep--;
        } else if (!l->depth) {
            l->unmatched++;
        } else {
            drop_lost(l, e->text);
            looper_end_message(l, false);
        }
    }
}

uint32_t strobe_looper_depth(const struct strobe_looper *l)
{
    return l->depth;
}

void strobe_looper_history(const struct strobe_looper *l, void (*visit)(void *ctx, const struct strobe_message *m),
                           void *ctx)
{
    uint64_t from = l->ended_count > STROBE_LOOPER_HISTORY ? l->ended_count - STROBE_LOOPER_HISTORY : 0;
    for (; from < l->ended_count; from++) {
        const struct ended *slot = &l->ended[from % STROBE_LOOPER_RECENT];
        struct strobe_message m = {.text = slot->text, .begin_ns = slot->begin_ns, .end_ns = slot->end_ns};
        visit(ctx, &m);
    }
    for (uint32_t i = 0; i < l->depth; i++) {
        struct strobe_message m = l->flights[i].message;
        m.end_ns = l->now_ns;
        visit(ctx, &m);
    }
}

struct strobe_looper_recent strobe_looper_recent(const struct strobe_looper *l)
{
    uint64_t count = l->ended_count < STROBE_LOOPER_RECENT ? l->ended_count : STROBE_LOOPER_RECENT;
    return (struct strobe_looper_recent){.count = count, .total_ns = l->recent_ns};
}

uint64_t strobe_looper_unmatched(const struct strobe_looper *l)
{
    return l->unmatched;
}
