/* The message loop: history, listeners, messages within messages; lag and ANR, with a watching thread that may be
 * late (the regressions R-4). */
#include "engine/base/mix.h"
#include "engine/watch/hang.h"
#include "engine/watch/looper.h"
#include "tests/unit/support/watch_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LAG   STROBE_FINDING_LAG
#define ANR   STROBE_FINDING_ANR
#define MS(n) ((uint64_t)(n)*1000000u)

static struct strobe_looper *looper;

static int start(void **state)
{
    (void)state;
    watch_rig_open(&rig);
    looper = strobe_looper_open();
    return looper ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    strobe_looper_close(looper);
    watch_rig_close(&rig);
    return 0;
}

/* ---- the loop itself */

static void notify_looper(enum strobe_watch_what what, uint64_t ms, const char *text)
{
    struct strobe_watch_event e = {.what = what, .time_ns = MS(ms), .text = text};
    strobe_looper_take_event(looper, &e);
}

static void message(uint64_t begin_ms, uint64_t end_ms, const char *text)
{
    notify_looper(STROBE_WATCH_MESSAGE_BEGIN, begin_ms, text);
    notify_looper(STROBE_WATCH_MESSAGE_END, end_ms, "");
}

struct visited {
    size_t count;
    char first[STROBE_LOOPER_TEXT], last[STROBE_LOOPER_TEXT];
    size_t in_flight;
    uint64_t nested_ns;
    uint32_t nested;
};

static void visit(void *ctx, const struct strobe_message *m)
{
    struct visited *v = ctx;
    if (!v->count++)
        strcpy(v->first, m->text);
    strcpy(v->last, m->text);
    v->in_flight += m->in_flight;
    v->nested_ns = m->nested_ns;
    v->nested = m->nested;
}

static struct visited history(void)
{
    struct visited v = {0};
    strobe_looper_history(looper, visit, &v);
    return v;
}

static void the_history_is_the_last_200_that_ended(void **state)
{
    char name[20];
    (void)state;
    for (unsigned i = 0; i < 250; i++) {
        snprintf(name, sizeof name, "message %u", i);
        message(10 * i, 10 * i + 3, name);
    }
    struct visited v = history();
    assert_true(v.count == STROBE_LOOPER_HISTORY && v.in_flight == 0);
    assert_string_equal(v.first, "message 50");
    assert_string_equal(v.last, "message 249");
}

/* In Matrix each read of the history adds another copy of the message in progress, and may remove an ended message. */
static void upstream_reading_the_history_changes_it(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 200; i++)
        message(10 * i, 10 * i + 3, "ended");
    notify_looper(STROBE_WATCH_MESSAGE_BEGIN, 3000, "in flight");
    for (unsigned i = 0; i < 5; i++) {
        struct visited v = history();
        assert_true(v.count == 201 && v.in_flight == 1);
        assert_string_equal(v.first, "ended");
        assert_string_equal(v.last, "in flight");
    }
    assert_int_equal(strobe_looper_recent(looper).count, 200);
    notify_looper(STROBE_WATCH_MESSAGE_END, 3100, "");
    assert_int_equal(history().count, 200);
}

/* The history is limited by the number of messages, not by a window of 5000 ms. */
static void recent_are_5000_messages_with_their_time_in_sum(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 6000; i++)
        message(100 * i, 100 * i + (i < 1000 ? 50 : i % 7), "m");
    struct strobe_looper_recent recent = strobe_looper_recent(looper);
    uint64_t sum = 0;
    for (unsigned i = 1000; i < 6000; i++)
        sum += i % 7;
    assert_true(recent.count == STROBE_LOOPER_RECENT && recent.total_ns == MS(sum));
}

