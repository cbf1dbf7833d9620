/* Mappings of a process, as /proc/self/maps lists them. */
#include "engine/backend/linux/maps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void a_line_gives_range_rights_and_path(void **state)
{
    static const struct {
        const char *line;
        uint64_t start, end;
        bool is_executable;
        const char *path;
    } good[] = {
        {"00400000-0040b000 r-xp 00001000 fe:01 1234                       /usr/bin/cat", 0x400000, 0x40b000, true,
         "/usr/bin/cat"},
        {"7f12a000-7f12b000 rw-p 00000000 00:00 0", 0x7f12a000, 0x7f12b000, false, ""},
        {"7f12a000-7f12b000 rw-p 00000000 00:00 0                          [stack]", 0x7f12a000, 0x7f12b000, false,
         "[stack]"},
        {"1000-2000 r--s 00000000 fe:01 7                          /a folder/lib x.so (deleted)", 0x1000, 0x2000, false,
         "/a folder/lib x.so"},
        {"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0          [vsyscall]", 0xffffffffff600000u,
         0xffffffffff601000u, true, "[vsyscall]"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct strobe_linux_map map;
        assert_true(strobe_linux_parse_map(good[i].line, &map));
        assert_int_equal(map.start, good[i].start);
        assert_int_equal(map.end, good[i].end);
        assert_int_equal(map.is_executable, good[i].is_executable);
        assert_string_equal(map.path, good[i].path);
        assert_false(map.path_cut);
    }
}

static void a_line_of_another_form_is_refused(void **state)
{
    static const char *const bad[] = {
        "", "1000", "1000-", "1000-2000", "1000-2000 r", "-2000 r-xp 0 0 0", "x-y r-xp 0 0 0"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct strobe_linux_map map;
        if (strobe_linux_parse_map(bad[i], &map))
            fail_msg("\"%s\" is taken", bad[i]);
    }
}

static void a_path_that_does_not_fit_is_cut_and_reported(void **state)
{
    char line[2000];
    struct strobe_linux_map map;
    (void)state;
    int n = snprintf(line, sizeof line, "1000-2000 r-xp 00000000 fe:01 7 ");
    memset(line + n, 'a', sizeof line - (size_t)n);
    line[n] = '/';
    line[sizeof line - 1] = '\0';
    assert_true(strobe_linux_parse_map(line, &map));
    assert_true(map.path_cut);
    assert_int_equal(strlen(map.path), sizeof map.path - 1);
}

struct search {
    uint64_t address;
    struct strobe_linux_map found;
    unsigned maps;
};

static bool look(void *ctx, const struct strobe_linux_map *map)
{
    struct search *s = ctx;
    s->maps++;
    if (s->address < map->start || s->address >= map->end)
        return true;
    s->found = *map;
    return false;
}

static void this_program_is_mapped_from_its_file(void **state)
{
    struct search s = {.address = (uint64_t)(uintptr_t)this_program_is_mapped_from_its_file};
    char *exe = realpath("/proc/self/exe", NULL);
    (void)state;
    assert_non_null(exe);
    strobe_linux_visit_maps(look, &s);
    assert_string_equal(s.found.path, exe);
    assert_true(s.found.is_executable);
    s = (struct search){.address = UINT64_MAX};
    strobe_linux_visit_maps(look, &s);
    assert_in_range(s.maps, 10, 100000);
    free(exe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_gives_range_rights_and_path),
        cmocka_unit_test(a_line_of_another_form_is_refused),
        cmocka_unit_test(a_path_that_does_not_fit_is_cut_and_reported),
        cmocka_unit_test(this_program_is_mapped_from_its_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
