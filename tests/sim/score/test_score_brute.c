/* The fast scorer and the brute-force scorer compute the same scores for random pairs of timelines. */
#include "sim/kernel/random.h"
#include "tests/sim/support/score_brute.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { NAMES = 4, STEPS = 60, DEPTH = 5, THREADS = 3 };
static const char *const method[NAMES] = {"a", "b", "c", "d"};

struct dice {
    struct sim_random random;
};

static uint32_t roll(struct dice *d, uint32_t sides)
{
    return (uint32_t)sim_random_below(&d->random, sides);
}

/* A blocking call that has begun. The time of its end is not known yet. */
struct pending {
    uint64_t begin_ns;
    bool is_wait;
};

static void end_call(struct sim_tracks *t, uint32_t track, struct dice *d, uint64_t now_ns, struct pending p)
{
    if (p.is_wait) {
        struct sim_wait w = {p.begin_ns,     now_ns, roll(d, 2) ? STROBE_KIND_MUTEX : STROBE_KIND_COND,
                             roll(d, 3) > 0, 1,      (int32_t)roll(d, THREADS + 1) - 1,
                             now_ns};
        w.release_ns = p.begin_ns + (now_ns > p.begin_ns ? roll(d, (uint32_t)(now_ns - p.begin_ns)) : 0);
        sim_track_wait(t, track, &w);
    }
    sim_track_return(t, track, now_ns, false);
}

static uint32_t random_name(struct sim_tracks *t, struct dice *d, bool reconstructed)
{
    if (reconstructed && !roll(d, 12))
        return sim_tracks_name(t, roll(d, 2) ? "[unseen]" : "elsewhere");
    return sim_tracks_name(t, method[roll(d, NAMES)]);
}

static void random_track(struct sim_tracks *t, struct dice *d, uint32_t tid, bool reconstructed)
{
    struct pending open[DEPTH];
    uint32_t depth = 0, message = 0, pace = 1 + roll(d, 8);
    uint64_t now_ns = roll(d, 20);
    uint32_t track = sim_track_add(t, tid, 1, "thread", tid == 1, now_ns);
    for (unsigned steps = roll(d, STEPS); steps; steps--) {
        now_ns += roll(d, pace);
        switch (roll(d, 10)) {
        case 0:
        case 1: sim_track_message(t, track, now_ns, roll(d, 4) ? ++message : 0); break;
        case 2: sim_track_core(t, track, now_ns, (int)roll(d, 3) - 1); break;
        case 3:
        case 4:
        case 5:
            if (depth)
                end_call(t, track, d, now_ns, open[--depth]);
            break;
        default:
            if (depth == DEPTH)
                break;
            open[depth] = (struct pending){now_ns, !roll(d, 4)};
            uint32_t name = random_name(t, d, reconstructed);
            sim_track_call(t, track, now_ns, name,
                           !strcmp(t->names.texts[name], "[unseen]") ? SIM_CALL_GAP
                           : open[depth].is_wait                     ? SIM_CALL_WAIT
                                                                     : SIM_CALL_METHOD);
            depth++;
        }
    }
    while (depth)
        end_call(t, track, d, now_ns, open[--depth]);
    sim_track_end(t, track, now_ns + roll(d, 10));
    t->tracks[track].totals = (struct sim_totals){roll(d, 99), roll(d, 9), roll(d, 99), 0, 0, roll(d, 9), roll(d, 9)};
    t->tracks[track].known_cpu = t->tracks[track].known_alloc = t->tracks[track].known_switches =
        reconstructed && roll(d, 2);
}

/* Returns the path of a true track at a time: names, outermost first. */
static uint32_t path_at(const struct sim_track *t, uint64_t now_ns, uint32_t *path)
{
    uint32_t depth = 0;
    for (size_t i = 0; i < t->event_count && t->events[i].time_ns <= now_ns; i++) {
        if (t->events[i].name == SIM_CALL_END)
            depth--;
        else
            path[depth++] = t->events[i].name;
    }
    return depth;
}

/* Builds a track as a sampler would: from samples at random times, with slices that change where samples differ. Some
 * slices are late, some are split without a reason, and some samples have a wrong frame. */
