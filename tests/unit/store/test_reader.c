/* The reader of sessions, on intact and damaged sessions. */
#include "engine/base/error.h"
#include "engine/trace/session/reader.h"

#include "engine/trace/build/timeline.h"
#include "tests/unit/support/recording.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static struct strobe_build build;
static struct strobe_reader *reader;
static uint64_t seed;

static void begin_with(const struct strobe_config *config)
{
    strobe_build_begin(&build, temp_dir_path("session"), config);
}

static void begin(void)
{
    struct strobe_config config = strobe_build_config();
    begin_with(&config);
}

static void sample(uint32_t thread, uint64_t ticks, uint64_t duration, uint32_t count)
{
    const uint64_t address[] = {0x100, 0x200, 0x300 + ticks % 7 * 256};
    struct strobe_record r = {.ticks = ticks,
                              .duration = duration,
                              .count = count,
                              .thread = thread,
                              .stack = strobe_build_stack(&build, address, 3)};
    strobe_build_record(&build, r, NULL);
}

static void open_reader(void)
{
    struct strobe_error error = {""};
    if (strobe_reader_open(temp_dir_path("session"), &reader, &error) != STROBE_OK)
        fail_msg("%s", error.text);
}

static void assert_sound(int sound, const char *wanted)
{
    struct strobe_error error = {""};
    int found = strobe_reader_check(reader, &error);
    if (found != sound || !strstr(error.text, wanted))
        fail_msg("expected %s '%s', found %s '%s'", sound ? "sound" : "unsound", wanted, found ? "sound" : "unsound",
                 error.text);
    strobe_reader_close(reader);
}

/* ---- records */

static void every_record_is_found_by_thread_and_time(void **state)
{
    (void)state;
    enum { THREADS = 5, RECORDS = 3000 };
    begin();
    for (uint32_t t = 0; t < THREADS; t++)
        strobe_build_thread(&build, 100 + t, "t");
    uint64_t sum = 0, found = 0;
    for (uint32_t i = 0; i < RECORDS; i++) {
        uint64_t ticks = strobe_trial_below(&seed, 100000);
        sum += ticks * (i % THREADS + 1);
        sample(i % THREADS, ticks, strobe_trial_below(&seed, 3), 1);
    }
    strobe_build_end(&build, 200000);
    open_reader();
    assert_int_equal(reader->item_count, RECORDS);
    assert_int_equal(reader->thread_count, THREADS);
    for (uint32_t t = 0; t < THREADS; t++) {
        const struct strobe_reader_thread *thread = &reader->threads[t];
        assert_int_equal(thread->item_count, RECORDS / THREADS);
        for (size_t i = 0; i < thread->item_count; i++) {
            const struct strobe_record *r = &thread->items[i].record, *before = r;
            if (i)
                before = &thread->items[i - 1].record;
            assert_int_equal(r->thread, t);
            assert_true(before->ticks < r->ticks || (before->ticks == r->ticks && before->duration >= r->duration));
            if (i && before->ticks == r->ticks && before->duration == r->duration)
                assert_true(thread->items[i - 1].slot < thread->items[i].slot);
            found += (r->ticks - STROBE_BUILD_BEGIN_NS) * (t + 1);
        }
    }
    assert_int_equal(found, sum);
    assert_sound(1, "");
}

static void metrics_stay_with_their_record(void **state)
{
    (void)state;
    begin();
    strobe_build_thread(&build, 1, "t");
    for (uint32_t i = 0; i < 100; i++) {
        struct strobe_record r = {.ticks = 1000 - i};
        struct strobe_metrics m = {.alloc_bytes = 1000 - i};
        strobe_build_record(&build, r, i % 3 ? &m : NULL);
    }
    strobe_build_end(&build, 2000);
    open_reader();
    assert_int_equal(reader->metrics_count, 66);
    for (size_t i = 0; i < reader->item_count; i++) {
        const struct strobe_item *item = &reader->items[i];
        uint64_t ticks = item->record.ticks - STROBE_BUILD_BEGIN_NS;
        assert_int_equal(item->metrics != 0, (1000 - ticks) % 3 != 0);
        if (item->metrics)
            assert_int_equal(reader->metrics[item->metrics - 1].alloc_bytes, ticks);
    }
    assert_sound(1, "");
}

