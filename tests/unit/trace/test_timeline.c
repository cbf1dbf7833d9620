/* How samples become slices: each rule of timeline.h, on sessions made for it. */
#include "tests/unit/support/letters.h"

/* ---- the rule */

static void what_two_samples_share_stays_open(void **state)
{
    (void)state;
    begin();
    sample(0, "abc");
    sample(1 * MS, "abd");
    sample(2 * MS, "ae");
    sample(3 * MS, "a");
    end(4 * MS);
    assert_int_equal(recording.stats.samples, 4);
    expect("a[0,4000) .b[0,2000) ..c[0,1000) ..d[1000,2000) .e[2000,3000)");
}

static void a_return_address_that_moves_within_a_function_splits_nothing_S60(void **state)
{
    (void)state;
    begin();
    const uint64_t at[][3] = {{0x6110, 0x6210, 0x6310}, {0x6120, 0x6230, 0x6310}, {0x6130, 0x6230, 0x637f}};
    for (unsigned i = 0; i < 3; i++)
        write_record(
            (struct strobe_record){.ticks = i * MS, .thread = thread, .stack = strobe_build_stack(&build, at[i], 3)});
    end(3 * MS);
    expect("a[0,3000) .b[0,3000) ..c[0,3000)");
}

static void an_inlined_function_is_a_slice_in_the_one_it_was_inlined_into(void **state)
{
    (void)state;
    begin();
    const uint64_t at[][2] = {{'a' << 8, 'b' << 8},
                              {'a' << 8 | RECORDING_INLINED | 'i', 'b' << 8},
                              {'a' << 8 | RECORDING_INLINED | 'j', 'b' << 8}};
    for (unsigned i = 0; i < 3; i++)
        write_record(
            (struct strobe_record){.ticks = i * MS, .thread = thread, .stack = strobe_build_stack(&build, at[i], 2)});
    end(3 * MS);
    expect("a[0,3000) .b[0,1000) .i[1000,2000) ..b[1000,2000) .j[2000,3000) ..b[2000,3000)");
}

static void recursion_keeps_its_depth_S60(void **state)
{
    (void)state;
    begin();
    sample(0, "fff");
    sample(1 * MS, "ff");
    sample(2 * MS, "ffff");
    sample(3 * MS, "f");
    end(4 * MS);
    expect("f[0,4000) .f[0,3000) ..f[0,1000) ..f[2000,3000) ...f[2000,3000)");
}

static void the_engines_own_functions_are_left_out(void **state)
{
    (void)state;
    begin();
    sample(0, "a~b");
    sample(1 * MS, "ab~");
    sample(2 * MS, "~");
    end(3 * MS);
    expect("a[0,2000) .b[0,2000) [no stack][2000,3000)");
}

/* ---- hooks and the sampler */

static void what_lies_between_a_hook_and_the_sampler_goes_to_what_the_sampler_saw_S6(void **state)
{
    (void)state;
    begin();
    sample(0, "ab");
    async(1 * MS, "ac");
    sample(2 * MS, "ab");
    async(3 * MS, "ac");
    end(4 * MS);
    expect("a[0,4000) .b[0,1) .c[1,2000) .b[2000,2001) .c[2001,4000)");
}

static void what_follows_a_wait_goes_to_what_the_sampler_saw_next(void **state)
{
    (void)state;
    begin();
    call(0, 1 * MS, "ab", STROBE_KIND_READ);
    async(2 * MS, "ac");
    end(3 * MS);
    expect("a[0,3000) .b[0,1001) ..[read][0,1000) .c[1001,3000)");
}

static void a_short_call_that_was_asked_about_stands_for_the_time_around_it(void **state)
{
    (void)state;
    begin();
    sample(0, "ab");
    write_record((struct strobe_record){.ticks = 1 * MS,
                                        .duration = 10000,
                                        .stack = stack("ac"),
                                        .thread = thread,
                                        .kind = STROBE_KIND_READ,
                                        .flags = STROBE_FLAG_SCOPE | STROBE_FLAG_ASKED});
    async(2 * MS, "ad");
    end(3 * MS);
    expect("a[0,3000) .b[0,1) .c[1,2000) ..[read][1,1000) ..[read][1000,1010) ..[read][1010,2000) .d[2000,3000)");
}

static void a_call_that_the_thread_waited_in_is_left_when_it_ends_asked_about_or_not(void **state)
{
    (void)state;
    begin();
    sample(0, "ab");
    write_record((struct strobe_record){.ticks = 1 * MS,
                                        .duration = MS / 2,
                                        .stack = stack("ac"),
                                        .thread = thread,
                                        .kind = STROBE_KIND_READ,
                                        .flags = STROBE_FLAG_SCOPE | STROBE_FLAG_ASKED});
    async(2 * MS, "ad");
    end(3 * MS);
    expect("a[0,3000) .b[0,1) .c[1,1501) ..[read][1000,1500) .d[1501,3000)");
}

