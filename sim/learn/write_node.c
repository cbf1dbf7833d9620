#include "sim/learn/writer.h"

#include "sim/app/syntax.h"

#include <stdlib.h>

enum { LEARN_WEIGHT_MAX = 100000, LEARN_INDENT = 4 };

/* Time below which the executions of a method are written as computing of their caller: a part of all threads' time. */
enum { LEARN_LEAST_PART = 50000 };

/* Samples of one slot, of the instances of a subset. */
struct slot_sample {
    uint64_t *ns, *counts;
    size_t ns_count, instances;
    size_t woken;
    uint64_t sum_ns;
};

static bool is_in(struct learn_subset s, uint32_t instance)
{
    return !s.in || s.in[instance];
}

/* Collects durations and counts. Of waits that others end, the durations are those that ended by their timeout. */
static bool sample_slot(const struct learn_slot *s, struct learn_subset subset, struct slot_sample *out)
{
    uint32_t last = LEARN_NONE;
    *out = (struct slot_sample){.ns = malloc((s->count + 1) * sizeof *out->ns),
                                .counts = malloc((s->count + 1) * sizeof *out->counts)};
    if (!out->ns || !out->counts)
        return false;
    for (size_t i = 0; i < s->count; i++) {
        const struct learn_entry *e = &s->entries[i];
        if (!is_in(subset, e->instance))
            continue;
        if (e->instance != last)
            out->counts[out->instances++] = 0;
        last = e->instance;
        out->counts[out->instances - 1]++;
        out->woken += e->woken;
        out->sum_ns += e->ns;
        out->ns[out->ns_count++] = e->ns;
    }
    return true;
}

static void free_slot_sample(struct slot_sample *s)
{
    free(s->ns);
    free(s->counts);
}

/* ---- waits ---- */

struct wait_form {
    const char *text;
    bool is_same; /* the wait has its own name in the replay */
};

/* The operations of waits that take a time. */
static const struct wait_form wait_forms[STROBE_KIND_COUNT] = {
    [STROBE_KIND_READ] = {"read 4KiB takes", true}, [STROBE_KIND_WRITE] = {"write 4KiB takes", true},
    [STROBE_KIND_OPEN] = {"open takes", true},      [STROBE_KIND_SYNC] = {"sync takes", true},
    [STROBE_KIND_NET] = {"net 4KiB takes", true},   [STROBE_KIND_IPC] = {"ipc takes", true},
    [STROBE_KIND_SLEEP] = {"sleep", true},
};

/* Keeps the durations of waits that nobody ended, or of all when there are none. */
static void keep_timeouts(const struct learn_slot *s, struct learn_subset subset, struct slot_sample *sample)
{
    if (!sample->woken)
        return;
    sample->ns_count = 0;
    for (size_t i = 0; i < s->count; i++)
        if (is_in(subset, s->entries[i].instance) && !s->entries[i].woken)
            sample->ns[sample->ns_count++] = s->entries[i].ns;
    if (sample->ns_count)
        return;
    uint64_t most = 0;
    for (size_t i = 0; i < s->count; i++)
        most = s->entries[i].ns > most ? s->entries[i].ns : most;
    sample->ns[sample->ns_count++] = 4 * most + 1000000;
}

static void put_timeout_sample(struct learn_writer *w, const struct learn_slot *s, struct learn_subset subset,
                               struct slot_sample *sample, struct sim_text *body)
{
    if (!w->plan->tuning->timed[s->what])
        keep_timeouts(s, subset, sample);
    sim_text_put(body, " timeout");
    sim_learn_put_sample(w, body, sample->ns, sample->ns_count, w->plan->tuning->shift_ns[s->sub]);
    sim_text_put(body, "\n");
}

