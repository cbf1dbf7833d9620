/* The messages of a queue, in the order in which loopers run them. Virtual time and real mode share the rules:
 *
 *   - A message does not run before its time.
 *   - Of the messages that are due, the one with the highest priority runs first, then the one with the earliest
 *     time, then the one that was posted first.
 *
 * Two binary heaps: putting and taking a message costs the logarithm of their number. The caller provides the capacity
 * (sim_messages_full) and mutual exclusion. */
#ifndef STROBE_SIM_RUNTIME_MESSAGE_HEAP_H
#define STROBE_SIM_RUNTIME_MESSAGE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_message {
    uint64_t due_ns, serial;
    uint32_t method;
    int priority;
};

struct sim_message_heap {
    struct sim_message *at;
    uint32_t count, room;
};

struct sim_messages {
    struct sim_message_heap due;   /* by priority, then by time and order */
    struct sim_message_heap later; /* by time and order */
    uint64_t serial;               /* of the last message put */
};

typedef bool sim_message_before_fn(const struct sim_message *a, const struct sim_message *b);

static inline bool sim_message_is_earlier(const struct sim_message *a, const struct sim_message *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->serial < b->serial;
}

static inline bool sim_message_is_dearer(const struct sim_message *a, const struct sim_message *b)
{
    return a->priority != b->priority ? a->priority > b->priority : sim_message_is_earlier(a, b);
}

static inline void sim_message_heap_add(struct sim_message_heap *h, const struct sim_message *m,
                                        sim_message_before_fn *before)
{
    uint32_t i = h->count++;
    for (; i && before(m, &h->at[(i - 1) / 2]); i = (i - 1) / 2)
        h->at[i] = h->at[(i - 1) / 2];
    h->at[i] = *m;
}

static inline struct sim_message sim_message_heap_take(struct sim_message_heap *h, sim_message_before_fn *before)
{
    struct sim_message first = h->at[0], last = h->at[--h->count];
    uint32_t i = 0, child;
    while ((child = 2 * i + 1) < h->count) {
        if (child + 1 < h->count && before(&h->at[child + 1], &h->at[child]))
            child++;
        if (!before(&h->at[child], &last))
            break;
        h->at[i] = h->at[child];
        i = child;
    }
    h->at[i] = last;
    return first;
}

/* Returns a heap that must grow before one more message is put, or NULL. Every message may become due. */
static inline struct sim_message_heap *sim_messages_full(struct sim_messages *q)
{
    if (q->later.count == q->later.room)
        return &q->later;
    return q->due.count + q->later.count >= q->due.room ? &q->due : NULL;
}

/* Puts a message and sets its serial. There must be capacity. */
static inline void sim_messages_put(struct sim_messages *q, struct sim_message m, uint64_t now_ns)
{
    m.serial = ++q->serial;
    if (m.due_ns <= now_ns)
        sim_message_heap_add(&q->due, &m, sim_message_is_dearer);
    else
        sim_message_heap_add(&q->later, &m, sim_message_is_earlier);
}

/* Takes the first message to run at now_ns. False: none is due. */
static inline bool sim_messages_take(struct sim_messages *q, uint64_t now_ns, struct sim_message *out)
{
    while (q->later.count && q->later.at[0].due_ns <= now_ns) {
        struct sim_message m = sim_message_heap_take(&q->later, sim_message_is_earlier);
        sim_message_heap_add(&q->due, &m, sim_message_is_dearer);
    }
    if (!q->due.count)
        return false;
    *out = sim_message_heap_take(&q->due, sim_message_is_dearer);
    return true;
}

#endif
