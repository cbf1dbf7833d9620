/* Profiles of Firefox's profiler, in the processed and in the raw format. */
#include "engine/base/error.h"
#include "engine/trace/import/gecko/gecko_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/support/imported.h"

#define MS UINT64_C(1000000)

static struct strobe_sampled *sampled;
static struct strobe_gecko_stats stats;
static struct strobe_error error;
static struct imported session;

static enum strobe_status read_text(const char *text, size_t bytes, uint32_t pid)
{
    struct strobe_gecko_options options = {pid};
    assert_int_equal(strobe_sampled_open(&sampled), STROBE_OK);
    return strobe_gecko_read(text, bytes, &options, sampled, &stats, &error);
}

static void import(const char *text, uint32_t pid)
{
    if (read_text(text, strlen(text), pid) != STROBE_OK)
        fail_msg("%s", error.text);
    imported_open(&session, sampled);
}

static void close_import(void)
{
    imported_close(&session);
    strobe_sampled_close(sampled);
}

static void folds_to(const char *expected)
{
    char *text = imported_folded(&session);
    assert_string_equal(text, expected);
    free(text);
}

#define META "\"meta\":{\"interval\":1,\"product\":\"Firefox\",\"sampleUnits\":{\"threadCPUDelta\":\"\\u00b5s\"}},"

/* The thread's tables; stacks are a, a;b, a;c and d. */
#define TABLES                                                                                                         \
    "\"stackTable\":{\"frame\":[0,1,2,3],\"prefix\":[null,0,0,null],\"length\":4},"                                    \
    "\"frameTable\":{\"address\":[1,2,3,4],\"func\":[0,1,2,3],\"length\":4},"                                          \
    "\"funcTable\":{\"name\":[0,1,2,3],\"resource\":[0,-1,-1,0],\"length\":4},"                                        \
    "\"resourceTable\":{\"lib\":[1],\"name\":[0]},\"stringArray\":[\"a\",\"b \\\"q\\\"\",\"c\",\"d\\u00e9\"]"

#define PROCESSED(samples, markers)                                                                                    \
    "{" META "\"libs\":[{\"name\":\"x\"},{\"path\":\"/lib/libxul.so\",\"name\":\"libxul.so\"}],\"threads\":[{"         \
    "\"name\":\"GeckoMain\",\"isMainThread\":true,\"pid\":\"7\",\"tid\":7," TABLES ",\"samples\":" samples             \
    ",\"markers\":" markers "}]}"

static const char processed[] =
    PROCESSED("{\"stack\":[1,2,null,3],\"time\":[1,2,3,4.5],\"threadCPUDelta\":[null,900,100,500],\"length\":4}", "{}");

static void a_processed_profile_has_samples(void **state)
{
    (void)state;
    import(processed, 0);
    const struct strobe_reader_thread *t = imported_thread(&session, 7);
    assert_true(t->is_main);
    assert_string_equal(t->name, "GeckoMain");
    assert_int_equal(session.reader->session.header->pid, 7);
    assert_int_equal(t->item_count, 3);
    assert_int_equal(t->items[1].record.ticks, 2 * MS);
    assert_int_equal(t->items[1].record.cpu_ns, 900000);
    assert_int_equal(t->items[2].record.ticks, 4 * MS + MS / 2);
    assert_int_equal(t->items[2].record.cpu_ns, 1500000);
    assert_string_equal(imported_stack(&session, t->items[0].record.stack), "a;b \"q\"");
    assert_string_equal(imported_stack(&session, t->items[2].record.stack), "d\xc3\xa9");
    assert_int_equal(session.reader->session.header->config.interval_main_ns, MS);
    assert_string_equal(strobe_reader_image(session.reader, 1)->path, "/lib/libxul.so");
    assert_int_equal(stats.without_stack, 1);
    assert_false(stats.raw);
    close_import();
}

static void times_may_be_deltas(void **state)
{
    (void)state;
    import(PROCESSED("{\"stack\":[1,2,3],\"timeDeltas\":[1,1,2.5],\"length\":3}", "{}"), 0);
    const struct strobe_reader_thread *t = imported_thread(&session, 7);
    assert_int_equal(t->items[0].record.ticks, 1 * MS);
    assert_int_equal(t->items[2].record.ticks, 4 * MS + MS / 2);
    assert_int_equal(t->items[0].record.flags & STROBE_FLAG_CPU, 0);
    close_import();
}

