/* The meaning of each score, on cases small enough to compute by hand. Times are in ns. The interval is 5 unless stated
 * otherwise, so calls of 10 or more are long. */
#include "sim/score/score.h"

#include "tests/sim/support/score_brute.h"
#include "tests/sim/support/story.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <string.h>
#include <cmocka.h>

struct pair {
    struct sim_tracks truth, reconstruction;
    struct sim_score score;
};

static struct pair *open_pair(struct pair *p)
{
    sim_tracks_open(&p->truth);
    sim_tracks_open(&p->reconstruction);
    return p;
}

/* Computes the score, and checks that the brute-force scorer agrees. */
static const struct sim_score *score(struct pair *p, uint64_t interval_ns)
{
    struct sim_score brute;
    struct sim_score_options options = {interval_ns, interval_ns, 10};
    assert_int_equal(sim_score(&p->truth, &p->reconstruction, &options, &p->score), STROBE_OK);
    assert_int_equal(sim_score_brute(&p->truth, &p->reconstruction, &options, &brute), STROBE_OK);
    assert_int_equal(p->score.agree_ns, brute.agree_ns);
    assert_int_equal(p->score.resolved_ns, brute.resolved_ns);
    assert_int_equal(p->score.false_merges, brute.false_merges);
    assert_int_equal(p->score.false_splits, brute.false_splits);
    sim_score_free(&brute);
    return &p->score;
}

static void close_pair(struct pair *p)
{
    sim_score_free(&p->score);
    sim_tracks_close(&p->truth);
    sim_tracks_close(&p->reconstruction);
}

/* One thread, called main, of both. */
static struct pair *set_pair(struct pair *p, const char *truth, const char *reconstruction)
{
    open_pair(p);
    story(&p->truth, 1, "main", truth);
    story(&p->reconstruction, 1, "main", reconstruction);
    return p;
}

static const struct sim_method_score *method(const struct pair *p, const char *name)
{
    for (size_t i = 0; i < p->score.method_count; i++)
        if (!strcmp(p->truth.names.texts[p->score.methods[i].name], name))
            return &p->score.methods[i];
    fail_msg("no method %s", name);
    return NULL;
}

/* ---- agreement */

static void the_truth_agrees_with_itself(void **state)
{
    (void)state;
    struct pair p;
    const char *same = "0 A 10 B 30 . 40 C 70 . 90 . 100 !";
    const struct sim_score *s = score(set_pair(&p, same, same), 5);
    assert_int_equal(s->thread_ns, 100);
    assert_int_equal(s->agree_ns, 100);
    assert_true(s->agreement == 1 && s->agreement_resolved == 1 && s->agreement_running == 1);
    assert_true(s->recall == 1 && s->precision == 1);
    close_pair(&p);
}

static void paths_agree_while_they_are_equal_from_root_to_top(void **state)
{
    (void)state;
    struct pair p;
    /* B begins 5 late, and D is in place of C: 10..15 and 40..50 disagree. */
    const struct sim_score *s =
        score(set_pair(&p, "0 A 10 B 30 . 40 C 50 . 100 . 100 !", "0 A 15 B 30 . 40 D 50 . 100 . 100 !"), 1);
    assert_int_equal(s->agree_ns, 85);
    assert_true(s->agreement == 0.85);
    close_pair(&p);
}

static void equal_names_under_other_callers_do_not_agree(void **state)
{
    (void)state;
    struct pair p;
    assert_int_equal(score(set_pair(&p, "0 A 0 C 50 . 50 . 50 !", "0 B 0 C 50 . 50 . 50 !"), 1)->agree_ns, 0);
    close_pair(&p);
}

static void a_call_too_many_or_too_few_disagrees(void **state)
{
    (void)state;
    struct pair p;
    const struct sim_score *s = score(set_pair(&p, "0 A 20 A 40 . 60 . 60 !", "0 A 30 A 60 . 60 . 60 !"), 1);
    assert_int_equal(s->agree_ns, 20 + 10);
    close_pair(&p);
}

