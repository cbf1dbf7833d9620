/* How ticks of CPU clocks become slices, and how the time is shown in which a thread was off its processor (S-4, S-6).
 * */
#include "tests/unit/support/letters.h"

/* Writes a tick at `ns`, when the thread has used `cpu_ns` in total. */
static void tick(uint64_t ns, uint64_t cpu_ns, const char *path, unsigned flags)
{
    write_record((struct strobe_record){.ticks = ns,
                                        .cpu_ns = cpu_ns,
                                        .stack = stack(path),
                                        .thread = thread,
                                        .kind = STROBE_KIND_CPU,
                                        .flags = (uint16_t)(STROBE_FLAG_CPU | flags)});
}

/* Writes a call with the CPU time that the thread used in it. */
static void call_cpu(uint64_t from, uint64_t to, const char *path, uint32_t cpu_ns, unsigned flags)
{
    write_record((struct strobe_record){
        .ticks = from,
        .duration = to - from,
        .cpu_ns = cpu_ns,
        .cpu_span_ns = cpu_ns,
        .stack = stack(path),
        .thread = thread,
        .kind = STROBE_KIND_WRITE,
        .flags = (uint16_t)(STROBE_FLAG_SCOPE | STROBE_FLAG_CPU | STROBE_FLAG_BEGIN_CPU | flags)});
}

static void a_call_that_ended_a_wait_and_took_long_had_lost_its_processor(void **state)
{
    (void)state;
    begin();
    call_cpu(0, 4 * MS, "a", 1 * MS, STROBE_FLAG_NO_WAIT);
    end(5 * MS);
    assert_int_equal(recording_find(&recording, "[write]", 0)->no_wait, 1);
    expect("a[0,5000) .[write][0,4000) ..[runnable][1000,4000)");
    assert_int_equal(recording.stats.runnables, 1);
}

static void a_call_that_ended_a_wait_and_hardly_lost_its_processor_is_whole(void **state)
{
    (void)state;
    begin();
    call_cpu(0, 1 * MS, "a", MS - 199 * US, STROBE_FLAG_NO_WAIT);
    end(5 * MS);
    expect("a[0,5000) .[write][0,1000)");
}

static void a_call_that_ended_no_wait_waited_itself(void **state)
{
    (void)state;
    begin();
    call_cpu(0, 4 * MS, "a", 1 * MS, 0);
    end(5 * MS);
    assert_int_equal(recording_find(&recording, "[write]", 0)->no_wait, 0);
    expect("a[0,5000) .[write][0,4000)");
}

static void time_that_others_had_the_processor_is_runnable_under_the_same_frames(void **state)
{
    (void)state;
    begin();
    tick(0, 0, "ab", 0);
    tick(4 * MS, 1 * MS, "ab", 0);
    end(5 * MS);
    expect("a[0,5000) .b[0,5000) ..[runnable][500,3500)");
    assert_int_equal(recording.stats.runnables, 1);
    assert_int_equal(recording.stats.gaps, 0);
}

static void runnable_time_of_any_length_is_not_unseen(void **state)
{
    (void)state;
    begin();
    tick(0, 0, "ab", 0);
    tick(500 * MS, 1 * MS, "ab", 0);
    end(501 * MS);
    expect("a[0,501000) .b[0,501000) ..[runnable][500,499500)");
}

static void a_thread_that_gave_its_processor_away_unseen_was_off_cpu(void **state)
{
    (void)state;
    begin();
    tick(0, 0, "ab", 0);
    tick(4 * MS, 1 * MS, "ac", STROBE_FLAG_GAVE_WAY);
    end(5 * MS);
    expect("a[0,5000) .b[0,3500) ..[off cpu][500,3500) .c[3500,5000)");
}

static void a_thread_that_stood_is_shown_where_it_stood(void **state)
{
    (void)state;
    begin();
    tick(0, 0, "ab", 0);
    tick(4 * MS, 1 * MS, "ac", STROBE_FLAG_STOOD);
    end(5 * MS);
    expect("a[0,5000) .b[0,500) .c[500,5000) ..[runnable][1000,4000)");
}

/* Writes a sample of the sampler, of a thread without ticks. */
static void stop_at(uint64_t ns, uint64_t cpu_ns, const char *path, unsigned flags)
{
    write_record((struct strobe_record){.ticks = ns,
                                        .cpu_ns = cpu_ns,
                                        .stack = stack(path),
                                        .thread = thread,
                                        .kind = STROBE_KIND_ASYNC,
                                        .count = 1,
                                        .flags = (uint16_t)(STROBE_FLAG_CPU | flags)});
}

