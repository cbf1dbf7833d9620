/* Perfetto traces are read back, from traces that the test builds byte by byte. */
#include "engine/base/error.h"
#include "engine/trace/import/perfetto/import_perfetto.h"

#include "engine/base/varint.h"
#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

/* A message being built. */
struct bytes {
    uint8_t at[8192];
    size_t count;
};

static void put(struct bytes *b, uint64_t v)
{
    assert_true(b->count + STROBE_VARINT_BYTES_MAX < sizeof b->at);
    b->count = (size_t)(strobe_varint_put(b->at + b->count, v) - b->at);
}

static void number(struct bytes *b, uint32_t field, uint64_t v)
{
    put(b, (uint64_t)field << 3);
    put(b, v);
}

static void raw(struct bytes *b, uint32_t field, const void *content, size_t count)
{
    put(b, (uint64_t)field << 3 | 2);
    put(b, count);
    assert_true(b->count + count < sizeof b->at);
    memcpy(b->at + b->count, content, count);
    b->count += count;
}

static void text(struct bytes *b, uint32_t field, const char *content)
{
    raw(b, field, content, strlen(content));
}

static void message(struct bytes *b, uint32_t field, const struct bytes *inner)
{
    raw(b, field, inner->at, inner->count);
}

/* ---- the parts of a trace */

static struct bytes trace;

static void packet(const struct bytes *p)
{
    message(&trace, 1, p);
}

static void thread_track(uint64_t uuid, uint32_t pid, uint32_t tid, const char *name)
{
    struct bytes p = {.count = 0}, track = {.count = 0}, thread = {.count = 0};
    number(&thread, 1, pid);
    number(&thread, 2, tid);
    text(&thread, 5, name);
    number(&track, 1, uuid);
    message(&track, 4, &thread);
    message(&p, 60, &track);
    number(&p, 10, 1);
    packet(&p);
}

static void counter_track(uint64_t uuid, uint64_t parent, unsigned type, const char *name, int incremental)
{
    struct bytes p = {.count = 0}, track = {.count = 0}, counter = {.count = 0};
    if (type)
        number(&counter, 1, type);
    number(&counter, 5, (uint64_t)incremental);
    text(&counter, 6, "things");
    number(&track, 1, uuid);
    number(&track, 5, parent);
    if (name)
        text(&track, 2, name);
    message(&track, 8, &counter);
    message(&p, 60, &track);
    number(&p, 10, 1);
    packet(&p);
}

/* The first packet of a sequence: an incremental clock that begins at boot_ns, its defaults, its names. */
static void state_packet(uint32_t sequence, uint64_t boot_ns, uint64_t track, const uint64_t *counters,
                         size_t counter_count)
{
    struct bytes p = {.count = 0}, snapshot = {.count = 0}, clock = {.count = 0}, defaults = {.count = 0};
    struct bytes event = {.count = 0}, interned = {.count = 0}, entry = {.count = 0};
    number(&clock, 1, 6);
    number(&clock, 2, boot_ns);
    message(&snapshot, 1, &clock);
    clock.count = 0;
    number(&clock, 1, 64);
    number(&clock, 2, 0);
    number(&clock, 3, 1);
    message(&snapshot, 1, &clock);
    number(&event, 11, track);
    for (size_t i = 0; i < counter_count; i++)
        number(&event, 31, counters[i]);
    number(&defaults, 58, 64);
    message(&defaults, 11, &event);
    number(&entry, 1, 7);
    text(&entry, 2, "seven");
    message(&interned, 2, &entry);
    entry.count = 0;
    number(&entry, 1, 3);
    text(&entry, 2, "wait");
    message(&interned, 1, &entry);
    message(&p, 6, &snapshot);
    message(&p, 59, &defaults);
    message(&p, 12, &interned);
    number(&p, 13, 1);
    number(&p, 10, sequence);
    packet(&p);
}

/* An event `delta` ns after the one before on its sequence. name 0 = an end. */
static void event_packet(uint32_t sequence, uint64_t delta, uint64_t name, const uint64_t *values, size_t value_count)
{
    struct bytes p = {.count = 0}, event = {.count = 0};
    number(&event, 9, name ? 1 : 2);
    if (name) {
        number(&event, 10, name);
        number(&event, 3, 3);
    }
    for (size_t i = 0; i < value_count; i++)
        number(&event, 12, values[i]);
    number(&p, 8, delta);
    number(&p, 10, sequence);
    number(&p, 13, 2);
    message(&p, 11, &event);
    packet(&p);
}

