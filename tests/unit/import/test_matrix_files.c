/* Files of Matrix that are read or written: dumps of the log, streams of events, method mappings, black lists. Also:
 * which methods get ids. */
#include "engine/base/error.h"
#include "engine/method/matrix/matrix_entry.h"
#include "engine/trace/import/matrix/matrix_events.h"
#include "engine/trace/import/matrix/matrix_map.h"
#include "engine/trace/import/matrix/matrix_raw.h"
#include "engine/trace/import/matrix/matrix_stack.h"

#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static struct strobe_error error;

static const char *path_of(const char *name)
{
    return temp_dir_path(name);
}

static void write_file(const char *name, const void *bytes, size_t count)
{
    FILE *out = fopen(path_of(name), "w");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, count, out), count);
    assert_int_equal(fclose(out), 0);
}

static void file_is(const char *name, const char *text)
{
    char content[4096];
    FILE *in = fopen(path_of(name), "r");
    assert_non_null(in);
    size_t bytes = fread(content, 1, sizeof content - 1, in);
    content[bytes] = 0;
    fclose(in);
    assert_string_equal(content, text);
}

/* ---- dumps */

static void a_dump_is_read_back_as_it_was_written(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    static uint64_t entries[MANY];
    for (uint32_t i = 0; i < MANY; i++)
        entries[i] = strobe_matrix_entry(i & 1, i, i * 1234567u);
    const size_t counts[] = {0, 1, 3, MANY};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint64_t *back;
        size_t count;
        assert_int_equal(strobe_matrix_raw_write(path_of("dump"), entries, counts[i], 1), STROBE_OK);
        assert_int_equal(strobe_matrix_raw_read(path_of("dump"), &back, &count, &error), STROBE_OK);
        assert_int_equal(count, counts[i]);
        assert_memory_equal(back, entries, count * sizeof *back);
        free(back);
    }
    assert_int_equal(strobe_matrix_raw_write(path_of("dump"), entries, 1, 0), STROBE_EXISTS);
}

static void a_dump_has_its_lowest_byte_first(void **state)
{
    (void)state;
    const uint64_t entry = 0x8877665544332211;
    assert_int_equal(strobe_matrix_raw_write(path_of("dump"), &entry, 1, 1), STROBE_OK);
    file_is("dump", "\x11\x22\x33\x44\x55\x66\x77\x88");
}

static void a_dump_of_a_part_of_an_entry_is_refused(void **state)
{
    (void)state;
    for (size_t bytes = 1; bytes <= 23; bytes++) {
        uint64_t *entries;
        size_t count;
        write_file("dump", "123456781234567812345678", bytes);
        enum strobe_status status = strobe_matrix_raw_read(path_of("dump"), &entries, &count, &error);
        assert_int_equal(status, bytes % 8 ? STROBE_BAD_INPUT : STROBE_OK);
        assert_int_equal(count, bytes % 8 ? 0 : bytes / 8);
        if (bytes % 8) {
            char place[32];
            snprintf(place, sizeof place, "byte %zu: expected", bytes / 8 * 8);
            assert_non_null(strstr(error.text, place));
            assert_null(entries);
        }
        free(entries);
    }
    uint64_t *entries;
    size_t count;
    assert_int_equal(strobe_matrix_raw_read("/nowhere/at/all", &entries, &count, &error), STROBE_IO);
    assert_non_null(strstr(error.text, "/nowhere/at/all: No such file"));
    assert_int_equal(strobe_matrix_raw_read("/", &entries, &count, &error), STROBE_IO);
}

/* Finds the messages in a log: outermost ones, complete. A message that is still open reaches to the end. */
static void messages_are_found_in_a_log(void **state)
{
    (void)state;
    struct strobe_matrix_events e = {0};
    const char *line = "O1@0 ID@1 I1@2 O1@3 OD@4 I9@5 ID@6 ID@7 OD@8 OD@9 OD@10 ID@11 I2@12", *expected;
    size_t column, at = 0, begin = 99;
    assert_int_equal(strobe_matrix_events_parse(line, strlen(line), &e, &column, &expected), STROBE_OK);
    assert_true(strobe_matrix_next_message(e.entries, e.count, &at, &begin));
    assert_int_equal(begin, 1);
    assert_int_equal(at, 5);
    assert_true(strobe_matrix_next_message(e.entries, e.count, &at, &begin));
    assert_int_equal(begin, 6);
    assert_int_equal(at, 10);
    assert_true(strobe_matrix_next_message(e.entries, e.count, &at, &begin));
    assert_int_equal(begin, 11);
    assert_int_equal(at, 13);
    assert_false(strobe_matrix_next_message(e.entries, e.count, &at, &begin));
    strobe_matrix_events_free(&e);
}

/* ---- streams of events */

