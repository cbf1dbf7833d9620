/* The waits of a lab's page: the longest true ones, each with the reconstructed wait that it is shown as. */
#include "sim/page/page_waits.h"

#include "tests/sim/support/story.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { MAIN, WORKER, OTHER };

static struct sim_tracks truth, claim;
static char rows_text[1024];

/* Three threads, which live from 0 to 1000 ns in both timelines. Their waits are added in order of time. */
static int open_tracks(void **state)
{
    (void)state;
    sim_tracks_open(&truth);
    sim_tracks_open(&claim);
    for (int i = 0; i < 2; i++) {
        struct sim_tracks *t = i ? &claim : &truth;
        story(t, 7, "main", "0 A");
        story(t, 8, "worker", "0 A");
        story(t, 9, "other", "0 A");
    }
    return 0;
}

static int close_tracks(void **state)
{
    (void)state;
    sim_tracks_close(&truth);
    sim_tracks_close(&claim);
    return 0;
}

static void true_wait(uint32_t track, uint64_t begin_ns, uint64_t end_ns, int32_t waker)
{
    sim_track_wait(&truth, track, &(struct sim_wait){begin_ns, end_ns, STROBE_KIND_COND, true, 1, waker, end_ns});
}

static void claimed_wait(uint64_t begin_ns, uint64_t end_ns, enum strobe_kind kind, int32_t waker)
{
    sim_track_wait(&claim, MAIN, &(struct sim_wait){begin_ns, end_ns, kind, false, 1, waker, end_ns});
}

/* Returns the rows as "THREAD BEGIN-END by WAKER: CLAIMED by WAKER STATE; ...". */
static const char *list_rows(size_t most)
{
    struct sim_pairing p;
    struct sim_page_waits waits = {0};
    size_t used = 0;
    rows_text[0] = '\0';
    for (uint32_t i = 0; i < 6; i++)
        sim_track_end(i % 2 ? &truth : &claim, i / 2, 1000);
    assert_true(sim_pairing_open(&p, &truth, &claim));
    assert_true(sim_page_waits_of(&p, most, &waits));
    for (size_t i = 0; i < waits.count; i++) {
        const struct sim_page_wait *w = &waits.at[i];
        used += (size_t)snprintf(rows_text + used, sizeof rows_text - used, "%s%s %llu-%llu by %s: %llu by %s%s%s",
                                 i ? "; " : "", w->thread, (unsigned long long)w->begin_ns,
                                 (unsigned long long)w->end_ns, w->waker[0] ? w->waker : "-",
                                 (unsigned long long)w->claimed_ns, w->claimed_waker[0] ? w->claimed_waker : "-",
                                 w->is_claimed ? " claimed" : "", w->is_right ? " right" : "");
    }
    sim_page_waits_free(&waits);
    sim_pairing_close(&p);
    return rows_text;
}

static void the_longest_waits_are_first_and_equal_ones_keep_their_order(void **state)
{
    (void)state;
    true_wait(MAIN, 100, 110, SIM_NOBODY);
    true_wait(MAIN, 200, 300, SIM_NOBODY);
    true_wait(WORKER, 0, 10, SIM_NOBODY);
    assert_string_equal(list_rows(10),
                        "main 200-300 by -: 0 by -; main 100-110 by -: 0 by -; worker 0-10 by -: 0 by -");
    assert_string_equal(list_rows(1), "main 200-300 by -: 0 by -");
    assert_string_equal(list_rows(0), "");
}

static void a_wait_that_did_not_block_has_no_row(void **state)
{
    (void)state;
    sim_track_wait(&truth, MAIN, &(struct sim_wait){100, 200, STROBE_KIND_COND, false, 1, WORKER, 200});
    assert_string_equal(list_rows(10), "");
}

static void the_claim_of_a_wait_is_the_one_of_its_kind_that_overlaps_it_most(void **state)
{
    (void)state;
    true_wait(MAIN, 100, 200, WORKER);
    claimed_wait(0, 95, STROBE_KIND_COND, WORKER);
    claimed_wait(95, 120, STROBE_KIND_COND, OTHER);
    claimed_wait(120, 205, STROBE_KIND_COND, OTHER);
    claimed_wait(205, 400, STROBE_KIND_MUTEX, WORKER);
    assert_string_equal(list_rows(10), "main 100-200 by worker: 85 by other claimed");
}

static void a_wait_of_another_kind_or_beside_it_is_no_claim(void **state)
{
    (void)state;
    true_wait(MAIN, 100, 200, WORKER);
    claimed_wait(50, 100, STROBE_KIND_COND, WORKER);
    claimed_wait(100, 200, STROBE_KIND_MUTEX, WORKER);
    claimed_wait(200, 250, STROBE_KIND_COND, WORKER);
    assert_string_equal(list_rows(10), "main 100-200 by worker: 0 by -");
}

static void the_right_waker_counts_though_a_longer_claim_has_another(void **state)
{
    (void)state;
    true_wait(MAIN, 100, 200, WORKER);
    claimed_wait(90, 110, STROBE_KIND_COND, WORKER);
    claimed_wait(110, 200, STROBE_KIND_COND, OTHER);
    assert_string_equal(list_rows(10), "main 100-200 by worker: 90 by worker claimed right");
}

static void without_a_true_waker_none_is_right(void **state)
{
    (void)state;
    true_wait(MAIN, 100, 200, SIM_NOBODY);
    claimed_wait(100, 200, STROBE_KIND_COND, WORKER);
    assert_string_equal(list_rows(10), "main 100-200 by -: 100 by worker claimed");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_tracks, close_tracks)
    const struct CMUnitTest tests[] = {
        TEST(the_longest_waits_are_first_and_equal_ones_keep_their_order),
        TEST(a_wait_that_did_not_block_has_no_row),
        TEST(the_claim_of_a_wait_is_the_one_of_its_kind_that_overlaps_it_most),
        TEST(a_wait_of_another_kind_or_beside_it_is_no_claim),
        TEST(the_right_waker_counts_though_a_longer_claim_has_another),
        TEST(without_a_true_waker_none_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
