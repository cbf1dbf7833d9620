/* Merged traces: packets of Perfetto traces are copied as they are, ids never collide, parts are in the order of their
 * clocks, slices of sessions say how their thread was scheduled, and a failure leaves no file. */
#include "engine/base/error.h"
#include "engine/trace/export/convert.h"
#include "engine/trace/export/packets.h"
#include "engine/trace/import/perfetto/import_perfetto.h"
#include "engine/trace/import/perfetto/proto_read.h"
#include "engine/trace/merge/merge.h"
#include "engine/trace/merge/merge_packets.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

static struct strobe_merge_stats stats;
static struct strobe_error error;
static char *report;
static size_t report_bytes;

/* Merges files of the directory, given by their names, to `merged`. */
static enum strobe_status merge(const struct strobe_merge_options *how, const char *const *names, size_t count)
{
    const char *paths[6];
    struct strobe_merge_options options = how ? *how : (struct strobe_merge_options){0};
    char out[300];
    for (size_t i = 0; i < count; i++)
        paths[i] = strdup(temp_dir_path(names[i]));
    snprintf(out, sizeof out, "%s", temp_dir_path("merged"));
    free(report);
    options.paths = paths;
    options.count = count;
    options.report = open_memstream(&report, &report_bytes);
    options.replace = options.replace || !how;
    error.text[0] = 0;
    enum strobe_status status = strobe_merge(out, &options, &stats, &error);
    fclose(options.report);
    for (size_t i = 0; i < count; i++)
        free((char *)(uintptr_t)paths[i]);
    return status;
}

