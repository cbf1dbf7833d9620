#include "tests/sim/support/score_brute.h"

#include "engine/util/array.h"
#include "sim/score/pairing.h"

#include <stdlib.h>
#include <string.h>

/* For each stretch of time without a change, this scorer looks up all state again. It shares with the fast scorer only
 * the matching of threads and the computation of ratios. */

struct call {
    uint64_t begin_ns, end_ns;
    uint32_t name, class, depth; /* depth 1 for the outermost */
    size_t parent;               /* index of its caller, when depth > 1 */
};

struct calls {
    struct call *at;
    size_t count, room;
};

struct brute {
    const struct sim_pairing *p;
    const struct sim_pair *pair;
    const struct sim_track *life; /* the true track; NULL: none */
    uint64_t long_ns;
    struct calls truth, reconstruction;
    uint64_t *times;
    size_t time_count, time_room;
    uint64_t *both_ns, *core_ns; /* by true call and claimed call: time at which they agree, and that on a core */
    struct sim_score *out;
    struct sim_thread_score *thread;
    bool failed;
};

static void *zeroed(struct brute *b, size_t count, size_t bytes)
{
    void *p = calloc(count + 1, bytes);
    b->failed |= !p;
    return p;
}

static void add_time(struct brute *b, uint64_t time_ns)
{
    if (strobe_array_reserve(&b->times, &b->time_room, b->time_count + 1))
        b->times[b->time_count++] = time_ns;
    else
        b->failed = true;
}

static void find_calls(struct brute *b, const struct sim_track *t, const uint32_t *name_of, struct calls *calls)
{
    size_t open = SIZE_MAX;
    for (size_t i = 0; t && i < t->event_count; i++) {
        const struct sim_event *e = &t->events[i];
        add_time(b, e->time_ns);
        if (e->name == SIM_CALL_END) {
            calls->at[open].end_ns = e->time_ns;
            open = calls->at[open].parent;
            continue;
        }
        if (!strobe_array_reserve(&calls->at, &calls->room, calls->count + 1)) {
            b->failed = true;
            return;
        }
        calls->at[calls->count] = (struct call){.begin_ns = e->time_ns,
                                                .name = name_of ? name_of[e->name] : e->name,
                                                .class = e->class,
                                                .depth = open == SIZE_MAX ? 1 : calls->at[open].depth + 1,
                                                .parent = open};
        open = calls->count++;
    }
}

