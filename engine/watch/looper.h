/* The message loop of the main thread: which message runs, what ran before, and who wants to know.
 *
 * Messages may nest, where one runs the loop itself; each is a message of its own. An end that names a message that is
 * not the innermost ends that one: the ends of those within were lost, and nobody is told of them. An end of nothing is
 * counted.
 *
 * A listener is told the end of exactly those messages whose begin it was told, even if it was switched off in between;
 * Matrix's one flag a listener, kept when it is switched off in mid-message, hands it the end of another message later
 * on. One that leaves is told nothing more, and the loop stays the others' (issue 450: who quit took it with him).
 *
 * One queue keeps the last 5000 messages that ended (`recent`: their number and time in sum); the last 200 of them are
 * the history. Reading changes nothing; in Matrix each reading adds the message in flight once more, and pushes an
 * older one out.
 *
 * Source: Tencent Matrix 3b8293bd LooperMonitor, as studied. Not thread-safe; reading half only. */
#ifndef STROBE_WATCH_LOOPER_H
#define STROBE_WATCH_LOOPER_H

#include "engine/watch/watch.h"

enum {
    STROBE_LOOPER_HISTORY = 200,
    STROBE_LOOPER_RECENT = 5000,
    STROBE_LOOPER_TEXT = 112,
    STROBE_LOOPER_DEPTH = 32,
    STROBE_LOOPER_LISTENERS = 8
};

struct strobe_message {
    const char *text; /* cut to STROBE_LOOPER_TEXT - 1 bytes */
    uint64_t begin_ns;
    uint64_t due_ns;    /* 0 = not known */
    uint64_t end_ns;    /* of one in flight: time of the last event */
    uint64_t nested_ns; /* of that, in messages directly within it; and their number */
    uint32_t nested;
    bool in_flight;
};

/* Kept by its owner, who may change `on` at any time. */
struct strobe_looper_listener {
    void (*begin)(void *ctx, const struct strobe_message *m); /* either may be NULL */
    void (*end)(void *ctx, const struct strobe_message *m);   /* in_flight: the stream ended in it */
    void *ctx;
    bool on;
};

struct strobe_looper_recent {
    uint64_t count, total_ns; /* of those in the queue */
};

struct strobe_looper;

/* NULL: out of memory. */
struct strobe_looper *strobe_looper_open(void);
void strobe_looper_close(struct strobe_looper *l); /* NULL is fine */

/* STROBE_FULL: there are STROBE_LOOPER_LISTENERS already. */
enum strobe_status strobe_looper_listen(struct strobe_looper *l, struct strobe_looper_listener *listener);

/* Nothing happens if it does not listen. */
void strobe_looper_leave(struct strobe_looper *l, const struct strobe_looper_listener *listener);

/* Events of all threads and kinds; times do not go back. */
void strobe_looper_take_event(struct strobe_looper *l, const struct strobe_watch_event *e);

/* How many messages run, one in the other. */
uint32_t strobe_looper_depth(const struct strobe_looper *l);

/* Visits the last 200 that ended, oldest first, and then those in flight, outermost first. */
void strobe_looper_history(const struct strobe_looper *l, void (*visit)(void *ctx, const struct strobe_message *m),
                           void *ctx);

struct strobe_looper_recent strobe_looper_recent(const struct strobe_looper *l);

/* Ends of messages that had not begun, and messages whose end was lost or that were nested too deep to be followed. */
uint64_t strobe_looper_unmatched(const struct strobe_looper *l);

#endif
