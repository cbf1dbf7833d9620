/* /proc text: names that look like fields, text that is cut off, numbers at their limits. */
#include "engine/watch/proc_stat.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TAIL " S 1 2 3 4 5 6 70 8 90 10 1234 56 0 0 16 -4 33 0 987654 1073741824 2500 18446744073709551615 1 1 0"

static struct strobe_proc_stat stat_of(const char *line)
{
    struct strobe_proc_stat s;
    assert_int_equal(strobe_proc_stat_read(line, strlen(line), &s), STROBE_OK);
    return s;
}

static void is_bad(const char *line)
{
    struct strobe_proc_stat s;
    assert_int_equal(strobe_proc_stat_read(line, strlen(line), &s), STROBE_BAD_INPUT);
}

static void fields_are_those_of_proc(void **state)
{
    (void)state;
    struct strobe_proc_stat s = stat_of("4711 (app)" TAIL "\n");
    assert_int_equal(s.pid, 4711);
    assert_string_equal(s.comm, "app");
    assert_int_equal(s.state, 'S');
    assert_int_equal(s.minor_faults, 70);
    assert_int_equal(s.major_faults, 90);
    assert_int_equal(s.user_ticks, 1234);
    assert_int_equal(s.system_ticks, 56);
    assert_int_equal(s.priority, 16);
    assert_int_equal(s.nice, -4);
    assert_int_equal(s.thread_count, 33);
    assert_int_equal(s.start_ticks, 987654);
    assert_int_equal(s.vm_bytes, 1073741824);
    assert_int_equal(s.rss_pages, 2500);
}

/* Upstream splits at blanks: priority and nice are then other fields. */
static void a_name_with_blanks_and_brackets_shifts_nothing(void **state)
{
    static const char *const names[] = {"a b", ") S 1 (", "a) R 1 2 3", "((", "))", "", " ", "Web Content"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char line[400];
        snprintf(line, sizeof line, "4711 (%s)" TAIL, names[i]);
        struct strobe_proc_stat s = stat_of(line);
        assert_string_equal(s.comm, names[i]);
        assert_int_equal(s.priority, 16);
        assert_int_equal(s.nice, -4);
    }
}

static void the_line_of_this_very_process_is_read(void **state)
{
    char line[1024];
    (void)state;
    FILE *f = fopen("/proc/self/stat", "re");
    assert_non_null(f);
    size_t bytes = fread(line, 1, sizeof line, f);
    fclose(f);
    struct strobe_proc_stat s;
    assert_int_equal(strobe_proc_stat_read(line, bytes, &s), STROBE_OK);
    if (strobe_trial_emulated())
        skip(); /* the line comes from the emulator, which fills in few fields */
    assert_int_equal(s.thread_count, 1);
    assert_true(s.vm_bytes > 0 && s.rss_pages > 0);
}

static void a_name_longer_than_there_is_room_for_is_cut(void **state)
{
    char line[600] = "1 (";
    (void)state;
    memset(line + 3, 'x', 200);
    strcpy(line + 203, ")" TAIL);
    struct strobe_proc_stat s = stat_of(line);
    assert_int_equal(strlen(s.comm), sizeof s.comm - 1);
    assert_int_equal(s.nice, -4);
}

static void numbers_of_64_bits_are_whole(void **state)
{
    (void)state;
    struct strobe_proc_stat s = stat_of("1 (a) R 0 0 0 0 0 0 18446744073709551615 0 0 0 18446744073709551614 0 0 0 "
                                        "-9223372036854775808 9223372036854775807 1 0 18446744073709551615 "
                                        "18446744073709551615 -1");
    assert_true(s.minor_faults == UINT64_MAX && s.user_ticks == UINT64_MAX - 1);
    assert_true(s.priority == INT64_MIN && s.nice == INT64_MAX);
    assert_true(s.start_ticks == UINT64_MAX && s.vm_bytes == UINT64_MAX && s.rss_pages == -1);
}

static void numbers_above_are_bad(void **state)
{
    (void)state;
    is_bad("1 (a) R 0 0 0 0 0 0 18446744073709551616 0 0 0 0 0 0 0 0 0 1 0 0 0 0");
    is_bad("1 (a) R 0 0 0 0 0 0 0 0 0 0 0 0 0 0 9223372036854775808 0 1 0 0 0 0");
    is_bad("1 (a) R 0 0 0 0 0 0 -1 0 0 0 0 0 0 0 0 0 1 0 0 0 0");
    is_bad("4294967296 (a)" TAIL);
    is_bad("-1 (a)" TAIL);
}

/* A text cut anywhere before the last field's first digit is bad. After that digit a cut cannot be detected. */
static void a_line_cut_off_anywhere_is_bad_or_whole(void **state)
{
    static const char line[] = "4711 (a b)" TAIL;
    size_t need = (size_t)(strstr(line, " 2500 ") - line) + 2;
    (void)state;
    for (size_t bytes = 0; bytes < sizeof line; bytes++) {
        char *cut = malloc(bytes + 1);
        struct strobe_proc_stat s;
        memcpy(cut, line, bytes);
        assert_int_equal(strobe_proc_stat_read(cut, bytes, &s), bytes < need ? STROBE_BAD_INPUT : STROBE_OK);
        free(cut);
    }
}

