#include "engine/watch/blame.h"

#include "engine/util/array.h"
#include "engine/watch/finding.h"
#include "engine/watch/looper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENTRIES_MAX = 1 << 20,
    DEPTH_MAX = 1 << 16, /* well below half of ENTRIES_MAX, so that discarding calls frees entries */
    NAME_MAX_BYTES = 512,
    SPANS_MAX = sizeof((struct strobe_blame *)0)->span_depth / sizeof(size_t),
    LINE_NUMBERS_BYTES = 64, /* depth, count and ms of a line, with separators and newline */
    NS_PER_MS = 1000000,
};

struct strobe_blame_entry {
    uint64_t time_ns;
    uint32_t method; /* 0 = discarded */
    bool enters;
};

void strobe_blame_open(struct strobe_blame *b)
{
    memset(b, 0, sizeof *b);
    b->builder = strobe_matrix_builder_open(STROBE_MATRIX_DOCUMENTED);
    b->failed = !b->builder;
}

void strobe_blame_close(struct strobe_blame *b)
{
    strobe_matrix_builder_close(b->builder);
    strobe_text_pool_free(&b->methods);
    free(b->entries);
    free(b->open);
    free(b->walk);
    free(b->packed);
    free(b->text);
}

/* Returns 0 when there are too many methods to number, or memory ran out. */
static uint32_t blame_method_id(struct strobe_blame *b, const char *text)
{
    struct strobe_blame_known *known = &b->known[((uintptr_t)text >> 4 ^ (uintptr_t)text >> 12) % 256];
    if (known->text == text && known->method && !strcmp(b->methods.texts[known->method - 1], text))
        return known->method;
    uint32_t number = strobe_text_number(&b->methods, text, strlen(text));
    if (number == UINT32_MAX) {
        b->failed = true;
        return 0;
    }
    if (number >= STROBE_MATRIX_ID_MAX)
        return 0;
    *known = (struct strobe_blame_known){text, number + 1};
    return number + 1;
}

/* Removes calls shorter than `below_ns`, with all calls within them. `nesting` has b->count elements. */
static void give_up_below(struct strobe_blame *b, uint64_t below_ns, size_t *nesting)
{
    size_t depth = 0, kept = 0;
    for (size_t i = 0; i < b->count; i++) {
        struct strobe_blame_entry *e = &b->entries[i];
        if (e->enters) {
            nesting[depth++] = i;
            continue;
        }
        size_t above = depth;
        while (above && b->entries[nesting[above - 1]].method != e->method)
            above--;
        if (!above)
            continue;
        if (e->time_ns - b->entries[nesting[above - 1]].time_ns < below_ns) {
            for (size_t n = above - 1; n < depth; n++, b->given_up++)
                b->entries[nesting[n]].method = 0;
            e->method = 0;
        }
        depth = above - 1;
    }
    for (size_t i = 0; i < b->count; i++)
        if (b->entries[i].method)
            b->entries[kept++] = b->entries[i];
    b->count = kept;
}

static void blame_make_space(struct strobe_blame *b)
{
    size_t *nesting = malloc(b->count * sizeof *nesting);
    b->failed |= !nesting;
    if (!nesting) {
        b->count = 0;
        return;
    }
    while (b->count > ENTRIES_MAX / 2) {
        b->given_up_ns = b->given_up_ns ? 2 * b->given_up_ns : NS_PER_MS;
        give_up_below(b, b->given_up_ns, nesting);
    }
    free(nesting);
}

static void blame_add_entry(struct strobe_blame *b, struct strobe_blame_entry e)
{
    if (b->count == ENTRIES_MAX)
        blame_make_space(b);
    if (!(b->failed |= !strobe_array_reserve(&b->entries, &b->room, b->count + 1)))
        b->entries[b->count++] = e;
}

static void blame_enter_call(struct strobe_blame *b, const char *text, uint64_t time_ns)
{
    uint32_t method = blame_method_id(b, text);
    if (!method || b->depth == DEPTH_MAX || b->too_deep ||
        (b->failed |= !strobe_array_reserve(&b->open, &b->open_room, b->depth + 1))) {
        b->too_deep += b->depth == DEPTH_MAX || b->too_deep;
        return;
    }
    struct strobe_blame_entry e = {time_ns, method, true};
    b->open[b->depth++] = e;
    blame_add_entry(b, e);
}

/* Ends the innermost call of that name. An end without a name ends the innermost call. */
static void blame_leave_call(struct strobe_blame *b, const char *text, uint64_t time_ns)
{
    if (b->too_deep) {
        b->too_deep--;
        return;
    }
    uint32_t method = *text ? blame_method_id(b, text) : b->depth ? b->open[b->depth - 1].method : 0;
    size_t above = b->depth;
    while (above && b->open[above - 1].method != method)
        above--;
    if (!above)
        return;
    b->depth = above - 1;
    blame_add_entry(b, (struct strobe_blame_entry){time_ns, method, false});
}

