/* ftrace text is read whichever program wrote it, and written so that it reads back the same. Of the regressions
 * names with bars in them, and a truncated last line. */
#include "engine/base/error.h"
#include "engine/trace/export/ftrace_write.h"
#include "engine/trace/import/ftrace/ftrace_line.h"
#include "engine/trace/import/ftrace/ftrace_read.h"

#include "engine/trace/model/calls_repair.h"
#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct strobe_calls calls;
static struct strobe_ftrace_stats stats;
static struct strobe_ftrace_options options;
static struct strobe_error error;

static enum strobe_status read_text(const char *text)
{
    error.text[0] = 0;
    return strobe_ftrace_read(text, strlen(text), &options, &calls, &stats, &error);
}

/* Returns the threads as text, one per line: `tid name: calls; marks`. */
static const char *calls_text(void)
{
    static char text[8192];
    size_t n = 0;
    text[0] = 0;
    for (size_t i = 0; i < calls.thread_count; i++) {
        const struct strobe_calls_thread *t = &calls.threads[i];
        n += (size_t)snprintf(text + n, sizeof text - n, "%u%s %s:", t->tid, t->is_main ? "*" : "", t->name);
        for (size_t k = 0; k < t->call_count && n < 8000; k++)
            n += (size_t)snprintf(text + n, sizeof text - n, " %c<%s>%llu", "BET"[t->calls[k].what],
                                  calls.names.texts[t->calls[k].name], (unsigned long long)t->calls[k].time_ns);
        for (size_t k = 0; k < t->mark_count && n < 8000; k++)
            n += (size_t)snprintf(text + n, sizeof text - n, " %c<%s>=%lld@%llu", "ICSF"[t->marks[k].kind],
                                  calls.names.texts[t->marks[k].name], (long long)t->marks[k].value,
                                  (unsigned long long)t->marks[k].time_ns);
        n += (size_t)snprintf(text + n, sizeof text - n, "\n");
    }
    return text;
}

static void reads_as(const char *text, const char *expected)
{
    assert_int_equal(read_text(text), STROBE_OK);
    assert_string_equal(calls_text(), expected);
    strobe_calls_close(&calls);
}

static void refuses(const char *text, const char *expected)
{
    assert_int_equal(read_text(text), STROBE_BAD_INPUT);
    assert_string_equal(error.text, expected);
    strobe_calls_close(&calls);
}

#define AT(ts) "app-7 (7) [001] ...1 " ts ": tracing_mark_write: "

/* ---- a line */

static void line_is(const char *line, const char *task, uint32_t tid, uint32_t tgid, uint64_t time_ns,
                    const char *event, const char *payload)
{
    struct strobe_ftrace_line l;
    assert_true(strobe_ftrace_line_parse(line, line + strlen(line), &l));
    assert_int_equal(l.task.bytes, strlen(task));
    assert_memory_equal(l.task.at, task, l.task.bytes);
    assert_int_equal(l.tid, tid);
    assert_int_equal(l.tgid, tgid);
    assert_int_equal(l.time_ns, time_ns);
    assert_int_equal(l.event.bytes, strlen(event));
    assert_memory_equal(l.event.at, event, l.event.bytes);
    assert_int_equal(l.payload.bytes, strlen(payload));
    assert_memory_equal(l.payload.at, payload, l.payload.bytes);
}

static void a_line_of_every_shape_is_read(void **state)
{
    (void)state;
    line_is("    com.app.main-2716  ( 2716) [003] d..1 12345.678901: sched_switch: prev=x", "com.app.main", 2716, 2716,
            12345678901000, "sched_switch", "prev=x");
    line_is("<idle>-0     (-----) [000] dN.3   5.000001: a: b", "<idle>", 0, 0, 5000001000, "a", "b");
    line_is("  app-7 [001] 1.5: e: p", "app", 7, 0, 1500000000, "e", "p");
    line_is("app-7     [001] ....  1.123456789: e:", "app", 7, 0, 1123456789, "e", "");
    line_is("app-7 (    7) [001] d.h.. 0.000000: e: p: q", "app", 7, 7, 0, "e", "p: q");
}