static int by_time(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static void find_times(struct brute *b)
{
    const struct sim_track *side[] = {b->pair->truth, b->pair->reconstruction};
    for (int s = 0; s < 2; s++) {
        if (!side[s])
            continue;
        add_time(b, side[s]->begin_ns);
        add_time(b, side[s]->end_ns);
        for (size_t i = 0; i < side[s]->wait_count; i++) {
            add_time(b, side[s]->waits[i].begin_ns);
            add_time(b, side[s]->waits[i].release_ns);
            add_time(b, side[s]->waits[i].end_ns);
        }
        for (size_t i = 0; i < side[s]->cpu_count; i++) {
            add_time(b, side[s]->cpu[i].begin_ns);
            add_time(b, side[s]->cpu[i].end_ns);
        }
    }
    if (!b->failed)
        qsort(b->times, b->time_count, sizeof *b->times, by_time);
}

/* ---- state at one time */

static bool within(uint64_t begin_ns, uint64_t end_ns, uint64_t now_ns)
{
    return begin_ns <= now_ns && now_ns < end_ns;
}

static const struct sim_span *span_at(const struct sim_span *spans, size_t count, uint64_t now_ns)
{
    for (size_t i = 0; i < count; i++)
        if (within(spans[i].begin_ns, spans[i].end_ns, now_ns))
            return &spans[i];
    return NULL;
}

static bool is_blocked(const struct sim_track *t, uint64_t now_ns)
{
    for (size_t i = 0; t && i < t->wait_count; i++)
        if (t->waits[i].blocked && within(t->waits[i].begin_ns, t->waits[i].end_ns, now_ns))
            return true;
    return false;
}

static bool is_off(const struct sim_track *t, uint64_t now_ns)
{
    for (size_t i = 0; i < t->wait_count; i++) {
        const struct sim_wait *w = &t->waits[i];
        if (w->blocked && within(w->begin_ns, w->waker == SIM_NOBODY ? w->end_ns : w->release_ns, now_ns))
            return !span_at(t->cpu, t->cpu_count, now_ns);
    }
    return false;
}

/* Finds the open calls, outermost first. */
static size_t path_at(const struct calls *calls, uint64_t now_ns, size_t *path)
{
    size_t depth = 0;
    for (size_t i = 0; i < calls->count; i++)
        if (within(calls->at[i].begin_ns, calls->at[i].end_ns, now_ns))
            path[depth++] = i;
    return depth;
}

static bool is_long(const struct brute *b, const struct call *c)
{
    return c->end_ns - c->begin_ns >= b->long_ns;
}

static bool is_folded(const struct brute *b, size_t reconstructed)
{
    bool ever = false;
    for (size_t k = 0; k < b->truth.count; k++) {
        if (!b->both_ns[k * b->reconstruction.count + reconstructed])
            continue;
        ever = true;
        if (is_long(b, &b->truth.at[k]))
            return false;
    }
    return ever;
}

/* Returns how many levels are equal, from the outermost on. */
static size_t equal_levels(const struct brute *b, const size_t *truth, size_t true_depth, const size_t *reconstruction,
                           size_t reconstructed_depth)
{
    size_t equal = 0;
    while (equal < true_depth && equal < reconstructed_depth) {
        const struct call *t = &b->truth.at[truth[equal]], *c = &b->reconstruction.at[reconstruction[equal]];
        if (t->name != c->name || t->depth != c->depth)
            break;
        equal++;
    }
    return equal;
}

/* Returns true when all levels that differ are folded. */
static bool is_resolved(const struct brute *b, const size_t *truth, size_t true_depth, const size_t *reconstruction,
                        size_t reconstructed_depth, size_t equal)
{
    for (size_t i = equal; i < true_depth; i++)
        if (is_long(b, &b->truth.at[truth[i]]))
            return false;
    for (size_t i = equal; i < reconstructed_depth; i++)
        if (!is_folded(b, reconstruction[i]))
            return false;
    return true;
}

/* ---- sums over time */

static void add_methods(struct brute *b, const struct calls *calls, const size_t *path, size_t depth, uint64_t ns,
                        bool reconstructed)
{
    for (size_t i = 0; i < depth; i++) {
        uint32_t name = calls->at[path[i]].name;
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again |= calls->at[path[k]].name == name;
        if (name == SIM_UNKNOWN)
            continue;
        struct sim_method_score *m = &b->out->methods[name];
        if (!again)
            *(reconstructed ? &m->claimed_total_ns : &m->true_total_ns) += ns;
        if (i + 1 == depth)
            *(reconstructed ? &m->claimed_self_ns : &m->true_self_ns) += ns;
    }
}

/* Scores a stretch of time without a change, within the thread's life: without folding, or (`folding`) resolved. */
static void look_at(struct brute *b, uint64_t from_ns, uint64_t ns, size_t *truth, size_t *reconstruction, bool folding)
{
    size_t true_depth = path_at(&b->truth, from_ns, truth),
           reconstructed_depth = path_at(&b->reconstruction, from_ns, reconstruction);
    bool running = !is_off(b->life, from_ns);
    bool on_core = !b->life->cpu_count || span_at(b->life->cpu, b->life->cpu_count, from_ns);
    size_t equal = equal_levels(b, truth, true_depth, reconstruction, reconstructed_depth);
    bool agrees = equal == true_depth && equal == reconstructed_depth;
    if (folding) {
        b->thread->resolved_ns +=
            is_resolved(b, truth, true_depth, reconstruction, reconstructed_depth, equal) ? ns : 0;
        return;
    }
    b->thread->thread_ns += ns;
    b->thread->agree_ns += agrees ? ns : 0;
    b->thread->running_ns += running ? ns : 0;
    b->thread->running_agree_ns += running && agrees ? ns : 0;
    bool starved = b->life->cpu_count && from_ns >= b->life->cpu[b->life->cpu_count - 1].end_ns;
    b->thread->starved_wrong_ns += running && starved && !agrees ? ns : 0;
    add_methods(b, &b->truth, truth, true_depth, ns, false);
    add_methods(b, &b->reconstruction, reconstruction, reconstructed_depth, ns, true);
    for (size_t i = 0; i < equal; i++) {
        b->both_ns[truth[i] * b->reconstruction.count + reconstruction[i]] += ns;
        b->core_ns[truth[i] * b->reconstruction.count + reconstruction[i]] += on_core ? ns : 0;
    }
}

static void look_at_all(struct brute *b, size_t *truth, size_t *reconstruction)
{
    for (int folding = 0; folding < 2; folding++)
        for (size_t i = 0; b->life && i + 1 < b->time_count; i++)
            if (b->times[i] < b->times[i + 1] && within(b->life->begin_ns, b->life->end_ns, b->times[i]))
                look_at(b, b->times[i], b->times[i + 1] - b->times[i], truth, reconstruction, folding);
}

static void add_blocked(struct brute *b)
{
    const struct sim_track *life = b->life ? b->life : b->pair->reconstruction;
    uint64_t truth = 0, reconstruction = 0;
    for (size_t i = 0; i + 1 < b->time_count; i++) {
        if (!within(life->begin_ns, life->end_ns, b->times[i]))
            continue;
        uint64_t ns = b->times[i + 1] - b->times[i];
        truth += is_blocked(b->pair->truth, b->times[i]) ? ns : 0;
        reconstruction += is_blocked(b->pair->reconstruction, b->times[i]) ? ns : 0;
    }
    reconstruction += b->pair->reconstruction ? b->pair->reconstruction->short_wait_ns : 0;
    b->out->true_blocked_ns += truth;
    b->out->claimed_blocked_ns += reconstruction;
    b->out->blocked_wrong_ns += truth > reconstruction ? truth - reconstruction : reconstruction - truth;
    if (b->thread) {
        b->thread->true_blocked_ns = truth;
        b->thread->claimed_blocked_ns = reconstruction;
    }
}

/* ---- sums over calls */

/* Returns true when they overlap for at least half of both. */
static bool is_found(const struct brute *b, size_t truth, size_t reconstruction)
{
    const struct call *t = &b->truth.at[truth], *c = &b->reconstruction.at[reconstruction];
    uint64_t both_ns = b->both_ns[truth * b->reconstruction.count + reconstruction];
    return both_ns && 2 * both_ns >= t->end_ns - t->begin_ns && 2 * both_ns >= c->end_ns - c->begin_ns;
}

static size_t first_of(const struct brute *b, size_t reconstruction)
{
    size_t k = 0;
    while (k < b->truth.count && !b->both_ns[k * b->reconstruction.count + reconstruction])
        k++;
    return k;
}

static bool is_merged(const struct brute *b, size_t reconstruction)
{
    uint64_t all_ns = 0, run_ns = 0, most_ns = 0;
    uint32_t last = UINT32_MAX;
    for (size_t k = 0; k < b->truth.count; k++) {
        if (!b->both_ns[k * b->reconstruction.count + reconstruction])
            continue;
        const struct sim_span *span = span_at(b->life->messages, b->life->message_count, b->truth.at[k].begin_ns);
        uint32_t message = span ? span->value : 0;
        uint64_t ns = b->core_ns[k * b->reconstruction.count + reconstruction];
        run_ns = message == last ? run_ns + ns : ns;
        last = message;
        all_ns += ns;
        most_ns = run_ns > most_ns ? run_ns : most_ns;
    }
    return b->reconstruction.at[reconstruction].class == SIM_CALL_METHOD && all_ns - most_ns >= b->long_ns;
}

static void add_true_calls(struct brute *b)
{
    for (size_t k = 0; k < b->truth.count; k++) {
        const struct call *t = &b->truth.at[k];
        size_t slices = 0, found = 0;
        b->out->methods[t->name].calls++;
        for (size_t c = 0; c < b->reconstruction.count; c++) {
            slices += first_of(b, c) == k;
            found += is_found(b, k, c);
        }
        if (!is_long(b, t))
            continue;
        b->out->true_calls++;
        b->out->found_calls += found > 0;
        b->out->false_splits += slices > 1;
    }
}

static void add_reconstructed_calls(struct brute *b)
{
    for (size_t c = 0; c < b->reconstruction.count; c++) {
        size_t found = 0;
        for (size_t k = 0; k < b->truth.count; k++)
            found += is_found(b, k, c);
        b->out->false_merges += is_merged(b, c);
        if (b->reconstruction.at[c].class == SIM_CALL_GAP || !is_long(b, &b->reconstruction.at[c]))
            continue;
        b->out->claimed_calls++;
        b->out->right_calls += found > 0;
    }
}

/* ---- wakers */

static bool same_waker(const struct sim_pairing *p, const struct sim_wait *t, const struct sim_wait *c)
{
    uint64_t begin_ns = t->begin_ns > c->begin_ns ? t->begin_ns : c->begin_ns;
    uint64_t end_ns = t->end_ns < c->end_ns ? t->end_ns : c->end_ns;
    return t->waker != SIM_NOBODY && c->waker != SIM_NOBODY && begin_ns < end_ns && t->kind == c->kind &&
           p->track_of[c->waker] == (uint32_t)t->waker;
}

static bool overlap(const struct sim_wait *t, const struct sim_wait *c)
{
    return t->kind == c->kind && t->begin_ns < t->end_ns && c->begin_ns < c->end_ns && t->begin_ns < c->end_ns &&
           c->begin_ns < t->end_ns;
}

static bool holds(const struct sim_wait *outer, const struct sim_wait *w)
{
    return outer->begin_ns <= w->begin_ns && w->end_ns <= outer->end_ns &&
           outer->end_ns - outer->begin_ns > w->end_ns - w->begin_ns;
}

static bool is_true_wait(const struct sim_track *truth, const struct sim_wait *w)
{
    for (size_t i = 0; i < truth->wait_count; i++)
        if (overlap(&truth->waits[i], w))
            return true;
    return false;
}

static bool is_part(const struct sim_track *truth, const struct sim_track *reconstruction, const struct sim_wait *w)
{
    bool within = false;
    for (size_t j = 0; j < reconstruction->wait_count; j++)
        within |= holds(&reconstruction->waits[j], w);
    return within && !is_true_wait(truth, w);
}

static void add_wakers(struct brute *b, uint64_t blocked_min_ns)
{
    static const struct sim_track none;
    const struct sim_track *truth = b->pair->truth ? b->pair->truth : &none;
    const struct sim_track *reconstruction = b->pair->reconstruction ? b->pair->reconstruction : &none;
    for (size_t i = 0; i < truth->wait_count; i++) {
        const struct sim_wait *t = &truth->waits[i];
        bool found = false;
        for (size_t j = 0; j < reconstruction->wait_count; j++)
            found |= same_waker(b->p, t, &reconstruction->waits[j]);
        if (t->waker == SIM_NOBODY || !t->blocked || t->end_ns - t->begin_ns < blocked_min_ns)
            continue;
        b->out->true_wakers++;
        b->out->found_wakers += found;
    }
    for (size_t j = 0; j < reconstruction->wait_count; j++) {
        const struct sim_wait *w = &reconstruction->waits[j];
        bool right = false;
        for (size_t i = 0; i < truth->wait_count; i++)
            right |= same_waker(b->p, &truth->waits[i], w);
        bool outlasts = !right && is_true_wait(truth, w) && w->end_ns > truth->end_ns;
        b->out->claimed_wakers += w->waker != SIM_NOBODY && !is_part(truth, reconstruction, w) && !outlasts;
        b->out->right_wakers += right;
    }
}

/* ---- the score */

static bool score_pair(const struct sim_pairing *p, const struct sim_pair *pair,
                       const struct sim_score_options *options, struct sim_score *out, struct sim_thread_score *thread)
{
    struct brute b = {.p = p,
                      .pair = pair,
                      .life = pair->truth,
                      .out = out,
                      .thread = thread,
                      .long_ns = sim_pair_long_ns(pair, options)};
    find_calls(&b, pair->truth, NULL, &b.truth);
    find_calls(&b, pair->reconstruction, p->name_of, &b.reconstruction);
    find_times(&b);
    size_t *truth = zeroed(&b, b.truth.count, sizeof *truth),
           *reconstruction = zeroed(&b, b.reconstruction.count, sizeof *reconstruction);
    b.both_ns = zeroed(&b, b.truth.count * b.reconstruction.count, sizeof *b.both_ns);
    b.core_ns = zeroed(&b, b.truth.count * b.reconstruction.count, sizeof *b.core_ns);
    if (!b.failed) {
        look_at_all(&b, truth, reconstruction);
        add_blocked(&b);
        add_true_calls(&b);
        add_reconstructed_calls(&b);
        add_wakers(&b, options->blocked_min_ns ? options->blocked_min_ns : 100000);
    }
    free(truth);
    free(reconstruction);
    free(b.both_ns);
    free(b.core_ns);
    free(b.truth.at);
    free(b.reconstruction.at);
    free(b.times);
    return !b.failed;
}

enum strobe_status sim_score_brute(const struct sim_tracks *truth, const struct sim_tracks *reconstruction,
                                   const struct sim_score_options *options, struct sim_score *out)
{
    struct sim_pairing p = {0};
    bool ok = sim_score_open(out, truth) && sim_pairing_open(&p, truth, reconstruction);
    for (size_t i = 0; ok && i < p.pair_count; i++)
        ok = score_pair(&p, &p.pairs[i], options, out, p.pairs[i].truth ? &out->threads[i] : NULL);
    if (ok)
        sim_score_finish(&p, out);
    else
        sim_score_free(out);
    sim_pairing_close(&p);
    return ok ? STROBE_OK : STROBE_IO;
}
