/* The text of perf script: samples, call chains, events, processes, context switches, tasks. Texts follow perf 6.1's
 * output; fixtures/imports/perf.txt is one that perf wrote. */
#include "engine/base/error.h"
#include "engine/trace/import/perf/perf_line.h"
#include "engine/trace/import/perf/perf_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/support/imported.h"

#define MS UINT64_C(1000000)

static struct strobe_sampled *sampled;
static struct strobe_perf_stats stats;
static struct strobe_error error;
static struct imported session;

static enum strobe_status read_text(const char *text, const struct strobe_perf_options *options)
{
    static const struct strobe_perf_options none = {.interval_ns = MS};
    assert_int_equal(strobe_sampled_open(&sampled), STROBE_OK);
    return strobe_perf_read(text, strlen(text), options ? options : &none, sampled, &stats, &error);
}

static void import(const char *text, const struct strobe_perf_options *options)
{
    if (read_text(text, options) != STROBE_OK)
        fail_msg("%s", error.text);
    imported_open(&session, sampled);
}

static void close_import(void)
{
    imported_close(&session);
    strobe_sampled_close(sampled);
}

static void folds_to(const char *expected)
{
    char *text = imported_folded(&session);
    assert_string_equal(text, expected);
    free(text);
}

/* ---- lines */

static bool is(struct strobe_cursor c, const char *text)
{
    size_t bytes = strlen(text);
    return (c.at ? (size_t)(c.end - c.at) : 0) == bytes && (!bytes || !memcmp(c.at, text, bytes));
}

static struct strobe_perf_line line_of(const char *text)
{
    struct strobe_perf_line l;
    assert_true(strobe_perf_take_line(strobe_cursor(text, strlen(text)), &l));
    return l;
}

static void the_fields_of_a_line_may_be_any(void **state)
{
    (void)state;
    struct strobe_perf_line l = line_of("work er  71/72 [003]  1806.862204:    1001001 cpu-clock:ppp: ");
    assert_true(is(l.comm, "work er") && is(l.event, "cpu-clock:ppp"));
    assert_true(l.has_pid && l.has_tid && l.has_time && l.has_period);
    assert_int_equal(l.pid, 71);
    assert_int_equal(l.tid, 72);
    assert_int_equal(l.time_ns, 1806862204000);
    assert_int_equal(l.period, 1001001);
    l = line_of("             hot 13872  1813.588810335:    1001001 cycles:      7f26 leaf+0xc8 (/lib/ld.so)");
    assert_true(is(l.comm, "hot") && is(l.event, "cycles") && is(l.rest, "7f26 leaf+0xc8 (/lib/ld.so)"));
    assert_false(l.has_pid);
    assert_int_equal(l.time_ns, 1813588810335);
    l = line_of("kworker/0:1 7 4.500000: sched:sched_switch: prev_comm=a");
    assert_true(is(l.comm, "kworker/0:1") && is(l.event, "sched:sched_switch") && is(l.rest, "prev_comm=a"));
    assert_false(l.has_period);
    l = line_of("4.500: cycles: ");
    assert_true(is(l.comm, "") && is(l.event, "cycles"));
    assert_false(l.has_tid);
    l = line_of("a b 12 [001] 10 cycles:");
    assert_true(is(l.comm, "a b") && is(l.event, "cycles") && l.tid == 12 && l.period == 10);
    assert_false(l.has_time);
    l = line_of("sh 5 cycles:");
    assert_true(is(l.comm, "sh") && is(l.event, "cycles") && l.tid == 5);
    l = line_of("sh 9000000 cycles:");
    assert_true(is(l.event, "cycles"));
    l = line_of("xz 7 1.000000: PERF_RECORD_EXIT(7:8):(1:1)");
    assert_true(is(l.record, "PERF_RECORD_EXIT(7:8):(1:1)"));
    assert_false(strobe_perf_take_line(strobe_cursor("hot ", 4), &l));
    assert_true(is(l.comm, "hot"));
}

static struct strobe_perf_frame frame_of(const char *text)
{
    struct strobe_perf_frame f;
    assert_true(strobe_perf_take_frame(strobe_cursor(text, strlen(text)), &f));
    return f;
}

