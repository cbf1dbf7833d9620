/* Whole files (engine/util/whole_file.h). */
#include "engine/util/whole_file.h"

#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static void write_file(const char *name, size_t bytes)
{
    FILE *out = fopen(temp_dir_path(name), "wb");
    assert_non_null(out);
    for (size_t i = 0; i < bytes; i++)
        putc((int)(i % 251), out);
    assert_int_equal(fclose(out), 0);
}

static void a_file_is_copied_whole_and_ends_with_nul(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 300000};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        char *text;
        size_t bytes;
        write_file("sized", sizes[k]);
        assert_int_equal(strobe_whole_file_read(temp_dir_path("sized"), sizes[k], &text, &bytes), STROBE_OK);
        assert_int_equal(bytes, sizes[k]);
        assert_int_equal(text[bytes], 0);
        for (size_t i = 0; i < bytes; i++)
            assert_int_equal((unsigned char)text[i], i % 251);
        free(text);
    }
}

static void a_file_that_is_too_large_has_its_own_error(void **state)
{
    (void)state;
    char *text;
    size_t bytes;
    write_file("large", 100001);
    assert_int_equal(strobe_whole_file_read(temp_dir_path("large"), 100000, &text, &bytes), STROBE_IO);
    assert_int_equal(errno, EFBIG);
    assert_null(text);
    assert_int_equal(bytes, 0);
}

static void errors_have_the_systems_number(void **state)
{
    (void)state;
    struct strobe_whole_file file;
    char *text;
    size_t bytes;
    assert_int_equal(strobe_whole_file_read("/nowhere/at/all", SIZE_MAX, &text, &bytes), STROBE_IO);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(strobe_whole_file_read("/", SIZE_MAX, &text, &bytes), STROBE_IO);
    assert_int_equal(errno, EISDIR);
    assert_null(text);
    assert_int_equal(strobe_whole_file_open("/nowhere/at/all", &file), STROBE_IO);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(strobe_whole_file_open("/", &file), STROBE_IO);
    assert_int_equal(errno, EISDIR);
    assert_int_equal(file.bytes, 0);
    strobe_whole_file_close(&file);
}

static void passed_parts_can_be_read_again(void **state)
{
    (void)state;
    enum { BYTES = 1 << 20 };
    struct strobe_whole_file file;
    write_file("passed", BYTES);
    assert_int_equal(strobe_whole_file_open(temp_dir_path("passed"), &file), STROBE_OK);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < BYTES; i++) {
            assert_int_equal((unsigned char)file.at[i], i % 251);
            if (i % 100000 == 99999)
                strobe_whole_file_pass(&file, file.at + i);
        }
        strobe_whole_file_pass(&file, file.at + BYTES);
        assert_int_equal(file.passed, BYTES);
    }
    assert_non_null(file.mapped);
    strobe_whole_file_close(&file);
    file = (struct strobe_whole_file){.at = "read from a pipe", .bytes = 16};
    strobe_whole_file_pass(&file, file.at + 16); /* nothing is mapped */
    assert_string_equal(file.at, "read from a pipe");
}

static void an_opened_file_is_the_same_mapped_and_through_a_pipe(void **state)
{
    (void)state;
    struct strobe_whole_file file;
    int ends[2];
    char path[32];
    write_file("mapped", 5000);
    assert_int_equal(strobe_whole_file_open(temp_dir_path("mapped"), &file), STROBE_OK);
    assert_int_equal(file.bytes, 5000);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], file.at, file.bytes), 5000);
    close(ends[1]);
    struct strobe_whole_file piped;
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_int_equal(strobe_whole_file_open(path, &piped), STROBE_OK);
    assert_int_equal(piped.bytes, 5000);
    assert_memory_equal(piped.at, file.at, 5000);
    close(ends[0]);
    strobe_whole_file_close(&piped);
    strobe_whole_file_close(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_copied_whole_and_ends_with_nul),
        cmocka_unit_test(a_file_that_is_too_large_has_its_own_error),
        cmocka_unit_test(errors_have_the_systems_number),
        cmocka_unit_test(passed_parts_can_be_read_again),
        cmocka_unit_test(an_opened_file_is_the_same_mapped_and_through_a_pipe),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
