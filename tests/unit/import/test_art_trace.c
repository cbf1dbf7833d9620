/* Method traces of Android's runtime, of all versions, stored at once and streamed, made byte by byte. */
#include "engine/base/error.h"
#include "engine/trace/import/artrace/art_trace_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint8_t bytes[4096];
static size_t used;
static struct strobe_calls calls;
static struct strobe_art_trace_stats stats;
static struct strobe_error error;

static void put(uint64_t value, unsigned count)
{
    assert_true(used + count <= sizeof bytes);
    for (unsigned i = 0; i < count; i++)
        bytes[used++] = (uint8_t)(value >> 8 * i);
}

static void put_text(const char *text)
{
    while (*text)
        put((uint8_t)*text++, 1);
}

static void header(unsigned version, unsigned record_bytes)
{
    put_text("SLOW");
    put(version, 2);
    put(32, 2);
    put(5000, 8);
    put(record_bytes, 2);
    for (int i = 0; i < 14; i++)
        put(0, 1);
}

#define METHODS "0x10\tjava/lang/Object\twait\t(J)V\tObject.java\n0x14\tshop.Cart\tload\t()I\tCart.java\n"

static void text(const char *options)
{
    put_text("*version\n3\n");
    put_text(options);
    put_text("*threads\n7\tmain\n9\tworker 1\n*methods\n" METHODS "*end\n");
}

static void record(unsigned version, unsigned tid, uint32_t value, uint32_t cpu_us, uint32_t wall_us)
{
    put(tid, version == 1 ? 1 : 2);
    put(value, 4);
    if (version == 3)
        put(cpu_us, 4);
    put(wall_us, 4);
}

static void begin(void)
{
    used = 0;
}

static const char *calls_text(void)
{
    static char out[2048];
    size_t n = 0;
    out[0] = 0;
    for (size_t i = 0; i < calls.thread_count; i++) {
        const struct strobe_calls_thread *t = &calls.threads[i];
        n += (size_t)snprintf(out + n, sizeof out - n, "%u%s %s:", t->tid, t->is_main ? "*" : "", t->name);
        for (size_t k = 0; k < t->call_count; k++)
            n += (size_t)snprintf(out + n, sizeof out - n, " %c%s@%llu", "BET"[t->calls[k].what],
                                  calls.names.texts[t->calls[k].name], (unsigned long long)t->calls[k].time_ns / 1000);
        n += (size_t)snprintf(out + n, sizeof out - n, "\n");
    }
    return out;
}

