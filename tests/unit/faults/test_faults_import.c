/* Imports of other tracers' files under faults: whichever allocation, write or open of a file fails, the import reports
 * it, or its output is complete. */
#include "engine/method/matrix/matrix_entry.h"
#include "engine/method/rhea/atrace.h"
#include "engine/trace/export/calls_convert.h"
#include "engine/trace/import/btrace/btrace2_read.h"
#include "engine/trace/import/ftrace/ftrace_read.h"
#include "engine/trace/import/matrix/matrix_events.h"
#include "engine/trace/import/matrix/matrix_map.h"
#include "engine/trace/import/matrix/matrix_raw.h"
#include "engine/trace/import/matrix/matrix_stack.h"
#include "engine/trace/import/rhea/profilo_text.h"
#include "engine/trace/import/rhea/rhea_read.h"
#include "engine/trace/import/rhea/rhea_ring.h"
#include "engine/trace/model/calls_repair.h"
#include "tests/faults/faulty.h"
#include "tests/unit/faults/sweep.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- texts. Calls that a throw unwinds, and calls without an end; counters, instants, asynchronous slices; reads. */

#define LINE(tid, ts) "app-" #tid " (7) [001] ...1 " ts ": "
#define MARK(tid, ts) LINE(tid, ts) "tracing_mark_write: "

/* clang-format off */
static const char ftrace[] =
    MARK(7, "1.0") "B|7|B:a.b.c\n"
    MARK(7, "1.1") "B|7|B:d\n"
    MARK(7, "1.2") "B|7|T:d\n"
    MARK(7, "1.3") "B|7|E:a.b.c\n"
    MARK(8, "1.1") "B|7|inflate\n"
    MARK(8, "1.2") "E|7\n"
    MARK(8, "1.3") "C|7|count|5\n"
    MARK(8, "1.3") "S|7|job|1\n"
    MARK(8, "1.4") "F|7|job|1\n"
    MARK(8, "1.5") "I|7|now\n"
    LINE(7, "1.5") "android_fs_dataread_start: entry_name /data/a, offset 0, bytes 4096, cmdline app, pid 7, i_size 9, "
                   "ino 3\n"
    LINE(7, "1.6") "android_fs_dataread_end: ino 3, offset 0, bytes 4096\n"
    MARK(9, "2.0") "B|7|B:left open\n";
/* clang-format on */

static const char rhea[] = "1|TRACE_START|105972000050000|2716|0|0|0\n"
                           "monotonic_time: 105912.112233\n"
                           "105972.000100 2716: B|2716|B:a.b\n"
                           "105972.000250 2716: B|2716|inflate\n"
                           "105972.000500 2716: E|2716\n"
                           "105972.000600 2717: B|2716|B:c\n"
                           "105972.001000 2716: B|2716|E:a.b\n"
                           "2|TRACE_END|105972002000000|2716|0|0|0\n";

static const char mapping[] = "16,1,com.example.Main onCreate\n17,1,com.example.Cart load\n";

/* Writes the calls in each format to one file after the other; the last has the name `out`. */
static enum strobe_status convert_calls(struct strobe_calls *calls, enum strobe_repair repair,
                                        const struct strobe_calls_convert_options *options, struct strobe_error *error)
{
    struct strobe_repair_stats repaired;
    struct strobe_calls_convert_stats stats;
    enum strobe_status status = strobe_calls_repair(calls, repair, &repaired);
    return status == STROBE_OK ? strobe_calls_convert(calls, temp_dir_path("out"), options, &stats, error) : status;
}

static enum strobe_status import_ftrace(const struct strobe_calls_convert_options *options, struct strobe_error *error)
{
    const struct strobe_ftrace_options read = {.marks = STROBE_FTRACE_AUTO};
    struct strobe_calls calls;
    enum strobe_status status = strobe_ftrace_read(ftrace, sizeof ftrace - 1, &read, &calls, NULL, error);
    if (status == STROBE_OK)
        status = convert_calls(&calls, STROBE_REPAIR_ENCLOSING, options, error);
    strobe_calls_close(&calls);
    return status;
}

