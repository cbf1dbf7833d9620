/* Sections and counters of the program in a report: sums by name, and each section's own CPU time. */
#include "engine/trace/report/report_sections.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MS = 1000000 };

static struct strobe_reader_thread threads[2];
static struct strobe_reader reader;
static struct strobe_section_sum sum;
static struct strobe_report report;
static char *printed;

static int start(void **state)
{
    (void)state;
    threads[0] = (struct strobe_reader_thread){.name = "main", .tid = 42};
    threads[1] = (struct strobe_reader_thread){.name = "worker", .tid = 43};
    reader = (struct strobe_reader){.threads = threads, .thread_count = 2};
    sum = (struct strobe_section_sum){.reader = &reader};
    report = (struct strobe_report){.source = "session"};
    return 0;
}

static int stop(void **state)
{
    (void)state;
    strobe_sections_free(&sum);
    free(report.sections);
    free(report.counters);
    strobe_text_pool_free(&report.texts);
    free(printed);
    printed = NULL;
    return 0;
}

static void section(uint32_t thread, const char *name, uint64_t begin_ms, uint64_t end_ms)
{
    strobe_sections_mark(&sum, &(struct strobe_mark){.name = name,
                                                     .begin_ns = begin_ms * MS,
                                                     .end_ns = end_ms * MS,
                                                     .lane = "lane",
                                                     .thread = &threads[thread]});
}

static void value(const struct strobe_reader_thread *thread, const char *name, int64_t value)
{
    strobe_sections_mark(&sum, &(struct strobe_mark){.name = name, .is_counter = 1, .value = value, .thread = thread});
}

static void cpu(uint64_t begin_ms, uint64_t end_ms, uint64_t cpu_ms)
{
    strobe_sections_cpu(
        &sum, &(struct strobe_cpu_share){.begin_ns = begin_ms * MS, .end_ns = end_ms * MS, .cpu_ns = cpu_ms * MS});
}

static const char *print(void)
{
    size_t bytes;
    FILE *out = open_memstream(&printed, &bytes);
    assert_int_equal(strobe_sections_finish(&sum, &report), STROBE_OK);
    strobe_report_print_sections(&report, out);
    fclose(out);
    return printed;
}

/* Marks come by track: the outer sections of a thread, then those in them. */
static void cpu_time_belongs_to_the_innermost_section_of_its_thread(void **state)
{
    (void)state;
    section(0, "frame", 10, 50);
    section(0, "frame", 60, 70);
    section(0, "draw", 20, 30);
    section(0, "draw", 30, 35);
    section(1, "load", 0, 100);
    strobe_sections_thread_begin(&sum, 0);
    cpu(0, 10, 10);   /* before any section */
    cpu(10, 50, 40);  /* 15 of it while draw is open */
    cpu(25, 25, 2);   /* of one sample */
    cpu(50, 60, 10);  /* between sections */
    cpu(65, 75, 10);  /* half of it in the second frame */
    cpu(70, 70, 100); /* at its end */
    strobe_sections_thread_begin(&sum, 1);
    cpu(40, 60, 7);
    assert_string_equal(print(), "\nSections of the program\n"
                                 "      count       total    self CPU     longest  section\n"
                                 "          1   100.00 ms     7.00 ms   100.00 ms  load\n"
                                 "          2    50.00 ms    30.00 ms    40.00 ms  frame\n"
                                 "          2    15.00 ms    17.00 ms    10.00 ms  draw\n");
}

static void a_counter_of_a_thread_is_beside_that_of_the_process(void **state)
{
    (void)state;
    value(NULL, "frames", 3);
    value(NULL, "frames", -5);
    value(NULL, "frames", 1);
    value(&threads[0], "frames", 9);
    value(&threads[1], "frames", INT64_MIN);
    assert_string_equal(print(),
                        "\nCounters of the program\n"
                        "     values        last       least        most  counter\n"
                        "          3           1          -5           3  frames\n"
                        "          1           9           9           9  frames of thread main 42\n"
                        "          1 -9223372036854775808 -9223372036854775808 -9223372036854775808  frames of "
                        "thread worker 43\n");
}

static void the_top_of_sections_is_printed_and_json_has_all(void **state)
{
    char *text;
    size_t bytes;
    struct strobe_json json = {.out = open_memstream(&text, &bytes)};
    (void)state;
    report.options.top = 1;
    section(0, "short", 0, 1);
    section(0, "long", 2, 9);
    assert_non_null(strstr(print(), "long\n        ... 1 more\n"));
    strobe_json_object(&json, NULL);
    strobe_report_json_sections(&report, &json);
    strobe_json_object_end(&json);
    fclose(json.out);
    assert_non_null(strstr(text, "long"));
    assert_non_null(strstr(text, "short"));
    assert_non_null(strstr(text, "\"longest_ns\""));
    free(text);
}

static void a_program_without_sections_has_no_part_of_the_report(void **state)
{
    (void)state;
    strobe_sections_thread_begin(&sum, 0);
    cpu(0, 10, 5);
    assert_string_equal(print(), "");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(cpu_time_belongs_to_the_innermost_section_of_its_thread),
        TEST(a_counter_of_a_thread_is_beside_that_of_the_process),
        TEST(the_top_of_sections_is_printed_and_json_has_all),
        TEST(a_program_without_sections_has_no_part_of_the_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
