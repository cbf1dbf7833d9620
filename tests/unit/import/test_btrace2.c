/* Method logs of btrace 2.0: logged calls are read as nested calls, and a log that Strobe wrote reads back the same.
 * The regressions R-8. */
#include "engine/base/error.h"
#include "engine/trace/export/btrace2_write.h"
#include "engine/trace/import/btrace/btrace2.h"
#include "engine/trace/import/btrace/btrace2_read.h"

#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint8_t log_bytes[1 << 16];
static size_t log_used;
static struct strobe_calls calls;
static struct strobe_btrace2_stats stats;
static struct strobe_btrace2_options options;
static struct strobe_error error;

static void put(uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        log_bytes[log_used++] = (uint8_t)(value >> 8 * i);
}

static void start_log(uint32_t version, uint64_t boottime_ns, uint64_t first_ns, uint64_t begin_ns)
{
    log_used = 0;
    put(version, 4);
    put(7, 4);
    put(boottime_ns, 8);
    put(first_ns, 8);
    put(begin_ns, 8);
}

static void record(uint32_t tid, uint32_t method, uint64_t start_ns, uint64_t duration_ns)
{
    struct strobe_btrace2_record r = {start_ns & STROBE_BTRACE2_TIME_MAX, duration_ns, tid, method};
    uint64_t word[2];
    strobe_btrace2_upstream(&r, word);
    put(word[0], 8);
    put(word[1], 8);
}

/* Names of the methods 'a' to 'z'. */
static struct strobe_matrix_map *letters;

