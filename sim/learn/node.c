#include "sim/learn/node.h"

#include "engine/util/array.h"
#include "engine/util/idmap.h"

#include <stdlib.h>

enum { PLACES = 1024, LEARN_TINY_PART = 200, POST_BEFORE_NS = 5000 };

struct learn_span sim_learn_span_of(const struct learn_app *a, uint32_t call)
{
    const struct learn_call *c = &a->calls[call];
    return (struct learn_span){c->begin_ns, c->end_ns, call, c->first};
}

/* ---- the items of a span ---- */

/* The state while a span is listed. `tiny_ns`: computing that was too short for an item of its own. */
struct item_lister {
    const struct learn_app *a;
    const struct learn_thread *t;
    struct learn_items *out;
    uint32_t mark; /* the next mark */
    uint64_t tiny_ns, least_ns;
};

static void append_item(struct item_lister *l, struct learn_item item)
{
    struct learn_items *out = l->out;
    if (strobe_array_reserve(&out->items, &out->room, out->count + 1))
        out->items[out->count++] = item;
    else
        out->failed = true;
}

static void add_computing(struct item_lister *l, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t ns = from_ns < to_ns ? sim_learn_busy_ns(l->a, l->t, from_ns, to_ns) + l->tiny_ns : l->tiny_ns;
    l->tiny_ns = ns;
    if (ns <= l->least_ns)
        return;
    l->tiny_ns = 0;
    append_item(l, (struct learn_item){.kind = LEARN_SLOT_COMPUTE, .what = LEARN_NONE, .ns = ns, .begin_ns = from_ns});
}

/* Adds the computing before a collection, without the collection, and the collection. */
static void add_collection(struct item_lister *l, uint64_t from_ns, const struct learn_mark *m)
{
    uint64_t begin = m->time_ns > m->ns ? m->time_ns - m->ns : 0;
    add_computing(l, from_ns, begin > from_ns ? begin : from_ns);
    append_item(l, (struct learn_item){
                       .kind = LEARN_SLOT_MARK, .sub = m->kind, .what = 0, .ns = m->ns, .begin_ns = m->time_ns});
}

/* Adds computing up to a time, and the marks up to it. */
static void add_segment(struct item_lister *l, uint64_t from_ns, uint64_t to_ns)
{
    for (; l->mark < l->t->end_mark && l->a->marks[l->mark].time_ns <= to_ns; l->mark++) {
        const struct learn_mark *m = &l->a->marks[l->mark];
        if (m->kind == LEARN_MARK_GC) {
            add_collection(l, from_ns, m);
        } else {
            add_computing(l, from_ns, m->time_ns);
            append_item(
                l,
                (struct learn_item){
                    .kind = LEARN_SLOT_MARK, .sub = m->kind, .what = m->object, .ns = m->ns, .begin_ns = m->time_ns});
        }
        from_ns = m->time_ns > from_ns ? m->time_ns : from_ns;
    }
    add_computing(l, from_ns, to_ns);
}

/* True for calls that are computing of their caller: unseen time, and calls of the kernel that do not wait. */
static bool is_callers_own(const struct learn_call *c, const struct sim_wait *w)
{
    if (c->class == SIM_CALL_GAP)
        return true;
    if (c->class != SIM_CALL_WAIT || !w)
        return false;
    switch (w->kind) {
    case STROBE_KIND_UNLOCK:
    case STROBE_KIND_ALLOC:
    case STROBE_KIND_FREE:
    case STROBE_KIND_CLOCK:
    case STROBE_KIND_JNI:
    case STROBE_KIND_CLOSE: return true;
    default: return false;
    }
}

/* True when a mark of posting lies in the call, or right before it: the call is how the post wakes the looper. */
static bool is_of_post(const struct item_lister *l, const struct learn_call *c)
{
    for (uint32_t m = l->mark; m > l->t->first_mark && l->a->marks[m - 1].time_ns + POST_BEFORE_NS >= c->begin_ns; m--)
        if (l->a->marks[m - 1].kind == LEARN_MARK_POST)
            return true;
    for (uint32_t m = l->mark; m < l->t->end_mark && l->a->marks[m].time_ns <= c->end_ns; m++)
        if (l->a->marks[m].kind == LEARN_MARK_POST && l->a->marks[m].time_ns >= c->begin_ns)
            return true;
    return false;
}

