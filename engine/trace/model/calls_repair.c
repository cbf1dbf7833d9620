/* Each thread takes two passes. The first pass decides which THROWs end their call: it keeps a call open after a THROW
 * until an END or THROW of that call follows, or a caller closes it. The second pass adds the missing ends. */
#include "engine/trace/model/calls_repair.h"

#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

#define NONE SIZE_MAX

/* An open call. */
struct open {
    uint32_t name;
    size_t outer;       /* stack index of the next outer call of this name; NONE = none */
    size_t last_throw;  /* event index of the call's last THROW; NONE = none */
    size_t inner_throw; /* event index of a THROW of an inner call of this name; NONE = none. If that THROW ends the
                         * inner call, the END that closed the inner call belongs to this call instead */
};

struct repair {
    enum strobe_repair policy;
    struct strobe_repair_stats stats;
    size_t *innermost; /* by name: stack index of its innermost open call */
    struct open *stack;
    size_t depth, room;
    uint8_t *is_end;         /* by event: 1 = a THROW that ends its call */
    struct strobe_call *out; /* the repaired events of the thread */
    size_t out_count, out_room;
    bool failed;
};

static void push_call(struct repair *r, uint32_t name)
{
    if (!strobe_array_reserve(&r->stack, &r->room, r->depth + 1)) {
        r->failed = true;
        return;
    }
    r->stack[r->depth] = (struct open){name, r->innermost[name], NONE, NONE};
    r->innermost[name] = r->depth++;
}

static struct open pop(struct repair *r)
{
    struct open call = r->stack[--r->depth];
    r->innermost[call.name] = call.outer;
    return call;
}

/* Returns the stack index of the call that an END or THROW applies to; NONE: it is not open. */
static size_t find_open_call(const struct repair *r, const struct strobe_call *mark)
{
    if (mark->name == STROBE_CALL_ANY)
        return r->depth ? r->depth - 1 : NONE;
    return r->innermost[mark->name];
}

/* ---- first pass: which THROWs end their call */

/* Pops the innermost call, which a caller's event closed. Its last THROW is its end. If it has none, the last THROW of
 * an inner call of the same name becomes that call's end, and the END of that inner call becomes this call's end. */
static void classify_abandoned(struct repair *r)
{
    struct open call = pop(r);
    size_t end = call.last_throw != NONE ? call.last_throw : call.inner_throw;
    if (end != NONE)
        r->is_end[end] = 1;
}

/* The call has an event after its THROW, so it caught the exception. The THROW is kept as a candidate for the next
 * outer call of the name, which may turn out to have no end. */
static void classify_caught(struct repair *r, const struct open *call)
{
    size_t inner_throw = call->last_throw != NONE ? call->last_throw : call->inner_throw;
    if (call->outer != NONE && inner_throw != NONE)
        r->stack[call->outer].inner_throw = inner_throw;
}

static void classify_throws(struct repair *r, const struct strobe_calls_thread *t)
{
    for (size_t i = 0; i < t->call_count && !r->failed; i++) {
        const struct strobe_call *e = &t->calls[i];
        if (e->what == STROBE_CALL_BEGIN) {
            push_call(r, e->name);
            continue;
        }
        size_t at = find_open_call(r, e);
        if (at == NONE)
            continue;
        while (r->depth > at + 1)
            classify_abandoned(r);
        classify_caught(r, &r->stack[at]);
        if (e->what == STROBE_CALL_END)
            pop(r);
        else
            r->stack[at].last_throw = i;
    }
    while (r->depth)
        classify_abandoned(r);
}

/* ---- second pass: every call gets its end */

static void append_event(struct repair *r, uint64_t time_ns, uint32_t name, enum strobe_call_what what, uint16_t flags)
{
    if (!strobe_array_reserve(&r->out, &r->out_room, r->out_count + 1)) {
        r->failed = true;
        return;
    }
    r->out[r->out_count++] = (struct strobe_call){time_ns, name, (uint16_t)what, flags};
    r->stats.calls += what == STROBE_CALL_END;
}

/* Closes the calls above stack index `at`, with synthesized ends at `time_ns`. */
static void close_above(struct repair *r, size_t at, uint64_t time_ns)
{
    while (r->depth > at + 1) {
        append_event(r, time_ns, pop(r).name, STROBE_CALL_END, STROBE_CALL_REPAIRED);
        r->stats.closed++;
    }
}