static int open_all(void **state)
{
    char text[26 * 16];
    size_t n = 0;
    for (char c = 'a'; c <= 'z'; c++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%d,1,- %c\n", c, c);
    assert_int_equal(strobe_matrix_map_parse(text, n, "letters", &letters, &error), STROBE_OK);
    return temp_dir_open(state);
}

static int close_all(void **state)
{
    strobe_matrix_map_close(letters);
    return temp_dir_close(state);
}

static const char *calls_text(void)
{
    static char text[8192];
    size_t n = 0;
    text[0] = 0;
    for (size_t i = 0; i < calls.thread_count; i++) {
        const struct strobe_calls_thread *t = &calls.threads[i];
        n += (size_t)snprintf(text + n, sizeof text - n, "%u%s:", t->tid, t->is_main ? "*" : "");
        for (size_t k = 0; k < t->call_count && n < 8000; k++)
            n += (size_t)snprintf(text + n, sizeof text - n, " %c%s@%llu", "BE"[t->calls[k].what],
                                  calls.names.texts[t->calls[k].name], (unsigned long long)t->calls[k].time_ns);
        n += (size_t)snprintf(text + n, sizeof text - n, "\n");
    }
    return text;
}

static enum strobe_status read_log(void)
{
    options.map = letters;
    error.text[0] = 0;
    return strobe_btrace2_read(log_bytes, log_used, &options, &calls, &stats, &error);
}

static void reads_as(const char *expected)
{
    assert_int_equal(read_log(), STROBE_OK);
    assert_string_equal(calls_text(), expected);
    strobe_calls_close(&calls);
}

/* ---- nested calls */

static void calls_nest_as_they_were_made(void **state)
{
    (void)state;
    start_log(5, 1000, 1000, 1000);
    record(7, 'b', 20, 10);
    record(7, 'c', 40, 10);
    record(9, 'x', 25, 100);
    record(7, 'a', 10, 50);
    reads_as("7*: Ba@1010 Bb@1020 Eb@1030 Bc@1040 Ec@1050 Ea@1060\n9: Bx@1025 Ex@1125\n");
    assert_int_equal(stats.records, 4);
    assert_int_equal(stats.header.pid, 7);
    assert_int_equal(stats.unused + stats.tail_bytes + stats.cut + stats.early + stats.clamped + stats.negative, 0);
}

/* The original sorts begins and ends by time, and has b around a: names swap. */
static void a_callee_that_starts_with_its_caller_lies_in_it(void **state)
{
    (void)state;
    start_log(5, 0, 0, 0);
    record(7, 'b', 5, 5);
    record(7, 'a', 5, 20);
    reads_as("7*: Ba@5 Bb@5 Eb@10 Ea@25\n");
}

/* The original: b@5 a@5 E@10 c@10 E@15 E@25. */
static void callees_that_touch_are_siblings(void **state)
{
    (void)state;
    start_log(5, 0, 0, 0);
    record(7, 'b', 5, 5);
    record(7, 'c', 10, 5);
    record(7, 'a', 5, 20);
    reads_as("7*: Ba@5 Bb@5 Eb@10 Bc@10 Ec@15 Ea@25\n");
}

/* The original shows them side by side, b first. */
static void calls_of_no_time_nest_by_the_order_they_ended_in(void **state)
{
    (void)state;
    start_log(5, 0, 0, 0);
    record(7, 'b', 5, 0);
    record(7, 'a', 5, 0);
    reads_as("7*: Ba@5 Bb@5 Eb@5 Ea@5\n");
    start_log(5, 0, 0, 0);
    record(7, 'b', 5, 5);
    record(7, 'c', 10, 0);
    reads_as("7*: Bb@5 Eb@10 Bc@10 Ec@10\n");
    start_log(5, 0, 0, 0);
    record(7, 'c', 10, 0);
    record(7, 'b', 5, 5);
    reads_as("7*: Bb@5 Bc@10 Ec@10 Eb@10\n");
}

static void equal_ends_nest(void **state)
{
    (void)state;
    start_log(5, 0, 0, 0);
    record(7, 'c', 8, 2);
    record(7, 'b', 6, 4);
    record(7, 'a', 5, 5);
    reads_as("7*: Ba@5 Bb@6 Bc@8 Ec@10 Eb@10 Ea@10\n");
}

/* Records may stand in any order: a callee on another thread of execution may be logged late. */
static void starts_that_are_not_in_order_are_put_in_order(void **state)
{
    (void)state;
    start_log(5, 0, 0, 0);
    record(7, 'd', 50, 5);
    record(7, 'a', 10, 50);
    record(7, 'b', 20, 10);
    reads_as("7*: Ba@10 Bb@20 Eb@30 Bd@50 Ed@55 Ea@60\n");
}

static void a_call_that_outlasts_its_caller_is_cut(void **state)
{
    (void)state;
    start_log(5, 0, 0, 0);
    record(7, 'a', 10, 20);
    record(7, 'b', 20, 20);
    reads_as("7*: Ba@10 Bb@20 Eb@30 Ea@30\n");
    assert_int_equal(stats.cut, 1);
}

/* ---- other content of the log */

static void records_never_written_and_an_odd_tail_are_no_calls(void **state)
{
    (void)state;
    start_log(5, 0, 0, 0);
    put(123 << 19, 8);
    put(0, 8);
    record(7, 'a', 10, 50);
    put(0, 8);
    put(0, 7);
    reads_as("7*: Ba@10 Ea@60\n");
    assert_int_equal(stats.unused, 1);
    assert_int_equal(stats.tail_bytes, 15);
}

static void an_empty_log_has_no_calls(void **state)
{
    (void)state;
    start_log(5, 0, 0, 0);
    reads_as("");
}

static void other_versions_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t version;
        const char *why;
    } bad[] = {{4, "byte 0: version 4, expected a btrace 2.0 log, which has version 5"},
               {6, "byte 0: version 6, expected a btrace 2.0 log, which has version 5"},
               {0x62617274, "byte 0: version 1650553460, expected a btrace 2.0 log, which has version 5"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        start_log(bad[i].version, 0, 0, 0);
        assert_int_equal(read_log(), STROBE_BAD_VERSION);
        assert_string_equal(error.text, bad[i].why);
        strobe_calls_close(&calls);
    }
}

static void a_log_cut_in_its_header_is_refused(void **state)
{
    (void)state;
    start_log(5, 0, 0, 0);
    for (size_t bytes = 0; bytes < 32; bytes++) {
        log_used = bytes;
        assert_int_equal(read_log(), STROBE_TRUNCATED);
        strobe_calls_close(&calls);
    }
    assert_string_equal(error.text, "ends within its header, after 31 of 32 bytes");
    start_log(5, UINT64_MAX, 5, 5);
    assert_int_equal(read_log(), STROBE_BAD_INPUT);
    strobe_calls_close(&calls);
}

