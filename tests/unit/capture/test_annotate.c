/* Annotations: sections and counters that the program writes through its threads, beside their samples. */
#include "engine/base/error.h"
#include "engine/capture/annotate.h"
#include "engine/trace/session/reader.h"
#include "tests/unit/support/capture_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MS = 1000000 };

static struct rig rig;
static struct strobe_reader *reader;

static int start_rig(void **state)
{
    struct strobe_config c = rig_config();
    (void)state;
    rig_start(&rig, &c);
    rig_stack(&rig, 3, 0x5000);
    return 0;
}

static int stop_rig(void **state)
{
    (void)state;
    rig_assert_balanced(&rig);
    rig_stop(&rig);
    strobe_reader_close(reader);
    reader = NULL;
    return 0;
}

static void begin_at(uint64_t ms, const char *name)
{
    rig.now = ms * MS;
    strobe_section_begin(rig.thread, name);
}

static void end_at(uint64_t ms)
{
    rig.now = ms * MS;
    strobe_section_end(rig.thread);
}

static void count_at(uint64_t ms, const char *name, int64_t value)
{
    rig.now = ms * MS;
    strobe_counter_report(rig.thread, name, value);
}

static void read_back(void)
{
    struct strobe_error error;
    struct strobe_clock_pair end = {rig.now, rig.now, rig.now, rig.now};
    strobe_session_finish(&rig.engine.session, &end);
    assert_int_equal(strobe_reader_open(rig.path, &reader, &error), STROBE_OK);
    if (!strobe_reader_check(reader, &error))
        fail_msg("%s", error.text);
}

static void expect_annotation(size_t i, uint64_t ms, enum strobe_annotation what, const char *name, int64_t value)
{
    char text[STROBE_ANNOTATION_NAME_BYTES + 1];
    const struct strobe_reader_annotation *a = &reader->annotations[i];
    assert_true(i < reader->annotation_count);
    assert_int_equal(a->ticks, ms * MS);
    assert_int_equal(a->what, what);
    assert_int_equal((int64_t)a->value, value);
    assert_int_equal(a->thread, rig.thread->index);
    assert_int_equal(strobe_reader_annotation_name(reader, a, text), name != NULL);
    if (name)
        assert_string_equal(text, name);
}

/* `depth` and `ms_long` as recorded. */
static void expect_section(size_t i, uint64_t ms, enum strobe_annotation what, const char *name, int64_t depth,
                           uint64_t ms_long)
{
    expect_annotation(i, ms, what, name, depth);
    assert_int_equal(reader->annotations[i].duration, ms_long * MS);
}

static void annotations_come_back_in_order_with_names_and_values(void **state)
{
    (void)state;
    uint64_t t = rig.now / MS;
    begin_at(t + 1, "load");
    count_at(t + 2, "bytes", INT64_MIN);
    begin_at(t + 2, "");
    end_at(t + 3);
    end_at(t + 4);
    count_at(t + 5, "bytes", 7);
    read_back();
    assert_int_equal(reader->annotation_count, 4);
    expect_section(0, t + 1, STROBE_ANNOTATION_BEGIN, "load", 1, 3);
    expect_annotation(1, t + 2, STROBE_ANNOTATION_COUNTER, "bytes", INT64_MIN);
    expect_section(2, t + 2, STROBE_ANNOTATION_BEGIN, "", 2, 1);
    expect_annotation(3, t + 5, STROBE_ANNOTATION_COUNTER, "bytes", 7);
    assert_int_equal(reader->annotations[1].stack, reader->annotations[3].stack);
    assert_int_equal(reader->samples, 0);
    assert_int_equal(rig_account(&rig, STROBE_KIND_ANNOTATION).sampled, 6);
}

static void a_section_without_length_lasts_one_tick(void **state)
{
    (void)state;
    uint64_t t = rig.now / MS;
    begin_at(t + 1, "short");
    end_at(t + 1);
    read_back();
    assert_int_equal(reader->annotations[0].duration, 1);
}

/* More records than a chunk has, so that the thread no longer owns the begin. */
static void fill_a_chunk(uint64_t ms)
{
    for (int i = 0; i < STROBE_CHUNK_SLOTS; i++)
        count_at(ms, "filler", i);
}

static void the_end_of_a_section_whose_chunk_was_sealed_is_a_whole_record(void **state)
{
    (void)state;
    uint64_t t = rig.now / MS;
    begin_at(t + 1, "outer");
    begin_at(t + 2, "long");
    fill_a_chunk(t + 3);
    end_at(t + 4);
    end_at(t + 6);
    read_back();
    assert_int_equal(reader->annotation_count, 4 + STROBE_CHUNK_SLOTS);
    expect_section(0, t + 1, STROBE_ANNOTATION_BEGIN, "outer", 1, 0);
    expect_section(1, t + 1, STROBE_ANNOTATION_END, "outer", 1, 5);
    expect_section(2, t + 2, STROBE_ANNOTATION_BEGIN, "long", 2, 0);
    expect_section(3, t + 2, STROBE_ANNOTATION_END, "long", 2, 2);
}