static void a_thread_without_a_name_gets_one(void **state)
{
    (void)state;
    begin();
    strobe_build_thread(&build, 77, "");
    strobe_build_end(&build, 1);
    open_reader();
    assert_string_equal(reader->threads[0].name, "thread 77");
    strobe_reader_close(reader);
}

static void ticks_become_ns_of_boot_time_at_any_rate_S19(void **state)
{
    (void)state;
    const uint64_t rates[] = {1, 1000, 19200000, 24000000, 999999999, 1000000000, 2894551000, 10000000000};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        begin();
        build.session.header->ticks_per_second = rates[i];
        strobe_build_kill(&build);
        open_reader();
        for (uint64_t seconds = 0; seconds < 100000000; seconds = seconds * 7 + 1) {
            if (seconds > UINT64_MAX / 4 / rates[i])
                break;
            double wanted = (double)seconds * 1e9, got = (double)strobe_reader_span_ns(reader, seconds * rates[i]);
            assert_true(got - wanted < 1 + wanted * 1e-12 && wanted - got < 1 + wanted * 1e-12);
            uint64_t at = strobe_reader_ns(reader, STROBE_BUILD_BEGIN_NS + seconds * rates[i]);
            assert_int_equal(at, STROBE_BUILD_BEGIN_NS + strobe_reader_span_ns(reader, seconds * rates[i]));
        }
        assert_int_equal(strobe_reader_ns(reader, 5), STROBE_BUILD_BEGIN_NS);
        strobe_reader_close(reader);
    }
}

/* ---- accounts */

static void what_was_overwritten_is_counted_by_thread_and_kind(void **state)
{
    (void)state;
    struct strobe_config config = strobe_build_config();
    config.ring_slots = 256;
    begin_with(&config);
    for (uint32_t t = 0; t < 3; t++)
        strobe_build_thread(&build, 100 + t, "t");
    for (uint32_t i = 0; i < 2000; i++)
        sample(i % 3, i, i % 5, i % 5 + 1);
    strobe_build_end(&build, 3000);
    open_reader();
    int64_t overwritten = 0;
    for (uint32_t t = 0; t < 3; t++) {
        const struct strobe_tally *a = &reader->threads[t].kind[STROBE_KIND_ALLOC];
        assert_int_equal(a->sampled, a->present + (uint64_t)a->overwritten);
        assert_int_equal(a->in_flight, 0);
        overwritten += a->overwritten;
    }
    assert_true(overwritten > 0);
    assert_int_equal(overwritten, reader->overwrote);
    assert_int_equal(reader->all.sampled, 6000);
    assert_sound(1, "");
}

static void each_identity_that_fails_is_reported(void **state)
{
    (void)state;
    const struct {
        const char *message;
        int closed;
    } cases[] = {
        {"2 requests, but 1 outcomes", 1}, {"5 requests without an outcome", 0}, {"samples taken, but", 1},
        {"3 suspends, but 2 resumes", 1},  {"3 suspends, but 1 resumes", 0},
    };
    for (unsigned i = 0; i < 5; i++) {
        begin();
        strobe_build_thread(&build, 100, "t");
        sample(0, 1, 0, 1);
        struct strobe_session_header *h = build.session.header;
        struct strobe_account *a = &build.session.threads[0].account[STROBE_KIND_ALLOC];
        if (i < 2)
            strobe_bump(&a->requests, i == 0 ? 1 : 5);
        if (i == 2) {
            strobe_bump(&a->requests, 9);
            strobe_bump(&a->sampled, 9);
        }
        strobe_store_relaxed(&h->suspends, i >= 3 ? 3 : 0);
        strobe_store_relaxed(&h->resumes, i == 3 ? 2 : i == 4 ? 1 : 0);
        if (cases[i].closed)
            strobe_build_end(&build, 10);
        else
            strobe_build_kill(&build);
        open_reader();
        assert_sound(0, cases[i].message);
    }
}

static void a_killed_session_may_have_writes_under_way(void **state)
{
    (void)state;
    begin();
    strobe_build_thread(&build, 100, "t");
    sample(0, 1, 0, 1);
    struct strobe_account *a = &build.session.threads[0].account[STROBE_KIND_ALLOC];
    strobe_bump(&a->requests, 1);
    strobe_store_relaxed(&build.session.header->suspends, 1);
    strobe_build_kill(&build);
    open_reader();
    assert_int_equal(reader->closed, 0);
    assert_int_equal(reader->all.in_flight, 1);
    assert_sound(1, "");
}