static void sampled_track(struct sim_tracks *t, const struct sim_tracks *truth, const struct sim_track *of,
                          struct dice *d)
{
    uint32_t open[DEPTH], path[DEPTH], depth = 0, gap = 1 + roll(d, 12), late = roll(d, 3) ? 0 : roll(d, 6);
    uint64_t now_ns = of->begin_ns;
    uint32_t track = sim_track_add(t, of->tid, of->generation, "thread", of->is_main, now_ns + late);
    for (; now_ns < of->end_ns; now_ns += 1 + roll(d, gap)) {
        uint32_t seen = path_at(of, now_ns, path), shared = 0;
        for (uint32_t i = 0; i < seen; i++)
            path[i] = sim_tracks_name(t, roll(d, 20) ? truth->names.texts[path[i]] : method[roll(d, NAMES)]);
        while (shared < seen && shared < depth && path[shared] == open[shared] && roll(d, 30))
            shared++;
        for (; depth > shared; depth--)
            sim_track_return(t, track, now_ns + late, false);
        for (; depth < seen; depth++)
            sim_track_call(t, track, now_ns + late, open[depth] = path[depth], SIM_CALL_METHOD);
    }
    for (size_t i = 0; i < of->wait_count; i++) {
        struct sim_wait w = of->waits[i];
        w.end_ns += roll(d, 3);
        w.waker = roll(d, 4) ? w.waker : SIM_NOBODY;
        if (roll(d, 5) && w.end_ns >= t->tracks[track].end_ns)
            sim_track_wait(t, track, &w);
    }
    sim_track_end(t, track, t->tracks[track].end_ns + roll(d, 10));
}

static void make_pair(struct dice *d, struct sim_tracks *truth, struct sim_tracks *reconstruction)
{
    sim_tracks_open(truth);
    sim_tracks_open(reconstruction);
    if (roll(d, 2))
        sim_tracks_name(reconstruction, "not first");
    for (uint32_t tid = 1; tid <= THREADS; tid++)
        random_track(truth, d, tid, false);
    for (uint32_t tid = THREADS; tid; tid--) {
        if (roll(d, 8) == 0)
            continue;
        if (roll(d, 3))
            sampled_track(reconstruction, truth, &truth->tracks[tid - 1], d);
        else
            random_track(reconstruction, d, roll(d, 6) ? tid : tid + THREADS, true);
    }
    /* Wakers are tracks that exist. */
    for (size_t i = 0; i < reconstruction->track_count; i++)
        for (size_t w = 0; w < reconstruction->tracks[i].wait_count; w++)
            if (reconstruction->tracks[i].waits[w].waker >= (int32_t)reconstruction->track_count)
                reconstruction->tracks[i].waits[w].waker = SIM_NOBODY;
    reconstruction->samples = roll(d, 1000);
    reconstruction->lost = roll(d, 10);
    reconstruction->bytes = roll(d, 100000);
}

/* Compares all fields except the arrays, whose order may differ. */
static bool same_sums(struct sim_score a, struct sim_score b)
{
#define SAME(field) (a.field == b.field)
    return SAME(thread_ns) && SAME(agree_ns) && SAME(resolved_ns) && SAME(running_ns) && SAME(running_agree_ns) &&
           SAME(starved_wrong_ns) && SAME(agreement) && SAME(agreement_resolved) && SAME(agreement_running) &&
           SAME(true_calls) && SAME(found_calls) && SAME(claimed_calls) && SAME(right_calls) && SAME(recall) &&
           SAME(precision) && SAME(false_merges) && SAME(false_splits) && SAME(true_blocked_ns) &&
           SAME(claimed_blocked_ns) && SAME(blocked_wrong_ns) && SAME(blocked_error) && SAME(true_wakers) &&
           SAME(found_wakers) && SAME(claimed_wakers) && SAME(right_wakers) && SAME(waker_precision) &&
           SAME(waker_recall) && SAME(cpu_error) && SAME(alloc_error) && SAME(switch_error) && SAME(samples) &&
           SAME(lost) && SAME(bytes) && SAME(bytes_per_app_second) && SAME(method_count) && SAME(thread_count);
#undef SAME
}

