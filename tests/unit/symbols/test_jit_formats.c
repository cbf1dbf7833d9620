/* Files in which processes list the code that they generate: perf maps and jitdump files. */
#include "engine/trace/symbols/jitdump.h"
#include "engine/trace/symbols/perf_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct strobe_code_list list;

static int forget_list(void **state)
{
    (void)state;
    strobe_code_list_free(&list);
    return 0;
}

static void expect_code(size_t i, uint64_t start, uint64_t bytes, uint64_t begin, const char *name)
{
    assert_in_range(i, 0, list.count - 1);
    assert_int_equal(list.at[i].start, start);
    assert_int_equal(list.at[i].bytes, bytes);
    assert_int_equal(list.at[i].begin, begin);
    assert_int_equal(list.at[i].name_bytes, strlen(name));
    assert_memory_equal(list.at[i].name, name, strlen(name));
}

/* ---- perf maps ---- */

static void read_map(const char *text)
{
    assert_int_equal(strobe_perf_map_read(text, strlen(text), &list), STROBE_OK);
}

static void a_line_is_start_bytes_and_the_rest_of_it(void **state)
{
    (void)state;
    read_map("7f0000001000 40 JS:*digest /srv/my app.js:12:17\n"
             "0x7F0000002000 0x1c8 py::f:/a.py\r\n"
             "\n"
             "1  2\tlast");
    assert_int_equal(list.count, 3);
    assert_int_equal(list.bad, 0);
    expect_code(0, 0x7f0000001000, 0x40, 0, "JS:*digest /srv/my app.js:12:17");
    expect_code(1, 0x7f0000002000, 0x1c8, 0, "py::f:/a.py");
    expect_code(2, 1, 2, 0, "last");
}

static void lines_of_another_form_are_counted_and_left_out(void **state)
{
    static const char *const bad[] = {
        "x",
        "7f00 zz name",
        "7f00 40",
        "7f00 40 ",
        "name 7f00 40",
        "7f00 0 empty",
        "ffffffffffffffff 2 wraps",
        "10000000000000000 4 too_large",
        "0x 4 no_digits",
        "-1 4 negative",
        "7f00",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[128];
        snprintf(text, sizeof text, "1000 10 before\n%s\n2000 10 after\n", bad[i]);
        read_map(text);
        if (list.bad != 1 || list.first_bad != 2 || list.count != 2)
            fail_msg("\"%s\": %zu names, %u bad, the first in line %u", bad[i], list.count, (unsigned)list.bad,
                     (unsigned)list.first_bad);
        strobe_code_list_free(&list);
    }
}

static void a_map_of_200000_lines_is_read_whole(void **state)
{
    enum { LINES = 200000 };
    char *text = malloc(LINES * 40), *end = text;
    (void)state;
    assert_non_null(text);
    for (unsigned i = 0; i < LINES; i++)
        end += sprintf(end, "%x 20 method_%u\n", 0x10000000 + i * 32, i);
    assert_int_equal(strobe_perf_map_read(text, (size_t)(end - text), &list), STROBE_OK);
    assert_int_equal(list.count, LINES);
    assert_int_equal(list.bad, 0);
    expect_code(LINES - 1, 0x10000000 + (LINES - 1) * 32, 32, 0, "method_199999");
    free(text);
}

/* ---- jitdump files ---- */

static struct {
    char at[4096];
    size_t bytes;
} dump;

static void put(const void *from, size_t bytes)
{
    assert_true(dump.bytes + bytes <= sizeof dump.at);
    memcpy(dump.at + dump.bytes, from, bytes);
    dump.bytes += bytes;
}

static void put_u32(uint32_t value)
{
    put(&value, sizeof value);
}

static void put_u64(uint64_t value)
{
    put(&value, sizeof value);
}

static void begin_dump(uint64_t flags)
{
    dump.bytes = 0;
    put_u32(0x4a695444);
    put_u32(1);
    put_u32(40);
    put_u32(62);
    put_u32(0);
    put_u32(4242);
    put_u64(5);
    put_u64(flags);
}

static void put_load(uint64_t time, uint64_t start, uint64_t bytes, uint64_t index, const char *name)
{
    char code[16] = {0};
    put_u32(0);
    put_u32((uint32_t)(16 + 40 + strlen(name) + 1 + sizeof code));
    put_u64(time);
    put_u32(4242);
    put_u32(4243);
    put_u64(start);
    put_u64(start);
    put_u64(bytes);
    put_u64(index);
    put(name, strlen(name) + 1);
    put(code, sizeof code);
}

static void put_move(uint64_t time, uint64_t from, uint64_t to, uint64_t bytes, uint64_t index)
{
    put_u32(1);
    put_u32(16 + 48);
    put_u64(time);
    put_u32(4242);
    put_u32(4243);
    put_u64(to);
    put_u64(from);
    put_u64(to);
    put_u64(bytes);
    put_u64(index);
}