static enum strobe_status ftrace_to_perfetto(struct strobe_error *e)
{
    return import_ftrace(&(struct strobe_calls_convert_options){.deflate = 1}, e);
}

static enum strobe_status ftrace_to_session(struct strobe_error *e)
{
    return import_ftrace(&(struct strobe_calls_convert_options){.format = STROBE_CALLS_SESSION}, e);
}

static enum strobe_status ftrace_to_ftrace(struct strobe_error *e)
{
    return import_ftrace(&(struct strobe_calls_convert_options){.format = STROBE_CALLS_FTRACE}, e);
}

static enum strobe_status ftrace_to_chrome(struct strobe_error *e)
{
    return import_ftrace(&(struct strobe_calls_convert_options){.trace = STROBE_FORMAT_CHROME}, e);
}

static enum strobe_status rhea_to_btrace2(struct strobe_error *error)
{
    const struct strobe_calls_convert_options options = {.format = STROBE_CALLS_BTRACE2};
    struct strobe_rhea_read_stats stats;
    struct strobe_calls calls;
    strobe_calls_open(&calls);
    enum strobe_status status = strobe_rhea_read(rhea, sizeof rhea - 1, &calls, &stats, error);
    if (status == STROBE_OK)
        status = convert_calls(&calls, STROBE_REPAIR_LAST, &options, error);
    strobe_calls_close(&calls);
    if (status != STROBE_OK && !access(temp_dir_path("out.mapping"), F_OK))
        fail_msg("a failed conversion leaves a mapping");
    unlink(temp_dir_path("out.mapping"));
    return status;
}

static enum strobe_status write_profilo(struct strobe_calls *calls)
{
    struct strobe_outfile out;
    uint64_t blanked = 0;
    enum strobe_status status = strobe_calls_repair(calls, STROBE_REPAIR_LAST, NULL);
    if (status == STROBE_OK)
        status = strobe_outfile_open(&out, temp_dir_path("out"), 0);
    if (status != STROBE_OK)
        return status;
    status = strobe_profilo_write_calls(calls, &out, &blanked);
    return strobe_outfile_finish(&out, status != STROBE_OK) == STROBE_OK ? status : STROBE_IO;
}

static enum strobe_status rhea_to_profilo(struct strobe_error *error)
{
    struct strobe_rhea_read_stats stats;
    struct strobe_calls calls;
    strobe_calls_open(&calls);
    enum strobe_status status = strobe_rhea_read(rhea, sizeof rhea - 1, &calls, &stats, error);
    if (status == STROBE_OK)
        status = write_profilo(&calls);
    strobe_calls_close(&calls);
    return status;
}

/* The file that a program under faults cannot write is written once before. */
static char *profilo, *btrace2;
static size_t profilo_bytes, btrace2_bytes;

static enum strobe_status profilo_to_folded(struct strobe_error *error)
{
    const struct strobe_calls_convert_options options = {.trace = STROBE_FORMAT_FOLDED};
    struct strobe_profilo_stats stats;
    struct strobe_calls calls;
    strobe_calls_open(&calls);
    enum strobe_status status = strobe_profilo_read(profilo, profilo_bytes, &calls, &stats, error);
    if (status == STROBE_OK)
        status = convert_calls(&calls, STROBE_REPAIR_LAST, &options, error);
    strobe_calls_close(&calls);
    return status;
}

