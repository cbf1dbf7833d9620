/* RheaTrace's raw log: writing a ring to a log, reading a log, and that both agree. */
#include "engine/base/error.h"
#include "engine/method/rhea/rhea_log.h"
#include "engine/trace/import/rhea/rhea_read.h"
#include "engine/trace/model/calls_repair.h"
#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define S UINT64_C(1000000000)

static struct strobe_calls calls;
static struct strobe_rhea_read_stats read_stats;
static struct strobe_error error;

static enum strobe_status read_text(const char *text, size_t bytes)
{
    strobe_calls_close(&calls);
    strobe_calls_open(&calls);
    error.text[0] = 0;
    return strobe_rhea_read(text, bytes, &calls, &read_stats, &error);
}

/* Reads lines, after a valid head. */
static void read_lines(const char *lines)
{
    char text[4096];
    int bytes = snprintf(text, sizeof text, "1|TRACE_START|1000000000|7|0|0|0\nmonotonic_time: 0.5\n%s", lines);
    assert_int_equal(read_text(text, (size_t)bytes), STROBE_OK);
}

static int close_calls(void **state)
{
    (void)state;
    strobe_calls_close(&calls);
    return 0;
}

static const struct strobe_call *call_at(size_t thread, size_t i)
{
    assert_true(thread < calls.thread_count && i < calls.threads[thread].call_count);
    return &calls.threads[thread].calls[i];
}

static void must_be(size_t i, enum strobe_call_what what, uint64_t time_ns, const char *name)
{
    const struct strobe_call *c = call_at(0, i);
    assert_int_equal(c->what, what);
    assert_int_equal(c->time_ns, time_ns);
    if (name)
        assert_string_equal(calls.names.texts[c->name], name);
    else
        assert_int_equal(c->name, STROBE_CALL_ANY);
}

/* ---- writing */

static const char *line_of(uint64_t time_ns, uint32_t digits, uint32_t tid, enum strobe_atrace_kind kind,
                           const char *text, size_t bytes)
{
    static char line[STROBE_RHEA_LINE_BYTES + 1];
    uint64_t blanked = 0;
    line[strobe_rhea_line(line, time_ns, digits, tid, 7, kind, text, bytes, &blanked)] = 0;
    return line;
}

static void seconds_are_printed_also_when_they_are_0(void **state)
{
    (void)state;
    assert_string_equal(line_of(345000, 6, 9, STROBE_ATRACE_TEXT, "E|7", 3), "0.000345 9: E|7\n");
    assert_string_equal(line_of(0, 6, 0, STROBE_ATRACE_TEXT, "E", 1), "0.000000: E\n");
}

static void seconds_are_printed_with_64_bits(void **state)
{
    (void)state;
    assert_string_equal(line_of(UINT64_C(3000000000) * S + 1000, 6, 9, STROBE_ATRACE_TEXT, "E", 1),
                        "3000000000.000001 9: E\n");
    assert_string_equal(line_of(UINT64_MAX, 9, UINT32_MAX, STROBE_ATRACE_TEXT, "E", 1),
                        "18446744073.709551615 4294967295: E\n");
}

/* profilo multiplies by a reciprocal. Its first wrong result is here, after 48.7 days. */
static void microseconds_are_cut_off_exactly(void **state)
{
    (void)state;
    assert_string_equal(line_of(UINT64_C(4207742717543999), 6, 0, STROBE_ATRACE_TEXT, "E", 1), "4207742.717543: E\n");
    assert_string_equal(line_of(UINT64_C(4207742717544000), 6, 0, STROBE_ATRACE_TEXT, "E", 1), "4207742.717544: E\n");
}

static void entries_of_each_kind_have_their_form(void **state)
{
    (void)state;
    assert_string_equal(line_of(S, 6, 9, STROBE_ATRACE_BEGIN, "read:/a", 7), "1.000000 9: B|7|read:/a\n");
    assert_string_equal(line_of(S, 6, 9, STROBE_ATRACE_END, "", 0), "1.000000 9: E|7\n");
    assert_string_equal(line_of(S, 3, 9, STROBE_ATRACE_ENTER, "a.b", 3), "1.000 9: B|7|B:a.b\n");
    assert_string_equal(line_of(S, 9, 9, STROBE_ATRACE_LEAVE, "a.b", 3), "1.000000000 9: B|7|E:a.b\n");
    assert_string_equal(line_of(S, 6, 0, STROBE_ATRACE_THROW, "a.b", 3), "1.000000: B|7|T:a.b\n");
}