/* Returns the word before the number of the innermost lock held here, when a wait for a condition may release it. */
static const char *name_of_held(const struct learn_writer *w)
{
    enum strobe_kind kind =
        w->held_count && w->holds_here ? w->a->objects[w->held[w->held_count - 1]].kind : STROBE_KIND_NONE;
    return kind == STROBE_KIND_MUTEX ? "mutex" : kind == STROBE_KIND_MONITOR ? "monitor" : NULL;
}

static void put_wait_op(struct learn_writer *w, const struct learn_slot *s, struct learn_subset subset,
                        struct slot_sample *sample, struct sim_text *body, int indent)
{
    const struct wait_form *form = &wait_forms[s->sub];
    sim_text_put(body, "%*s", indent, "");
    if (s->what != LEARN_NONE && s->sub == STROBE_KIND_COND) {
        const char *held = name_of_held(w);
        if (held)
            sim_text_put(body, "wait cond_%u holding %s_%u", s->what, held, w->held[w->held_count - 1]);
        else
            sim_text_put(body, "lock cond_%u_lock { wait cond_%u holding cond_%u_lock", s->what, s->what, s->what);
        put_timeout_sample(w, s, subset, sample, body);
        if (!held)
            sim_text_put(body, "%*s}\n", indent, "");
    } else if (s->what != LEARN_NONE && s->sub == STROBE_KIND_SEM) {
        sim_text_put(body, "acquire sem_%u", s->what);
        put_timeout_sample(w, s, subset, sample, body);
    } else if (s->what != LEARN_NONE && s->sub == STROBE_KIND_PARK) {
        sim_text_put(body, "park");
        put_timeout_sample(w, s, subset, sample, body);
    } else if (s->what < w->a->group_count && s->sub == STROBE_KIND_THREAD && w->a->groups[s->what].is_spawned) {
        sim_text_put(body, "join");
        sim_learn_put_name(body, w->a->groups[s->what].name);
        sim_text_put(body, "\n");
    } else {
        if (!form->is_same)
            w->plan->losses.as_others[s->sub] += sample->ns_count;
        sim_text_put(body, "%s", form->text ? form->text : "sleep");
        sim_learn_put_sample(w, body, sample->ns, sample->ns_count,
                             w->plan->tuning->shift_ns[form->text ? s->sub : (uint32_t)STROBE_KIND_SLEEP]);
        sim_text_put(body, "\n");
    }
}

/* ---- marks ---- */

static const struct learn_posted *posted_of(const struct learn_writer *w, uint32_t name)
{
    for (size_t i = 0; i < w->posted_count; i++)
        if (w->posted[i].name == name)
            return &w->posted[i];
    return NULL;
}

/* Posts one message, and as many more as were posted while the loop was busy: no wake-up shows those. */
static void put_post_op(struct learn_writer *w, uint32_t name, struct sim_text *body, int indent)
{
    const struct learn_posted *p = posted_of(w, name);
    if (!p || !p->key[0] || !p->marks)
        return;
    uint64_t parts = p->messages * 1000 / p->marks, whole = parts / 1000, part = parts % 1000;
    struct sim_text op = {0};
    sim_text_put(&op, "post");
    sim_learn_put_name(&op, p->key);
    sim_text_put(&op, " to queue_%u", p->group);
    if (op.text && whole == 1)
        sim_text_put(body, "%*s%s\n", indent, "", op.text);
    else if (op.text && whole)
        sim_text_put(body, "%*srepeat %llu { %s }\n", indent, "", (unsigned long long)whole, op.text);
    if (op.text && part)
        sim_text_put(body, "%*schoose { %llu { %s } %llu { } }\n", indent, "", (unsigned long long)part, op.text,
                     (unsigned long long)(1000 - part));
    w->failed |= op.failed;
    free(op.text);
}