static void task_names_may_hold_anything(void **state)
{
    (void)state;
    line_is("RenderThread 2-1-9 (8) [001] ...1 1.0: e: p", "RenderThread 2-1", 9, 8, 1000000000, "e", "p");
    line_is("a [0] b-9 (8) [001] ...1 1.0: e: p", "a [0] b", 9, 8, 1000000000, "e", "p");
    line_is("pool-1-thr [12]-44 (-----) [12] .... 1.0: e: p", "pool-1-thr [12]", 44, 0, 1000000000, "e", "p");
    line_is("(x)-9 (8) [001] ...1 1.0: e: [2] x-3 (3) [4] .... 2.0: f: g", "(x)", 9, 8, 1000000000, "e",
            "[2] x-3 (3) [4] .... 2.0: f: g");
    line_is("-9 [1] 1.0: e: p", "", 9, 0, 1000000000, "e", "p");
}

static void invalid_lines_are_refused(void **state)
{
    (void)state;
    static const char *const none[] = {"",
                                       "# tracer: nop",
                                       "CPU:0 [LOST 12 EVENTS]",
                                       "app-7 [x] 1.0: e: p",
                                       "app-7 [1 1.0: e: p",
                                       "app [1] 1.0: e: p",
                                       "app-7 [1] .... 10: e: p",
                                       "app-7 [1] .... 1.: e: p",
                                       "app-7 [1] .... .5: e: p",
                                       "app-7 [1] 1.0 e: p",
                                       "app-7 [1] 1.0000000001: e: p",
                                       "app-99999999999 [1] 1.0: e: p",
                                       "app-7 (7x) [1] 1.0: e: p",
                                       "app-7 [1] 1.0:",
                                       "app-7 [1] 1.0: no colon",
                                       "app-7 [1] 99999999999.0: e: p",
                                       "app-7 [1] .... .... 1.0: e: p"};
    struct strobe_ftrace_line l;
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_false(strobe_ftrace_line_parse(none[i], none[i] + strlen(none[i]), &l));
}

/* clang-format off */

/* ---- marks */

static void calls_counters_slices_and_instants_are_read(void **state)
{
    (void)state;
    reads_as("# tracer: nop\n#\n"
             "           <...>-9  (    7) [001] ...1 1.000001: tracing_mark_write: B|7|layout\n"
             AT("1.000002") "B|7|onCreate\n"
             AT("1.000003") "C|7|heap|-12\n"
             "  Binder:7_1-9 (    7) [000] ...1 1.000004: tracing_mark_write: E|7\n"
             AT("1.000005") "S|7|load|33\n"
             AT("1.000006") "E|\n"
             AT("1.000007") "F|7|load|33\n"
             AT("1.000008") "I|7|tap\n",
             "9 Binder:7_1: B<layout>1000001000 E<layout>1000004000\n"
             "7* app: B<onCreate>1000002000 E<onCreate>1000006000 C<heap>=-12@1000003000 S<load>=33@1000005000 "
             "F<load>=33@1000007000 I<tap>=0@1000008000\n");
    assert_int_equal(stats.lines, 10);
    assert_int_equal(stats.marks, 8);
    assert_int_equal(stats.ignored, 2);
    assert_int_equal(stats.broken + stats.cut + stats.orphans + stats.unordered + stats.other_processes, 0);
}

static void print_is_another_spelling(void **state)
{
    (void)state;
    reads_as("app-7 (7) [001] ...1 1.0: print: B|7|a\n"
             "app-7 (7) [001] ...1 2.0: print: tracing_mark_write: B|7|b\n"
             "app-7 (7) [001] ...1 3.0: print: 0xffffffc00012: E|7\n"
             "app-7 (7) [001] ...1 4.0: tracing_mark_write: E\n",
             "7* app: B<a>1000000000 B<b>2000000000 E<b>3000000000 E<a>4000000000\n");
}

