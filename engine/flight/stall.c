#include "engine/flight/stall.h"

#include "engine/store/record.h"

enum {
    BLOCKING_KINDS = 1 << STROBE_KIND_MUTEX | 1 << STROBE_KIND_RWLOCK | 1 << STROBE_KIND_MONITOR |
                     1 << STROBE_KIND_SYNC | 1 << STROBE_KIND_IPC
};

/* Returns since when the thread may be blocked, or 0. */
static uint64_t find_blocked_since(const struct strobe_stall *s, const struct strobe_thread_entry *t, uint64_t now)
{
    uint64_t begin = strobe_load_acquire(&t->scope_begin_ticks);
    uint32_t kind = strobe_load_relaxed(&t->scope_kind), message = strobe_load_relaxed(&t->message);
    if (strobe_load_acquire(&t->state) != STROBE_THREAD_LIVE)
        return 0;
    if (!message)
        return begin && BLOCKING_KINDS >> kind & 1 ? begin : 0;
    if (begin && kind == STROBE_KIND_POLL)
        return 0;
    return s->since_ticks && s->message == message ? s->since_ticks : now;
}

bool strobe_stall_look(struct strobe_stall *s, const struct strobe_thread_entry *main_thread, uint64_t now,
                       uint64_t least_ticks)
{
    uint64_t since = find_blocked_since(s, main_thread, now);
    if (since != s->since_ticks)
        s->reported = false;
    s->since_ticks = since;
    s->message = strobe_load_relaxed(&main_thread->message);
    if (!since || s->reported || now < since || now - since < least_ticks)
        return false;
    s->reported = true;
    return true;
}