static void between_two_hooks_a_thread_is_where_the_sampler_saw_it_last_S6(void **state)
{
    (void)state;
    begin();
    async(0, "ae");
    sample(1 * MS, "ab");
    sample(2 * MS, "ab");
    sample(3 * MS, "xyc");
    /* The sampler's last stack has no x, so between these samples only their common part is shown. */
    sample(4 * MS, "xyd");
    end(5 * MS);
    expect("a[0,3000) .e[0,1000) .b[1000,1001) .e[1001,2000) .b[2000,2001) .e[2001,3000) "
           "x[3000,5000) .y[3000,5000) ..c[3000,3001) ..d[4000,5000)");
}

static void a_sample_is_recent_while_the_thread_has_used_little_CPU_time_since_S6(void **state)
{
    const unsigned cpu = STROBE_FLAG_CPU | STROBE_FLAG_BEGIN_CPU;
    (void)state;
    begin();
    write_record((struct strobe_record){
        .ticks = 0, .stack = stack("ae"), .thread = thread, .kind = STROBE_KIND_ASYNC, .flags = cpu});
    write_record((struct strobe_record){.ticks = MS,
                                        .duration = 99 * MS,
                                        .stack = stack("a"),
                                        .thread = thread,
                                        .kind = STROBE_KIND_READ,
                                        .cpu_ns = MS,
                                        .flags = STROBE_FLAG_SCOPE | cpu});
    sample(101 * MS, "ab");
    sample(102 * MS, "ab");
    write_record((struct strobe_record){.ticks = 103 * MS,
                                        .stack = stack("ae"),
                                        .thread = thread,
                                        .kind = STROBE_KIND_ASYNC,
                                        .cpu_ns = 4 * MS,
                                        .flags = cpu});
    end(104 * MS);
    expect("a[0,104000) .e[0,1000) .[read][1000,100000) .e[100001,101000) .b[101000,101001) .e[101001,102000) "
           ".b[102000,102001) .e[102001,104000)");
}

static void a_message_begins_where_the_poll_before_it_ended(void **state)
{
    (void)state;
    begin();
    write_record((struct strobe_record){.ticks = 0,
                                        .duration = MS,
                                        .stack = stack("l"),
                                        .thread = thread,
                                        .message = 1,
                                        .kind = STROBE_KIND_POLL,
                                        .flags = STROBE_FLAG_SCOPE});
    write_record((struct strobe_record){
        .ticks = 2 * MS, .stack = stack("lhb"), .thread = thread, .message = 2, .kind = STROBE_KIND_ASYNC});
    end(3 * MS);
    expect("l[0,3000) .[poll][0,1000) .h[1001,3000) ..b[1001,3000)");
}

static void a_hook_sample_before_another_holds_and_nothing_reaches_over_a_gap_or_a_message(void **state)
{
    (void)state;
    begin();
    sample(0, "ab");
    sample(1 * MS, "ac");
    write_record((struct strobe_record){
        .ticks = 2 * MS, .stack = stack("ad"), .thread = thread, .message = 1, .kind = STROBE_KIND_ASYNC});
    sample(3 * MS, "ae");
    async(53 * MS, "af");
    end(54 * MS);
    expect("a[0,2000) .b[0,1000) .c[1000,2000) a[2000,3000) .d[2000,3000) a[3000,4000) .e[3000,4000) "
           "[unseen][4000,53000) a[53000,54000) .f[53000,54000)");
}

static void functions_of_one_name_stay_two_S59(void **state)
{
    (void)state;
    begin();
    const uint64_t one[] = {'a' << 8, 'b' << 8}, other[] = {'a' << 8, (RECORDING_NAMES + 'b') << 8};
    write_record((struct strobe_record){.thread = thread, .stack = strobe_build_stack(&build, one, 2)});
    write_record(
        (struct strobe_record){.ticks = 1 * MS, .thread = thread, .stack = strobe_build_stack(&build, other, 2)});
    end(2 * MS);
    expect("a[0,2000) .b[0,1000) .b[1000,2000)");
}

/* ---- messages and gaps */

static void two_messages_share_no_slice_S50(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < 4; i++)
        write_record((struct strobe_record){.ticks = i * MS, .stack = stack("ab"), .thread = thread, .message = i / 2});
    end(4 * MS);
    assert_int_equal(recording.stats.message_splits, 1);
    expect("a[0,2000) .b[0,2000) a[2000,4000) .b[2000,4000)");
}

static void of_message(uint64_t ticks, const char *functions, uint32_t message)
{
    write_record(
        (struct strobe_record){.ticks = ticks, .stack = stack(functions), .thread = thread, .message = message});
}

static void poll_of_message(uint64_t from, uint64_t to, const char *functions, uint32_t message)
{
    write_record((struct strobe_record){.ticks = from,
                                        .duration = to - from,
                                        .stack = stack(functions),
                                        .thread = thread,
                                        .message = message,
                                        .kind = STROBE_KIND_POLL,
                                        .flags = STROBE_FLAG_SCOPE});
}

