/* The message loop of the main thread: the running messages, the messages before them, and the listeners.
 *
 * Messages may nest, when a message runs the loop itself. Each is a message of its own. When an end names a message
 * that is not the innermost, that message ends. The ends of the messages within it were lost, and listeners get no end
 * for them. An end without a running message is counted.
 *
 * A listener gets the end of exactly those messages whose begin it got, even if it was switched off in between. Matrix
 * has one flag for each listener, which stays set when the listener is switched off during a message, so the listener
 * later gets the end of another message. A listener that leaves gets no more calls, and the other listeners are not
 * affected (issue 450: a listener that quit took the looper with it).
 *
 * One queue keeps the last 5000 messages that ended (`recent`: their number and total time). The last 200 of them are
 * the history. Reading the history does not change it. In Matrix, each reading adds the running message once more and
 * removes an older one.
 *
 * Source: Tencent Matrix 3b8293bd LooperMonitor. Not thread-safe; reading half only. */
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
    uint64_t due_ns;    /* 0 = unknown */
    uint64_t end_ns;    /* of a running message: time of the last event */
    uint64_t nested_ns; /* time in messages directly within it; `nested` is their number */
    uint32_t nested;
    bool in_flight;
};

/* The owner keeps the listener and may change `on` at any time. */
struct strobe_looper_listener {
    void (*begin)(void *ctx, const struct strobe_message *m); /* either may be NULL */
    void (*end)(void *ctx, const struct strobe_message *m);   /* in_flight: the stream ended in the message */
    void *ctx;
    bool on;
};

struct strobe_looper_recent {
    uint64_t count, total_ns; /* of the messages in the queue */
};

struct strobe_looper;

/* Returns NULL when memory runs out. */
struct strobe_looper *strobe_looper_open(void);
void strobe_looper_close(struct strobe_looper *l); /* accepts NULL */

/* Adds a listener. STROBE_FULL: there are STROBE_LOOPER_LISTENERS already. */
enum strobe_status strobe_looper_listen(struct strobe_looper *l, struct strobe_looper_listener *listener);

/* Removes a listener. Has no effect when it does not listen. */
void strobe_looper_leave(struct strobe_looper *l, const struct strobe_looper_listener *listener);

/* Takes events of all threads and kinds, in time order. */
void strobe_looper_take_event(struct strobe_looper *l, const struct strobe_watch_event *e);

/* Returns the number of nested messages that run. */
uint32_t strobe_looper_depth(const struct strobe_looper *l);

/* Visits the last 200 messages that ended, oldest first, and then the running messages, outermost first. */
void strobe_looper_history(const struct strobe_looper *l, void (*visit)(void *ctx, const struct strobe_message *m),
                           void *ctx);

/* Returns the number and the total time of the messages in the queue. */
struct strobe_looper_recent strobe_looper_recent(const struct strobe_looper *l);

/* Returns the number of ends without a begin, plus the number of messages whose end was lost or that were nested too
 * deep. */
uint64_t strobe_looper_unmatched(const struct strobe_looper *l);

#endif