static void put_mark(struct learn_writer *w, const struct learn_slot *s, struct slot_sample *sample,
                     struct sim_text *body, int indent)
{
    const struct learn_object *o = s->what < w->a->object_count ? &w->a->objects[s->what] : NULL;
    switch ((enum learn_mark_kind)s->sub) {
    case LEARN_MARK_UNLOCK: return;
    case LEARN_MARK_POST: put_post_op(w, s->what, body, indent); return;
    case LEARN_MARK_SPAWN:
        sim_text_put(body, "%*sspawn", indent, "");
        sim_learn_put_name(body, w->a->groups[s->what].name);
        break;
    case LEARN_MARK_GC:
        sim_text_put(body, "%*sgc takes", indent, "");
        sim_learn_put_sample(w, body, sample->ns, sample->ns_count, 0);
        break;
    case LEARN_MARK_WAKE:
        if (!o || w->plan->tuning->timed[s->what])
            return;
        sim_text_put(body, "%*s", indent, "");
        if (o->kind == STROBE_KIND_COND)
            sim_text_put(body, sample->sum_ns * 2 > sample->ns_count * 3 ? "notify_all cond_%u" : "notify cond_%u",
                         s->what);
        else if (o->kind == STROBE_KIND_SEM)
            sim_text_put(body, "release sem_%u", s->what);
        else {
            sim_text_put(body, "unpark");
            sim_learn_put_name(body, w->a->groups[o->group].name);
        }
        break;
    }
    sim_text_put(body, "\n");
}

void sim_learn_put_allocations(const struct learn_app *a, uint32_t group, uint64_t rounds, struct sim_text *body,
                               int indent)
{
    uint64_t count = 0, bytes = 0;
    for (uint32_t i = 0; i < a->groups[group].thread_count; i++) {
        const struct sim_track *t = a->threads[a->groups[group].threads[i]].track;
        count += t->known_alloc ? t->totals.allocations : 0;
        bytes += t->known_alloc ? t->totals.alloc_bytes : 0;
    }
    if (!count || !rounds || count / rounds >= SIM_TIMES_MAX)
        return;
    uint64_t each = bytes / count, parts = count % rounds * 1000 / rounds;
    each = each < 1 ? 1 : each < SIM_BYTES_MAX ? each : SIM_BYTES_MAX;
    if (count / rounds)
        sim_text_put(body, "%*srepeat %llu { alloc %llu; free 1 }\n", indent, "", (unsigned long long)(count / rounds),
                     (unsigned long long)each);
    if (parts)
        sim_text_put(body, "%*schoose { %llu { alloc %llu; free 1 } %llu { } }\n", indent, "",
                     (unsigned long long)parts, (unsigned long long)each, (unsigned long long)(1000 - parts));
}

/* ---- calls ---- */

static struct learn_span span_of_entry(const struct learn_app *a, const struct learn_entry *e)
{
    return (struct learn_span){e->begin_ns, e->begin_ns + e->ns, e->call,
                               sim_learn_next_call_in(a, e->call, e->begin_ns)};
}

static void put_call(struct learn_writer *w, const struct learn_node *n, const struct learn_slot *s,
                     struct learn_subset subset, struct slot_sample *sample, struct sim_text *body, int indent)
{
    char key[LEARN_KEY_BYTES];
    if (w->depth >= LEARN_DEPTH_MAX || sample->sum_ns < w->a->thread_ns / LEARN_LEAST_PART) {
        w->plan->losses.methods++;
        w->plan->losses.method_ns += sample->sum_ns;
        sim_text_put(body, "%*scompute", indent, "");
        sim_learn_put_sample(w, body, sample->ns, sample->ns_count, 0);
        sim_text_put(body, "\n");
        return;
    }
    struct learn_span *spans = malloc((sample->ns_count + 1) * sizeof *spans);
    uint32_t count = 0;
    for (size_t i = 0; spans && i < s->count; i++)
        if (is_in(subset, s->entries[i].instance))
            spans[count++] = span_of_entry(n->app, &s->entries[i]);
    bool held_here = w->holds_here;
    w->holds_here = false;
    w->depth++;
    sim_learn_put_spans(w, s->what, spans, count, key);
    w->depth--;
    w->holds_here = held_here;
    sim_text_put(body, "%*scall", indent, "");
    sim_learn_put_name(body, key);
    sim_text_put(body, "\n");
}

