/* Results: a written result reads back, a damaged one is refused, and pages and tables contain the measured values. */
#include "engine/base/error.h"
#include "sim/score/page.h"
#include "sim/score/summary.h"

#include "tests/sim/support/story.h"
#include "tests/support/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static struct sim_result make(const char *scenario, const char *policy, uint64_t seed, const char *reconstruction)
{
    struct sim_tracks truth, claims;
    struct sim_score score;
    struct sim_result r;
    sim_tracks_open(&truth);
    sim_tracks_open(&claims);
    story(&truth, 1, "main", "0 A 10 B 40 . 70 . 70 C\"<&\\ 90 . 100 !");
    story(&truth, 2, "idle", "0 A 50 . 60 !");
    story(&claims, 1, "main", reconstruction);
    claims.samples = 12345678901234567890u;
    claims.bytes = 640;
    assert_int_equal(sim_score(&truth, &claims, &(struct sim_score_options){5, 5, 0}, &score), STROBE_OK);
    sim_score_costs(&score, 3000, 100, 1);
    assert_int_equal(sim_result_of(&score, &truth, scenario, policy, seed, &r), STROBE_OK);
    r.interval_ns = 1000000;
    sim_score_free(&score);
    sim_tracks_close(&truth);
    sim_tracks_close(&claims);
    return r;
}

static char *line_of(const struct sim_result *r, size_t most)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    sim_result_print_line(r, most, out);
    fclose(out);
    char *kept = strdup(text); /* a copy, because gcc 12 mistakes the stream's buffer for a local variable */
    assert_non_null(kept);
    free(text);
    return kept;
}

static void a_line_reads_back_as_what_it_was_written_from(void **state)
{
    (void)state;
    struct sim_result r = make("a \"scenario\"", "strobe", UINT64_MAX, "0 A 12 B 40 . 70 . 100 !"), back;
    struct strobe_error error = {""};
    char *line = line_of(&r, 100);
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    assert_int_equal(sim_result_read_line(line, &back, &error), STROBE_OK);
    assert_string_equal(back.scenario, r.scenario);
    assert_string_equal(back.policy, "strobe");
    assert_true(back.seed == UINT64_MAX && back.score.samples == r.score.samples);
    assert_true(back.score.agreement == r.score.agreement && back.score.overhead == r.score.overhead);
    assert_true(back.score.recall == r.score.recall && back.interval_ns == r.interval_ns);
    assert_int_equal(back.method_count, r.method_count);
    assert_int_equal(back.thread_count, 2);
    for (size_t i = 0; i < r.method_count; i++) {
        assert_string_equal(back.methods[i].name, r.methods[i].name);
        assert_true(back.methods[i].claimed_self == r.methods[i].claimed_self);
        assert_true(back.methods[i].true_total_ns == r.methods[i].true_total_ns);
    }
    char *again = line_of(&back, 100);
    assert_string_equal(again, line);
    free(line);
    free(again);
    sim_result_free(&r);
    sim_result_free(&back);
}

static void a_line_holds_no_more_than_asked_for(void **state)
{
    (void)state;
    struct sim_result r = make("s", "p", 1, "0 A 12 B 40 . 70 . 100 !"), back;
    struct strobe_error error;
    char *line = line_of(&r, 1);
    assert_int_equal(sim_result_read_line(line, &back, &error), STROBE_OK);
    assert_int_equal(back.method_count, 1);
    assert_int_equal(back.thread_count, 1);
    assert_string_equal(back.methods[0].name, r.methods[0].name);
    free(line);
    sim_result_free(&r);
    sim_result_free(&back);
}

static void a_result_has_the_documented_members(void **state)
{
    (void)state;
    struct sim_result r = make("s", "p", 7, "0 A 12 B 40 . 70 . 100 !");
    static const char *const members[] = {"agreement",    "agreement_resolved", "overhead", "waker_precision",
                                          "waker_recall", "false_merges",       "lost",     "bytes"};
    char *text = line_of(&r, 0), member[64];
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        double value;
        snprintf(member, sizeof member, "\"%s\": ", members[i]);
        assert_non_null(strstr(text, member));
        assert_true(sim_result_value(&r, members[i], &value));
    }
    assert_non_null(strstr(text, "\"scenario\": \"s\""));
    assert_non_null(strstr(text, "\"policy\": \"p\""));
    assert_non_null(strstr(text, "\"seed\": 7"));
    assert_false(sim_result_value(&r, "luck", &(double){0}));
    free(text);
    sim_result_free(&r);
}