static struct strobe_jitdump read_dump(void)
{
    struct strobe_jitdump head;
    assert_int_equal(strobe_jitdump_read(dump.at, dump.bytes, &head, &list), STROBE_OK);
    return head;
}

static void loaded_code_has_its_name_from_its_time_on(void **state)
{
    (void)state;
    begin_dump(0);
    put_load(100, 0x7000, 0x40, 1, "first");
    put_load(200, 0x7000, 0x20, 2, "second");
    struct strobe_jitdump head = read_dump();
    assert_int_equal(head.pid, 4242);
    assert_int_equal(head.machine, 62);
    assert_false(head.counts_ticks);
    assert_int_equal(list.count, 2);
    expect_code(0, 0x7000, 0x40, 100, "first");
    expect_code(1, 0x7000, 0x20, 200, "second");
}

static void moved_code_keeps_its_name(void **state)
{
    (void)state;
    begin_dump(1);
    put_load(100, 0x7000, 0x40, 7, "f");
    put_move(150, 0x7000, 0x9000, 0x40, 7);
    put_move(180, 0x9000, 0xa000, 0x40, 7);
    assert_true(read_dump().counts_ticks);
    assert_int_equal(list.count, 3);
    expect_code(1, 0x9000, 0x40, 150, "f");
    expect_code(2, 0xa000, 0x40, 180, "f");
    assert_int_equal(list.bad, 0);
}

static void records_of_other_kinds_are_passed_over(void **state)
{
    (void)state;
    begin_dump(0);
    put_u32(2); /* line numbers */
    put_u32(24);
    put_u64(90);
    put_u64(0);
    put_load(100, 0x7000, 0x40, 1, "f");
    put_u32(3); /* the end */
    put_u32(16);
    put_u64(110);
    read_dump();
    assert_int_equal(list.count, 1);
    assert_int_equal(list.bad, 0);
}

static void records_that_do_not_fit_are_counted_and_left_out(void **state)
{
    (void)state;
    begin_dump(0);
    put_move(90, 1, 2, 3, 77); /* of unknown code */
    put_load(100, 0x7000, 0, 1, "empty");
    put_load(110, UINT64_MAX, 2, 2, "wraps");
    put_load(120, 0x7000, 8, 3, "");
    put_u32(0); /* a name without an end */
    put_u32(16 + 40 + 4);
    put_u64(130);
    for (int i = 0; i < 5; i++)
        put_u64(8);
    put("name", 4);
    put_load(140, 0x7000, 0x40, 4, "whole");
    read_dump();
    assert_int_equal(list.count, 1);
    expect_code(0, 0x7000, 0x40, 140, "whole");
    assert_int_equal(list.bad, 5);
    assert_int_equal(list.first_bad, 40);
}

static void a_file_cut_anywhere_gives_what_is_whole(void **state)
{
    (void)state;
    begin_dump(0);
    put_load(100, 0x7000, 0x40, 1, "first");
    size_t whole = dump.bytes;
    put_load(200, 0x8000, 0x40, 2, "second");
    for (size_t bytes = 0; bytes < dump.bytes; bytes++) {
        struct strobe_jitdump head;
        enum strobe_status status = strobe_jitdump_read(dump.at, bytes, &head, &list);
        assert_int_equal(status, bytes < 40 ? STROBE_BAD_INPUT : STROBE_OK);
        assert_int_equal(list.count, bytes >= whole);
        assert_int_equal(list.bad, bytes > 40 && bytes != whole);
        strobe_code_list_free(&list);
    }
}

static void other_files_are_refused(void **state)
{
    static const struct {
        size_t at;
        uint32_t value;
        const char *what;
    } wrong[] = {
        {0, 0x4454694a, "the other byte order"},
        {4, 2, "another version"},
        {8, 16, "a header too short"},
        {8, 4096, "a header longer than the file"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct strobe_jitdump head;
        begin_dump(0);
        put_load(100, 0x7000, 0x40, 1, "f");
        memcpy(dump.at + wrong[i].at, &wrong[i].value, 4);
        if (strobe_jitdump_read(dump.at, dump.bytes, &head, &list) != STROBE_BAD_INPUT || list.count)
            fail_msg("%s is not refused", wrong[i].what);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_line_is_start_bytes_and_the_rest_of_it, forget_list),
        cmocka_unit_test_teardown(lines_of_another_form_are_counted_and_left_out, forget_list),
        cmocka_unit_test_teardown(a_map_of_200000_lines_is_read_whole, forget_list),
        cmocka_unit_test_teardown(loaded_code_has_its_name_from_its_time_on, forget_list),
        cmocka_unit_test_teardown(moved_code_keeps_its_name, forget_list),
        cmocka_unit_test_teardown(records_of_other_kinds_are_passed_over, forget_list),
        cmocka_unit_test_teardown(records_that_do_not_fit_are_counted_and_left_out, forget_list),
        cmocka_unit_test_teardown(a_file_cut_anywhere_gives_what_is_whole, forget_list),
        cmocka_unit_test_teardown(other_files_are_refused, forget_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
