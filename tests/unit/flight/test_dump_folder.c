/* The folder of dumps: limits of a day and of the folder, the oldest deleted first, names only for whole dumps. */
#include "engine/flight/dump_folder.h"
#include "tests/unit/support/temp_dir.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define DAY_NS ((uint64_t)24 * 3600 * 1000000000)

enum { BYTES = 1000 };

static char content[4 * BYTES];

/* A new folder with limits that a test narrows. */
static struct strobe_dump_folder new_folder(const char *name)
{
    struct strobe_dump_folder f = {.dumps = 99,
                                   .dumps_a_day = 99,
                                   .dump_bytes = sizeof content,
                                   .bytes = 1 << 20,
                                   .bytes_a_day = 1 << 20,
                                   .free_bytes = 1};
    struct strobe_error error;
    snprintf(f.path, sizeof f.path, "%s", temp_dir_path(name));
    if (strobe_dump_folder_open(&f, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    return f;
}

static uint64_t now_ns(void)
{
    return (uint64_t)time(NULL) * 1000000000;
}

static uint32_t write_dump(const struct strobe_dump_folder *f, uint64_t at_ns, uint64_t bytes)
{
    struct strobe_error error = {""};
    uint32_t slot;
    if (strobe_dump_write(f, at_ns, content, bytes, &slot, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    return slot;
}

static void expect_full(const struct strobe_dump_folder *f, uint64_t at_ns, uint64_t bytes, const char *limit)
{
    struct strobe_error error = {""};
    char expected[STROBE_ERROR_BYTES];
    uint32_t slot;
    snprintf(expected, sizeof expected, "%s: %s", f->path, limit);
    assert_int_equal(strobe_dump_write(f, at_ns, content, bytes, &slot, &error), STROBE_FULL);
    assert_string_equal(error.text, expected);
}

static bool is_there(const struct strobe_dump_folder *f, const char *name)
{
    char path[STROBE_DUMP_PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/%s", f->path, name);
    return access(path, F_OK) == 0;
}

static bool has_slot(const struct strobe_dump_folder *f, uint32_t slot)
{
    char path[STROBE_DUMP_PATH_BYTES];
    strobe_dump_path(f, slot, path);
    return access(path, F_OK) == 0;
}

static uint32_t count_dumps(const struct strobe_dump_folder *f)
{
    uint32_t n = 0;
    for (uint32_t slot = 0; slot < STROBE_DUMP_SLOTS; slot++)
        n += has_slot(f, slot);
    return n;
}

static void set_age(const struct strobe_dump_folder *f, uint32_t slot, int seconds)
{
    char path[STROBE_DUMP_PATH_BYTES];
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - seconds}};
    strobe_dump_path(f, slot, path);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void remove_dump(const struct strobe_dump_folder *f, uint32_t slot)
{
    char path[STROBE_DUMP_PATH_BYTES];
    strobe_dump_path(f, slot, path);
    assert_int_equal(unlink(path), 0);
}

/* ---- writing */

static void a_dump_is_whole_and_private(void **state)
{
    (void)state;
    struct strobe_dump_folder f = new_folder("whole");
    struct stat is;
    size_t bytes;
    content[BYTES - 1] = 'x';
    assert_int_equal(write_dump(&f, now_ns(), BYTES), 0);
    char *got = temp_dir_read("whole/dump-00.strobe", &bytes);
    assert_int_equal(bytes, BYTES);
    assert_memory_equal(got, content, BYTES);
    free(got);
    assert_int_equal(stat(temp_dir_path("whole/dump-00.strobe"), &is), 0);
    assert_int_equal(is.st_mode & 0777, 0600);
    assert_int_equal(stat(f.path, &is), 0);
    assert_int_equal(is.st_mode & 0777, 0700);
    assert_false(is_there(&f, ".partial"));
}

static void a_rest_of_a_killed_process_is_overwritten(void **state)
{
    (void)state;
    struct strobe_dump_folder f = new_folder("rest");
    size_t bytes;
    temp_dir_write("rest/.partial", content, sizeof content, 0600);
    temp_dir_write("rest/.day.partial", content, sizeof content, 0600);
    write_dump(&f, now_ns(), BYTES);
    free(temp_dir_read("rest/dump-00.strobe", &bytes));
    assert_int_equal(bytes, BYTES);
    assert_false(is_there(&f, ".partial"));
    assert_false(is_there(&f, ".day.partial"));
}

static void a_foreign_file_with_the_name_of_a_dump_is_not_overwritten(void **state)
{
    (void)state;
    struct strobe_dump_folder f = new_folder("foreign");
    assert_int_equal(mkdir(temp_dir_path("foreign/dump-00.strobe"), 0700), 0);
    assert_int_equal(symlink("/nowhere", temp_dir_path("foreign/dump-01.strobe")), 0);
    assert_int_equal(write_dump(&f, now_ns(), BYTES), 2);
}

static void a_complete_dump_takes_the_place_of_the_first_one(void **state)
{
    (void)state;
    struct strobe_dump_folder f = new_folder("again");
    struct strobe_error error;
    size_t bytes;
    f.bytes = f.bytes_a_day = 2 * BYTES;
    uint32_t slot = write_dump(&f, now_ns(), BYTES);
    assert_int_equal(strobe_dump_rewrite(&f, slot, now_ns(), content, 2 * BYTES + 1, &error), STROBE_FULL);
    assert_int_equal(strobe_dump_rewrite(&f, slot, now_ns(), content, 2 * BYTES, &error), STROBE_OK);
    free(temp_dir_read("again/dump-00.strobe", &bytes));
    assert_int_equal(bytes, 2 * BYTES);
    assert_int_equal(count_dumps(&f), 1);
    expect_full(&f, now_ns(), 1, "bytes-a-day would be exceeded");
    remove_dump(&f, slot);
    assert_int_equal(strobe_dump_rewrite(&f, slot, now_ns(), content, BYTES, &error), STROBE_NO_ENTRY);
    assert_int_equal(count_dumps(&f), 0);
}

/* ---- limits of a dump and of the disk */

static void a_dump_has_at_most_its_limit(void **state)
{
    (void)state;
    struct strobe_dump_folder f = new_folder("dump");
    f.dump_bytes = BYTES;
    write_dump(&f, now_ns(), BYTES);
    expect_full(&f, now_ns(), BYTES + 1, "the dump is larger than dump-bytes");
}

static void a_full_disk_is_not_touched(void **state)
{
    (void)state;
    struct strobe_dump_folder f = new_folder("disk");
    unlink(temp_dir_path("disk/.lock"));
    f.free_bytes = UINT64_MAX;
    expect_full(&f, now_ns(), BYTES, "the disk would have less than free-bytes");
    assert_int_equal(rmdir(f.path), 0); /* it is empty */
}

/* ---- limits of a day */

static void a_day_has_its_number_of_dumps_whoever_deletes_them(void **state)
{
    (void)state;
    struct strobe_dump_folder f = new_folder("day");
    f.dumps_a_day = 3;
    for (int i = 0; i < 3; i++)
        remove_dump(&f, write_dump(&f, now_ns(), BYTES));
    expect_full(&f, now_ns(), BYTES, "dumps-a-day is reached");
    write_dump(&f, now_ns() + DAY_NS, BYTES);
}

static void a_day_has_its_bytes(void **state)
{
    (void)state;
    struct strobe_dump_folder f = new_folder("bytes");
    f.bytes_a_day = 2 * BYTES;
    remove_dump(&f, write_dump(&f, now_ns(), BYTES + 1));
    expect_full(&f, now_ns(), BYTES, "bytes-a-day would be exceeded");
    write_dump(&f, now_ns(), BYTES - 1);
    expect_full(&f, now_ns(), 1, "bytes-a-day would be exceeded");
}

/* Without the numbers of the day, the dumps of the day that are still there count. */
static void damaged_numbers_of_the_day_are_replaced_by_what_is_there(void **state)
{
    (void)state;
    static const char *const damaged[] = {"", "x", "1 2", "99999999999999999999 1 1\n", "1 2 3\nmore"};
    struct strobe_dump_folder f = new_folder("damaged");
    f.dumps_a_day = 2;
    write_dump(&f, now_ns(), BYTES);
    set_age(&f, write_dump(&f, now_ns(), BYTES), 48 * 3600);
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
        temp_dir_write("damaged/.day", damaged[i], strlen(damaged[i]), 0600);
        set_age(&f, write_dump(&f, now_ns(), BYTES), 48 * 3600);
        expect_full(&f, now_ns(), BYTES, "dumps-a-day is reached");
    }
}

/* ---- limits of the folder */

static void the_oldest_dumps_are_deleted_first(void **state)
{
    (void)state;
    struct strobe_dump_folder f = new_folder("oldest");
    f.dumps = 3;
    for (uint32_t slot = 0; slot < 3; slot++)
        assert_int_equal(write_dump(&f, now_ns(), BYTES), slot);
    set_age(&f, 0, 10);
    set_age(&f, 1, 30);
    set_age(&f, 2, 20);
    assert_int_equal(write_dump(&f, now_ns(), BYTES), 3);
    assert_true(has_slot(&f, 0) && !has_slot(&f, 1) && has_slot(&f, 2) && has_slot(&f, 3));
    assert_int_equal(write_dump(&f, now_ns(), BYTES), 1);
    assert_true(has_slot(&f, 0) && has_slot(&f, 1) && !has_slot(&f, 2) && has_slot(&f, 3));
}

static void the_folder_has_its_bytes(void **state)
{
    (void)state;
    struct strobe_dump_folder f = new_folder("total");
    f.bytes = 3 * BYTES;
    for (uint32_t slot = 0; slot < 3; slot++)
        set_age(&f, write_dump(&f, now_ns(), BYTES), 30 - (int)slot);
    assert_int_equal(write_dump(&f, now_ns(), 2 * BYTES), 3);
    assert_true(!has_slot(&f, 0) && !has_slot(&f, 1) && has_slot(&f, 2) && has_slot(&f, 3));
    expect_full(&f, now_ns(), 3 * BYTES + 1, "the dump is larger than bytes");
    assert_int_equal(count_dumps(&f), 2);
}

/* After the clock was set back, the new dump looks like the oldest one. */
static void the_new_dump_is_never_deleted(void **state)
{
    (void)state;
    struct strobe_dump_folder f = new_folder("new");
    f.dumps = 1;
    set_age(&f, write_dump(&f, now_ns(), BYTES), -1000);
    assert_int_equal(write_dump(&f, now_ns(), BYTES), 1);
    assert_true(!has_slot(&f, 0) && has_slot(&f, 1));
}

static void all_99_dumps_have_a_name(void **state)
{
    (void)state;
    struct strobe_dump_folder f = new_folder("many");
    uint64_t day = now_ns();
    for (int i = 0; i < 2 * STROBE_DUMP_SLOTS; i++)
        set_age(&f, write_dump(&f, day += DAY_NS, 1), 400 - i);
    assert_int_equal(count_dumps(&f), STROBE_DUMPS_MAX);
}

/* ---- failures */

static void a_folder_that_another_process_writes_to_is_left_alone(void **state)
{
    (void)state;
    struct strobe_dump_folder f = new_folder("locked");
    struct strobe_error error;
    uint32_t slot;
    int fd = open(temp_dir_path("locked/.lock"), O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(strobe_dump_write(&f, now_ns(), content, BYTES, &slot, &error), STROBE_WOULD_BLOCK);
    close(fd);
    assert_int_equal(count_dumps(&f), 0);
    write_dump(&f, now_ns(), BYTES);
}

static void a_folder_that_is_gone_is_named(void **state)
{
    (void)state;
    struct strobe_dump_folder f = new_folder("gone");
    struct strobe_error error;
    uint32_t slot;
    unlink(temp_dir_path("gone/.lock"));
    rmdir(f.path);
    assert_int_equal(strobe_dump_write(&f, now_ns(), content, BYTES, &slot, &error), STROBE_IO);
    assert_non_null(strstr(error.text, "gone: there is no such folder"));
    snprintf(f.path, sizeof f.path, "%s", temp_dir_path("a/b"));
    assert_int_equal(strobe_dump_folder_open(&f, &error), STROBE_IO);
    temp_dir_write("file", "", 0, 0600);
    snprintf(f.path, sizeof f.path, "%s", temp_dir_path("file"));
    assert_int_equal(strobe_dump_folder_open(&f, &error), STROBE_IO);
    assert_non_null(strstr(error.text, "file: is no folder"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dump_is_whole_and_private),
        cmocka_unit_test(a_rest_of_a_killed_process_is_overwritten),
        cmocka_unit_test(a_foreign_file_with_the_name_of_a_dump_is_not_overwritten),
        cmocka_unit_test(a_complete_dump_takes_the_place_of_the_first_one),
        cmocka_unit_test(a_dump_has_at_most_its_limit),
        cmocka_unit_test(a_full_disk_is_not_touched),
        cmocka_unit_test(a_day_has_its_number_of_dumps_whoever_deletes_them),
        cmocka_unit_test(a_day_has_its_bytes),
        cmocka_unit_test(damaged_numbers_of_the_day_are_replaced_by_what_is_there),
        cmocka_unit_test(the_oldest_dumps_are_deleted_first),
        cmocka_unit_test(the_folder_has_its_bytes),
        cmocka_unit_test(the_new_dump_is_never_deleted),
        cmocka_unit_test(all_99_dumps_have_a_name),
        cmocka_unit_test(a_folder_that_another_process_writes_to_is_left_alone),
        cmocka_unit_test(a_folder_that_is_gone_is_named),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