/* Returns a copy of the line in which `to` replaces the first `from`. */
static char *edited(const char *line, const char *from, const char *to)
{
    const char *at = strstr(line, from);
    assert_non_null(at);
    char *out = malloc(strlen(line) + strlen(to) + 1);
    assert_non_null(out);
    sprintf(out, "%.*s%s%s", (int)(at - line), line, to, at + strlen(from));
    return out;
}

static void a_damaged_line_is_refused_with_its_column(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *why;
    } damage[] = {
        {"{", "[", "column 1: expected '{'"},
        {"\"seed\": 7", "\"seed\": -7", "a whole number"},
        {"\"seed\": 7", "\"seed\": 07", "a whole number"},
        {"\"seed\": 7", "\"seed\": 7.5", "a whole number"},
        {"\"seed\": 7", "\"seed\": 18446744073709551616", "a number below 2^64"},
        {"\"seed\": 7", "\"sead\": 7", "a member of a result, not \"sead\""},
        {"\"seed\": 7", "\"seed\": 7,\"seed\": 7", "each member once"},
        {"\"seed\": 7,", "", "a member \"seed\""},
        {"\"overhead\": ", "\"overhead\": .", "a number"},
        {"\"calls\": ", "\"cells\": ", "a member of a result, not \"cells\""},
        {"\"calls\": 2,", "", "a member \"calls\""},
        {"\"scenario\": \"s\"", "\"scenario\": \"s", "',' or '}'"},
        {"\"scenario\": \"s\"", "\"scenario\": \"\\q\"", "an escape of JSON"},
        {"\"methods\": [", "\"methods\": {", "expected '['"},
        {"}\n", "} 1\n", "the end of the line"},
    };
    struct sim_result r = make("s", "p", 7, "0 A 12 B 40 . 70 . 100 !"), back;
    char *line = line_of(&r, 100);
    for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
        struct strobe_error error = {""};
        char *bad = edited(line, damage[i].from, damage[i].to);
        assert_int_equal(sim_result_read_line(bad, &back, &error), STROBE_BAD_INPUT);
        if (strncmp(error.text, "column ", 7) || !strstr(error.text, damage[i].why))
            fail_msg("%s -> %s: %s", damage[i].from, damage[i].to, error.text);
        free(bad);
    }
    free(line);
    sim_result_free(&r);
}

static void a_line_cut_anywhere_is_refused(void **state)
{
    (void)state;
    struct sim_result r = make("s", "p", 7, "0 A 12 B 40 . 70 . 100 !"), back;
    struct strobe_error error;
    char *line = line_of(&r, 100);
    for (size_t n = strlen(line) - 2; n; n--) {
        line[n] = 0;
        assert_int_equal(sim_result_read_line(line, &back, &error), STROBE_BAD_INPUT);
    }
    free(line);
    sim_result_free(&r);
}

static void a_summary_has_median_and_spread_for_any_order(void **state)
{
    (void)state;
    /* A is late by 0, 10, ... 40: 100, 90, ... 60 of 160 agree, and 10 of the thread without claim. */
    static const char *const claims[] = {"0 A 10 B 40 . 70 . 100 !", "10 A 10 B 40 . 70 . 100 !",
                                         "20 A 20 B 40 . 70 . 100 !"};
    static const int order[2][3] = {{0, 1, 2}, {2, 0, 1}};
    char *text[2];
    for (int o = 0; o < 2; o++) {
        struct sim_summary s;
        struct sim_spread v;
        size_t bytes;
        sim_summary_open(&s);
        for (int i = 0; i < 3; i++) {
            struct sim_result r = make("s", "p", (uint64_t)i, claims[order[o][i]]);
            assert_int_equal(sim_summary_add(&s, &r), STROBE_OK);
            sim_result_free(&r);
        }
        assert_true(sim_summary_spread(&s, "agree_ns", &v));
        assert_true(v.least == 70 && v.median == 80 && v.most == 90 && v.quarter == 75 && v.three_quarters == 85);
        FILE *out = open_memstream(&text[o], &bytes);
        sim_summary_print_json(&s, out);
        sim_summary_print(&s, out);
        sim_summary_print_row(&s, NULL, out);
        fclose(out);
        sim_summary_close(&s);
    }
    assert_string_equal(text[0], text[1]);
    assert_non_null(strstr(text[0], "\"seeds\": 3"));
    free(text[0]);
    free(text[1]);
}