static enum strobe_status btrace2_to_speedscope(struct strobe_error *error)
{
    const struct strobe_calls_convert_options options = {.trace = STROBE_FORMAT_SPEEDSCOPE};
    struct strobe_btrace2_options read = {0};
    struct strobe_btrace2_stats stats;
    struct strobe_matrix_map *map;
    struct strobe_calls calls;
    enum strobe_status status = strobe_matrix_map_parse(mapping, sizeof mapping - 1, "mapping", &map, error);
    if (status != STROBE_OK)
        return status;
    read.map = map;
    status = strobe_btrace2_read(btrace2, btrace2_bytes, &read, &calls, &stats, error);
    if (status == STROBE_OK)
        status = convert_calls(&calls, STROBE_REPAIR_LAST, &options, error);
    strobe_calls_close(&calls);
    strobe_matrix_map_close(map);
    return status;
}

static void an_import_of_calls_meets_each_fault(void **state)
{
    (void)state;
    static const struct sweep sweeps[] = {
        {"ftrace to perfetto", "alloc write", ftrace_to_perfetto, "out"},
        {"ftrace to session", "alloc write map host", ftrace_to_session, "out"},
        {"ftrace to ftrace", "alloc write", ftrace_to_ftrace, "out"},
        {"ftrace to chrome", "alloc", ftrace_to_chrome, "out"},
        {"rhea to btrace2", "alloc write host", rhea_to_btrace2, "out"},
        {"rhea to profilo", "alloc write", rhea_to_profilo, "out"},
        {"profilo to folded", "alloc", profilo_to_folded, "out"},
        {"btrace2 to speedscope", "alloc", btrace2_to_speedscope, "out"},
    };
    struct strobe_error error;
    assert_int_equal(rhea_to_profilo(&error), STROBE_OK);
    profilo = temp_dir_read("out", &profilo_bytes);
    unlink(temp_dir_path("out"));
    assert_int_equal(rhea_to_btrace2(&error), STROBE_OK);
    btrace2 = temp_dir_read("out", &btrace2_bytes);
    unlink(temp_dir_path("out"));
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++)
        sweep_faults(&sweeps[i]);
    free(profilo);
    free(btrace2);
}

static void expect_content(const char *name, const char *content)
{
    size_t bytes;
    char *found = temp_dir_read(name, &bytes);
    assert_string_equal(found, content);
    free(found);
}

/* Overwrites a log and its mapping. */
static enum strobe_status replace_btrace2(void)
{
    const struct strobe_calls_convert_options options = {.format = STROBE_CALLS_BTRACE2, .replace = 1};
    struct strobe_rhea_read_stats stats;
    struct strobe_error error;
    struct strobe_calls calls;
    strobe_calls_open(&calls);
    assert_int_equal(strobe_rhea_read(rhea, sizeof rhea - 1, &calls, &stats, &error), STROBE_OK);
    enum strobe_status status = convert_calls(&calls, STROBE_REPAIR_LAST, &options, &error);
    strobe_calls_close(&calls);
    return status;
}

static void a_full_disk_replaces_neither_a_log_nor_its_mapping(void **state)
{
    (void)state;
    unsigned writes = 0;
    const char *met;
    for (uint64_t at = 1;; at++) {
        temp_dir_write("out", "old log", 7, 0600);
        temp_dir_write("out.mapping", "old mapping", 11, 0600);
        fault_arm("write", at);
        enum strobe_status status = replace_btrace2();
        met = fault_disarm();
        if (!met)
            break;
        assert_int_not_equal(status, STROBE_OK);
        expect_content("out", "old log");
        if (!strcmp(met, "write")) {
            writes++;
            expect_content("out.mapping", "old mapping");
        }
    }
    assert_true(writes >= 2);
    unlink(temp_dir_path("out"));
    unlink(temp_dir_path("out.mapping"));
}

/* ---- the file of a packet ring, in memory that is not aligned as a ring is */

static uint64_t ring_time_ns(void *ctx)
{
    (void)ctx;
    return 5000000000;
}

static uint32_t ring_tid(void *ctx)
{
    (void)ctx;
    return 7;
}

enum { RING_SLOTS = 8, RING_ROOM = 4096 };
static _Alignas(128) char ring_memory[RING_ROOM];
static char ring_file[RING_ROOM + 1];

