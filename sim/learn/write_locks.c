#include "sim/learn/writer.h"

#include "engine/util/array.h"

#include <stdlib.h>

bool sim_learn_is_lock(enum strobe_kind kind)
{
    return kind == STROBE_KIND_MUTEX || kind == STROBE_KIND_RWLOCK || kind == STROBE_KIND_MONITOR;
}

/* One observation: a wait for a lock or its release in a method. */
struct sight {
    uint32_t method, object;
    uint64_t beside; /* the item before the wait, or after the release */
    bool is_release;
    uint32_t caller; /* of a wait: name of the method that called the method; LEARN_NONE */
};

struct sights {
    struct sight *list;
    size_t count, room;
    bool failed;
};

static void add_sight(struct sights *s, struct sight sight)
{
    if (strobe_array_reserve(&s->list, &s->room, s->count + 1))
        s->list[s->count++] = sight;
    else
        s->failed = true;
}

static uint64_t item_of_call(const struct learn_app *a, const struct learn_call *c)
{
    const struct sim_wait *w = sim_learn_wait_of(a, c);
    if (c->class == SIM_CALL_METHOD)
        return (uint64_t)LEARN_SLOT_CALL << 48 | c->name;
    if (!w || sim_learn_is_lock(w->kind) || w->kind == STROBE_KIND_UNLOCK || w->kind == STROBE_KIND_GC)
        return UINT64_MAX;
    uint32_t object = sim_learn_object_of(a, a->threads[c->thread].capture, w);
    return (uint64_t)LEARN_SLOT_WAIT << 48 | (uint64_t)w->kind << 32 | object;
}

/* Waits of all methods, with the item before each in its parent. */
static void see_waits(const struct learn_app *a, uint32_t parent, struct sights *out)
{
    const struct learn_call *p = &a->calls[parent];
    uint64_t before = UINT64_MAX;
    for (uint32_t c = p->first; c != LEARN_NONE; c = a->calls[c].next) {
        const struct sim_wait *w = sim_learn_wait_of(a, &a->calls[c]);
        uint64_t item = item_of_call(a, &a->calls[c]);
        if (w && sim_learn_is_lock(w->kind))
            add_sight(out, (struct sight){.method = p->name,
                                          .object = sim_learn_object_of(a, a->threads[p->thread].capture, w),
                                          .beside = before,
                                          .caller = p->parent == LEARN_NONE ? LEARN_NONE : a->calls[p->parent].name});
        before = item != UINT64_MAX ? item : before;
    }
}

/* Releases of a thread, with the item that follows in the method. */
static void see_releases(const struct learn_app *a, const struct learn_thread *t, struct sights *out)
{
    for (uint32_t m = t->first_mark; m < t->end_mark; m++) {
        const struct learn_mark *mark = &a->marks[m];
        uint32_t call = mark->kind == LEARN_MARK_UNLOCK ? sim_learn_method_at(a, t, mark->time_ns) : LEARN_NONE;
        if (call == LEARN_NONE)
            continue;
        uint64_t after = UINT64_MAX;
        uint32_t c = sim_learn_next_call_in(a, call, mark->time_ns);
        for (; c != LEARN_NONE && after == UINT64_MAX; c = a->calls[c].next)
            after = item_of_call(a, &a->calls[c]);
        add_sight(out, (struct sight){.method = a->calls[call].name,
                                      .object = mark->object,
                                      .beside = after,
                                      .is_release = true,
                                      .caller = LEARN_NONE});
    }
}

static int compare_sights(const void *left, const void *right)
{
    const struct sight *a = left, *b = right;
    if (a->method != b->method)
        return a->method < b->method ? -1 : 1;
    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    if (a->is_release != b->is_release)
        return a->is_release - b->is_release;
    return a->beside != b->beside ? (a->beside < b->beside ? -1 : 1) : 0;
}

