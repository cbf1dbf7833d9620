#include "sim/score/sweep.h"

#include "engine/util/array.h"

#include <assert.h>
#include <stdlib.h>

enum { NEVER_AGREED = 0, WITH_SHORT = 1, WITH_LONG = 2 };
#define NO_CALL_YET SIZE_MAX

/* An open true call. While the reconstruction agrees with it, the `met_` members hold the begin of the agreement. */
struct true_call {
    uint32_t name, message;
    uint64_t begin_ns, end_ns, met_ns, met_core_ns;
    size_t number;
    uint32_t slices; /* number of slices that belong to it */
    bool found;
};

/* An open reconstructed call. */
struct reconstructed_call {
    uint32_t name, class;
    uint64_t begin_ns, end_ns;
    size_t number, first; /* first: the true call that it belongs to */
    unsigned agreed;
    bool right;
    uint32_t message; /* message of the true calls met last; time on a core in that message, in the longest one, in
                         all */
    uint64_t message_ns, most_ns, all_ns;
};

/* Accumulates the time inside a list of spans, up to an instant that never decreases. */
struct meter {
    const struct sim_span *spans;
    size_t count, next;
    uint64_t before_ns;
};

/* Time at which two paths are equal: in total, on a core or waiting for one, and waiting for one in vain. */
struct agreement {
    bool now;
    uint64_t since_ns, since_off_ns, sum_ns, running_ns, starved_ns;
    struct meter off, off_core;
};

/* Open methods of one side. */
struct times {
    uint32_t *open; /* by name: how often it is on the path */
    uint64_t *since_ns;
    uint64_t last_ns;
};

/* An open call in the second pass: number of calls of the path up to it that are not folded. */
struct level {
    uint32_t name, kept;
};

struct sim_sweep {
    const struct sim_pairing *p;
    struct sim_method_score *methods;
    size_t method_count;
    struct times of_truth, of_reconstruction;

    struct true_call *truth;
    size_t true_depth, true_room;
    struct reconstructed_call *reconstruction;
    size_t reconstructed_depth, reconstructed_room;
    size_t equal;                           /* number of levels from the outermost on at which both agree */
    uint64_t *true_end, *reconstructed_end; /* by number of the call: its end */
    size_t true_end_room, reconstructed_end_room;
    size_t *open;
    size_t open_room;
    size_t true_count, reconstructed_count; /* number of calls so far */
    unsigned char *folded;
    size_t folded_room; /* by number of the reconstructed call */
    struct level *levels[2];
    size_t level_room[2]; /* of the truth, of the reconstruction */

    uint64_t begin_ns, end_ns, long_ns;
    uint64_t last_core_ns; /* end of its last time on a core; end_ns when the truth has no cores */
    struct agreement agreement;
    struct meter cores, messages;
    struct meter idle, off, off_and_idle; /* reconstructed as off its processor; truly blocked; both */
    struct sim_spans both;
    struct sim_score *out;
};

struct sim_sweep *sim_sweep_open(const struct sim_pairing *p, struct sim_method_score *methods)
{
    struct sim_sweep *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->p = p;
    s->methods = methods;
    s->method_count = p->truth->names.count;
    for (int side = 0; side < 2; side++) {
        struct times *t = side ? &s->of_reconstruction : &s->of_truth;
        t->open = calloc(s->method_count + 1, sizeof *t->open);
        t->since_ns = calloc(s->method_count + 1, sizeof *t->since_ns);
    }
    if (s->of_truth.open && s->of_truth.since_ns && s->of_reconstruction.open && s->of_reconstruction.since_ns)
        return s;
    sim_sweep_close(s);
    return NULL;
}

void sim_sweep_close(struct sim_sweep *s)
{
    if (!s)
        return;
    free(s->of_truth.open);
    free(s->of_truth.since_ns);
    free(s->of_reconstruction.open);
    free(s->of_reconstruction.since_ns);
    free(s->truth);
    free(s->reconstruction);
    free(s->true_end);
    free(s->reconstructed_end);
    free(s->open);
    free(s->folded);
    free(s->levels[0]);
    free(s->levels[1]);
    free(s->both.at);
    free(s);
}

static uint64_t meter_at(struct meter *m, uint64_t now_ns)
{
    while (m->next < m->count && m->spans[m->next].end_ns <= now_ns) {
        m->before_ns += m->spans[m->next].end_ns - m->spans[m->next].begin_ns;
        m->next++;
    }
    if (m->next == m->count || m->spans[m->next].begin_ns >= now_ns)
        return m->before_ns;
    return m->before_ns + now_ns - m->spans[m->next].begin_ns;
}