static void a_message_is_one_line_whatever_is_in_it(void **state)
{
    (void)state;
    assert_string_equal(line_of(S, 6, 9, STROBE_ATRACE_TEXT, "B|7|a\nb\0c|d\n\0", 13), "1.000000 9: B|7|a b c|d\n");
    assert_string_equal(line_of(S, 6, 9, STROBE_ATRACE_TEXT, "B|7|a\r\nE|7", 10), "1.000000 9: B|7|a  E|7\n");
}

static void the_longest_line_fits(void **state)
{
    char text[STROBE_ATRACE_TEXT_MAX];
    (void)state;
    memset(text, 'x', sizeof text);
    const char *line = line_of(UINT64_MAX, 9, UINT32_MAX, STROBE_ATRACE_ENTER, text, sizeof text);
    assert_in_range(strlen(line), STROBE_ATRACE_TEXT_MAX + 30, STROBE_RHEA_LINE_BYTES - 1);
}

/* ---- reading */

static void lines_before_the_start_are_skipped_and_counted(void **state)
{
    static const char text[] = "0.5 7: B|7|early\nrubbish\n1|TRACE_START|bad\n"
                               "512|TRACE_START|1059724457403076|13923|2147483647|2|18316\n"
                               "1059724.457411 13923: B|13923|x\n";
    (void)state;
    assert_int_equal(read_text(text, sizeof text - 1), STROBE_OK);
    assert_int_equal(read_stats.before_start, 3);
    assert_int_equal(calls.pid, 13923);
    assert_int_equal(read_stats.boot_ns, UINT64_C(1059724457403076));
    assert_int_equal(calls.thread_count, 1);
    assert_true(calls.threads[0].is_main);
    must_be(0, STROBE_CALL_BEGIN, UINT64_C(1059724457411000), "x");
    assert_false(read_stats.ended);
}

static void a_log_that_never_starts_is_refused_with_what_was_expected(void **state)
{
    (void)state;
    assert_int_equal(read_text("0.5 7: B|7|x\n", 13), STROBE_BAD_INPUT);
    assert_string_equal(error.text, "no line `ID|TRACE_START|TIME|PID|...` in its 1 lines");
    assert_int_equal(read_text("", 0), STROBE_BAD_INPUT);
    assert_int_equal(read_text("1|TRACE_START|5|0|0|0|0\n", 24), STROBE_BAD_INPUT);
}

static void marks_are_distinguished_from_sections_and_ends(void **state)
{
    (void)state;
    read_lines("1.000001 7: B|7|B:a\n1.000002 7: B|7|T:a\n1.000003 7: B|7|E:a\n1.000004 7: B|7|plain\n"
               "1.000005 7: E|7\n1.000006 7: E\n1.000007 7: S|7|x|1\n");
    must_be(0, STROBE_CALL_BEGIN, S + 1000, "a");
    must_be(1, STROBE_CALL_THROW, S + 2000, "a");
    must_be(2, STROBE_CALL_END, S + 3000, "a");
    must_be(3, STROBE_CALL_BEGIN, S + 4000, "plain");
    must_be(4, STROBE_CALL_END, S + 5000, NULL);
    must_be(5, STROBE_CALL_END, S + 6000, NULL);
    assert_int_equal(read_stats.others, 1);
    assert_int_equal(read_stats.messages, 7);
    assert_int_equal(read_stats.monotonic_ns, S / 2);
}

static void names_may_hold_what_marks_are_made_of(void **state)
{
    (void)state;
    read_lines("1.0 7: B|7|a|b\n1.1 7: B|7|B:E|7\n1.2 7: B|7|x B:y\n1.3 7: B|7|\n1.4 7: B\n1.5 7: B|7|B:B:z\n"
               "1.6 7: BE\n1.7 7: B|7\n");
    must_be(0, STROBE_CALL_BEGIN, S, "a|b");
    must_be(1, STROBE_CALL_BEGIN, S + S / 10, "E|7");
    must_be(2, STROBE_CALL_BEGIN, S + S / 5, "x B:y");
    must_be(3, STROBE_CALL_BEGIN, S + 3 * (S / 10), "");
    must_be(4, STROBE_CALL_BEGIN, S + 2 * (S / 5), "");
    must_be(5, STROBE_CALL_BEGIN, S + S / 2, "B:z");
    must_be(6, STROBE_CALL_BEGIN, S + 7 * (S / 10), "");
    assert_int_equal(read_stats.others, 1);
}