/* The trace began at 1050: calls before that belong to an earlier trace. */
static void calls_before_the_trace_begin_with_it_or_are_left_out(void **state)
{
    (void)state;
    start_log(5, 1000, 1000, 1050);
    record(7, 'x', 10, 20);
    record(7, 'b', 45, 30);
    record(7, 'a', 40, 60);
    reads_as("7*: Ba@1050 Bb@1050 Eb@1075 Ea@1100\n");
    assert_int_equal(stats.early, 1);
    assert_int_equal(stats.clamped, 2);
}

/* The original shifts without a sign, and shows its begin 9.8 hours late. */
static void a_call_that_began_before_the_first_moment_did(void **state)
{
    (void)state;
    start_log(5, 1000, 1000, 0);
    record(7, 'a', (uint64_t)-100, 300);
    reads_as("7*: Ba@900 Ea@1200\n");
    assert_int_equal(stats.negative, 1);
}

static void methods_without_a_name_are_shown_by_their_number(void **state)
{
    (void)state;
    start_log(5, 0, 0, 0);
    record(7, 'a', 10, 5);
    record(7, 8388607, 20, 5);
    record(7, 8388607, 30, 5);
    reads_as("7*: Ba@10 Ea@15 Bmethod 8388607@20 Emethod 8388607@25 Bmethod 8388607@30 Emethod 8388607@35\n");
    assert_int_equal(stats.methods, 2);
    assert_int_equal(stats.nameless, 1);
    assert_int_equal(stats.nameless_calls, 2);
}

static void the_longest_call_fits(void **state)
{
    (void)state;
    start_log(5, 0, 0, 0);
    record(32767, 'a', STROBE_BTRACE2_TIME_MAX >> 1, STROBE_BTRACE2_TIME_MAX);
    reads_as("32767: Ba@17592186044415 Ea@52776558133246\n");
}

/* ---- clocks */

static void a_log_lies_where_the_system_trace_has_it(void **state)
{
    (void)state;
    struct strobe_btrace2_header h = {5, 7, 50000000000, 20000000000, 20000000000};
    assert_int_equal(strobe_btrace2_shift(&h, 0), 0);
    assert_int_equal(strobe_btrace2_shift(&h, 20000000000), 0);
    assert_int_equal(strobe_btrace2_shift(&h, 34999999999), 0);
    assert_int_equal(strobe_btrace2_shift(&h, 35000000000), 0);
    assert_int_equal(strobe_btrace2_shift(&h, 35000000001), 30000000000);
    assert_int_equal(strobe_btrace2_shift(&h, 60000000000), 30000000000);
    h.boottime_ns = 20000999999;
    assert_int_equal(strobe_btrace2_shift(&h, 60000000000), 0);
    h.boottime_ns = 20001000000;
    assert_int_equal(strobe_btrace2_shift(&h, 60000000000), 1000000);
    start_log(5, 50000000000, 20000000000, 20000000000);
    record(7, 'a', 10, 5);
    options.system_ns = 49000000000;
    reads_as("7*: Ba@50000000010 Ea@50000000015\n");
    options.system_ns = 0;
}

/* ---- records */

static void records_hold_what_they_are_given_up_to_their_limits(void **state)
{
    (void)state;
    static const struct strobe_btrace2_record fit[] = {
        {0, 0, 0, 1},
        {1, 2, 3, 4},
        {STROBE_BTRACE2_TIME_MAX >> 1, STROBE_BTRACE2_TIME_MAX, 32767, 8388607},
        {0x123456789, (1 << 26) - 1, 1, 0},
        {0, 1 << 26, 1, 0}};
    static const struct strobe_btrace2_record unfit[] = {{0, 5, 32768, 1},
                                                         {0, 5, 1, 1 << 23},
                                                         {(STROBE_BTRACE2_TIME_MAX >> 1) + 1, 5, 1, 1},
                                                         {0, STROBE_BTRACE2_TIME_MAX + 1, 1, 1},
                                                         {5, 0, 0, 0}};
    uint64_t word[2] = {0};
    struct strobe_btrace2_record back;
    for (size_t i = 0; i < sizeof fit / sizeof fit[0]; i++) {
        assert_true(strobe_btrace2_pack(&fit[i], word));
        strobe_btrace2_unpack(word, &back);
        assert_int_equal(back.start_ns, fit[i].start_ns);
        assert_int_equal(back.duration_ns, fit[i].duration_ns);
        assert_int_equal(back.tid, fit[i].tid);
        assert_int_equal(back.method, fit[i].method);
    }
    for (size_t i = 0; i < sizeof unfit / sizeof unfit[0]; i++)
        assert_false(strobe_btrace2_pack(&unfit[i], word));
}