static void the_end_of_a_section_begun_while_paused_has_only_its_depth(void **state)
{
    (void)state;
    uint64_t t = rig.now / MS;
    begin_at(t + 1, "outer");
    strobe_store_seq_cst(strobe_switch, STROBE_PAUSED);
    begin_at(t + 2, "unseen");
    strobe_store_seq_cst(strobe_switch, STROBE_ON);
    end_at(t + 3);
    end_at(t + 4);
    read_back();
    assert_int_equal(reader->annotation_count, 2);
    expect_section(0, t + 1, STROBE_ANNOTATION_BEGIN, "outer", 1, 3);
    expect_section(1, t + 3, STROBE_ANNOTATION_END, NULL, 2, 0);
}

static void a_section_that_ends_while_paused_leaves_the_one_around_it(void **state)
{
    (void)state;
    uint64_t t = rig.now / MS;
    begin_at(t + 1, "outer");
    begin_at(t + 2, "inner");
    strobe_store_seq_cst(strobe_switch, STROBE_PAUSED);
    end_at(t + 3);
    strobe_store_seq_cst(strobe_switch, STROBE_ON);
    end_at(t + 4);
    read_back();
    assert_int_equal(reader->annotation_count, 2);
    expect_section(0, t + 1, STROBE_ANNOTATION_BEGIN, "outer", 1, 3);
    expect_section(1, t + 2, STROBE_ANNOTATION_BEGIN, "inner", 2, 0);
}

static void sections_deeper_than_the_thread_keeps_end_by_their_depth(void **state)
{
    (void)state;
    uint64_t t = rig.now / MS;
    for (uint64_t i = 0; i <= STROBE_SECTIONS_MAX; i++)
        begin_at(t + 1 + i, "deep");
    end_at(t + 100);
    for (uint64_t i = 0; i < STROBE_SECTIONS_MAX; i++)
        end_at(t + 101 + i);
    end_at(t + 200);
    read_back();
    assert_int_equal(reader->annotation_count, 2 * STROBE_SECTIONS_MAX + 3);
    expect_section(reader->annotation_count - 1, t + 200, STROBE_ANNOTATION_END, NULL, 0, 0);
    expect_section(reader->annotation_count - 2, t + 100, STROBE_ANNOTATION_END, NULL, STROBE_SECTIONS_MAX + 1, 0);
}

/* As a buffer that is written again does, or a library that takes the place of one that was unloaded. */
static void another_text_at_the_same_place_is_another_name(void **state)
{
    char place[80] = "draw a";
    (void)state;
    uint64_t t = rig.now / MS;
    count_at(t + 1, place, 1);
    place[5] = 'b';
    count_at(t + 2, place, 2);
    memset(place, 'd', 70);
    count_at(t + 3, place, 3);
    place[5] = '\0';
    count_at(t + 4, place, 4);
    count_at(t + 5, "draw a", 5);
    read_back();
    expect_annotation(0, t + 1, STROBE_ANNOTATION_COUNTER, "draw a", 1);
    expect_annotation(1, t + 2, STROBE_ANNOTATION_COUNTER, "draw b", 2);
    expect_annotation(3, t + 4, STROBE_ANNOTATION_COUNTER, "ddddd", 4);
    assert_int_equal(reader->annotations[0].stack, reader->annotations[4].stack);
}

/* Names of each length around the words' borders, with bytes of any value. */
static void a_name_of_any_length_comes_back_cut_to_its_limit(void **state)
{
    char name[STROBE_ANNOTATION_NAME_BYTES + 9], text[STROBE_ANNOTATION_NAME_BYTES + 1];
    (void)state;
    for (size_t n = 0; n < sizeof name; n++) {
        uint64_t words[STROBE_ANNOTATION_WORDS];
        for (size_t i = 0; i < n; i++)
            name[i] = (char)(255 - i % 255);
        name[n] = '\0';
        uint32_t count = strobe_annotation_pack(name, words);
        assert_int_equal(count, n <= 7 ? 1 : n >= STROBE_ANNOTATION_NAME_BYTES ? STROBE_ANNOTATION_WORDS : (n + 6) / 7);
        assert_int_equal(strobe_annotation_unpack(words, count, text), 1);
        assert_int_equal(strlen(text), n < STROBE_ANNOTATION_NAME_BYTES ? n : STROBE_ANNOTATION_NAME_BYTES);
        assert_memory_equal(text, name, strlen(text));
    }
}

static void frames_are_not_taken_for_a_name(void **state)
{
    uint64_t words[STROBE_ANNOTATION_WORDS + 1] = {0x7f0012345678, 0x55d012345678};
    char text[STROBE_ANNOTATION_NAME_BYTES + 1];
    (void)state;
    assert_int_equal(strobe_annotation_unpack(words, 2, text), 0);
    assert_int_equal(strobe_annotation_unpack(words, 0, text), 0);
    assert_int_equal(strobe_annotation_unpack(words, STROBE_ANNOTATION_WORDS + 1, text), 0);
}