static void a_thread_without_claim_agrees_while_it_does_nothing(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p);
    story(&p.truth, 1, "main", "0 A 60 . 100 !");
    const struct sim_score *s = score(&p, 5);
    assert_int_equal(s->agree_ns, 40);
    assert_int_equal(s->true_calls, 1);
    assert_int_equal(s->found_calls, 0);
    assert_true(s->precision == 1);
    close_pair(&p);
}

static void a_claim_counts_within_the_life_of_its_thread_only(void **state)
{
    (void)state;
    struct pair p;
    const struct sim_score *s = score(set_pair(&p, "100 A 200 . 200 !", "50 A 300 . 400 !"), 5);
    assert_int_equal(s->thread_ns, 100);
    assert_int_equal(s->agree_ns, 100);
    assert_int_equal(method(&p, "A")->claimed_self_ns, 100);
    /* A slice of 250 does not count as finding a call of 100. */
    assert_int_equal(s->found_calls, 0);
    close_pair(&p);
}

static void a_thread_that_never_was_is_claimed_in_vain(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p);
    story(&p.truth, 1, "main", "0 A 60 . 60 !");
    story(&p.reconstruction, 1, "main", "0 A 60 . 60 !");
    story(&p.reconstruction, 2, "ghost", "0 A 60 . 60 !");
    const struct sim_score *s = score(&p, 5);
    assert_int_equal(s->thread_ns, 60);
    assert_true(s->agreement == 1);
    assert_int_equal(s->claimed_calls, 2);
    assert_int_equal(s->right_calls, 1);
    close_pair(&p);
}

static void a_reused_tid_is_another_thread(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p);
    story(&p.truth, 7, "one", "0 A 50 . 50 !");
    story(&p.reconstruction, 7, "one", "0 A 50 . 50 !");
    p.truth.tracks[0].generation = 2;
    const struct sim_score *s = score(&p, 5);
    assert_int_equal(s->agree_ns, 0);
    close_pair(&p);
}

/* ---- resolved */

static void calls_shorter_than_twice_the_interval_are_folded_into_their_caller(void **state)
{
    (void)state;
    struct pair p;
    const struct sim_score *s =
        score(set_pair(&p, "0 A 10 b 19 . 50 C 60 . 100 . 100 !", "0 A 50 C 60 . 100 . 100 !"), 5);
    assert_int_equal(s->agree_ns, 91);
    assert_int_equal(s->resolved_ns, 100);
    close_pair(&p);
}

static void a_claimed_call_is_folded_when_all_it_agrees_with_are(void **state)
{
    (void)state;
    struct pair p;
    /* One slice of b covers two short calls and the time between them. */
    const struct sim_score *s =
        score(set_pair(&p, "0 A 10 b 12 . 20 b 22 . 100 . 100 !", "0 A 10 b 30 . 100 . 100 !"), 5);
    assert_int_equal(s->agree_ns, 10 + 2 + 2 + 70);
    assert_int_equal(s->resolved_ns, 100);
    close_pair(&p);
}

static void a_claimed_call_that_never_was_stays(void **state)
{
    (void)state;
    struct pair p;
    const struct sim_score *s = score(set_pair(&p, "0 A 100 . 100 !", "0 A 40 x 45 . 100 . 100 !"), 5);
    assert_int_equal(s->resolved_ns, 95);
    close_pair(&p);
}

static void a_claimed_call_that_once_was_long_stays_but_where_it_is_right(void **state)
{
    (void)state;
    struct pair p;
    /* The slice of B agrees with a long call and continues over a short one: 30..40 and 44..50 are wrong. */
    const struct sim_score *s =
        score(set_pair(&p, "0 A 10 B 30 . 40 B 44 . 100 . 100 !", "0 A 10 B 50 . 100 . 100 !"), 5);
    assert_int_equal(s->resolved_ns, 100 - 16);
    assert_int_equal(s->agree_ns, 100 - 16);
    close_pair(&p);
}