static void a_frame_has_a_symbol_and_a_dso(void **state)
{
    (void)state;
    struct strobe_perf_frame f = frame_of("\t            11a2 leaf+0x19 (/opt/my app)");
    assert_true(f.ip == 0x11a2 && is(f.symbol, "leaf") && is(f.dso, "/opt/my app"));
    f = frame_of("\t 11a2 std::f(int) const+0x19 (/memfd:x (deleted))");
    assert_true(is(f.symbol, "std::f(int) const") && is(f.dso, "/memfd:x (deleted)"));
    f = frame_of("\t 11a2 f(int) (inlined)");
    assert_true(is(f.symbol, "f(int)") && is(f.dso, ""));
    f = frame_of("\t ffffffff81 [unknown] ([kernel.kallsyms])");
    assert_true(is(f.symbol, "") && is(f.dso, "[kernel.kallsyms]"));
    f = frame_of("\t 5 [unknown] ([unknown])");
    assert_true(f.symbol.at == f.symbol.end && f.dso.at == f.dso.end);
    f = frame_of("\t dead");
    assert_true(f.ip == 0xdead && is(f.symbol, ""));
    f = frame_of("\t operator+ (/lib/a.so)");
    assert_true(f.ip == 0 && is(f.symbol, "operator+"));
    f = frame_of("\t 12 f(int)");
    assert_true(is(f.symbol, "f(int)") && is(f.dso, ""));
}

/* ---- samples */

static void samples_of_a_clock_are_cpu_time(void **state)
{
    (void)state;
    import("xz 7 1.000000:    1000000 task-clock:u: \n\t 12 b+0x4 (/bin/xz)\n\t 11 a+0x4 (/bin/xz)\n\n"
           "xz 7 1.001000:    1000000 task-clock:u: \n\t 12 b+0x9 (/bin/xz)\n\t 11 a+0x4 (/bin/xz)\n\n"
           "xz 7 1.005000:    1000000 task-clock:u: \n\t 13 c+0x4 (/bin/xz)\n\t 11 a+0x4 (/bin/xz)\n\n",
           NULL);
    const struct strobe_reader_thread *t = imported_thread(&session, 7);
    assert_int_equal(t->item_count, 3);
    assert_int_equal(t->items[0].record.kind, STROBE_KIND_CPU);
    assert_int_equal(t->items[2].record.cpu_ns, 3 * MS);
    assert_string_equal(t->name, "xz");
    assert_string_equal(stats.event, "task-clock:u");
    folds_to("xz;a;b 1500\nxz;a;b;[off cpu] 3000\nxz;a;c 1500\n");
    close_import();
}

static void samples_of_other_events_are_stops(void **state)
{
    (void)state;
    import("xz 7 1.000000: 250000 cycles: \n\t 12 b (/bin/xz)\n\nxz 7 1.002000: 300000 cycles: \n\t 12 c (/bin/xz)\n\n",
           NULL);
    const struct strobe_reader_thread *t = imported_thread(&session, 7);
    assert_int_equal(t->items[0].record.kind, STROBE_KIND_ASYNC);
    assert_int_equal(t->items[0].record.flags & STROBE_FLAG_CPU, 0);
    close_import();
}

static void symbols_are_functions_of_their_dso(void **state)
{
    (void)state;
    import("xz 7 1.0000: 1 cycles: \n\t 12 [unknown] (/lib/libc.so.6)\n\t 9 [unknown] ([vdso])\n\t 8 [unknown] "
           "([unknown])\n\t 7 main+0x3 (/bin/xz)\n\n",
           NULL);
    assert_string_equal(imported_stack(&session, imported_thread(&session, 7)->items[0].record.stack),
                        "main;[vdso];[libc.so.6]");
    assert_int_equal(session.reader->image_count, 3);
    assert_string_equal(strobe_reader_image(session.reader, 0)->path, "/lib/libc.so.6");
    close_import();
}

static void a_line_may_hold_the_only_frame(void **state)
{
    (void)state;
    import("   xz    7  1.000000:   1 cycles:   7f26 leaf+0xc8 (/lib/ld.so)\n"
           "   xz    7  1.001000:   1 cycles:   7f27 [unknown] ([unknown])\n",
           NULL);
    const struct strobe_reader_thread *t = imported_thread(&session, 7);
    assert_int_equal(t->item_count, 2);
    assert_string_equal(imported_stack(&session, t->items[0].record.stack), "leaf");
    assert_string_equal(imported_stack(&session, t->items[1].record.stack), "[unknown]");
    close_import();
}