static void threads_may_share_tables(void **state)
{
    (void)state;
    import("{" META "\"shared\":{" TABLES "},\"threads\":["
           "{\"name\":\"A\",\"pid\":7,\"tid\":8,\"samples\":{\"stack\":[1],\"time\":[1]}},"
           "{\"name\":\"B\",\"pid\":7,\"tid\":\"9-1\",\"samples\":{\"stack\":[2],\"time\":[1]}},"
           "{\"name\":\"C\",\"pid\":7,\"samples\":{\"stack\":[3],\"time\":[1]}}]}",
           0);
    assert_int_equal(session.reader->thread_count, 3);
    folds_to("A;a;b \"q\" 1000\nB;a;c 1000\nC;d\xc3\xa9 1000\n");
    close_import();
}

static const char raw[] =
    "{" META "\"libs\":[],\"threads\":[{\"name\":\"GeckoMain\",\"pid\":7,\"tid\":7,"
    "\"stringTable\":[\"(root)\",\"main\",\"paint (a.js:1)\"],"
    "\"frameTable\":{\"schema\":{\"location\":0,\"line\":1},\"data\":[[0],[1],[2,5]]},"
    "\"stackTable\":{\"schema\":{\"prefix\":0,\"frame\":1},\"data\":[[null,0],[0,1],[1,2]]},"
    "\"samples\":{\"schema\":{\"stack\":0,\"time\":1,\"threadCPUDelta\":2},\"data\":[[1,1.0,10],[2,2.0,1000],[null,3.0]"
    "]},"
    "\"markers\":{\"schema\":{\"name\":0,\"startTime\":1,\"endTime\":2,\"phase\":3},"
    "\"data\":[[2,1,3,1],[1,1.5,null,0]]}}],"
    "\"processes\":[{" META "\"threads\":[{\"name\":\"Web\",\"pid\":9,\"tid\":9,\"samples\":{}}]}]}";

static void a_raw_profile_has_samples(void **state)
{
    (void)state;
    import(raw, 0);
    assert_true(stats.raw);
    assert_int_equal(stats.samples, 2);
    assert_int_equal(stats.without_stack, 1);
    assert_int_equal(stats.other_processes, 1);
    assert_int_equal(stats.other_markers, 1);
    assert_true(imported_thread(&session, 7)->is_main);
    folds_to("GeckoMain;(root);main 500\nGeckoMain;(root);main;paint (a.js:1) 2500\n");
    close_import();
}

static void markers_with_an_end_are_sections(void **state)
{
    (void)state;
    import(PROCESSED("{\"stack\":[1],\"time\":[1]}",
                     "{\"name\":[1,0,2,0],\"startTime\":[1,2,1.5,9],\"endTime\":[4,3,5,null],\"phase\":[1,1,1,0]}"),
           0);
    assert_int_equal(stats.sections, 3);
    assert_int_equal(stats.other_markers, 1);
    assert_int_equal(session.reader->annotation_count, 3);
    static const struct {
        uint64_t begin_ns, duration_ns, depth;
        const char *name;
    } expected[] = {{1 * MS, 3 * MS, 1, "b \"q\""}, {3 * MS / 2, 7 * MS / 2, 2, "c"}, {2 * MS, 1 * MS, 3, "a"}};
    for (int i = 0; i < 3; i++) {
        const struct strobe_reader_annotation *a = &session.reader->annotations[i];
        char name[STROBE_ANNOTATION_NAME_BYTES + 1];
        assert_int_equal(a->ticks, expected[i].begin_ns);
        assert_int_equal(a->duration, expected[i].duration_ns);
        assert_int_equal(a->value, expected[i].depth);
        assert_true(strobe_reader_annotation_name(session.reader, a, name));
        assert_string_equal(name, expected[i].name);
    }
    assert_int_equal(session.reader->samples, 1);
    close_import();
}

