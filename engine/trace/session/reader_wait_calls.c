#include "engine/trace/session/reader_wait_calls.h"

#include "engine/util/array.h"

#include <stdlib.h>

int strobe_reader_add_wait_call(struct strobe_reader *r, const struct strobe_record *record, size_t *room)
{
    if (!strobe_array_reserve(&r->wait_calls, room, r->wait_call_count + 1))
        return 0;
    r->wait_calls[r->wait_call_count++] = (struct strobe_reader_wait_call){record->ticks, record->arg, record->thread};
    return 1;
}

/* The last comparison makes the order independent of the ring's. */
static int compare_wait_calls(const void *a, const void *b)
{
    const struct strobe_reader_wait_call *v = a, *w = b;
    if (v->thread != w->thread)
        return v->thread < w->thread ? -1 : 1;
    if (v->ticks != w->ticks)
        return v->ticks < w->ticks ? -1 : 1;
    return v->call < w->call ? -1 : v->call > w->call;
}

void strobe_reader_arrange_wait_calls(struct strobe_reader *r)
{
    size_t count = r->wait_call_count;
    if (count)
        qsort(r->wait_calls, count, sizeof *r->wait_calls, compare_wait_calls);
    for (size_t i = count; i--;) {
        struct strobe_reader_thread *t = &r->threads[r->wait_calls[i].thread];
        t->wait_calls = &r->wait_calls[i];
        t->wait_call_count++;
    }
}