/* The original masks neither: tid 32768 is 1 ns of the duration, method 2^23 another thread. */
static void upstream_spills_what_does_not_fit(void **state)
{
    (void)state;
    uint64_t word[2];
    struct strobe_btrace2_record r = {10, 4, 32768, 'a'}, back;
    strobe_btrace2_upstream(&r, word);
    strobe_btrace2_unpack(word, &back);
    assert_int_equal(back.tid, 0);
    assert_int_equal(back.duration_ns, 5);
    r = (struct strobe_btrace2_record){10, 4, 8, (1 << 23) + 'a'};
    strobe_btrace2_upstream(&r, word);
    strobe_btrace2_unpack(word, &back);
    assert_int_equal(back.tid, 9);
    assert_int_equal(back.method, 'a');
}

/* ---- and back */

static struct strobe_btrace2_written written;

static enum strobe_status write_log(uint64_t bytes_max)
{
    struct strobe_outfile out, mapping;
    assert_int_equal(strobe_outfile_open(&out, temp_dir_path("log"), 1), STROBE_OK);
    assert_int_equal(strobe_outfile_open(&mapping, temp_dir_path("log.mapping"), 1), STROBE_OK);
    enum strobe_status status = strobe_btrace2_write(&calls, bytes_max, &out, &mapping, &written);
    assert_int_equal(strobe_outfile_finish(&out, 0), STROBE_OK);
    assert_int_equal(strobe_outfile_finish(&mapping, 0), STROBE_OK);
    char *bytes = temp_dir_read("log", &log_used);
    assert_true(log_used <= sizeof log_bytes);
    memcpy(log_bytes, bytes, log_used);
    free(bytes);
    return status;
}

static void begin_calls(void)
{
    strobe_calls_open(&calls);
    calls.pid = 7;
}

static void call(uint32_t tid, char what, uint64_t time_ns, char name)
{
    strobe_calls_add(&calls, strobe_calls_thread(&calls, tid), what == 'B' ? STROBE_CALL_BEGIN : STROBE_CALL_END,
                     time_ns, strobe_calls_name(&calls, &name, 1));
}

static void a_log_is_written_with_its_mapping(void **state)
{
    (void)state;
    begin_calls();
    call(7, 'B', 1000, 'a');
    call(7, 'B', 1010, 'b');
    call(7, 'E', 1030, 'b');
    call(7, 'E', 1050, 'a');
    assert_int_equal(write_log(0), STROBE_OK);
    strobe_calls_close(&calls);
    assert_int_equal(written.records, 2);
    char *mapping = temp_dir_read("log.mapping", &(size_t){0});
    assert_string_equal(mapping, "1,1,- a\n2,1,- b\n");
    free(mapping);
    reads_as("7*: Bmethod 1@1000 Bmethod 2@1010 Emethod 2@1030 Emethod 1@1050\n");
}