#define MERGE(...)                                                                                                     \
    merge(NULL, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* ---- traces */

static uint8_t bytes[1 << 16];
static size_t byte_count;

/* Adds a packet: its sequence, a snapshot of BOOTTIME (0 = none), a track, a text. */
static void add_packet(uint32_t sequence, uint64_t boot_ns, uint64_t track, const char *text)
{
    uint8_t *p = bytes + byte_count, *packet = p = pb_open(p, TRACE_PACKET);
    p = pb_text(p, 900, text); /* a field that no program knows */
    if (sequence)
        p = pb_uint(p, PACKET_SEQUENCE, sequence);
    if (boot_ns) {
        uint8_t *s = p = pb_open(p, PACKET_CLOCK_SNAPSHOT);
        p = strobe_packets_clock(p, CLOCK_BOOT, boot_ns, 0);
        p = strobe_packets_clock(p, CLOCK_MONO, boot_ns - 5, 0);
        p = pb_close(s, p);
    }
    if (track) {
        uint8_t *d = p = pb_open(p, PACKET_TRACK_DESCRIPTOR);
        p = pb_close(d, pb_uint(p, 1, track));
    }
    byte_count = (size_t)(pb_close(packet, p) - bytes);
}

static void write_trace(const char *name)
{
    temp_dir_write(name, bytes, byte_count, 0600);
    byte_count = 0;
}

/* Compresses all packets so far to one. */
static void compress_packets(void)
{
    static uint8_t packed[sizeof bytes];
    uLongf packed_bytes = sizeof packed;
    assert_int_equal(compress(packed, &packed_bytes, bytes, byte_count), Z_OK);
    uint8_t *p = bytes, *packet = p = pb_open(p, TRACE_PACKET);
    p = pb_bytes(p, PACKET_COMPRESSED, packed, packed_bytes);
    byte_count = (size_t)(pb_close(packet, p) - bytes);
}

/* Returns the packets' texts with their sequences, such as "a1 b2 ". */
static const char *merged_texts(void)
{
    static char texts[4096];
    size_t n = 0, merged_bytes;
    char *file = temp_dir_read("merged", &merged_bytes);
    struct strobe_proto trace = {(uint8_t *)file, (uint8_t *)file + merged_bytes};
    struct strobe_proto_field packet, f;
    texts[0] = 0;
    while (strobe_proto_next(&trace, &packet) == STROBE_PROTO_FIELD) {
        unsigned sequence = 0;
        char text[32] = "?";
        while (strobe_proto_next(&packet.bytes, &f) == STROBE_PROTO_FIELD) {
            if (f.number == 900)
                snprintf(text, sizeof text, "%.*s", (int)(f.bytes.end - f.bytes.at), (const char *)f.bytes.at);
            sequence = f.number == PACKET_SEQUENCE ? (unsigned)f.value : sequence;
        }
        n += (size_t)snprintf(texts + n, sizeof texts - n, "%s%u ", text, sequence);
    }
    assert_ptr_equal(trace.at, trace.end);
    free(file);
    return texts;
}

static void a_trace_is_copied_byte_for_byte(void **state)
{
    size_t one, other;
    (void)state;
    add_packet(1, 0, 0, "a");
    add_packet(2, 1000, 7, "b");
    add_packet(0, 0, 0, "c");
    compress_packets();
    add_packet(3, 2000, 0, "d");
    write_trace("trace");
    assert_int_equal(MERGE("trace"), STROBE_OK);
    char *from = temp_dir_read("trace", &one), *to = temp_dir_read("merged", &other);
    assert_int_equal(one, other);
    assert_memory_equal(from, to, one);
    assert_int_equal(stats.packets, 2);
    free(from);
    free(to);
}

static void parts_are_in_the_order_of_their_snapshots(void **state)
{
    (void)state;
    add_packet(1, 0, 0, "a");
    add_packet(1, 1000, 0, "b");
    add_packet(1, 0, 0, "c");
    add_packet(1, 3000, 0, "d");
    write_trace("early");
    add_packet(2, 2000, 0, "x");
    add_packet(2, 4000, 0, "y");
    add_packet(2, 3500, 0, "z"); /* a clock that goes back begins no part */
    write_trace("late");
    assert_int_equal(MERGE("late", "early"), STROBE_OK);
    assert_string_equal(merged_texts(), "a1 b1 c1 x2 d1 y2 z2 ");
}

static void equal_ids_of_sequences_become_different(void **state)
{
    char first[4096];
    (void)state;
    add_packet(1, 1000, 0, "a");
    add_packet(2, 0, 0, "b");
    write_trace("one");
    add_packet(2, 2000, 0, "c");
    add_packet(3, 0, 0, "d");
    add_packet(0, 0, 0, "e");
    write_trace("two");
    add_packet(2, 3000, 0, "f");
    add_packet(3, 0, 0, "g");
    compress_packets();
    write_trace("packed");
    assert_int_equal(MERGE("one", "two", "packed"), STROBE_OK);
    snprintf(first, sizeof first, "%s", merged_texts());
    unsigned c, f, g;
    assert_int_equal(sscanf(first, "a1 b2 c%u d3 e0 f%u g%u ", &c, &f, &g), 3);
    assert_true(c > 3 && f > 3 && g > 3 && c != f && c != g && f != g);
}

static void a_trace_that_is_cut_off_is_copied_up_to_there(void **state)
{
    (void)state;
    add_packet(1, 1000, 0, "a");
    add_packet(2, 0, 0, "b");
    byte_count--;
    write_trace("cut");
    assert_int_equal(MERGE("cut"), STROBE_OK);
    assert_string_equal(merged_texts(), "a1 ");
    assert_non_null(strstr(report, "cut: left out: bytes behind the last whole packet, from byte "));
}

/* ---- scheduling in traces */

static uint8_t *put_event(uint8_t *p, uint64_t time_ns, unsigned field, const uint64_t *values)
{
    uint8_t *event = p = pb_open(p, 2);
    p = pb_uint(p, 1, time_ns);
    uint8_t *m = p = pb_open(p, field);
    for (unsigned i = 1; i <= 7; i++)
        if (values[i])
            p = pb_uint(p, i, values[i]);
    p = pb_close(m, p);
    return pb_close(event, p);
}

static uint8_t *put_packed(uint8_t *p, unsigned field, size_t count, const uint64_t *values)
{
    uint8_t *array = p = pb_open(p, field);
    for (size_t i = 0; i < count; i++)
        p = strobe_varint_put(p, values[i]);
    return pb_close(array, p);
}

static void scan_into(struct strobe_sched_states *states)
{
    struct strobe_merge_packets packets = {.file = {.at = (const char *)bytes, .bytes = byte_count}};
    assert_int_equal(strobe_merge_packets_scan(&packets, states, &error), STROBE_OK);
    strobe_merge_packets_close(&packets);
    byte_count = 0;
    assert_int_equal(strobe_sched_states_finish(states), 1);
}

static void states_come_from_both_forms_of_scheduling(void **state)
{
    struct strobe_sched_states states = {0};
    uint64_t spent[STROBE_SCHED_STATE_COUNT];
    (void)state;
    strobe_sched_states_watch(&states, 8);
    strobe_sched_states_watch(&states, 9);
    strobe_sched_states_watch(&states, 10);
    uint8_t *p = bytes, *packet = p = pb_open(p, TRACE_PACKET), *bundle = p = pb_open(p, 1);
    p = pb_uint(p, 1, 3);
    p = put_event(p, 100, 4, (const uint64_t[8]){[2] = 1, [4] = 1, [6] = 8});
    p = put_event(p, 150, 4, (const uint64_t[8]){[2] = 8, [4] = 2, [6] = 1});
    p = put_event(p, 170, 20, (const uint64_t[8]){[2] = 8});
    p = pb_close(bundle, p);
    p = pb_close(packet, p);
    /* On another processor, in the compact form, with a clock of its own that is 1000 ns behind. */
    packet = p = pb_open(p, TRACE_PACKET);
    bundle = p = pb_open(p, 1);
    p = pb_uint(p, 1, 4);
    uint8_t *compact = p = pb_open(p, 4);
    p = put_packed(p, 1, 4, (const uint64_t[]){200, 30, 40, 60});
    p = put_packed(p, 2, 4, (const uint64_t[]){0, 1, 0x100, 1});
    p = put_packed(p, 3, 4, (const uint64_t[]){9, 10, 9, 1});
    p = put_packed(p, 7, 1, (const uint64_t[]){250});
    p = put_packed(p, 8, 1, (const uint64_t[]){9});
    p = pb_close(compact, p);
    p = pb_uint(p, 5, 2);
    p = pb_uint(p, 6, 5000);
    p = pb_uint(p, 7, 6000);
    p = pb_close(bundle, p);
    byte_count = (size_t)(pb_close(packet, p) - bytes);
    scan_into(&states);
    assert_int_equal(strobe_sched_states_between(&states, 8, 0, 200, spent), 1);
    assert_int_equal(spent[STROBE_SCHED_RUNNING], 50);
    assert_int_equal(spent[STROBE_SCHED_UNINTERRUPTIBLE], 20);
    assert_int_equal(spent[STROBE_SCHED_RUNNABLE], 30);
    assert_int_equal(strobe_sched_states_between(&states, 10, 1240, 2000, spent), 1);
    assert_int_equal(spent[STROBE_SCHED_RUNNING], 30);
    assert_int_equal(spent[STROBE_SCHED_RUNNABLE], 60);
    assert_int_equal(strobe_sched_states_between(&states, 9, 1200, 1270, spent), 1);
    assert_int_equal(spent[STROBE_SCHED_RUNNING], 30);
    assert_int_equal(spent[STROBE_SCHED_SLEEPING], 20);
    assert_int_equal(spent[STROBE_SCHED_RUNNABLE], 20);
    strobe_sched_states_free(&states);
}

/* ---- sessions */

enum { TID = 70000 };
static const uint64_t MS = 1000000;

/* Writes a session of one thread with two samples of one function, and a wait. */
static void write_session(const char *name, uint64_t seed)
{
    static const uint64_t address[] = {0x1000, 0x2000};
    struct strobe_build b;
    struct strobe_config config = strobe_build_config();
    config.seed = seed;
    strobe_build_begin(&b, temp_dir_path(name), &config);
    strobe_build_thread(&b, TID, "main");
    uint32_t stack = strobe_build_stack(&b, address, 2);
    for (uint64_t at = 1; at <= 3; at++)
        strobe_build_record(&b, (struct strobe_record){.ticks = at * MS, .stack = stack}, NULL);
    strobe_build_end(&b, 5 * MS);
}

struct counts {
    unsigned threads, begins, notes;
    uint64_t running, sleeping, tracks;
};

static void count_thread(void *ctx, uint32_t thread, uint32_t pid, uint32_t tid, const char *name)
{
    (void)thread, (void)pid, (void)tid, (void)name;
    ((struct counts *)ctx)->threads++;
}

static void count_begin(void *ctx, const struct strobe_import_event *e)
{
    ((struct counts *)ctx)->begins += e->thread != STROBE_IMPORT_NO_THREAD;
}

static void count_note(void *ctx, const struct strobe_import_event *e, const char *key, uint64_t value)
{
    struct counts *c = ctx;
    (void)e;
    c->running += !strcmp(key, "running") ? value : 0;
    c->sleeping += !strcmp(key, "sleeping") ? value : 0;
    c->notes += !strcmp(key, "running") || !strcmp(key, "sleeping");
}

static struct counts count_merged(void)
{
    static const struct strobe_import_visitor visitor = {
        .thread = count_thread, .slice_begin = count_begin, .note = count_note};
    struct counts c = {0};
    struct strobe_import_stats imported = {0};
    assert_int_equal(strobe_import_perfetto(temp_dir_path("merged"), &visitor, &c, &imported, &error), STROBE_OK);
    assert_int_equal(imported.unknown_tracks + imported.unknown_names + imported.unstated, 0);
    return c;
}

static void a_slice_says_how_its_thread_was_scheduled(void **state)
{
    static const char text[] =
        "# clock: boot\n"
        "x-1 [000] 1.000500: sched_switch: prev_comm=x prev_pid=1 prev_prio=1 prev_state=S ==> next_comm=m "
        "next_pid=70000 next_prio=1\n"
        "m-70000 [000] 1.001500: sched_switch: prev_comm=m prev_pid=70000 prev_prio=1 prev_state=S ==> next_comm=x "
        "next_pid=1 next_prio=1\n"
        "x-1 [000] 1.900000: cpu_idle: state=1 cpu_id=0\n"
        "x-1 [000] 1.950000: sched_waking: comm=q pid=5 prio=1 target_cpu=000\n";
    (void)state;
    write_session("s", 1);
    temp_dir_write("text", text, strlen(text), 0600);
    assert_int_equal(MERGE("s"), STROBE_OK);
    struct counts alone = count_merged();
    assert_int_equal(alone.notes, 0);
    assert_int_equal(MERGE("s", "text"), STROBE_OK);
    struct counts c = count_merged();
    assert_int_equal(c.begins, alone.begins);
    assert_int_equal(c.running, alone.begins * MS / 2); /* each slice begins at 1 ms and is alone or outermost */
    assert_true(c.sleeping >= alone.begins * MS);
    assert_int_equal(stats.events, 4);
    assert_non_null(strstr(report, "boottime, as the file states, error below 1 us"));
}

static void a_session_and_a_copy_of_it_stay_apart(void **state)
{
    (void)state;
    write_session("s", 1);
    assert_int_equal(MERGE("s"), STROBE_OK);
    struct counts one = count_merged();
    assert_int_equal(MERGE("s", "s"), STROBE_OK);
    struct counts two = count_merged();
    assert_int_equal(two.threads, 2 * one.threads);
    assert_int_equal(two.begins, 2 * one.begins);
    assert_non_null(strstr(report, "is recorded at the same time: shown as "));
    char from[300], to[300];
    snprintf(from, sizeof from, "%s", temp_dir_path("s"));
    snprintf(to, sizeof to, "%s", temp_dir_path("s.trace"));
    const struct strobe_convert_options options = {.replace = 1};
    assert_int_equal(strobe_convert(from, to, &options, NULL, &error), STROBE_OK);
    assert_int_equal(MERGE("s", "s.trace"), STROBE_OK);
    two = count_merged();
    assert_int_equal(two.threads, 2 * one.threads);
    assert_int_equal(two.begins, 2 * one.begins);
}

static void ids_of_sessions_are_free_in_the_traces(void **state)
{
    (void)state;
    write_session("s", 1);
    assert_int_equal(MERGE("s"), STROBE_OK);
    struct counts one = count_merged();
    size_t merged_bytes;
    char *file = temp_dir_read("merged", &merged_bytes);
    unsigned first = 0, taken = 0;
    const char *texts = merged_texts();
    assert_int_equal(sscanf(texts, "?%u ", &first), 1);
    free(file);
    add_packet(first + 1, 500000000, 0, "a");
    write_trace("taken");
    assert_int_equal(MERGE("s", "taken"), STROBE_OK);
    texts = merged_texts();
    char pattern[32];
    snprintf(pattern, sizeof pattern, "?%u ", first + 1);
    assert_null(strstr(texts, pattern));
    assert_int_equal(sscanf(texts, "a%u ?%u ", &taken, &first), 2);
    assert_true(first > taken);
    assert_int_equal(count_merged().begins, one.begins);
}

/* ---- failures */

static void is_refused(const char *expected)
{
    if (!strstr(error.text, expected))
        fail_msg("%s: expected %s", error.text, expected);
}

static void what_is_no_input_is_refused_in_one_line(void **state)
{
    static const char early[] = "a-1 [0] 0.5: x: y\n";
    (void)state;
    unlink(temp_dir_path("merged"));
    temp_dir_write("none", "", 0, 0600);
    temp_dir_write("words", "some words\n", 11, 0600);
    temp_dir_write("early", early, strlen(early), 0600);
    write_session("s", 1);
    assert_int_equal(MERGE("none"), STROBE_BAD_INPUT);
    is_refused("none: empty, expected a session");
    assert_int_equal(MERGE("s", "words"), STROBE_BAD_INPUT);
    is_refused("words: line 1: expected a session, a Perfetto trace, or ftrace text");
    assert_int_equal(MERGE("s", "missing"), STROBE_IO);
    is_refused("missing: No such file");
    assert_int_equal(MERGE("s", "early"), STROBE_BAD_INPUT);
    is_refused(
        "early: no clock in common: its times are 0.500 s to 0.500 s, those of the other inputs 1.000 s to 1.005 s");
    assert_int_equal(access(temp_dir_path("merged"), F_OK), -1);
    const struct strobe_merge_options moved = {.has_offset = true, .offset_ns = 500000000};
    assert_int_equal(merge(&moved, (const char *const[]){"s", "early"}, 2), STROBE_OK);
    assert_non_null(strstr(report, "moved by --offset"));
    assert_int_equal(merge(&moved, (const char *const[]){"s", "early"}, 2), STROBE_EXISTS);
    assert_int_equal(MERGE("s", "merged", "early"), STROBE_BAD_INPUT);
    is_refused("is an input itself");
}

static int free_report(void **state)
{
    free(report);
    return temp_dir_close(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_is_copied_byte_for_byte),
        cmocka_unit_test(parts_are_in_the_order_of_their_snapshots),
        cmocka_unit_test(equal_ids_of_sequences_become_different),
        cmocka_unit_test(a_trace_that_is_cut_off_is_copied_up_to_there),
        cmocka_unit_test(states_come_from_both_forms_of_scheduling),
        cmocka_unit_test(a_slice_says_how_its_thread_was_scheduled),
        cmocka_unit_test(a_session_and_a_copy_of_it_stay_apart),
        cmocka_unit_test(ids_of_sessions_are_free_in_the_traces),
        cmocka_unit_test(what_is_no_input_is_refused_in_one_line),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, free_report);
}
