/* Calls become slices that each sink accepts: each event of a stream is emitted, in order, and each slice is longer
 * than zero. */
#include "engine/trace/build/calls_timeline.h"

#include "engine/trace/export/sinks.h"
#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- a sink that records what it receives, and checks the order that the timeline guarantees */

static struct {
    char text[8192];
    size_t used;
    struct strobe_function_tree *tree;
    uint64_t last_ns;
    uint32_t depth;
    int in_thread, finished;
} heard;

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(heard.text + heard.used, sizeof heard.text - heard.used, format, args);
    va_end(args);
    heard.used += n > 0 && heard.used + (size_t)n < sizeof heard.text ? (size_t)n : 0;
}

static void start(struct strobe_sink *sink, const struct strobe_reader *r, struct strobe_function_tree *tree)
{
    (void)sink;
    heard.tree = tree;
    note("%u %s %llu\n", r->session.header->pid, r->session.header->exe, (unsigned long long)strobe_reader_ns(r, 0));
}

static void thread_begin(struct strobe_sink *sink, const struct strobe_reader_thread *t)
{
    (void)sink;
    assert_false(heard.in_thread);
    heard.in_thread = 1;
    heard.last_ns = 0;
    note("%u %s%s:", t->tid, t->name, t->is_main ? " main" : "");
}

static void slice_begin(struct strobe_sink *sink, const struct strobe_slice *s)
{
    (void)sink;
    assert_true(s->begin.time_ns >= heard.last_ns);
    assert_int_equal(s->depth, ++heard.depth);
    assert_int_equal(strobe_function_tree_node(heard.tree, s->node)->depth, s->depth);
    heard.last_ns = s->begin.time_ns;
    note(" %s@%llu", strobe_function_tree_name(heard.tree, s->name)->text, (unsigned long long)s->begin.time_ns);
}

static void slice_end(struct strobe_sink *sink, const struct strobe_slice *s, const struct strobe_moment *now)
{
    (void)sink;
    assert_true(now->time_ns >= heard.last_ns && now->time_ns > s->begin.time_ns);
    assert_int_equal(s->depth, heard.depth--);
    heard.last_ns = now->time_ns;
    note(" )@%llu", (unsigned long long)now->time_ns);
}

static void instant(struct strobe_sink *sink, uint64_t time_ns, const char *name, const struct strobe_note *notes,
                    size_t count)
{
    (void)sink;
    assert_true(time_ns >= heard.last_ns);
    heard.last_ns = time_ns;
    note(" !%s", name);
    for (size_t i = 0; i < count; i++)
        note(" %s=%llu", notes[i].key, (unsigned long long)notes[i].value);
    note("@%llu", (unsigned long long)time_ns);
}

static void mark(struct strobe_sink *sink, const struct strobe_mark *m)
{
    (void)sink;
    assert_false(heard.in_thread);
    if (m->is_counter)
        note("%u: %s=%lld@%llu\n", m->track, m->name, (long long)m->value, (unsigned long long)m->begin_ns);
    else
        note("%u: %s@%llu-%llu\n", m->track, m->name, (unsigned long long)m->begin_ns, (unsigned long long)m->end_ns);
}

static void thread_end(struct strobe_sink *sink)
{
    (void)sink;
    assert_true(heard.in_thread);
    assert_int_equal(heard.depth, 0);
    heard.in_thread = 0;
    note("\n");
}

static enum strobe_status finish(struct strobe_sink *sink)
{
    (void)sink;
    heard.finished++;
    return STROBE_OK;
}

static struct strobe_calls calls;
static struct strobe_calls_timeline_stats stats;

static void open_stream(uint32_t pid, const char *process)
{
    strobe_calls_open(&calls);
    calls.pid = pid;
    snprintf(calls.process, sizeof calls.process, "%s", process);
}