static void streams_are_taken_apart(void **state)
{
    (void)state;
    struct strobe_matrix_events e = {0};
    const char *line = "\tID@0 I4@10   O0@8796093022207 O1048575@1 end=-7 \r\n", *expected;
    size_t column;
    assert_int_equal(strobe_matrix_events_parse(line, strlen(line), &e, &column, &expected), STROBE_OK);
    assert_int_equal(e.count, 4);
    assert_int_equal(e.entries[0], strobe_matrix_entry(true, STROBE_MATRIX_DISPATCH, 0));
    assert_int_equal(e.entries[1], strobe_matrix_entry(true, 4, 10));
    assert_int_equal(e.entries[2], strobe_matrix_entry(false, 0, STROBE_MATRIX_MS_MAX));
    assert_int_equal(e.entries[3], strobe_matrix_entry(false, 0xFFFFF, 1));
    assert_int_equal(e.end_ms, -7);
    assert_int_equal(strobe_matrix_events_parse("", 0, &e, &column, &expected), STROBE_OK);
    assert_int_equal(e.count, 0);
    assert_true(e.end_ms == STROBE_MATRIX_NO_END);
    strobe_matrix_events_free(&e);
}

static void an_invalid_event_is_refused_with_its_column(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        size_t column;
        const char *expected;
    } bad[] = {
        {"x", 1, "I or O"},
        {"ID@0 x", 6, "I or O"},
        {"i4@1", 1, "I or O"},
        {"I", 2, "D or a method"},
        {"I-4@1", 2, "D or a method"},
        {"I1048576@1", 2, "D or a method"},
        {"I99999999999999999999@1", 2, "D or"},
        {"I4", 3, "@ and"},
        {"I4 @3", 3, "@ and"},
        {"I4@", 4, "a time"},
        {"I4@x", 4, "a time"},
        {"I4@8796093022208", 4, "a time"},
        {"I4@1O4@2", 5, "a blank"},
        {"end=", 5, "a time"},
        {"end=--1", 6, "a time"},
        {"end=1 OD@1", 7, "the end of the line"},
        {"end=1 end=1", 7, "the end"},
        {"en", 1, "I or O"},
        {"ID@0 end=1.5", 11, "a blank"},
    };
    struct strobe_matrix_events e = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t column = 0;
        const char *expected = "";
        assert_int_equal(strobe_matrix_events_parse(bad[i].line, strlen(bad[i].line), &e, &column, &expected),
                         STROBE_BAD_INPUT);
        assert_int_equal(column, bad[i].column);
        assert_ptr_equal(strstr(expected, bad[i].expected), expected);
    }
    strobe_matrix_events_free(&e);
}

/* ---- mappings */

static struct strobe_matrix_map *parsed(const char *text)
{
    struct strobe_matrix_map *m;
    assert_int_equal(strobe_matrix_map_parse(text, strlen(text), "map", &m, &error), STROBE_OK);
    return m;
}

static void a_mapping_is_written_by_id_with_the_dispatch_last(void **state)
{
    (void)state;
    struct strobe_matrix_map *m = parsed("# ours\n\n7,1,a/B c (I)V\r\n2,257,a.B native\n3,1,a.B <init> ()V");
    assert_int_equal(strobe_matrix_map_count(m), 4);
    assert_string_equal(strobe_matrix_map_at(m, 0)->name, "a.B c (I)V");
    assert_int_equal(strobe_matrix_map_of(m, 2)->access, 257);
    assert_null(strobe_matrix_map_of(m, 1));
    assert_null(strobe_matrix_map_of(m, UINT32_MAX));
    assert_int_equal(strobe_matrix_map_write(m, path_of("map"), 1), STROBE_OK);
    assert_int_equal(strobe_matrix_map_write(m, path_of("map"), 0), STROBE_EXISTS);
    strobe_matrix_map_close(m);
    const char *text = "2,257,a.B native\n3,1,a.B <init> ()V\n7,1,a.B c (I)V\n"
                       "1048574,1,android.os.Handler dispatchMessage (Landroid.os.Message;)V\n";
    file_is("map", text);
    assert_int_equal(strobe_matrix_map_read(path_of("map"), &m, &error), STROBE_OK);
    assert_int_equal(strobe_matrix_map_count(m), 4);
    strobe_matrix_map_close(m);
}