/* Drops all entries but those of open calls. */
static void blame_keep_open_calls(struct strobe_blame *b)
{
    b->given_up = b->given_up_ns = 0;
    b->count = 0;
    if (!(b->failed |= !strobe_array_reserve(&b->entries, &b->room, b->depth)) && b->depth) {
        memcpy(b->entries, b->open, b->depth * sizeof *b->entries);
        b->count = b->depth;
    }
}

static bool is_begin_of_span(const struct strobe_watch_event *e)
{
    return e->what == STROBE_WATCH_MESSAGE_BEGIN || e->what == STROBE_WATCH_IDLE_BEGIN;
}

static bool is_end_of_span(const struct strobe_watch_event *e)
{
    return e->what == STROBE_WATCH_MESSAGE_END || e->what == STROBE_WATCH_IDLE_END;
}

static void begin_span(struct strobe_blame *b, const struct strobe_watch_event *e)
{
    if (!b->spans)
        blame_keep_open_calls(b);
    if (b->spans < SPANS_MAX)
        b->span_depth[b->spans] = b->depth;
    if (b->spans)
        blame_enter_call(b, e->text, e->time_ns);
    b->spans++;
}

/* Ends all calls that began in the innermost span. A nested span is such a call itself. */
static void leave_span(struct strobe_blame *b, uint64_t time_ns)
{
    if (!b->spans || b->spans > SPANS_MAX || b->depth <= b->span_depth[b->spans - 1])
        return;
    b->depth = b->span_depth[b->spans - 1];
    b->too_deep = 0;
    blame_add_entry(b, (struct strobe_blame_entry){time_ns, b->open[b->depth].method, false});
}

void strobe_blame_before(struct strobe_blame *b, const struct strobe_watch_event *e)
{
    if (e->thread != 0)
        return;
    if (e->what == STROBE_WATCH_CALL_BEGIN)
        blame_enter_call(b, e->text, e->time_ns);
    else if (e->what == STROBE_WATCH_CALL_END)
        blame_leave_call(b, e->text, e->time_ns);
    else if (is_begin_of_span(e))
        begin_span(b, e);
    else if (is_end_of_span(e))
        leave_span(b, e->time_ns);
}

void strobe_blame_after(struct strobe_blame *b, const struct strobe_watch_event *e)
{
    if (e->thread != 0)
        return;
    if (is_end_of_span(e))
        b->spans -= b->spans != 0;
    if (!b->spans && (is_end_of_span(e) || e->what == STROBE_WATCH_FRAME))
        blame_keep_open_calls(b);
}

/* ---- stacks */

/* Applies an entry to the walk, on which `depth` calls are open. Returns the number of calls open after it. */
static size_t blame_walk_entry(struct strobe_blame *b, size_t depth, const struct strobe_blame_entry *e)
{
    if (e->enters) {
        if (!(b->failed |= !strobe_array_reserve(&b->walk, &b->walk_room, depth + 1)))
            b->walk[depth++] = *e;
        return depth;
    }
    size_t above = depth;
    while (above && b->walk[above - 1].method != e->method)
        above--;
    return above ? above - 1 : depth;
}

static void blame_pack_entry(struct strobe_blame *b, size_t *count, bool enters, uint32_t method, uint64_t ns)
{
    if ((b->failed |= !strobe_array_reserve(&b->packed, &b->packed_room, *count + 1)))
        return;
    b->packed[(*count)++] = strobe_matrix_entry(enters, method, ns / NS_PER_MS);
}

/* Returns true when a call is the root itself: a nested message, or a method by whose name the message was
 * recognised. */
static bool is_root(const struct strobe_blame *b, const struct strobe_blame_entry *e, const char *root)
{
    size_t bytes = strlen(root);
    const char *name = b->methods.texts[e->method - 1];
    return e->enters && !strncmp(name, root, bytes) && (!name[bytes] || bytes == STROBE_LOOPER_TEXT - 1);
}