static void skip_marks(struct item_lister *l, uint64_t until_ns)
{
    while (l->mark < l->t->end_mark && l->a->marks[l->mark].time_ns <= until_ns)
        l->mark++;
}

static bool is_wait_for_lock(const struct sim_wait *w)
{
    return w && (w->kind == STROBE_KIND_MUTEX || w->kind == STROBE_KIND_RWLOCK || w->kind == STROBE_KIND_MONITOR);
}

/* Adds a call, in parts when it waits for its first lock again. */
static void add_calls_of_locks(struct item_lister *l, struct learn_item item)
{
    const struct learn_app *a = l->a;
    const struct sim_wait *first = NULL;
    uint64_t end_ns = item.begin_ns + item.ns;
    for (uint32_t c = a->calls[item.call].first; c != LEARN_NONE; c = a->calls[c].next) {
        const struct sim_wait *w = sim_learn_wait_of(a, &a->calls[c]);
        if (!is_wait_for_lock(w))
            continue;
        if (first && w->kind == first->kind && w->what == first->what && w->begin_ns > item.begin_ns) {
            item.ns = w->begin_ns - item.begin_ns;
            append_item(l, item);
            item.begin_ns = w->begin_ns;
            item.ns = end_ns - w->begin_ns;
        }
        first = first ? first : w;
    }
    append_item(l, item);
}

static void add_called(struct item_lister *l, uint32_t call)
{
    const struct learn_call *c = &l->a->calls[call];
    const struct sim_wait *w = sim_learn_wait_of(l->a, c);
    struct learn_item item = {
        .kind = LEARN_SLOT_CALL, .what = c->name, .ns = c->end_ns - c->begin_ns, .begin_ns = c->begin_ns, .call = call};
    if (c->class == SIM_CALL_METHOD) {
        add_calls_of_locks(l, item);
        skip_marks(l, c->end_ns);
        return;
    }
    item.kind = LEARN_SLOT_WAIT;
    item.sub = w ? (uint32_t)w->kind : STROBE_KIND_NONE;
    item.what = w ? sim_learn_object_of(l->a, l->t->capture, w) : LEARN_NONE;
    item.woken = w && w->waker != SIM_NOBODY;
    if (item.woken && w->kind == STROBE_KIND_THREAD)
        item.what = l->a->threads[sim_learn_thread_of_track(l->a, l->t->capture, w->waker)].group;
    if (item.sub == STROBE_KIND_GC)
        l->out->gc_ns += item.ns;
    else if (item.sub != STROBE_KIND_WRITE || !is_of_post(l, c))
        append_item(l, item);
}

void sim_learn_list_items(const struct learn_app *a, const struct learn_span *span, struct learn_items *out)
{
    const struct learn_thread *t = &a->threads[a->calls[span->call].thread];
    struct item_lister l = {.a = a, .t = t, .out = out, .mark = t->first_mark};
    uint32_t low = t->first_mark, high = t->end_mark;
    out->count = 0;
    out->gc_ns = 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (a->marks[middle].time_ns <= span->begin_ns)
            low = middle + 1;
        else
            high = middle;
    }
    l.mark = low;
    l.least_ns = (span->end_ns - span->begin_ns) / LEARN_TINY_PART;
    uint64_t at = span->begin_ns;
    uint32_t child = span->child;
    for (; child != LEARN_NONE && a->calls[child].begin_ns < span->end_ns; child = a->calls[child].next) {
        const struct learn_call *c = &a->calls[child];
        if (is_callers_own(c, sim_learn_wait_of(a, c)))
            continue;
        add_segment(&l, at, c->begin_ns);
        add_called(&l, child);
        at = c->end_ns;
    }
    add_segment(&l, at, span->end_ns > at ? span->end_ns : at);
    if (l.tiny_ns)
        append_item(&l, (struct learn_item){
                            .kind = LEARN_SLOT_COMPUTE, .what = LEARN_NONE, .ns = l.tiny_ns, .begin_ns = span->end_ns});
}

/* ---- slots ---- */

