#include "sim/score/pairing.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct key {
    uint32_t tid, generation, index;
};

static int by_key(const void *left, const void *right)
{
    const struct key *a = left, *b = right;
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    if (a->generation != b->generation)
        return a->generation < b->generation ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static struct key *sorted_keys(const struct sim_tracks *t)
{
    struct key *keys = malloc((t->track_count + 1) * sizeof *keys);
    for (size_t i = 0; keys && i < t->track_count; i++)
        keys[i] = (struct key){t->tracks[i].tid, t->tracks[i].generation, (uint32_t)i};
    if (keys)
        qsort(keys, t->track_count, sizeof *keys, by_key);
    return keys;
}

/* Both arrays are sorted by key; matches the equal ones. */
static void pairing_match_keys(struct sim_pairing *p, const struct key *truth, const struct key *reconstruction)
{
    for (size_t i = 0, j = 0; j < p->reconstruction->track_count; j++) {
        while (i < p->truth->track_count &&
               (truth[i].tid < reconstruction[j].tid ||
                (truth[i].tid == reconstruction[j].tid && truth[i].generation < reconstruction[j].generation)))
            i++;
        uint32_t true_track = i < p->truth->track_count ? truth[i].index : 0, reconstructed = reconstruction[j].index;
        p->track_of[reconstructed] = SIM_UNKNOWN;
        if (i < p->truth->track_count && truth[i].tid == reconstruction[j].tid &&
            truth[i].generation == reconstruction[j].generation && !p->pairs[true_track].reconstruction) {
            p->track_of[reconstructed] = true_track;
            p->pairs[true_track].reconstruction = &p->reconstruction->tracks[reconstructed];
        }
    }
}

static bool pair_tracks(struct sim_pairing *p)
{
    struct key *truth = sorted_keys(p->truth), *reconstruction = sorted_keys(p->reconstruction);
    bool ok = truth && reconstruction;
    if (ok) {
        for (size_t i = 0; i < p->truth->track_count; i++)
            p->pairs[i].truth = &p->truth->tracks[i];
        pairing_match_keys(p, truth, reconstruction);
        p->pair_count = p->truth->track_count;
        for (size_t j = 0; j < p->reconstruction->track_count; j++)
            if (p->track_of[j] == SIM_UNKNOWN)
                p->pairs[p->pair_count++].reconstruction = &p->reconstruction->tracks[j];
    }
    free(truth);
    free(reconstruction);
    return ok;
}

/* The truth's names enter the pool first, and so keep their numbers. */
static bool pair_names(struct sim_pairing *p)
{
    struct strobe_text_pool pool = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < p->truth->names.count; i++)
        ok = strobe_text_number(&pool, p->truth->names.texts[i], strlen(p->truth->names.texts[i])) == i;
    for (size_t i = 0; ok && i < p->reconstruction->names.count; i++) {
        uint32_t number =
            strobe_text_number(&pool, p->reconstruction->names.texts[i], strlen(p->reconstruction->names.texts[i]));
        ok = number != UINT32_MAX;
        p->name_of[i] = number < p->truth->names.count ? number : SIM_UNKNOWN;
    }
    strobe_text_pool_free(&pool);
    return ok;
}

bool sim_pairing_open(struct sim_pairing *p, const struct sim_tracks *truth, const struct sim_tracks *reconstruction)
{
    assert(!truth->failed && !reconstruction->failed);
    *p = (struct sim_pairing){.truth = truth, .reconstruction = reconstruction};
    p->pairs = calloc(truth->track_count + reconstruction->track_count + 1, sizeof *p->pairs);
    p->name_of = calloc(reconstruction->names.count + 1, sizeof *p->name_of);
    p->track_of = calloc(reconstruction->track_count + 1, sizeof *p->track_of);
    return p->pairs && p->name_of && p->track_of && pair_names(p) && pair_tracks(p);
}

void sim_pairing_close(struct sim_pairing *p)
{
    free(p->pairs);
    free(p->name_of);
    free(p->track_of);
    *p = (struct sim_pairing){0};
}

uint64_t sim_pair_long_ns(const struct sim_pair *pair, const struct sim_score_options *options)
{
    bool main = pair->truth ? pair->truth->is_main : pair->reconstruction->is_main;
    uint64_t interval_ns = main ? options->interval_ns : options->other_interval_ns;
    return interval_ns ? 2 * interval_ns : 1;
}

bool sim_score_open(struct sim_score *out, const struct sim_tracks *truth)
{
    *out = (struct sim_score){0};
    out->methods = calloc(truth->names.count + 1, sizeof *out->methods);
    out->threads = calloc(truth->track_count + 1, sizeof *out->threads);
    if (!out->methods || !out->threads)
        return false;
    out->method_count = truth->names.count;
    out->thread_count = truth->track_count;
    for (uint32_t i = 0; i < out->method_count; i++)
        out->methods[i].name = i;
    for (uint32_t i = 0; i < out->thread_count; i++)
        out->threads[i].track = i;
    return true;
}

static double pairing_share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 1;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Error of a number that the reconstruction has for some threads only. */
struct error {
    uint64_t wrong, whole;
};