/* ---- bodies ---- */

static bool slot_is_silent(const struct learn_writer *w, const struct learn_slot *s)
{
    if (s->kind == LEARN_SLOT_MARK)
        return s->sub == LEARN_MARK_UNLOCK || (s->sub == LEARN_MARK_WAKE && w->plan->tuning->timed[s->what]) ||
               (s->sub == LEARN_MARK_POST && (!posted_of(w, s->what) || !posted_of(w, s->what)->key[0]));
    return s->kind == LEARN_SLOT_WAIT && sim_learn_is_lock((enum strobe_kind)s->sub);
}

/* Returns the slot of what is computed after a repeated slot, when nearly all instances have it. */
static const struct learn_slot *computed_after(const struct learn_node *n, const struct learn_slot *s)
{
    for (uint32_t i = 0; i < n->slot_count; i++)
        if (n->slots[i].kind == LEARN_SLOT_COMPUTE && n->slots[i].what == s->id && s->kind != LEARN_SLOT_COMPUTE)
            return s->count > s->places && n->slots[i].places * 10 > s->places * 9 ? &n->slots[i] : NULL;
    return NULL;
}

/* True for computing that is written within the loop around the slot before it. */
static bool is_in_loop(const struct learn_node *n, const struct learn_slot *s)
{
    if (s->kind != LEARN_SLOT_COMPUTE || s->what == LEARN_NONE)
        return false;
    for (uint32_t i = 0; i < n->slot_count; i++)
        if (n->slots[i].id == s->what)
            return computed_after(n, &n->slots[i]) == s;
    return false;
}

/* Puts the computing of one round of a loop. */
static void put_computed_part(struct learn_writer *w, const struct learn_slot *s, struct learn_subset subset,
                              size_t rounds, struct sim_text *body, int indent)
{
    struct slot_sample sample;
    if (!sample_slot(s, subset, &sample)) {
        w->failed = true;
    } else if (sample.ns_count) {
        double part = (double)sample.ns_count / (double)rounds;
        for (size_t i = 0; i < sample.ns_count; i++)
            sample.ns[i] = (uint64_t)((double)sample.ns[i] * part + 0.5);
        sim_text_put(body, "%*scompute", indent, "");
        sim_learn_put_sample(w, body, sample.ns, sample.ns_count, 0);
        sim_text_put(body, "\n");
    }
    free_slot_sample(&sample);
}

static void put_slot_once(struct learn_writer *w, const struct learn_node *n, const struct learn_slot *s,
                          struct learn_subset subset, struct slot_sample *sample, struct sim_text *body, int indent)
{
    switch (s->kind) {
    case LEARN_SLOT_COMPUTE:
        sim_text_put(body, "%*scompute", indent, "");
        sim_learn_put_sample(w, body, sample->ns, sample->ns_count, 0);
        sim_text_put(body, "\n");
        break;
    case LEARN_SLOT_CALL: put_call(w, n, s, subset, sample, body, indent); break;
    case LEARN_SLOT_WAIT: put_wait_op(w, s, subset, sample, body, indent); break;
    case LEARN_SLOT_MARK: put_mark(w, s, sample, body, indent); break;
    }
}

