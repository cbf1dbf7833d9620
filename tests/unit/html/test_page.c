/* Pages: hostile texts stay texts, small call paths and short slices are summed up, and nothing gets lost by it. */
#include "engine/trace/export/html/page.h"
#include "engine/trace/export/html/page_flame.h"
#include "engine/trace/export/html/page_tracks.h"
#include "engine/util/whole_file.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *text; /* what was written last */

static void begin_file(struct strobe_outfile *out)
{
    assert_int_equal(strobe_outfile_open(out, temp_dir_path("page"), 1), STROBE_OK);
}

static void end_file(struct strobe_outfile *out)
{
    size_t bytes;
    assert_int_equal(strobe_outfile_finish(out, 0), STROBE_OK);
    free(text);
    assert_int_equal(strobe_whole_file_read(temp_dir_path("page"), 64 << 20, &text, &bytes), STROBE_OK);
}

static void assert_script_text(const char *json, const char *expected)
{
    struct strobe_outfile out;
    begin_file(&out);
    strobe_page_json(&out, json, strlen(json));
    end_file(&out);
    assert_string_equal(text, expected);
}

static void json_of_a_script_holds_no_markup_and_no_line_separator(void **state)
{
    (void)state;
    assert_script_text("\"</script><!--&\"", "\"\\u003c/script\\u003e\\u003c!--\\u0026\"");
    assert_script_text("\"a\xe2\x80\xa8"
                       "b\xe2\x80\xa9"
                       "c\"",
                       "\"a\\u2028b\\u2029c\"");
    assert_script_text("\"\xe2\x80\xa6\xe2\x80\"", "\"\xe2\x80\xa6\xe2\x80\"");
}

static void blanks_between_values_are_left_out_and_those_in_texts_stay(void **state)
{
    (void)state;
    assert_script_text("{\n  \"a b\": [ 1,\t2 ],\r\n \"c\": \" d \"\n}\n", "{\"a b\":[1,2],\"c\":\" d \"}");
    assert_script_text("[\"a\\\" b\", \"c\\\\\", \" <\"]", "[\"a\\\" b\",\"c\\\\\",\" \\u003c\"]");
}

static void print_hostile_part(void *ctx, FILE *out)
{
    fprintf(out, "{\"name\": \"%s\"}", (const char *)ctx);
}

