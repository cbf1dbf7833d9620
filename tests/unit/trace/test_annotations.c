/* Sections and counters that a program reports become marks: counters of the process, and slices of the thread that
 * reported them, on a track for each depth. */
#include "engine/base/error.h"
#include "engine/trace/build/timeline.h"
#include "engine/trace/export/convert.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MS = 1000000, MAIN = 0, WORKER = 1 };

static struct strobe_build build;
static struct strobe_timeline_stats stats;
static char text[4096]; /* a line for each mark that the sink was given */

static void annotate_for(uint32_t thread, uint64_t ms, uint64_t ms_long, enum strobe_annotation what, const char *name,
                         int64_t value)
{
    uint64_t words[STROBE_ANNOTATION_WORDS];
    uint32_t stack = name ? strobe_build_stack(&build, words, strobe_annotation_pack(name, words)) : 0;
    strobe_build_record(&build,
                        (struct strobe_record){.ticks = ms * MS,
                                               .duration = ms_long * MS,
                                               .thread = thread,
                                               .arg = (uint64_t)value,
                                               .stack = stack,
                                               .kind = STROBE_KIND_ANNOTATION,
                                               .cpu_span_ns = (uint32_t)what},
                        NULL);
}

static void annotate(uint32_t thread, uint64_t ms, enum strobe_annotation what, const char *name, int64_t value)
{
    annotate_for(thread, ms, 0, what, name, value);
}

/* A begin that holds its end if it is longer than 0, or an end that holds its begin. */
static void whole_section(enum strobe_annotation what, int64_t depth, uint64_t ms, uint64_t ms_long, const char *name)
{
    annotate_for(MAIN, ms, ms_long, what, name, depth);
}

/* Sections as older versions recorded them. */
static void begin_section(uint32_t thread, uint64_t ms, const char *name)
{
    annotate(thread, ms, STROBE_ANNOTATION_BEGIN, name, 0);
}

static void end_section(uint32_t thread, uint64_t ms)
{
    annotate(thread, ms, STROBE_ANNOTATION_END, NULL, 0);
}

static int start_session(void **state)
{
    struct strobe_config config = strobe_build_config();
    (void)state;
    strobe_build_begin(&build, temp_dir_path("session"), &config);
    strobe_build_thread(&build, 42, "main");
    strobe_build_thread(&build, 43, "worker");
    text[0] = '\0';
    return 0;
}

/* ---- a sink that writes marks as text */

static uint64_t ms_of(uint64_t ns)
{
    return (ns - STROBE_BUILD_BEGIN_NS) / MS;
}

static void start_sink(struct strobe_sink *s, const struct strobe_reader *r, struct strobe_function_tree *t)
{
    (void)s, (void)r, (void)t;
}

static void write_mark(struct strobe_sink *s, const struct strobe_mark *m)
{
    size_t n = strlen(text);
    char of[32] = "";
    (void)s;
    if (m->is_counter && m->thread)
        snprintf(of, sizeof of, " of %u", m->thread->tid);
    if (m->is_counter)
        snprintf(text + n, sizeof text - n, "%u %s%s = %lld at %llu\n", m->track, m->name, of, (long long)m->value,
                 (unsigned long long)ms_of(m->begin_ns));
    else
        snprintf(text + n, sizeof text - n, "%u %u [%s] %s %llu..%llu\n", m->track, m->thread ? m->thread->tid : 0,
                 m->lane, m->name, (unsigned long long)ms_of(m->begin_ns), (unsigned long long)ms_of(m->end_ns));
}

static void begin_thread(struct strobe_sink *s, const struct strobe_reader_thread *t)
{
    (void)s, (void)t;
}

static void begin_slice(struct strobe_sink *s, const struct strobe_slice *slice)
{
    (void)s, (void)slice;
}

static void end_slice(struct strobe_sink *s, const struct strobe_slice *slice, const struct strobe_moment *now)
{
    (void)s, (void)slice, (void)now;
}

static void end_thread(struct strobe_sink *s)
{
    (void)s;
}

static enum strobe_status finish(struct strobe_sink *s)
{
    (void)s;
    return STROBE_OK;
}