/* Puts a slot: in a choice when not all instances have it, in a loop when some have it several times. */
static void put_slot(struct learn_writer *w, const struct learn_node *n, const struct learn_slot *s,
                     struct learn_subset subset, struct sim_text *body, int indent)
{
    struct slot_sample sample;
    const struct learn_slot *after = computed_after(n, s);
    if (slot_is_silent(w, s) || is_in_loop(n, s))
        return;
    if (!sample_slot(s, subset, &sample)) {
        w->failed = true;
    } else if (s->kind != LEARN_SLOT_MARK && sample.sum_ns < w->plan->least_ns) {
        w->plan->losses.left_out_ns += sample.sum_ns;
    } else if (sample.instances) {
        uint64_t all = subset.count, some = sample.instances;
        bool is_choice = some<all, repeats = sample.ns_count> sample.instances;
        while (all > LEARN_WEIGHT_MAX) {
            all = (all + 1) / 2;
            some = (some + 1) / 2;
        }
        if (is_choice) {
            sim_text_put(body, "%*schoose { %llu {\n", indent, "", (unsigned long long)some);
            indent += LEARN_INDENT;
        }
        if (repeats) {
            sim_text_put(body, "%*srepeat", indent, "");
            sim_learn_put_counts(w, body, sample.counts, sample.instances);
            sim_text_put(body, " {\n");
            indent += LEARN_INDENT;
        }
        size_t rounds = sample.ns_count;
        put_slot_once(w, n, s, subset, &sample, body, indent);
        if (after)
            put_computed_part(w, after, subset, rounds, body, indent);
        if (repeats)
            sim_text_put(body, "%*s}\n", indent -= LEARN_INDENT, "");
        if (is_choice)
            sim_text_put(body, "%*s} %llu { } }\n", indent - LEARN_INDENT, "",
                         (unsigned long long)(all > some ? all - some : 1));
    }
    free_slot_sample(&sample);
}

/* The locks of a node, each held from one slot to another. Parts nest. */
struct held_part {
    uint32_t object, first, end;
};

static bool may_hold(const struct learn_writer *w, uint32_t object)
{
    for (uint32_t i = 0; i < w->held_count; i++)
        if (w->held[i] >= object)
            return false; /* locks are taken in one order, and only once: no deadlock */
    return w->held_count < LEARN_HELD_MAX;
}

static uint32_t find_held_parts(const struct learn_writer *w, const struct learn_node *n, struct held_part *out)
{
    uint32_t count = 0;
    for (size_t i = 0; i < w->site_count && count < LEARN_HELD_MAX; i++) {
        struct held_part p = {.object = w->sites[i].object};
        if (may_hold(w, p.object) && sim_learn_held_part(n, &w->sites[i], &p.first, &p.end) && p.first < p.end)
            out[count++] = p;
    }
    return count;
}

static const char *lock_word(enum strobe_kind kind)
{
    return kind == STROBE_KIND_MONITOR  ? "synchronized monitor"
           : kind == STROBE_KIND_RWLOCK ? "write_lock rwlock"
                                        : "lock mutex";
}

static void put_slots(struct learn_writer *w, const struct learn_node *n, struct learn_subset subset,
                      struct held_part *parts, uint32_t part_count, uint32_t first, uint32_t end, struct sim_text *body,
                      int indent)
{
    for (uint32_t i = first; i < end;) {
        uint32_t p = 0;
        while (p < part_count && (parts[p].object == LEARN_NONE || parts[p].first != i))
            p++;
        if (p == part_count) {
            put_slot(w, n, &n->slots[i++], subset, body, indent);
            continue;
        }
        struct held_part part = parts[p];
        parts[p].object = LEARN_NONE;
        if (!may_hold(w, part.object))
            continue;
        uint32_t until = part.end < end ? part.end : end;
        sim_text_put(body, "%*s%s_%u {\n", indent, "", lock_word(w->a->objects[part.object].kind), part.object);
        bool held_here = w->holds_here;
        w->held[w->held_count++] = part.object;
        w->holds_here = true;
        put_slots(w, n, subset, parts, part_count, i, until, body, indent + LEARN_INDENT);
        w->holds_here = held_here;
        w->held_count--;
        sim_text_put(body, "%*s}\n", indent, "");
        i = until;
    }
}

/* Marks the instances that hold the lock: those with a release that others waited for, and those that last at most
 * `most_ns` in the held part. Returns their number. */
