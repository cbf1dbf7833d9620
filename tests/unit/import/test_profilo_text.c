/* profilo's text form: numbers by their differences, wrapping around; texts whole in a line; marks as calls.
 * The regressions R-10. */
#include "engine/base/error.h"
#include "engine/trace/import/rhea/profilo_text.h"
#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char line[STROBE_PROFILO_LINE_BYTES * 8];

static struct strobe_profilo_entry entry(int32_t id, const char *type, int64_t timestamp, int32_t tid, int64_t extra)
{
    struct strobe_profilo_entry e = {
        .id = id, .tid = tid, .callid = 1, .matchid = 2, .timestamp = timestamp, .extra = extra};
    snprintf(e.type, sizeof e.type, "%s", type);
    return e;
}

static const char *written(struct strobe_profilo_state *s, const struct strobe_profilo_entry *e)
{
    uint64_t blanked = 0;
    line[strobe_profilo_write(s, e, line, &blanked)] = 0;
    return line;
}

static void entries_are_read_plain_or_as_differences(void **state)
{
    struct strobe_profilo_state plain = {0}, delta = {.delta = true};
    struct strobe_profilo_entry a = entry(10, "MARK_PUSH", 1000, 7, 5), b = entry(12, "MARK_POP", 1500, 6, -5);
    (void)state;
    assert_string_equal(written(&plain, &a), "10|MARK_PUSH|1000|7|1|2|5\n");
    assert_string_equal(written(&plain, &b), "12|MARK_POP|1500|6|1|2|-5\n");
    assert_string_equal(written(&delta, &a), "10|MARK_PUSH|1000|7|1|2|5\n");
    assert_string_equal(written(&delta, &b), "2|MARK_POP|500|-1|0|0|-10\n");
}

static void differences_wrap_around_and_back(void **state)
{
    struct strobe_profilo_state to = {.delta = true}, from = {.delta = true};
    struct strobe_profilo_entry e[3] = {entry(INT32_MAX, "A", INT64_MAX, INT32_MIN, INT64_MIN),
                                        entry(INT32_MIN, "A", INT64_MIN, INT32_MAX, INT64_MAX), entry(0, "A", 0, 0, 0)};
    static const char *const lines[] = {"2147483647|A|9223372036854775807|-2147483648|1|2|-9223372036854775808\n",
                                        "1|A|1|-1|0|0|-1\n",
                                        "-2147483648|A|-9223372036854775808|-2147483647|0|0|-9223372036854775807\n"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct strobe_profilo_entry got;
        assert_string_equal(written(&to, &e[i]), lines[i]);
        assert_true(strobe_profilo_parse(&from, line, strlen(line) - 1, &got));
        assert_memory_equal(&got, &e[i], sizeof got);
    }
}

static void texts_stay_in_their_line_and_change_no_difference(void **state)
{
    struct strobe_profilo_state delta = {.delta = true};
    struct strobe_profilo_entry a = entry(10, "MARK_PUSH", 1000, 7, 0), got;
    struct strobe_profilo_entry text = {
        .id = 11, .matchid = 10, .type = "STRING_NAME", .text = "a|b\nc\0d", .text_bytes = 7};
    uint64_t blanked = 0;
    (void)state;
    written(&delta, &a);
    size_t bytes = strobe_profilo_write(&delta, &text, line, &blanked);
    line[bytes] = 0;
    assert_string_equal(line, "11|STRING_NAME|10|a|b c d\n");
    assert_int_equal(blanked, 2);
    assert_true(strobe_profilo_parse(&delta, line, bytes - 1, &got));
    assert_int_equal(got.id, 11);
    assert_int_equal(got.matchid, 10);
    assert_int_equal(got.text_bytes, 7);
    assert_memory_equal(got.text, "a|b c d", 7);
    assert_string_equal(written(&delta, &a), "0|MARK_PUSH|0|0|0|0|0\n");
}

