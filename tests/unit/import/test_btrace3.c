/* Captures of btrace 3.0 of Android, made byte by byte. `defects` lists inputs for which upstream's converter is wrong
 * (reference of its sources), with what `strobe import` makes of them. tests/sim/policy/test_btrace_android_files.c
 * imports captures that the lab's policy btrace-android takes. */
#include "engine/base/error.h"
#include "engine/trace/import/btrace3/btrace3.h"
#include "engine/trace/import/btrace3/btrace3_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/support/imported.h"

#define MS UINT64_C(1000000)

/* ---- an encoder */

struct bytes {
    uint8_t at[1 << 14];
    size_t count;
};

static struct bytes sampling, mapping;
static uint32_t version;

static void put(struct bytes *b, uint64_t value, unsigned bytes)
{
    assert_true(b->count + bytes <= sizeof b->at);
    for (unsigned i = 0; i < bytes; i++)
        b->at[b->count++] = (uint8_t)(value >> 8 * i);
}

static void put_text(struct bytes *b, const char *text)
{
    while (*text)
        put(b, (uint8_t)*text++, 1);
}

/* Begins a capture of the process, with the methods 'A' to 'H' in its mapping. */
static void begin(uint32_t of_version, uint32_t pid)
{
    char extra[64];
    sampling.count = mapping.count = 0;
    version = of_version;
    put(&sampling, STROBE_BTRACE3_MAGIC, 4);
    put(&sampling, 0, 4);
    put(&sampling, version, 4);
    put(&sampling, 0, 8);
    put(&sampling, 0, 4);
    snprintf(extra, sizeof extra, "{\"processId\": %u}", (unsigned)pid);
    put(&sampling, strlen(extra), 4);
    put_text(&sampling, extra);
    put(&mapping, 0, 8);
    put(&mapping, version >= 6 ? 2 : 1, 4);
    put(&mapping, 8, 4);
    for (char letter = 'A'; letter <= 'H'; letter++) {
        put(&mapping, (uint64_t)letter, 8);
        put(&mapping, 1, 2);
        put(&mapping, (uint8_t)letter, 1);
    }
}

struct made {
    uint32_t type, tid, message, voluntary, walked; /* walked 0: as many as stored */
    uint64_t begin_ns, end_ns, cpu_ns, end_cpu_ns, objects;
    const char *stack; /* methods, outermost first */
};

static void record(struct made r)
{
    uint32_t depth = (uint32_t)strlen(r.stack);
    put(&sampling, r.type, 2);
    put(&sampling, r.tid, version >= 6 ? 4 : 2);
    put(&sampling, r.message, 4);
    put(&sampling, r.begin_ns, 8);
    put(&sampling, r.end_ns, 8);
    put(&sampling, r.cpu_ns, 8);
    put(&sampling, r.end_cpu_ns, 8);
    if (r.type == STROBE_BTRACE3_TRACE_ARG)
        put(&sampling, 1, 8);
    if (version >= 4) {
        put(&sampling, r.objects, 8);
        put(&sampling, 0, 8);
    }
    if (version >= 5) {
        put(&sampling, 0, 4);
        put(&sampling, r.voluntary, 4);
        put(&sampling, 0, 4);
    }
    put(&sampling, depth, 4);
    put(&sampling, r.walked ? r.walked : depth, 4);
    while (depth)
        put(&sampling, (uint8_t)r.stack[--depth], 8);
}

static void point(uint32_t tid, uint64_t time_ns, const char *stack)
{
    record((struct made){.type = STROBE_BTRACE3_JNI, .tid = tid, .begin_ns = time_ns, .stack = stack});
}

static void duration(uint32_t type, uint32_t tid, uint64_t begin_ns, uint64_t end_ns, const char *stack)
{
    record((struct made){.type = type, .tid = tid, .begin_ns = begin_ns, .end_ns = end_ns, .stack = stack});
}

/* ---- the import */

static struct strobe_sampled *sampled;
static struct strobe_btrace3_stats stats;
static struct strobe_error error;
static struct imported session;