static void seconds_that_the_original_left_out_are_0(void **state)
{
    (void)state;
    read_lines(".000345 7: B|7|x\n0.9 7: E|7\n");
    must_be(0, STROBE_CALL_BEGIN, 345000, "x");
    must_be(1, STROBE_CALL_END, 900000000, NULL);
    assert_int_equal(calls.begin_ns, 345000);
}

static void a_stream_may_begin_at_0(void **state)
{
    (void)state;
    read_lines("0.0 8: B|7|x\n0.9 7: B|7|y\n");
    assert_int_equal(calls.begin_ns, 0);
    assert_int_equal(calls.end_ns, 900000000);
}

static void lines_without_a_thread_are_the_main_threads(void **state)
{
    (void)state;
    read_lines("1.0: B|7|x\n1.1 8: B|7|y\n1.2: E|7\n");
    assert_int_equal(calls.thread_count, 2);
    assert_int_equal(calls.threads[0].tid, 7);
    assert_int_equal(calls.threads[0].call_count, 2);
    assert_int_equal(calls.threads[1].tid, 8);
}

static void unknown_lines_are_counted_and_the_first_is_reported(void **state)
{
    (void)state;
    read_lines("1.0 7: B|7|web\nview\n1.1 7: E|7\n99999999999999999999.0 7: E\n1.0000000000 7: E\n1.2 x: E\n1.2 7 E\n"
               "1 7: E\n1.2 4294967296: E\n");
    assert_int_equal(read_stats.unknown, 7);
    assert_int_equal(read_stats.first_unknown, 4);
    assert_int_equal(calls.threads[0].call_count, 2);
}

static void each_malformed_line_is_unknown_and_changes_no_call(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "12",
        "12.",
        "12.x 7: B|7|a",
        "99999999999999999999.0 7: B|7|a",
        "18446744073.5 7: B|7|a", /* more nanoseconds than 64 bits hold */
        "1.0123456789 7: B|7|a",  /* a tenth digit */
        "1.5 x: B|7|a",
        "1.5 99999999999: B|7|a",
        "1.5 7 B|7|a",
        "1.5 7: ",
        "monotonic_time: x",
        "1|lower|1.5 7: B|7|a",
        "1||1.5 7: B|7|a",
        "1|TYPE 1.5 7: B|7|a",
        "x|TYPE|1|1.5 7: B|7|a",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[200];
        snprintf(text, sizeof text, "1.5 7: B|7|good\r\n%s\n", lines[i]);
        read_lines(text);
        if (read_stats.unknown != 1 || read_stats.first_unknown != 4 || calls.threads[0].call_count != 1)
            fail_msg("%s: %d unknown lines", lines[i], (int)read_stats.unknown);
    }
}

static void only_a_whole_comment_of_losses_is_one(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        uint64_t lost;
    } comments[] = {
        {"# 3 packets lost, 4 messages dropped, 0 cut", 7},
        {"# 18446744073709551615 packets lost, 4 messages dropped", UINT64_MAX},
        {"# x packets lost, 4 messages dropped", 0},
        {"# 3 packets lost; 4 messages dropped", 0},
        {"# 3 packets lost, x messages dropped", 0},
        {"# 3 packets lost, 4 messages", 0},
        {"#3 packets lost, 4 messages dropped", 0},
    };
    for (size_t i = 0; i < sizeof comments / sizeof *comments; i++) {
        char text[200];
        snprintf(text, sizeof text, "%s\n", comments[i].line);
        read_lines(text);
        assert_int_equal(read_stats.unknown, 0);
        assert_int_equal(read_stats.lost, comments[i].lost);
    }
}