static void names_may_hold_bars_and_what_looks_like_marks(void **state)
{
    (void)state;
    reads_as(AT("1.0") "B|7|a|b|\n" AT("2.0") "B|7|E|7\n" AT("3.0") "E|7\n" AT("4.0") "B|7|B:x\n" AT("5.0") "E|7\n"
             AT("6.0") "E|7\n" AT("7.0") "C|7|a|b|5\n" AT("8.0") "S|7|E|7|6\n",
             "7* app: B<a|b|>1000000000 B<E|7>2000000000 E<E|7>3000000000 B<B:x>4000000000 E<B:x>5000000000 "
             "E<a|b|>6000000000 C<a|b>=5@7000000000 S<E|7>=6@8000000000\n");
    assert_false(stats.rhea);
}

static void rheatrace_marks_name_their_ends(void **state)
{
    (void)state;
    reads_as(AT("1.0") "B|7|B:a\n" AT("2.0") "B|7|B:b\n" AT("3.0") "B|7|T:b\n" AT("4.0") "B|7|E:a\n",
             "7* app: B<a>1000000000 B<b>2000000000 T<b>3000000000 E<a>4000000000\n");
    assert_true(stats.rhea);
}

/* Upstream's script rewrites these prefixes anywhere in a name. */
static void rheatrace_prefixes_are_taken_off_once(void **state)
{
    (void)state;
    reads_as(AT("1.0") "B|7|B:B:a|B:\n" AT("2.0") "B|7|B:E|7\n" AT("3.0") "B|7|E:E|7\n" AT("4.0") "B|7|E:B:a|B:\n",
             "7* app: B<B:a|B:>1000000000 B<E|7>2000000000 E<E|7>3000000000 E<B:a|B:>4000000000\n");
}

/* The system's own marks lie among RheaTrace's. An exception left b, so the E ends doFrame. */
static void plain_ends_among_rheatrace_marks_end_plain_calls(void **state)
{
    (void)state;
    reads_as(AT("1.0") "B|7|doFrame\n" AT("2.0") "B|7|B:a\n" AT("3.0") "B|7|B:b\n" AT("4.0") "B|7|E:a\n"
             AT("5.0") "E|7\n" AT("6.0") "E|7\n",
             "7* app: B<doFrame>1000000000 B<a>2000000000 B<b>3000000000 E<a>4000000000 E<doFrame>5000000000\n");
    assert_int_equal(stats.orphans, 1);
}

static void what_marks_mean_can_be_said(void **state)
{
    (void)state;
    options.marks = STROBE_FTRACE_PLAIN;
    reads_as(AT("1.0") "B|7|E:a\n" AT("2.0") "E|7\n", "7* app: B<E:a>1000000000 E<E:a>2000000000\n");
    options.marks = STROBE_FTRACE_RHEA;
    reads_as(AT("1.0") "B|7|B:a\n", "7* app: B<a>1000000000\n");
    options.marks = STROBE_FTRACE_AUTO;
    reads_as(AT("1.0") "B|7|B:a\n", "7* app: B<B:a>1000000000\n");
}

/* ---- counts of omitted lines */

static void marks_that_lack_something_are_counted(void **state)
{
    (void)state;
    reads_as(AT("1.0") "B|7|a\n" AT("1.0") "B|7\n" AT("1.0") "B|7|\n" AT("1.0") "B|x|a\n" AT("1.0") "B||a\n"
             AT("1.0") "C|7|heap\n" AT("1.0") "C|7|heap|\n" AT("1.0") "C|7|heap|1x\n" AT("1.0") "C|7||1\n"
             AT("1.0") "S|7|s|99999999999999999999\n" AT("1.0") "E|x\n" AT("1.0") "B\n",
             "7* app: B<a>1000000000\n");
    assert_int_equal(stats.broken, 11);
    assert_int_equal(stats.first_broken, 2);
    assert_int_equal(stats.lines, 12);
}

static void other_lines_are_ignored(void **state)
{
    (void)state;
    reads_as("# tracer: nop\n\nTRACE:\nCPU:1 [LOST 8 EVENTS]\n"
             "<...>-3 (-----) [001] ...1 0.5: tracing_mark_write: trace_event_clock_sync: parent_ts=12.5\n"
             "<...>-3 (-----) [001] ...1 0.6: sched_switch: prev_comm=x\n"
             AT("0.7") "G|7|track|name|4\n" AT("1.0") "B|7|a\n\377\376[1] \n",
             "7* app: B<a>1000000000\n");
    assert_int_equal(stats.ignored, 8);
    assert_int_equal(stats.marks, 1);
}