static enum strobe_status read_files(void)
{
    bool of_mapping;
    struct strobe_btrace3_files files = {sampling.at, mapping.count ? mapping.at : NULL, sampling.count, mapping.count};
    error.text[0] = 0;
    assert_int_equal(strobe_sampled_open(&sampled), STROBE_OK);
    strobe_sampled_interval(sampled, MS, 0);
    return strobe_btrace3_read(&files, sampled, &stats, &of_mapping, &error);
}

static void import(void)
{
    assert_int_equal(read_files(), STROBE_OK);
    imported_open(&session, sampled);
}

static void close_import(void)
{
    imported_close(&session);
    strobe_sampled_close(sampled);
}

static void refuses(enum strobe_status status, const char *text)
{
    assert_int_equal(read_files(), status);
    assert_string_equal(error.text, text);
    strobe_sampled_close(sampled);
}

/* Checks the folded stacks. */
static void folds_to(const char *expected)
{
    char *text = imported_folded(&session);
    assert_string_equal(text, expected);
    free(text);
}

/* ---- upstream's defects */

static void leaf_of_two_samples(void)
{
    begin(5, 7);
    point(7, 1 * MS, "ABC");
    point(7, 2 * MS, "AD");
    import();
    folds_to("thread 7;A;B;C 1000\nthread 7;A;D 1000\n");
}

/* Upstream shows the second leaf twice, once without length. */
static void other_leaf_after_a_wait(void)
{
    begin(5, 7);
    duration(STROBE_BTRACE3_WAIT, 7, 1 * MS, 5 * MS, "AB");
    point(7, 6 * MS, "AD");
    import();
    folds_to("thread 7;A;B;[cond wait] 4000\nthread 7;A;B 1000\nthread 7;A;D 1000\n");
}

static void equal_stacks_far_apart(void)
{
    begin(5, 7);
    point(7, 1 * MS, "AB");
    point(7, 901 * MS, "AB");
    import();
    folds_to("thread 7;A;B 2000\nthread 7;[unseen] 899000\n");
}

static void equal_stacks_of_two_messages(void)
{
    begin(5, 7);
    record((struct made){.type = 10, .tid = 7, .message = 1, .begin_ns = 1 * MS, .stack = "AB"});
    record((struct made){.type = 10, .tid = 7, .message = 2, .begin_ns = 2 * MS, .stack = "AB"});
    import();
    const struct strobe_item *items = imported_thread(&session, 7)->items;
    assert_int_equal(items[0].record.message, 1);
    assert_int_equal(items[1].record.message, 2);
}

/* Upstream charges the switches to the function after the wait. */
static void switches_in_a_wait(void)
{
    begin(5, 7);
    record((struct made){.type = 10, .tid = 7, .begin_ns = 1 * MS, .voluntary = 5, .stack = "A"});
    record((struct made){.type = 8, .tid = 7, .begin_ns = 2 * MS, .end_ns = 6 * MS, .voluntary = 15, .stack = "A"});
    import();
    const struct strobe_item *wait = &imported_thread(&session, 7)->items[1];
    assert_int_equal(session.reader->metrics[wait->metrics - 1].voluntary_switches_span, 10);
}

static void absent_method(void)
{
    begin(5, 7);
    point(7, 1 * MS, "AXB");
    import();
    folds_to("thread 7;A;method 0x58;B 1000\n");
    assert_int_equal(stats.nameless, 1);
}

static void assert_waker(uint32_t tid, uint64_t release_ns)
{
    const struct strobe_reader_thread *t = imported_thread(&session, 40000);
    assert_non_null(t);
    assert_true(t->is_main);
    assert_int_equal(t->woken_count, 1);
    assert_int_equal(session.reader->threads[t->woken[0].waker].tid, tid);
    assert_int_equal(t->woken[0].release_ticks, release_ns);
}