static void without_ticks_time_off_the_processor_has_no_known_reason(void **state)
{
    (void)state;
    begin();
    stop_at(0, 0, "ab", 0);
    stop_at(4 * MS, 1 * MS, "ab", 0);
    end(5 * MS);
    expect("a[0,5000) .b[0,5000) ..[off cpu][500,3500)");
}

static void a_thread_that_the_sampler_saw_wait_for_a_processor_was_runnable_where_it_stood(void **state)
{
    (void)state;
    begin();
    stop_at(0, 0, "ab", 0);
    stop_at(4 * MS, 1 * MS, "ac", STROBE_FLAG_READY);
    end(5 * MS);
    expect("a[0,5000) .b[0,500) .c[500,5000) ..[runnable][1000,4000)");
}

static void a_thread_that_waits_for_a_processor_gets_it_later(void **state)
{
    (void)state;
    begin();
    stop_at(0, 0, "ab", STROBE_FLAG_READY);
    stop_at(4 * MS, 1 * MS, "ab", 0);
    end(5 * MS);
    expect("a[0,5000) .b[0,5000) ..[runnable][0,3000)");
    assert_int_equal(recording.stats.runnables, 1);
    assert_int_equal(recording.stats.offs, 0);
}

static void a_thread_that_waits_for_a_processor_for_long_is_runnable_and_not_unseen(void **state)
{
    (void)state;
    begin();
    stop_at(0, 0, "ab", STROBE_FLAG_READY);
    stop_at(100 * MS, 1 * MS, "ab", 0);
    end(101 * MS);
    expect("a[0,101000) .b[0,101000) ..[runnable][0,99000)");
}

static void a_change_between_two_ticks_is_shown_in_the_middle(void **state)
{
    (void)state;
    begin();
    tick(0, 0, "ab", 0);
    tick(1 * MS, 1 * MS, "ab", 0);
    tick(2 * MS, 2 * MS, "ac", 0);
    tick(3 * MS, 3 * MS, "d", 0);
    end(4 * MS);
    expect("a[0,2500) .b[0,1500) .c[1500,2500) d[2500,4000)");
}

static void a_change_amid_time_off_the_processor_divides_the_rest_evenly(void **state)
{
    (void)state;
    begin();
    tick(0, 0, "ab", 0);
    tick(5 * MS, 2 * MS, "ac", 0);
    end(6 * MS);
    expect("a[0,6000) .b[0,4000) ..[runnable][1000,4000) .c[4000,6000)");
}

static void cpu_time_that_no_sample_covers_is_unseen_and_the_rest_is_runnable(void **state)
{
    (void)state;
    begin();
    tick(0, 0, "ab", 0);
    tick(100 * MS, 40 * MS, "ab", 0);
    end(101 * MS);
    expect("a[0,1000) .b[0,1000) [unseen][1000,40000) [runnable][40000,100000) a[100000,101000) .b[100000,101000)");
}

static void unseen_time_ends_where_the_thread_stood_before_it_was_seen_again(void **state)
{
    (void)state;
    begin();
    tick(0, 0, "ab", 0);
    tick(100 * MS, 40 * MS, "ac", STROBE_FLAG_STOOD);
    end(101 * MS);
    expect("a[0,1000) .b[0,1000) [unseen][1000,40000) a[40000,101000) .c[40000,101000) ..[runnable][40000,100000)");
}

static void a_thread_that_stood_for_long_had_come_there_in_the_middle_of_its_cpu_time(void **state)
{
    (void)state;
    begin();
    tick(0, 0, "ab", 0);
    tick(100 * MS, 2 * MS, "ac", STROBE_FLAG_STOOD);
    end(101 * MS);
    expect("a[0,101000) .b[0,1000) .c[1000,101000) ..[runnable][2000,100000)");
}

static void unseen_time_before_a_delayed_tick_ends_at_the_tick(void **state)
{
    (void)state;
    begin();
    tick(0, 0, "ab", 0);
    tick(100 * MS, 100 * MS - 199999, "ab", 0); /* too short for a separate slice */
    end(101 * MS);
    expect("a[0,1000) .b[0,1000) [unseen][1000,100000) a[100000,101000) .b[100000,101000)");
}

static void short_waits_that_were_counted_are_not_runnable(void **state)
{
    (void)state;
    begin();
    tick(0, 0, "ab", 0);
    write_record((struct strobe_record){.ticks = 4 * MS,
                                        .cpu_ns = 1 * MS,
                                        .stack = stack("ab"),
                                        .thread = thread,
                                        .arg = 2900000,
                                        .kind = STROBE_KIND_CPU,
                                        .flags = STROBE_FLAG_CPU});
    end(5 * MS);
    expect("a[0,5000) .b[0,5000)");
}