/* m runs the loop l, which polls through p and runs messages through d. */
static void the_loop_continues_between_messages_and_their_calls_do_not_S50(void **state)
{
    (void)state;
    begin();
    of_message(0, "mldh", 1);
    poll_of_message(1 * MS, 2 * MS, "mlp", 1);
    of_message(2 * MS, "mldh", 2);
    of_message(3 * MS, "mldh", 2);
    of_message(4 * MS, "mldh", 3); /* the poll before it did not wait */
    end(5 * MS);
    assert_int_equal(recording.stats.message_splits, 2);
    expect("m[0,5000) .l[0,5000) ..d[0,1000) ...h[0,1000) ..p[1000,2000) ...[poll][1000,2000) "
           "..d[2000,4000) ...h[2000,4000) ..d[4000,5000) ...h[4000,5000)");
}

static void a_poll_that_carries_the_new_message_begins_it_too(void **state)
{
    (void)state;
    begin();
    of_message(0, "mldh", 1);
    poll_of_message(1 * MS, 2 * MS, "mlp", 2);
    of_message(2 * MS, "mldh", 2);
    of_message(3 * MS, "mldh", 3);
    end(4 * MS);
    expect("m[0,4000) .l[0,4000) ..d[0,1000) ...h[0,1000) ..p[1000,2000) ...[poll][1000,2000) "
           "..d[2000,3000) ...h[2000,3000) ..d[3000,4000) ...h[3000,4000)");
}

static void a_poll_within_a_message_is_not_taken_for_the_loop_S50(void **state)
{
    (void)state;
    begin();
    of_message(0, "mldh", 1);
    poll_of_message(1 * MS, 2 * MS, "mldh", 1); /* waits for a different socket */
    of_message(2 * MS, "mldh", 1);
    of_message(3 * MS, "mldh", 2);
    end(4 * MS);
    expect("m[0,3000) .l[0,3000) ..d[0,3000) ...h[0,3000) ....[poll][1000,2000) "
           "m[3000,4000) .l[3000,4000) ..d[3000,4000) ...h[3000,4000)");
}

static void a_message_that_runs_under_another_caller_shares_the_common_part_of_the_loop(void **state)
{
    (void)state;
    begin();
    poll_of_message(0, 1 * MS, "mlp", 0);
    of_message(1 * MS, "mldh", 1);
    of_message(2 * MS, "mxl", 2);
    end(3 * MS);
    expect("m[0,3000) .l[0,2000) ..p[0,1000) ...[poll][0,1000) ..d[1000,2000) ...h[1000,2000) "
           ".x[2000,3000) ..l[2000,3000)");
}

/* ---- wakers of waits */

static void woken_by(uint32_t waiter, uint64_t release, uint64_t wait_end, uint64_t what, uint32_t waker)
{
    write_record((struct strobe_record){.ticks = release,
                                        .duration = wait_end - release,
                                        .arg = what,
                                        .thread = waiter,
                                        .kind = STROBE_KIND_WAKE,
                                        .stack = stack("pq"),
                                        .cpu_span_ns = waker});
}

static void wait_for(uint32_t waiter, uint64_t from, uint64_t to, const char *functions, uint64_t what)
{
    write_record((struct strobe_record){.ticks = from,
                                        .duration = to - from,
                                        .stack = stack(functions),
                                        .arg = what,
                                        .thread = waiter,
                                        .kind = STROBE_KIND_MUTEX,
                                        .flags = STROBE_FLAG_SCOPE});
}

static void the_waker_of_a_wait_is_emitted_once_at_each_end(void **state)
{
    (void)state;
    begin();
    uint32_t worker = strobe_build_thread(&build, 4243, "worker");
    for (uint64_t i = 0; i < 10; i++)
        write_record((struct strobe_record){.ticks = i * MS, .stack = stack("pqr"), .thread = worker});
    wait_for(thread, 1 * MS, 6 * MS, "ab", 77);
    woken_by(thread, 5 * MS, 6 * MS, 77, worker + 1);
    sample(6 * MS, "ab");
    end(10 * MS);
    assert_int_equal(recording.wake_count, 2);
    assert_int_equal(recording.stats.wakes, 1);
    assert_int_equal(recording.stats.samples, 12); /* the wake is not a sample */
    const struct recorded_wake *waiter = &recording.wakes[0], *waker = &recording.wakes[1];
    assert_int_equal(waiter->id, waker->id);
    assert_true(!waiter->at_waker && waker->at_waker);
    assert_int_equal(waiter->at_ns, 6 * MS);
    assert_int_equal(waker->at_ns, 5 * MS);
    assert_int_equal(waiter->waker, worker);
    assert_int_equal(waker->waiter, thread);
    assert_string_equal(waiter->in, "[mutex wait]");
    assert_string_equal(waker->in, "f114");
    recording_free(&recording);
}