static void lines_that_do_not_fit_are_refused_and_change_nothing(void **state)
{
    static const char *const bad[] = {"",
                                      "|",
                                      "1",
                                      "1|",
                                      "1|A",
                                      "1|A|",
                                      "x|A|1|2|3|4|5",
                                      "1|a|1|2|3|4|5",
                                      "1|A|1|2|3|4",
                                      "1|A|1|2|3|4|5|6",
                                      "1|A|1|2|3|4|",
                                      "2147483648|A|1|2|3|4|5",
                                      "-2147483649|A|1|2|3|4|5",
                                      "1|A|9223372036854775808|2|3|4|5",
                                      "1|A|1|2147483648|3|4|5",
                                      "1|A|1|2|3|4|-9223372036854775809",
                                      "1|A| 1|2|3|4|5",
                                      "1|A|--1|2|3|4|5",
                                      "1|A|1|-|3|4|5",
                                      "1|STRING_NAME|",
                                      "1|STRING_NAME|5",
                                      "1|STRING_NAME|2147483648|x",
                                      "1|ATYPEOFMORETHANTHIRTYONECHARACTERS|1|2|3|4|5"};
    struct strobe_profilo_state s = {.delta = true, .id = 4, .timestamp = 9}, before = s;
    struct strobe_profilo_entry got;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (strobe_profilo_parse(&s, bad[i], strlen(bad[i]), &got))
            fail_msg("taken: %s", bad[i]);
        assert_memory_equal(&s, &before, sizeof s);
    }
}

static void random_entries_come_back_in_both_forms(void **state)
{
    uint64_t random = strobe_trial_seed("test_profilo_text");
    (void)state;
    for (int form = 0; form < 2; form++) {
        struct strobe_profilo_state to = {.delta = form}, from = to;
        for (int i = 0; i < 2000; i++) {
            struct strobe_profilo_entry got,
                e = entry((int32_t)strobe_trial_random(&random), "MARK_PUSH", (int64_t)strobe_trial_random(&random),
                          (int32_t)strobe_trial_random(&random), (int64_t)strobe_trial_random(&random));
            e.callid = (int32_t)strobe_trial_random(&random);
            e.matchid = (int32_t)strobe_trial_random(&random);
            written(&to, &e);
            assert_true(strobe_profilo_parse(&from, line, strlen(line) - 1, &got));
            assert_memory_equal(&got, &e, sizeof got);
        }
    }
}

/* ---- as calls */

static struct strobe_calls calls;
static struct strobe_profilo_stats stats;
static struct strobe_error error;

static enum strobe_status read_text(const char *text)
{
    strobe_calls_close(&calls);
    strobe_calls_open(&calls);
    return strobe_profilo_read(text, strlen(text), &calls, &stats, &error);
}

static int close_calls(void **state)
{
    (void)state;
    strobe_calls_close(&calls);
    return 0;
}

static void must_be(size_t thread, size_t i, enum strobe_call_what what, uint64_t time_ns, const char *name)
{
    assert_true(thread < calls.thread_count && i < calls.threads[thread].call_count);
    const struct strobe_call *c = &calls.threads[thread].calls[i];
    assert_int_equal(c->what, what);
    assert_int_equal(c->time_ns, time_ns);
    if (name)
        assert_string_equal(calls.names.texts[c->name], name);
    else
        assert_int_equal(c->name, STROBE_CALL_ANY);
}

static void marks_with_their_names_are_calls(void **state)
{
    (void)state;
    assert_int_equal(read_text("dt\nver|3\nid|AAAAAAAAAAA\nprec|6\npid|7\nversion_code|1\n\n"
                               "1|TRACE_START|1000|7|0|0|0\n1|MARK_PUSH|5|0|0|0|0\n1|MARK_PUSH|2|1|0|0|0\n"
                               "9|STRING_NAME|66|of none\n4|STRING_NAME|2|inflate|x\n5|STRING_NAME|3|other\n"
                               "6|STRING_KEY|3|no name\n"
                               "3|MARK_POP|10|-1|0|0|0\nrubbish\n1|CPU|0|0|0|0|0\n1|MARK_PUSH|1|0|0|0|0\n"),
                     STROBE_OK);
    assert_int_equal(calls.pid, 7);
    assert_int_equal(calls.thread_count, 2);
    assert_true(calls.threads[0].is_main);
    must_be(0, 0, STROBE_CALL_BEGIN, 1005000, "inflate|x");
    must_be(1, 0, STROBE_CALL_BEGIN, 1007000, "other");
    must_be(0, 1, STROBE_CALL_END, 1017000, NULL);
    must_be(0, 2, STROBE_CALL_BEGIN, 1018000, "");
    assert_int_equal(stats.unknown, 1);
    assert_int_equal(stats.first_unknown, 16);
    assert_int_equal(stats.others, 2);
    assert_int_equal(stats.texts, 4);
}