static void a_summary_takes_one_scenario_and_policy_only(void **state)
{
    (void)state;
    struct sim_summary s;
    struct sim_result r = make("s", "p", 1, "0 A 100 !"), other = make("s", "q", 1, "0 A 100 !");
    sim_summary_open(&s);
    assert_false(sim_summary_spread(&s, "agreement", &(struct sim_spread){0}));
    assert_int_equal(sim_summary_add(&s, &r), STROBE_OK);
    assert_int_equal(sim_summary_add(&s, &other), STROBE_BAD_INPUT);
    assert_int_equal(s.count, 1);
    sim_summary_close(&s);
    sim_result_free(&r);
    sim_result_free(&other);
}

static char *page_of(const struct sim_result *results, size_t count, const char *path)
{
    assert_int_equal(sim_page_write(results, count, path, 1), STROBE_OK);
    FILE *in = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    assert_true(in && text && fread(text, 1, (1 << 20) - 1, in) > 1000);
    fclose(in);
    return text;
}

/* Returns the number of occurrences of `what` in the text. */
static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        count++;
    return count;
}

static void a_page_needs_nothing_else_and_shows_each_policy_and_thread(void **state)
{
    (void)state;
    char path[TEMPORARY_BYTES];
    int file = mkstemp(temporary_path(path, "strobe-page-XXXXXX"));
    assert_true(file >= 0);
    close(file);
    struct sim_result results[] = {
        make("first", "strobe", 1, "0 A 12 B 40 . 70 . 100 !"),
        make("first", "a<b>&c", 1, "0 A 40 . 100 !"),
        make("first", "strobe", 2, "0 A 15 B 40 . 70 . 100 !"),
        make("second", "strobe", 1, "0 A 40 . 100 !"),
    };
    char *text = page_of(results, 4, path), *again = page_of(results, 4, path);
    assert_string_equal(text, again);
    assert_int_equal(count_of(text, "<h2>"), 2);
    assert_int_equal(count_of(text, "<svg "), 10);
    assert_int_equal(count_of(text, "<svg "), count_of(text, "</svg>"));
    assert_int_equal(count_of(text, "<path "), count_of(text, "</path>") + count_of(text, "\"/><text"));
    assert_int_equal(count_of(text, "<tr>"), count_of(text, "</tr>"));
    assert_int_equal(count_of(text, "http"), 0);
    assert_int_equal(count_of(text, "src="), 0);
    assert_int_equal(count_of(text, "a<b>"), 0);
    assert_true(count_of(text, "a&lt;b&gt;&amp;c") > 0);
    assert_true(count_of(text, "C&quot;&lt;&amp;\\") > 0);
    assert_int_equal(count_of(text, "<th scope=\"row\">idle</th>"), 2);
    assert_int_equal(count_of(text, "nan"), 0);
    assert_int_equal(sim_page_write(results, 4, path, 0), STROBE_EXISTS);
    unlink(path);
    free(text);
    free(again);
    for (size_t i = 0; i < 4; i++)
        sim_result_free(&results[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_reads_back_as_what_it_was_written_from),
        cmocka_unit_test(a_line_holds_no_more_than_asked_for),
        cmocka_unit_test(a_result_has_the_documented_members),
        cmocka_unit_test(a_damaged_line_is_refused_with_its_column),
        cmocka_unit_test(a_line_cut_anywhere_is_refused),
        cmocka_unit_test(a_summary_has_median_and_spread_for_any_order),
        cmocka_unit_test(a_summary_takes_one_scenario_and_policy_only),
        cmocka_unit_test(a_page_needs_nothing_else_and_shows_each_policy_and_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
