/* The part of the timeline that a policy can see, and its scores there, on cases small enough to compute by hand. Times
 * are in ns. */
#include "sim/score/view.h"

#include "tests/sim/support/story.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct sim_tracks truth, reconstruction;
static struct sim_view view;
static struct sim_score score;

static int no_tracks(void **state)
{
    (void)state;
    sim_tracks_open(&truth);
    sim_tracks_open(&reconstruction);
    memset(&score, 0, sizeof score);
    memset(&view, 0, sizeof view);
    return 0;
}

static int drop_tracks(void **state)
{
    (void)state;
    sim_view_close(&view);
    sim_score_free(&score);
    sim_tracks_close(&truth);
    sim_tracks_close(&reconstruction);
    return 0;
}

static void judge(void)
{
    struct sim_score_options options = {1, 1, 1};
    assert_int_equal(sim_score(&truth, &reconstruction, &options, &score), STROBE_OK);
    assert_int_equal(sim_view_score(&truth, &reconstruction, &view, &score), STROBE_OK);
}

/* Puts only calls with these names in view. */
static void set_names_in_view(const char *names)
{
    assert_true(sim_view_open(&view, &truth));
    for (; *names; names++)
        view.recorded[sim_tracks_name(&truth, (char[]){*names, 0})] = true;
}

static void with_all_names_in_view_the_agreement_is_the_exact_one(void **state)
{
    (void)state;
    story(&truth, 1, "main", "0 A 10 B 30 . 40 C 50 . 100 . 100 !");
    story(&reconstruction, 1, "main", "0 A 15 B 30 . 40 D 50 . 100 . 100 !");
    judge();
    assert_int_equal(score.seen_agree_ns, score.agree_ns);
    assert_true(score.agreement_seen == 0.85 && score.unseen == 0);
    assert_int_equal(score.timed_calls, 0);
}

/* B is not instrumented. In view its time belongs to its caller A, and C within it is a child of A. */
static void calls_without_a_probe_are_folded_into_their_callers(void **state)
{
    (void)state;
    story(&truth, 1, "main", "0 A 10 B 20 C 30 . 40 . 100 . 100 !");
    story(&reconstruction, 1, "main", "0 A 20 C 30 . 100 . 100 !");
    set_names_in_view("AC");
    judge();
    assert_int_equal(score.agree_ns, 70); /* all but the time in B, C included */
    assert_int_equal(score.seen_agree_ns, 100);
    assert_int_equal(score.unseen_ns, 20); /* B is the innermost call: 10..20 and 30..40 */
    assert_true(score.agreement_seen == 1 && score.unseen == 0.2);
}

static void threads_that_are_not_followed_are_unseen_and_not_judged(void **state)
{
    (void)state;
    story(&truth, 1, "main", "0 A 100 . 100 !");
    story(&truth, 2, "other", "0 A 50 . 100 !");
    story(&reconstruction, 1, "main", "0 A 100 . 100 !");
    set_names_in_view("A");
    view.main_only = true;
    judge();
    assert_int_equal(score.seen_ns, 100);
    assert_int_equal(score.seen_agree_ns, 100);
    assert_int_equal(score.unseen_ns, 50); /* from 50 on the thread makes no call in view */
    assert_true(score.unseen == 0.25);
}

static void what_is_shown_as_nothing_or_by_a_placeholder_is_unseen(void **state)
{
    (void)state;
    story(&truth, 1, "main", "0 A 100 . 100 !");
    story(&reconstruction, 1, "main", "10 A 30 [unseen] 60 . 90 . 90 !");
    judge();
    assert_int_equal(score.unseen_ns, 10 + 30 + 10);
    assert_int_equal(score.seen_agree_ns, 50);
}

/* The n-th true call of A is compared with the n-th reconstructed one. One call of B is missing, so no call of B is
 * compared. */
static void lengths_are_compared_call_by_call(void **state)
{
    (void)state;
    story(&truth, 1, "main", "0 A 10 . 20 A 24 . 30 B 40 . 50 B 60 . 100 !");
    story(&reconstruction, 1, "main", "2 A 11 . 20 A 27 . 30 B 40 . 100 !");
    set_names_in_view("AB");
    judge();
    assert_int_equal(score.timed_calls, 2);
    assert_int_equal(score.call_error_sum_ns, 1 + 3);
    assert_int_equal(score.call_error_most_ns, 3);
    assert_true(score.call_error_ns == 2);
}

/* A tracer that sees no exceptions ends such a call with its caller. */
static void a_call_that_an_exception_ended_has_no_length(void **state)
{
    (void)state;
    uint32_t a = sim_tracks_name(&truth, "A");
    sim_track_add(&truth, 1, 1, "main", true, 0);
    for (uint64_t begin_ns = 0; begin_ns < 100; begin_ns += 50) {
        sim_track_call(&truth, 0, begin_ns, a, SIM_CALL_METHOD);
        sim_track_return(&truth, 0, begin_ns + 10, begin_ns == 0);
    }
    sim_track_end(&truth, 0, 100);
    story(&reconstruction, 1, "main", "0 A 40 . 50 A 63 . 100 !");
    set_names_in_view("A");
    judge();
    assert_int_equal(score.timed_calls, 1);
    assert_int_equal(score.call_error_sum_ns, 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, no_tracks, drop_tracks)
    const struct CMUnitTest tests[] = {
        TEST(with_all_names_in_view_the_agreement_is_the_exact_one),
        TEST(calls_without_a_probe_are_folded_into_their_callers),
        TEST(threads_that_are_not_followed_are_unseen_and_not_judged),
        TEST(what_is_shown_as_nothing_or_by_a_placeholder_is_unseen),
        TEST(lengths_are_compared_call_by_call),
        TEST(a_call_that_an_exception_ended_has_no_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