static void an_invalid_mapping_is_refused_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"x", "map:1: expected an id"},
        {"0,1,a b ()V", "map:1: expected an id"},
        {"1048575,1,a b ()V", "map:1: expected an id"},
        {"-1,1,a b ()V", "map:1: expected an id"},
        {"1", "map:1: expected an id"},
        {"#\n1,,a b ()V", "map:2: expected access"},
        {"1,4294967296,a b", "map:1: expected access"},
        {"1,1,a", "map:1: expected a class"},
        {"1,1,", "map:1: expected a class"},
        {"1,1,a  b", "map:1: expected a class"},
        {"1,1, a b", "map:1: expected a class"},
        {"1,1,a b c d", "map:1: expected a class"},
        {"1,1,a b\tc", "map:1: expected a class"},
        {"1,1,a b ()V\n1,1,a c ()V", "map:2: expected an id that is not"},
        {"1,1,a.c b ()V\n2,1,a/c b ()V", "map:2: expected a method that is not"},
        {"7,1,android/os/Handler dispatchMessage (Landroid.os.Message;)V", "map:1: expected the id 1048574"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct strobe_matrix_map *m;
        assert_int_equal(strobe_matrix_map_parse(bad[i].text, strlen(bad[i].text), "map", &m, &error),
                         STROBE_BAD_INPUT);
        assert_null(m);
        assert_ptr_equal(strstr(error.text, bad[i].says), error.text);
    }
    struct strobe_matrix_map *m;
    assert_int_equal(strobe_matrix_map_read("/nowhere/at/all", &m, &error), STROBE_IO);
    assert_null(m);
}

/* ---- black lists */

static void a_black_list_takes_classes_and_packages_whole(void **state)
{
    (void)state;
    struct strobe_matrix_blacklist *l = strobe_matrix_blacklist_open();
    const char *text = "[package]\n# ads\n-keepclass com/example/Feed\n\n-keeppackage com.example.ads/\n";
    assert_int_equal(strobe_matrix_blacklist_parse(l, text, strlen(text), "list", &error), STROBE_OK);
    static const char *const in[] = {"com.example.Feed",    "com/example/Feed",       "com.example.Feed$Row",
                                     "android.os.Handler",  "com.example.ads.Banner", "com/example/ads/x/Y",
                                     "com.tencent.matrix.A"};
    /* Upstream: any name with the same beginning counts as listed. */
    static const char *const out[] = {"com.example.Feeds", "com.example.adsense.B", "androidx.core.A", "com.example",
                                      "a"};
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        assert_true(strobe_matrix_blacklist_has(l, in[i]));
    for (size_t i = 0; i < sizeof out / sizeof *out; i++)
        assert_false(strobe_matrix_blacklist_has(l, out[i]));
    static const char *const bad[] = {"com.example.Feed", "-keep x", "-keepclass", "-keepclass a b", "-keeppackage /"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(strobe_matrix_blacklist_parse(l, bad[i], strlen(bad[i]), "list", &error), STROBE_BAD_INPUT);
        assert_ptr_equal(strstr(error.text, "list:1: expected "), error.text);
    }
    strobe_matrix_blacklist_close(l);
}

/* ---- the pass */

#define BODY .ops = 20, .plain_ops = 10, .calls = 3

