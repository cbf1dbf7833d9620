/* The output of simpleperf report-sample --protobuf, made field by field. */
#include "engine/base/error.h"
#include "engine/base/varint.h"
#include "engine/trace/import/simpleperf/simpleperf_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/support/imported.h"

#define MS UINT64_C(1000000)

/* ---- an encoder */

struct bytes {
    uint8_t at[4096];
    size_t count;
};

static struct bytes file;

static void raw(struct bytes *b, const void *content, size_t count)
{
    assert_true(b->count + count <= sizeof b->at);
    memcpy(b->at + b->count, content, count);
    b->count += count;
}

static void varint(struct bytes *b, uint64_t value)
{
    uint8_t text[STROBE_VARINT_BYTES_MAX];
    raw(b, text, (size_t)(strobe_varint_put(text, value) - text));
}

static void number(struct bytes *b, uint32_t field, uint64_t value)
{
    varint(b, (uint64_t)field << 3);
    varint(b, value);
}

static void inner(struct bytes *b, uint32_t field, const void *content, size_t count)
{
    varint(b, (uint64_t)field << 3 | 2);
    varint(b, count);
    raw(b, content, count);
}

static void text(struct bytes *b, uint32_t field, const char *content)
{
    inner(b, field, content, strlen(content));
}

static void length(uint32_t bytes)
{
    uint8_t le[] = {(uint8_t)bytes, (uint8_t)(bytes >> 8), (uint8_t)(bytes >> 16), (uint8_t)(bytes >> 24)};
    raw(&file, le, 4);
}

static void record(uint32_t field, const struct bytes *message)
{
    struct bytes whole = {.count = 0};
    inner(&whole, field, message->at, message->count);
    length((uint32_t)whole.count);
    raw(&file, whole.at, whole.count);
}

static void begin(void)
{
    file.count = 0;
    raw(&file, "SIMPLEPERF\1", 12);
}

/* A letter is a symbol of file 1, whose symbols are 'a' to 'e'; '?' has none. */
static void sample(uint32_t tid, uint64_t time_ns, uint32_t type, uint64_t count, const char *stack)
{
    struct bytes m = {.count = 0};
    number(&m, 1, time_ns);
    number(&m, 2, tid);
    for (size_t i = strlen(stack); i-- > 0;) {
        struct bytes entry = {.count = 0};
        number(&entry, 1, 0x1234);
        number(&entry, 2, 1);
        number(&entry, 3, stack[i] == '?' ? UINT64_MAX : (uint64_t)(stack[i] - 'a'));
        inner(&m, 3, entry.at, entry.count);
    }
    number(&m, 4, count);
    number(&m, 5, type);
    record(1, &m);
}

static void switches(uint32_t tid, uint64_t time_ns, bool on)
{
    struct bytes m = {.count = 0};
    number(&m, 1, on);
    number(&m, 2, time_ns);
    number(&m, 3, tid);
    record(6, &m);
}

static void thread(uint32_t tid, uint32_t pid, const char *name)
{
    struct bytes m = {.count = 0};
    number(&m, 1, tid);
    number(&m, 2, pid);
    text(&m, 3, name);
    record(4, &m);
}

/* Ends the file as simpleperf does: files, threads and the rest come last. */
static void end(const char *event)
{
    struct bytes m = {.count = 0};
    number(&m, 1, 1);
    text(&m, 2, "/system/lib64/libapp.so");
    for (char letter = 'a'; letter <= 'e'; letter++)
        text(&m, 3, (char[]){letter, 0});
    record(3, &m);
    thread(7, 7, "main");
    thread(8, 7, "loader");
    thread(9, 9, "other");
    m.count = 0;
    text(&m, 1, event);
    text(&m, 1, "sched:sched_switch");
    text(&m, 2, "com.example.app");
    record(5, &m);
    m.count = 0;
    number(&m, 1, 10);
    number(&m, 2, 3);
    record(2, &m);
    length(0);
}

/* ---- the import */

static struct strobe_sampled *sampled;
static struct strobe_simpleperf_stats stats;
static struct strobe_error error;
static struct imported session;

static enum strobe_status read_file(const struct strobe_simpleperf_options *options)
{
    static const struct strobe_simpleperf_options none;
    assert_int_equal(strobe_sampled_open(&sampled), STROBE_OK);
    return strobe_simpleperf_read(file.at, file.count, options ? options : &none, sampled, &stats, &error);
}

static void import(const struct strobe_simpleperf_options *options)
{
    if (read_file(options) != STROBE_OK)
        fail_msg("%s", error.text);
    imported_open(&session, sampled);
}

static void close_import(void)
{
    imported_close(&session);
    strobe_sampled_close(sampled);
}

static void refuses(enum strobe_status status, const struct strobe_simpleperf_options *options, const char *expected)
{
    assert_int_equal(read_file(options), status);
    assert_string_equal(error.text, expected);
    strobe_sampled_close(sampled);
}

static void samples_have_their_threads_stacks_and_images(void **state)
{
    (void)state;
    begin();
    sample(7, 1 * MS, 0, 100, "abc");
    sample(8, 2 * MS, 0, 100, "a?");
    end("cpu-cycles:u");
    import(NULL);
    const struct strobe_reader_thread *main = imported_thread(&session, 7), *loader = imported_thread(&session, 8);
    assert_true(main->is_main);
    assert_string_equal(main->name, "main");
    assert_string_equal(loader->name, "loader");
    assert_int_equal(main->items[0].record.ticks, 1 * MS);
    assert_int_equal(main->items[0].record.kind, STROBE_KIND_ASYNC);
    assert_string_equal(imported_stack(&session, main->items[0].record.stack), "a;b;c");
    assert_string_equal(imported_stack(&session, loader->items[0].record.stack), "a;libapp.so+0x1234");
    assert_string_equal(strobe_reader_image(session.reader, 0)->path, "/system/lib64/libapp.so");
    assert_string_equal(session.reader->session.header->command, "com.example.app");
    assert_string_equal(stats.event, "cpu-cycles:u");
    assert_int_equal(stats.nameless, 1);
    assert_int_equal(stats.lost, 3);
    assert_int_equal(stats.damaged + stats.tail_bytes, 0);
    close_import();
}

