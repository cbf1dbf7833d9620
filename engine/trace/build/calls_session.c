#include "engine/trace/build/calls_session.h"

#include "engine/trace/build/calls_timeline.h"
#include "engine/util/array.h"

#include <stdio.h>
#include <stdlib.h>

struct strobe_calls_session {
    struct strobe_function_tree *tree;
    struct strobe_calls calls; /* of the current thread */
    uint32_t *shown;           /* by number of a name in `calls`: its number in the tree */
    size_t shown_room;
};

static struct strobe_calls_session *make_calls_session(struct strobe_function_tree *tree)
{
    struct strobe_calls_session *c = calloc(1, sizeof *c);
    if (c) {
        c->tree = tree;
        strobe_calls_open(&c->calls);
        strobe_calls_thread(&c->calls, 0);
    }
    return c;
}

void strobe_calls_session_close(struct strobe_calls_session *c)
{
    if (!c)
        return;
    strobe_calls_close(&c->calls);
    free(c->shown);
    free(c);
}

/* Returns the number in `calls` of the function at `address`. The tree resolves return addresses, which lie behind the
 * call; hence `address` + 1. Several functions may have the same name, so the key is the function's number in the
 * tree. */
static uint32_t name_of_address(struct strobe_calls_session *c, uint64_t address)
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
    if (!strobe_array_reserve(&c->shown, &c->shown_room, name + 1)) {
        c->calls.failed = true;
        return STROBE_CALL_ANY;
    }
    c->shown[name] = names[0];
    return name;
}

/* A cache of names: a program enters the same few functions repeatedly. */
enum { KNOWN = 1024 };
struct known {
    uint64_t address;
    uint32_t name;
};

static uint32_t cached_name(struct strobe_calls_session *c, struct known *known, uint64_t address)
{
    struct known *k = &known[(address ^ address >> 10) % KNOWN];
    if (k->address != address)
        *k = (struct known){address, name_of_address(c, address)};
    return k->name;
}

static void add_calls(struct strobe_calls_session *c, const struct strobe_reader *reader,
                      const struct strobe_reader_call *calls, size_t count)
{
    struct known known[KNOWN];
    for (size_t i = 0; i < KNOWN; i++)
        known[i] = (struct known){UINT64_MAX, 0};
    for (size_t i = 0; i < count && !c->calls.failed; i++) {
        uint32_t name = cached_name(c, known, calls[i].word & ~STROBE_CALL_EXIT);
        if (name == STROBE_CALL_ANY)
            continue;
        strobe_calls_add(&c->calls, 0, calls[i].word & STROBE_CALL_EXIT ? STROBE_CALL_END : STROBE_CALL_BEGIN,
                         strobe_reader_ns(reader, calls[i].ticks), name);
    }
}

/* Reads the thread's calls and repairs them, so that each has an end. */
static enum strobe_status read_thread_calls(struct strobe_calls_session *c, const struct strobe_reader *reader,
                                            uint32_t thread, enum strobe_repair policy,
                                            struct strobe_repair_stats *repaired)
{
    const struct strobe_reader_calls *counts = &reader->threads[thread].calls;
    struct strobe_reader_call *calls;
    size_t count;
    if (c->calls.failed)
        return STROBE_IO;
    c->calls.threads[0].call_count = 0;
    c->calls.threads[0].lost = counts->refused + (counts->overwritten > 0 ? (uint64_t)counts->overwritten : 0);
    if (strobe_reader_thread_calls(reader, thread, &calls, &count) != STROBE_OK)
        return STROBE_IO;
    add_calls(c, reader, calls, count);
    free(calls);
    return strobe_calls_repair(&c->calls, policy, repaired);
}

enum strobe_status strobe_calls_session_emit(struct strobe_calls_session **made, const struct strobe_reader *reader,
                                             struct strobe_function_tree *tree, enum strobe_repair repair,
                                             uint32_t thread, struct strobe_sink *sink,
                                             struct strobe_timeline_stats *stats)
{
    struct strobe_repair_stats repaired;
    struct strobe_calls_timeline_stats counts = {0};
    if (!reader->threads[thread].calls.present)
        return STROBE_NO_ENTRY;
    struct strobe_calls_session *c = *made = *made ? *made : make_calls_session(tree);
    enum strobe_status status = c ? read_thread_calls(c, reader, thread, repair, &repaired) : STROBE_IO;
    if (status == STROBE_OK && !c->calls.threads[0].call_count)
        return STROBE_NO_ENTRY;
    if (status != STROBE_OK)
        return status;
    sink->thread_begin(sink, &reader->threads[thread]);
    status = strobe_calls_emit(&c->calls, 0, c->shown, tree, sink, &counts);
    stats->threads++;
    stats->slices += counts.slices;
    stats->instants += counts.instants;
    stats->moved += counts.moved;
    stats->calls += repaired.calls;
    stats->calls_repaired += repaired.closed + repaired.open_at_end;
    stats->calls_unmatched += repaired.unmatched;
    return status;
}
