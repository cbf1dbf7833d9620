#include "engine/trace/model/calls.h"

#include "engine/util/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void strobe_calls_open(struct strobe_calls *c)
{
    memset(c, 0, sizeof *c);
    c->resolution_ns = 1;
}

void strobe_calls_close(struct strobe_calls *c)
{
    for (size_t i = 0; i < c->thread_count; i++) {
        free(c->threads[i].calls);
        free(c->threads[i].marks);
    }
    free(c->threads);
    strobe_text_pool_free(&c->names);
    memset(c, 0, sizeof *c);
}

uint32_t strobe_calls_name(struct strobe_calls *c, const char *name, size_t bytes)
{
    uint32_t number = strobe_text_number(&c->names, name, bytes);
    c->failed |= number == STROBE_CALL_ANY;
    return number;
}

uint8_t *strobe_calls_used(const struct strobe_calls *c)
{
    uint8_t *used = calloc(c->names.count + 1, 1);
    for (size_t i = 0; used && i < c->thread_count; i++)
        for (size_t k = 0; k < c->threads[i].call_count; k++)
            if (c->threads[i].calls[k].name < c->names.count)
                used[c->threads[i].calls[k].name] = 1;
    return used;
}

uint32_t strobe_calls_thread(struct strobe_calls *c, uint32_t tid)
{
    /* Most events belong to one of the few threads that were added last. */
    for (size_t i = c->thread_count; i--;)
        if (c->threads[i].tid == tid)
            return (uint32_t)i;
    if ((c->failed |= !strobe_array_reserve(&c->threads, &c->thread_room, c->thread_count + 1)))
        return UINT32_MAX;
    struct strobe_calls_thread *t = &c->threads[c->thread_count];
    *t = (struct strobe_calls_thread){.tid = tid, .is_main = tid == c->pid};
    snprintf(t->name, sizeof t->name, "thread %u", tid);
    return (uint32_t)c->thread_count++;
}

/* Returns the time of a thread's next event: `time_ns`, or the time of the previous event if that is later. */
static uint64_t clamp_to_order(struct strobe_calls_thread *t, uint64_t last_ns, uint64_t time_ns)
{
    if (time_ns >= last_ns)
        return time_ns;
    t->unordered++;
    return last_ns;
}

static void widen_range(struct strobe_calls *c, uint64_t time_ns)
{
    if (!c->has_range || time_ns < c->begin_ns)
        c->begin_ns = time_ns;
    c->has_range = true;
    if (time_ns > c->end_ns)
        c->end_ns = time_ns;
}

void strobe_calls_add(struct strobe_calls *c, uint32_t thread, enum strobe_call_what what, uint64_t time_ns,
                      uint32_t name)
{
    if (thread >= c->thread_count)
        return;
    struct strobe_calls_thread *t = &c->threads[thread];
    if ((c->failed |= !strobe_array_reserve(&t->calls, &t->call_room, t->call_count + 1)))
        return;
    time_ns = clamp_to_order(t, t->call_count ? t->calls[t->call_count - 1].time_ns : 0, time_ns);
    widen_range(c, time_ns);
    t->calls[t->call_count++] = (struct strobe_call){.time_ns = time_ns, .name = name, .what = (uint16_t)what};
}

void strobe_calls_mark(struct strobe_calls *c, uint32_t thread, enum strobe_call_mark_kind kind, uint64_t time_ns,
                       uint32_t name, int64_t value)
{
    if (thread >= c->thread_count)
        return;
    struct strobe_calls_thread *t = &c->threads[thread];
    if ((c->failed |= !strobe_array_reserve(&t->marks, &t->mark_room, t->mark_count + 1)))
        return;
    time_ns = clamp_to_order(t, t->mark_count ? t->marks[t->mark_count - 1].time_ns : 0, time_ns);
    widen_range(c, time_ns);
    t->marks[t->mark_count++] = (struct strobe_call_mark){time_ns, name, kind, value};
}
