#include "sim/learn/writer.h"

#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

enum { ROUND_INSTANCES_LEAST = 8, ROUND_INDENT = 4 };

/* ---- division by duration ---- */

struct round_length {
    uint64_t ns;
    uint32_t instance;
};

static int compare_lengths(const void *left, const void *right)
{
    const struct round_length *a = left, *b = right;
    return a->ns != b->ns ? (a->ns < b->ns ? -1 : 1) : (a->instance > b->instance) - (a->instance < b->instance);
}

static double variance_of(const struct round_length *l, uint32_t count)
{
    double mean = 0, sum = 0;
    for (uint32_t i = 0; i < count; i++)
        mean += (double)l[i].ns / count;
    for (uint32_t i = 0; i < count; i++)
        sum += ((double)l[i].ns - mean) * ((double)l[i].ns - mean);
    return sum / count;
}

/* True for a slot whose time the replay does not draw: others decide how long it lasts. */
static bool is_others_time(const struct learn_slot *s)
{
    return s->kind == LEARN_SLOT_MARK || (s->kind == LEARN_SLOT_WAIT && (sim_learn_is_lock((enum strobe_kind)s->sub) ||
                                                                         s->sub == STROBE_KIND_THREAD));
}

/* Sums up the durations of instances, and the variance that independent slots would have. */
static double sum_lengths(const struct learn_node *n, struct round_length *all, struct round_length *slot)
{
    double apart = 0;
    for (uint32_t i = 0; i < n->instances; i++)
        all[i] = (struct round_length){0, i};
    for (uint32_t k = 0; k < n->slot_count; k++) {
        const struct learn_slot *s = &n->slots[k];
        if (is_others_time(s))
            continue;
        for (uint32_t i = 0; i < n->instances; i++)
            slot[i] = (struct round_length){0, i};
        for (size_t e = 0; e < s->count; e++)
            slot[s->entries[e].instance].ns += s->entries[e].ns;
        for (uint32_t i = 0; i < n->instances; i++)
            all[i].ns += slot[i].ns;
        apart += variance_of(slot, n->instances);
    }
    return apart;
}

/* True when the slots of the node depend on one another, by the variance of their sum. */
static bool depends_on_parts(const struct learn_node *n, double together, double apart)
{
    return n->instances >= ROUND_INSTANCES_LEAST && n->slot_count > 1 &&
           (together < apart * 0.8 || together > apart * 1.25);
}

/* Puts a choice of parts. `single`: of each part, one instance stands for all. */
static void put_parts(struct learn_writer *w, const struct learn_node *n, const struct round_length *sorted,
                      bool single, struct sim_text *body, int indent)
{
    uint32_t most = single ? w->plan->singles_most : w->plan->parts_most;
    uint32_t parts = n->instances < most ? n->instances : most;
    bool *in = calloc(n->instances, sizeof *in);
    w->failed |= !in;
    sim_text_put(body, "%*schoose {\n", indent, "");
    for (uint32_t p = 0; in && p < parts; p++) {
        uint32_t first = (uint32_t)((uint64_t)p * n->instances / parts);
        uint32_t end = (uint32_t)((uint64_t)(p + 1) * n->instances / parts);
        uint32_t weight = end - first;
        if (single) {
            first = (first + end) / 2;
            end = first + 1;
        }
        for (uint32_t i = first; i < end; i++)
            in[sorted[i].instance] = true;
        sim_text_put(body, "%*s%u {\n", indent + ROUND_INDENT, "", weight);
        sim_learn_put_body(w, n, (struct learn_subset){in, end - first}, body, indent + 2 * ROUND_INDENT);
        sim_text_put(body, "%*s}\n", indent + ROUND_INDENT, "");
        memset(in, 0, n->instances * sizeof *in);
    }
    sim_text_put(body, "%*s}\n", indent, "");
    free(in);
}

void sim_learn_put_round(struct learn_writer *w, const struct learn_node *n, bool always, struct sim_text *body,
                         int indent)
{
    struct round_length *all = malloc((n->instances + 1) * sizeof *all);
    struct round_length *slot = malloc((n->instances + 1) * sizeof *slot);
    bool was_divided = w->is_divided;
    w->failed |= !all || !slot;
    if (!w->failed && !was_divided && w->plan->parts_most > 1) {
        double apart = sum_lengths(n, all, slot);
        w->is_divided = (always && n->instances >= ROUND_INSTANCES_LEAST) ||
                        depends_on_parts(n, variance_of(all, n->instances), apart);
    }
    if (!w->failed && w->is_divided && !was_divided) {
        qsort(all, n->instances, sizeof *all, compare_lengths);
        put_parts(w, n, all, always && w->a->is_sampled && w->plan->singles_most, body, indent);
    } else if (!w->failed) {
        sim_learn_put_body(w, n, (struct learn_subset){NULL, n->instances}, body, indent);
    }
    w->is_divided = was_divided;
    free(all);
    free(slot);
}