static void each_word_for_the_end_ends_the_log(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        uint64_t end_ns;
    } ends[] = {
        {"2|TRACE_END|9000000000|7|0|0|0", 9 * S},
        {"2|TRACE_ABORT|9000000000|7|0|0|0", 9 * S},
        {"2|TRACE_TIMEOUT|9000000000|7|0|0|0", 9 * S},
        {"2|TRACE_END|x|7|0|0|0", 3 * S}, /* the last message's time */
        {"2|TRACE_END|2|7|0|0|0", 3 * S}, /* before the begin */
    };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char text[200];
        snprintf(text, sizeof text, "3.0 7: B|7|a\n%s\n4.0 7: B|7|b\n", ends[i].line);
        read_lines(text);
        assert_true(read_stats.ended);
        assert_int_equal(read_stats.after_end, 1);
        assert_int_equal(calls.end_ns, ends[i].end_ns);
    }
}

static void a_start_without_a_time_or_a_process_starts_nothing(void **state)
{
    (void)state;
    static const char *const starts[] = {
        "1|TRACE_START|x|7|0|0|0\n",
        "1|TRACE_START|1000\n",
        "1|TRACE_START|1000|x|0|0|0\n",
        "1|TRACE_START|1000|0|0|0|0\n",
        "1|TRACE_START|1000|4294967296|0|0|0\n",
        "1|TRACE_STARTED|1000|7|0|0|0\n",
    };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        assert_int_equal(read_text(starts[i], strlen(starts[i])), STROBE_BAD_INPUT);
        assert_string_equal(error.text, "no line `ID|TRACE_START|TIME|PID|...` in its 1 lines");
    }
}

static void a_last_line_that_may_be_cut_off_is_left_out(void **state)
{
    (void)state;
    read_lines("1.0 7: B|7|inflate\n1.1 7: B|7|inf");
    assert_true(read_stats.cut_off);
    assert_int_equal(calls.threads[0].call_count, 1);
}

static void what_comes_after_the_end_is_skipped_but_for_the_losses(void **state)
{
    (void)state;
    read_lines("1.0 7: B|7|x\n2|TRACE_END|3000000000|7|0|0|0\n1.5 7: E|7\n"
               "# 3 packets lost, 2 messages dropped, 0 cut, 17 passed by, 0 elsewhere\n");
    assert_true(read_stats.ended);
    assert_int_equal(read_stats.after_end, 1);
    assert_int_equal(read_stats.lost, 5);
    assert_int_equal(calls.threads[0].lost, 5);
    assert_int_equal(calls.end_ns, 3 * S);
    assert_int_equal(calls.begin_ns, S);
}

static void texts_in_the_form_of_profilos_own_writer_are_read(void **state)
{
    (void)state;
    read_lines("12|STRING_NAME|11|1.5 7: B|7|a|b\n13|STRING_NAME|11|monotonic_time: 9.25\n");
    must_be(0, STROBE_CALL_BEGIN, S + S / 2, "a|b");
    assert_int_equal(read_stats.monotonic_ns, 9 * S + S / 4);
}

/* The example of the article on closure: three begins, one throw, one enclosing end. */
static void the_article_example_closes_as_each_policy_says(void **state)
{
    static const char lines[] = "1.232540 7: B|7|B:a\n1.232550 7: B|7|B:b\n1.232554 7: B|7|B:c\n"
                                "1.232580 7: B|7|E:a\n";
    struct strobe_repair_stats stats;
    (void)state;
    for (int i = 0; i < 2; i++) {
        uint64_t closed = i ? S + 232580000 : S + 232554000;
        read_lines(lines);
        assert_int_equal(strobe_calls_repair(&calls, i ? STROBE_REPAIR_ENCLOSING : STROBE_REPAIR_LAST, &stats),
                         STROBE_OK);
        must_be(3, STROBE_CALL_END, closed, "c");
        must_be(4, STROBE_CALL_END, closed, "b");
        must_be(5, STROBE_CALL_END, S + 232580000, "a");
        assert_int_equal(stats.closed, 2);
    }
}

/* ---- both */

static struct strobe_packet_ring ring;
static void *memory;
static uint64_t now;
static uint32_t thread_now;

static uint64_t clock_now(void *ctx)
{
    (void)ctx;
    return now;
}

static uint32_t tid_now(void *ctx)
{
    (void)ctx;
    return thread_now;
}

static const struct strobe_atrace_system played = {clock_now, tid_now, NULL};