static void a_trace_without_a_head_or_its_end_is_refused(void **state)
{
    (void)state;
    assert_int_equal(read_text("1|TRACE_START|1000|7|0|0|0\n"), STROBE_BAD_INPUT);
    assert_string_equal(error.text, "line 1: expected `dt`");
    assert_int_equal(read_text("dt\nver|3\n"), STROBE_BAD_INPUT);
    assert_string_equal(error.text, "expected an empty line after its head of 2 lines");
    assert_int_equal(read_text("dt\n\n1|MARK_PUSH|1|7|0|0"), STROBE_OK);
    assert_true(stats.cut_off);
    assert_int_equal(calls.thread_count, 0);
}

static void calls_that_were_written_are_read_again(void **state)
{
    struct strobe_outfile out;
    uint64_t blanked;
    size_t bytes;
    (void)state;
    strobe_calls_close(&calls);
    strobe_calls_open(&calls);
    calls.pid = 7;
    uint32_t a = strobe_calls_thread(&calls, 7), b = strobe_calls_thread(&calls, 9);
    uint32_t x = strobe_calls_name(&calls, "x|y", 3), y = strobe_calls_name(&calls, "two\nlines", 9);
    strobe_calls_add(&calls, a, STROBE_CALL_BEGIN, 100, x);
    strobe_calls_add(&calls, a, STROBE_CALL_BEGIN, 200, y);
    strobe_calls_add(&calls, b, STROBE_CALL_BEGIN, 150, x);
    strobe_calls_add(&calls, a, STROBE_CALL_END, 300, y);
    strobe_calls_add(&calls, b, STROBE_CALL_END, 350, x);
    strobe_calls_add(&calls, a, STROBE_CALL_END, 400, x);
    assert_int_equal(strobe_outfile_open(&out, temp_dir_path("calls.profilo"), 1), STROBE_OK);
    assert_int_equal(strobe_profilo_write_calls(&calls, &out, &blanked), STROBE_OK);
    assert_int_equal(strobe_outfile_finish(&out, 0), STROBE_OK);
    assert_int_equal(blanked, 1);
    char *text = temp_dir_read("calls.profilo", &bytes);
    assert_int_equal(read_text(text), STROBE_OK);
    free(text);
    assert_int_equal(stats.unknown, 0);
    must_be(0, 0, STROBE_CALL_BEGIN, 100, "x|y");
    must_be(0, 1, STROBE_CALL_BEGIN, 200, "two lines");
    must_be(0, 2, STROBE_CALL_END, 300, NULL);
    must_be(0, 3, STROBE_CALL_END, 400, NULL);
    must_be(1, 0, STROBE_CALL_BEGIN, 150, "x|y");
    must_be(1, 1, STROBE_CALL_END, 350, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_read_plain_or_as_differences),
        cmocka_unit_test(differences_wrap_around_and_back),
        cmocka_unit_test(texts_stay_in_their_line_and_change_no_difference),
        cmocka_unit_test(lines_that_do_not_fit_are_refused_and_change_nothing),
        cmocka_unit_test(random_entries_come_back_in_both_forms),
        cmocka_unit_test_teardown(marks_with_their_names_are_calls, close_calls),
        cmocka_unit_test_teardown(a_trace_without_a_head_or_its_end_is_refused, close_calls),
        cmocka_unit_test_teardown(calls_that_were_written_are_read_again, close_calls),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