/* ---- loops ---- */

/* How often an item is in what a thread repeats. */
struct repeated {
    enum learn_slot_kind kind;
    uint32_t sub, what;
    uint64_t items, runs;
};

struct repeated_list {
    struct repeated *list;
    size_t count, room;
};

static bool is_item(const struct repeated *r, const struct learn_item *i)
{
    return r->kind == i->kind && r->sub == i->sub && r->what == i->what;
}

/* True for items that may part two rounds. */
static bool parts_rounds(const struct learn_item *i)
{
    return i->kind == LEARN_SLOT_CALL || (i->kind == LEARN_SLOT_WAIT && !sim_learn_is_lock((enum strobe_kind)i->sub));
}

static bool count_repeated(struct repeated_list *out, const struct learn_items *items)
{
    const struct learn_item *last = NULL;
    for (size_t k = 0; k < items->count; k++) {
        const struct learn_item *i = &items->items[k];
        if (!parts_rounds(i))
            continue;
        size_t at = 0;
        while (at < out->count && !is_item(&out->list[at], i))
            at++;
        if (at == out->count) {
            if (!strobe_array_reserve(&out->list, &out->room, out->count + 1))
                return false;
            out->list[out->count++] = (struct repeated){.kind = i->kind, .sub = i->sub, .what = i->what};
        }
        out->list[at].items++;
        out->list[at].runs += !last || last->kind != i->kind || last->sub != i->sub || last->what != i->what;
        last = i;
    }
    return true;
}

/* Rank of an item as the end of a round: waits that other threads or the clock end, then others, then calls. */
static unsigned rank_of_boundary(const struct repeated *r)
{
    if (r->kind == LEARN_SLOT_CALL)
        return 1;
    return r->sub == STROBE_KIND_SLEEP || r->sub == STROBE_KIND_PARK || r->sub == STROBE_KIND_COND ||
                   r->sub == STROBE_KIND_SEM || r->sub == STROBE_KIND_POLL || r->sub == STROBE_KIND_THREAD
               ? 3
               : 2;
}

/* Returns the item that parts rounds, or NULL when the threads repeat nothing. */
static const struct repeated *choose_boundary(const struct repeated_list *l, uint32_t threads)
{
    const struct repeated *best = NULL;
    for (size_t i = 0; i < l->count; i++) {
        const struct repeated *r = &l->list[i];
        uint64_t often = r->kind == LEARN_SLOT_CALL ? r->runs : r->items;
        if (l->count == 1)
            often = r->items;
        if (often < 3 * (uint64_t)threads)
            continue;
        uint64_t best_often = !best ? 0 : best->kind == LEARN_SLOT_CALL ? best->runs : best->items;
        if (!best || rank_of_boundary(r) > rank_of_boundary(best) ||
            (rank_of_boundary(r) == rank_of_boundary(best) && often > best_often))
            best = r;
    }
    return best;
}

struct rounds {
    struct learn_span *spans, *before; /* before: what comes once, for each thread */
    size_t count, room;
    uint32_t before_count;
    uint64_t *per_thread;
    bool failed;
};

static void add_round(struct rounds *r, const struct learn_app *a, uint32_t call, uint64_t begin_ns, uint64_t end_ns)
{
    if (!strobe_array_reserve(&r->spans, &r->room, r->count + 1)) {
        r->failed = true;
        return;
    }
    r->spans[r->count++] = (struct learn_span){begin_ns, end_ns, call, sim_learn_next_call_in(a, call, begin_ns)};
}

/* Returns the time at which the items end that occur once: the first rounds begin there. */
static uint64_t end_of_prefix(const struct learn_items *items, const struct repeated *by)
{
    uint64_t end_ns = 0;
    for (size_t k = 0; k < items->count && !is_item(by, &items->items[k]); k++) {
        const struct learn_item *i = &items->items[k];
        size_t others = 0;
        if (!parts_rounds(i))
            continue;
        for (size_t m = 0; m < items->count && others < 2; m++)
            others +=
                items->items[m].kind == i->kind && items->items[m].sub == i->sub && items->items[m].what == i->what;
        if (others == 1)
            end_ns = i->begin_ns + i->ns;
    }
    return end_ns;
}