/* Upstream reads the tid as -25536, and finds no waker. */
static void main_thread_with_a_large_tid(void)
{
    begin(5, 40000);
    duration(STROBE_BTRACE3_WAIT, 40000, 1 * MS, 5 * MS, "A");
    duration(STROBE_BTRACE3_NOTIFY, 200, 1 * MS, 3 * MS, "B");
    import();
    assert_waker(200, 3 * MS);
    assert_string_equal(imported_stack(&session, imported_thread(&session, 40000)->woken[0].stack), "B");
}

static void last_of_two_releases(void)
{
    begin(5, 40000);
    duration(STROBE_BTRACE3_NOTIFY, 200, 1 * MS, 3 * MS, "B");
    duration(STROBE_BTRACE3_NOTIFY, 201, 1 * MS, 4 * MS, "C");
    duration(STROBE_BTRACE3_WAIT, 40000, 1 * MS, 5 * MS, "A");
    import();
    assert_waker(201, 4 * MS);
}

/* Upstream names thread 202, which released a monitor, and 203, which came after the wait. */
static void releases_that_cannot_have_ended_the_wait(void)
{
    begin(5, 40000);
    duration(STROBE_BTRACE3_NOTIFY, 200, 1 * MS, 3 * MS, "B");
    duration(STROBE_BTRACE3_UNLOCK, 202, 1 * MS, 4 * MS, "C");
    duration(STROBE_BTRACE3_NOTIFY, 203, 1 * MS, 6 * MS, "C");
    duration(STROBE_BTRACE3_WAIT, 40000, 1 * MS, 5 * MS, "A");
    import();
    assert_waker(200, 3 * MS);
    assert_int_equal(stats.releases_lost, 2);
}

/* A wait of another thread with the same begin. */
static void wait_of_another_thread(void)
{
    begin(5, 40000);
    duration(STROBE_BTRACE3_NOTIFY, 200, 1 * MS, 3 * MS, "B");
    duration(STROBE_BTRACE3_WAIT, 9, 1 * MS, 5 * MS, "A");
    import();
    assert_int_equal(imported_thread(&session, 9)->woken_count, 0);
}

static void tids_equal_by_16_bits(void)
{
    begin(6, 70000);
    point(70000, 1 * MS, "A");
    point(4464, 2 * MS, "A");
    import();
    assert_int_equal(session.reader->thread_count, 2);
    assert_true(imported_thread(&session, 70000)->is_main);
    assert_false(imported_thread(&session, 4464)->is_main);
}

static void end_before_its_begin(void)
{
    begin(5, 7);
    duration(STROBE_BTRACE3_MONITOR, 7, 5 * MS, 4 * MS, "A");
    import();
    assert_int_equal(stats.backwards, 1);
    assert_int_equal(imported_thread(&session, 7)->items[0].record.flags & STROBE_FLAG_SCOPE, 0);
}

/* Upstream drops the stack. */
static void stack_deeper_than_stored(void)
{
    begin(5, 7);
    record((struct made){.type = 10, .tid = 7, .begin_ns = MS, .walked = 200, .stack = "AB"});
    import();
    folds_to("thread 7;[stack cut];A;B 1000\n");
    assert_int_equal(stats.cut, 1);
}

static const struct {
    const char *upstream;
    void (*is_right)(void);
} defects[] = {
    {"a leaf of one sample lasts 10 ns, its time goes to the caller", leaf_of_two_samples},
    {"equal depth counts as equal stack: a slice without length", other_leaf_after_a_wait},
    {"no gap rule: equal stacks 0.9 s apart are one slice", equal_stacks_far_apart},
    {"message ids are ignored", equal_stacks_of_two_messages},
    {"a wait's counters are charged to what follows", switches_in_a_wait},
    {"one missing method aborts the conversion", absent_method},
    {"a pid above 32767 loses wakers and thread names", main_thread_with_a_large_tid},
    {"none: the last release counts", last_of_two_releases},
    {"a waker is any thread with the same number, of any type and time", releases_that_cannot_have_ended_the_wait},
    {"a wait of another thread with the same begin", wait_of_another_thread},
    {"tids equal by 16 bits are one thread", tids_equal_by_16_bits},
    {"an end before its begin is silently a point", end_before_its_begin},
    {"a stack deeper than the record vanishes", stack_deeper_than_stored},
};