static void a_folded_call_keeps_its_place(void **state)
{
    (void)state;
    struct pair p;
    /* b is folded in the reconstructed timeline. Its callee there is not a callee of A in the true one. */
    const struct sim_score *s =
        score(set_pair(&p, "0 A 10 b 12 . 20 C 40 . 100 . 100 !", "0 A 10 b 20 C 40 . 40 . 100 . 100 !"), 5);
    assert_int_equal(s->resolved_ns, 100 - 20);
    close_pair(&p);
}

static void main_has_a_separate_interval(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p);
    story(&p.truth, 1, "main", "0 A 10 b 20 . 100 . 100 !");
    story(&p.truth, 2, "other", "0 A 10 b 20 . 100 . 100 !");
    story(&p.reconstruction, 1, "main", "0 A 100 . 100 !");
    story(&p.reconstruction, 2, "other", "0 A 100 . 100 !");
    struct sim_score_options options = {5, 6, 0};
    assert_int_equal(sim_score(&p.truth, &p.reconstruction, &options, &p.score), STROBE_OK);
    assert_int_equal(p.score.threads[0].resolved_ns, 90);
    assert_int_equal(p.score.threads[1].resolved_ns, 100);
    close_pair(&p);
}

/* ---- slices */

static void a_call_is_found_by_a_slice_that_overlaps_half_of_both(void **state)
{
    (void)state;
    struct pair p;
    const struct sim_score *s = score(set_pair(&p, "0 A 40 . 100 A 140 . 200 !", "20 A 60 . 121 A 140 . 200 !"), 5);
    assert_int_equal(s->true_calls, 2);
    assert_int_equal(s->found_calls, 1);
    assert_int_equal(s->claimed_calls, 2);
    assert_int_equal(s->right_calls, 1);
    close_pair(&p);
}

static void short_calls_and_gaps_are_not_asked_for(void **state)
{
    (void)state;
    struct pair p;
    const struct sim_score *s = score(set_pair(&p, "0 A 9 . 100 !", "0 A 9 . 20 [unseen] 80 . 100 !"), 5);
    assert_int_equal(s->true_calls, 0);
    assert_int_equal(s->claimed_calls, 0);
    assert_true(s->recall == 1 && s->precision == 1);
    close_pair(&p);
}

static void one_slice_over_calls_of_two_messages_is_a_false_merge(void **state)
{
    (void)state;
    struct pair p;
    const char *truth = "0 #1 0 A 20 . 20 #2 20 A 40 . 40 #0 60 !";
    assert_int_equal(score(set_pair(&p, truth, "0 A 40 . 60 !"), 5)->false_merges, 1);
    close_pair(&p);
    assert_int_equal(score(set_pair(&p, truth, "0 A 20 . 20 A 40 . 60 !"), 5)->false_merges, 0);
    close_pair(&p);
}

static void a_slice_may_be_late_to_end_by_less_than_two_intervals(void **state)
{
    (void)state;
    struct pair p;
    const char *truth = "0 #1 0 A 20 . 20 #2 20 A 40 . 40 #0 60 !";
    assert_int_equal(score(set_pair(&p, truth, "0 A 29 . 29 A 40 . 60 !"), 5)->false_merges, 0);
    close_pair(&p);
    assert_int_equal(score(set_pair(&p, truth, "0 A 30 . 30 A 40 . 60 !"), 5)->false_merges, 1);
    close_pair(&p);
}

static void time_off_the_cores_merges_nothing(void **state)
{
    (void)state;
    struct pair p;
    /* The second call cannot be sampled before it runs, at 38. */
    const char *truth = "0 @0 0 #1 0 A 20 . 20 #2 20 A 20 @- 38 @0 60 . 60 #0 60 !";
    assert_int_equal(score(set_pair(&p, truth, "0 A 40 . 40 A 60 . 60 !"), 5)->false_merges, 0);
    close_pair(&p);
}

