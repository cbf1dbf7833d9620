/* Evil messages and the calls to blame for messages, handlers and frames, from exact calls or from samples. */
#include "engine/base/mix.h"
#include "engine/watch/blame.h"
#include "tests/unit/support/watch_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EVIL  STROBE_FINDING_EVIL
#define DROP  STROBE_FINDING_DROP
#define MS(n) ((uint64_t)(n)*1000000u)

static void enter(double ms, const char *method)
{
    watch_notify_ms(&rig, STROBE_WATCH_CALL_BEGIN, ms, method);
}

static void leave(double ms, const char *method)
{
    watch_notify_ms(&rig, STROBE_WATCH_CALL_END, ms, method);
}

static void call(double begin_ms, double end_ms, const char *method)
{
    enter(begin_ms, method);
    leave(end_ms, method);
}

static void begin_message(double ms, const char *text)
{
    watch_notify_ms(&rig, STROBE_WATCH_MESSAGE_BEGIN, ms, text);
}

static void end_message(double ms)
{
    watch_notify_ms(&rig, STROBE_WATCH_MESSAGE_END, ms, "");
}

static const struct strobe_finding *evil(size_t n)
{
    return watch_found(&rig, EVIL, n);
}

static void a_message_is_evil_from_700_ms_on(void **state)
{
    (void)state;
    watch_message(&rig, 0, 699.999999, "m");
    assert_int_equal(rig.count, 0);
    watch_message(&rig, 1000, 1700, "m");
    assert_int_equal(watch_count(&rig, EVIL), 1);
    assert_true(evil(0)->begin_ns == MS(1000) && evil(0)->end_ns == MS(1700));
    assert_true(watch_value(evil(0), "cost_ms") == 700 && watch_value(evil(0), "stack_ms") == 700);
}

static void the_method_to_blame_for_a_wait_is_the_one_that_waited(void **state)
{
    (void)state;
    begin_message(1000, "Handler (Main)");
    enter(1000, "onClick");
    enter(1050, "load");
    call(1051, 1053, "[mutex wait]");
    call(1060, 1900, "[mutex wait]");
    leave(1905, "load");
    leave(1990, "onClick");
    end_message(2000);
    assert_string_equal(evil(0)->blame, "load in [mutex wait]");
}

static void the_method_to_blame_is_the_deepest_that_took_most(void **state)
{
    (void)state;
    begin_message(1000, "Handler (Main)");
    enter(1000, "onClick");
    call(1001, 1050, "log");
    enter(1050, "load");
    call(1060, 1900, "decode");
    leave(1905, "load");
    call(1910, 1920, "draw");
    leave(1920, "onClick");
    end_message(1930);
    assert_string_equal(evil(0)->stack, "0,Handler (Main),1,930\n1,onClick,1,920\n2,log,1,49\n2,load,1,855\n"
                                        "3,decode,1,840\n2,draw,1,10\n");
    assert_string_equal(evil(0)->blame, "decode");
    assert_string_equal(evil(0)->key, "decode");
    assert_string_equal(evil(0)->unseen, "");
}

/* Issues 840, 842, 851, 864: the report has an empty stack, and does not say why. */
static void a_report_without_a_stack_says_that_no_call_was_received_842(void **state)
{
    (void)state;
    call(100, 900, "before the message");
    watch_message(&rig, 1000, 1879, "Handler (Main)");
    call(1900, 3000, "after it");
    assert_string_equal(evil(0)->stack, "");
    assert_string_equal(evil(0)->key, "");
    assert_string_equal(evil(0)->blame, "Handler (Main)");
    assert_string_equal(evil(0)->unseen, "the capture has no call within it");
    assert_true(watch_value(evil(0), "cost_ms") == 879);
    watch_rig_again(&rig);
    rig.view.sampled = true;
    rig.view.unseen_below_ns = MS(10);
    watch_message(&rig, 1000, 1879, "Handler (Main)");
    assert_string_equal(evil(0)->unseen, "no sample shows a call within it; calls shorter than 10 ms may be missing");
}

