/* CPU time, counters, threads and long times in timelines. */
#include "tests/unit/support/letters.h"

/* ---- damaged sessions */

/* A stack is shown from the leaf outwards as long as the depths of its nodes are consecutive. */
static void a_damaged_chain_of_parents_is_not_followed_S32(void **state)
{
    (void)state;
    begin();
    sample(0, "abc");
    uint32_t middle = build.session.stacks.nodes[stack("abc")].parent;
    strobe_store_relaxed(&build.session.stacks.nodes[middle].depth, 7);
    end(1 * MS);
    expect("c[0,1000)");
}

/* ---- CPU time and counters */

static void a_waits_switches_are_its_own_S54(void **state)
{
    (void)state;
    begin();
    sample(0, "a");
    struct strobe_record r = {.ticks = 1 * MS,
                              .duration = 4 * MS,
                              .stack = stack("ab"),
                              .thread = thread,
                              .kind = STROBE_KIND_COND,
                              .flags = STROBE_FLAG_SCOPE};
    struct strobe_metrics m = {.voluntary_switches = 110,
                               .voluntary_switches_span = 10,
                               .minor_faults = 7,
                               .alloc_bytes = 5000,
                               .alloc_bytes_span = 100};
    strobe_build_record(&build, r, &m);
    r = (struct strobe_record){.ticks = 6 * MS, .stack = stack("ac"), .thread = thread};
    m.voluntary_switches = 113;
    m.voluntary_switches_span = m.alloc_bytes_span = 0;
    m.alloc_bytes = 6000;
    strobe_build_record(&build, r, &m);
    end(7 * MS);
    const struct recorded_slice *wait = recording_find(&recording, "[cond wait]", 0);
    assert_int_equal(wait->counter[STROBE_COUNTER_SWITCHES], 10);
    assert_int_equal(wait->counter[STROBE_COUNTER_MINOR_FAULTS], 0);
    assert_int_equal(wait->counter[STROBE_COUNTER_ALLOC_BYTES], 100);
    assert_int_equal(recording_find(&recording, "f98", 0)->counter[STROBE_COUNTER_SWITCHES], 13);
    assert_int_equal(recording_find(&recording, "f99", 0)->counter[STROBE_COUNTER_SWITCHES], 0);
    assert_int_equal(recording_find(&recording, "f97", 0)->counter[STROBE_COUNTER_ALLOC_BYTES], 1100);
    recording_free(&recording);
}

static void the_counters_of_a_merged_record_are_emitted_with_its_last_sample(void **state)
{
    (void)state;
    begin();
    sample(0, "a");
    struct strobe_record r = {.ticks = 1 * MS, .duration = 4 * MS, .count = 5, .stack = stack("ab"), .thread = thread};
    struct strobe_metrics m = {.alloc_bytes = 5000, .alloc_bytes_span = 4000};
    strobe_build_record(&build, r, &m);
    sample(6 * MS, "ac");
    end(7 * MS);
    assert_int_equal(recording_find(&recording, "f98", 0)->counter[STROBE_COUNTER_ALLOC_BYTES], 4000);
    recording_free(&recording);
}

static void cpu_time_ahead_of_the_wall_is_held_back_and_counted_S55(void **state)
{
    (void)state;
    begin();
    sample_cpu(0, "a", 0);
    sample_cpu(1 * MS, "b", 1 * MS + 10 * US);
    sample_cpu(2 * MS, "c", 2 * MS);
    end(3 * MS);
    assert_int_equal(recording.stats.cpu_clamped, 1);
    assert_int_equal(recording_find(&recording, "f97", 0)->cpu_ns, 1 * MS);
    assert_int_equal(recording_find(&recording, "f98", 0)->cpu_ns, 1 * MS);
    recording_free(&recording);
}

static void cpu_time_that_falls_back_is_held_and_counted_S55(void **state)
{
    (void)state;
    begin();
    sample_cpu(0, "a", 5 * MS);
    sample_cpu(1 * MS, "b", 4 * MS);
    sample_cpu(2 * MS, "c", 6 * MS);
    end(3 * MS);
    assert_int_equal(recording.stats.cpu_clamped, 1);
    assert_int_equal(recording_find(&recording, "f97", 0)->cpu_ns, 0);
    assert_int_equal(recording_find(&recording, "f98", 0)->cpu_ns, 1 * MS);
    recording_free(&recording);
}

static void samples_at_one_time_that_know_their_cpu_time_are_all_shown_S56(void **state)
{
    (void)state;
    begin();
    sample_cpu(1 * MS, "a", 10);
    sample_cpu(1 * MS, "b", 10);
    sample_cpu(1 * MS, "c", 10);
    end(2 * MS);
    assert_int_equal(recording_find(&recording, "f98", 0)->begin_ns, 1 * MS + 1);
    assert_int_equal(recording_find(&recording, "f98", 0)->end_ns, 1 * MS + 2);
    assert_int_equal(recording_find(&recording, "f99", 0)->end_ns, 2 * MS);
    recording_free(&recording);
}

static void cpu_time_between_samples_that_know_it_is_interpolated(void **state)
{
    (void)state;
    begin();
    sample_cpu(0, "a", 0);
    sample(1 * MS, "b");
    sample(3 * MS, "c");
    sample_cpu(4 * MS, "d", 2 * MS);
    end(5 * MS);
    assert_int_equal(recording_find(&recording, "f97", 0)->cpu_ns, 500 * US);
    assert_int_equal(recording_find(&recording, "f98", 0)->cpu_ns, 1 * MS);
    assert_int_equal(recording_find(&recording, "f99", 0)->cpu_ns, 500 * US);
    assert_int_equal(recording.stats.cpu_clamped, 0);
    recording_free(&recording);
}

