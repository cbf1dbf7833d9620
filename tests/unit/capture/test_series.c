/* Time series: the sampler writes them between its passes, they read back from the session, and they do not count as
 * samples. */
#include "engine/base/error.h"
#include "engine/capture/series.h"
#include "engine/trace/session/reader.h"
#include "tests/unit/support/capture_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MS = 1000000 };

static struct rig rig;
static struct strobe_sampler sampler;
static struct strobe_reader *reader;

static void begin(const struct strobe_config *c)
{
    rig_start(&rig, c);
    sampler = (struct strobe_sampler){0};
    strobe_sampler_init(&sampler, &rig.engine, 99);
}

static int start(void **state)
{
    struct strobe_config c = rig_config();
    (void)state;
    begin(&c);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    rig_assert_balanced(&rig);
    rig_stop(&rig);
    strobe_reader_close(reader);
    reader = NULL;
    return 0;
}

/* Ends the session and reads it. The accounting must be consistent whatever was written. */
static void read_back(void)
{
    struct strobe_error error;
    struct strobe_clock_pair end = {rig.now, rig.now, rig.now, rig.now};
    strobe_session_finish(&rig.engine.session, &end);
    assert_int_equal(strobe_reader_open(rig.path, &reader, &error), STROBE_OK);
    if (!strobe_reader_check(reader, &error))
        fail_msg("%s", error.text);
}

static void pass(uint64_t ms)
{
    rig.now += ms * MS;
    rig.thread_cpu_ns += ms * 900000;
    strobe_sampler_pass(&sampler, rig.now);
}

static void values_come_back_by_series_and_time(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        assert_true(strobe_series_counter(&sampler, 0, STROBE_SERIES_THREADS, rig.now + i * MS, 5 + i));
        assert_true(strobe_series_counter(&sampler, 0, STROBE_SERIES_CPU_NS, rig.now + i * MS, UINT64_MAX - 3 + i));
    }
    uint64_t begin_ticks = rig.now;
    rig.now += 10 * MS;
    read_back();
    assert_int_equal(reader->counter_count, 6);
    for (uint64_t i = 0; i < 6; i++) {
        const struct strobe_reader_counter *c = &reader->counters[i];
        assert_int_equal(c->what, i < 3 ? STROBE_SERIES_CPU_NS : STROBE_SERIES_THREADS);
        assert_int_equal(c->ticks, begin_ticks + i % 3 * MS);
        assert_true(c->value == (i < 3 ? UINT64_MAX - 3 + i : 5 + i % 3));
    }
}

static void the_final_cpu_time_of_a_thread_is_no_value_of_the_process(void **state)
{
    (void)state;
    rig.now += 10 * MS;
    assert_true(strobe_series_counter(&sampler, 0, STROBE_SERIES_END_CPU_NS, rig.now, 5));
    read_back();
    assert_int_equal(reader->counter_count, 0);
    assert_int_equal(reader->malformed, 0);
    assert_int_equal(reader->threads[0].final_ticks, rig.now);
    assert_int_equal(reader->threads[0].final_cpu_ns, 5);
}

static void values_are_no_samples_of_the_thread_that_they_are_written_for(void **state)
{
    (void)state;
    pass(2);
    for (int i = 0; i < 40; i++)
        strobe_series_counter(&sampler, 0, STROBE_SERIES_THREADS, rig.now, 3);
    strobe_series_hitch(&sampler, 0, rig.now - 50 * MS, rig.now, 0);
    read_back();
    assert_int_equal(reader->samples, 1);
    assert_int_equal(reader->threads[0].samples, 1);
    assert_int_equal(reader->threads[0].item_count, 1);
    assert_int_equal(reader->threads[0].kind[STROBE_KIND_COUNTER].present, 40);
    assert_int_equal(reader->threads[0].kind[STROBE_KIND_HITCH].sampled, 1);
}

/* The sampler merges into its last record in place. It must not do so when that slot now holds a value. */
static void a_value_between_two_equal_samples_harms_neither(void **state)
{
    (void)state;
    pass(2);
    strobe_series_counter(&sampler, 0, STROBE_SERIES_CPU_NS, rig.now, 7);
    pass(2);
    pass(2);
    read_back();
    assert_int_equal(reader->samples, 3);
    assert_int_equal(reader->counter_count, 1);
    assert_int_equal(reader->counters[0].value, 7);
}

static void a_turn_of_33_ms_is_a_hitch_and_one_of_250_ms_a_hang(void **state)
{
    (void)state;
    uint64_t at = rig.now;
    rig.now += 2000 * MS;
    assert_false(strobe_series_hitch(&sampler, 0, at, at + 33 * MS - 1, 0));
    assert_false(strobe_series_hitch(&sampler, 0, at + 1, at, 0));
    assert_true(strobe_series_hitch(&sampler, 0, at + 1 * MS, at + 34 * MS, 0));
    assert_true(strobe_series_hitch(&sampler, 0, at + 40 * MS, at + 290 * MS - 1, 0));
    assert_true(strobe_series_hitch(&sampler, 0, at + 300 * MS, at + 550 * MS, 9));
    read_back();
    assert_int_equal(reader->hitch_count, 3);
    assert_int_equal(reader->hitches[0].how, STROBE_HITCH_FRAME);
    assert_int_equal(reader->hitches[0].begin_ticks, at + 1 * MS);
    assert_int_equal(reader->hitches[0].end_ticks, at + 34 * MS);
    assert_int_equal(reader->hitches[1].how, STROBE_HITCH_FRAME);
    assert_int_equal(reader->hitches[2].how, STROBE_HITCH_HANG);
    assert_int_equal(reader->hitches[2].stack, 9);
}