static void a_release_between_two_samples_is_emitted_in_the_order_of_time(void **state)
{
    (void)state;
    begin();
    uint32_t worker = strobe_build_thread(&build, 4243, "worker");
    write_record((struct strobe_record){.ticks = 0, .stack = stack("pq"), .thread = worker});
    write_record((struct strobe_record){.ticks = 50 * MS, .stack = stack("xy"), .thread = worker});
    for (uint64_t i = 1; i < 100; i++) { /* in a gap, in slices, after the last sample */
        wait_for(thread, i * MS, i * MS + 900 * US, "ab", i);
        woken_by(thread, i * MS + 500 * US, i * MS + 900 * US, i, worker + 1);
    }
    end(100 * MS);
    assert_int_equal(recording.wake_count, 2 * 99);
    for (size_t i = 0; i < recording.wake_count; i++)
        assert_int_equal(recording.wakes[i].at_ns,
                         recording.wakes[i].at_waker ? recording.wakes[i].release_ns : recording.wakes[i].end_ns);
    recording_free(&recording);
}

static void nested_waits_that_end_together_have_each_their_waker(void **state)
{
    (void)state;
    begin();
    uint32_t worker = strobe_build_thread(&build, 4243, "worker"), other = strobe_build_thread(&build, 4244, "other");
    wait_for(thread, 1 * MS, 9 * MS, "a", 1);
    wait_for(thread, 2 * MS, 9 * MS, "ab", 2);
    woken_by(thread, 7 * MS, 9 * MS, 2, worker + 1);
    woken_by(thread, 8 * MS, 9 * MS, 1, other + 1);
    sample(9 * MS, "a");
    end(10 * MS);
    assert_int_equal(recording.wake_count, 4);
    assert_int_equal(recording.wakes[0].what, 2);
    assert_int_equal(recording.wakes[0].waker, worker);
    assert_int_equal(recording.wakes[1].what, 1);
    assert_int_equal(recording.wakes[1].waker, other);
    recording_free(&recording);
}

static void a_wait_without_a_waker_has_no_flow_S77(void **state)
{
    (void)state;
    begin();
    wait_for(thread, 1 * MS, 9 * MS, "a", 1);
    woken_by(thread, 9 * MS, 9 * MS, 1, 0);
    end(10 * MS);
    assert_int_equal(recording.wake_count, 1);
    assert_int_equal(recording.wakes[0].waker, STROBE_NO_THREAD);
    recording_free(&recording);
}

static void a_wake_whose_wait_was_overwritten_or_whose_waker_is_no_thread_is_left_out(void **state)
{
    (void)state;
    begin();
    uint32_t worker = strobe_build_thread(&build, 4243, "worker");
    wait_for(thread, 1 * MS, 9 * MS, "a", 1);
    woken_by(thread, 5 * MS, 9 * MS, 2, worker + 1); /* of another wait */
    woken_by(thread, 0, 9 * MS, 1, worker + 1);      /* from before it */
    woken_by(thread, 5 * MS, 9 * MS, 1, 77);
    end(10 * MS);
    assert_int_equal(recording.wake_count, 0);
    recording_free(&recording);
}

static void a_long_gap_splits_equal_stacks_and_is_labelled_S51(void **state)
{
    (void)state;
    begin();
    sample(0, "ab");
    sample(5000 * MS, "ab");
    end(5001 * MS);
    assert_int_equal(recording.stats.gaps, 1);
    expect("a[0,1000) .b[0,1000) [unseen][1000,5e+06) a[5e+06,5.001e+06) .b[5e+06,5.001e+06)");
}

static void fifty_ms_without_a_hook_are_seen_to_be_unseen_S4(void **state)
{
    (void)state;
    begin();
    sample_cpu(0, "ab", 0);
    sample_cpu(50 * MS, "ab", 50 * MS);
    end(51 * MS);
    expect("a[0,1000) .b[0,1000) [unseen][1000,50000) a[50000,51000) .b[50000,51000)");
}

static void a_gap_in_which_the_thread_hardly_ran_is_off_cpu_not_unseen(void **state)
{
    (void)state;
    begin();
    sample_cpu(0, "ab", 1 * MS);
    sample_cpu(300 * MS, "ab", 2 * MS);
    sample_cpu(600 * MS, "ac", 2 * MS);
    end(601 * MS);
    assert_int_equal(recording.stats.offs, 2);
    assert_int_equal(recording.stats.gaps, 0);
    expect("a[0,601000) .b[0,301000) ..[off cpu][1000,300000) .[off cpu][301000,600000) "
           ".c[600000,601000)");
}

static void a_thread_off_its_processor_stood_where_the_sampler_meets_it_next(void **state)
{
    (void)state;
    begin();
    sample_cpu(0, "ab", 1 * MS);
    write_record((struct strobe_record){.ticks = 300 * MS,
                                        .stack = stack("acd"),
                                        .thread = thread,
                                        .cpu_ns = 2 * MS,
                                        .kind = STROBE_KIND_ASYNC,
                                        .flags = STROBE_FLAG_CPU});
    end(301 * MS);
    assert_int_equal(recording.stats.offs, 1);
    expect("a[0,301000) .b[0,1000) .c[1000,301000) ..d[1000,301000) ...[off cpu][1000,300000)");
}

