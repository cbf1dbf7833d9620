#include "engine/util/array.h"
#include "engine/util/cursor.h"
#include "engine/watch/anr.h"

#include <stdlib.h>
#include <string.h>

/* A thread of the dump. */
struct thread {
    uint32_t tid, waits_for; /* waits_for: tid of the holder; 0 = waits for no thread */
    size_t next;             /* index of the holder, or NOBODY */
    size_t order;            /* position in the text */
    unsigned walk;           /* number of the walk that visited the thread; 0 = not visited */
    const char *name;        /* not terminated */
    size_t name_bytes;
};

struct graph {
    struct thread *threads; /* by tid, once sorted */
    size_t count, room;
};

#define NOBODY SIZE_MAX

struct line {
    const char *at;
    size_t bytes;
};

/* ---- text */

static const char *line_find_word(struct line l, const char *word)
{
    size_t bytes = strlen(word);
    for (size_t i = 0; i + bytes <= l.bytes; i++)
        if (!memcmp(l.at + i, word, bytes))
            return l.at + i + bytes;
    return NULL;
}

/* Returns the number at `at`, in 1 .. UINT32_MAX, or 0 when there is none. */
static uint32_t line_number_at(struct line l, const char *at)
{
    struct strobe_cursor c = {at, l.at + l.bytes};
    uint64_t n = 0;
    return strobe_cursor_take_number(&c, UINT32_MAX, &n) ? (uint32_t)n : 0;
}

/* A name may contain quotes, also a quote followed by tid=. The name ends at the last quote of the line. */
static bool read_thread_header(struct line l, struct thread *out)
{
    size_t close = l.bytes;
    if (!l.bytes || l.at[0] != '"')
        return false;
    while (close > 1 && l.at[close - 1] != '"')
        close--;
    if (close <= 1)
        return false;
    struct line rest = {l.at + close, l.bytes - close};
    const char *tid = line_find_word(rest, " tid=");
    *out = (struct thread){
        .tid = tid ? line_number_at(rest, tid) : 0, .next = NOBODY, .name = l.at + 1, .name_bytes = close - 2};
    return true;
}

static bool graph_add_thread(struct graph *g, struct thread t)
{
    if (!strobe_array_reserve(&g->threads, &g->room, g->count + 1))
        return false;
    t.order = g->count;
    g->threads[g->count++] = t;
    return true;
}

/* The first wait in a thread's stack counts, because a thread makes one call of wait at a time. Lines below name the
 * locks that it holds. */
static bool graph_read_text(struct graph *g, const char *text, size_t bytes)
{
    bool of_thread = false;
    struct strobe_cursor c = strobe_cursor(text, bytes), line;
    while (strobe_cursor_take_line(&c, &line)) {
        struct line l = {line.at, (size_t)(line.end - line.at)};
        struct thread t;
        if (read_thread_header(l, &t)) {
            of_thread = t.tid != 0;
            if (of_thread && !graph_add_thread(g, t))
                return false;
        } else if (of_thread && !g->threads[g->count - 1].waits_for) {
            const char *held = line_find_word(l, "held by thread ");
            g->threads[g->count - 1].waits_for = held ? line_number_at(l, held) : 0;
        }
    }
    return true;
}

/* ---- graph */

static int compare_threads_by_tid(const void *a, const void *b)
{
    const struct thread *x = a, *y = b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static size_t of_tid(const struct graph *g, uint32_t tid)
{
    size_t low = 0, high = g->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (g->threads[middle].tid < tid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < g->count && g->threads[low].tid == tid ? low : NOBODY;
}

/* Resolves the holders. Among threads with one tid the first in the text counts, because a text may contain several
 * dumps. */
static void graph_connect(struct graph *g)
{
    size_t kept = 0;
    if (g->count)
        qsort(g->threads, g->count, sizeof *g->threads, compare_threads_by_tid);
    for (size_t i = 0; i < g->count; i++)
        if (!kept || g->threads[kept - 1].tid != g->threads[i].tid)
            g->threads[kept++] = g->threads[i];
    g->count = kept;
    for (size_t i = 0; i < g->count; i++)
        if (g->threads[i].waits_for)
            g->threads[i].next = of_tid(g, g->threads[i].waits_for);
}

/* Copies the names of a cycle's threads into one block, with terminators, and reports the cycle. Returns false when
 * memory runs out. */
static bool graph_report_cycle(const struct graph *g, size_t first, bool main_waits,
                               void (*found)(void *, const struct strobe_deadlock *), void *ctx)
{
    size_t count = 0, bytes = 0, i = 0;
    size_t at = first;
    do {
        count++;
        bytes += g->threads[at].name_bytes + 1;
        at = g->threads[at].next;
    } while (at != first);
    struct strobe_deadlock_thread *threads = malloc(count * sizeof *threads);
    char *names = malloc(bytes), *name = names;
    bool room = threads && names;
    for (; room && i < count; i++, at = g->threads[at].next) {
        const struct thread *t = &g->threads[at];
        threads[i] = (struct strobe_deadlock_thread){t->tid, name};
        memcpy(name, t->name, t->name_bytes);
        name[t->name_bytes] = 0;
        name += t->name_bytes + 1;
    }
    if (room)
        found(ctx, &(struct strobe_deadlock){threads, count, main_waits});
    free(threads);
    free(names);
    return room;
}

long strobe_deadlocks_find(const char *text, size_t bytes, void (*found)(void *ctx, const struct strobe_deadlock *d),
                           void *ctx)
{
    struct graph g = {0};
    long cycles = 0;
    bool room = graph_read_text(&g, text, bytes);
    graph_connect(&g);
    /* Each walk follows the waits from one thread. It ends at a thread that this walk has visited (a cycle) or an
     * earlier walk has. Walks begin with the lowest tid, which is the main thread's. */
    for (size_t i = 0; room && i < g.count; i++) {
        size_t at = i;
        for (; at != NOBODY && !g.threads[at].walk; at = g.threads[at].next)
            g.threads[at].walk = (unsigned)i + 1;
        if (at == NOBODY || g.threads[at].walk != i + 1)
            continue;
        size_t lowest = at;
        for (size_t k = g.threads[at].next; k != at; k = g.threads[k].next)
            lowest = k < lowest ? k : lowest;
        room = graph_report_cycle(&g, lowest, g.threads[i].tid == 1, found, ctx);
        cycles++;
    }
    free(g.threads);
    return room ? cycles : -1;
}