static void one_event_is_selected_and_the_others_are_counted(void **state)
{
    (void)state;
    static const char text[] = "xz 7 1.001: 1 cycles:u: \n\t 1 a\n\nxz 7 1.002: 1 faults: \n\t 1 b\n\n"
                               "xz 7 1.003: 1 cycles:u: \n\t 1 c\n\nxz 7 1.004: 1 cycles-x: \n\t 1 d\n\n";
    import(text, NULL);
    assert_string_equal(stats.event, "cycles:u");
    assert_int_equal(stats.samples, 2);
    assert_int_equal(stats.other_events, 2);
    close_import();
    import(text, &(struct strobe_perf_options){.event = "faults"});
    assert_int_equal(stats.samples, 1);
    assert_string_equal(imported_stack(&session, imported_thread(&session, 7)->items[0].record.stack), "b");
    close_import();
    assert_int_equal(read_text(text, &(struct strobe_perf_options){.event = "cyc"}), STROBE_BAD_INPUT);
    assert_string_equal(error.text, "no sample of the event cyc; most are of cycles:u");
    strobe_sampled_close(sampled);
}

static void one_process_is_selected_and_the_others_are_counted(void **state)
{
    (void)state;
    static const char text[] = "sh 5/5 1.001: 1 cycles: \n\t 1 a\n\nxz 7/7 1.002: 1 cycles: \n\t 1 b\n\n"
                               "xz 7/8 1.003: 1 cycles: \n\t 1 c\n\n";
    import(text, NULL);
    assert_int_equal(session.reader->session.header->pid, 7);
    assert_int_equal(session.reader->thread_count, 2);
    assert_true(imported_thread(&session, 7)->is_main);
    assert_int_equal(stats.other_processes, 1);
    close_import();
    import(text, &(struct strobe_perf_options){.pid = 5});
    assert_int_equal(stats.samples, 1);
    assert_int_equal(stats.other_processes, 2);
    close_import();
    assert_int_equal(read_text(text, &(struct strobe_perf_options){.pid = 9}), STROBE_BAD_INPUT);
    assert_string_equal(error.text, "no sample of process 9; the first is of 5");
    strobe_sampled_close(sampled);
}

static void samples_without_times_are_an_interval_apart(void **state)
{
    (void)state;
    import("work er \n\t 1 a\n\nsh \n\t 1 c\n\nwork er \n\t 1 b\n\n",
           &(struct strobe_perf_options){.interval_ns = 10 * MS});
    assert_true(stats.without_time);
    folds_to("work er;a 5000\nwork er;b 15000\nsh;c 10000\n");
    close_import();
}

/* ---- context switches */

/* The thread waits from 10.002 to 10.012 and is preempted from 10.013 to 10.016. */
static void switches_with_stacks_are_time_off_the_processor(void **state)
{
    (void)state;
    import("xz 7 10.000000: 1000000 cpu-clock: \n\t 1 a\n\n"
           "xz 7 10.002000: 1 sched:sched_switch: prev_comm=xz prev_pid=7 prev_prio=120 prev_state=S ==> "
           "next_comm=b c next_pid=9 next_prio=120\n\t 2 read\n\t 1 a\n\n"
           "sh 9 10.012000: 1 sched:sched_switch: prev_comm=sh prev_pid=9 prev_prio=120 prev_state=S ==> "
           "next_comm=xz next_pid=7 next_prio=120\n\t 2 x\n\n"
           "xz 7 10.013000: 1 sched:sched_switch: prev_comm=xz prev_pid=7 prev_prio=120 prev_state=R ==> "
           "next_comm=b next_pid=9 next_prio=120\n\t 1 a\n\n"
           "sh 9 10.016000: 1 sched:sched_switch: prev_comm=sh prev_pid=9 prev_prio=120 prev_state=S ==> "
           "next_comm=xz next_pid=7 next_prio=120\n\t 2 x\n\n"
           "xz 7 10.017000: 1000000 cpu-clock: \n\t 1 a\n\n",
           NULL);
    const struct strobe_reader_thread *t = imported_thread(&session, 7);
    assert_int_equal(stats.switches, 4);
    assert_int_equal(stats.samples, 2);
    assert_int_equal(t->items[t->item_count - 1].record.cpu_ns, 4 * MS);
    char *text = imported_folded(&session);
    assert_non_null(strstr(text, "xz;a;read;[off cpu] 10000\n"));
    assert_non_null(strstr(text, "xz;a;[runnable] 3000\n"));
    free(text);
    close_import();
}