static void a_last_line_without_its_end_may_be_cut(void **state)
{
    (void)state;
    reads_as(AT("1.0") "B|7|a\n" AT("2.0") "B|7|com.app.Ma", "7* app: B<a>1000000000\n");
    assert_int_equal(stats.cut, 1);
    reads_as(AT("1.0") "B|7|a\n" AT("2.0") "E|7", "7* app: B<a>1000000000 E<a>2000000000\n");
    assert_int_equal(stats.cut, 0);
    reads_as(AT("1.0") "B|7|a\n" AT("2.0") "C|7|n|12", "7* app: B<a>1000000000\n");
    reads_as(AT("1.0") "B|7|a\n  app-7 (7) [0", "7* app: B<a>1000000000\n");
    assert_int_equal(stats.cut, 1);
}

static void lines_may_end_as_on_windows(void **state)
{
    (void)state;
    reads_as(AT("1.0") "B|7|a\r\n" AT("2.0") "E|7\r\n", "7* app: B<a>1000000000 E<a>2000000000\n");
}

static void time_that_goes_back_stands_still(void **state)
{
    (void)state;
    reads_as(AT("2.0") "B|7|a\n" AT("1.0") "B|7|b\n" AT("3.0") "E|7\n" AT("3.0") "E|7\n",
             "7* app: B<a>2000000000 B<b>2000000000 E<b>3000000000 E<a>3000000000\n");
    assert_int_equal(stats.unordered, 1);
}

static void one_process_is_taken(void **state)
{
    (void)state;
    static const char two[] = AT("1.0") "B|7|a\n"
                              "sys-100 (100) [000] ...1 1.5: tracing_mark_write: B|100|x\n" AT("2.0") "E|7\n"
                              "wm-101 (-----) [000] ...1 2.5: tracing_mark_write: C|100|w|1\n" AT("3.0") "C|7|h|5\n"
                              "late-8 (7) [000] ...1 3.5: tracing_mark_write: E|\n";
    reads_as(two, "7* app: B<a>1000000000 E<a>2000000000 C<h>=5@3000000000\n8 late:\n");
    assert_int_equal(stats.other_processes, 2);
    options.pid = 100;
    assert_int_equal(read_text(two), STROBE_OK);
    assert_string_equal(calls_text(), "100* sys: B<x>1500000000\n101 wm: C<w>=1@2500000000\n");
    assert_int_equal(calls.begin_ns, 1500000000);
    assert_int_equal(calls.end_ns, 2500000000);
    assert_int_equal(calls.pid, 100);
    assert_string_equal(calls.process, "sys");
    strobe_calls_close(&calls);
    options.pid = 55;
    refuses(two, "holds no mark of process 55");
    options.pid = 0;
}

static void text_that_is_no_ftrace_is_refused(void **state)
{
    (void)state;
    static const char expected[] = "line 1: expected ftrace text, such as `app-123 (123) [000] ...1 5.000001: "
                                   "tracing_mark_write: B|123|name`";
    refuses("", "is empty, expected ftrace text");
    refuses("hello\n", expected);
    refuses("\n", expected);
    refuses("# tracer: nop\n", expected);
    refuses(AT("1.0") "B|7|a", expected);
    reads_as("app-7 (7) [001] ...1 1.0: sched_switch: x\n", "");
}

/* ---- reads and writes of files */

static void reads_and_writes_are_calls_with_the_files_whole_name(void **state)
{
    (void)state;
    /* Upstream strips letters from the ends of names: "entry_name" as a set of letters removes "ary/" and similar
     * texts. */
    reads_as("app-7 (7) [001] ...1 1.0: android_fs_dataread_start: entry_name /entry_name/mane, offset 1, b.db, offset "
             "4096, bytes 8192, cmdline com.app, pid 7, i_size 99999, ino 55\n"
             "ksoftirqd-3 (3) [001] ..s1 2.0: android_fs_dataread_end: ino 55, offset 4096, bytes 8192\n"
             "app-7 (7) [001] ...1 3.0: android_fs_datawrite_start: entry_name yes.txt, offset 0, bytes 10, cmdline "
             "com.app, pid 7, i_size 10, ino 56\n"
             "app-7 (7) [001] ...1 4.0: android_fs_datawrite_end: ino 56, offset 0, bytes 10\n",
             "7* app: B<read: /entry_name/mane, offset 1, b.db,offset: 4096, size: 8192>1000000000 "
             "E<read: /entry_name/mane, offset 1, b.db,offset: 4096, size: 8192>2000000000 "
             "B<write: yes.txt,offset: 0, size: 10>3000000000 E<write: yes.txt,offset: 0, size: 10>4000000000\n");
    assert_int_equal(stats.io, 4);
}