/* As class and method. Names that a mapping cannot hold are changed, and stay distinct. */
static void names_are_mapped_and_come_back(void **state)
{
    (void)state;
    static const char *const names[][2] = {{"com.app.Feed.scroll", "com.app.Feed.scroll"},
                                           {"doFrame", "doFrame"},
                                           {"a.f(b.C)", "a.f(b.C)"},
                                           {".x", ".x"},
                                           {"x.", "x."},
                                           {"a.(b)", "a.(b)"},
                                           {"read: /a,b", "read:__a_b~7"},
                                           {"read: /a b", "read:__a_b~8"},
                                           {"-.x", "-.x~9"},
                                           {"x~1", "x_1~10"},
                                           {"f(a.b)", "f(a.b)"}};
    enum { COUNT = sizeof names / sizeof names[0] };
    begin_calls();
    for (uint64_t i = 0; i < COUNT; i++) {
        uint32_t name = strobe_calls_name(&calls, names[i][0], strlen(names[i][0]));
        strobe_calls_add(&calls, strobe_calls_thread(&calls, 7), STROBE_CALL_BEGIN, 10 * i, name);
        strobe_calls_add(&calls, strobe_calls_thread(&calls, 7), STROBE_CALL_END, 10 * i + 5, name);
    }
    assert_int_equal(write_log(0), STROBE_OK);
    strobe_calls_close(&calls);
    struct strobe_matrix_map *map;
    assert_int_equal(strobe_matrix_map_read(temp_dir_path("log.mapping"), &map, &error), STROBE_OK);
    struct strobe_btrace2_options named = {.map = map};
    assert_int_equal(strobe_btrace2_read(log_bytes, log_used, &named, &calls, &stats, &error), STROBE_OK);
    assert_int_equal(stats.nameless_calls, 0);
    for (size_t i = 0; i < COUNT; i++)
        assert_string_equal(calls.names.texts[calls.threads[0].calls[2 * i].name], names[i][1]);
    strobe_matrix_map_close(map);
    strobe_calls_close(&calls);
}

static void what_does_not_fit_is_refused_not_spilled(void **state)
{
    (void)state;
    begin_calls();
    call(32768, 'B', 10, 'a');
    call(32768, 'E', 20, 'a');
    call(32767, 'B', 10, 'a');
    call(32767, 'E', 20, 'a');
    call(7, 'B', (uint64_t)5 * 3600 * 1000000000, 'a');
    call(7, 'E', (uint64_t)6 * 3600 * 1000000000, 'a');
    assert_int_equal(write_log(0), STROBE_OK);
    strobe_calls_close(&calls);
    assert_int_equal(written.records, 1);
    assert_int_equal(written.refused, 2);
    reads_as("32767: Bmethod 1@10 Emethod 1@20\n");
}

/* Room for the header and three records: the last place stays empty. */
static void a_full_buffer_drops_what_comes_later(void **state)
{
    (void)state;
    begin_calls();
    for (uint64_t i = 0; i < 5; i++) {
        call(7, 'B', 10 * i, 'a');
        call(7, 'E', 10 * i + 5, 'a');
    }
    assert_int_equal(write_log(32 + 3 * 16), STROBE_OK);
    assert_int_equal(written.records, 2);
    assert_int_equal(written.dropped, 3);
    assert_int_equal(log_used, 64);
    assert_int_equal(write_log(32 + 3 * 16 + 1), STROBE_OK);
    assert_int_equal(written.records, 3);
    strobe_calls_close(&calls);
}

static void calls_that_are_not_whole_are_not_written(void **state)
{
    (void)state;
    begin_calls();
    call(7, 'B', 10, 'a');
    assert_int_equal(write_log(0), STROBE_BAD_INPUT);
    call(7, 'E', 10, 'b');
    assert_int_equal(write_log(0), STROBE_BAD_INPUT);
    strobe_calls_close(&calls);
}

/* ---- random logs */

static uint64_t seed;

/* Threads that call and return, each step taking time, read back the same. */
static void random_calls_read_back_the_same(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < strobe_trial_rounds(200); round++) {
        char stack[3][16];
        uint32_t depth[3] = {0};
        uint64_t now = 1;
        begin_calls();
        for (uint32_t i = 0; i < 120 || depth[0] || depth[1] || depth[2]; i++) {
            uint32_t t = strobe_trial_below(&seed, 3);
            now += 1 + strobe_trial_below(&seed, 3);
            if (i < 120 && depth[t] < 16 && strobe_trial_below(&seed, 2)) {
                char name = (char)('a' + strobe_trial_below(&seed, 4));
                stack[t][depth[t]++] = name;
                call(7 + t, 'B', now, name);
            } else if (depth[t]) {
                call(7 + t, 'E', now, stack[t][--depth[t]]);
            }
        }
        assert_int_equal(write_log(0), STROBE_OK);
        struct strobe_calls before = calls;
        struct strobe_matrix_map *map;
        assert_int_equal(strobe_matrix_map_read(temp_dir_path("log.mapping"), &map, &error), STROBE_OK);
        struct strobe_btrace2_options named = {.map = map};
        assert_int_equal(strobe_btrace2_read(log_bytes, log_used, &named, &calls, &stats, &error), STROBE_OK);
        for (size_t i = 0; i < before.thread_count; i++) {
            const struct strobe_calls_thread *was = &before.threads[i];
            const struct strobe_calls_thread *is = &calls.threads[strobe_calls_thread(&calls, was->tid)];
            assert_int_equal(is->call_count, was->call_count);
            for (size_t k = 0; k < was->call_count; k++) {
                assert_int_equal(is->calls[k].time_ns, was->calls[k].time_ns);
                assert_int_equal(is->calls[k].what, was->calls[k].what);
                assert_string_equal(calls.names.texts[is->calls[k].name], before.names.texts[was->calls[k].name]);
            }
        }
        strobe_matrix_map_close(map);
        strobe_calls_close(&before);
        strobe_calls_close(&calls);
    }
}