static void calls_of_one_message_may_merge_and_so_may_waits(void **state)
{
    (void)state;
    struct pair p;
    assert_int_equal(score(set_pair(&p, "0 #1 0 A 20 . 20 A 40 . 60 !", "0 A 40 . 60 !"), 5)->false_merges, 0);
    close_pair(&p);
    set_pair(&p, "0 #1 0 [poll] 20 . 20 #2 20 [poll] 40 . 60 !", "0 [poll] 40 . 60 !");
    assert_int_equal(score(&p, 5)->false_merges, 0);
    close_pair(&p);
}

static void two_slices_of_one_long_call_are_a_false_split(void **state)
{
    (void)state;
    struct pair p;
    assert_int_equal(score(set_pair(&p, "0 A 60 . 60 !", "0 A 30 . 30 A 60 . 60 !"), 5)->false_splits, 1);
    close_pair(&p);
    assert_int_equal(score(set_pair(&p, "0 A 9 . 60 !", "0 A 4 . 4 A 9 . 60 !"), 5)->false_splits, 0);
    close_pair(&p);
}

static void a_late_slice_of_the_call_before_splits_nothing(void **state)
{
    (void)state;
    struct pair p;
    assert_int_equal(score(set_pair(&p, "0 A 20 . 20 A 60 . 60 !", "0 A 25 . 25 A 60 . 60 !"), 5)->false_splits, 0);
    close_pair(&p);
}

/* ---- methods */

static void self_time_is_the_innermost_calls_and_total_counts_recursion_once(void **state)
{
    (void)state;
    struct pair p;
    score(set_pair(&p, "0 A 10 B 20 A 50 . 70 . 100 . 100 !", "0 A 20 B 20 A 50 . 60 [unseen] 70 . 70 . 100 . 100 !"),
          5);
    const struct sim_method_score *a = method(&p, "A"), *b = method(&p, "B");
    assert_int_equal(a->calls, 2);
    assert_int_equal(a->true_self_ns, 10 + 30 + 30);
    assert_int_equal(a->true_total_ns, 100);
    assert_int_equal(b->true_self_ns, 10 + 20);
    assert_int_equal(b->true_total_ns, 60);
    assert_int_equal(a->claimed_self_ns, 20 + 30 + 30);
    assert_int_equal(b->claimed_self_ns, 10); /* 50..60; the rest is in a gap */
    assert_int_equal(b->claimed_total_ns, 50);
    close_pair(&p);
}

static void the_largest_error_comes_first_and_methods_without_calls_are_left_out(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p);
    sim_tracks_name(&p.truth, "never");
    story(&p.truth, 1, "main", "0 A 50 . 50 B 90 . 90 C 100 . 100 !");
    story(&p.reconstruction, 1, "main", "0 A 53 . 53 B 90 . 90 D 100 . 100 !");
    const struct sim_score *s = score(&p, 5);
    assert_int_equal(s->method_count, 3);
    assert_string_equal(p.truth.names.texts[s->methods[0].name], "C");
    assert_string_equal(p.truth.names.texts[s->methods[1].name], "A"); /* as wrong as B, but named before it */
    close_pair(&p);
}

/* ---- waits */

static void add_wait(struct sim_tracks *t, uint32_t track, uint64_t begin_ns, uint64_t end_ns, bool blocked,
                     int32_t waker, uint64_t release_ns)
{
    sim_track_wait(t, track, &(struct sim_wait){begin_ns, end_ns, STROBE_KIND_MUTEX, blocked, 1, waker, release_ns});
}

static struct pair *two_threads(struct pair *p)
{
    open_pair(p);
    for (int reconstruction = 0; reconstruction < 2; reconstruction++) {
        struct sim_tracks *t = reconstruction ? &p->reconstruction : &p->truth;
        sim_track_add(t, 1, 1, "main", true, 0);
        sim_track_add(t, 2, 1, "waker", false, 0);
        sim_track_add(t, 3, 1, "bystander", false, 0);
    }
    return p;
}