static void a_killed_session_without_a_record_may_have_its_first_under_way(void **state)
{
    (void)state;
    begin();
    strobe_build_thread(&build, 100, "t");
    struct strobe_account *a = &build.session.threads[0].account[STROBE_KIND_ALLOC];
    strobe_bump(&a->requests, 1);
    strobe_bump(&a->sampled, 1);
    strobe_build_kill(&build);
    open_reader();
    assert_int_equal(reader->item_count, 0);
    assert_int_equal(reader->all.sampled, 1);
    assert_sound(1, "");
}

static void a_half_written_record_is_counted_and_read_only_if_it_was_committed(void **state)
{
    (void)state;
    begin();
    strobe_build_thread(&build, 100, "t");
    sample(0, 1, 0, 1);
    sample(0, 2, 0, 1);
    sample(0, 3, 0, 1);
    /* The second record is being written for the first time. The third was committed and is being rewritten. */
    strobe_a64 *second = &build.session.ring.slots[1].seq, *third = &build.session.ring.slots[2].seq;
    strobe_store_relaxed(second, (strobe_load_relaxed(second) >> 26 << 26) | 1);
    strobe_store_relaxed(third, strobe_load_relaxed(third) | 1);
    strobe_build_kill(&build);
    open_reader();
    assert_int_equal(reader->half_written, 2);
    assert_int_equal(reader->item_count, 2);
    assert_int_equal(reader->items[1].record.ticks, STROBE_BUILD_BEGIN_NS + 3);
    assert_sound(1, "");
}

/* Adds that thread `thread` was seen in a system call. */
static void seen_in_call(uint32_t t, uint64_t ticks, uint64_t call)
{
    struct strobe_record r = {.ticks = STROBE_BUILD_BEGIN_NS + ticks,
                              .arg = call,
                              .thread = t,
                              .count = 1,
                              .kind = STROBE_KIND_COUNTER,
                              .cpu_span_ns = STROBE_SERIES_WAIT_CALL};
    assert_int_equal(strobe_ring_write(&build.session.ring, &build.writers[0], &r, NULL), STROBE_OK);
}

static void each_thread_has_its_wait_calls_by_time(void **state)
{
    (void)state;
    begin();
    for (uint32_t tid = 100; tid < 103; tid++)
        strobe_build_thread(&build, tid, "t");
    seen_in_call(2, 7, 70);
    seen_in_call(0, 5, 50);
    seen_in_call(2, 3, 30);
    seen_in_call(0, 90, 5);
    strobe_build_kill(&build);
    open_reader();
    assert_int_equal(reader->counter_count, 0);
    assert_int_equal(reader->threads[0].wait_call_count, 2);
    assert_int_equal(reader->threads[0].wait_calls[0].call, 50);
    assert_int_equal(reader->threads[0].wait_calls[1].call, 5);
    assert_int_equal(reader->threads[1].wait_call_count, 0);
    assert_int_equal(reader->threads[2].wait_call_count, 2);
    assert_int_equal(reader->threads[2].wait_calls[0].ticks, STROBE_BUILD_BEGIN_NS + 3);
    assert_int_equal(reader->threads[2].wait_calls[1].ticks, STROBE_BUILD_BEGIN_NS + 7);
    assert_int_equal(reader->last_ticks, STROBE_BUILD_BEGIN_NS + 90);
    strobe_reader_close(reader);
}

/* ---- damage */