static void reads_end_by_inode_and_offset(void **state)
{
    (void)state;
#define START(ts, at) "app-7 (7) [001] ...1 " ts ": android_fs_dataread_start: entry_name f, offset " at \
                      ", bytes 1, cmdline c, pid 7, i_size 9, ino 5\n"
#define END(ts, at) "app-7 (7) [001] ...1 " ts ": android_fs_dataread_end: ino 5, offset " at ", bytes 1\n"
    reads_as(AT("1.0") "B|7|m\n" START("2.0", "0") START("3.0", "4") END("4.0", "4") END("5.0", "0") END("6.0", "8")
             AT("7.0") "E|7\n" "app-7 (7) [001] ...1 8.0: android_fs_dataread_start: entry_name f\n",
             "7* app: B<m>1000000000 B<read: f,offset: 0, size: 1>2000000000 B<read: f,offset: 4, size: 1>3000000000 "
             "E<read: f,offset: 4, size: 1>4000000000 E<read: f,offset: 0, size: 1>5000000000 E<m>7000000000\n");
    assert_int_equal(stats.orphans, 1);
    assert_int_equal(stats.broken, 1);
}

/* ---- and back */

static char *write_text(size_t *bytes)
{
    struct strobe_outfile out;
    assert_int_equal(strobe_outfile_open(&out, temp_dir_path("out.ftrace"), 1), STROBE_OK);
    assert_int_equal(strobe_ftrace_write(&calls, &out), STROBE_OK);
    assert_int_equal(strobe_outfile_finish(&out, 0), STROBE_OK);
    return temp_dir_read("out.ftrace", bytes);
}

static void goes_there_and_back(const char *text, const char *written)
{
    size_t bytes;
    assert_int_equal(read_text(text), STROBE_OK);
    char *first = strdup(calls_text());
    char *out = write_text(&bytes);
    strobe_calls_close(&calls);
    assert_non_null(strstr(out, written));
    assert_int_equal(read_text(out), STROBE_OK);
    assert_string_equal(calls_text(), first);
    strobe_calls_close(&calls);
    free(first);
    free(out);
}

/* Returns the line about what is left out of a text. The caller frees it. */
static char *print_left_out(const char *text)
{
    struct strobe_ftrace_kinds left = {.room = 0};
    char *line;
    size_t bytes;
    FILE *out = open_memstream(&line, &bytes);
    options = (struct strobe_ftrace_options){.left_out = &left};
    assert_int_equal(read_text(text), STROBE_OK);
    options = (struct strobe_ftrace_options){.pid = 0};
    strobe_calls_close(&calls);
    strobe_ftrace_kinds_print_left_out(&left, "FILE", out);
    strobe_ftrace_kinds_free(&left);
    fclose(out);
    return line;
}

static void events_that_are_left_out_are_counted_by_kind(void **state)
{
    (void)state;
    char *line = print_left_out("# comment\n"
                                "app-7 (7) [000] 1.000001: sched_switch: x\n"
                                "app-7 (7) [000] 1.000002: tracing_mark_write: B|7|a\n"
                                "app-7 (7) [000] 1.000003: cpu_idle: y\n"
                                "app-7 (7) [000] 1.000004: sched_switch: z\n"
                                "app-7 (7) [000] 1.000005: tracing_mark_write: N|7|track|now\n"
                                "app-7 (7) [000] 1.000006: tracing_mark_write: E|7\n");
    assert_string_equal(line, "FILE: left out: sched_switch 2, cpu_idle 1, tracing_mark_write 1\n");
    free(line);
    line = print_left_out("app-7 (7) [000] 1.000002: tracing_mark_write: B|7|a\n");
    assert_string_equal(line, "");
    free(line);
}

