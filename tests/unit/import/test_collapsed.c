/* Collapsed stacks: each is shown for its weight, one after the other, in its thread. */
#include "engine/base/error.h"
#include "engine/trace/import/collapsed/collapsed_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/support/imported.h"

#define MS UINT64_C(1000000)

static struct strobe_sampled *sampled;
static struct strobe_collapsed_stats stats;
static struct strobe_error error;
static struct imported session;

static enum strobe_status read_text(const char *text, uint64_t unit_ns, enum strobe_collapsed_threads threads)
{
    struct strobe_collapsed_options options = {unit_ns, threads};
    assert_int_equal(strobe_sampled_open(&sampled), STROBE_OK);
    return strobe_collapsed_read(text, strlen(text), &options, sampled, &stats, &error);
}

/* Imports the text and checks the folded stacks of the session. */
static void folds_to(const char *text, uint64_t unit_ns, enum strobe_collapsed_threads threads, const char *expected)
{
    assert_int_equal(read_text(text, unit_ns, threads), STROBE_OK);
    imported_open(&session, sampled);
    char *folded = imported_folded(&session);
    assert_string_equal(folded, expected);
    free(folded);
}

static void close_import(void)
{
    imported_close(&session);
    strobe_sampled_close(sampled);
}

static void stacks_last_for_their_weight(void **state)
{
    (void)state;
    folds_to("main;a;b 3\nmain;a;c 20\nmain 1\n", MS, STROBE_COLLAPSED_AUTO,
             "stacks;main;a;b 3000\nstacks;main;a;c 20000\nstacks;main 1000\n");
    assert_int_equal(session.reader->samples, 24);
    const struct strobe_reader_thread *t = &session.reader->threads[0];
    assert_int_equal(t->items[0].record.ticks, 0);
    assert_int_equal(t->items[1].record.ticks, 3 * MS);
    assert_int_equal(t->items[2].record.ticks, 23 * MS);
    assert_int_equal(t->end_ticks, 24 * MS);
    close_import();
}

static void a_unit_is_any_time(void **state)
{
    (void)state;
    folds_to("a 3\nb 1\n", 7000, STROBE_COLLAPSED_AUTO, "stacks;a 21\nstacks;b 7\n");
    close_import();
    folds_to("a 3\nb 1\n", 1000 * MS, STROBE_COLLAPSED_AUTO, "stacks;a 3000000\nstacks;b 1000000\n");
    close_import();
}

static void equal_stacks_may_come_again(void **state)
{
    (void)state;
    folds_to("a;b 2\na;c 2\na;b 2\n", MS, STROBE_COLLAPSED_AUTO, "stacks;a;b 4000\nstacks;a;c 2000\n");
    close_import();
}

static void first_frames_are_threads_when_all_look_like_it(void **state)
{
    (void)state;
    folds_to("xz-7/7;main 1\nxz-7/8;work 2\nxz-7/7;main;read 3\n", MS, STROBE_COLLAPSED_AUTO,
             "xz;main 1000\nxz;main;read 3000\nxz;work 2000\n");
    assert_int_equal(session.reader->thread_count, 2);
    assert_non_null(imported_thread(&session, 8));
    close_import();
    folds_to("[main tid=12];a 1\n[pool 3 tid=13];b 2\n", MS, STROBE_COLLAPSED_AUTO, "main;a 1000\npool 3;b 2000\n");
    assert_non_null(imported_thread(&session, 13));
    close_import();
    folds_to("xz-7/7;main 1\nmain 2\n", MS, STROBE_COLLAPSED_AUTO, "stacks;xz-7/7;main 1000\nstacks;main 2000\n");
    close_import();
}

static void an_option_says_that_first_frames_are_threads(void **state)
{
    (void)state;
    folds_to("ui;a 1\nloader;b 2\nui;c 3\n", MS, STROBE_COLLAPSED_FIRST, "ui;a 1000\nui;c 3000\nloader;b 2000\n");
    close_import();
    folds_to("xz-7/8;a 1\n", MS, STROBE_COLLAPSED_NONE, "stacks;xz-7/8;a 1000\n");
    close_import();
}

static void names_may_contain_blanks_and_digits(void **state)
{
    (void)state;
    folds_to("operator new(unsigned long) 12;f<int, 3> 4\n", MS, STROBE_COLLAPSED_AUTO,
             "stacks;operator new(unsigned long) 12;f<int, 3> 4000\n");
    close_import();
}

static void many_samples_become_fewer(void **state)
{
    (void)state;
    folds_to("a 3000000000\nb 1000000000\n", 1000, STROBE_COLLAPSED_AUTO, "stacks;a 3000000000\nstacks;b 1000000000\n");
    assert_int_equal(stats.per_sample, 4000000000 / STROBE_COLLAPSED_SAMPLES_MAX + 1);
    assert_in_range(session.reader->samples, 1000000, STROBE_COLLAPSED_SAMPLES_MAX);
    close_import();
}

static void comments_and_empty_lines_are_no_stacks(void **state)
{
    (void)state;
    folds_to("# made by 3\n\na 1\r\n\r\n", MS, STROBE_COLLAPSED_AUTO, "stacks;a 1000\n");
    assert_int_equal(stats.unknown, 0);
    assert_int_equal(stats.lines, 4);
    close_import();
}

static void damaged_lines_are_counted(void **state)
{
    (void)state;
    folds_to("a 1\nno weight\n 5\nb -3\nc 99999999999999999999\nd 18446744073709551615\ne 2\n", MS,
             STROBE_COLLAPSED_AUTO, "stacks;a 1000\nstacks;e 2000\n");
    assert_int_equal(stats.unknown, 5);
    assert_int_equal(stats.first_unknown, 2);
    close_import();
}

static void a_text_without_stacks_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "# only\n", "words\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(read_text(texts[i], MS, STROBE_COLLAPSED_AUTO), STROBE_BAD_INPUT);
        assert_string_equal(error.text, "line 1: expected stacks such as `main;read_file;read 12`");
        strobe_sampled_close(sampled);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_last_for_their_weight),
        cmocka_unit_test(a_unit_is_any_time),
        cmocka_unit_test(equal_stacks_may_come_again),
        cmocka_unit_test(first_frames_are_threads_when_all_look_like_it),
        cmocka_unit_test(an_option_says_that_first_frames_are_threads),
        cmocka_unit_test(names_may_contain_blanks_and_digits),
        cmocka_unit_test(many_samples_become_fewer),
        cmocka_unit_test(comments_and_empty_lines_are_no_stacks),
        cmocka_unit_test(damaged_lines_are_counted),
        cmocka_unit_test(a_text_without_stacks_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
