/* Two passes over a thread. The first judges each THROW, with calls left open at it until it is known whether an end of
 * their own follows: THROWs that end a call become ENDs. The second then closes what they and the ENDs unwind. */
#include "engine/trace/model/calls_repair.h"

#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

#define NONE SIZE_MAX

/* A call that is open. */
struct open {
    uint32_t name;
    size_t outer; /* the next open call of this name below it on the stack; NONE = none */
    size_t threw; /* its last THROW so far; NONE = none */
    size_t spare; /* a THROW of an inner call of this name: had it been that one's end, the mark that
                   * came after would be this one's */
};

struct repair {
    enum strobe_repair policy;
    struct strobe_repair_stats stats;
    size_t *innermost; /* by name: its innermost open call, by place on the stack */
    struct open *stack;
    size_t depth, room;
    uint8_t *ends;           /* by event: this THROW ends its call */
    struct strobe_call *out; /* the thread as it will be */
    size_t out_count, out_room;
    bool failed;
};

static void push(struct repair *r, uint32_t name)
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

/* Where the call is that a mark means; NONE: it is not open. */
static size_t meant(const struct repair *r, const struct strobe_call *mark)
{
    if (mark->name == STROBE_CALL_ANY)
        return r->depth ? r->depth - 1 : NONE;
    return r->innermost[mark->name];
}

/* ---- first pass: which THROWs are ends */

/* The innermost call is left without an end of its own: the throw that left it is sought. */
static void judge_left(struct repair *r)
{
    struct open call = pop(r);
    size_t end = call.threw != NONE ? call.threw : call.spare;
    if (end != NONE)
        r->ends[end] = 1;
}

/* A call goes on, or ends by itself, after it threw: it caught that, unless an outer call turns out to need a mark. */
static void judge_caught(struct repair *r, const struct open *call)
{
    size_t spare = call->threw != NONE ? call->threw : call->spare;
    if (call->outer != NONE && spare != NONE)
        r->stack[call->outer].spare = spare;
}

static void judge(struct repair *r, const struct strobe_calls_thread *t)
{
    for (size_t i = 0; i < t->call_count && !r->failed; i++) {
        const struct strobe_call *e = &t->calls[i];
        if (e->what == STROBE_CALL_BEGIN) {
            push(r, e->name);
            continue;
        }
        size_t at = meant(r, e);
        if (at == NONE)
            continue;
        while (r->depth > at + 1)
            judge_left(r);
        judge_caught(r, &r->stack[at]);
        if (e->what == STROBE_CALL_END)
            pop(r);
        else
            r->stack[at].threw = i;
    }
    while (r->depth)
        judge_left(r);
}

/* ---- second pass: every call gets its end */

static void put(struct repair *r, uint64_t time_ns, uint32_t name, enum strobe_call_what what, uint16_t flags)
{
    if (!strobe_array_reserve(&r->out, &r->out_room, r->out_count + 1)) {
        r->failed = true;
        return;
    }
    r->out[r->out_count++] = (struct strobe_call){time_ns, name, (uint16_t)what, flags};
    r->stats.calls += what == STROBE_CALL_END;
}

/* Closes the calls above the one at `at`. */
static void unwind(struct repair *r, size_t at, uint64_t time_ns)
{
    while (r->depth > at + 1) {
        put(r, time_ns, pop(r).name, STROBE_CALL_END, STROBE_CALL_REPAIRED);
        r->stats.closed++;
    }
}

static void follow(struct repair *r, const struct strobe_calls_thread *t, size_t i)
{
    const struct strobe_call *e = &t->calls[i];
    if (e->what == STROBE_CALL_BEGIN) {
        push(r, e->name);
        put(r, e->time_ns, e->name, STROBE_CALL_BEGIN, e->flags);
        return;
    }
    size_t at = meant(r, e);
    r->stats.throws += e->what == STROBE_CALL_THROW;
    if (at == NONE) {
        r->stats.unmatched++;
        return;
    }
    unwind(r, at, r->policy == STROBE_REPAIR_LAST ? t->calls[i - 1].time_ns : e->time_ns);
    if (e->what == STROBE_CALL_THROW && !r->ends[i])
        r->stats.caught++;
    else
        put(r, e->time_ns, pop(r).name, STROBE_CALL_END, e->flags);
}

static void close_calls(struct repair *r, const struct strobe_calls_thread *t)
{
    for (size_t i = 0; i < t->call_count && !r->failed; i++)
        follow(r, t, i);
    while (r->depth) {
        put(r, t->calls[t->call_count - 1].time_ns, pop(r).name, STROBE_CALL_END, STROBE_CALL_REPAIRED);
        r->stats.open_at_end++;
    }
}

/* ---- a thread */

/* Whether there is nothing to repair, which is the common case. Leaves the stack empty. */
static bool is_whole(struct repair *r, const struct strobe_calls_thread *t)
{
    bool whole = true;
    for (size_t i = 0; i < t->call_count && whole && !r->failed; i++) {
        const struct strobe_call *e = &t->calls[i];
        if (e->what == STROBE_CALL_BEGIN)
            push(r, e->name);
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
        free(r->ends);
        r->ends = calloc(t->call_count, sizeof *r->ends);
        if (!r->ends) {
            r->failed = true;
            return;
        }
        judge(r, t);
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
    free(r.ends);
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