static void write_ring(void)
{
    const struct strobe_atrace_system system = {.boot_ns = ring_time_ns, .tid = ring_tid};
    struct strobe_packet_ring ring;
    struct strobe_atrace a;
    assert_true(strobe_packet_ring_bytes(RING_SLOTS) <= RING_ROOM);
    strobe_packet_ring_create(ring_memory, RING_SLOTS);
    assert_int_equal(strobe_packet_ring_open(ring_memory, RING_ROOM, &ring), STROBE_OK);
    strobe_atrace_begin(&a, &ring, &system, 7, 4000000000, false);
    strobe_atrace_section(&a, STROBE_ATRACE_ENTER, "method", 6);
    strobe_atrace_section(&a, STROBE_ATRACE_LEAVE, "method", 6);
    strobe_atrace_end(&a);
    memcpy(ring_file + 1, ring_memory, RING_ROOM);
}

static enum strobe_status read_ring(struct strobe_error *error)
{
    struct strobe_rhea_ring_stats stats;
    struct strobe_calls calls;
    strobe_calls_open(&calls);
    enum strobe_status status = strobe_rhea_ring_read(ring_file + 1, RING_ROOM, &calls, &stats, error);
    if (status == STROBE_OK)
        assert_int_equal(calls.threads[0].call_count, 2);
    strobe_calls_close(&calls);
    return status;
}

static void the_file_of_a_ring_meets_each_fault(void **state)
{
    (void)state;
    static const struct sweep sweep = {"ring", "alloc", read_ring, NULL};
    struct strobe_error error;
    write_ring();
    sweep_faults(&sweep);
    fault_arm("alloc", 1); /* the aligned copy: the ring is not read without it */
    assert_int_equal(read_ring(&error), STROBE_IO);
    assert_string_equal(fault_disarm(), "aligned_alloc");
}

static void a_damaged_file_of_a_ring_is_refused_with_what_was_expected(void **state)
{
    (void)state;
    static const struct {
        size_t at, bytes;
        uint32_t value;
        enum strobe_status status;
        const char *text;
    } damages[] = {
        {offsetof(struct strobe_packet_head, version), RING_ROOM, 9, STROBE_BAD_VERSION,
         "a ring of another version, expected 1"},
        {offsetof(struct strobe_packet_head, capacity), RING_ROOM, 9999, STROBE_TRUNCATED,
         "a ring's file that is cut off at 4096 bytes, expected more"},
        {offsetof(struct strobe_packet_head, capacity), RING_ROOM, 0, STROBE_BAD_INPUT,
         "a ring's file whose head is damaged, expected 1 to 5000000 slots"},
        {offsetof(struct strobe_packet_head, words), RING_ROOM, 0, STROBE_BAD_INPUT,
         "a ring to which no capture wrote"}, /* its process id is 0 */
    };
    struct strobe_rhea_ring_stats stats;
    struct strobe_error error;
    struct strobe_calls calls;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        write_ring();
        memcpy(ring_memory + damages[i].at, &damages[i].value, sizeof damages[i].value);
        strobe_calls_open(&calls);
        assert_true(strobe_rhea_ring_is(ring_memory, RING_ROOM));
        assert_int_equal(strobe_rhea_ring_read(ring_memory, damages[i].bytes, &calls, &stats, &error),
                         damages[i].status);
        assert_string_equal(error.text, damages[i].text);
        strobe_calls_close(&calls);
    }
    assert_false(strobe_rhea_ring_is("1|TRACE_START", 13));
}

/* ---- Matrix's stacks. The output is the stack, in memory. */

static const char events[] = "ID@0 I4@10 I5@20 I6@25 O5@30 O4@156 I7@160 OD@1249 end=1249\n";

