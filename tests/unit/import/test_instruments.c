/* XML that Instruments exports of its time profiles. */
#include "engine/base/error.h"
#include "engine/trace/import/instruments/instruments_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/support/imported.h"

#define MS UINT64_C(1000000)

static struct strobe_sampled *sampled;
static struct strobe_instruments_stats stats;
static struct strobe_error error;
static struct imported session;

static enum strobe_status read_xml(const char *text, uint32_t pid)
{
    struct strobe_instruments_options options = {pid};
    assert_int_equal(strobe_sampled_open(&sampled), STROBE_OK);
    return strobe_instruments_read(text, strlen(text), &options, sampled, &stats, &error);
}

static void import(const char *text, uint32_t pid)
{
    if (read_xml(text, pid) != STROBE_OK)
        fail_msg("%s", error.text);
    imported_open(&session, sampled);
}

static void close_import(void)
{
    imported_close(&session);
    strobe_sampled_close(sampled);
}

static void is_refused(const char *text, const char *why)
{
    assert_int_equal(read_xml(text, 0), STROBE_BAD_INPUT);
    if (!strstr(error.text, why))
        fail_msg("%s, expected %s", error.text, why);
    strobe_sampled_close(sampled);
}

#define TABLE(rows)    "<trace-query-result><node><schema name=\"time-profile\"/>" rows "</node></trace-query-result>"
#define ROW(time, etc) "<row><sample-time>" time "</sample-time>" etc "</row>"

/* The main thread of process 7, and its parts with ids of their own; what a row has besides. */
#define MAIN                                                                                                           \
    "<thread id=\"1\" fmt=\"Main Thread 0x9 (app 0x2, pid: 7)\"><tid id=\"2\">9</tid><process id=\"3\" fmt=\"my app "  \
    "(7)\">"                                                                                                           \
    "<pid id=\"4\">7</pid></process></thread>"
#define RUNS  "<thread-state id=\"5\">Running</thread-state><weight id=\"6\">1000000</weight>"
#define AGAIN "<thread ref=\"1\"/><thread-state ref=\"5\"/><weight ref=\"6\"/>"
#define STACK                                                                                                          \
    "<backtrace id=\"10\"><frame id=\"11\" name=\"leaf &lt;T&gt;\" addr=\"0x1010\"><binary id=\"12\" name=\"app\" "    \
    "path=\"/x/app\" load-addr=\"0x1000\"/></frame><frame id=\"13\" name=\"main\" addr=\"0x1020\"><binary "            \
    "ref=\"12\"/></frame>"                                                                                             \
    "</backtrace>"

static void rows_are_samples_of_running_threads(void **state)
{
    (void)state;
    import(TABLE(ROW("5000000", MAIN RUNS STACK) ROW("6000000", AGAIN "<backtrace ref=\"10\"/>")
                     ROW("7000000", AGAIN "<backtrace><frame ref=\"13\"/></backtrace>")),
           0);
    const struct strobe_reader_thread *t = imported_thread(&session, 9);
    assert_int_equal(t->item_count, 3);
    assert_true(t->is_main);
    assert_string_equal(t->name, "Main Thread");
    assert_int_equal(session.reader->session.header->pid, 7);
    assert_string_equal(session.reader->session.header->exe, "my app");
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(t->items[i].record.ticks, (5 + i) * MS);
        assert_int_equal(t->items[i].record.cpu_ns, (1 + i) * MS);
        assert_int_equal(t->items[i].record.kind, STROBE_KIND_CPU);
        assert_string_equal(imported_stack(&session, t->items[i].record.stack), i < 2 ? "main;leaf <T>" : "main");
    }
    assert_string_equal(strobe_reader_image(session.reader, 0)->path, "/x/app");
    assert_int_equal(session.reader->session.header->config.async_interval_ns, MS);
    assert_int_equal(stats.rows, 3);
    close_import();
}

static void a_thread_that_waits_uses_no_cpu_time(void **state)
{
    (void)state;
    import(TABLE(ROW("5000000", MAIN RUNS STACK) ROW(
               "6000000", "<thread ref=\"1\"/><thread-state>Blocked</thread-state><weight ref=\"6\"/>" STACK)),
           0);
    const struct strobe_reader_thread *t = imported_thread(&session, 9);
    assert_int_equal(t->items[1].record.kind, STROBE_KIND_ASYNC);
    assert_int_equal(t->items[1].record.cpu_ns, 1 * MS);
    close_import();
}