/* Divides what one thread repeats. The last round is left out: the capture's end cuts it. */
static void divide_thread(struct rounds *r, const struct learn_app *a, const struct learn_span *span,
                          const struct learn_items *items, const struct repeated *by, bool by_item)
{
    size_t first = r->count;
    uint64_t begin = end_of_prefix(items, by);
    begin = begin > span->begin_ns ? begin : span->begin_ns;
    r->before[r->before_count++] = (struct learn_span){span->begin_ns, begin, span->call, span->child};
    const struct learn_item *last = NULL;
    uint64_t from = begin;
    bool is_wait = by->kind == LEARN_SLOT_WAIT;
    for (size_t k = 0; k < items->count; k++) {
        const struct learn_item *i = &items->items[k];
        bool is_it = is_item(by, i), goes_on = last && is_item(by, last);
        uint64_t at = is_wait ? i->begin_ns + i->ns : i->begin_ns;
        if (is_it && at > begin && (is_wait || by_item || !goes_on)) {
            add_round(r, a, span->call, begin, at);
            begin = at;
        }
        last = parts_rounds(i) ? i : last;
    }
    if (r->count - first < 2 && span->end_ns > begin) {
        add_round(r, a, span->call, begin, span->end_ns);
    } else if (span->end_ns > begin && span->end_ns - begin > begin - from) {
        r->count = first; /* the thread repeats nothing for most of its life */
        add_round(r, a, span->call, from, span->end_ns);
    }
}

static void divide_threads(struct learn_writer *w, const struct learn_span *spans, uint32_t count, struct rounds *r)
{
    struct learn_items items = {0};
    struct repeated_list repeated = {0};
    for (uint32_t i = 0; i < count && !r->failed; i++) {
        sim_learn_list_items(w->a, &spans[i], &items);
        r->failed |= items.failed || !count_repeated(&repeated, &items);
    }
    const struct repeated *by = choose_boundary(&repeated, count);
    r->before = calloc(count + 1, sizeof *r->before);
    r->per_thread = calloc(count + 1, sizeof *r->per_thread);
    r->failed |= !r->before || !r->per_thread;
    for (uint32_t i = 0; by && i < count && !r->failed; i++) {
        size_t first = r->count;
        sim_learn_list_items(w->a, &spans[i], &items);
        divide_thread(r, w->a, &spans[i], &items, by, repeated.count == 1 || by->runs < 3 * (uint64_t)count);
        r->per_thread[i] = r->count - first;
    }
    if (r->count == count) /* no thread has more than one round */
        r->count = 0;
    free(items.items);
    free(repeated.list);
}

static uint32_t ended_threads(const struct learn_app *a, const struct learn_span *spans, uint32_t count)
{
    uint32_t ended = 0;
    for (uint32_t i = 0; i < count; i++)
        ended += a->threads[a->calls[spans[i].call].thread].ended;
    return ended;
}

/* Writes what the threads do before the loop, and the loop. */
static void put_rounds(struct learn_writer *w, uint32_t name, const struct learn_span *spans, uint32_t count,
                       struct rounds *r, struct sim_text *body)
{
    struct learn_node before = {0}, round = {0};
    uint64_t r_count = r->count;
    bool fine = sim_learn_node_open(&before, w->a, name, r->before, r->before_count);
    r->before = NULL;
    fine = sim_learn_node_open(&round, w->a, name, r->spans, (uint32_t)r->count) && fine;
    r->spans = NULL;
    if (fine) {
        sim_learn_put_body(w, &before, (struct learn_subset){NULL, count}, body, ROUND_INDENT);
        if (ended_threads(w->a, spans, count) * 2 > count) {
            sim_text_put(body, "    repeat");
            sim_learn_put_counts(w, body, r->per_thread, count);
        } else {
            sim_text_put(body, "    forever");
        }
        sim_text_put(body, " {\n        compute 1ns\n");
        sim_learn_put_allocations(w->a, w->group, r_count, body, 2 * ROUND_INDENT);
        sim_learn_put_round(w, &round, false, body, 2 * ROUND_INDENT);
        sim_text_put(body, "    }\n");
    }
    w->failed |= !fine;
    sim_learn_node_close(&before);
    sim_learn_node_close(&round);
}

/* ---- the outermost methods ---- */

/* Returns the call in a span that lasts for most of it, or LEARN_NONE. */
static uint32_t main_call_in(const struct learn_app *a, const struct learn_span *span)
{
    uint64_t length = span->end_ns - span->begin_ns;
    uint32_t call = span->child;
    for (; call != LEARN_NONE; call = a->calls[call].next) {
        const struct learn_call *c = &a->calls[call];
        if (c->class == SIM_CALL_METHOD && (c->loops || (c->end_ns - c->begin_ns) / 3 > length / 4))
            return call;
    }
    return LEARN_NONE;
}