static const struct sim_score *ended(struct pair *p)
{
    for (uint32_t i = 0; i < 3; i++) {
        sim_track_end(&p->truth, i, 1000);
        sim_track_end(&p->reconstruction, i, 1000);
    }
    return score(p, 5);
}

static void blocked_time_counts_calls_that_blocked_and_nested_ones_once(void **state)
{
    (void)state;
    struct pair p;
    two_threads(&p);
    add_wait(&p.truth, 0, 120, 140, true, SIM_NOBODY, 140);
    add_wait(&p.truth, 0, 100, 200, true, SIM_NOBODY, 200);
    add_wait(&p.truth, 0, 300, 400, false, SIM_NOBODY, 400);
    add_wait(&p.reconstruction, 0, 100, 190, true, SIM_NOBODY, 190);
    add_wait(&p.reconstruction, 1, 0, 5, true, SIM_NOBODY, 5);
    const struct sim_score *s = ended(&p);
    assert_int_equal(s->true_blocked_ns, 100);
    assert_int_equal(s->claimed_blocked_ns, 95);
    assert_int_equal(s->blocked_wrong_ns, 15); /* 10 too few on one thread, 5 too many on the other */
    assert_true(s->blocked_error == 0.15);
    close_pair(&p);
}

static void blocked_time_of_threads_that_hardly_block_is_compared_with_a_hundredth_of_their_time(void **state)
{
    (void)state;
    struct pair p;
    two_threads(&p);
    add_wait(&p.truth, 0, 100, 110, true, SIM_NOBODY, 110);
    add_wait(&p.reconstruction, 0, 100, 113, true, SIM_NOBODY, 113);
    const struct sim_score *s = ended(&p);
    assert_int_equal(s->thread_ns, 3000);
    assert_int_equal(s->blocked_wrong_ns, 3);
    assert_true(s->blocked_error == 0.1);
    close_pair(&p);
}

static void a_thread_runs_until_it_blocks_and_from_its_release_on(void **state)
{
    (void)state;
    struct pair p;
    two_threads(&p);
    sim_track_core(&p.truth, 0, 0, 0);
    sim_track_core(&p.truth, 0, 110, -1);
    sim_track_core(&p.truth, 0, 190, 0);
    add_wait(&p.truth, 0, 100, 200, true, 1, 150);
    ended(&p);
    /* The thread is on a core until 110 and blocked until the release at 150. After that it waits for a core. */
    assert_int_equal(p.score.threads[0].running_ns, 1000 - 40);
    close_pair(&p);
}

static void blocked_time_is_falsely_running_unless_it_is_shown_as_off_the_processor(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p);
    for (int reconstruction = 0; reconstruction < 2; reconstruction++) {
        struct sim_tracks *t = reconstruction ? &p.reconstruction : &p.truth;
        sim_track_add(t, 1, 1, "main", true, 0);
        sim_track_call(t, 0, 0, sim_tracks_name(t, "A"), SIM_CALL_METHOD);
    }
    add_wait(&p.truth, 0, 100, 200, true, SIM_NOBODY, 200);
    add_wait(&p.truth, 0, 300, 400, true, SIM_NOBODY, 400);
    sim_track_idle(&p.reconstruction, 0, 150, 350, sim_tracks_name(&p.reconstruction, "[off cpu]"));
    for (int reconstruction = 0; reconstruction < 2; reconstruction++) {
        struct sim_tracks *t = reconstruction ? &p.reconstruction : &p.truth;
        sim_track_return(t, 0, 1000, false);
        sim_track_end(t, 0, 1000);
    }
    const struct sim_score *s = score(&p, 5);
    /* 100 to 150 and 350 to 400 are blocked but shown as running. */
    assert_int_equal(s->false_running_ns, 100);
    assert_int_equal(method(&p, "A")->claimed_self_ns, 1000 - 200);
    close_pair(&p);
}