static void build_timeline(const struct strobe_mark *marks, size_t count)
{
    struct strobe_sink sink = {.start = start_sink,
                               .thread_begin = begin_thread,
                               .slice_begin = begin_slice,
                               .slice_end = end_slice,
                               .thread_end = end_thread,
                               .finish = finish,
                               .mark = write_mark};
    struct strobe_timeline_options options = {.marks = marks, .mark_count = count};
    struct strobe_reader *reader;
    struct strobe_error error = {""};
    strobe_build_end(&build, 1000 * MS);
    assert_int_equal(strobe_reader_open(build.path, &reader, &error), STROBE_OK);
    struct strobe_function_tree *tree;
    assert_int_equal(strobe_function_tree_open(&reader->session.stacks, (struct strobe_resolver){0}, &tree), STROBE_OK);
    assert_int_equal(strobe_timeline_build(reader, tree, &options, &sink, &stats), STROBE_OK);
    strobe_function_tree_close(tree);
    strobe_reader_close(reader);
}

static void sections_nest_on_tracks_by_thread_and_depth(void **state)
{
    (void)state;
    begin_section(MAIN, 10, "outer");
    begin_section(MAIN, 20, "inner");
    end_section(MAIN, 30);
    begin_section(WORKER, 25, "outer");
    begin_section(MAIN, 30, "inner");
    end_section(MAIN, 40);
    end_section(MAIN, 50);
    end_section(WORKER, 60);
    build_timeline(NULL, 0);
    assert_string_equal(text, "0 42 [main: sections, level 1] outer 10..50\n"
                              "1 42 [main: sections, level 2] inner 20..30\n"
                              "1 42 [main: sections, level 2] inner 30..40\n"
                              "2 43 [worker: sections, level 1] outer 25..60\n");
    assert_int_equal(stats.sections, 4);
}

static void a_counter_is_one_track_whichever_thread_reports_it(void **state)
{
    (void)state;
    annotate(WORKER, 20, STROBE_ANNOTATION_COUNTER, "frames", -5);
    annotate(MAIN, 10, STROBE_ANNOTATION_COUNTER, "frames", 1);
    annotate(MAIN, 15, STROBE_ANNOTATION_COUNTER, "bytes", INT64_MAX);
    annotate(MAIN, 30, STROBE_ANNOTATION_COUNTER, "frames", 2);
    build_timeline(NULL, 0);
    assert_string_equal(text, "0 frames = 1 at 10\n"
                              "0 frames = -5 at 20\n"
                              "0 frames = 2 at 30\n"
                              "1 bytes = 9223372036854775807 at 15\n");
    assert_int_equal(stats.app_values, 4);
}

static void a_counter_of_a_thread_is_a_track_of_that_thread(void **state)
{
    (void)state;
    annotate(MAIN, 10, STROBE_ANNOTATION_COUNTER, "frames", 1);
    annotate(WORKER, 20, STROBE_ANNOTATION_THREAD_COUNTER, "frames", 2);
    annotate(MAIN, 30, STROBE_ANNOTATION_THREAD_COUNTER, "frames", 3);
    annotate(WORKER, 40, STROBE_ANNOTATION_COUNTER, "frames", 4);
    build_timeline(NULL, 0);
    assert_string_equal(text, "0 frames = 1 at 10\n"
                              "0 frames = 4 at 40\n"
                              "1 frames of 42 = 3 at 30\n"
                              "2 frames of 43 = 2 at 20\n");
    assert_int_equal(stats.app_values, 4);
}

static void a_section_without_an_end_lasts_to_the_end_of_the_session(void **state)
{
    (void)state;
    begin_section(MAIN, 10, "left");
    build_timeline(NULL, 0);
    assert_string_equal(text, "0 42 [main: sections, level 1] left 10..1000\n");
    assert_int_equal(stats.sections_open, 1);
}

static void an_end_without_a_begin_is_counted_and_left_out(void **state)
{
    (void)state;
    end_section(MAIN, 10);
    begin_section(MAIN, 20, "whole");
    end_section(MAIN, 30);
    build_timeline(NULL, 0);
    assert_string_equal(text, "0 42 [main: sections, level 1] whole 20..30\n");
    assert_int_equal(stats.sections_unbegun, 1);
}

static void sections_recorded_whole_nest_by_their_depth(void **state)
{
    (void)state;
    whole_section(STROBE_ANNOTATION_BEGIN, 1, 10, 40, "outer");
    whole_section(STROBE_ANNOTATION_BEGIN, 2, 20, 10, "inner");
    whole_section(STROBE_ANNOTATION_BEGIN, 2, 30, 5, "again");
    whole_section(STROBE_ANNOTATION_BEGIN, 1, 60, 5, "later");
    build_timeline(NULL, 0);
    assert_string_equal(text, "0 42 [main: sections, level 1] outer 10..50\n"
                              "0 42 [main: sections, level 1] later 60..65\n"
                              "1 42 [main: sections, level 2] inner 20..30\n"
                              "1 42 [main: sections, level 2] again 30..35\n");
    assert_int_equal(stats.sections, 4);
    assert_int_equal(stats.sections_open + stats.sections_unbegun, 0);
}

