#include "engine/watch/call_sum.h"

#include "engine/util/array.h"
#include "engine/watch/finding.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX, LINE_BYTES = 400, NAME_BYTES = 301 };

struct strobe_call_path {
    const char *text;
    uint64_t total_ns, begin_ns; /* begin_ns: of the open call */
    uint64_t calls;
    uint32_t parent, child, next; /* child: the callee called last, or NONE */
    uint32_t first, last;         /* callees in order of their first call, for printing: first callee; next callee of
                                     the same caller */
    uint32_t newest;
    uint32_t depth;
    bool is_open, shown;
};

void strobe_call_sum_free(struct strobe_call_sum *s)
{
    free(s->paths);
    free(s->text);
    *s = (struct strobe_call_sum){0};
}

static uint32_t call_sum_add_node(struct strobe_call_sum *s, uint32_t parent, const char *text)
{
    if (s->count == STROBE_CALL_SUM_PATHS)
        return NONE;
    if (!strobe_array_reserve(&s->paths, &s->room, s->count + 1)) {
        s->failed = true;
        return NONE;
    }
    uint32_t n = s->count++;
    s->paths[n] = (struct strobe_call_path){
        .text = text, .parent = parent, .child = NONE, .next = NONE, .first = NONE, .last = NONE, .newest = NONE};
    if (n == 0)
        return n;
    struct strobe_call_path *p = &s->paths[parent];
    s->paths[n].depth = p->depth + 1;
    s->paths[n].next = p->child;
    p->child = n;
    if (p->newest == NONE)
        p->first = n;
    else
        s->paths[p->newest].last = n;
    p->newest = n;
    return n;
}

/* Returns the path of a call of `text` by the innermost open call. Moves the path to the front of its list, because a
 * method is often called again soon. */
static uint32_t call_sum_step(struct strobe_call_sum *s, const char *text)
{
    uint32_t before = NONE, n = s->paths[s->at].child;
    while (n != NONE && s->paths[n].text != text) {
        before = n;
        n = s->paths[n].next;
    }
    if (n == NONE)
        return call_sum_add_node(s, s->at, text);
    if (before != NONE) {
        s->paths[before].next = s->paths[n].next;
        s->paths[n].next = s->paths[s->at].child;
        s->paths[s->at].child = n;
    }
    return n;
}

void strobe_call_sum_begin(struct strobe_call_sum *s, const char *text, uint64_t time_ns)
{
    if (!s->count && call_sum_add_node(s, 0, "") == NONE)
        return;
    uint32_t n = s->left_out ? NONE : call_sum_step(s, text);
    if (n == NONE) {
        s->left_out++;
        return;
    }
    s->paths[n].begin_ns = time_ns;
    s->paths[n].calls++;
    s->paths[n].is_open = true;
    s->at = n;
}

void strobe_call_sum_end(struct strobe_call_sum *s, uint64_t time_ns)
{
    if (s->left_out) {
        s->left_out--;
        return;
    }
    if (!s->at)
        return;
    struct strobe_call_path *p = &s->paths[s->at];
    p->total_ns += time_ns - p->begin_ns;
    p->is_open = false;
    s->at = p->parent;
}

static uint64_t path_total_ns(const struct strobe_call_path *p, uint64_t time_ns)
{
    return p->total_ns + (p->is_open ? time_ns - p->begin_ns : 0);
}

struct rank {
    uint64_t total_ns;
    uint32_t path;
};

/* Longest first. Among equal ones the caller comes first, because it was added first. */
static int compare_nodes_by_total(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns ? -1 : 1;
    return x->path < y->path ? -1 : x->path > y->path;
}

static uint32_t call_sum_choose_shown(struct strobe_call_sum *s, uint64_t time_ns)
{
    struct rank *rank = malloc(s->count * sizeof *rank);
    uint32_t count = 0, shown = 0;
    s->failed |= !rank;
    for (uint32_t i = 1; i < s->count && rank; i++) {
        s->paths[i].shown = false;
        if (s->paths[i].calls && path_total_ns(&s->paths[i], time_ns))
            rank[count++] = (struct rank){path_total_ns(&s->paths[i], time_ns), i};
    }
    if (count)
        qsort(rank, count, sizeof *rank, compare_nodes_by_total);
    for (; shown < count && shown < STROBE_CALL_SUM_LINES; shown++)
        s->paths[rank[shown].path].shown = true;
    free(rank);
    return shown;
}

static const char *call_sum_blamed_method(const struct strobe_call_sum *s, uint64_t time_ns)
{
    uint32_t at = 0;
    uint64_t has_ns = 0;
    for (uint32_t best = 0; best != NONE;) {
        uint64_t most_ns = 0;
        at = best;
        best = NONE;
        for (uint32_t n = s->paths[at].first; n != NONE; n = s->paths[n].last) {
            uint64_t ns = s->paths[n].calls ? path_total_ns(&s->paths[n], time_ns) : 0;
            if (ns > most_ns && (at == 0 || ns >= has_ns - ns)) {
                most_ns = ns;
                best = n;
            }
        }
        has_ns = most_ns;
    }
    return s->paths[at].text;
}

/* Returns the next shown path in depth-first order. */
static uint32_t call_sum_next_node(const struct strobe_call_sum *s, uint32_t n)
{
    uint32_t next = s->paths[n].shown || n == 0 ? s->paths[n].first : NONE;
    while (next == NONE && n != 0) {
        next = s->paths[n].last;
        n = s->paths[n].parent;
    }
    return next;
}

const char *strobe_call_sum_stack(struct strobe_call_sum *s, uint64_t time_ns, const char **blame)
{
    *blame = "";
    uint32_t shown = s->count ? call_sum_choose_shown(s, time_ns) : 0;
    char *text = shown ? realloc(s->text, (size_t)shown * LINE_BYTES) : NULL;
    if (!text) {
        s->failed |= shown > 0;
        return "";
    }
    s->text = text;
    size_t used = 0;
    for (uint32_t n = call_sum_next_node(s, 0); n != NONE; n = call_sum_next_node(s, n)) {
        const struct strobe_call_path *p = &s->paths[n];
        if (!p->shown)
            continue;
        char name[NAME_BYTES];
        strobe_finding_line_name(p->text, name, sizeof name);
        int bytes = snprintf(text + used, LINE_BYTES, "%" PRIu32 ",%s,%" PRIu64 ",%" PRIu64 "\n", p->depth - 1, name,
                             p->calls, path_total_ns(p, time_ns) / 1000000);
        used += bytes > 0 ? (size_t)bytes : 0;
    }
    *blame = call_sum_blamed_method(s, time_ns);
    return text;
}
