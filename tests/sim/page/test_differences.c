/* Differences of a reconstructed timeline from the truth: their kinds, their spans, and that they last as long as the
 * score has no exact agreement. */
#include "sim/page/differences.h"

#include "sim/kernel/random.h"
#include "tests/sim/support/story.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct sim_tracks truth, claim;
static struct sim_differences list;
static char line[4096];

/* Returns the differences of the first pair as "KIND DEPTH BEGIN-END TRUTH|CLAIM; ...". */
static const char *differences_text(const char *of_truth, const char *of_claim)
{
    static const char *const kinds[SIM_DIFFERENCE_KINDS] = {"missing", "extra", "other", "unseen"};
    struct sim_pairing p;
    size_t used = 0;
    sim_tracks_open(&truth);
    sim_tracks_open(&claim);
    if (of_truth)
        story(&truth, 7, "main", of_truth);
    if (of_claim)
        story(&claim, 7, "main", of_claim);
    assert_true(sim_pairing_open(&p, &truth, &claim));
    assert_true(sim_differences_of(&p, &p.pairs[0], &list));
    line[0] = 0;
    for (size_t i = 0; i < list.count; i++) {
        const struct sim_difference *d = &list.at[i];
        used +=
            (size_t)snprintf(line + used, sizeof line - used, "%s%s %u %llu-%llu %s|%s", i ? "; " : "", kinds[d->kind],
                             d->depth, (unsigned long long)d->begin_ns, (unsigned long long)d->end_ns,
                             d->true_name == SIM_NO_NAME ? "" : truth.names.texts[d->true_name],
                             d->claimed == SIM_NO_NAME ? "" : claim.names.texts[d->claimed]);
    }
    sim_pairing_close(&p);
    sim_tracks_close(&truth);
    sim_tracks_close(&claim);
    return line;
}

static void equal_timelines_have_no_difference(void **state)
{
    (void)state;
    assert_string_equal(differences_text("0 A  10 B  30 .  50 .  60 !", "0 A  10 B  30 .  50 .  60 !"), "");
}

static void each_kind_is_recognised(void **state)
{
    (void)state;
    assert_string_equal(differences_text("0 A  10 B  30 .  50 .  60 !", "0 A  50 .  60 !"), "missing 1 10-30 B|");
    assert_string_equal(differences_text("0 A  50 .  60 !", "0 A  10 B  30 .  50 .  60 !"), "extra 1 10-30 |B");
    assert_string_equal(differences_text("0 A  10 B  30 .  50 .  60 !", "0 A  10 C  30 .  50 .  60 !"),
                        "other 1 10-30 B|C");
    assert_string_equal(differences_text("0 A  10 B  30 .  50 .  60 !", "0 A  10 [unseen]  30 .  50 .  60 !"),
                        "unseen 1 10-30 B|[unseen]");
    assert_string_equal(differences_text("0 A  50 .  60 !", "0 A  20 .  60 !"), "unseen 0 20-50 A|");
}

static void a_difference_ends_when_its_first_calls_change(void **state)
{
    (void)state;
    assert_string_equal(differences_text("0 A  10 B  15 D  20 .  30 .  30 C  40 .  50 .  60 !", "0 A  50 .  60 !"),
                        "missing 1 10-30 B|; missing 1 30-40 C|");
    assert_string_equal(differences_text("0 A  10 B  30 .  50 .  60 !", "0 A  12 B  32 .  50 .  60 !"),
                        "missing 1 10-12 B|; extra 1 30-32 |B");
}

static void a_thread_of_one_side_differs_while_it_has_calls(void **state)
{
    (void)state;
    assert_string_equal(differences_text("5 A  50 .  60 !", NULL), "unseen 0 5-50 A|");
    assert_string_equal(differences_text(NULL, "5 A  50 .  60 !"), "extra 0 5-50 |A");
}

static void only_the_life_of_the_true_thread_counts(void **state)
{
    (void)state;
    assert_string_equal(differences_text("10 A  50 .  50 !", "0 A  5 B  20 .  70 .  70 !"), "extra 1 10-20 |B");
}

/* Writes a random story that ends at 200 ns. Only a claim has placeholders. */
static void write_random_story(struct sim_random *random, bool is_claim, char *out, size_t bytes)
{
    static const char *const names[] = {"A", "B", "C", "[wait]", "[unseen]"};
    unsigned depth = 0, now = 0;
    size_t used = 0;
    for (unsigned i = 0; i < 30; i++, now += (unsigned)sim_random_below(random, 6)) {
        bool ends = depth && sim_random_below(random, 2);
        used += (size_t)snprintf(out + used, bytes - used, "%u %s  ", now,
                                 ends ? "." : names[sim_random_below(random, 4 + is_claim)]);
        depth += ends ? -1u : 1u;
    }
    for (; depth; depth--)
        used += (size_t)snprintf(out + used, bytes - used, "%u .  ", now);
    snprintf(out + used, bytes - used, "200 !");
}

static void differences_last_as_long_as_there_is_no_agreement(void **state)
{
    (void)state;
    char of_truth[1024], of_claim[1024];
    unsigned differing = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct sim_random random = sim_random_seed(seed, 1);
        struct sim_score score;
        uint64_t sum_ns = 0;
        write_random_story(&random, false, of_truth, sizeof of_truth);
        write_random_story(&random, true, of_claim, sizeof of_claim);
        differences_text(of_truth, of_claim);
        for (size_t i = 0; i < list.count; i++) {
            assert_true(list.at[i].end_ns > list.at[i].begin_ns);
            assert_true(!i || list.at[i].begin_ns >= list.at[i - 1].end_ns);
            sum_ns += list.at[i].end_ns - list.at[i].begin_ns;
        }
        sim_tracks_open(&truth);
        sim_tracks_open(&claim);
        story(&truth, 7, "main", of_truth);
        story(&claim, 7, "main", of_claim);
        assert_int_equal(sim_score(&truth, &claim, &(struct sim_score_options){.interval_ns = 5}, &score), STROBE_OK);
        if (sum_ns != score.thread_ns - score.agree_ns)
            fail_msg("seed %llu: differences of %llu ns, without agreement are %llu ns", (unsigned long long)seed,
                     (unsigned long long)sum_ns, (unsigned long long)(score.thread_ns - score.agree_ns));
        differing += list.count > 3;
        sim_score_free(&score);
        sim_tracks_close(&truth);
        sim_tracks_close(&claim);
    }
    assert_true(differing > 200);
}

static int free_list(void **state)
{
    (void)state;
    free(list.at);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_timelines_have_no_difference),
        cmocka_unit_test(each_kind_is_recognised),
        cmocka_unit_test(a_difference_ends_when_its_first_calls_change),
        cmocka_unit_test(a_thread_of_one_side_differs_while_it_has_calls),
        cmocka_unit_test(only_the_life_of_the_true_thread_counts),
        cmocka_unit_test(differences_last_as_long_as_there_is_no_agreement),
    };
    return cmocka_run_group_tests(tests, NULL, free_list);
}