static void of_many_kinds_twenty_are_printed(void **state)
{
    char text[4096];
    size_t n = 0;
    (void)state;
    for (int i = 0; i < 21; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "app-7 (7) [000] 1.000001: event%02d: x\n", i);
    char *line = print_left_out(text);
    assert_non_null(strstr(line, " event00 1, event01 1,"));
    assert_non_null(strstr(line, ", event19 1, and others\n"));
    free(line);
}

static bool is_read(const char *text, bool (*question)(const struct strobe_ftrace_line *))
{
    struct strobe_ftrace_line line;
    assert_true(strobe_ftrace_line_parse(text, text + strlen(text), &line));
    return question(&line);
}

static void an_event_that_calls_stand_for_is_known(void **state)
{
    static const struct {
        const char *text;
        bool read, rhea;
    } events[] = {{"tracing_mark_write: B|7|a", true, false},        {"tracing_mark_write: B|7|E:a", true, true},
                  {"print: B|7|T:a", true, true},                    {"tracing_mark_write: B|7|B:a", true, false},
                  {"tracing_mark_write: B|7|E:", true, false},       {"tracing_mark_write: E", true, false},
                  {"tracing_mark_write: N|7|E:a", false, false},     {"tracing_mark_write: Editor", false, false},
                  {"android_fs_datawrite_end: ino 1", true, false},  {"android_fs_other: B|7|E:a", false, false},
                  {"sched_switch: B|7|a", false, false}};
    (void)state;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        char text[100];
        snprintf(text, sizeof text, "app-7 (7) [000] 1.000001: %s", events[i].text);
        assert_int_equal(is_read(text, strobe_ftrace_is_read), events[i].read);
        assert_int_equal(is_read(text, strobe_ftrace_is_rhea), events[i].rhea);
    }
}

static void what_is_written_is_ftrace(void **state)
{
    (void)state;
    goes_there_and_back(AT("12.000000001") "B|7|a|b\n" AT("13.5") "E|7\n",
                        "# tracer: nop\n#\n"
                        "#           TASK-PID    TGID   CPU#  |||||  TIMESTAMP  FUNCTION\n"
                        "#              | |        |      |   |||||     |         |\n"
                        "             app-7     (    7) [001] ...1 12.000000001: tracing_mark_write: B|7|a|b\n"
                        "             app-7     (    7) [001] ...1 13.500000000: tracing_mark_write: E|7\n");
    goes_there_and_back(AT("1.0") "B|7|B:a\n" AT("2.0") "B|7|T:a\n" AT("3.0") "B|7|E:a\n", "write: B|7|T:a\n");
    goes_there_and_back(AT("1.0") "B|7|a\n" AT("2.0") "C|7|n|m|-5\n" AT("2.0") "S|7|s|3\n" AT("4.0") "F|7|s|3\n"
                        AT("5.0") "I|7|now\n" AT("6.0") "E|7\n" "w-9 (7) [0] 5.0: print: B|7|w\n",
                        "C|7|n|m|-5\n");
    goes_there_and_back(AT("1.0") "B|7|B:E:a\n" AT("2.0") "B|7|E:E:a\n", "write: B|7|B:E:a\n");
}

/* clang-format on */

/* Random whole streams with difficult names read back the same. */
static uint64_t seed;