static void defects_of_upstreams_converter_do_not_occur(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof defects / sizeof *defects; i++) {
        print_message("upstream: %s\n", defects[i].upstream);
        defects[i].is_right();
        close_import();
    }
}

/* ---- the format */

static void all_versions_are_read(void **state)
{
    (void)state;
    for (uint32_t v = 1; v <= STROBE_BTRACE3_VERSION_MAX; v++) {
        begin(v, 7);
        record((struct made){.type = 9, .tid = 7, .begin_ns = 1 * MS, .cpu_ns = MS, .objects = 4, .stack = "AB"});
        record((struct made){.type = 15, .tid = 7, .begin_ns = 2 * MS, .cpu_ns = 2 * MS, .objects = 5, .stack = "AC"});
        import();
        const struct strobe_reader_thread *t = imported_thread(&session, 7);
        assert_int_equal(t->item_count, 2);
        assert_int_equal(t->items[0].record.cpu_ns, MS);
        assert_int_equal(t->items[0].record.kind, STROBE_KIND_ALLOC);
        assert_int_equal(t->items[0].metrics != 0, v >= 4);
        if (v >= 4)
            assert_int_equal(session.reader->metrics[t->items[1].metrics - 1].alloc_count, 5);
        folds_to("thread 7;A;B 1000\nthread 7;A;C 1000\n");
        close_import();
    }
}

static void releases_before_version_5_name_no_waker(void **state)
{
    (void)state;
    begin(4, 40000);
    duration(STROBE_BTRACE3_WAIT, 40000, 1 * MS, 5 * MS, "A");
    duration(STROBE_BTRACE3_NOTIFY, 200, 1 * MS, 3 * MS, "B");
    import();
    assert_int_equal(imported_thread(&session, 40000)->woken_count, 0);
    assert_int_equal(imported_thread(&session, 200)->items[0].record.ticks, 1 * MS);
    close_import();
}

static void a_pid_of_more_bits_than_tids_have_is_the_main_threads(void **state)
{
    (void)state;
    begin(5, 70000);
    duration(STROBE_BTRACE3_WAIT, 70000 & 0xffff, 1 * MS, 5 * MS, "A");
    duration(STROBE_BTRACE3_NOTIFY, 200, 1 * MS, 3 * MS, "B");
    import();
    const struct strobe_reader_thread *t = imported_thread(&session, 70000 & 0xffff);
    assert_true(t->is_main);
    assert_int_equal(t->woken_count, 1);
    assert_int_equal(session.reader->session.header->pid, 70000);
    close_import();
}

static void threads_have_the_names_of_the_mapping(void **state)
{
    (void)state;
    for (uint32_t v = 5; v <= 6; v++) {
        begin(v, 7);
        put(&mapping, 7, v >= 6 ? 4 : 2);
        put(&mapping, 5, 1);
        put_text(&mapping, "main\n");
        point(7, 1 * MS, "A");
        import();
        assert_string_equal(imported_thread(&session, 7)->name, "main");
        close_import();
    }
}

static void frames_of_the_runtime_are_left_out(void **state)
{
    (void)state;
    begin(5, 7);
    mapping.count = 0;
    put(&mapping, 0, 8);
    put(&mapping, 1, 4);
    put(&mapping, 1, 4);
    put(&mapping, 'R', 8);
    put(&mapping, 19, 2);
    put_text(&mapping, "<runtime internal m");
    point(7, 1 * MS, "AR");
    import();
    folds_to("thread 7;method 0x41 1000\n");
    close_import();
}

