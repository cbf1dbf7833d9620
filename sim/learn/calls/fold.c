#include "sim/learn/calls/fold.h"

#include "engine/util/array.h"

#include <stdlib.h>

struct fold_context {
    uint32_t parent;          /* LEARN_NONE: outermost */
    uint64_t own_ns, lock_ns; /* lock_ns: waits for locks */
    uint64_t polls, others;   /* polls in it; calls of methods that are no wrappers of polls */
    uint64_t calls;
    bool stays, is_folded, drops_locks;
};

struct folder {
    struct learn_app *a;
    struct fold_context *contexts;
    uint32_t count, room;
    struct strobe_idmap ids; /* (context of the caller or group, name) -> context */
    uint32_t *of;            /* by call: context; of a wait or unseen time: that of its caller */
};

/* A context that waits for locks for this part of all threads' time stays; shorter waits for locks are left out. */
enum { FOLD_LOCK_PART = 100, FOLD_OTHERS_PART = 10 };

/* Returns the context of a method's call, or LEARN_NONE: out of memory. */
static uint32_t find_fold_context(struct folder *f, const struct learn_call *c)
{
    bool is_root = c->parent == LEARN_NONE;
    uint64_t in = is_root ? (uint64_t)1 << 32 | f->a->threads[c->thread].group : f->of[c->parent];
    int fresh;
    uint32_t *place = strobe_idmap_put(&f->ids, in, c->name, &fresh);
    if (!place)
        return LEARN_NONE;
    if (fresh) {
        if (!strobe_array_reserve(&f->contexts, &f->room, f->count + 1))
            return LEARN_NONE;
        f->contexts[f->count] = (struct fold_context){.parent = is_root ? LEARN_NONE : f->of[c->parent]};
        *place = f->count++;
    }
    return *place;
}

static bool is_fold_lock(const struct sim_wait *w)
{
    return w->kind == STROBE_KIND_MUTEX || w->kind == STROBE_KIND_RWLOCK || w->kind == STROBE_KIND_MONITOR;
}

static bool list_fold_contexts(struct folder *f)
{
    const struct learn_app *a = f->a;
    for (uint32_t i = 0; i < a->call_count; i++) {
        const struct learn_call *c = &a->calls[i];
        uint64_t ns = c->end_ns - c->begin_ns;
        bool is_method = c->class == SIM_CALL_METHOD;
        f->of[i] = is_method || c->parent == LEARN_NONE ? find_fold_context(f, c) : f->of[c->parent];
        if (f->of[i] == LEARN_NONE)
            return false;
        struct fold_context *here = &f->contexts[f->of[i]];
        bool in_loop = c->parent != LEARN_NONE && a->calls[c->parent].loops;
        here->stays |= c->parent == LEARN_NONE || c->loops || (is_method && in_loop);
        if (!is_method) {
            const struct sim_wait *w = sim_learn_wait_of(a, c);
            here->lock_ns += w && is_fold_lock(w) ? ns : 0;
            here->polls += w && w->kind == STROBE_KIND_POLL && w->what;
            continue;
        }
        here->calls++;
        here->own_ns += ns;
        if (c->parent != LEARN_NONE)
            f->contexts[f->of[c->parent]].own_ns -= ns;
    }
    return true;
}

/* Callers have lower numbers than what they call, so one pass from the last to the first moves all own times up. */
static void choose_folded(struct folder *f, uint64_t least_ns, struct learn_folded *out)
{
    *out = (struct learn_folded){.contexts = f->count, .kept = f->count};
    for (uint32_t i = f->count; i-- > 0;) {
        struct fold_context *c = &f->contexts[i];
        bool waits = c->lock_ns > f->a->thread_ns / FOLD_LOCK_PART;
        c->drops_locks = !waits;
        out->lock_ns += waits ? 0 : c->lock_ns;
        if (c->stays || waits || c->own_ns >= least_ns)
            continue;
        c->is_folded = true;
        f->contexts[c->parent].own_ns += c->own_ns;
        out->kept--;
        out->ns += c->own_ns;
    }
}

