#include "engine/trace/model/sched_states.h"

#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

enum { SCHED_WOKEN = STROBE_SCHED_UNKNOWN + 1 }; /* of an event: runnable, unless the thread runs */

struct sched_event {
    uint64_t time_ns;
    uint32_t order; /* of the input: orders events of equal times */
    uint32_t state; /* enum strobe_sched_state or SCHED_WOKEN */
};

/* The thread is in `state` from this time to that of the next span. `before` adds up the states up to this time. */
struct sched_span {
    uint64_t begin_ns;
    uint64_t before[STROBE_SCHED_STATE_COUNT];
    uint32_t state;
};

struct strobe_sched_thread {
    struct sched_event *events;
    size_t event_count, event_room;
    struct sched_span *spans;
    size_t span_count;
};

enum strobe_sched_state strobe_sched_state_of(const char *text, size_t bytes)
{
    if (!bytes)
        return STROBE_SCHED_UNKNOWN;
    if (memchr(text, 'X', bytes) || memchr(text, 'Z', bytes) || memchr(text, 'x', bytes))
        return STROBE_SCHED_UNKNOWN;
    if (*text == 'R')
        return STROBE_SCHED_RUNNABLE;
    return memchr(text, 'D', bytes) ? STROBE_SCHED_UNINTERRUPTIBLE : STROBE_SCHED_SLEEPING;
}

enum strobe_sched_state strobe_sched_state_of_number(uint64_t number)
{
    enum { UNINTERRUPTIBLE = 2, EXIT_DEAD = 16, EXIT_ZOMBIE = 32, LOW_BITS = 63, NOLOAD = 0x400 };
    if (number & (EXIT_DEAD | EXIT_ZOMBIE))
        return STROBE_SCHED_UNKNOWN;
    if ((number & UNINTERRUPTIBLE) && !(number & NOLOAD))
        return STROBE_SCHED_UNINTERRUPTIBLE;
    /* Of the bits above, kernels report different ones. Preemption is one of them, and alone: the thread is runnable.
     */
    return number & LOW_BITS || number == 0x40 || number == 0x80 || number == 0x200 ? STROBE_SCHED_SLEEPING
                                                                                    : STROBE_SCHED_RUNNABLE;
}

void strobe_sched_states_watch(struct strobe_sched_states *s, uint32_t tid)
{
    int fresh;
    uint32_t *index = strobe_idmap_put(&s->by_tid, tid, 0, &fresh);
    if (!index || (fresh && !strobe_array_reserve_zeroed(&s->threads, &s->thread_room, s->thread_count + 1))) {
        s->failed = 1;
        return;
    }
    if (fresh)
        *index = (uint32_t)s->thread_count++;
}

static struct strobe_sched_thread *watched_thread(const struct strobe_sched_states *s, uint32_t tid)
{
    const uint32_t *index = strobe_idmap_get(&s->by_tid, tid, 0);
    return index && *index < s->thread_count ? &s->threads[*index] : NULL;
}

static void add_sched_event(struct strobe_sched_states *s, uint64_t time_ns, uint32_t tid, uint32_t state)
{
    struct strobe_sched_thread *t = watched_thread(s, tid);
    s->last_ns = time_ns > s->last_ns ? time_ns : s->last_ns;
    if (!t)
        return;
    if ((s->failed |= !strobe_array_reserve(&t->events, &t->event_room, t->event_count + 1)))
        return;
    t->events[t->event_count] = (struct sched_event){time_ns, (uint32_t)t->event_count, state};
    t->event_count++;
}

void strobe_sched_states_switch(struct strobe_sched_states *s, uint64_t time_ns, uint32_t prev,
                                enum strobe_sched_state state, uint32_t next)
{
    add_sched_event(s, time_ns, prev, state);
    add_sched_event(s, time_ns, next, STROBE_SCHED_RUNNING);
}

void strobe_sched_states_wake(struct strobe_sched_states *s, uint64_t time_ns, uint32_t tid)
{
    add_sched_event(s, time_ns, tid, SCHED_WOKEN);
}

static int by_sched_time(const void *a, const void *b)
{
    const struct sched_event *v = a, *w = b;
    if (v->time_ns != w->time_ns)
        return v->time_ns < w->time_ns ? -1 : 1;
    return v->order < w->order ? -1 : v->order > w->order;
}

