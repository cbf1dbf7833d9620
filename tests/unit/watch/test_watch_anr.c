/* SIGQUIT and threads' texts. */
#include "engine/base/mix.h"
#include "engine/watch/anr.h"
#include "tests/unit/support/watch_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SIGQUIT_ANR STROBE_FINDING_SIGQUIT_ANR
#define DEADLOCK    STROBE_FINDING_DEADLOCK
enum { QUIT = 3, DEBUGGER = 35, OWN = 4711, SYSTEM = 1000 };

static void notify_event(enum strobe_watch_what what, double ms, uint32_t code, int64_t value, double when_ms,
                         const char *text)
{
    struct strobe_watch_event e = {.what = what,
                                   .time_ns = (uint64_t)(ms * 1e6),
                                   .code = code,
                                   .value = value,
                                   .when_ns = (uint64_t)(when_ms * 1e6),
                                   .text = text};
    watch_notify(&rig, &e);
}

static void process(void)
{
    notify_event(STROBE_WATCH_PROCESS, 0, 0, OWN, 0, "app");
}

static void begin(double ms, double due_ms)
{
    notify_event(STROBE_WATCH_MESSAGE_BEGIN, ms, 0, 0, due_ms, "a.Handler");
}

static void end(double ms)
{
    notify_event(STROBE_WATCH_MESSAGE_END, ms, 0, 0, 0, "");
}

static void sig(double ms, uint32_t code, int64_t sender)
{
    notify_event(STROBE_WATCH_SIGNAL, ms, code, sender, 0, "");
}

static size_t anrs(void)
{
    return watch_count(&rig, SIGQUIT_ANR);
}

static void a_signal_while_the_head_message_is_late_is_an_anr(void **state)
{
    (void)state;
    process();
    begin(1000, 1000);
    sig(6000, QUIT, SYSTEM);
    end(7000);
    begin(7000, 3999);
    assert_int_equal(anrs(), 1);
    const struct strobe_finding *f = watch_found(&rig, SIGQUIT_ANR, 0);
    assert_true(watch_value(f, "late_ms") == 2001);
    assert_true(watch_value(f, "signal_after_ms") == 5000);
    assert_string_equal(f->blame, "a.Handler");
    assert_int_equal(f->begin_ns, 1000000000);
}

static void a_head_message_of_two_seconds_is_not_late_yet(void **state)
{
    (void)state;
    process();
    begin(1000, 1000);
    sig(6000, QUIT, SYSTEM);
    end(7000);
    begin(7000, 4000);
    end(7010);
    begin(30000, 30000);
    assert_int_equal(anrs(), 0);
}

static void behind_others_it_may_be_ten_seconds_late(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        watch_rig_again(&rig);
        process();
        notify_event(STROBE_WATCH_FOREGROUND, 500, 0, 0, 0, "");
        begin(1000, 1000);
        sig(15000, QUIT, SYSTEM);
        end(16000);
        begin(16000, 5000 - late);
        assert_int_equal(anrs(), late);
    }
}

static void a_head_message_without_a_time_says_nothing(void **state)
{
    (void)state;
    process();
    begin(1000, 1000);
    sig(6000, QUIT, SYSTEM);
    end(7000);
    begin(7000, 0);
    end(7001);
    begin(8000, 8000);
    assert_int_equal(anrs(), 0);
}

static void a_signal_that_the_process_sent_itself_is_no_anr(void **state)
{
    (void)state;
    process();
    begin(1000, 1000);
    sig(6000, QUIT, OWN);
    end(9000);
    begin(9000, 1001);
    assert_int_equal(anrs(), 0);
}

/* Issue 849: two signals, two reports for one block of 6 s. */
static void two_signals_of_one_block_are_one_report(void **state)
{
    (void)state;
    process();
    begin(1000, 1000);
    sig(6000, QUIT, SYSTEM);
    sig(6500, QUIT, SYSTEM);
    end(7000);
    sig(7000, QUIT, SYSTEM);
    begin(7000, 1500);
    assert_int_equal(anrs(), 1);
    assert_true(watch_value(watch_found(&rig, SIGQUIT_ANR, 0), "signals") == 3);
    end(7005);
    begin(10000, 10000);
    sig(16000, QUIT, SYSTEM);
    end(16500);
    begin(16500, 11000);
    assert_int_equal(anrs(), 2);
}

