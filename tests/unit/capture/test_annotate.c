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

static void annotate_at(uint64_t ms, enum strobe_annotation what, const char *name, int64_t value)
{
    rig.now = ms * MS;
    strobe_annotate(rig.thread, what, name, value);
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

static void annotations_come_back_in_order_with_names_and_values(void **state)
{
    (void)state;
    uint64_t t = rig.now / MS;
    annotate_at(t + 1, STROBE_ANNOTATION_BEGIN, "load", 0);
    annotate_at(t + 2, STROBE_ANNOTATION_COUNTER, "bytes", INT64_MIN);
    annotate_at(t + 2, STROBE_ANNOTATION_BEGIN, "", 0);
    annotate_at(t + 3, STROBE_ANNOTATION_END, NULL, 0);
    annotate_at(t + 4, STROBE_ANNOTATION_END, NULL, 0);
    annotate_at(t + 5, STROBE_ANNOTATION_COUNTER, "bytes", 7);
    read_back();
    assert_int_equal(reader->annotation_count, 6);
    expect_annotation(0, t + 1, STROBE_ANNOTATION_BEGIN, "load", 0);
    expect_annotation(1, t + 2, STROBE_ANNOTATION_COUNTER, "bytes", INT64_MIN);
    expect_annotation(2, t + 2, STROBE_ANNOTATION_BEGIN, "", 0);
    expect_annotation(3, t + 3, STROBE_ANNOTATION_END, NULL, 0);
    expect_annotation(4, t + 4, STROBE_ANNOTATION_END, NULL, 0);
    expect_annotation(5, t + 5, STROBE_ANNOTATION_COUNTER, "bytes", 7);
    assert_int_equal(reader->annotations[1].stack, reader->annotations[5].stack);
    assert_int_equal(reader->samples, 0);
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
    strobe_annotate(rig.thread, STROBE_ANNOTATION_COUNTER, "bytes", 1);
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
    strobe_annotate(rig.thread, STROBE_ANNOTATION_BEGIN, "inside", 0);
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
    strobe_annotate(rig.thread, STROBE_ANNOTATION_COUNTER, "bytes", 1);
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
        strobe_annotate(rig.thread, STROBE_ANNOTATION_BEGIN, "a name of several words", 0);
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