static void time_off_the_processor_is_named_by_the_call_of_the_true_wait(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p);
    for (int reconstruction = 0; reconstruction < 2; reconstruction++)
        sim_track_add(reconstruction ? &p.reconstruction : &p.truth, 1, 1, "main", true, 0);
    add_wait(&p.truth, 0, 120, 180, true, SIM_NOBODY, 180); /* in the next one */
    add_wait(&p.truth, 0, 100, 200, true, SIM_NOBODY, 200);
    add_wait(&p.truth, 0, 300, 400, true, SIM_NOBODY, 400);
    add_wait(&p.truth, 0, 500, 600, true, SIM_NOBODY, 600);
    uint32_t futex = sim_tracks_name(&p.reconstruction, "[futex]");
    sim_track_idle(&p.reconstruction, 0, 150, 350, futex);
    sim_track_idle(&p.reconstruction, 0, 350, 390, sim_tracks_name(&p.reconstruction, "[off cpu]"));
    sim_track_idle(&p.reconstruction, 0, 510, 520, sim_tracks_name(&p.reconstruction, "[read]"));
    sim_track_idle(&p.reconstruction, 0, 700, 800, futex);
    for (int reconstruction = 0; reconstruction < 2; reconstruction++)
        sim_track_end(reconstruction ? &p.reconstruction : &p.truth, 0, 1000);
    const struct sim_score *s = score(&p, 5);
    assert_int_equal(s->unhooked_ns, 50 + 50 + 40 + 10);
    assert_int_equal(s->named_ns, 50 + 50);
    assert_true(s->waits_named == 100.0 / 150.0);
    close_pair(&p);
}

static void a_waker_is_right_when_it_ended_a_wait_that_overlaps(void **state)
{
    (void)state;
    struct pair p;
    two_threads(&p);
    add_wait(&p.truth, 0, 100, 200, true, 1, 190);
    add_wait(&p.truth, 0, 300, 400, true, 1, 390);
    add_wait(&p.truth, 0, 500, 505, true, 1, 505);          /* too short to be asked for */
    add_wait(&p.truth, 0, 600, 700, true, 1, 690);          /* not claimed */
    add_wait(&p.reconstruction, 0, 110, 201, true, 1, 190); /* right */
    add_wait(&p.reconstruction, 0, 300, 400, true, 2, 390); /* somebody else */
    add_wait(&p.reconstruction, 0, 499, 506, true, 1, 505); /* right, though short */
    add_wait(&p.reconstruction, 0, 800, 900, true, 1, 890); /* there was no wait */
    const struct sim_score *s = ended(&p);
    assert_int_equal(s->true_wakers, 3);
    assert_int_equal(s->found_wakers, 1);
    assert_int_equal(s->claimed_wakers, 4);
    assert_int_equal(s->right_wakers, 2);
    assert_true(s->waker_precision == 0.5);
    close_pair(&p);
}

static void a_waker_of_a_true_wait_that_the_end_of_the_run_cuts_is_neither_right_nor_wrong(void **state)
{
    (void)state;
    struct pair p;
    two_threads(&p);
    add_wait(&p.truth, 0, 900, 1000, true, SIM_NOBODY, 1000); /* cut by the end of the run */
    add_wait(&p.reconstruction, 0, 300, 400, true, 1, 390);
    add_wait(&p.reconstruction, 0, 900, 1001, true, 1, 950);
    for (uint32_t i = 0; i < 3; i++) {
        sim_track_end(&p.truth, i, 1000);
        sim_track_end(&p.reconstruction, i, 1001);
    }
    const struct sim_score *s = score(&p, 5);
    assert_int_equal(s->claimed_wakers, 1);
    assert_int_equal(s->right_wakers, 0);
    close_pair(&p);
}