static enum strobe_status hear(void)
{
    struct strobe_sink sink = {.start = start,
                               .thread_begin = thread_begin,
                               .slice_begin = slice_begin,
                               .slice_end = slice_end,
                               .instant = instant,
                               .mark = mark,
                               .thread_end = thread_end,
                               .finish = finish};
    memset(&heard, 0, sizeof heard);
    enum strobe_status status = strobe_calls_timeline(&calls, &sink, &stats);
    assert_int_equal(heard.finished, 1);
    strobe_calls_close(&calls);
    return status;
}

static void call(uint32_t tid, char what, uint64_t time_ns, const char *name)
{
    strobe_calls_add(&calls, strobe_calls_thread(&calls, tid), what == 'B' ? STROBE_CALL_BEGIN : STROBE_CALL_END,
                     time_ns, strobe_calls_name(&calls, name, strlen(name)));
}

static void add_mark(uint32_t tid, enum strobe_call_mark_kind kind, uint64_t time_ns, const char *name, int64_t value)
{
    strobe_calls_mark(&calls, strobe_calls_thread(&calls, tid), kind, time_ns,
                      strobe_calls_name(&calls, name, strlen(name)), value);
}

/* ---- */

static void calls_are_slices_of_their_threads(void **state)
{
    (void)state;
    open_stream(7, "com.app");
    call(7, 'B', 10, "a");
    call(9, 'B', 11, "x");
    call(7, 'B', 12, "b");
    call(7, 'E', 15, "b");
    call(9, 'E', 16, "x");
    call(7, 'E', 20, "a");
    strobe_calls_thread(&calls, 12);
    assert_int_equal(hear(), STROBE_OK);
    assert_string_equal(heard.text, "7 com.app 10\n7 thread 7 main: a@10 b@12 )@15 )@20\n9 thread 9: x@11 )@16\n");
    assert_int_equal(stats.threads, 2);
    assert_int_equal(stats.slices, 3);
    assert_int_equal(stats.moved, 0);
}

/* Three calls that are nested at one time share one ns. The next call begins after it. */
static void a_call_of_no_time_lasts_a_nanosecond(void **state)
{
    (void)state;
    open_stream(1, "p");
    call(1, 'B', 5, "a");
    call(1, 'B', 5, "b");
    call(1, 'E', 5, "b");
    call(1, 'E', 5, "a");
    call(1, 'B', 5, "c");
    call(1, 'E', 9, "c");
    assert_int_equal(hear(), STROBE_OK);
    assert_string_equal(heard.text, "1 p 5\n1 thread 1 main: a@5 b@5 )@6 )@6 c@6 )@9\n");
    assert_int_equal(stats.moved, 3);
}

static void calls_that_are_not_whole_are_refused(void **state)
{
    (void)state;
    static const struct {
        char what;
        const char *name;
    } bad[][2] = {{{'B', "a"}, {'B', "b"}}, {{'B', "a"}, {'E', "b"}}, {{'E', "a"}, {'E', "a"}}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        open_stream(1, "p");
        call(1, bad[i][0].what, 1, bad[i][0].name);
        call(1, bad[i][1].what, 2, bad[i][1].name);
        assert_int_equal(hear(), STROBE_BAD_INPUT);
        assert_false(heard.in_thread);
    }
    open_stream(1, "p");
    strobe_calls_add(&calls, strobe_calls_thread(&calls, 1), STROBE_CALL_THROW, 1, strobe_calls_name(&calls, "a", 1));
    assert_int_equal(hear(), STROBE_BAD_INPUT);
    open_stream(1, "p");
    strobe_calls_add(&calls, strobe_calls_thread(&calls, 1), STROBE_CALL_END, 1, STROBE_CALL_ANY);
    assert_int_equal(hear(), STROBE_BAD_INPUT);
}

static void instants_and_losses_are_emitted_in_their_thread(void **state)
{
    (void)state;
    open_stream(1, "p");
    call(1, 'B', 5, "a");
    add_mark(1, STROBE_MARK_INSTANT, 5, "i", 0);
    add_mark(1, STROBE_MARK_INSTANT, 6, "j", 0);
    call(1, 'E', 7, "a");
    add_mark(1, STROBE_MARK_INSTANT, 9, "k", 0);
    calls.threads[0].lost = 3;
    assert_int_equal(hear(), STROBE_OK);
    assert_string_equal(heard.text, "1 p 5\n1 thread 1 main: !events lost events=3@5 !i@5 a@5 !j@6 )@7 !k@9\n");
    assert_int_equal(stats.instants, 4);
}