static void reads_as(const char *expected)
{
    error.text[0] = 0;
    if (strobe_art_trace_read(bytes, used, &calls, &stats, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    assert_string_equal(calls_text(), expected);
    strobe_calls_close(&calls);
}

static void refuses(enum strobe_status status, const char *expected)
{
    assert_int_equal(strobe_art_trace_read(bytes, used, &calls, &stats, &error), status);
    assert_string_equal(error.text, expected);
    strobe_calls_close(&calls);
}

static void all_versions_are_read(void **state)
{
    (void)state;
    for (unsigned version = 1; version <= 3; version++) {
        begin();
        text("clock=dual\npid=7\n");
        header(version, 14);
        record(version, 7, 0x14, 1, 100);
        record(version, 9, 0x10, 2, 150);
        record(version, 7, 0x10, 3, 200);
        record(version, 7, 0x11, 4, 300);
        record(version, 7, 0x15, 5, 400);
        record(version, 9, 0x11, 6, 500);
        reads_as("7* main: Bshop.Cart.load()I@5100 Bjava.lang.Object.wait(J)V@5200 Ejava.lang.Object.wait(J)V@5300 "
                 "Eshop.Cart.load()I@5400\n"
                 "9 worker 1: Bjava.lang.Object.wait(J)V@5150 Ejava.lang.Object.wait(J)V@5500\n");
        assert_int_equal(stats.version, version);
        assert_int_equal(stats.records, 6);
        assert_int_equal(stats.tail_bytes + stats.unknown + stats.nameless, 0);
        assert_false(stats.streamed);
    }
}

static void version_3_may_have_one_clock(void **state)
{
    (void)state;
    begin();
    text("clock=wall\ndata-file-overflow=true\n");
    header(3, 10);
    record(2, 7, 0x14, 0, 10);
    record(2, 7, 0x15, 0, 20);
    reads_as("7* main: Bshop.Cart.load()I@5010 Eshop.Cart.load()I@5020\n9 worker 1:\n");
    assert_true(stats.overflow);
    assert_false(stats.cpu_clock);
}

static void an_exception_ends_a_call(void **state)
{
    (void)state;
    begin();
    text("clock=thread-cpu\n");
    header(2, 0);
    record(2, 7, 0x14, 0, 10);
    record(2, 7, 0x16, 0, 20);
    record(2, 7, 0x17, 0, 30);
    reads_as("7* main: Bshop.Cart.load()I@5010 Eshop.Cart.load()I@5020\n9 worker 1:\n");
    assert_int_equal(stats.unknown, 1);
    assert_true(stats.cpu_clock);
}

static void packet(unsigned what, unsigned tid, const char *content)
{
    put(0, 2);
    put(what, 1);
    if (what == 2)
        put(tid, 2);
    put(strlen(content), what == 3 ? 4 : 2);
    put_text(content);
}

static void a_streamed_trace_names_as_it_goes(void **state)
{
    (void)state;
    for (unsigned version = 2; version <= 3; version++) {
        begin();
        header(0xf0 | version, 14);
        packet(2, 7, "main");
        packet(1, 0, "0x14\tshop.Cart\tload\t()I\tCart.java\n");
        record(version, 7, 0x14, 1, 10);
        packet(2, 9, "worker");
        packet(1, 0, "0x18\tshop.Api\tget\t()V\tApi.java\n");
        record(version, 9, 0x18, 1, 5);
        record(version, 9, 0x19, 1, 15);
        record(version, 7, 0x15, 1, 20);
        packet(3, 0, "*version\n3\ndata-file-overflow=false\nclock=dual\npid=7\n*end\n");
        reads_as("7* main: Bshop.Cart.load()I@5010 Eshop.Cart.load()I@5020\n"
                 "9 worker: Bshop.Api.get()V@5005 Eshop.Api.get()V@5015\n");
        assert_true(stats.streamed);
        assert_int_equal(stats.tail_bytes, 0);
    }
}

static void a_method_without_a_line_is_named_by_its_id(void **state)
{
    (void)state;
    begin();
    text("");
    header(2, 0);
    record(2, 7, 0x20, 0, 10);
    record(2, 7, 0x21, 0, 20);
    reads_as("7* main: Bmethod 0x20@5010 Emethod 0x20@5020\n9 worker 1:\n");
    assert_int_equal(stats.nameless, 1);
}

static void a_cut_trace_is_read_up_to_the_cut(void **state)
{
    (void)state;
    begin();
    text("");
    header(3, 14);
    record(3, 7, 0x14, 0, 10);
    size_t whole = used;
    record(3, 7, 0x15, 0, 20);
    for (size_t cut = whole + 1; cut < whole + 14; cut += 4) {
        used = cut;
        reads_as("7* main: Bshop.Cart.load()I@5010\n9 worker 1:\n");
        assert_int_equal(stats.tail_bytes, cut - whole);
    }
    begin();
    header(0xf3, 14);
    record(3, 7, 0x14, 0, 10);
    put(0, 2);
    put(1, 1);
    put(500, 2);
    put(0, 2);
    reads_as("7 thread 7: Bmethod 0x14@5010\n");
    assert_int_equal(stats.tail_bytes, 7);
}

static void other_files_are_refused(void **state)
{
    (void)state;
    begin();
    put_text("hello");
    refuses(STROBE_BAD_INPUT, "byte 0: expected *version or SLOW, with which a method trace of Android begins");
    begin();
    put_text("*version\n3\n");
    refuses(STROBE_TRUNCATED, "byte 11: expected the rest of the text, up to *end");
    begin();
    put_text("*version\n*end\n");
    refuses(STROBE_TRUNCATED, "byte 14: expected the header of the records, 18 bytes");
    begin();
    put_text("*version\n*end\nslow and something else");
    refuses(STROBE_BAD_INPUT, "byte 14: expected SLOW, with which the records of a method trace begin");
    begin();
    header(4, 14);
    refuses(STROBE_BAD_VERSION, "byte 4: version 4, expected 1 to 3, or 241 to 243");
    begin();
    header(3, 12);
    refuses(STROBE_BAD_INPUT, "byte 16: records of 12 bytes, expected 10 or 14");
    begin();
    header(3, 14);
    bytes[6] = 99;
    refuses(STROBE_BAD_INPUT, "byte 6: a header of 99 bytes, expected 16 to 32");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_versions_are_read),
        cmocka_unit_test(version_3_may_have_one_clock),
        cmocka_unit_test(an_exception_ends_a_call),
        cmocka_unit_test(a_streamed_trace_names_as_it_goes),
        cmocka_unit_test(a_method_without_a_line_is_named_by_its_id),
        cmocka_unit_test(a_cut_trace_is_read_up_to_the_cut),
        cmocka_unit_test(other_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