static struct learn_slot *find_node_slot(struct learn_node *n, struct strobe_idmap *ids, const struct learn_item *item,
                                         uint32_t run)
{
    int fresh;
    uint64_t kind = (uint64_t)item->kind << 16 | item->sub;
    uint32_t *place = strobe_idmap_put(ids, kind << 32 | item->what, run, &fresh);
    if (!place)
        return NULL;
    if (fresh) {
        if (!strobe_array_reserve(&n->slots, &n->slot_room, n->slot_count + 1))
            return NULL;
        n->slots[n->slot_count] = (struct learn_slot){
            .kind = item->kind, .sub = item->sub, .what = item->what, .run = run, .id = n->slot_count};
        *place = n->slot_count++;
    }
    return &n->slots[*place];
}

/* Numbers of runs of the current instance, by item without its run. */
struct run_counts {
    struct strobe_idmap of;        /* -> number of runs so far */
    uint64_t last_kind, last_what; /* the last item that was no computing */
};

static bool run_of_item(struct run_counts *r, const struct learn_item *item, uint32_t most, uint32_t *run)
{
    int fresh;
    uint64_t kind = ((uint64_t)item->kind << 16 | item->sub) + 1;
    uint32_t *count = strobe_idmap_put(&r->of, kind, item->what, &fresh);
    if (!count)
        return false;
    bool goes_on = kind == r->last_kind && item->what == r->last_what;
    if (!goes_on)
        ++*count;
    r->last_kind = kind;
    r->last_what = item->what;
    *run = *count < most ? *count : most;
    return true;
}

static bool add_to_slot(struct learn_slot *s, const struct learn_item *item, uint32_t instance, uint64_t place)
{
    if (!strobe_array_reserve(&s->entries, &s->room, s->count + 1))
        return false;
    if (!s->count || s->entries[s->count - 1].instance != instance) {
        s->place_sum += place;
        s->places++;
    } else if (item->kind == LEARN_SLOT_COMPUTE) {
        s->entries[s->count - 1].ns += item->ns;
        return true;
    }
    s->entries[s->count++] = (struct learn_entry){
        .instance = instance, .call = item->call, .ns = item->ns, .begin_ns = item->begin_ns, .woken = item->woken};
    return true;
}

static int compare_slots(const void *left, const void *right)
{
    const struct learn_slot *a = left, *b = right;
    uint64_t x = a->place_sum * PLACES / a->places, y = b->place_sum * PLACES / b->places;
    if (x != y)
        return x < y ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->sub != b->sub)
        return a->sub < b->sub ? -1 : 1;
    return a->what != b->what ? (a->what < b->what ? -1 : 1) : (a->run > b->run) - (a->run < b->run);
}

static bool fill_slots(struct learn_node *n, struct learn_items *items, struct strobe_idmap *ids, struct run_counts *r)
{
    for (uint32_t i = 0; i < n->instances; i++) {
        sim_learn_list_items(n->app, &n->spans[i], items);
        strobe_idmap_clear(&r->of);
        r->last_kind = r->last_what = 0;
        uint32_t before = LEARN_NONE;
        for (size_t k = 0; k < items->count; k++) {
            struct learn_item *item = &items->items[k];
            uint32_t run = 0;
            if (item->kind == LEARN_SLOT_COMPUTE)
                item->what = before;
            else if (!run_of_item(r, item, n->app->runs, &run))
                return false;
            struct learn_slot *s = find_node_slot(n, ids, item, run);
            if (!s || !add_to_slot(s, item, i, (k * PLACES + PLACES / 2) / items->count))
                return false;
            before = item->kind == LEARN_SLOT_COMPUTE ? before : (uint32_t)(s - n->slots);
        }
    }
    return !items->failed;
}

bool sim_learn_node_open(struct learn_node *n, const struct learn_app *a, uint32_t name, struct learn_span *spans,
                         uint32_t instances)
{
    struct learn_items items = {0};
    struct strobe_idmap ids = {0};
    struct run_counts runs = {0};
    *n = (struct learn_node){.app = a, .name = name, .spans = spans, .instances = instances};
    bool fine = spans && fill_slots(n, &items, &ids, &runs);
    free(items.items);
    strobe_idmap_free(&ids);
    strobe_idmap_free(&runs.of);
    if (fine && n->slot_count)
        qsort(n->slots, n->slot_count, sizeof *n->slots, compare_slots);
    return fine;
}

void sim_learn_node_close(struct learn_node *n)
{
    for (uint32_t i = 0; i < n->slot_count; i++)
        free(n->slots[i].entries);
    free(n->slots);
    free(n->spans);
    *n = (struct learn_node){0};
}
