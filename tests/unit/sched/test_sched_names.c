/* The names of threads that wake others. */
#include "engine/cmd/record/sched_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

static struct strobe_sched_names names;

static int free_names(void **state)
{
    (void)state;
    strobe_sched_names_free(&names);
    return 0;
}

static void set_at(uint32_t tid, uint64_t at_ns, const char *text)
{
    strobe_sched_names_set(&names, tid, at_ns, text, strlen(text));
}

static void set(uint32_t tid, const char *text)
{
    set_at(tid, 0, text);
}

static void expect_name(size_t index, uint32_t tid, const char *text)
{
    char whole[sizeof names.names->name] = "";
    memcpy(whole, text, strlen(text));
    assert_true(index < names.count);
    assert_int_equal(names.names[index].tid, tid);
    assert_memory_equal(names.names[index].name, whole, sizeof whole);
}

static void known_names_are_listed_by_tid(void **state)
{
    (void)state;
    set(70, "client");
    set(9, "main");
    set(300, "");
    strobe_sched_names_finish(&names);
    assert_int_equal(names.count, 2);
    expect_name(0, 9, "main");
    expect_name(1, 70, "client");
}

static void the_last_name_counts_and_is_cut_as_the_kernel_cuts_it(void **state)
{
    (void)state;
    set(9, "a long name of a thread");
    set(9, "short");
    set(10, "a long name of a thread");
    strobe_sched_names_set(&names, 11, 0, "name\0of a record", 16);
    strobe_sched_names_finish(&names);
    expect_name(0, 9, "short");
    expect_name(1, 10, "a long name of ");
    expect_name(2, 11, "name");
}

static void a_new_thread_has_its_creators_name(void **state)
{
    (void)state;
    set(9, "server");
    strobe_sched_names_inherit(&names, 10, 9, 0);
    set(9, "renamed");
    set(12, "of an earlier thread with the id");
    strobe_sched_names_inherit(&names, 12, 11, 0);
    strobe_sched_names_finish(&names);
    assert_int_equal(names.count, 2);
    expect_name(0, 9, "renamed");
    expect_name(1, 10, "server");
}

static void a_record_that_comes_late_changes_no_younger_name(void **state)
{
    (void)state;
    set_at(9, 10, "server");
    set_at(10, 30, "renamed");
    strobe_sched_names_inherit(&names, 10, 9, 20);
    set_at(9, 9, "before");
    set_at(11, 40, "ended");
    strobe_sched_names_inherit(&names, 11, 9, 50); /* a new thread with the number */
    strobe_sched_names_finish(&names);
    expect_name(0, 9, "server");
    expect_name(1, 10, "renamed");
    expect_name(2, 11, "server");
}

/* The kernel's own name of this thread is read after wake-ups 1, 2, 4 and 8. */
static void a_waker_is_read_after_each_power_of_two_of_its_wake_ups(void **state)
{
    const uint32_t self = (uint32_t)gettid();
    const char *const of_wake[] = {"one", "two", "two", "four", "four", "four", "four", "eight"};
    char before[16];
    (void)state;
    assert_int_equal(prctl(PR_GET_NAME, before), 0);
    names.from_proc = true;
    for (size_t i = 0; i < sizeof of_wake / sizeof *of_wake; i++) {
        const char *const texts[] = {"one", "two", "three", "four", "five", "six", "seven", "eight"};
        assert_int_equal(prctl(PR_SET_NAME, texts[i]), 0);
        strobe_sched_names_wake(&names, self);
        strobe_sched_names_read(&names);
        expect_name(0, self, of_wake[i]);
    }
    assert_int_equal(prctl(PR_SET_NAME, before), 0);
}

static void a_waker_that_has_ended_keeps_the_name_that_is_known(void **state)
{
    const uint32_t no_thread = INT32_MAX; /* beyond the kernel's PID_MAX_LIMIT, 2^22 */
    (void)state;
    names.from_proc = true;
    strobe_sched_names_wake(&names, no_thread);
    strobe_sched_names_read(&names);
    assert_string_equal(names.names[0].name, "");
    set(no_thread, "client");
    strobe_sched_names_wake(&names, no_thread);
    strobe_sched_names_finish(&names);
    expect_name(0, no_thread, "client");
}

static void nothing_is_read_where_records_have_the_names(void **state)
{
    (void)state;
    strobe_sched_names_wake(&names, (uint32_t)gettid());
    strobe_sched_names_finish(&names);
    assert_int_equal(names.count, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, free_names)
    const struct CMUnitTest tests[] = {
        TEST(known_names_are_listed_by_tid),
        TEST(the_last_name_counts_and_is_cut_as_the_kernel_cuts_it),
        TEST(a_new_thread_has_its_creators_name),
        TEST(a_record_that_comes_late_changes_no_younger_name),
        TEST(a_waker_is_read_after_each_power_of_two_of_its_wake_ups),
        TEST(a_waker_that_has_ended_keeps_the_name_that_is_known),
        TEST(nothing_is_read_where_records_have_the_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
