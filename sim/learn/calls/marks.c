/* Objects that threads wait for, and marks: releases, posts, starts of threads and collections. */
#include "sim/learn/calls/calls.h"

#include "engine/util/array.h"
#include "engine/util/idmap.h"

#include <stdlib.h>
#include <string.h>

enum { SPAWNED_LEAST = 8, SPAWNERS_MAX = 4, WAITERS_PART = 50, RELEASE_LATE_NS = 2000000 };

/* ---- objects ---- */

static bool kind_has_object(enum strobe_kind kind)
{
    return kind == STROBE_KIND_MUTEX || kind == STROBE_KIND_RWLOCK || kind == STROBE_KIND_MONITOR ||
           kind == STROBE_KIND_COND || kind == STROBE_KIND_SEM || kind == STROBE_KIND_PARK || kind == STROBE_KIND_POLL;
}

/* A wait that the capture's end cuts has no object there. Such waits of a kind are at one object, which wakes none. */
static bool has_known_object(const struct sim_wait *w)
{
    return w->what || w->kind == STROBE_KIND_PARK || w->kind == STROBE_KIND_COND || w->kind == STROBE_KIND_SEM;
}

uint32_t sim_learn_object_of(const struct learn_app *a, uint32_t capture, const struct sim_wait *w)
{
    const uint32_t *place = strobe_idmap_get(&a->object_ids, (uint64_t)capture << 8 | w->kind, w->what);
    return kind_has_object(w->kind) && place ? *place : LEARN_NONE;
}

/* Returns the name of the method that waits; a wait without a caller has the thread's outermost name. */
static uint32_t waiting_method(const struct learn_app *a, const struct learn_call *c)
{
    uint32_t call = c->parent;
    while (call != LEARN_NONE && a->calls[call].class != SIM_CALL_METHOD)
        call = a->calls[call].parent;
    return call == LEARN_NONE ? c->name : a->calls[call].name;
}

/* Returns the object of an earlier capture with the same kind, first waiter and group, unless this capture has another
 * object that is equal to it. */
static uint32_t equal_object(const struct learn_app *a, const struct learn_object *o)
{
    uint32_t nth = 0;
    for (uint32_t i = 0; i < a->object_count; i++)
        nth += a->objects[i].capture == o->capture && a->objects[i].kind == o->kind &&
               a->objects[i].waiter == o->waiter && a->objects[i].group == o->group;
    for (uint32_t i = 0; i < a->object_count; i++)
        if (a->objects[i].capture < o->capture && a->objects[i].kind == o->kind && a->objects[i].waiter == o->waiter &&
            a->objects[i].group == o->group && nth-- == 0)
            return i;
    return LEARN_NONE;
}

static bool add_object(struct learn_app *a, const struct learn_call *c, const struct sim_wait *w)
{
    const struct learn_thread *t = &a->threads[c->thread];
    int fresh;
    uint64_t what = w->kind == STROBE_KIND_PARK ? UINT64_MAX - t->group : w->what;
    uint32_t *place = strobe_idmap_put(&a->object_ids, (uint64_t)t->capture << 8 | w->kind, what, &fresh);
    if (!place)
        return false;
    if (fresh) {
        struct learn_object o = {.kind = w->kind, .capture = t->capture, .what = what, .group = t->group};
        o.waiter = waiting_method(a, c);
        *place = equal_object(a, &o);
        if (*place == LEARN_NONE) {
            if (!strobe_array_reserve(&a->objects, &a->object_room, a->object_count + 1))
                return false;
            *place = a->object_count;
            a->objects[a->object_count++] = o;
        }
    }
    if (w->kind == STROBE_KIND_PARK && w->what != what) { /* found by the thread's own number, too */
        uint32_t object = *place;
        place = strobe_idmap_put(&a->object_ids, (uint64_t)t->capture << 8 | w->kind, w->what, &fresh);
        if (!place)
            return false;
        *place = object;
    }
    struct learn_object *o = &a->objects[*place];
    o->waits++;
    o->wakes += w->waker != SIM_NOBODY;
    o->wait_ns += w->end_ns - w->begin_ns;
    return true;
}

/* ---- marks ---- */

static bool add_mark(struct learn_app *a, struct learn_mark m)
{
    if (!strobe_array_reserve(&a->marks, &a->mark_room, a->mark_count + 1))
        return false;
    a->marks[a->mark_count++] = m;
    return true;
}

uint32_t sim_learn_thread_of_track(const struct learn_app *a, uint32_t capture, int32_t track)
{
    uint32_t thread = (uint32_t)track;
    for (uint32_t c = 0; c < capture; c++)
        thread += (uint32_t)a->captures[c].track_count;
    return thread;
}