static void counters_have_a_track_each(void **state)
{
    (void)state;
    open_stream(1, "p");
    add_mark(2, STROBE_MARK_COUNTER, 5, "heap", 100);
    add_mark(1, STROBE_MARK_COUNTER, 3, "heap", -1);
    add_mark(1, STROBE_MARK_COUNTER, 4, "fds", INT64_MIN);
    assert_int_equal(hear(), STROBE_OK);
    assert_string_equal(heard.text, "1 p 3\n0: heap=-1@3\n0: heap=100@5\n1: fds=-9223372036854775808@4\n2 thread 2:\n"
                                    "1 thread 1 main:\n");
    assert_int_equal(stats.marks.counters, 3);
}

/* A slice that begins on one thread and ends on another; two that overlap; one that never ends; an end without a
 * begin. */
static void asynchronous_slices_are_kept_apart_in_lanes(void **state)
{
    (void)state;
    open_stream(1, "p");
    add_mark(1, STROBE_MARK_ASYNC_BEGIN, 1, "load", 10);
    add_mark(2, STROBE_MARK_ASYNC_BEGIN, 2, "load", 11);
    add_mark(2, STROBE_MARK_ASYNC_END, 4, "load", 10);
    add_mark(1, STROBE_MARK_ASYNC_BEGIN, 4, "load", 12);
    add_mark(1, STROBE_MARK_ASYNC_END, 5, "load", 99);
    add_mark(1, STROBE_MARK_ASYNC_END, 6, "load", 11);
    add_mark(1, STROBE_MARK_ASYNC_BEGIN, 3, "anim", 10);
    call(2, 'B', 1, "a");
    call(2, 'E', 8, "a");
    assert_int_equal(hear(), STROBE_OK);
    assert_string_equal(heard.text, "1 p 1\n0: load@1-4\n0: load@4-8\n1: load@2-6\n2: anim@6-8\n1 thread 1 main:\n"
                                    "2 thread 2: a@1 )@8\n");
    assert_int_equal(stats.marks.asyncs, 4);
    assert_int_equal(stats.marks.open_at_end, 2);
    assert_int_equal(stats.marks.unmatched, 1);
}

static void an_asynchronous_end_belongs_to_the_last_begin_of_its_cookie(void **state)
{
    (void)state;
    open_stream(1, "p");
    add_mark(1, STROBE_MARK_ASYNC_BEGIN, 1, "s", 1);
    add_mark(1, STROBE_MARK_ASYNC_BEGIN, 2, "s", 1);
    add_mark(1, STROBE_MARK_ASYNC_END, 3, "s", 1);
    add_mark(1, STROBE_MARK_ASYNC_END, 9, "s", 1);
    add_mark(1, STROBE_MARK_COUNTER, 12, "n", 0);
    assert_int_equal(hear(), STROBE_OK);
    assert_string_equal(heard.text, "1 p 1\n0: n=0@12\n1: s@1-9\n2: s@2-3\n1 thread 1 main:\n");
    assert_int_equal(stats.marks.unmatched + stats.marks.open_at_end, 0);
}

/* The number of lanes is the number of overlapping slices, and no lane holds two slices at a time. */
static uint64_t seed;
static uint64_t lane_free_ns[64];
static uint32_t lanes_used;

static void check_lane(struct strobe_sink *sink, const struct strobe_mark *m)
{
    (void)sink;
    assert_true(m->track < 64);
    assert_true(m->begin_ns >= lane_free_ns[m->track]);
    lane_free_ns[m->track] = m->end_ns;
    lanes_used = m->track + 1 > lanes_used ? m->track + 1 : lanes_used;
}