/* The order of the two records in the ring may be the other one. */
static void an_end_that_holds_its_section_belongs_to_its_begin_or_stands_for_it(void **state)
{
    (void)state;
    whole_section(STROBE_ANNOTATION_END, 1, 10, 40, "outer");
    whole_section(STROBE_ANNOTATION_BEGIN, 1, 10, 0, "outer");
    whole_section(STROBE_ANNOTATION_BEGIN, 2, 10, 0, "inner");
    whole_section(STROBE_ANNOTATION_END, 2, 10, 20, "inner");
    whole_section(STROBE_ANNOTATION_END, 2, 40, 5, "overwritten");
    build_timeline(NULL, 0);
    assert_string_equal(text, "0 42 [main: sections, level 1] outer 10..50\n"
                              "1 42 [main: sections, level 2] inner 10..30\n"
                              "1 42 [main: sections, level 2] overwritten 40..45\n");
    assert_int_equal(stats.sections, 3);
}

/* Its thread ended it while the capture was paused, or the record of its end was overwritten. */
static void a_section_whose_end_is_missing_ends_before_the_next_of_its_depth_and_with_the_one_around_it(void **state)
{
    (void)state;
    whole_section(STROBE_ANNOTATION_BEGIN, 1, 10, 40, "outer");
    whole_section(STROBE_ANNOTATION_BEGIN, 2, 20, 0, "first");
    whole_section(STROBE_ANNOTATION_BEGIN, 2, 30, 0, "second");
    whole_section(STROBE_ANNOTATION_BEGIN, 1, 60, 0, "third");
    whole_section(STROBE_ANNOTATION_BEGIN, 1, 70, 10, "fourth");
    build_timeline(NULL, 0);
    assert_string_equal(text, "0 42 [main: sections, level 1] outer 10..50\n"
                              "0 42 [main: sections, level 1] third 60..70\n"
                              "0 42 [main: sections, level 1] fourth 70..80\n"
                              "1 42 [main: sections, level 2] first 20..30\n"
                              "1 42 [main: sections, level 2] second 30..50\n");
    assert_int_equal(stats.sections_open, 0);
}

static void an_end_that_knows_only_its_depth_ends_the_section_of_that_depth(void **state)
{
    (void)state;
    whole_section(STROBE_ANNOTATION_BEGIN, 1, 10, 0, "outer");
    annotate(MAIN, 20, STROBE_ANNOTATION_END, NULL, 2);
    annotate(MAIN, 40, STROBE_ANNOTATION_END, NULL, 1);
    build_timeline(NULL, 0);
    assert_string_equal(text, "0 42 [main: sections, level 1] outer 10..40\n");
    assert_int_equal(stats.sections_unbegun, 1);
}