/* Adds the mark of the thread that ended a wait. */
static bool mark_waker(struct learn_app *a, const struct learn_call *c, const struct sim_wait *w)
{
    uint32_t capture = a->threads[c->thread].capture;
    struct learn_mark m = {.time_ns = w->release_ns,
                           .ns = 1,
                           .thread = sim_learn_thread_of_track(a, capture, w->waker),
                           .object = sim_learn_object_of(a, capture, w)};
    switch (w->kind) {
    case STROBE_KIND_MUTEX:
    case STROBE_KIND_RWLOCK:
    case STROBE_KIND_MONITOR: m.kind = LEARN_MARK_UNLOCK; break;
    case STROBE_KIND_COND:
    case STROBE_KIND_SEM:
    case STROBE_KIND_PARK: m.kind = LEARN_MARK_WAKE; break;
    case STROBE_KIND_POLL:
        if (c->next == LEARN_NONE || a->calls[c->next].class != SIM_CALL_METHOD || c->parent == LEARN_NONE ||
            !sim_learn_is_looper(a, c->parent))
            return true;
        m.kind = LEARN_MARK_POST;
        m.object = a->calls[c->next].name;
        break;
    case STROBE_KIND_GC:
        m.kind = LEARN_MARK_GC;
        m.object = 0;
        m.ns = w->release_ns - w->begin_ns;
        break;
    default: return true;
    }
    return a->threads[m.thread].group == LEARN_NONE || add_mark(a, m);
}

static int compare_marks(const void *left, const void *right)
{
    const struct learn_mark *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->object != b->object ? (a->object < b->object ? -1 : 1) : (a->ns > b->ns) - (a->ns < b->ns);
}

/* Sorts the marks. One event that woke several threads becomes one mark: its ns is their number, or for a collection
 * the longest stop. */
static void join_marks(struct learn_app *a)
{
    uint32_t kept = 0;
    if (a->mark_count)
        qsort(a->marks, a->mark_count, sizeof *a->marks, compare_marks);
    for (uint32_t i = 0; i < a->mark_count; i++) {
        struct learn_mark m = a->marks[i], *last = kept ? &a->marks[kept - 1] : NULL;
        bool same = last && last->thread == m.thread && last->time_ns == m.time_ns && last->kind == m.kind &&
                    last->object == m.object;
        if (!same || m.kind == LEARN_MARK_SPAWN || m.kind == LEARN_MARK_POST)
            a->marks[kept++] = m;
        else if (m.kind == LEARN_MARK_GC)
            last->ns = m.ns > last->ns ? m.ns : last->ns;
        else
            last->ns += m.ns;
    }
    a->mark_count = kept;
    for (uint32_t i = 0, m = 0; i < a->thread_count; i++) {
        a->threads[i].first_mark = m;
        while (m < kept && a->marks[m].thread == i)
            m++;
        a->threads[i].end_mark = m;
    }
}

/* ---- who starts threads ---- */

/* Returns the method of another thread that computed at the start of thread `started`, as its call. A thread of a group
 * that waits for ends of such threads is preferred, then the method with the most hits. */
static uint32_t spawner_at(const struct learn_app *a, uint32_t started, const uint32_t *hits, bool chosen_only)
{
    const struct learn_thread *s = &a->threads[started];
    uint64_t time_ns = s->track->begin_ns;
    uint32_t best = LEARN_NONE;
    bool best_joins = false;
    for (uint32_t i = 0; i < a->thread_count; i++) {
        const struct learn_thread *t = &a->threads[i];
        if (t->capture != s->capture || t->group == s->group || t->group == LEARN_NONE ||
            t->track->begin_ns >= time_ns || t->track->end_ns < time_ns)
            continue;
        uint32_t call = sim_learn_running_at(a, t, time_ns);
        if (call == LEARN_NONE || (chosen_only && !hits[a->calls[call].name]))
            continue;
        bool joins = a->joins[t->group * a->group_count + s->group];
        if (best == LEARN_NONE || joins > best_joins ||
            (joins == best_joins && hits[a->calls[call].name] > hits[a->calls[best].name])) {
            best = call;
            best_joins = joins;
        }
    }
    return best;
}

/* Counts the methods that other threads were in when threads of the group started. */
static void count_spawners(const struct learn_app *a, const struct learn_group *g, uint32_t *hits)
{
    for (uint32_t i = 0; i < g->thread_count; i++) {
        const struct learn_thread *s = &a->threads[g->threads[i]];
        for (uint32_t k = 0; k < a->thread_count; k++) {
            const struct learn_thread *t = &a->threads[k];
            if (t->capture != s->capture || t->group == s->group || t->group == LEARN_NONE ||
                t->track->begin_ns >= s->track->begin_ns || t->track->end_ns < s->track->begin_ns)
                continue;
            uint32_t call = sim_learn_running_at(a, t, s->track->begin_ns);
            if (call != LEARN_NONE)
                hits[a->calls[call].name]++;
        }
    }
}