static void an_annotation_of_a_paused_capture_is_counted_and_not_recorded(void **state)
{
    (void)state;
    strobe_store_seq_cst(strobe_switch, STROBE_PAUSED);
    strobe_counter_report(rig.thread, "bytes", 1);
    strobe_store_seq_cst(strobe_switch, STROBE_ON);
    struct rig_account a = rig_account(&rig, STROBE_KIND_ANNOTATION);
    assert_int_equal(a.requests, 1);
    assert_int_equal(a.paused, 1);
    read_back();
    assert_int_equal(reader->annotation_count, 0);
}

static void an_annotation_inside_the_engine_is_counted_as_re_entrant(void **state)
{
    (void)state;
    assert_true(strobe_thread_enter(rig.thread, STROBE_KIND_ALLOC));
    strobe_section_begin(rig.thread, "inside");
    strobe_thread_leave(rig.thread);
    assert_int_equal(rig_account(&rig, STROBE_KIND_ANNOTATION).reentrant, 1);
    read_back();
    assert_int_equal(reader->annotation_count, 0);
}

/* The sample before an annotation may no longer be extended: it is not the ring's last record. */
static void an_annotation_between_equal_samples_keeps_them_apart_S10(void **state)
{
    (void)state;
    rig_point(&rig, STROBE_KIND_ALLOC);
    rig.now += MS;
    strobe_counter_report(rig.thread, "bytes", 1);
    rig.now += MS;
    rig_point(&rig, STROBE_KIND_ALLOC);
    read_back();
    assert_int_equal(reader->annotation_count, 1);
    assert_int_equal(reader->samples, 2);
    assert_int_equal(reader->item_count, 2);
}

/* The engine compares only the frames of a stack that changed since the thread's last sample. */
static void a_sample_after_an_annotation_has_the_stack_of_its_thread(void **state)
{
    uint64_t words[] = {0, 0, 0, 0}, frames[4], *record = words + 2;
    uint32_t count;
    struct strobe_ring_item items[4];
    (void)state;
    rig.engine.unwinder = &strobe_unwinder_fp;
    rig.thread->stack_low = (uint64_t)(uintptr_t)words;
    rig.thread->stack_high = (uint64_t)(uintptr_t)(words + 4);
    rig.thread->root_frame = 0;
    words[0] = (uint64_t)(uintptr_t)record, words[1] = 0x2000, words[3] = 0x1000;
    struct strobe_site site = {(uint64_t)(uintptr_t)words, 0x2000};
    for (int i = 0; i < 2; i++) {
        rig.now += 2 * MS;
        strobe_point(rig.thread, STROBE_ON, STROBE_KIND_ALLOC, 0, site);
        strobe_section_begin(rig.thread, "a name of several words");
    }
    assert_int_equal(rig_records(&rig, items, 4), 4);
    assert_int_equal(items[2].record.stack, items[0].record.stack);
    assert_int_equal(strobe_stack_frames(&rig.engine.session.stacks, items[2].record.stack, frames, 4, &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(frames[0], 0x1000);
    assert_int_equal(frames[1], 0x2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(annotations_come_back_in_order_with_names_and_values, start_rig, stop_rig),
        cmocka_unit_test_setup_teardown(a_section_without_length_lasts_one_tick, start_rig, stop_rig),
        cmocka_unit_test_setup_teardown(the_end_of_a_section_whose_chunk_was_sealed_is_a_whole_record, start_rig,
                                        stop_rig),
        cmocka_unit_test_setup_teardown(the_end_of_a_section_begun_while_paused_has_only_its_depth, start_rig,
                                        stop_rig),
        cmocka_unit_test_setup_teardown(a_section_that_ends_while_paused_leaves_the_one_around_it, start_rig, stop_rig),
        cmocka_unit_test_setup_teardown(sections_deeper_than_the_thread_keeps_end_by_their_depth, start_rig, stop_rig),
        cmocka_unit_test_setup_teardown(another_text_at_the_same_place_is_another_name, start_rig, stop_rig),
        cmocka_unit_test(a_name_of_any_length_comes_back_cut_to_its_limit),
        cmocka_unit_test(frames_are_not_taken_for_a_name),
        cmocka_unit_test_setup_teardown(an_annotation_of_a_paused_capture_is_counted_and_not_recorded, start_rig,
                                        stop_rig),
        cmocka_unit_test_setup_teardown(an_annotation_inside_the_engine_is_counted_as_re_entrant, start_rig, stop_rig),
        cmocka_unit_test_setup_teardown(an_annotation_between_equal_samples_keeps_them_apart_S10, start_rig, stop_rig),
        cmocka_unit_test_setup_teardown(a_sample_after_an_annotation_has_the_stack_of_its_thread, start_rig, stop_rig),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