static void a_thread_that_had_half_a_processor_is_seen_half_as_often_and_that_is_no_gap(void **state)
{
    (void)state;
    begin();
    sample_cpu(0, "ab", 0);
    sample_cpu(8 * MS, "ac", 4 * MS);
    sample_cpu(20 * MS, "ab", 9 * MS + 1);
    end(21 * MS);
    expect("a[0,9000) .b[0,8000) ..[off cpu][4000,8000) .c[8000,9000) [unseen][9000,20000) a[20000,21000) "
           ".b[20000,21000)");
}

/* Known CPU times at both ends of an interval decide, without ticks and hooks. */
static void time_without_cpu_time_is_off_cpu_between_any_two_samples(void **state)
{
    (void)state;
    begin();
    sample_cpu(0, "ab", 1 * MS);
    sample_cpu(3 * MS, "ab", 2 * MS);
    sample_cpu(4 * MS, "ab", 2 * MS + 801 * US); /* shorter than the shortest time that is shown */
    sample_cpu(6 * MS, "ab", 3 * MS + 801 * US);
    end(7 * MS);
    assert_int_equal(recording.stats.offs, 2);
    assert_int_equal(recording.stats.runnables, 0);
    expect("a[0,7000) .b[0,7000) ..[off cpu][1000,3000) ..[off cpu][5000,6000)");
}

static void a_gap_in_which_the_thread_ran_long_is_unseen(void **state)
{
    (void)state;
    begin();
    sample_cpu(0, "ab", 1 * MS);
    sample_cpu(300 * MS, "ab", 6 * MS + 1);
    sample_cpu(306 * MS, "ab", 12 * MS);
    end(307 * MS);
    assert_int_equal(recording.stats.offs, 0);
    assert_int_equal(recording.stats.gaps, 2);
    recording_free(&recording);
}

static void a_gap_of_exactly_the_threshold_is_not_shown(void **state)
{
    (void)state;
    begin();
    sample(0, "a");
    sample(5 * MS, "a");
    sample(10 * MS + 1, "a");
    end(11 * MS);
    expect("a[0,6000) [unseen][6000,10000) a[10000,11000)");
    begin();
    sample(0, "a");
    sample(5 * MS, "b");
    end(6 * MS);
    expect("a[0,5000) b[5000,6000)");
}

static void the_threshold_can_be_chosen(void **state)
{
    (void)state;
    const struct strobe_timeline_options options = {.gap_ns = 100 * MS};
    begin();
    sample(0, "a");
    sample(90 * MS, "a");
    end_with(91 * MS, &options);
    expect("a[0,91000)");
}

static void the_threshold_follows_a_slow_interval(void **state)
{
    (void)state;
    struct strobe_config config = strobe_build_config();
    config.interval_main_ns = 10 * MS;
    begin_with(&config);
    sample(0, "a");
    sample(40 * MS, "a");
    sample(81 * MS, "a");
    end(82 * MS);
    expect("a[0,50000) [unseen][50000,81000) a[81000,82000)");
}

/* ---- least durations and equal times */

static void a_lone_sample_lasts_one_interval_S52(void **state)
{
    (void)state;
    begin();
    sample(10 * MS, "a");
    end(500 * MS);
    expect("a[10000,11000) [unseen][11000,500000)");
}

static void the_last_sample_does_not_outlast_its_thread_S52(void **state)
{
    (void)state;
    begin();
    sample(10 * MS, "a");
    build.session.threads[thread].end_ticks = STROBE_BUILD_BEGIN_NS + 10 * MS + 300 * US;
    strobe_store_relaxed(&build.session.threads[thread].state, STROBE_THREAD_ENDED);
    end(500 * MS);
    expect("a[10000,10300)");
}

static void a_thread_does_not_outlast_its_session(void **state)
{
    (void)state;
    begin();
    sample(10 * MS, "a");
    build.session.threads[thread].end_ticks = STROBE_BUILD_BEGIN_NS + 1000000 * MS;
    end(11 * MS);
    expect("a[10000,11000)");
}

static void a_killed_session_shows_its_last_sample_S52(void **state)
{
    (void)state;
    begin();
    sample(10 * MS, "a");
    strobe_build_kill(&build);
    recording_read(&recording, temp_dir_path("session"), NULL);
    expect("a[10000,11000)");
}

static void samples_at_one_time_are_all_shown_in_their_order_S56(void **state)
{
    (void)state;
    begin();
    sample(1 * MS, "ab");
    sample(1 * MS, "ac");
    sample(1 * MS, "ad");
    end(2 * MS);
    assert_int_equal(recording.stats.samples, 3);
    assert_int_equal(recording_find(&recording, "f98", 0)->begin_ns, 1 * MS);
    assert_int_equal(recording_find(&recording, "f98", 0)->end_ns, 1 * MS + 1);
    assert_int_equal(recording_find(&recording, "f99", 0)->begin_ns, 1 * MS + 1);
    assert_int_equal(recording_find(&recording, "f99", 0)->end_ns, 1 * MS + 2);
    assert_int_equal(recording_find(&recording, "f100", 0)->end_ns, 2 * MS);
    assert_int_equal(recording_find(&recording, "f97", 0)->samples, 3);
    assert_int_equal(recording.stats.moved, 2);
    recording_free(&recording);
}