/* Finds the call that lasts for most of each span, when it has one name. */
static bool find_main_calls(const struct learn_app *a, const struct learn_span *spans, uint32_t count, uint32_t *calls)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t life = a->captures[a->threads[a->calls[spans[i].call].thread].capture].end_ns;
        calls[i] = main_call_in(a, &spans[i]);
        if (calls[i] == LEARN_NONE || a->calls[calls[i]].name != a->calls[calls[0]].name ||
            spans[i].end_ns - spans[i].begin_ns < life / 4)
            return false;
    }
    return count > 0;
}

static void put_spine(struct learn_writer *w, uint32_t name, struct learn_span *spans, uint32_t count, char *key);

/* Writes what comes before the main calls, the call, and the called method. */
static void put_main_call(struct learn_writer *w, uint32_t name, struct learn_span *spans, uint32_t count,
                          const uint32_t *calls, struct sim_text *body)
{
    struct learn_node before;
    char inner_key[LEARN_KEY_BYTES];
    struct learn_span *inner = malloc((count + 1) * sizeof *inner);
    uint32_t inner_name = w->a->calls[calls[0]].name;
    for (uint32_t i = 0; inner && i < count; i++) {
        inner[i] = sim_learn_span_of(w->a, calls[i]);
        spans[i].end_ns = inner[i].begin_ns;
    }
    if (!sim_learn_node_open(&before, w->a, name, spans, count) || !inner) {
        w->failed = true;
        free(inner);
    } else {
        sim_learn_put_body(w, &before, (struct learn_subset){NULL, count}, body, ROUND_INDENT);
        put_spine(w, inner_name, inner, count, inner_key);
        sim_text_put(body, "    call");
        sim_learn_put_name(body, inner_key);
        sim_text_put(body, "\n");
    }
    sim_learn_node_close(&before);
}

/* Writes what comes before a loop that takes messages, and the loop. */
static void put_message_loop(struct learn_writer *w, uint32_t name, struct learn_span *spans, uint32_t count,
                             struct sim_text *body)
{
    struct learn_node before;
    uint32_t first = spans[0].call;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t c = spans[i].child;
        const struct sim_wait *poll = NULL;
        for (; c != LEARN_NONE && !(poll && poll->kind == STROBE_KIND_POLL); c = w->a->calls[c].next) {
            poll = sim_learn_wait_of(w->a, &w->a->calls[c]);
            if (poll && poll->kind == STROBE_KIND_POLL)
                spans[i].end_ns = poll->begin_ns;
        }
    }
    if (sim_learn_node_open(&before, w->a, name, spans, count))
        sim_learn_put_body(w, &before, (struct learn_subset){NULL, count}, body, ROUND_INDENT);
    else
        w->failed = true;
    sim_learn_node_close(&before);
    sim_learn_put_loop(w, first, body, ROUND_INDENT);
}

/* Writes a method that lasts as long as its threads, and takes the spans over. */
static void put_spine(struct learn_writer *w, uint32_t name, struct learn_span *spans, uint32_t count, char *key)
{
    uint32_t *calls = malloc((count + 1) * sizeof *calls);
    struct sim_text body = {0};
    struct rounds r = {0};
    sim_learn_new_key(w, name, key);
    if (!calls) {
        w->failed = true;
        free(spans);
    } else if (count && w->a->calls[spans[0].call].loops) {
        put_message_loop(w, name, spans, count, &body);
    } else if (w->depth < LEARN_DEPTH_MAX && find_main_calls(w->a, spans, count, calls)) {
        w->depth++;
        put_main_call(w, name, spans, count, calls, &body);
        w->depth--;
    } else {
        divide_threads(w, spans, count, &r);
        w->failed |= r.failed;
        if (r.count && !w->failed) {
            put_rounds(w, name, spans, count, &r, &body);
            free(spans);
        } else {
            struct learn_node n;
            sim_learn_put_allocations(w->a, w->group, count, &body, ROUND_INDENT);
            if (sim_learn_node_open(&n, w->a, name, spans, count))
                sim_learn_put_round(w, &n, false, &body, ROUND_INDENT);
            else
                w->failed = true;
            sim_learn_node_close(&n);
        }
    }
    free(r.before);
    free(r.spans);
    free(r.per_thread);
    free(calls);
    sim_learn_put_method(w, name, key, &body);
}

void sim_learn_put_group(struct learn_writer *w, uint32_t group, char *key)
{
    const struct learn_group *g = &w->a->groups[group];
    struct learn_span *spans = malloc((g->thread_count + 1) * sizeof *spans);
    w->group = group;
    w->failed |= !spans;
    for (uint32_t i = 0; spans && i < g->thread_count; i++)
        spans[i] = sim_learn_span_of(w->a, w->a->threads[g->threads[i]].first_call);
    if (spans)
        put_spine(w, g->root, spans, g->thread_count, key);
}