/* Rows N1 to N3, issue 560: a message within a message emptied the stack. */
static void a_message_within_a_message_is_a_call_of_the_outer_560(void **state)
{
    (void)state;
    begin_message(0, "outer");
    enter(0, "showDialog");
    begin_message(100, "inner");
    call(110, 880, "work");
    end_message(900);
    leave(910, "showDialog");
    end_message(920);
    assert_int_equal(watch_count(&rig, EVIL), 2);
    assert_string_equal(evil(0)->stack, "0,inner,1,800\n1,work,1,770\n");
    assert_string_equal(evil(1)->stack, "0,outer,1,920\n1,showDialog,1,910\n2,inner,1,800\n3,work,1,770\n");
    assert_true(watch_value(evil(1), "nested_ms") == 800 && watch_value(evil(0), "nested_ms") == 0);
}

/* Issue 840: the end of a call that was still open was given in ns, and cut to 32 bits. */
static void what_is_open_when_the_message_ends_ends_there_840(void **state)
{
    (void)state;
    begin_message(5000000, "m");
    enter(5000100, "stuck");
    enter(5000200, "deeper");
    end_message(5000800);
    assert_string_equal(evil(0)->stack, "0,m,1,800\n1,stuck,1,700\n2,deeper,1,600\n");
    begin_message(5001000, "next");
    leave(5001100, "stuck");
    call(5001200, 5001900, "other");
    end_message(5001900);
    assert_string_equal(evil(1)->stack, "0,next,1,900\n1,other,1,700\n");
}

static void calls_left_by_an_exception_end_with_the_catching_call(void **state)
{
    (void)state;
    begin_message(0, "m");
    enter(0, "catches");
    enter(100, "passes");
    enter(200, "throws");
    leave(700, "catches");
    leave(750, "not open");
    end_message(800);
    assert_string_equal(evil(0)->stack, "0,m,1,800\n1,catches,1,700\n2,passes,1,600\n3,throws,1,500\n");
}

static void an_end_without_a_name_is_that_of_the_innermost(void **state)
{
    (void)state;
    begin_message(0, "m");
    enter(0, "a");
    enter(100, "b");
    leave(300, "");
    leave(900, "");
    leave(950, "");
    end_message(1000);
    assert_string_equal(evil(0)->stack, "0,m,1,1000\n1,a,1,900\n2,b,1,200\n");
}

static void a_message_known_by_its_method_is_reported_once(void **state)
{
    (void)state;
    begin_message(0, "dispatchMessage");
    enter(0, "dispatchMessage");
    call(10, 800, "run");
    leave(900, "dispatchMessage");
    end_message(900);
    assert_string_equal(evil(0)->stack, "0,dispatchMessage,1,900\n1,run,1,790\n");
    begin_message(1000, "first");
    call(1000, 1100, "first");
    call(1100, 1900, "second");
    end_message(1900);
    assert_string_equal(evil(1)->stack, "0,first,1,900\n1,first,1,100\n1,second,1,800\n");
    begin_message(2000, "same");
    enter(2000, "same");
    call(2100, 2800, "same");
    leave(2900, "same");
    end_message(2900);
    assert_string_equal(evil(2)->stack, "0,same,1,900\n1,same,1,700\n");
}

static void the_frames_below_the_message_are_not_part_of_it(void **state)
{
    (void)state;
    enter(0, "main");
    enter(1, "loop");
    begin_message(100, "first");
    call(100, 850, "work");
    end_message(900);
    begin_message(1000, "second");
    call(1000, 1700, "work");
    end_message(1700);
    assert_string_equal(evil(0)->stack, "0,first,1,800\n1,work,1,750\n");
    assert_string_equal(evil(1)->stack, "0,second,1,700\n1,work,1,700\n");
}

static void equal_calls_of_one_caller_are_one_line(void **state)
{
    (void)state;
    begin_message(0, "m");
    for (unsigned i = 0; i < 100; i++)
        call(i * 8, i * 8 + 7, i % 2 ? "odd" : "even");
    end_message(800);
    assert_string_equal(evil(0)->stack, "0,m,1,800\n1,even,50,350\n1,odd,50,350\n");
}

static void a_long_stack_is_cut_to_30_lines(void **state)
{
    char name[16];
    size_t lines = 0;
    (void)state;
    begin_message(0, "m");
    for (unsigned i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "method %u", i);
        call(i * 20, i * 20 + i % 20, name);
    }
    end_message(2000);
    for (const char *at = evil(0)->stack; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, 30);
    assert_null(strstr(evil(0)->stack, "method 1,"));
    assert_non_null(strstr(evil(0)->stack, "1,method 19,1,19\n"));
}