static void a_hitch_reported_while_it_lasts_is_counted_once_with_its_final_length(void **state)
{
    (void)state;
    uint64_t at = rig.now;
    rig.now += 1000 * MS;
    strobe_series_hitch(&sampler, 0, at, at + 100 * MS, 5);
    strobe_series_hitch(&sampler, 0, at, at + 400 * MS, 0);
    strobe_series_hitch(&sampler, 0, at, at + 200 * MS, 0);
    strobe_series_hitch(&sampler, 0, at + 500 * MS, at + 600 * MS, 0);
    read_back();
    assert_int_equal(reader->hitch_count, 2);
    assert_int_equal(reader->hitches[0].end_ticks, at + 400 * MS);
    assert_int_equal(reader->hitches[0].how, STROBE_HITCH_HANG);
    assert_int_equal(reader->hitches[0].stack, 5);
    assert_int_equal(reader->hitches[1].end_ticks, at + 600 * MS);
}

static void values_that_the_ring_refuses_are_counted_and_are_no_lost_samples_S14(void **state)
{
    struct strobe_config c = rig_config();
    (void)state;
    c.ring_mode = STROBE_KEEP_OLDEST;
    c.ring_slots = 64;
    rig_stop(&rig);
    begin(&c);
    uint32_t kept = 0;
    for (int i = 0; i < 100; i++)
        kept += strobe_series_counter(&sampler, 0, STROBE_SERIES_THREADS, rig.now, 2);
    assert_in_range(kept, 1, 64);
    read_back();
    assert_int_equal(reader->counter_count, kept);
    assert_int_equal(reader->threads[0].kind[STROBE_KIND_COUNTER].dropped, 100 - kept);
    assert_int_equal(reader->threads[0].dropped, 0);
    assert_int_equal(reader->dropped, 0);
}

static void values_that_are_overwritten_are_counted_and_are_no_lost_samples_S14(void **state)
{
    struct strobe_config c = rig_config();
    (void)state;
    c.ring_slots = 64;
    rig_stop(&rig);
    begin(&c);
    pass(2);
    for (int i = 0; i < 500; i++)
        strobe_series_counter(&sampler, 0, STROBE_SERIES_THREADS, rig.now, 2);
    read_back();
    assert_true(reader->threads[0].kind[STROBE_KIND_COUNTER].overwritten >= 500 - 64);
    assert_int_equal(reader->threads[0].overwritten, 1); /* the overwritten sample */
}

static void a_thread_that_is_not_there_gets_no_values(void **state)
{
    (void)state;
    assert_false(strobe_series_counter(&sampler, 1, STROBE_SERIES_THREADS, rig.now, 2));
    assert_false(strobe_series_hitch(&sampler, UINT32_MAX, rig.now, rig.now + 40 * MS, 0));
    read_back();
    assert_int_equal(reader->counter_count + reader->hitch_count, 0);
}

static void values_are_due_every_100_ms_and_missed_ones_are_not_made_up_for(void **state)
{
    (void)state;
    uint64_t due = 0;
    assert_true(strobe_series_due(&sampler, &due, rig.now));
    assert_false(strobe_series_due(&sampler, &due, rig.now + 100 * MS - 1));
    assert_true(strobe_series_due(&sampler, &due, rig.now + 100 * MS));
    assert_true(strobe_series_due(&sampler, &due, rig.now + 1000 * MS));
    assert_false(strobe_series_due(&sampler, &due, rig.now + 1001 * MS));
}

/* Such a series comes from a flipped bit in a file, or from a writer newer than the reader. */
static void a_series_that_no_writer_writes_is_left_out(void **state)
{
    (void)state;
    struct strobe_account *a = rig.thread->entry->account;
    const struct strobe_record bad[] = {
        {.kind = STROBE_KIND_COUNTER, .cpu_span_ns = STROBE_SERIES_COUNT},
        {.kind = STROBE_KIND_COUNTER, .duration = 1},
        {.kind = STROBE_KIND_HITCH, .duration = 1, .arg = STROBE_HITCH_COUNT},
        {.kind = STROBE_KIND_HITCH},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct strobe_record r = bad[i];
        r.count = 1;
        r.ticks = rig.now;
        assert_int_equal(strobe_ring_write(&rig.engine.session.ring, &sampler.writer, &r, NULL), STROBE_OK);
        strobe_bump(&a[r.kind].requests, 1);
        strobe_bump(&a[r.kind].sampled, 1);
    }
    struct strobe_error error;
    assert_int_equal(strobe_reader_open(rig.path, &reader, &error), STROBE_OK);
    assert_int_equal(reader->malformed, 4);
    assert_int_equal(reader->counter_count + reader->hitch_count + reader->item_count, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(values_come_back_by_series_and_time),
        TEST(the_final_cpu_time_of_a_thread_is_no_value_of_the_process),
        TEST(values_are_no_samples_of_the_thread_that_they_are_written_for),
        TEST(a_value_between_two_equal_samples_harms_neither),
        TEST(a_turn_of_33_ms_is_a_hitch_and_one_of_250_ms_a_hang),
        TEST(a_hitch_reported_while_it_lasts_is_counted_once_with_its_final_length),
        TEST(values_that_the_ring_refuses_are_counted_and_are_no_lost_samples_S14),
        TEST(values_that_are_overwritten_are_counted_and_are_no_lost_samples_S14),
        TEST(a_thread_that_is_not_there_gets_no_values),
        TEST(values_are_due_every_100_ms_and_missed_ones_are_not_made_up_for),
        TEST(a_series_that_no_writer_writes_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