static void both_forms_of_tagged_stacks_are_read(void **state)
{
    (void)state;
    import(TABLE(ROW("1", MAIN RUNS "<tagged-backtrace id=\"20\">" STACK "</tagged-backtrace>")
                     ROW("2", AGAIN "<tagged-backtrace ref=\"20\"/>")
                         ROW("3", AGAIN
                             "<tagged-backtrace id=\"21\"><frame ref=\"11\"/><frame ref=\"13\"/></tagged-backtrace>")
                             ROW("4", AGAIN "<tagged-backtrace ref=\"21\"/>")),
           0);
    const struct strobe_reader_thread *t = imported_thread(&session, 9);
    assert_int_equal(t->item_count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(imported_stack(&session, t->items[i].record.stack), "main;leaf <T>");
    close_import();
}

static void a_frame_without_a_symbol_is_named_after_its_binary(void **state)
{
    (void)state;
    import(TABLE(ROW("1", MAIN RUNS "<backtrace><frame name=\"0x1444\" addr=\"0x1444\"><binary name=\"app\" "
                                    "load-addr=\"0x1000\"/></frame><frame name=\"0x99\" addr=\"0x99\"/></backtrace>")),
           0);
    const struct strobe_reader_thread *t = imported_thread(&session, 9);
    assert_string_equal(imported_stack(&session, t->items[0].record.stack), "0x99;app+0x444");
    close_import();
}

/* Process 8 has two rows, process 7 one. */
static const char two_processes[] = TABLE(
    ROW("1", MAIN RUNS STACK) ROW(
        "2", "<thread fmt=\"0x5 (b, pid: 8)\"><tid>5</tid><process id=\"30\" fmt=\"b (8)\"><pid>8</pid></process>"
             "</thread><weight ref=\"6\"/><backtrace ref=\"10\"/>")
        ROW("3",
            "<thread fmt=\"pool 0x6 (b, pid: 8)\"><tid>6</tid><process ref=\"30\"/></thread><backtrace ref=\"10\"/>"));

static void the_largest_process_is_imported_or_the_selected_one(void **state)
{
    (void)state;
    import(two_processes, 0);
    assert_int_equal(stats.pid, 8);
    assert_int_equal(stats.other_processes, 1);
    assert_string_equal(imported_thread(&session, 5)->name, "thread 5");
    assert_string_equal(imported_thread(&session, 6)->name, "pool");
    assert_int_equal(imported_thread(&session, 6)->items[0].record.kind, STROBE_KIND_ASYNC);
    assert_string_equal(imported_stack(&session, imported_thread(&session, 5)->items[0].record.stack), "main;leaf <T>");
    close_import();
    import(two_processes, 7);
    assert_int_equal(session.reader->thread_count, 1);
    assert_int_equal(stats.other_processes, 2);
    close_import();
}

static void a_sample_without_a_stack_has_its_cpu_time(void **state)
{
    (void)state;
    import(TABLE(ROW("1000000", MAIN RUNS STACK) ROW("2000000", AGAIN "<sentinel/>")
                     ROW("3000000", AGAIN "<backtrace ref=\"77\"/>")),
           0);
    const struct strobe_reader_thread *t = imported_thread(&session, 9);
    assert_int_equal(t->item_count, 3);
    assert_int_equal(t->items[2].record.cpu_ns, 3 * MS);
    assert_int_equal(t->items[2].record.stack, 0);
    assert_int_equal(stats.without_stack, 2);
    assert_int_equal(stats.undefined, 1);
    close_import();
}

static void rows_of_other_tables_are_counted(void **state)
{
    (void)state;
    import("<trace-query-result><node><schema name=\"os-signpost\"/>" ROW("1", MAIN STACK)
               ROW("1", AGAIN) "</node><node><schema name=\"cpu-profile\"/>" ROW(
                   "2",
                   "<thread ref=\"1\"/><cycle-weight>500</cycle-weight><backtrace ref=\"10\"/>") "</node></"
                                                                                                 "trace-query-result>",
           0);
    const struct strobe_reader_thread *t = imported_thread(&session, 9);
    assert_int_equal(t->item_count, 1);
    assert_int_equal(t->items[0].record.kind, STROBE_KIND_ASYNC);
    assert_int_equal(t->items[0].record.flags & STROBE_FLAG_CPU, 0);
    assert_int_equal(stats.other_tables, 2);
    close_import();
}

static void a_row_without_a_time_or_a_thread_is_left_out(void **state)
{
    (void)state;
    import(TABLE(ROW("1", MAIN RUNS STACK) ROW("x", AGAIN STACK) ROW("99999999999999999999", AGAIN STACK)
                     ROW("4", "<process ref=\"3\"/>" STACK) "<row>" AGAIN STACK "</row>"),
           0);
    assert_int_equal(stats.rows, 1);
    assert_int_equal(stats.damaged, 4);
    close_import();
}

static void a_cut_file_is_read_up_to_its_end(void **state)
{
    (void)state;
    static const char text[] = TABLE(ROW("1", MAIN RUNS STACK) "\n" ROW("2", AGAIN STACK));
    char cut[sizeof text];
    size_t whole = 0;
    for (size_t bytes = 0; bytes < sizeof text - 1; bytes++) {
        memcpy(cut, text, bytes);
        cut[bytes] = 0;
        if (read_xml(cut, 0) == STROBE_OK) {
            const char *second = strchr(text, '\n');
            assert_int_equal(stats.fault_line, bytes > (size_t)(second - text) ? 2 : 1);
            whole = stats.rows > whole ? stats.rows : whole;
            assert_int_equal(strobe_sampled_count(sampled), stats.rows);
            assert_true(stats.rows == whole);
        } else {
            assert_int_equal(whole, 0);
            assert_non_null(strstr(error.text, "line 1: "));
        }
        strobe_sampled_close(sampled);
    }
    assert_int_equal(whole, 2);
}

static void entities_are_refused(void **state)
{
    (void)state;
    is_refused("<!DOCTYPE x [<!ENTITY a \"aaaaaaaa\"><!ENTITY b \"&a;&a;&a;\">]>" TABLE(ROW("1", MAIN RUNS STACK)),
               "line 1: a document type declaration");
    is_refused(TABLE(ROW("1", MAIN RUNS "&b;")), "undefined entity");
}

static void other_files_are_refused(void **state)
{
    (void)state;
    is_refused("", "line 1: no element found; expected XML that `xctrace export` writes");
    is_refused("main;work 5\n", "line 1: ");
    is_refused("<html><body/></html>", "expected an export of Instruments");
    is_refused("<trace-query-result><node><schema name=\"tick\"/></node></trace-query-result>", "no table: expected");
    char deep[1024] = "";
    for (size_t i = 0; i < 100; i++)
        strcat(deep, "<frame>");
    is_refused(deep, "nested too deeply");
}

/* A reference to an element of another kind, and a reference to itself. */
static void a_reference_to_another_kind_is_undefined(void **state)
{
    (void)state;
    import(TABLE(ROW("1", MAIN RUNS STACK) ROW("2", AGAIN "<backtrace ref=\"1\"/>")
                     ROW("3", AGAIN "<backtrace id=\"50\"><frame ref=\"50\"/><frame ref=\"10\"/></backtrace>")
                         ROW("4", "<thread ref=\"11\"/>" STACK)),
           0);
    assert_int_equal(stats.rows, 3);
    assert_int_equal(stats.undefined, 4);
    assert_int_equal(stats.damaged, 1);
    close_import();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_samples_of_running_threads),
        cmocka_unit_test(a_thread_that_waits_uses_no_cpu_time),
        cmocka_unit_test(both_forms_of_tagged_stacks_are_read),
        cmocka_unit_test(a_frame_without_a_symbol_is_named_after_its_binary),
        cmocka_unit_test(the_largest_process_is_imported_or_the_selected_one),
        cmocka_unit_test(a_sample_without_a_stack_has_its_cpu_time),
        cmocka_unit_test(rows_of_other_tables_are_counted),
        cmocka_unit_test(a_row_without_a_time_or_a_thread_is_left_out),
        cmocka_unit_test(a_cut_file_is_read_up_to_its_end),
        cmocka_unit_test(entities_are_refused),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(a_reference_to_another_kind_is_undefined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