static enum strobe_status build_stack(enum strobe_matrix_contract contract)
{
    struct strobe_matrix_events e = {0};
    struct strobe_matrix_stack stack;
    struct strobe_matrix_stats stats;
    size_t column;
    const char *expected;
    enum strobe_status status = strobe_matrix_events_parse(events, sizeof events - 1, &e, &column, &expected);
    struct strobe_matrix_builder *b = status == STROBE_OK ? strobe_matrix_builder_open(contract) : NULL;
    if (status == STROBE_OK)
        status = b ? strobe_matrix_build(b, e.entries, e.count, true, e.end_ms, &stack, &stats) : STROBE_IO;
    if (status == STROBE_OK)
        assert_true(stack.count >= 1);
    strobe_matrix_builder_close(b);
    strobe_matrix_events_free(&e);
    return status;
}

static enum strobe_status documented_stack(struct strobe_error *error)
{
    (void)error;
    return build_stack(STROBE_MATRIX_DOCUMENTED);
}

static enum strobe_status upstream_stack(struct strobe_error *error)
{
    (void)error;
    return build_stack(STROBE_MATRIX_UPSTREAM);
}

static enum strobe_status raw_dump(struct strobe_error *error)
{
    const uint64_t entries[] = {strobe_matrix_entry(1, 3, 5), strobe_matrix_entry(0, 3, 9)};
    uint64_t *back;
    size_t count;
    enum strobe_status status = strobe_matrix_raw_write(temp_dir_path("out"), entries, 2, 0);
    if (status == STROBE_OK)
        status = strobe_matrix_raw_read(temp_dir_path("out"), &back, &count, error);
    if (status == STROBE_OK)
        free(back);
    else
        unlink(temp_dir_path("out"));
    return status;
}

static const struct strobe_matrix_candidate candidates[] = {
    {.class_name = "com.example.A", .method = "run", .desc = "()V", .ops = 9, .calls = 1},
    {.class_name = "com.example.B", .method = "get", .desc = "()I", .ops = 2, .plain_ops = 2},
    {.class_name = "android.view.View", .method = "draw", .ops = 9, .calls = 1}};

static enum strobe_status assign_ids(struct strobe_error *error)
{
    static const char list[] = "[package]\n-keeppackage com/example/gone/\n";
    uint32_t ids[3];
    struct strobe_matrix_map *map = NULL;
    struct strobe_matrix_blacklist *l = strobe_matrix_blacklist_open();
    enum strobe_status status = l ? strobe_matrix_blacklist_parse(l, list, sizeof list - 1, "list", error) : STROBE_IO;
    if (status == STROBE_OK)
        status = strobe_matrix_map_parse(mapping, sizeof mapping - 1, "mapping", &map, error);
    if (status == STROBE_OK)
        status = strobe_matrix_assign(map, l, candidates, 3, ids, error);
    if (status == STROBE_OK)
        status = strobe_matrix_map_write(map, temp_dir_path("out"), 0);
    if (status == STROBE_OK)
        status = strobe_matrix_ignored_write(candidates, 3, ids, temp_dir_path("ignored"), 1);
    if (status != STROBE_OK)
        unlink(temp_dir_path("out"));
    strobe_matrix_map_close(map);
    strobe_matrix_blacklist_close(l);
    return status;
}

static void files_and_stacks_of_matrix_meet_each_fault(void **state)
{
    (void)state;
    static const struct sweep sweeps[] = {{"documented", "alloc", documented_stack, NULL},
                                          {"upstream", "alloc", upstream_stack, NULL},
                                          {"raw dump", "alloc write host", raw_dump, "out"},
                                          {"ids", "alloc write", assign_ids, "out"}};
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++)
        sweep_faults(&sweeps[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_import_of_calls_meets_each_fault),
        cmocka_unit_test(a_full_disk_replaces_neither_a_log_nor_its_mapping),
        cmocka_unit_test(the_file_of_a_ring_meets_each_fault),
        cmocka_unit_test(a_damaged_file_of_a_ring_is_refused_with_what_was_expected),
        cmocka_unit_test(files_and_stacks_of_matrix_meet_each_fault),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