/* Makes spans of the thread's events. The last span begins at the end of the recording, and its state is unknown. */
static int build_spans(struct strobe_sched_thread *t, uint64_t last_ns)
{
    qsort(t->events, t->event_count, sizeof *t->events, by_sched_time);
    t->spans = malloc((t->event_count + 1) * sizeof *t->spans);
    if (!t->spans)
        return 0;
    struct sched_span now = {.state = STROBE_SCHED_UNKNOWN};
    for (size_t i = 0; i <= t->event_count; i++) {
        int ends = i == t->event_count;
        uint64_t time_ns = ends ? last_ns : t->events[i].time_ns;
        uint32_t state = ends ? (uint32_t)STROBE_SCHED_UNKNOWN : t->events[i].state;
        if (state == SCHED_WOKEN)
            state = now.state == STROBE_SCHED_RUNNING ? (uint32_t)STROBE_SCHED_RUNNING : STROBE_SCHED_RUNNABLE;
        if (now.state != STROBE_SCHED_UNKNOWN)
            now.before[now.state] += time_ns - now.begin_ns;
        now.begin_ns = time_ns;
        now.state = state;
        t->spans[t->span_count++] = now;
    }
    free(t->events);
    t->events = NULL;
    t->event_count = t->event_room = 0;
    return 1;
}

void strobe_sched_states_extend(struct strobe_sched_states *s, uint64_t time_ns)
{
    s->last_ns = time_ns > s->last_ns ? time_ns : s->last_ns;
}

int strobe_sched_states_finish(struct strobe_sched_states *s)
{
    for (size_t i = 0; i < s->thread_count && !s->failed; i++)
        if (s->threads[i].event_count)
            s->failed = !build_spans(&s->threads[i], s->last_ns);
    return !s->failed;
}

/* Returns the number of spans that begin at `time_ns` or before. */
static size_t count_spans_until(const struct strobe_sched_thread *t, uint64_t time_ns)
{
    size_t low = 0, high = t->span_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->spans[middle].begin_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Adds up the states from the thread's first event to `time_ns`. */
static void add_until(const struct strobe_sched_thread *t, uint64_t time_ns, uint64_t out[STROBE_SCHED_STATE_COUNT])
{
    size_t n = count_spans_until(t, time_ns);
    memset(out, 0, STROBE_SCHED_STATE_COUNT * sizeof *out);
    if (!n)
        return;
    const struct sched_span *span = &t->spans[n - 1];
    memcpy(out, span->before, sizeof span->before);
    if (span->state != STROBE_SCHED_UNKNOWN)
        out[span->state] += time_ns - span->begin_ns;
}

int strobe_sched_states_between(const struct strobe_sched_states *s, uint32_t tid, uint64_t begin_ns, uint64_t end_ns,
                                uint64_t out[STROBE_SCHED_STATE_COUNT])
{
    const struct strobe_sched_thread *t = watched_thread(s, tid);
    uint64_t before[STROBE_SCHED_STATE_COUNT], sum = 0;
    if (!t || !t->span_count || end_ns <= begin_ns)
        return 0;
    add_until(t, begin_ns, before);
    add_until(t, end_ns, out);
    for (int i = 0; i < STROBE_SCHED_STATE_COUNT; i++)
        sum += out[i] -= before[i];
    return sum > 0;
}

int strobe_sched_states_switched_in(const struct strobe_sched_states *s, uint32_t tid, uint64_t time_ns, uint64_t *out)
{
    const struct strobe_sched_thread *t = watched_thread(s, tid);
    for (size_t n = t ? count_spans_until(t, time_ns) : 0; n > 0; n--) {
        if (t->spans[n - 1].state == STROBE_SCHED_RUNNING) {
            *out = t->spans[n - 1].begin_ns;
            return 1;
        }
    }
    return 0;
}

void strobe_sched_states_free(struct strobe_sched_states *s)
{
    for (size_t i = 0; i < s->thread_count; i++) {
        free(s->threads[i].events);
        free(s->threads[i].spans);
    }
    free(s->threads);
    strobe_idmap_free(&s->by_tid);
    *s = (struct strobe_sched_states){0};
}