static void signals_after_the_report_of_their_block_are_passed_over(void **state)
{
    (void)state;
    rig.view.knows_due = false;
    process();
    begin(1000, 0);
    sig(6000, QUIT, SYSTEM);
    assert_int_equal(anrs(), 1);
    sig(6100, QUIT, SYSTEM);
    sig(40000, QUIT, SYSTEM);
    assert_int_equal(anrs(), 1);
    end(41000);
    sig(41001, QUIT, SYSTEM);
    assert_int_equal(anrs(), 1);
}

static void without_due_times_the_running_message_decides(void **state)
{
    (void)state;
    rig.view.knows_due = false;
    process();
    begin(1000, 0);
    sig(3000, QUIT, SYSTEM);
    assert_int_equal(anrs(), 0);
    end(3001);
    begin(4000, 0);
    sig(6001, QUIT, SYSTEM);
    assert_int_equal(anrs(), 1);
    assert_non_null(strstr(watch_found(&rig, SIGQUIT_ANR, 0)->unseen, "due"));
}

static void a_signal_in_an_idle_loop_is_no_anr_by_itself(void **state)
{
    (void)state;
    process();
    begin(1000, 1000);
    end(1010);
    sig(6000, QUIT, SYSTEM);
    begin(9000, 9000);
    assert_int_equal(anrs(), 0);
}

static void the_system_may_say_so_within_twenty_seconds(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        watch_rig_again(&rig);
        process();
        sig(6000, QUIT, SYSTEM);
        notify_event(STROBE_WATCH_NOT_RESPONDING, 26000 + late, 0, OWN, 0, "");
        assert_int_equal(anrs(), !late);
    }
    watch_rig_again(&rig);
    process();
    sig(6000, QUIT, SYSTEM);
    notify_event(STROBE_WATCH_NOT_RESPONDING, 7000, 0, OWN + 1, 0, "");
    notify_event(STROBE_WATCH_NOT_RESPONDING, 8000, 0, OWN, 0, "");
    assert_int_equal(anrs(), 0);
}

static void the_system_alone_is_not_asked(void **state)
{
    (void)state;
    process();
    notify_event(STROBE_WATCH_NOT_RESPONDING, 7000, 0, OWN, 0, "");
    assert_int_equal(anrs(), 0);
}

static void a_block_at_the_end_of_the_stream_is_still_reported(void **state)
{
    (void)state;
    process();
    begin(1000, 1000);
    sig(6000, QUIT, SYSTEM);
    watch_end(&rig, 9000);
    assert_int_equal(anrs(), 1);
}

/* Issue 852: the debugger's signal comes when the path by SIGQUIT is slow. */
static void the_debuggers_signal_is_passed_over_for_twenty_seconds_after_a_report(void **state)
{
    (void)state;
    rig.view.knows_due = false;
    process();
    begin(1000, 0);
    sig(6000, QUIT, SYSTEM);
    end(6500);
    begin(7000, 0);
    sig(25999, DEBUGGER, SYSTEM);
    assert_int_equal(anrs(), 1);
    sig(26000, DEBUGGER, SYSTEM);
    assert_int_equal(anrs(), 2);
}

static void other_signals_mean_nothing(void **state)
{
    (void)state;
    rig.view.knows_due = false;
    process();
    begin(1000, 0);
    sig(9000, 11, SYSTEM);
    assert_int_equal(anrs(), 0);
}

/* ---- deadlocks */

#define HEAD(name, tid) "\"" name "\" prio=5 tid=" tid " Blocked\n  | group=\"main\" sCount=1\n  at a.B.c(B.java:1)\n"
#define WAITS(tid)      "  - waiting to lock <0x01234567> (a java.lang.Object) held by thread " tid "\n"
#define HOLDS           "  - locked <0x07654321> (a java.lang.Object)\n"

static char written[4000];
static size_t written_bytes;