static uint32_t find_holders(const struct learn_node *n, struct learn_subset subset, const struct held_part *part,
                             uint64_t most_ns, bool *holds, uint64_t *ns)
{
    uint32_t count = 0;
    for (uint32_t i = part->first; i < part->end; i++)
        for (size_t e = 0; e < n->slots[i].count; e++)
            ns[n->slots[i].entries[e].instance] += n->slots[i].kind == LEARN_SLOT_MARK ? 0 : n->slots[i].entries[e].ns;
    for (uint32_t i = 0; i < n->instances; i++)
        holds[i] = ns[i] <= most_ns;
    for (uint32_t i = 0; i < n->slot_count; i++)
        if (n->slots[i].kind == LEARN_SLOT_MARK && n->slots[i].sub == LEARN_MARK_UNLOCK &&
            n->slots[i].what == part->object)
            for (size_t e = 0; e < n->slots[i].count; e++)
                holds[n->slots[i].entries[e].instance] = true;
    for (uint32_t i = 0; i < n->instances; i++) {
        holds[i] = holds[i] && is_in(subset, i);
        count += holds[i];
    }
    return count;
}

/* Puts a choice of two bodies: of the instances that hold the lock, and of those that only take it. */
static void put_holders(struct learn_writer *w, const struct learn_node *n, struct learn_subset subset, bool *holds,
                        uint32_t count, struct held_part *parts, uint32_t part_count, struct sim_text *body, int indent)
{
    const struct held_part first = parts[0];
    const char *word = lock_word(w->a->objects[first.object].kind);
    bool choice = count && count < subset.count;
    int inner = choice ? indent + LEARN_INDENT : indent;
    if (choice)
        sim_text_put(body, "%*schoose { %u {\n", indent, "", count);
    if (count)
        put_slots(w, n, (struct learn_subset){holds, count}, parts, part_count, 0, n->slot_count, body, inner);
    if (choice)
        sim_text_put(body, "%*s} %u {\n", indent, "", subset.count - count);
    for (uint32_t i = 0; i < n->instances; i++)
        holds[i] = !holds[i] && is_in(subset, i);
    if (count < subset.count) {
        sim_text_put(body, "%*s%s_%u { }\n", inner, "", word, first.object);
        put_slots(w, n, (struct learn_subset){holds, subset.count - count}, NULL, 0, 0, n->slot_count, body, inner);
    }
    if (choice)
        sim_text_put(body, "%*s} }\n", indent, "");
}

void sim_learn_put_body(struct learn_writer *w, const struct learn_node *n, struct learn_subset subset,
                        struct sim_text *body, int indent)
{
    struct held_part parts[LEARN_HELD_MAX];
    uint32_t count = find_held_parts(w, n, parts);
    uint64_t most_ns = count ? w->plan->tuning->held_ns[w->a->objects[parts[0].object].kind] : UINT64_MAX;
    if (most_ns == UINT64_MAX) {
        put_slots(w, n, subset, parts, count, 0, n->slot_count, body, indent);
        return;
    }
    bool *holds = calloc(n->instances + 1, sizeof *holds);
    uint64_t *ns = calloc(n->instances + 1, sizeof *ns);
    w->failed |= !holds || !ns;
    if (!w->failed) {
        uint32_t holders = find_holders(n, subset, &parts[0], most_ns, holds, ns);
        put_holders(w, n, subset, holds, holders, parts, count, body, indent);
    }
    free(holds);
    free(ns);
}

void sim_learn_put_spans(struct learn_writer *w, uint32_t name, struct learn_span *spans, uint32_t count, char *key)
{
    struct learn_node n;
    struct sim_text body = {0};
    if (!sim_learn_node_open(&n, w->a, name, spans, count))
        w->failed = true;
    else
        sim_learn_put_round(w, &n, false, &body, LEARN_INDENT);
    sim_learn_node_close(&n);
    if (sim_learn_is_put(w, name, &body, key))
        free(body.text);
    else
        sim_learn_put_method(w, name, key, &body);
}