static void the_delay_of_a_tick_is_not_runnable(void **state)
{
    (void)state;
    begin();
    tick(0, 0, "ab", 0);
    tick(1 * MS + 199999, 1 * MS, "ab", 0);
    tick(2 * MS + 399999, 2 * MS, "ab", 0);
    end(3 * MS);
    assert_int_equal(recording.stats.runnables, 1); /* the second one: at least 200 us */
    recording_free(&recording);
}

static void self_time_by_the_clock_is_cpu_time(void **state)
{
    (void)state;
    begin();
    for (uint64_t i = 0; i <= 10; i++)
        tick(i * 4 * MS, i * MS, "ab", 0);
    end(40 * MS);
    uint64_t runnable_ns = 0;
    for (size_t i = 0; i < recording.slice_count; i++)
        if (!strcmp(recording.slices[i].name, "[runnable]"))
            runnable_ns += recording.slices[i].end_ns - recording.slices[i].begin_ns;
    assert_int_equal(runnable_ns, 30 * MS);
    recording_free(&recording);
}

/* Stores the CPU time of the thread at the end of its session, read at `ns`. */
static void final_cpu(uint64_t ns, uint64_t cpu_ns)
{
    write_record((struct strobe_record){.ticks = ns,
                                        .arg = cpu_ns,
                                        .thread = thread,
                                        .kind = STROBE_KIND_COUNTER,
                                        .cpu_span_ns = STROBE_SERIES_END_CPU_NS});
}

static void a_thread_that_never_ran_again_stood_where_it_was_until_the_end(void **state)
{
    (void)state;
    begin();
    tick(0, 1 * MS, "ab", 0);
    final_cpu(500 * MS, 1 * MS);
    end(500 * MS);
    expect("a[0,500000) .b[0,500000) ..[off cpu][1000,500000)");
}

static void a_thread_that_ran_on_until_the_end_is_unseen_there(void **state)
{
    (void)state;
    begin();
    tick(0, 1 * MS, "ab", 0);
    final_cpu(500 * MS, 400 * MS);
    end(500 * MS);
    expect("a[0,1000) .b[0,1000) [unseen][1000,500000)");
}

static void a_final_cpu_time_from_before_the_last_sample_says_nothing(void **state)
{
    (void)state;
    begin();
    final_cpu(0, 1 * MS);
    tick(10 * MS, 1 * MS, "ab", 0);
    end(500 * MS);
    expect("a[10000,11000) .b[10000,11000) [unseen][11000,500000)");
}

/* ---- system calls in which the sampler saw the thread */

enum { X86 = 62, FUTEX = 202, EPOLL_WAIT = 232, NO_SUCH_CALL = 9999 };

static void seen_in_call(uint64_t ns, uint32_t number)
{
    write_record((struct strobe_record){.ticks = ns,
                                        .arg = strobe_wait_call(X86, number),
                                        .thread = thread,
                                        .kind = STROBE_KIND_COUNTER,
                                        .cpu_span_ns = STROBE_SERIES_WAIT_CALL});
}

static void time_off_the_processor_has_the_name_of_the_call(void **state)
{
    (void)state;
    begin();
    tick(0, 0, "ab", 0);
    seen_in_call(2 * MS, FUTEX);
    tick(4 * MS, 1 * MS, "ac", STROBE_FLAG_GAVE_WAY);
    seen_in_call(5 * MS, EPOLL_WAIT);
    tick(8 * MS, 2 * MS, "ac", STROBE_FLAG_GAVE_WAY);
    end(9 * MS);
    assert_int_equal(recording.stats.offs, 2);
    expect("a[0,9000) .b[0,3500) ..[futex][500,3500) .c[3500,9000) ..[epoll_wait][4500,7500)");
}

static void a_call_without_a_name_leaves_the_time_anonymous(void **state)
{
    (void)state;
    begin();
    tick(0, 0, "ab", 0);
    seen_in_call(2 * MS, NO_SUCH_CALL);
    tick(4 * MS, 1 * MS, "ab", STROBE_FLAG_GAVE_WAY);
    end(5 * MS);
    expect("a[0,5000) .b[0,5000) ..[off cpu][500,3500)");
}

static void a_thread_seen_in_a_call_was_not_runnable(void **state)
{
    (void)state;
    begin();
    tick(0, 0, "ab", 0);
    seen_in_call(2 * MS, FUTEX);
    tick(4 * MS, 1 * MS, "ab", 0);
    tick(8 * MS, 2 * MS, "ab", 0);
    end(9 * MS);
    expect("a[0,9000) .b[0,9000) ..[futex][500,3500) ..[runnable][4500,7500)");
}

