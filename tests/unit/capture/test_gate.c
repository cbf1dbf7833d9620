/* The gate: the number of samples it passes, and the longest time without a sample. */
#include "engine/capture/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { US = 1000, MS = 1000000 };

struct counts {
    uint64_t samples, reads, longest_gap;
};

/* Events every `spacing` ns for `total` ns through a gate. */
static struct counts play(struct strobe_gate *g, uint64_t start, uint64_t spacing, uint64_t total)
{
    struct counts c = {0};
    uint64_t last = start;
    for (uint64_t now = start; now < start + total; now += spacing) {
        if (strobe_gate_skips(g))
            continue;
        c.reads++;
        strobe_gate_adapt(g, now);
        if (!strobe_gate_due(g, now))
            continue;
        c.samples++;
        if (now - last > c.longest_gap)
            c.longest_gap = now - last;
        last = now;
    }
    return c;
}

/* The spacing of hooks must not change the rate: 0.3 ms hooks and a 1 ms interval give 1000 samples a second, not
 * 833. */
static void samples_keep_to_the_grid_whatever_the_spacing_of_hooks_S1(void **state)
{
    (void)state;
    static const uint64_t spacings[] = {7 * US, 130 * US, 300 * US, 700 * US, 999 * US};
    for (size_t i = 0; i < sizeof spacings / sizeof *spacings; i++) {
        struct strobe_gate g;
        strobe_gate_init(&g, MS, 0);
        struct counts c = play(&g, 5 * MS, spacings[i], 1000 * MS);
        assert_in_range(c.samples, 999, 1001);
    }
}

static void hooks_sparser_than_the_interval_are_all_taken(void **state)
{
    struct strobe_gate g;
    (void)state;
    strobe_gate_init(&g, MS, 15);
    assert_int_equal(play(&g, 5 * MS, 1500 * US, 150 * MS).samples, 100);
}

static void interval_zero_takes_every_event(void **state)
{
    struct strobe_gate g;
    (void)state;
    strobe_gate_init(&g, 0, 15);
    struct counts c = play(&g, 1000, 10, 100000);
    assert_int_equal(c.samples, 10000);
}

static void dense_events_read_the_clock_on_one_event_in_sixteen(void **state)
{
    struct strobe_gate g;
    (void)state;
    strobe_gate_init(&g, MS, 15);
    struct counts c = play(&g, 0, 100, 100 * MS);
    assert_in_range(c.reads, 1000000 / 16, 1000000 / 16 + 100);
    assert_in_range(c.samples, 99, 101);
    assert_in_range(c.longest_gap, MS, MS + 2 * 16 * 100);
}

static void the_time_between_samples_stays_bounded_when_skipping(void **state)
{
    (void)state;
    for (uint64_t spacing = 50; spacing < 2 * MS; spacing = spacing * 3 / 2) {
        struct strobe_gate g;
        strobe_gate_init(&g, MS, 15);
        struct counts c = play(&g, 0, spacing, 200 * MS);
        /* Skipped events never cover more than a quarter of the interval, and then one event may come late. */
        assert_in_range(c.longest_gap, 1, MS + MS / 4 + 2 * spacing);
    }
}

static void a_thread_that_turns_sparse_passes_at_most_skip_max_events_unseen(void **state)
{
    struct strobe_gate g;
    (void)state;
    strobe_gate_init(&g, MS, 15);
    play(&g, 0, 100, 10 * MS);
    uint64_t unseen = 0;
    while (strobe_gate_skips(&g))
        unseen++;
    assert_in_range(unseen, 0, 15);
    strobe_gate_adapt(&g, 20 * MS);
    assert_false(strobe_gate_skips(&g));
}

static void a_wake_ends_the_skipping_at_once(void **state)
{
    struct strobe_gate g;
    (void)state;
    strobe_gate_init(&g, MS, 15);
    play(&g, 0, 100, 10 * MS + 200);
    strobe_store_relaxed(&g.skip, 15);
    assert_true(strobe_gate_skips(&g));
    strobe_gate_wake(&g);
    assert_false(strobe_gate_skips(&g));
}

static void the_grid_starts_anew_after_a_quiet_spell(void **state)
{
    struct strobe_gate g;
    (void)state;
    strobe_gate_init(&g, MS, 0);
    assert_true(strobe_gate_due(&g, 10 * MS));
    assert_true(strobe_gate_due(&g, 500 * MS));
    assert_false(strobe_gate_due(&g, 500 * MS + 999 * US)); /* no burst makes up for the pause */
    assert_true(strobe_gate_due(&g, 501 * MS));
    assert_true(strobe_gate_due(&g, 503 * MS)); /* a whole interval late counts as a pause, too */
    assert_false(strobe_gate_due(&g, 503 * MS + 999 * US));
}

static void a_gate_is_put_off_forwards_only(void **state)
{
    struct strobe_gate g;
    (void)state;
    strobe_gate_init(&g, MS, 0);
    assert_true(strobe_gate_due(&g, 10 * MS));
    strobe_gate_put_off(&g, 10 * MS + 1);
    assert_false(strobe_gate_due(&g, 11 * MS - 1));
    strobe_gate_put_off(&g, 15 * MS);
    assert_false(strobe_gate_due(&g, 15 * MS - 1));
    assert_true(strobe_gate_due(&g, 15 * MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_keep_to_the_grid_whatever_the_spacing_of_hooks_S1),
        cmocka_unit_test(hooks_sparser_than_the_interval_are_all_taken),
        cmocka_unit_test(interval_zero_takes_every_event),
        cmocka_unit_test(dense_events_read_the_clock_on_one_event_in_sixteen),
        cmocka_unit_test(the_time_between_samples_stays_bounded_when_skipping),
        cmocka_unit_test(a_thread_that_turns_sparse_passes_at_most_skip_max_events_unseen),
        cmocka_unit_test(a_wake_ends_the_skipping_at_once),
        cmocka_unit_test(the_grid_starts_anew_after_a_quiet_spell),
        cmocka_unit_test(a_gate_is_put_off_forwards_only),
    };
    return cmocka_run_group_tests_name("gate", tests, NULL, NULL);
}