static struct strobe_atrace make(uint32_t slots, bool main_only)
{
    struct strobe_atrace a;
    size_t bytes = strobe_packet_ring_bytes(slots);
    free(memory);
    memory = aligned_alloc(128, (bytes + 127) / 128 * 128);
    assert_non_null(memory);
    memset(memory, 0, bytes);
    strobe_packet_ring_create(memory, slots);
    assert_int_equal(strobe_packet_ring_open(memory, bytes, &ring), STROBE_OK);
    now = 5 * S;
    thread_now = 7;
    strobe_atrace_begin(&a, &ring, &played, 7, 4 * S, main_only);
    return a;
}

static int unmake(void **state)
{
    free(memory);
    memory = NULL;
    return close_calls(state);
}

static struct {
    char *text;
    size_t bytes, room;
} written;

static bool keep(void *ctx, const char *text, size_t bytes)
{
    (void)ctx;
    if (written.bytes + bytes > written.room) {
        written.room = (written.bytes + bytes) * 2;
        written.text = realloc(written.text, written.room);
        assert_non_null(written.text);
    }
    memcpy(written.text + written.bytes, text, bytes);
    written.bytes += bytes;
    return true;
}

static bool keep_nothing(void *ctx, const char *text, size_t bytes)
{
    (void)ctx, (void)text, (void)bytes;
    return false;
}

static struct strobe_rhea_log_stats write_and_read(uint32_t digits)
{
    struct strobe_rhea_log_stats stats;
    written.bytes = 0;
    assert_int_equal(strobe_rhea_log(&ring, digits, keep, NULL, &stats), STROBE_OK);
    assert_int_equal(read_text(written.text, written.bytes), STROBE_OK);
    assert_int_equal(read_stats.unknown, 0);
    free(written.text);
    memset(&written, 0, sizeof written);
    return stats;
}

static void what_was_written_is_read_again(void **state)
{
    unsigned seed = strobe_trial_seed("test_rhea_log");
    uint64_t random = seed;
    struct {
        uint64_t time_ns;
        uint32_t name, what;
    } kept[500];
    static const char *const names[] = {"a.B.c", "x|y", "B:odd", "E|7", "with blank", ""};
    (void)state;
    struct strobe_atrace a = make(2000, false);
    for (size_t i = 0; i < 500; i++) {
        kept[i].name = strobe_trial_below(&random, 6);
        kept[i].what = strobe_trial_below(&random, 4);
        now += strobe_trial_random(&random) % (2 * S);
        kept[i].time_ns = now;
        const char *name = names[kept[i].name];
        static const enum strobe_atrace_kind kinds[] = {STROBE_ATRACE_ENTER, STROBE_ATRACE_LEAVE, STROBE_ATRACE_THROW,
                                                        STROBE_ATRACE_END};
        assert_int_equal(strobe_atrace_section(&a, kinds[kept[i].what], name, kept[i].what < 3 ? strlen(name) : 0),
                         STROBE_ATRACE_KEPT);
    }
    strobe_atrace_end(&a);
    struct strobe_rhea_log_stats stats = write_and_read(9);
    assert_int_equal(stats.lines, 500);
    assert_int_equal(stats.packets_lost, 0);
    assert_int_equal(read_stats.boot_ns, 5 * S);
    assert_int_equal(read_stats.monotonic_ns, 4 * S);
    for (size_t i = 0; i < 500; i++) {
        static const enum strobe_call_what whats[] = {STROBE_CALL_BEGIN, STROBE_CALL_END, STROBE_CALL_THROW,
                                                      STROBE_CALL_END};
        must_be(i, whats[kept[i].what], kept[i].time_ns, kept[i].what < 3 ? names[kept[i].name] : NULL);
    }
    assert_int_equal(calls.end_ns, kept[499].time_ns);
}

static void microseconds_are_what_the_original_keeps(void **state)
{
    (void)state;
    struct strobe_atrace a = make(100, true);
    now = 6 * S + 1999;
    strobe_atrace_section(&a, STROBE_ATRACE_ENTER, "x", 1);
    thread_now = 8;
    strobe_atrace_section(&a, STROBE_ATRACE_ENTER, "y", 1);
    write_and_read(6);
    must_be(0, STROBE_CALL_BEGIN, 6 * S + 1000, "x");
    assert_int_equal(calls.thread_count, 1);
    assert_int_equal(strobe_atrace_count(&ring, STROBE_ATRACE_HEAD_ELSEWHERE), 1);
    assert_false(read_stats.ended);
}