static void a_waits_cpu_time_is_its_own_S54(void **state)
{
    (void)state;
    begin();
    sample_cpu(0, "a", 0);
    write_record((struct strobe_record){.ticks = 10 * MS,
                                        .duration = 90 * MS,
                                        .stack = stack("a"),
                                        .thread = thread,
                                        .kind = STROBE_KIND_POLL,
                                        .cpu_ns = 9 * MS + 30 * US,
                                        .cpu_span_ns = 30 * US,
                                        .flags = STROBE_FLAG_SCOPE | STROBE_FLAG_CPU | STROBE_FLAG_BEGIN_CPU});
    sample_cpu(101 * MS, "a", 10 * MS);
    end_with(102 * MS, &(struct strobe_timeline_options){.gap_ns = 50 * MS});
    assert_int_equal(recording_find(&recording, "[poll]", 0)->cpu_ns, 30 * US);
    assert_int_equal(recording_find(&recording, "f97", 0)->cpu_ns, 10 * MS);
    recording_free(&recording);
}

static void a_merged_records_cpu_time_is_its_own_S54(void **state)
{
    (void)state;
    begin();
    sample_cpu(0, "a", 0);
    write_record((struct strobe_record){.ticks = 10 * MS,
                                        .duration = 10 * MS,
                                        .stack = stack("b"),
                                        .thread = thread,
                                        .count = 9,
                                        .kind = STROBE_KIND_CPU,
                                        .cpu_ns = 12 * MS,
                                        .cpu_span_ns = 8 * MS,
                                        .flags = STROBE_FLAG_CPU | STROBE_FLAG_BEGIN_CPU});
    end(20 * MS);
    assert_int_equal(recording_find(&recording, "f97", 0)->cpu_ns, 4 * MS);
    assert_int_equal(recording_find(&recording, "f98", 0)->cpu_ns, 8 * MS);
    assert_int_equal(recording.stats.cpu_clamped, 0);
    recording_free(&recording);
}

/* ---- threads and time */

static void thread_ids_keep_their_32_bits_S58(void **state)
{
    (void)state;
    begin();
    const uint32_t tids[] = {70000, 4464, 40000, 0x7ffffff1};
    for (unsigned i = 0; i < 4; i++) {
        thread = strobe_build_thread(&build, tids[i], "t");
        sample(i * MS, "a");
    }
    end(10 * MS);
    assert_int_equal(recording.threads, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(recording_find(&recording, "f97", i)->tid, tids[i]);
    recording_free(&recording);
}

static void a_reused_thread_id_is_two_threads_S45(void **state)
{
    (void)state;
    begin();
    sample(0, "a");
    thread = strobe_build_thread(&build, 4242, "again");
    sample(1 * MS, "a");
    end(2 * MS);
    assert_int_equal(recording.threads, 2);
    recording_free(&recording);
}

static void twelve_hours_do_not_wrap_S19(void **state)
{
    (void)state;
    const uint64_t hours = 3600000000000u;
    begin();
    sample(0, "a");
    sample(13 * hours, "b");
    sample(1000 * hours, "c");
    end(1000 * hours + MS);
    assert_int_equal(recording_find(&recording, "f98", 0)->begin_ns, 13 * hours);
    assert_int_equal(recording_find(&recording, "f99", 0)->begin_ns, 1000 * hours);
    recording_free(&recording);
}

static void slices_and_gaps_add_up_to_the_time_of_the_thread(void **state)
{
    (void)state;
    begin();
    sample(3 * MS, "ab");
    call(4 * MS, 60 * MS, "a", STROBE_KIND_READ);
    sample(200 * MS, "c");
    sample(201 * MS, "ab");
    end(400 * MS);
    uint64_t sum = 0;
    for (size_t i = 0; i < recording.slice_count; i++)
        sum += recording.slices[i].depth == 1 ? recording.slices[i].end_ns - recording.slices[i].begin_ns : 0;
    assert_int_equal(sum, 397 * MS);
    recording_free(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damaged_chain_of_parents_is_not_followed_S32),
        cmocka_unit_test(a_waits_switches_are_its_own_S54),
        cmocka_unit_test(the_counters_of_a_merged_record_are_emitted_with_its_last_sample),
        cmocka_unit_test(cpu_time_ahead_of_the_wall_is_held_back_and_counted_S55),
        cmocka_unit_test(cpu_time_that_falls_back_is_held_and_counted_S55),
        cmocka_unit_test(samples_at_one_time_that_know_their_cpu_time_are_all_shown_S56),
        cmocka_unit_test(cpu_time_between_samples_that_know_it_is_interpolated),
        cmocka_unit_test(a_waits_cpu_time_is_its_own_S54),
        cmocka_unit_test(a_merged_records_cpu_time_is_its_own_S54),
        cmocka_unit_test(thread_ids_keep_their_32_bits_S58),
        cmocka_unit_test(a_reused_thread_id_is_two_threads_S45),
        cmocka_unit_test(twelve_hours_do_not_wrap_S19),
        cmocka_unit_test(slices_and_gaps_add_up_to_the_time_of_the_thread),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