static bool is_call_folded(const struct folder *f, uint32_t call)
{
    return f->a->calls[call].class == SIM_CALL_METHOD && f->contexts[f->of[call]].is_folded;
}

static bool is_call_dropped(const struct folder *f, uint32_t call)
{
    const struct sim_wait *w = sim_learn_wait_of(f->a, &f->a->calls[call]);
    return w && is_fold_lock(w) && f->contexts[f->of[call]].drops_locks;
}

/* Moves the calls that stay to the front, and links them to the nearest caller that stays. `last`: by new number, the
 * last call in a call. `moved`: by old number, the new one, of a folded call that of its caller. */
static void keep_calls(struct folder *f, uint32_t *moved, uint32_t *last)
{
    struct learn_app *a = f->a;
    uint32_t kept = 0;
    for (uint32_t t = 0; t < a->thread_count; t++) {
        struct learn_thread *thread = &a->threads[t];
        uint32_t first = kept;
        for (uint32_t i = thread->first_call; i < thread->end_call; i++) {
            struct learn_call c = a->calls[i];
            uint32_t parent = c.parent == LEARN_NONE ? LEARN_NONE : moved[c.parent];
            if (is_call_folded(f, i) || is_call_dropped(f, i)) {
                moved[i] = parent;
                continue;
            }
            c.parent = parent;
            c.first = c.next = last[kept] = LEARN_NONE;
            if (parent != LEARN_NONE && last[parent] == LEARN_NONE)
                a->calls[parent].first = kept;
            else if (parent != LEARN_NONE)
                a->calls[last[parent]].next = kept;
            if (parent != LEARN_NONE)
                last[parent] = kept;
            a->calls[kept] = c;
            moved[i] = kept++;
        }
        thread->first_call = first;
        thread->end_call = kept;
    }
    a->call_count = kept;
}

/* Chooses contexts that only wrap polls. Callers have lower numbers, so what is in a context is known before it. */
static uint32_t choose_wrappers(struct folder *f)
{
    uint32_t count = 0;
    for (uint32_t i = f->count; i-- > 0;) {
        struct fold_context *c = &f->contexts[i];
        c->is_folded = c->parent != LEARN_NONE && c->polls * 2 > c->calls && c->others * FOLD_OTHERS_PART < c->polls;
        count += c->is_folded;
        if (c->parent == LEARN_NONE)
            continue;
        f->contexts[c->parent].polls += c->is_folded ? c->polls : 0;
        f->contexts[c->parent].others += c->is_folded ? 0 : c->calls;
    }
    return count;
}

static bool open_folder(struct folder *f)
{
    f->of = malloc((f->a->call_count + 1) * sizeof *f->of);
    return f->of && list_fold_contexts(f);
}

/* Applies the choice, and closes the folder. */
static bool close_folder(struct folder *f, bool applies)
{
    size_t count = (size_t)f->a->call_count + 1;
    uint32_t *moved = applies ? malloc(count * sizeof *moved) : NULL;
    uint32_t *last = applies ? malloc(count * sizeof *last) : NULL;
    bool fine = !applies || (moved && last);
    if (applies && fine)
        keep_calls(f, moved, last);
    free(moved);
    free(last);
    strobe_idmap_free(&f->ids);
    free(f->contexts);
    free(f->of);
    return fine;
}

bool sim_learn_hoist_polls(struct learn_app *a)
{
    struct folder f = {.a = a};
    bool fine = open_folder(&f);
    return close_folder(&f, fine && choose_wrappers(&f)) && fine;
}

bool sim_learn_fold(struct learn_app *a, uint64_t least_ns, struct learn_folded *out)
{
    struct folder f = {.a = a};
    bool fine = open_folder(&f);
    if (fine)
        choose_folded(&f, least_ns, out);
    return close_folder(&f, fine) && fine;
}