static uint32_t message_at(struct meter *m, uint64_t now_ns)
{
    while (m->next < m->count && m->spans[m->next].end_ns <= now_ns)
        m->next++;
    return m->next < m->count && m->spans[m->next].begin_ns <= now_ns ? m->spans[m->next].value : 0;
}

/* Returns the time on a core. Where the truth has no cores, the thread counts as always on one. */
static uint64_t core_ns(struct sim_sweep *s, uint64_t now_ns)
{
    return s->cores.count ? meter_at(&s->cores, now_ns) : now_ns;
}

static uint64_t in_life(const struct sim_sweep *s, uint64_t time_ns)
{
    if (time_ns < s->begin_ns)
        return s->begin_ns;
    return time_ns < s->end_ns ? time_ns : s->end_ns;
}

static uint64_t meter_passed(struct meter *m, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t before_ns = meter_at(m, from_ns);
    return meter_at(m, to_ns) - before_ns;
}

/* Returns the time between two instants in which the thread waited for a core without getting one any more. `off`: time
 * in which it waited for something else. */
static uint64_t starved_passed(const struct sim_sweep *s, struct meter *off, uint64_t from_ns, uint64_t to_ns)
{
    if (from_ns < s->last_core_ns)
        from_ns = s->last_core_ns;
    return to_ns > from_ns ? to_ns - from_ns - meter_passed(off, from_ns, to_ns) : 0;
}

/* Records whether the paths are equal from `now` on. */
static void sweep_set_agreement(struct sim_sweep *s, struct agreement *a, uint64_t now_ns, bool equal)
{
    if (equal == a->now)
        return;
    a->now = equal;
    now_ns = in_life(s, now_ns);
    uint64_t off_ns = meter_at(&a->off, now_ns);
    if (!equal) {
        a->sum_ns += now_ns - a->since_ns;
        a->running_ns += now_ns - a->since_ns - (off_ns - a->since_off_ns);
        a->starved_ns += starved_passed(s, &a->off_core, a->since_ns, now_ns);
    }
    a->since_ns = now_ns;
    a->since_off_ns = off_ns;
}

/* ---- when each call ends */

static bool find_ends(struct sim_sweep *s, const struct sim_track *t, uint64_t **ends, size_t *room)
{
    size_t depth = 0, count = 0;
    if (!t)
        return true;
    if (!strobe_array_reserve(ends, room, t->event_count / 2 + 1))
        return false;
    for (size_t i = 0; i < t->event_count; i++) {
        if (t->events[i].name == SIM_CALL_END) {
            (*ends)[s->open[--depth]] = t->events[i].time_ns;
        } else {
            if (!strobe_array_reserve(&s->open, &s->open_room, depth + 1))
                return false;
            s->open[depth++] = count++;
        }
    }
    assert(!depth && "a track is ended before it is scored");
    return true;
}

/* ---- methods */

/* Gives the innermost method the time since the last event of its side. */
static void sweep_pass_time(struct sim_sweep *s, struct times *t, uint64_t now_ns, uint32_t name)
{
    if (name < s->method_count && now_ns > t->last_ns)
        s->methods[name].true_self_ns += now_ns - t->last_ns;
    t->last_ns = now_ns;
}

/* The same for the reconstruction: the innermost call `c` (NULL: none) gets the time that is not shown as off the
 * processor. */
static void sweep_pass_reconstructed(struct sim_sweep *s, uint64_t now_ns, const struct reconstructed_call *c)
{
    struct times *t = &s->of_reconstruction;
    uint64_t last_ns = t->last_ns;
    if (now_ns <= last_ns)
        return;
    t->last_ns = now_ns;
    uint64_t idle_ns = meter_passed(&s->idle, last_ns, now_ns), off_ns = meter_passed(&s->off, last_ns, now_ns);
    uint64_t both_ns = meter_passed(&s->off_and_idle, last_ns, now_ns);
    if (c && c->name < s->method_count)
        s->methods[c->name].claimed_self_ns += now_ns - last_ns - idle_ns;
    if (c && c->class == SIM_CALL_METHOD)
        s->out->false_running_ns += off_ns - both_ns;
}

static void sweep_enter(struct sim_sweep *s, struct times *t, uint64_t now_ns, uint32_t name)
{
    if (name < s->method_count && !t->open[name]++)
        t->since_ns[name] = now_ns;
}