static void the_longest_item_may_be_longer_than_the_message_by_what_was_put_together(void **state)
{
    (void)state;
    begin_message(0, "m");
    call(0, 690, "once");
    end_message(705.5);
    assert_true(watch_value(evil(0), "cost_ms") == 705.5 && watch_value(evil(0), "stack_ms") == 705.5);
}

static void names_with_line_breaks_get_blanks(void **state)
{
    (void)state;
    begin_message(0, "a\nmessage");
    call(0, 700, "two\nlines");
    end_message(800);
    assert_string_equal(evil(0)->stack, "0,a message,1,800\n1,two lines,1,700\n");
}

static void other_threads_calls_are_not_to_blame(void **state)
{
    struct strobe_watch_event other = {
        .what = STROBE_WATCH_CALL_BEGIN, .time_ns = MS(100), .thread = 1, .text = "other"};
    (void)state;
    begin_message(0, "m");
    watch_notify(&rig, &other);
    call(200, 300, "own");
    end_message(800);
    assert_string_equal(evil(0)->stack, "0,m,1,800\n1,own,1,100\n");
}

static void a_message_reports_the_phases_of_its_frame_and_the_cpu_used(void **state)
{
    struct strobe_watch_frame frame = {.intended_ns = MS(1),
                                       .begin_ns = MS(2),
                                       .end_ns = MS(900),
                                       .input_ns = MS(3),
                                       .animation_ns = MS(800),
                                       .traversal_ns = MS(90),
                                       .is_vsync = true};
    struct strobe_watch_event e = {.what = STROBE_WATCH_FRAME, .time_ns = MS(900), .text = "", .frame = &frame};
    struct strobe_watch_event cpu = {.what = STROBE_WATCH_CPU, .time_ns = MS(500), .value = 600, .text = ""};
    (void)state;
    begin_message(1, "doFrame");
    watch_notify(&rig, &cpu);
    cpu.value = 800;
    watch_notify(&rig, &cpu);
    watch_notify(&rig, &e);
    end_message(901);
    assert_true(watch_value(evil(0), "input_ms") == 3 && watch_value(evil(0), "animation_ms") == 800);
    assert_true(watch_value(evil(0), "traversal_ms") == 90 && watch_value(evil(0), "cpu_permille") == 700);
    watch_message(&rig, 2000, 3000, "no frame in it");
    assert_true(isnan(strobe_finding_value(evil(1), "input_ms")));
    assert_true(isnan(strobe_finding_value(evil(1), "cpu_permille")));
}

static void an_unfinished_message_says_so(void **state)
{
    (void)state;
    begin_message(0, "m");
    enter(10, "hangs");
    watch_end(&rig, 1000);
    assert_true(watch_value(evil(0), "unfinished") == 1);
    assert_string_equal(evil(0)->unseen, "its end was not captured");
    assert_string_equal(evil(0)->blame, "hangs");
}

/* ---- frames and handlers */

static void notify_frame(double begin_ms, double end_ms)
{
    struct strobe_watch_frame f = {.intended_ns = (uint64_t)(begin_ms * 1e6),
                                   .begin_ns = (uint64_t)(begin_ms * 1e6),
                                   .end_ns = (uint64_t)(end_ms * 1e6),
                                   .is_vsync = true};
    struct strobe_watch_event e = {.what = STROBE_WATCH_FRAME, .time_ns = f.end_ns, .text = "", .frame = &f};
    watch_notify(&rig, &e);
}

static void a_dropped_frame_has_the_calls_within_it_with_and_without_messages(void **state)
{
    (void)state;
    for (int has_messages = 0; has_messages < 2; has_messages++) {
        enter(0, "main");
        if (has_messages)
            begin_message(50, "doFrame");
        call(50, 90, "before");
        enter(95, "reaches in");
        call(100, 150, "measure");
        leave(180, "reaches in");
        call(200, 290, "layout");
        notify_frame(100, 300);
        call(310, 320, "after");
        if (has_messages)
            end_message(330);
        notify_frame(400, 460);
        const struct strobe_finding *f = watch_found(&rig, DROP, 0);
        assert_string_equal(f->stack, "0,frame,1,200\n1,reaches in,1,80\n2,measure,1,50\n1,layout,1,90\n");
        assert_string_equal(watch_found(&rig, DROP, 1)->stack, "");
        watch_rig_again(&rig);
    }
}