static void a_waker_of_another_kind_of_wait_is_wrong(void **state)
{
    (void)state;
    struct pair p;
    two_threads(&p);
    add_wait(&p.truth, 0, 100, 200, true, 1, 190);
    sim_track_wait(&p.reconstruction, 0, &(struct sim_wait){100, 200, STROBE_KIND_COND, true, 1, 1, 190});
    const struct sim_score *s = ended(&p);
    assert_int_equal(s->right_wakers, 0);
    assert_int_equal(s->found_wakers, 0);
    close_pair(&p);
}

static void a_claimed_wait_within_another_is_a_part_of_it_unless_it_is_a_true_one(void **state)
{
    (void)state;
    struct pair p;
    two_threads(&p);
    sim_track_wait(&p.truth, 0, &(struct sim_wait){100, 200, STROBE_KIND_COND, true, 1, 1, 150});
    sim_track_wait(&p.truth, 0, &(struct sim_wait){300, 400, STROBE_KIND_COND, true, 1, 1, 350});
    add_wait(&p.truth, 0, 360, 400, true, 1, 390);
    add_wait(&p.reconstruction, 0, 160, 200, true, 2, 190); /* the truth has no such wait */
    sim_track_wait(&p.reconstruction, 0, &(struct sim_wait){100, 200, STROBE_KIND_COND, true, 1, 1, 150});
    add_wait(&p.reconstruction, 0, 360, 399, true, 2, 390); /* it has this one, ended by another */
    sim_track_wait(&p.reconstruction, 0, &(struct sim_wait){300, 400, STROBE_KIND_COND, true, 1, 1, 350});
    add_wait(&p.reconstruction, 0, 500, 600, true, 2, 590); /* none, and within no other */
    const struct sim_score *s = ended(&p);
    assert_int_equal(s->right_wakers, 2);
    assert_int_equal(s->claimed_wakers, 4);
    close_pair(&p);
}

static void a_wait_that_timed_out_asks_for_no_waker(void **state)
{
    (void)state;
    struct pair p;
    two_threads(&p);
    add_wait(&p.truth, 0, 100, 200, true, SIM_NOBODY, 200);
    add_wait(&p.reconstruction, 0, 100, 200, true, 1, 200);
    const struct sim_score *s = ended(&p);
    assert_true(s->waker_recall == 1 && s->waker_precision == 0);
    close_pair(&p);
}

/* ---- totals */

static void totals_are_compared_where_the_claim_knows_them(void **state)
{
    (void)state;
    struct pair p;
    two_threads(&p);
    p.truth.tracks[0].totals = (struct sim_totals){
        .cpu_ns = 100, .allocations = 10, .alloc_bytes = 1000, .voluntary_switches = 3, .involuntary_switches = 1};
    p.truth.tracks[1].totals = (struct sim_totals){.cpu_ns = 300};
    p.reconstruction.tracks[0].totals =
        (struct sim_totals){.cpu_ns = 90, .allocations = 10, .alloc_bytes = 900, .voluntary_switches = 3};
    p.reconstruction.tracks[0].known_cpu = p.reconstruction.tracks[0].known_alloc =
        p.reconstruction.tracks[0].known_switches = true;
    p.reconstruction.tracks[1].totals.cpu_ns = 1;
    const struct sim_score *s = ended(&p);
    assert_true(s->cpu_error == 0.1 && s->alloc_error == 0.1 && s->switch_error == 0.25);
    close_pair(&p);
}

static void errors_of_threads_do_not_cancel(void **state)
{
    (void)state;
    struct pair p;
    two_threads(&p);
    for (uint32_t i = 0; i < 2; i++) {
        p.truth.tracks[i].totals.cpu_ns = 100;
        p.reconstruction.tracks[i].totals.cpu_ns = i ? 50 : 150;
        p.reconstruction.tracks[i].known_cpu = true;
    }
    assert_true(ended(&p)->cpu_error == 0.5);
    close_pair(&p);
}