static void sweep_leave(struct sim_sweep *s, struct times *t, uint64_t now_ns, uint32_t name)
{
    if (name >= s->method_count || --t->open[name])
        return;
    uint64_t *sum = t == &s->of_truth ? &s->methods[name].true_total_ns : &s->methods[name].claimed_total_ns;
    *sum += now_ns - t->since_ns[name];
}

/* ---- calls that agree */

static void sweep_extend_match(struct sim_sweep *s, uint64_t now_ns)
{
    struct true_call *t = &s->truth[s->equal++];
    t->met_ns = now_ns;
    t->met_core_ns = core_ns(s, now_ns);
}

static void sweep_add_message(struct reconstructed_call *c, uint32_t message, uint64_t ns)
{
    if (message != c->message || !c->agreed)
        c->message_ns = 0;
    c->message = message;
    c->message_ns += ns;
    c->all_ns += ns;
    if (c->message_ns > c->most_ns)
        c->most_ns = c->message_ns;
}

/* Ends the agreement of the innermost pair of equal calls. */
static void sweep_end_match(struct sim_sweep *s, uint64_t now_ns)
{
    struct true_call *t = &s->truth[--s->equal];
    struct reconstructed_call *c = &s->reconstruction[s->equal];
    uint64_t both_ns = now_ns - t->met_ns, true_ns = t->end_ns - t->begin_ns;
    if (!both_ns)
        return;
    sweep_add_message(c, t->message, core_ns(s, now_ns) - t->met_core_ns);
    if (both_ns * 2 >= true_ns && both_ns * 2 >= c->end_ns - c->begin_ns)
        t->found = c->right = true;
    if (c->first == NO_CALL_YET) {
        c->first = t->number;
        t->slices++;
    }
    c->agreed |= true_ns >= s->long_ns ? WITH_LONG : WITH_SHORT;
}

static bool true_begin(struct sim_sweep *s, const struct sim_event *e)
{
    if (!strobe_array_reserve(&s->truth, &s->true_room, s->true_depth + 1))
        return false;
    struct true_call *t = &s->truth[s->true_depth];
    sweep_pass_time(s, &s->of_truth, e->time_ns, s->true_depth ? t[-1].name : SIM_UNKNOWN);
    sweep_enter(s, &s->of_truth, e->time_ns, e->name);
    *t = (struct true_call){.name = e->name,
                            .message = message_at(&s->messages, e->time_ns),
                            .begin_ns = e->time_ns,
                            .end_ns = s->true_end[s->true_count],
                            .number = s->true_count};
    s->true_count++;
    s->true_depth++;
    s->methods[e->name].calls++;
    if (s->equal + 1 == s->true_depth && s->reconstructed_depth > s->equal &&
        s->reconstruction[s->equal].name == e->name)
        sweep_extend_match(s, e->time_ns);
    return true;
}

static void true_end(struct sim_sweep *s, uint64_t now_ns)
{
    struct true_call *t = &s->truth[s->true_depth - 1];
    sweep_pass_time(s, &s->of_truth, now_ns, t->name);
    sweep_leave(s, &s->of_truth, now_ns, t->name);
    if (s->equal == s->true_depth)
        sweep_end_match(s, now_ns);
    s->true_depth--;
    if (t->end_ns - t->begin_ns < s->long_ns)
        return;
    s->out->true_calls++;
    s->out->found_calls += t->found;
    s->out->false_splits += t->slices > 1;
}

static bool sweep_begin_reconstructed(struct sim_sweep *s, const struct sim_event *e)
{
    if (!strobe_array_reserve(&s->reconstruction, &s->reconstructed_room, s->reconstructed_depth + 1) ||
        !strobe_array_reserve(&s->folded, &s->folded_room, s->reconstructed_count + 1))
        return false;
    struct reconstructed_call *c = &s->reconstruction[s->reconstructed_depth];
    uint32_t name = s->p->name_of[e->name];
    uint64_t now_ns = in_life(s, e->time_ns);
    sweep_pass_reconstructed(s, now_ns, s->reconstructed_depth ? c - 1 : NULL);
    sweep_enter(s, &s->of_reconstruction, now_ns, name);
    *c = (struct reconstructed_call){.name = name,
                                     .class = e->class,
                                     .begin_ns = e->time_ns,
                                     .end_ns = s->reconstructed_end[s->reconstructed_count],
                                     .number = s->reconstructed_count,
                                     .first = NO_CALL_YET,
                                     .agreed = NEVER_AGREED};
    s->reconstructed_count++;
    s->reconstructed_depth++;
    if (s->equal + 1 == s->reconstructed_depth && s->true_depth > s->equal && s->truth[s->equal].name == name)
        sweep_extend_match(s, e->time_ns);
    return true;
}