/* Keeps the counts of at most SPAWNERS_MAX methods that were open at a quarter of the starts or more. */
static void choose_spawners(const struct learn_app *a, const struct learn_group *g, uint32_t *hits)
{
    for (size_t i = 0; i < a->names.count; i++) {
        uint32_t above = 0;
        for (size_t k = 0; k < a->names.count; k++)
            above += hits[k] > hits[i] || (hits[k] == hits[i] && k < i);
        if (hits[i] * 4 < g->thread_count || above >= SPAWNERS_MAX)
            hits[i] = 0;
    }
}

/* Returns when a thread was started that began at a time: before the wait that its starter has begun meanwhile. */
static uint64_t time_of_start(const struct learn_app *a, uint32_t starter, uint64_t begin_ns)
{
    const struct learn_thread *t = &a->threads[a->calls[starter].thread];
    uint32_t at = sim_learn_last_begun(a, t, begin_ns);
    while (at != LEARN_NONE && a->calls[at].end_ns < begin_ns)
        at = a->calls[at].parent;
    return at != LEARN_NONE && a->calls[at].class == SIM_CALL_WAIT ? a->calls[at].begin_ns : begin_ns;
}

/* True when the threads start over a fifth of the capture or more: those that start together start with the program. */
static bool starts_throughout(const struct learn_app *a, const struct learn_group *g)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (uint32_t i = 0; i < g->thread_count; i++) {
        uint64_t begin = a->threads[g->threads[i]].track->begin_ns;
        first = begin < first ? begin : first;
        last = begin > last ? begin : last;
    }
    return last - first > a->end_ns / 5;
}

/* Marks the starts of a group's threads in the methods that start them, when these are found for most threads. */
static bool mark_starts(struct learn_app *a, uint32_t group)
{
    struct learn_group *g = &a->groups[group];
    uint32_t found = 0;
    if (g->is_main || g->thread_count < SPAWNED_LEAST * a->capture_count || !starts_throughout(a, g))
        return true;
    uint32_t *hits = calloc(a->names.count + 1, sizeof *hits);
    if (!hits)
        return false;
    bool fine = true;
    count_spawners(a, g, hits);
    choose_spawners(a, g, hits);
    for (uint32_t i = 0; i < g->thread_count; i++)
        found += spawner_at(a, g->threads[i], hits, true) != LEARN_NONE;
    g->is_spawned = found * 2 >= g->thread_count;
    for (uint32_t i = 0; fine && g->is_spawned && i < g->thread_count; i++) {
        uint32_t call = spawner_at(a, g->threads[i], hits, true);
        if (call != LEARN_NONE)
            fine = add_mark(
                a, (struct learn_mark){.time_ns = time_of_start(a, call, a->threads[g->threads[i]].track->begin_ns),
                                       .ns = 1,
                                       .thread = a->calls[call].thread,
                                       .object = group,
                                       .kind = LEARN_MARK_SPAWN});
    }
    if (g->is_spawned)
        g->count = (g->thread_count - found) / a->capture_count;
    free(hits);
    return fine;
}

static void note_loopers(struct learn_app *a)
{
    for (uint32_t i = 0; i < a->call_count; i++) {
        const struct learn_call *c = &a->calls[i];
        const struct sim_wait *w = sim_learn_wait_of(a, c);
        uint32_t group = a->threads[c->thread].group;
        if (group == LEARN_NONE || !w)
            continue;
        a->groups[group].managed |= w->kind == STROBE_KIND_GC;
        if (w->kind == STROBE_KIND_POLL && c->parent != LEARN_NONE && !a->groups[group].loops &&
            sim_learn_is_looper(a, c->parent)) {
            a->groups[group].loops = true;
            a->groups[group].queue = sim_learn_object_of(a, a->threads[c->thread].capture, w);
        }
    }
}

/* Notes which groups wait for the end of threads of which others. */
static bool note_joins(struct learn_app *a)
{
    a->joins = calloc((size_t)a->group_count * a->group_count + 1, sizeof *a->joins);
    for (uint32_t i = 0; a->joins && i < a->call_count; i++) {
        const struct sim_wait *w = sim_learn_wait_of(a, &a->calls[i]);
        const struct learn_thread *t = &a->threads[a->calls[i].thread];
        if (!w || w->kind != STROBE_KIND_THREAD || w->waker == SIM_NOBODY || t->group == LEARN_NONE)
            continue;
        uint32_t ended = a->threads[sim_learn_thread_of_track(a, t->capture, w->waker)].group;
        if (ended != LEARN_NONE)
            a->joins[t->group * a->group_count + ended] = true;
    }
    return a->joins != NULL;
}