static void a_flush_is_a_stack_taken_from_outside(void **state)
{
    (void)state;
    begin(5, 7);
    point(7, 1 * MS, "A");
    record((struct made){.type = STROBE_BTRACE3_FLUSH, .tid = 7, .begin_ns = 3 * MS, .stack = "B"});
    import();
    const struct strobe_item *item = &imported_thread(&session, 7)->items[1];
    assert_int_equal(item->record.kind, STROBE_KIND_ASYNC);
    assert_int_equal(item->record.ticks, 3 * MS);
    close_import();
}

/* ---- damage */

static void records_around_a_damaged_one_are_read(void **state)
{
    (void)state;
    begin(5, 7);
    point(7, 1 * MS, "AB");
    size_t at = sampling.count;
    point(7, 2 * MS, "AC");
    memset(sampling.at + at, 0xee, 30);
    point(7, 3 * MS, "AD");
    point(7, 4 * MS, "AE");
    import();
    assert_int_equal(stats.records, 3);
    assert_int_equal(stats.damaged, 1);
    assert_int_equal(stats.first_damaged, at);
    assert_int_equal(stats.skipped_bytes, 76 + 16);
    close_import();
}

static void a_cut_capture_is_read_up_to_the_cut(void **state)
{
    (void)state;
    begin(5, 7);
    point(7, 1 * MS, "AB");
    size_t whole = sampling.count;
    point(7, 2 * MS, "AC");
    for (size_t bytes = whole + 1; bytes < whole + 76 + 16; bytes += 13) {
        sampling.count = bytes;
        import();
        assert_int_equal(stats.records, 1);
        assert_int_equal(stats.tail_bytes, bytes - whole);
        assert_int_equal(stats.damaged, 0);
        close_import();
    }
}

static void a_cut_mapping_leaves_methods_without_names(void **state)
{
    (void)state;
    begin(5, 7);
    point(7, 1 * MS, "AH");
    mapping.count -= 5;
    import();
    assert_int_equal(stats.nameless, 1);
    assert_int_equal(stats.mapping_tail, 6);
    close_import();
}

static void other_files_are_refused(void **state)
{
    (void)state;
    begin(5, 7);
    sampling.count = 27;
    refuses(STROBE_TRUNCATED, "byte 27: expected the header of a capture, 28 bytes");
    begin(7, 7);
    refuses(STROBE_BAD_VERSION, "byte 8: version 7, expected 1 to 6");
    begin(5, 7);
    sampling.at[0] = 0;
    refuses(STROBE_BAD_INPUT,
            "byte 0: expected the bytes 04 03 02 01 and four zeros, with which a capture of btrace 3.0 "
            "for Android begins");
    begin(5, 7);
    sampling.at[24] = 200;
    refuses(STROBE_TRUNCATED, "byte 24: a text of 200 bytes, but the file has 16 more");
    begin(5, 7);
    mapping.at[0] = 1;
    refuses(STROBE_BAD_INPUT, "byte 0: expected 8 zero bytes, with which a mapping of btrace 3.0 begins");
    begin(5, 7);
    mapping.at[8] = 3;
    refuses(STROBE_BAD_VERSION, "byte 8: version 3, expected 1 or 2");
    begin(5, 7);
    mapping.count = 15;
    refuses(STROBE_TRUNCATED, "byte 15: expected the header of a mapping, 16 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defects_of_upstreams_converter_do_not_occur),
        cmocka_unit_test(all_versions_are_read),
        cmocka_unit_test(releases_before_version_5_name_no_waker),
        cmocka_unit_test(a_pid_of_more_bits_than_tids_have_is_the_main_threads),
        cmocka_unit_test(threads_have_the_names_of_the_mapping),
        cmocka_unit_test(frames_of_the_runtime_are_left_out),
        cmocka_unit_test(a_flush_is_a_stack_taken_from_outside),
        cmocka_unit_test(records_around_a_damaged_one_are_read),
        cmocka_unit_test(a_cut_capture_is_read_up_to_the_cut),
        cmocka_unit_test(a_cut_mapping_leaves_methods_without_names),
        cmocka_unit_test(other_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