static bool same(const struct sim_score *a, const struct sim_score *b)
{
    if (!same_sums(*a, *b))
        return false;
    for (size_t i = 0; i < a->method_count; i++) {
        const struct sim_method_score *x = &a->methods[i], *y = &b->methods[i];
        if (x->name != y->name || x->calls != y->calls || x->true_self_ns != y->true_self_ns ||
            x->true_total_ns != y->true_total_ns || x->claimed_self_ns != y->claimed_self_ns ||
            x->claimed_total_ns != y->claimed_total_ns)
            return false;
    }
    for (size_t i = 0; i < a->thread_count; i++) {
        const struct sim_thread_score *x = &a->threads[i], *y = &b->threads[i];
        if (x->track != y->track || x->thread_ns != y->thread_ns || x->agree_ns != y->agree_ns ||
            x->resolved_ns != y->resolved_ns || x->running_ns != y->running_ns ||
            x->running_agree_ns != y->running_agree_ns || x->starved_wrong_ns != y->starved_wrong_ns ||
            x->true_blocked_ns != y->true_blocked_ns || x->claimed_blocked_ns != y->claimed_blocked_ns)
            return false;
    }
    return true;
}

static void print(const char *who, const struct sim_score *s)
{
    print_message("%s: agree %llu resolved %llu running %llu of %llu calls %llu/%llu %llu/%llu merges %llu splits %llu "
                  "blocked %llu %llu wakers %llu/%llu %llu/%llu\n",
                  who, (unsigned long long)s->agree_ns, (unsigned long long)s->resolved_ns,
                  (unsigned long long)s->running_agree_ns, (unsigned long long)s->running_ns,
                  (unsigned long long)s->found_calls, (unsigned long long)s->true_calls,
                  (unsigned long long)s->right_calls, (unsigned long long)s->claimed_calls,
                  (unsigned long long)s->false_merges, (unsigned long long)s->false_splits,
                  (unsigned long long)s->true_blocked_ns, (unsigned long long)s->claimed_blocked_ns,
                  (unsigned long long)s->found_wakers, (unsigned long long)s->true_wakers,
                  (unsigned long long)s->right_wakers, (unsigned long long)s->claimed_wakers);
}

/* Counts how often each sum was above zero, to show that the random pairs reach each sum. */
struct reach {
    uint64_t agreed, folded, found, merges, splits, wakers, blocked, starved;
};

static void compare(uint64_t seed, struct reach *reach)
{
    struct dice d = {sim_random_seed(seed, 0)};
    struct sim_tracks truth, reconstruction;
    struct sim_score fast, brute;
    make_pair(&d, &truth, &reconstruction);
    assert_false(truth.failed || reconstruction.failed);
    uint32_t most = roll(&d, 2) ? 2 : 12;
    struct sim_score_options options = {roll(&d, most), roll(&d, most), 1 + roll(&d, 8)};
    assert_int_equal(sim_score(&truth, &reconstruction, &options, &fast), STROBE_OK);
    assert_int_equal(sim_score_brute(&truth, &reconstruction, &options, &brute), STROBE_OK);
    if (!same(&fast, &brute)) {
        print("fast", &fast);
        print("brute", &brute);
        fail_msg("seed %llu", (unsigned long long)seed);
    }
    assert_true(fast.resolved_ns >= fast.agree_ns);
    reach->agreed += fast.agree_ns > 0;
    reach->folded += fast.resolved_ns > fast.agree_ns;
    reach->found += fast.found_calls > 0;
    reach->merges += fast.false_merges > 0;
    reach->splits += fast.false_splits > 0;
    reach->wakers += fast.right_wakers > 0;
    reach->blocked += fast.blocked_wrong_ns > 0;
    reach->starved += fast.starved_wrong_ns > 0;
    sim_score_free(&fast);
    sim_score_free(&brute);
    sim_tracks_close(&truth);
    sim_tracks_close(&reconstruction);
}

static void the_sweep_equals_an_evaluation_at_every_instant(void **state)
{
    enum { SEEDS = 4000, OFTEN = SEEDS / 20 };
    (void)state;
    struct reach reach = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        compare(seed, &reach);
    print_message("agreed %llu folded %llu found %llu merges %llu splits %llu wakers %llu blocked %llu "
                  "starved %llu\n",
                  (unsigned long long)reach.agreed, (unsigned long long)reach.folded, (unsigned long long)reach.found,
                  (unsigned long long)reach.merges, (unsigned long long)reach.splits, (unsigned long long)reach.wakers,
                  (unsigned long long)reach.blocked, (unsigned long long)reach.starved);
    assert_true(reach.agreed > OFTEN && reach.folded > OFTEN && reach.found > OFTEN && reach.merges > OFTEN &&
                reach.splits > OFTEN && reach.wakers > OFTEN && reach.blocked > OFTEN && reach.starved > OFTEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sweep_equals_an_evaluation_at_every_instant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