static void note(void *ctx, const struct strobe_deadlock *d)
{
    (void)ctx;
    for (size_t i = 0; i < d->thread_count; i++)
        written_bytes += (size_t)snprintf(written + written_bytes, sizeof written - written_bytes, "%s%s=%u",
                                          i ? ">" : "", d->threads[i].name, d->threads[i].tid);
    written_bytes +=
        (size_t)snprintf(written + written_bytes, sizeof written - written_bytes, "%s\n", d->main_waits ? " main" : "");
}

static const char *deadlocks_of(const char *text)
{
    written_bytes = 0;
    written[0] = 0;
    /* At the end of a heap block, so that a sanitizer sees a read beyond it. */
    size_t bytes = strlen(text);
    char *exact = malloc(bytes ? bytes : 1);
    memcpy(exact, text, bytes);
    assert_true(strobe_deadlocks_find(exact, bytes, note, NULL) >= 0);
    free(exact);
    return written;
}

static void threads_that_wait_in_no_cycle_are_no_deadlock(void **state)
{
    (void)state;
    assert_string_equal(deadlocks_of(""), "");
    assert_string_equal(deadlocks_of(HEAD("main", "1") WAITS("2") "\n" HEAD("b", "2") WAITS("3") HEAD("c", "3")), "");
    assert_string_equal(deadlocks_of(HEAD("main", "1") WAITS("99")), "");
    assert_string_equal(deadlocks_of(WAITS("1") HEAD("main", "1")), "");
}

static void a_cycle_of_two_is_found(void **state)
{
    (void)state;
    assert_string_equal(deadlocks_of(HEAD("main", "1") WAITS("12") HOLDS "\n" HEAD("worker", "12") WAITS("1") HOLDS),
                        "main=1>worker=12 main\n");
}

static void a_cycle_of_three_begins_with_its_lowest_tid(void **state)
{
    (void)state;
    assert_string_equal(deadlocks_of(HEAD("c", "9") WAITS("5") HEAD("a", "5") WAITS("7") HEAD("b", "7") WAITS("9")),
                        "a=5>b=7>c=9\n");
}

static void a_thread_that_waits_for_itself_is_a_cycle_of_one(void **state)
{
    (void)state;
    assert_string_equal(deadlocks_of(HEAD("a", "5") WAITS("5")), "a=5\n");
}

static void main_may_wait_for_a_cycle_that_it_is_not_in(void **state)
{
    (void)state;
    assert_string_equal(deadlocks_of(HEAD("main", "1") WAITS("4") HEAD("x", "4") WAITS("7") HEAD("a", "6") WAITS("7")
                                         HEAD("b", "7") WAITS("6") HEAD("c", "8") WAITS("9") HEAD("d", "9") WAITS("8")),
                        "a=6>b=7 main\nc=8>d=9\n");
}

static void names_with_quotes_and_tids_in_them_are_names(void **state)
{
    (void)state;
    assert_string_equal(deadlocks_of(HEAD("a\" tid=3 \"b", "5") WAITS("5")), "a\" tid=3 \"b=5\n");
}

static void threads_without_a_tid_hold_nothing(void **state)
{
    (void)state;
    assert_string_equal(deadlocks_of("\"a\" prio=5 (not attached)\n" WAITS("5") HEAD("b", "5")), "");
    assert_string_equal(deadlocks_of("\"a\" prio=5 tid=99999999999 Blocked\n" WAITS("5")), "");
}

static void of_two_dumps_in_one_text_the_first_counts(void **state)
{
    (void)state;
    assert_string_equal(deadlocks_of(HEAD("a", "5") HEAD("b", "6") WAITS("5") HEAD("a", "5") WAITS("6")), "");
}