static void an_idle_handler_has_the_calls_within_it(void **state)
{
    (void)state;
    watch_notify_ms(&rig, STROBE_WATCH_IDLE_BEGIN, 1000, "Preload");
    call(1100, 3000, "read");
    watch_notify_ms(&rig, STROBE_WATCH_IDLE_END, 3050, "Preload");
    const struct strobe_finding *f = watch_found(&rig, STROBE_FINDING_IDLE_LAG, 0);
    assert_string_equal(f->stack, "0,Preload,1,2050\n1,read,1,1900\n");
    assert_string_equal(f->blame, "Preload");
}

/* ---- more calls than there is room for: driven without the watchers, for speed */

static void blame_event(struct strobe_blame *b, enum strobe_watch_what what, uint64_t ns, const char *text)
{
    struct strobe_watch_event e = {.what = what, .time_ns = ns, .text = text};
    strobe_blame_before(b, &e);
    strobe_blame_after(b, &e);
}

static void when_room_is_short_the_shortest_calls_are_given_up_and_counted(void **state)
{
    struct strobe_blame b;
    uint64_t now = 0;
    enum { SHORT = 600000, LONG = 300 };
    (void)state;
    strobe_blame_open(&b);
    blame_event(&b, STROBE_WATCH_MESSAGE_BEGIN, 0, "m");
    for (unsigned i = 0; i < SHORT; i++) {
        if (i % (SHORT / LONG) == 0) {
            blame_event(&b, STROBE_WATCH_CALL_BEGIN, now, "long");
            blame_event(&b, STROBE_WATCH_CALL_END, now += MS(9), "long");
        }
        blame_event(&b, STROBE_WATCH_CALL_BEGIN, now, "short");
        blame_event(&b, STROBE_WATCH_CALL_END, now += 1000, "short");
    }
    struct strobe_blamed calls = strobe_blame_stack(&b, "m", 0, now);
    assert_true(calls.given_up > 500000 && calls.given_up <= SHORT && calls.given_up_ns == MS(1));
    assert_non_null(strstr(calls.stack, "1,long,300,2700\n"));
    assert_string_equal(calls.method, "long");
    blame_event(&b, STROBE_WATCH_MESSAGE_END, now, "m");
    blame_event(&b, STROBE_WATCH_MESSAGE_BEGIN, now + 1, "next");
    blame_event(&b, STROBE_WATCH_CALL_BEGIN, now + 2, "short");
    blame_event(&b, STROBE_WATCH_CALL_END, now + MS(5), "short");
    calls = strobe_blame_stack(&b, "next", now + 1, now + MS(5));
    assert_true(calls.given_up == 0);
    assert_false(b.failed);
    strobe_blame_close(&b);
}

static void calls_nested_beyond_the_room_end_in_order(void **state)
{
    struct strobe_blame b;
    enum { DEEP = 70000 };
    (void)state;
    strobe_blame_open(&b);
    blame_event(&b, STROBE_WATCH_MESSAGE_BEGIN, 0, "m");
    blame_event(&b, STROBE_WATCH_CALL_BEGIN, 0, "outer");
    for (unsigned i = 0; i < DEEP; i++)
        blame_event(&b, STROBE_WATCH_CALL_BEGIN, MS(1), "again");
    for (unsigned i = 0; i < DEEP; i++)
        blame_event(&b, STROBE_WATCH_CALL_END, MS(2), "again");
    blame_event(&b, STROBE_WATCH_CALL_END, MS(3), "outer");
    blame_event(&b, STROBE_WATCH_CALL_BEGIN, MS(4), "last");
    blame_event(&b, STROBE_WATCH_CALL_END, MS(9), "last");
    struct strobe_blamed calls = strobe_blame_stack(&b, "m", 0, MS(9));
    assert_non_null(strstr(calls.stack, "1,outer,1,3\n"));
    assert_int_equal(b.depth, 0);
    strobe_blame_close(&b);
}

/* A random span of calls, each with another name: the result has a line for each call that begins or ends in the
 * span. */