static void one_process_is_selected(void **state)
{
    (void)state;
    static const char text[] = "{" META "\"shared\":{" TABLES "},\"threads\":["
                               "{\"name\":\"A\",\"pid\":7,\"tid\":7,\"samples\":{\"stack\":[1],\"time\":[1]}},"
                               "{\"name\":\"B\",\"pid\":9,\"tid\":9,\"samples\":{\"stack\":[2],\"time\":[1]}},"
                               "{\"name\":\"C\",\"pid\":9,\"tid\":10,\"samples\":{\"stack\":[3],\"time\":[1]}}]}";
    import(text, 0);
    assert_int_equal(session.reader->session.header->pid, 9);
    assert_int_equal(stats.threads, 2);
    assert_int_equal(stats.other_processes, 1);
    close_import();
    import(text, 7);
    assert_int_equal(stats.threads, 1);
    close_import();
    assert_int_equal(read_text(text, sizeof text - 1, 5), STROBE_BAD_INPUT);
    assert_string_equal(error.text, "no thread of process 5");
    strobe_sampled_close(sampled);
}

static void values_out_of_range_are_left_out(void **state)
{
    (void)state;
    import(PROCESSED("{\"stack\":[1,99,1,1],\"time\":[-1,2,1e99,3]}",
                     "{\"name\":[1,50],\"startTime\":[4,1],\"endTime\":[3,2],\"phase\":[1,1]}"),
           0);
    assert_int_equal(stats.damaged, 4);
    assert_int_equal(stats.without_stack, 1);
    assert_int_equal(stats.samples, 1);
    close_import();
    /* A stack below itself, and a frame that is none. */
    static const char *const stacks[] = {"\"frame\":[0,1],\"prefix\":[null,1]", "\"frame\":[0,77],\"prefix\":[null,0]"};
    for (int i = 0; i < 2; i++) {
        char text[2048];
        snprintf(
            text, sizeof text,
            "{\"threads\":[{\"pid\":7,\"stackTable\":{%s},\"frameTable\":{\"func\":[0,0]},\"funcTable\":{\"name\":[0]"
            "},\"stringArray\":[\"a\"],\"samples\":{\"stack\":[1],\"time\":[1]}}]}",
            stacks[i]);
        import(text, 0);
        assert_int_equal(stats.damaged_threads, 1);
        assert_int_equal(stats.samples, 0);
        close_import();
    }
}

static void a_cut_profile_is_read_up_to_the_cut(void **state)
{
    (void)state;
    char expected[80];
    size_t whole = (size_t)(strstr(processed, ",\"threadCPUDelta\":[") - processed);
    for (size_t bytes = 60; bytes < sizeof processed - 1; bytes += 17) {
        enum strobe_status status = read_text(processed, bytes, 0);
        if (bytes > whole) {
            assert_int_equal(status, STROBE_OK);
            assert_in_range(stats.cut_at, bytes - 20, bytes); /* at the begin of a text that is cut */
            imported_open(&session, sampled);
            assert_true(session.reader->samples > 0);
            imported_close(&session);
        } else if (status != STROBE_OK && strstr(processed, "\"threads\"") < processed + bytes - 11) {
            snprintf(expected, sizeof expected, "byte %u: expected the rest of the profile", (unsigned)stats.cut_at);
            assert_in_range(stats.cut_at, bytes - 40, bytes);
            assert_string_equal(error.text, expected);
        }
        strobe_sampled_close(sampled);
    }
    assert_int_equal(read_text("[1]", 3, 0), STROBE_BAD_INPUT);
    assert_string_equal(error.text, "byte 0: expected a profile of Firefox's profiler: an object with `threads`");
    strobe_sampled_close(sampled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_processed_profile_has_samples),  cmocka_unit_test(times_may_be_deltas),
        cmocka_unit_test(threads_may_share_tables),         cmocka_unit_test(a_raw_profile_has_samples),
        cmocka_unit_test(markers_with_an_end_are_sections), cmocka_unit_test(one_process_is_selected),
        cmocka_unit_test(values_out_of_range_are_left_out), cmocka_unit_test(a_cut_profile_is_read_up_to_the_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