static void records_are_put_in_order_of_their_begins(void **state)
{
    (void)state;
    begin();
    sample(3 * MS, "d");
    sample(1 * MS, "b");
    sample(2 * MS, "c");
    sample(0, "a");
    end(4 * MS);
    expect("a[0,1000) b[1000,2000) c[2000,3000) d[3000,4000)");
}

/* ---- merged records */

static void a_merged_record_is_its_samples_spread_evenly(void **state)
{
    (void)state;
    begin();
    sample(0, "ab");
    merged(1 * MS, 41 * MS, 11, "ab");
    sample(42 * MS, "a");
    end(43 * MS);
    assert_int_equal(recording.stats.samples, 13);
    assert_int_equal(recording_find(&recording, "f98", 0)->samples, 12);
    assert_int_equal(recording_find(&recording, "f97", 0)->samples, 13);
    expect("a[0,43000) .b[0,42000)");
}

static void a_sample_between_merged_ones_lasts_until_the_next_of_them(void **state)
{
    (void)state;
    begin();
    merged(0, 8 * MS, 9, "ab");
    sample(2 * MS + 500 * US, "ac");
    sample(5 * MS + 500 * US, "d");
    end(9 * MS);
    assert_int_equal(recording_find(&recording, "f98", 0)->samples, 3);
    assert_int_equal(recording_find(&recording, "f98", 1)->samples, 3);
    assert_int_equal(recording_find(&recording, "f98", 2)->samples, 3);
    expect("a[0,5500) .b[0,2500) .c[2500,3000) .b[3000,5500) d[5500,6000) a[6000,9000) .b[6000,9000)");
}

/* ---- blocking calls */

static void a_wait_covers_exactly_its_call(void **state)
{
    (void)state;
    begin();
    sample(0, "ab");
    call(1 * MS + 1, 700 * MS + 3, "ac", STROBE_KIND_MUTEX);
    sample(701 * MS, "ab");
    end(702 * MS);
    assert_int_equal(recording.stats.waits, 1);
    const struct recorded_slice *wait = recording_find(&recording, "[mutex wait]", 0);
    assert_int_equal(wait->begin_ns, 1 * MS + 1);
    assert_int_equal(wait->end_ns, 700 * MS + 3);
    assert_int_equal(wait->class, STROBE_SLICE_WAIT);
    assert_string_equal(recording.slices[wait->parent - 1].name, "f99");
    expect("a[0,702000) .b[0,1000) .c[1000,701000) ..[mutex wait][1000,700000) .b[701000,702000)");
}

static void two_waits_in_a_row_stay_two_S53(void **state)
{
    (void)state;
    begin();
    call(1 * MS, 2 * MS, "ab", STROBE_KIND_READ);
    call(2 * MS, 3 * MS, "ab", STROBE_KIND_READ);
    call(3 * MS, 4 * MS, "ac", STROBE_KIND_READ);
    end(5 * MS);
    expect("a[1000,5000) .b[1000,3000) ..[read][1000,2000) ..[read][2000,3000) .c[3000,5000) ..[read][3000,4000)");
}

static void a_call_that_took_no_time_is_still_seen_S53(void **state)
{
    (void)state;
    begin();
    call(1 * MS, 1 * MS, "ab", STROBE_KIND_SEM);
    sample(1 * MS, "ac");
    end(2 * MS);
    const struct recorded_slice *wait = recording_find(&recording, "[sem wait]", 0);
    assert_int_equal(wait->end_ns - wait->begin_ns, 1);
    recording_free(&recording);
}

static void nested_calls_nest(void **state)
{
    (void)state;
    begin();
    call(2 * MS, 4 * MS, "abxy", STROBE_KIND_READ);
    sample(5 * MS, "abxz");
    call(1 * MS, 8 * MS, "ab", STROBE_KIND_LOAD);
    end(9 * MS);
    assert_int_equal(recording.stats.waits_cut, 0);
    expect("a[1000,9000) .b[1000,9000) ..[load][1000,8000) ...x[2000,8000) ....y[2000,5000) .....[read][2000,4000) "
           "....z[5000,8000)");
}

static void a_sample_in_a_wait_lies_in_it_even_with_the_callers_own_stack(void **state)
{
    (void)state;
    begin();
    write_record(
        (struct strobe_record){.ticks = 3 * MS, .stack = stack("ab"), .thread = thread, .kind = STROBE_KIND_ASYNC});
    write_record((struct strobe_record){
        .ticks = 5 * MS, .stack = stack("qr"), .thread = thread, .message = 7, .kind = STROBE_KIND_ASYNC});
    call(1 * MS, 8 * MS, "ab", STROBE_KIND_POLL);
    end(9 * MS);
    expect("a[1000,9000) .b[1000,9000) ..[poll][1000,8000) ...q[5000,8000) ....r[5000,8000)");
}