static void random_span(uint64_t seed)
{
    enum { CALLS = 60, LINE = 64 };
    struct {
        uint64_t begin, end;
        int parent, depth;
        char name[24];
    } all[CALLS];
    struct strobe_blame b;
    uint64_t state = seed, now = 2;
    int open = -1, begun = 0;
    char expected[CALLS * LINE] = "";
    size_t lines = 0, used = 0;
    strobe_blame_open(&b);
    blame_event(&b, STROBE_WATCH_MESSAGE_BEGIN, 0, "root");
    while (begun < CALLS || open >= 0) {
        uint64_t r = strobe_mix64(state++);
        now += 2 * (1 + r % 9);
        if (begun < CALLS && (open < 0 || r >> 32 & 1)) {
            all[begun].begin = now;
            all[begun].parent = open;
            snprintf(all[begun].name, sizeof all[begun].name, "call %d", begun);
            blame_event(&b, STROBE_WATCH_CALL_BEGIN, MS(now), all[begun].name);
            open = begun++;
        } else {
            all[open].end = now;
            blame_event(&b, STROBE_WATCH_CALL_END, MS(now), r >> 33 & 1 ? all[open].name : "");
            open = all[open].parent;
        }
    }
    uint64_t from = 1 + 2 * (strobe_mix64(state++) % (now / 2)), to = from + 2 * (1 + strobe_mix64(state) % 50);
    for (int i = 0; i < CALLS; i++) {
        bool within = (all[i].begin > from && all[i].begin < to) || (all[i].end > from && all[i].end < to);
        all[i].depth = within ? 1 : 0;
        if (within && all[i].parent >= 0)
            all[i].depth += all[all[i].parent].depth;
        if (!within)
            continue;
        uint64_t begin = all[i].begin > from ? all[i].begin : from, end = all[i].end < to ? all[i].end : to;
        used += (size_t)snprintf(expected + used, sizeof expected - used, "%d,%s,1,%d\n", all[i].depth, all[i].name,
                                 (int)(end - begin));
        lines++;
    }
    struct strobe_blamed calls = strobe_blame_stack(&b, "root", MS(from), MS(to));
    if (lines && lines < 30) {
        char root[LINE];
        int bytes = snprintf(root, sizeof root, "0,root,1,%d\n", (int)(to - from));
        assert_memory_equal(calls.stack, root, (size_t)bytes);
        assert_string_equal(calls.stack + bytes, expected);
    } else if (!lines) {
        assert_string_equal(calls.stack, "");
    }
    strobe_blame_close(&b);
}

static void random_spans_have_the_calls_that_begin_or_end_in_them(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        if (seed % 50 == 1)
            print_message("seed %d and on\n", (int)seed);
        random_span(seed * 65537);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, watch_rig_start, watch_rig_stop)
        TEST(a_message_is_evil_from_700_ms_on),
        TEST(the_method_to_blame_for_a_wait_is_the_one_that_waited),
        TEST(the_method_to_blame_is_the_deepest_that_took_most),
        TEST(a_report_without_a_stack_says_that_no_call_was_received_842),
        TEST(a_message_within_a_message_is_a_call_of_the_outer_560),
        TEST(what_is_open_when_the_message_ends_ends_there_840),
        TEST(calls_left_by_an_exception_end_with_the_catching_call),
        TEST(an_end_without_a_name_is_that_of_the_innermost),
        TEST(a_message_known_by_its_method_is_reported_once),
        TEST(the_frames_below_the_message_are_not_part_of_it),
        TEST(equal_calls_of_one_caller_are_one_line),
        TEST(a_long_stack_is_cut_to_30_lines),
        TEST(the_longest_item_may_be_longer_than_the_message_by_what_was_put_together),
        TEST(names_with_line_breaks_get_blanks),
        TEST(other_threads_calls_are_not_to_blame),
        TEST(a_message_reports_the_phases_of_its_frame_and_the_cpu_used),
        TEST(an_unfinished_message_says_so),
        TEST(a_dropped_frame_has_the_calls_within_it_with_and_without_messages),
        TEST(an_idle_handler_has_the_calls_within_it),
        TEST(when_room_is_short_the_shortest_calls_are_given_up_and_counted),
        TEST(calls_nested_beyond_the_room_end_in_order),
        TEST(random_spans_have_the_calls_that_begin_or_end_in_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