/* ---- the importer's events, as text */

static char imported[16384];
static size_t imported_bytes;

static void append(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void append(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(imported + imported_bytes, sizeof imported - imported_bytes, format, args);
    va_end(args);
    imported_bytes += n > 0 && imported_bytes + (size_t)n < sizeof imported ? (size_t)n : 0;
}

static void on_process(void *ctx, uint32_t pid, const char *name)
{
    (void)ctx;
    append("process %" PRIu32 " %s;", pid, name);
}

static void on_thread(void *ctx, uint32_t thread, uint32_t pid, uint32_t tid, const char *name)
{
    (void)ctx;
    append("thread %" PRIu32 " %" PRIu32 "/%" PRIu32 " %s;", thread, pid, tid, name);
}

static void on_begin(void *ctx, const struct strobe_import_event *e)
{
    (void)ctx;
    append("%" PRIu32 "@%" PRIu64 " begin %s (%s)", e->thread, e->time_ns, e->name, e->category);
    if (e->has_cpu)
        append(" cpu %" PRIu64, e->cpu_ns);
    append(";");
}

static void on_end(void *ctx, const struct strobe_import_event *e)
{
    (void)ctx;
    append("%" PRIu32 "@%" PRIu64 " end", e->thread, e->time_ns);
    if (e->has_cpu)
        append(" cpu %" PRIu64, e->cpu_ns);
    append(";");
}

static void on_counter(void *ctx, const struct strobe_import_event *e)
{
    (void)ctx;
    append("%" PRIu32 "@%" PRIu64 " %s = %g %s;", e->thread, e->time_ns, e->name, e->value, e->unit);
}

static void on_note(void *ctx, const struct strobe_import_event *e, const char *key, uint64_t value)
{
    (void)ctx;
    (void)e;
    append("note %s %" PRIu64 ";", key, value);
}

static void on_sample(void *ctx, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
    (void)ctx;
    append("sample %" PRIu32 "/%" PRIu32 "@%" PRIu64 ";", pid, tid, time_ns);
}

static const struct strobe_import_visitor visitor = {
    .process = on_process,
    .thread = on_thread,
    .slice_begin = on_begin,
    .slice_end = on_end,
    .counter = on_counter,
    .note = on_note,
    .sample = on_sample,
};
static struct strobe_import_stats stats;
static struct strobe_error error;

static enum strobe_status import(const void *content, size_t count)
{
    imported_bytes = 0;
    imported[0] = error.text[0] = 0;
    return strobe_import_perfetto_bytes(content, count, &visitor, NULL, &stats, &error);
}

static void expect(const char *content)
{
    assert_int_equal(import(trace.at, trace.count), STROBE_OK);
    assert_string_equal(imported, content);
}

/* A trace of one thread with two slices, CPU time and a counter. */
static void build_good(void)
{
    static const uint64_t counters[] = {20, 21};
    trace.count = 0;
    thread_track(10, 100, 101, "worker");
    counter_track(20, 10, 1, NULL, 1);
    counter_track(21, 10, 0, "allocated", 1);
    state_packet(5, 1000000, 10, counters, 2);
    event_packet(5, 100, 7, (const uint64_t[]){1000, 64}, 2);
    event_packet(5, 50, 7, (const uint64_t[]){30}, 1);
    event_packet(5, 25, 0, (const uint64_t[]){5, 8}, 2);
    event_packet(5, 0, 0, (const uint64_t[]){0}, 1);
}

static const char *const good = "thread 0 100/101 worker;"
                                "0@1000100 allocated = 64 things;0@1000100 begin seven (wait) cpu 1000;"
                                "0@1000150 begin seven (wait) cpu 1030;"
                                "0@1000175 allocated = 72 things;0@1000175 end cpu 1035;"
                                "0@1000175 end cpu 1035;";

static void slices_come_back_with_names_times_and_cpu_time(void **state)
{
    (void)state;
    build_good();
    expect(good);
    assert_int_equal(stats.events, 4);
    assert_int_equal(stats.unknown_names + stats.unknown_tracks + stats.unstated, 0);
}

static void deflated_packets_read_the_same(void **state)
{
    (void)state;
    build_good();
    struct bytes whole = trace, p = {.count = 0};
    uLongf packed = 4096;
    uint8_t deflated[4096];
    assert_int_equal(compress2(deflated, &packed, whole.at, whole.count, 9), Z_OK);
    trace.count = 0;
    raw(&p, 50, deflated, packed);
    packet(&p);
    expect(good);

    /* The error text for damage in a deflated packet states the packet's position and the position in it. */
    whole.at[whole.count - 1] ^= 0x55;
    whole.at[0] = 0x12;
    packed = 4096;
    assert_int_equal(compress2(deflated, &packed, whole.at, whole.count, 9), Z_OK);
    p.count = trace.count = 0;
    raw(&p, 50, deflated, packed);
    packet(&p);
    assert_int_equal(import(trace.at, trace.count), STROBE_BAD_INPUT);
    assert_non_null(strstr(error.text, "in the deflated packet there, byte 0: expected a packet"));

    /* Data that does not inflate is refused. */
    deflated[10] ^= 0xff;
    deflated[11] ^= 0xff;
    p.count = trace.count = 0;
    raw(&p, 50, deflated, packed / 2);
    packet(&p);
    assert_int_equal(import(trace.at, trace.count), STROBE_BAD_INPUT);
    assert_non_null(strstr(error.text, "expected deflated packets"));
}

/* A small packet that inflates without end must not take the machine's memory. */
static void a_bomb_of_zeros_is_refused(void **state)
{
    (void)state;
    size_t bytes = (size_t)80 << 20;
    uint8_t *deflated = malloc(1 << 20), *zeros = calloc(1, 1 << 20);
    assert_true(deflated && zeros);
    z_stream z = {.next_out = deflated, .avail_out = 1 << 20};
    assert_int_equal(deflateInit(&z, 6), Z_OK);
    for (size_t done = 0; done < bytes && z.avail_out > 100; done += 1 << 20) {
        z.next_in = zeros;
        z.avail_in = 1 << 20;
        deflate(&z, Z_NO_FLUSH);
    }
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t packed = z.total_out;
    deflateEnd(&z);
    uint8_t *file = malloc(packed + 64), *at = file, inner[64], *i = inner;
    assert_non_null(file);
    i = strobe_varint_put(strobe_varint_put(i, 50 << 3 | 2), packed);
    at = strobe_varint_put(strobe_varint_put(at, 1 << 3 | 2), (uint64_t)(i - inner) + packed);
    memcpy(at, inner, (size_t)(i - inner));
    at += i - inner;
    memcpy(at, deflated, packed);
    assert_int_equal(import(file, (size_t)(at - file) + packed), STROBE_BAD_INPUT);
    assert_non_null(strstr(error.text, "at most 64 MB"));
    free(file);
    free(zeros);
    free(deflated);
}

static void a_new_state_forgets_names_and_defaults(void **state)
{
    (void)state;
    build_good();
    struct bytes p = {.count = 0}, event = {.count = 0};
    number(&event, 9, 1);
    number(&event, 10, 7);
    number(&event, 11, 10);
    number(&p, 8, 123);
    number(&p, 58, 6);
    number(&p, 10, 5);
    number(&p, 13, 1);
    message(&p, 11, &event);
    packet(&p);
    assert_int_equal(import(trace.at, trace.count), STROBE_OK);
    assert_non_null(strstr(imported, "0@123 begin  ();"));
    assert_int_equal(stats.unknown_names, 1);
    assert_int_equal(stats.unknown_tracks, 0);
    event_packet(5, 1, 0, NULL, 0); /* on a track that is no longer known */
    assert_int_equal(import(trace.at, trace.count), STROBE_OK);
    assert_int_equal(stats.unknown_tracks, 1);
}

static void sequences_keep_their_names_and_clocks_apart(void **state)
{
    (void)state;
    trace.count = 0;
    thread_track(10, 1, 2, "a");
    thread_track(11, 1, 3, "b");
    state_packet(5, 1000, 10, NULL, 0);
    state_packet(6, 5000, 11, NULL, 0);
    struct bytes p = {.count = 0}, interned = {.count = 0}, entry = {.count = 0};
    number(&entry, 1, 7);
    text(&entry, 2, "sept");
    message(&interned, 2, &entry);
    message(&p, 12, &interned);
    number(&p, 10, 6);
    packet(&p);
    event_packet(5, 1, 7, NULL, 0);
    event_packet(6, 1, 7, NULL, 0);
    event_packet(5, 1, 0, NULL, 0);
    event_packet(6, 1, 0, NULL, 0);
    expect("thread 0 1/2 a;thread 1 1/3 b;0@1001 begin seven (wait);1@5001 begin sept (wait);0@1002 end;1@5002 end;");
}

static void events_without_their_state_are_counted_not_guessed(void **state)
{
    (void)state;
    trace.count = 0;
    thread_track(10, 1, 2, "a");
    event_packet(5, 1, 7, NULL, 0);
    expect("thread 0 1/2 a;");
    assert_int_equal(stats.unstated, 1);
    state_packet(5, 1000, 99, NULL, 0);
    event_packet(5, 1, 7, NULL, 0);
    expect("thread 0 1/2 a;");
    assert_int_equal(stats.unknown_tracks, 1);
}

static void an_unknown_clock_is_a_fault_with_its_place(void **state)
{
    (void)state;
    trace.count = 0;
    thread_track(10, 1, 2, "a");
    size_t where = trace.count;
    struct bytes p = {.count = 0}, event = {.count = 0};
    number(&event, 9, 1);
    number(&event, 11, 10);
    number(&p, 8, 1);
    number(&p, 58, 70);
    message(&p, 11, &event);
    packet(&p);
    assert_int_equal(import(trace.at, trace.count), STROBE_BAD_INPUT);
    char place[64];
    snprintf(place, sizeof place, "byte %zu: expected a snapshot of clock 70", where + 2);
    assert_non_null(strstr(error.text, place));
}

/* A snapshot that is cut off, in a packet whose defaults are fine. */
static void a_fault_in_one_part_of_a_packet_is_not_forgotten_at_the_next(void **state)
{
    (void)state;
    trace.count = 0;
    struct bytes p = {.count = 0}, defaults = {.count = 0};
    number(&defaults, 58, 64);
    raw(&p, 6, "\x0a\x7f", 2);
    message(&p, 59, &defaults);
    number(&p, 13, 1);
    number(&p, 10, 5);
    packet(&p);
    assert_int_equal(import(trace.at, trace.count), STROBE_BAD_INPUT);
}

static void samples_and_notes_come_back(void **state)
{
    (void)state;
    trace.count = 0;
    thread_track(10, 1, 2, "a");
    struct bytes p = {.count = 0}, sample = {.count = 0}, event = {.count = 0}, note = {.count = 0};
    number(&sample, 2, 1);
    number(&sample, 3, 2);
    number(&p, 8, 77);
    message(&p, 66, &sample);
    packet(&p);
    p.count = 0;
    text(&note, 10, "faults");
    number(&note, 3, 12);
    number(&event, 9, 2);
    number(&event, 11, 10);
    message(&event, 4, &note);
    number(&p, 8, 99);
    message(&p, 11, &event);
    packet(&p);
    expect("thread 0 1/2 a;sample 1/2@77;0@99 end;note faults 12;");
}

static void a_trace_cut_anywhere_is_refused_with_the_position(void **state)
{
    (void)state;
    build_good();
    for (size_t keep = 1; keep < trace.count; keep++) {
        uint8_t *copy = malloc(keep); /* exactly as long, so that a sanitizer sees a read beyond it */
        assert_non_null(copy);
        memcpy(copy, trace.at, keep);
        enum strobe_status status = import(copy, keep);
        if (status != STROBE_OK) { /* valid where a packet ends */
            assert_int_equal(status, STROBE_TRUNCATED);
            assert_int_equal(strncmp(error.text, "byte ", 5), 0);
            assert_true(strtoul(error.text + 5, NULL, 10) < keep);
            assert_non_null(strstr(error.text, "expected"));
        }
        free(copy);
    }
}

static void damaged_traces_end_in_a_status(void **state)
{
    (void)state;
    uint64_t random = strobe_trial_seed("test_import");
    build_good();
    for (uint32_t round = strobe_trial_rounds(20000); round; round--) {
        size_t count = trace.count;
        uint8_t *copy = malloc(count);
        assert_non_null(copy);
        memcpy(copy, trace.at, count);
        for (uint32_t n = 1 + strobe_trial_below(&random, 6); n; n--)
            copy[strobe_trial_below(&random, (uint32_t)count)] = (uint8_t)strobe_trial_random(&random);
        enum strobe_status status = import(copy, count);
        assert_true(status == STROBE_OK || status == STROBE_BAD_INPUT || status == STROBE_TRUNCATED);
        if (status != STROBE_OK)
            assert_int_equal(strncmp(error.text, "byte ", 5), 0);
        free(copy);
    }
}

static void a_bad_trace_is_refused_also_when_no_error_text_is_requested(void **state)
{
    (void)state;
    assert_int_equal(strobe_import_perfetto_bytes("hello", 5, &visitor, NULL, NULL, NULL), STROBE_BAD_INPUT);
}

static void files_that_are_no_traces_say_so(void **state)
{
    (void)state;
    temp_dir_write("empty", "", 0, 0644);
    temp_dir_write("text", "hello\n", 6, 0644);
    assert_int_equal(strobe_import_perfetto(temp_dir_path("empty"), &visitor, NULL, NULL, &error), STROBE_BAD_INPUT);
    assert_non_null(strstr(error.text, "empty file"));
    assert_int_equal(strobe_import_perfetto(temp_dir_path("text"), &visitor, NULL, NULL, &error), STROBE_BAD_INPUT);
    assert_string_equal(error.text, "byte 0: expected a packet (0x0a), found 0x68");
    assert_int_equal(strobe_import_perfetto(temp_dir_path("none"), &visitor, NULL, NULL, &error), STROBE_IO);
}

/* Logs, for every descriptor that was closed before the import and is open now, whether a started program would
 * inherit it. */
static void on_process_look_at_descriptors(void *ctx, uint32_t pid, const char *name)
{
    (void)pid, (void)name;
    const int *open_before = ctx;
    for (int fd = 0; fd < 64; fd++)
        if (!open_before[fd] && fcntl(fd, F_GETFD) != -1)
            append(fcntl(fd, F_GETFD) & FD_CLOEXEC ? "kept;" : "handed on;");
}

static void a_trace_being_read_is_not_handed_to_programs_started_meanwhile(void **state)
{
    (void)state;
    struct bytes p = {.count = 0}, track = {.count = 0}, process = {.count = 0};
    trace.count = 0;
    number(&process, 1, 7);
    text(&process, 6, "app");
    number(&track, 1, 10);
    message(&track, 3, &process);
    message(&p, 60, &track);
    packet(&p);
    const struct strobe_import_visitor look = {.process = on_process_look_at_descriptors};
    int open_before[64];
    temp_dir_write("trace", trace.at, trace.count, 0644);
    for (int fd = 0; fd < 64; fd++)
        open_before[fd] = fcntl(fd, F_GETFD) != -1;
    imported_bytes = 0;
    imported[0] = 0;
    assert_int_equal(strobe_import_perfetto(temp_dir_path("trace"), &look, open_before, NULL, &error), STROBE_OK);
    assert_string_equal(imported, "kept;");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_come_back_with_names_times_and_cpu_time),
        cmocka_unit_test(deflated_packets_read_the_same),
        cmocka_unit_test(a_bomb_of_zeros_is_refused),
        cmocka_unit_test(a_new_state_forgets_names_and_defaults),
        cmocka_unit_test(sequences_keep_their_names_and_clocks_apart),
        cmocka_unit_test(events_without_their_state_are_counted_not_guessed),
        cmocka_unit_test(an_unknown_clock_is_a_fault_with_its_place),
        cmocka_unit_test(a_fault_in_one_part_of_a_packet_is_not_forgotten_at_the_next),
        cmocka_unit_test(samples_and_notes_come_back),
        cmocka_unit_test(a_trace_cut_anywhere_is_refused_with_the_position),
        cmocka_unit_test(damaged_traces_end_in_a_status),
        cmocka_unit_test(a_bad_trace_is_refused_also_when_no_error_text_is_requested),
        cmocka_unit_test(files_that_are_no_traces_say_so),
        cmocka_unit_test(a_trace_being_read_is_not_handed_to_programs_started_meanwhile),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