static void repair_event(struct repair *r, const struct strobe_calls_thread *t, size_t i)
{
    const struct strobe_call *e = &t->calls[i];
    if (e->what == STROBE_CALL_BEGIN) {
        push_call(r, e->name);
        append_event(r, e->time_ns, e->name, STROBE_CALL_BEGIN, e->flags);
        return;
    }
    size_t at = find_open_call(r, e);
    r->stats.throws += e->what == STROBE_CALL_THROW;
    if (at == NONE) {
        r->stats.unmatched++;
        return;
    }
    close_above(r, at, r->policy == STROBE_REPAIR_LAST ? t->calls[i - 1].time_ns : e->time_ns);
    if (e->what == STROBE_CALL_THROW && !r->is_end[i])
        r->stats.caught++;
    else
        append_event(r, e->time_ns, pop(r).name, STROBE_CALL_END, e->flags);
}

static void close_calls(struct repair *r, const struct strobe_calls_thread *t)
{
    for (size_t i = 0; i < t->call_count && !r->failed; i++)
        repair_event(r, t, i);
    while (r->depth) {
        append_event(r, t->calls[t->call_count - 1].time_ns, pop(r).name, STROBE_CALL_END, STROBE_CALL_REPAIRED);
        r->stats.open_at_end++;
    }
}

/* ---- a thread */

/* Returns true if the thread needs no repair, which is the common case. Leaves the stack empty. */
static bool is_whole(struct repair *r, const struct strobe_calls_thread *t)
{
    bool whole = true;
    for (size_t i = 0; i < t->call_count && whole && !r->failed; i++) {
        const struct strobe_call *e = &t->calls[i];
        if (e->what == STROBE_CALL_BEGIN)
            push_call(r, e->name);
        else if (e->what == STROBE_CALL_END && r->depth && r->stack[r->depth - 1].name == e->name)
            pop(r);
        else
            whole = false;
    }
    whole = whole && !r->depth;
    while (r->depth)
        pop(r);
    return whole;
}

static bool has_throws(const struct strobe_calls_thread *t)
{
    for (size_t i = 0; i < t->call_count; i++)
        if (t->calls[i].what == STROBE_CALL_THROW)
            return true;
    return false;
}

static void repair_thread(struct repair *r, struct strobe_calls_thread *t)
{
    if (is_whole(r, t)) {
        r->stats.calls += t->call_count / 2;
        return;
    }
    if (!r->failed && has_throws(t)) {
        free(r->is_end);
        r->is_end = calloc(t->call_count, sizeof *r->is_end);
        if (!r->is_end) {
            r->failed = true;
            return;
        }
        classify_throws(r, t);
    }
    r->out = NULL;
    r->out_count = r->out_room = 0;
    if (!r->failed)
        close_calls(r, t);
    if (r->failed) {
        free(r->out);
        return;
    }
    free(t->calls);
    t->calls = r->out;
    t->call_count = r->out_count;
    t->call_room = r->out_room;
}

enum strobe_status strobe_calls_repair(struct strobe_calls *c, enum strobe_repair policy,
                                       struct strobe_repair_stats *stats)
{
    struct repair r = {.policy = policy};
    size_t names = c->names.count;
    r.innermost = malloc((names ? names : 1) * sizeof *r.innermost);
    r.failed = c->failed || !r.innermost;
    for (size_t i = 0; i < names && r.innermost; i++)
        r.innermost[i] = NONE;
    for (size_t i = 0; i < c->thread_count && !r.failed; i++)
        repair_thread(&r, &c->threads[i]);
    if (stats)
        *stats = r.stats;
    c->failed |= r.failed;
    free(r.innermost);
    free(r.stack);
    free(r.is_end);
    return r.failed ? STROBE_IO : STROBE_OK;
}

enum strobe_status strobe_repair_of(const char *name, enum strobe_repair *out)
{
    if (!strcmp(name, "last"))
        *out = STROBE_REPAIR_LAST;
    else if (!strcmp(name, "enclosing"))
        *out = STROBE_REPAIR_ENCLOSING;
    else
        return STROBE_NO_ENTRY;
    return STROBE_OK;
}