static void a_line_of_another_form_is_bad(void **state)
{
    (void)state;
    is_bad("");
    is_bad("4711");
    is_bad("4711 app S 1 2 3");
    is_bad("x (app)" TAIL);
    is_bad("4711(app)" TAIL);
    is_bad("4711 (app)S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21");
    is_bad("4711 (app) S 1 2 3 4 5 6 7x 8 9 10 11 12 13 14 15 16 17 18 19 20 21");
    is_bad("4711 (app) S  1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21");
}

/* ---- sched */

static const char sched[] = "app (4711, #threads: 3)\n"
                            "-------------------------------------------------------------------\n"
                            "se.exec_start                                :      72183.456789\n"
                            "se.sum_exec_runtime                          :         12.000001\n"
                            "se.statistics.a_key_longer_than_its_column_is_wide_by_far_and_more:  5\n"
                            "nr_switches                                  :                  131\n"
                            "nr_voluntary_switches                        :                  102\n"
                            "avg_atom                                     :         -0.5\n"
                            "mm->numa_scan_seq                            :  9223372036854\n"
                            "clock-delta                                  :         1234567890123456789";

static enum strobe_status sched_of(const char *key, int64_t *millionths)
{
    return strobe_proc_sched_read(sched, sizeof sched - 1, key, millionths);
}

static void keys_of_sched_are_found_whole(void **state)
{
    int64_t n = 0;
    (void)state;
    assert_int_equal(sched_of("nr_switches", &n), STROBE_OK);
    assert_int_equal(n, 131000000);
    assert_int_equal(sched_of("nr_voluntary_switches", &n), STROBE_OK);
    assert_int_equal(n, 102000000);
    assert_int_equal(sched_of("voluntary_switches", &n), STROBE_NO_ENTRY);
    assert_int_equal(sched_of("nr", &n), STROBE_NO_ENTRY);
}

static void numbers_of_sched_have_six_decimals(void **state)
{
    int64_t n = 0;
    (void)state;
    assert_int_equal(sched_of("se.exec_start", &n), STROBE_OK);
    assert_true(n == 72183456789);
    assert_int_equal(sched_of("se.sum_exec_runtime", &n), STROBE_OK);
    assert_true(n == 12000001);
    assert_int_equal(sched_of("mm->numa_scan_seq", &n), STROBE_OK);
    assert_true(n == 9223372036854000000);
}

static void keys_that_fill_their_column_are_found(void **state)
{
    int64_t n = 0;
    (void)state;
    assert_int_equal(sched_of("se.statistics.a_key_longer_than_its_column_is_wide_by_far_and_more", &n), STROBE_OK);
    assert_int_equal(n, 5000000);
}

/* A number without the end of its line may lack digits. */
static void the_last_line_of_a_truncated_sched_is_not_used(void **state)
{
    int64_t n = 0;
    (void)state;
    assert_int_equal(sched_of("clock-delta", &n), STROBE_NO_ENTRY);
    const char *in_number = strstr(sched, "131") + 2;
    assert_int_equal(strobe_proc_sched_read(sched, (size_t)(in_number - sched), "nr_switches", &n), STROBE_NO_ENTRY);
    assert_int_equal(strobe_proc_sched_read(sched, 0, "nr_switches", &n), STROBE_NO_ENTRY);
}

static void numbers_of_sched_out_of_range_are_bad(void **state)
{
    static const char text[] = "a : 9223372036855\nb : x\nc :\nd : 1 2\ne : 9223372036854.775808\n";
    int64_t n;
    (void)state;
    for (const char *key = "abcde"; *key; key++) {
        char name[] = {*key, 0};
        assert_int_equal(strobe_proc_sched_read(text, sizeof text - 1, name, &n), STROBE_BAD_INPUT);
    }
}

static void a_negative_number_of_sched_keeps_its_decimals(void **state)
{
    int64_t n = 0;
    (void)state;
    assert_int_equal(sched_of("avg_atom", &n), STROBE_OK);
    assert_int_equal(n, -500000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_those_of_proc),
        cmocka_unit_test(a_name_with_blanks_and_brackets_shifts_nothing),
        cmocka_unit_test(the_line_of_this_very_process_is_read),
        cmocka_unit_test(a_name_longer_than_there_is_room_for_is_cut),
        cmocka_unit_test(numbers_of_64_bits_are_whole),
        cmocka_unit_test(numbers_above_are_bad),
        cmocka_unit_test(a_line_cut_off_anywhere_is_bad_or_whole),
        cmocka_unit_test(a_line_of_another_form_is_bad),
        cmocka_unit_test(keys_of_sched_are_found_whole),
        cmocka_unit_test(numbers_of_sched_have_six_decimals),
        cmocka_unit_test(keys_that_fill_their_column_are_found),
        cmocka_unit_test(the_last_line_of_a_truncated_sched_is_not_used),
        cmocka_unit_test(numbers_of_sched_out_of_range_are_bad),
        cmocka_unit_test(a_negative_number_of_sched_keeps_its_decimals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