static void a_message_within_a_message_is_a_separate_message(void **state)
{
    (void)state;
    notify_looper(STROBE_WATCH_MESSAGE_BEGIN, 0, "outer");
    notify_looper(STROBE_WATCH_MESSAGE_BEGIN, 10, "inner");
    assert_int_equal(strobe_looper_depth(looper), 2);
    assert_string_equal(history().last, "inner");
    notify_looper(STROBE_WATCH_MESSAGE_END, 30, "");
    assert_string_equal(history().last, "outer");
    assert_true(history().nested_ns == MS(20) && history().nested == 1 && strobe_looper_depth(looper) == 1);
    notify_looper(STROBE_WATCH_MESSAGE_END, 100, "");
    assert_int_equal(strobe_looper_depth(looper), 0);
    assert_int_equal(strobe_looper_recent(looper).total_ns, MS(120));
}

static void an_end_that_names_an_outer_message_ends_that_message(void **state)
{
    (void)state;
    notify_looper(STROBE_WATCH_MESSAGE_BEGIN, 0, "outer");
    notify_looper(STROBE_WATCH_MESSAGE_BEGIN, 10, "its end is lost");
    notify_looper(STROBE_WATCH_MESSAGE_END, 30, "outer");
    assert_true(strobe_looper_depth(looper) == 0 && strobe_looper_unmatched(looper) == 1);
    assert_int_equal(history().count, 1);
    notify_looper(STROBE_WATCH_MESSAGE_END, 40, "");
    assert_int_equal(strobe_looper_unmatched(looper), 2);
}

static void messages_nested_too_deep_are_counted_and_end_in_order(void **state)
{
    (void)state;
    for (unsigned i = 0; i < STROBE_LOOPER_DEPTH + 3; i++)
        notify_looper(STROBE_WATCH_MESSAGE_BEGIN, i, "m");
    for (unsigned i = 0; i < STROBE_LOOPER_DEPTH + 3; i++)
        notify_looper(STROBE_WATCH_MESSAGE_END, 100 + i, "");
    assert_int_equal(strobe_looper_depth(looper), 0);
    assert_int_equal(history().count, STROBE_LOOPER_DEPTH);
    assert_int_equal(strobe_looper_unmatched(looper), 3);
}

struct heard {
    unsigned begins, ends;
    char last[STROBE_LOOPER_TEXT];
};

static void hear_begin(void *ctx, const struct strobe_message *m)
{
    struct heard *h = ctx;
    h->begins++;
    strcpy(h->last, m->text);
}

static void hear_end(void *ctx, const struct strobe_message *m)
{
    struct heard *h = ctx;
    h->ends++;
    strcpy(h->last, m->text);
}

/* Matrix keeps one flag a listener. A listener that is switched off during a message keeps the flag. It does not
 * receive that message's end, and receives the end of another when it is switched on again. */
static void upstream_a_listener_switched_off_in_mid_message_gets_anothers_end(void **state)
{
    struct heard heard = {0};
    struct strobe_looper_listener l = {hear_begin, hear_end, &heard, true};
    (void)state;
    assert_int_equal(strobe_looper_listen(looper, &l), STROBE_OK);
    notify_looper(STROBE_WATCH_MESSAGE_BEGIN, 0, "first");
    l.on = false;
    notify_looper(STROBE_WATCH_MESSAGE_END, 10, "");
    assert_true(heard.begins == 1 && heard.ends == 1);
    notify_looper(STROBE_WATCH_MESSAGE_BEGIN, 20, "second");
    l.on = true;
    notify_looper(STROBE_WATCH_MESSAGE_END, 30, "");
    assert_true(heard.begins == 1 && heard.ends == 1);
    assert_string_equal(heard.last, "first");
    message(40, 50, "third");
    assert_true(heard.begins == 2 && heard.ends == 2);
}