static void sweep_end_reconstructed(struct sim_sweep *s, uint64_t time_ns)
{
    struct reconstructed_call *c = &s->reconstruction[s->reconstructed_depth - 1];
    uint64_t now_ns = in_life(s, time_ns);
    sweep_pass_reconstructed(s, now_ns, c);
    sweep_leave(s, &s->of_reconstruction, now_ns, c->name);
    if (s->equal == s->reconstructed_depth)
        sweep_end_match(s, time_ns);
    s->reconstructed_depth--;
    s->folded[c->number] = c->agreed == WITH_SHORT;
    if (c->class == SIM_CALL_METHOD && c->all_ns - c->most_ns >= s->long_ns)
        s->out->false_merges++;
    if (c->class == SIM_CALL_GAP || c->end_ns - c->begin_ns < s->long_ns)
        return;
    s->out->claimed_calls++;
    s->out->right_calls += c->right;
}

/* ---- the passes */

/* The events of both sides in time order. */
struct merge {
    const struct sim_event *truth, *true_end, *reconstruction, *reconstructed_end;
};

static struct merge merge_of(const struct sim_pair *pair)
{
    struct merge m = {NULL, NULL, NULL, NULL};
    if (pair->truth && pair->truth->event_count) {
        m.truth = pair->truth->events;
        m.true_end = m.truth + pair->truth->event_count;
    }
    if (pair->reconstruction && pair->reconstruction->event_count) {
        m.reconstruction = pair->reconstruction->events;
        m.reconstructed_end = m.reconstruction + pair->reconstruction->event_count;
    }
    return m;
}

/* Returns the next event; NULL at the end. */
static const struct sim_event *sweep_next_event(struct merge *m, bool *reconstructed)
{
    if (m->truth == m->true_end && m->reconstruction == m->reconstructed_end)
        return NULL;
    *reconstructed = m->truth == m->true_end ||
                     (m->reconstruction != m->reconstructed_end && m->reconstruction->time_ns < m->truth->time_ns);
    return *reconstructed ? m->reconstruction++ : m->truth++;
}

static bool first_pass(struct sim_sweep *s, const struct sim_pair *pair)
{
    struct merge m = merge_of(pair);
    const struct sim_event *e;
    bool reconstructed, ok = true;
    sweep_set_agreement(s, &s->agreement, s->begin_ns, true);
    while (ok && (e = sweep_next_event(&m, &reconstructed))) {
        if (e->name != SIM_CALL_END)
            ok = reconstructed ? sweep_begin_reconstructed(s, e) : true_begin(s, e);
        else if (reconstructed)
            sweep_end_reconstructed(s, e->time_ns);
        else
            true_end(s, e->time_ns);
        sweep_set_agreement(s, &s->agreement, e->time_ns,
                            s->equal == s->true_depth && s->equal == s->reconstructed_depth);
    }
    sweep_set_agreement(s, &s->agreement, s->end_ns, false);
    return ok;
}

/* The paths of the second pass: the truth's and the reconstruction's. */
struct left {
    size_t depth[2], count[2], equal;
};

static bool sweep_keeps_event(const struct sim_sweep *s, const struct left *l, int side, const struct sim_event *e)
{
    size_t number = l->count[side];
    return side ? !s->folded[number] : s->true_end[number] - e->time_ns >= s->long_ns;
}

static bool sweep_step(struct sim_sweep *s, struct left *l, int side, const struct sim_event *e)
{
    if (e->name == SIM_CALL_END) {
        l->equal -= l->equal == l->depth[side]--;
        return true;
    }
    size_t depth = l->depth[side];
    if (!strobe_array_reserve(&s->levels[side], &s->level_room[side], depth + 1))
        return false;
    s->levels[side][depth].name = side ? s->p->name_of[e->name] : e->name;
    s->levels[side][depth].kept = (depth ? s->levels[side][depth - 1].kept : 0) + sweep_keeps_event(s, l, side, e);
    l->depth[side]++;
    l->count[side]++;
    l->equal += l->equal == depth && l->depth[!side] > depth && s->levels[0][depth].name == s->levels[1][depth].name;
    return true;
}

static uint32_t kept(const struct sim_sweep *s, int side, size_t depth)
{
    return depth ? s->levels[side][depth - 1].kept : 0;
}