static void calls_from_before_and_after_the_time_do_not_name_it(void **state)
{
    (void)state;
    begin();
    seen_in_call(0, FUTEX);
    tick(1 * MS, 0, "ab", 0);
    tick(5 * MS, 1 * MS, "ab", STROBE_FLAG_GAVE_WAY);
    seen_in_call(5 * MS, FUTEX);
    end(6 * MS);
    expect("a[1000,6000) .b[1000,6000) ..[off cpu][1500,4500)");
}

static void a_thread_seen_in_another_call_has_changed_to_it_there(void **state)
{
    (void)state;
    begin();
    tick(0, 0, "ab", 0);
    seen_in_call(1 * MS, FUTEX);
    seen_in_call(2 * MS, FUTEX);
    seen_in_call(3 * MS, EPOLL_WAIT);
    seen_in_call(9 * MS, FUTEX); /* behind the shown time */
    tick(10 * MS, 4 * MS, "ab", STROBE_FLAG_GAVE_WAY);
    end(10 * MS);
    expect("a[0,10000) .b[0,10000) ..[futex][2000,3000) ..[epoll_wait][3000,8000)");
}

static void a_long_time_off_the_processor_has_the_names_of_its_calls(void **state)
{
    (void)state;
    begin();
    stop_at(0, 1 * MS, "ab", 0);
    seen_in_call(20 * MS, FUTEX);
    seen_in_call(60 * MS, EPOLL_WAIT);
    stop_at(100 * MS, 2 * MS, "ab", 0);
    final_cpu(300 * MS, 2 * MS);
    seen_in_call(200 * MS, FUTEX);
    end(300 * MS);
    expect("a[0,300000) .b[0,300000) ..[futex][1000,60000) ..[epoll_wait][60000,100000) ..[futex][101000,300000)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_ended_a_wait_and_took_long_had_lost_its_processor),
        cmocka_unit_test(a_call_that_ended_a_wait_and_hardly_lost_its_processor_is_whole),
        cmocka_unit_test(a_call_that_ended_no_wait_waited_itself),
        cmocka_unit_test(time_off_the_processor_has_the_name_of_the_call),
        cmocka_unit_test(a_call_without_a_name_leaves_the_time_anonymous),
        cmocka_unit_test(a_thread_seen_in_a_call_was_not_runnable),
        cmocka_unit_test(calls_from_before_and_after_the_time_do_not_name_it),
        cmocka_unit_test(a_thread_seen_in_another_call_has_changed_to_it_there),
        cmocka_unit_test(a_long_time_off_the_processor_has_the_names_of_its_calls),
        cmocka_unit_test(time_that_others_had_the_processor_is_runnable_under_the_same_frames),
        cmocka_unit_test(runnable_time_of_any_length_is_not_unseen),
        cmocka_unit_test(a_thread_that_gave_its_processor_away_unseen_was_off_cpu),
        cmocka_unit_test(a_thread_that_stood_is_shown_where_it_stood),
        cmocka_unit_test(without_ticks_time_off_the_processor_has_no_known_reason),
        cmocka_unit_test(a_thread_that_the_sampler_saw_wait_for_a_processor_was_runnable_where_it_stood),
        cmocka_unit_test(a_thread_that_waits_for_a_processor_gets_it_later),
        cmocka_unit_test(a_thread_that_waits_for_a_processor_for_long_is_runnable_and_not_unseen),
        cmocka_unit_test(a_change_between_two_ticks_is_shown_in_the_middle),
        cmocka_unit_test(a_change_amid_time_off_the_processor_divides_the_rest_evenly),
        cmocka_unit_test(cpu_time_that_no_sample_covers_is_unseen_and_the_rest_is_runnable),
        cmocka_unit_test(unseen_time_ends_where_the_thread_stood_before_it_was_seen_again),
        cmocka_unit_test(a_thread_that_stood_for_long_had_come_there_in_the_middle_of_its_cpu_time),
        cmocka_unit_test(unseen_time_before_a_delayed_tick_ends_at_the_tick),
        cmocka_unit_test(short_waits_that_were_counted_are_not_runnable),
        cmocka_unit_test(the_delay_of_a_tick_is_not_runnable),
        cmocka_unit_test(self_time_by_the_clock_is_cpu_time),
        cmocka_unit_test(a_thread_that_never_ran_again_stood_where_it_was_until_the_end),
        cmocka_unit_test(a_thread_that_ran_on_until_the_end_is_unseen_there),
        cmocka_unit_test(a_final_cpu_time_from_before_the_last_sample_says_nothing),
    };
    return cmocka_run_group_tests_name("ticks in the timeline", tests, temp_dir_open, temp_dir_close);
}
