/* The folder of dumps under faults: whichever call fails, there is no half dump and none is lost. */
#include "engine/flight/dump_folder.h"
#include "tests/faults/faulty.h"
#include "tests/unit/faults/sweep.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { BYTES = 5000, OLD_BYTES = 100, NOW_S = 1000000000 };

static char content[BYTES];
static struct strobe_dump_folder folder = {
    .dumps = 9, .dumps_a_day = 99, .dump_bytes = BYTES, .bytes = 1 << 20, .bytes_a_day = 1 << 20, .free_bytes = 1};

static enum strobe_status write_one(struct strobe_error *error)
{
    uint32_t slot = 99;
    enum strobe_status status = strobe_dump_folder_open(&folder, error);
    if (status == STROBE_OK)
        status = strobe_dump_write(&folder, (uint64_t)NOW_S * 1000000000, content, BYTES, &slot, error);
    if (status != STROBE_OK)
        assert_true(error->text[0] != 0);
    else
        assert_int_equal(slot, 0);
    assert_int_not_equal(access(temp_dir_path("dumps/.partial"), F_OK), 0);
    unlink(temp_dir_path("dumps/.day"));
    return status;
}

static void a_dump_that_is_written_meets_each_fault(void **state)
{
    (void)state;
    static const struct sweep sweep = {"dump", "write host alloc", write_one, "dumps/dump-00.strobe"};
    snprintf(folder.path, sizeof folder.path, "%s", temp_dir_path("dumps"));
    memset(content, 'x', sizeof content);
    sweep_faults(&sweep);
}

/* The folder is full, so that the oldest dump must go: it stays whenever there is no new one. */
static void a_fault_deletes_no_dump(void **state)
{
    (void)state;
    static const char *const kinds[] = {"write", "host"};
    struct strobe_dump_folder f = folder;
    struct strobe_error error;
    f.dumps = 1;
    snprintf(f.path, sizeof f.path, "%s", temp_dir_path("full"));
    assert_int_equal(strobe_dump_folder_open(&f, &error), STROBE_OK);
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++)
        for (uint64_t at = 1;; at++) {
            uint32_t slot;
            temp_dir_write("full/dump-00.strobe", content, OLD_BYTES, 0600);
            fault_arm(kinds[kind], at);
            enum strobe_status status =
                strobe_dump_write(&f, (uint64_t)NOW_S * 1000000000, content, BYTES, &slot, &error);
            const char *met = fault_disarm();
            bool first = access(temp_dir_path("full/dump-00.strobe"), F_OK) == 0;
            bool second = access(temp_dir_path("full/dump-01.strobe"), F_OK) == 0;
            if (first == (status == STROBE_OK) || second != (status == STROBE_OK))
                fail_msg("%s %d (%s): status %d, %d %d", kinds[kind], (int)at, met ? met : "", status, first, second);
            unlink(temp_dir_path("full/dump-01.strobe"));
            unlink(temp_dir_path("full/.day"));
            if (!met)
                break;
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dump_that_is_written_meets_each_fault),
        cmocka_unit_test(a_fault_deletes_no_dump),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