static void a_call_that_claims_to_outlast_its_own_is_cut_to_it(void **state)
{
    (void)state;
    begin();
    call(1 * MS, 5 * MS, "ab", STROBE_KIND_LOAD);
    call(2 * MS, 9 * MS, "abc", STROBE_KIND_READ);
    end(10 * MS);
    assert_int_equal(recording.stats.waits_cut, 1);
    expect("a[1000,10000) .b[1000,10000) ..[load][1000,5000) ...c[2000,5000) ....[read][2000,5000)");
}

static void a_long_wait_is_no_gap(void **state)
{
    (void)state;
    begin();
    call(0, 10000 * MS, "a", STROBE_KIND_COND);
    sample(10001 * MS, "a");
    end(10002 * MS);
    assert_int_equal(recording.stats.gaps, 0);
    expect("a[0,1.0002e+07) .[cond wait][0,1e+07)");
}

static void a_call_under_way_at_the_end_is_shown_as_far_as_the_session_goes(void **state)
{
    (void)state;
    begin();
    sample(0, "ab");
    write_record(
        (struct strobe_record){.ticks = 300 * MS, .stack = stack("ac"), .thread = thread, .kind = STROBE_KIND_ASYNC});
    uint32_t mute = strobe_build_thread(&build, 4243, "mute");
    for (uint32_t t = thread; t <= mute; t++) {
        strobe_store_relaxed(&build.session.threads[t].scope_begin_ticks, STROBE_BUILD_BEGIN_NS + 1 * MS);
        strobe_store_relaxed(&build.session.threads[t].scope_kind, STROBE_KIND_COND);
    }
    end(600 * MS);
    assert_string_equal(recording_text(&recording, 1), "[cond wait][1000,600000)");
    assert_true(recording_find(&recording, "[cond wait]", 0)->unfinished);
    assert_int_equal(recording.stats.samples, 2);
    expect("a[0,600000) .b[0,1000) .c[1000,600000) ..[cond wait][1000,600000)");
}

/* ---- missing frames, calls and records */

static void a_cut_stack_hangs_under_a_placeholder(void **state)
{
    (void)state;
    begin();
    const unsigned flags[] = {0, STROBE_FLAG_CUT, STROBE_FLAG_DOUBTFUL, STROBE_FLAG_TABLE_FULL};
    for (unsigned i = 0; i < 4; i++)
        write_record((struct strobe_record){
            .ticks = i * MS, .stack = stack("ab"), .thread = thread, .flags = (uint8_t)flags[i]});
    write_record((struct strobe_record){.ticks = 4 * MS, .thread = thread});
    end(5 * MS);
    expect("a[0,1000) .b[0,1000) [stack cut][1000,2000) .a[1000,2000) ..b[1000,2000) [stack lost][2000,3000) "
           ".a[2000,3000) ..b[2000,3000) a[3000,4000) .b[3000,4000) ..[stack table full][3000,4000) "
           "[no stack][4000,5000)");
}

static void losses_are_marked_on_their_thread_S14(void **state)
{
    (void)state;
    struct strobe_config config = strobe_build_config();
    config.ring_slots = 64;
    begin_with(&config);
    uint32_t other = strobe_build_thread(&build, 4243, "other");
    for (unsigned i = 0; i < 200; i++)
        sample(i * MS, "a");
    write_record((struct strobe_record){.ticks = 200 * MS, .stack = stack("b"), .thread = other});
    end(201 * MS);
    assert_int_equal(recording.instant_count, 1);
    assert_int_equal(recording.instants[0].thread, 0);
    assert_int_equal(recording.instants[0].at_ns, recording.slices[0].begin_ns);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%u samples lost", (unsigned)(201 - recording.stats.samples));
    assert_string_equal(recording.instants[0].name, wanted);
    recording_free(&recording);
}