static size_t count_of(const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

static void a_page_has_its_title_and_its_parts_once(void **state)
{
    (void)state;
    struct strobe_outfile out;
    const struct strobe_page_part parts[] = {{"one", print_hostile_part, "</script>@code@"},
                                             {"two", print_hostile_part, "@title@"}};
    begin_file(&out);
    assert_int_equal(strobe_page_write(&out, "<a&\"b\xff\n", parts, 2), STROBE_OK);
    end_file(&out);
    assert_int_equal(count_of("<title>&lt;a&amp;&quot;b\xef\xbf\xbd\xef\xbf\xbd</title>"), 1);
    assert_int_equal(count_of("id=\"data-one\">{\"name\":\"\\u003c/script\\u003e@code@\"}</script>"), 1);
    assert_int_equal(count_of("id=\"data-two\">{\"name\":\"@title@\"}</script>"), 1);
    assert_int_equal(count_of("</script>"), 3);
    assert_int_equal(count_of("startPage();"), 1);
    assert_true(count_of("@media (") > 1); /* of the style sheet: not a place holder */
    assert_int_equal(count_of("@style@") + count_of("@data@"), 0);
    assert_int_equal(count_of("Content-Security-Policy\" content=\"default-src 'none'"), 1);
}

/* ---- call paths */

enum { CHAIN = 3 };

struct tree {
    uint32_t parents[8];
    double own[8][2];
    uint32_t count;
    uint32_t chains; /* and below path 1 as many chains of CHAIN paths, the innermost of each with 1 */
};

static void path_of_tree(void *ctx, uint32_t path, uint32_t *parent, double amounts[STROBE_PAGE_COLUMNS_MOST])
{
    const struct tree *t = ctx;
    uint32_t in_chains = path - t->count; /* their outermost paths come first, then the next ones */
    *parent = path < t->count ? t->parents[path] : in_chains < t->chains ? 1 : path - t->chains;
    amounts[0] = path < t->count ? t->own[path][0] : in_chains >= (CHAIN - 1) * t->chains;
    amounts[1] = path < t->count ? t->own[path][1] : 0;
}

static uint32_t name_of_tree(void *ctx, uint32_t path)
{
    (void)ctx;
    return 100 + path;
}

static struct strobe_page_flame flame_of(struct tree *t)
{
    struct strobe_page_flame flame;
    assert_int_equal(strobe_page_flame_build(&flame, &(struct strobe_page_paths){.count = t->count + CHAIN * t->chains,
                                                                                 .path = path_of_tree,
                                                                                 .name = name_of_tree,
                                                                                 .ctx = t,
                                                                                 .columns = 2,
                                                                                 .column_names = {"wall", "cpu"}}),
                     STROBE_OK);
    return flame;
}

static double sum_of_column(const struct strobe_page_flame *f, unsigned column)
{
    double sum = 0;
    for (size_t i = 0; i < f->count; i++)
        sum += f->amounts[i * f->columns + column] + f->other_amounts[i * f->columns + column];
    return sum;
}

static void small_paths_are_summed_up_below_their_caller(void **state)
{
    (void)state;
    /* 0 > 1 > 2; 1 > 3 > 4 is small in both columns; 1 > 5 is small in time and large in CPU time; 6 is empty. */
    struct tree t = {.parents = {0, 0, 1, 1, 3, 1, 1},
                     .own = {{0, 0}, {1e6, 10}, {5e5, 10}, {20, 0}, {30, 0}, {40, 5}, {0, 0}},
                     .count = 7};
    struct strobe_page_flame f = flame_of(&t);
    assert_int_equal(f.count, 4);
    assert_int_equal(f.names[1], 101);
    assert_int_equal(f.names[2], 102);
    assert_int_equal(f.names[3], 105);
    assert_int_equal(f.parents[3], 1);
    assert_int_equal(f.others[1], 2);
    assert_int_equal(f.left_out, 2);
    assert_true(f.other_amounts[2] == 50);
    assert_true(sum_of_column(&f, 0) == 1e6 + 5e5 + 90);
    assert_true(sum_of_column(&f, 1) == 25);
    strobe_page_flame_free(&f);
}

static void a_page_has_a_bounded_number_of_paths_and_all_of_their_time(void **state)
{
    (void)state;
    /* Each chain has more than STROBE_PAGE_LEAST_SHARE. */
    struct tree t = {
        .parents = {0, 0}, .own = {{0, 0}, {3, 0}}, .count = 2, .chains = STROBE_PAGE_PATHS_MOST / CHAIN + 1};
    struct strobe_page_flame f = flame_of(&t);
    assert_int_equal(f.count, 2);
    assert_int_equal(f.left_out, CHAIN * t.chains);
    assert_true(sum_of_column(&f, 0) == 3 + t.chains);
    assert_true(f.share == 2 * STROBE_PAGE_LEAST_SHARE);
    strobe_page_flame_free(&f);
    t.chains -= 2;
    f = flame_of(&t);
    assert_int_equal(f.count, 2 + CHAIN * t.chains);
    strobe_page_flame_free(&f);
}

static void a_flame_graph_is_written_by_columns(void **state)
{
    (void)state;
    struct tree t = {.parents = {0, 0, 1}, .own = {{0, 0}, {1e6, 1}, {1, 0}}, .count = 3};
    struct strobe_page_flame f = flame_of(&t);
    FILE *out = fopen(temp_dir_path("page"), "we");
    struct strobe_json j = {.out = out, .one_line = 1};
    size_t bytes;
    strobe_json_object(&j, NULL);
    strobe_page_flame_write(&f, "flame", &j);
    strobe_json_object_end(&j);
    fclose(out);
    free(text);
    assert_int_equal(strobe_whole_file_read(temp_dir_path("page"), 1 << 20, &text, &bytes), STROBE_OK);
    assert_string_equal(text, "{\"flame\": {\"share\": 0.0001,\"left_out\": 1,\"columns\": [\"wall\",\"cpu\"],"
                              "\"parent\": [0,0],\"name\": [0,101],\"self\": [[0,1000000],[0,1]],\"other_of\": [1],"
                              "\"other_paths\": [1],\"other_self\": [[1],[0]]}}\n");
    strobe_page_flame_free(&f);
}

/* ---- timeline */

static struct strobe_page_tracks tracks;

static void begin_track(uint32_t tid, int is_main)
{
    static struct strobe_reader_thread threads[2 * STROBE_PAGE_TRACKS_MOST + 8];
    struct strobe_reader_thread *thread = &threads[tid % (2 * STROBE_PAGE_TRACKS_MOST + 8)];
    thread->tid = tid;
    thread->is_main = is_main;
    snprintf(thread->name, sizeof thread->name, "t%u", tid);
    strobe_page_track_begin(&tracks, thread);
}

static void short_slices_side_by_side_are_one_block_named_for_the_longest(void **state)
{
    (void)state;
    strobe_page_tracks_open(&tracks, 100 * STROBE_PAGE_STEPS); /* resolution 100 */
    begin_track(1, 1);
    strobe_page_track_slice(&tracks, 1, 1000, 1030, 7);
    strobe_page_track_slice(&tracks, 1, 1030, 1080, 8);
    strobe_page_track_slice(&tracks, 1, 1090, 1100, 9);
    strobe_page_track_slice(&tracks, 1, 1100, 1101, 7); /* beyond the resolution */
    strobe_page_track_slice(&tracks, 1, 1101, 1500, 6);
    strobe_page_track_end(&tracks, 50, 500);
    assert_int_equal(strobe_page_tracks_finish(&tracks), STROBE_OK);
    const struct strobe_page_level *level = &tracks.tracks[0].levels[0];
    assert_int_equal(level->count, 3);
    assert_int_equal(level->blocks[0].begin_ns, 1000);
    assert_int_equal(level->blocks[0].end_ns, 1100);
    assert_int_equal(level->blocks[0].name, 8);
    assert_int_equal(level->blocks[0].count, 3);
    assert_int_equal(level->blocks[1].count, 1);
    assert_int_equal(level->blocks[2].end_ns, 1500);
    assert_int_equal(tracks.slices, 5);
    assert_int_equal(tracks.blocks, 3);
    strobe_page_tracks_free(&tracks);
}

static void a_timeline_has_a_bounded_number_of_blocks_and_counts_all_slices(void **state)
{
    (void)state;
    enum { SLICES = 8 * STROBE_PAGE_BLOCKS_MOST, DEPTHS = 10 };
    uint64_t count = 0;
    strobe_page_tracks_open(&tracks, SLICES / DEPTHS * 10);
    begin_track(1, 1);
    for (uint32_t i = 0; i < SLICES; i++) {
        uint64_t begin = i / DEPTHS * UINT64_C(10);
        strobe_page_track_slice(&tracks, 1 + i % DEPTHS, begin, begin + 1 + i % 9, i % 5);
    }
    strobe_page_track_end(&tracks, 0, 1);
    assert_int_equal(strobe_page_tracks_finish(&tracks), STROBE_OK);
    assert_true(tracks.blocks <= STROBE_PAGE_BLOCKS_MOST);
    assert_true(tracks.blocks > STROBE_PAGE_BLOCKS_MOST / 4);
    for (uint32_t k = 0; k < DEPTHS; k++) {
        const struct strobe_page_level *level = &tracks.tracks[0].levels[k];
        for (size_t i = 0; i < level->count; i++) {
            const struct strobe_page_block *b = &level->blocks[i];
            count += b->count;
            assert_true(!i || b->begin_ns >= b[-1].end_ns);
            assert_true(b->count == 1 || b->end_ns - b->begin_ns <= tracks.resolution_ns);
        }
    }
    assert_int_equal(count, SLICES);
    strobe_page_tracks_free(&tracks);
}

static void the_main_thread_and_the_busiest_threads_have_tracks(void **state)
{
    (void)state;
    enum { THREADS = 3 * STROBE_PAGE_TRACKS_MOST };
    strobe_page_tracks_open(&tracks, 1000);
    for (uint32_t tid = 1; tid <= THREADS; tid++) {
        begin_track(tid, tid == 5);
        if (tid != THREADS)
            strobe_page_track_slice(&tracks, 1, 0, 10, 0);
        strobe_page_track_end(&tracks, tid, 10);
    }
    assert_int_equal(strobe_page_tracks_finish(&tracks), STROBE_OK);
    assert_int_equal(tracks.count, STROBE_PAGE_TRACKS_MOST);
    assert_int_equal(tracks.left_out, THREADS - 1 - STROBE_PAGE_TRACKS_MOST);
    assert_true(tracks.tracks[0].is_main);
    assert_int_equal(tracks.tracks[1].tid, THREADS - 1); /* the last thread has no slice */
    assert_int_equal(tracks.tracks[2].tid, THREADS - 2);
    assert_int_equal(tracks.blocks, STROBE_PAGE_TRACKS_MOST);
    strobe_page_tracks_free(&tracks);
}

/* ---- names */

static const char *write_names(struct strobe_page_names *names)
{
    FILE *out = fopen(temp_dir_path("page"), "we");
    struct strobe_json j = {.out = out, .one_line = 1};
    size_t bytes;
    strobe_json_object(&j, NULL);
    strobe_page_names_write(names, "names", &j);
    strobe_json_object_end(&j);
    fclose(out);
    free(text);
    assert_int_equal(strobe_whole_file_read(temp_dir_path("page"), 64 << 20, &text, &bytes), STROBE_OK);
    return text;
}

static void a_name_is_written_once_and_cut_between_characters(void **state)
{
    (void)state;
    static char long_name[600];
    struct strobe_page_names names = {0};
    memset(long_name, 'x', 511);
    memcpy(long_name + 511, "\xc3\xa4tail", 7);
    assert_int_equal(strobe_page_name(&names, 9, "f", "/lib/a.so", STROBE_SLICE_FUNCTION), 0);
    assert_int_equal(strobe_page_name(&names, 2, long_name, "/lib/a.so", STROBE_SLICE_WAIT), 1);
    assert_int_equal(strobe_page_name(&names, 9, "f", "/lib/a.so", STROBE_SLICE_FUNCTION), 0);
    write_names(&names);
    assert_int_equal(count_of("x\xe2\x80\xa6\""), 1);
    assert_int_equal(count_of("\xc3"), 0);
    assert_int_equal(count_of("\"class\": [0,1],\"image\": [0,0],\"images\": [\"/lib/a.so\"]"), 1);
    strobe_page_names_free(&names);
}

static void names_together_have_a_bounded_length(void **state)
{
    (void)state;
    static char long_name[513];
    struct strobe_page_names names = {0};
    memset(long_name, 'x', 512);
    for (uint32_t i = 0; i < 5000; i++)
        strobe_page_name(&names, i, long_name, "", STROBE_SLICE_FUNCTION);
    assert_true(strlen(write_names(&names)) < 1200000);
    assert_int_equal(count_of("\"limit\": 128,"), 1);
    strobe_page_names_free(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_of_a_script_holds_no_markup_and_no_line_separator),
        cmocka_unit_test(blanks_between_values_are_left_out_and_those_in_texts_stay),
        cmocka_unit_test(a_page_has_its_title_and_its_parts_once),
        cmocka_unit_test(small_paths_are_summed_up_below_their_caller),
        cmocka_unit_test(a_page_has_a_bounded_number_of_paths_and_all_of_their_time),
        cmocka_unit_test(a_flame_graph_is_written_by_columns),
        cmocka_unit_test(short_slices_side_by_side_are_one_block_named_for_the_longest),
        cmocka_unit_test(a_timeline_has_a_bounded_number_of_blocks_and_counts_all_slices),
        cmocka_unit_test(the_main_thread_and_the_busiest_threads_have_tracks),
        cmocka_unit_test(a_name_is_written_once_and_cut_between_characters),
        cmocka_unit_test(names_together_have_a_bounded_length),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