/* Issue 450: a listener that quit stopped the shared loop. */
static void a_listener_that_leaves_leaves_the_others_the_loop_450(void **state)
{
    struct heard a = {0}, b = {0}, c = {0};
    struct strobe_looper_listener la = {hear_begin, hear_end, &a, true}, lb = {hear_begin, hear_end, &b, true},
                                  lc = {hear_begin, hear_end, &c, true};
    (void)state;
    strobe_looper_listen(looper, &la);
    strobe_looper_listen(looper, &lb);
    notify_looper(STROBE_WATCH_MESSAGE_BEGIN, 0, "m");
    strobe_looper_leave(looper, &la);
    strobe_looper_leave(looper, &la);
    assert_int_equal(strobe_looper_listen(looper, &lc), STROBE_OK);
    notify_looper(STROBE_WATCH_MESSAGE_END, 10, "");
    assert_true(a.begins == 1 && a.ends == 0 && b.ends == 1);
    assert_true(c.begins == 0 && c.ends == 0);
    message(20, 30, "n");
    assert_true(a.begins == 1 && b.begins == 2 && c.begins == 1 && c.ends == 1);
}

static void there_is_a_most_of_listeners(void **state)
{
    struct strobe_looper_listener l[STROBE_LOOPER_LISTENERS + 1] = {{0}};
    (void)state;
    for (unsigned i = 0; i < STROBE_LOOPER_LISTENERS; i++)
        assert_int_equal(strobe_looper_listen(looper, &l[i]), STROBE_OK);
    assert_int_equal(strobe_looper_listen(looper, &l[STROBE_LOOPER_LISTENERS]), STROBE_FULL);
    strobe_looper_leave(looper, &l[3]);
    assert_int_equal(strobe_looper_listen(looper, &l[STROBE_LOOPER_LISTENERS]), STROBE_OK);
}

static void other_threads_messages_are_not_the_main_threads(void **state)
{
    struct strobe_watch_event e = {.what = STROBE_WATCH_MESSAGE_BEGIN, .thread = 2, .text = "worker"};
    (void)state;
    strobe_looper_take_event(looper, &e);
    assert_true(strobe_looper_depth(looper) == 0 && history().count == 0);
}

/* ---- lag and ANR */

static void tick(double ms)
{
    watch_notify_ms(&rig, STROBE_WATCH_TICK, ms, "");
}

static void thresholds_are_met_when_reached(void **state)
{
    (void)state;
    watch_message(&rig, 0, 1999.999999, "quick");
    assert_int_equal(rig.count, 1);
    assert_int_equal(watch_count(&rig, STROBE_FINDING_EVIL), 1);
    watch_message(&rig, 10000, 12000, "lag");
    assert_int_equal(watch_count(&rig, LAG), 1);
    assert_int_equal(watch_count(&rig, ANR), 0);
    watch_message(&rig, 20000, 25000, "anr");
    assert_int_equal(watch_count(&rig, LAG), 2);
    assert_int_equal(watch_count(&rig, ANR), 1);
}

static void an_anr_from_4999_to_6000_ms_with_a_watching_thread_in_time(void **state)
{
    static const struct {
        double ms;
        size_t found;
    } rows[] = {{4999, 0}, {5000, 1}, {5999, 1}, {6000, 1}};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        watch_message(&rig, 1000, 1000 + rows[i].ms, "m");
        assert_int_equal(watch_count(&rig, ANR), rows[i].found);
        if (rows[i].found) {
            const struct strobe_finding *f = watch_found(&rig, ANR, 0);
            assert_true(watch_value(f, "cost_ms") == rows[i].ms && watch_value(f, "upstream") == 1);
            assert_true(watch_value(f, "timer_ms") == 5000 && watch_value(f, "late_ms") == 0);
            assert_true(f->begin_ns == MS(1000) && f->end_ns == MS(1000 + rows[i].ms));
        }
        watch_rig_again(&rig);
    }
}

/* In Matrix the timer of an ANR runs when the message has taken 6000 ms. Matrix takes this for a late timer and
 * drops the ANR, although the message did hang. */