static void a_refused_sample_is_marked_too_S14(void **state)
{
    (void)state;
    struct strobe_config config = strobe_build_config();
    config.ring_slots = 64;
    config.ring_mode = STROBE_KEEP_OLDEST;
    begin_with(&config);
    unsigned refused = 0;
    for (unsigned i = 0; i < 200; i++) {
        struct strobe_record r = {.ticks = i * MS, .stack = stack("a"), .thread = thread};
        refused += strobe_build_record(&build, r, NULL) == STROBE_FULL;
    }
    end(201 * MS);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%u samples lost", refused);
    assert_true(refused > 0);
    assert_int_equal(recording.instant_count, 1);
    assert_string_equal(recording.instants[0].name, wanted);
    recording_free(&recording);

    struct strobe_reader *reader;
    struct strobe_error error;
    assert_int_equal(strobe_reader_open(temp_dir_path("session"), &reader, &error), STROBE_OK);
    assert_int_equal(reader->all.dropped, refused);
    assert_int_equal(reader->all.in_flight, 0);
    strobe_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_two_samples_share_stays_open),
        cmocka_unit_test(a_return_address_that_moves_within_a_function_splits_nothing_S60),
        cmocka_unit_test(an_inlined_function_is_a_slice_in_the_one_it_was_inlined_into),
        cmocka_unit_test(recursion_keeps_its_depth_S60),
        cmocka_unit_test(the_engines_own_functions_are_left_out),
        cmocka_unit_test(what_lies_between_a_hook_and_the_sampler_goes_to_what_the_sampler_saw_S6),
        cmocka_unit_test(what_follows_a_wait_goes_to_what_the_sampler_saw_next),
        cmocka_unit_test(a_short_call_that_was_asked_about_stands_for_the_time_around_it),
        cmocka_unit_test(a_call_that_the_thread_waited_in_is_left_when_it_ends_asked_about_or_not),
        cmocka_unit_test(between_two_hooks_a_thread_is_where_the_sampler_saw_it_last_S6),
        cmocka_unit_test(a_sample_is_recent_while_the_thread_has_used_little_CPU_time_since_S6),
        cmocka_unit_test(a_message_begins_where_the_poll_before_it_ended),
        cmocka_unit_test(a_hook_sample_before_another_holds_and_nothing_reaches_over_a_gap_or_a_message),
        cmocka_unit_test(functions_of_one_name_stay_two_S59),
        cmocka_unit_test(two_messages_share_no_slice_S50),
        cmocka_unit_test(the_loop_continues_between_messages_and_their_calls_do_not_S50),
        cmocka_unit_test(a_poll_that_carries_the_new_message_begins_it_too),
        cmocka_unit_test(a_poll_within_a_message_is_not_taken_for_the_loop_S50),
        cmocka_unit_test(a_message_that_runs_under_another_caller_shares_the_common_part_of_the_loop),
        cmocka_unit_test(the_waker_of_a_wait_is_emitted_once_at_each_end),
        cmocka_unit_test(a_release_between_two_samples_is_emitted_in_the_order_of_time),
        cmocka_unit_test(nested_waits_that_end_together_have_each_their_waker),
        cmocka_unit_test(a_wait_without_a_waker_has_no_flow_S77),
        cmocka_unit_test(a_wake_whose_wait_was_overwritten_or_whose_waker_is_no_thread_is_left_out),
        cmocka_unit_test(a_long_gap_splits_equal_stacks_and_is_labelled_S51),
        cmocka_unit_test(fifty_ms_without_a_hook_are_seen_to_be_unseen_S4),
        cmocka_unit_test(a_gap_in_which_the_thread_hardly_ran_is_off_cpu_not_unseen),
        cmocka_unit_test(a_thread_off_its_processor_stood_where_the_sampler_meets_it_next),
        cmocka_unit_test(a_thread_that_had_half_a_processor_is_seen_half_as_often_and_that_is_no_gap),
        cmocka_unit_test(time_without_cpu_time_is_off_cpu_between_any_two_samples),
        cmocka_unit_test(a_gap_in_which_the_thread_ran_long_is_unseen),
        cmocka_unit_test(a_gap_of_exactly_the_threshold_is_not_shown),
        cmocka_unit_test(the_threshold_can_be_chosen),
        cmocka_unit_test(the_threshold_follows_a_slow_interval),
        cmocka_unit_test(a_lone_sample_lasts_one_interval_S52),
        cmocka_unit_test(the_last_sample_does_not_outlast_its_thread_S52),
        cmocka_unit_test(a_thread_does_not_outlast_its_session),
        cmocka_unit_test(a_killed_session_shows_its_last_sample_S52),
        cmocka_unit_test(samples_at_one_time_are_all_shown_in_their_order_S56),
        cmocka_unit_test(records_are_put_in_order_of_their_begins),
        cmocka_unit_test(a_merged_record_is_its_samples_spread_evenly),
        cmocka_unit_test(a_sample_between_merged_ones_lasts_until_the_next_of_them),
        cmocka_unit_test(a_wait_covers_exactly_its_call),
        cmocka_unit_test(two_waits_in_a_row_stay_two_S53),
        cmocka_unit_test(a_call_that_took_no_time_is_still_seen_S53),
        cmocka_unit_test(nested_calls_nest),
        cmocka_unit_test(a_sample_in_a_wait_lies_in_it_even_with_the_callers_own_stack),
        cmocka_unit_test(a_call_that_claims_to_outlast_its_own_is_cut_to_it),
        cmocka_unit_test(a_long_wait_is_no_gap),
        cmocka_unit_test(a_call_under_way_at_the_end_is_shown_as_far_as_the_session_goes),
        cmocka_unit_test(a_cut_stack_hangs_under_a_placeholder),
        cmocka_unit_test(losses_are_marked_on_their_thread_S14),
        cmocka_unit_test(a_refused_sample_is_marked_too_S14),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