static void counts_of_a_clock_are_cpu_time(void **state)
{
    (void)state;
    begin();
    sample(7, 10 * MS, 0, 1 * MS, "a");
    sample(7, 11 * MS, 0, 1 * MS, "a");
    sample(7, 20 * MS, 0, 1 * MS, "a");
    end("task-clock");
    import(NULL);
    const struct strobe_reader_thread *t = imported_thread(&session, 7);
    assert_int_equal(t->items[2].record.kind, STROBE_KIND_CPU);
    assert_int_equal(t->items[2].record.cpu_ns, 3 * MS);
    assert_int_equal(session.reader->session.header->config.async_interval_ns, MS);
    char *folded = imported_folded(&session);
    assert_non_null(strstr(folded, "main;a;[off cpu] 8000\n"));
    free(folded);
    close_import();
}

/* --trace-offcpu: the stack at which the thread leaves its processor is a sample of sched:sched_switch. */
static void a_thread_is_off_its_processor_between_switches(void **state)
{
    (void)state;
    begin();
    sample(7, 10 * MS, 0, 1 * MS, "ab");
    sample(7, 12 * MS, 1, 1, "ac");
    switches(7, 12 * MS, false);
    switches(7, 32 * MS, true);
    sample(7, 33 * MS, 0, 1 * MS, "ab");
    end("cpu-clock");
    import(NULL);
    const struct strobe_reader_thread *t = imported_thread(&session, 7);
    assert_int_equal(t->item_count, 4);
    assert_int_equal(t->items[3].record.cpu_ns, 3 * MS);
    char *folded = imported_folded(&session);
    assert_non_null(strstr(folded, "main;a;c;[off cpu] 20000\n"));
    free(folded);
    assert_int_equal(stats.switches, 2);
    assert_int_equal(stats.other_events, 0);
    close_import();
}

static void one_event_and_one_process_are_selected(void **state)
{
    (void)state;
    begin();
    sample(7, 1 * MS, 0, 1, "a");
    sample(8, 2 * MS, 0, 1, "a");
    sample(9, 3 * MS, 0, 1, "b");
    sample(7, 4 * MS, 1, 1, "c");
    end("cpu-cycles");
    import(NULL);
    assert_int_equal(session.reader->session.header->pid, 7);
    assert_int_equal(stats.samples, 2);
    assert_int_equal(stats.other_processes, 1);
    assert_int_equal(stats.other_events, 1);
    close_import();
    import(&(struct strobe_simpleperf_options){.pid = 9});
    assert_int_equal(stats.samples, 1);
    close_import();
    refuses(STROBE_BAD_INPUT, &(struct strobe_simpleperf_options){.pid = 5}, "no sample of process 5");
    refuses(STROBE_BAD_INPUT, &(struct strobe_simpleperf_options){.event = "faults"}, "no sample of the event faults");
}

static void records_around_a_damaged_one_are_read(void **state)
{
    (void)state;
    begin();
    sample(7, 1 * MS, 0, 1, "a");
    size_t at = file.count;
    sample(7, 2 * MS, 0, 1, "b");
    file.at[at + 6] = 0xff; /* the first key in the sample */
    sample(7, 3 * MS, 0, 1, "c");
    end("cpu-cycles");
    import(NULL);
    assert_int_equal(stats.samples, 2);
    assert_int_equal(stats.damaged, 1);
    assert_int_equal(stats.first_damaged, at);
    close_import();
}

static void a_cut_file_is_read_up_to_the_cut(void **state)
{
    (void)state;
    begin();
    end("cpu-cycles");
    file.count -= 4;
    sample(7, 1 * MS, 0, 1, "a");
    size_t whole = file.count;
    sample(7, 2 * MS, 0, 1, "b");
    for (size_t bytes = whole + 1; bytes < whole + 20; bytes += 3) {
        file.count = bytes;
        import(NULL);
        assert_int_equal(stats.samples, 1);
        assert_int_equal(stats.tail_bytes, bytes - whole);
        close_import();
    }
}

static void other_files_are_refused(void **state)
{
    (void)state;
    begin();
    file.count = 11;
    refuses(STROBE_TRUNCATED, NULL, "byte 11: expected the header of a report, 12 bytes");
    begin();
    file.at[10] = 2;
    refuses(STROBE_BAD_VERSION, NULL, "byte 10: version 2, expected 1");
    begin();
    file.at[0] = 's';
    refuses(STROBE_BAD_INPUT, NULL,
            "byte 0: expected SIMPLEPERF, with which the output of `simpleperf report-sample --protobuf` begins");
    begin();
    end("cpu-cycles");
    refuses(STROBE_BAD_INPUT, NULL, "no sample");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_have_their_threads_stacks_and_images),
        cmocka_unit_test(counts_of_a_clock_are_cpu_time),
        cmocka_unit_test(a_thread_is_off_its_processor_between_switches),
        cmocka_unit_test(one_event_and_one_process_are_selected),
        cmocka_unit_test(records_around_a_damaged_one_are_read),
        cmocka_unit_test(a_cut_file_is_read_up_to_the_cut),
        cmocka_unit_test(other_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