/* Packs the entries of a span, with its root. Returns their number. *any: the span has a call. */
static size_t pack_span(struct strobe_blame *b, const char *root, uint64_t begin_ns, uint64_t end_ns, bool *any)
{
    size_t first = 0, depth = 0, count = 0, last;
    for (; first < b->count; first++) {
        const struct strobe_blame_entry *e = &b->entries[first];
        if (e->time_ns > begin_ns || (e->time_ns == begin_ns && e->enters))
            break;
        depth = blame_walk_entry(b, depth, e);
    }
    blame_pack_entry(b, &count, true, STROBE_MATRIX_DISPATCH, 0);
    /* Of the calls that began before the span, those from the outermost that ends in it belong to it. */
    size_t at_begin = depth, around = depth;
    bool covered = first < b->count && b->entries[first].time_ns == begin_ns; /* one call covers the whole span */
    for (last = first; last < b->count && b->entries[last].time_ns <= end_ns; last++) {
        depth = blame_walk_entry(b, depth, &b->entries[last]);
        around = depth < around ? depth : around;
        covered &= depth > at_begin || b->entries[last].time_ns == end_ns;
    }
    if (around < at_begin) {
        for (size_t i = depth = 0; i < first; i++)
            depth = blame_walk_entry(b, depth, &b->entries[i]); /* walks again from the start, because the walk has
                                                                   advanced */
        for (size_t i = around; i < at_begin; i++)
            blame_pack_entry(b, &count, true, b->walk[i].method, 0);
    }
    first += covered && first < last && is_root(b, &b->entries[first], root);
    for (size_t i = first; i < last; i++)
        blame_pack_entry(b, &count, b->entries[i].enters, b->entries[i].method, b->entries[i].time_ns - begin_ns);
    *any = count > 1;
    blame_pack_entry(b, &count, false, STROBE_MATRIX_DISPATCH, end_ns - begin_ns);
    return count;
}

/* Appends one line of text, whatever characters the name has. */
static void add_line(struct strobe_blame *b, size_t *used, const struct strobe_matrix_item *item, const char *name)
{
    char plain[NAME_MAX_BYTES];
    size_t bytes = strobe_finding_line_name(name, plain, sizeof plain);
    size_t need = *used + bytes + LINE_NUMBERS_BYTES;
    if ((b->failed |= !strobe_array_reserve(&b->text, &b->text_room, need)))
        return;
    *used += (size_t)strobe_matrix_line(item, plain, b->text + *used, b->text_room - *used);
    b->text[(*used)++] = '\n';
    b->text[*used] = 0;
}

static const char *blame_method_name(const struct strobe_blame *b, uint32_t method, const char *root)
{
    return method == STROBE_MATRIX_DISPATCH ? root : b->methods.texts[method - 1];
}

/* Names of waits and of time off the processor begin with a bracket: "[sem wait]", "[off cpu]". */
static bool is_no_method(const char *name)
{
    return name[0] == '[';
}

/* Returns the method that the longest item of a wait was called by, or NULL. */
static const char *caller_of_wait(const struct strobe_blame *b, const struct strobe_matrix_stack *stack, uint32_t wait,
                                  const char *root)
{
    size_t at = stack->count;
    for (size_t i = 0; i < stack->count; i++)
        if (stack->items[i].method == wait &&
            (at == stack->count || stack->items[i].duration_ms > stack->items[at].duration_ms))
            at = i;
    int32_t depth = at < stack->count ? stack->items[at].depth : 0;
    for (size_t i = at; i-- > 0 && depth;) {
        if (stack->items[i].depth >= depth)
            continue;
        depth = stack->items[i].depth;
        const char *name = blame_method_name(b, stack->items[i].method, root);
        if (!is_no_method(name))
            return name;
    }
    return NULL;
}

/* Returns the text of the method to blame. For a wait it is the method that waited, and the wait. */
static const char *blame_named(struct strobe_blame *b, const struct strobe_matrix_stack *stack, uint32_t method,
                               const char *root)
{
    const char *name = blame_method_name(b, method, root);
    const char *caller = is_no_method(name) ? caller_of_wait(b, stack, method, root) : NULL;
    if (!caller)
        return name;
    snprintf(b->blamed, sizeof b->blamed, "%s in %s", caller, name);
    return b->blamed;
}

struct strobe_blamed strobe_blame_stack(struct strobe_blame *b, const char *root, uint64_t begin_ns, uint64_t end_ns)
{
    struct strobe_blamed out = {.stack = "", .method = "", .given_up = b->given_up, .given_up_ns = b->given_up_ns};
    struct strobe_matrix_stack stack;
    bool any;
    int64_t cost_ms = (int64_t)((end_ns - begin_ns) / NS_PER_MS);
    size_t used = 0, count = pack_span(b, root, begin_ns, end_ns, &any);
    uint32_t method;
    if (!any || !b->builder)
        return out;
    if (strobe_matrix_build(b->builder, b->packed, count, true, cost_ms, &stack, NULL) != STROBE_OK) {
        b->failed = true;
        return out;
    }
    out.longest_ns = (uint64_t)strobe_matrix_longest(&stack) * NS_PER_MS;
    strobe_matrix_trim(STROBE_MATRIX_DOCUMENTED, &stack, STROBE_MATRIX_TRIM);
    for (size_t i = 0; i < stack.count; i++)
        add_line(b, &used, &stack.items[i], blame_method_name(b, stack.items[i].method, root));
    if (used)
        out.stack = b->text;
    if (strobe_matrix_key(STROBE_MATRIX_DOCUMENTED, &stack, cost_ms, &method))
        out.method = blame_named(b, &stack, method, root);
    return out;
}