static void a_total_of_something_that_never_was_is_wrong(void **state)
{
    (void)state;
    struct pair p;
    two_threads(&p);
    p.reconstruction.tracks[0].totals.allocations = 5;
    p.reconstruction.tracks[0].known_alloc = true;
    assert_true(ended(&p)->alloc_error == 1);
    close_pair(&p);
}

static void overhead_is_what_the_tracer_took_of_the_apps_cpu(void **state)
{
    (void)state;
    struct sim_score s = {0};
    sim_score_costs(&s, 1000, 15, 5);
    assert_true(s.overhead == 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_truth_agrees_with_itself),
        cmocka_unit_test(paths_agree_while_they_are_equal_from_root_to_top),
        cmocka_unit_test(equal_names_under_other_callers_do_not_agree),
        cmocka_unit_test(a_call_too_many_or_too_few_disagrees),
        cmocka_unit_test(a_thread_without_claim_agrees_while_it_does_nothing),
        cmocka_unit_test(a_claim_counts_within_the_life_of_its_thread_only),
        cmocka_unit_test(a_thread_that_never_was_is_claimed_in_vain),
        cmocka_unit_test(a_reused_tid_is_another_thread),
        cmocka_unit_test(calls_shorter_than_twice_the_interval_are_folded_into_their_caller),
        cmocka_unit_test(a_claimed_call_is_folded_when_all_it_agrees_with_are),
        cmocka_unit_test(a_claimed_call_that_never_was_stays),
        cmocka_unit_test(a_claimed_call_that_once_was_long_stays_but_where_it_is_right),
        cmocka_unit_test(a_folded_call_keeps_its_place),
        cmocka_unit_test(main_has_a_separate_interval),
        cmocka_unit_test(a_call_is_found_by_a_slice_that_overlaps_half_of_both),
        cmocka_unit_test(short_calls_and_gaps_are_not_asked_for),
        cmocka_unit_test(one_slice_over_calls_of_two_messages_is_a_false_merge),
        cmocka_unit_test(a_slice_may_be_late_to_end_by_less_than_two_intervals),
        cmocka_unit_test(time_off_the_cores_merges_nothing),
        cmocka_unit_test(calls_of_one_message_may_merge_and_so_may_waits),
        cmocka_unit_test(two_slices_of_one_long_call_are_a_false_split),
        cmocka_unit_test(a_late_slice_of_the_call_before_splits_nothing),
        cmocka_unit_test(self_time_is_the_innermost_calls_and_total_counts_recursion_once),
        cmocka_unit_test(the_largest_error_comes_first_and_methods_without_calls_are_left_out),
        cmocka_unit_test(blocked_time_counts_calls_that_blocked_and_nested_ones_once),
        cmocka_unit_test(blocked_time_of_threads_that_hardly_block_is_compared_with_a_hundredth_of_their_time),
        cmocka_unit_test(a_thread_runs_until_it_blocks_and_from_its_release_on),
        cmocka_unit_test(blocked_time_is_falsely_running_unless_it_is_shown_as_off_the_processor),
        cmocka_unit_test(time_off_the_processor_is_named_by_the_call_of_the_true_wait),
        cmocka_unit_test(a_waker_is_right_when_it_ended_a_wait_that_overlaps),
        cmocka_unit_test(a_waker_of_a_true_wait_that_the_end_of_the_run_cuts_is_neither_right_nor_wrong),
        cmocka_unit_test(a_waker_of_another_kind_of_wait_is_wrong),
        cmocka_unit_test(a_claimed_wait_within_another_is_a_part_of_it_unless_it_is_a_true_one),
        cmocka_unit_test(a_wait_that_timed_out_asks_for_no_waker),
        cmocka_unit_test(totals_are_compared_where_the_claim_knows_them),
        cmocka_unit_test(errors_of_threads_do_not_cancel),
        cmocka_unit_test(a_total_of_something_that_never_was_is_wrong),
        cmocka_unit_test(overhead_is_what_the_tracer_took_of_the_apps_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