static void losses_of_the_ring_are_reported_in_the_log(void **state)
{
    (void)state;
    struct strobe_atrace a = make(10, false);
    for (uint32_t i = 0; i < 25; i++)
        strobe_atrace_section(&a, STROBE_ATRACE_ENTER, "x", 1);
    strobe_store_relaxed(&ring.slots[0].seq, 5);
    strobe_store_relaxed(&ring.slots[5].seq, 5);
    assert_int_equal(strobe_atrace_section(&a, STROBE_ATRACE_ENTER, "x", 1), STROBE_ATRACE_DROPPED);
    struct strobe_rhea_log_stats stats = write_and_read(6);
    assert_int_equal(stats.lines, 8);
    assert_int_equal(stats.packets_lost, 16 + 2);
    assert_int_equal(read_stats.lost, 16 + 2 + 1);
    assert_int_equal(calls.threads[0].lost, read_stats.lost);
}

static void damage_in_a_ring_makes_no_lines(void **state)
{
    (void)state;
    struct strobe_atrace a = make(10, false);
    assert_int_equal(strobe_packet_write(&ring, "short", 5), STROBE_OK);
    struct strobe_atrace_entry e = {1, 2, 99};
    assert_int_equal(strobe_packet_write(&ring, &e, sizeof e), STROBE_OK);
    strobe_atrace_section(&a, STROBE_ATRACE_ENTER, "x", 1);
    struct strobe_rhea_log_stats stats = write_and_read(6);
    assert_int_equal(stats.strange, 2);
    assert_int_equal(stats.lines, 1);
    strobe_store_relaxed(&ring.head->words[STROBE_ATRACE_HEAD_PID], 0);
    assert_int_equal(strobe_rhea_log(&ring, 6, keep_nothing, NULL, NULL), STROBE_BAD_INPUT);
    strobe_store_relaxed(&ring.head->words[STROBE_ATRACE_HEAD_PID], 7);
    assert_int_equal(strobe_rhea_log(&ring, 6, keep_nothing, NULL, NULL), STROBE_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seconds_are_printed_also_when_they_are_0),
        cmocka_unit_test(seconds_are_printed_with_64_bits),
        cmocka_unit_test_teardown(each_malformed_line_is_unknown_and_changes_no_call, close_calls),
        cmocka_unit_test_teardown(only_a_whole_comment_of_losses_is_one, close_calls),
        cmocka_unit_test_teardown(each_word_for_the_end_ends_the_log, close_calls),
        cmocka_unit_test_teardown(a_start_without_a_time_or_a_process_starts_nothing, close_calls),
        cmocka_unit_test(microseconds_are_cut_off_exactly),
        cmocka_unit_test(entries_of_each_kind_have_their_form),
        cmocka_unit_test(a_message_is_one_line_whatever_is_in_it),
        cmocka_unit_test(the_longest_line_fits),
        cmocka_unit_test_teardown(lines_before_the_start_are_skipped_and_counted, close_calls),
        cmocka_unit_test_teardown(a_log_that_never_starts_is_refused_with_what_was_expected, close_calls),
        cmocka_unit_test_teardown(marks_are_distinguished_from_sections_and_ends, close_calls),
        cmocka_unit_test_teardown(names_may_hold_what_marks_are_made_of, close_calls),
        cmocka_unit_test_teardown(seconds_that_the_original_left_out_are_0, close_calls),
        cmocka_unit_test_teardown(a_stream_may_begin_at_0, close_calls),
        cmocka_unit_test_teardown(lines_without_a_thread_are_the_main_threads, close_calls),
        cmocka_unit_test_teardown(unknown_lines_are_counted_and_the_first_is_reported, close_calls),
        cmocka_unit_test_teardown(a_last_line_that_may_be_cut_off_is_left_out, close_calls),
        cmocka_unit_test_teardown(what_comes_after_the_end_is_skipped_but_for_the_losses, close_calls),
        cmocka_unit_test_teardown(texts_in_the_form_of_profilos_own_writer_are_read, close_calls),
        cmocka_unit_test_teardown(the_article_example_closes_as_each_policy_says, close_calls),
        cmocka_unit_test_teardown(what_was_written_is_read_again, unmake),
        cmocka_unit_test_teardown(microseconds_are_what_the_original_keeps, unmake),
        cmocka_unit_test_teardown(losses_of_the_ring_are_reported_in_the_log, unmake),
        cmocka_unit_test_teardown(damage_in_a_ring_makes_no_lines, unmake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