static void a_record_that_no_writer_writes_is_left_out(void **state)
{
    (void)state;
    const struct strobe_record bad[] = {
        {.ticks = 1, .thread = 9},
        {.ticks = 1, .thread = 1},
        {.ticks = 1, .kind = STROBE_KIND_COUNT},
        {.ticks = 1, .count = 4000000000u},
        {.ticks = 1, .duration = UINT64_MAX - 5},
        {.ticks = UINT64_MAX / 2},
        {.ticks = 1, .kind = STROBE_KIND_WAKE, .cpu_span_ns = 9 + 1},
        {.ticks = 1, .kind = STROBE_KIND_COUNTER, .cpu_span_ns = STROBE_SERIES_COUNT},
        {.ticks = 1, .kind = STROBE_KIND_COUNTER, .duration = 1},
        {.ticks = 1, .kind = STROBE_KIND_COUNTER, .cpu_span_ns = STROBE_SERIES_END_CPU_NS, .duration = 1},
        {.ticks = 1, .kind = STROBE_KIND_COUNTER, .cpu_span_ns = STROBE_SERIES_WAIT_CALL, .duration = 1},
        {.ticks = 1, .kind = STROBE_KIND_HITCH},
        {.ticks = 1, .kind = STROBE_KIND_HITCH, .duration = 1, .arg = STROBE_HITCH_COUNT},
        {.ticks = 1, .kind = STROBE_KIND_ANNOTATION, .cpu_span_ns = STROBE_ANNOTATION_COUNT},
        {.ticks = 1, .kind = STROBE_KIND_ANNOTATION, .cpu_span_ns = STROBE_ANNOTATION_COUNTER, .duration = 1},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        begin();
        strobe_build_thread(&build, 100, "t");
        sample(0, 1, 0, 1);
        struct strobe_record r = bad[i];
        struct strobe_ring_writer *w = &build.writers[0];
        r.ticks += STROBE_BUILD_BEGIN_NS;
        r.count = r.count ? r.count : 1;
        r.kind = r.kind ? r.kind : STROBE_KIND_FREE;
        assert_int_equal(strobe_ring_write(&build.session.ring, w, &r, NULL), STROBE_OK);
        sample(0, 2, 0, 1);
        strobe_build_end(&build, 10);
        open_reader();
        assert_int_equal(reader->malformed, 1);
        assert_int_equal(reader->item_count, 2);
        assert_sound(0, "what no writer writes");
    }
}

static void a_file_that_is_no_session_is_refused_with_an_error_text(void **state)
{
    (void)state;
    struct strobe_error error;
    temp_dir_write("session", "not a session at all, but long enough to be looked at", 53, 0644);
    assert_int_equal(strobe_reader_open(temp_dir_path("session"), &reader, &error), STROBE_BAD_INPUT);
    assert_null(reader);
    assert_string_equal(error.text, "header: expected a Strobe session whose parts fit together");
    assert_int_equal(strobe_reader_open(temp_dir_path("nothing"), &reader, &error), STROBE_IO);
    assert_string_equal(error.text, "No such file or directory");

    begin();
    build.session.header->version = STROBE_SESSION_VERSION + 1;
    strobe_build_kill(&build);
    assert_int_equal(strobe_reader_open(temp_dir_path("session"), &reader, &error), STROBE_BAD_VERSION);
    begin();
    build.session.header->ticks_per_second = 0;
    strobe_build_kill(&build);
    assert_int_equal(strobe_reader_open(temp_dir_path("session"), &reader, &error), STROBE_BAD_INPUT);
    assert_string_equal(error.text, "header: expected a Strobe session whose parts fit together");
    begin();
    strobe_build_kill(&build);
    struct stat whole;
    char expected[120];
    assert_int_equal(stat(temp_dir_path("session"), &whole), 0);
    assert_int_equal(truncate(temp_dir_path("session"), 10000), 0);
    snprintf(expected, sizeof expected, "end of file: the file has 10000 bytes, its header states %llu",
             (unsigned long long)whole.st_size);
    assert_int_equal(strobe_reader_open(temp_dir_path("session"), &reader, &error), STROBE_TRUNCATED);
    assert_string_equal(error.text, expected);
    assert_int_equal(truncate(temp_dir_path("session"), 3000), 0);
    assert_int_equal(strobe_reader_open(temp_dir_path("session"), &reader, &error), STROBE_TRUNCATED);
    assert_string_equal(error.text, "end of file: the file has 3000 bytes, a header has 3864");
    temp_dir_write("session", "", 0, 0644);
    assert_int_equal(strobe_reader_open(temp_dir_path("session"), &reader, &error), STROBE_BAD_INPUT);
    assert_string_equal(error.text, "byte 0: an empty file, expected a session");
}

/* Flips bits, mostly in bytes in use: header, entries, nodes and slots. */
static void flip_bits(unsigned char *file, size_t bytes, unsigned flips)
{
    for (unsigned i = 0; i < flips;) {
        size_t at = strobe_trial_random(&seed) % bytes;
        if (!file[at] && strobe_trial_below(&seed, 50))
            continue;
        file[at] ^= (unsigned char)(1u << strobe_trial_below(&seed, 8));
        i++;
    }
}