static void methods_that_are_not_worth_a_probe_get_none(void **state)
{
    (void)state;
    struct strobe_matrix_blacklist *l = strobe_matrix_blacklist_open();
    static const struct {
        struct strobe_matrix_candidate c;
        enum strobe_matrix_verdict verdict;
    } cases[] = {
        {{"a.B", "run", "()V", 1, false, BODY}, STROBE_MATRIX_TRACED},
        {{"a.B", "run", "()V", 1, true, BODY}, STROBE_MATRIX_NO_BODY},
        {{"a.B", "run", NULL, 1 | STROBE_ACCESS_NATIVE, false, .ops = 0}, STROBE_MATRIX_NO_BODY},
        {{"a.B", "run", "()V", 1 | STROBE_ACCESS_ABSTRACT, false, .ops = 0}, STROBE_MATRIX_NO_BODY},
        {{"android.os.A", "run", "()V", 1, false, BODY}, STROBE_MATRIX_LISTED},
        {{"a.R", "x", "()V", 1, false, BODY}, STROBE_MATRIX_GENERATED},
        {{"a/R$id", "x", "()V", 1, false, BODY}, STROBE_MATRIX_GENERATED},
        {{"a.Manifest$permission", "x", "()V", 1, false, BODY}, STROBE_MATRIX_GENERATED},
        {{"BuildConfig", "x", "()V", 1, false, BODY}, STROBE_MATRIX_GENERATED},
        /* Upstream: any file with R$ in its name. */
        {{"a.FooR$Bar", "x", "()V", 1, false, BODY}, STROBE_MATRIX_TRACED},
        {{"a.Ruler", "x", "()V", 1, false, BODY}, STROBE_MATRIX_TRACED},
        {{"a.B", "x", "()V", 1, false, .ops = 0}, STROBE_MATRIX_EMPTY},
        {{"a.B", "getX", "()I", 1, false, .ops = 3, .plain_ops = 3}, STROBE_MATRIX_ACCESSOR},
        {{"a.B", "<init>", "()V", 1, false, .ops = 3, .plain_ops = 2, .calls = 1, .special_calls = 1},
         STROBE_MATRIX_ACCESSOR},
        {{"a.B", "x", "()V", 1, false, .ops = 3, .plain_ops = 2, .calls = 1, .special_calls = 1}, STROBE_MATRIX_TRACED},
        {{"a.B", "<init>", "()V", 1, false, .ops = 4, .plain_ops = 2, .calls = 2, .special_calls = 2},
         STROBE_MATRIX_TRACED},
        {{"a.B", "<init>", "()V", 1, false, .ops = 3, .plain_ops = 2, .calls = 1}, STROBE_MATRIX_TRACED},
        {{"a.B", "sum", "()I", 1, false, .ops = 9, .plain_ops = 6}, STROBE_MATRIX_CALLS_NOTHING},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(strobe_matrix_judge(l, &cases[i].c), cases[i].verdict);
    strobe_matrix_blacklist_close(l);
}

static void ids_go_on_after_the_largest_of_the_base_mapping(void **state)
{
    (void)state;
    struct strobe_matrix_blacklist *l = strobe_matrix_blacklist_open();
    struct strobe_matrix_map *m = parsed("5,1,a.B old ()V\n9,1,a.B gone ()V\n"
                                         "1048574,1,android.os.Handler dispatchMessage (Landroid.os.Message;)V\n");
    static const struct strobe_matrix_candidate build[] = {
        {"z.Z", "new", "(La/C;)V", 1, false, BODY}, {"a.B", "getX", "()I", 1, false, .ops = 2, .plain_ops = 2},
        {"a.B", "old", "()V", 1, false, BODY},      {"z.Z", "new", "(La.C;)V", 1, false, BODY},
        {"a.A", "more", NULL, 1, false, BODY},      {"a.A", "nat", "()V", STROBE_ACCESS_NATIVE, false, .ops = 0},
    };
    enum { COUNT = sizeof build / sizeof *build };
    uint32_t ids[COUNT];
    const uint32_t wanted[COUNT] = {10, 0, 5, 10, 11, 0};
    assert_int_equal(strobe_matrix_assign(m, l, build, COUNT, ids, &error), STROBE_OK);
    assert_memory_equal(ids, wanted, sizeof ids);
    assert_string_equal(strobe_matrix_map_of(m, 10)->name, "z.Z new (La.C;)V");
    assert_int_equal(strobe_matrix_ignored_write(build, COUNT, ids, path_of("ignored"), 1), STROBE_OK);
    file_is("ignored", "ignore methods:\na.A nat\na.B getX ()I\n");
    strobe_matrix_map_close(m);
    m = strobe_matrix_map_open();
    assert_int_equal(strobe_matrix_assign(m, l, build, 1, ids, &error), STROBE_OK);
    assert_int_equal(ids[0], 1);
    strobe_matrix_map_close(m);
    strobe_matrix_blacklist_close(l);
}

/* Upstream: ids beyond 20 bits are given out, and their methods are never recorded. */
static void more_methods_than_ids_are_refused(void **state)
{
    (void)state;
    struct strobe_matrix_blacklist *l = strobe_matrix_blacklist_open();
    struct strobe_matrix_map *m = parsed("1048572,1,a.B last ()V\n");
    static const struct strobe_matrix_candidate build[] = {{"a.C", "a", "()V", 1, false, BODY},
                                                           {"a.C", "b", "()V", 1, false, BODY}};
    uint32_t ids[2];
    assert_int_equal(strobe_matrix_assign(m, l, build, 2, ids, &error), STROBE_FULL);
    assert_int_equal(ids[0], STROBE_MATRIX_ID_MAX);
    assert_int_equal(ids[1], 0);
    assert_string_equal(error.text, "a.C b ()V: expected at most 1048573 methods with ids, a log has no more");
    strobe_matrix_map_close(m);
    strobe_matrix_blacklist_close(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dump_is_read_back_as_it_was_written),
        cmocka_unit_test(a_dump_has_its_lowest_byte_first),
        cmocka_unit_test(a_dump_of_a_part_of_an_entry_is_refused),
        cmocka_unit_test(messages_are_found_in_a_log),
        cmocka_unit_test(streams_are_taken_apart),
        cmocka_unit_test(an_invalid_event_is_refused_with_its_column),
        cmocka_unit_test(a_mapping_is_written_by_id_with_the_dispatch_last),
        cmocka_unit_test(an_invalid_mapping_is_refused_with_its_line),
        cmocka_unit_test(a_black_list_takes_classes_and_packages_whole),
        cmocka_unit_test(methods_that_are_not_worth_a_probe_get_none),
        cmocka_unit_test(ids_go_on_after_the_largest_of_the_base_mapping),
        cmocka_unit_test(more_methods_than_ids_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