static void upstream_drops_an_anr_whose_timer_ran_a_second_late(void **state)
{
    static const struct {
        double ran_ms;
        double upstream;
    } rows[] = {{5000, 1}, {5999, 1}, {5999.999, 1}, {6000, 0}, {9000, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t ran_ns = (uint64_t)(rows[i].ran_ms * 1e6);
        assert_int_equal(strobe_anr_upstream(ran_ns, MS(5000)), rows[i].upstream);
        watch_notify_ms(&rig, STROBE_WATCH_MESSAGE_BEGIN, 0, "m");
        tick(4999);
        tick(rows[i].ran_ms);
        tick(9500);
        watch_notify_ms(&rig, STROBE_WATCH_MESSAGE_END, 10000, "m");
        assert_int_equal(watch_count(&rig, ANR), 1);
        const struct strobe_finding *f = watch_found(&rig, ANR, 0);
        assert_true(watch_value(f, "upstream") == rows[i].upstream && watch_value(f, "cost_ms") == 10000);
        assert_true(fabs(watch_value(f, "timer_ms") - rows[i].ran_ms) < 1e-6);
        assert_true(fabs(watch_value(f, "late_ms") - (rows[i].ran_ms - 5000)) < 1e-6);
        watch_rig_again(&rig);
    }
}

static void a_message_that_ended_in_time_is_not_reported_by_a_late_timer(void **state)
{
    (void)state;
    tick(1);
    watch_message(&rig, 100, 100 + 1999, "m");
    tick(5000);
    tick(12000);
    assert_int_equal(watch_count(&rig, LAG) + watch_count(&rig, ANR), 0);
}

static void a_message_that_waited_long_and_took_short_does_not_hang(void **state)
{
    struct strobe_watch_event e = {
        .what = STROBE_WATCH_MESSAGE_BEGIN, .time_ns = MS(9000), .when_ns = MS(1000), .text = "posted early"};
    (void)state;
    watch_notify(&rig, &e);
    tick(9500);
    watch_notify_ms(&rig, STROBE_WATCH_MESSAGE_END, 9600, "");
    assert_int_equal(rig.count, 0);
    e.time_ns = MS(20000), e.when_ns = MS(19000);
    watch_notify(&rig, &e);
    watch_notify_ms(&rig, STROBE_WATCH_MESSAGE_END, 22500, "");
    assert_true(watch_value(watch_found(&rig, LAG, 0), "waited_ms") == 1000);
}

static void a_timer_that_never_ran_is_reported_as_such(void **state)
{
    (void)state;
    tick(1);
    watch_message(&rig, 1000, 7000, "m");
    assert_true(isnan(strobe_finding_value(watch_found(&rig, ANR, 0), "timer_ms")));
    assert_true(watch_value(watch_found(&rig, ANR, 0), "upstream") == 0);
    assert_true(watch_value(watch_found(&rig, LAG, 0), "upstream") == 0);
    watch_notify_ms(&rig, STROBE_WATCH_MESSAGE_BEGIN, 10000, "n");
    tick(12500);
    watch_notify_ms(&rig, STROBE_WATCH_MESSAGE_END, 13000, "n");
    assert_true(watch_value(watch_found(&rig, LAG, 1), "late_ms") == 500);
}

static void a_message_is_reported_once_as_a_lag_and_once_as_an_anr(void **state)
{
    (void)state;
    watch_notify_ms(&rig, STROBE_WATCH_MESSAGE_BEGIN, 0, "m");
    for (unsigned ms = 1000; ms <= 60000; ms += 500)
        tick(ms);
    watch_notify_ms(&rig, STROBE_WATCH_MESSAGE_END, 60001, "m");
    assert_int_equal(watch_count(&rig, LAG), 1);
    assert_int_equal(watch_count(&rig, ANR), 1);
}

static void messages_within_messages_hang_each_by_itself(void **state)
{
    (void)state;
    watch_notify_ms(&rig, STROBE_WATCH_MESSAGE_BEGIN, 0, "outer");
    watch_message(&rig, 500, 2600, "slow");
    watch_message(&rig, 2700, 2800, "quick");
    watch_notify_ms(&rig, STROBE_WATCH_MESSAGE_END, 5100, "outer");
    assert_int_equal(watch_count(&rig, LAG), 2);
    assert_int_equal(watch_count(&rig, ANR), 1);
    assert_string_equal(watch_found(&rig, LAG, 0)->blame, "slow");
    assert_string_equal(watch_found(&rig, ANR, 0)->stack, "0,outer,1,5100\n1,slow,1,2100\n1,quick,1,100\n");
    assert_string_equal(watch_found(&rig, ANR, 0)->blame, "slow");
    assert_true(watch_value(watch_found(&rig, ANR, 0), "nested_ms") == 2200);
}

static void a_message_that_never_ends_is_reported_when_the_stream_ends(void **state)
{
    (void)state;
    watch_notify_ms(&rig, STROBE_WATCH_MESSAGE_BEGIN, 0, "stuck");
    watch_end(&rig, 7000);
    const struct strobe_finding *f = watch_found(&rig, ANR, 0);
    assert_true(watch_value(f, "unfinished") == 1 && watch_value(f, "cost_ms") == 7000);
    assert_non_null(strstr(f->unseen, "its end was not captured"));
    assert_int_equal(watch_count(&rig, ANR), 1);
}

static void a_hang_says_that_ends_of_messages_were_lost(void **state)
{
    (void)state;
    watch_notify_ms(&rig, STROBE_WATCH_MESSAGE_END, 10, "never begun");
    watch_notify_ms(&rig, STROBE_WATCH_MESSAGE_BEGIN, 20, "outer");
    watch_notify_ms(&rig, STROBE_WATCH_MESSAGE_BEGIN, 30, "its end is lost");
    watch_notify_ms(&rig, STROBE_WATCH_MESSAGE_END, 2500, "outer");
    assert_int_equal(watch_count(&rig, LAG), 1);
    assert_non_null(strstr(watch_found(&rig, LAG, 0)->unseen, "only one end of 2 messages so far was captured"));
}

static void a_hang_reports_what_ran_before_and_the_state_of_the_app(void **state)
{
    struct strobe_watch_event nice = {.what = STROBE_WATCH_PRIORITY, .time_ns = MS(900), .value = -4, .text = ""};
    struct strobe_watch_event front = {.what = STROBE_WATCH_FOREGROUND, .time_ns = MS(900), .code = 1, .text = ""};
    (void)state;
    watch_message(&rig, 100, 150, "a");
    watch_message(&rig, 200, 500, "b");
    watch_notify(&rig, &nice);
    watch_notify(&rig, &front);
    watch_focus(&rig, 950, "Main");
    watch_message(&rig, 1000, 3000, "c");
    const struct strobe_finding *f = watch_found(&rig, LAG, 0);
    assert_true(watch_value(f, "recent_messages") == 2 && watch_value(f, "recent_ms") == 350);
    assert_true(watch_value(f, "longest_ms") == 300 && watch_value(f, "nice") == -4);
    assert_true(watch_value(f, "foreground") == 1);
    assert_string_equal(f->scene, "Main");
}

/* A stop before the first message dereferenced a missing record. */
static void upstream_crashes_at_a_stop_before_the_first_message(void **state)
{
    (void)state;
    tick(1);
    watch_rig_again(&rig);
    watch_notify_ms(&rig, STROBE_WATCH_MESSAGE_END, 10, "never begun");
    watch_end(&rig, 20);
    assert_int_equal(rig.count, 0);
}

static void thresholds_of_zero_find_nothing(void **state)
{
    (void)state;
    rig.options.lag_ns = rig.options.anr_ns = rig.options.evil_ns = 0;
    watch_message(&rig, 0, 90000, "m");
    assert_int_equal(rig.count, 0);
}

/* ---- random streams: nested messages and ticks, beside an oracle that keeps all and judges at the end */

struct random_message {
    double begin, end;
    int depth;
};

static void random_stream(uint64_t seed)
{
    enum { MESSAGES = 300, TICKS = 4000 };
    static struct random_message all[MESSAGES];
    static double ticks[TICKS];
    uint64_t state = seed;
    double now = 0;
    size_t open[4], depth = 0, begun = 0, tick_count = 0, lags = 0, anrs = 0, upstream = 0, found_upstream = 0;
    while (begun < MESSAGES || depth) {
        uint64_t r = strobe_mix64(state++);
        now += (double)(r % 8 ? r / 16 % 300 : r / 16 % 3000);
        if (seed % 3 && tick_count < TICKS && r >> 32 & 1) {
            ticks[tick_count++] = now;
            tick(now);
        } else if (begun < MESSAGES && depth < 4 && (r >> 33) % 3 == 0) {
            all[begun] = (struct random_message){.begin = now, .depth = (int)depth};
            open[depth++] = begun++;
            watch_notify_ms(&rig, STROBE_WATCH_MESSAGE_BEGIN, now, "m");
        } else if (depth) {
            all[open[--depth]].end = now;
            watch_notify_ms(&rig, STROBE_WATCH_MESSAGE_END, now, "");
        }
    }
    for (size_t i = 0; i < MESSAGES; i++) {
        double cost = all[i].end - all[i].begin, ran = tick_count && ticks[0] <= all[i].end ? -1 : 5000;
        for (size_t t = 0; t < tick_count && ran < 0; t++)
            if (ticks[t] >= all[i].begin + 5000 && ticks[t] <= all[i].end)
                ran = ticks[t] - all[i].begin;
        lags += cost >= 2000;
        anrs += cost >= 5000;
        upstream += cost >= 5000 && ran >= 0 && ran < 6000;
    }
    assert_true(lags > 0);
    assert_int_equal(watch_count(&rig, LAG), lags);
    assert_int_equal(watch_count(&rig, ANR), anrs);
    for (size_t i = 0; i < anrs; i++)
        found_upstream += watch_value(watch_found(&rig, ANR, i), "upstream") == 1;
    assert_int_equal(found_upstream, upstream);
}

static void random_messages_hang_when_their_length_says_so(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        print_message("seed %d\n", (int)seed);
        random_stream(seed * 1000003);
        watch_rig_again(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
        TEST(the_history_is_the_last_200_that_ended),
        TEST(upstream_reading_the_history_changes_it),
        TEST(recent_are_5000_messages_with_their_time_in_sum),
        TEST(a_message_within_a_message_is_a_separate_message),
        TEST(an_end_that_names_an_outer_message_ends_that_message),
        TEST(messages_nested_too_deep_are_counted_and_end_in_order),
        TEST(upstream_a_listener_switched_off_in_mid_message_gets_anothers_end),
        TEST(a_listener_that_leaves_leaves_the_others_the_loop_450),
        TEST(there_is_a_most_of_listeners),
        TEST(other_threads_messages_are_not_the_main_threads),
        TEST(thresholds_are_met_when_reached),
        TEST(an_anr_from_4999_to_6000_ms_with_a_watching_thread_in_time),
        TEST(upstream_drops_an_anr_whose_timer_ran_a_second_late),
        TEST(a_message_that_ended_in_time_is_not_reported_by_a_late_timer),
        TEST(a_message_that_waited_long_and_took_short_does_not_hang),
        TEST(a_timer_that_never_ran_is_reported_as_such),
        TEST(a_message_is_reported_once_as_a_lag_and_once_as_an_anr),
        TEST(messages_within_messages_hang_each_by_itself),
        TEST(a_message_that_never_ends_is_reported_when_the_stream_ends),
        TEST(a_hang_says_that_ends_of_messages_were_lost),
        TEST(a_hang_reports_what_ran_before_and_the_state_of_the_app),
        TEST(upstream_crashes_at_a_stop_before_the_first_message),
        TEST(thresholds_of_zero_find_nothing),
        TEST(random_messages_hang_when_their_length_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