/* True when all calls beyond the common path are folded. */
static bool is_resolved(const struct sim_sweep *s, const struct left *l)
{
    return kept(s, 0, l->depth[0]) == kept(s, 0, l->equal) && kept(s, 1, l->depth[1]) == kept(s, 1, l->equal);
}

/* The second pass: repeats the comparison, with folded calls known. */
static bool second_pass(struct sim_sweep *s, const struct sim_pair *pair, struct agreement *a)
{
    struct left l = {{0, 0}, {0, 0}, 0};
    struct merge m = merge_of(pair);
    const struct sim_event *e;
    bool reconstructed, ok = true;
    sweep_set_agreement(s, a, s->begin_ns, true);
    while (ok && (e = sweep_next_event(&m, &reconstructed))) {
        ok = sweep_step(s, &l, reconstructed, e);
        sweep_set_agreement(s, a, e->time_ns, ok && is_resolved(s, &l));
    }
    sweep_set_agreement(s, a, s->end_ns, false);
    return ok;
}

/* Lists the spans that lie in both lists. */
static bool sweep_intersect(const struct meter *a, const struct meter *b, struct sim_spans *out)
{
    out->count = 0;
    for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
        const struct sim_span *x = &a->spans[i], *y = &b->spans[k];
        uint64_t begin_ns = x->begin_ns > y->begin_ns ? x->begin_ns : y->begin_ns;
        uint64_t end_ns = x->end_ns < y->end_ns ? x->end_ns : y->end_ns;
        if (begin_ns < end_ns && !strobe_array_reserve(&out->at, &out->room, out->count + 1))
            return false;
        if (begin_ns < end_ns)
            out->at[out->count++] = (struct sim_span){begin_ns, end_ns, 0};
        x->end_ns < y->end_ns ? i++ : k++;
    }
    return true;
}

static bool sweep_start(struct sim_sweep *s, const struct sim_pair *pair, const struct sim_spans *off)
{
    const struct sim_track *t = pair->truth, *c = pair->reconstruction;
    s->begin_ns = t ? t->begin_ns : 0;
    s->end_ns = t ? t->end_ns : 0;
    s->true_depth = s->reconstructed_depth = s->equal = s->true_count = s->reconstructed_count = 0;
    s->of_truth.last_ns = s->of_reconstruction.last_ns = s->begin_ns;
    s->cores = (struct meter){.spans = t ? t->cpu : NULL, .count = t ? t->cpu_count : 0};
    s->messages = (struct meter){.spans = t ? t->messages : NULL, .count = t ? t->message_count : 0};
    s->last_core_ns = t && t->cpu_count ? in_life(s, t->cpu[t->cpu_count - 1].end_ns) : s->end_ns;
    s->off = (struct meter){.spans = off->at, .count = off->count};
    s->agreement = (struct agreement){.since_ns = s->begin_ns, .off = s->off, .off_core = s->off};
    s->idle = (struct meter){.spans = c ? c->idle : NULL, .count = c ? c->idle_count : 0};
    if (!sweep_intersect(&s->off, &s->idle, &s->both))
        return false;
    s->off_and_idle = (struct meter){.spans = s->both.at, .count = s->both.count};
    return true;
}

bool sim_sweep_pair(struct sim_sweep *s, const struct sim_pair *pair, uint64_t long_ns, const struct sim_spans *off,
                    struct sim_score *out, struct sim_thread_score *thread)
{
    if (!sweep_start(s, pair, off))
        return false;
    s->long_ns = long_ns;
    s->out = out;
    struct agreement resolved = s->agreement;
    struct meter off_core = s->off;
    if (!find_ends(s, pair->truth, &s->true_end, &s->true_end_room) ||
        !find_ends(s, pair->reconstruction, &s->reconstructed_end, &s->reconstructed_end_room) ||
        !first_pass(s, pair) || !second_pass(s, pair, &resolved))
        return false;
    if (!thread)
        return true;
    uint64_t life_ns = s->end_ns - s->begin_ns;
    thread->thread_ns = life_ns;
    thread->agree_ns = s->agreement.sum_ns;
    thread->resolved_ns = resolved.sum_ns;
    thread->running_ns = life_ns - meter_at(&s->agreement.off, s->end_ns);
    thread->running_agree_ns = s->agreement.running_ns;
    thread->starved_wrong_ns = starved_passed(s, &off_core, s->begin_ns, s->end_ns) - s->agreement.starved_ns;
    return true;
}
