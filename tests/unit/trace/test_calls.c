/* Calls of threads: added calls are present, in order, and each name has one number. */
#include "engine/trace/model/calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

static void a_name_has_one_number_and_a_tid_one_thread(void **state)
{
    (void)state;
    struct strobe_calls c;
    strobe_calls_open(&c);
    c.pid = 7;
    uint32_t main = strobe_calls_thread(&c, 7), other = strobe_calls_thread(&c, 9);
    assert_int_not_equal(main, other);
    assert_int_equal(strobe_calls_thread(&c, 7), main);
    assert_true(c.threads[main].is_main);
    assert_false(c.threads[other].is_main);
    assert_string_equal(c.threads[other].name, "thread 9");
    uint32_t a = strobe_calls_name(&c, "a", 1), b = strobe_calls_name(&c, "bcd", 2);
    assert_int_not_equal(a, b);
    assert_int_equal(strobe_calls_name(&c, "bc", 2), b);
    assert_string_equal(c.names.texts[b], "bc");
    assert_int_equal(c.resolution_ns, 1);
    strobe_calls_close(&c);
}

static void an_event_that_comes_too_late_gets_the_time_of_the_one_before(void **state)
{
    (void)state;
    struct strobe_calls c;
    strobe_calls_open(&c);
    uint32_t t = strobe_calls_thread(&c, 1), a = strobe_calls_name(&c, "a", 1);
    strobe_calls_add(&c, t, STROBE_CALL_BEGIN, 100, a);
    strobe_calls_add(&c, t, STROBE_CALL_END, 90, a);
    strobe_calls_mark(&c, t, STROBE_MARK_COUNTER, 120, a, -5);
    strobe_calls_add(&c, t, STROBE_CALL_BEGIN, 110, a);
    strobe_calls_add(&c, t + 1, STROBE_CALL_BEGIN, 1, a); /* no such thread */
    const struct strobe_calls_thread *at = &c.threads[t];
    assert_int_equal(at->call_count, 3);
    assert_int_equal(at->calls[1].time_ns, 100);
    assert_int_equal(at->calls[1].what, STROBE_CALL_END);
    assert_int_equal(at->unordered, 1);
    assert_int_equal(at->marks[0].value, -5);
    assert_int_equal(c.begin_ns, 100);
    assert_int_equal(c.end_ns, 120);
    assert_false(c.failed);
    strobe_calls_close(&c);
}

static void any_number_of_events_and_threads_is_kept(void **state)
{
    (void)state;
    struct strobe_calls c;
    strobe_calls_open(&c);
    for (uint32_t i = 0; i < 3000; i++) {
        char name[16];
        int n = snprintf(name, sizeof name, "f%u", i % 300);
        uint32_t thread = strobe_calls_thread(&c, 1 + i % 100);
        strobe_calls_add(&c, thread, STROBE_CALL_BEGIN, i, strobe_calls_name(&c, name, (size_t)n));
    }
    assert_int_equal(c.thread_count, 100);
    assert_int_equal(c.names.count, 300);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(c.threads[i].call_count, 30);
    assert_int_equal(c.threads[99].calls[29].time_ns, 2999);
    assert_string_equal(c.names.texts[c.threads[99].calls[29].name], "f299");
    strobe_calls_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_has_one_number_and_a_tid_one_thread),
        cmocka_unit_test(an_event_that_comes_too_late_gets_the_time_of_the_one_before),
        cmocka_unit_test(any_number_of_events_and_threads_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