/* Random waits: finds every cycle once, compared with a walk from each thread. */
static void cycles_are_those_of_a_plain_search(void **state)
{
    enum { THREADS = 12, ROUNDS = 300 };
    const uint64_t seed = 20260;
    (void)state;
    printf("seed %llu\n", (unsigned long long)seed);
    for (unsigned round = 0; round < ROUNDS; round++) {
        char text[4000], expected[4000] = "";
        unsigned waits[THREADS + 1] = {0};
        size_t bytes = 0, expected_bytes = 0;
        for (unsigned t = 1; t <= THREADS; t++) {
            uint64_t r = strobe_mix64(seed + round * 100 + t);
            waits[t] = r % 4 ? 1 + (unsigned)(r / 4 % THREADS) : 0;
            bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "\"t%u\" prio=5 tid=%u Blocked\n", t, t);
            if (waits[t])
                bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, " - held by thread %u\n", waits[t]);
        }
        unsigned main_end = 1;
        for (unsigned i = 0; i < THREADS; i++)
            main_end = waits[main_end];
        for (unsigned t = 1; t <= THREADS; t++) {
            unsigned at = waits[t], steps = 1, lowest = t;
            bool of_main = main_end == t;
            for (; at && at != t && steps <= THREADS; steps++, at = waits[at]) {
                lowest = at < lowest ? at : lowest;
                of_main |= at == main_end;
            }
            if (at != t || lowest != t)
                continue;
            for (unsigned i = 0, k = t; i < steps; i++, k = waits[k])
                expected_bytes += (size_t)snprintf(expected + expected_bytes, sizeof expected - expected_bytes,
                                                   "%st%u=%u", i ? ">" : "", k, k);
            expected_bytes += (size_t)snprintf(expected + expected_bytes, sizeof expected - expected_bytes, "%s\n",
                                               of_main ? " main" : "");
        }
        /* Main's cycle is reported first. */
        const char *got = deadlocks_of(text);
        assert_int_equal(strlen(got), strlen(expected));
        for (char *line = strtok(expected, "\n"); line; line = strtok(NULL, "\n"))
            assert_non_null(strstr(got, line));
    }
}

static void a_deadlock_is_found_in_a_text_of_threads(void **state)
{
    (void)state;
    process();
    notify_event(STROBE_WATCH_THREADS_TEXT, 500, 0, 0, 0,
                 HEAD("main", "1") WAITS("12") HEAD("worker", "12") WAITS("1"));
    assert_int_equal(watch_count(&rig, DEADLOCK), 1);
    const struct strobe_finding *f = watch_found(&rig, DEADLOCK, 0);
    assert_string_equal(f->blame, "main (1) waits for worker (12) waits for main (1)");
    assert_true(watch_value(f, "threads") == 2);
    assert_true(watch_value(f, "main_waits") == 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, watch_rig_start, watch_rig_stop)
    const struct CMUnitTest tests[] = {
        TEST(a_signal_while_the_head_message_is_late_is_an_anr),
        TEST(a_head_message_of_two_seconds_is_not_late_yet),
        TEST(behind_others_it_may_be_ten_seconds_late),
        TEST(a_head_message_without_a_time_says_nothing),
        TEST(a_signal_that_the_process_sent_itself_is_no_anr),
        TEST(two_signals_of_one_block_are_one_report),
        TEST(signals_after_the_report_of_their_block_are_passed_over),
        TEST(without_due_times_the_running_message_decides),
        TEST(a_signal_in_an_idle_loop_is_no_anr_by_itself),
        TEST(the_system_may_say_so_within_twenty_seconds),
        TEST(the_system_alone_is_not_asked),
        TEST(a_block_at_the_end_of_the_stream_is_still_reported),
        TEST(the_debuggers_signal_is_passed_over_for_twenty_seconds_after_a_report),
        TEST(other_signals_mean_nothing),
        TEST(threads_that_wait_in_no_cycle_are_no_deadlock),
        TEST(a_cycle_of_two_is_found),
        TEST(a_cycle_of_three_begins_with_its_lowest_tid),
        TEST(a_thread_that_waits_for_itself_is_a_cycle_of_one),
        TEST(main_may_wait_for_a_cycle_that_it_is_not_in),
        TEST(names_with_quotes_and_tids_in_them_are_names),
        TEST(threads_without_a_tid_hold_nothing),
        TEST(of_two_dumps_in_one_text_the_first_counts),
        TEST(cycles_are_those_of_a_plain_search),
        TEST(a_deadlock_is_found_in_a_text_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