static void lanes_are_as_few_as_overlap(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < strobe_trial_rounds(200); round++) {
        uint32_t open[32], depth = 0, most = 0;
        open_stream(1, "p");
        for (uint32_t i = 0; i < 200 || depth; i++) {
            if (i < 200 && depth < 32 && (!depth || strobe_trial_below(&seed, 2))) {
                open[depth++] = i;
                add_mark(1, STROBE_MARK_ASYNC_BEGIN, i + 1, "s", i);
            } else {
                uint32_t which = strobe_trial_below(&seed, depth);
                add_mark(1, STROBE_MARK_ASYNC_END, i + 1, "s", open[which]);
                open[which] = open[--depth];
            }
            most = depth > most ? depth : most;
        }
        memset(lane_free_ns, 0, sizeof lane_free_ns);
        lanes_used = 0;
        struct strobe_sink sink = {.mark = check_lane};
        assert_int_equal(strobe_calls_emit_marks(&calls, &sink, &stats.marks), STROBE_OK);
        assert_int_equal(lanes_used, most);
        strobe_calls_close(&calls);
    }
}

static void chrome_gets_calls_counters_and_asynchronous_slices(void **state)
{
    (void)state;
    struct strobe_outfile out;
    open_stream(7, "com.app");
    call(7, 'B', 1000, "a");
    call(7, 'E', 3000, "a");
    add_mark(7, STROBE_MARK_COUNTER, 2000, "heap", -5);
    add_mark(7, STROBE_MARK_ASYNC_BEGIN, 2000, "load", 3);
    add_mark(7, STROBE_MARK_ASYNC_END, 2500, "load", 3);
    assert_int_equal(strobe_outfile_open(&out, temp_dir_path("a.json"), 0), STROBE_OK);
    assert_int_equal(strobe_calls_timeline(&calls, strobe_sink_chrome(&out), &stats), STROBE_OK);
    assert_int_equal(strobe_outfile_finish(&out, 0), STROBE_OK);
    strobe_calls_close(&calls);
    size_t bytes;
    char *text = temp_dir_read("a.json", &bytes);
    assert_string_equal(
        text, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
              "{\"ph\":\"M\",\"pid\":7,\"tid\":7,\"name\":\"process_name\",\"args\":{\"name\":\"com.app\"}},\n"
              "{\"ph\":\"C\",\"pid\":7,\"tid\":7,\"name\":\"heap\",\"ts\":2.000,\"args\":{\"value\":-5}},\n"
              "{\"ph\":\"b\",\"pid\":7,\"tid\":7,\"name\":\"load\",\"cat\":\"async\",\"id\":1,\"ts\":2.000},\n"
              "{\"ph\":\"e\",\"pid\":7,\"tid\":7,\"name\":\"load\",\"cat\":\"async\",\"id\":1,\"ts\":2.500},\n"
              "{\"ph\":\"M\",\"pid\":7,\"tid\":7,\"name\":\"thread_name\",\"args\":{\"name\":\"thread 7\"}},\n"
              "{\"ph\":\"B\",\"pid\":7,\"tid\":7,\"name\":\"a\",\"cat\":\"function\",\"ts\":1.000},\n"
              "{\"ph\":\"E\",\"pid\":7,\"tid\":7,\"name\":\"a\",\"ts\":3.000}\n]}\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_slices_of_their_threads),
        cmocka_unit_test(a_call_of_no_time_lasts_a_nanosecond),
        cmocka_unit_test(calls_that_are_not_whole_are_refused),
        cmocka_unit_test(instants_and_losses_are_emitted_in_their_thread),
        cmocka_unit_test(counters_have_a_track_each),
        cmocka_unit_test(asynchronous_slices_are_kept_apart_in_lanes),
        cmocka_unit_test(an_asynchronous_end_belongs_to_the_last_begin_of_its_cookie),
        cmocka_unit_test(lanes_are_as_few_as_overlap),
        cmocka_unit_test(chrome_gets_calls_counters_and_asynchronous_slices),
    };
    seed = strobe_trial_seed("test_calls_timeline");
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