/* Returns the most frequent neighbour among equal sights from *at on, and moves *at behind them. *all: their number. */
static uint64_t most_frequent(const struct sights *s, size_t *at, bool is_release, const struct sight *of, size_t *all)
{
    size_t begin = *at;
    uint64_t best = UINT64_MAX;
    size_t most = 0;
    while (*at < s->count && s->list[*at].method == of->method && s->list[*at].object == of->object &&
           s->list[*at].is_release == is_release) {
        size_t first = *at;
        while (*at < s->count && compare_sights(&s->list[first], &s->list[*at]) == 0)
            ++*at;
        if (*at - first > most) {
            most = *at - first;
            best = s->list[first].beside;
        }
    }
    *all = *at - begin;
    return best;
}

/* Counts the sights of an object. */
static size_t count_sights(const struct sights *s, uint32_t object, bool is_release)
{
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        count += s->list[i].object == object && s->list[i].is_release == is_release;
    return count;
}

/* True when a method calls one that waits for the lock. */
static bool calls_waiter(const struct sights *s, uint32_t object, uint32_t method)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].object == object && !s->list[i].is_release && s->list[i].caller == method)
            return true;
    return false;
}

/* True when a method takes the lock. A sample may show another method at a release than the one that holds the lock:
 * its caller, when the method is too short or, in a brief scenario, folded. So a method without waits needs many of the
 * releases. */
static bool is_lock_site(const struct sights *s, const struct sight *of, size_t waits, size_t releases, bool is_brief)
{
    if (of->object == LEARN_NONE || (is_brief && !waits))
        return false;
    if (waits * 50 > count_sights(s, of->object, false))
        return true;
    return releases * 10 > count_sights(s, of->object, true) * 3 && !calls_waiter(s, of->object, of->method);
}

void sim_learn_find_sites(struct learn_writer *w)
{
    struct sights s = {0};
    const struct learn_app *a = w->a;
    for (uint32_t i = 0; i < a->call_count; i++)
        if (a->calls[i].class == SIM_CALL_METHOD && a->calls[i].first != LEARN_NONE)
            see_waits(a, i, &s);
    for (uint32_t i = 0; i < a->thread_count; i++)
        see_releases(a, &a->threads[i], &s);
    if (s.count)
        qsort(s.list, s.count, sizeof *s.list, compare_sights);
    for (size_t at = 0; at < s.count && !s.failed;) {
        const struct sight *first = &s.list[at];
        if (!strobe_array_reserve(&w->sites, &w->site_room, w->site_count + 1)) {
            s.failed = true;
            break;
        }
        size_t waits, releases;
        uint64_t before = most_frequent(&s, &at, false, first, &waits);
        uint64_t after = most_frequent(&s, &at, true, first, &releases);
        if (is_lock_site(&s, first, waits, releases, w->plan->least_ns > 0))
            w->sites[w->site_count++] = (struct learn_lock_site){first->method, first->object, before, after};
    }
    w->failed |= s.failed;
    free(s.list);
}

static uint64_t item_of_slot(const struct learn_slot *s)
{
    return (uint64_t)s->kind << 48 | (uint64_t)s->sub << 32 | s->what;
}

bool sim_learn_held_part(const struct learn_node *n, const struct learn_lock_site *site, uint32_t *first, uint32_t *end)
{
    uint32_t wait = LEARN_NONE, unlock = LEARN_NONE, before = LEARN_NONE, after = LEARN_NONE;
    if (n->name != site->method)
        return false;
    for (uint32_t i = 0; i < n->slot_count; i++) {
        const struct learn_slot *s = &n->slots[i];
        bool is_wait =
            s->kind == LEARN_SLOT_WAIT && s->what == site->object && sim_learn_is_lock((enum strobe_kind)s->sub);
        bool is_unlock = s->kind == LEARN_SLOT_MARK && s->sub == LEARN_MARK_UNLOCK && s->what == site->object;
        wait = is_wait && wait == LEARN_NONE ? i : wait;
        unlock = is_unlock ? i : unlock;
        before = item_of_slot(s) == site->before ? i : before;
        after = item_of_slot(s) == site->after && after == LEARN_NONE ? i : after;
    }
    *first = wait != LEARN_NONE ? wait : before != LEARN_NONE ? before + 1 : 0;
    *end = unlock != LEARN_NONE ? unlock : after != LEARN_NONE ? after : n->slot_count;
    if (*end <= *first)
        *first = 0;
    if (*end <= *first)
        *end = n->slot_count;
    return true;
}
