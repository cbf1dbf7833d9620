#include "engine/trace/timeline_calls.h"

#include <stdio.h>
#include <stdlib.h>

struct strobe_timeline_calls {
    struct strobe_function_tree *tree;
    enum strobe_repair policy;
    struct strobe_calls calls;       /* of one thread at a time */
    struct strobe_repair_stats repaired;
    uint32_t *shown;                 /* by number of name in calls: number in the tree */
    size_t shown_room;
};

static struct strobe_timeline_calls *make(struct strobe_function_tree *tree, enum strobe_repair repair)
{
    struct strobe_timeline_calls *c = calloc(1, sizeof *c);
    if (c) {
        c->tree = tree;
        c->policy = repair;
        strobe_calls_open(&c->calls);
        strobe_calls_thread(&c->calls, 0);
    }
    return c;
}

void strobe_timeline_calls_close(struct strobe_timeline_calls *c)
{
    if (!c)
        return;
    strobe_calls_close(&c->calls);
    free(c->shown);
    free(c);
}

/* The number of the function at `address`. Its first byte is asked for, where return addresses lie one behind. Functions
 * are told apart by their number in the tree, since several may have one name. */
static uint32_t name_of(struct strobe_timeline_calls *c, uint64_t address)
{
    const uint32_t *names;
    uint32_t first, name;
    char key[16];
    if (!strobe_function_tree_at(c->tree, address + 1, &names, &first))
        return STROBE_CALL_ANY;
    int bytes = snprintf(key, sizeof key, "%u", (unsigned)names[0]);
    name = strobe_calls_name(&c->calls, key, (size_t)bytes);
    if (name == STROBE_CALL_ANY)
        return name;
    if (name >= c->shown_room) {
        size_t room = 2 * (size_t)name + 64;
        uint32_t *bigger = realloc(c->shown, room * sizeof *bigger);
        if (!bigger) {
            c->calls.failed = true;
            return STROBE_CALL_ANY;
        }
        c->shown = bigger;
        c->shown_room = room;
    }
    c->shown[name] = names[0];
    return name;
}

/* A program enters the same few functions again and again. */
enum { KNOWN = 1024 };
struct known { uint64_t address; uint32_t name; };

static uint32_t name_again(struct strobe_timeline_calls *c, struct known *known, uint64_t address)
{
    struct known *k = &known[(address ^ address >> 10) % KNOWN];
    if (k->address != address)
        *k = (struct known){address, name_of(c, address)};
    return k->name;
}

static void add_calls(struct strobe_timeline_calls *c, const struct strobe_reader *reader,
                      const struct strobe_reader_call *calls, size_t count)
{
    struct known known[KNOWN];
    for (size_t i = 0; i < KNOWN; i++)
        known[i] = (struct known){UINT64_MAX, 0};
    for (size_t i = 0; i < count && !c->calls.failed; i++) {
        uint32_t name = name_again(c, known, calls[i].word & ~STROBE_CALL_EXIT);
        if (name == STROBE_CALL_ANY)
            continue;
        strobe_calls_add(&c->calls, 0, calls[i].word & STROBE_CALL_EXIT ? STROBE_CALL_END : STROBE_CALL_BEGIN,
                         strobe_reader_ns(reader, calls[i].ticks), name);
    }
}

/* The thread's calls, each with an end. */
static enum strobe_status take_calls(struct strobe_timeline_calls *c, const struct strobe_reader *reader,
                                     uint32_t thread)
{
    struct strobe_reader_call *calls;
    size_t count;
    if (c->calls.failed)
        return STROBE_IO;
    c->calls.threads[0].call_count = 0;
    if (strobe_reader_thread_calls(reader, thread, &calls, &count) != STROBE_OK)
        return STROBE_IO;
    add_calls(c, reader, calls, count);
    free(calls);
    return strobe_calls_repair(&c->calls, c->policy, &c->repaired);
}

static void tell_losses(struct strobe_path *p, const struct strobe_reader_calls *c, uint64_t time_ns)
{
    uint64_t overwritten = c->overwritten > 0 ? (uint64_t)c->overwritten : 0;
    char name[64];
    if (!(overwritten + c->refused) || !p->sink->instant)
        return;
    snprintf(name, sizeof name, "%llu entries and exits lost", (unsigned long long)(overwritten + c->refused));
    struct strobe_note notes[] = {{"overwritten", overwritten}, {"refused", c->refused}};
    p->sink->instant(p->sink, time_ns, name, notes, 2);
    p->stats->instants++;
}

static void tell_slices(const struct strobe_timeline_calls *c, struct strobe_path *p)
{
    const struct strobe_calls_thread *t = &c->calls.threads[0];
    for (size_t i = 0; i < t->call_count && !p->failed; i++) {
        const struct strobe_call *e = &t->calls[i];
        strobe_path_move(p, e->time_ns);
        if (e->what == STROBE_CALL_BEGIN) {
            strobe_path_push(p, c->shown[e->name], 0, 0);
        } else if (p->depth) {
            p->open[p->depth - 1].unfinished = (e->flags & STROBE_CALL_REPAIRED) != 0;
            strobe_path_cut(p, p->depth - 1);
        }
    }
}

enum strobe_status strobe_timeline_calls_tell(struct strobe_timeline_calls **made, struct strobe_path *p,
                                              enum strobe_repair repair, const struct strobe_reader_thread *thread)
{
    if (!thread->calls.present)
        return STROBE_NO_ENTRY;
    struct strobe_timeline_calls *c = *made = *made ? *made : make(p->tree, repair);
    enum strobe_status status =
        c ? take_calls(c, p->reader, (uint32_t)(thread - p->reader->threads)) : STROBE_IO;
    if (status != STROBE_OK)
        return status;
    const struct strobe_calls_thread *t = &c->calls.threads[0];
    if (!t->call_count)
        return STROBE_NO_ENTRY;
    p->sink->thread_begin(p->sink, thread);
    p->stats->threads++;
    tell_losses(p, &thread->calls, t->calls[0].time_ns);
    strobe_path_start(p, thread, t->calls[0].time_ns, 0, (const uint64_t[STROBE_COUNTER_COUNT]){0});
    tell_slices(c, p);
    strobe_path_finish(p);
    p->stats->calls += c->repaired.calls;
    p->stats->calls_repaired += c->repaired.closed + c->repaired.open_at_end;
    p->stats->calls_unmatched += c->repaired.unmatched;
    return STROBE_OK;
}