static void random_streams_read_back_the_same(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "E|7", "B:", "E:b", "T:", "x|y|", " blank", "ends ", "[1] 2.0: e: p", "é"};
    for (uint32_t round = 0; round < strobe_trial_rounds(60); round++) {
        strobe_calls_open(&calls);
        calls.pid = 7;
        uint32_t stack[3][16], depth[3] = {0}, known = 2 + strobe_trial_below(&seed, 9);
        uint64_t now = 0;
        for (uint32_t i = 0; i < 60; i++) {
            uint32_t t = strobe_trial_below(&seed, 3), thread = strobe_calls_thread(&calls, 7 + t);
            const char *name = names[strobe_trial_below(&seed, known)];
            uint32_t number = strobe_calls_name(&calls, name, strlen(name));
            now += strobe_trial_below(&seed, 2000000000) * (uint64_t)strobe_trial_below(&seed, 2);
            uint32_t what = strobe_trial_below(&seed, 8);
            if (what < 4 && depth[t] < 16) {
                stack[t][depth[t]++] = number;
                strobe_calls_add(&calls, thread, STROBE_CALL_BEGIN, now, number);
            } else if (what < 7 && depth[t]) {
                strobe_calls_add(&calls, thread, STROBE_CALL_END, now, stack[t][--depth[t]]);
            } else {
                strobe_calls_mark(&calls, thread, STROBE_MARK_COUNTER, now, number,
                                  (int64_t)strobe_trial_random(&seed));
            }
        }
        size_t bytes;
        char *out = write_text(&bytes), *first = strdup(calls_text());
        strobe_calls_close(&calls);
        assert_int_equal(strobe_ftrace_read(out, bytes, &options, &calls, &stats, &error), STROBE_OK);
        char *again = write_text(&bytes);
        assert_string_equal(again, out);
        assert_string_equal(calls_text(), first);
        assert_int_equal(stats.broken + stats.orphans + stats.cut + stats.unordered, 0);
        strobe_calls_close(&calls);
        free(again);
        free(out);
        free(first);
    }
}

/* The article's four lines, from text to the result of each policy. */
static void the_article_is_repaired_by_either_policy(void **state)
{
    (void)state;
    static const char text[] =
        AT("0.232551") "B|7|B:a\n" AT("0.232552") "B|7|B:b\n" AT("0.232554") "B|7|B:c\n" AT("0.232580") "B|7|E:a\n";
    static const char *const expected[] = {
        "7* app: B<a>232551000 B<b>232552000 B<c>232554000 E<c>232554000 E<b>232554000 E<a>232580000\n",
        "7* app: B<a>232551000 B<b>232552000 B<c>232554000 E<c>232580000 E<b>232580000 E<a>232580000\n"};
    for (int policy = STROBE_REPAIR_LAST; policy <= STROBE_REPAIR_ENCLOSING; policy++) {
        assert_int_equal(read_text(text), STROBE_OK);
        assert_int_equal(strobe_calls_repair(&calls, (enum strobe_repair)policy, NULL), STROBE_OK);
        assert_string_equal(calls_text(), expected[policy]);
        strobe_calls_close(&calls);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_of_every_shape_is_read),
        cmocka_unit_test(task_names_may_hold_anything),
        cmocka_unit_test(invalid_lines_are_refused),
        cmocka_unit_test(calls_counters_slices_and_instants_are_read),
        cmocka_unit_test(print_is_another_spelling),
        cmocka_unit_test(names_may_hold_bars_and_what_looks_like_marks),
        cmocka_unit_test(rheatrace_marks_name_their_ends),
        cmocka_unit_test(rheatrace_prefixes_are_taken_off_once),
        cmocka_unit_test(plain_ends_among_rheatrace_marks_end_plain_calls),
        cmocka_unit_test(what_marks_mean_can_be_said),
        cmocka_unit_test(marks_that_lack_something_are_counted),
        cmocka_unit_test(other_lines_are_ignored),
        cmocka_unit_test(a_last_line_without_its_end_may_be_cut),
        cmocka_unit_test(lines_may_end_as_on_windows),
        cmocka_unit_test(time_that_goes_back_stands_still),
        cmocka_unit_test(one_process_is_taken),
        cmocka_unit_test(text_that_is_no_ftrace_is_refused),
        cmocka_unit_test(reads_and_writes_are_calls_with_the_files_whole_name),
        cmocka_unit_test(reads_end_by_inode_and_offset),
        cmocka_unit_test(events_that_are_left_out_are_counted_by_kind),
        cmocka_unit_test(of_many_kinds_twenty_are_printed),
        cmocka_unit_test(an_event_that_calls_stand_for_is_known),
        cmocka_unit_test(what_is_written_is_ftrace),
        cmocka_unit_test(random_streams_read_back_the_same),
        cmocka_unit_test(the_article_is_repaired_by_either_policy),
    };
    seed = strobe_trial_seed("test_ftrace");
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