static char *convert(enum strobe_format format, size_t *bytes)
{
    const struct strobe_convert_options options = {.format = format};
    struct strobe_error error = {""};
    const char *out = temp_dir_path("out");
    remove(out);
    if (strobe_convert(build.path, out, &options, NULL, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    return temp_dir_read("out", bytes);
}

/* Field 53 of a track event, correlation_id_str, is a text by which viewers choose the color. */
static void sections_of_one_category_have_one_color_in_perfetto_and_chrome(void **state)
{
    static const char net[] = "\xaa\x03\x03net", plain[] = "\xaa\x03\x05plain";
    size_t bytes;
    (void)state;
    whole_section(STROBE_ANNOTATION_BEGIN, 1, 10, 5, "net: fetch");
    whole_section(STROBE_ANNOTATION_BEGIN, 1, 20, 5, "net: parse");
    whole_section(STROBE_ANNOTATION_BEGIN, 1, 30, 5, "db: query");
    whole_section(STROBE_ANNOTATION_BEGIN, 1, 40, 5, "plain");
    strobe_build_end(&build, 1000 * MS);
    char *trace = convert(STROBE_FORMAT_PERFETTO, &bytes);
    char *first = memmem(trace, bytes, net, sizeof net - 1);
    assert_non_null(first);
    assert_non_null(memmem(first + 1, bytes - (size_t)(first + 1 - trace), net, sizeof net - 1));
    assert_null(memmem(trace, bytes, plain, sizeof plain - 1));
    free(trace);
    trace = convert(STROBE_FORMAT_CHROME, &bytes);
    char color[3][32];
    static const char *const names[] = {"\"net: fetch\"", "\"net: parse\"", "\"db: query\""};
    for (int i = 0; i < 3; i++) {
        const char *at = strstr(trace, names[i]);
        assert_non_null(at);
        assert_int_equal(sscanf(strstr(at, "\"cname\""), "\"cname\":\"%31[a-z_]\"", color[i]), 1);
    }
    assert_string_equal(color[0], color[1]);
    assert_string_not_equal(color[0], color[2]);
    assert_null(strstr(strstr(trace, "\"plain\""), "cname"));
    free(trace);
}

static size_t count_of(const char *in, const char *end, const char *word)
{
    size_t count = 0;
    for (const char *at = in; (at = strstr(at, word)) && at < end; at++)
        count++;
    return count;
}

static void sections_are_markers_of_their_thread_in_the_firefox_profiler(void **state)
{
    uint64_t frames[] = {0x1000};
    size_t bytes;
    (void)state;
    for (uint32_t thread = 0; thread < 2; thread++)
        strobe_build_record(
            &build,
            (struct strobe_record){.ticks = MS, .thread = thread, .stack = strobe_build_stack(&build, frames, 1)},
            NULL);
    begin_section(MAIN, 10, "one");
    end_section(MAIN, 20);
    begin_section(MAIN, 30, "two");
    end_section(MAIN, 40);
    begin_section(1, 10, "three");
    end_section(1, 20);
    strobe_build_end(&build, 1000 * MS);
    char *profile = convert(STROBE_FORMAT_FIREFOX, &bytes);
    const char *worker = strstr(profile, "\"name\":\"worker\"");
    assert_non_null(worker);
    assert_int_equal(count_of(profile, worker, "{\"type\":\"Section\"}"), 2);
    assert_int_equal(count_of(worker, profile + bytes, "{\"type\":\"Section\"}"), 1);
    assert_int_equal(count_of(profile, worker, "\"three\""), 0);
    assert_int_equal(count_of(worker, profile + bytes, "\"three\""), 1);
    free(profile);
}

static void tracks_of_annotations_follow_those_of_other_marks(void **state)
{
    const struct strobe_mark other[] = {{.track = 3, .name = "x", .lane = "findings"},
                                        {.track = 1, .name = "y", .lane = "findings"}};
    (void)state;
    begin_section(MAIN, 10, "mine");
    end_section(MAIN, 20);
    build_timeline(other, 2);
    assert_non_null(strstr(text, "\n4 42 [main: sections, level 1] mine 10..20\n"));
}

static void a_damaged_name_is_shown_as_lost(void **state)
{
    uint64_t frames[] = {0x1000, 0x2000};
    (void)state;
    strobe_build_record(&build,
                        (struct strobe_record){.ticks = 10 * MS,
                                               .stack = strobe_build_stack(&build, frames, 2),
                                               .kind = STROBE_KIND_ANNOTATION,
                                               .cpu_span_ns = STROBE_ANNOTATION_COUNTER},
                        NULL);
    build_timeline(NULL, 0);
    assert_string_equal(text, "0 [name lost] = 0 at 10\n");
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup(test, start_session)
    const struct CMUnitTest tests[] = {
        TEST(sections_nest_on_tracks_by_thread_and_depth),
        TEST(a_counter_is_one_track_whichever_thread_reports_it),
        TEST(a_counter_of_a_thread_is_a_track_of_that_thread),
        TEST(a_section_without_an_end_lasts_to_the_end_of_the_session),
        TEST(an_end_without_a_begin_is_counted_and_left_out),
        TEST(sections_recorded_whole_nest_by_their_depth),
        TEST(an_end_that_holds_its_section_belongs_to_its_begin_or_stands_for_it),
        TEST(a_section_whose_end_is_missing_ends_before_the_next_of_its_depth_and_with_the_one_around_it),
        TEST(an_end_that_knows_only_its_depth_ends_the_section_of_that_depth),
        TEST(sections_of_one_category_have_one_color_in_perfetto_and_chrome),
        TEST(sections_are_markers_of_their_thread_in_the_firefox_profiler),
        TEST(tracks_of_annotations_follow_those_of_other_marks),
        TEST(a_damaged_name_is_shown_as_lost),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