/* Arbitrary records: the calls read still nest, and each call is read or counted as left out. */
static void damaged_logs_always_nest(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < strobe_trial_rounds(500); round++) {
        start_log(5, 1000, 1000, 1000 + strobe_trial_below(&seed, 20));
        uint32_t count = strobe_trial_below(&seed, 60);
        for (uint32_t i = 0; i < count; i++)
            record(1 + strobe_trial_below(&seed, 2), 'a' + strobe_trial_below(&seed, 4),
                   (uint64_t)strobe_trial_below(&seed, 40) - 5,
                   strobe_trial_below(&seed, 4) * strobe_trial_below(&seed, 9));
        assert_int_equal(read_log(), STROBE_OK);
        size_t events = 0;
        for (size_t i = 0; i < calls.thread_count; i++) {
            const struct strobe_calls_thread *t = &calls.threads[i];
            uint32_t stack[64], depth = 0;
            uint64_t last = 0;
            events += t->call_count;
            assert_int_equal(t->unordered, 0);
            for (size_t k = 0; k < t->call_count; k++) {
                assert_true(t->calls[k].time_ns >= last);
                last = t->calls[k].time_ns;
                if (t->calls[k].what == STROBE_CALL_BEGIN)
                    stack[depth++] = t->calls[k].name;
                else
                    assert_int_equal(stack[--depth], t->calls[k].name);
            }
            assert_int_equal(depth, 0);
        }
        assert_int_equal(events, 2 * (count - stats.early));
        strobe_calls_close(&calls);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_nest_as_they_were_made),
        cmocka_unit_test(a_callee_that_starts_with_its_caller_lies_in_it),
        cmocka_unit_test(callees_that_touch_are_siblings),
        cmocka_unit_test(calls_of_no_time_nest_by_the_order_they_ended_in),
        cmocka_unit_test(equal_ends_nest),
        cmocka_unit_test(starts_that_are_not_in_order_are_put_in_order),
        cmocka_unit_test(a_call_that_outlasts_its_caller_is_cut),
        cmocka_unit_test(records_never_written_and_an_odd_tail_are_no_calls),
        cmocka_unit_test(an_empty_log_has_no_calls),
        cmocka_unit_test(other_versions_are_refused),
        cmocka_unit_test(a_log_cut_in_its_header_is_refused),
        cmocka_unit_test(calls_before_the_trace_begin_with_it_or_are_left_out),
        cmocka_unit_test(a_call_that_began_before_the_first_moment_did),
        cmocka_unit_test(methods_without_a_name_are_shown_by_their_number),
        cmocka_unit_test(the_longest_call_fits),
        cmocka_unit_test(a_log_lies_where_the_system_trace_has_it),
        cmocka_unit_test(records_hold_what_they_are_given_up_to_their_limits),
        cmocka_unit_test(upstream_spills_what_does_not_fit),
        cmocka_unit_test(a_log_is_written_with_its_mapping),
        cmocka_unit_test(names_are_mapped_and_come_back),
        cmocka_unit_test(what_does_not_fit_is_refused_not_spilled),
        cmocka_unit_test(a_full_buffer_drops_what_comes_later),
        cmocka_unit_test(calls_that_are_not_whole_are_not_written),
        cmocka_unit_test(random_calls_read_back_the_same),
        cmocka_unit_test(damaged_logs_always_nest),
    };
    seed = strobe_trial_seed("test_btrace2");
    return cmocka_run_group_tests(tests, open_all, close_all);
}