/* ---- releases of locks ---- */

/* Counts the waits for each lock in each method: (name, object) -> number. */
static bool count_lock_waits(const struct learn_app *a, struct strobe_idmap *out)
{
    for (uint32_t i = 0; i < a->call_count; i++) {
        const struct sim_wait *w = sim_learn_wait_of(a, &a->calls[i]);
        bool is_lock =
            w && (w->kind == STROBE_KIND_MUTEX || w->kind == STROBE_KIND_RWLOCK || w->kind == STROBE_KIND_MONITOR);
        uint32_t object = is_lock ? sim_learn_object_of(a, a->threads[a->calls[i].thread].capture, w) : LEARN_NONE;
        int fresh;
        uint32_t *count =
            object == LEARN_NONE ? NULL : strobe_idmap_put(out, waiting_method(a, &a->calls[i]), object, &fresh);
        if (object != LEARN_NONE && !count)
            return false;
        if (count)
            ++*count;
    }
    return true;
}

static bool waits_for_lock(const struct learn_app *a, const struct strobe_idmap *waits, uint32_t call, uint32_t object)
{
    const uint32_t *count = strobe_idmap_get(waits, a->calls[call].name, object);
    return count && (uint64_t)*count * WAITERS_PART > a->objects[object].waits;
}

/* Returns the call in `call` that ended last before a time, or LEARN_NONE. */
static uint32_t ended_before(const struct learn_app *a, const struct learn_thread *t, uint32_t call, uint64_t time_ns)
{
    uint32_t at = sim_learn_last_begun(a, t, time_ns);
    while (at != LEARN_NONE && at != call && a->calls[at].parent != call)
        at = a->calls[at].parent;
    return at == call || at == LEARN_NONE || a->calls[at].end_ns > time_ns ? LEARN_NONE : at;
}

/* A sample may show another method at a release than the one that holds the lock. A release belongs to a method that
 * waits for the lock when one is on the stack, or has returned right before. False: the mark is of no use. */
static bool place_release(const struct learn_app *a, const struct strobe_idmap *waits, struct learn_mark *m)
{
    const struct learn_thread *t = &a->threads[m->thread];
    uint32_t call = sim_learn_method_at(a, t, m->time_ns);
    if (call == LEARN_NONE || waits_for_lock(a, waits, call, m->object))
        return call != LEARN_NONE;
    uint32_t before = ended_before(a, t, call, m->time_ns);
    if (a->is_sampled && before != LEARN_NONE && a->calls[before].end_ns + RELEASE_LATE_NS >= m->time_ns &&
        waits_for_lock(a, waits, before, m->object)) {
        m->time_ns = a->calls[before].end_ns;
        return true;
    }
    for (uint32_t inner = call, outer = a->calls[call].parent; outer != LEARN_NONE;
         inner = outer, outer = a->calls[outer].parent)
        if (waits_for_lock(a, waits, outer, m->object)) {
            m->time_ns = a->calls[inner].end_ns + 1;
            return m->time_ns <= a->calls[outer].end_ns;
        }
    return true;
}

static bool place_releases(struct learn_app *a)
{
    struct strobe_idmap waits = {0};
    uint32_t kept = 0;
    bool fine = count_lock_waits(a, &waits);
    for (uint32_t i = 0; fine && i < a->mark_count; i++) {
        struct learn_mark m = a->marks[i];
        if (m.kind != LEARN_MARK_UNLOCK || m.object == LEARN_NONE || place_release(a, &waits, &m))
            a->marks[kept++] = m;
    }
    a->mark_count = fine ? kept : a->mark_count;
    strobe_idmap_free(&waits);
    return fine;
}

bool sim_learn_app_mark(struct learn_app *a)
{
    if (!note_joins(a))
        return false;
    for (uint32_t i = 0; i < a->call_count; i++) {
        const struct sim_wait *w = sim_learn_wait_of(a, &a->calls[i]);
        if (w && kind_has_object(w->kind) && has_known_object(w) &&
            a->threads[a->calls[i].thread].group != LEARN_NONE && !add_object(a, &a->calls[i], w))
            return false;
    }
    note_loopers(a);
    for (uint32_t i = 0; i < a->call_count; i++) {
        const struct sim_wait *w = sim_learn_wait_of(a, &a->calls[i]);
        if (w && w->waker != SIM_NOBODY && !mark_waker(a, &a->calls[i], w))
            return false;
    }
    if (!place_releases(a))
        return false;
    for (uint32_t g = 0; g < a->group_count; g++)
        if (!mark_starts(a, g))
            return false;
    join_marks(a);
    return true;
}