static void switch_records_give_the_exact_cpu_time(void **state)
{
    (void)state;
    import("xz 7 10.000000: PERF_RECORD_SWITCH IN         \n"
           "xz 7 10.001000: 1000000 cpu-clock: \n\t 1 a\n\n"
           "xz 7 10.001500: PERF_RECORD_SWITCH OUT        \n"
           "xz 7 10.021500: PERF_RECORD_SWITCH IN         \n"
           "xz 7 10.022000: 1000000 cpu-clock: \n\t 1 a\n\n",
           NULL);
    const struct strobe_reader_thread *t = imported_thread(&session, 7);
    assert_int_equal(t->item_count, 2);
    assert_int_equal(t->items[0].record.cpu_ns, 1 * MS);
    assert_int_equal(t->items[1].record.cpu_ns, 2 * MS);
    char *text = imported_folded(&session);
    assert_non_null(strstr(text, "xz;a;[off cpu] 20000\n"));
    free(text);
    close_import();
}

/* ---- tasks */

static void task_events_name_and_end_threads(void **state)
{
    (void)state;
    import("perf-exec 0 0.000000: PERF_RECORD_COMM: perf-exec:7/7\n"
           "xz 7 1.000000: PERF_RECORD_COMM exec: xz:7/7\n"
           "xz 7 1.001000: 1 cycles: \n\t 1 a\n\n"
           "xz 8 1.001000: 1 cycles: \n\t 1 b\n\n"
           "xz 8 1.002000: PERF_RECORD_COMM: a: b:7/8\n"
           "a: b 8 1.003000: PERF_RECORD_EXIT(7:8):(7:7)\n"
           "xz 8 1.009000: 1 cycles: \n\t 1 c\n\n"
           "xz 8 1.009000: PERF_RECORD_MMAP2 7/8: whatever\n"
           "xz 8 1.009000: PERF_RECORD_LOST lost 5\n",
           NULL);
    const struct strobe_reader_thread *t = imported_thread(&session, 8);
    assert_string_equal(t->name, "a: b");
    assert_int_equal(t->end_ticks, 1003 * MS);
    assert_int_equal(session.reader->thread_count, 3);
    assert_int_equal(stats.lost, 5);
    assert_int_equal(stats.records, 1);
    close_import();
}

/* ---- damage */

static void lines_that_are_none_are_counted(void **state)
{
    (void)state;
    import("# captured on: x\nxz 7 1.001: 1 cycles: \n\t 1 a\n  main.c:12\n\t!\nstrange\n\nxz 7 1.002: 1 cycles: \n\t "
           "1 b\n",
           NULL);
    assert_int_equal(stats.samples, 2);
    assert_int_equal(stats.unknown, 1);
    assert_int_equal(stats.first_unknown, 6);
    close_import();
}

static void another_text_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "# only\n", "\n\n", "\t 1 a\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(read_text(texts[i], NULL), STROBE_BAD_INPUT);
        assert_string_equal(error.text,
                            "line 1: expected the text of `perf script`, such as `xz 71 [001] 4.5: cycles:`");
        strobe_sampled_close(sampled);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fields_of_a_line_may_be_any),
        cmocka_unit_test(a_frame_has_a_symbol_and_a_dso),
        cmocka_unit_test(samples_of_a_clock_are_cpu_time),
        cmocka_unit_test(samples_of_other_events_are_stops),
        cmocka_unit_test(symbols_are_functions_of_their_dso),
        cmocka_unit_test(a_line_may_hold_the_only_frame),
        cmocka_unit_test(one_event_is_selected_and_the_others_are_counted),
        cmocka_unit_test(one_process_is_selected_and_the_others_are_counted),
        cmocka_unit_test(samples_without_times_are_an_interval_apart),
        cmocka_unit_test(switches_with_stacks_are_time_off_the_processor),
        cmocka_unit_test(switch_records_give_the_exact_cpu_time),
        cmocka_unit_test(task_events_name_and_end_threads),
        cmocka_unit_test(lines_that_are_none_are_counted),
        cmocka_unit_test(another_text_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