static void add_error(struct error *e, uint64_t truth, uint64_t reconstruction)
{
    e->wrong += distance(truth, reconstruction);
    e->whole += truth;
}

static double relative(struct error e)
{
    if (!e.whole)
        return e.wrong ? 1 : 0;
    return (double)e.wrong / (double)e.whole;
}

static void total_errors(const struct sim_pairing *p, struct sim_score *out)
{
    static const struct sim_totals none;
    struct error cpu = {0}, count = {0}, bytes = {0}, switches = {0};
    for (size_t i = 0; i < p->pair_count; i++) {
        const struct sim_track *c = p->pairs[i].reconstruction;
        const struct sim_totals *t = p->pairs[i].truth ? &p->pairs[i].truth->totals : &none;
        if (c && c->known_cpu)
            add_error(&cpu, t->cpu_ns, c->totals.cpu_ns);
        if (c && c->known_alloc) {
            add_error(&count, t->allocations, c->totals.allocations);
            add_error(&bytes, t->alloc_bytes, c->totals.alloc_bytes);
        }
        if (c && c->known_switches)
            add_error(&switches, t->voluntary_switches + t->involuntary_switches,
                      c->totals.voluntary_switches + c->totals.involuntary_switches);
    }
    out->cpu_error = relative(cpu);
    out->alloc_error = relative(count) > relative(bytes) ? relative(count) : relative(bytes);
    out->switch_error = relative(switches);
}

void sim_score_ratios(struct sim_score *out)
{
    out->agreement = pairing_share(out->agree_ns, out->thread_ns);
    out->agreement_resolved = pairing_share(out->resolved_ns, out->thread_ns);
    out->agreement_running = pairing_share(out->running_agree_ns, out->running_ns);
    out->agreement_seen = out->seen_ns ? (double)out->seen_agree_ns / (double)out->seen_ns : 0;
    out->unseen = out->thread_ns ? (double)out->unseen_ns / (double)out->thread_ns : 0;
    out->call_error_ns = out->timed_calls ? (double)out->call_error_sum_ns / (double)out->timed_calls : 0;
    out->false_running = out->thread_ns ? (double)out->false_running_ns / (double)out->thread_ns : 0;
    out->waits_named = pairing_share(out->named_ns, out->unhooked_ns);
    out->recall = pairing_share(out->found_calls, out->true_calls);
    out->precision = pairing_share(out->right_calls, out->claimed_calls);
    out->waker_precision = pairing_share(out->right_wakers, out->claimed_wakers);
    out->waker_recall = pairing_share(out->found_wakers, out->true_wakers);
    uint64_t least_ns = out->thread_ns / SIM_BLOCKED_LEAST_PART;
    uint64_t blocked_ns = out->true_blocked_ns > least_ns ? out->true_blocked_ns : least_ns;
    out->blocked_error = relative((struct error){out->blocked_wrong_ns, blocked_ns});
    uint64_t cost_ns = out->tracer_cpu_ns + out->held_ns;
    out->overhead = out->app_cpu_ns ? (double)cost_ns / (double)out->app_cpu_ns : 0;
}

static int by_error(const void *left, const void *right)
{
    const struct sim_method_score *a = left, *b = right;
    uint64_t wrong_a = distance(a->true_self_ns, a->claimed_self_ns);
    uint64_t wrong_b = distance(b->true_self_ns, b->claimed_self_ns);
    if (wrong_a != wrong_b)
        return wrong_a > wrong_b ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

static void order_methods(struct sim_score *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < out->method_count; i++)
        if (out->methods[i].calls || out->methods[i].claimed_total_ns)
            out->methods[kept++] = out->methods[i];
    out->method_count = kept;
    if (kept)
        qsort(out->methods, kept, sizeof *out->methods, by_error);
}

static void score_add_threads(struct sim_score *out)
{
    for (size_t i = 0; i < out->thread_count; i++) {
        const struct sim_thread_score *t = &out->threads[i];
        out->thread_ns += t->thread_ns;
        out->agree_ns += t->agree_ns;
        out->resolved_ns += t->resolved_ns;
        out->running_ns += t->running_ns;
        out->running_agree_ns += t->running_agree_ns;
        out->starved_wrong_ns += t->starved_wrong_ns;
    }
}

void sim_score_finish(const struct sim_pairing *p, struct sim_score *out)
{
    score_add_threads(out);
    out->samples = p->reconstruction->samples;
    out->lost = p->reconstruction->lost;
    out->bytes = p->reconstruction->bytes;
    out->bytes_per_app_second = p->truth->end_ns ? (double)out->bytes * 1e9 / (double)p->truth->end_ns : 0;
    sim_score_ratios(out);
    total_errors(p, out);
    order_methods(out);
}

void sim_score_costs(struct sim_score *s, uint64_t app_cpu_ns, uint64_t tracer_cpu_ns, uint64_t held_ns)
{
    s->app_cpu_ns = app_cpu_ns;
    s->tracer_cpu_ns = tracer_cpu_ns;
    s->held_ns = held_ns;
    sim_score_ratios(s);
}

void sim_score_free(struct sim_score *s)
{
    free(s->methods);
    free(s->threads);
    *s = (struct sim_score){0};
}