/* The process died while it wrote the entry, or the file is damaged. */
static void an_incomplete_image_entry_is_skipped_and_every_path_ends(void **state)
{
    (void)state;
    struct strobe_config config = strobe_build_config();
    begin_with(&config);
    strobe_build_image(&build, "/lib/whole.so", 0x1000, 0x2000);
    strobe_build_image(&build, "/lib/unpublished.so", 0x3000, 0x4000);
    strobe_build_image(&build, "/lib/endless.so", 0x5000, 0x6000);
    strobe_store_release(&build.session.images[1].published, 0);
    memset(build.session.images[2].path, 'x', sizeof build.session.images[2].path);
    strobe_build_end(&build, 1000000);
    assert_int_equal(strobe_reader_open(temp_dir_path("session"), &reader, NULL), STROBE_OK);
    assert_non_null(strobe_reader_image(reader, 0));
    assert_string_equal(strobe_reader_image(reader, 0)->path, "/lib/whole.so");
    assert_null(strobe_reader_image(reader, 1));
    const struct strobe_image_entry *endless = strobe_reader_image(reader, 2);
    assert_true(!endless || memchr(endless->path, 0, sizeof endless->path));
    assert_null(strobe_reader_image(reader, 3));
    strobe_reader_close(reader);
}

static void a_damaged_session_is_read_or_refused_without_harm(void **state)
{
    (void)state;
    struct strobe_config config = strobe_build_config();
    config.ring_slots = 512;
    config.stack_nodes = 128;
    config.threads_max = 4;
    config.images_max = 2;
    begin_with(&config);
    for (uint32_t t = 0; t < 3; t++)
        strobe_build_thread(&build, 100 + t, "t");
    for (uint32_t i = 0; i < 300; i++)
        sample(i % 3, i * 1000000, i % 11 == 0 ? 2500000 : 0, i % 11 == 0 ? 3 : 1);
    for (uint32_t i = 0; i < 20; i++) {
        struct strobe_record r = {
            .ticks = i * 5000000, .duration = 900000, .kind = STROBE_KIND_READ, .flags = STROBE_FLAG_SCOPE, .stack = 3};
        struct strobe_metrics m = {.alloc_bytes = i};
        strobe_build_record(&build, r, &m);
    }
    strobe_build_end(&build, 400000000);
    size_t bytes, refused = 0, read = 0;
    char *good = temp_dir_read("session", &bytes);
    unsigned char *bad = malloc(bytes);
    assert_non_null(bad);
    for (uint32_t round = strobe_trial_rounds(1500); round--;) {
        memcpy(bad, good, bytes);
        flip_bits(bad, bytes, 1 + strobe_trial_below(&seed, 30));
        temp_dir_write("session", bad, bytes, 0644);
        if (strobe_reader_open(temp_dir_path("session"), &reader, NULL) != STROBE_OK) {
            refused++;
            continue;
        }
        struct strobe_error error;
        strobe_reader_check(reader, &error);
        strobe_reader_close(reader);
        struct recording recording;
        recording_read(&recording, temp_dir_path("session"), NULL);
        recording_free(&recording);
        read++;
    }
    free(good);
    free(bad);
    print_message("%zu refused, %zu read\n", refused, read);
    assert_true(read > refused / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_has_its_wait_calls_by_time),
        cmocka_unit_test(every_record_is_found_by_thread_and_time),
        cmocka_unit_test(metrics_stay_with_their_record),
        cmocka_unit_test(a_thread_without_a_name_gets_one),
        cmocka_unit_test(ticks_become_ns_of_boot_time_at_any_rate_S19),
        cmocka_unit_test(what_was_overwritten_is_counted_by_thread_and_kind),
        cmocka_unit_test(each_identity_that_fails_is_reported),
        cmocka_unit_test(a_killed_session_may_have_writes_under_way),
        cmocka_unit_test(a_killed_session_without_a_record_may_have_its_first_under_way),
        cmocka_unit_test(a_half_written_record_is_counted_and_read_only_if_it_was_committed),
        cmocka_unit_test(a_record_that_no_writer_writes_is_left_out),
        cmocka_unit_test(a_file_that_is_no_session_is_refused_with_an_error_text),
        cmocka_unit_test(an_incomplete_image_entry_is_skipped_and_every_path_ends),
        cmocka_unit_test(a_damaged_session_is_read_or_refused_without_harm),
    };
    seed = strobe_trial_seed("test_reader");
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
